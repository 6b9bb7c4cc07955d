/* SPDX-License-Identifier: MIT */
/*
 * --deps-json: the graph of a run as one JSON object, one line a task and one line an edge.
 */
#include <report/export/export.h>

#include <string.h>

#include <formats/json_writer.h>
#include <report/file/output_file.h>
#include <report/run/trace_view.h>

struct deps {
  struct pto_json_writer json;
  const struct pto_trace *trace;
  const struct pto_export_info *info;
};

static void put_u64s(struct pto_json_writer *w, const char *key, const uint64_t *values, uint32_t count) {
  pto_json_put_array(w, key);
  for (uint32_t i = 0; i < count; i++) pto_json_u64(w, values[i]);
  pto_json_array_end(w);
}

/* A parameter's index; null stands for the predicate, or for none. */
static void put_index(struct pto_json_writer *w, const char *key, uint32_t index) {
  if (pto_json_try_key(w, key, index != UINT32_MAX)) pto_json_u64(w, index);
}

static void put_param(struct pto_json_writer *w, const struct pto_trace_param *param) {
  const struct pto_tensor *t = &param->tensor;
  uint32_t ndims = t->ndims <= PTO_MAX_DIMS ? t->ndims : 0;
  pto_json_object_begin(w);
  put_index(w, "index", param->index);
  pto_json_put_bool(w, "predicate", param->index == UINT32_MAX);
  pto_json_put_string(w, "mode", pto_mode_name(param->mode));
  pto_json_put_string(w, "dtype", pto_dtype_name(t->dtype));
  put_u64s(w, "shape", t->shape, ndims);
  put_u64s(w, "strides", t->strides, ndims);
  pto_json_put_u64(w, "offset", t->start_offset);
  pto_json_put_u64(w, "buffer", param->buffer_number);
  if (param->buffer_label) pto_json_put_string(w, "label", param->buffer_label);
  pto_json_put_u64(w, "buffer_bytes", t->buffer.size_bytes);
  pto_json_key(w, "version");
  pto_json_i64(w, t->version);
  if (param->has_initial) pto_json_put_u64(w, "initial_bits", param->initial_bits);
  pto_json_object_end(w);
}

static void put_task(struct deps *deps, const struct pto_trace_task *task) {
  struct pto_json_writer *w = &deps->json;
  static const char *const roles[] = {"aic", "aiv0", "aiv1"};
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_u64(w, "number", task->number);
  const char *group = pto_export_group(deps->info, task->number);
  if (group) pto_json_put_string(w, "node", group);
  if (task->label) pto_json_put_string(w, "label", task->label);
  if (task->part_of) pto_json_put_u64(w, "part_of", task->part_of);
  pto_json_put_string(w, "kind", pto_trace_task_kind_name(task->kind));
  pto_json_put_object(w, "kernels");
  for (uint32_t role = 0; role < 3; role++)
    if (task->kernels[role]) pto_json_put_string(w, roles[role], task->kernels[role]->name);
  pto_json_object_end(w);
  pto_json_put_u64(w, "blocks", task->block_count);
  pto_json_put_bool(w, "sync_start", task->is_sync_start);
  pto_json_put_object(w, "scope");
  pto_json_put_u64(w, "serial", task->scope_serial);
  pto_json_put_u64(w, "depth", task->scope_depth);
  pto_json_object_end(w);
  pto_json_put_array(w, "params");
  for (uint64_t i = task->first_param; i < task->first_param + task->param_count && i < deps->trace->params.count; i++)
    put_param(w, pto_trace_log_at(&deps->trace->params, i));
  pto_json_array_end(w);
  pto_json_object_end(w);
}

/* Where the buffer of the consumer's parameter begins: byte ranges are given relative to it.  An explicit reason has
 * none. */
static uint64_t buffer_base(const struct pto_trace *trace, const struct pto_trace_edge *reason) {
  const struct pto_trace_task *consumer = pto_trace_task_at(trace, reason->consumer);
  const struct pto_trace_param *param = consumer ? pto_trace_param_of(trace, consumer, reason->consumer_param) : NULL;
  return param ? param->tensor.buffer.base : reason->begin;
}

static int put_edge(void *context, const struct pto_trace_edge_view *edge) {
  struct deps *deps = context;
  struct pto_json_writer *w = &deps->json;
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_u64(w, "from", edge->producer);
  pto_json_put_u64(w, "to", edge->consumer);
  pto_json_put_array(w, "reasons");
  for (uint32_t i = 0; i < edge->reason_count; i++) {
    const struct pto_trace_edge *reason = edge->reasons[i];
    pto_json_object_begin(w);
    pto_json_put_string(w, "kind", pto_edge_reason_name(reason->reason));
    if (reason->reason != PTO_EDGE_EXPLICIT) {
      uint64_t base = buffer_base(deps->trace, reason);
      put_index(w, "from_param", reason->producer_param);
      put_index(w, "to_param", reason->consumer_param);
      pto_json_put_u64(w, "buffer", reason->buffer_number);
      pto_json_key(w, "begin");
      pto_json_i64(w, (int64_t)(reason->begin - base));
      pto_json_key(w, "end");
      pto_json_i64(w, (int64_t)(reason->end - base));
    }
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
  pto_json_object_end(w);
  return PTO_OK;
}

/* One JSON object: tasks with their parameters, edges with their reasons and bytes.  docs/cli.md names the keys. */
int pto_export_deps(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                    struct pto_error *error) {
  struct deps deps = {.trace = trace, .info = info};
  int fd, status = pto_output_open(path, &fd, error);
  if (status) return status;
  struct pto_json_writer *w = &deps.json;
  pto_json_init(w, fd);
  pto_json_object_begin(w);
  pto_json_put_format(w, "pto-deps", 1);
  pto_json_put_string(w, "program", info->program);
  pto_json_put_array(w, "tasks");
  for (uint64_t i = 0; i < trace->tasks.count; i++) put_task(&deps, pto_trace_log_at(&trace->tasks, i));
  pto_json_array_end(w);
  pto_json_newline(w);
  pto_json_put_array(w, "edges");
  int walked = pto_trace_each_edge(trace, put_edge, &deps);
  pto_json_array_end(w);
  pto_json_put_u64(w, "dropped", trace->tasks.dropped + trace->params.dropped + trace->edges.dropped);
  pto_json_object_end(w);
  status = pto_output_close(path, fd, pto_json_finish(w), error);
  return status == PTO_OK && walked ? pto_error_set(error, walked, "%s: %s", path, pto_strerror(walked)) : status;
}
