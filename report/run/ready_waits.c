/* SPDX-License-Identifier: MIT */
#include <report/run/ready_waits.h>

#include <stdlib.h>

#include <report/run/trace_view.h>
#include <runtime/base/base.h>

#define LANES 3u
#define EVENTS_A_CALL 3u /* ready, begin, end */

/* A change of how many calls wait for a kind of core, and of how many cores of it are busy. */
struct event {
  uint64_t time;
  int8_t waiting, busy;
  uint8_t kind;
};

struct finder {
  const struct pto_trace *trace;
  uint64_t *ready;     /* by task */
  uint64_t *ended;     /* by task: its last call's end; without a call, when it was ready */
  uint8_t *has_call;   /* by task */
  uint64_t call_count; /* of tasks that were recorded */
  uint64_t first_begin;
  const struct pto_trace_span **serial; /* calls of tasks whose blocks run one after another */
  uint64_t serial_count;
  struct event *events;
  uint64_t event_count;
};

/* ---- when tasks were ready ---- */

static void take_calls(struct finder *f) {
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; (span = pto_trace_next_span(f->trace, &walk)) != NULL;) {
    if (span->task >= f->trace->tasks.count) continue;
    if (f->call_count++ == 0 || span->begin < f->first_begin) f->first_begin = span->begin;
    f->ended[span->task] = pto_max_u64(f->ended[span->task], span->end);
    f->has_call[span->task] = 1;
  }
}

static void take_submits(struct finder *f) {
  const struct pto_trace *trace = f->trace;
  for (uint64_t i = 0; i < trace->tasks.count; i++)
    f->ready[i] = ((const struct pto_trace_task *)pto_trace_log_at(&trace->tasks, i))->submit_time;
  for (uint64_t i = 0; i < trace->control.count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(&trace->control, i);
    if (control->activity == PTO_CONTROL_SUBMIT && control->task < trace->tasks.count)
      f->ready[control->task] = control->end;
  }
}

/* Edges lead from earlier to later tasks, so one pass in order of submission knows all producers. */
static void take_edges(struct finder *f) {
  const struct pto_trace *trace = f->trace;
  for (uint64_t number = 0; number < trace->tasks.count; number++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, number);
    for (uint64_t i = task->first_edge; i < task->first_edge + task->edge_count && i < trace->edges.count; i++) {
      const struct pto_trace_edge *edge = pto_trace_log_at(&trace->edges, i);
      if (edge->producer < number) f->ready[number] = pto_max_u64(f->ready[number], f->ended[edge->producer]);
    }
    if (!f->has_call[number]) f->ended[number] = f->ready[number];
  }
}

/* ---- changes ---- */

/* A call that began before it was ready as the clocks of two threads have it did not wait; nothing before the first
 * call of all is of the makespan. */
static void add_call(struct finder *f, const struct pto_trace_span *span, uint64_t ready) {
  const uint8_t kind = span->core % LANES != 0;
  const uint64_t since = pto_min_u64(pto_max_u64(ready, f->first_begin), span->begin);
  f->events[f->event_count++] = (struct event){.time = since, .waiting = 1, .kind = kind};
  f->events[f->event_count++] = (struct event){.time = span->begin, .waiting = -1, .busy = 1, .kind = kind};
  f->events[f->event_count++] = (struct event){.time = span->end, .busy = -1, .kind = kind};
}

static void add_calls(struct finder *f) {
  const struct pto_trace_span *span;
  for (struct pto_span_walk walk = {0}; (span = pto_trace_next_span(f->trace, &walk)) != NULL;) {
    const struct pto_trace_task *task = pto_trace_task_at(f->trace, span->task);
    if (task && task->is_sequential)
      f->serial[f->serial_count++] = span;
    else if (task)
      add_call(f, span, f->ready[span->task]);
  }
}

static int order_serial(const void *left, const void *right) {
  const struct pto_trace_span *a = *(const struct pto_trace_span *const *)left;
  const struct pto_trace_span *b = *(const struct pto_trace_span *const *)right;
  if (a->task != b->task) return (a->task > b->task) - (a->task < b->task);
  return (a->block_index > b->block_index) - (a->block_index < b->block_index);
}

static void add_serial_calls(struct finder *f) {
  if (f->serial_count) qsort(f->serial, f->serial_count, sizeof *f->serial, order_serial);
  uint64_t before = 0, end = 0; /* of the block before this one, and of this one so far */
  for (uint64_t i = 0; i < f->serial_count; i++) {
    const struct pto_trace_span *span = f->serial[i], *last = i ? f->serial[i - 1] : NULL;
    const bool is_same_task = last && last->task == span->task;
    if (!is_same_task)
      before = end = 0;
    else if (last->block_index != span->block_index)
      before = end;
    end = pto_max_u64(end, span->end);
    add_call(f, span, pto_max_u64(f->ready[span->task], before));
  }
}

/* ---- the sum ---- */

static int order_events(const void *left, const void *right) {
  const struct event *a = left, *b = right;
  return (a->time > b->time) - (a->time < b->time);
}

static void sum_up(const struct finder *f, const uint32_t core_count[2], struct pto_ready_waits *waits) {
  int64_t waiting[2] = {0, 0}, busy[2] = {0, 0};
  for (uint64_t i = 0; i < f->event_count; i++) {
    const struct event *event = &f->events[i];
    waiting[event->kind] += event->waiting;
    busy[event->kind] += event->busy;
    if (i + 1 == f->event_count || f->events[i + 1].time == event->time) continue;
    const uint64_t time = f->events[i + 1].time - event->time;
    for (uint32_t kind = 0; kind < 2; kind++) {
      const int64_t idle = (int64_t)core_count[kind] - busy[kind];
      const int64_t count = idle < waiting[kind] ? idle : waiting[kind];
      if (count <= 0) continue;
      waits->idle_ready[kind] += (uint64_t)count * time;
      waits->any_ready[kind] += time;
    }
  }
}

static int find(struct finder *f, const uint32_t core_count[2], struct pto_ready_waits *waits) {
  const uint64_t tasks = f->trace->tasks.count;
  f->ready = calloc(tasks + 1, sizeof *f->ready);
  f->ended = calloc(tasks + 1, sizeof *f->ended);
  f->has_call = calloc(tasks + 1, sizeof *f->has_call);
  if (!f->ready || !f->ended || !f->has_call) return PTO_ENOMEM;
  take_calls(f);
  if (f->call_count == 0) return PTO_OK;
  take_submits(f);
  take_edges(f);
  f->serial = calloc(f->call_count, sizeof *f->serial);
  f->events = calloc(f->call_count * EVENTS_A_CALL, sizeof *f->events);
  if (!f->serial || !f->events) return PTO_ENOMEM;
  add_calls(f);
  add_serial_calls(f);
  qsort(f->events, f->event_count, sizeof *f->events, order_events);
  sum_up(f, core_count, waits);
  return PTO_OK;
}

int pto_ready_waits_find(const struct pto_trace *trace, const uint32_t core_count[2], struct pto_ready_waits *waits,
                         struct pto_error *error) {
  struct finder f = {.trace = trace};
  *waits = (struct pto_ready_waits){0};
  const int status = find(&f, core_count, waits);
  free(f.ready);
  free(f.ended);
  free(f.has_call);
  free(f.serial);
  free(f.events);
  return status ? pto_error_set(error, status, "no memory for when %llu tasks were ready",
                                (unsigned long long)trace->tasks.count)
                : PTO_OK;
}
