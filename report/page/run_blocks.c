/* SPDX-License-Identifier: MIT */
#include <report/page/run_blocks.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <report/findings/source_lines.h>
#include <report/page/block.h>
#include <report/page/escaped_json.h>
#include <report/page/timeline_block.h>
#include <report/run/intervals.h>
#include <report/run/label_groups.h>
#include <report/run/run_path.h>
#include <report/run/trace_view.h>
#include <runtime/base/grow.h>
#include <runtime/trace/segment.h>

#define LANES 3u
#define NAME_SIZE 256

/* Pointers in the order in which they were first met: names of kernels, places of calls.  There are few. */
struct list {
  const void **items;
  size_t count, capacity, last;
  bool has_failed;
};

static size_t index_of(struct list *list, const void *item) {
  if (list->last < list->count && list->items[list->last] == item) return list->last;
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i] == item) return list->last = i;
  if (list->count == list->capacity) {
    const size_t capacity = 2 * list->capacity + 64;
    const void **items = realloc(list->items, capacity * sizeof *items);
    if (!items) {
      list->has_failed = true;
      return 0;
    }
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count] = item;
  return list->last = list->count++;
}

struct blocks {
  const struct pto_trace *trace;
  const struct pto_export_info *info;
  FILE *to;
  struct list names; /* of kernels and activities */
  struct list places;
  uint32_t scheduler_count;
  bool has_resolver;
  int status;
};

static uint32_t first_core(const struct blocks *b) { return 1 + b->has_resolver + b->scheduler_count; }

static void write_block(struct blocks *b, const char *id, struct pto_column *columns, uint32_t count) {
  const int status = pto_block_write(b->info, id, columns, count, b->to);
  if (b->status == PTO_OK) b->status = status;
}

/* ---- timeline ---- */

struct span {
  struct pto_page_span its;
  uint32_t track;
};

static int compare_spans(const void *a, const void *b) {
  const struct span *x = a, *y = b;
  if (x->track != y->track) return x->track < y->track ? -1 : 1;
  if (x->its.begin != y->its.begin) return x->its.begin < y->its.begin ? -1 : 1;
  return x->its.end < y->its.end ? -1 : x->its.end > y->its.end;
}

struct taken {
  struct blocks *b;
  struct span *spans;
  size_t count, capacity;
};

static void take(struct taken *taken, uint32_t track, struct pto_page_span span) {
  struct span *at = pto_grow(&taken->spans, &taken->count, &taken->capacity, sizeof *at);
  if (at)
    *at = (struct span){span, track};
  else
    taken->b->status = PTO_ENOMEM;
}

static uint32_t name_of(struct taken *taken, const char *name) { return (uint32_t)index_of(&taken->b->names, name); }

static void take_calls(struct taken *taken) {
  const struct pto_trace *trace = taken->b->trace;
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; (span = pto_trace_next_span(trace, &walk)) != NULL;) {
    const struct pto_kernel *kernel = pto_trace_task_kernel(trace, span->task, span->role);
    take(taken, first_core(taken->b) + span->core,
         (struct pto_page_span){.begin = span->begin,
                                .end = span->end,
                                .task = span->task + 1,
                                .name = name_of(taken, kernel ? kernel->name : "task"),
                                .block = span->block_index});
  }
}

/* What the control thread did, in real time. */
static void take_control(struct taken *taken) {
  const struct pto_trace_log *log = &taken->b->trace->control;
  for (uint64_t i = 0; i < log->count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(log, i);
    const uint32_t activity = pto_control_activity(control);
    take(taken, 0,
         (struct pto_page_span){.begin = control->begin,
                                .end = control->end,
                                .task = control->activity == PTO_CONTROL_SUBMIT ? control->task + 1 : 0,
                                .name = name_of(taken, pto_activity_text(activity)),
                                .is_waiting = pto_activity_group(activity) == PTO_GROUP_WAIT});
  }
}

static uint32_t track_of(const struct blocks *b, struct pto_resource resource) {
  if (resource.kind == PTO_RESOURCE_ORCHESTRATOR) return 0;
  return resource.kind == PTO_RESOURCE_RESOLVER ? 1 : 1u + b->has_resolver + resource.index;
}

/* What the orchestrator and the schedulers did in virtual time, and what they waited for. */
static void take_interval(void *context, const struct pto_interval *interval) {
  struct taken *taken = context;
  if (interval->resource.kind == PTO_RESOURCE_CORE) return; /* their calls say it */
  take(taken, track_of(taken->b, interval->resource),
       (struct pto_page_span){.begin = interval->begin,
                              .end = interval->end,
                              .task = interval->task == PTO_SEGMENT_NO_TASK ? 0 : interval->task + 1,
                              .name = name_of(taken, pto_activity_text(interval->activity)),
                              .is_waiting = pto_activity_group(interval->activity) == PTO_GROUP_WAIT});
}

static void take_intervals(struct taken *taken) {
  struct pto_event_graph graph;
  struct pto_error error;
  int status = pto_event_graph_init(taken->b->trace, &graph, &error);
  if (status == PTO_OK) {
    status = pto_intervals_each(&graph, taken->b->info->cluster_count * LANES, take_interval, taken, &error);
    pto_event_graph_fini(&graph);
  }
  if (status) taken->b->status = status;
}

static void put_timeline(struct blocks *b) {
  struct pto_timeline_block timeline = {0};
  struct taken taken = {.b = b};
  take_calls(&taken);
  if (b->trace->segments.count)
    take_intervals(&taken);
  else
    take_control(&taken);
  struct span *spans = taken.spans;
  const uint64_t count = taken.count;
  if (count) qsort(spans, count, sizeof *spans, compare_spans);
  uint64_t at = 0;
  for (uint32_t track = 0; track < first_core(b) + b->info->cluster_count * LANES; track++) {
    for (; at < count && spans[at].track == track; at++) pto_timeline_block_add(&timeline, &spans[at].its);
    pto_timeline_block_end_track(&timeline);
  }
  free(spans);
  const int status = pto_timeline_block_write(&timeline, b->info, b->to);
  if (b->status == PTO_OK) b->status = status;
}

/* ---- the graph ---- */

static void put_tasks(struct blocks *b) {
  enum { KERNEL, SUBMITTED, PLACE, BLOCKS, SCOPE, COLUMNS };
  struct pto_column columns[COLUMNS] = {{0}};
  uint64_t last_time = 0, last_scope = 0;
  for (uint64_t i = 0; i < b->trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&b->trace->tasks, i);
    const struct pto_kernel *kernel = NULL;
    for (uint32_t role = 0; role < LANES && !kernel; role++) kernel = task->kernels[role];
    pto_column_put(&columns[KERNEL], index_of(&b->names, kernel ? kernel->name : pto_trace_task_kind_name(task->kind)));
    pto_column_put_signed(&columns[SUBMITTED], (int64_t)(task->submit_time - last_time));
    pto_column_put(&columns[PLACE], index_of(&b->places, task->call));
    pto_column_put(&columns[BLOCKS], task->block_count);
    pto_column_put_signed(&columns[SCOPE], (int64_t)(task->scope_serial - last_scope));
    last_time = task->submit_time;
    last_scope = task->scope_serial;
  }
  write_block(b, "tasks", columns, COLUMNS);
}

enum { PRODUCERS, BACK, REASONS, EDGE_COLUMNS };
struct edges {
  struct pto_column columns[EDGE_COLUMNS];
  uint64_t consumer, count; /* of the consumer that goes on */
};

/* Counts of all consumers before this one are known. */
static void end_consumers(struct edges *edges, uint64_t next) {
  for (; edges->consumer < next; edges->consumer++, edges->count = 0)
    pto_column_put(&edges->columns[PRODUCERS], edges->count);
}

static int put_edge(void *context, const struct pto_trace_edge_view *edge) {
  struct edges *edges = context;
  end_consumers(edges, edge->consumer);
  pto_column_put(&edges->columns[BACK], edge->consumer - edge->producer);
  pto_column_put(&edges->columns[REASONS], edge->reason_bits);
  edges->count++;
  return PTO_OK;
}

static void put_edges(struct blocks *b) {
  struct edges edges = {0};
  const int status = pto_trace_each_edge(b->trace, put_edge, &edges);
  if (status) b->status = status;
  end_consumers(&edges, b->trace->tasks.count);
  write_block(b, "edges", edges.columns, EDGE_COLUMNS);
}

static void put_tensors(struct blocks *b) {
  enum { PARAMS, MODE, BUFFER, DTYPE, RANK, SIZE, OFFSET, BYTES, COLUMNS };
  struct pto_column columns[COLUMNS] = {{0}};
  int64_t last_buffer = 0;
  for (uint64_t i = 0; i < b->trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&b->trace->tasks, i);
    const uint64_t first = pto_min_u64(task->first_param, b->trace->params.count),
                   end = pto_min_u64(first + task->param_count, b->trace->params.count);
    pto_column_put(&columns[PARAMS], end - first);
    for (uint64_t k = first; k < end; k++) {
      const struct pto_trace_param *param = pto_trace_log_at(&b->trace->params, k);
      const struct pto_tensor *tensor = &param->tensor;
      const uint32_t rank = tensor->ndims <= PTO_MAX_DIMS ? tensor->ndims : 0;
      pto_column_put(&columns[MODE], param->mode << 1 | (param->index == UINT32_MAX));
      pto_column_put_signed(&columns[BUFFER], (int64_t)param->buffer_number - last_buffer);
      pto_column_put(&columns[DTYPE], tensor->dtype);
      pto_column_put(&columns[RANK], rank);
      for (uint32_t d = 0; d < rank; d++) pto_column_put(&columns[SIZE], tensor->shape[d]);
      pto_column_put(&columns[OFFSET], tensor->start_offset);
      pto_column_put(&columns[BYTES], tensor->buffer.size_bytes << 1 | (param->is_managed != 0));
      last_buffer = (int64_t)param->buffer_number;
    }
  }
  write_block(b, "tensors", columns, COLUMNS);
}

/* Those of one moment stay as they were taken: addresses are in that order. */
static int compare_samples(const void *a, const void *b) {
  const struct pto_trace_sample *x = *(const struct pto_trace_sample *const *)a,
                                *y = *(const struct pto_trace_sample *const *)b;
  return x->time != y->time ? (x->time > y->time) - (x->time < y->time) : (x > y) - (x < y);
}

/* In virtual time the orchestrator and schedulers take them by clocks of their own. */
static void put_samples(struct blocks *b) {
  enum { TIME, READY, IN_FLIGHT, WINDOW, HEAP, COLUMNS };
  struct pto_column columns[COLUMNS] = {{0}};
  const uint64_t count = b->trace->samples.count;
  const struct pto_trace_sample **samples = calloc(count + 1, sizeof *samples);
  uint64_t last_time = 0, last_heap = 0;
  if (!samples) {
    b->status = PTO_ENOMEM;
    return;
  }
  for (uint64_t i = 0; i < count; i++) samples[i] = pto_trace_log_at(&b->trace->samples, i);
  qsort(samples, count, sizeof *samples, compare_samples);
  for (uint64_t i = 0; i < count; i++) {
    const struct pto_trace_sample *sample = samples[i];
    pto_column_put(&columns[TIME], sample->time - last_time);
    pto_column_put(&columns[READY], sample->ready);
    pto_column_put(&columns[IN_FLIGHT], sample->in_flight);
    pto_column_put(&columns[WINDOW], sample->window_used);
    pto_column_put_signed(&columns[HEAP], (int64_t)(sample->heap_used_bytes - last_heap));
    last_time = sample->time;
    last_heap = sample->heap_used_bytes;
  }
  free(samples);
  write_block(b, "samples", columns, COLUMNS);
}

/* ---- names ---- */

static void put_tracks(struct blocks *b, struct pto_json_writer *w) {
  static const char *const lanes[LANES] = {"AIC", "AIV0", "AIV1"};
  char name[64];
  pto_json_put_array(w, "tracks");
  pto_json_string(w, "orchestrator");
  if (b->has_resolver) pto_json_string(w, "resolver");
  for (uint32_t i = 0; i < b->scheduler_count; i++) {
    snprintf(name, sizeof name, "scheduler %u", i);
    pto_json_string(w, name);
  }
  for (uint32_t core = 0; core < b->info->cluster_count * LANES; core++) {
    snprintf(name, sizeof name, "core %u %s", core, lanes[core % LANES]);
    pto_json_string(w, name);
  }
  pto_json_array_end(w);
}

/* Of each task its label, or that of a scope around it; where none has any, there is no list. */
static void put_labels(struct blocks *b, struct pto_json_writer *w) {
  struct pto_label_groups labels;
  struct pto_error error;
  const int status = pto_label_groups_init(&labels, b->trace, &error);
  if (status) b->status = status;
  if (labels.groups.count == 0) return;
  pto_json_put_array(w, "labels");
  for (uint64_t i = 0; i < labels.groups.task_count; i++) {
    const uint32_t group = labels.groups.group_of[i];
    pto_json_string(w, group + 1 < labels.groups.count ? labels.groups.names[group] : NULL);
  }
  pto_json_array_end(w);
  pto_label_groups_fini(&labels);
}

/* By number, those that have one. */
static void put_buffer_labels(struct blocks *b, struct pto_json_writer *w) {
  const struct pto_trace_log *params = &b->trace->params;
  uint64_t end = 0;
  for (uint64_t i = 0; i < params->count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(params, i);
    if (param->buffer_label) end = pto_max_u64(end, param->buffer_number + 1);
  }
  uint8_t *is_told = end ? calloc(end, 1) : NULL;
  pto_json_put_object(w, "buffer_labels");
  for (uint64_t i = 0; is_told && i < params->count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(params, i);
    char number[24];
    if (!param->buffer_label || is_told[param->buffer_number]) continue;
    is_told[param->buffer_number] = 1;
    snprintf(number, sizeof number, "%" PRIu64, param->buffer_number);
    pto_json_put_string(w, number, param->buffer_label);
  }
  pto_json_object_end(w);
  if (end && !is_told) b->status = PTO_ENOMEM;
  free(is_told);
}

static void put_names(struct pto_json_writer *w, const void *context) {
  struct blocks *b = (struct blocks *)context;
  char text[NAME_SIZE];
  pto_json_put_string(w, "program", b->info->program);
  pto_json_put_bool(w, "virtual", b->trace->is_virtual);
  pto_json_put_u64(w, "units_per_us", b->trace->is_virtual ? 1000000 : 1000);
  pto_json_put_u64(w, "tasks", b->trace->tasks.count);
  pto_json_put_u64(w, "dropped_records", pto_trace_dropped(b->trace));
  put_tracks(b, w);
  pto_json_put_u64(w, "first_core", first_core(b));
  pto_json_put_array(w, "names");
  for (size_t i = 0; i < b->names.count; i++) pto_json_string(w, b->names.items[i]);
  pto_json_array_end(w);
  pto_json_put_array(w, "places");
  struct pto_source_lines *lines = pto_source_lines_create();
  for (size_t i = 0; i < b->places.count; i++)
    pto_json_string(w, pto_source_lines_name(lines, b->places.items[i], NULL, text, sizeof text));
  pto_source_lines_destroy(lines);
  pto_json_array_end(w);
  pto_json_put_array(w, "dtypes");
  for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) pto_json_string(w, pto_dtype_name(dtype));
  pto_json_array_end(w);
  pto_json_put_array(w, "modes");
  for (uint32_t mode = 0; mode <= PTO_SCALAR; mode++) pto_json_string(w, pto_mode_name(mode));
  pto_json_array_end(w);
  put_buffer_labels(b, w);
  put_labels(b, w);
  if (b->info->groups) {
    pto_json_put_array(w, "nodes");
    for (uint64_t i = 0; i < b->trace->tasks.count; i++) pto_json_string(w, pto_export_group(b->info, i));
    pto_json_array_end(w);
  }
}

int pto_run_blocks_write(const struct pto_trace *trace, const struct pto_export_info *info, FILE *to) {
  struct blocks b = {.trace = trace, .info = info, .to = to};
  pto_count_schedulers(trace, &b.scheduler_count, &b.has_resolver);
  char id[PTO_BLOCK_ID];
  put_timeline(&b);
  put_tasks(&b);
  put_edges(&b);
  put_tensors(&b);
  put_samples(&b);
  const int status = pto_escaped_json_write(pto_block_id(info, "names", id), put_names, &b, to);
  if (b.names.has_failed || b.places.has_failed) b.status = PTO_ENOMEM;
  free(b.names.items);
  free(b.places.items);
  return b.status ? b.status : status;
}
