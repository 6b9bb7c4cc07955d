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
  uint32_t digits; /* of a microsecond */
};

/* An event's common keys; the caller adds its own and ends the object. */
static void begin_event(struct trace_json *t, const char *phase, struct pto_event_track track) {
  struct pto_json_writer *w = &t->json;
  pto_json_newline(w);
  pto_json_object_begin(w);
  pto_json_put_string(w, "ph", phase);
  pto_json_put_u64(w, "pid", track.process);
  pto_json_put_u64(w, "tid", track.index);
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
  put_name(t, "process_name", event);
  if (event->track.process) put_sort_index(t, "process_sort_index", event->track, event->value);
}

/* A core's lanes are one track here. */
static void put_track(struct trace_json *t, const struct pto_trace_event *event) {
  if (event->track.lane) return;
  put_name(t, "thread_name", event);
  put_sort_index(t, "thread_sort_index", event->track, event->value);
  if (event->track.process + event->track.index == 0) put_sort_index(t, "process_sort_index", event->track, 0);
}

/* ---- events ---- */

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

/* One end of a flow or group, which its id joins with the other. */
static void put_end(struct trace_json *t, const char *phase, const struct pto_trace_event *event,
                    struct pto_event_track track, uint64_t time) {
  struct pto_json_writer *w = &t->json;
  begin_event(t, phase, track);
  pto_json_put_string(w, "cat", event->category);
  pto_json_put_string(w, "name", event->name);
  pto_json_put_u64(w, "id", event->id);
  /* A flow that ends binds to the slice around it instead of the next one. */
  if (phase[0] == 'f') pto_json_put_string(w, "bp", "e");
  put_time(t, "ts", time);
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

static void put_other_data(struct pto_json_writer *w, const struct pto_trace_events *events) {
  pto_json_put_object(w, "otherData");
  pto_json_put_string(w, "program", events->info->program);
  pto_json_put_string(w, "engine", events->info->engine);
  pto_json_put_string(w, "chip", events->info->chip);
  pto_json_put_string(w, "time", events->trace->is_virtual ? "virtual" : "real");
  pto_json_put_u64(w, "tasks", events->trace->tasks.count);
  pto_json_put_u64(w, "dropped_records", pto_trace_dropped(events->trace));
  pto_json_object_end(w);
}

int pto_trace_write_json(const struct pto_trace_events *events, int fd) {
  struct trace_json t = {.digits = events->trace->is_virtual ? 6 : 3};
  struct pto_json_writer *w = &t.json;
  pto_json_init(w, fd);
  pto_json_object_begin(w);
  pto_json_put_string(w, "displayTimeUnit", "ns");
  put_other_data(w, events);
  pto_json_put_array(w, "traceEvents");
  const int status = pto_trace_events_each(events, PTO_EVENT_ALL, put_event, &t);
  pto_json_array_end(w);
  pto_json_object_end(w);
  const int failure = pto_json_finish(w);
  return failure ? failure : status ? ENOMEM : 0;
}
