/* SPDX-License-Identifier: MIT */
#include <report/run/intervals.h>

#include <stdlib.h>

#include <runtime/base/base.h>

#define MOST_SCHEDULERS 64u

struct walk {
  const struct pto_event_graph *graph;
  uint32_t scheduler_count, core_count;
  bool has_resolver;
  uint64_t orchestrator_at, resolver_at, schedulers_at[MOST_SCHEDULERS], *cores_at; /* told up to then */
  pto_interval_visit *visit;
  void *context;
};

static uint64_t *time_of(struct walk *w, struct pto_resource resource) {
  switch (resource.kind) {
  case PTO_RESOURCE_ORCHESTRATOR:
    return &w->orchestrator_at;
  case PTO_RESOURCE_SCHEDULER:
    return &w->schedulers_at[resource.index];
  case PTO_RESOURCE_RESOLVER:
    return &w->resolver_at;
  default:
    return &w->cores_at[resource.index];
  }
}

/* What the resource did until `end`, where that is not told yet. */
static void take(struct walk *w, struct pto_resource resource, uint32_t activity, uint32_t task, uint64_t end) {
  uint64_t *at = time_of(w, resource);
  if (end <= *at) return;
  w->visit(w->context, &(struct pto_interval){*at, end, resource, activity, task});
  *at = end;
}

static uint64_t end_of(const struct walk *w, uint32_t node) {
  return node == PTO_NO_NODE ? 0 : w->graph->nodes[node].end;
}

/* What a scheduler waited for, by who let it go on. */
static uint32_t wait_of(const struct walk *w, const struct pto_event_node *node) {
  const struct pto_trace_segment *cause = node->cause == PTO_NO_NODE ? NULL : pto_event_segment(w->graph, node->cause);
  if (!cause) return PTO_ACTIVITY_other;
  return cause->resource.kind == PTO_RESOURCE_CORE           ? PTO_ACTIVITY_wait_core
         : cause->resource.kind == PTO_RESOURCE_ORCHESTRATOR ? PTO_ACTIVITY_wait_orchestrator
                                                             : PTO_ACTIVITY_wait_scheduler;
}

/* A core waits for a message until `begin`: first for the submit of its task, then for producers, then for the message,
 * or for the other cores of its group. */
static void take_idle(struct walk *w, const struct pto_event_node *node, const struct pto_trace_segment *segment,
                      uint64_t begin) {
  const struct pto_event_graph *graph = w->graph;
  const struct pto_event_task *task = segment->task < graph->trace->tasks.count ? &graph->tasks[segment->task] : NULL;
  uint32_t rest = PTO_ACTIVITY_wait_scheduler;
  if (task) {
    const uint64_t submitted = pto_min_u64(end_of(w, task->submitted), begin),
                   produced = pto_min_u64(task->produced_ps, begin);
    take(w, segment->resource, PTO_ACTIVITY_wait_orchestrator, segment->task, submitted);
    take(w, segment->resource, PTO_ACTIVITY_wait_dependency, segment->task, produced);
  }
  if (node->cause != PTO_NO_NODE && !pto_event_segment(graph, node->cause)) {
    const uint32_t last = pto_event_graph_binding(graph, node->cause);
    const struct pto_trace_segment *of_last = last == PTO_NO_NODE ? NULL : pto_event_segment(graph, last);
    if (of_last && of_last->resource.kind == PTO_RESOURCE_CORE) rest = PTO_ACTIVITY_wait_core;
  }
  take(w, segment->resource, rest, segment->task, begin);
}

static void take_node(struct walk *w, const struct pto_event_node *node, const struct pto_trace_segment *segment) {
  const bool is_stall =
      segment->resource.kind == PTO_RESOURCE_ORCHESTRATOR && segment->activity >= PTO_ACTIVITY_wait_window;
  const bool is_explained_by_duration =
      segment->activity == PTO_ACTIVITY_start || segment->activity == PTO_ACTIVITY_look;
  const uint64_t begin = is_explained_by_duration ? segment->end - node->duration : segment->begin;
  if (segment->activity == PTO_ACTIVITY_start)
    take_idle(w, node, segment, begin);
  else if (segment->resource.kind == PTO_RESOURCE_CORE)
    take(w, segment->resource, PTO_ACTIVITY_wait_core, segment->task, begin);
  else if (segment->resource.kind != PTO_RESOURCE_ORCHESTRATOR)
    take(w, segment->resource, wait_of(w, node), segment->task, begin);
  else if (!is_stall)
    take(w, segment->resource, PTO_ACTIVITY_other, segment->task, begin);
  take(w, segment->resource, segment->activity, segment->task, segment->end);
}

/* Calls `visit` with each resource. */
static void each_resource(struct walk *w, void (*visit)(struct walk *w, struct pto_resource, const void *context),
                          const void *context) {
  visit(w, (struct pto_resource){PTO_RESOURCE_ORCHESTRATOR, 0}, context);
  if (w->has_resolver) visit(w, (struct pto_resource){PTO_RESOURCE_RESOLVER, 0}, context);
  for (uint32_t i = 0; i < w->scheduler_count; i++)
    visit(w, (struct pto_resource){PTO_RESOURCE_SCHEDULER, (uint16_t)i}, context);
  for (uint32_t i = 0; i < w->core_count; i++) visit(w, (struct pto_resource){PTO_RESOURCE_CORE, (uint16_t)i}, context);
}

static void begin_run(struct walk *w, struct pto_resource resource, const void *mark) {
  const struct pto_trace_segment *segment = mark;
  take(w, resource, PTO_ACTIVITY_no_work, PTO_SEGMENT_NO_TASK, segment->begin);
  take(w, resource, PTO_ACTIVITY_handshake, PTO_SEGMENT_NO_TASK, segment->end);
}

static void end_all(struct walk *w, struct pto_resource resource, const void *unused) {
  (void)unused;
  take(w, resource, PTO_ACTIVITY_no_work, PTO_SEGMENT_NO_TASK, w->graph->end);
}

void pto_count_schedulers(const struct pto_trace *trace, uint32_t *scheduler_count, bool *has_resolver) {
  *scheduler_count = 0;
  *has_resolver = false;
  for (uint64_t i = 0; i < trace->segments.count; i++) {
    const struct pto_trace_segment *segment = pto_trace_log_at(&trace->segments, i);
    if (segment->activity == PTO_MARK_BEGIN) *scheduler_count = pto_max_u32(*scheduler_count, segment->core);
    *has_resolver |= segment->resource.kind == PTO_RESOURCE_RESOLVER;
  }
  PTO_ASSERT(*scheduler_count <= MOST_SCHEDULERS);
}

int pto_intervals_each(const struct pto_event_graph *graph, uint32_t core_count, pto_interval_visit *visit,
                       void *context, struct pto_error *error) {
  struct walk w = {.graph = graph, .core_count = core_count, .visit = visit, .context = context};
  if (graph->node_count == 0) return PTO_OK;
  pto_count_schedulers(graph->trace, &w.scheduler_count, &w.has_resolver);
  w.cores_at = calloc(core_count + 1, sizeof *w.cores_at);
  if (!w.cores_at) return pto_error_set(error, PTO_ENOMEM, "no memory for where the time went");
  for (size_t i = 0; i < graph->node_count; i++) {
    const struct pto_trace_segment *segment = pto_event_segment(graph, (uint32_t)i);
    if (!segment) continue;
    if (segment->activity == PTO_MARK_BEGIN)
      each_resource(&w, begin_run, segment);
    else if (segment->activity < PTO_ACTIVITY_COUNT)
      take_node(&w, &graph->nodes[i], segment);
  }
  each_resource(&w, end_all, NULL);
  free(w.cores_at);
  return PTO_OK;
}
