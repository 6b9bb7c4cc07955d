/* SPDX-License-Identifier: MIT */
/*
 * Tasks by what they are of: nodes of a graph, labels.  A value; its maker owns the arrays.
 */
#ifndef PTO_REPORT_RUN_TASK_GROUPS_H
#define PTO_REPORT_RUN_TASK_GROUPS_H

#include <stdint.h>

/* Tasks of one node follow each other. */
struct pto_task_groups {
  const uint32_t *group_of; /* by task number, `task_count` of them */
  uint64_t task_count;
  const char *const *names; /* by group */
  uint32_t count;           /* groups */
};

#endif
