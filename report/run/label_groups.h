/* SPDX-License-Identifier: MIT */
/*
 * Tasks of a run by their labels: a task's own, else that of the innermost scope around it that has one.  Equal texts
 * are one group; tasks without any are the last.
 *
 * Owns its arrays until fini; texts are the program's.  Reads a trace after the run.  Any thread.
 */
#ifndef PTO_REPORT_RUN_LABEL_GROUPS_H
#define PTO_REPORT_RUN_LABEL_GROUPS_H

#include <report/run/task_groups.h>
#include <runtime/base/error.h>
#include <runtime/trace/trace.h>

struct pto_label_groups {
  struct pto_task_groups groups; /* count 0: no task has a label */
  uint32_t *group_of;
  const char **names;
};

/* PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_label_groups_init(struct pto_label_groups *labels, const struct pto_trace *trace,
                                         struct pto_error *error);
/* A zeroed one is allowed. */
void pto_label_groups_fini(struct pto_label_groups *labels);

#endif
