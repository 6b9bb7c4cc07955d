/* SPDX-License-Identifier: MIT */
/*
 * merged_swimlane.json: a Chrome trace in microseconds.  Processes are told by their names ("AICore View", since June
 * 2026 "Worker View"; "AICPU View", then "Scheduler View"), lanes of cores by theirs ("AIC_3"), tasks by "event-hint".
 */
#include <check/capture/import.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

#define MOST_EVENTS (size_t)(PTO_CAPTURE_MAX_TASKS * 8)

struct processes {
  int64_t worker, scheduler; /* pids; -1: there is none */
};

static const char *text_of(json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}
static int64_t pid_of(json_t *event) {
  json_t *pid = json_object_get(event, "pid");
  return json_is_integer(pid) ? json_integer_value(pid) : -1;
}

static void read_names(struct pto_import *import, struct pto_json_reader *reader, json_t *events,
                       struct processes *processes) {
  json_t *event;
  size_t i;
  *processes = (struct processes){-1, -1};
  json_array_foreach(events, i, event) {
    const char *what = text_of(event, "name"), *name = text_of(json_object_get(event, "args"), "name");
    uint32_t core;
    char kind;
    int end = 0;
    if (strcmp(text_of(event, "ph"), "M") != 0) continue;
    if (strcmp(what, "process_name") == 0) {
      if (strcmp(name, "AICore View") == 0 || strcmp(name, "Worker View") == 0) processes->worker = pid_of(event);
      if (strcmp(name, "AICPU View") == 0 || strcmp(name, "Scheduler View") == 0) processes->scheduler = pid_of(event);
    }
    if (strcmp(what, "thread_name") != 0) continue;
    /* NOLINTNEXTLINE(cert-err34-c): five digits */
    if (sscanf(name, "AI%c_%5" SCNu32 "%n", &kind, &core, &end) != 2 || name[end] || core >= PTO_CAPTURE_MAX_CORES)
      continue;
    if ((kind == 'C' || kind == 'V') && !pto_capture_set_core(import->capture, core, kind == 'C' ? PTO_AIC : PTO_AIV))
      pto_import_no_memory(reader);
  }
}

/* "Task:r2t7, FuncId:5, CoreId:3" */
struct hint {
  uint64_t task;
  int64_t func_id;
  uint32_t core;
};
static bool read_hint(json_t *event, struct hint *hint) {
  const char *text = text_of(json_object_get(event, "args"), "event-hint");
  const char *func = strstr(text, "FuncId:"), *core = strstr(text, "CoreId:");
  if (strncmp(text, "Task:", 5) != 0 || !core) return false;
  const unsigned long number = strtoul(core + 7, NULL, 10);
  hint->func_id = func ? strtol(func + 7, NULL, 10) : -1;
  hint->core = (uint32_t)pto_min_u64(number, UINT32_MAX);
  return pto_import_parse_id(text + 5, &hint->task);
}

static void read_fanout(struct pto_import *import, struct pto_json_reader *reader, json_t *event, uint64_t task,
                        const struct pto_capture_place *place) {
  const char *at = strchr(text_of(json_object_get(event, "args"), "fanout-hint"), '[');
  for (; at && *at && *at != ']'; at = strpbrk(at, ",]")) {
    uint64_t to;
    while (*at == '[' || *at == ',' || *at == ' ') at++;
    if (*at == ']' || !*at) return;
    if (!pto_import_parse_id(at, &to)) {
      pto_json_read_refuse(reader, "\"fanout-hint\": \"r2t7\" or \"t7\" was expected at \"%.20s\"", at);
      return;
    }
    if (!pto_capture_add_edge(import->capture, task, to, place)) pto_import_no_memory(reader);
  }
}

static void read_worker(struct pto_import *import, struct pto_json_reader *reader, json_t *event, uint64_t i) {
  const struct pto_capture_place place = {"traceEvents", import->file, i};
  json_t *args = json_object_get(event, "args");
  struct hint hint;
  if (!read_hint(event, &hint)) return; /* what the control CPU does as a worker */
  if (hint.core >= PTO_CAPTURE_MAX_CORES) pto_json_read_refuse(reader, "core %" PRIu32 " is none", hint.core);
  struct pto_capture_span *span =
      pto_import_span(import, reader, hint.task, hint.core, hint.func_id, text_of(event, "name"), &place);
  if (!span) return;
  /* The bar begins when the core has read its register; the kernel begins local_setup_us later. */
  const bool has_setup = pto_json_has(args, "local_setup_us");
  const uint64_t setup = has_setup ? pto_import_us(reader, args, "local_setup_us") : 0;
  const uint64_t begin = pto_import_us(reader, event, "ts");
  span->end_ns = begin + pto_import_us(reader, event, "dur");
  span->begin_ns = begin + setup;
  read_fanout(import, reader, event, hint.task, &place);
}

/* ---- dispatch and finish, joined by task and core in order of time ---- */

static int order_by_task(const void *left, const void *right, void *context) {
  const struct pto_capture_span *spans = context;
  const struct pto_capture_span *a = &spans[*(const size_t *)left], *b = &spans[*(const size_t *)right];
  if (a->task != b->task) return a->task < b->task ? -1 : 1;
  if (a->core != b->core) return a->core < b->core ? -1 : 1;
  return a->begin_ns == b->begin_ns ? 0 : a->begin_ns < b->begin_ns ? -1 : 1;
}

static void read_scheduler(struct pto_import *import, struct pto_json_reader *reader, json_t *event,
                           const size_t *order) {
  struct pto_capture *c = import->capture;
  size_t low = 0, high = c->span_count;
  struct hint hint;
  if (!read_hint(event, &hint)) return;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const struct pto_capture_span *span = &c->spans[order[middle]];
    if (span->task < hint.task || (span->task == hint.task && span->core < hint.core))
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < c->span_count; low++) {
    struct pto_capture_span *span = &c->spans[order[low]];
    if (span->task != hint.task || span->core != hint.core) break;
    if (span->has_dispatch) continue;
    span->has_dispatch = true;
    span->dispatch_ns = pto_import_us(reader, event, "ts");
    span->finish_ns = span->dispatch_ns + pto_import_us(reader, event, "dur");
    return;
  }
  pto_json_read_refuse(reader, "no bar of a core is of the same task and core");
}

static void read_bars(struct pto_import *import, struct pto_json_reader *reader, json_t *events, int64_t pid,
                      const size_t *order) {
  json_t *event;
  size_t i;
  json_array_foreach(events, i, event) {
    if (reader->status) return;
    pto_json_read_at(reader, "traceEvents[%zu]", i);
    if (pid < 0 || strcmp(text_of(event, "ph"), "X") != 0 || pid_of(event) != pid) continue;
    if (order)
      read_scheduler(import, reader, event, order);
    else
      read_worker(import, reader, event, i);
  }
}

void pto_import_trace(struct pto_import *import, struct pto_json_reader *reader, json_t *root) {
  json_t *events = pto_json_read_array(reader, root, "traceEvents", MOST_EVENTS);
  struct processes processes;
  if (reader->status) return;
  read_names(import, reader, events, &processes);
  if (processes.worker < 0) pto_json_read_refuse(reader, "a process \"Worker View\" or \"AICore View\" was expected");
  read_bars(import, reader, events, processes.worker, NULL);
  struct pto_capture *c = import->capture;
  size_t *order = calloc(c->span_count + 1, sizeof *order);
  if (!order) pto_import_no_memory(reader);
  for (size_t i = 0; i < c->span_count && order; i++) order[i] = i;
  if (order && c->span_count) qsort_r(order, c->span_count, sizeof *order, order_by_task, c->spans);
  if (order) read_bars(import, reader, events, processes.scheduler, order);
  free(order);
}
