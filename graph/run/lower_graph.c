/* SPDX-License-Identifier: MIT */
#include <graph/run/lower_graph.h>

#include <stdio.h>
#include <stdlib.h>

#include <graph/fuse/match.h>
#include <runtime/control/control.h>

static pto_lower_function *const lower_functions[PTO_GRAPH_OP_COUNT] = {
#define X(id, ...) [PTO_GRAPH_OP_##id] = pto_lower_unary,
    PTO_UNARY_OP_LIST(X)
#undef X
#define X(id, ...) [PTO_GRAPH_OP_##id] = pto_lower_binary,
        PTO_BINARY_OP_LIST(X)
#undef X
#define X(id, ...) [PTO_GRAPH_OP_##id] = pto_lower_reduce,
            PTO_REDUCE_OP_LIST(X)
#undef X
#define X(id, ...) [PTO_GRAPH_OP_##id] = pto_lower_##id,
                PTO_OTHER_OP_LIST(X)
#undef X
};

static pto_lower_function *const fused_functions[PTO_FUSION_COUNT] = {
#define X(id, ops) [PTO_FUSION_##id] = pto_lower_fused_##id,
    PTO_FUSION_LIST(X)
#undef X
};

/* ---- lives of values ---- */

/* Whether results of the node may be views of its first operand. */
static bool may_be_view(const struct pto_graph_node *node) {
  static const bool views[PTO_GRAPH_OP_COUNT] = {
#define X(id) [PTO_GRAPH_OP_##id] = true,
      PTO_VIEW_OP_LIST(X)
#undef X
  };
  return node->op < PTO_GRAPH_OP_COUNT && views[node->op] &&
         (node->op != PTO_GRAPH_OP_concat || node->operand_count == 1);
}

/* A node in a group reads its operands where the group is lowered.  From the last node to the first: what a result that
 * is a view keeps alive is known when its operand is seen. */
static void find_lives(struct pto_graph_lowering *l, const struct pto_fusion_plan *plan) {
  for (uint32_t n = l->graph->node_count; n-- > 0;) {
    const struct pto_graph_node *node = &l->graph->nodes[n];
    uint32_t last = pto_fusion_place(plan, n) + 1;
    bool is_lasting = false;
    for (uint32_t i = 0; i < node->result_count && may_be_view(node); i++) {
      const struct pto_value_life *view = &l->lives[node->first_result + i];
      last = pto_max_u32(last, view->last_read);
      is_lasting |= view->output != 0 || view->storage_end == PTO_LIFE_LASTING;
    }
    for (uint32_t i = 0; i < node->operand_count; i++) {
      struct pto_value_life *life = &l->lives[node->operands[i]];
      life->last_read = pto_max_u32(last, life->last_read);
      life->storage_end = is_lasting ? PTO_LIFE_LASTING : pto_max_u32(last, life->storage_end);
    }
  }
}

static void find_shared(struct pto_graph_lowering *l, const struct pto_tensor *inputs) {
  for (uint32_t o = 0; o < l->graph->output_count; o++)
    for (uint32_t i = 0; i < l->graph->input_count; i++)
      if (pto_tensor_overlap(&l->outputs[o], &inputs[i]) != PTO_DISJOINT) l->shared[o] = l->graph->inputs[i];
}

/* A view of a constant in the order of its descriptor. */
static struct pto_tensor as_given(const struct pto_graph_value *value, const struct pto_tensor *constant) {
  uint32_t order[4];
  if (value->laid == NULL) return *constant;
  for (uint32_t d = 0; d < 4; d++) order[value->order[d]] = d;
  return pto_tensor_permute(constant, order);
}

static int lowering_init(struct pto_graph_lowering *l, const struct pto_tensor *inputs,
                         const struct pto_tensor *constants, struct pto_fusion_plan *plan) {
  const struct pto_graph *graph = l->graph;
  l->tensors = calloc(graph->value_count, sizeof *l->tensors);
  l->lives = calloc(graph->value_count, sizeof *l->lives);
  l->shared = calloc(graph->output_count + 1, sizeof *l->shared);
  l->is_written = calloc(graph->output_count + 1, sizeof *l->is_written);
  if (!l->tensors || !l->lives || !l->shared || !l->is_written) return PTO_ENOMEM;
  const int status = pto_fusion_plan_init(plan, graph);
  if (status != PTO_OK) return status;
  for (uint32_t v = 0, constant = 0; v < graph->value_count; v++) {
    l->tensors[v].status = PTO_ESTALE;
    if (graph->values[v].kind == PTO_VALUE_CONSTANT)
      l->tensors[v] = as_given(&graph->values[v], &constants[constant++]);
  }
  for (uint32_t i = 0; i < graph->input_count; i++) l->tensors[graph->inputs[i]] = inputs[i];
  for (uint32_t o = graph->output_count; o-- > 0;) l->lives[graph->outputs[o]].output = o + 1;
  find_lives(l, plan);
  find_shared(l, inputs);
  return PTO_OK;
}

static void lowering_fini(struct pto_graph_lowering *l) {
  free(l->tensors);
  free(l->lives);
  pto_value_memory_fini(&l->memory);
  free(l->shared);
  free(l->is_written);
}

/* ---- nodes ---- */

/* Outputs whose result went elsewhere: those in the storage of an input that was still read, and further names of a
 * value that is an output already. */
static void copy_outputs(struct pto_graph_lowering *l) {
  for (uint32_t o = 0; o < l->graph->output_count && l->status == PTO_OK; o++)
    if (!l->is_written[o]) pto_graph_lowering_convert(l, &l->tensors[l->graph->outputs[o]], &l->outputs[o]);
}

/* "node 3 of 7, matmul "head"". */
static void append_node(const struct pto_graph_lowering *l, const char *before, uint32_t index) {
  char text[256];
  const struct pto_graph_node *node = &l->graph->nodes[index];
  const char *label = node->label ? node->label : "";
  snprintf(text, sizeof text, "%snode %u of %u, %s%s%.100s%s", before, index + 1, l->graph->node_count,
           pto_op_info(node->op)->name, label[0] ? " \"" : "", label, label[0] ? "\"" : "");
  pto_host_append_error(l->rt, text);
}

/* The runtime's sentence, and the node that was being lowered when it came; of a group, the first as well. */
static void add_node_to_error(const struct pto_graph_lowering *l, const struct pto_fused_group *group) {
  char text[64];
  append_node(l, "; lowering had come to ", l->node_index);
  if (group == NULL) return;
  snprintf(text, sizeof text, ", fused (%s) with ", pto_fusion_name(group->pattern));
  append_node(l, text, group->nodes[0]);
}

/* A node, or the group that ends with it; results inside a group have no tasks of their own. */
static void lower_node(struct pto_graph_lowering *l, const struct pto_fusion_plan *plan) {
  const struct pto_graph_node *node = &l->graph->nodes[l->node_index];
  const struct pto_fused_group *group = pto_fusion_group_at(plan, l->node_index);
  if (pto_fusion_is_inside(plan, l->node_index)) return;
  const struct pto_graph_node whole = group ? pto_fused_group_node(l->graph, group) : *node;
  pto_lower_function *lower = group                           ? fused_functions[group->pattern]
                              : node->op < PTO_GRAPH_OP_COUNT ? lower_functions[node->op]
                                                              : pto_lower_outside;
  lower(l, &whole);
  pto_graph_lowering_end_node(l);
  if (l->status != PTO_OK) add_node_to_error(l, group);
}

int pto_graph_lower(const struct pto_graph *graph, struct pto_runtime *rt, const struct pto_tensor *inputs,
                    const struct pto_tensor *outputs, const struct pto_tensor *constants) {
  struct pto_fusion_plan plan = {0};
  struct pto_graph_lowering l = {.rt = rt, .graph = graph, .outputs = outputs};
  l.memory.reuses_at_once = graph->reuses_at_once;
  l.memory.reuses_nothing = pto_host_rules(rt) != PTO_DEPS_EXACT;
  l.status = lowering_init(&l, inputs, constants, &plan);
  for (; l.node_index < graph->node_count && l.status == PTO_OK; l.node_index++) lower_node(&l, &plan);
  copy_outputs(&l);
  pto_graph_lowering_end_node(&l);
  pto_fusion_plan_fini(&plan);
  lowering_fini(&l);
  return l.status;
}
