/* SPDX-License-Identifier: MIT */
#include <check/order/access_graph.h>

#include <stdlib.h>
#include <string.h>

#include <check/order/access_index.h>
#include <check/order/graph_nodes.h>
#include <runtime/base/grow.h>

/* While it is made. */
struct maker {
  struct pto_access_graph *graph;
  struct pto_access_index index;
  uint32_t *mark;      /* by node: the consumer that last found an edge from it */
  uint32_t *wrote;     /* by node: the host's write that last found it among the writers of its tensor */
  uint32_t *creator;   /* by space: the node that allocated it */
  uint32_t node;       /* being wired */
  uint32_t entered;    /* the access that is being entered */
  uint32_t after_sync; /* the last sync before it, or the first node */
};

/* ---- accesses ---- */

void pto_graph_region(const struct pto_access_graph *graph, const struct pto_graph_access *access,
                      struct pto_region *region) {
  if (access->param) {
    pto_region_from_tensor(&access->param->tensor, access->param->tensor.buffer.base, region);
    return;
  }
  const struct pto_trace_host_access *host = pto_graph_host(graph, access->node);
  *region = (struct pto_region){.start = host->begin, .end = host->end, .run_bytes = host->end - host->begin};
}

/* The address of the first byte of an access's buffer. */
static uint64_t base_of(const struct pto_access_graph *graph, uint32_t access_index) {
  const struct pto_graph_access *access = &graph->accesses[access_index];
  if (access->param) return access->param->tensor.buffer.base;
  return pto_graph_host(graph, access->node)->buffer_base;
}

/* ---- edges ---- */

static bool has_rule(const struct pto_access_graph *graph, uint32_t rule) {
  return pto_deps_named_of(graph->rules) & rule;
}

/* The rules once more, written out: an oracle for the runtime's table. */
_Static_assert(PTO_DEPS_SET_COUNT == 2, "what a set more has as edges is to be said here too");
uint32_t pto_graph_reasons(uint32_t rules, const struct pto_graph_access *earlier, const struct pto_graph_access *later,
                           bool is_creator) {
  const bool is_exact = rules == PTO_DEPS_EXACT;
  uint32_t reasons = 0;
  if (earlier->writes && later->reads) reasons |= PTO_EDGE_RAW;
  /* the host waits for writers whatever the rules */
  if (earlier->writes && later->writes && (is_exact || later->reads || is_creator || !later->param))
    reasons |= PTO_EDGE_WAW;
  if (earlier->reads && later->writes && is_exact) reasons |= PTO_EDGE_WAR;
  return reasons;
}

static bool add_edge(struct maker *m, const struct pto_graph_edge *edge) {
  struct pto_access_graph *graph = m->graph;
  struct pto_graph_edge *fresh = pto_grow(&graph->edges, &graph->edge_count, &graph->edge_capacity, sizeof *fresh);
  if (!fresh) return false;
  *fresh = *edge;
  const bool is_by_bytes = edge->reason & (PTO_EDGE_RAW | PTO_EDGE_WAW | PTO_EDGE_WAR);
  if (is_by_bytes || !has_rule(graph, PTO_DEPS_NAMED_REDUCE_IMPLIED)) m->mark[edge->producer] = m->node;
  return true;
}

static bool add_explicit(struct maker *m) {
  const struct pto_access_graph *graph = m->graph;
  const struct pto_trace_task *task = pto_graph_task(graph, m->node);
  for (uint64_t i = 0; i < task->edge_count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&graph->trace->edges, task->first_edge + i);
    if (edge->reason != PTO_EDGE_EXPLICIT) continue;
    const struct pto_graph_edge explicit_one = {graph->node_of_task[edge->producer], m->node, PTO_EDGE_EXPLICIT,
                                                PTO_GRAPH_NONE, PTO_GRAPH_NONE};
    if (!add_edge(m, &explicit_one)) return false;
  }
  return true;
}

/* Whether the rules find one of the accesses from the other, as far as memory goes. */
static bool is_one_buffer(const struct pto_access_graph *graph, uint32_t earlier, uint32_t later) {
  return base_of(graph, earlier) == base_of(graph, later) || !has_rule(graph, PTO_DEPS_NAMED_BASE_ADDRESS);
}

static bool meet_list(struct maker *m, uint32_t list, uint32_t later_index) {
  const struct pto_access_graph *graph = m->graph;
  const struct pto_graph_access *later = &graph->accesses[later_index];
  for (uint32_t i = list; i != PTO_INDEX_NONE; i = m->index.accesses[i].next) {
    const uint32_t producer = m->index.accesses[i].node, access = m->index.accesses[i].access;
    if (producer == m->node || !is_one_buffer(graph, access, later_index)) continue;
    const bool is_creator = later->space && m->creator[later->space] == producer;
    const uint32_t reasons = pto_graph_reasons(graph->rules, &graph->accesses[access], later, is_creator);
    for (uint32_t reason = PTO_EDGE_RAW; reason <= PTO_EDGE_WAR; reason <<= 1) {
      const struct pto_graph_edge edge = {producer, m->node, reason, access, later_index};
      if ((reasons & reason) && !add_edge(m, &edge)) return false;
    }
  }
  return true;
}

/* The writers of the tensor that the host writes an element of, and who allocated it. */
static bool mark_writers(struct maker *m, uint32_t access_index) {
  const struct pto_access_graph *graph = m->graph;
  const uint32_t space = graph->accesses[access_index].space;
  const struct pto_trace_host_access *host = pto_graph_host(graph, m->node);
  const struct pto_region tensor = {
      .start = host->tensor_begin, .end = host->tensor_end, .run_bytes = host->tensor_end - host->tensor_begin};
  if (pto_access_index_find(&m->index, space, &tensor)) return false;
  for (uint32_t h = 0; h < m->index.hit_count; h++)
    for (uint32_t i = m->index.regions[m->index.hits[h].region].writes; i != PTO_INDEX_NONE;
         i = m->index.accesses[i].next)
      if (is_one_buffer(graph, m->index.accesses[i].access, access_index))
        m->wrote[m->index.accesses[i].node] = m->node;
  if (space && m->creator[space] < m->node && has_rule(graph, PTO_DEPS_NAMED_CREATOR_EDGES))
    m->wrote[m->creator[space]] = m->node;
  return true;
}

/* Whether a task comes after one of them, by an edge or by one that others imply. */
static bool comes_after_writer(const struct maker *m, uint32_t reader) {
  const struct pto_access_graph *graph = m->graph;
  const struct pto_graph_node *node = &graph->nodes[reader];
  for (uint64_t i = 0; i < node->edge_count; i++)
    if (m->wrote[graph->edges[node->first_edge + i].producer] == m->node) return true;
  for (uint64_t dropped = node->dropped; dropped; dropped &= dropped - 1) {
    const uint32_t distance = (uint32_t)__builtin_ctzll(dropped) + 1;
    if (m->wrote[graph->node_of_task[node->index - distance]] == m->node) return true;
  }
  return false;
}

/* The rule host-waits-for-readers. */
static bool meet_readers(struct maker *m, uint32_t access_index) {
  const struct pto_access_graph *graph = m->graph;
  const struct pto_graph_access *access = &graph->accesses[access_index];
  struct pto_region region;
  if (!mark_writers(m, access_index)) return false;
  pto_graph_region(graph, access, &region);
  if (pto_access_index_find(&m->index, access->space, &region)) return false;
  for (uint32_t h = 0; h < m->index.hit_count; h++)
    for (uint32_t i = m->index.regions[m->index.hits[h].region].reads; i != PTO_INDEX_NONE;
         i = m->index.accesses[i].next) {
      const struct pto_index_access *reader = &m->index.accesses[i];
      const uint32_t reason = graph->accesses[reader->access].writes ? PTO_EDGE_WAW : PTO_EDGE_WAR;
      const struct pto_graph_edge edge = {reader->node, m->node, reason, reader->access, access_index};
      if (!comes_after_writer(m, reader->node)) continue;
      graph->nodes[reader->node].is_waited_for = true;
      if (!add_edge(m, &edge)) return false;
    }
  return true;
}

static bool is_host_write(const struct maker *m, uint32_t access_index) {
  const struct pto_access_graph *graph = m->graph;
  return graph->nodes[m->node].is_host && graph->accesses[access_index].writes &&
         has_rule(graph, PTO_DEPS_NAMED_HOST_WAITS_FOR_READERS);
}

static bool meet(struct maker *m, uint32_t access_index) {
  const struct pto_access_graph *graph = m->graph;
  const struct pto_graph_access *access = &graph->accesses[access_index];
  struct pto_region region;
  pto_graph_region(graph, access, &region);
  if (pto_access_index_find(&m->index, access->space, &region)) return false;
  for (uint32_t h = 0; h < m->index.hit_count; h++) {
    const struct pto_index_region *hit = &m->index.regions[m->index.hits[h].region];
    if (!meet_list(m, hit->writes, access_index)) return false;
    if (access->writes && graph->rules == PTO_DEPS_EXACT && !meet_list(m, hit->reads, access_index)) return false;
  }
  return !is_host_write(m, access_index) || meet_readers(m, access_index);
}

static bool is_predicate(const struct pto_graph_access *access) {
  return access->param && access->param->index == UINT32_MAX;
}

/* Whether the rules look at the access at all. */
static bool is_ordered(const struct pto_access_graph *graph, const struct pto_graph_access *access) {
  if (!access->reads && !access->writes) return false;
  return !is_predicate(access) || !has_rule(graph, PTO_DEPS_NAMED_PREDICATE_ORDERS_NOTHING);
}

bool pto_graph_is_manual(const struct pto_access_graph *graph, uint32_t access, uint32_t earlier, uint32_t later) {
  const struct pto_graph_node *node = &graph->nodes[graph->accesses[access].node];
  if (!node->is_manual || !node->is_part) return node->is_manual;
  return is_one_buffer(graph, earlier, later) &&
         pto_graph_reasons(graph->rules, &graph->accesses[earlier], &graph->accesses[later], false);
}

enum pto_deps_named_index pto_graph_silent_rule(const struct pto_access_graph *graph, uint32_t earlier,
                                                uint32_t later) {
  const struct pto_graph_access *a = &graph->accesses[earlier], *b = &graph->accesses[later];
  if (pto_graph_is_manual(graph, later, earlier, later) || !pto_graph_reasons(graph->rules, a, b, false))
    return PTO_DEPS_NAMED_COUNT; /* no rule would order them */
  if (pto_graph_is_manual(graph, earlier, earlier, later) && has_rule(graph, PTO_DEPS_NAMED_MANUAL_ENTERS_NOTHING))
    return PTO_DEPS_NAMED_INDEX_MANUAL_ENTERS_NOTHING;
  const bool has_predicate = is_predicate(a) || is_predicate(b);
  if (has_predicate && has_rule(graph, PTO_DEPS_NAMED_PREDICATE_ORDERS_NOTHING))
    return PTO_DEPS_NAMED_INDEX_PREDICATE_ORDERS_NOTHING;
  return is_one_buffer(graph, earlier, later) ? PTO_DEPS_NAMED_COUNT : PTO_DEPS_NAMED_INDEX_BASE_ADDRESS;
}

static bool add_creator(struct maker *m, uint32_t access_index) {
  const struct pto_access_graph *graph = m->graph;
  const struct pto_graph_access *access = &graph->accesses[access_index];
  if (!has_rule(graph, PTO_DEPS_NAMED_CREATOR_EDGES)) return true;
  if (!access->space || m->creator[access->space] == m->node) return true;
  if (is_predicate(access) && !is_ordered(graph, access)) return true;
  const struct pto_graph_edge edge = {m->creator[access->space], m->node, PTO_EDGE_CREATOR, PTO_GRAPH_NONE,
                                      access_index};
  return add_edge(m, &edge);
}

/* Drops the edges that others imply, as far as maps of 64 tasks tell. */
static void reduce(struct maker *m) {
  struct pto_access_graph *graph = m->graph;
  struct pto_graph_node *node = &graph->nodes[m->node];
  struct pto_graph_edge *edges = graph->edges + node->first_edge;
  uint64_t direct = 0, implied = 0, kept = 0;
  for (uint64_t i = 0; i < node->edge_count; i++) {
    const struct pto_graph_node *producer = &graph->nodes[edges[i].producer];
    const uint32_t distance = node->index - producer->index;
    if (distance <= 64) direct |= UINT64_C(1) << (distance - 1);
    if (distance < 64) implied |= producer->ancestors << distance;
  }
  node->ancestors = direct | implied;
  node->dropped = direct & implied;
  for (uint64_t i = 0; i < node->edge_count; i++) {
    const uint32_t distance = node->index - graph->nodes[edges[i].producer].index;
    if (distance > 64 || !(node->dropped >> (distance - 1) & 1)) edges[kept++] = edges[i];
  }
  node->edge_count = kept;
  graph->edge_count = node->first_edge + kept;
}

/* ---- the walk ---- */

static bool stays(void *context, const struct pto_index_access *access) {
  const struct maker *m = context;
  return m->mark[access->node] != m->node || !is_one_buffer(m->graph, access->access, m->entered);
}

/* A write takes the place of the accesses that it covers and has an edge to.  Where no later task sees an access, it
 * is entered as a read: for the host, which may have to wait for it. */
static bool enter(struct maker *m, uint32_t access_index) {
  const struct pto_access_graph *graph = m->graph;
  const struct pto_graph_access *access = &graph->accesses[access_index];
  if (!is_ordered(graph, access) || graph->nodes[m->node].is_part) return true;
  const bool is_unseen = graph->nodes[m->node].is_manual && has_rule(graph, PTO_DEPS_NAMED_MANUAL_ENTERS_NOTHING);
  const bool is_write = access->writes && !is_unseen;
  const bool keeps_reads = graph->rules == PTO_DEPS_EXACT || has_rule(graph, PTO_DEPS_NAMED_HOST_WAITS_FOR_READERS);
  if (!is_write && !keeps_reads) return true; /* nothing ever waits for it */
  struct pto_region region;
  m->entered = access_index;
  pto_graph_region(graph, access, &region);
  if (pto_access_index_find(&m->index, access->space, &region)) return false;
  for (uint32_t h = 0; is_write && h < m->index.hit_count; h++) {
    const struct pto_index_hit hit = m->index.hits[h];
    if (hit.relation == PTO_EQUAL || hit.relation == PTO_COVERS)
      pto_access_index_filter(&m->index, hit.region, stays, m);
  }
  return pto_access_index_add(&m->index, access->space, &region, is_write, m->node, access_index) == PTO_OK;
}

static int order_edges(const void *left, const void *right) {
  const struct pto_graph_edge *a = left, *b = right;
  if (a->producer != b->producer) return a->producer < b->producer ? -1 : 1;
  if (a->reason != b->reason) return a->reason < b->reason ? -1 : 1;
  if (a->consumer_access != b->consumer_access) return a->consumer_access < b->consumer_access ? -1 : 1;
  return (a->producer_access > b->producer_access) - (a->producer_access < b->producer_access);
}

static bool add_before(struct pto_access_graph *graph, struct pto_graph_node *node, uint32_t before) {
  uint32_t *fresh = pto_grow(&graph->before, &graph->before_total, &graph->before_capacity, sizeof *fresh);
  if (!fresh) return false;
  *fresh = before;
  node->before_count++;
  return true;
}

/* Distinct producers, ascending, and the host's last access among them. */
static bool add_predecessors(struct maker *m, uint32_t last_host) {
  struct pto_access_graph *graph = m->graph;
  struct pto_graph_node *node = &graph->nodes[m->node];
  const struct pto_graph_edge *edges = graph->edges + node->first_edge;
  bool has_host = last_host == PTO_GRAPH_NONE;
  node->first_before = graph->before_total;
  for (uint64_t i = 0; i < node->edge_count; i++) {
    if (i && edges[i].producer == edges[i - 1].producer) continue;
    if (!has_host && last_host < edges[i].producer) {
      has_host = true;
      if (!add_before(graph, node, last_host)) return false;
    }
    if (!add_before(graph, node, edges[i].producer)) return false;
    graph->pair_count += !node->is_host;
  }
  return has_host || add_before(graph, node, last_host);
}

/* All since the sync before it, which has what is older. */
static bool add_all_predecessors(struct maker *m) {
  struct pto_access_graph *graph = m->graph;
  struct pto_graph_node *node = &graph->nodes[m->node];
  node->first_edge = graph->edge_count;
  node->first_before = graph->before_total;
  for (uint32_t earlier = m->after_sync; earlier < m->node; earlier++)
    if (!add_before(graph, node, earlier)) return false;
  m->after_sync = m->node;
  return true;
}

static bool wire(struct maker *m, uint32_t last_host) {
  struct pto_access_graph *graph = m->graph;
  struct pto_graph_node *node = &graph->nodes[m->node];
  const uint32_t first = (uint32_t)node->first_access, end = first + node->access_count;
  if (node->is_host && pto_graph_host(graph, m->node)->is_sync) return add_all_predecessors(m);
  node->first_edge = graph->edge_count;
  if (!node->is_host && !add_explicit(m)) return false;
  for (uint32_t i = first; i < end; i++) {
    const uint32_t space = graph->accesses[i].space;
    if (space && m->creator[space] == PTO_GRAPH_NONE) m->creator[space] = m->node; /* the first to touch it allocates */
    if (node->is_manual) continue;
    if (!add_creator(m, i)) return false;
    if (is_ordered(graph, &graph->accesses[i]) && !meet(m, i)) return false;
  }
  for (uint32_t i = first; !node->is_host && i < end; i++)
    if (!enter(m, i)) return false;
  node->edge_count = graph->edge_count - node->first_edge;
  if (node->edge_count > 1) qsort(graph->edges + node->first_edge, node->edge_count, sizeof *graph->edges, order_edges);
  if (!node->is_host && has_rule(graph, PTO_DEPS_NAMED_REDUCE_IMPLIED)) reduce(m);
  return add_predecessors(m, last_host);
}

/* ---- the whole ---- */

static int check_record(const struct pto_trace *trace, struct pto_error *error) {
  if (!(trace->record & PTO_RECORD_GRAPH)) return pto_error_set(error, PTO_EINVAL, "the run's graph was not recorded");
  const uint64_t dropped = trace->tasks.dropped + trace->params.dropped + trace->edges.dropped + trace->scopes.dropped +
                           trace->host_accesses.dropped;
  if (dropped)
    return pto_error_set(error, PTO_EINVAL, "the record lacks %llu tasks, parameters or edges that it had no room for",
                         (unsigned long long)dropped);
  if (trace->params.count + trace->host_accesses.count >= UINT32_MAX)
    return pto_error_set(error, PTO_EINVAL, "the record has more accesses than can be numbered");
  return PTO_OK;
}

static uint64_t count_spaces(const struct pto_trace *trace) {
  uint64_t most = 0;
  for (uint64_t i = 0; i < trace->params.count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
    if (param->is_managed) most = pto_max_u64(most, param->buffer_number);
  }
  return most + 1;
}

static int make(struct maker *m) {
  struct pto_access_graph *graph = m->graph;
  const struct pto_trace *trace = graph->trace;
  const uint64_t nodes = trace->tasks.count + trace->host_accesses.count;
  graph->space_count = (uint32_t)count_spaces(trace);
  graph->task_count = (uint32_t)trace->tasks.count;
  graph->nodes = malloc((nodes + 1) * sizeof *graph->nodes);
  graph->node_of_task = malloc((trace->tasks.count + 1) * sizeof *graph->node_of_task);
  graph->accesses = malloc((trace->params.count + trace->host_accesses.count + 1) * sizeof *graph->accesses);
  m->mark = malloc((nodes + 1) * sizeof *m->mark);
  m->wrote = malloc((nodes + 1) * sizeof *m->wrote);
  m->creator = malloc(graph->space_count * sizeof *m->creator);
  if (!graph->nodes || !graph->node_of_task || !graph->accesses || !m->mark || !m->wrote || !m->creator)
    return PTO_ENOMEM;
  if (pto_access_index_init(&m->index, graph->space_count)) return PTO_ENOMEM;
  memset(m->mark, 0xff, (nodes + 1) * sizeof *m->mark);
  memset(m->wrote, 0xff, (nodes + 1) * sizeof *m->wrote);
  memset(m->creator, 0xff, graph->space_count * sizeof *m->creator);
  pto_graph_add_nodes(graph);
  uint32_t last_host = PTO_GRAPH_NONE;
  for (m->node = 0; m->node < graph->node_count; m->node++) {
    if (!wire(m, last_host)) return PTO_ENOMEM;
    if (graph->nodes[m->node].is_host) last_host = m->node;
  }
  return PTO_OK;
}

int pto_access_graph_init(struct pto_access_graph *graph, const struct pto_trace *trace, uint32_t rules,
                          struct pto_error *error) {
  *graph = (struct pto_access_graph){.trace = trace, .rules = rules};
  int status = check_record(trace, error);
  if (status) return status;
  struct maker m = {.graph = graph};
  status = make(&m);
  pto_access_index_fini(&m.index);
  free(m.mark);
  free(m.wrote);
  free(m.creator);
  if (status == PTO_OK) return status;
  pto_access_graph_fini(graph);
  return pto_error_set(error, status, "no memory for the graph of %llu tasks", (unsigned long long)trace->tasks.count);
}

void pto_access_graph_fini(struct pto_access_graph *graph) {
  free(graph->nodes);
  free(graph->node_of_task);
  free(graph->accesses);
  free(graph->edges);
  free(graph->before);
  memset(graph, 0, sizeof *graph);
}

const struct pto_graph_edge *pto_graph_edges_between(const struct pto_access_graph *graph, uint32_t producer,
                                                     uint32_t consumer, uint64_t *count) {
  const struct pto_graph_node *node = &graph->nodes[consumer];
  const struct pto_graph_edge *edges = graph->edges + node->first_edge;
  uint64_t first = 0, end = node->edge_count;
  while (first < end) {
    const uint64_t middle = first + (end - first) / 2;
    if (edges[middle].producer < producer)
      first = middle + 1;
    else
      end = middle;
  }
  for (end = first; end < node->edge_count && edges[end].producer == producer;) end++;
  *count = end - first;
  return edges + first;
}
