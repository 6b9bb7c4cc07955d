/* SPDX-License-Identifier: MIT */
#include <check/ranks/point_graph.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/grow.h>

uint32_t pto_point_graph_add(struct pto_point_graph *points, uint64_t time) {
  uint64_t *its_time = pto_grow(&points->times, &points->count, &points->capacity, sizeof *its_time);
  if (!its_time || points->count > UINT32_MAX - 1) return PTO_GRAPH_NONE;
  *its_time = time;
  return (uint32_t)points->count - 1;
}

bool pto_point_graph_add_edge(struct pto_point_graph *points, uint32_t from, uint32_t to) {
  struct pto_point_edge *edge = pto_grow(&points->edges, &points->edge_count, &points->edge_capacity, sizeof *edge);
  if (edge) *edge = (struct pto_point_edge){from, to};
  return edge != NULL;
}

static int compare_edges(const void *left, const void *right) {
  const struct pto_point_edge *a = left, *b = right;
  if (a->to != b->to) return a->to < b->to ? -1 : 1;
  return (a->from > b->from) - (a->from < b->from);
}

struct timed {
  uint64_t time;
  uint32_t point;
};

static int compare_times(const void *left, const void *right) {
  const struct timed *a = left, *b = right;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (a->point > b->point) - (a->point < b->point);
}

/* Numbers a point, and before it all that come before it: a walk, `stack` deep. */
static uint32_t number_from(struct pto_point_graph *points, uint32_t point, uint32_t next, uint32_t *stack,
                            uint32_t *taken) {
  uint32_t depth = 0;
  stack[depth++] = point;
  taken[point] = 0;
  while (depth) {
    const uint32_t top = stack[depth - 1];
    const uint32_t k = points->first_edge[top] + taken[top];
    if (k == points->first_edge[top + 1]) {
      points->number[top] = next++;
      depth--;
      continue;
    }
    taken[top]++;
    const uint32_t from = points->edges[k].from;
    if (taken[from] != PTO_GRAPH_NONE) continue;
    taken[from] = 0;
    stack[depth++] = from;
  }
  return next;
}

static bool number_all(struct pto_point_graph *points) {
  const uint32_t count = (uint32_t)points->count;
  struct timed *timed = malloc((count + 1u) * sizeof *timed);
  uint32_t *stack = malloc((count + 1u) * sizeof *stack), *taken = malloc((count + 1u) * sizeof *taken);
  points->first_edge = calloc(count + 2u, sizeof *points->first_edge);
  points->number = malloc((count + 1u) * sizeof *points->number);
  const bool is_well =
      timed && stack && taken && points->first_edge && points->number && points->edge_count < UINT32_MAX;
  if (is_well) {
    if (points->edges) qsort(points->edges, points->edge_count, sizeof *points->edges, compare_edges);
    for (size_t i = 0; i < points->edge_count; i++) points->first_edge[points->edges[i].to + 1]++;
    for (uint32_t i = 0; i < count; i++) points->first_edge[i + 1] += points->first_edge[i];
    for (uint32_t i = 0; i < count; i++) timed[i] = (struct timed){points->times[i], i};
    qsort(timed, count, sizeof *timed, compare_times);
    memset(taken, 0xff, (count + 1u) * sizeof *taken);
    uint32_t next = 0;
    for (uint32_t i = 0; i < count; i++)
      if (taken[timed[i].point] == PTO_GRAPH_NONE) next = number_from(points, timed[i].point, next, stack, taken);
  }
  free(timed);
  free(stack);
  free(taken);
  return is_well;
}

static int compare_numbers(const void *left, const void *right) {
  const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

static bool make_graph(const struct pto_point_graph *points, struct pto_access_graph *graph) {
  const uint32_t count = (uint32_t)points->count;
  uint32_t *point_of = malloc((count + 1u) * sizeof *point_of);
  graph->nodes = calloc(count + 1u, sizeof *graph->nodes);
  graph->before = malloc((points->edge_count + 1) * sizeof *graph->before);
  const bool is_well = point_of && graph->nodes && graph->before;
  for (uint32_t i = 0; is_well && i < count; i++) point_of[points->number[i]] = i;
  graph->node_count = count;
  for (uint32_t node = 0; is_well && node < count; node++) {
    const uint32_t point = point_of[node];
    uint32_t *before = graph->before + graph->before_total, kept = 0;
    for (uint32_t k = points->first_edge[point]; k < points->first_edge[point + 1]; k++)
      if (points->number[points->edges[k].from] < node) before[kept++] = points->number[points->edges[k].from];
    qsort(before, kept, sizeof *before, compare_numbers);
    uint32_t distinct = 0;
    for (uint32_t k = 0; k < kept; k++)
      if (k == 0 || before[k] != before[k - 1]) before[distinct++] = before[k];
    graph->nodes[node].first_before = graph->before_total;
    graph->nodes[node].before_count = distinct;
    graph->before_total += distinct;
  }
  free(point_of);
  return is_well;
}

bool pto_point_graph_number(struct pto_point_graph *points, struct pto_access_graph *graph) {
  return number_all(points) && make_graph(points, graph);
}

void pto_point_graph_fini(struct pto_point_graph *points) {
  free(points->times);
  free(points->edges);
  free(points->first_edge);
  free(points->number);
}
