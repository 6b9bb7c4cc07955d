/* SPDX-License-Identifier: MIT */
/*
 * quantize_linear, dequantize_linear (AIV): between floats and integers with a scale and a zero point.
 *
 *     y = saturate(round(x / scale) + zero_point)        y = (x − zero_point) · scale
 *
 * scale and zero_point have one shape.  Aligned at the innermost dimension, each of its extents divides that of x, and
 * an element of it serves a block of x: [] or [1, 1] is one scale for all, [rows, 1] one a row, [rows, cols / 32] one a
 * block of 32, as in WebNN.  The quotient, the difference and the product are each rounded to f32, the quotient then to
 * a whole number, ties to even; a quotient that is NaN counts as 0.  The same bits everywhere.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/levels/loops.h>
#include <kernels/levels/scalar.h>
#include <kernels/api/shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <string.h>

#define PIECE_ELEMS 1024 /* floats in local memory at a time */
#define GRID_DIMS (2 * PTO_MAX_DIMS)

#define DTYPES_WHOLE                                                                                                   \
  (PTO_DTYPE_BIT(PTO_INT8) | PTO_DTYPE_BIT(PTO_UINT8) | PTO_DTYPES_NIBBLE | PTO_DTYPE_BIT(PTO_INT32) |                 \
   PTO_DTYPE_BIT(PTO_UINT32))

enum { X, SCALE, ZERO, Y, TENSORS };

/* ---- checks and costs ---- */

static int check_blocks(const struct pto_kernel_args *args, const char *kernel) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *scale = &args->tensors[SCALE];
  int status = pto_check_same_shape(args, kernel, X, Y);
  if (status == 0) status = pto_check_same_shape(args, kernel, SCALE, ZERO);
  if (status != 0) return status;
  bool is_divided = scale->ndims <= x->ndims;
  for (uint32_t d = 0; is_divided && d < scale->ndims; d++) {
    const uint64_t extent = x->shape[x->ndims - scale->ndims + d], blocks = scale->shape[d];
    is_divided = blocks == 0 ? extent == 0 : extent % blocks == 0;
  }
  if (is_divided) return 0;
  char x_text[192], scale_text[192];
  pto_format_shape(x, x_text, sizeof x_text);
  pto_format_shape(scale, scale_text, sizeof scale_text);
  return pto_kernel_error(args, "%s: scale %s does not divide %s into blocks (params 1 and 0)", kernel, scale_text,
                          x_text);
}

static int quantize_linear_check(const struct pto_kernel_args *args) {
  const int status = pto_check_same_dtype(args, "quantize_linear", ZERO, Y);
  return status != 0 ? status : check_blocks(args, "quantize_linear");
}
static int dequantize_linear_check(const struct pto_kernel_args *args) {
  const int status = pto_check_same_dtype(args, "dequantize_linear", X, ZERO);
  return status != 0 ? status : check_blocks(args, "dequantize_linear");
}

static uint64_t piece_bytes(uint64_t numel) { return pto_min_u64(numel, PIECE_ELEMS) * sizeof(float); }

static struct pto_cost cost_of(const struct pto_kernel_args *args, uint64_t ops) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint64_t numel = pto_kernel_numel(&t[X]);
  return (struct pto_cost){.bytes_in =
                               pto_kernel_bytes(&t[X]) + pto_kernel_bytes(&t[SCALE]) + pto_kernel_bytes(&t[ZERO]),
                           .bytes_out = pto_kernel_bytes(&t[Y]),
                           .vector_elems = numel * ops,
                           .local_bytes = pto_local_bytes(piece_bytes(numel))};
}
/* A division, a rounding, an addition, a clamp; and a subtraction and a multiplication. */
static struct pto_cost quantize_linear_cost(const struct pto_kernel_args *args) { return cost_of(args, 4); }
static struct pto_cost dequantize_linear_cost(const struct pto_kernel_args *args) { return cost_of(args, 2); }

/* ---- the grid: x as blocks, with the steps of all four tensors ---- */

struct grid {
  uint32_t ndims;
  uint64_t extent[GRID_DIMS];
  uint64_t step[GRID_DIMS][TENSORS]; /* in elements */
};

static void grid_add(struct grid *grid, uint64_t extent, const uint64_t step[TENSORS]) {
  if (extent == 1) return;
  if (grid->ndims > 0) {
    const uint32_t last = grid->ndims - 1;
    bool is_one = true;
    for (uint32_t i = 0; i < TENSORS; i++) is_one = is_one && grid->step[last][i] == step[i] * extent;
    if (is_one) {
      grid->extent[last] *= extent;
      memcpy(grid->step[last], step, sizeof grid->step[last]);
      return;
    }
  }
  grid->extent[grid->ndims] = extent;
  memcpy(grid->step[grid->ndims], step, sizeof grid->step[0]);
  grid->ndims++;
}

static void grid_init(struct grid *grid, const struct pto_kernel_tensor *t) {
  const uint32_t missing = t[X].ndims - t[SCALE].ndims;
  grid->ndims = 0;
  for (uint32_t d = 0; d < t[X].ndims; d++) {
    const bool has_scale = d >= missing;
    const uint64_t blocks = has_scale ? t[SCALE].shape[d - missing] : 1, block = t[X].shape[d] / blocks;
    const uint64_t x = t[X].strides[d], y = t[Y].strides[d];
    const uint64_t of_block[TENSORS] = {x * block, has_scale ? t[SCALE].strides[d - missing] : 0,
                                        has_scale ? t[ZERO].strides[d - missing] : 0, y * block};
    const uint64_t of_element[TENSORS] = {x, 0, 0, y};
    grid_add(grid, blocks, of_block);
    grid_add(grid, block, of_element);
  }
}

/* The innermost dimensions of the grid as one row of x and of y: `block` elements in a row share a scale. */
struct row {
  uint64_t count, block;
  uint64_t step[TENSORS]; /* x and y: to the next element; scale and zero point: to those of the next block */
};

/* Takes the innermost dimension off the grid, and the next one too where its blocks lie one behind the other. */
static struct row grid_row(struct grid *grid) {
  struct row row = {.count = 1, .block = 1};
  if (grid->ndims == 0) return row;
  const uint32_t last = --grid->ndims;
  memcpy(row.step, grid->step[last], sizeof row.step);
  row.count = grid->extent[last];
  if (row.step[SCALE] != 0 || row.step[ZERO] != 0) return row;
  row.block = row.count;
  if (grid->ndims == 0 || grid->step[last - 1][X] != row.step[X] * row.count ||
      grid->step[last - 1][Y] != row.step[Y] * row.count)
    return row;
  grid->ndims--;
  row.count *= grid->extent[last - 1];
  row.step[SCALE] = grid->step[last - 1][SCALE];
  row.step[ZERO] = grid->step[last - 1][ZERO];
  return row;
}

/* ---- integers ---- */

_Static_assert(PTO_DTYPE_COUNT == 18, "a dtype more: how an integer is read and set goes here");

static int64_t whole_at(const struct pto_kernel_tensor *t, uint64_t at) {
  const unsigned char *bytes = t->addr;
  uint32_t bits;
  switch (t->dtype) {
  case PTO_INT8:
    return (int8_t)bytes[at];
  case PTO_UINT8:
    return bytes[at];
  case PTO_INT32:
  case PTO_UINT32:
    memcpy(&bits, bytes + at * sizeof bits, sizeof bits);
    return t->dtype == PTO_INT32 ? (int64_t)(int32_t)bits : (int64_t)bits;
  default:
    bits = bytes[at / 2] >> (at % 2 * 4) & 15;
    return t->dtype == PTO_INT4 && bits >= 8 ? (int64_t)bits - 16 : (int64_t)bits;
  }
}

static void set_whole(const struct pto_kernel_tensor *t, uint64_t at, int64_t value) {
  unsigned char *bytes = t->addr;
  const uint32_t bits = (uint32_t)value;
  const unsigned shift = (unsigned)(at % 2) * 4;
  switch (pto_dtype_bits(t->dtype)) {
  case 8:
    bytes[at] = (unsigned char)bits;
    break;
  case 32:
    memcpy(bytes + at * sizeof bits, &bits, sizeof bits);
    break;
  default:
    bytes[at / 2] = (unsigned char)((bytes[at / 2] & (0xf0u >> shift)) | (bits & 15) << shift);
  }
}

/* ---- rows ---- */

/* What a run works with. */
struct work {
  const struct pto_kernel_tensor *t;
  pto_load_loop *load_x, *load_scale;
  pto_store_loop *store_y;
  float *piece;
};

/* Elements of one block: the first of them, how many, and what they share. */
struct block {
  uint64_t first, count;
  float scale;
  int64_t zero;
};
static struct block block_at(const struct work *w, const struct row *row, const uint64_t at[TENSORS], uint64_t first) {
  const struct pto_kernel_tensor *scale = &w->t[SCALE];
  const uint64_t index = first / row->block, size = pto_dtype_size(scale->dtype);
  struct block block = {.first = first, .count = pto_min_u64(PIECE_ELEMS, (index + 1) * row->block - first)};
  w->load_scale(&block.scale, (const char *)scale->addr + (at[SCALE] + index * row->step[SCALE]) * size, size, 1);
  block.zero = whole_at(&w->t[ZERO], at[ZERO] + index * row->step[ZERO]);
  return block;
}

/* Sums are in double, where those that are not saturated are exact. */
static void quantize_block(const struct work *w, const struct row *row, const uint64_t at[TENSORS],
                           const struct block *block) {
  const struct pto_kernel_tensor *x = &w->t[X], *y = &w->t[Y];
  const uint64_t size = pto_dtype_size(x->dtype);
  const double range = (double)(UINT64_C(1) << pto_dtype_bits(y->dtype));
  const double least = (PTO_DTYPE_BIT(y->dtype) & PTO_DTYPES_SIGNED) != 0 ? -range / 2 : 0, most = least + range - 1;
  w->load_x(w->piece, (const char *)x->addr + (at[X] + block->first * row->step[X]) * size, row->step[X] * size,
            block->count);
  for (uint64_t i = 0; i < block->count; i++) {
    const float quotient = w->piece[i] / block->scale;
    const double sum = (quotient == quotient ? (double)round_f32(quotient) : 0) + (double)block->zero;
    set_whole(y, at[Y] + (block->first + i) * row->step[Y], (int64_t)(sum < least ? least : sum > most ? most : sum));
  }
}

static void dequantize_block(const struct work *w, const struct row *row, const uint64_t at[TENSORS],
                             const struct block *block) {
  const struct pto_kernel_tensor *x = &w->t[X], *y = &w->t[Y];
  const uint64_t size = pto_dtype_size(y->dtype);
  for (uint64_t i = 0; i < block->count; i++)
    w->piece[i] = (float)(whole_at(x, at[X] + (block->first + i) * row->step[X]) - block->zero) * block->scale;
  w->store_y(w->piece, (char *)y->addr + (at[Y] + block->first * row->step[Y]) * size, row->step[Y] * size,
             block->count);
}

/* ---- runs ---- */

typedef void block_function(const struct work *w, const struct row *row, const uint64_t at[TENSORS],
                            const struct block *block);

static int for_each_block(const struct pto_kernel_args *args, block_function *function) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint64_t numel = pto_kernel_numel(&t[X]);
  if (numel == 0) return 0;
  struct pto_local local = pto_local_begin(&args->core->local);
  const struct pto_loops *loops = pto_loops_best();
  struct work w = {.t = t,
                   .load_x = loops->load[PTO_CLASS_F32][t[X].dtype],
                   .load_scale = loops->load[PTO_CLASS_F32][t[SCALE].dtype],
                   .store_y = loops->store[PTO_CLASS_F32][t[Y].dtype],
                   .piece = pto_local_take(&local, piece_bytes(numel))};
  struct grid grid;
  grid_init(&grid, args->tensors);
  const struct row row = grid_row(&grid);
  uint64_t index[GRID_DIMS] = {0}, at[TENSORS] = {0};
  uint32_t d;
  do {
    for (uint64_t first = 0; first < row.count;) {
      const struct block block = block_at(&w, &row, at, first);
      function(&w, &row, at, &block);
      first += block.count;
    }
    for (d = grid.ndims; d-- > 0;) {
      for (uint32_t i = 0; i < TENSORS; i++) at[i] += grid.step[d][i];
      if (++index[d] < grid.extent[d]) break;
      for (uint32_t i = 0; i < TENSORS; i++) at[i] -= grid.extent[d] * grid.step[d][i];
      index[d] = 0;
    }
  } while (d != UINT32_MAX);
  return 0;
}

static int quantize_linear_run(const struct pto_kernel_args *args) { return for_each_block(args, quantize_block); }
static int dequantize_linear_run(const struct pto_kernel_args *args) { return for_each_block(args, dequantize_block); }

/* ---- the kernels ---- */

#define TENSOR(name_, mode_, dtypes_)                                                                                  \
  { .name = name_, .mode = mode_, .dtypes = dtypes_ }
static const struct pto_kernel_param quantize_linear_params[] = {
    TENSOR("x", PTO_INPUT, PTO_DTYPES_FLOAT), TENSOR("scale", PTO_INPUT, PTO_DTYPES_FLOAT),
    TENSOR("zero_point", PTO_INPUT, DTYPES_WHOLE), TENSOR("y", PTO_OUTPUT, DTYPES_WHOLE)};
static const struct pto_kernel_param dequantize_linear_params[] = {
    TENSOR("x", PTO_INPUT, DTYPES_WHOLE), TENSOR("scale", PTO_INPUT, PTO_DTYPES_FLOAT),
    TENSOR("zero_point", PTO_INPUT, DTYPES_WHOLE), TENSOR("y", PTO_OUTPUT, PTO_DTYPES_FLOAT)};

PTO_GENERAL_KERNEL(quantize_linear, quantize_linear_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = quantize_linear_run, .cost = quantize_linear_cost, .check = quantize_linear_check);
PTO_GENERAL_KERNEL(dequantize_linear, dequantize_linear_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = dequantize_linear_run, .cost = dequantize_linear_cost, .check = dequantize_linear_check);
