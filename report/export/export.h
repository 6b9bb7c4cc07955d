/* SPDX-License-Identifier: MIT */
/*
 * The files that a run can be written to: a list, one line and one function for each.
 *
 * Owns nothing; the trace, and the kernels that it names, are borrowed for the call.  Output is written as it is made:
 * memory grows with neither edges nor spans (--trace keeps 16 bytes a task to know where its arrows begin).
 *
 * Always true: --dot and --deps-json are a function of the graph alone (the same bytes on every engine, worker count
 * and run), with no address and no time in them.
 *
 * To add an export: a line in PTO_EXPORT_LIST and its function.  The option, its help, where its path is kept, what is
 * recorded for it and when it is written all come from that line.
 *
 * Threads: any, after the run.  "-" as a path is standard output.
 */
#ifndef PTO_REPORT_EXPORT_EXPORT_H
#define PTO_REPORT_EXPORT_EXPORT_H

#include <stdio.h>

#include <pto/runtime.h>
#include <report/run/task_groups.h>
#include <runtime/base/error.h>
#include <runtime/deadlock/wait_picture.h>
#include <runtime/trace/trace.h>

/* X(name, option, its argument, help, what a run must record for it, writer).  An export that needs no recording is
 * written for every run, also for one whose kernel is stuck; its writer is given no trace. */
#define PTO_EXPORT_LIST(X)                                                                                             \
  /* The graph has the names of the kernels in a timeline. */                                                          \
  X(trace, "trace", "FILE", "writes the timeline: .pftrace for Perfetto, .et for Chakra, else JSON",                   \
    PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS, pto_export_trace)                                    \
  X(page, "report", "FILE.html", "writes a page that shows the result, for a browser; of a run with --stats",          \
    PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE | PTO_RECORD_SEGMENTS, pto_export_page)                                     \
  X(dot, "dot", "FILE", "writes the task graph, for Graphviz", PTO_RECORD_GRAPH, pto_export_dot)                       \
  X(deps_json, "deps-json", "FILE", "writes tasks, parameters and edges with their reasons", PTO_RECORD_GRAPH,         \
    pto_export_deps)                                                                                                   \
  X(waits_dot, "waits-dot", "FILE", "writes who waited for whom where the run stopped, for Graphviz", 0,               \
    pto_export_waits)

enum pto_export {
#define X(name, option, argument, help, record, write) PTO_EXPORT_##name,
  PTO_EXPORT_LIST(X)
#undef X
      PTO_EXPORT_COUNT
};

/* More tasks than this are drawn by kernel instead of one by one. */
#define PTO_EXPORT_DOT_MAX_TASKS 500
#define PTO_EXPORT_DOT_MAX_WIDTH 24 /* boxes of 1.5 inches: as wide as a screen of 3500 pixels */

struct pto_findings;
struct pto_run_result;

/* Of a rank of a world, whose part of a timeline stands beside those of others. */
struct pto_export_rank {
  uint32_t index; /* of the part: the rank; the number of ranks: what is of all */
  uint32_t count; /* ranks */
  const char *name;
  const uint64_t *awaited; /* pto_export_message of those that some rank waited for, in order */
  size_t awaited_count;
};
/* A number of a message, in all parts. */
static inline uint64_t pto_export_message(uint32_t source, uint64_t sequence) {
  return (uint64_t)source << 40 | (sequence & ((UINT64_C(1) << 40) - 1));
}

/* What the trace does not know of the run. */
struct pto_export_info {
  const char *program, *engine, *chip;
  uint32_t cluster_count;
  const struct pto_task_groups *groups;   /* NULL: none */
  const struct pto_wait_picture *stopped; /* NULL: it did not stop */
  const struct pto_run_result *result;    /* as --json tells it; NULL: nothing is told */
  const struct pto_export_rank *rank;     /* NULL: the chip is alone */
  const struct pto_findings *findings;    /* against the program; NULL: none were looked for */
};
/* The name of a task's group; NULL where it has none. */
static inline const char *pto_export_group(const struct pto_export_info *info, uint64_t task) {
  return info->groups && task < info->groups->task_count ? info->groups->names[info->groups->group_of[task]] : NULL;
}

/* A writer.  The path is of its option.  PTO_OK, PTO_ESYSTEM (the file) or PTO_ENOMEM. */
typedef int pto_export_write(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                             struct pto_error *error);
#define X(name, option, argument, help, record, write) pto_export_write write;
PTO_EXPORT_LIST(X)
#undef X

/* All exports: `paths` has one for each, NULL where it was not asked for. */

/* The enum pto_record bits that they need. */
uint32_t pto_exports_record(const char *const paths[PTO_EXPORT_COUNT]);
/* Whether the files can be written.  PTO_OK, or PTO_ESYSTEM with the sentence. */
PTO_MUST_CHECK int pto_exports_probe(const char *const paths[PTO_EXPORT_COUNT], struct pto_error *error);
/* Writes them; without a `trace` (NULL) those that need no recording.  PTO_OK, or what the first that failed did. */
PTO_MUST_CHECK int pto_exports_write(const char *const paths[PTO_EXPORT_COUNT], const struct pto_trace *trace,
                                     const struct pto_export_info *info, struct pto_error *error);

/* The head of a graph, which is called `program` (NULL: "run") and `what` it is. */
void pto_dot_begin(FILE *out, const char *program, const char *what);
/* Text inside a quoted DOT string; in lines of so many columns, where words let it. */
void pto_dot_put_text(FILE *out, const char *text);
void pto_dot_put_lines(FILE *out, const char *text, size_t columns);
/* How a link of the path that a run comes down to is drawn: attributes behind its label. */
const char *pto_dot_wait_style(bool is_marked, bool is_in_circle);

#endif
