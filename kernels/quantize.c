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
#include <kernels/kernel_list.h>
#include <kernels/kernel_local.h>
#include <kernels/kernel_loops.h>
#include <kernels/kernel_shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <string.h>

#define PIECE_ELEMS 1024 /* that are in local memory at a time */
#define GRID_DIMS (2 * PTO_MAX_DIMS)

#define DTYPES_SMALL                                                                                                   \
  (PTO_DTYPE_BIT(PTO_INT8) | PTO_DTYPE_BIT(PTO_UINT8) | PTO_DTYPE_BIT(PTO_INT4) | PTO_DTYPE_BIT(PTO_UINT4))

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
                           .local_bytes = 4 * pto_local_bytes(piece_bytes(numel))};
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

/* ---- pieces of a row ---- */

struct piece {
  float *x, *scale;
  int32_t *whole, *zero;
  uint64_t count;
};

static int32_t whole_at(const struct pto_kernel_tensor *t, uint64_t at) {
  const unsigned char *bytes = t->addr;
  unsigned nibble;
  int32_t value;
  switch (t->dtype) {
  case PTO_INT8:
    return (int8_t)bytes[at];
  case PTO_UINT8:
    return bytes[at];
  case PTO_INT32:
    memcpy(&value, bytes + at * sizeof value, sizeof value);
    return value;
  default:
    nibble = bytes[at / 2] >> (at % 2 * 4) & 15;
    return t->dtype == PTO_INT4 && nibble >= 8 ? (int32_t)nibble - 16 : (int32_t)nibble;
  }
}

static void load_wholes(const struct pto_kernel_tensor *t, uint64_t at, uint64_t step, int32_t *to, uint64_t count) {
  const unsigned char *bytes = t->addr;
  if (t->dtype == PTO_INT8)
    for (uint64_t i = 0; i < count; i++) to[i] = (int8_t)bytes[at + i * step];
  else if (t->dtype == PTO_UINT8)
    for (uint64_t i = 0; i < count; i++) to[i] = bytes[at + i * step];
  else
    for (uint64_t i = 0; i < count; i++) to[i] = whole_at(t, at + i * step);
}

static void store_wholes(const struct pto_kernel_tensor *t, uint64_t at, uint64_t step, const int32_t *from,
                         uint64_t count) {
  unsigned char *bytes = t->addr;
  if (pto_dtype_bits(t->dtype) == 8) {
    for (uint64_t i = 0; i < count; i++) bytes[at + i * step] = (unsigned char)from[i];
    return;
  }
  for (uint64_t i = 0; i < count; i++, at += step) {
    const unsigned shift = (unsigned)(at % 2) * 4;
    bytes[at / 2] = (unsigned char)((bytes[at / 2] & (0xf0u >> shift)) | ((unsigned)from[i] & 15) << shift);
  }
}

/* scale and zero of each element of the piece that starts `first` elements into the row. */
static void spread(const struct pto_kernel_tensor *t, const struct row *row, const uint64_t at[TENSORS], uint64_t first,
                   const struct piece *piece) {
  pto_load_loop *load = pto_loops_best()->load[PTO_CLASS_F32][t[SCALE].dtype];
  const uint64_t size = pto_dtype_size(t[SCALE].dtype);
  if (row->block == 1) {
    load(piece->scale, (const char *)t[SCALE].addr + (at[SCALE] + first * row->step[SCALE]) * size,
         row->step[SCALE] * size, piece->count);
    load_wholes(&t[ZERO], at[ZERO] + first * row->step[ZERO], row->step[ZERO], piece->zero, piece->count);
    return;
  }
  for (uint64_t done = 0; done < piece->count;) {
    const uint64_t block = (first + done) / row->block;
    const uint64_t end = pto_min_u64((block + 1) * row->block - first, piece->count);
    float scale;
    load(&scale, (const char *)t[SCALE].addr + (at[SCALE] + block * row->step[SCALE]) * size, size, 1);
    const int32_t zero = whole_at(&t[ZERO], at[ZERO] + block * row->step[ZERO]);
    for (; done < end; done++) {
      piece->scale[done] = scale;
      piece->zero[done] = zero;
    }
  }
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif

/* Adding and subtracting 1.5 · 2²³ rounds a number below 2²² to a whole one, ties to even. */
static void quantize_piece(const float *restrict x, const float *restrict scale, const int32_t *restrict zero,
                           int32_t *restrict whole, uint64_t count, int32_t least, int32_t most) {
  for (uint64_t i = 0; i < count; i++) {
    float q = x[i] / scale[i];
    q = q == q ? q : 0.0f;
    q = q < -1024.0f ? -1024.0f : q;
    q = q > 1024.0f ? 1024.0f : q;
    q = q + 12582912.0f;
    q = q - 12582912.0f;
    const int32_t sum = (int32_t)q + zero[i];
    whole[i] = sum < least ? least : sum > most ? most : sum;
  }
}

static void dequantize_piece(const int32_t *restrict whole, const int32_t *restrict zero, const float *restrict scale,
                             float *restrict y, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) y[i] = (float)(whole[i] - zero[i]) * scale[i];
}
/* Of int32, whose difference has 33 bits. */
static void dequantize_wide(const int32_t *restrict whole, const int32_t *restrict zero, const float *restrict scale,
                            float *restrict y, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) y[i] = (float)((int64_t)whole[i] - zero[i]) * scale[i];
}

static void quantize_row(const struct pto_kernel_tensor *t, const struct row *row, const uint64_t at[TENSORS],
                         struct piece piece) {
  const bool is_signed = t[Y].dtype == PTO_INT8 || t[Y].dtype == PTO_INT4;
  const int32_t values = 1 << pto_dtype_bits(t[Y].dtype), least = is_signed ? -values / 2 : 0;
  const uint64_t size = pto_dtype_size(t[X].dtype);
  pto_load_loop *load = pto_loops_best()->load[PTO_CLASS_F32][t[X].dtype];
  for (uint64_t first = 0; first < row->count; first += piece.count) {
    piece.count = pto_min_u64(row->count - first, PIECE_ELEMS);
    load(piece.x, (const char *)t[X].addr + (at[X] + first * row->step[X]) * size, row->step[X] * size, piece.count);
    spread(t, row, at, first, &piece);
    quantize_piece(piece.x, piece.scale, piece.zero, piece.whole, piece.count, least, least + values - 1);
    store_wholes(&t[Y], at[Y] + first * row->step[Y], row->step[Y], piece.whole, piece.count);
  }
}

static void dequantize_row(const struct pto_kernel_tensor *t, const struct row *row, const uint64_t at[TENSORS],
                           struct piece piece) {
  const uint64_t size = pto_dtype_size(t[Y].dtype);
  pto_store_loop *store = pto_loops_best()->store[PTO_CLASS_F32][t[Y].dtype];
  for (uint64_t first = 0; first < row->count; first += piece.count) {
    piece.count = pto_min_u64(row->count - first, PIECE_ELEMS);
    load_wholes(&t[X], at[X] + first * row->step[X], row->step[X], piece.whole, piece.count);
    spread(t, row, at, first, &piece);
    if (t[X].dtype == PTO_INT32)
      dequantize_wide(piece.whole, piece.zero, piece.scale, piece.x, piece.count);
    else
      dequantize_piece(piece.whole, piece.zero, piece.scale, piece.x, piece.count);
    store(piece.x, (char *)t[Y].addr + (at[Y] + first * row->step[Y]) * size, row->step[Y] * size, piece.count);
  }
}

/* ---- runs ---- */

typedef void row_function(const struct pto_kernel_tensor *t, const struct row *row, const uint64_t at[TENSORS],
                          struct piece piece);

static int for_each_row(const struct pto_kernel_args *args, row_function *function) {
  const uint64_t numel = pto_kernel_numel(&args->tensors[X]);
  if (numel == 0) return 0;
  struct pto_local local = pto_local_begin(&args->core->local);
  struct piece piece = {.x = pto_local_take(&local, piece_bytes(numel)),
                        .scale = pto_local_take(&local, piece_bytes(numel)),
                        .whole = pto_local_take(&local, piece_bytes(numel)),
                        .zero = pto_local_take(&local, piece_bytes(numel))};
  struct grid grid;
  grid_init(&grid, args->tensors);
  const struct row row = grid_row(&grid);
  uint64_t index[GRID_DIMS] = {0}, at[TENSORS] = {0};
  uint32_t d;
  do {
    function(args->tensors, &row, at, piece);
    for (d = grid.ndims; d-- > 0;) {
      for (uint32_t i = 0; i < TENSORS; i++) at[i] += grid.step[d][i];
      if (++index[d] < grid.extent[d]) break;
      for (uint32_t i = 0; i < TENSORS; i++) at[i] -= grid.extent[d] * grid.step[d][i];
      index[d] = 0;
    }
  } while (d != UINT32_MAX);
  return 0;
}

static int quantize_linear_run(const struct pto_kernel_args *args) { return for_each_row(args, quantize_row); }
static int dequantize_linear_run(const struct pto_kernel_args *args) { return for_each_row(args, dequantize_row); }

/* ---- the kernels ---- */

#define TENSOR(name_, mode_, dtypes_)                                                                                  \
  { .name = name_, .mode = mode_, .dtypes = dtypes_ }
static const struct pto_kernel_param quantize_linear_params[] = {
    TENSOR("x", PTO_INPUT, PTO_DTYPES_FLOAT), TENSOR("scale", PTO_INPUT, PTO_DTYPES_FLOAT),
    TENSOR("zero_point", PTO_INPUT, DTYPES_SMALL), TENSOR("y", PTO_OUTPUT, DTYPES_SMALL)};
static const struct pto_kernel_param dequantize_linear_params[] = {
    TENSOR("x", PTO_INPUT, DTYPES_SMALL | PTO_DTYPE_BIT(PTO_INT32)), TENSOR("scale", PTO_INPUT, PTO_DTYPES_FLOAT),
    TENSOR("zero_point", PTO_INPUT, DTYPES_SMALL | PTO_DTYPE_BIT(PTO_INT32)),
    TENSOR("y", PTO_OUTPUT, PTO_DTYPES_FLOAT)};

const struct pto_kernel pto_general_quantize_linear = {.name = "quantize_linear",
                                                       .cores = PTO_AIV,
                                                       .params = quantize_linear_params,
                                                       .param_count = PTO_ARRAY_LENGTH(quantize_linear_params),
                                                       .run = quantize_linear_run,
                                                       .cost = quantize_linear_cost,
                                                       .check = quantize_linear_check};
const struct pto_kernel pto_general_dequantize_linear = {.name = "dequantize_linear",
                                                         .cores = PTO_AIV,
                                                         .params = dequantize_linear_params,
                                                         .param_count = PTO_ARRAY_LENGTH(dequantize_linear_params),
                                                         .run = dequantize_linear_run,
                                                         .cost = dequantize_linear_cost,
                                                         .check = dequantize_linear_check};
