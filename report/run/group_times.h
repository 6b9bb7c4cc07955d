/* SPDX-License-Identifier: MIT */
/*
 * --stats by group: what the kernels of each node of a graph, or of each label, took on cores, all its calls together.
 *
 * Owns the times until fini; names are those of the groups.  One thread.
 */
#ifndef PTO_REPORT_RUN_GROUP_TIMES_H
#define PTO_REPORT_RUN_GROUP_TIMES_H

#include <stdio.h>

#include <formats/json_writer.h>
#include <report/run/task_groups.h>
#include <runtime/trace/trace.h>
#include <runtime/base/error.h>

struct pto_group_time {
  uint32_t group;
  uint64_t calls;
  double seconds; /* real or virtual as the trace's are */
};

struct pto_group_times {
  const struct pto_task_groups *groups;
  struct pto_group_time *items; /* longest first, of all groups; NULL: there are none */
  double seconds;               /* of all */
};

/* Longest first; of more labels than this JSON has the rest not, as each task may have one of its own. */
#define PTO_GROUP_TIMES_MOST_LABELS 1000u

/* `groups` may be NULL: then there is nothing to tell.  PTO_OK or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_group_times_init(struct pto_group_times *times, const struct pto_trace *trace,
                                        const struct pto_task_groups *groups, struct pto_error *error);
/* A zeroed one is allowed. */
void pto_group_times_fini(struct pto_group_times *times);
/* `word`: "nodes" or "labels". */
void pto_group_times_print(const struct pto_group_times *times, const char *word, FILE *to);
/* The key "node_times"; the last group, copies of outputs at the end, is no node. */
void pto_group_times_put(const struct pto_group_times *times, struct pto_json_writer *w);
/* The key "label_times"; the last group has no label, which is null. */
void pto_group_times_put_labels(const struct pto_group_times *times, struct pto_json_writer *w);

#endif
