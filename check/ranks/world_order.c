/* SPDX-License-Identifier: MIT */
#include <check/ranks/world_order.h>

#include <stdlib.h>
#include <string.h>

#include <check/ranks/point_graph.h>
#include <kernels/collective/collective.h>
#include <runtime/base/grow.h>
#include <runtime/trace/remote.h>

/* So many notifies before a set of a signal, and behind it, are held against it. */
#define MOST_BESIDE_SET 64u

/* While it is made.  Points are those of the ranks' graphs, rank by rank, and then the others. */
struct maker {
  struct pto_world_order *order;
  struct pto_error *error;
  struct pto_point_graph points;
  struct pto_order_place *places; /* by point */
  size_t place_count, place_capacity;
  uint32_t *base;       /* by rank: its first point */
  uint32_t **record_at; /* by rank and record: the stretch that it is in */
  uint32_t local_count; /* points of the ranks' graphs */
  /* By point of a rank's graph: */
  uint32_t *last; /* the last stretch of the task */
  bool *has_told; /* which has notified, so it is over */
  bool *has_run;  /* its kernel was called */
};

static int no_memory(struct maker *m) {
  return pto_error_set(m->error, PTO_ENOMEM, "no memory for the order of %u ranks", m->order->ranks->rank_count);
}

static const struct pto_rank *rank_at(const struct maker *m, uint32_t rank) {
  return pto_world_rank(m->order->ranks->world, rank);
}

static const struct pto_trace_log *records_of(const struct maker *m, uint32_t rank) {
  return &pto_ranks_trace(m->order->ranks, rank)->remotes;
}

static const struct pto_trace_remote *record_at(const struct maker *m, uint32_t rank, uint64_t index) {
  return pto_trace_log_at(records_of(m, rank), index);
}

static bool add_edge(struct maker *m, uint32_t from, uint32_t to) {
  return pto_point_graph_add_edge(&m->points, from, to);
}

/* PTO_GRAPH_NONE: no memory. */
static uint32_t add_point(struct maker *m, uint64_t time, struct pto_order_place place) {
  struct pto_order_place *its = pto_grow(&m->places, &m->place_count, &m->place_capacity, sizeof *its);
  if (!its) return PTO_GRAPH_NONE;
  *its = place;
  return pto_point_graph_add(&m->points, time);
}

/* ---- the ranks' own graphs ---- */

static int make_graphs(struct maker *m, uint32_t rules) {
  struct pto_world_order *order = m->order;
  const uint32_t rank_count = order->ranks->rank_count;
  order->graphs = calloc(rank_count, sizeof *order->graphs);
  m->base = calloc(rank_count + 1u, sizeof *m->base);
  m->record_at = calloc(rank_count, sizeof *m->record_at);
  if (!order->graphs || !m->base || !m->record_at) return no_memory(m);
  for (uint32_t r = 0; r < rank_count; r++) {
    const struct pto_trace *trace = pto_ranks_trace(order->ranks, r);
    const int status = pto_access_graph_init(&order->graphs[r], trace, rules, m->error);
    if (status) return status;
    m->base[r + 1] = m->base[r] + order->graphs[r].node_count;
    const uint64_t dropped = trace->remotes.dropped + trace->remote_regions.dropped;
    if (dropped)
      return pto_error_set(m->error, PTO_EINVAL, "the record of rank %u lacks %llu messages that it had no room for", r,
                           (unsigned long long)dropped);
    m->record_at[r] = malloc((trace->remotes.count + 1) * sizeof **m->record_at);
    if (!m->record_at[r]) return no_memory(m);
  }
  m->local_count = m->base[rank_count];
  m->last = malloc((m->local_count + 1u) * sizeof *m->last);
  m->has_run = calloc(m->local_count + 1u, sizeof *m->has_run);
  m->has_told = calloc(m->local_count + 1u, sizeof *m->has_told);
  if (!m->last || !m->has_run || !m->has_told) return no_memory(m);
  for (uint32_t r = 0, i = 0; r < rank_count; r++)
    for (; i < m->base[r + 1]; i++) {
      m->last[i] = i;
      if (add_point(m, 0, (struct pto_order_place){r, i - m->base[r], PTO_GRAPH_NONE}) == PTO_GRAPH_NONE)
        return no_memory(m);
    }
  return PTO_OK;
}

/* When tasks began. */
static void take_times(struct maker *m, uint32_t rank) {
  const struct pto_trace *trace = pto_ranks_trace(m->order->ranks, rank);
  const struct pto_access_graph *graph = &m->order->graphs[rank];
  for (uint32_t log = 0; log < trace->span_log_count; log++)
    for (uint64_t i = 0; i < trace->spans[log].count; i++) {
      const struct pto_trace_span *span = pto_trace_log_at(&trace->spans[log], i);
      if (span->task >= graph->task_count) continue;
      const uint32_t point = m->base[rank] + graph->node_of_task[span->task];
      uint64_t *time = &m->points.times[point];
      m->has_run[point] = true;
      if (*time == 0 || span->begin < *time) *time = span->begin;
    }
}

/* ---- windows ---- */

static uint32_t find_window(const struct pto_world_order *order, uint64_t comm, uint32_t owner) {
  uint32_t i = 0;
  while (i < order->window_count && (order->windows[i].comm != comm || order->windows[i].owner != owner)) i++;
  return i;
}

static bool add_windows(struct maker *m, uint32_t rank) {
  struct pto_world_order *order = m->order;
  const struct pto_rank *its = rank_at(m, rank);
  for (size_t i = 0; i < its->number_count; i++) {
    struct pto_order_window *window =
        pto_grow(&order->windows, &order->window_count, &order->window_capacity, sizeof *window);
    if (!window) return false;
    *window = (struct pto_order_window){its->by_number[i]->uid, rank, its->by_number[i]->number};
  }
  return true;
}

static struct pto_window_access *add_access(struct maker *m) {
  struct pto_world_order *order = m->order;
  return pto_grow(&order->accesses, &order->access_count, &order->access_capacity, sizeof *order->accesses);
}

/* ---- stretches of tasks ---- */

/* What the record reads or writes. */
static bool take_access(struct maker *m, uint32_t rank, const struct pto_trace_remote *record, uint32_t node,
                        uint32_t point) {
  const struct pto_trace *trace = pto_ranks_trace(m->order->ranks, rank);
  const struct pto_region *region = pto_trace_log_at(&trace->remote_regions, record->sequence);
  const bool is_write = record->kind == PTO_REMOTE_WRITE;
  if (pto_region_is_empty(region)) return true;
  struct pto_window_access *access = add_access(m);
  if (!access) return false;
  *access = (struct pto_window_access){.begin = point,
                                       .node = point,
                                       .rank = rank,
                                       .window = find_window(m->order, record->comm, record->peer),
                                       .local = PTO_GRAPH_NONE,
                                       .its_node = node,
                                       .reads = !is_write,
                                       .writes = is_write,
                                       .verb = pto_window_verb_of(record, rank),
                                       .region = *region};
  return true;
}

static bool make_stretches(struct maker *m, uint32_t rank) {
  const struct pto_access_graph *graph = &m->order->graphs[rank];
  for (uint64_t i = 0; i < records_of(m, rank)->count; i++) {
    const struct pto_trace_remote *record = record_at(m, rank, i);
    const uint32_t kind = record->kind;
    const bool is_access = (kind == PTO_REMOTE_READ || kind == PTO_REMOTE_WRITE) && record->comm; /* of a window */
    const bool has_waited = pto_remote_has_waited(record);
    const bool tells = kind == PTO_REMOTE_NOTIFY, sets = tells && record->is_set;
    m->record_at[rank][i] = PTO_GRAPH_NONE;
    if (!(is_access || has_waited || tells) || record->task >= graph->task_count) continue;
    const uint32_t node = graph->node_of_task[record->task], point = m->base[rank] + node;
    if (has_waited || ((is_access || sets) && m->has_told[point])) {
      const uint32_t next = add_point(m, record->end, (struct pto_order_place){rank, node, (uint32_t)i});
      if (next == PTO_GRAPH_NONE || !add_edge(m, m->last[point], next)) return false;
      m->last[point] = next;
      m->has_told[point] = false;
    }
    m->has_told[point] |= tells;
    m->record_at[rank][i] = m->last[point];
    if (is_access && !take_access(m, rank, record, node, m->last[point])) return false;
  }
  return true;
}

/* ---- what tasks declare, and what the host does ---- */

bool pto_task_is_collective(const struct pto_trace_task *task) {
  const struct pto_kernel *kernel = task->kernels[PTO_ROLE_AIV0];
  for (uint32_t i = 0; i < PTO_COLLECTIVE_COUNT; i++)
    if (kernel == pto_collective_kernels[i]) return true;
  return kernel && (kernel == &pto_moe_dispatch_meta_kernel || kernel == &pto_moe_dispatch_data_kernel ||
                    kernel == &pto_moe_combine_kernel);
}

/* Of a run that failed: what never ran, or did not come back, has touched nothing that could be told. */
static bool has_ended(const struct maker *m, uint32_t rank, const struct pto_graph_node *node) {
  size_t count;
  const struct pto_stuck_wait *waits = pto_stuck_waits(pto_world_part(m->order->ranks->world), &count);
  if (node->is_host) return true;
  for (size_t i = 0; i < count; i++)
    if (waits[i].rank == rank && waits[i].task == node->index) return false;
  return m->has_run[m->base[rank] + m->order->graphs[rank].node_of_task[node->index]];
}

/* A collective declares the whole window, and keeps to its half. */
static bool take_declared(struct maker *m, uint32_t rank, uint32_t index) {
  const struct pto_access_graph *graph = &m->order->graphs[rank];
  const struct pto_graph_access *a = &graph->accesses[index];
  const struct pto_rank *its = rank_at(m, rank);
  const struct pto_graph_node *node = &graph->nodes[a->node];
  const uint32_t point = m->base[rank] + a->node;
  struct pto_region region;
  if (a->space || (!a->reads && !a->writes)) return true;
  if (m->order->ranks->error.status && !has_ended(m, rank, node)) return true;
  if (!node->is_host && pto_task_is_collective(pto_graph_task(graph, a->node))) return true;
  pto_graph_region(graph, a, &region);
  for (size_t i = 0; i < its->number_count; i++) {
    const struct pto_rank_comm *comm = its->by_number[i];
    const uint64_t begin = (uint64_t)(uintptr_t)comm->window.addr;
    if (region.start < begin || region.start - begin >= comm->window_bytes) continue;
    struct pto_window_access *access = add_access(m);
    if (!access) return false;
    *access = (struct pto_window_access){.begin = point,
                                         .node = m->last[point],
                                         .rank = rank,
                                         .window = find_window(m->order, comm->uid, rank),
                                         .local = index,
                                         .its_node = a->node,
                                         .reads = a->reads,
                                         .writes = a->writes,
                                         .verb = !a->writes ? PTO_WINDOW_READS
                                                 : a->reads ? PTO_WINDOW_UPDATES
                                                            : PTO_WINDOW_WRITES,
                                         .region = region};
    access->region.start -= begin;
    access->region.end -= begin;
    access->region.is_fuzzy = 0;
    return true;
  }
  return true;
}

static bool take_all_declared(struct maker *m, uint32_t rank) {
  for (uint32_t i = 0; i < m->order->graphs[rank].access_count; i++)
    if (!take_declared(m, rank, i)) return false;
  return true;
}

/* ---- signals ---- */

/* A record of a signal: of its rank that has waited for it, or a notify of any rank. */
struct of_signal {
  uint32_t owner; /* whose signal it is */
  uint32_t signal;
  uint64_t comm;
  uint64_t at;   /* when it happened to the owner */
  uint32_t rank; /* whose record it is */
  uint64_t index;
};

/* As they happened: what comes from others comes first, in order of its sources. */
static int compare_signals(const void *left, const void *right) {
  const struct of_signal *a = left, *b = right;
  const bool a_is_own = a->rank == a->owner, b_is_own = b->rank == b->owner;
  if (a->owner != b->owner) return a->owner < b->owner ? -1 : 1;
  if (a->comm != b->comm) return a->comm < b->comm ? -1 : 1;
  if (a->signal != b->signal) return a->signal < b->signal ? -1 : 1;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  if (a_is_own != b_is_own) return a_is_own ? 1 : -1;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

/* What has come to one signal of a rank so far. */
struct signal {
  const struct of_signal **heard; /* notifies, in the order in which they came; borrowed */
  int32_t *values;                /* of the signal, behind each */
  size_t count;
  size_t known;                        /* so many of them come before what the rank does now, */
  bool *is_spare;                      /* but for these: waits for less were over without them.  Borrowed */
  size_t first_spare;                  /* none before it is */
  const struct pto_trace_remote *last; /* that has waited; NULL: none has */
};

static int32_t value_behind(const struct signal *s, size_t count) { return count ? s->values[count - 1] : 0; }

static void hear(const struct maker *m, struct signal *s, const struct of_signal *notify) {
  const struct pto_trace_remote *record = record_at(m, notify->rank, notify->index);
  const uint32_t before = (uint32_t)value_behind(s, s->count);
  s->heard[s->count] = notify;
  s->values[s->count++] = record->is_set ? record->value : (int32_t)(before + (uint32_t)record->value);
  s->is_spare[s->count - 1] = false;
  if (notify->rank == notify->owner && record->is_set) s->known = s->first_spare = s->count;
}

static bool holds(const struct pto_trace_remote *wait, int32_t value) {
  return wait->is_equal ? value == wait->value : value >= wait->value;
}

static const struct pto_trace_remote *heard_at(const struct maker *m, const struct signal *s, size_t i) {
  return record_at(m, s->heard[i]->rank, s->heard[i]->index);
}

/* Of those from `at` on to `to`: what the notifies of the rank of `at` have added.  Without it none of these had come.
 */
static uint64_t added_from(const struct maker *m, const struct signal *s, size_t at, size_t to) {
  uint64_t added = 0;
  for (size_t i = at; i < to; i++)
    if (s->heard[i]->rank == s->heard[at]->rank) added += (uint32_t)heard_at(m, s, i)->value;
  return added;
}

/* The point comes after the notifies from `from` on to `to`, as far as the last that set the signal.  The last may have
 * added more than the wait was for: then it is after none of those that `spare` makes up for, which came first by
 * chance alone. */
static bool join(struct maker *m, struct signal *s, uint32_t point, size_t from, size_t to, uint64_t spare) {
  s->first_spare = to;
  for (size_t i = from; i < to; i++)
    if (heard_at(m, s, i)->is_set) from = i;
  for (size_t i = from; i < to; i++) {
    const struct of_signal *notify = s->heard[i];
    const uint32_t before = m->record_at[notify->rank][notify->index];
    if (before == PTO_GRAPH_NONE || notify->rank == notify->owner) continue;
    const bool is_needed = spare == 0 || heard_at(m, s, from)->is_set || added_from(m, s, i, to) > spare;
    s->is_spare[i] &= !is_needed;
    if (s->is_spare[i] && s->first_spare == to) s->first_spare = i;
    if (is_needed && !add_edge(m, before, point)) return false;
  }
  return true;
}

static bool add_idle(struct pto_world_order *order, const struct of_signal *item, const struct pto_trace_remote *record,
                     bool is_first) {
  struct pto_idle_wait *idle = pto_grow(&order->idle, &order->idle_count, &order->idle_capacity, sizeof *idle);
  if (!idle) return false;
  *idle = (struct pto_idle_wait){item->rank,    item->signal,     record->task, item->comm,
                                 record->value, record->is_equal, is_first};
  return true;
}

/* As of a task that tests several signals in turn until all are so. */
static bool is_same_test(const struct pto_trace_remote *record, const struct pto_trace_remote *before) {
  return before && record->kind == PTO_REMOTE_TEST && before->task == record->task && before->value == record->value &&
         before->is_equal == record->is_equal;
}

static bool take_wait(struct maker *m, struct signal *s, const struct of_signal *item) {
  const struct pto_trace_remote *record = record_at(m, item->rank, item->index);
  const uint32_t point = m->record_at[item->rank][item->index];
  size_t to = s->known;
  if (point == PTO_GRAPH_NONE) return true;
  while (to < s->count && !holds(record, value_behind(s, to))) to++;
  const size_t from = pto_min_u64(s->first_spare, s->known);
  const bool is_again = is_same_test(record, s->last);
  for (size_t i = s->known; i < to; i++) s->is_spare[i] = true;
  s->known = to;
  s->last = record;
  if (from == to && !is_again && !add_idle(m->order, item, record, to == 0)) return false;
  const int64_t over = (int64_t)value_behind(s, to) - record->value;
  return join(m, s, point, from, to, from < to && !record->is_equal && over > 0 ? (uint64_t)over : 0);
}

static bool add_unheard(struct maker *m, const struct of_signal *notify) {
  struct pto_world_order *order = m->order;
  struct pto_unheard *unheard =
      pto_grow(&order->unheard, &order->unheard_count, &order->unheard_capacity, sizeof *unheard);
  if (!unheard) return false;
  *unheard = (struct pto_unheard){notify->owner,
                                  notify->signal,
                                  notify->comm,
                                  notify->rank,
                                  record_at(m, notify->rank, notify->index)->task,
                                  record_at(m, notify->rank, notify->index)->is_set};
  return true;
}

/* Where the signal was never waited for, or less than came. */
static bool take_unheard(struct maker *m, const struct signal *s) {
  for (size_t i = s->first_spare; i < s->count; i++)
    if ((i >= s->known || s->is_spare[i]) && !add_unheard(m, s->heard[i])) return false;
  return true;
}

static bool add_set(struct maker *m, const struct of_signal *set, const struct of_signal *other) {
  struct pto_world_order *order = m->order;
  const struct of_signal *both[2] = {set, other};
  struct pto_signal_set *added = pto_grow(&order->sets, &order->set_count, &order->set_capacity, sizeof *added);
  if (!added) return false;
  *added = (struct pto_signal_set){.owner = set->owner, .signal = set->signal, .comm = set->comm};
  for (int i = 0; i < 2; i++) {
    const struct pto_trace_remote *record = record_at(m, both[i]->rank, both[i]->index);
    added->ranks[i] = both[i]->rank;
    added->nodes[i] = m->record_at[both[i]->rank][both[i]->index];
    added->tasks[i] = record->task;
    added->values[i] = record->value;
  }
  return true;
}

/* Each set of the signal, with the nearest of other ranks' notifies that add to it, on either side. */
static bool take_sets(struct maker *m, const struct signal *s) {
  for (size_t i = 0; i < s->count; i++) {
    const struct of_signal *set = s->heard[i];
    const size_t from = i > MOST_BESIDE_SET ? i - MOST_BESIDE_SET : 0;
    if (!record_at(m, set->rank, set->index)->is_set || m->record_at[set->rank][set->index] == PTO_GRAPH_NONE) continue;
    for (size_t k = from; k < s->count && k <= i + MOST_BESIDE_SET; k++) {
      const struct of_signal *other = s->heard[k];
      if (other->rank == set->rank || m->record_at[other->rank][other->index] == PTO_GRAPH_NONE) continue;
      if (!record_at(m, other->rank, other->index)->is_set && !add_set(m, set, other)) return false;
    }
  }
  return true;
}

/* `s` has the arrays. */
static bool take_signal(struct maker *m, const struct of_signal *items, size_t count, struct signal s) {
  for (size_t i = 0; i < count; i++) {
    if (record_at(m, items[i].rank, items[i].index)->kind == PTO_REMOTE_NOTIFY)
      hear(m, &s, &items[i]);
    else if (!take_wait(m, &s, &items[i]))
      return false;
  }
  return take_unheard(m, &s) && take_sets(m, &s);
}

static size_t find_of_signals(const struct maker *m, uint32_t rank, struct of_signal *items) {
  size_t count = 0;
  for (uint64_t i = 0; i < records_of(m, rank)->count; i++) {
    const struct pto_trace_remote *record = record_at(m, rank, i);
    const bool tells = record->kind == PTO_REMOTE_NOTIFY;
    if (!tells && !pto_remote_has_waited(record)) continue;
    items[count++] = (struct of_signal){.owner = tells ? record->peer : rank,
                                        .signal = record->signal,
                                        .comm = record->comm,
                                        .at = record->end,
                                        .rank = rank,
                                        .index = i};
  }
  return count;
}

static bool is_same_signal(const struct of_signal *a, const struct of_signal *b) {
  return a->owner == b->owner && a->comm == b->comm && a->signal == b->signal;
}

static bool take_signals(struct maker *m) {
  const uint32_t rank_count = m->order->ranks->rank_count;
  size_t most = 0, count = 0;
  for (uint32_t r = 0; r < rank_count; r++) most += records_of(m, r)->count;
  struct of_signal *items = malloc((most + 1) * sizeof *items);
  const struct of_signal **heard = malloc((most + 1) * sizeof *heard);
  int32_t *values = malloc((most + 1) * sizeof *values);
  bool *is_spare = malloc((most + 1) * sizeof *is_spare);
  bool is_well = items && heard && values && is_spare;
  for (uint32_t r = 0; is_well && r < rank_count; r++) count += find_of_signals(m, r, items + count);
  if (is_well) qsort(items, count, sizeof *items, compare_signals);
  for (size_t first = 0, end; is_well && first < count; first = end) {
    for (end = first; end < count && is_same_signal(&items[end], &items[first]);) end++;
    const struct signal none = {.heard = heard, .values = values, .is_spare = is_spare};
    is_well = take_signal(m, items + first, end - first, none);
  }
  free(items);
  free(heard);
  free(values);
  free(is_spare);
  return is_well;
}

/* ---- communicators ---- */

/* The last host access of the rank before that many tasks; PTO_GRAPH_NONE: there is none. */
static uint32_t find_host_before(const struct pto_access_graph *graph, uint64_t tasks) {
  uint32_t found = PTO_GRAPH_NONE;
  for (uint32_t i = 0; i < graph->node_count; i++)
    if (graph->nodes[i].is_host && pto_graph_host(graph, i)->task_count < tasks) found = i;
  return found;
}

/* Of one rank: its host before, and what it does later, up to the host's next access, which has the rest. */
static bool meet_at(struct maker *m, uint32_t rank, uint64_t tasks, uint32_t creation) {
  const struct pto_access_graph *graph = &m->order->graphs[rank];
  const uint32_t before = find_host_before(graph, tasks);
  if (before != PTO_GRAPH_NONE && !add_edge(m, m->base[rank] + before, creation)) return false;
  if (tasks >= graph->task_count) return true;
  for (uint32_t i = graph->node_of_task[tasks]; i < graph->node_count; i++) {
    if (!add_edge(m, creation, m->base[rank] + i)) return false;
    if (graph->nodes[i].is_host) break;
  }
  return true;
}

static const struct pto_trace_remote *find_made(const struct maker *m, uint32_t rank, uint64_t comm) {
  for (uint64_t i = 0; i < records_of(m, rank)->count; i++) {
    const struct pto_trace_remote *record = record_at(m, rank, i);
    if (record->kind == PTO_REMOTE_MAKE && record->comm == comm) return record;
  }
  return NULL;
}

/* Those before which a host has waited for anything; the windows of a communicator follow those of others. */
static bool take_creations(struct maker *m) {
  struct pto_world_order *order = m->order;
  for (size_t w = 0; w < order->window_count; w++) {
    const uint64_t comm = order->windows[w].comm;
    const struct pto_rank_comm *its = pto_rank_comm_of(rank_at(m, order->windows[w].owner), comm);
    bool has_waited = false;
    if (its->place != 0) continue; /* once a communicator */
    for (uint32_t i = 0; i < its->size; i++) {
      const struct pto_trace_remote *made = find_made(m, its->ranks[i], comm);
      has_waited |= made && find_host_before(&order->graphs[its->ranks[i]], made->sequence) != PTO_GRAPH_NONE;
    }
    const struct pto_order_place of_all = {PTO_GRAPH_NONE, PTO_GRAPH_NONE, PTO_GRAPH_NONE};
    const uint32_t creation = has_waited ? add_point(m, 0, of_all) : 0;
    if (creation == PTO_GRAPH_NONE) return false;
    for (uint32_t i = 0; has_waited && i < its->size; i++) {
      const struct pto_trace_remote *made = find_made(m, its->ranks[i], comm);
      if (made && !meet_at(m, its->ranks[i], made->sequence, creation)) return false;
    }
  }
  return true;
}

/* ---- the whole ---- */

static bool add_local_edges(struct maker *m, uint32_t rank) {
  const struct pto_access_graph *graph = &m->order->graphs[rank];
  for (uint32_t i = 0; i < graph->node_count; i++)
    for (uint32_t k = 0; k < graph->nodes[i].before_count; k++)
      if (!add_edge(m, m->last[m->base[rank] + graph->before[graph->nodes[i].first_before + k]], m->base[rank] + i))
        return false;
  return true;
}

static int compare_accesses(const void *left, const void *right) {
  const struct pto_window_access *a = left, *b = right;
  if (a->node != b->node) return a->node < b->node ? -1 : 1;
  if (a->local != b->local) return a->local < b->local ? -1 : 1;
  if (a->region.start != b->region.start) return a->region.start < b->region.start ? -1 : 1;
  return (a->writes > b->writes) - (a->writes < b->writes);
}

static void number_accesses(struct maker *m) {
  struct pto_world_order *order = m->order;
  for (size_t i = 0; i < order->set_count; i++)
    for (int k = 0; k < 2; k++) order->sets[i].nodes[k] = m->points.number[order->sets[i].nodes[k]];
  for (size_t i = 0; i < order->access_count; i++) {
    order->accesses[i].begin = m->points.number[order->accesses[i].begin];
    order->accesses[i].node = m->points.number[order->accesses[i].node];
  }
  if (order->access_count) qsort(order->accesses, order->access_count, sizeof *order->accesses, compare_accesses);
}

static bool make_points(struct maker *m) {
  const uint32_t rank_count = m->order->ranks->rank_count;
  for (uint32_t r = 0; r < rank_count; r++)
    if (!add_windows(m, r)) return false;
  for (uint32_t r = 0; r < rank_count; r++) {
    take_times(m, r);
    if (!make_stretches(m, r)) return false;
  }
  for (uint32_t r = 0; r < rank_count; r++)
    if (!take_all_declared(m, r) || !add_local_edges(m, r)) return false;
  return take_signals(m) && take_creations(m);
}

/* Where points have come to. */
static bool number_places(struct maker *m) {
  struct pto_world_order *order = m->order;
  const uint32_t rank_count = order->ranks->rank_count;
  order->places = malloc((m->place_count + 1) * sizeof *order->places);
  order->first = calloc(rank_count, sizeof *order->first);
  order->last = calloc(rank_count, sizeof *order->last);
  if (!order->places || !order->first || !order->last) return false;
  for (size_t i = 0; i < m->place_count; i++) order->places[m->points.number[i]] = m->places[i];
  for (uint32_t r = 0; r < rank_count; r++) {
    const uint32_t count = m->base[r + 1] - m->base[r];
    order->first[r] = malloc((count + 1u) * sizeof **order->first);
    order->last[r] = malloc((count + 1u) * sizeof **order->last);
    if (!order->first[r] || !order->last[r]) return false;
    for (uint32_t i = 0; i < count; i++) {
      order->first[r][i] = m->points.number[m->base[r] + i];
      order->last[r][i] = m->points.number[m->last[m->base[r] + i]];
    }
  }
  return true;
}

static int make(struct maker *m, uint32_t rules) {
  struct pto_world_order *order = m->order;
  const int status = make_graphs(m, rules);
  if (status) return status;
  if (!make_points(m) || !pto_point_graph_number(&m->points, &order->graph) || !number_places(m)) return no_memory(m);
  number_accesses(m);
  return pto_reach_init(&order->reach, &order->graph) ? no_memory(m) : PTO_OK;
}

int pto_world_order_init(struct pto_world_order *order, struct pto_ranks *ranks, uint32_t rules,
                         struct pto_error *error) {
  *order = (struct pto_world_order){.ranks = ranks};
  struct maker m = {.order = order, .error = error};
  const int status = make(&m, rules);
  for (uint32_t r = 0; m.record_at && r < ranks->rank_count; r++) free(m.record_at[r]);
  pto_point_graph_fini(&m.points);
  free(m.record_at);
  free(m.places);
  free(m.base);
  free(m.last);
  free(m.has_told);
  free(m.has_run);
  return status;
}

void pto_world_order_fini(struct pto_world_order *order) {
  for (uint32_t r = 0; order->graphs && r < order->ranks->rank_count; r++) pto_access_graph_fini(&order->graphs[r]);
  for (uint32_t r = 0; order->first && r < order->ranks->rank_count; r++) free(order->first[r]);
  for (uint32_t r = 0; order->last && r < order->ranks->rank_count; r++) free(order->last[r]);
  free(order->first);
  free(order->last);
  free(order->places);
  free(order->graphs);
  pto_reach_fini(&order->reach);
  pto_access_graph_fini(&order->graph);
  free(order->windows);
  free(order->accesses);
  free(order->unheard);
  free(order->idle);
  free(order->sets);
  memset(order, 0, sizeof *order);
}

bool pto_world_order_has(struct pto_world_order *order, const struct pto_window_access *a,
                         const struct pto_window_access *b) {
  return pto_reach_has_path(&order->reach, a->begin, b->node) || pto_reach_has_path(&order->reach, b->begin, a->node);
}

static const char *const verb_names[] = {[PTO_WINDOW_PUTS] = "puts",
                                         [PTO_WINDOW_GETS] = "gets",
                                         [PTO_WINDOW_READS] = "reads",
                                         [PTO_WINDOW_WRITES] = "writes",
                                         [PTO_WINDOW_UPDATES] = "reads and writes"};

enum pto_window_verb pto_window_verb_of(const struct pto_trace_remote *record, uint32_t rank) {
  if (record->kind == PTO_REMOTE_WRITE) return record->peer == rank ? PTO_WINDOW_WRITES : PTO_WINDOW_PUTS;
  return record->peer == rank ? PTO_WINDOW_READS : PTO_WINDOW_GETS;
}

const char *pto_window_verb_name(uint32_t verb) { return verb_names[verb]; }
