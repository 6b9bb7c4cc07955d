/* SPDX-License-Identifier: MIT */
#include <graph/lower/lowering.h>
#include <kernels/api/list.h>

/* Dimensions in which an element of the scale serves a block of several, but not all: cut there, blocks would be. */
static uint32_t blocked_dimensions(const struct pto_tensor *x, const struct pto_tensor *scale) {
  uint32_t blocked = 0;
  for (uint32_t d = 0; d < x->ndims; d++)
    blocked |= (scale->shape[d] != 1 && scale->shape[d] != x->shape[d] ? 1u : 0u) << d;
  return blocked;
}

static void scaled(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0), *scale = pto_graph_lowering_operand(l, node, 1);
  struct pto_tiled_task task = {.kernel = kernel,
                                .tensors = {*x, *scale, *pto_graph_lowering_operand(l, node, 2),
                                            pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE)},
                                .modes = {PTO_INPUT, PTO_INPUT, PTO_INPUT, PTO_OUTPUT},
                                .tensor_count = 4};
  bool is_packed = false;
  for (uint32_t i = 0; i < task.tensor_count; i++) is_packed = is_packed || pto_dtype_bits(task.tensors[i].dtype) < 8;
  struct pto_tiles tiles;
  if (is_packed)
    pto_tiles_make_one(&tiles, x->ndims, x->shape);
  else
    pto_tiles_make(&tiles, x->ndims, x->shape, blocked_dimensions(x, scale), 1);
  pto_graph_lowering_submit_tiles(l, &tiles, &task);
}

void pto_lower_quantize_linear(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  scaled(l, node, &pto_general_quantize_linear);
}

void pto_lower_dequantize_linear(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  scaled(l, node, &pto_general_dequantize_linear);
}
