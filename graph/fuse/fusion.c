/* SPDX-License-Identifier: MIT */
#include <graph/fuse/fusion.h>

#include <stdlib.h>

#include <graph/fuse/match.h>
#include <runtime/base/grow.h>

static const struct pattern {
  const char *name, *ops;
  pto_match_function *match;
} patterns[PTO_FUSION_COUNT] = {
#define X(id, ops) [PTO_FUSION_##id] = {#id, ops, pto_match_##id},
    PTO_FUSION_LIST(X)
#undef X
};

const char *pto_fusion_name(uint32_t pattern) { return patterns[pattern].name; }
const char *pto_fusion_ops(uint32_t pattern) { return patterns[pattern].ops; }

/* ---- a group ---- */

static uint32_t uses_within(const struct pto_fusion_match *m, uint32_t value) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < m->group.node_count; i++) {
    const struct pto_graph_node *node = &m->graph->nodes[m->group.nodes[i]];
    for (uint32_t k = 0; k < node->operand_count; k++) count += node->operands[k] == value;
  }
  return count;
}

/* Whether no other node reads what is between the nodes: nodes[0] is the last, as taken. */
static bool is_closed(const struct pto_fusion_match *m) {
  for (uint32_t i = 1; i < m->group.node_count; i++) {
    const struct pto_graph_node *node = &m->graph->nodes[m->group.nodes[i]];
    for (uint32_t r = 0; r < node->result_count; r++)
      if (uses_within(m, node->first_result + r) != m->uses[node->first_result + r]) return false;
  }
  return true;
}

/* Whether an operand is made by a node of the group, which as a group makes only its result. */
static bool reads_itself(const struct pto_fusion_match *m) {
  for (uint32_t i = 0; i < m->group.operand_count; i++) {
    const uint32_t producer = m->graph->values[m->group.operands[i]].producer;
    for (uint32_t k = 0; producer != 0 && k < m->group.node_count; k++)
      if (m->group.nodes[k] == producer - 1) return true;
  }
  return false;
}

static int compare_numbers(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return x < y ? -1 : x > y;
}

static bool match(struct pto_fusion_match *m, uint32_t pattern, uint32_t node) {
  m->group = (struct pto_fused_group){.pattern = pattern};
  m->is_full = false;
  if (!patterns[pattern].match(m, node) || m->is_full || !is_closed(m) || reads_itself(m)) return false;
  qsort(m->group.nodes, m->group.node_count, sizeof *m->group.nodes, compare_numbers);
  return true;
}

/* ---- the plan ---- */

static bool add_group(struct pto_fusion_plan *plan, const struct pto_fused_group *group) {
  struct pto_fused_group *added = pto_grow(&plan->groups, &plan->group_count, &plan->capacity, sizeof *added);
  if (!added) return false;
  *added = *group;
  for (uint32_t i = 0; i < group->node_count; i++) plan->group_of[group->nodes[i]] = (uint32_t)plan->group_count;
  return true;
}

static int find_groups(struct pto_fusion_plan *plan, const struct pto_graph *graph, const uint32_t *uses) {
  struct pto_fusion_match m = {.graph = graph, .plan = plan, .uses = uses};
  for (uint32_t n = graph->node_count; n-- > 0;) {
    if (plan->group_of[n] != 0 || graph->nodes[n].result_count != 1) continue;
    uint32_t pattern = 0;
    while (pattern < PTO_FUSION_COUNT && !match(&m, pattern, n)) pattern++;
    if (pattern < PTO_FUSION_COUNT && !add_group(plan, &m.group)) return PTO_ENOMEM;
  }
  return PTO_OK;
}

static void count_uses(const struct pto_graph *graph, uint32_t *uses) {
  for (uint32_t n = 0; n < graph->node_count; n++)
    for (uint32_t i = 0; i < graph->nodes[n].operand_count; i++) uses[graph->nodes[n].operands[i]]++;
  for (uint32_t o = 0; o < graph->output_count; o++) uses[graph->outputs[o]]++;
}

int pto_fusion_plan_init(struct pto_fusion_plan *plan, const struct pto_graph *graph) {
  *plan = (struct pto_fusion_plan){.group_of = calloc((size_t)graph->node_count + 1, sizeof *plan->group_of)};
  if (!plan->group_of) return PTO_ENOMEM;
  if (graph->is_unfused) return PTO_OK;
  uint32_t *uses = calloc(graph->value_count, sizeof *uses);
  int status = PTO_ENOMEM;
  if (uses) {
    count_uses(graph, uses);
    status = find_groups(plan, graph, uses);
  }
  free(uses);
  if (status) pto_fusion_plan_fini(plan);
  return status;
}

void pto_fusion_plan_fini(struct pto_fusion_plan *plan) {
  free(plan->groups);
  free(plan->group_of);
  *plan = (struct pto_fusion_plan){0};
}

/* ---- questions ---- */

static uint32_t last_of(const struct pto_fused_group *group) { return group->nodes[group->node_count - 1]; }

uint32_t pto_fusion_place(const struct pto_fusion_plan *plan, uint32_t node) {
  return plan->group_of[node] == 0 ? node : last_of(&plan->groups[plan->group_of[node] - 1]);
}

const struct pto_fused_group *pto_fusion_group_at(const struct pto_fusion_plan *plan, uint32_t node) {
  const struct pto_fused_group *group = plan->group_of[node] == 0 ? NULL : &plan->groups[plan->group_of[node] - 1];
  return group != NULL && last_of(group) == node ? group : NULL;
}

struct pto_graph_node pto_fused_group_node(const struct pto_graph *graph, const struct pto_fused_group *group) {
  struct pto_graph_node node = graph->nodes[last_of(group)];
  node.operands = group->operands;
  node.operand_count = group->operand_count;
  node.options = &group->options;
  return node;
}
