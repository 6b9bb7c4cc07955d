/* SPDX-License-Identifier: MIT */
/*
 * What a C programmer would write for softmax, layernorm and rmsnorm: the peer of the kernels in bench_kernels.
 *
 * One loop a pass over each row, libm's expf and sqrtf, all in f32, compiled as all else here (-O2).  A row may lie
 * along memory or, with a step, across it.  fp16 and bf16 go through a row of f32, converted element by element with
 * the portable conversions of kernels/api/math.h.  Keeps nothing; any thread.
 */
#ifndef PTO_BENCH_SUPPORT_PLAIN_ROWS_H
#define PTO_BENCH_SUPPORT_PLAIN_ROWS_H

#include <stdint.h>

#define PLAIN_ROWS_LONGEST 4096 /* elements of a row of fp16 and bf16 */

struct plain_rows {
  uint64_t count, length;       /* rows, elements of a row */
  uint64_t row_step, elem_step; /* elements from a row, from an element to the next, in x and in y */
  uint32_t dtype;               /* of all tensors: PTO_FLOAT32, PTO_FLOAT16 or PTO_BFLOAT16 */
  const void *x, *scale, *bias; /* scale and bias, where there are any: one element for each of a row */
  void *y;
};
typedef void plain_rows_loop(const struct plain_rows *rows);

plain_rows_loop plain_softmax, plain_layernorm, plain_rmsnorm;

#endif
