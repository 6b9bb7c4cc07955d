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
  return t->dtype == PTO_REFERENCE_DOUBLE || (PTO_DTYPE_BIT(t->dtype) & PTO_DTYPES_FLOAT) != 0;
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

/* ---- sums ---- */

/* How much of the sum of magnitudes an f32 sum of n elements in the order of kernels/rows/fold.h is off: see
 * docs/numerics.md.
 */
static inline double pto_reference_sum_bound(uint64_t n) {
  const uint64_t lane = (pto_min_u64(n, 1024) + 15) / 16, blocks = (n + 1023) / 1024;
  return ((double)lane + 4 + (blocks < 2 ? 0 : ceil(log2((double)blocks)))) * 0x1p-24;
}

#endif
