/* SPDX-License-Identifier: MIT */
/*
 * Blocks of the matrix product: what is packed, in which order the tiles come, and how sums become elements of c.
 *
 *   for columns of c, as many as L0B has panels for
 *     for rows of c, as many as L0C has sums for
 *       for pieces of k: pack b's panels into L0B; for strips of rows: pack a's strip into L0A; for panels: one tile
 *       scale, add and store the sums
 *
 * Shortcuts, each with its figure in docs/decisions/special-kernel-paths.md: f32 operands that few tiles read are read
 * in place; where c can take the sums as they are, whole panels go from registers to c, and a bias and bounds are
 * applied in the registers; few rows make tiles of four vectors; and a c whose columns are contiguous is turned.
 * None of this changes a bit: a sum is carried on from piece to piece.
 */
#include <kernels/matmul/gemm.h>

#include <kernels/matmul/gemm_block.h>
#include <kernels/api/local.h>
#include <kernels/levels/loops.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PIECE_UNITS 128   /* of k: a panel of 32 columns takes 16 KiB, a third of a first-level cache */
#define DIRECT_STRIPS 5   /* strips of rows up to which b is read in place: packing pays from there on */
#define DIRECT_STRIDE 512 /* f32 between its rows; a first-level cache repeats its sets every 4 KiB */
#define DIRECT_PANELS 2   /* panels up to which a is read in place */
#define ADDED_ELEMS 256   /* of a row at a time: a buffer of 1 KiB */
#define L0_ROWS 128       /* what a product in hardware has in L0C at a time */
#define L0_COLUMNS 256
#define L1_TILE 128 /* rows, columns and depth of what a core keeps in L1: two f32 tiles take 128 KiB */

_Static_assert(PTO_GEMM_LEAST_BYTES >= PTO_GEMM_STRIP_UNITS(PTO_GEMM_STRIP_GAP) * PTO_GEMM_UNIT, "L0A: a strip");
_Static_assert(PTO_GEMM_LEAST_BYTES >= PTO_GEMM_MAX_WIDTH * 16 * PTO_GEMM_UNIT, "L0B: a panel");
_Static_assert(PTO_GEMM_LEAST_BYTES >= PTO_GEMM_MAX_ROWS * PTO_GEMM_MAX_WIDTH * PTO_GEMM_UNIT, "L0C: a tile");

/* What is at work on one block of c. */
struct block {
  const struct pto_gemm *gemm;
  const struct pto_gemm_set *set;
  char *strip, *panels, *sums;   /* L0A, L0B, L0C */
  uint64_t width;                /* of a panel, but the last */
  uint64_t most_rows, most_cols; /* of a block */
  uint64_t piece;                /* elements of k */
  uint64_t row, col, rows, cols; /* of the block in c */
  uint64_t k, depth, units;      /* of the piece: elements, units */
  uint64_t most_strip;           /* rows of a tile */
  bool is_a_direct, is_b_direct, is_c_direct;
  bool is_finished_in_c; /* on their way from registers to c */
};

static struct pto_matrix part_of(const struct pto_matrix *m, uint64_t row, uint64_t col, uint64_t rows, uint64_t cols) {
  struct pto_matrix part = *m;
  part.addr = pto_matrix_at(m, row, col);
  part.rows = rows;
  part.cols = cols;
  return part;
}

/* The panel at column j of the block: 4, 2 or 1 vectors, none of them empty; so all panels are as wide as the block's
 * columns, rounded up to a vector. */
static uint64_t panel_width(const struct block *block, uint64_t j) {
  const uint64_t left = pto_align_up(block->cols - j, block->set->lanes);
  uint64_t width = block->width;
  while (width > left) width /= 2;
  return width;
}

/* A vector of b must not reach beyond its row. */
static bool is_panel_direct(const struct block *block, uint64_t j) {
  return block->is_b_direct && j + panel_width(block, j) <= block->cols;
}

/* Panel j begins j · units into L0B. */
static char *panel_at(const struct block *block, uint64_t j) {
  return block->panels + j * block->units * PTO_GEMM_UNIT;
}

static void pack_panels(const struct block *block) {
  for (uint64_t j = 0, width = 0; j < block->cols; j += width) {
    width = panel_width(block, j);
    if (is_panel_direct(block, j)) continue;
    const struct pto_matrix part =
        part_of(&block->gemm->b, block->k, block->col + j, block->depth, pto_min_u64(width, block->cols - j));
    block->set->pack_b(&part, width, panel_at(block, j));
  }
}

static void set_strip(const struct block *block, uint64_t i, uint64_t rows, struct pto_gemm_operands *operands) {
  const struct pto_matrix *a = &block->gemm->a;
  if (block->depth == 0) {
    operands->a = block->strip;
    return;
  }
  if (block->is_a_direct) {
    operands->a = pto_matrix_at(a, block->row + i, block->k);
    operands->a_row = a->row_stride * PTO_GEMM_UNIT;
    operands->a_step = a->col_stride * PTO_GEMM_UNIT;
    return;
  }
  const struct pto_matrix part = part_of(a, block->row + i, block->k, rows, block->depth);
  block->set->pack_a(&part, block->strip, operands);
}

/* Columns of the block before this one go to c from registers; a panel with columns beyond goes to L0C. */
static uint64_t direct_end(const struct block *block) {
  if (!block->is_c_direct) return 0;
  uint64_t j = 0;
  while (j < block->cols && j + panel_width(block, j) <= block->cols) j += panel_width(block, j);
  return j;
}

/* Sums of the block in L0C, most_cols apart. */
static char *sums_at(const struct block *block, uint64_t i, uint64_t j) {
  return block->sums + (i * block->most_cols + j) * PTO_GEMM_UNIT;
}

/* Strips of nearly equal height, so that none is too low to keep the multipliers busy. */
static uint64_t strip_rows(const struct block *block, uint64_t left) {
  if (left <= block->most_strip) return left;
  const uint64_t strips = (left + block->most_strip - 1) / block->most_strip;
  return (left + strips - 1) / strips;
}

/* What a tile that begins at row i and column j of the block does to its sums. */
static struct pto_gemm_finish finish_at(const struct block *block, uint64_t i, uint64_t j) {
  static const float nothing = -0.0f; /* added to a sum it changes none, not even a zero */
  const struct pto_gemm *gemm = block->gemm;
  const struct pto_matrix *added = &gemm->added;
  struct pto_gemm_finish finish = {.added = &nothing, .least = -INFINITY, .most = INFINITY};
  if (gemm->is_added) {
    finish.added = (const float *)(void *)pto_matrix_at(added, block->row + i, block->col + j);
    finish.added_row = added->row_stride;
    finish.added_col = added->col_stride;
  }
  if (gemm->is_clamped) {
    finish.least = gemm->least;
    finish.most = gemm->most;
  }
  return finish;
}

static void multiply_piece(const struct block *block) {
  const struct pto_matrix *b = &block->gemm->b, *c = &block->gemm->c;
  const uint64_t lanes = block->set->lanes, end = direct_end(block);
  const bool is_finished = block->is_finished_in_c && block->k + block->depth == block->gemm->a.cols;
  struct pto_gemm_operands operands = {.depth = block->units, .is_first = block->k == 0};
  for (uint64_t i = 0, rows = 0; i < block->rows; i += rows) {
    rows = strip_rows(block, block->rows - i);
    set_strip(block, i, rows, &operands);
    for (uint64_t j = 0, width = 0; j < block->cols; j += width) {
      width = panel_width(block, j);
      const bool is_direct = is_panel_direct(block, j);
      operands.b = is_direct ? pto_matrix_at(b, block->k, block->col + j) : panel_at(block, j);
      operands.b_step = (is_direct ? b->row_stride : width) * PTO_GEMM_UNIT;
      operands.sums = j < end ? pto_matrix_at(c, block->row + i, block->col + j) : sums_at(block, i, j);
      operands.sums_row = (j < end ? c->row_stride : block->most_cols) * PTO_GEMM_UNIT;
      const struct pto_gemm_finish finish = finish_at(block, i, j);
      operands.finish = is_finished && j < end ? &finish : NULL;
      block->set->micro[(width > lanes) + (width > 2 * lanes)][rows](&operands);
    }
  }
}

/* x = x op y, or x op scalar, on one row of sums. */
static void apply(const struct pto_loops *loops, enum pto_op op, struct pto_chunk *chunk) {
  chunk->out = (void *)(uintptr_t)chunk->a;
  loops->op[op][PTO_CLASS_F32](chunk);
}

/* sums += beta · what is added there. */
static void add_olds(const struct block *block, const struct pto_loops *loops, const char *from,
                     struct pto_chunk *sums) {
  const struct pto_matrix *added = &block->gemm->added;
  float old[ADDED_ELEMS];
  struct pto_chunk olds = {.count = sums->count, .a = old, .scalar = {.f32 = block->gemm->beta}};
  loops->load[PTO_CLASS_F32][added->dtype](old, from, added->col_stride * pto_dtype_size(added->dtype), sums->count);
  if (block->gemm->beta != 1.0f) apply(loops, PTO_OP_mul_scalar, &olds);
  sums->b = old;
  apply(loops, PTO_OP_add, sums);
}

/* `count` sums from column `col` of the block in row i: alpha, then what is added, then the bounds. */
static void finish_sums(const struct block *block, const struct pto_loops *loops, uint64_t i, uint64_t col,
                        uint64_t count) {
  const struct pto_gemm *gemm = block->gemm;
  struct pto_chunk sums = {.count = count, .a = sums_at(block, i, col), .scalar = {.f32 = gemm->alpha}};
  if (gemm->alpha != 1.0f) apply(loops, PTO_OP_mul_scalar, &sums);
  if (gemm->is_added) add_olds(block, loops, pto_matrix_at(&gemm->added, block->row + i, block->col + col), &sums);
  if (!gemm->is_clamped) return;
  sums.scalar.f32 = gemm->least;
  sums.scalar2.f32 = gemm->most;
  apply(loops, PTO_OP_clamp, &sums);
}

/* Row i of the block, from column `first` of it on. */
static void store_float_row(const struct block *block, const struct pto_loops *loops, uint64_t i, uint64_t first) {
  const struct pto_matrix *c = &block->gemm->c;
  const uint64_t step_bytes = c->col_stride * pto_dtype_size(c->dtype);
  for (uint64_t col = first, count = 0; col < block->cols; col += count) {
    count = pto_min_u64(ADDED_ELEMS, block->cols - col);
    finish_sums(block, loops, i, col, count);
    loops->store[PTO_CLASS_F32][c->dtype](sums_at(block, i, col), pto_matrix_at(c, block->row + i, block->col + col),
                                          step_bytes, count);
  }
}

static void store_int_row(const struct block *block, uint64_t i, uint64_t first) {
  const struct pto_matrix *c = &block->gemm->c, *added = &block->gemm->added;
  const uint64_t count = block->cols - first, row = block->row + i, begin = block->col + first;
  const uint32_t *sums = (const void *)sums_at(block, i, first);
  uint32_t *to = (void *)pto_matrix_at(c, row, begin);
  if (!block->gemm->is_added) {
    for (uint64_t j = 0; j < count; j++) to[j * c->col_stride] = sums[j];
    return;
  }
  const uint32_t *old = (const void *)pto_matrix_at(added, row, begin);
  for (uint64_t j = 0; j < count; j++) to[j * c->col_stride] = old[j * added->col_stride] + sums[j];
}

static void store_block(const struct block *block) {
  const struct pto_loops *loops = pto_loops_best();
  const uint64_t first = direct_end(block);
  if (first == block->cols) return;
  for (uint64_t i = 0; i < block->rows; i++) {
    if (block->gemm->c.dtype == PTO_INT32)
      store_int_row(block, i, first);
    else
      store_float_row(block, loops, i, first);
  }
}

/* Where columns of c are contiguous and rows are not, cᵀ = bᵀ·aᵀ: the same products in the same order. */
static bool is_turned(const struct pto_gemm *gemm) { return gemm->c.row_stride == 1 && gemm->c.col_stride != 1; }
static struct pto_gemm turn(const struct pto_gemm *gemm) {
  struct pto_gemm turned = *gemm;
  turned.a = pto_matrix_transpose(gemm->b);
  turned.b = pto_matrix_transpose(gemm->a);
  turned.c = pto_matrix_transpose(gemm->c);
  if (gemm->is_added) turned.added = pto_matrix_transpose(gemm->added);
  return turned;
}

static uint64_t units_of(const struct block *block, uint64_t elems) {
  return block->set->unit_depth == 1 ? elems : (elems + 1) / 2;
}

/* How long pieces of k are: equal ones, each with its strip of a in L0A and at least one panel of b in L0B; and how
 * much of c the panels and L0C then have room for. */
static void plan_sizes(struct block *block, const struct pto_core *core) {
  const uint64_t panels_units = core->l0b.size_bytes / PTO_GEMM_UNIT;
  const uint64_t row_units = pto_align_up(block->gemm->c.cols, block->set->lanes);
  const uint64_t k_units = pto_max_u64(1, units_of(block, block->gemm->a.cols));
  uint64_t units = pto_min_u64(PIECE_UNITS, panels_units / block->width);
  units = pto_min_u64(units, core->l0a.size_bytes / PTO_GEMM_UNIT / PTO_GEMM_MAX_ROWS - PTO_GEMM_STRIP_GAP);
  const uint64_t pieces = (k_units + units - 1) / units;
  units = (k_units + pieces - 1) / pieces;
  block->piece = units * block->set->unit_depth;
  const uint64_t sums_units = core->l0c.size_bytes / PTO_GEMM_UNIT;
  const uint64_t cols = pto_min_u64(panels_units / units, sums_units / block->most_strip);
  block->most_cols = pto_min_u64(row_units, cols & ~(block->width - 1));
  block->most_rows = sums_units / block->most_cols;
}

/* Whether what is added can be added to sums that are in c: one row or one column of it for all, so that it is not c
 * itself. */
static bool is_added_in_c(const struct pto_gemm *gemm) {
  const struct pto_matrix *added = &gemm->added;
  if (!gemm->is_added) return true;
  const bool is_row = added->row_stride == 0 && added->col_stride == 1, is_col = added->col_stride == 0;
  return added->dtype == PTO_FLOAT32 && gemm->beta == 1.0f && added->addr != gemm->c.addr && (is_row || is_col);
}

/* How large blocks are, and what is read and written in place. */
static void plan(struct block *block, const struct pto_core *core) {
  const struct pto_gemm *gemm = block->gemm;
  const struct pto_matrix *a = &gemm->a, *b = &gemm->b, *c = &gemm->c;
  const struct pto_gemm_set *set = block->set;
  const bool is_wide = c->rows <= set->wide_rows;
  block->width = set->lanes * (is_wide ? 4 : 2);
  block->most_strip = is_wide ? set->wide_rows : set->rows;
  plan_sizes(block, core);
  block->is_a_direct = a->dtype == PTO_FLOAT32 && (c->cols <= DIRECT_PANELS * block->width ||
                                                   (a->col_stride == 1 && a->row_stride % DIRECT_STRIDE != 0));
  block->is_b_direct = b->dtype == PTO_FLOAT32 && b->col_stride == 1 && a->cols > 0 &&
                       (c->rows <= block->most_strip ||
                        (b->row_stride <= DIRECT_STRIDE && c->rows <= DIRECT_STRIPS * block->most_strip));
  const bool is_sums = gemm->alpha == 1.0f && c->col_stride == 1 && (c->dtype == PTO_FLOAT32 || c->dtype == PTO_INT32);
  const bool is_finished = gemm->is_added || gemm->is_clamped;
  const bool are_bounds_ordered = !gemm->is_clamped || gemm->least <= gemm->most; /* none is a NaN */
  block->is_c_direct =
      is_sums && (!is_finished || (c->dtype == PTO_FLOAT32 && is_added_in_c(gemm) && are_bounds_ordered));
  block->is_finished_in_c = block->is_c_direct && is_finished;
}

static void run_block(struct block *block) {
  const uint64_t depth = block->gemm->a.cols;
  block->k = 0;
  do {
    block->depth = pto_min_u64(block->piece, depth - block->k);
    block->units = units_of(block, block->depth);
    if (block->row == 0 || depth > block->piece) pack_panels(block);
    multiply_piece(block);
    block->k += block->depth;
  } while (block->k < depth);
  store_block(block);
}

static int run_set(const struct pto_gemm_set *set, const struct pto_kernel_args *args, const struct pto_gemm *gemm) {
  const struct pto_core *core = args->core;
  const struct pto_local_memory *const memories[3] = {&core->l0a, &core->l0b, &core->l0c};
  for (uint32_t i = 0; i < 3; i++)
    if (memories[i]->size_bytes < PTO_GEMM_LEAST_BYTES)
      return pto_kernel_error(args, "%s: L0%c of the core has %" PRIu64 " bytes, a product needs %d", gemm->kernel,
                              'A' + (int)i, memories[i]->size_bytes, PTO_GEMM_LEAST_BYTES);
  if (gemm->c.rows == 0 || gemm->c.cols == 0) return 0;
  struct pto_gemm turned;
  if (is_turned(gemm)) {
    turned = turn(gemm);
    gemm = &turned;
  }
  struct block block = {
      .gemm = gemm, .set = set, .strip = core->l0a.addr, .panels = core->l0b.addr, .sums = core->l0c.addr};
  plan(&block, core);
  for (block.col = 0; block.col < gemm->c.cols; block.col += block.most_cols) {
    block.cols = pto_min_u64(block.most_cols, gemm->c.cols - block.col);
    for (block.row = 0; block.row < gemm->c.rows; block.row += block.most_rows) {
      block.rows = pto_min_u64(block.most_rows, gemm->c.rows - block.row);
      run_block(&block);
    }
  }
  return 0;
}

static const struct pto_gemm_set *set_at(uint32_t set, uint32_t dtype) {
  return (PTO_DTYPE_BIT(dtype) & PTO_DTYPES_FLOAT) != 0 ? pto_gemm_float_set(set) : pto_gemm_int8_set(set);
}

/* Of the highest level: the set beyond it, where the dtype and the processor have one. */
int pto_gemm_run(const struct pto_kernel_args *args, const struct pto_gemm *gemm) {
  const uint32_t level = pto_level_best(), dtype = gemm->a.dtype;
  const struct pto_gemm_set *beyond = level == PTO_LEVEL_COUNT - 1 ? set_at(PTO_LEVEL_COUNT, dtype) : NULL;
  return run_set(beyond ? beyond : set_at(level, dtype), args, gemm);
}

bool pto_gemm_has_set(uint32_t set, uint32_t dtype) { return set_at(set, dtype) != NULL; }

int pto_gemm_run_set(uint32_t set, const struct pto_kernel_args *args, const struct pto_gemm *gemm) {
  return run_set(set_at(set, gemm->a.dtype), args, gemm);
}

/* ---- checks and costs ---- */

int pto_check_product(const struct pto_kernel_args *args, const struct pto_gemm *gemm, uint32_t c) {
  int status = pto_check_same_size(args, gemm->kernel, "inner sizes", (struct pto_kernel_size){0, gemm->a.cols},
                                   (struct pto_kernel_size){1, gemm->b.rows});
  if (status != 0) return status;
  status = pto_check_same_size(args, gemm->kernel, "rows", (struct pto_kernel_size){0, gemm->a.rows},
                               (struct pto_kernel_size){c, gemm->c.rows});
  if (status != 0) return status;
  return pto_check_same_size(args, gemm->kernel, "columns", (struct pto_kernel_size){1, gemm->b.cols},
                             (struct pto_kernel_size){c, gemm->c.cols});
}

/* Local memory is L1, through which a device brings a tile of a and one of b to L0A and L0B. */
struct pto_cost pto_gemm_cost(const struct pto_kernel_args *args, const struct pto_gemm *gemm, uint64_t count) {
  const uint64_t m = gemm->c.rows, n = gemm->c.cols, k = gemm->a.cols;
  const uint64_t tile_k = pto_min_u64(k, L1_TILE);
  struct pto_cost cost = {.multiply_adds = count * m * n * k,
                          .local_bytes = pto_min_u64(m, L1_TILE) * tile_k * pto_dtype_size(gemm->a.dtype) +
                                         pto_min_u64(n, L1_TILE) * tile_k * pto_dtype_size(gemm->b.dtype),
                          .dtype = gemm->a.dtype,
                          .l0a_bytes =
                              count * m * k * pto_dtype_size(gemm->a.dtype) * ((n + L0_COLUMNS - 1) / L0_COLUMNS),
                          .l0b_bytes = count * k * n * pto_dtype_size(gemm->b.dtype) * ((m + L0_ROWS - 1) / L0_ROWS)};
  for (uint32_t i = 0; i + 1 < args->tensor_count; i++) cost.bytes_in += pto_kernel_bytes(&args->tensors[i]);
  cost.bytes_out = pto_kernel_bytes(&args->tensors[args->tensor_count - 1]);
  return cost;
}
