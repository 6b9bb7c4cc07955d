/* SPDX-License-Identifier: MIT */
#include <check/diff/edge_diff.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

#define MOST_PATHS 1000u /* findings for which a path is looked for: each may look at all edges */

/* A graph without its allocations. */
struct side {
  const struct pto_graph_file *graph;
  const char *name;
  uint64_t *place;    /* by task: its number among those that count; PTO_GRAPH_NONE of allocations */
  uint64_t *task_of;  /* by place */
  uint64_t *first_in; /* by task: its edges in graph->edges, which are sorted by consumer */
  uint64_t *seen;     /* by task: the search that came by last */
  uint64_t *stack;
  uint64_t count, search;
};

static bool is_alloc(const struct pto_graph_task *task) { return strcmp(task->kind, "alloc") == 0; }

static bool init(struct side *side, const struct pto_graph_file *graph, const char *name) {
  const size_t room = graph->task_count + 2;
  *side = (struct side){.graph = graph, .name = name};
  side->place = calloc(room, sizeof *side->place);
  side->task_of = calloc(room, sizeof *side->task_of);
  side->first_in = calloc(room, sizeof *side->first_in);
  side->seen = calloc(room, sizeof *side->seen);
  side->stack = calloc(room, sizeof *side->stack);
  if (!side->place || !side->task_of || !side->first_in || !side->seen || !side->stack) return false;
  for (uint64_t i = 0; i < graph->task_count; i++) {
    side->place[i] = is_alloc(&graph->tasks[i]) ? PTO_GRAPH_NONE : side->count;
    if (!is_alloc(&graph->tasks[i])) side->task_of[side->count++] = i;
  }
  for (uint64_t i = 0; i < graph->edge_count; i++) side->first_in[graph->edges[i].to + 1]++;
  for (uint64_t i = 0; i < graph->task_count; i++) side->first_in[i + 1] += side->first_in[i];
  return true;
}

static void fini(struct side *side) {
  free(side->place);
  free(side->task_of);
  free(side->first_in);
  free(side->seen);
  free(side->stack);
}

/* Whether a path leads from one task to a later one. */
static bool has_path(struct side *side, uint64_t from, uint64_t to) {
  uint64_t count = 0;
  side->search++;
  side->stack[count++] = to;
  while (count) {
    const uint64_t task = side->stack[--count];
    for (uint64_t e = side->first_in[task]; e < side->first_in[task + 1]; e++) {
      const uint64_t producer = side->graph->edges[e].from;
      if (producer == from) return true;
      if (producer < from || side->seen[producer] == side->search) continue;
      side->seen[producer] = side->search;
      side->stack[count++] = producer;
    }
  }
  return false;
}

/* Edges of `side` that `other` has not; `left` counts those that it cannot have. */
static uint64_t find_only(struct side *side, struct side *other, struct pto_findings *findings, uint64_t *left) {
  uint64_t only = 0;
  char from_name[128], to_name[128];
  for (uint64_t i = 0; i < side->graph->edge_count; i++) {
    const struct pto_graph_edge *edge = &side->graph->edges[i];
    const uint64_t from = side->place[edge->from], to = side->place[edge->to];
    const bool is_left = from == PTO_GRAPH_NONE || to == PTO_GRAPH_NONE || from >= other->count || to >= other->count;
    *left += is_left;
    if (is_left) continue;
    const uint64_t other_from = other->task_of[from], other_to = other->task_of[to];
    if (pto_graph_file_find_edge(other->graph, other_from, other_to)) continue;
    const bool is_implied = only < MOST_PATHS && has_path(other, other_from, other_to);
    const struct pto_finding finding = {.kind = PTO_FINDING_DIFFERENCE,
                                        .tasks = {edge->from, edge->to},
                                        .params = {PTO_FINDING_NONE, PTO_FINDING_NONE},
                                        .group = pto_mix64(i) ^ (uint64_t)(uint8_t)side->name[0]};
    only++;
    pto_findings_add(findings, &finding, NULL,
                     "the edge from task %" PRIu64 " (%s) to task %" PRIu64 " (%s) is only in %s%s", edge->from,
                     pto_graph_task_name(&side->graph->tasks[edge->from], from_name, sizeof from_name), edge->to,
                     pto_graph_task_name(&side->graph->tasks[edge->to], to_name, sizeof to_name), side->name,
                     is_implied ? "; a path does the same in the other" : "");
  }
  return only;
}

static void find_tasks(const struct side *a, const struct side *b, struct pto_findings *findings) {
  const struct pto_finding finding = {.kind = PTO_FINDING_DIFFERENCE,
                                      .tasks = {PTO_FINDING_NONE, PTO_FINDING_NONE},
                                      .params = {PTO_FINDING_NONE, PTO_FINDING_NONE}};
  if (a->count != b->count)
    pto_findings_add(findings, &finding, NULL,
                     "A has %" PRIu64 " tasks that are no allocations and B has %" PRIu64
                     ": they are compared by number as far as both go",
                     a->count, b->count);
}

int pto_edge_diff(const struct pto_graph_file *a, const struct pto_graph_file *b, struct pto_graph_diff *diff,
                  struct pto_findings *findings, struct pto_error *error) {
  struct side left = {0}, right = {0};
  const bool has_room = init(&left, a, "A") && init(&right, b, "B");
  *diff = (struct pto_graph_diff){.is_by_number = true};
  if (has_room) {
    diff->tasks_only_a = left.count > right.count ? left.count - right.count : 0;
    diff->tasks_only_b = right.count > left.count ? right.count - left.count : 0;
    find_tasks(&left, &right, findings);
    diff->edges_only_a = find_only(&left, &right, findings, &diff->edges_left);
    diff->edges_compared = a->edge_count - diff->edges_left;
    diff->edges_only_b = find_only(&right, &left, findings, &diff->edges_left);
    diff->edges_compared += diff->edges_only_b;
  }
  fini(&left);
  fini(&right);
  return has_room ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "out of memory");
}
