/* SPDX-License-Identifier: MIT */
#include <graph/lower/normalize.h>

#include <graph/build/op_options.h>
#include <kernels/api/list.h>

/* `given`, or a tensor of `shape` filled with `value`, which stands for an operand that is absent. */
static struct pto_tensor operand_or(struct pto_graph_lowering *l, const struct pto_tensor *given, float value,
                                    uint32_t dtype, uint32_t ndims, const uint64_t *shape) {
  if (given != NULL) return *given;
  const struct pto_tensor filled = pto_graph_lowering_temporary(l, dtype, ndims, shape);
  pto_graph_lowering_fill(l, pto_number_f64(value), &filled);
  return filled;
}

/* Dimension `axis` brought to place 1, behind the first of the others, as kernels of [n, c, …] want it; of rank 1
 * behind an extent of 1. */
static struct pto_tensor with_channels(const struct pto_tensor *t, uint32_t axis) {
  uint32_t order[PTO_MAX_DIMS] = {axis == 0 ? 1 : 0, axis}, at = 2;
  if (t->ndims == 1) return pto_tensor_broadcast(t, 2, (const uint64_t[]){1, t->shape[0]});
  for (uint32_t d = order[0] + 1; d < t->ndims; d++)
    if (d != axis) order[at++] = d;
  return pto_tensor_permute(t, order);
}

/* Kernels of x, operands of its channels and y, all [n, c, …] or [c]; samples are cut, and channels too. */
static void by_channels(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const struct pto_tensor *x,
                        const struct pto_tensor *operands, uint32_t operand_count, const struct pto_tensor *y,
                        float epsilon) {
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, x->ndims, x->shape, ~3u, 2);
  for (uint64_t i = 0; i < tiles.count && l->status == PTO_OK; i++) {
    struct pto_tensor parts[8] = {pto_tiles_view(&tiles, i, x)};
    struct pto_param params[9] = {pto_input(&parts[0])};
    const uint64_t first = i % tiles.counts[1] * tiles.step[1], end = first + parts[0].shape[1];
    for (uint32_t o = 0; o < operand_count; o++) {
      parts[o + 1] = pto_tensor_slice(&operands[o], 0, first, end, 1);
      params[o + 1] = pto_input(&parts[o + 1]);
    }
    parts[operand_count + 1] = pto_tiles_view(&tiles, i, y);
    params[operand_count + 1] = pto_output(&parts[operand_count + 1]);
    params[operand_count + 2] = pto_scalar_f32(epsilon);
    pto_graph_lowering_tile(l);
    pto_graph_lowering_submit(l, kernel, params, operand_count + 3);
  }
  pto_graph_lowering_tiles_end(l);
}

/* x, `given` operands of its channels, a scale and a bias. */
static void normalize_channels(struct pto_graph_lowering *l, const struct pto_graph_node *node, uint32_t axis,
                               uint32_t given, const struct pto_kernel *kernel, struct pto_number epsilon) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor result = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST);
  const uint64_t channels[] = {x->shape[axis]};
  struct pto_tensor operands[4];
  for (uint32_t i = 0; i < given; i++) operands[i] = *pto_graph_lowering_operand(l, node, 1 + i);
  for (uint32_t i = given; i < given + 2; i++)
    operands[i] = operand_or(l, pto_graph_lowering_operand(l, node, 1 + i), i == given, x->dtype, 1, channels);
  const struct pto_tensor from = with_channels(x, axis), to = with_channels(&result, axis);
  pto_graph_lowering_allocate(l, &result);
  by_channels(l, kernel, &from, operands, given + 2, &to, (float)pto_option_f64(epsilon, 1e-5));
}

void pto_lower_batch_normalization(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_batch_normalization_options *options = node->options;
  normalize_channels(l, node, pto_option_u32(options->axis, 1), 2, &pto_general_batch_norm, options->epsilon);
}

void pto_lower_instance_normalization(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_instance_normalization_options *options = node->options;
  const uint32_t axis = options->layout == PTO_LAYOUT_NHWC ? 3 : 1;
  normalize_channels(l, node, axis, 0, &pto_general_instance_norm, options->epsilon);
}

/* ---- over axes of one's own choice ---- */

struct pto_tensor pto_lower_axes_last(const struct pto_tensor *t, const uint32_t *axes, uint32_t count) {
  uint32_t order[PTO_MAX_DIMS] = {0}, at = 0, chosen = 0;
  for (uint32_t i = 0; i < count; i++) chosen |= 1u << axes[i];
  for (uint32_t d = 0; d < t->ndims; d++)
    if ((chosen >> d & 1) == 0) order[at++] = d;
  for (uint32_t i = 0; i < count; i++) order[at++] = axes[i];
  return pto_tensor_permute(t, order);
}

/* Over no axis each element is its own mean: (x − x) · scale + bias, with a scale and bias of rank 0. */
static void normalize_nothing(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0), *bias = pto_graph_lowering_operand(l, node, 2);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST);
  const struct pto_tensor zero = pto_graph_lowering_temporary(l, x->dtype, x->ndims, x->shape);
  const struct pto_tensor *pair[] = {x, x}, *sum[] = {&zero, bias};
  pto_graph_lowering_elementwise(l, &pto_general_sub, pair, 2, bias == NULL ? &y : &zero, NULL, 0);
  if (bias != NULL) pto_graph_lowering_elementwise(l, &pto_general_add, sum, 2, &y, NULL, 0);
}

void pto_lower_row_norm(struct pto_graph_lowering *l, const struct pto_tensor *given, const struct pto_tensor *result,
                        const struct pto_row_norm *norm) {
  const struct pto_tensor x = pto_lower_axes_last(given, norm->axes, norm->axis_count),
                          y = pto_lower_axes_last(result, norm->axes, norm->axis_count);
  const uint32_t count = norm->axis_count, params = norm->has_bias ? 5 : 4;
  const uint64_t *shape = x.shape + x.ndims - count;
  struct pto_tensor scale = operand_or(l, norm->scale, 1, given->dtype, count, shape), bias;
  if (norm->has_bias) bias = operand_or(l, norm->bias, 0, given->dtype, count, shape);
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, x.ndims, x.shape, ~((1u << (x.ndims - count)) - 1), 2);
  const bool is_one_task = tiles.count == 1 && pto_tensor_is_contiguous(&y);
  if (!is_one_task) pto_graph_lowering_allocate(l, result);
  for (uint64_t i = 0; i < tiles.count && l->status == PTO_OK; i++) {
    const struct pto_tensor rows = pto_tiles_view(&tiles, i, &x), written = pto_tiles_view(&tiles, i, &y);
    struct pto_param list[5] = {pto_input(&rows), pto_input(&scale)};
    if (norm->has_bias) list[2] = pto_input(&bias);
    list[params - 2] = pto_output(&written);
    list[params - 1] = pto_scalar_f32(norm->epsilon);
    if (!is_one_task) pto_graph_lowering_tile(l);
    pto_graph_lowering_submit(l, norm->kernel, list, params);
  }
  pto_graph_lowering_tiles_end(l);
}

void pto_lower_layer_normalization(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_layer_normalization_options *options = node->options;
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  uint32_t axes[PTO_MAX_DIMS] = {0};
  const uint32_t count = options->axes.values != NULL ? options->axes.count : x->ndims > 1 ? x->ndims - 1 : 0;
  for (uint32_t i = 0; i < count; i++) axes[i] = pto_option_at(options->axes, i, i + 1);
  if (count == 0) {
    normalize_nothing(l, node);
    return;
  }
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST);
  const struct pto_row_norm norm = {.kernel = &pto_general_layernorm,
                                    .has_bias = true,
                                    .axes = axes,
                                    .axis_count = count,
                                    .scale = pto_graph_lowering_operand(l, node, 1),
                                    .bias = pto_graph_lowering_operand(l, node, 2),
                                    .epsilon = (float)pto_option_f64(options->epsilon, 1e-5)};
  pto_lower_row_norm(l, x, &y, &norm);
}
