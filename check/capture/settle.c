/* SPDX-License-Identifier: MIT */
/* pto_capture_settle: from records as they were written to tasks in order, with what cannot be refused by name. */
#include <check/capture/capture.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

struct settling {
  struct pto_capture *capture;
  struct pto_error *error;
  uint64_t *by_id;    /* indices of tasks, sorted by id */
  uint64_t *position; /* by task as it came: its index in the order of submission */
};

static int refuse(const struct settling *s, const struct pto_capture_place *place, const char *format, ...)
    PTO_PRINTF(3, 4);
static int refuse(const struct settling *s, const struct pto_capture_place *place, const char *format, ...) {
  char what[300];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return pto_error_set(s->error, PTO_EINVAL, "%.300s: %s[%" PRIu64 "]: %s", s->capture->files[place->file].path,
                       place->array, place->record, what);
}

static int no_memory(const struct settling *s) { return pto_error_set(s->error, PTO_ENOMEM, "out of memory"); }

static int order_u64(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

/* ---- ids ---- */

static int order_by_id(const void *left, const void *right, void *context) {
  const struct pto_capture_task *tasks = context;
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  const int order = order_u64(tasks[a].id, tasks[b].id);
  return order ? order : order_u64(a, b);
}

static int sort_ids(struct settling *s) {
  const struct pto_capture *c = s->capture;
  char id[32];
  for (uint64_t i = 0; i < c->task_count; i++) s->by_id[i] = i;
  if (c->task_count) qsort_r(s->by_id, c->task_count, sizeof *s->by_id, order_by_id, c->tasks);
  for (uint64_t i = 1; i < c->task_count; i++)
    if (c->tasks[s->by_id[i]].id == c->tasks[s->by_id[i - 1]].id)
      return refuse(s, &c->tasks[s->by_id[i]].place, "task %s is there twice",
                    pto_capture_id_format(c->tasks[s->by_id[i]].id, id, sizeof id));
  return PTO_OK;
}

/* The index of a task, or PTO_CAPTURE_NONE. */
static uint64_t find(const struct settling *s, uint64_t id) {
  uint64_t low = 0, high = s->capture->task_count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (s->capture->tasks[s->by_id[middle]].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < s->capture->task_count && s->capture->tasks[s->by_id[low]].id == id ? s->by_id[low] : PTO_CAPTURE_NONE;
}

/* Edges and spans name tasks by index from here on. */
static int resolve(struct settling *s) {
  struct pto_capture *c = s->capture;
  char id[32];
  for (uint64_t i = 0; i < c->edge_count; i++) {
    struct pto_capture_edge *edge = &c->edges[i];
    uint64_t *const ends[] = {&edge->from, &edge->to};
    for (int end = 0; end < 2; end++) {
      const uint64_t index = find(s, *ends[end]);
      if (index == PTO_CAPTURE_NONE)
        return refuse(s, &edge->place, "names task %s, which is not there", pto_capture_id_format(*ends[end], id, 32));
      *ends[end] = index;
    }
    if (edge->from == edge->to)
      return refuse(s, &edge->place, "task %s depends on itself", pto_capture_id_format(c->tasks[edge->to].id, id, 32));
  }
  for (uint64_t i = 0; i < c->span_count; i++) {
    struct pto_capture_span *span = &c->spans[i];
    const uint64_t index = find(s, span->task);
    if (index == PTO_CAPTURE_NONE)
      return refuse(s, &span->place,
                    "is of task %s, which the dependencies do not have (nodes of a recorded graph are "
                    "not read)",
                    pto_capture_id_format(span->task, id, 32));
    span->task = index;
  }
  return PTO_OK;
}

/* Submits of tasks that are not there are passed over: an allocation that nothing uses. */
static void give_submits(const struct settling *s) {
  struct pto_capture *c = s->capture;
  for (uint64_t i = 0; i < c->submit_count && c->has_edges; i++) {
    const uint64_t index = find(s, c->submits[i].task);
    if (index == PTO_CAPTURE_NONE) continue;
    c->tasks[index].submit_begin_ns = c->submits[i].begin_ns;
    c->tasks[index].submit_end_ns = c->submits[i].end_ns;
  }
  c->submit_count = 0;
}

/* ---- edges ---- */

static int order_edges(const void *left, const void *right) {
  const struct pto_capture_edge *a = left, *b = right;
  const int order = order_u64(a->from, b->from);
  return order ? order : order_u64(a->to, b->to);
}

/* Each pair once; its sources add up. */
static void sort_edges(struct pto_capture *c) {
  size_t kept = 0;
  if (c->edge_count) qsort(c->edges, c->edge_count, sizeof *c->edges, order_edges);
  for (size_t i = 0; i < c->edge_count; i++) {
    if (kept && order_edges(&c->edges[kept - 1], &c->edges[i]) == 0)
      c->edges[kept - 1].sources |= c->edges[i].sources;
    else
      c->edges[kept++] = c->edges[i];
  }
  c->edge_count = kept;
}

/* A heap of task indices, the least on top. */
static void heap_push(uint64_t *heap, uint64_t *count, uint64_t item) {
  uint64_t at = (*count)++;
  for (; at && heap[(at - 1) / 2] > item; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
  heap[at] = item;
}
static uint64_t heap_pop(uint64_t *heap, uint64_t *count) {
  const uint64_t top = heap[0], item = heap[--*count];
  uint64_t at = 0;
  for (;;) {
    uint64_t child = 2 * at + 1;
    if (child >= *count) break;
    if (child + 1 < *count && heap[child + 1] < heap[child]) child++;
    if (heap[child] >= item) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = item;
  return top;
}

/* An edge of a cycle: from any task that is left, back along tasks that are left, until one comes again. */
static int tell_cycle(const struct settling *s, const uint64_t *waits_for) {
  const struct pto_capture *c = s->capture;
  uint64_t *came_from = calloc(c->task_count, sizeof *came_from); /* an edge + 1 into a task that is left */
  char from[32], to[32];
  if (!came_from) return no_memory(s);
  for (uint64_t i = 0; i < c->edge_count; i++)
    if (waits_for[c->edges[i].from] && waits_for[c->edges[i].to]) came_from[c->edges[i].to] = i + 1;
  uint64_t at = 0;
  while (!waits_for[at]) at++;
  for (uint64_t step = 0; step < c->task_count; step++) at = c->edges[came_from[at] - 1].from; /* on the cycle by now */
  const struct pto_capture_edge *edge = &c->edges[came_from[at] - 1];
  free(came_from);
  return refuse(s, &edge->place, "the dependencies go round: task %s depends on %s, which depends on it",
                pto_capture_id_format(c->tasks[edge->to].id, to, 32),
                pto_capture_id_format(c->tasks[edge->from].id, from, 32));
}

/* Positions: every task behind what it depends on, else as they came. */
static int order_tasks(struct settling *s, uint64_t *waits_for, uint64_t *first_edge, uint64_t *heap) {
  struct pto_capture *c = s->capture;
  uint64_t count = 0, done = 0;
  for (uint64_t i = 0; i < c->edge_count; i++) {
    waits_for[c->edges[i].to]++;
    first_edge[c->edges[i].from + 1]++;
  }
  for (uint64_t i = 0; i < c->task_count; i++) first_edge[i + 1] += first_edge[i];
  for (uint64_t i = 0; i < c->task_count; i++)
    if (!waits_for[i]) heap_push(heap, &count, i);
  while (count) {
    const uint64_t task = heap_pop(heap, &count);
    s->position[task] = done++;
    for (uint64_t e = first_edge[task]; e < first_edge[task + 1]; e++)
      if (--waits_for[c->edges[e].to] == 0) heap_push(heap, &count, c->edges[e].to);
  }
  return done == c->task_count ? PTO_OK : tell_cycle(s, waits_for);
}

static int place_tasks(struct settling *s) {
  struct pto_capture *c = s->capture;
  uint64_t *const room = calloc(3 * c->task_count + 1, sizeof *room);
  struct pto_capture_task *const sorted = calloc(c->task_count + 1, sizeof *sorted);
  int status = room && sorted ? PTO_OK : no_memory(s);
  if (!status) status = order_tasks(s, room, room + c->task_count, room + 2 * c->task_count + 1);
  if (!status) {
    for (uint64_t i = 0; i < c->task_count; i++) sorted[s->position[i]] = c->tasks[i];
    if (c->task_count) memcpy(c->tasks, sorted, c->task_count * sizeof *sorted);
    for (uint64_t i = 0; i < c->edge_count; i++) {
      c->edges[i].from = s->position[c->edges[i].from];
      c->edges[i].to = s->position[c->edges[i].to];
    }
    for (uint64_t i = 0; i < c->span_count; i++) c->spans[i].task = s->position[c->spans[i].task];
    for (uint64_t i = 0; i < c->access_count; i++) c->accesses[i].task = s->position[c->accesses[i].task];
    for (uint64_t i = 0; i < c->buffer_count; i++)
      if (c->buffers[i].creator != PTO_CAPTURE_NONE) c->buffers[i].creator = s->position[c->buffers[i].creator];
    if (c->edge_count) qsort(c->edges, c->edge_count, sizeof *c->edges, order_edges);
  }
  free(room);
  free(sorted);
  return status;
}

/* ---- spans ---- */

static int order_spans(const void *left, const void *right) {
  const struct pto_capture_span *a = left, *b = right;
  int order = order_u64(a->task, b->task);
  if (!order) order = order_u64(a->begin_ns, b->begin_ns);
  return order ? order : order_u64(a->core, b->core);
}

static int order_by_core(const void *left, const void *right, void *context) {
  const struct pto_capture_span *spans = context;
  const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  int order = order_u64(spans[a].core, spans[b].core);
  if (!order) order = order_u64(spans[a].begin_ns, spans[b].begin_ns);
  if (!order) order = order_u64(spans[a].end_ns, spans[b].end_ns);
  return order ? order : order_u64(a, b);
}

static int check_span(const struct settling *s, const struct pto_capture_span *span) {
  if (span->end_ns < span->begin_ns)
    return refuse(s, &span->place, "ends %" PRIu64 " ns before it begins", span->begin_ns - span->end_ns);
  if (span->has_dispatch && span->dispatch_ns > span->begin_ns)
    return refuse(s, &span->place, "begins %" PRIu64 " ns before it was dispatched",
                  span->dispatch_ns - span->begin_ns);
  if (span->has_dispatch && span->finish_ns < span->end_ns)
    return refuse(s, &span->place, "was seen to be finished %" PRIu64 " ns before it ended",
                  span->end_ns - span->finish_ns);
  if (span->core >= s->capture->core_count || !s->capture->cores[span->core])
    return refuse(s, &span->place, "is on core %" PRIu32 ", of which no kind is known", span->core);
  return PTO_OK;
}

static int check_cores(const struct settling *s) {
  const struct pto_capture *c = s->capture;
  uint64_t *by_core = calloc(c->span_count + 1, sizeof *by_core);
  int status = by_core ? PTO_OK : no_memory(s);
  for (uint64_t i = 0; i < c->span_count && !status; i++) by_core[i] = i;
  if (!status && c->span_count) qsort_r(by_core, c->span_count, sizeof *by_core, order_by_core, c->spans);
  for (uint64_t i = 1; i < c->span_count && !status; i++) {
    const struct pto_capture_span *before = &c->spans[by_core[i - 1]], *span = &c->spans[by_core[i]];
    if (before->core == span->core && span->begin_ns < before->end_ns)
      status = refuse(s, &span->place,
                      "begins on core %" PRIu32 " while %s[%" PRIu64 "] runs there until %" PRIu64 " ns later",
                      span->core, before->place.array, before->place.record, before->end_ns - span->begin_ns);
  }
  free(by_core);
  return status;
}

/* Times from the earliest on. */
static void shift(struct pto_capture *c) {
  uint64_t first = UINT64_MAX;
  for (uint64_t i = 0; i < c->span_count; i++)
    first = pto_min_u64(first, c->spans[i].has_dispatch ? c->spans[i].dispatch_ns : c->spans[i].begin_ns);
  for (uint64_t i = 0; i < c->task_count; i++)
    if (c->tasks[i].submit_end_ns) first = pto_min_u64(first, c->tasks[i].submit_begin_ns);
  for (uint64_t i = 0; i < c->task_count; i++) {
    if (!c->tasks[i].submit_end_ns) continue;
    c->tasks[i].submit_begin_ns -= first;
    c->tasks[i].submit_end_ns -= first;
  }
  for (uint64_t i = 0; i < c->span_count; i++) {
    struct pto_capture_span *span = &c->spans[i];
    span->begin_ns -= first;
    span->end_ns -= first;
    if (span->has_dispatch) {
      span->dispatch_ns -= first;
      span->finish_ns -= first;
    }
  }
}

/* Roles of a task of which the kernels are not known: those of the cores that it ran on, else an AIV. */
static void find_roles(const struct pto_capture *c, struct pto_capture_task *task) {
  uint32_t aic = 0, aiv = 0;
  for (uint64_t i = 0; i < task->span_count; i++) {
    const bool is_aic = c->cores[c->spans[task->first_span + i].core] == PTO_AIC;
    aic += is_aic;
    aiv += !is_aic;
  }
  if (task->span_count == 0) aiv = 1; /* on some core */
  const bool is_known[] = {aic > 0, aiv > 0, aic && aiv == 2 * aic};
  for (int role = 0; role < 3; role++) task->kernels[role] = is_known[role] ? PTO_CAPTURE_SOME_KERNEL : -1;
}

/* How many spans a task must have; it may have none. */
static int count_blocks(const struct settling *s, struct pto_capture_task *task) {
  const struct pto_capture *c = s->capture;
  char id[32];
  uint32_t aic = 0;
  if (task->kind != PTO_CAPTURE_KERNEL) {
    task->block_count = task->block_count ? task->block_count : 1;
    if (task->span_count == 0) return PTO_OK;
    return refuse(s, &c->spans[task->first_span].place, "is of task %s, which has no kernel",
                  pto_capture_id_format(task->id, id, sizeof id));
  }
  if (!task->has_kernels) find_roles(c, task);
  const uint32_t roles = pto_capture_role_count(task);
  if (task->span_count == 0) {
    task->block_count = task->block_count ? task->block_count : 1;
    return PTO_OK;
  }
  if (!task->block_count) task->block_count = (uint32_t)(task->span_count / (roles ? roles : 1));
  for (uint64_t i = 0; i < task->span_count; i++) aic += c->cores[c->spans[task->first_span + i].core] == PTO_AIC;
  const uint64_t expected = (uint64_t)task->block_count * roles;
  if (task->span_count != expected || aic != (task->kernels[0] >= 0 ? task->block_count : 0))
    return refuse(s, &c->spans[task->first_span].place,
                  "task %s ran on %" PRIu32 " AIC and %" PRIu64 " AIV cores: %" PRIu32 " blocks of %" PRIu32
                  " kernels were expected",
                  pto_capture_id_format(task->id, id, sizeof id), aic, task->span_count - aic, task->block_count,
                  roles);
  return PTO_OK;
}

static int give_spans(struct settling *s) {
  struct pto_capture *c = s->capture;
  int status = PTO_OK;
  uint64_t at = 0;
  if (c->span_count) qsort(c->spans, c->span_count, sizeof *c->spans, order_spans);
  for (uint64_t i = 0; i < c->task_count && !status; i++) {
    struct pto_capture_task *task = &c->tasks[i];
    task->first_span = at;
    while (at < c->span_count && c->spans[at].task == i) at++;
    task->span_count = at - task->first_span;
    status = count_blocks(s, task);
  }
  return status;
}

/* No effect before its cause. */
static int check_causes(const struct settling *s) {
  const struct pto_capture *c = s->capture;
  char from[32], to[32];
  for (uint64_t i = 0; i < c->edge_count; i++) {
    const struct pto_capture_edge *edge = &c->edges[i];
    const struct pto_capture_task *a = &c->tasks[edge->from], *b = &c->tasks[edge->to];
    uint64_t end = 0;
    if (!a->span_count || !b->span_count) continue;
    for (uint64_t k = 0; k < a->span_count; k++) end = pto_max_u64(end, c->spans[a->first_span + k].end_ns);
    const struct pto_capture_span *begin = &c->spans[b->first_span];
    if (begin->begin_ns < end)
      return refuse(s, &begin->place,
                    "task %s begins %" PRIu64 " ns before task %s ends, which it depends on (%s[%" PRIu64 "])",
                    pto_capture_id_format(b->id, to, 32), end - begin->begin_ns, pto_capture_id_format(a->id, from, 32),
                    edge->place.array, edge->place.record);
  }
  return PTO_OK;
}

/* ---- accesses ---- */

static int order_accesses(const void *left, const void *right) {
  const struct pto_capture_access *a = left, *b = right;
  const int order = order_u64(a->task, b->task);
  return order ? order : order_u64(a->argument, b->argument);
}

static void give_accesses(struct pto_capture *c) {
  uint64_t at = 0;
  if (c->access_count) qsort(c->accesses, c->access_count, sizeof *c->accesses, order_accesses);
  for (uint64_t i = 0; i < c->task_count; i++) {
    c->tasks[i].first_access = at;
    while (at < c->access_count && c->accesses[at].task == i) at++;
    c->tasks[i].access_count = at - c->tasks[i].first_access;
  }
}

int pto_capture_settle(struct pto_capture *capture, struct pto_error *error) {
  struct settling s = {.capture = capture, .error = error};
  s.by_id = calloc(capture->task_count + 1, sizeof *s.by_id);
  s.position = calloc(capture->task_count + 1, sizeof *s.position);
  int status = s.by_id && s.position ? PTO_OK : no_memory(&s);
  if (!status) status = sort_ids(&s);
  if (!status) status = resolve(&s);
  if (!status) {
    give_submits(&s);
    sort_edges(capture);
    status = place_tasks(&s);
  }
  for (uint64_t i = 0; i < capture->span_count && !status; i++) status = check_span(&s, &capture->spans[i]);
  if (!status) {
    shift(capture);
    give_accesses(capture);
    status = give_spans(&s);
  }
  if (!status) status = check_cores(&s);
  if (!status) status = check_causes(&s);
  free(s.by_id);
  free(s.position);
  return status;
}
