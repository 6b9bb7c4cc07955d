/* SPDX-License-Identifier: MIT */
/*
 * Fused: softmax, layer norm and RMS norm, written out.
 *
 *   softmax     e / Σe, e = exp(x − max x)                  rows along one axis
 *   rms_norm    z / √(mean(z²) + eps) · weight              rows along any axes; the weight may be absent
 *   layer_norm  the same of z = x − mean x, then + bias     both may be absent
 *
 * Means and roots in all the spellings of graph/fuse/match.h.  Weight and bias have extent 1 in dimensions that are
 * no row's.
 */
#include <graph/fuse/match.h>

#include <graph/lower/normalize.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>
#include <math.h>
#include <string.h>

/* ---- softmax ---- */

/* x less its largest along axes. */
static bool is_below_maximum(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out, uint32_t *axes_out) {
  uint32_t of;
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_sub);
  if (node == NULL) return false;
  *x_out = node->operands[0];
  return pto_match_reduced(m, node->operands[1], PTO_GRAPH_OP_reduce_max, &of, axes_out) && of == *x_out;
}

/* Two values, the first over the sum of the second. */
static bool is_share(struct pto_fusion_match *m, uint32_t value, uint32_t pair[2], uint32_t *axes_out) {
  const uint32_t mark = pto_match_mark(m);
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_div);
  if (node != NULL) {
    pair[0] = node->operands[0];
    return pto_match_reduced(m, node->operands[1], PTO_GRAPH_OP_reduce_sum, &pair[1], axes_out);
  }
  node = pto_match_node(m, value, PTO_GRAPH_OP_mul);
  for (uint32_t i = 0; node != NULL && i < 2; i++) {
    const uint32_t here = pto_match_mark(m);
    uint32_t sum;
    pair[0] = node->operands[i];
    if (pto_match_reciprocal(m, node->operands[1 - i], &sum) &&
        pto_match_reduced(m, sum, PTO_GRAPH_OP_reduce_sum, &pair[1], axes_out))
      return true;
    pto_match_rewind(m, here);
  }
  pto_match_rewind(m, mark);
  return false;
}

bool pto_match_softmax_written_out(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out, uint32_t *axis_out) {
  uint32_t pair[2], difference, axes, of_maximum;
  const uint32_t mark = pto_match_mark(m);
  const bool is_it = is_share(m, value, pair, &axes) && pair[0] == pair[1] &&
                     pto_match_of(m, pair[0], PTO_GRAPH_OP_exp, &difference) &&
                     is_below_maximum(m, difference, x_out, &of_maximum) && axes == of_maximum &&
                     (axes & (axes - 1)) == 0;
  if (!is_it) {
    pto_match_rewind(m, mark);
    return false;
  }
  *axis_out = (uint32_t)__builtin_ctz(axes);
  return true;
}

bool pto_match_softmax(struct pto_fusion_match *m, uint32_t index) {
  struct pto_fused_group *g = &m->group;
  g->operand_count = g->options.axis_count = 1;
  return pto_match_softmax_written_out(m, m->graph->nodes[index].first_result, &g->operands[0], &g->options.axes[0]);
}

void pto_lower_fused_softmax(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  const struct pto_fused_options *found = group->options;
  const struct pto_softmax_options options = {.axis = found->axes[0]};
  struct pto_graph_node node = *group;
  node.options = &options;
  pto_lower_softmax(l, &node);
}

/* ---- norms ---- */

enum { X, WEIGHT, BIAS, NORM_OPERANDS };

/* What is found of z / √(mean(z²) + eps) · weight. */
struct norm {
  uint32_t z, weight; /* 0: none */
  uint32_t axes;
  double epsilon;
};

/* mean(z²) + eps, which is finite: √−∞ is NaN, as a power it is ∞. */
static bool is_mean_square_and_epsilon(struct pto_fusion_match *m, uint32_t value, struct norm *norm) {
  uint32_t mean;
  return pto_match_with_constant(m, value, PTO_GRAPH_OP_add, &mean, &norm->epsilon) && isfinite(norm->epsilon) &&
         pto_match_mean_square(m, mean, &norm->z, &norm->axes);
}

/* z over its root, by one division. */
static bool is_over_root(struct pto_fusion_match *m, uint32_t value, struct norm *norm) {
  const uint32_t mark = pto_match_mark(m);
  uint32_t sum;
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_div);
  if (node != NULL && pto_match_root(m, node->operands[1], &sum) && is_mean_square_and_epsilon(m, sum, norm) &&
      node->operands[0] == norm->z)
    return true;
  pto_match_rewind(m, mark);
  return false;
}

static bool is_inverse_root(struct pto_fusion_match *m, uint32_t value, struct norm *norm) {
  const uint32_t mark = pto_match_mark(m);
  uint32_t sum;
  if (pto_match_reciprocal_root(m, value, &sum) && is_mean_square_and_epsilon(m, sum, norm)) return true;
  pto_match_rewind(m, mark);
  return false;
}

/* Factors z, 1 / root and maybe a weight, in any order. */
static bool are_with_inverse_root(struct pto_fusion_match *m, const uint32_t *factors, uint32_t count,
                                  struct norm *norm) {
  uint32_t root = 0, z = 0;
  while (root < count && !is_inverse_root(m, factors[root], norm)) root++;
  if (root == count) return false;
  while (z < count && (z == root || factors[z] != norm->z)) z++;
  if (z == count) return false;
  norm->weight = count == 3 ? factors[3 - root - z] : 0;
  return true;
}

static bool is_norm(struct pto_fusion_match *m, uint32_t index, struct norm *norm) {
  const uint32_t mark = pto_match_mark(m);
  uint32_t factors[3];
  *norm = (struct norm){0};
  if (is_over_root(m, m->graph->nodes[index].first_result, norm)) return true;
  const uint32_t count = pto_match_factors(m, index, factors, 3), here = pto_match_mark(m);
  if (count >= 2 && are_with_inverse_root(m, factors, count, norm)) return true;
  pto_match_rewind(m, here);
  for (uint32_t i = 0; count == 2 && i < 2; i++) {
    if (!is_over_root(m, factors[i], norm)) continue;
    norm->weight = factors[1 - i];
    return true;
  }
  pto_match_rewind(m, mark);
  return false;
}

/* Whether `value`, broadcast, is the same for every row of x along `axes`. */
static bool is_of_rows(const struct pto_fusion_match *m, uint32_t value, uint32_t x, uint32_t axes) {
  const struct pto_graph_desc *of = pto_match_desc(m, value), *rows = pto_match_desc(m, x);
  if (of->ndims > rows->ndims) return false;
  for (uint32_t d = 0; d < of->ndims; d++) {
    const uint32_t at = d + rows->ndims - of->ndims;
    const bool is_row = (axes >> at & 1) != 0 && of->shape[d] == rows->shape[at];
    if (of->shape[d] != 1 && !is_row) return false;
  }
  return true;
}

static bool take_norm(struct pto_fusion_match *m, const struct norm *norm, uint32_t x, uint32_t bias) {
  struct pto_fused_group *g = &m->group;
  g->operands[X] = x;
  g->operands[WEIGHT] = norm->weight;
  g->operands[BIAS] = bias;
  g->operand_count = NORM_OPERANDS;
  g->options.epsilon = norm->epsilon;
  for (uint32_t d = 0; d < pto_match_desc(m, x)->ndims; d++)
    if ((norm->axes >> d & 1) != 0) g->options.axes[g->options.axis_count++] = d;
  return (norm->weight == 0 || is_of_rows(m, norm->weight, x, norm->axes)) &&
         (bias == 0 || is_of_rows(m, bias, x, norm->axes));
}

bool pto_match_rms_norm(struct pto_fusion_match *m, uint32_t index) {
  struct norm norm;
  return is_norm(m, index, &norm) && take_norm(m, &norm, norm.z, 0);
}

/* x less its mean along the same axes. */
static bool is_centred(struct pto_fusion_match *m, const struct norm *norm, uint32_t *x_out) {
  uint32_t of, axes;
  const struct pto_graph_node *node = pto_match_node(m, norm->z, PTO_GRAPH_OP_sub);
  if (node == NULL) return false;
  *x_out = node->operands[0];
  return pto_match_mean(m, node->operands[1], &of, &axes) && of == *x_out && axes == norm->axes;
}

/* The node that makes `value`, if it is one more of the group. */
static bool is_norm_value(struct pto_fusion_match *m, uint32_t value, struct norm *norm) {
  const uint32_t producer = m->graph->values[value].producer;
  return producer != 0 && m->plan->group_of[producer - 1] == 0 && is_norm(m, producer - 1, norm);
}

bool pto_match_layer_norm(struct pto_fusion_match *m, uint32_t index) {
  struct norm norm;
  uint32_t x;
  const struct pto_graph_node *sum = pto_match_last(m, index, PTO_GRAPH_OP_add);
  const uint32_t mark = pto_match_mark(m);
  m->group.options.is_centred = true;
  if (sum == NULL) return is_norm(m, index, &norm) && is_centred(m, &norm, &x) && take_norm(m, &norm, x, 0);
  for (uint32_t i = 0; i < 2; i++) {
    pto_match_rewind(m, mark);
    if (is_norm_value(m, sum->operands[i], &norm) && is_centred(m, &norm, &x))
      return take_norm(m, &norm, x, sum->operands[1 - i]);
  }
  return false;
}

/* An operand in the shape of a row: in the rank of x, its axes last, and these alone. */
static struct pto_tensor row_of(const struct pto_tensor *t, const struct pto_tensor *x,
                                const struct pto_fused_options *options) {
  uint64_t shape[PTO_MAX_DIMS];
  for (uint32_t d = 0; d < x->ndims; d++) shape[d] = 1;
  for (uint32_t i = 0; i < options->axis_count; i++) shape[options->axes[i]] = x->shape[options->axes[i]];
  const struct pto_tensor in_rank = pto_tensor_broadcast(t, x->ndims, shape);
  struct pto_tensor row = pto_lower_axes_last(&in_rank, options->axes, options->axis_count);
  const uint32_t before = row.ndims - options->axis_count;
  row.ndims = options->axis_count;
  memmove(row.shape, row.shape + before, row.ndims * sizeof *row.shape);
  memmove(row.strides, row.strides + before, row.ndims * sizeof *row.strides);
  for (uint32_t d = row.ndims; d < PTO_MAX_DIMS; d++) row.shape[d] = row.strides[d] = 0;
  return row;
}

static void lower_norm(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  const struct pto_fused_options *options = group->options;
  const struct pto_tensor *x = pto_graph_lowering_operand(l, group, X),
                          *weight = pto_graph_lowering_operand(l, group, WEIGHT),
                          *bias = pto_graph_lowering_operand(l, group, BIAS);
  const struct pto_tensor y = pto_graph_lowering_result(l, group, 0, PTO_IN_PLACE_FIRST);
  struct pto_row_norm norm = {.kernel = options->is_centred ? &pto_general_layernorm : &pto_general_rmsnorm,
                              .has_bias = options->is_centred,
                              .axes = options->axes,
                              .axis_count = options->axis_count,
                              .epsilon = (float)options->epsilon};
  struct pto_tensor rows[2];
  if (weight != NULL) {
    rows[0] = row_of(weight, x, options);
    norm.scale = &rows[0];
  }
  if (bias != NULL) {
    rows[1] = row_of(bias, x, options);
    norm.bias = &rows[1];
  }
  pto_lower_row_norm(l, x, &y, &norm);
}

void pto_lower_fused_layer_norm(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  lower_norm(l, group);
}
void pto_lower_fused_rms_norm(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  lower_norm(l, group);
}
