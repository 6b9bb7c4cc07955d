/* SPDX-License-Identifier: MIT */
/*
 * The calls and edges of a recorded run, one by one, as reports and exports have them.
 *
 * Owns nothing but, for the length of a walk, one buffer of the reasons of one task's edges.  Reads the trace only.
 */
#ifndef PTO_REPORT_RUN_TRACE_VIEW_H
#define PTO_REPORT_RUN_TRACE_VIEW_H

#include <runtime/trace/trace_words.h>

/* Walks all calls, log by log: begin with a zeroed walk, and end at NULL. */
struct pto_span_walk {
  uint32_t log;
  uint64_t at;
};
static inline const struct pto_trace_span *pto_trace_next_span(const struct pto_trace *trace,
                                                               struct pto_span_walk *walk) {
  for (; walk->log < trace->span_log_count; walk->log++, walk->at = 0)
    if (walk->at < trace->spans[walk->log].count) return pto_trace_log_at(&trace->spans[walk->log], walk->at++);
  return NULL;
}

/* A task's call that began first, and the one that ended last; NULL where it never ran. */
struct pto_task_calls {
  const struct pto_trace_span *first, *last;
};
/* Those of each task, by number, to be freed; NULL where memory is short. */
struct pto_task_calls *pto_trace_task_calls(const struct pto_trace *trace);

/* One edge: all its reasons. */
struct pto_trace_edge_view {
  uint64_t producer, consumer;
  const struct pto_trace_edge *const *reasons; /* by kind, parameters, first byte */
  uint32_t reason_count;
  uint32_t reason_bits; /* union of their enum pto_edge_reason bits */
};

/* Calls `visit` for each edge, by consumer and then by producer, until it returns non-zero, which is then returned.
 * PTO_OK, or PTO_ENOMEM.  The order depends on the graph alone. */
int pto_trace_each_edge(const struct pto_trace *trace,
                        int (*visit)(void *context, const struct pto_trace_edge_view *edge), void *context);

#endif
