/* SPDX-License-Identifier: MIT */
/*
 * `ptosim graph --run` with --trace, --stats, --dot-tasks, --deps-json, --check: what the run's context recorded, with
 * the node that each task is of.
 *
 * Owns the nodes of the tasks and the times until fini; the graph, the options and the texts are the command's.
 *
 * Nodes are learned while a dispatch lowers the graph (pto_graph.watch).  Always true: every dispatch of a graph
 * submits the same tasks in the same order, whether it lowers or repeats what was kept, so that a task of a dispatch
 * that lowered nothing is of the node of the task one dispatch before it.
 *
 *   init → begin → dispatches on one context → end → print, put → fini
 *
 * The thread of the command; what watches is called on the control thread of the context, while the former waits.
 */
#ifndef PTO_GRAPH_RECORDS_H
#define PTO_GRAPH_RECORDS_H

#include <cli/graph_check.h>
#include <cli/run_options.h>
#include <cli/timeline_stats.h>
#include <formats/json_writer.h>
#include <graph/graph_lowering.h>

/* What the kernels of a node took on cores, all its calls together; seconds, real or virtual as the trace's are. */
struct pto_graph_node_time {
  uint32_t node; /* the number of nodes: copies of outputs at the end */
  uint64_t calls;
  double seconds;
};

struct pto_graph_records {
  const struct pto_run_options *options;
  const char *dot_tasks_path, *program; /* may be NULL */
  struct pto_graph *graph;
  struct pto_graph_lowering_watch watch;
  uint32_t *node_of; /* by task */
  uint64_t task_count, task_capacity;
  bool is_short;      /* of memory: tasks have no nodes */
  char (*names)[128]; /* by node, and one for the copies of outputs */
  const char **name_list;
  struct pto_stats stats;
  struct pto_timeline_stats timeline;
  struct pto_graph_node_time *times; /* longest first; of all nodes */
  bool has_times;
  struct pto_graph_check check;
};

/* Which enum pto_record bits the options ask for; 0: nothing is to be recorded. */
uint32_t pto_graph_records_wanted(const struct pto_run_options *options, const char *dot_tasks_path, bool is_checked);
/* Whether the files can be written.  PTO_OK, or PTO_EINVAL with the sentence. */
PTO_MUST_CHECK int pto_graph_records_probe(const struct pto_run_options *options, const char *dot_tasks_path,
                                           struct pto_error *error);
void pto_graph_records_begin(struct pto_graph_records *records, struct pto_graph *graph);
/* Writes the files, well or not as the dispatches went, and takes the times.  PTO_OK, or the first thing that failed.
 */
PTO_MUST_CHECK int pto_graph_records_end(struct pto_graph_records *records, struct pto_context *context,
                                         struct pto_error *error);
/* Where --stats was given: the tables, and the members "stats" and "node_times". */
void pto_graph_records_print(const struct pto_graph_records *records);
void pto_graph_records_put(struct pto_json_writer *w, const struct pto_graph_records *records);
/* Takes zeroed ones. */
void pto_graph_records_fini(struct pto_graph_records *records);

#endif
