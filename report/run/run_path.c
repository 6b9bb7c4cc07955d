/* SPDX-License-Identifier: MIT */
#include <report/run/run_path.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/grow.h>
#include <runtime/trace/trace_words.h>

/* ---- words ---- */

static const struct {
  const char *name, *text;
  uint32_t group;
} activities[PTO_ACTIVITY_COUNT] = {
#define X(name, text, group) {#name, text, PTO_GROUP_##group},
    PTO_ACTIVITY_LIST(X)
#undef X
};

static const struct {
  const char *name, *text;
} groups[PTO_GROUP_COUNT] = {
#define X(id, name, text) {name, text},
    PTO_ACTIVITY_GROUP_LIST(X)
#undef X
};

const char *pto_activity_name(uint32_t activity) { return activities[activity].name; }
const char *pto_activity_text(uint32_t activity) { return activities[activity].text; }
uint32_t pto_activity_group(uint32_t activity) { return activities[activity].group; }
uint32_t pto_activity_find(const char *name) {
  uint32_t activity = 0;
  while (activity < PTO_ACTIVITY_COUNT && strcmp(activities[activity].name, name) != 0) activity++;
  return activity;
}
uint32_t pto_control_activity(const struct pto_trace_control *control) {
  if (control->stall != PTO_STALL_none) return PTO_ACTIVITY_wait_window + (control->stall - (uint32_t)PTO_STALL_window);
  switch (control->activity) {
  case PTO_CONTROL_SUBMIT:
    return PTO_ACTIVITY_submit;
  case PTO_CONTROL_SCOPE:
    return PTO_ACTIVITY_scope;
  case PTO_CONTROL_HOST_ACCESS:
    return PTO_ACTIVITY_host_access;
  case PTO_CONTROL_WAIT:
    return PTO_ACTIVITY_other;
  default:
    return PTO_ACTIVITY_to_device + (control->activity - (uint32_t)PTO_CONTROL_TO_DEVICE);
  }
}

const char *pto_activity_group_name(uint32_t group) { return groups[group].name; }
const char *pto_activity_group_text(uint32_t group) { return groups[group].text; }

const char *pto_resource_name(struct pto_resource resource, char *text, size_t size) {
  switch (resource.kind) {
  case PTO_RESOURCE_ORCHESTRATOR:
    snprintf(text, size, "orchestrator");
    break;
  case PTO_RESOURCE_SCHEDULER:
    snprintf(text, size, "scheduler %u", resource.index);
    break;
  case PTO_RESOURCE_RESOLVER:
    snprintf(text, size, "resolver");
    break;
  default:
    snprintf(text, size, "core %u", resource.index);
  }
  return text;
}

/* ---- the path ---- */

/* The begin of a run is the handshake, joins take none. */
uint32_t pto_path_activity(const struct pto_event_graph *graph, uint32_t node) {
  const struct pto_trace_segment *segment = pto_event_segment(graph, node);
  if (!segment) return PTO_ACTIVITY_other;
  if (segment->activity == PTO_MARK_BEGIN) return PTO_ACTIVITY_handshake;
  return segment->activity < PTO_ACTIVITY_COUNT ? segment->activity : PTO_ACTIVITY_other;
}

const struct pto_kernel *pto_path_kernel(const struct pto_event_graph *graph, uint32_t node) {
  const struct pto_trace_segment *segment = pto_event_segment(graph, node);
  if (!segment || segment->resource.kind != PTO_RESOURCE_CORE) return NULL;
  return pto_trace_task_kernel(graph->trace, segment->task, segment->role);
}

/* Steps are found from the last to the first. */
static bool add_step(struct pto_run_path *path, const struct pto_event_graph *graph, uint32_t index) {
  const struct pto_event_node *node = &graph->nodes[index];
  const struct pto_trace_segment *segment = pto_event_segment(graph, index);
  const struct pto_resource resource = segment ? segment->resource : (struct pto_resource){0, 0};
  const uint32_t task = pto_segment_task(segment), group = activities[pto_path_activity(graph, index)].group;
  struct pto_path_step *last = path->step_count ? &path->steps[path->step_count - 1] : NULL;
  const bool is_on_core = resource.kind == PTO_RESOURCE_CORE;
  if (last && last->resource.kind == resource.kind && last->resource.index == resource.index && last->group == group &&
      (!is_on_core || last->first_task == task)) {
    last->begin = node->end - node->duration;
    if (task != PTO_SEGMENT_NO_TASK) last->first_task = task;
    if (last->last_task == PTO_SEGMENT_NO_TASK) last->last_task = task;
    return true;
  }
  struct pto_path_step *step = pto_grow(&path->steps, &path->step_count, &path->step_capacity, sizeof *step);
  if (!step) return false;
  *step = (struct pto_path_step){.begin = node->end - node->duration,
                                 .end = node->end,
                                 .resource = resource,
                                 .group = group,
                                 .first_task = task,
                                 .last_task = task,
                                 .kernel = pto_path_kernel(graph, index)};
  return true;
}

static bool find_path(struct pto_run_path *path, const struct pto_event_graph *graph) {
  for (uint32_t i = pto_event_graph_last(graph); i != PTO_NO_NODE; i = pto_event_graph_binding(graph, i)) {
    const uint64_t duration = graph->nodes[i].duration;
    if (duration == 0) continue;
    path->times[pto_path_activity(graph, i)] += duration;
    if (!add_step(path, graph, i)) return false;
  }
  for (size_t i = 0; i < path->step_count / 2; i++) {
    const struct pto_path_step step = path->steps[i];
    path->steps[i] = path->steps[path->step_count - 1 - i];
    path->steps[path->step_count - 1 - i] = step;
  }
  for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT; i++) path->groups[activities[i].group] += path->times[i];
  for (uint32_t i = 0; i < PTO_GROUP_COUNT; i++)
    if (path->groups[i] > path->groups[path->group]) path->group = i;
  uint64_t most = 0;
  for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT; i++) {
    if (activities[i].group != path->group || path->times[i] <= most) continue;
    most = path->times[i];
    path->activity = i;
  }
  return true;
}

bool pto_run_path_group_has_more(const struct pto_run_path *path) {
  return path->times[path->activity] < path->groups[path->group];
}

/* ---- gains ---- */

/* What takes half as long: some activities, on a core perhaps of one kernel alone. */
struct trial {
  const char *what;
  const char *keys;    /* of the chip file, with blanks between them, that this is; NULL: of none */
  uint64_t activities; /* a bit each */
  const struct pto_kernel *kernel;
  uint64_t path; /* ps of it on the path: the gain is at most half of that */
};
_Static_assert(PTO_ACTIVITY_COUNT <= 64, "a bit each");
#define BIT(name) (UINT64_C(1) << PTO_ACTIVITY_##name)

static const struct trial trials[] = {
    {"the fixed part of submits", "submit first_submit", BIT(submit), NULL, 0},
    {"parameters of submits", "param", BIT(params), NULL, 0},
    {"lookups", "lookup manual_lookup lookup_entry", BIT(lookups), NULL, 0},
    {"edges", "edge", BIT(edges), NULL, 0},
    {"allocation", "alloc alloc_tensors", BIT(allocation), NULL, 0},
    {"scopes", "scope", BIT(scope), NULL, 0},
    {"host accesses", "host_access", BIT(host_access), NULL, 0},
    {"transfers", "host_latency_ps host_bandwidth_mbps", BIT(to_device) | BIT(to_host) | BIT(on_device), NULL, 0},
    {"the handshake", "handshake_ps", BIT(handshake), NULL, 0},
    {"looks of schedulers", "loop look", BIT(look), NULL, 0},
    {"taking completions in", "poll", BIT(poll), NULL, 0},
    {"handling completions", "complete", BIT(completion), NULL, 0},
    {"notifying consumers", "fanout", BIT(fan_out), NULL, 0},
    {"sending messages", "dispatch dispatch_more", BIT(dispatch), NULL, 0},
    {"starts and ends of kernels", "kernel_start_ps pending_start_ps cold_start_ps kernel_end_ps signal_ps",
     BIT(start) | BIT(end) | BIT(signal), NULL, 0},
    {"moving bytes",
     "core_bandwidth_mbps chip_bandwidth_mbps l2_core_bandwidth_mbps "
     "l2_chip_bandwidth_mbps",
     BIT(memory) | BIT(contention), NULL, 0}};
/* Of paths over ranks alone. */
static const struct trial link_trials[] = {
    {"the way over links", "transfer_start_ps package_latency_ps node_latency_ps nodes_latency_ps",
     BIT(notify) | BIT(put) | BIT(get), NULL, 0},
    {"bytes on links", "package_bandwidth_mbps node_bandwidth_mbps nodes_bandwidth_mbps", BIT(put) | BIT(get), NULL,
     0}};
const char *pto_path_trial_at(uint32_t index, const char **keys) {
  if (index >= PTO_ARRAY_LENGTH(trials)) return NULL;
  *keys = trials[index].keys;
  return trials[index].what;
}

#define KERNEL_TRIALS 16u
#define MOST_TRIALS (PTO_ARRAY_LENGTH(trials) + KERNEL_TRIALS)
#define OF_KERNEL (BIT(compute) | BIT(memory) | BIT(contention))

static bool is_of(const struct trial *trial, const struct pto_event_graph *graph, uint32_t node) {
  const uint32_t activity = pto_path_activity(graph, node);
  return (trial->activities >> activity & 1) && (!trial->kernel || trial->kernel == pto_path_kernel(graph, node));
}

static uint64_t halved(const void *context, const struct pto_event_graph *graph, uint32_t node) {
  const uint64_t duration = graph->nodes[node].duration;
  return is_of(context, graph, node) ? duration / 2 : duration;
}

static int order_trials(const void *left, const void *right) {
  const struct trial *a = left, *b = right;
  return (a->path < b->path) - (a->path > b->path);
}

/* The kernels of the path: each is a trial, as far as there is room. */
static uint32_t add_kernels(const struct pto_run_path *path, struct trial *found, uint32_t count) {
  const uint32_t first = count;
  for (size_t i = 0; i < path->step_count; i++) {
    const struct pto_path_step *step = &path->steps[i];
    if (!step->kernel || step->group == PTO_GROUP_HOP) continue;
    uint32_t k = first;
    while (k < count && found[k].kernel != step->kernel) k++;
    if (k == MOST_TRIALS) continue;
    if (k == count) found[count++] = (struct trial){step->kernel->name, NULL, OF_KERNEL, step->kernel, 0};
    found[k].path += step->end - step->begin;
  }
  return count;
}

static void add_gain(struct pto_path_gain *gains, uint32_t *count, const struct trial *trial, uint64_t gain) {
  uint32_t at = *count;
  while (at > 0 && gains[at - 1].gain < gain) at--;
  if (at == PTO_PATH_GAINS || gain == 0) return;
  if (*count < PTO_PATH_GAINS) ++*count;
  memmove(&gains[at + 1], &gains[at], (*count - 1 - at) * sizeof *gains);
  gains[at] =
      (struct pto_path_gain){.gain = gain, .keys = trial->keys, .kernel = trial->kernel ? trial->kernel->name : NULL};
  snprintf(gains[at].what, sizeof gains[at].what, "%s%s", trial->kernel ? "kernel " : "", trial->what);
}

static uint64_t time_of(const struct trial *trial, const uint64_t *times) {
  uint64_t time = 0;
  for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT; i++)
    if (trial->activities >> i & 1) time += times[i];
  return time;
}

uint32_t pto_path_find_trials(const uint64_t *times, struct pto_path_gain gains[PTO_PATH_GAINS]) {
  uint32_t count = 0;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(trials); i++)
    add_gain(gains, &count, &trials[i], (time_of(&trials[i], times) + 1) / 2);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(link_trials); i++)
    add_gain(gains, &count, &link_trials[i], (time_of(&link_trials[i], times) + 1) / 2);
  return count;
}

/* Trials in the order of what they could give, until no further one can be among the best. */
static bool find_gains(struct pto_run_path *path, const struct pto_event_graph *graph) {
  static const struct trial nothing = {.what = "nothing"};
  struct trial found[MOST_TRIALS];
  uint32_t count = 0;
  struct pto_event_replay replay;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(trials); i++) {
    found[count] = trials[i];
    found[count].path = time_of(&trials[i], path->times);
    count += found[count].path > 0;
  }
  count = add_kernels(path, found, count);
  qsort(found, count, sizeof *found, order_trials);
  if (pto_event_replay_init(graph, &replay)) return false;
  const uint64_t before = pto_event_replay_run(&replay, halved, &nothing);
  for (uint32_t i = 0; i < count; i++) {
    if (path->gain_count == PTO_PATH_GAINS && path->gains[PTO_PATH_GAINS - 1].gain >= found[i].path / 2) break;
    const uint64_t after = pto_event_replay_run(&replay, halved, &found[i]);
    if (after < before)
      add_gain(path->gains, &path->gain_count, &found[i], pto_min_u64(before - after, (found[i].path + 1) / 2));
  }
  pto_event_replay_fini(&replay);
  return true;
}

int pto_run_path_init(const struct pto_event_graph *graph, struct pto_run_path *path, struct pto_error *error) {
  memset(path, 0, sizeof *path);
  path->makespan = graph->end;
  if (graph->end == 0 || find_path(path, graph)) return PTO_OK;
  pto_run_path_fini(path);
  return pto_error_set(error, PTO_ENOMEM, "no memory for the critical path of %zu nodes", graph->node_count);
}

int pto_run_path_find_gains(struct pto_run_path *path, const struct pto_event_graph *graph, struct pto_error *error) {
  if (graph->end == 0 || find_gains(path, graph)) return PTO_OK;
  return pto_error_set(error, PTO_ENOMEM, "no memory for another run of %zu nodes", graph->node_count);
}

void pto_run_path_fini(struct pto_run_path *path) {
  free(path->steps);
  memset(path, 0, sizeof *path);
}
