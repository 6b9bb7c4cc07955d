/* SPDX-License-Identifier: MIT */
/*
 * The record of edges: what a run whose graph is recorded listens to hazards with.
 *
 * Writes one pto_trace_edge for each reason of each edge; once a task has all of its edges they are put in order.
 * Trace and rings are borrowed from the runtime.  Control thread only.
 */
#ifndef PTO_EDGE_RECORD_H
#define PTO_EDGE_RECORD_H

#include <runtime/deps/hazards.h>

struct pto_edge_record {
  struct pto_trace *trace;
  const struct pto_task_rings *rings;
};

/* At the begin of a run: listens where the trace records the graph; else it is off. */
void pto_edge_record_listen(struct pto_edge_record *recorder, struct pto_hazards *hazards);
/* The task's edges begin at `first`: the reasons of an edge follow each other, producers in the order of their submits.
 */
PTO_COLD void pto_edge_record_sort(struct pto_edge_record *recorder, uint64_t first);

#endif
