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

static const struct pto_form *const softmax = PTO_SOFTMAX_OF(0, NULL);

bool pto_match_softmax(struct pto_fusion_match *m, uint32_t index) {
  return pto_match_form(m, index, softmax, 1) && m->group.options.axis_count == 1;
}

void pto_lower_fused_softmax(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  const struct pto_fused_options *found = group->options;
  const struct pto_softmax_options options = {.axis = found->axes[0]};
  struct pto_graph_node node = *group;
  node.options = &options;
  pto_lower_softmax(l, &node);
}

/* ---- norms ---- */

enum { X, WEIGHT, BIAS, NORM_OPERANDS, Z = NORM_OPERANDS };

/* z / √(mean(z²) + eps), by a division or with the inverse of the root, and maybe times a weight. */
#define SQUARES(z) PTO_OP_LIKE(0, add, PTO_MEAN_SQUARE(z), PTO_A_CONSTANT)
#define OVER_ROOT(z) PTO_OP_OF(div, z, PTO_ROOT(SQUARES(z)))
#define INVERSE_ROOT(z) PTO_RECIPROCAL_ROOT(SQUARES(z))
#define NORM(z)                                                                                                        \
  PTO_EITHER(OVER_ROOT(z), PTO_PRODUCT_OF(z, INVERSE_ROOT(z)), PTO_PRODUCT_OF(z, INVERSE_ROOT(z), WEIGHTS),            \
             PTO_PRODUCT_OF(OVER_ROOT(z), WEIGHTS))
#define WEIGHTS PTO_VALUE_AT(WEIGHT)
#define CENTRED PTO_VALUE_OF(Z, PTO_OP_OF(sub, PTO_VALUE_AT(X), PTO_MEAN(PTO_VALUE_AT(X))))

static const struct pto_form *const rms_norm = NORM(PTO_VALUE_AT(X));
static const struct pto_form *const layer_norm =
    PTO_EITHER(PTO_OP_OF(add, NORM(CENTRED), PTO_VALUE_AT(BIAS)), NORM(CENTRED));

/* Whether `value`, broadcast, is the same for every row of x along the axes; or absent. */
static bool is_of_rows(const struct pto_fusion_match *m, uint32_t value, uint32_t x) {
  if (value == 0) return true;
  const struct pto_graph_desc *of = pto_match_desc(m, value), *rows = pto_match_desc(m, x);
  if (of->ndims > rows->ndims) return false;
  for (uint32_t d = 0; d < of->ndims; d++) {
    const uint32_t at = d + rows->ndims - of->ndims;
    const bool is_row = (m->axes >> at & 1) != 0 && of->shape[d] == rows->shape[at];
    if (of->shape[d] != 1 && !is_row) return false;
  }
  return true;
}

/* What is added to the mean is finite: √−∞ is NaN, as a power it is ∞. */
static bool match_norm(struct pto_fusion_match *m, uint32_t index, const struct pto_form *form) {
  struct pto_fused_group *g = &m->group;
  if (!pto_match_form(m, index, form, NORM_OPERANDS) || !isfinite(m->number)) return false;
  g->options.epsilon = m->number;
  return is_of_rows(m, g->operands[WEIGHT], g->operands[X]) && is_of_rows(m, g->operands[BIAS], g->operands[X]);
}

bool pto_match_rms_norm(struct pto_fusion_match *m, uint32_t index) { return match_norm(m, index, rms_norm); }

bool pto_match_layer_norm(struct pto_fusion_match *m, uint32_t index) {
  m->group.options.is_centred = true;
  return match_norm(m, index, layer_norm);
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
