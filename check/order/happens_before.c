/* SPDX-License-Identifier: MIT */
#include <check/order/happens_before.h>

#include <stdlib.h>
#include <string.h>

#include <check/order/access_index.h>
#include <runtime/base/grow.h>

/* What is known of a node before the current one. */
struct verdict {
  uint32_t node; /* the later one that it is about */
  bool is_before;
  uint32_t conflict; /* index among the later one's; PTO_GRAPH_NONE */
};

struct checker {
  struct pto_reach *reach;
  const struct pto_access_graph *graph;
  struct pto_access_index index;
  struct verdict *verdicts; /* by node */
  struct pto_conflict *conflicts;
  size_t conflict_count, conflict_capacity; /* of `node` */
  uint32_t node;
  struct pto_happens_before *result;
};

static void region_of(const struct pto_access_graph *graph, const struct pto_graph_access *access,
                      struct pto_region *region) {
  pto_graph_region(graph, access, region);
  region->is_fuzzy = 0;
}

/* ---- conflicts of one node ---- */

static void mark_predecessors(struct checker *c) {
  const struct pto_graph_node *node = &c->graph->nodes[c->node];
  for (uint32_t k = 0; k < node->before_count; k++)
    c->verdicts[c->graph->before[node->first_before + k]] = (struct verdict){c->node, true, PTO_GRAPH_NONE};
}

/* An allocation touches no byte, and is over when its submit returns: whatever is later comes after it. */
static bool is_allocation(const struct pto_access_graph *graph, uint32_t node) {
  return !graph->nodes[node].is_host && pto_graph_task(graph, node)->kind == PTO_TASK_ALLOC;
}

static struct verdict *verdict_of(struct checker *c, uint32_t earlier) {
  struct verdict *verdict = &c->verdicts[earlier];
  if (verdict->node != c->node) {
    const bool is_before = is_allocation(c->graph, earlier) || pto_reach_has_path(c->reach, earlier, c->node);
    *verdict = (struct verdict){c->node, is_before, PTO_GRAPH_NONE};
  }
  return verdict;
}

static bool note(struct checker *c, struct verdict *verdict, uint32_t earlier_access, uint32_t later_access) {
  const struct pto_graph_access *accesses = c->graph->accesses;
  const uint32_t kind = pto_conflict_kind(&accesses[earlier_access], &accesses[later_access]);
  if (verdict->conflict == PTO_GRAPH_NONE) {
    struct pto_conflict *conflict =
        pto_grow(&c->conflicts, &c->conflict_count, &c->conflict_capacity, sizeof *conflict);
    if (!conflict) return false;
    verdict->conflict = (uint32_t)(c->conflict_count - 1);
    *conflict = (struct pto_conflict){accesses[earlier_access].node, c->node, earlier_access, later_access, kind, 0};
    return true;
  }
  struct pto_conflict *conflict = &c->conflicts[verdict->conflict];
  conflict->more++;
  if (kind >= conflict->kind) return true;
  conflict->kind = kind;
  conflict->earlier_access = earlier_access;
  conflict->later_access = later_access;
  return true;
}

static bool meet_list(struct checker *c, uint32_t list, uint32_t later_access) {
  for (uint32_t i = list; i != PTO_INDEX_NONE; i = c->index.accesses[i].next) {
    const uint32_t earlier = c->index.accesses[i].node;
    if (earlier == c->node) continue;
    c->result->pairs++;
    struct verdict *verdict = verdict_of(c, earlier);
    if (!verdict->is_before && !note(c, verdict, c->index.accesses[i].access, later_access)) return false;
  }
  return true;
}

static bool meet(struct checker *c, uint32_t access_index) {
  const struct pto_graph_access *access = &c->graph->accesses[access_index];
  struct pto_region region;
  region_of(c->graph, access, &region);
  if (pto_access_index_find(&c->index, access->space, &region)) return false;
  for (uint32_t h = 0; h < c->index.hit_count; h++) {
    const struct pto_index_region *hit = &c->index.regions[c->index.hits[h].region];
    if (!meet_list(c, hit->writes, access_index)) return false;
    if (access->writes && !meet_list(c, hit->reads, access_index)) return false;
  }
  return true;
}

static bool is_still_live(void *context, const struct pto_index_access *access) {
  const struct checker *c = context;
  const struct verdict *verdict = &c->verdicts[access->node];
  if (access->node == c->node) return true;
  return !verdict->is_before && c->result->conflicts < PTO_CONFLICTS_MAX;
}

/* What the write covers has been met, so every verdict is about this node. */
static bool enter(struct checker *c, uint32_t access_index) {
  const struct pto_graph_access *access = &c->graph->accesses[access_index];
  struct pto_region region;
  region_of(c->graph, access, &region);
  if (pto_access_index_find(&c->index, access->space, &region)) return false;
  for (uint32_t h = 0; access->writes && h < c->index.hit_count; h++) {
    const struct pto_index_hit hit = c->index.hits[h];
    if (hit.relation == PTO_EQUAL || hit.relation == PTO_COVERS)
      pto_access_index_filter(&c->index, hit.region, is_still_live, c);
  }
  if (c->graph->nodes[c->node].is_host) return true; /* whatever is later comes after it */
  return pto_access_index_add(&c->index, access->space, &region, access->writes, c->node, access_index) == PTO_OK;
}

static bool is_held(const struct checker *c, uint32_t access) {
  return !c->graph->accesses[access].reads && !c->graph->accesses[access].writes;
}

static bool check_node(struct checker *c) {
  const struct pto_graph_node *node = &c->graph->nodes[c->node];
  const uint32_t first = (uint32_t)node->first_access, end = first + node->access_count;
  c->conflict_count = 0;
  mark_predecessors(c);
  for (uint32_t i = first; i < end; i++)
    if (!is_held(c, i) && !meet(c, i)) return false;
  c->result->conflicts += c->conflict_count;
  for (uint32_t i = first; i < end; i++)
    if (!is_held(c, i) && !enter(c, i)) return false;
  return true;
}

int pto_happens_before_check(struct pto_reach *reach, void (*tell)(void *context, const struct pto_conflict *conflict),
                             void *context, struct pto_happens_before *result) {
  const struct pto_access_graph *graph = reach->graph;
  struct checker c = {.reach = reach, .graph = graph, .result = result};
  *result = (struct pto_happens_before){0};
  int status = pto_access_index_init(&c.index, graph->space_count);
  c.verdicts = malloc(((uint64_t)graph->node_count + 1) * sizeof *c.verdicts);
  if (!c.verdicts) status = PTO_ENOMEM;
  if (status == PTO_OK) memset(c.verdicts, 0xff, graph->node_count * sizeof *c.verdicts);
  for (c.node = 0; c.node < graph->node_count && status == PTO_OK; c.node++) {
    if (!check_node(&c)) status = PTO_ENOMEM;
    for (uint32_t i = 0; i < c.conflict_count && status == PTO_OK; i++) tell(context, &c.conflicts[i]);
  }
  pto_access_index_fini(&c.index);
  free(c.verdicts);
  free(c.conflicts);
  return status;
}

/* ---- explicit edges ---- */

/* A predecessor of the consumer, not the producer itself, that the producer leads to; PTO_GRAPH_NONE. */
static uint32_t find_detour(struct pto_reach *reach, uint32_t producer, uint32_t consumer) {
  const struct pto_access_graph *graph = reach->graph;
  const struct pto_graph_node *node = &graph->nodes[consumer];
  for (uint32_t k = node->before_count; k-- > 0;) {
    const uint32_t between = graph->before[node->first_before + k];
    if (between <= producer) break; /* they ascend */
    if (pto_reach_has_path(reach, producer, between)) return between;
  }
  return PTO_GRAPH_NONE;
}

bool pto_happens_before_implies(struct pto_reach *reach, uint32_t producer, uint32_t consumer,
                                struct pto_redundancy *redundancy) {
  uint64_t count;
  const struct pto_graph_edge *edges = pto_graph_edges_between(reach->graph, producer, consumer, &count);
  *redundancy = (struct pto_redundancy){producer, consumer, 0, PTO_GRAPH_NONE};
  for (uint64_t k = 0; k < count; k++) redundancy->reasons |= edges[k].reason & ~(uint32_t)PTO_EDGE_EXPLICIT;
  if (!redundancy->reasons) redundancy->through = find_detour(reach, producer, consumer);
  return redundancy->reasons || redundancy->through != PTO_GRAPH_NONE;
}

void pto_happens_before_redundant(struct pto_reach *reach,
                                  void (*tell)(void *context, const struct pto_redundancy *redundancy), void *context) {
  const struct pto_access_graph *graph = reach->graph;
  struct pto_redundancy redundancy;
  for (uint64_t i = 0; i < graph->edge_count; i++) {
    const struct pto_graph_edge *edge = &graph->edges[i];
    if (edge->reason == PTO_EDGE_EXPLICIT &&
        pto_happens_before_implies(reach, edge->producer, edge->consumer, &redundancy))
      tell(context, &redundancy);
  }
}
