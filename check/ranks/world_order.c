/* SPDX-License-Identifier: MIT */
#include <check/ranks/world_order.h>

#include <stdlib.h>
#include <string.h>

#include <kernels/collective/collective.h>
#include <runtime/base/grow.h>

struct edge {
  uint32_t from, to;
};

/* While it is made.  A *point* is a node before it has its number: those of the ranks' graphs, rank by rank, and then
 * the others. */
struct maker {
  struct pto_world_order *order;
  struct pto_error *error;
  uint32_t *base;       /* by rank: its first point */
  uint32_t *last;       /* by point of a rank's graph: the last stretch of the task */
  uint32_t **event_at;  /* by rank and event: the stretch that it is in */
  uint32_t local_count; /* points of the ranks' graphs */
  bool *has_run;        /* by point of a rank's graph: its kernel was called */
  uint64_t *times;      /* by point: about when it happened; a hint for the numbers */
  size_t point_count, point_capacity;
  bool *has_told; /* by point: it has notified, so it is over */
  size_t told_count, told_capacity;
  struct edge *edges;
  size_t edge_count, edge_capacity;
  uint32_t *first_edge; /* by point: of those that lead to it, once they are sorted */
  uint32_t *number;     /* by point */
};

static int no_memory(struct maker *m) {
  return pto_error_set(m->error, PTO_ENOMEM, "no memory for the order of %u ranks", m->order->ranks->rank_count);
}

static const struct pto_rank *rank_at(const struct maker *m, uint32_t rank) {
  return pto_world_rank(m->order->ranks->world, rank);
}

static bool add_edge(struct maker *m, uint32_t from, uint32_t to) {
  struct edge *edge = pto_grow(&m->edges, &m->edge_count, &m->edge_capacity, sizeof *edge);
  if (edge) *edge = (struct edge){from, to};
  return edge != NULL;
}

/* PTO_GRAPH_NONE: no memory. */
static uint32_t add_point(struct maker *m, uint64_t time) {
  uint64_t *its_time = pto_grow(&m->times, &m->point_count, &m->point_capacity, sizeof *its_time);
  const bool *told = pto_grow(&m->has_told, &m->told_count, &m->told_capacity, sizeof *told);
  if (!its_time || !told || m->point_count > UINT32_MAX - 1) return PTO_GRAPH_NONE;
  *its_time = time;
  return (uint32_t)m->point_count - 1;
}

/* ---- the ranks' own graphs ---- */

static int make_graphs(struct maker *m, uint32_t rules) {
  struct pto_world_order *order = m->order;
  const uint32_t rank_count = order->ranks->rank_count;
  order->graphs = calloc(rank_count, sizeof *order->graphs);
  m->base = calloc(rank_count + 1u, sizeof *m->base);
  m->event_at = calloc(rank_count, sizeof *m->event_at);
  if (!order->graphs || !m->base || !m->event_at) return no_memory(m);
  for (uint32_t r = 0; r < rank_count; r++) {
    const struct pto_trace *trace = pto_session_trace(&order->ranks->sessions[r]);
    const int status = pto_access_graph_init(&order->graphs[r], trace, rules, m->error);
    if (status) return status;
    m->base[r + 1] = m->base[r] + order->graphs[r].node_count;
    m->event_at[r] = malloc((rank_at(m, r)->event_count + 1) * sizeof **m->event_at);
    if (!m->event_at[r]) return no_memory(m);
  }
  m->local_count = m->base[rank_count];
  m->last = malloc((m->local_count + 1u) * sizeof *m->last);
  m->has_run = calloc(m->local_count + 1u, sizeof *m->has_run);
  if (!m->last || !m->has_run) return no_memory(m);
  for (uint32_t i = 0; i < m->local_count; i++) {
    m->last[i] = i;
    if (add_point(m, 0) == PTO_GRAPH_NONE) return no_memory(m);
  }
  return PTO_OK;
}

/* When tasks began. */
static void take_times(struct maker *m, uint32_t rank) {
  const struct pto_trace *trace = pto_session_trace(&m->order->ranks->sessions[rank]);
  const struct pto_access_graph *graph = &m->order->graphs[rank];
  for (uint32_t log = 0; log < trace->span_log_count; log++)
    for (uint64_t i = 0; i < trace->spans[log].count; i++) {
      const struct pto_trace_span *span = pto_trace_log_at(&trace->spans[log], i);
      if (span->task >= graph->task_count) continue;
      const uint32_t point = m->base[rank] + graph->node_of_task[span->task];
      uint64_t *time = &m->times[point];
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

/* What the event reads or writes. */
static bool take_access(struct maker *m, uint32_t rank, const struct pto_rank_event *event, uint32_t node,
                        uint32_t point) {
  const struct pto_remote_layout *layout = &rank_at(m, rank)->layouts[event->layout];
  struct pto_tensor tensor = {.ndims = layout->ndims, .dtype = layout->dtype};
  struct pto_window_access *access = add_access(m);
  if (!access) return false;
  memcpy(tensor.shape, layout->shape, sizeof tensor.shape);
  memcpy(tensor.strides, layout->strides, sizeof tensor.strides);
  const bool is_write = event->kind == PTO_RANK_WRITES, is_own = event->peer == rank;
  *access = (struct pto_window_access){.begin = point,
                                       .node = point,
                                       .rank = rank,
                                       .window = find_window(m->order, event->comm, event->peer),
                                       .local = PTO_GRAPH_NONE,
                                       .its_node = node,
                                       .reads = !is_write,
                                       .writes = is_write,
                                       .verb = is_write ? (is_own ? PTO_WINDOW_WRITES : PTO_WINDOW_PUTS)
                                                        : (is_own ? PTO_WINDOW_READS : PTO_WINDOW_GETS)};
  pto_region_from_tensor(&tensor, layout->addr, &access->region);
  if (pto_region_is_empty(&access->region)) m->order->access_count--;
  return true;
}

static bool is_of_task(const struct pto_rank_event *event) {
  return event->kind != PTO_RANK_HEARS && event->kind != PTO_RANK_CREATED;
}

static bool make_stretches(struct maker *m, uint32_t rank) {
  const struct pto_rank *its = rank_at(m, rank);
  const struct pto_access_graph *graph = &m->order->graphs[rank];
  for (size_t i = 0; i < its->event_count; i++) {
    const struct pto_rank_event *event = &its->events[i];
    m->event_at[rank][i] = PTO_GRAPH_NONE;
    if (!is_of_task(event) || event->task >= graph->task_count) continue;
    const uint32_t node = graph->node_of_task[event->task];
    uint32_t *at = &m->last[m->base[rank] + node];
    const bool is_access = event->kind == PTO_RANK_READS || event->kind == PTO_RANK_WRITES;
    const bool has_waited = event->kind == PTO_RANK_WAITED || event->kind == PTO_RANK_TESTED;
    if (has_waited || (is_access && m->has_told[*at])) {
      const uint32_t next = add_point(m, event->at);
      if (next == PTO_GRAPH_NONE || !add_edge(m, *at, next)) return false;
      *at = next;
    }
    if (event->kind == PTO_RANK_NOTIFIES) m->has_told[*at] = true;
    m->event_at[rank][i] = *at;
    if (is_access && !take_access(m, rank, event, node, *at)) return false;
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
  const struct pto_exchange_bytes *stuck = &pto_world_part(m->order->ranks->world)->stuck;
  if (node->is_host) return true;
  for (size_t at = 0; at + sizeof(struct pto_stuck_wait) <= stuck->count; at += sizeof(struct pto_stuck_wait)) {
    const struct pto_stuck_wait *wait = (const struct pto_stuck_wait *)(const void *)(stuck->data + at);
    if (wait->rank == rank && wait->task == node->index) return false;
  }
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

/* What has come to one signal of a rank so far. */
struct signal {
  struct pto_world_order *order;
  const struct pto_rank *rank;
  size_t *heard;   /* events, in the order in which they came; borrowed */
  int32_t *values; /* of the signal, behind each */
  size_t count;
  size_t known;  /* so many of them come before what the rank does now */
  size_t tested; /* by `tested_task`, which knows as many */
  uint64_t tested_task;
};

static int32_t value_behind(const struct signal *s, size_t count) { return count ? s->values[count - 1] : 0; }

static void hear(struct signal *s, size_t index) {
  const struct pto_rank_event *event = &s->rank->events[index];
  const uint32_t before = (uint32_t)value_behind(s, s->count);
  s->heard[s->count] = index;
  s->values[s->count++] = event->is_set ? event->value : (int32_t)(before + (uint32_t)event->value);
  if (event->peer == s->rank->index) s->known = s->count;
}

static bool holds(const struct pto_rank_event *wait, int32_t value) {
  return wait->is_equal ? value == wait->value : value >= wait->value;
}

/* The event at `index` comes after those from `from` on to `to`, as far as the last that set the signal. */
static bool join(struct maker *m, const struct signal *s, uint32_t point, size_t from, size_t to) {
  for (size_t i = from; i < to; i++)
    if (s->rank->events[s->heard[i]].is_set) from = i;
  for (size_t i = from; i < to; i++) {
    const struct pto_rank_event *event = &s->rank->events[s->heard[i]];
    const uint32_t notify = m->event_at[event->peer][event->task];
    if (notify != PTO_GRAPH_NONE && event->peer != s->rank->index && !add_edge(m, notify, point)) return false;
  }
  return true;
}

static bool take_wait(struct maker *m, struct signal *s, uint32_t rank, size_t index) {
  const struct pto_rank_event *event = &s->rank->events[index];
  const uint32_t point = m->event_at[rank][index];
  size_t to = s->known;
  if (point == PTO_GRAPH_NONE) return true;
  if (event->kind == PTO_RANK_TESTED) {
    const size_t from = s->tested_task == event->task && s->tested > s->known ? s->tested : s->known;
    s->tested_task = event->task;
    s->tested = s->count;
    return join(m, s, point, from, s->count);
  }
  while (to < s->count && !holds(event, value_behind(s, to))) to++;
  const size_t from = s->known;
  s->known = to;
  return join(m, s, point, from, to);
}

/* Where the signal was never waited for, or less than came. */
static bool take_unheard(struct maker *m, const struct signal *s) {
  struct pto_world_order *order = m->order;
  for (size_t i = s->tested > s->known ? s->tested : s->known; i < s->count; i++) {
    const struct pto_rank_event *event = &s->rank->events[s->heard[i]];
    struct pto_unheard *unheard =
        pto_grow(&order->unheard, &order->unheard_count, &order->unheard_capacity, sizeof *unheard);
    if (!unheard) return false;
    *unheard = (struct pto_unheard){s->rank->index, event->signal, event->comm, event->peer,
                                    rank_at(m, event->peer)->events[event->task].task};
  }
  return true;
}

/* An event of a signal, for sorting. */
struct of_signal {
  uint64_t comm;
  uint32_t signal;
  size_t index;
};

static int compare_signals(const void *left, const void *right) {
  const struct of_signal *a = left, *b = right;
  if (a->comm != b->comm) return a->comm < b->comm ? -1 : 1;
  if (a->signal != b->signal) return a->signal < b->signal ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

static bool take_signal(struct maker *m, uint32_t rank, const struct of_signal *items, size_t count, size_t *heard,
                        int32_t *values) {
  struct signal s = {
      .order = m->order, .rank = rank_at(m, rank), .heard = heard, .values = values, .tested_task = UINT64_MAX};
  for (size_t i = 0; i < count; i++) {
    if (s.rank->events[items[i].index].kind == PTO_RANK_HEARS)
      hear(&s, items[i].index);
    else if (!take_wait(m, &s, rank, items[i].index))
      return false;
  }
  return take_unheard(m, &s);
}

static bool take_signals(struct maker *m, uint32_t rank) {
  const struct pto_rank *its = rank_at(m, rank);
  struct of_signal *items = malloc((its->event_count + 1) * sizeof *items);
  size_t *heard = malloc((its->event_count + 1) * sizeof *heard);
  int32_t *values = malloc((its->event_count + 1) * sizeof *values);
  bool is_well = items && heard && values;
  size_t count = 0;
  for (size_t i = 0; is_well && i < its->event_count; i++) {
    const struct pto_rank_event *event = &its->events[i];
    const uint32_t kind = event->kind;
    if (kind == PTO_RANK_HEARS || kind == PTO_RANK_WAITED || kind == PTO_RANK_TESTED)
      items[count++] = (struct of_signal){event->comm, event->signal, i};
  }
  if (is_well) qsort(items, count, sizeof *items, compare_signals);
  for (size_t first = 0, end; is_well && first < count; first = end) {
    for (end = first; end < count && items[end].comm == items[first].comm && items[end].signal == items[first].signal;)
      end++;
    is_well = take_signal(m, rank, items + first, end - first, heard, values);
  }
  free(items);
  free(heard);
  free(values);
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

static const struct pto_rank_event *find_created(const struct pto_rank *rank, uint64_t comm) {
  for (size_t i = 0; i < rank->event_count; i++)
    if (rank->events[i].kind == PTO_RANK_CREATED && rank->events[i].comm == comm) return &rank->events[i];
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
      const struct pto_rank_event *event = find_created(rank_at(m, its->ranks[i]), comm);
      has_waited |= event && find_host_before(&order->graphs[its->ranks[i]], event->task) != PTO_GRAPH_NONE;
    }
    const uint32_t creation = has_waited ? add_point(m, 0) : 0;
    if (creation == PTO_GRAPH_NONE) return false;
    for (uint32_t i = 0; has_waited && i < its->size; i++) {
      const struct pto_rank_event *event = find_created(rank_at(m, its->ranks[i]), comm);
      if (event && !meet_at(m, its->ranks[i], event->task, creation)) return false;
    }
  }
  return true;
}

/* ---- numbers ---- */

static bool add_local_edges(struct maker *m, uint32_t rank) {
  const struct pto_access_graph *graph = &m->order->graphs[rank];
  for (uint32_t i = 0; i < graph->node_count; i++)
    for (uint32_t k = 0; k < graph->nodes[i].before_count; k++)
      if (!add_edge(m, m->last[m->base[rank] + graph->before[graph->nodes[i].first_before + k]], m->base[rank] + i))
        return false;
  return true;
}

static int compare_edges(const void *left, const void *right) {
  const struct edge *a = left, *b = right;
  if (a->to != b->to) return a->to < b->to ? -1 : 1;
  return (a->from > b->from) - (a->from < b->from);
}

struct timed {
  uint64_t time;
  uint32_t point;
};

static int compare_times(const void *left, const void *right) {
  const struct timed *a = left, *b = right;
  if (a->time != b->time) return a->time < b->time ? -1 : 1;
  return (a->point > b->point) - (a->point < b->point);
}

/* Numbers a point, and before it all that come before it: a walk, `stack` deep.  What leads round again under rules
 * that the run was not made under is left out. */
static uint32_t number_from(struct maker *m, uint32_t point, uint32_t next, uint32_t *stack, uint32_t *taken) {
  uint32_t depth = 0;
  stack[depth++] = point;
  taken[point] = 0;
  while (depth) {
    const uint32_t top = stack[depth - 1];
    const uint32_t k = m->first_edge[top] + taken[top];
    if (k == m->first_edge[top + 1]) {
      m->number[top] = next++;
      depth--;
      continue;
    }
    taken[top]++;
    const uint32_t from = m->edges[k].from;
    if (taken[from] != PTO_GRAPH_NONE) continue;
    taken[from] = 0;
    stack[depth++] = from;
  }
  return next;
}

static bool number_points(struct maker *m) {
  const uint32_t count = (uint32_t)m->point_count;
  struct timed *timed = malloc((count + 1u) * sizeof *timed);
  uint32_t *stack = malloc((count + 1u) * sizeof *stack), *taken = malloc((count + 1u) * sizeof *taken);
  m->first_edge = calloc(count + 2u, sizeof *m->first_edge);
  m->number = malloc((count + 1u) * sizeof *m->number);
  const bool is_well = timed && stack && taken && m->first_edge && m->number && m->edge_count < UINT32_MAX;
  if (is_well) {
    if (m->edges) qsort(m->edges, m->edge_count, sizeof *m->edges, compare_edges);
    for (size_t i = 0; i < m->edge_count; i++) m->first_edge[m->edges[i].to + 1]++;
    for (uint32_t i = 0; i < count; i++) m->first_edge[i + 1] += m->first_edge[i];
    for (uint32_t i = 0; i < count; i++) timed[i] = (struct timed){m->times[i], i};
    qsort(timed, count, sizeof *timed, compare_times);
    memset(taken, 0xff, (count + 1u) * sizeof *taken);
    uint32_t next = 0;
    for (uint32_t i = 0; i < count; i++)
      if (taken[timed[i].point] == PTO_GRAPH_NONE) next = number_from(m, timed[i].point, next, stack, taken);
  }
  free(timed);
  free(stack);
  free(taken);
  return is_well;
}

static int compare_numbers(const void *left, const void *right) {
  const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return (a > b) - (a < b);
}

/* The graph of all, from the numbers. */
static bool make_graph(struct maker *m) {
  struct pto_access_graph *graph = &m->order->graph;
  const uint32_t count = (uint32_t)m->point_count;
  uint32_t *point_of = malloc((count + 1u) * sizeof *point_of);
  graph->nodes = calloc(count + 1u, sizeof *graph->nodes);
  graph->before = malloc((m->edge_count + 1) * sizeof *graph->before);
  const bool is_well = point_of && graph->nodes && graph->before;
  for (uint32_t i = 0; is_well && i < count; i++) point_of[m->number[i]] = i;
  graph->node_count = count;
  for (uint32_t node = 0; is_well && node < count; node++) {
    const uint32_t point = point_of[node];
    uint32_t *before = graph->before + graph->before_total, kept = 0;
    for (uint32_t k = m->first_edge[point]; k < m->first_edge[point + 1]; k++)
      if (m->number[m->edges[k].from] < node) before[kept++] = m->number[m->edges[k].from];
    qsort(before, kept, sizeof *before, compare_numbers);
    uint32_t distinct = 0;
    for (uint32_t k = 0; k < kept; k++)
      if (k == 0 || before[k] != before[k - 1]) before[distinct++] = before[k];
    graph->nodes[node].first_before = graph->before_total;
    graph->nodes[node].before_count = distinct;
    graph->before_total += distinct;
  }
  free(point_of);
  return is_well;
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
  for (size_t i = 0; i < order->access_count; i++) {
    order->accesses[i].begin = m->number[order->accesses[i].begin];
    order->accesses[i].node = m->number[order->accesses[i].node];
  }
  if (order->access_count) qsort(order->accesses, order->access_count, sizeof *order->accesses, compare_accesses);
}

/* ---- the whole ---- */

static bool make_points(struct maker *m) {
  const uint32_t rank_count = m->order->ranks->rank_count;
  for (uint32_t r = 0; r < rank_count; r++)
    if (!add_windows(m, r)) return false;
  for (uint32_t r = 0; r < rank_count; r++) {
    take_times(m, r);
    if (!make_stretches(m, r)) return false;
  }
  for (uint32_t r = 0; r < rank_count; r++)
    if (!take_signals(m, r) || !take_all_declared(m, r) || !add_local_edges(m, r)) return false;
  return take_creations(m);
}

static int make(struct maker *m, uint32_t rules) {
  struct pto_world_order *order = m->order;
  const int status = make_graphs(m, rules);
  if (status) return status;
  if (!make_points(m) || !number_points(m) || !make_graph(m)) return no_memory(m);
  number_accesses(m);
  return pto_reach_init(&order->reach, &order->graph) ? no_memory(m) : PTO_OK;
}

int pto_world_order_init(struct pto_world_order *order, struct pto_ranks *ranks, uint32_t rules,
                         struct pto_error *error) {
  *order = (struct pto_world_order){.ranks = ranks};
  struct maker m = {.order = order, .error = error};
  const int status = make(&m, rules);
  for (uint32_t r = 0; m.event_at && r < ranks->rank_count; r++) free(m.event_at[r]);
  free(m.event_at);
  free(m.base);
  free(m.last);
  free(m.has_run);
  free(m.times);
  free(m.has_told);
  free(m.edges);
  free(m.first_edge);
  free(m.number);
  return status;
}

void pto_world_order_fini(struct pto_world_order *order) {
  for (uint32_t r = 0; order->graphs && r < order->ranks->rank_count; r++) pto_access_graph_fini(&order->graphs[r]);
  free(order->graphs);
  pto_reach_fini(&order->reach);
  pto_access_graph_fini(&order->graph);
  free(order->windows);
  free(order->accesses);
  free(order->unheard);
  memset(order, 0, sizeof *order);
}

bool pto_world_order_has(struct pto_world_order *order, const struct pto_window_access *a,
                         const struct pto_window_access *b) {
  return pto_reach_has_path(&order->reach, a->begin, b->node) || pto_reach_has_path(&order->reach, b->begin, a->node);
}
