/* SPDX-License-Identifier: MIT */
#include <check/order/explain.h>

#include <stdlib.h>
#include <string.h>

#include <check/order/happens_before.h>

static const struct {
  const char *name, *text;
} kinds[] = {
#define X(constant, name, text) {name, text},
    PTO_COMMON_LIST(X)
#undef X
};

const char *pto_common_name(uint32_t kind) { return kind < PTO_COMMON_COUNT ? kinds[kind].name : "?"; }
const char *pto_common_text(uint32_t kind) { return kind < PTO_COMMON_COUNT ? kinds[kind].text : ""; }

enum pto_deps_named_index pto_common_rule(uint32_t kind) {
  uint32_t rule = 0;
  while (rule < PTO_DEPS_NAMED_COUNT && strcmp(pto_common_name(kind), pto_deps_named_name(rule))) rule++;
  return rule;
}
static uint32_t kind_of_rule(enum pto_deps_named_index rule) {
  uint32_t kind = 0;
  while (kind < PTO_COMMON_COUNT && pto_common_rule(kind) != rule) kind++;
  return kind;
}

/* The first node to touch a managed buffer made it. */
static bool is_creator(const struct pto_access_graph *graph, const struct pto_graph_access *access) {
  if (!access->space) return false;
  for (const struct pto_graph_access *a = graph->accesses; a < access; a++)
    if (a->space == access->space && a->node != access->node) return false;
  return true;
}

static bool is_held(const struct pto_graph_access *access) { return !access->reads && !access->writes; }

static uint32_t kind_of(const struct pto_access_graph *graph, const struct pto_graph_access *a,
                        const struct pto_graph_access *b, uint32_t conflict) {
  if (!conflict) return is_held(a) || is_held(b) ? PTO_COMMON_HELD : PTO_COMMON_READS;
  const uint32_t earlier = (uint32_t)(a - graph->accesses), later = (uint32_t)(b - graph->accesses);
  if (pto_graph_is_manual(graph, later, earlier, later)) return PTO_COMMON_MANUAL;
  const enum pto_deps_named_index rule = pto_graph_silent_rule(graph, earlier, later);
  if (rule != PTO_DEPS_NAMED_COUNT) return kind_of_rule(rule);
  if (pto_graph_reasons(graph->rules, a, b, is_creator(graph, a))) return PTO_COMMON_ORDERED;
  return conflict == PTO_EDGE_WAR ? PTO_COMMON_WAR : PTO_COMMON_WAW;
}

/* External memory is in common where bytes are, or the registration is the same. */
static bool is_one_place(const struct pto_graph_access *a, const struct pto_graph_access *b,
                         enum pto_overlap relation) {
  if (a->space != b->space) return false;
  if (a->space || relation != PTO_DISJOINT) return true;
  return a->param && b->param && a->param->buffer_number == b->param->buffer_number;
}

static int find_commons(const struct pto_access_graph *graph, uint32_t earlier, uint32_t later,
                        struct pto_explanation *e) {
  const struct pto_graph_node *x = &graph->nodes[earlier], *y = &graph->nodes[later];
  e->commons = malloc(((uint64_t)x->access_count * y->access_count + 1) * sizeof *e->commons);
  if (!e->commons) return PTO_ENOMEM;
  for (uint32_t i = 0; i < x->access_count; i++)
    for (uint32_t j = 0; j < y->access_count; j++) {
      const uint32_t first = (uint32_t)x->first_access + i, second = (uint32_t)y->first_access + j;
      const struct pto_graph_access *a = &graph->accesses[first], *b = &graph->accesses[second];
      struct pto_region left, right;
      pto_graph_region(graph, a, &left);
      pto_graph_region(graph, b, &right);
      left.is_fuzzy = right.is_fuzzy = 0;
      const enum pto_overlap relation = a->space == b->space ? pto_region_overlap(&left, &right, NULL) : PTO_DISJOINT;
      if (!is_one_place(a, b, relation)) continue;
      const uint32_t conflict = relation == PTO_DISJOINT ? 0 : pto_conflict_kind(a, b);
      const uint32_t kind = relation == PTO_DISJOINT ? PTO_COMMON_DISJOINT : kind_of(graph, a, b, conflict);
      e->commons[e->common_count++] = (struct pto_common){first, second, kind, conflict};
    }
  return PTO_OK;
}

int pto_explain(struct pto_reach *reach, uint32_t earlier, uint32_t later, struct pto_explanation *explanation) {
  const struct pto_access_graph *graph = reach->graph;
  *explanation = (struct pto_explanation){.answer = PTO_ANSWER_NONE};
  explanation->path = malloc(((uint64_t)graph->node_count + 1) * sizeof *explanation->path);
  if (!explanation->path || find_commons(graph, earlier, later, explanation)) {
    pto_explanation_fini(explanation);
    return PTO_ENOMEM;
  }
  explanation->path_length = pto_reach_shortest_path(reach, earlier, later, explanation->path);
  if (explanation->path_length) explanation->answer = explanation->path_length == 2 ? PTO_ANSWER_EDGE : PTO_ANSWER_PATH;
  return PTO_OK;
}

void pto_explanation_fini(struct pto_explanation *explanation) {
  free(explanation->path);
  free(explanation->commons);
  memset(explanation, 0, sizeof *explanation);
}
