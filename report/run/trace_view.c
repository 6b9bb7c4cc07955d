/* SPDX-License-Identifier: MIT */
#include <report/run/trace_view.h>

#include <stdlib.h>

#include <runtime/base/base.h>

struct pto_task_calls *pto_trace_task_calls(const struct pto_trace *trace) {
  struct pto_task_calls *all = calloc(trace->tasks.count + 1, sizeof *all);
  const struct pto_trace_span *span;
  if (!all) return NULL;
  for (struct pto_span_walk walk = {0}; (span = pto_trace_next_span(trace, &walk)) != NULL;) {
    if (span->task >= trace->tasks.count) continue;
    struct pto_task_calls *calls = &all[span->task];
    if (!calls->first || span->begin < calls->first->begin) calls->first = span;
    if (!calls->last || span->end > calls->last->end) calls->last = span;
  }
  return all;
}

/* ---- edges in an order that the graph alone decides ---- */

static int order_u64(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int order_reasons(const void *left, const void *right) {
  const struct pto_trace_edge *a = *(const struct pto_trace_edge *const *)left;
  const struct pto_trace_edge *b = *(const struct pto_trace_edge *const *)right;
  int order = order_u64(a->producer, b->producer);
  if (!order) order = order_u64(a->reason, b->reason);
  if (!order) order = order_u64(a->producer_param, b->producer_param);
  if (!order) order = order_u64(a->consumer_param, b->consumer_param);
  /* Two pieces of one pair of parameters lie in one buffer, so their addresses order as their offsets do. */
  return order ? order : order_u64(a->begin, b->begin);
}

/* Visits the edges among `count` sorted reasons of one consumer. */
static int visit_sorted(const struct pto_trace_edge *const *reasons, uint64_t count,
                        int (*visit)(void *, const struct pto_trace_edge_view *), void *context) {
  for (uint64_t at = 0; at < count;) {
    struct pto_trace_edge_view edge = {
        .producer = reasons[at]->producer, .consumer = reasons[at]->consumer, .reasons = &reasons[at]};
    for (; at < count && reasons[at]->producer == edge.producer; at++, edge.reason_count++)
      edge.reason_bits |= reasons[at]->reason;
    int status = visit(context, &edge);
    if (status) return status;
  }
  return PTO_OK;
}

int pto_trace_each_edge(const struct pto_trace *trace,
                        int (*visit)(void *context, const struct pto_trace_edge_view *edge), void *context) {
  const struct pto_trace_edge **reasons = NULL;
  uint64_t capacity = 0;
  int status = PTO_OK;
  /* The reasons of a task's edges are recorded at its submit, so they follow each other. */
  for (uint64_t first = 0, end; first < trace->edges.count && status == PTO_OK; first = end) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&trace->edges, first);
    for (end = first + 1; end < trace->edges.count && edge[end - first].consumer == edge->consumer;) end++;
    if (end - first > capacity) {
      capacity = 2 * (end - first);
      void *larger = realloc(reasons, capacity * sizeof *reasons);
      if (!larger) {
        status = PTO_ENOMEM;
        break;
      }
      reasons = larger;
    }
    for (uint64_t i = 0; i < end - first; i++) reasons[i] = edge + i;
    qsort(reasons, end - first, sizeof *reasons, order_reasons);
    status = visit_sorted(reasons, end - first, visit, context);
  }
  free(reasons);
  return status;
}
