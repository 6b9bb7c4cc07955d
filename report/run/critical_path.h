/* SPDX-License-Identifier: MIT */
/*
 * The critical path of a recorded run: the chain of tasks, each after the one before because of an edge, whose kernels
 * take longest in all.  With endless cores and no overhead the run would take that long, and not less.
 *
 * A task takes as long as the longest of its calls (blocks and the kernels of one task may run at once; a task without
 * a call takes nothing).  Tasks are in order of submission and edges lead from earlier to later ones, so one pass in
 * that order finds it, in time and memory proportional to tasks and edges.
 *
 * Owns nothing.  Reads a trace with a graph and a timeline, after the run.
 */
#ifndef PTO_REPORT_RUN_CRITICAL_PATH_H
#define PTO_REPORT_RUN_CRITICAL_PATH_H

#include <runtime/base/error.h>
#include <runtime/trace/trace.h>

struct pto_critical_path {
  uint64_t length;     /* in the trace's unit of time */
  uint64_t task_count; /* tasks on it; 0: nothing ran, or no graph was recorded */
  uint64_t last_task;  /* its end: a task number */
};

/* Of several that are as long the one that ends first.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_critical_path_find(const struct pto_trace *trace, struct pto_critical_path *path,
                                          struct pto_error *error);

#endif
