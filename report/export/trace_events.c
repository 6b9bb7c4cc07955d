/* SPDX-License-Identifier: MIT */
#include <report/export/trace_events.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <report/run/intervals.h>
#include <runtime/trace/remote.h>

#define CONTROL_PROCESS 0u
/* Tracks of it; schedulers follow. */
enum { ORCHESTRATION_TRACK, PATH_TRACK, LINK_TRACK, RESOLVER_TRACK, SCHEDULER_TRACK };
#define CLUSTER_CORES 3u

/* A walk through some kinds of events. */
struct walk {
  const struct pto_trace_events *events;
  const struct pto_trace *trace;
  const struct pto_export_info *info;
  uint32_t kinds;
  void (*put)(void *writer, const struct pto_trace_event *event);
  void *writer;
  uint64_t flow_count;
  uint64_t nanosecond; /* in the trace's unit */
};

static void put(struct walk *w, const struct pto_trace_event *event) {
  if (w->kinds & event->kind) w->put(w->writer, event);
}

static uint32_t process_of(uint32_t core) { return core / CLUSTER_CORES + 1; }
static struct pto_event_track track_of_core(uint32_t core) {
  return (struct pto_event_track){.process = process_of(core), .index = core};
}
static struct pto_event_track control_track(uint32_t index) {
  return (struct pto_event_track){.process = CONTROL_PROCESS, .index = index};
}

static void put_process(struct walk *w, struct pto_event_track track, const char *name) {
  put(w, &(struct pto_trace_event){.kind = PTO_EVENT_PROCESS, .track = track, .name = name, .value = track.process});
}

static void put_track(struct walk *w, struct pto_event_track track, const char *name) {
  const bool is_core = track.process != CONTROL_PROCESS;
  put(w, &(struct pto_trace_event){.kind = PTO_EVENT_TRACK,
                                   .track = track,
                                   .name = name,
                                   .value = is_core ? track.index % CLUSTER_CORES : track.index});
}

static void put_core(struct walk *w, uint32_t core, uint32_t lane) {
  static const char *const kinds[CLUSTER_CORES] = {"AIC", "AIV0", "AIV1"};
  struct pto_event_track track = track_of_core(core);
  char name[64];
  track.lane = lane;
  snprintf(name, sizeof name, "%s (core %u)", kinds[core % CLUSTER_CORES], core);
  put_track(w, track, name);
}

/* A world has many cores: of its ranks those are told of that did something. */
static bool is_shown(const struct walk *w, uint32_t core) {
  return !w->events->has_calls || w->events->has_calls[core];
}

static void put_processes(struct walk *w) {
  put_process(w, control_track(ORCHESTRATION_TRACK), "control CPU");
  put_track(w, control_track(ORCHESTRATION_TRACK), "orchestrator");
  for (uint32_t cluster = 0; cluster < w->info->cluster_count; cluster++) {
    const uint32_t core = cluster * CLUSTER_CORES;
    char name[64];
    bool is_any = false;
    for (uint32_t i = 0; i < CLUSTER_CORES; i++) is_any |= is_shown(w, core + i);
    if (!is_any) continue;
    snprintf(name, sizeof name, "cluster %u", cluster);
    put_process(w, track_of_core(core), name);
    for (uint32_t i = 0; i < CLUSTER_CORES; i++)
      if (is_shown(w, core + i)) put_core(w, core + i, 0);
  }
}

/* ---- calls on cores ---- */

/* What a call's time is made of: an argument an activity that it has any of. */
static uint32_t add_parts(const uint64_t *parts, struct pto_event_arg *args, uint32_t count) {
  static const char *const names[PTO_ACTIVITY_COUNT] = {
#define X(name, text, group) #name "_us",
      PTO_ACTIVITY_LIST(X)
#undef X
  };
  for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT && count < PTO_EVENT_MAX_ARGS; i++)
    if (parts[i]) args[count++] = (struct pto_event_arg){.name = names[i], .value = parts[i], .is_time = true};
  return count;
}

/* parts: of its time, by activity; NULL: not known. */
static void put_call(struct walk *w, const struct pto_trace_span *span, struct pto_event_track track,
                     const uint64_t *parts) {
  const struct pto_trace_task *task = pto_trace_task_at(w->trace, span->task);
  const struct pto_kernel *kernel = pto_trace_task_kernel(w->trace, span->task, span->role);
  const char *group = pto_export_group(w->info, span->task), *name = kernel && kernel->name ? kernel->name : "task";
  const struct pto_task_calls *calls = task ? &w->events->calls[span->task] : NULL;
  struct pto_event_arg args[PTO_EVENT_MAX_ARGS];
  uint32_t count = 0;
  args[count++] = (struct pto_event_arg){.name = "task", .value = span->task};
  if (group) args[count++] = (struct pto_event_arg){.name = "kernel", .text = name};
  if (task && task->label) args[count++] = (struct pto_event_arg){.name = "label", .text = task->label};
  if (task && task->block_count > 1)
    args[count++] = (struct pto_event_arg){.name = "block", .value = span->block_index};
  if (!w->trace->is_virtual) args[count++] = (struct pto_event_arg){.name = "worker", .value = span->worker};
  if (task) args[count++] = (struct pto_event_arg){.name = "submitted_us", .value = task->submit_time, .is_time = true};
  if (parts) count = add_parts(parts, args, count);
  put(w, &(struct pto_trace_event){.kind = PTO_EVENT_SLICE,
                                   .track = track,
                                   .category = "kernel",
                                   .name = group ? group : name,
                                   .begin = span->begin,
                                   .end = span->end,
                                   .args = args,
                                   .arg_count = count,
                                   .task = span->task,
                                   .is_first_call = calls && calls->first == span,
                                   .is_last_call = calls && calls->last == span});
}

/* In real time: a log of calls has those of one thread, and so a lane of each core. */
static int put_lanes(struct walk *w) {
  uint32_t *told = calloc(UINT16_MAX + 1, sizeof *told); /* by core: the lane that was told of last */
  const struct pto_trace_span *span;
  if (!told) return PTO_ENOMEM;
  for (struct pto_span_walk walk = {0}; (span = pto_trace_next_span(w->trace, &walk)) != NULL;) {
    struct pto_event_track track = track_of_core(span->core);
    track.lane = walk.log;
    if (told[span->core] != track.lane) put_core(w, span->core, track.lane);
    told[span->core] = track.lane;
    put_call(w, span, track, NULL);
  }
  free(told);
  return PTO_OK;
}

/* In virtual time: of each core its calls in order, and how far they are told. */
struct core_calls {
  const struct pto_trace_span **next, **end;
  uint64_t parts[PTO_ACTIVITY_COUNT]; /* of the next call */
};

struct resources {
  struct walk *walk;
  const struct pto_trace_span **calls; /* by core */
  struct core_calls *cores;
  uint32_t core_count;
};

static bool sort_calls(struct resources *r) {
  const struct pto_trace *trace = r->walk->trace;
  const struct pto_trace_span *span;
  uint64_t count = 0;
  for (struct pto_span_walk walk = {0}; pto_trace_next_span(trace, &walk) != NULL;) count++;
  r->calls = calloc(count + 1, sizeof *r->calls);
  r->cores = calloc(r->core_count + 1, sizeof *r->cores);
  uint64_t *first = calloc(r->core_count + 2, sizeof *first);
  const bool has_memory = r->calls && r->cores && first;
  for (struct pto_span_walk walk = {0}; has_memory && (span = pto_trace_next_span(trace, &walk)) != NULL;)
    first[span->core % r->core_count + 1]++;
  for (uint32_t i = 0; has_memory && i < r->core_count; i++) {
    first[i + 1] += first[i];
    r->cores[i].next = r->cores[i].end = &r->calls[first[i]];
  }
  for (struct pto_span_walk walk = {0}; has_memory && (span = pto_trace_next_span(trace, &walk)) != NULL;)
    *r->cores[span->core % r->core_count].end++ = span;
  free(first);
  return has_memory;
}

/* The calls that have ended by then. */
static void put_calls_until(const struct resources *r, uint32_t core, uint64_t time) {
  struct core_calls *calls = &r->cores[core];
  for (; calls->next < calls->end && (*calls->next)->end <= time; calls->next++) {
    put_call(r->walk, *calls->next, track_of_core(core), calls->parts);
    memset(calls->parts, 0, sizeof calls->parts);
  }
}

static void put_interval(void *context, const struct pto_interval *interval) {
  const struct resources *r = context;
  const struct pto_resource resource = interval->resource;
  const bool is_core = resource.kind == PTO_RESOURCE_CORE;
  if (is_core && !is_shown(r->walk, resource.index)) return;
  if (is_core) {
    struct core_calls *calls = &r->cores[resource.index];
    put_calls_until(r, resource.index, interval->begin);
    if (calls->next < calls->end && (*calls->next)->begin <= interval->begin) {
      calls->parts[interval->activity] += interval->end - interval->begin;
      return;
    }
  }
  const struct pto_event_arg arg = {.name = "task", .value = interval->task};
  const struct pto_event_track track =
      is_core ? track_of_core(resource.index)
              : control_track(resource.kind == PTO_RESOURCE_ORCHESTRATOR ? ORCHESTRATION_TRACK
                              : resource.kind == PTO_RESOURCE_RESOLVER   ? RESOLVER_TRACK
                                                                         : SCHEDULER_TRACK + (uint32_t)resource.index);
  put(r->walk, &(struct pto_trace_event){.kind = PTO_EVENT_SLICE,
                                         .track = track,
                                         .category = is_core                                      ? "core"
                                                     : resource.kind == PTO_RESOURCE_ORCHESTRATOR ? "control"
                                                                                                  : "scheduler",
                                         .name = pto_activity_text(interval->activity),
                                         .begin = interval->begin,
                                         .end = interval->end,
                                         .args = &arg,
                                         .arg_count = interval->task != PTO_SEGMENT_NO_TASK});
}

static int put_intervals(struct walk *w) {
  struct resources r = {.walk = w, .core_count = w->info->cluster_count * CLUSTER_CORES};
  struct pto_error error;
  int status = sort_calls(&r) ? PTO_OK : PTO_ENOMEM;
  if (status == PTO_OK) status = pto_intervals_each(&w->events->graph, r.core_count, put_interval, &r, &error);
  for (uint32_t core = 0; status == PTO_OK && core < r.core_count; core++) put_calls_until(&r, core, UINT64_MAX);
  free(r.calls);
  free(r.cores);
  return status;
}

/* ---- other ranks ---- */

static int order_messages(const void *left, const void *right) {
  const uint64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

/* How many waits the message ended. */
static uint32_t count_awaited(const struct pto_export_rank *rank, uint64_t message) {
  const uint64_t *at = rank->awaited_count
                           ? bsearch(&message, rank->awaited, rank->awaited_count, sizeof message, order_messages)
                           : NULL;
  uint32_t count = 0;
  if (!at) return 0;
  while (at > rank->awaited && at[-1] == message) at--;
  for (; at < rank->awaited + rank->awaited_count && *at == message; at++) count++;
  return count;
}

/* How many waits of the rank the same message ended before this one, in the same picosecond. */
static uint32_t count_before(const struct walk *w, uint64_t index) {
  const struct pto_trace_remote *remote = pto_trace_log_at(&w->trace->remotes, index);
  uint32_t count = 0;
  for (uint64_t i = index; i-- > 0;) {
    const struct pto_trace_remote *before = pto_trace_log_at(&w->trace->remotes, i);
    if (before->kind != PTO_REMOTE_WAIT) continue;
    if (before->end != remote->end) break;
    count += before->peer == remote->peer && before->sequence == remote->sequence;
  }
  return count;
}

/* A call of a kernel, within the slice of that; `text` has the peer's number at its end. */
static void put_remote(struct walk *w, const struct pto_trace_remote *remote, const char *text, uint64_t begin,
                       struct pto_trace_event event) {
  const bool has_bytes = remote->kind == PTO_REMOTE_PUT || remote->kind == PTO_REMOTE_GET;
  struct pto_event_arg args[PTO_EVENT_MAX_ARGS];
  char name[48];
  snprintf(name, sizeof name, text, remote->peer);
  args[0] = (struct pto_event_arg){.name = "task", .value = remote->task};
  args[1] = has_bytes ? (struct pto_event_arg){.name = "bytes", .value = remote->bytes}
                      : (struct pto_event_arg){.name = "signal", .value = remote->signal};
  event.kind = PTO_EVENT_SLICE;
  event.track = track_of_core(remote->core);
  event.category = "ranks";
  event.name = name;
  event.begin = begin;
  event.end = remote->kind == PTO_REMOTE_NOTIFY ? begin : remote->end;
  event.args = args;
  event.arg_count = 2;
  put(w, &event);
}

static void put_wait(struct walk *w, uint64_t index) {
  const struct pto_trace_remote *remote = pto_trace_log_at(&w->trace->remotes, index);
  const uint64_t message = pto_export_message(remote->peer, remote->sequence);
  put_remote(w, remote, "wait for rank %" PRIu32, remote->begin, (struct pto_trace_event){0});
  put_remote(
      w, remote, "signal of rank %" PRIu32, remote->end,
      (struct pto_trace_event){.has_flow_in = true, .message = pto_event_signal(message, count_before(w, index))});
}

static void put_remotes(struct walk *w) {
  const struct pto_trace_event plain = {0};
  for (uint64_t i = 0; w->info->rank && i < w->trace->remotes.count; i++) {
    const struct pto_trace_remote *remote = pto_trace_log_at(&w->trace->remotes, i);
    const uint64_t message = pto_export_message(w->info->rank->index, remote->sequence);
    switch (remote->kind) {
    case PTO_REMOTE_PUT:
      put_remote(w, remote, "put to rank %" PRIu32, remote->begin, plain);
      break;
    case PTO_REMOTE_GET:
      put_remote(w, remote, "get from rank %" PRIu32, remote->begin, plain);
      break;
    case PTO_REMOTE_NOTIFY:
      put_remote(w, remote, "notify rank %" PRIu32, remote->begin,
                 (struct pto_trace_event){.flows_out = count_awaited(w->info->rank, message), .message = message});
      break;
    case PTO_REMOTE_WAIT:
      put_wait(w, i);
      break;
    default:
      break; /* of the orchestration's track */
    }
  }
}

static void put_ranks_path(struct walk *w) {
  const struct pto_trace_between *between = w->events->between;
  put_track(w, control_track(ORCHESTRATION_TRACK), "critical path");
  for (size_t i = 0; i < between->step_count; i++) {
    const struct pto_rank_step *step = &between->steps[i];
    struct pto_event_arg args[PTO_EVENT_MAX_ARGS];
    uint32_t count = 0;
    char on[32];
    args[count++] = (struct pto_event_arg){.name = "rank", .value = step->rank};
    if (step->peer != PTO_RANK_NO_PEER) args[count++] = (struct pto_event_arg){.name = "peer", .value = step->peer};
    args[count++] = (struct pto_event_arg){.name = "on", .text = pto_resource_name(step->resource, on, sizeof on)};
    if (step->task != PTO_SEGMENT_NO_TASK) args[count++] = (struct pto_event_arg){.name = "task", .value = step->task};
    if (step->kernel[0]) args[count++] = (struct pto_event_arg){.name = "kernel", .text = step->kernel};
    put(w, &(struct pto_trace_event){.kind = PTO_EVENT_SLICE,
                                     .track = control_track(ORCHESTRATION_TRACK),
                                     .category = "path",
                                     .name = pto_activity_text(step->activity),
                                     .begin = step->begin,
                                     .end = step->end,
                                     .args = args,
                                     .arg_count = count});
  }
}

/* What is of all ranks: links. */
static void put_between(struct walk *w) {
  const struct pto_trace_between *between = w->events->between;
  const struct pto_trace_link_flow *last = NULL;
  put_process(w, control_track(ORCHESTRATION_TRACK), w->info->rank->name);
  put_ranks_path(w);
  put_process(w, (struct pto_event_track){.process = 1}, "links");
  for (size_t i = 0; i < between->flow_count; i++) {
    const struct pto_trace_link_flow *flow = &between->flows[i];
    const struct pto_event_track track = {.process = 1, .index = flow->link, .lane = flow->lane};
    char name[64], from_to[48];
    if (!last || last->link != flow->link || last->lane != flow->lane)
      put(w, &(struct pto_trace_event){.kind = PTO_EVENT_TRACK,
                                       .track = track,
                                       .name = between->link_name(between->context, flow->link, name, sizeof name),
                                       .value = flow->link});
    last = flow;
    snprintf(from_to, sizeof from_to, "rank %" PRIu32 " -> rank %" PRIu32, flow->source, flow->target);
    const uint64_t ps = flow->end - flow->begin;
    const struct pto_event_arg args[] = {
        {.name = "bytes", .value = flow->bytes},
        {.name = "mbps", .value = ps ? (uint64_t)((unsigned __int128)flow->bytes * 1000000 / ps) : 0},
        {.name = "task", .value = flow->task}};
    put(w, &(struct pto_trace_event){.kind = PTO_EVENT_SLICE,
                                     .track = track,
                                     .category = "link",
                                     .name = from_to,
                                     .begin = flow->begin,
                                     .end = flow->end,
                                     .args = args,
                                     .arg_count = PTO_ARRAY_LENGTH(args)});
  }
}

/* ---- the control CPU ---- */

/* In real time. */
static void put_control(struct walk *w) {
  for (uint64_t i = 0; i < w->trace->control.count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(&w->trace->control, i);
    const bool is_move = control->moved_bytes != 0, is_submit = control->activity == PTO_CONTROL_SUBMIT;
    const struct pto_event_arg arg = {.name = is_move ? "bytes" : "task",
                                      .value = is_move ? control->moved_bytes : control->task};
    put(w, &(struct pto_trace_event){.kind = PTO_EVENT_SLICE,
                                     .track = control_track(ORCHESTRATION_TRACK),
                                     .category = "control",
                                     .name = pto_activity_text(pto_control_activity(control)),
                                     .begin = control->begin,
                                     .end = control->end,
                                     .args = is_move || is_submit ? &arg : NULL,
                                     .arg_count = is_move || is_submit});
  }
}

static void put_transfers(struct walk *w) {
  bool is_named = false;
  for (uint64_t i = 0; i < w->trace->control.count; i++) {
    const struct pto_trace_control *control = pto_trace_log_at(&w->trace->control, i);
    const struct pto_event_arg arg = {.name = "bytes", .value = control->moved_bytes};
    if (!control->moved_bytes) continue;
    if (!is_named) put_track(w, control_track(LINK_TRACK), "host link");
    is_named = true;
    put(w, &(struct pto_trace_event){.kind = PTO_EVENT_SLICE,
                                     .track = control_track(LINK_TRACK),
                                     .category = "transfer",
                                     .name = pto_activity_text(pto_control_activity(control)),
                                     .begin = control->begin,
                                     .end = control->end,
                                     .args = &arg,
                                     .arg_count = 1});
  }
}

/* ---- of virtual time ---- */

static void name_schedulers(struct walk *w) {
  uint32_t count;
  bool has_resolver;
  char name[32];
  pto_count_schedulers(w->trace, &count, &has_resolver);
  if (has_resolver) put_track(w, control_track(RESOLVER_TRACK), "resolver");
  for (uint32_t i = 0; i < count; i++) {
    snprintf(name, sizeof name, "scheduler %u", i);
    put_track(w, control_track(SCHEDULER_TRACK + i), name);
  }
}

static void put_path(struct walk *w) {
  const struct pto_run_path *path = &w->events->path;
  char name[32];
  if (path->step_count) put_track(w, control_track(PATH_TRACK), "critical path");
  for (size_t i = 0; i < path->step_count; i++) {
    const struct pto_path_step *step = &path->steps[i];
    struct pto_event_arg args[PTO_EVENT_MAX_ARGS];
    uint32_t count = 0;
    args[count++] = (struct pto_event_arg){.name = "on", .text = pto_resource_name(step->resource, name, sizeof name)};
    if (step->first_task != PTO_SEGMENT_NO_TASK)
      args[count++] = (struct pto_event_arg){.name = "first_task", .value = step->first_task};
    if (step->last_task != PTO_SEGMENT_NO_TASK)
      args[count++] = (struct pto_event_arg){.name = "last_task", .value = step->last_task};
    put(w, &(struct pto_trace_event){.kind = PTO_EVENT_SLICE,
                                     .track = control_track(PATH_TRACK),
                                     .category = "path",
                                     .name = pto_activity_group_text(step->group),
                                     .begin = step->begin,
                                     .end = step->end,
                                     .args = args,
                                     .arg_count = count});
  }
}

/* ---- counters: a value where it changes ---- */

static const struct counter {
  const char *name, *unit;
} counters[] = {{"ready tasks", "tasks"},
                {"kernel calls on cores", "calls"},
                {"window slots in use", "slots"},
                {"heap bytes in use", "bytes"}};
#define COUNTER_COUNT PTO_ARRAY_LENGTH(counters)

static void put_samples(struct walk *w) {
  uint64_t last[COUNTER_COUNT];
  for (uint64_t i = 0; i < w->trace->samples.count; i++) {
    const struct pto_trace_sample *sample = pto_trace_log_at(&w->trace->samples, i);
    const uint64_t values[COUNTER_COUNT] = {sample->ready, sample->in_flight, sample->window_used,
                                            sample->heap_used_bytes};
    for (size_t k = 0; k < COUNTER_COUNT; k++) {
      if (i == 0 || values[k] != last[k])
        put(w, &(struct pto_trace_event){.kind = PTO_EVENT_VALUE,
                                         .id = k,
                                         .name = counters[k].name,
                                         .unit = counters[k].unit,
                                         .begin = sample->time,
                                         .value = values[k]});
      last[k] = values[k];
    }
  }
}

/* ---- flows ---- */

static int put_flow(void *context, const struct pto_trace_edge_view *edge) {
  struct walk *w = context;
  if (edge->producer >= w->trace->tasks.count || edge->consumer >= w->trace->tasks.count) return PTO_OK;
  const struct pto_trace_span *from = w->events->calls[edge->producer].last;
  const struct pto_trace_span *to = w->events->calls[edge->consumer].first;
  if (!from || !to) return PTO_OK;
  char name[32] = "";
  for (uint32_t bit = 1; bit <= PTO_EDGE_CREATOR; bit <<= 1)
    if (edge->reason_bits & bit)
      snprintf(name + strlen(name), sizeof name - strlen(name), "%s%s", name[0] ? " " : "", pto_edge_reason_name(bit));
  /* Inside the slice: at its end it is over, and an arrow would hang in the air. */
  const uint64_t back = pto_min_u64(from->end - from->begin, w->nanosecond);
  put(w, &(struct pto_trace_event){.kind = PTO_EVENT_FLOW,
                                   .category = "dependency",
                                   .name = name,
                                   .id = w->flow_count++,
                                   .track = track_of_core(from->core),
                                   .begin = from->end - back,
                                   .to = track_of_core(to->core),
                                   .end = to->begin,
                                   .producer = edge->producer,
                                   .consumer = edge->consumer});
  return PTO_OK;
}

/* ---- groups of tasks ---- */

static void put_groups(struct walk *w) {
  const struct pto_task_groups *groups = w->info->groups;
  if (!groups) return;
  const struct pto_event_track track = {.process = w->info->cluster_count + 1};
  put_process(w, track, "nodes of the graph");
  const uint64_t count = pto_min_u64(groups->task_count, w->trace->tasks.count);
  for (uint64_t first = 0, end; first < count; first = end) {
    uint64_t begin_time = UINT64_MAX, end_time = 0;
    for (end = first; end < count && groups->group_of[end] == groups->group_of[first]; end++) {
      const struct pto_task_calls *calls = &w->events->calls[end];
      if (!calls->first) continue;
      begin_time = pto_min_u64(begin_time, calls->first->begin);
      end_time = pto_max_u64(end_time, calls->last->end);
    }
    if (end_time < begin_time) continue;
    put(w, &(struct pto_trace_event){.kind = PTO_EVENT_GROUP,
                                     .track = track,
                                     .category = "node",
                                     .name = groups->names[groups->group_of[first]],
                                     .id = first,
                                     .begin = begin_time,
                                     .end = end_time});
  }
}

/* ---- all ---- */

int pto_trace_events_each(const struct pto_trace_events *events, uint32_t kinds,
                          void (*put_one)(void *writer, const struct pto_trace_event *event), void *writer) {
  struct walk w = {.events = events,
                   .trace = events->trace,
                   .info = events->info,
                   .kinds = kinds,
                   .put = put_one,
                   .writer = writer,
                   .nanosecond = !events->trace || events->trace->is_virtual ? 1000 : 1};
  if (!events->trace) {
    put_between(&w);
    return PTO_OK;
  }
  if (kinds & (PTO_EVENT_PROCESS | PTO_EVENT_TRACK)) put_processes(&w);
  const bool has_intervals = events->graph.node_count > 0;
  if (kinds & (PTO_EVENT_TRACK | PTO_EVENT_SLICE)) {
    if (!has_intervals) put_control(&w);
    put_transfers(&w);
    name_schedulers(&w);
    if (!events->info->rank) put_path(&w); /* it is of all ranks */
  }
  if (kinds & PTO_EVENT_VALUE) put_samples(&w);
  if (kinds & PTO_EVENT_SLICE && (has_intervals ? put_intervals(&w) : put_lanes(&w))) return PTO_ENOMEM;
  if (kinds & PTO_EVENT_SLICE) put_remotes(&w);
  if (kinds & (PTO_EVENT_PROCESS | PTO_EVENT_GROUP)) put_groups(&w);
  return kinds & PTO_EVENT_FLOW ? pto_trace_each_edge(events->trace, put_flow, &w) : PTO_OK;
}

int pto_trace_events_init(struct pto_trace_events *events, const struct pto_trace *trace,
                          const struct pto_export_info *info, struct pto_error *error) {
  *events = (struct pto_trace_events){.trace = trace, .info = info, .calls = pto_trace_task_calls(trace)};
  if (info->rank) {
    const struct pto_trace_span *span;
    events->has_calls = calloc(UINT16_MAX + 1, sizeof *events->has_calls);
    for (struct pto_span_walk walk = {0}; events->has_calls && (span = pto_trace_next_span(trace, &walk)) != NULL;)
      events->has_calls[span->core] = true;
  }
  const bool is_well = events->calls && (!info->rank || events->has_calls);
  int status = is_well ? pto_event_graph_init(trace, &events->graph, error)
                       : pto_error_set(error, PTO_ENOMEM, "no memory for the calls of tasks");
  if (status == PTO_OK) status = pto_run_path_init(&events->graph, &events->path, error);
  if (status) pto_trace_events_fini(events);
  return status;
}

void pto_trace_events_fini(struct pto_trace_events *events) {
  free(events->calls);
  free(events->has_calls);
  pto_event_graph_fini(&events->graph);
  pto_run_path_fini(&events->path);
  *events = (struct pto_trace_events){0};
}
