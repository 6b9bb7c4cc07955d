/* SPDX-License-Identifier: MIT */
/*
 * Fused: products and what follows them at once.
 *
 *   product_sum    a · b + c, a matmul or a gemm without c: a bias, or what the product is added to
 *   conv2d_clamp   a convolution with a bias, and a clamp or relu
 */
#include <graph/fuse/match.h>

#include <graph/lower/window.h>
#include <graph/build/op_options.h>
#include <math.h>

/* ---- a product and a sum ---- */

enum { A, B, C, PRODUCT_OPERANDS };

/* The product whose result is `value`, in the shape of the sum. */
static const struct pto_graph_node *find_product(struct pto_fusion_match *m, uint32_t value) {
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_matmul);
  if (node != NULL) return node;
  node = pto_match_node(m, value, PTO_GRAPH_OP_gemm);
  return node != NULL && (node->operand_count <= C || node->operands[C] == 0) ? node : NULL;
}

bool pto_match_product_sum(struct pto_fusion_match *m, uint32_t index) {
  struct pto_fused_group *g = &m->group;
  const struct pto_graph_node *sum = pto_match_node(m, m->graph->nodes[index].first_result, PTO_GRAPH_OP_add);
  for (uint32_t i = 0; sum != NULL && i < 2; i++) {
    g->node_count = 1;
    const uint32_t value = sum->operands[i];
    if (m->uses[value] != 1 || !pto_match_same_shape(m, value, sum->first_result)) continue;
    const struct pto_graph_node *product = find_product(m, value);
    if (product == NULL) continue;
    g->operands[A] = product->operands[A];
    g->operands[B] = product->operands[B];
    g->operands[C] = sum->operands[1 - i];
    g->operand_count = PRODUCT_OPERANDS;
    g->options.node = product;
    return true;
  }
  return false;
}

void pto_lower_fused_product_sum(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  const struct pto_graph_node *product = ((const struct pto_fused_options *)group->options)->node;
  struct pto_graph_node node = *group;
  struct pto_gemm_options options = {0};
  if (product->op == PTO_GRAPH_OP_matmul) {
    pto_lower_matmul(l, &node);
    return;
  }
  options = *(const struct pto_gemm_options *)product->options;
  options.beta = (struct pto_number){0}; /* it was of a c that is absent */
  node.options = &options;
  pto_lower_gemm(l, &node);
}

/* ---- a convolution and a clamp ---- */

bool pto_match_conv2d_clamp(struct pto_fusion_match *m, uint32_t index) {
  struct pto_fused_group *g = &m->group;
  const uint32_t result = m->graph->nodes[index].first_result;
  const struct pto_graph_node *clamp = pto_match_node(m, result, PTO_GRAPH_OP_clamp);
  if (clamp == NULL) clamp = pto_match_node(m, result, PTO_GRAPH_OP_relu);
  const struct pto_graph_node *conv = clamp == NULL ? NULL : pto_match_node(m, clamp->operands[0], PTO_GRAPH_OP_conv2d);
  if (conv == NULL || conv->operand_count < PRODUCT_OPERANDS || conv->operands[C] == 0) return false;
  for (uint32_t i = 0; i < PRODUCT_OPERANDS; i++) g->operands[i] = conv->operands[i];
  g->operand_count = PRODUCT_OPERANDS;
  g->options.node = conv;
  g->options.bounds = clamp;
  return true;
}

void pto_lower_fused_conv2d_clamp(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  const struct pto_fused_options *found = group->options;
  const struct pto_clamp_options *options = found->bounds->options;
  struct pto_bounds bounds = {.are_finite = true, .least = 0, .most = INFINITY};
  struct pto_graph_node node = *group;
  if (found->bounds->op == PTO_GRAPH_OP_clamp) {
    bounds.least = (float)pto_option_f64(options->min_value, -(double)INFINITY);
    bounds.most = (float)pto_option_f64(options->max_value, (double)INFINITY);
  }
  node.options = found->node->options;
  pto_lower_conv2d_within(l, &node, &bounds);
}
