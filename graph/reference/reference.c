/* SPDX-License-Identifier: MIT */
/*
 * A run of the reference executor: nodes in their order, each with its operands as doubles or integers.
 *
 * A run owns its tensors: constants are loaded for the node that uses them, results live until their last use, so that
 * models with large weights fit.
 */
#include <graph/reference/reference.h>

#include <graph/reference/sums.h>
#include <graph/reference/support.h>

struct run {
  const struct pto_graph *graph;
  const bool *is_inside; /* by node: its results are not rounded; NULL: all are */
  void *const *outputs;
  pto_reference_observer *observe; /* one of the two may be there */
  pto_reference_judge *judge;
  void *context; /* of either */
  struct pto_error *error;
  struct pto_reference_tensor *tensors;         /* by value */
  const struct pto_reference_tensor **operands; /* of the current node */
  uint32_t *last_use;                           /* by value: 1 + index of the last node that reads it, 0: none does */
  uint32_t *first_output;                       /* by value: 1 + index of the first output that it is, 0: it is none */
  uint32_t *next_output; /* by output: 1 + index of the next one of the same value, 0: there is none */
};

static pto_reference_function *const functions[] = {
#define X(id, ...) pto_graph_reference_##id,
    PTO_OP_LIST(X)
#undef X
};
_Static_assert(PTO_ARRAY_LENGTH(functions) == PTO_GRAPH_OP_COUNT, "a function for each operation");

static pto_reference_function *function_of(const struct pto_graph_node *node) {
  return node->op < PTO_GRAPH_OP_COUNT ? functions[node->op] : pto_graph_reference_outside;
}

static int no_memory(struct run *run, const struct pto_graph_desc *desc) {
  return pto_error_set(run->error, PTO_ENOMEM, "reference: no memory for a tensor of %llu elements",
                       (unsigned long long)pto_graph_desc_numel(desc));
}

static bool run_init(struct run *run) {
  const struct pto_graph *graph = run->graph;
  uint32_t most_operands = 0;
  for (uint32_t n = 0; n < graph->node_count; n++)
    most_operands = graph->nodes[n].operand_count > most_operands ? graph->nodes[n].operand_count : most_operands;
  run->tensors = calloc((size_t)graph->value_count + 1, sizeof *run->tensors);
  run->last_use = calloc((size_t)graph->value_count + 1, sizeof *run->last_use);
  run->first_output = calloc((size_t)graph->value_count + 1, sizeof *run->first_output);
  run->next_output = calloc((size_t)graph->output_count + 1, sizeof *run->next_output);
  run->operands = calloc((size_t)most_operands + PTO_REFERENCE_PARAMETERS, sizeof *run->operands);
  if (!run->tensors || !run->last_use || !run->first_output || !run->next_output || !run->operands) {
    pto_error_set(run->error, PTO_ENOMEM, "reference: no memory for a graph of %u values", graph->value_count);
    return false;
  }
  for (uint32_t n = 0; n < graph->node_count; n++) {
    for (uint32_t i = 0; i < graph->nodes[n].operand_count; i++) run->last_use[graph->nodes[n].operands[i]] = n + 1;
  }
  for (uint32_t i = 0; i < graph->output_count; i++) {
    run->next_output[i] = run->first_output[graph->outputs[i]];
    run->first_output[graph->outputs[i]] = i + 1;
  }
  return true;
}

static void run_fini(struct run *run) {
  for (uint32_t v = 0; run->tensors && v < run->graph->value_count; v++) pto_reference_tensor_fini(&run->tensors[v]);
  free(run->tensors);
  free(run->last_use);
  free(run->first_output);
  free(run->next_output);
  free(run->operands);
}

static bool is_allocated(const struct pto_reference_tensor *tensor) { return tensor->values || tensor->whole; }

static int load(struct run *run, uint32_t value, const void *bytes) {
  const struct pto_graph_value *known = &run->graph->values[value];
  if (!bytes)
    return pto_error_set(run->error, PTO_ENOTSUP, "reference: constant %s is kept by a device: its bytes are not here",
                         known->name ? known->name : "without a name");
  if (!pto_reference_tensor_init(&run->tensors[value], &known->desc)) return no_memory(run, &known->desc);
  pto_reference_tensor_load(&run->tensors[value], bytes);
  return PTO_OK;
}

/* Inputs that are used. */
static int load_inputs(struct run *run, const void *const *inputs) {
  int status = PTO_OK;
  for (uint32_t i = 0; i < run->graph->input_count && !status; i++) {
    const uint32_t value = run->graph->inputs[i];
    if (run->last_use[value]) status = load(run, value, inputs[i]);
  }
  return status;
}

static int prepare_node(struct run *run, const struct pto_graph_node *node) {
  int status = PTO_OK;
  for (uint32_t i = 0; i < node->operand_count && !status; i++) {
    const uint32_t value = node->operands[i];
    run->operands[i] = value ? &run->tensors[value] : NULL;
    if (value && !is_allocated(&run->tensors[value])) status = load(run, value, run->graph->values[value].data);
  }
  for (uint32_t i = 0; i < PTO_REFERENCE_PARAMETERS; i++) run->operands[node->operand_count + i] = NULL;
  for (uint32_t r = node->first_result; r < node->first_result + node->result_count && !status; r++) {
    const struct pto_graph_desc *desc = &run->graph->values[r].desc;
    if (!pto_reference_tensor_init(&run->tensors[r], desc)) status = no_memory(run, desc);
  }
  return status;
}

static void store_outputs(struct run *run, const struct pto_graph_node *node) {
  for (uint32_t r = node->first_result; r < node->first_result + node->result_count; r++)
    for (uint32_t i = run->first_output[r]; i > 0; i = run->next_output[i - 1])
      pto_reference_tensor_store(&run->tensors[r], run->outputs[i - 1]);
}

/* Operands that no later node reads, constants, and results that no node reads. */
static void release(struct run *run, uint32_t n) {
  const struct pto_graph_node *node = &run->graph->nodes[n];
  for (uint32_t i = 0; i < node->operand_count; i++) {
    const uint32_t value = node->operands[i];
    if (run->last_use[value] == n + 1 || run->graph->values[value].kind == PTO_VALUE_CONSTANT)
      pto_reference_tensor_fini(&run->tensors[value]);
  }
  for (uint32_t r = node->first_result; r < node->first_result + node->result_count; r++) {
    if (!run->last_use[r]) pto_reference_tensor_fini(&run->tensors[r]);
  }
}

static int run_node(struct run *run, uint32_t n) {
  const struct pto_graph_node *node = &run->graph->nodes[n];
  struct pto_reference_tensor *results = &run->tensors[node->first_result];
  const int status = function_of(node)(node, run->operands, results);
  if (status)
    return pto_error_set(run->error, status, "reference: no memory within node %u (%s)", n,
                         pto_op_info(node->op)->name);
  for (uint32_t r = 0; r < node->result_count; r++)
    if (run->is_inside == NULL || !run->is_inside[n]) pto_reference_tensor_round(&results[r]);
  return PTO_OK;
}

static int tell(struct run *run, uint32_t n) {
  const struct pto_graph_node *node = &run->graph->nodes[n];
  const struct pto_reference_tensor *results = &run->tensors[node->first_result];
  struct pto_reference_sums sums;
  if (run->observe) return run->observe(run->context, n, results);
  if (!run->judge) return PTO_OK;
  int status = pto_reference_sums_init(&sums, node, run->operands, results, function_of(node));
  if (status) return no_memory(run, &results->desc);
  status = run->judge(run->context, n, results, &sums);
  pto_reference_sums_fini(&sums);
  return status;
}

static int run_all(struct run *run, const void *const *inputs) {
  const struct pto_graph *graph = run->graph;
  int status = run_init(run) ? load_inputs(run, inputs) : PTO_ENOMEM;
  for (uint32_t n = 0; n < graph->node_count && !status; n++) {
    status = prepare_node(run, &graph->nodes[n]);
    if (!status) status = run_node(run, n);
    if (status) break;
    store_outputs(run, &graph->nodes[n]);
    status = tell(run, n);
    release(run, n);
  }
  run_fini(run);
  return status;
}

int pto_graph_reference_run(const struct pto_graph *graph, const void *const *inputs, void *const *outputs,
                            pto_reference_observer *observe, void *context, struct pto_error *error) {
  struct run run = {.graph = graph, .outputs = outputs, .observe = observe, .context = context, .error = error};
  return run_all(&run, inputs);
}

int pto_graph_reference_run_fused(const struct pto_graph *graph, const bool *is_inside, const void *const *inputs,
                                  void *const *outputs, pto_reference_observer *observe, void *context,
                                  struct pto_error *error) {
  struct run run = {.graph = graph,
                    .is_inside = is_inside,
                    .outputs = outputs,
                    .observe = observe,
                    .context = context,
                    .error = error};
  return run_all(&run, inputs);
}

int pto_graph_reference_run_judged(const struct pto_graph *graph, const bool *is_inside, const void *const *inputs,
                                   void *const *outputs, pto_reference_judge *judge, void *context,
                                   struct pto_error *error) {
  struct run run = {
      .graph = graph, .is_inside = is_inside, .outputs = outputs, .judge = judge, .context = context, .error = error};
  return run_all(&run, inputs);
}
