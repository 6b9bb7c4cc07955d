/* SPDX-License-Identifier: MIT */
#include <check/diff/graph_file.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/json_read.h>
#include <pto/kernel.h>
#include <runtime/base/base.h>
#include <runtime/base/text.h>

#define MOST_TASKS (UINT64_C(1) << 24)
#define MOST_EDGES (UINT64_C(1) << 26)
#define MOST_REASONS (4u * PTO_MAX_PARAMS * PTO_MAX_PARAMS)
#define MOST_NUMBER (UINT64_C(1) << 62)

/* ---- how much there is ---- */

/* Counts what lies inside the arrays, so that each kind is one allocation. */
static uint64_t count_inside(json_t *array, const char *key) {
  uint64_t count = 0;
  json_t *item;
  size_t i;
  json_array_foreach(array, i, item) count += json_array_size(json_object_get(item, key));
  return count;
}

/* ---- tasks ---- */

static uint64_t read_index(struct pto_json_reader *reader, json_t *object, const char *key) {
  return pto_json_has(object, key) ? pto_json_read_u64(reader, object, key, UINT32_MAX) : PTO_GRAPH_NONE;
}

static void read_param(struct pto_json_reader *reader, json_t *object, struct pto_graph_param *param) {
  param->index = read_index(reader, object, "index");
  param->mode = pto_json_read_string(reader, object, "mode");
  param->dtype = pto_json_read_string(reader, object, "dtype");
  pto_json_read_u64s(reader, object, "shape", PTO_MAX_DIMS, MOST_NUMBER, param->shape, &param->ndims);
  pto_json_read_u64s(reader, object, "strides", PTO_MAX_DIMS, MOST_NUMBER, param->strides, &param->stride_count);
  param->offset = pto_json_read_u64(reader, object, "offset", MOST_NUMBER);
  param->buffer = pto_json_read_u64(reader, object, "buffer", MOST_NUMBER);
  param->buffer_bytes = pto_json_read_u64(reader, object, "buffer_bytes", MOST_NUMBER);
  param->version = pto_json_read_i64(reader, object, "version");
  if (param->ndims != param->stride_count)
    pto_json_read_refuse(reader, "%u strides for %u dimensions", param->stride_count, param->ndims);
}

static void read_kernels(struct pto_json_reader *reader, json_t *object, struct pto_graph_task *task) {
  static const char *const roles[] = {"aic", "aiv0", "aiv1"};
  json_t *kernels = pto_json_read_object(reader, object, "kernels");
  for (size_t role = 0; role < PTO_ARRAY_LENGTH(roles); role++)
    if (kernels && pto_json_has(kernels, roles[role]))
      task->kernels[role] = pto_json_read_string(reader, kernels, roles[role]);
}

static void read_task(struct pto_json_reader *reader, struct pto_graph_file *graph, json_t *array, uint64_t i) {
  struct pto_graph_task *task = &graph->tasks[i];
  pto_json_read_at(reader, "tasks[%" PRIu64 "]", i);
  json_t *object = pto_json_read_item(reader, array, i);
  task->number = pto_json_read_u64(reader, object, "number", MOST_NUMBER);
  if (!reader->status && task->number != i) pto_json_read_refuse(reader, "its number is %" PRIu64, task->number);
  task->kind = pto_json_read_string(reader, object, "kind");
  task->block_count = pto_json_read_u64(reader, object, "blocks", UINT32_MAX);
  task->is_sync_start = pto_json_read_bool(reader, object, "sync_start");
  task->is_part = !reader->status && pto_json_has(object, "part_of");
  task->scope_depth = pto_json_read_u64(reader, pto_json_read_object(reader, object, "scope"), "depth", UINT32_MAX);
  read_kernels(reader, object, task);
  json_t *params = pto_json_read_array(reader, object, "params", PTO_MAX_PARAMS + 1);
  task->first_param = graph->param_count;
  task->param_count = reader->status ? 0 : json_array_size(params);
  for (uint64_t k = 0; k < task->param_count && !reader->status; k++) {
    pto_json_read_at(reader, "tasks[%" PRIu64 "].params[%" PRIu64 "]", i, k);
    json_t *param = pto_json_read_item(reader, params, k);
    read_param(reader, param, &graph->params[graph->param_count++]);
  }
}

/* ---- edges ---- */

static int order_u64(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int order_reasons(const void *left, const void *right) {
  const struct pto_graph_reason *a = left, *b = right;
  int order = strcmp(a->kind, b->kind);
  if (!order) order = order_u64(a->from_param, b->from_param);
  if (!order) order = order_u64(a->to_param, b->to_param);
  if (!order) order = (a->begin > b->begin) - (a->begin < b->begin);
  return order ? order : (a->end > b->end) - (a->end < b->end);
}

static int order_edges(const void *left, const void *right) {
  const struct pto_graph_edge *a = left, *b = right;
  int order = order_u64(a->to, b->to);
  return order ? order : order_u64(a->from, b->from);
}

static void read_reason(struct pto_json_reader *reader, json_t *object, struct pto_graph_reason *reason) {
  *reason = (struct pto_graph_reason){.from_param = PTO_GRAPH_NONE, .to_param = PTO_GRAPH_NONE};
  reason->buffer = PTO_GRAPH_NONE;
  reason->kind = pto_json_read_string(reader, object, "kind");
  if (reader->status || !json_object_get(object, "buffer")) return; /* explicit */
  reason->from_param = read_index(reader, object, "from_param");
  reason->to_param = read_index(reader, object, "to_param");
  reason->buffer = pto_json_read_u64(reader, object, "buffer", MOST_NUMBER);
  reason->begin = pto_json_read_i64(reader, object, "begin");
  reason->end = pto_json_read_i64(reader, object, "end");
}

static void read_edge(struct pto_json_reader *reader, struct pto_graph_file *graph, json_t *array, uint64_t i) {
  struct pto_graph_edge *edge = &graph->edges[i];
  pto_json_read_at(reader, "edges[%" PRIu64 "]", i);
  json_t *object = pto_json_read_item(reader, array, i);
  edge->from = pto_json_read_u64(reader, object, "from", MOST_NUMBER);
  edge->to = pto_json_read_u64(reader, object, "to", MOST_NUMBER);
  if (!reader->status && (edge->from >= edge->to || edge->to >= graph->task_count))
    pto_json_read_refuse(reader, "from %" PRIu64 " to %" PRIu64 " of %" PRIu64 " tasks", edge->from, edge->to,
                         graph->task_count);
  json_t *reasons = pto_json_read_array(reader, object, "reasons", MOST_REASONS);
  edge->first_reason = graph->reason_count;
  edge->reason_count = reader->status ? 0 : json_array_size(reasons);
  for (uint64_t k = 0; k < edge->reason_count && !reader->status; k++)
    read_reason(reader, pto_json_read_item(reader, reasons, k), &graph->reasons[graph->reason_count++]);
  if (!reader->status)
    qsort(&graph->reasons[edge->first_reason], edge->reason_count, sizeof *graph->reasons, order_reasons);
}

static void check_edges(struct pto_json_reader *reader, struct pto_graph_file *graph) {
  pto_json_read_at(reader, "edges");
  if (graph->edge_count) qsort(graph->edges, graph->edge_count, sizeof *graph->edges, order_edges);
  for (uint64_t i = 1; i < graph->edge_count; i++)
    if (order_edges(&graph->edges[i - 1], &graph->edges[i]) == 0)
      pto_json_read_refuse(reader, "from %" PRIu64 " to %" PRIu64 " is there twice", graph->edges[i].from,
                           graph->edges[i].to);
}

/* ---- the file ---- */

static void *array_of(struct pto_json_reader *reader, uint64_t count, size_t size) {
  void *array = reader->status ? NULL : calloc(count ? count : 1, size);
  if (!array && !reader->status)
    reader->status =
        pto_error_set(reader->error, PTO_ENOMEM, "%.400s: no memory for %" PRIu64 " records", reader->path, count);
  return array;
}

/* Another file of ptosim's; one without a format may be a graph of old. */
static void refuse_other(struct pto_json_reader *reader, const json_t *root) {
  const char *format = json_string_value(json_object_get(root, "format"));
  if (!format || strcmp(format, "pto-deps") == 0) return;
  pto_json_read_refuse(reader, "this is %.40s, not the pto-deps of --deps-json%s", format,
                       strcmp(format, "pto-run") == 0 ? "; `ptosim compare` takes recorded runs" : "");
}

static void read_graph(struct pto_json_reader *reader, struct pto_graph_file *graph) {
  refuse_other(reader, graph->root);
  graph->program = pto_json_read_string(reader, graph->root, "program");
  graph->dropped = pto_json_read_u64(reader, graph->root, "dropped", MOST_NUMBER);
  json_t *tasks = pto_json_read_array(reader, graph->root, "tasks", MOST_TASKS);
  json_t *edges = pto_json_read_array(reader, graph->root, "edges", MOST_EDGES);
  if (reader->status) return;
  graph->task_count = json_array_size(tasks);
  graph->edge_count = json_array_size(edges);
  graph->tasks = array_of(reader, graph->task_count, sizeof *graph->tasks);
  graph->params = array_of(reader, count_inside(tasks, "params"), sizeof *graph->params);
  graph->edges = array_of(reader, graph->edge_count, sizeof *graph->edges);
  graph->reasons = array_of(reader, count_inside(edges, "reasons"), sizeof *graph->reasons);
  for (uint64_t i = 0; i < graph->task_count && !reader->status; i++) read_task(reader, graph, tasks, i);
  for (uint64_t i = 0; i < graph->edge_count && !reader->status; i++) read_edge(reader, graph, edges, i);
  if (!reader->status) check_edges(reader, graph);
}

int pto_graph_file_read(const char *path, struct pto_graph_file *graph, struct pto_error *error) {
  struct pto_json_reader reader;
  memset(graph, 0, sizeof *graph);
  graph->root = pto_json_read_file(&reader, path, PTO_GRAPH_FILE_MAX_BYTES, error);
  if (graph->root) read_graph(&reader, graph);
  if (reader.status) pto_graph_file_fini(graph);
  return reader.status;
}

void pto_graph_file_fini(struct pto_graph_file *graph) {
  free(graph->tasks);
  free(graph->params);
  free(graph->edges);
  free(graph->reasons);
  json_decref(graph->root);
  memset(graph, 0, sizeof *graph);
}

int pto_graph_file_drop_parts(struct pto_graph_file *graph) {
  uint64_t *numbers = calloc(graph->task_count + 1, sizeof *numbers), kept = 0, edge_count = 0;
  if (!numbers) return PTO_ENOMEM;
  for (uint64_t i = 0; i < graph->task_count; i++) {
    numbers[i] = graph->tasks[i].is_part ? PTO_GRAPH_NONE : kept;
    if (graph->tasks[i].is_part) continue;
    graph->tasks[kept] = graph->tasks[i];
    graph->tasks[kept].number = kept;
    kept++;
  }
  for (uint64_t i = 0; i < graph->edge_count; i++) {
    struct pto_graph_edge edge = graph->edges[i];
    edge.from = numbers[edge.from];
    edge.to = numbers[edge.to];
    if (edge.from != PTO_GRAPH_NONE && edge.to != PTO_GRAPH_NONE) graph->edges[edge_count++] = edge;
  }
  graph->task_count = kept;
  graph->edge_count = edge_count;
  free(numbers);
  return PTO_OK;
}

const struct pto_graph_edge *pto_graph_file_find_edge(const struct pto_graph_file *graph, uint64_t from, uint64_t to) {
  const struct pto_graph_edge key = {.from = from, .to = to};
  return graph->edge_count ? bsearch(&key, graph->edges, graph->edge_count, sizeof key, order_edges) : NULL;
}

const char *pto_graph_task_name(const struct pto_graph_task *task, char *text, size_t size) {
  const char *separator = "";
  bool has_kernel = false;
  for (size_t role = 0; role < PTO_ARRAY_LENGTH(task->kernels); role++) has_kernel |= task->kernels[role] != NULL;
  snprintf(text, size, "%s", has_kernel ? "" : task->kind);
  for (size_t role = 0; role < PTO_ARRAY_LENGTH(task->kernels); role++) {
    if (!task->kernels[role]) continue;
    pto_text_append(text, size, "%s%s", separator, task->kernels[role]);
    separator = " + ";
  }
  return text;
}
