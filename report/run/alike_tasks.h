/* SPDX-License-Identifier: MIT */
/*
 * Tasks of a run that are alike: of the same kernels, label, and modes, dtypes and shapes of tensors.  With the order
 * in which they were submitted this is what `ptosim compare` needs of a recorded run to match its tasks with those of
 * another one, in far less room than a record a task.
 *
 * Always true: calls and times of the groups add up to those of the trace's spans whose tasks were recorded.  There are
 * at most PTO_ALIKE_MOST groups, but for kernels: where there were more, labels do not count, and then tensors do not.
 *
 * On threads the median of a group's calls is told besides: a call that was interrupted, or that touched memory first,
 * says nothing of its kernel.
 *
 * In JSON the order is a list of [times, [group, …]], each of which stands for its groups in turn, so many times over.
 *
 * Owns its arrays until fini; trace and labels are borrowed.  Made from a trace with graph and timeline.  Any thread.
 */
#ifndef PTO_REPORT_RUN_ALIKE_TASKS_H
#define PTO_REPORT_RUN_ALIKE_TASKS_H

#include <formats/json_writer.h>
#include <report/run/task_groups.h>
#include <runtime/base/error.h>
#include <runtime/trace/trace.h>

#define PTO_ALIKE_MOST 1000u

enum pto_alike_by { PTO_ALIKE_BY_ALL, PTO_ALIKE_WITHOUT_LABELS, PTO_ALIKE_BY_KERNELS };

struct pto_alike_group {
  uint64_t hash;                    /* of what its tasks have in common */
  uint64_t first_task;              /* says what they have in common */
  uint64_t task_count, calls, time; /* on cores; in the trace's unit */
  uint64_t median;                  /* time of a call; on threads */
};

struct pto_alike_tasks {
  const struct pto_trace *trace;
  const struct pto_task_groups *labels;
  enum pto_alike_by by;
  struct pto_alike_group *groups; /* in the order of their first tasks */
  uint32_t *group_of;             /* by task */
  size_t count, capacity;
};

/* `labels`: nodes of a graph or labels, whose last group is of the tasks that have none; may have none.  PTO_OK or
 * PTO_ENOMEM. */
PTO_MUST_CHECK int pto_alike_tasks_init(struct pto_alike_tasks *alike, const struct pto_trace *trace,
                                        const struct pto_task_groups *labels, struct pto_error *error);
/* A zeroed one is allowed. */
void pto_alike_tasks_fini(struct pto_alike_tasks *alike);
/* The key "alike_tasks".  Reads debug information for lines, so a crash report has none of it. */
void pto_alike_tasks_put(const struct pto_alike_tasks *alike, struct pto_json_writer *w);

#endif
