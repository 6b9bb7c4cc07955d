/* SPDX-License-Identifier: MIT */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>

/* ---- over axes ---- */

/* Bit d: dimension d is reduced. */
static uint32_t reduced_axes(const struct pto_reduce_options *options, uint32_t ndims) {
  uint32_t axes = 0;
  for (uint32_t d = 0; d < ndims; d++) axes |= (pto_option_has_axis(options->axes, d) ? 1u : 0u) << d;
  return axes;
}

/* A dense result in the rank of what was reduced: extents of 1 where it was. */
static struct pto_tensor kept(const struct pto_tensor *y, const struct pto_tensor *x, uint32_t axes) {
  uint64_t shape[PTO_MAX_DIMS] = {0};
  for (uint32_t d = 0; d < x->ndims; d++) shape[d] = (axes >> d & 1) != 0 ? 1 : x->shape[d];
  return pto_tensor_reshape(y, x->ndims, shape);
}

/* `kernel` on x and a result that has extent 1 in `axes`; other dimensions are cut. */
static int over_axes(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                     uint32_t axes, const struct pto_param *scalar) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_tiled_task task = {
      .kernel = kernel, .tensors = {*x, kept(&y, x, axes)}, .modes = {PTO_INPUT, PTO_OUTPUT}, .tensor_count = 2};
  if (scalar != NULL) task.scalars[task.scalar_count++] = *scalar;
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, x->ndims, x->shape, axes, 1);
  return pto_graph_lowering_submit_tiles(l, &tiles, &task);
}

static const struct pto_kernel *const reduce_kernels[PTO_GRAPH_OP_COUNT] = {
#define X(id, name) [PTO_GRAPH_OP_##id] = &pto_general_##id,
    PTO_REDUCE_OP_LIST(X)
#undef X
};

int pto_lower_reduce(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const uint32_t axes = reduced_axes(node->options, pto_graph_lowering_operand(l, node, 0)->ndims);
  return over_axes(l, node, reduce_kernels[node->op], axes, NULL);
}

static int arg_reduce(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                      const struct pto_kernel *kernel) {
  const uint32_t axis = ((const struct pto_arg_reduce_options *)node->options)->axis;
  const struct pto_param scalar = pto_scalar_i64(axis);
  return over_axes(l, node, kernel, 1u << axis, &scalar);
}

int pto_lower_arg_max(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  return arg_reduce(l, node, &pto_general_arg_max);
}

int pto_lower_arg_min(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  return arg_reduce(l, node, &pto_general_arg_min);
}

/* ---- along one axis, every element kept ---- */

static int along_axis(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                      uint32_t axis, const struct pto_param *scalars, uint32_t scalar_count) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  struct pto_tiled_task task = {.kernel = kernel,
                                .tensors = {*x, pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST)},
                                .modes = {PTO_INPUT, PTO_OUTPUT},
                                .tensor_count = 2,
                                .scalar_count = scalar_count};
  for (uint32_t i = 0; i < scalar_count; i++) task.scalars[i] = scalars[i];
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, x->ndims, x->shape, 1u << axis, 2);
  return pto_graph_lowering_submit_tiles(l, &tiles, &task);
}

int pto_lower_softmax(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const uint32_t axis = ((const struct pto_softmax_options *)node->options)->axis;
  const struct pto_param scalar = pto_scalar_i64(axis);
  return along_axis(l, node, &pto_general_softmax, axis, &scalar, 1);
}

int pto_lower_cumulative_sum(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_cumulative_sum_options *options = node->options;
  const struct pto_param scalars[] = {pto_scalar_i64(options->axis),
                                      pto_scalar_i64(pto_option_flag(options->exclusive, false)),
                                      pto_scalar_i64(pto_option_flag(options->reversed, false))};
  return along_axis(l, node, &pto_general_cumulative_sum, options->axis, scalars, 3);
}
