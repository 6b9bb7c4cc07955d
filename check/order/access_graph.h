/* SPDX-License-Identifier: MIT */
/*
 * The graph of a recorded run under chosen rules, made from the record alone: what each task and the host access, and
 * the edges that follow from it as if windows were endless and no slot came round again.
 *
 * A *node* is a task or an access of the host, numbered in the order in which the orchestration made them; an edge goes
 * from a lower number to a higher one, so the order of numbers is topological.  Edges are those of the rules of
 * dependencies, found by access_index.h and by nothing of runtime/deps: RAW, WAW and WAR of intersecting bytes by the
 * rules, the explicit ones, in manual scopes the latter alone; and what the named rules of pto (runtime/deps/rules.h)
 * add and take away, written here once more.  The host waits for the writers of what it reads, for writers and readers
 * of what it writes (under pto for writers, and by a rule for readers behind them), and whatever is submitted later
 * comes after it: its next node has it as a predecessor, and so on.  A sync waits for all that was submitted before it.
 *
 * Always true: edges are grouped by consumer, and by producer within; predecessors of a node are distinct and
 * ascending; tasks of the record keep their order, so task numbers and nodes count up together.
 *
 * Borrows the trace until fini and owns all else.  One thread.
 */
#ifndef PTO_CHECK_ORDER_ACCESS_GRAPH_H
#define PTO_CHECK_ORDER_ACCESS_GRAPH_H

#include <runtime/base/error.h>
#include <runtime/deps/rules.h>
#include <runtime/tensor/region.h>
#include <runtime/trace/trace.h>

#define PTO_GRAPH_NONE UINT32_MAX

struct pto_graph_node {
  uint32_t index; /* of the task or of the host's access in the trace */
  bool is_host, is_manual;
  bool is_waited_for; /* by the host before it writes, since the task comes after a writer: the named rule */
  bool is_part;       /* of a launch of recorded tasks but for its last one: no later task sees what it touches */
  /* Under reduce-implied, of the 64 tasks before it, bit 0 the last: those that it comes after, and those of them to
   * which it has no edge because others imply it. */
  uint64_t ancestors, dropped;
  uint32_t access_count;
  uint64_t first_access;
  uint64_t first_edge, edge_count; /* whose consumer it is */
  uint64_t first_before;           /* in `before` */
  uint32_t before_count;
};

/* One byte set that a node reads, writes, or both, or that it holds alone.  An INPUT and an OUTPUT that are one in
 * place are the OUTPUT's. */
struct pto_graph_access {
  const struct pto_trace_param *param; /* NULL: the host's element */
  uint32_t node;
  uint32_t space; /* 0: external memory; else the number of a managed buffer */
  bool reads, writes;
};

/* One reason of one edge. */
struct pto_graph_edge {
  uint32_t producer, consumer;               /* nodes */
  uint32_t reason;                           /* one enum pto_edge_reason bit */
  uint32_t producer_access, consumer_access; /* PTO_GRAPH_NONE where explicit, the first also of a creator */
};

struct pto_access_graph {
  const struct pto_trace *trace;
  uint32_t rules; /* as config.deps */
  struct pto_graph_node *nodes;
  uint32_t node_count, task_count, space_count;
  uint32_t *node_of_task;
  struct pto_graph_access *accesses;
  uint64_t access_count;
  struct pto_graph_edge *edges;
  uint64_t edge_count, edge_capacity;
  uint32_t *before; /* predecessors, node by node: producers of edges, and the host's last access before it */
  uint64_t before_total, before_capacity;
  uint64_t pair_count; /* distinct pairs of tasks with an edge: what the runtime counts */
};

/* PTO_OK; PTO_ENOMEM; PTO_EINVAL where the record lacks a part.  With the sentence; fini of a zeroed one is allowed. */
PTO_MUST_CHECK int pto_access_graph_init(struct pto_access_graph *graph, const struct pto_trace *trace, uint32_t rules,
                                         struct pto_error *error);
void pto_access_graph_fini(struct pto_access_graph *graph);

static inline const struct pto_trace_task *pto_graph_task(const struct pto_access_graph *graph, uint32_t node) {
  return pto_trace_log_at(&graph->trace->tasks, graph->nodes[node].index);
}
static inline const struct pto_trace_host_access *pto_graph_host(const struct pto_access_graph *graph, uint32_t node) {
  return pto_trace_log_at(&graph->trace->host_accesses, graph->nodes[node].index);
}
/* Its bytes; with the tensor's wish for fuzzy overlap, which edges honour and conflicts do not. */
void pto_graph_region(const struct pto_access_graph *graph, const struct pto_graph_access *access,
                      struct pto_region *region);
/* The reasons, as bits, for which an access of `later` waits for one of `earlier` under rules, if bytes intersect.
 * `is_creator`: the earlier one's task allocated the buffer. */
uint32_t pto_graph_reasons(uint32_t rules, const struct pto_graph_access *earlier, const struct pto_graph_access *later,
                           bool is_creator);
/* Whether explicit dependencies alone order the task of `access`, which is one of the two.  Tasks of a launch the rules
 * have ordered when it was recorded, but for those of a manual scope there; a record does not tell these apart, so they
 * are those of a pair that the rules would order. */
bool pto_graph_is_manual(const struct pto_access_graph *graph, uint32_t access, uint32_t earlier, uint32_t later);
/* The named rule by which the rules do not look at a pair of accesses; PTO_DEPS_NAMED_COUNT: none. */
enum pto_deps_named_index pto_graph_silent_rule(const struct pto_access_graph *graph, uint32_t earlier, uint32_t later);
/* Whether reduce-implied has taken away the edge from one task to another, both nodes. */
static inline bool pto_graph_has_dropped(const struct pto_access_graph *graph, uint32_t producer, uint32_t consumer) {
  const uint32_t distance = graph->nodes[consumer].index - graph->nodes[producer].index;
  if (graph->nodes[producer].is_host || graph->nodes[consumer].is_host || distance - 1 >= 64) return false;
  return graph->nodes[consumer].dropped >> (distance - 1) & 1;
}
/* The edges from one node to another; *count is 0 where there is none. */
const struct pto_graph_edge *pto_graph_edges_between(const struct pto_access_graph *graph, uint32_t producer,
                                                     uint32_t consumer, uint64_t *count);

#endif
