/* SPDX-License-Identifier: MIT */
/*
 * Products of a matrix and a vector (AIV), each row of the matrix read once:
 *
 *   matvec                   y = w·x            w [rows, cols] floats; x [cols], y [rows] f32
 *   matvec_accumulate        y += w·x
 *   matvec_int8              y = (q·s)·x        q [rows, cols] i8, s [rows, blocks] floats: an element of s serves a
 *   matvec_int8_accumulate   y += (q·s)·x       block of cols / blocks columns, a multiple of 32
 *   matvec_int4              y = (q·s)·x        the same with q i4, which is dense: the bits of matvec_int8 of the same
 *   matvec_int4_accumulate   y += (q·s)·x       numbers, for half the bytes
 *
 * Order of a row's sum: element i is added to partial sum i mod 32 in order of i, beginning with +0; then lane l takes
 * lane l + 16, l + 8, l + 4, l + 2, l + 1.  A term is w·x, or (q·x)·s; each product and each sum is rounded to f32,
 * none is fused, so a row's result depends on the row and x alone: not on the rows beside it, the layout or the
 * instruction set.  Any strides; rows that are contiguous are read where they lie, one after another from begin to end:
 * memory is what such a product waits for, and the processor fetches ahead of one stream better than of several.  Any
 * thread.
 */
#include <kernels/levels/level.h>
#include <kernels/levels/level_sets.h>
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/levels/loops.h>
#include <kernels/api/math.h>
#include <kernels/api/shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <string.h>

#define ROW_LANES 32   /* partial sums */
#define ROWS_AT_ONCE 4 /* whose scales are in local memory */

/* Rows that are contiguous, and what they are multiplied with. */
struct rows {
  const char *w;
  uint64_t row_bytes;  /* from one row to the next */
  const float *scales; /* of int8 rows, one after another */
  const float *x;
  uint64_t count, cols, block;
  float *sums; /* a result a row */
};
/* The 32 numbers of 16 bytes, the low half of each byte first: loads of int8 take them from there. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));
static inline void spread_nibbles(int8_t *to, const uint8_t *from) {
  bytes16 packed;
  memcpy(&packed, from, sizeof packed);
  const bytes16 low = packed & 15, high = packed >> 4;
  /* x ^ 8 is x + 8 modulo 16, so that 8 … 15 become −8 … −1. */
  const bytes16 first =
      (__builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23) ^ 8) - 8;
  const bytes16 second =
      (__builtin_shufflevector(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31) ^ 8) - 8;
  memcpy(to, &first, sizeof first);
  memcpy(to + sizeof first, &second, sizeof second);
}

/* A loop a dtype. */
struct row_set {
  void (*sum[PTO_DTYPE_COUNT])(const struct rows *rows);
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

typedef float four_floats __attribute__((vector_size(16)));
static inline float join_four(four_floats v) { return (v[0] + v[2]) + (v[1] + v[3]); }

static inline four_floats four_from_fp16(const uint16_t *h) {
  return (four_floats){f32_from_fp16(h[0]), f32_from_fp16(h[1]), f32_from_fp16(h[2]), f32_from_fp16(h[3])};
}
static inline four_floats four_from_i8(const int8_t *q) {
  return (four_floats){(float)q[0], (float)q[1], (float)q[2], (float)q[3]};
}
/* The upper half of v added to the lower. */
#define FOLD_EIGHT(v) (__builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7))
#define FOLD_SIXTEEN(v)                                                                                                \
  (__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) + __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15))
#define PTO_LEVEL_LOOPS <kernels/levels/matvec.inc>
#include <kernels/levels/each_level.inc>

static const struct row_set *best_set(void) {
  static const struct row_set *const sets[PTO_LEVEL_COUNT] = PTO_LEVEL_SETS(row_set);
  return sets[pto_level_best()];
}

/* ---- checks and costs ---- */

enum { W };

/* What the kernels mean by their parameters. */
struct product {
  const struct pto_kernel_tensor *w, *scale, *x, *y; /* scale: NULL for floats */
  uint64_t rows, cols, blocks;
  bool is_accumulated;
};

static struct product product_of(const struct pto_kernel_args *args) {
  const uint32_t last = args->tensor_count - 1;
  const struct pto_kernel_tensor *t = args->tensors;
  return (struct product){.w = &t[W],
                          .scale = last == 3 ? &t[1] : NULL,
                          .x = &t[last - 1],
                          .y = &t[last],
                          .rows = t[W].shape[0],
                          .cols = t[W].shape[1],
                          .blocks = last == 3 ? t[1].shape[1] : 0};
}

static int check(const struct pto_kernel_args *args, const char *kernel) {
  const struct product p = product_of(args);
  const uint32_t last = args->tensor_count - 1;
  int status = pto_check_same_size(args, kernel, "columns", (struct pto_kernel_size){W, p.cols},
                                   (struct pto_kernel_size){last - 1, p.x->shape[0]});
  if (status == 0)
    status = pto_check_same_size(args, kernel, "rows", (struct pto_kernel_size){W, p.rows},
                                 (struct pto_kernel_size){last, p.y->shape[0]});
  if (status != 0 || !p.scale) return status;
  status = pto_check_same_size(args, kernel, "rows", (struct pto_kernel_size){W, p.rows},
                               (struct pto_kernel_size){1, p.scale->shape[0]});
  if (status != 0 || (p.blocks == 0 && p.cols == 0)) return status;
  if (p.blocks > 0 && p.cols % p.blocks == 0 && p.cols / p.blocks % ROW_LANES == 0) return 0;
  return pto_kernel_error(args, "%s: %" PRIu64 " columns in %" PRIu64 " blocks are no multiples of %d (params 0 and 1)",
                          kernel, p.cols, p.blocks, ROW_LANES);
}

/* x, a row that is not contiguous, and the scales of the rows that are worked on. */
static uint64_t x_bytes(const struct product *p) { return pto_local_bytes(p->cols * sizeof(float)); }
static uint64_t scale_bytes(const struct product *p) {
  return pto_local_bytes(ROWS_AT_ONCE * p->blocks * sizeof(float));
}

/* A multiplication and an addition a weight, and one more for its scale. */
static struct pto_cost cost_of(const struct pto_kernel_args *args) {
  const struct product p = product_of(args);
  struct pto_cost cost = {.bytes_out = pto_kernel_bytes(p.y), .vector_elems = p.rows * p.cols * (p.scale ? 3 : 2)};
  for (uint32_t i = 0; i + 1 < args->tensor_count; i++) cost.bytes_in += pto_kernel_bytes(&args->tensors[i]);
  if (p.rows == 0) return cost;
  cost.local_bytes = 2 * x_bytes(&p) + scale_bytes(&p);
  return cost;
}
static struct pto_cost accumulate_cost(const struct pto_kernel_args *args) {
  struct pto_cost cost = cost_of(args);
  cost.bytes_in += cost.bytes_out;
  return cost;
}

/* ---- runs ---- */

struct work {
  struct product p;
  const struct row_set *set;
  const struct pto_loops *loops;
  void *row;     /* local, or NULL: rows are contiguous */
  float *scales; /* local */
  struct rows rows;
};

/* A row of 4-bit numbers is whole bytes: its columns are a multiple of 32. */
static uint64_t row_bytes(const struct pto_kernel_tensor *t) { return t->strides[0] * pto_dtype_bits(t->dtype) / 8; }
static char *row_at(const struct pto_kernel_tensor *t, uint64_t row) { return (char *)t->addr + row * row_bytes(t); }

/* `count` elements of a row or a vector as contiguous f32. */
static void load(const struct work *work, const struct pto_kernel_tensor *t, const char *from, uint64_t count,
                 float *to) {
  const uint64_t step_bytes = t->strides[t->ndims - 1] * pto_dtype_size(t->dtype);
  work->loops->load[PTO_CLASS_F32][t->dtype](to, from, step_bytes, count);
}

static void store_sums(const struct product *p, uint64_t row, const float *sums, uint64_t count) {
  float *y = p->y->addr;
  for (uint64_t i = 0; i < count; i++) {
    float *to = y + (row + i) * p->y->strides[0];
    *to = p->is_accumulated ? *to + sums[i] : sums[i];
  }
}

/* The scales of rows `row` … `row + rows.count`. */
static void load_scales(struct work *work, uint64_t row) {
  const struct pto_kernel_tensor *scale = work->p.scale;
  const uint64_t blocks = work->p.blocks, count = work->rows.count;
  const bool is_dense = blocks > 0 && scale->strides[0] == blocks && scale->strides[1] == 1;
  const uint64_t step = is_dense ? count : 1;
  for (uint64_t i = 0; i < count; i += step)
    load(work, scale, row_at(scale, row + i), step * blocks, work->scales + i * blocks);
}

/* A row of any stride: its elements are brought together, int8 ones as they are. */
static void gather_row(const struct work *work, uint64_t row) {
  const struct product *p = &work->p;
  if (!p->scale) {
    load(work, p->w, row_at(p->w, row), p->cols, work->row);
    return;
  }
  int8_t *to = (int8_t *)work->row;
  const int8_t *from = (const int8_t *)row_at(p->w, row);
  for (uint64_t i = 0; i < p->cols; i++) to[i] = from[i * p->w->strides[1]];
}

/* Rows `row` … `row + count`, at most ROWS_AT_ONCE, and one of those that are not contiguous. */
static void do_rows(struct work *work, uint64_t row, uint64_t count) {
  const struct product *p = &work->p;
  enum pto_dtype dtype = p->w->dtype;
  float sums[ROWS_AT_ONCE];
  work->rows.w = row_at(p->w, row);
  work->rows.sums = sums;
  work->rows.count = count;
  if (work->row) {
    gather_row(work, row);
    work->rows.w = work->row;
    dtype = p->scale ? PTO_INT8 : PTO_FLOAT32;
  }
  if (p->scale) load_scales(work, row);
  work->set->sum[dtype](&work->rows);
  store_sums(p, row, sums, count);
}

static int run(const struct pto_kernel_args *args, bool is_accumulated) {
  struct work work = {.p = product_of(args), .set = best_set(), .loops = pto_loops_best()};
  struct product *p = &work.p;
  struct pto_local local = pto_local_begin(&args->core->local);
  p->is_accumulated = is_accumulated;
  if (p->rows == 0) return 0;
  float *x = p->x->addr;
  if (p->cols > 1 && p->x->strides[0] != 1) {
    x = pto_local_take(&local, p->cols * sizeof(float));
    load(&work, p->x, p->x->addr, p->cols, x);
  }
  if (p->cols > 1 && p->w->strides[1] != 1) work.row = pto_local_take(&local, p->cols * sizeof(float));
  if (p->scale) work.scales = pto_local_take(&local, ROWS_AT_ONCE * p->blocks * sizeof(float));
  work.rows.scales = work.scales;
  work.rows.x = x;
  work.rows.row_bytes = row_bytes(p->w);
  work.rows.cols = p->cols;
  work.rows.block = p->blocks ? p->cols / p->blocks : 0;
  const uint64_t step = work.row ? 1 : ROWS_AT_ONCE;
  for (uint64_t row = 0; row < p->rows; row += step) do_rows(&work, row, row + step < p->rows ? step : p->rows - row);
  return 0;
}

static int run_output(const struct pto_kernel_args *args) { return run(args, false); }
static int run_accumulate(const struct pto_kernel_args *args) { return run(args, true); }

/* ---- the kernels ---- */

#define F32 PTO_DTYPE_BIT(PTO_FLOAT32)
#define I8 PTO_DTYPE_BIT(PTO_INT8)
#define PARAM(name_, mode_, dtypes_, rank)                                                                             \
  { .name = name_, .mode = mode_, .dtypes = dtypes_, .min_rank = rank, .max_rank = rank }
#define FLOAT_PARAMS(mode)                                                                                             \
  { PARAM("w", PTO_INPUT, PTO_DTYPES_FLOAT, 2), PARAM("x", PTO_INPUT, F32, 1), PARAM("y", mode, F32, 1) }
#define I4 PTO_DTYPE_BIT(PTO_INT4)
#define INT8_PARAMS(mode) SCALED_PARAMS(I8, mode)
#define INT4_PARAMS(mode) SCALED_PARAMS(I4, mode)
#define SCALED_PARAMS(dtype, mode)                                                                                     \
  {                                                                                                                    \
    PARAM("w", PTO_INPUT, dtype, 2), PARAM("scale", PTO_INPUT, PTO_DTYPES_FLOAT, 2), PARAM("x", PTO_INPUT, F32, 1),    \
        PARAM("y", mode, F32, 1)                                                                                       \
  }

static int matvec_check(const struct pto_kernel_args *args) { return check(args, "matvec"); }
static int matvec_accumulate_check(const struct pto_kernel_args *args) { return check(args, "matvec_accumulate"); }
static int matvec_int8_check(const struct pto_kernel_args *args) { return check(args, "matvec_int8"); }
static int matvec_int8_accumulate_check(const struct pto_kernel_args *args) {
  return check(args, "matvec_int8_accumulate");
}

static int matvec_int4_check(const struct pto_kernel_args *args) { return check(args, "matvec_int4"); }
static int matvec_int4_accumulate_check(const struct pto_kernel_args *args) {
  return check(args, "matvec_int4_accumulate");
}

/* X(name, parameters, y's mode, run, cost) */
#define PRODUCT_LIST(X)                                                                                                \
  X(matvec, FLOAT_PARAMS, PTO_OUTPUT, run_output, cost_of)                                                             \
  X(matvec_accumulate, FLOAT_PARAMS, PTO_ACCUMULATE, run_accumulate, accumulate_cost)                                  \
  X(matvec_int8, INT8_PARAMS, PTO_OUTPUT, run_output, cost_of)                                                         \
  X(matvec_int8_accumulate, INT8_PARAMS, PTO_ACCUMULATE, run_accumulate, accumulate_cost)                              \
  X(matvec_int4, INT4_PARAMS, PTO_OUTPUT, run_output, cost_of)                                                         \
  X(matvec_int4_accumulate, INT4_PARAMS, PTO_ACCUMULATE, run_accumulate, accumulate_cost)

#define X(name_, params_, mode_, run_, cost_)                                                                          \
  static const struct pto_kernel_param name_##_params[] = params_(mode_);                                              \
  PTO_GENERAL_KERNEL(name_, name_##_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = run_,              \
                     .cost = cost_, .check = name_##_check);
PRODUCT_LIST(X)
#undef X
