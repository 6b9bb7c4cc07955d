/* SPDX-License-Identifier: MIT */
/*
 * A convolution as tasks: what conv2d is, and what convTranspose2d is made of.
 *
 * Owns nothing: structs are passed by value.  Lowering functions call, on the thread of the lowering.
 */
#ifndef PTO_GRAPH_LOWER_CONVOLUTION_H
#define PTO_GRAPH_LOWER_CONVOLUTION_H

#include <graph/lower/window.h>

/* All of it as [n, c, h, w] and [oc, c / groups, kh, kw], views of any strides. */
struct pto_convolution {
  struct pto_tensor x, filter, y;
  bool is_turned;         /* the filter is [oc / groups, c, kh, kw], and backwards in height and width */
  struct pto_tensor bias; /* [oc] */
  bool has_bias;
  struct pto_bounds bounds;
  struct pto_slides slides;
};

static inline struct pto_tensor pto_lower_permuted(const struct pto_tensor *t, uint32_t a, uint32_t b, uint32_t c,
                                                   uint32_t d) {
  return pto_tensor_permute(t, (const uint32_t[]){a, b, c, d});
}

/* Of the node's operands and its result in their layouts, without bounds; the slides are the caller's. */
struct pto_convolution pto_lower_convolution(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                                             const struct pto_tensor *result, uint32_t layout,
                                             const uint8_t filter_places[4]);
/* y has memory. */
void pto_lower_convolve(struct pto_graph_lowering *l, const struct pto_convolution *conv, uint64_t groups);

#endif
