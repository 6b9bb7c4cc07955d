/* SPDX-License-Identifier: MIT */
/*
 * Short rows of f32 that lie one after the other without gaps, as most small tensors do: what a kernel on rows tries
 * before it makes a plan (row_plan.h), which takes longer than the elements of a small tensor.
 *
 * Always true: the loops (lanes_rows.inc, lanes_short_rows.inc) give the bits that the general way gives; they take no
 * local memory.
 * Functions of their arguments alone; any thread.
 */
#ifndef PTO_DENSE_ROWS_H
#define PTO_DENSE_ROWS_H

#include <kernels/kernel_loops.h>

/* Whether tensors 0 and the last of `args` and the `operand_count` between them are such rows, of the last `row_dims`
 * dimensions; an operand is one row.  Then `rows` is these, but for eps. */
bool pto_dense_rows_make(const struct pto_kernel_args *args, uint32_t row_dims, struct pto_dense_rows *rows);

#endif
