/* SPDX-License-Identifier: MIT */
/*
 * A --deps-json file read back: the tasks, parameters and edges of a run.  Callers compare or draw them.
 *
 * Owns the parsed document, from which all strings are borrowed, and three arrays; all until fini.
 *
 * Always true after a successful read: tasks[i].number = i; every edge has from < to < task_count, and edges are sorted
 * by (to, from), each pair once; the reasons of an edge are sorted; parameter ranges lie inside `params`.  Files are
 * untrusted; keys that are not known are left alone.
 *
 * One thread.  To read one more key: a field here and a line in read_task or read_edge of graph_file.c.
 */
#ifndef PTO_CHECK_DIFF_GRAPH_FILE_H
#define PTO_CHECK_DIFF_GRAPH_FILE_H

#include <jansson.h>

#include <pto/tensor.h>
#include <runtime/base/error.h>

/* A larger file is refused: 65 792 tasks take 40 MB. */
#define PTO_GRAPH_FILE_MAX_BYTES (UINT64_C(2) << 30)
/* Of an index that is null: the predicate's parameter, an explicit reason. */
#define PTO_GRAPH_NONE UINT64_MAX

struct pto_graph_param {
  uint64_t index; /* among all parameters of the task; PTO_GRAPH_NONE: the predicate */
  const char *mode, *dtype;
  uint32_t ndims, stride_count;
  uint64_t shape[PTO_MAX_DIMS], strides[PTO_MAX_DIMS], offset; /* elements */
  uint64_t buffer, buffer_bytes;
  int64_t version;
};

struct pto_graph_task {
  uint64_t number;
  const char *kind;
  const char *kernels[3]; /* aic, aiv0, aiv1; NULL: none */
  uint64_t block_count, scope_depth;
  bool is_sync_start;
  bool is_part; /* of a launch of recorded tasks, but for its last one, which stands for all */
  uint64_t first_param, param_count;
};

struct pto_graph_reason {
  const char *kind;
  uint64_t from_param, to_param, buffer; /* PTO_GRAPH_NONE of explicit ones */
  int64_t begin, end;
};

struct pto_graph_edge {
  uint64_t from, to;
  uint64_t first_reason, reason_count;
};

struct pto_graph_file {
  json_t *root;
  const char *program;
  struct pto_graph_task *tasks;
  struct pto_graph_param *params;
  struct pto_graph_edge *edges;
  struct pto_graph_reason *reasons;
  uint64_t task_count, param_count, edge_count, reason_count;
  uint64_t dropped; /* records that did not fit into the file's trace */
};

/* PTO_OK; PTO_EINVAL where the file is no such graph, PTO_ESYSTEM where it is not there or cannot be read, PTO_ENOMEM.
 * fini is due only after PTO_OK. */
PTO_MUST_CHECK int pto_graph_file_read(const char *path, struct pto_graph_file *graph, struct pto_error *error);
void pto_graph_file_fini(struct pto_graph_file *graph);

/* A launch of recorded tasks is one task from now on, its last one: the others go with their edges, and numbers move
 * up.  PTO_OK, or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_graph_file_drop_parts(struct pto_graph_file *graph);

/* The edge between two tasks, or NULL. */
const struct pto_graph_edge *pto_graph_file_find_edge(const struct pto_graph_file *graph, uint64_t from, uint64_t to);
/* "matmul", "add + mul", "barrier": the kernels by role, or the kind.  Returns `text`. */
const char *pto_graph_task_name(const struct pto_graph_task *task, char *text, size_t size);

#endif
