/* SPDX-License-Identifier: MIT */
/*
 * A task graph submitted to our runtime: one task a node, its tensors views of two registered buffers, its order
 * derived from them alone.
 *
 * Owns nothing.  A scope is ended and another begun every `scope_tasks` tasks, so that slots of the task ring come
 * back.  Kernels find tiles by the addresses that the runtime hands them, so pto_task_graph_is_right judges those too.
 * For the control thread of the runtime.
 */
#ifndef PTO_GRAPH_RUN_H
#define PTO_GRAPH_RUN_H

#include <bench/support/task_graph.h>
#include <pto/runtime.h>

#define PTO_GRAPH_SCOPE_TASKS 1024u /* of task_bench too */

struct pto_graph_run {
  const struct pto_task_graph *graph;
  uint32_t scope_tasks;
};

/* An orchestration, whose context is a struct pto_graph_run. */
int pto_graph_run_orchestrate(struct pto_runtime *rt, void *run);

/* Once through the graph, from rewound buffers; nanoseconds a task from the begin of the orchestration until all is
 * drained.  Negative, with a line on standard error: the run failed, or its result was wrong. */
double pto_graph_run_ns(struct pto_runtime *rt, struct pto_task_graph *graph, uint32_t scope_tasks);

#endif
