/* SPDX-License-Identifier: MIT */
#include <cli/graph_records.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cli/export.h>
#include <cli/output_file.h>
#include <cli/run_result.h>
#include <device/context_recording.h>
#include <graph/operation.h>
#include <runtime/base/base.h>

#define MOST_NODES_PRINTED 12u

uint32_t pto_graph_records_wanted(const struct pto_run_options *o, const char *dot_tasks_path, bool is_checked) {
  const bool has_timeline = o->trace_path || o->stats;
  /* The graph has the names of the kernels in a timeline. */
  return (has_timeline || dot_tasks_path || o->deps_path || is_checked ? PTO_RECORD_GRAPH : 0u) |
         (has_timeline ? PTO_RECORD_TIMELINE : 0u);
}

int pto_graph_records_probe(const struct pto_run_options *options, const char *dot_tasks_path,
                            struct pto_error *error) {
  const char *const paths[] = {options->trace_path, dot_tasks_path, options->deps_path};
  int status = PTO_OK;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(paths) && status == PTO_OK; i++) status = pto_output_probe(paths[i], error);
  return status ? error->status = PTO_EINVAL : PTO_OK;
}

/* ---- which node ---- */

static bool has_room_for(struct pto_graph_records *records, uint64_t count) {
  if (count <= records->task_capacity) return true;
  const uint64_t capacity = pto_max_u64(count, 2 * records->task_capacity + 1024);
  uint32_t *larger = realloc(records->node_of, capacity * sizeof *larger);
  if (!larger) return false;
  records->node_of = larger;
  records->task_capacity = capacity;
  return true;
}

/* Tasks without a kernel, which nobody tells, come before the kernels of their node. */
static void take_node(void *context, const struct pto_lowered_task *task) {
  struct pto_graph_records *records = context;
  if (records->is_short || !has_room_for(records, task->number + 1)) {
    records->is_short = true;
    return;
  }
  while (records->task_count <= task->number) records->node_of[records->task_count++] = task->node_index;
}

/* Tasks of dispatches that lowered nothing. */
static void repeat_nodes(struct pto_graph_records *records, uint64_t task_count, uint64_t tasks_a_dispatch) {
  if (records->is_short || !has_room_for(records, task_count)) {
    records->is_short = true;
    return;
  }
  while (tasks_a_dispatch && records->task_count < task_count && records->task_count >= tasks_a_dispatch) {
    records->node_of[records->task_count] = records->node_of[records->task_count - tasks_a_dispatch];
    records->task_count++;
  }
}

static bool name_nodes(struct pto_graph_records *records) {
  const struct pto_graph *graph = records->graph;
  records->names = calloc(graph->node_count + 1u, sizeof *records->names);
  records->name_list = calloc(graph->node_count + 1u, sizeof *records->name_list);
  if (!records->names || !records->name_list) return false;
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const struct pto_graph_node *node = &graph->nodes[n];
    const char *label = node->label ? node->label : "";
    snprintf(records->names[n], sizeof records->names[n], "%" PRIu32 " %s%s%.90s", n, pto_op_info(node->op)->name,
             label[0] ? " " : "", label);
    records->name_list[n] = records->names[n];
  }
  snprintf(records->names[graph->node_count], sizeof records->names[0], "outputs");
  records->name_list[graph->node_count] = records->names[graph->node_count];
  return true;
}

void pto_graph_records_begin(struct pto_graph_records *records, struct pto_graph *graph) {
  records->graph = graph;
  records->watch = (struct pto_graph_lowering_watch){take_node, records};
  graph->watch = &records->watch;
}

/* ---- times ---- */

static int order_times(const void *left, const void *right) {
  const struct pto_graph_node_time *a = left, *b = right;
  if (a->seconds != b->seconds) return (a->seconds < b->seconds) - (a->seconds > b->seconds);
  return (a->node > b->node) - (a->node < b->node);
}

static int take_times(struct pto_graph_records *records, const struct pto_trace *trace, uint32_t clusters,
                      struct pto_error *error) {
  const uint32_t count = records->graph->node_count + 1;
  const double unit = trace->is_virtual ? 1e-12 : 1e-9;
  const int status = pto_timeline_stats_init(trace, clusters, &records->timeline, error);
  if (status) return status;
  records->times = calloc(count, sizeof *records->times);
  if (!records->times) return pto_error_set(error, PTO_ENOMEM, "no memory for --stats");
  for (uint32_t n = 0; n < count; n++) records->times[n].node = n;
  for (uint32_t worker = 0; worker < trace->span_log_count; worker++)
    for (uint64_t i = 0; i < trace->spans[worker].count; i++) {
      const struct pto_trace_span *span = pto_trace_log_at(&trace->spans[worker], i);
      if (span->task >= records->task_count) continue;
      struct pto_graph_node_time *time = &records->times[records->node_of[span->task]];
      time->calls++;
      time->seconds += (double)(span->end - span->begin) * unit;
    }
  qsort(records->times, count, sizeof *records->times, order_times);
  records->has_times = true;
  return PTO_OK;
}

/* ---- files ---- */

static int write_files(const struct pto_graph_records *records, const struct pto_trace *trace,
                       const struct pto_export_info *info, struct pto_error *error) {
  const struct {
    const char *path;
    int (*write)(const struct pto_trace *, const struct pto_export_info *, const char *, struct pto_error *);
  } exports[] = {{records->options->trace_path, pto_export_trace},
                 {records->dot_tasks_path, pto_export_dot},
                 {records->options->deps_path, pto_export_deps}};
  int status = PTO_OK;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(exports) && status == PTO_OK; i++)
    if (exports[i].path) status = exports[i].write(trace, info, exports[i].path, error);
  return status;
}

int pto_graph_records_end(struct pto_graph_records *records, struct pto_context *context, struct pto_error *error) {
  const struct pto_context_info info = pto_context_info(context);
  struct pto_context_counters counters = {.size = sizeof counters};
  const struct pto_trace *trace = NULL;
  records->graph->watch = NULL;
  if (!name_nodes(records)) return pto_error_set(error, PTO_ENOMEM, "no memory for the names of nodes");
  pto_context_counters(context, &counters);
  const int recorded = pto_context_recording(context, &trace);
  if (recorded == PTO_ENOMEM) return pto_error_set(error, recorded, "no memory for what the context has recorded");
  if (!trace) return PTO_OK;
  repeat_nodes(records, trace->tasks.count, counters.dispatches ? counters.tasks / counters.dispatches : 0);
  if (records->is_short)
    return pto_error_set(error, PTO_ENOMEM, "no memory for the nodes of %" PRIu64 " tasks", trace->tasks.count);
  const struct pto_task_groups groups = {records->node_of, records->task_count, records->name_list};
  const struct pto_export_info export_info = {.program = records->program,
                                              .engine = trace->is_virtual ? "virtual" : "threads",
                                              .chip = info.chip,
                                              .cluster_count = info.clusters,
                                              .groups = &groups};
  records->stats = (struct pto_stats){.size = sizeof records->stats,
                                      .tasks = counters.tasks,
                                      .edges = counters.edges,
                                      .lookups = counters.lookups,
                                      .candidates = counters.candidates,
                                      .submit_waits = counters.submit_waits};
  int status = write_files(records, trace, &export_info, error);
  if (status == PTO_OK && records->check.is_wanted) {
    const struct pto_graph_task_nodes nodes = {records->node_of, records->task_count, records->name_list};
    status = pto_graph_check_judge(&records->check, trace, &nodes, error);
  }
  return status == PTO_OK && records->options->stats ? take_times(records, trace, info.clusters, error) : status;
}

/* ---- --stats ---- */

void pto_graph_records_print(const struct pto_graph_records *records) {
  if (!records->has_times) return;
  const double all = records->timeline.busy[0] + records->timeline.busy[1];
  char text[32], more[32];
  pto_timeline_stats_print(&records->timeline, &records->stats, stdout);
  printf("  nodes    %-42s %10s %8s %12s %12s\n", "", "calls", "share", "total", "mean");
  for (uint32_t i = 0; i <= records->graph->node_count && i < MOST_NODES_PRINTED && records->times[i].calls; i++) {
    const struct pto_graph_node_time *time = &records->times[i];
    printf("             %-40.40s %10" PRIu64 " %7.1f%% %12s %12s\n", records->names[time->node], time->calls,
           all > 0 ? 100 * time->seconds / all : 0, pto_format_seconds(time->seconds, text, sizeof text),
           pto_format_seconds(time->seconds / (double)time->calls, more, sizeof more));
  }
}

void pto_graph_records_put(struct pto_json_writer *w, const struct pto_graph_records *records) {
  if (!records->has_times) return;
  pto_timeline_stats_write_json(&records->timeline, &records->stats, w);
  pto_json_key(w, "node_times");
  pto_json_array_begin(w);
  for (uint32_t i = 0; i <= records->graph->node_count && records->times[i].calls; i++) {
    const struct pto_graph_node_time *time = &records->times[i];
    pto_json_object_begin(w);
    if (time->node < records->graph->node_count)
      pto_json_put_u64(w, "node", time->node);
    else
      pto_json_put_null(w, "node");
    pto_json_put_string(w, "name", records->names[time->node]);
    pto_json_put_u64(w, "calls", time->calls);
    pto_json_put_double(w, "seconds", time->seconds);
    pto_json_object_end(w);
  }
  pto_json_array_end(w);
}

void pto_graph_records_fini(struct pto_graph_records *records) {
  free(records->node_of);
  free(records->names);
  free(records->name_list);
  free(records->times);
  pto_timeline_stats_fini(&records->timeline);
  pto_graph_check_fini(&records->check);
  *records = (struct pto_graph_records){0};
}
