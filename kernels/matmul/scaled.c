/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices whose rows are stored in blocks with scales (AIC):
 *
 *   matmul_mx    c = (a·a_scale)·(b·b_scale)ᵀ   a [m, k], b [n, k] f8e4m3fn, f8e5m2 or f4e2m1fn each; the scales
 *                                               f8e8m0fnu [m, k / 32], [n, k / 32]: quantize_mx makes both
 *   matmul_int4  c = a·(b·scale)ᵀ               a [m, k] floats, b [n, k] i4 or u4, scale [n, blocks] floats: an
 * element of it serves a block of k / blocks columns, a multiple of 32
 *
 * c [m, n] floats.  The second matrix has its rows along k, as blocks need, and as the weights of a layer are stored.
 * The hardware (TMATMUL_MX of pto-isa, on A5) multiplies 8 bits by 8 and 4 by 4; 8 by 4, which the OCP specification
 * has too, is a pairing more here.
 *
 * An element times its scale is rounded to f32, which is exact for powers of two unless it leaves f32's range.  Then
 * DEPTH of k are one chain of f32 multiply-adds in ascending order, as of a matmul (gemm.h), and the sums of these
 * pieces are added in order.  An element of c depends on its row of a and its row of b alone.
 *
 * Tiles of both matrices, as f32, and of sums are in L1.  Any strides, but for 4-bit tensors, which are dense.  Any
 * thread.
 */
#include <kernels/matmul/gemm.h>
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/levels/loops.h>
#include <runtime/base/base.h>

#include <inttypes.h>

#define BLOCK 32
#define DEPTH 64 /* of k: two blocks */
#define TILE 128 /* rows of either matrix: with their sums 128 KiB, what a core of matmul keeps in L1 */

/* A matrix and its scales, NULL: it has none. */
struct side {
  const struct pto_kernel_tensor *t, *scale;
};
struct product {
  const char *kernel;
  struct side a, b;
  const struct pto_kernel_tensor *c;
  uint64_t m, n, k;
};

static struct product product_of(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *t = args->tensors;
  struct product p = {"matmul_mx", {&t[0], &t[1]}, {&t[2], &t[3]}, &t[4], 0, 0, 0};
  if (args->tensor_count == 4) p = (struct product){"matmul_int4", {&t[0], NULL}, {&t[1], &t[2]}, &t[3], 0, 0, 0};
  p.m = p.a.t->shape[0];
  p.n = p.b.t->shape[0];
  p.k = p.a.t->shape[1];
  return p;
}

/* ---- checks and costs ---- */

static int check_size(const struct pto_kernel_args *args, const struct product *p, const char *what,
                      const struct pto_kernel_tensor *x, const struct pto_kernel_tensor *y, uint32_t dim_of_y) {
  const uint32_t dim = what[0] == 'i' ? 1 : 0; /* inner sizes, or rows */
  return pto_check_same_size(args, p->kernel, what,
                             (struct pto_kernel_size){(uint32_t)(x - args->tensors), x->shape[dim]},
                             (struct pto_kernel_size){(uint32_t)(y - args->tensors), y->shape[dim_of_y]});
}

static int check_scale(const struct pto_kernel_args *args, const struct product *p, const struct side *side) {
  const uint64_t blocks = side->scale->shape[1], block = blocks > 0 ? p->k / blocks : 0;
  const bool is_mx = side->scale->dtype == PTO_FLOAT8_E8M0FNU;
  const int status = check_size(args, p, "rows", side->t, side->scale, 0);
  if (status != 0 || (blocks == 0 && p->k == 0)) return status;
  if (block * blocks == p->k && block > 0 && (is_mx ? block == BLOCK : block % BLOCK == 0)) return 0;
  return pto_kernel_error(args,
                          "%s: %" PRIu64 " columns in %" PRIu64 " blocks, which are to be of %s%d (params %" PRIu32
                          " and %" PRIu32 ")",
                          p->kernel, p->k, blocks, is_mx ? "" : "a multiple of ", BLOCK,
                          (uint32_t)(side->t - args->tensors), (uint32_t)(side->scale - args->tensors));
}

static int check(const struct pto_kernel_args *args) {
  const struct product p = product_of(args);
  int status = check_size(args, &p, "inner sizes", p.a.t, p.b.t, 1);
  if (status == 0) status = check_size(args, &p, "rows", p.a.t, p.c, 0);
  if (status == 0) status = check_size(args, &p, "rows", p.b.t, p.c, 1);
  if (status == 0 && p.a.scale) status = check_scale(args, &p, &p.a);
  return status != 0 ? status : check_scale(args, &p, &p.b);
}

static uint64_t tile_bytes(uint64_t rows, uint64_t cols) {
  return pto_local_bytes(pto_min_u64(rows, TILE) * cols * sizeof(float));
}
static uint64_t depth_of(const struct product *p) { return pto_min_u64(p->k, DEPTH); }

/* The weights of matmul_int4 are multiplied as what a is. */
static struct pto_cost cost(const struct pto_kernel_args *args) {
  const struct product p = product_of(args);
  struct pto_gemm gemm = {
      .a = pto_kernel_matrix(p.a.t), .b = pto_matrix_transpose(pto_kernel_matrix(p.b.t)), .c = pto_kernel_matrix(p.c)};
  if (!p.a.scale) gemm.b.dtype = gemm.a.dtype;
  struct pto_cost cost = pto_gemm_cost(args, &gemm, 1);
  if (pto_dtype_is_four_bit(gemm.a.dtype)) cost.l0a_bytes /= 2;
  if (pto_dtype_is_four_bit(gemm.b.dtype)) cost.l0b_bytes /= 2;
  cost.local_bytes = 0;
  if (p.m > 0 && p.n > 0)
    cost.local_bytes =
        tile_bytes(p.m, depth_of(&p)) + tile_bytes(p.n, depth_of(&p)) + tile_bytes(p.m, pto_min_u64(p.n, TILE));
  return cost;
}

/* ---- tiles ---- */

static char *element_at(const struct pto_kernel_tensor *t, uint64_t row, uint64_t col) {
  return (char *)t->addr + (row * t->strides[0] + col * t->strides[1]) * pto_dtype_bits(t->dtype) / 8;
}

/* `count` elements of a row as f32, at most DEPTH. */
static void load(const struct pto_kernel_tensor *t, uint64_t row, uint64_t col, uint64_t count, float *to) {
  const struct pto_loops *loops = pto_loops_best();
  const enum pto_class class_ = pto_class_of(t->dtype);
  int8_t whole[DEPTH]; /* of 4 bits */
  loops->load[class_][t->dtype](class_ == PTO_CLASS_F32 ? (void *)to : whole, element_at(t, row, col),
                                t->strides[1] * pto_dtype_size(t->dtype), count);
  if (class_ != PTO_CLASS_F32) loops->cast[class_][PTO_CLASS_F32](to, whole, count);
}

/* Columns k … k + depth of the side's rows, times their scales. */
static void load_tile(const struct product *p, const struct side *side, uint64_t row, struct pto_matrix *tile,
                      uint64_t k) {
  for (uint64_t i = 0; i < tile->rows; i++) {
    float *to = (float *)tile->addr + i * tile->row_stride;
    load(side->t, row + i, k, tile->cols, to);
    if (!side->scale || tile->cols == 0) continue;
    const uint64_t block = p->k / side->scale->shape[1];
    for (uint64_t first = 0; first < tile->cols; first += BLOCK) {
      float scale;
      load(side->scale, row + i, (k + first) / block, 1, &scale);
      for (uint64_t j = first; j < first + BLOCK; j++) to[j] *= scale;
    }
  }
}

/* c from `row` and `col` on, as much of it as the tiles of sums and rows have been made for. */
static int do_tile(const struct pto_kernel_args *args, const struct product *p, struct pto_gemm *gemm, uint64_t row,
                   uint64_t col) {
  struct pto_matrix b = pto_matrix_transpose(gemm->b);
  uint64_t k = 0;
  int status = 0;
  do {
    gemm->a.cols = b.cols = gemm->b.rows = pto_min_u64(DEPTH, p->k - k);
    gemm->is_added = k > 0;
    load_tile(p, &p->a, row, &gemm->a, k);
    load_tile(p, &p->b, col, &b, k);
    status = pto_gemm_run(args, gemm);
    k += DEPTH;
  } while (k < p->k && status == 0);
  for (uint64_t i = 0; i < gemm->c.rows && status == 0; i++)
    pto_loops_best()->store[PTO_CLASS_F32][p->c->dtype](pto_matrix_at(&gemm->c, i, 0), element_at(p->c, row + i, col),
                                                        p->c->strides[1] * pto_dtype_size(p->c->dtype), gemm->c.cols);
  return status;
}

static int run(const struct pto_kernel_args *args) {
  const struct product p = product_of(args);
  const uint64_t depth = depth_of(&p), rows = pto_min_u64(p.m, TILE), cols = pto_min_u64(p.n, TILE);
  struct pto_local local = pto_local_begin(&args->core->local);
  int status = 0;
  if (p.m == 0 || p.n == 0) return 0;
  struct pto_gemm gemm = {
      .kernel = p.kernel,
      .alpha = 1,
      .beta = 1,
      .a = {.addr = pto_local_take(&local, rows * depth * sizeof(float)), .row_stride = depth, .col_stride = 1},
      .b = {.addr = pto_local_take(&local, cols * depth * sizeof(float)), .row_stride = 1, .col_stride = depth},
      .c = {.addr = pto_local_take(&local, rows * cols * sizeof(float)), .row_stride = cols, .col_stride = 1}};
  gemm.a.dtype = gemm.b.dtype = gemm.c.dtype = PTO_FLOAT32;
  for (uint64_t col = 0; col < p.n; col += TILE)
    for (uint64_t row = 0; row < p.m && status == 0; row += TILE) {
      gemm.a.rows = gemm.c.rows = pto_min_u64(TILE, p.m - row);
      gemm.b.cols = gemm.c.cols = pto_min_u64(TILE, p.n - col);
      gemm.added = gemm.c;
      status = do_tile(args, &p, &gemm, row, col);
    }
  return status;
}

/* ---- the kernels ---- */

#define ELEMENTS (PTO_DTYPE_BIT(PTO_FLOAT8_E4M3FN) | PTO_DTYPE_BIT(PTO_FLOAT8_E5M2) | PTO_DTYPE_BIT(PTO_FLOAT4_E2M1FN))
#define SCALES PTO_DTYPE_BIT(PTO_FLOAT8_E8M0FNU)
#define MATRIX(name_, mode_, dtypes_)                                                                                  \
  { .name = name_, .mode = mode_, .dtypes = dtypes_, .min_rank = 2, .max_rank = 2 }
static const struct pto_kernel_param matmul_mx_params[] = {
    MATRIX("a", PTO_INPUT, ELEMENTS), MATRIX("a_scale", PTO_INPUT, SCALES), MATRIX("b", PTO_INPUT, ELEMENTS),
    MATRIX("b_scale", PTO_INPUT, SCALES), MATRIX("c", PTO_OUTPUT, PTO_DTYPES_FLOAT)};
static const struct pto_kernel_param matmul_int4_params[] = {
    MATRIX("a", PTO_INPUT, PTO_DTYPES_FLOAT), MATRIX("b", PTO_INPUT, PTO_DTYPES_NIBBLE),
    MATRIX("scale", PTO_INPUT, PTO_DTYPES_FLOAT), MATRIX("c", PTO_OUTPUT, PTO_DTYPES_FLOAT)};

PTO_GENERAL_KERNEL(matmul_mx, matmul_mx_params, .cores = PTO_AIC, .flags = PTO_KERNEL_ONE_BLOCK, .run = run,
                   .cost = cost, .check = check);
PTO_GENERAL_KERNEL(matmul_int4, matmul_int4_params, .cores = PTO_AIC, .flags = PTO_KERNEL_ONE_BLOCK, .run = run,
                   .cost = cost, .check = check);
