/* SPDX-License-Identifier: MIT */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>

/* ---- over axes ---- */

/* A dense result in the rank of what was reduced: extents of 1 where it was. */
static struct pto_tensor kept(const struct pto_tensor *y, const struct pto_tensor *x, uint32_t axes) {
  uint64_t shape[PTO_MAX_DIMS] = {0};
  for (uint32_t d = 0; d < x->ndims; d++) shape[d] = (axes >> d & 1) != 0 ? 1 : x->shape[d];
  return pto_tensor_reshape(y, x->ndims, shape);
}

/* `kernel` on x and a result that has extent 1 in `axes`; other dimensions are cut. */
static void over_axes(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                      uint32_t axes, const struct pto_param *scalars, uint32_t scalar_count) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor result = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE), y = kept(&result, x, axes);
  const struct pto_cut cut = {.is_of_x = true, .whole = axes, .weight = 1};
  pto_graph_lowering_apply(l, kernel, x, &y, &cut, scalars, scalar_count);
}

static const struct pto_kernel *const reduce_kernels[PTO_GRAPH_OP_COUNT] = {
#define X(id, ...) [PTO_GRAPH_OP_##id] = &pto_general_##id,
    PTO_REDUCE_OP_LIST(X)
#undef X
};

void pto_lower_reduce(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_reduce_options *options = node->options;
  const uint32_t axes = pto_option_axes(options->axes, pto_graph_lowering_operand(l, node, 0)->ndims);
  over_axes(l, node, reduce_kernels[node->op], axes, NULL, 0);
}

static void arg_reduce(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                       const struct pto_kernel *kernel) {
  const uint32_t axis = ((const struct pto_arg_reduce_options *)node->options)->axis;
  const struct pto_param scalar = pto_scalar_i64(axis);
  over_axes(l, node, kernel, 1u << axis, &scalar, 1);
}

void pto_lower_arg_max(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  arg_reduce(l, node, &pto_general_arg_max);
}

void pto_lower_arg_min(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  arg_reduce(l, node, &pto_general_arg_min);
}

/* ---- along one axis, every element kept ---- */

static void along_axis(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                       uint32_t axis, const struct pto_param *scalars, uint32_t scalar_count) {
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST);
  const struct pto_cut cut = {.whole = 1u << axis, .weight = 2};
  pto_graph_lowering_apply(l, kernel, pto_graph_lowering_operand(l, node, 0), &y, &cut, scalars, scalar_count);
}

void pto_lower_softmax(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const uint32_t axis = ((const struct pto_softmax_options *)node->options)->axis;
  const struct pto_param scalar = pto_scalar_i64(axis);
  along_axis(l, node, &pto_general_softmax, axis, &scalar, 1);
}

void pto_lower_cumulative_sum(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_cumulative_sum_options *options = node->options;
  const struct pto_param scalars[] = {pto_scalar_i64(options->axis),
                                      pto_scalar_i64(pto_option_flag(options->exclusive, false)),
                                      pto_scalar_i64(pto_option_flag(options->reversed, false))};
  along_axis(l, node, &pto_general_cumulative_sum, options->axis, scalars, 3);
}
