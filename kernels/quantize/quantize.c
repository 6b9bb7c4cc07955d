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
#include <kernels/levels/level.h>
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/levels/loops.h>
#include <kernels/levels/scalar.h>
#include <kernels/api/shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <string.h>

#define PIECE_ELEMS 1024 /* that are in local memory at a time */
#define GRID_DIMS (2 * PTO_MAX_DIMS)

/* Of 32 bits: rare, and element by element. */
#define DTYPES_WIDE (PTO_DTYPE_BIT(PTO_INT32) | PTO_DTYPE_BIT(PTO_UINT32))
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

/* ---- loops ---- */

/* A piece of a row in local memory: x or y as f32, and the integers. */
struct values {
  float *x, *scale;
  int32_t *whole, *zero;
  uint64_t count;
};

struct loops {
  void (*load_i8)(int32_t *to, const int8_t *from, uint64_t count);
  void (*load_u8)(int32_t *to, const uint8_t *from, uint64_t count);
  void (*load_halves)(int32_t *to, const uint8_t *from, uint64_t pairs, int32_t sign);
  void (*store_8)(const int32_t *from, uint8_t *to, uint64_t count);
  void (*store_halves)(const int32_t *from, uint8_t *to, uint64_t pairs);
  void (*spread)(float *scales, int32_t *zeros, float scale, int32_t zero, uint64_t count);
  void (*quantize)(const struct values *values, int32_t least, int32_t most);
  void (*dequantize)(const struct values *values);
  void (*dequantize_wide)(const struct values *values);
};

/* No code here looks at floating-point exceptions, and without that promise a select is not vectorised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3", "no-trapping-math")
#endif

#define PTO_LEVEL_LOOPS <kernels/levels/quantize.inc>
#include <kernels/levels/each_level.inc>

static const struct loops *const loops_of[PTO_LEVEL_COUNT] = PTO_LEVEL_SETS(loops);

/* ---- pieces of a row ---- */

/* What a run works with. */
struct work {
  const struct pto_kernel_tensor *t;
  const struct loops *loops;
  pto_load_loop *load_x, *load_scale;
  pto_store_loop *store_y;
  struct values values;
};

static int32_t whole_at(const struct pto_kernel_tensor *t, uint64_t at) {
  const unsigned char *bytes = t->addr;
  unsigned half;
  int32_t value;
  switch (t->dtype) {
  case PTO_INT8:
    return (int8_t)bytes[at];
  case PTO_UINT8:
    return bytes[at];
  case PTO_INT32:
  case PTO_UINT32: /* as its bits */
    memcpy(&value, bytes + at * sizeof value, sizeof value);
    return value;
  default:
    half = bytes[at / 2] >> (at % 2 * 4) & 15;
    return t->dtype == PTO_INT4 && half >= 8 ? (int32_t)half - 16 : (int32_t)half;
  }
}

static void load_wholes(const struct loops *loops, const struct pto_kernel_tensor *t, uint64_t at, uint64_t step,
                        int32_t *to, uint64_t count) {
  const uint8_t *bytes = t->addr;
  uint64_t i = 0;
  if (step == 1 && t->dtype == PTO_INT8) {
    loops->load_i8(to, (const int8_t *)bytes + at, count);
    return;
  }
  if (step == 1 && t->dtype == PTO_UINT8) {
    loops->load_u8(to, bytes + at, count);
    return;
  }
  if (step == 1 && pto_dtype_bits(t->dtype) == 4) {
    if (at % 2 != 0 && count > 0) to[i++] = whole_at(t, at);
    loops->load_halves(to + i, bytes + (at + i) / 2, (count - i) / 2, t->dtype == PTO_INT4 ? 8 : 0);
    i += (count - i) / 2 * 2;
  }
  for (; i < count; i++) to[i] = whole_at(t, at + i * step);
}

static void store_half(uint8_t *bytes, uint64_t at, int32_t value) {
  const unsigned shift = (unsigned)(at % 2) * 4;
  bytes[at / 2] = (uint8_t)((bytes[at / 2] & (0xf0u >> shift)) | ((unsigned)value & 15) << shift);
}

static void store_wholes(const struct loops *loops, const struct pto_kernel_tensor *t, uint64_t at, uint64_t step,
                         const int32_t *from, uint64_t count) {
  uint8_t *bytes = t->addr;
  uint64_t i = 0;
  if (pto_dtype_bits(t->dtype) == 32) {
    for (; i < count; i++) memcpy(bytes + (at + i * step) * sizeof *from, &from[i], sizeof *from);
    return;
  }
  if (pto_dtype_bits(t->dtype) == 8) {
    if (step == 1)
      loops->store_8(from, bytes + at, count);
    else
      for (; i < count; i++) bytes[at + i * step] = (uint8_t)from[i];
    return;
  }
  if (step == 1) {
    if (at % 2 != 0 && count > 0) store_half(bytes, at, from[i++]);
    loops->store_halves(from + i, bytes + (at + i) / 2, (count - i) / 2);
    i += (count - i) / 2 * 2;
  }
  for (; i < count; i++) store_half(bytes, at + i * step, from[i]);
}

/* scale and zero of each element of the piece that starts `first` elements into the row. */
static void spread(const struct work *w, const struct row *row, const uint64_t at[TENSORS], uint64_t first) {
  const struct pto_kernel_tensor *scale = &w->t[SCALE], *zero = &w->t[ZERO];
  const uint64_t size = pto_dtype_size(scale->dtype), count = w->values.count;
  if (row->block == 1) {
    w->load_scale(w->values.scale, (const char *)scale->addr + (at[SCALE] + first * row->step[SCALE]) * size,
                  row->step[SCALE] * size, count);
    load_wholes(w->loops, zero, at[ZERO] + first * row->step[ZERO], row->step[ZERO], w->values.zero, count);
    return;
  }
  for (uint64_t done = 0; done < count;) {
    const uint64_t block = (first + done) / row->block, end = pto_min_u64((block + 1) * row->block - first, count);
    float value;
    w->load_scale(&value, (const char *)scale->addr + (at[SCALE] + block * row->step[SCALE]) * size, size, 1);
    w->loops->spread(w->values.scale + done, w->values.zero + done, value,
                     whole_at(zero, at[ZERO] + block * row->step[ZERO]), end - done);
    done = end;
  }
}

static int64_t wide_of(uint32_t dtype, int32_t bits) { return dtype == PTO_UINT32 ? (int64_t)(uint32_t)bits : bits; }

/* To integers of 32 bits: sums in double, where those that are not saturated are exact. */
static void quantize_wide(const struct values *v, uint32_t dtype) {
  const double least = dtype == PTO_INT32 ? -0x1p31 : 0, most = least + 0x1p32 - 1;
  for (uint64_t i = 0; i < v->count; i++) {
    const float quotient = v->x[i] / v->scale[i];
    const double rounded = quotient == quotient ? (double)round_f32(quotient) : 0;
    const double sum = rounded + (double)wide_of(dtype, v->zero[i]);
    v->whole[i] = (int32_t)(uint32_t)(int64_t)(sum < least ? least : sum > most ? most : sum);
  }
}
static void dequantize_unsigned(const struct values *v) {
  for (uint64_t i = 0; i < v->count; i++)
    v->x[i] = (float)(wide_of(PTO_UINT32, v->whole[i]) - wide_of(PTO_UINT32, v->zero[i])) * v->scale[i];
}

static void quantize_row(struct work *w, const struct row *row, const uint64_t at[TENSORS]) {
  const struct pto_kernel_tensor *x = &w->t[X], *y = &w->t[Y];
  const bool is_signed = y->dtype == PTO_INT8 || y->dtype == PTO_INT4;
  const bool is_wide = pto_dtype_bits(y->dtype) == 32;
  const int32_t range = is_wide ? 0 : 1 << pto_dtype_bits(y->dtype), least = is_signed ? -range / 2 : 0;
  const uint64_t size = pto_dtype_size(x->dtype);
  for (uint64_t first = 0; first < row->count; first += w->values.count) {
    w->values.count = pto_min_u64(row->count - first, PIECE_ELEMS);
    w->load_x(w->values.x, (const char *)x->addr + (at[X] + first * row->step[X]) * size, row->step[X] * size,
              w->values.count);
    spread(w, row, at, first);
    if (is_wide)
      quantize_wide(&w->values, y->dtype);
    else
      w->loops->quantize(&w->values, least, least + range - 1);
    store_wholes(w->loops, y, at[Y] + first * row->step[Y], row->step[Y], w->values.whole, w->values.count);
  }
}

static void dequantize_row(struct work *w, const struct row *row, const uint64_t at[TENSORS]) {
  const struct pto_kernel_tensor *x = &w->t[X], *y = &w->t[Y];
  const uint64_t size = pto_dtype_size(y->dtype);
  for (uint64_t first = 0; first < row->count; first += w->values.count) {
    w->values.count = pto_min_u64(row->count - first, PIECE_ELEMS);
    load_wholes(w->loops, x, at[X] + first * row->step[X], row->step[X], w->values.whole, w->values.count);
    spread(w, row, at, first);
    if (x->dtype == PTO_INT32)
      w->loops->dequantize_wide(&w->values);
    else if (x->dtype == PTO_UINT32)
      dequantize_unsigned(&w->values);
    else
      w->loops->dequantize(&w->values);
    w->store_y(w->values.x, (char *)y->addr + (at[Y] + first * row->step[Y]) * size, row->step[Y] * size,
               w->values.count);
  }
}

/* ---- runs ---- */

typedef void row_function(struct work *w, const struct row *row, const uint64_t at[TENSORS]);

static int for_each_row(const struct pto_kernel_args *args, row_function *function) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint64_t numel = pto_kernel_numel(&t[X]);
  if (numel == 0) return 0;
  struct pto_local local = pto_local_begin(&args->core->local);
  const struct pto_loops *loops = pto_loops_best();
  struct work w = {.t = t,
                   .loops = loops_of[pto_level_best()],
                   .load_x = loops->load[PTO_CLASS_F32][t[X].dtype],
                   .load_scale = loops->load[PTO_CLASS_F32][t[SCALE].dtype],
                   .store_y = loops->store[PTO_CLASS_F32][t[Y].dtype],
                   .values = {.x = pto_local_take(&local, piece_bytes(numel)),
                              .scale = pto_local_take(&local, piece_bytes(numel)),
                              .whole = pto_local_take(&local, piece_bytes(numel)),
                              .zero = pto_local_take(&local, piece_bytes(numel))}};
  struct grid grid;
  grid_init(&grid, args->tensors);
  const struct row row = grid_row(&grid);
  uint64_t index[GRID_DIMS] = {0}, at[TENSORS] = {0};
  uint32_t d;
  do {
    function(&w, &row, at);
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
    TENSOR("zero_point", PTO_INPUT, DTYPES_SMALL | DTYPES_WIDE), TENSOR("y", PTO_OUTPUT, DTYPES_SMALL | DTYPES_WIDE)};
static const struct pto_kernel_param dequantize_linear_params[] = {
    TENSOR("x", PTO_INPUT, DTYPES_SMALL | DTYPES_WIDE), TENSOR("scale", PTO_INPUT, PTO_DTYPES_FLOAT),
    TENSOR("zero_point", PTO_INPUT, DTYPES_SMALL | DTYPES_WIDE), TENSOR("y", PTO_OUTPUT, PTO_DTYPES_FLOAT)};

PTO_GENERAL_KERNEL(quantize_linear, quantize_linear_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = quantize_linear_run, .cost = quantize_linear_cost, .check = quantize_linear_check);
PTO_GENERAL_KERNEL(dequantize_linear, dequantize_linear_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = dequantize_linear_run, .cost = dequantize_linear_cost, .check = dequantize_linear_check);
