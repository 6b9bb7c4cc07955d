/* SPDX-License-Identifier: MIT */
/*
 * A timeline in the Trace Event Format (JSON object form), for Perfetto and chrome://tracing.
 *
 * Times are microseconds with all the digits that there are: six of virtual time, three of real time.
 */
#include <report/export/trace_events.h>

#include <errno.h>

#include <formats/json_writer.h>

struct trace_json {
  struct pto_json_writer json;
  uint32_t digits;                    /* of a microsecond */
  const struct pto_export_rank *rank; /* NULL: the chip is alone */
};

/* A rank is one process here, since the format has no processes in processes: its cores' tracks stand behind those of
 * its control CPU, and lanes have tracks of their own. */
static uint32_t process_of(const struct trace_json *t, struct pto_event_track track) {
  return t->rank ? t->rank->index : track.process;
}
static uint32_t thread_of(const struct trace_json *t, struct pto_event_track track) {
  if (!t->rank) return track.index;
  return (track.process ? PTO_EVENT_CONTROL_TRACKS : 0) + track.index + (track.lane << 16);
}
/* Flows and groups are numbered by rank. */
static uint64_t id_of(const struct trace_json *t, uint64_t id) {
  return t->rank ? pto_export_message(t->rank->index, id) : id;
}

/* An event's common keys; the caller adds its own and ends the object. */
static void begin_event(struct trace_json *t, const char *phase, struct pto_event_track track) {
  struct pto_json_writer *w = &t->json;
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_string(w, "ph", phase);
  pto_json_put_u64(w, "pid", process_of(t, track));
  pto_json_put_u64(w, "tid", thread_of(t, track));
}

static void put_time(struct trace_json *t, const char *key, uint64_t time) {
  pto_json_key(&t->json, key);
  pto_json_decimal(&t->json, time, t->digits);
}

/* ---- names of processes and tracks ---- */

static void put_name(struct trace_json *t, const char *what, const struct pto_trace_event *event) {
  begin_event(t, "M", event->track);
  pto_json_put_string(&t->json, "name", what);
  pto_json_put_object(&t->json, "args");
  pto_json_put_string(&t->json, "name", event->name);
  pto_json_object_end(&t->json);
  pto_json_object_end(&t->json);
}

static void put_sort_index(struct trace_json *t, const char *what, struct pto_event_track track, uint32_t index) {
  begin_event(t, "M", track);
  pto_json_put_string(&t->json, "name", what);
  pto_json_put_object(&t->json, "args");
  pto_json_put_u64(&t->json, "sort_index", index);
  pto_json_object_end(&t->json);
  pto_json_object_end(&t->json);
}

/* The control CPU's own rank comes behind its first track. */
static void put_process(struct trace_json *t, const struct pto_trace_event *event) {
  struct pto_trace_event rank = *event;
  if (t->rank) rank.name = t->rank->name;
  if (t->rank && event->track.process) return;
  event = &rank;
  put_name(t, "process_name", event);
  if (event->track.process) put_sort_index(t, "process_sort_index", event->track, event->value);
}

/* A core's lanes are one track here. */
static void put_track(struct trace_json *t, const struct pto_trace_event *event) {
  if (event->track.lane && !t->rank) return;
  put_name(t, "thread_name", event);
  put_sort_index(t, "thread_sort_index", event->track,
                 t->rank ? (event->track.process ? PTO_EVENT_CONTROL_TRACKS + event->track.index : event->track.index)
                         : (uint32_t)event->value);
  if (event->track.process + event->track.index == 0)
    put_sort_index(t, "process_sort_index", event->track, process_of(t, event->track));
}

/* ---- events ---- */

/* One end of a flow or group, which its id joins with the other. */
static void put_end(struct trace_json *t, const char *phase, const struct pto_trace_event *event,
                    struct pto_event_track track, uint64_t time) {
  struct pto_json_writer *w = &t->json;
  begin_event(t, phase, track);
  pto_json_put_string(w, "cat", event->category);
  pto_json_put_string(w, "name", event->name);
  pto_json_put_u64(w, "id", event->kind == PTO_EVENT_SLICE ? event->message : id_of(t, event->id));
  /* A flow that ends binds to the slice around it instead of the next one. */
  if (phase[0] == 'f') pto_json_put_string(w, "bp", "e");
  put_time(t, "ts", time);
  pto_json_object_end(w);
}

static void put_slice(struct trace_json *t, const struct pto_trace_event *event) {
  struct pto_json_writer *w = &t->json;
  begin_event(t, "X", event->track);
  pto_json_put_string(w, "cat", event->category);
  pto_json_put_string(w, "name", event->name);
  put_time(t, "ts", event->begin);
  put_time(t, "dur", event->end - event->begin);
  if (event->args) {
    pto_json_put_object(w, "args");
    for (uint32_t i = 0; i < event->arg_count; i++) {
      const struct pto_event_arg *arg = &event->args[i];
      if (arg->text)
        pto_json_put_string(w, arg->name, arg->text);
      else if (arg->is_time)
        put_time(t, arg->name, arg->value);
      else
        pto_json_put_u64(w, arg->name, arg->value);
    }
    pto_json_object_end(w);
  }
  pto_json_object_end(w);
  struct pto_trace_event flow = {
      .kind = event->kind, .category = "signal", .name = "signal", .message = event->message};
  for (uint32_t i = 0; i < event->flows_out; i++) {
    flow.message = pto_event_signal(event->message, i);
    put_end(t, "s", &flow, event->track, event->begin);
  }
  if (event->has_flow_in) put_end(t, "f", &flow, event->track, event->begin);
}

static void put_value(struct trace_json *t, const struct pto_trace_event *event) {
  struct pto_json_writer *w = &t->json;
  begin_event(t, "C", event->track);
  pto_json_put_string(w, "name", event->name);
  put_time(t, "ts", event->begin);
  pto_json_put_object(w, "args");
  pto_json_put_u64(w, event->unit, event->value);
  pto_json_object_end(w);
  pto_json_object_end(w);
}

static void put_event(void *writer, const struct pto_trace_event *event) {
  struct trace_json *t = writer;
  switch (event->kind) {
  case PTO_EVENT_PROCESS:
    put_process(t, event);
    break;
  case PTO_EVENT_TRACK:
    put_track(t, event);
    break;
  case PTO_EVENT_SLICE:
    put_slice(t, event);
    break;
  case PTO_EVENT_VALUE:
    put_value(t, event);
    break;
  case PTO_EVENT_GROUP:
    put_end(t, "b", event, event->track, event->begin);
    put_end(t, "e", event, event->track, event->end);
    break;
  case PTO_EVENT_FLOW:
    put_end(t, "s", event, event->track, event->begin);
    put_end(t, "f", event, event->to, event->end);
    break;
  case PTO_EVENT_ALL:
    break;
  }
}

/* `ranks`: 0: the chip is alone. */
static void put_other_data(struct pto_json_writer *w, const struct pto_export_info *info, bool is_virtual,
                           const struct pto_trace_part *sum, size_t ranks) {
  pto_json_put_object(w, "otherData");
  pto_json_put_string(w, "program", info->program);
  pto_json_put_string(w, "engine", info->engine);
  pto_json_put_string(w, "chip", info->chip);
  pto_json_put_string(w, "time", is_virtual ? "virtual" : "real");
  if (ranks) pto_json_put_u64(w, "ranks", ranks);
  pto_json_put_u64(w, "tasks", sum->tasks);
  pto_json_put_u64(w, "dropped_records", sum->dropped);
  pto_json_object_end(w);
}

static int write_json(const struct pto_trace_events *events, int fd) {
  struct trace_json t = {.digits = events->trace->is_virtual ? 6 : 3};
  const struct pto_trace_part sum = {.tasks = events->trace->tasks.count, .dropped = pto_trace_dropped(events->trace)};
  struct pto_json_writer *w = &t.json;
  pto_json_init(w, fd);
  pto_json_object_begin(w);
  pto_json_put_string(w, "displayTimeUnit", "ns");
  put_other_data(w, events->info, events->trace->is_virtual, &sum, 0);
  pto_json_put_array(w, "traceEvents");
  const int status = pto_trace_events_each(events, PTO_EVENT_ALL, put_event, &t);
  pto_json_array_end(w);
  pto_json_object_end(w);
  const int failure = pto_json_finish(w);
  return failure ? failure : status ? ENOMEM : 0;
}

/* An array of its events. */
static int write_part(const struct pto_trace_events *events, int fd) {
  struct trace_json t = {.digits = 6, .rank = events->info->rank};
  pto_json_init(&t.json, fd);
  pto_json_array_begin(&t.json);
  const int status = pto_trace_events_each(events, PTO_EVENT_ALL, put_event, &t);
  pto_json_array_end(&t.json);
  const int failure = pto_json_finish(&t.json);
  return failure ? failure : status ? ENOMEM : 0;
}

/* The last part is of all ranks. */
static int join(const struct pto_export_info *info, const struct pto_trace_part *parts, size_t count, int fd) {
  struct pto_json_writer w;
  struct pto_trace_part sum = {0};
  for (size_t i = 0; i < count; i++) {
    sum.tasks += parts[i].tasks;
    sum.dropped += parts[i].dropped;
  }
  pto_json_init(&w, fd);
  pto_json_object_begin(&w);
  pto_json_put_string(&w, "displayTimeUnit", "ns");
  put_other_data(&w, info, true, &sum, count - 1);
  pto_json_put_array(&w, "traceEvents");
  for (size_t i = 0; i < count; i++) { /* without its brackets, and the line's end */
    static const size_t brackets = 3;
    if (parts[i].size > brackets) pto_json_raw(&w, parts[i].bytes + 1, parts[i].size - brackets);
  }
  pto_json_array_end(&w);
  pto_json_object_end(&w);
  return pto_json_finish(&w);
}

const struct pto_trace_format pto_trace_json = {".json", write_json, write_part, join};
