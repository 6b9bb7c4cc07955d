/* SPDX-License-Identifier: MIT */
#include <check/ranks/ranks_path.h>

#include <stdlib.h>
#include <string.h>

#include <check/ranks/ranks_state.h>
#include <runtime/base/grow.h>
#include <runtime/trace/remote.h>

#define NONE PTO_NO_NODE

/* ---- a rank ---- */

struct sent {
  uint64_t sequence, record;
};

/* What the walk needs of a rank of this process. */
struct place {
  const struct pto_trace *trace;
  struct pto_event_graph graph;
  uint32_t *record_of; /* by node: the record whose time it is, and 1; 0: none */
  struct sent *sent;   /* its notifies, in order of their messages */
  size_t sent_count, sent_capacity;
};

static const struct pto_trace_remote *record_at(const struct place *place, uint64_t index) {
  return pto_trace_log_at(&place->trace->remotes, index);
}

static bool open_place(struct place *place, const struct pto_trace *trace) {
  struct pto_error error;
  place->trace = trace;
  if (pto_event_graph_init(trace, &place->graph, &error)) return false;
  place->record_of = calloc(place->graph.node_count + 1, sizeof *place->record_of);
  for (uint64_t i = 0; place->record_of && i < trace->remotes.count; i++) {
    const struct pto_trace_remote *record = record_at(place, i);
    const uint32_t node = place->graph.node_count ? place->graph.remotes[i].node : NONE;
    if (node != NONE) place->record_of[node] = (uint32_t)i + 1;
    if (record->kind != PTO_REMOTE_NOTIFY) continue;
    struct sent *sent = pto_grow(&place->sent, &place->sent_count, &place->sent_capacity, sizeof *sent);
    if (!sent) return false;
    *sent = (struct sent){record->sequence, i};
  }
  return place->record_of != NULL;
}

static void close_place(struct place *place) {
  pto_event_graph_fini(&place->graph);
  free(place->record_of);
  free(place->sent);
}

static int order_sent(const void *left, const void *right) {
  const struct sent *a = left, *b = right;
  return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/* ---- a stretch of the path, on one rank ---- */

/* Where the path goes on. */
struct hop {
  bool is_over;
  bool is_make;    /* of a communicator; else of a notify */
  uint32_t rank;   /* there, */
  uint32_t target; /* and it sent the message to this rank, */
  uint64_t time;   /* where that had come then */
  uint64_t comm, sequence;
};

/* What processes tell each other: a step, or at the end a hop. */
struct item {
  bool is_hop;
  struct hop hop;
  struct pto_rank_step step;
};

static bool add_step(struct pto_exchange_bytes *out, const struct pto_rank_step *step) {
  if (step->begin == step->end) return true;
  struct item *item = pto_exchange_bytes_add(out, sizeof *item);
  if (item) *item = (struct item){.step = *step};
  return item != NULL;
}

/* What the rank did from `begin` to `end`: the node's, or what is not known. */
static bool add_node(struct pto_exchange_bytes *out, const struct place *place, uint32_t rank, uint32_t node,
                     uint64_t begin, uint64_t end) {
  const struct pto_event_graph *graph = &place->graph;
  const struct pto_trace_segment *segment = node == NONE ? NULL : pto_event_segment(graph, node);
  struct pto_rank_step step = {.begin = begin,
                               .end = end,
                               .rank = rank,
                               .peer = PTO_RANK_NO_PEER,
                               .activity = node == NONE ? PTO_ACTIVITY_other : pto_path_activity(graph, node),
                               .task = pto_segment_task(segment)};
  const struct pto_kernel *kernel = node == NONE ? NULL : pto_path_kernel(graph, node);
  const struct pto_trace_remote *record =
      node != NONE && place->record_of[node] ? record_at(place, place->record_of[node] - 1) : NULL;
  if (segment) step.resource = segment->resource;
  if (kernel) strncpy(step.kernel, kernel->name, sizeof step.kernel - 1);
  if (record && (record->kind == PTO_REMOTE_PUT || record->kind == PTO_REMOTE_GET)) step.peer = record->peer;
  step.is_back = record && record->kind == PTO_REMOTE_GET;
  return add_step(out, &step);
}

/* The message that the hop is of, in the log of the rank that sent it; UINT64_MAX: it is not there. */
static uint64_t find_sent(const struct place *place, const struct hop *hop) {
  if (!hop->is_make) {
    const struct sent key = {.sequence = hop->sequence};
    const struct sent *sent =
        place->sent_count ? bsearch(&key, place->sent, place->sent_count, sizeof key, order_sent) : NULL;
    return sent ? sent->record : UINT64_MAX;
  }
  for (uint64_t i = 0; i < place->trace->remotes.count; i++)
    if (record_at(place, i)->kind == PTO_REMOTE_MAKE && record_at(place, i)->comm == hop->comm) return i;
  return UINT64_MAX;
}

/* The way of the message, back to when it was sent.  *node: what its rank had done before. */
static bool take_way(struct pto_exchange_bytes *out, const struct place *place, struct hop *hop, uint32_t *node) {
  const uint64_t index = find_sent(place, hop);
  *node = index == UINT64_MAX ? NONE : place->graph.remotes[index].before;
  if (index == UINT64_MAX) return true;
  const struct pto_trace_remote *record = record_at(place, index);
  const uint64_t sent_at = pto_min_u64(record->begin, hop->time);
  const struct pto_rank_step way = {
      .begin = sent_at,
      .end = hop->time,
      .rank = hop->rank,
      .peer = hop->target,
      .activity = PTO_ACTIVITY_notify,
      .task = record->task,
      .resource = {record->task == PTO_SEGMENT_NO_TASK ? PTO_RESOURCE_ORCHESTRATOR : PTO_RESOURCE_CORE, record->core}};
  hop->time = sent_at;
  return add_step(out, &way);
}

/* The wait that this node's time is; NULL: it is none of another rank's message. */
static const struct pto_trace_remote *wait_of(const struct place *place, uint32_t node) {
  const struct pto_trace_remote *record = place->record_of[node] ? record_at(place, place->record_of[node] - 1) : NULL;
  return record && (record->kind == PTO_REMOTE_WAIT || record->kind == PTO_REMOTE_MAKE) ? record : NULL;
}

/* From the hop's rank and time back, until a message of another rank is what it waited for, or the run's begin. */
static bool walk(struct pto_exchange_bytes *out, const struct place *place, struct hop *hop, bool is_first) {
  const uint32_t rank = hop->rank;
  uint32_t node = is_first && place->graph.node_count ? pto_event_graph_last(&place->graph) : NONE;
  bool is_well = is_first || take_way(out, place, hop, &node);
  while (is_well && hop->time > 0 && node != NONE) {
    const struct pto_event_node *its = &place->graph.nodes[node];
    const struct pto_trace_remote *wait = wait_of(place, node);
    if (its->end < hop->time) { /* what it did between is not known */
      is_well = add_node(out, place, rank, NONE, its->end, hop->time);
      hop->time = its->end;
    }
    if (wait && its->duration) {
      hop->is_make = wait->kind == PTO_REMOTE_MAKE;
      hop->rank = wait->peer;
      hop->target = rank;
      hop->comm = wait->comm;
      hop->sequence = wait->sequence;
      return is_well;
    }
    const uint64_t begin = pto_min_u64(its->end - its->duration, hop->time);
    is_well = is_well && add_node(out, place, rank, node, begin, hop->time);
    hop->time = begin;
    node = pto_event_graph_binding(&place->graph, node);
  }
  is_well = is_well && add_node(out, place, rank, NONE, 0, hop->time);
  hop->is_over = true;
  return is_well;
}

/* ---- from rank to rank ---- */

/* The last to end, of several the lowest. */
static bool find_last(const struct pto_ranks *ranks, const struct place *places, struct hop *hop) {
  struct pto_exchange_bytes out = {0}, in = {0};
  bool is_well = true;
  for (uint32_t i = 0; i < ranks->rank_count && is_well; i++) {
    struct hop *its = places[i].trace ? pto_exchange_bytes_add(&out, sizeof *its) : NULL;
    if (its) *its = (struct hop){.rank = i, .time = places[i].graph.end};
    is_well = its || !places[i].trace;
  }
  is_well = pto_ranks_share(ranks, &out, &in, is_well);
  for (size_t at = 0; is_well && at < in.count; at += sizeof *hop) {
    const struct hop *its = (const struct hop *)(const void *)(in.data + at);
    if (its->time > hop->time) *hop = *its;
  }
  pto_exchange_bytes_fini(&in);
  return is_well;
}

static bool take_step(struct pto_ranks_path *path, const struct pto_rank_step *step) {
  const uint64_t time = step->end - step->begin;
  const bool is_link = step->peer != PTO_RANK_NO_PEER;
  path->times[step->activity] += time;
  if (is_link)
    path->link_times[step->is_back ? step->peer : step->rank][step->is_back ? step->rank : step->peer] += time;
  else
    path->rank_times[step->rank] += time;
  struct pto_rank_step *last = path->step_count ? &path->steps[path->step_count - 1] : NULL;
  if (last && last->rank == step->rank && last->peer == step->peer && last->activity == step->activity &&
      last->resource.kind == step->resource.kind && last->resource.index == step->resource.index &&
      (step->resource.kind != PTO_RESOURCE_CORE || last->task == step->task)) {
    last->begin = step->begin;
    last->task = step->task;
    return true;
  }
  struct pto_rank_step *fresh = pto_grow(&path->steps, &path->step_count, &path->step_capacity, sizeof *fresh);
  if (fresh) *fresh = *step;
  return fresh != NULL;
}

/* One stretch, which the process walks that has the rank. */
static bool go_on(const struct pto_ranks *ranks, const struct place *places, struct pto_ranks_path *path,
                  struct hop *hop, bool is_first) {
  struct pto_exchange_bytes out = {0}, in = {0};
  bool is_well = true;
  hop->is_over = true; /* unless the process says where it goes on */
  if (places[hop->rank].trace) {
    hop->is_over = false;
    is_well = walk(&out, &places[hop->rank], hop, is_first);
    struct item *item = is_well ? pto_exchange_bytes_add(&out, sizeof *item) : NULL;
    if (item) *item = (struct item){.is_hop = true, .hop = *hop};
    is_well = item != NULL;
  }
  is_well = pto_ranks_share(ranks, &out, &in, is_well);
  for (size_t at = 0; is_well && at < in.count; at += sizeof(struct item)) {
    const struct item *item = (const struct item *)(const void *)(in.data + at);
    if (item->is_hop)
      *hop = item->hop;
    else
      is_well = take_step(path, &item->step);
  }
  pto_exchange_bytes_fini(&out);
  pto_exchange_bytes_fini(&in);
  return is_well;
}

/* Steps were found from the last to the first. */
static void turn_round(struct pto_ranks_path *path) {
  for (size_t i = 0; i < path->step_count / 2; i++) {
    const struct pto_rank_step step = path->steps[i];
    path->steps[i] = path->steps[path->step_count - 1 - i];
    path->steps[path->step_count - 1 - i] = step;
  }
  for (uint32_t i = 0; i < PTO_ACTIVITY_COUNT; i++) path->groups[pto_activity_group(i)] += path->times[i];
  for (uint32_t i = 0; i < PTO_GROUP_COUNT; i++)
    if (path->groups[i] > path->groups[path->group]) path->group = i;
}

int pto_ranks_path_init(const struct pto_ranks *ranks, struct pto_ranks_path *path, struct pto_error *error) {
  struct place *places = calloc(ranks->rank_count, sizeof *places);
  struct hop hop = {0};
  bool is_well = places != NULL;
  memset(path, 0, sizeof *path);
  for (uint32_t i = 0; i < ranks->rank_count && is_well; i++) {
    const struct pto_trace *trace = pto_ranks_trace(ranks, i);
    is_well = !trace || open_place(&places[i], trace);
  }
  struct pto_exchange_bytes none = {0}, all = {0};
  is_well = pto_ranks_share(ranks, &none, &all, is_well); /* so that all go on, or none does */
  pto_exchange_bytes_fini(&all);
  is_well = is_well && find_last(ranks, places, &hop);
  path->makespan = hop.time;
  hop.is_over = hop.time == 0;
  for (bool is_first = true; is_well && !hop.is_over; is_first = false)
    is_well = go_on(ranks, places, path, &hop, is_first);
  turn_round(path);
  for (uint32_t i = 0; places && i < ranks->rank_count; i++) close_place(&places[i]);
  free(places);
  if (is_well) return PTO_OK;
  pto_ranks_path_fini(path);
  return pto_error_set(error, PTO_ENOMEM, "no memory for the critical path over ranks");
}

void pto_ranks_path_fini(struct pto_ranks_path *path) {
  free(path->steps);
  path->steps = NULL;
  path->step_count = path->step_capacity = 0;
  path->makespan = 0;
}
