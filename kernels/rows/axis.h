/* SPDX-License-Identifier: MIT */
/*
 * The dimension that a kernel is given as a scalar: −rank ≤ axis < rank, a negative one counts from the last.
 *
 * Functions of their arguments alone; any thread.
 */
#ifndef PTO_KERNELS_ROWS_AXIS_H
#define PTO_KERNELS_ROWS_AXIS_H

#include <pto/kernel.h>

#include <inttypes.h>

/* The dimension that scalar 0 names; it has been checked. */
static inline uint32_t pto_row_axis(const struct pto_kernel_args *args) {
  const int64_t axis = args->scalars[0].i64;
  return (uint32_t)(axis < 0 ? axis + (int64_t)args->tensors[0].ndims : axis);
}

/* "softmax: axis 2 of rank 2 (params 0 and 2)": scalars come after all tensors. */
static inline int pto_check_row_axis(const struct pto_kernel_args *args, const char *kernel) {
  const int64_t axis = args->scalars[0].i64, rank = args->tensors[0].ndims;
  if (axis >= -rank && axis < rank) return 0;
  return pto_kernel_error(args, "%s: axis %" PRId64 " of rank %" PRId64 " (params 0 and %" PRIu32 ")", kernel, axis,
                          rank, args->tensor_count);
}

#endif
