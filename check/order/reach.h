/* SPDX-License-Identifier: MIT */
/*
 * Whether a path leads from one node of an access graph to another.
 *
 * Answers come from labels where they can: for each of a few depth-first walks against the edges, what a walk from a
 * node has met has ranks within its interval (so a rank outside says no), and what lies below it in the walk's tree is
 * one interval of ranks (so a rank inside says yes).  Yildirim, Chaoji and Zaki, "GRAIL" (VLDB 2010), is the first
 * half, tree cover (Agrawal, Borgida and Jagadish, SIGMOD 1989) the second.  What labels leave open a search from the
 * later node back decides, which goes nowhere that the numbers of nodes, their levels or the labels rule out.
 *
 * Exact whatever the labels say.  Borrows the graph until fini; owns the labels.  One thread.
 */
#ifndef PTO_CHECK_ORDER_REACH_H
#define PTO_CHECK_ORDER_REACH_H

#include <check/order/access_graph.h>

#define PTO_REACH_WALKS 3u

/* Of one node in one walk, ranks counted as nodes are left. */
struct pto_reach_label {
  uint32_t rank;       /* its own */
  uint32_t least;      /* of all nodes from which a path leads to it, itself too */
  uint32_t tree_least; /* of those below it in the walk's tree */
};

struct pto_reach {
  const struct pto_access_graph *graph;
  struct pto_reach_label *labels; /* PTO_REACH_WALKS a node */
  uint32_t *levels;               /* longest path to the node, in edges */
  uint32_t *stack, *visited;      /* visited: by node, the serial of the search */
  uint32_t *next;                 /* by node: of a search the one behind it; at init, predecessors taken so far */
  uint32_t serial;
  uint64_t steps; /* nodes that searches looked at */
};

/* PTO_OK or PTO_ENOMEM; fini of a zeroed one is allowed. */
PTO_MUST_CHECK int pto_reach_init(struct pto_reach *reach, const struct pto_access_graph *graph);
void pto_reach_fini(struct pto_reach *reach);

/* Whether a path leads from `earlier` to `later`; a node reaches itself. */
bool pto_reach_has_path(struct pto_reach *reach, uint32_t earlier, uint32_t later);
/* A shortest path, both ends included, into `path`, which has room for node_count nodes.  Its length; 0: there is none.
 */
uint32_t pto_reach_shortest_path(struct pto_reach *reach, uint32_t earlier, uint32_t later, uint32_t *path);

#endif
