/* SPDX-License-Identifier: MIT */
/*
 * What a recorded run looks like outside: --dot, --deps-json and --trace, each from a pto_trace alone.
 *
 * Owns nothing; the trace, and the kernels that it names, are borrowed for the call.  Output is written as it is made:
 * memory grows with neither edges nor spans (--trace keeps 40 bytes a task to know where its arrows begin).
 *
 * Always true: --dot and --deps-json are a function of the graph alone (the same bytes on every engine, worker count
 * and run), with no address and no time in them.
 *
 * Threads: any, after the run.  "-" as a path is standard output.
 */
#ifndef PTO_EXPORT_H
#define PTO_EXPORT_H

#include <stdio.h>

#include <runtime/base/error.h>
#include <runtime/trace/trace.h>

/* More tasks than this are drawn by kernel instead of one by one. */
#define PTO_EXPORT_DOT_MAX_TASKS 500

/* Tasks by what they are of: nodes of a graph.  Tasks of one group follow each other. */
struct pto_task_groups {
  const uint32_t *group_of; /* by task number, `task_count` of them */
  uint64_t task_count;
  const char *const *names; /* by group */
};
/* What the trace does not know of the run. */
struct pto_export_info {
  const char *program, *engine, *chip;
  uint32_t cluster_count;
  const struct pto_task_groups *groups; /* NULL: none */
};
/* The name of a task's group; NULL where it has none. */
static inline const char *pto_export_group(const struct pto_export_info *info, uint64_t task) {
  return info->groups && task < info->groups->task_count ? info->groups->names[info->groups->group_of[task]] : NULL;
}

/* Graphviz: a node a task, edges with all their reasons; beyond PTO_EXPORT_DOT_MAX_TASKS a node for each set of kernels
 * and an edge for each pair of them, with counts.  PTO_OK, PTO_ESYSTEM (the file) or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_export_dot(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                                  struct pto_error *error);
/* One JSON object: tasks with their parameters, edges with their reasons and bytes.  docs/cli.md names the keys. */
PTO_MUST_CHECK int pto_export_deps(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                                   struct pto_error *error);
/* Text inside a quoted DOT string. */
void pto_dot_put_text(FILE *out, const char *text);
/* Trace Event Format, for Perfetto and chrome://tracing. */
PTO_MUST_CHECK int pto_export_trace(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                                    struct pto_error *error);

#endif
