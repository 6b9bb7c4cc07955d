/* SPDX-License-Identifier: MIT */
/*
 * All that resources did in virtual time, and what they waited for meanwhile: the one source of the accounts
 * (accounts.h), of the timeline (report/export/trace_events.h) and of the page's.
 *
 * Always true: the intervals of one resource come in order and leave no gap, from the begin of the run to its makespan.
 *
 * Owns nothing.  Reads an event graph.
 */
#ifndef PTO_REPORT_RUN_INTERVALS_H
#define PTO_REPORT_RUN_INTERVALS_H

#include <report/run/event_graph.h>

struct pto_interval {
  uint64_t begin, end; /* ps; the end is later */
  struct pto_resource resource;
  uint32_t activity; /* enum pto_activity */
  uint32_t task;     /* that it did this for, or did next; PTO_SEGMENT_NO_TASK: none */
};
typedef void pto_interval_visit(void *context, const struct pto_interval *interval);

/* Calls `visit` with each interval of the orchestrator, the schedulers, a resolver and the cores.  A graph without
 * nodes has none.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_intervals_each(const struct pto_event_graph *graph, uint32_t core_count,
                                      pto_interval_visit *visit, void *context, struct pto_error *error);

/* How many schedulers there are, and whether there is a resolver. */
void pto_count_schedulers(const struct pto_trace *trace, uint32_t *scheduler_count, bool *has_resolver);

#endif
