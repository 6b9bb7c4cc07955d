/* SPDX-License-Identifier: MIT */
/*
 * Reading a recorded run: what reports and exports ask of a pto_trace.
 *
 * Owns nothing but, for the length of a walk, one buffer of the reasons of one task's edges.  Reads the trace only.
 */
#ifndef PTO_TRACE_VIEW_H
#define PTO_TRACE_VIEW_H

#include <runtime/trace/trace.h>

static inline const struct pto_trace_task *pto_trace_task_at(const struct pto_trace *trace, uint64_t number) {
  return number < trace->tasks.count ? pto_trace_log_at(&trace->tasks, number) : NULL;
}

/* The kernel that a task runs in a role; NULL where it has none or was not recorded. */
const struct pto_kernel *pto_trace_task_kernel(const struct pto_trace *trace, uint64_t number, uint32_t role);

/* "matmul", "add + mul", "barrier", "alloc": the kernels of a task by role, or its kind.  Returns `text`. */
const char *pto_trace_task_name(const struct pto_trace_task *task, char *text, size_t size);
/* "kernel", "barrier", "alloc". */
const char *pto_trace_task_kind_name(uint32_t kind);

/* The parameter with this index among the task's, the predicate with UINT32_MAX; NULL where it was not recorded. */
const struct pto_trace_param *pto_trace_param_of(const struct pto_trace *trace, const struct pto_trace_task *task,
                                                 uint32_t index);
/* "INPUT"; "?" for none. */
const char *pto_mode_name(uint32_t mode);
/* "RAW"; "?" for none. */
const char *pto_edge_reason_name(uint32_t reason);

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
