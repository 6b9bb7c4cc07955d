/* SPDX-License-Identifier: MIT */
/*
 * A graph of operations as a program: made at run time, with the graph's inputs and outputs as arrays, and run by
 * whatever runs programs.
 *
 * Its orchestration lowers the graph on the runtime of the run, on external tensors over the arrays: one dispatch,
 * without a context.  A caller that wants contexts (`ptosim graph`) gives it a host function instead.
 *
 * Owns the graph (unless it was given), names and options until destroy.  Learns while the graph is lowered which task
 * is of which node (pto_graph.watch).  Always true: every lowering of a graph submits the same tasks in the same order,
 * so that a task of a dispatch that lowered nothing is of the node of the task one dispatch before it.
 *
 * Options: those of the model, and of every graph
 *   compare   "reference": the golden of every output is the double-precision reference's
 *   fusion    whether nodes are lowered in groups (docs/graph.md)
 *
 * One run at a time; the thread of the session, and the control thread of its context while that thread waits.
 */
#ifndef PTO_CHECK_SESSION_GRAPH_PROGRAM_H
#define PTO_CHECK_SESSION_GRAPH_PROGRAM_H

#include <graph/build/operand_graph.h>
#include <graph/lower/lowering.h>
#include <pto/tools.h>
#include <report/export/export.h>

struct pto_graph_program {
  struct pto_program program; /* what a session runs */
  struct pto_config config;   /* of it: a heap with room for the results */
  struct pto_graph *graph;
  bool owns_graph;
  char *name;
  struct pto_option *options;           /* ended by a zeroed one */
  struct pto_array **inputs, **outputs; /* of the run that was prepared last, in the graph's order */
  struct pto_graph_lowering_watch watch;
  uint32_t *node_of; /* by task */
  size_t task_count, task_capacity;
  bool is_short;      /* of memory: tasks have no nodes */
  char (*names)[128]; /* by node, and one for the copies of outputs */
  const char **name_list;
  struct pto_task_groups groups;
  void *host_argument; /* of the caller that gives a host function */
};

struct pto_graph_program_source {
  const char *path, *model;                 /* one of them */
  const char *weights_path, *manifest_path; /* of a file; NULL: beside it */
  struct pto_words settings;                /* of a model, KEY=VALUE each; of a file, NAME=NUMBER: its open sizes */
  uint64_t seed;                            /* of its weights */
  bool may_stay_open;                       /* a file's open sizes where no settings are given; else they must be */
};

/* The graph of a file or a model.  PTO_OK; PTO_EINVAL, PTO_ENOTSUP, PTO_ENOMEM with the sentence. */
PTO_MUST_CHECK int pto_graph_program_read(const struct pto_graph_program_source *source, struct pto_graph **graph_out,
                                          struct pto_error *error);
/* The same as a program. */
PTO_MUST_CHECK int pto_graph_program_load(const struct pto_graph_program_source *source,
                                          struct pto_graph_program **program_out, struct pto_error *error);
/* A program of a graph that stays the caller's. */
PTO_MUST_CHECK int pto_graph_program_create(struct pto_graph *graph, const char *name,
                                            struct pto_graph_program **program_out, struct pto_error *error);
/* NULL is allowed. */
void pto_graph_program_destroy(struct pto_graph_program *program);
/* The graph program that a program is the `program` of; NULL where it is none. */
struct pto_graph_program *pto_graph_program_of(const struct pto_program *program);

/* For host functions: before the first dispatch of a run; the tasks of what lowers from now on are counted from 0. */
void pto_graph_program_begin(struct pto_graph_program *program);
/* The nodes of `task_count` tasks, dispatches of `tasks_a_dispatch` each; NULL where memory is short. */
const struct pto_task_groups *pto_graph_program_groups(struct pto_graph_program *program, uint64_t task_count,
                                                       uint64_t tasks_a_dispatch);
/* Bytes of the results of all nodes, which a heap holds twice with what lowerings make in between. */
uint64_t pto_graph_program_heap_bytes(const struct pto_graph *graph);

#endif
