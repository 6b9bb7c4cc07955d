/* SPDX-License-Identifier: MIT */
/*
 * What the files of references share: small shapes, elements by row and column, and the exact integers.
 *
 * A reference lives in the file of its subject and is defined with PTO_REFERENCE.  Only these files include this
 * header.  Functions of their arguments alone; any thread; nothing allocates.
 */
#ifndef PTO_KERNELS_REFERENCE_SUPPORT_H
#define PTO_KERNELS_REFERENCE_SUPPORT_H

#include <kernels/reference/reference.h>
#include <runtime/base/base.h>

#include <math.h>

/* Defines pto_reference_NAME; the members are named. */
#define PTO_REFERENCE(name, ...) const struct pto_kernel_reference pto_reference_##name = {__VA_ARGS__}

static inline uint64_t pto_reference_numel(const struct pto_kernel_tensor *t) {
  uint64_t n = 1;
  for (uint32_t d = 0; d < t->ndims; d++) n *= t->shape[d];
  return n;
}

static inline bool pto_reference_is_float(const struct pto_kernel_tensor *t) {
  return t->dtype == PTO_REFERENCE_DOUBLE || pto_dtype_is_real(t->dtype);
}

/* The integer of an exact type, and the nearest that an integer dtype has. */
typedef __int128 wide;
static inline wide pto_reference_wide(const struct pto_kernel_tensor *t, uint64_t index) {
  const uint64_t stored = pto_reference_whole(t, index);
  return pto_dtype_is_signed(t->dtype) ? (wide)(int64_t)stored : (wide)stored;
}
static inline wide pto_reference_saturated(uint32_t dtype, wide value) {
  const wide span = (wide)1 << pto_dtype_bits(dtype), low = pto_dtype_is_signed(dtype) ? -span / 2 : 0;
  return value < low ? low : value > low + span - 1 ? low + span - 1 : value;
}

/* A scalar for a case: a multiple of 1/8 in [-4, 4). */
static inline float pto_reference_drawn_float(uint64_t draw) { return (float)(draw % 64) / 8 - 4; }

/* ---- shapes of cases ---- */

/* The sizes themselves, for each of `count` tensors. */
static inline bool pto_reference_same_shapes(const struct pto_reference_sizes *sizes,
                                             struct pto_reference_shape *tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    tensors[i].ndims = sizes->rank;
    for (uint32_t d = 0; d < sizes->rank; d++) tensors[i].shape[d] = sizes->extents[d];
  }
  return true;
}

static inline void pto_reference_set_matrix(struct pto_reference_shape *t, uint64_t rows, uint64_t cols) {
  t->ndims = 2;
  t->shape[0] = rows;
  t->shape[1] = cols;
}
static inline void pto_reference_set_vector(struct pto_reference_shape *t, uint64_t rows) {
  t->ndims = 1;
  t->shape[0] = rows;
}

/* ---- a tensor as rows: the innermost dimension is the column, all before it are the row ---- */

static inline uint64_t pto_reference_cols(const struct pto_kernel_tensor *t) { return t->shape[t->ndims - 1]; }
static inline uint64_t pto_reference_rows(const struct pto_kernel_tensor *t) {
  uint64_t rows = 1;
  for (uint32_t d = 0; d + 1 < t->ndims; d++) rows *= t->shape[d];
  return rows;
}
static inline double pto_reference_at(const struct pto_kernel_tensor *t, uint64_t row, uint64_t col) {
  return pto_reference_element(t, row * pto_reference_cols(t) + col);
}

/* ---- elements by their index ---- */

struct place {
  uint64_t at[PTO_MAX_DIMS];
};
static inline struct place pto_reference_place(const struct pto_kernel_tensor *t, uint64_t number) {
  struct place place = {{0}};
  for (uint32_t d = t->ndims; d-- > 0; number /= t->shape[d]) place.at[d] = number % t->shape[d];
  return place;
}
static inline uint64_t pto_reference_number(const struct pto_kernel_tensor *t, const struct place *place) {
  uint64_t number = 0;
  for (uint32_t d = 0; d < t->ndims; d++) number = number * t->shape[d] + place->at[d];
  return number;
}
/* Result `to` is element `from` of x. */
static inline void pto_reference_take(const struct pto_golden *golden, uint64_t to, const struct pto_kernel_tensor *x,
                                      uint64_t from) {
  if (pto_reference_is_float(x))
    golden->value[to] = pto_reference_element(x, from);
  else
    golden->whole[to] = pto_reference_whole(x, from);
}

/* ---- rows along the dimension that scalar 0 names, a negative one from the last ---- */

static inline uint32_t pto_reference_draw_axis(const struct pto_reference_sizes *sizes, union pto_scalar *scalars) {
  const uint32_t axis = (uint32_t)(sizes->draw % sizes->rank);
  scalars[0].i64 = sizes->draw / 8 % 2 == 0 ? (int64_t)axis : (int64_t)axis - (int64_t)sizes->rank;
  return axis;
}

/* Elements along the axis, the distance of two neighbours in row-major order, and the index of the first of row r. */
struct pto_reference_axis {
  uint64_t length, step;
};
static inline struct pto_reference_axis pto_reference_axis_of(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  const int64_t axis = args->scalars[0].i64 + (args->scalars[0].i64 < 0 ? (int64_t)x->ndims : 0);
  struct pto_reference_axis a = {x->shape[axis], 1};
  for (uint32_t d = (uint32_t)axis + 1; d < x->ndims; d++) a.step *= x->shape[d];
  return a;
}
static inline uint64_t pto_reference_first_of(const struct pto_reference_axis *a, uint64_t row) {
  return row / a->step * a->step * a->length + row % a->step;
}

/* ---- sums ---- */

/* How much of the sum of magnitudes an f32 sum of n elements in the order of kernels/rows/fold.h is off: see
 * docs/numerics.md.
 */
static inline double pto_reference_sum_bound(uint64_t n) {
  const uint64_t lane = (pto_min_u64(n, 1024) + 15) / 16, blocks = (n + 1023) / 1024;
  return ((double)lane + 4 + (blocks < 2 ? 0 : ceil(log2((double)blocks)))) * 0x1p-24;
}

#endif
