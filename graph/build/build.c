/* SPDX-License-Identifier: MIT */
#include <graph/build/builder_state.h>
#include <graph/build/operand_graph.h>

#include <string.h>

#include <graph/infer/infer.h>
#include <graph/build/op_attributes.h>
#include <runtime/base/utf8.h>

/* ---- outputs ---- */

static int check_outputs(struct pto_graph_builder *builder, const struct pto_graph_output *outputs,
                         uint32_t output_count, struct pto_name_table *names) {
  if (output_count == 0 || !outputs) return pto_builder_refuse(builder, PTO_EINVAL, "build: there are no outputs");
  for (uint32_t i = 0; i < output_count; i++) {
    struct pto_error error;
    uint32_t value, other;
    if (!outputs[i].name || !outputs[i].name[0])
      return pto_builder_refuse(builder, PTO_EINVAL, "build: the name of output %u is empty", i);
    const char *name = outputs[i].name;
    if (!pto_utf8_is_valid(name))
      return pto_builder_refuse(builder, PTO_EINVAL, "build: the name \"%.60s\" is no UTF-8", name);
    if (pto_name_table_lookup(names, name, &other))
      return pto_builder_refuse(builder, PTO_EINVAL, "build: the name \"%.60s\" is used twice", name);
    if (pto_builder_value(builder, outputs[i].operand, &value, &error))
      return pto_builder_refuse(builder, PTO_EINVAL, "build: output \"%.60s\" %s", name, error.sentence);
    if (builder->values[value].kind != PTO_VALUE_RESULT)
      return pto_builder_refuse(builder, PTO_EINVAL, "build: output \"%.60s\" is %s; identity makes an output of it",
                                name, builder->values[value].kind == PTO_VALUE_INPUT ? "an input" : "a constant");
    if (!pto_name_table_insert(names, name, i)) return pto_builder_refuse(builder, PTO_ENOMEM, "build: out of memory");
  }
  return PTO_OK;
}

/* ---- what they need ---- */

/* numbers[v] is the new number of value v; 0: it is not needed. */
static void number_values(const struct pto_graph_builder *builder, uint32_t *numbers, struct pto_graph *graph) {
  /* Backwards: the user of a value stands behind its producer. */
  for (uint32_t n = builder->node_count; n-- > 0;) {
    const struct pto_graph_node *node = &builder->nodes[n];
    bool is_needed = false;
    for (uint32_t i = 0; i < node->result_count; i++) is_needed |= numbers[node->first_result + i] != 0;
    if (!is_needed) continue;
    graph->node_count++;
    for (uint32_t i = 0; i < node->result_count; i++) numbers[node->first_result + i] = 1;
    for (uint32_t i = 0; i < node->operand_count; i++)
      if (node->operands[i]) numbers[node->operands[i]] = 1;
  }
  for (uint32_t i = 0; i < builder->input_count; i++) numbers[builder->inputs[i]] = 1;
  graph->value_count = 1;
  for (uint32_t v = 1; v < builder->value_count; v++)
    if (numbers[v]) numbers[v] = graph->value_count++;
}

/* ---- the copy ---- */

static bool copy_name(struct pto_graph *graph, const char **name) {
  if (*name) *name = pto_graph_arena_string(&graph->arena, *name);
  return *name;
}

static bool copy_node(struct pto_graph *graph, const struct pto_graph_node *node, const uint32_t *numbers) {
  struct pto_graph_node *copy = &graph->nodes[graph->node_count++];
  *copy = *node;
  uint32_t *operands = pto_graph_arena_alloc(&graph->arena, node->operand_count * sizeof *operands);
  copy->options = pto_op_options_copy(node->op, node->options, &graph->arena);
  if (!operands || !copy->options || (node->label && !copy_name(graph, &copy->label))) return false;
  for (uint32_t i = 0; i < node->operand_count; i++) operands[i] = numbers[node->operands[i]];
  copy->operands = operands;
  copy->first_result = numbers[node->first_result];
  for (uint32_t i = 0; i < node->result_count; i++) graph->values[copy->first_result + i].producer = graph->node_count;
  return true;
}

/* Of constants the data stays the builder's until nothing can fail any more. */
static bool copy_values(const struct pto_graph_builder *builder, const uint32_t *numbers, struct pto_graph *graph) {
  for (uint32_t v = 1; v < builder->value_count; v++) {
    if (!numbers[v]) continue;
    struct pto_graph_value *value = &graph->values[numbers[v]];
    *value = builder->values[v];
    value->data = NULL;
    if (value->name && !copy_name(graph, &value->name)) return false;
  }
  return true;
}

static struct pto_operand operand_of(const struct pto_graph_value *value, const char *name) {
  struct pto_operand operand = {.name = name, .dtype = value->desc.dtype, .ndims = value->desc.ndims};
  memcpy(operand.shape, value->desc.shape, sizeof operand.shape);
  return operand;
}

static bool copy_ends(const struct pto_graph_builder *builder, const uint32_t *numbers,
                      const struct pto_graph_output *outputs, struct pto_graph *graph) {
  for (uint32_t i = 0; i < graph->input_count; i++) {
    graph->inputs[i] = numbers[builder->inputs[i]];
    const struct pto_graph_value *value = &graph->values[graph->inputs[i]];
    graph->input_operands[i] = operand_of(value, value->name);
  }
  for (uint32_t i = 0; i < graph->output_count; i++) {
    graph->outputs[i] = numbers[outputs[i].operand.index];
    struct pto_graph_value *value = &graph->values[graph->outputs[i]];
    const char *name = pto_graph_arena_string(&graph->arena, outputs[i].name);
    if (!name) return false;
    if (!value->name) value->name = name;
    graph->output_operands[i] = operand_of(value, name);
  }
  return true;
}

static bool alloc_arrays(struct pto_graph *graph) {
  struct pto_graph_arena *arena = &graph->arena;
  graph->values = pto_graph_arena_alloc(arena, graph->value_count * sizeof *graph->values);
  graph->nodes = pto_graph_arena_alloc(arena, graph->node_count * sizeof *graph->nodes);
  graph->inputs = pto_graph_arena_alloc(arena, graph->input_count * sizeof *graph->inputs);
  graph->outputs = pto_graph_arena_alloc(arena, graph->output_count * sizeof *graph->outputs);
  graph->input_operands = pto_graph_arena_alloc(arena, graph->input_count * sizeof *graph->input_operands);
  graph->output_operands = pto_graph_arena_alloc(arena, graph->output_count * sizeof *graph->output_operands);
  return graph->values && graph->nodes && graph->inputs && graph->outputs && graph->input_operands &&
         graph->output_operands;
}

static bool fill(const struct pto_graph_builder *builder, const struct pto_graph_output *outputs, uint32_t *numbers,
                 struct pto_graph *graph) {
  for (uint32_t i = 0; i < graph->output_count; i++) numbers[outputs[i].operand.index] = 1;
  number_values(builder, numbers, graph);
  if (!alloc_arrays(graph) || !copy_values(builder, numbers, graph)) return false;
  graph->node_count = 0;
  for (uint32_t n = 0; n < builder->node_count; n++)
    if (numbers[builder->nodes[n].first_result] && !copy_node(graph, &builder->nodes[n], numbers)) return false;
  return copy_ends(builder, numbers, outputs, graph);
}

/* What a call may say, but nothing computes. */
static int check_nodes(struct pto_graph_builder *builder, const struct pto_graph *graph) {
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const struct pto_graph_node *node = &graph->nodes[n];
    struct pto_error error;
    if (node->op != PTO_GRAPH_OP_conv_transpose2d) continue;
    int status = pto_conv_transpose2d_check_groups(node->options, &graph->values[node->operands[0]].desc, &error);
    if (status)
      return pto_builder_refuse(builder, status, "build: %s%s%.60s%s: %s", pto_op_info(node->op)->name,
                                node->label ? " \"" : "", node->label ? node->label : "", node->label ? "\"" : "",
                                error.sentence);
  }
  return PTO_OK;
}

static void hand_on_data(struct pto_graph_builder *builder, const uint32_t *numbers, struct pto_graph *graph) {
  for (uint32_t v = 1; v < builder->value_count; v++) {
    if (!numbers[v] || !builder->values[v].data) continue;
    graph->values[numbers[v]].data = builder->values[v].data;
    builder->values[v].data = NULL;
  }
}

int pto_graph_builder_build(struct pto_graph_builder *builder, const struct pto_graph_output *outputs,
                            uint32_t output_count, struct pto_graph **graph_out) {
  struct pto_name_table names = {0};
  int status = pto_builder_begin_call(builder, "build");
  if (status) return status;
  status = check_outputs(builder, outputs, output_count, &names);
  pto_name_table_fini(&names);
  if (status) return status;
  uint32_t *numbers = calloc(builder->value_count, sizeof *numbers);
  struct pto_graph *graph = calloc(1, sizeof *graph);
  if (graph) {
    graph->input_count = builder->input_count;
    graph->output_count = output_count;
  }
  if (numbers && graph && fill(builder, outputs, numbers, graph) &&
      pto_graph_instances_create(&graph->instances) == PTO_OK)
    status = check_nodes(builder, graph);
  else
    status = pto_builder_refuse(builder, PTO_ENOMEM, "build: out of memory");
  if (status == PTO_OK) {
    hand_on_data(builder, numbers, graph);
    builder->has_built = true;
    *graph_out = graph;
  } else {
    pto_graph_destroy(graph);
  }
  free(numbers);
  return status;
}
