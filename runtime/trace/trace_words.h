/* SPDX-License-Identifier: MIT */
/*
 * Words for what a trace records, and its records by number: what reports, exports and checks ask of one.
 *
 * Owns nothing and reads the trace only.
 */
#ifndef PTO_TRACE_WORDS_H
#define PTO_TRACE_WORDS_H

#include <runtime/trace/trace.h>

static inline const struct pto_trace_task *pto_trace_task_at(const struct pto_trace *trace, uint64_t number) {
  return number < trace->tasks.count ? pto_trace_log_at(&trace->tasks, number) : NULL;
}

/* The kernel that a task runs in a role; NULL where it has none or was not recorded. */
const struct pto_kernel *pto_trace_task_kernel(const struct pto_trace *trace, uint64_t number, uint32_t role);

/* "matmul", "add + mul", "barrier", "alloc": the kernels of a task by role, or its kind.  Returns `text`. */
const char *pto_trace_task_name(const struct pto_trace_task *task, char *text, size_t size);
/* "kernel", "barrier", "alloc", "empty". */
const char *pto_trace_task_kind_name(uint32_t kind);

/* The parameter with this index among the task's, the predicate with UINT32_MAX; NULL where it was not recorded. */
const struct pto_trace_param *pto_trace_param_of(const struct pto_trace *trace, const struct pto_trace_task *task,
                                                 uint32_t index);
/* "INPUT"; "?" for none. */
const char *pto_mode_name(uint32_t mode);
/* "RAW"; "?" for none. */
const char *pto_edge_reason_name(uint32_t reason);
/* "submit"; "?" for none. */
const char *pto_control_activity_name(uint32_t activity);

#endif
