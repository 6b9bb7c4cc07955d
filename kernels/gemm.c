/* SPDX-License-Identifier: MIT */
/*
 * Blocks of BLOCK_ROWS × BLOCK_COLS sums on the stack.  The micro-kernel reads f32 operands where they are if it can: a
 * at any strides, b in rows that are contiguous.  What is 16 bits wide, strided or not a whole tile is packed to f32
 * first, padded with zeros: b once a block (once for all blocks where all of k is one piece), a once a strip of rows.
 *
 * To add an instruction set: include gemm.inc once more between a push and a pop, and add its line to `sets`.
 */
#include <kernels/gemm.h>

#include <kernels/kernel_loops.h>
#include <runtime/base/base.h>

#include <stdio.h>
#include <string.h>

#define BLOCK_ROWS 48 /* a multiple of every set's rows */
#define BLOCK_COLS 64 /* a multiple of every set's columns */
#define BLOCK_DEPTH 128
#define DIRECT_ROWS 24    /* rows of c up to which b is read where it is */
#define DIRECT_STRIDE 512 /* f32 between those rows of b; a first-level cache repeats its sets every 4 KiB */
#define TURN_ROWS 32      /* more of them make as many scattered stores of cᵀ as packing would cost */
#define MAX_ROWS 8
#define L1_TILE 128 /* rows, columns and depth of what a core keeps in L1: two f32 tiles take 128 KiB */
#define MAX_TILE_COLS 32

/* One tile's share of a piece of k: for step p < depth, rows at a + p · a_step, a_row apart, and a contiguous row of b
 * at b + p · b_step. */
struct micro_operands {
  uint64_t depth;
  const float *a, *b;
  uint64_t a_row, a_step, b_step;
};

/* Adds the products to rows × cols sums, BLOCK_COLS apart. */
struct micro_kernel {
  void (*run)(const struct micro_operands *operands, float *restrict sums);
  uint32_t rows, cols;
  bool is_fused;
};

/* Multiplications and additions are fused here where the instruction set can: twice the speed, and one rounding less.
 * One micro-kernel computes all elements, so all are computed alike. */
#if defined(__clang__)
#pragma clang fp contract(fast)
#define PTO_UNROLL _Pragma("clang loop unroll(full)")
#else
#pragma GCC optimize("O3", "fp-contract=fast")
#define PTO_UNROLL _Pragma("GCC unroll 16")
#endif

#define PTO_LEVEL(name) name##_plain
#define ROWS 4
#define LANES 4
#define VECTORS 2
#if defined(__FP_FAST_FMAF)
#define IS_FUSED true
#else
#define IS_FUSED false
#endif
#include <kernels/gemm.inc>

#if defined(__x86_64__)
#define PTO_HAS_X86_GEMM 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define PTO_LEVEL(name) name##_avx2
#define ROWS 6
#define LANES 8
#define VECTORS 2
#define IS_FUSED true
#include <kernels/gemm.inc>
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif
#define PTO_LEVEL(name) name##_avx512
#define ROWS 8
#define LANES 16
#define VECTORS 2
#define IS_FUSED true
#include <kernels/gemm.inc>
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
static bool has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
static bool has_avx512(void) { return __builtin_cpu_supports("avx512f"); }
#endif

static bool is_always(void) { return true; }

static const struct gemm_set {
  const struct micro_kernel *micro;
  bool (*is_supported)(void);
} sets[] = {
    {&micro_kernel_plain, is_always},
#ifdef PTO_HAS_X86_GEMM
    {&micro_kernel_avx2, has_avx2},
    {&micro_kernel_avx512, has_avx512},
#endif
};

/* What is at work on one block of c. */
struct block {
  const struct pto_gemm *gemm;
  const struct pto_loops *loops;
  const struct micro_kernel *micro;
  uint64_t row, col, rows, cols; /* of the block in c */
  float *sums;                   /* [BLOCK_ROWS, BLOCK_COLS] */
  float *packed_a, *packed_b;    /* [BLOCK_DEPTH, micro rows], [BLOCK_COLS / micro cols][BLOCK_DEPTH, micro cols] */
};

/* packed[p · width + i] = m[row + i, col + p] for i < width, p < depth; rows past `rows` are 0. */
static void pack_rows(const struct block *block, const struct pto_matrix *m, uint64_t row, uint64_t col, uint64_t rows,
                      uint64_t width, uint64_t depth, float *packed) {
  const uint64_t elem_bytes = pto_dtype_size(m->dtype);
  pto_load_loop *load = block->loops->load[PTO_CLASS_F32][m->dtype];
  if (m->row_stride == 1 && rows == width) {
    for (uint64_t p = 0; p < depth; p++) load(packed + p * width, pto_matrix_at(m, row, col + p), elem_bytes, width);
    return;
  }
  float line[BLOCK_DEPTH];
  for (uint64_t i = 0; i < width; i++) {
    if (i < rows)
      load(line, pto_matrix_at(m, row + i, col), m->col_stride * elem_bytes, depth);
    else
      memset(line, 0, depth * sizeof(float));
    for (uint64_t p = 0; p < depth; p++) packed[p * width + i] = line[p];
  }
}

/* Whether the micro-kernel reads the tile of b at column j of the block where it is.  With more strips of rows than a
 * few, or rows so far apart that they share cache sets, packing pays. */
static bool is_b_direct(const struct block *block, uint64_t j) {
  const struct pto_matrix *b = &block->gemm->b;
  return b->dtype == PTO_FLOAT32 && b->col_stride == 1 && j + block->micro->cols <= block->cols &&
         block->gemm->c.rows <= DIRECT_ROWS && b->row_stride <= DIRECT_STRIDE;
}

static void pack_b(const struct block *block, uint64_t k, uint64_t depth) {
  const struct pto_matrix columns = pto_matrix_transpose(block->gemm->b);
  const uint64_t width = block->micro->cols;
  for (uint64_t j = 0; j < block->cols; j += width)
    if (!is_b_direct(block, j))
      pack_rows(block, &columns, block->col + j, k, pto_min_u64(width, block->cols - j), width, depth,
                block->packed_b + j * BLOCK_DEPTH);
}

/* Points the operands at rows i … of a, packed where they must be. */
static void set_a(const struct block *block, uint64_t i, uint64_t k, struct micro_operands *operands) {
  const struct pto_matrix *a = &block->gemm->a;
  const uint64_t width = block->micro->rows;
  if (a->dtype == PTO_FLOAT32 && i + width <= block->rows) {
    operands->a = (const float *)pto_matrix_at(a, block->row + i, k);
    operands->a_row = a->row_stride;
    operands->a_step = a->col_stride;
    return;
  }
  pack_rows(block, a, block->row + i, k, pto_min_u64(width, block->rows - i), width, operands->depth, block->packed_a);
  operands->a = block->packed_a;
  operands->a_row = 1;
  operands->a_step = width;
}

/* Adds the products of depths k … k + depth to the block's sums. */
static void block_multiply(const struct block *block, uint64_t k, uint64_t depth) {
  const uint64_t rows = block->micro->rows, cols = block->micro->cols;
  struct micro_operands operands = {.depth = depth};
  for (uint64_t i = 0; i < block->rows; i += rows) {
    set_a(block, i, k, &operands);
    for (uint64_t j = 0; j < block->cols; j += cols) {
      const bool is_direct = is_b_direct(block, j);
      operands.b = is_direct ? (const float *)pto_matrix_at(&block->gemm->b, k, block->col + j)
                             : block->packed_b + j * BLOCK_DEPTH;
      operands.b_step = is_direct ? block->gemm->b.row_stride : cols;
      block->micro->run(&operands, block->sums + i * BLOCK_COLS + j);
    }
  }
}

static void block_store(const struct block *block) {
  const struct pto_gemm *gemm = block->gemm;
  const struct pto_matrix *c = &gemm->c;
  const uint64_t step_bytes = c->col_stride * pto_dtype_size(c->dtype);
  for (uint64_t i = 0; i < block->rows; i++) {
    float *sums = block->sums + i * BLOCK_COLS, old[BLOCK_COLS];
    char *addr = pto_matrix_at(c, block->row + i, block->col);
    struct pto_chunk chunk = {.count = block->cols, .a = sums, .out = sums};
    if (gemm->alpha != 1.0f) {
      chunk.scalar.f32 = gemm->alpha;
      block->loops->op[PTO_OP_mul_scalar][PTO_CLASS_F32](&chunk);
    }
    if (gemm->is_added) {
      block->loops->load[PTO_CLASS_F32][c->dtype](old, addr, step_bytes, block->cols);
      chunk.b = old;
      block->loops->op[PTO_OP_add_inplace][PTO_CLASS_F32](&chunk);
    }
    block->loops->store[PTO_CLASS_F32][c->dtype](sums, addr, step_bytes, block->cols);
  }
}

/* b in rows that are contiguous in k would be packed element by element: where a is the smaller one, cᵀ = bᵀ·aᵀ packs
 * that instead.  The same products in the same order give the same bits. */
static struct pto_gemm oriented(const struct pto_gemm *gemm) {
  struct pto_gemm turned = *gemm;
  if (gemm->b.row_stride == 1 && gemm->b.col_stride != 1 && gemm->c.rows <= TURN_ROWS && gemm->c.rows <= gemm->c.cols) {
    turned.a = pto_matrix_transpose(gemm->b);
    turned.b = pto_matrix_transpose(gemm->a);
    turned.c = pto_matrix_transpose(gemm->c);
  }
  return turned;
}

static void gemm_run(const struct micro_kernel *micro, const struct pto_gemm *unoriented) {
  const struct pto_gemm gemm = oriented(unoriented);
  _Alignas(64) float sums[BLOCK_ROWS * BLOCK_COLS];
  _Alignas(64) float packed_a[MAX_ROWS * BLOCK_DEPTH];
  _Alignas(64) float packed_b[BLOCK_COLS * BLOCK_DEPTH];
  struct block block = {.gemm = &gemm,
                        .loops = pto_loops_best(),
                        .micro = micro,
                        .sums = sums,
                        .packed_a = packed_a,
                        .packed_b = packed_b};
  _Static_assert(BLOCK_ROWS % 4 == 0 && BLOCK_ROWS % 6 == 0 && BLOCK_ROWS % 8 == 0, "strips tile a block");
  _Static_assert(BLOCK_COLS % MAX_TILE_COLS == 0, "tiles tile a block");
  const uint64_t depth = gemm.a.cols;
  for (block.col = 0; block.col < gemm.c.cols; block.col += BLOCK_COLS) {
    block.cols = pto_min_u64(BLOCK_COLS, gemm.c.cols - block.col);
    for (block.row = 0; block.row < gemm.c.rows; block.row += BLOCK_ROWS) {
      block.rows = pto_min_u64(BLOCK_ROWS, gemm.c.rows - block.row);
      memset(sums, 0, sizeof sums);
      for (uint64_t k = 0; k < depth; k += BLOCK_DEPTH) {
        const uint64_t piece = pto_min_u64(BLOCK_DEPTH, depth - k);
        if (block.row == 0 || depth > BLOCK_DEPTH) pack_b(&block, k, piece);
        block_multiply(&block, k, piece);
      }
      block_store(&block);
    }
  }
}

/* The widest set that this processor has; one that is narrower, and fuses alike, where c is no wider than its tile. */
static const struct micro_kernel *best_micro(const struct pto_gemm *gemm) {
  const uint64_t cols = oriented(gemm).c.cols;
  uint32_t i = PTO_ARRAY_LENGTH(sets) - 1;
  while (!sets[i].is_supported()) i--;
  while (i > 0 && sets[i - 1].micro->is_fused == sets[i].micro->is_fused && cols <= sets[i - 1].micro->cols) i--;
  return sets[i].micro;
}

void pto_gemm_run(const struct pto_gemm *gemm) { gemm_run(best_micro(gemm), gemm); }

int pto_check_product(const struct pto_kernel_args *args, const char *kernel, const struct pto_gemm *gemm) {
  char what[64];
  snprintf(what, sizeof what, "%s: inner sizes", kernel);
  int status = pto_check_same_size(args, what, (struct pto_kernel_size){0, gemm->a.cols},
                                   (struct pto_kernel_size){1, gemm->b.rows});
  if (status != 0) return status;
  snprintf(what, sizeof what, "%s: rows", kernel);
  status = pto_check_same_size(args, what, (struct pto_kernel_size){0, gemm->a.rows},
                               (struct pto_kernel_size){2, gemm->c.rows});
  if (status != 0) return status;
  snprintf(what, sizeof what, "%s: columns", kernel);
  return pto_check_same_size(args, what, (struct pto_kernel_size){1, gemm->b.cols},
                             (struct pto_kernel_size){2, gemm->c.cols});
}

/* Local memory is L1: a tile of a and one of b; the sums are in L0C. */
struct pto_cost pto_gemm_cost(const struct pto_kernel_args *args, const struct pto_gemm *gemm) {
  const uint64_t m = gemm->c.rows, n = gemm->c.cols, k = gemm->a.cols;
  const uint64_t tile_k = pto_min_u64(k, L1_TILE);
  const uint64_t written = pto_kernel_bytes(&args->tensors[2]);
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(&args->tensors[0]) + pto_kernel_bytes(&args->tensors[1]) +
                                       (gemm->is_added ? written : 0),
                           .bytes_out = written,
                           .multiply_adds = m * n * k,
                           .local_bytes = pto_min_u64(m, L1_TILE) * tile_k * pto_dtype_size(gemm->a.dtype) +
                                          pto_min_u64(n, L1_TILE) * tile_k * pto_dtype_size(gemm->b.dtype)};
}

bool pto_gemm_run_at(uint32_t index, const struct pto_gemm *gemm) {
  if (index >= PTO_ARRAY_LENGTH(sets) || !sets[index].is_supported()) return false;
  gemm_run(sets[index].micro, gemm);
  return true;
}
