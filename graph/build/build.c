/* SPDX-License-Identifier: MIT */
#include <graph/build/builder_state.h>

#include <string.h>

#include <graph/infer/infer.h>
#include <graph/build/op_attributes.h>
#include <graph/build/sizes.h>
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

/* numbers[v] is the new number of value v; 0: it is not needed.  Returns how many there are, with that of none. */
static uint32_t number_values(const struct pto_graph_builder *builder, const struct pto_graph_output *outputs,
                              uint32_t output_count, uint32_t *numbers) {
  for (uint32_t i = 0; i < output_count; i++) numbers[outputs[i].operand.index] = 1;
  /* Backwards: the user of a value stands behind its producer. */
  for (uint32_t n = builder->node_count; n-- > 0;) {
    const struct pto_graph_node *node = &builder->nodes[n];
    bool is_needed = false;
    for (uint32_t i = 0; i < node->result_count; i++) is_needed |= numbers[node->first_result + i] != 0;
    if (!is_needed) continue;
    for (uint32_t i = 0; i < node->result_count; i++) numbers[node->first_result + i] = 1;
    for (uint32_t i = 0; i < node->operand_count; i++)
      if (node->operands[i]) numbers[node->operands[i]] = 1;
  }
  for (uint32_t i = 0; i < builder->input_count; i++) numbers[builder->inputs[i]] = 1;
  uint32_t count = 1;
  for (uint32_t v = 1; v < builder->value_count; v++)
    if (numbers[v]) numbers[v] = count++;
  return count;
}

/* What a call may say, but nothing computes. */
static int check_nodes(struct pto_graph_builder *builder, const uint32_t *numbers) {
  for (uint32_t n = 0; n < builder->node_count; n++) {
    const struct pto_graph_node *node = &builder->nodes[n];
    struct pto_error error;
    if (node->op != PTO_GRAPH_OP_conv_transpose2d || !numbers[node->first_result]) continue;
    int status = pto_conv_transpose2d_check_groups(node->options, &builder->values[node->operands[0]].desc, &error);
    if (status)
      return pto_builder_refuse(builder, status, "build: %s%s%.60s%s: %s", pto_op_info(node->op)->name,
                                node->label ? " \"" : "", node->label ? node->label : "", node->label ? "\"" : "",
                                error.sentence);
  }
  return PTO_OK;
}

/* ---- the graph ---- */

/* What the graph has and the builder had not, in the builder's arena. */
static bool make_ends(struct pto_graph_builder *builder, const struct pto_graph_output *outputs, uint32_t output_count,
                      struct pto_graph *graph) {
  struct pto_graph_arena *arena = &builder->arena;
  graph->outputs = pto_graph_arena_alloc(arena, output_count * sizeof *graph->outputs);
  graph->input_operands = pto_graph_arena_alloc(arena, builder->input_count * sizeof *graph->input_operands);
  graph->output_operands = pto_graph_arena_alloc(arena, output_count * sizeof *graph->output_operands);
  if (!graph->outputs || !graph->input_operands || !graph->output_operands) return false;
  for (uint32_t i = 0; i < builder->input_count; i++) {
    const struct pto_graph_value *value = &builder->values[builder->inputs[i]];
    graph->input_operands[i] = pto_graph_value_operand(value, value->name);
  }
  for (uint32_t i = 0; i < output_count; i++) {
    const char *name = pto_graph_arena_string(arena, outputs[i].name);
    if (!name) return false;
    graph->outputs[i] = outputs[i].operand.index;
    graph->output_operands[i] = pto_graph_value_operand(&builder->values[outputs[i].operand.index], name);
  }
  graph->output_count = output_count;
  return true;
}

/* The builder's arrays become the graph's, without what is not needed: nothing can fail any more. */
static void hand_on(struct pto_graph_builder *builder, const uint32_t *numbers, struct pto_graph *graph) {
  graph->values = builder->values;
  graph->nodes = builder->nodes;
  graph->inputs = builder->inputs;
  graph->input_count = builder->input_count;
  for (uint32_t v = 1; v < builder->value_count; v++) {
    if (numbers[v])
      graph->values[numbers[v]] = graph->values[v];
    else
      pto_graph_value_fini(&graph->values[v]);
  }
  for (uint32_t n = 0; n < builder->node_count; n++) {
    struct pto_graph_node node = graph->nodes[n];
    uint32_t *operands = (uint32_t *)(uintptr_t)node.operands; /* of the arena */
    node.first_result = numbers[node.first_result];
    if (!node.first_result) continue;
    for (uint32_t i = 0; i < node.operand_count; i++) operands[i] = numbers[operands[i]];
    graph->nodes[graph->node_count++] = node;
    for (uint32_t i = 0; i < node.result_count; i++) graph->values[node.first_result + i].producer = graph->node_count;
  }
  pto_builder_hand_on_sizes(builder, numbers, graph);
  for (uint32_t i = 0; i < graph->input_count; i++) graph->inputs[i] = numbers[graph->inputs[i]];
  for (uint32_t i = 0; i < graph->output_count; i++) {
    graph->outputs[i] = numbers[graph->outputs[i]];
    struct pto_graph_value *value = &graph->values[graph->outputs[i]];
    if (!value->name) value->name = graph->output_operands[i].name;
  }
  graph->arena = builder->arena;
  builder->arena = (struct pto_graph_arena){0};
  builder->values = NULL;
  builder->nodes = NULL;
  builder->inputs = NULL;
  builder->value_count = builder->node_count = builder->input_count = 0;
  builder->has_built = true;
}

int pto_graph_builder_build(struct pto_graph_builder *builder, const struct pto_graph_output *outputs,
                            uint32_t output_count, struct pto_graph **graph_out) {
  struct pto_name_table names = {0};
  int status = pto_builder_begin_call(builder, "build");
  if (status) return status;
  status = check_outputs(builder, outputs, output_count, &names);
  pto_name_table_fini(&names);
  if (status) return status;
  const struct pto_graph_arena_mark mark = pto_graph_arena_mark(&builder->arena);
  uint32_t *numbers = calloc(builder->value_count, sizeof *numbers);
  struct pto_graph *graph = calloc(1, sizeof *graph);
  if (graph) graph->references = 1;
  if (numbers && graph && make_ends(builder, outputs, output_count, graph) &&
      pto_graph_instances_create(&graph->instances) == PTO_OK) {
    graph->value_count = number_values(builder, outputs, output_count, numbers);
    status = check_nodes(builder, numbers);
    if (status == PTO_OK) status = pto_builder_check_sizes(builder, numbers);
    if (status == PTO_OK && !pto_builder_lay_filters(builder, numbers))
      status = pto_builder_refuse(builder, PTO_ENOMEM, "build: out of memory");
  } else {
    status = pto_builder_refuse(builder, PTO_ENOMEM, "build: out of memory");
  }
  if (status == PTO_OK) {
    hand_on(builder, numbers, graph);
    *graph_out = graph;
  } else {
    pto_graph_destroy(graph);
    pto_graph_arena_release(&builder->arena, mark);
  }
  free(numbers);
  return status;
}
