/* SPDX-License-Identifier: MIT */
#include <report/run/event_graph.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>
#include <runtime/base/grow.h>
#include <runtime/trace/remote.h>

#define NONE PTO_NO_NODE
#define LANES 3u
#define SCHEDULERS 64u /* places; a chip has 16 at most */

/* Nodes of one core in order, of which each is taken once. */
struct queue {
  uint32_t first, last;
};

struct core {
  struct queue requests, dispatches, ends;
  uint32_t before, request, wake; /* the last node of each; wake: until it is used */
  uint32_t held;                  /* messages asked for and not taken in */
};

/* Nodes of one task, newest first: polls, or dispatches of a sync_start group. */
struct entry {
  uint32_t node, next; /* an entry + 1; 0: last */
};

struct builder {
  struct pto_event_graph *graph;
  const struct pto_trace *trace;
  uint32_t *next; /* by node: the one behind it in its queue; grows with the nodes */
  size_t next_count, next_capacity;
  uint32_t orchestrator, resolver, schedulers[SCHEDULERS]; /* the last node of each */
  uint32_t looks[SCHEDULERS];                              /* a look whose reason is not known yet */
  uint32_t poll;                                           /* the one that ended last: a resolver has waited for it */
  struct core *cores;
  uint32_t core_count;
  uint32_t idle[2]; /* AIC, AIV cores that hold nothing */
  struct entry *entries;
  size_t entry_count, entry_capacity;
  uint32_t *polls, *group_dispatches; /* by task: an entry + 1 */
  uint32_t *groups;                   /* by task: the node at which its group is complete */
  uint64_t remote_count;              /* records of what went to other ranks that have been taken */
  bool has_failed;
};

/* ---- nodes ---- */

static uint64_t end_of(const struct pto_event_graph *graph, uint32_t node) {
  return node == NONE ? 0 : graph->nodes[node].end;
}

static const struct pto_trace_segment *segment_of(const struct builder *b, uint32_t node) {
  return pto_event_segment(b->graph, node);
}

static uint64_t begin_of(const struct pto_event_graph *graph, const struct pto_event_node *node) {
  uint64_t begin = pto_max_u64(end_of(graph, node->before), end_of(graph, node->cause));
  for (uint32_t i = 0; i < node->link_count; i++)
    begin = pto_max_u64(begin, end_of(graph, graph->links[node->first_link + i]));
  return begin;
}

/* A cause of the node that is added next, which begins no earlier than at `begin`. */
static void link_to(struct builder *b, uint32_t cause, uint64_t begin) {
  struct pto_event_graph *graph = b->graph;
  if (cause == NONE) return;
  if (graph->nodes[cause].end > begin) {
    graph->untimely++;
    return;
  }
  uint32_t *link = pto_grow(&graph->links, &graph->link_count, &graph->link_capacity, sizeof *link);
  if (link)
    *link = cause;
  else
    b->has_failed = true;
}

/* Adds a node whose links are those from `first_link` on.  `end` UINT64_MAX: with the last of its causes. */
static uint32_t add_node(struct builder *b, uint32_t segment, uint32_t before, uint32_t cause, size_t first_link,
                         uint64_t end) {
  struct pto_event_graph *graph = b->graph;
  struct pto_event_node *node = pto_grow(&graph->nodes, &graph->node_count, &graph->node_capacity, sizeof *node);
  uint32_t *next = node ? pto_grow(&b->next, &b->next_count, &b->next_capacity, sizeof *next) : NULL;
  if (!next) {
    b->has_failed = true;
    return NONE;
  }
  *next = NONE;
  *node = (struct pto_event_node){.segment = segment,
                                  .before = before,
                                  .cause = cause,
                                  .first_link = (uint32_t)first_link,
                                  .link_count = (uint32_t)(graph->link_count - first_link)};
  const uint64_t begin = begin_of(graph, node);
  node->end = end == UINT64_MAX ? begin : end;
  node->duration = node->end - begin;
  graph->end = pto_max_u64(graph->end, node->end);
  return (uint32_t)(graph->node_count - 1);
}

static uint32_t timely(struct builder *b, uint32_t cause, uint64_t begin) {
  if (end_of(b->graph, cause) <= begin) return cause;
  b->graph->untimely++;
  return NONE;
}

/* The node of a segment that began at its `begin`. */
static uint32_t add_segment(struct builder *b, uint32_t index, uint32_t before, uint32_t cause, size_t first_link) {
  const struct pto_trace_segment *segment = pto_trace_log_at(&b->trace->segments, index);
  cause = timely(b, cause, segment->begin);
  const uint32_t node = add_node(b, index, before, cause, first_link, segment->end);
  if (node != NONE) b->graph->unexplained += segment->begin - (segment->end - b->graph->nodes[node].duration);
  return node;
}

/* ---- what passes a core in order ---- */

static void push(struct builder *b, struct queue *queue, uint32_t node) {
  if (node == NONE) return;
  if (queue->first == NONE)
    queue->first = node;
  else
    b->next[queue->last] = node;
  queue->last = node;
}

static uint32_t pop(const struct builder *b, struct queue *queue) {
  const uint32_t node = queue->first;
  if (node != NONE) queue->first = b->next[node];
  return node;
}

/* ---- what is of a task ---- */

static struct pto_event_task *task_of(struct builder *b, uint32_t task) {
  return task < b->trace->tasks.count ? &b->graph->tasks[task] : NULL;
}

static void note(struct builder *b, uint32_t *list, uint32_t node) {
  struct entry *entry = pto_grow(&b->entries, &b->entry_count, &b->entry_capacity, sizeof *entry);
  if (!entry) {
    b->has_failed = true;
    return;
  }
  *entry = (struct entry){node, *list};
  *list = (uint32_t)b->entry_count;
}

/* The moment at which the task lacks nothing, at `time` at the latest. */
static uint32_t ready(struct builder *b, uint32_t number, uint64_t time) {
  struct pto_event_task *task = task_of(b, number);
  if (!task) return NONE;
  if (task->ready != NONE) return task->ready;
  const struct pto_trace_task *recorded = pto_trace_log_at(&b->trace->tasks, number);
  const size_t first_link = b->graph->link_count;
  link_to(b, task->submitted, time);
  for (uint64_t i = 0; i < recorded->edge_count && recorded->first_edge + i < b->trace->edges.count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&b->trace->edges, recorded->first_edge + i);
    const struct pto_event_task *producer = edge->is_first ? task_of(b, (uint32_t)edge->producer) : NULL;
    if (!producer) continue;
    link_to(b, producer->completed, time);
    task->produced_ps = pto_max_u64(task->produced_ps, producer->ended_ps);
  }
  task->ready = add_node(b, NONE, NONE, NONE, first_link, UINT64_MAX);
  return task->ready;
}

static bool is_group(const struct builder *b, uint32_t number) {
  if (number >= b->trace->tasks.count) return false;
  return ((const struct pto_trace_task *)pto_trace_log_at(&b->trace->tasks, number))->is_sync_start;
}

/* ---- schedulers ---- */

static uint32_t *last_of(struct builder *b, struct pto_resource resource) {
  switch (resource.kind) {
  case PTO_RESOURCE_ORCHESTRATOR:
    return &b->orchestrator;
  case PTO_RESOURCE_SCHEDULER:
    return &b->schedulers[resource.index % SCHEDULERS];
  case PTO_RESOURCE_RESOLVER:
    return &b->resolver;
  default:
    return &b->cores[resource.index % b->core_count].before;
  }
}

/* The scheduler goes round until it finds what to do. */
static void add_look(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  b->looks[segment->resource.index % SCHEDULERS] =
      add_node(b, index, *last_of(b, segment->resource), NONE, b->graph->link_count, segment->end);
}

/* What the scheduler does next it found because of `cause`.  Where that came while the scheduler was looking, the look
 * is no occupation, only how long the cause was not noticed: a link of the node that is added next.  Else the scheduler
 * looked before it could do the next thing.  The first link of that node. */
static size_t explain_look(struct builder *b, const struct pto_trace_segment *segment, uint32_t cause) {
  const size_t first_link = b->graph->link_count;
  uint32_t *look = &b->looks[segment->resource.index % SCHEDULERS];
  if (*look == NONE) return first_link;
  struct pto_event_node *node = &b->graph->nodes[*look];
  if (cause != NONE && cause < *look && b->graph->nodes[cause].end <= node->end) node->cause = cause;
  if (end_of(b->graph, node->cause) > end_of(b->graph, node->before)) {
    node->before = NONE;
    node->duration = node->end - begin_of(b->graph, node);
    link_to(b, *look, segment->begin);
  } else {
    node->is_in_turn = true;
    *last_of(b, segment->resource) = *look;
  }
  *look = NONE;
  return first_link;
}

/* The node begins something that the scheduler might do later or earlier; but for a look of its own just before. */
static void set_in_turn(struct builder *b, uint32_t node) {
  if (node == NONE) return;
  struct pto_event_node *its = &b->graph->nodes[node];
  const struct pto_trace_segment *before = its->before == NONE ? NULL : segment_of(b, its->before);
  its->is_in_turn = before && before->activity != PTO_ACTIVITY_look && before->activity != PTO_MARK_BEGIN;
}

static uint32_t kind_of(uint32_t core) { return core % LANES != 0; }

/* A message is asked for: whether there are more idle cores than this one. */
static bool hold(struct builder *b, uint32_t core) {
  if (b->cores[core].held++) return false;
  return --b->idle[kind_of(core)] > 0;
}

static void add_poll(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  uint32_t *last = last_of(b, segment->resource);
  const uint32_t end = pop(b, &b->cores[segment->core].ends);
  if (--b->cores[segment->core].held == 0) b->idle[kind_of(segment->core)]++;
  const size_t first_link = explain_look(b, segment, end);
  *last = add_segment(b, index, *last, end, first_link);
  if (end_of(b->graph, *last) >= end_of(b->graph, b->poll)) b->poll = *last;
  set_in_turn(b, *last);
  if (segment->task < b->trace->tasks.count) note(b, &b->polls[segment->task], *last);
}

static void add_request(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  struct core *core = &b->cores[segment->core];
  const uint32_t is_ready = ready(b, segment->task, segment->begin);
  const bool has_choice = hold(b, segment->core);
  const size_t first_link = b->graph->link_count;
  link_to(b, core->request, segment->begin);
  link_to(b, *last_of(b, segment->resource), segment->begin);
  if (segment->resource.kind == PTO_RESOURCE_RESOLVER) link_to(b, b->poll, segment->begin);
  core->request = add_segment(b, index, NONE, is_ready, first_link);
  if (core->request != NONE) b->graph->nodes[core->request].has_choice = has_choice;
  push(b, &core->requests, core->request);
}

static void add_dispatch(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  struct core *core = &b->cores[segment->core];
  uint32_t *last = last_of(b, segment->resource), request = pop(b, &core->requests);
  const bool is_asked = request != NONE;
  const bool has_choice = is_asked ? b->graph->nodes[request].has_choice : hold(b, segment->core);
  if (!is_asked) request = ready(b, segment->task, segment->begin);
  const size_t first_link = explain_look(b, segment, request);
  *last = add_segment(b, index, *last, request, first_link);
  if (*last != NONE) b->graph->nodes[*last].has_choice = has_choice;
  if (is_asked) set_in_turn(b, *last);
  push(b, &core->dispatches, *last);
  if (is_group(b, segment->task)) note(b, &b->group_dispatches[segment->task], *last);
}

/* Edges that a scheduler wires, after the last submit before. */
static void add_wiring(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  uint32_t *last = last_of(b, segment->resource), submit = b->orchestrator;
  while (submit != NONE && b->graph->nodes[submit].end > segment->begin) submit = b->graph->nodes[submit].before;
  const size_t first_link = explain_look(b, segment, submit);
  *last = add_segment(b, index, *last, submit, first_link);
  set_in_turn(b, *last);
}

/* After all polls of the task, or where it has no kernel when it is ready. */
static void add_completion(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  uint32_t *last = last_of(b, segment->resource);
  struct pto_event_task *task = task_of(b, segment->task);
  const bool has_polls = task && b->polls[segment->task];
  const uint32_t cause = !has_polls                                        ? ready(b, segment->task, segment->begin)
                         : segment->resource.kind == PTO_RESOURCE_RESOLVER ? b->poll
                                                                           : NONE;
  const size_t first_link = b->graph->link_count;
  for (uint32_t i = has_polls ? b->polls[segment->task] : 0; i; i = b->entries[i - 1].next)
    if (memcmp(&segment_of(b, b->entries[i - 1].node)->resource, &segment->resource, sizeof segment->resource) != 0)
      link_to(b, b->entries[i - 1].node, segment->begin);
  *last = add_segment(b, index, *last, cause, first_link);
  if (segment->resource.kind == PTO_RESOURCE_RESOLVER && has_polls) set_in_turn(b, *last);
  if (task) task->completed = *last;
}

/* ---- cores ---- */

/* All messages of the group have arrived, and their cores are free. */
static uint32_t complete_group(struct builder *b, uint32_t number) {
  if (b->groups[number] != NONE) return b->groups[number];
  const size_t first_link = b->graph->link_count;
  for (uint32_t i = b->group_dispatches[number]; i; i = b->entries[i - 1].next) {
    const uint32_t dispatch = b->entries[i - 1].node;
    link_to(b, dispatch, UINT64_MAX);
    link_to(b, b->cores[segment_of(b, dispatch)->core].before, UINT64_MAX);
  }
  b->groups[number] = add_node(b, NONE, NONE, NONE, first_link, UINT64_MAX);
  return b->groups[number];
}

static void add_start(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  struct core *core = &b->cores[segment->resource.index];
  uint32_t cause = pop(b, &core->dispatches);
  const bool has_choice = cause != NONE && b->graph->nodes[cause].has_choice;
  if (is_group(b, segment->task)) cause = complete_group(b, segment->task);
  core->before = add_node(b, index, has_choice ? NONE : core->before, timely(b, cause, segment->end),
                          b->graph->link_count, segment->end);
}

static void add_on_core(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  struct core *core = &b->cores[segment->resource.index];
  core->before = add_segment(b, index, core->before, core->wake, b->graph->link_count);
  core->wake = NONE;
  if (segment->activity != PTO_ACTIVITY_end) return;
  push(b, &core->ends, core->before);
  struct pto_event_task *task = task_of(b, segment->task);
  if (task) task->ended_ps = pto_max_u64(task->ended_ps, segment->begin);
}

static void add_wake(struct builder *b, const struct pto_trace_segment *segment) {
  if (segment->core >= b->core_count) return;
  uint32_t waker = b->cores[segment->core].before;
  while (waker != NONE && b->graph->nodes[waker].end > segment->begin) waker = b->graph->nodes[waker].before;
  b->cores[segment->resource.index].wake = waker;
}

/* ---- the orchestrator ---- */

static void add_own(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  uint32_t *last = last_of(b, segment->resource);
  *last = add_segment(b, index, *last, NONE, b->graph->link_count);
  const bool is_submit = segment->activity <= PTO_ACTIVITY_allocation;
  struct pto_event_task *task = is_submit ? task_of(b, segment->task) : NULL;
  if (task) task->submitted = *last;
}

/* A node that ended at `time`, or began then because of something that did: the newest. */
static uint32_t ended_at(const struct builder *b, uint32_t node, uint64_t time, uint32_t found) {
  if (node == NONE) return found;
  const struct pto_event_node *at = &b->graph->nodes[node];
  if (at->end != time && at->end - at->duration == time) node = pto_event_graph_binding(b->graph, node);
  if (node == NONE || b->graph->nodes[node].end != time) return found;
  return found == NONE || node > found ? node : found;
}

/* It went on when schedulers had done something, or at an event of a core. */
static void add_stall(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  const uint64_t time = segment->end;
  uint32_t cause = ended_at(b, b->resolver, time, NONE);
  for (uint32_t i = 0; i < SCHEDULERS; i++) cause = ended_at(b, b->schedulers[i], time, cause);
  for (uint32_t i = 0; i < b->core_count && cause == NONE; i++) cause = ended_at(b, b->cores[i].before, time, cause);
  if (end_of(b->graph, b->orchestrator) == time) cause = NONE;
  b->orchestrator = add_node(b, index, b->orchestrator, cause, b->graph->link_count, time);
  if (b->orchestrator != NONE) b->graph->unexplained += b->graph->nodes[b->orchestrator].duration;
}

/* ---- other ranks ---- */

/* Those that were recorded before segment `end`. */
static void add_remotes(struct builder *b, uint64_t end) {
  const struct pto_trace_log *log = &b->trace->remotes;
  for (; b->remote_count < log->count; b->remote_count++) {
    const struct pto_trace_remote *remote = pto_trace_log_at(log, b->remote_count);
    struct pto_event_remote *its = &b->graph->remotes[b->remote_count];
    if (remote->segment > end) return;
    const struct core *core = &b->cores[remote->core % b->core_count];
    const bool is_on_core = remote->task != PTO_SEGMENT_NO_TASK;
    const uint32_t last = is_on_core ? core->before : b->orchestrator;
    const bool takes_time = remote->end > remote->begin && remote->kind != PTO_REMOTE_NOTIFY;
    *its = (struct pto_event_remote){takes_time ? last : NONE, last};
    if (takes_time && last != NONE) its->before = b->graph->nodes[last].before;
    if (remote->kind == PTO_REMOTE_NOTIFY && core->wake != NONE) its->before = core->wake;
  }
}

/* ---- all of it ---- */

static void forget_cores(struct builder *b) {
  const struct queue empty = {NONE, NONE};
  for (uint32_t i = 0; i < b->core_count; i++)
    b->cores[i] = (struct core){empty, empty, empty, b->cores[i].before, NONE, NONE, 0};
}

/* Of runs one behind another, each begins when the one before has ended. */
static void add_begin(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  const uint32_t last = b->graph->node_count ? pto_event_graph_last(b->graph) : NONE;
  const uint32_t node = add_segment(b, index, NONE, last, b->graph->link_count);
  forget_cores(b);
  b->idle[0] = segment->task / LANES;
  b->idle[1] = segment->task - b->idle[0];
  b->orchestrator = b->resolver = node;
  for (uint32_t i = 0; i < SCHEDULERS; i++) {
    b->schedulers[i] = node;
    b->looks[i] = NONE;
  }
  for (uint32_t i = 0; i < b->core_count; i++) b->cores[i].before = node;
}

static void add(struct builder *b, uint32_t index, const struct pto_trace_segment *segment) {
  switch (segment->activity) {
  case PTO_MARK_BEGIN:
    add_begin(b, index, segment);
    break;
  case PTO_MARK_REQUEST:
    add_request(b, index, segment);
    break;
  case PTO_MARK_WAKE:
    add_wake(b, segment);
    break;
  case PTO_ACTIVITY_look:
    add_look(b, index, segment);
    break;
  case PTO_ACTIVITY_poll:
    add_poll(b, index, segment);
    break;
  case PTO_ACTIVITY_completion:
    add_completion(b, index, segment);
    break;
  case PTO_ACTIVITY_dispatch:
    add_dispatch(b, index, segment);
    break;
  case PTO_ACTIVITY_start:
    add_start(b, index, segment);
    break;
  default:
    if (segment->resource.kind == PTO_RESOURCE_CORE)
      add_on_core(b, index, segment);
    else if (segment->activity >= PTO_ACTIVITY_wait_window)
      add_stall(b, index, segment);
    else if (segment->activity == PTO_ACTIVITY_edges && segment->resource.kind == PTO_RESOURCE_SCHEDULER)
      add_wiring(b, index, segment);
    else
      add_own(b, index, segment);
  }
}

static uint32_t count_cores(const struct pto_trace *trace) {
  uint32_t count = 1;
  for (uint64_t i = 0; i < trace->segments.count; i++) {
    const struct pto_trace_segment *segment = pto_trace_log_at(&trace->segments, i);
    if (segment->activity == PTO_MARK_BEGIN) count = pto_max_u32(count, segment->task);
  }
  return count;
}

static bool prepare(struct builder *b) {
  const uint64_t tasks = b->trace->tasks.count + 1;
  b->core_count = count_cores(b->trace);
  b->cores = calloc(b->core_count, sizeof *b->cores);
  b->polls = calloc(tasks, sizeof *b->polls);
  b->group_dispatches = calloc(tasks, sizeof *b->group_dispatches);
  b->groups = malloc(tasks * sizeof *b->groups);
  b->graph->tasks = calloc(tasks, sizeof *b->graph->tasks);
  b->graph->remotes = calloc(b->trace->remotes.count + 1, sizeof *b->graph->remotes);
  if (!b->graph->remotes || !b->cores || !b->polls || !b->group_dispatches || !b->groups || !b->graph->tasks)
    return false;
  for (uint64_t i = 0; i < tasks; i++) {
    b->groups[i] = NONE;
    b->graph->tasks[i] = (struct pto_event_task){.submitted = NONE, .completed = NONE, .ready = NONE};
  }
  b->orchestrator = b->resolver = b->poll = NONE;
  for (uint32_t i = 0; i < SCHEDULERS; i++) b->schedulers[i] = b->looks[i] = NONE;
  for (uint32_t i = 0; i < b->core_count; i++) b->cores[i].before = NONE;
  forget_cores(b);
  return true;
}

/* A look in which the cause came up takes no scheduler's time. */
static uint8_t clock_of(const struct pto_event_graph *graph, uint32_t index) {
  const struct pto_trace_segment *segment = pto_event_segment(graph, index);
  if (!segment || segment->activity >= PTO_ACTIVITY_COUNT) return 0;
  if (segment->activity == PTO_ACTIVITY_look && graph->nodes[index].before == NONE) return 0;
  if (segment->resource.kind == PTO_RESOURCE_RESOLVER) return 1;
  return (uint8_t)(segment->resource.kind == PTO_RESOURCE_SCHEDULER ? 2 + segment->resource.index % SCHEDULERS : 0);
}

int pto_event_graph_init(const struct pto_trace *trace, struct pto_event_graph *graph, struct pto_error *error) {
  memset(graph, 0, sizeof *graph);
  graph->trace = trace;
  if (trace->segments.count == 0) return PTO_OK;
  struct builder b = {.graph = graph, .trace = trace};
  b.has_failed = !prepare(&b);
  for (uint32_t i = 0; i < trace->segments.count && !b.has_failed; i++) {
    add_remotes(&b, i);
    add(&b, i, pto_trace_log_at(&trace->segments, i));
  }
  if (!b.has_failed) add_remotes(&b, trace->segments.count);
  for (uint32_t i = 0; i < graph->node_count; i++) graph->nodes[i].clock = clock_of(graph, i);
  free(b.next);
  free(b.cores);
  free(b.entries);
  free(b.polls);
  free(b.group_dispatches);
  free(b.groups);
  if (!b.has_failed) return PTO_OK;
  pto_event_graph_fini(graph);
  return pto_error_set(error, PTO_ENOMEM, "no memory for the event graph of %llu segments",
                       (unsigned long long)trace->segments.count);
}

void pto_event_graph_fini(struct pto_event_graph *graph) {
  free(graph->nodes);
  free(graph->tasks);
  free(graph->links);
  free(graph->remotes);
  memset(graph, 0, sizeof *graph);
}

/* ---- questions ---- */

static uint32_t later(const struct pto_event_graph *graph, uint32_t a, uint32_t b) {
  if (b == NONE) return a;
  return a == NONE || graph->nodes[b].end > graph->nodes[a].end ? b : a;
}

uint32_t pto_event_graph_binding(const struct pto_event_graph *graph, uint32_t index) {
  const struct pto_event_node *node = &graph->nodes[index];
  uint32_t found = later(graph, node->before, node->cause);
  for (uint32_t i = 0; i < node->link_count; i++) found = later(graph, found, graph->links[node->first_link + i]);
  return found;
}

uint32_t pto_event_graph_last(const struct pto_event_graph *graph) {
  uint32_t found = NONE;
  for (size_t i = 0; i < graph->node_count; i++) found = later(graph, found, (uint32_t)i);
  return found;
}
