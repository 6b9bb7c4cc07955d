/* SPDX-License-Identifier: MIT */
/*
 * Filters of convolutions in the order in which kernels read them: height, width, input channels, and the output
 * channels side by side.  Then no dispatch turns them.
 *
 * Done once, by build, for constants that nothing but conv2d reads, and those in one layout.  The bytes that the caller
 * gave stay beside it: files and the reference have those.
 */
#include <graph/build/builder_state.h>

#include <graph/build/op_options.h>
#include <stdlib.h>
#include <string.h>

#define ORDER(a, b, c, d) (uint8_t)((a) | (b) << 2 | (c) << 4 | (d) << 6) /* dimensions, outermost first */
#define AS_GIVEN ORDER(0, 1, 2, 3)
#define NOT_READ 0 /* no order */

static uint8_t order_read(const struct pto_graph_node *node, uint32_t operand) {
  if (operand != 1 || node->op != PTO_GRAPH_OP_conv2d) return AS_GIVEN;
  const struct pto_conv2d_options *options = node->options;
  const uint8_t *places = pto_conv2d_filter_places[options->filter_layout];
  return ORDER(places[2], places[3], places[1], places[0]);
}

static void find_orders(const struct pto_graph_builder *builder, const uint32_t *numbers, uint8_t *orders) {
  for (uint32_t n = 0; n < builder->node_count; n++) {
    const struct pto_graph_node *node = &builder->nodes[n];
    for (uint32_t i = 0; numbers[node->first_result] != 0 && i < node->operand_count; i++) {
      uint8_t *order = &orders[node->operands[i]];
      const uint8_t wanted = order_read(node, i);
      *order = *order == NOT_READ || *order == wanted ? wanted : AS_GIVEN;
    }
  }
}

/* False without memory. */
static bool lay(struct pto_graph_value *value, uint8_t order) {
  const uint64_t size = pto_dtype_size(value->desc.dtype), *shape = value->desc.shape;
  uint64_t steps[4], extent[4], step[4], bytes = size;
  for (uint32_t d = 4; d-- > 0; bytes *= shape[d]) steps[d] = bytes;
  char *to = malloc(value->size_bytes);
  if (to == NULL) return false;
  value->laid = to;
  for (uint32_t d = 0; d < 4; d++) {
    value->order[d] = order >> 2 * d & 3;
    extent[d] = shape[value->order[d]];
    step[d] = steps[value->order[d]];
  }
  for (uint64_t h = 0; h < extent[0]; h++)
    for (uint64_t w = 0; w < extent[1]; w++)
      for (uint64_t i = 0; i < extent[2]; i++) {
        const char *from = (const char *)value->data + h * step[0] + w * step[1] + i * step[2];
        for (uint64_t o = 0; o < extent[3]; o++, to += size) memcpy(to, from + o * step[3], size);
      }
  return true;
}

bool pto_builder_lay_filters(struct pto_graph_builder *builder, const uint32_t *numbers) {
  uint8_t *orders = calloc(builder->value_count, sizeof *orders);
  bool is_done = orders != NULL;
  if (is_done) find_orders(builder, numbers, orders);
  for (uint32_t v = 1; is_done && v < builder->value_count; v++) {
    struct pto_graph_value *value = &builder->values[v];
    if (orders[v] != NOT_READ && orders[v] != AS_GIVEN && value->data != NULL && value->laid == NULL)
      is_done = lay(value, orders[v]);
  }
  free(orders);
  return is_done;
}

const void *pto_graph_constant(const struct pto_graph_value *value, struct pto_graph_desc *desc) {
  *desc = value->desc;
  if (value->laid == NULL) return value->data;
  for (uint32_t d = 0; d < 4; d++) desc->shape[d] = value->desc.shape[value->order[d]];
  return value->laid;
}
