/* SPDX-License-Identifier: MIT */
/*
 * --trace: the timeline of a run in the Trace Event Format (JSON object form), for Perfetto and chrome://tracing.
 *
 * Process 0 is the control CPU: a track of what the orchestration did, one of the host link, in virtual time one of
 * each scheduler and the critical path, and the counters.  Process c + 1 is cluster c, with a track a core. Where tasks
 * are of groups (nodes of a graph), these name the calls, and a further process has each from its first call to its
 * last. Arrows go from the last instant of a producer's last call to the first instant of a consumer's first one.
 *
 * Times are microseconds with all the digits that there are: six of virtual time, three of real time.
 */
#include <report/export/export.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/json_writer.h>
#include <report/file/output_file.h>
#include <report/run/run_path.h>
#include <report/run/trace_view.h>

#define CONTROL_PID 0u
/* Tracks of process 0; schedulers follow. */
enum { ORCHESTRATION_TID, PATH_TID, LINK_TID, RESOLVER_TID, SCHEDULER_TID };
#define LANES 3u
#define NAME_SIZE 256

/* When and where a task ran, for the ends of arrows.  has_span: false where it never did. */
struct task_time {
  uint64_t first_begin, last_end, last_begin;
  uint16_t first_core, last_core;
  bool has_span;
};

struct timeline {
  struct pto_json_writer json;
  const struct pto_trace *trace;
  const struct pto_export_info *info;
  uint32_t digits;         /* of a microsecond */
  uint64_t nanosecond;     /* in the trace's unit */
  struct task_time *times; /* by task */
  uint64_t arrow_count;
};

static uint32_t pid_of(uint32_t core) { return core / LANES + 1; }

/* An event's common keys; the caller adds its own and ends the object. */
static void begin_event(struct timeline *t, const char *phase, uint32_t pid, uint32_t tid) {
  struct pto_json_writer *w = &t->json;
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_string(w, "ph", phase);
  pto_json_put_u64(w, "pid", pid);
  pto_json_put_u64(w, "tid", tid);
}

/* Ends the arguments of an event, and the event. */
static void end_args(struct timeline *t) {
  pto_json_object_end(&t->json);
  pto_json_object_end(&t->json);
}

static void put_time(struct timeline *t, const char *key, uint64_t time) {
  pto_json_key(&t->json, key);
  pto_json_decimal(&t->json, time, t->digits);
}

/* ---- names of processes and tracks ---- */

static void begin_metadata(struct timeline *t, uint32_t pid, uint32_t tid, const char *what) {
  begin_event(t, "M", pid, tid);
  pto_json_put_string(&t->json, "name", what);
  pto_json_put_object(&t->json, "args");
}

static void put_metadata(struct timeline *t, uint32_t pid, uint32_t tid, const char *what, const char *name) {
  begin_metadata(t, pid, tid, what);
  pto_json_put_string(&t->json, "name", name);
  end_args(t);
}

static void put_sort_index(struct timeline *t, uint32_t pid, uint32_t tid, const char *what, uint32_t index) {
  begin_metadata(t, pid, tid, what);
  pto_json_put_u64(&t->json, "sort_index", index);
  end_args(t);
}

static void put_track(struct timeline *t, uint32_t tid, const char *name) {
  put_metadata(t, CONTROL_PID, tid, "thread_name", name);
  put_sort_index(t, CONTROL_PID, tid, "thread_sort_index", tid);
}

static void put_names(struct timeline *t) {
  static const char *const lanes[LANES] = {"AIC", "AIV0", "AIV1"};
  char name[64];
  put_metadata(t, CONTROL_PID, 0, "process_name", "control CPU");
  put_track(t, ORCHESTRATION_TID, "orchestration");
  put_sort_index(t, CONTROL_PID, 0, "process_sort_index", 0);
  for (uint32_t cluster = 0; cluster < t->info->cluster_count; cluster++) {
    uint32_t core = cluster * LANES;
    snprintf(name, sizeof name, "cluster %u", cluster);
    put_metadata(t, pid_of(core), core, "process_name", name);
    put_sort_index(t, pid_of(core), core, "process_sort_index", pid_of(core));
    for (uint32_t lane = 0; lane < LANES; lane++) {
      snprintf(name, sizeof name, "%s (core %u)", lanes[lane], core + lane);
      put_metadata(t, pid_of(core), core + lane, "thread_name", name);
      put_sort_index(t, pid_of(core), core + lane, "thread_sort_index", lane);
    }
  }
}

/* ---- calls on cores ---- */

static void note_time(struct timeline *t, const struct pto_trace_span *span) {
  if (!t->times || span->task >= t->trace->tasks.count) return;
  struct task_time *time = &t->times[span->task];
  if (!time->has_span || span->begin < time->first_begin) {
    time->first_begin = span->begin;
    time->first_core = span->core;
  }
  if (!time->has_span || span->end > time->last_end) {
    time->last_end = span->end;
    time->last_begin = span->begin;
    time->last_core = span->core;
  }
  time->has_span = true;
}

static void put_span(struct timeline *t, const struct pto_trace_span *span) {
  struct pto_json_writer *w = &t->json;
  const struct pto_trace_task *task = pto_trace_task_at(t->trace, span->task);
  const struct pto_kernel *kernel = pto_trace_task_kernel(t->trace, span->task, span->role);
  begin_event(t, "X", pid_of(span->core), span->core);
  const char *group = pto_export_group(t->info, span->task), *name = kernel ? kernel->name : "task";
  pto_json_put_string(w, "cat", "kernel");
  pto_json_put_string(w, "name", group ? group : name);
  put_time(t, "ts", span->begin);
  put_time(t, "dur", span->end - span->begin);
  pto_json_put_object(w, "args");
  pto_json_put_u64(w, "task", span->task);
  if (group) pto_json_put_string(w, "kernel", name);
  if (task && task->label) pto_json_put_string(w, "label", task->label);
  if (task && task->block_count > 1) pto_json_put_u64(w, "block", span->block_index);
  if (!t->trace->is_virtual) pto_json_put_u64(w, "worker", span->worker);
  if (task) put_time(t, "submitted_us", task->submit_time);
  end_args(t);
  note_time(t, span);
}

static void put_spans(struct timeline *t) {
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; (span = pto_trace_next_span(t->trace, &walk)) != NULL;) put_span(t, span);
}

/* ---- the control CPU ---- */

static void put_control(struct timeline *t) {
  struct pto_json_writer *w = &t->json;
  for (uint64_t i = 0; i < t->trace->control.count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(&t->trace->control, i);
    begin_event(t, "X", CONTROL_PID, ORCHESTRATION_TID);
    pto_json_put_string(w, "cat", "control");
    pto_json_put_string(w, "name", pto_control_activity_name(control->activity));
    put_time(t, "ts", control->begin);
    put_time(t, "dur", control->end - control->begin);
    const bool is_move = control->moved_bytes != 0;
    if (is_move || control->activity == PTO_CONTROL_SUBMIT) {
      pto_json_put_object(w, "args");
      pto_json_put_u64(w, is_move ? "bytes" : "task", is_move ? control->moved_bytes : control->task);
      pto_json_object_end(w);
    }
    pto_json_object_end(w);
  }
}

static void put_transfers(struct timeline *t) {
  bool is_named = false;
  for (uint64_t i = 0; i < t->trace->control.count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(&t->trace->control, i);
    if (!control->moved_bytes) continue;
    if (!is_named) put_track(t, LINK_TID, "host link");
    is_named = true;
    begin_event(t, "X", CONTROL_PID, LINK_TID);
    pto_json_put_string(&t->json, "cat", "transfer");
    pto_json_put_string(&t->json, "name", pto_control_activity_name(control->activity));
    put_time(t, "ts", control->begin);
    put_time(t, "dur", control->end - control->begin);
    pto_json_put_object(&t->json, "args");
    pto_json_put_u64(&t->json, "bytes", control->moved_bytes);
    end_args(t);
  }
}

/* ---- schedulers and the critical path, of virtual time ---- */

static void put_slice(struct timeline *t, uint32_t tid, const char *category, const char *name, uint64_t begin,
                      uint64_t end) {
  begin_event(t, "X", CONTROL_PID, tid);
  pto_json_put_string(&t->json, "cat", category);
  pto_json_put_string(&t->json, "name", name);
  put_time(t, "ts", begin);
  put_time(t, "dur", end - begin);
  pto_json_put_object(&t->json, "args");
}

static void put_schedulers(struct timeline *t) {
  uint64_t named = 0; /* a bit a scheduler, the resolver's the last */
  for (uint64_t i = 0; i < t->trace->segments.count; i++) {
    const struct pto_trace_segment *segment = pto_trace_log_at(&t->trace->segments, i);
    const bool is_resolver = segment->resource.kind == PTO_RESOURCE_RESOLVER;
    if (segment->activity >= PTO_ACTIVITY_COUNT || segment->end == segment->begin ||
        (segment->resource.kind != PTO_RESOURCE_SCHEDULER && !is_resolver))
      continue;
    const uint32_t tid = is_resolver ? RESOLVER_TID : SCHEDULER_TID + segment->resource.index;
    char name[32];
    if (!(named >> tid & 1)) put_track(t, tid, pto_resource_name(segment->resource, name, sizeof name));
    named |= UINT64_C(1) << tid;
    put_slice(t, tid, "scheduler", pto_activity_text(segment->activity), segment->begin, segment->end);
    if (segment->task != PTO_SEGMENT_NO_TASK) pto_json_put_u64(&t->json, "task", segment->task);
    end_args(t);
  }
}

static void put_path(struct timeline *t, const struct pto_run_path *path) {
  char name[32];
  if (path->step_count) put_track(t, PATH_TID, "critical path");
  for (size_t i = 0; i < path->step_count; i++) {
    const struct pto_path_step *step = &path->steps[i];
    put_slice(t, PATH_TID, "path", pto_activity_group_text(step->group), step->begin, step->end);
    pto_json_put_string(&t->json, "on", pto_resource_name(step->resource, name, sizeof name));
    if (step->first_task != PTO_SEGMENT_NO_TASK) pto_json_put_u64(&t->json, "first_task", step->first_task);
    if (step->last_task != PTO_SEGMENT_NO_TASK) pto_json_put_u64(&t->json, "last_task", step->last_task);
    end_args(t);
  }
}

static int put_virtual(struct timeline *t, struct pto_error *error) {
  struct pto_event_graph graph;
  struct pto_run_path path;
  int status = pto_event_graph_init(t->trace, &graph, error);
  if (status) return status;
  status = pto_run_path_init(&graph, &path, error);
  pto_event_graph_fini(&graph);
  if (status) return status;
  put_schedulers(t);
  put_path(t, &path);
  pto_run_path_fini(&path);
  return PTO_OK;
}

/* ---- counters: one track each, a point where the value changes ---- */

static const struct counter {
  const char *name, *unit;
} counters[] = {{"ready tasks", "tasks"},
                {"kernel calls on cores", "calls"},
                {"window slots in use", "slots"},
                {"heap bytes in use", "bytes"}};
#define COUNTER_COUNT PTO_ARRAY_LENGTH(counters)

static void put_counter(struct timeline *t, const struct counter *counter, uint64_t time, uint64_t value) {
  struct pto_json_writer *w = &t->json;
  begin_event(t, "C", CONTROL_PID, 0);
  pto_json_put_string(w, "name", counter->name);
  put_time(t, "ts", time);
  pto_json_put_object(w, "args");
  pto_json_put_u64(w, counter->unit, value);
  end_args(t);
}

static void put_samples(struct timeline *t) {
  uint64_t last[COUNTER_COUNT];
  for (uint64_t i = 0; i < t->trace->samples.count; i++) {
    const struct pto_trace_sample *sample = pto_trace_log_at(&t->trace->samples, i);
    const uint64_t values[COUNTER_COUNT] = {sample->ready, sample->in_flight, sample->window_used,
                                            sample->heap_used_bytes};
    for (size_t k = 0; k < COUNTER_COUNT; k++) {
      if (i == 0 || values[k] != last[k]) put_counter(t, &counters[k], sample->time, values[k]);
      last[k] = values[k];
    }
  }
}

/* ---- arrows ---- */

static void put_arrow_end(struct timeline *t, const char *phase, const char *name, uint32_t core, uint64_t time) {
  struct pto_json_writer *w = &t->json;
  begin_event(t, phase, pid_of(core), core);
  pto_json_put_string(w, "cat", "dependency");
  pto_json_put_string(w, "name", name);
  pto_json_put_u64(w, "id", t->arrow_count);
  /* An arrow that ends binds to the slice around it instead of the next one. */
  if (phase[0] == 'f') pto_json_put_string(w, "bp", "e");
  put_time(t, "ts", time);
  pto_json_object_end(w);
}

static int put_arrow(void *context, const struct pto_trace_edge_view *edge) {
  struct timeline *t = context;
  if (edge->producer >= t->trace->tasks.count || edge->consumer >= t->trace->tasks.count) return PTO_OK;
  const struct task_time *from = &t->times[edge->producer], *to = &t->times[edge->consumer];
  if (!from->has_span || !to->has_span) return PTO_OK;
  char name[32] = "";
  for (uint32_t bit = 1; bit <= PTO_EDGE_CREATOR; bit <<= 1)
    if (edge->reason_bits & bit)
      snprintf(name + strlen(name), sizeof name - strlen(name), "%s%s", name[0] ? " " : "", pto_edge_reason_name(bit));
  /* Inside the slice: at its end it is over, and the arrow would hang in the air. */
  uint64_t back = pto_min_u64(from->last_end - from->last_begin, t->nanosecond);
  put_arrow_end(t, "s", name, from->last_core, from->last_end - back);
  put_arrow_end(t, "f", name, to->first_core, to->first_begin);
  t->arrow_count++;
  return PTO_OK;
}

/* ---- groups of tasks ---- */

static void put_group_end(struct timeline *t, const char *phase, const char *name, uint64_t id, uint64_t time) {
  struct pto_json_writer *w = &t->json;
  begin_event(t, phase, t->info->cluster_count + 1, 0);
  pto_json_put_string(w, "cat", "node");
  pto_json_put_string(w, "name", name);
  pto_json_put_u64(w, "id", id);
  put_time(t, "ts", time);
  pto_json_object_end(w);
}

/* Groups overlap in time, so they are no slices of one track, but asynchronous events with an id each. */
static void put_groups(struct timeline *t) {
  const struct pto_task_groups *groups = t->info->groups;
  if (!groups || !t->times) return;
  put_metadata(t, t->info->cluster_count + 1, 0, "process_name", "nodes of the graph");
  put_sort_index(t, t->info->cluster_count + 1, 0, "process_sort_index", t->info->cluster_count + 1);
  const uint64_t count = pto_min_u64(groups->task_count, t->trace->tasks.count);
  for (uint64_t first = 0, end; first < count; first = end) {
    uint64_t begin_time = UINT64_MAX, end_time = 0;
    for (end = first; end < count && groups->group_of[end] == groups->group_of[first]; end++) {
      if (!t->times[end].has_span) continue;
      begin_time = pto_min_u64(begin_time, t->times[end].first_begin);
      end_time = pto_max_u64(end_time, t->times[end].last_end);
    }
    if (end_time < begin_time) continue;
    put_group_end(t, "b", groups->names[groups->group_of[first]], first, begin_time);
    put_group_end(t, "e", groups->names[groups->group_of[first]], first, end_time);
  }
}

/* Spans fill the times in as they go by. */
static int prepare_times(struct timeline *t) {
  if (t->trace->edges.count == 0 && !t->info->groups) return PTO_OK;
  t->times = calloc(t->trace->tasks.count + 1, sizeof *t->times);
  return t->times ? PTO_OK : PTO_ENOMEM;
}

/* ---- the document ---- */

static void put_other_data(struct timeline *t) {
  struct pto_json_writer *w = &t->json;
  pto_json_put_object(w, "otherData");
  pto_json_put_string(w, "program", t->info->program);
  pto_json_put_string(w, "engine", t->info->engine);
  pto_json_put_string(w, "chip", t->info->chip);
  pto_json_put_string(w, "time", t->trace->is_virtual ? "virtual" : "real");
  pto_json_put_u64(w, "tasks", t->trace->tasks.count);
  pto_json_put_u64(w, "dropped_records", pto_trace_dropped(t->trace));
  pto_json_object_end(w);
}

/* Trace Event Format, for Perfetto and chrome://tracing. */
int pto_export_trace(const struct pto_trace *trace, const struct pto_export_info *info, const char *path,
                     struct pto_error *error) {
  struct timeline t = {
      .trace = trace, .info = info, .digits = trace->is_virtual ? 6 : 3, .nanosecond = trace->is_virtual ? 1000 : 1};
  int fd, status = pto_output_open(path, &fd, error);
  if (status) return status;
  struct pto_json_writer *w = &t.json;
  pto_json_init(w, fd);
  pto_json_object_begin(w);
  pto_json_put_string(w, "displayTimeUnit", "ns");
  put_other_data(&t);
  pto_json_put_array(w, "traceEvents");
  int walked = prepare_times(&t);
  put_names(&t);
  put_control(&t);
  put_transfers(&t);
  if (walked == PTO_OK) walked = put_virtual(&t, error);
  put_samples(&t);
  put_spans(&t);
  put_groups(&t);
  if (walked == PTO_OK) walked = pto_trace_each_edge(trace, put_arrow, &t);
  pto_json_array_end(w);
  pto_json_object_end(w);
  free(t.times);
  status = pto_output_close(path, fd, pto_json_finish(w), error);
  return status == PTO_OK && walked ? pto_error_set(error, walked, "%s: %s", path, pto_strerror(walked)) : status;
}
