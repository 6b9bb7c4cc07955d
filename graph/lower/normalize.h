/* SPDX-License-Identifier: MIT */
/*
 * Rows normalised by themselves: what layerNormalization and fused norms share.
 *
 * Owns nothing.  Lowering functions call.
 */
#ifndef PTO_GRAPH_LOWER_NORMALIZE_H
#define PTO_GRAPH_LOWER_NORMALIZE_H

#include <graph/lower/lowering.h>

struct pto_row_norm {
  const struct pto_kernel *kernel; /* of x, scale, maybe bias, y, epsilon: layernorm, rmsnorm */
  bool has_bias;                   /* the kernel */
  const uint32_t *axes;            /* of a row; one at least */
  uint32_t axis_count;
  const struct pto_tensor *scale, *bias; /* of the shape of a row, in the order of axes; NULL: ones, zeros */
  float epsilon;
};

/* The dimensions of `axes` last, in their order. */
struct pto_tensor pto_lower_axes_last(const struct pto_tensor *t, const uint32_t *axes, uint32_t count);
/* y, a result of the shape of x, of x. */
void pto_lower_row_norm(struct pto_graph_lowering *l, const struct pto_tensor *x, const struct pto_tensor *y,
                        const struct pto_row_norm *norm);

#endif
