/* SPDX-License-Identifier: MIT */
/*
 * A graph whose nodes have no order yet: *points*, and edges between them.  Points become nodes of an access graph,
 * with numbers that are above those of all that come before them.
 *
 * Owns its arrays until fini.  One thread.
 */
#ifndef PTO_CHECK_RANKS_POINT_GRAPH_H
#define PTO_CHECK_RANKS_POINT_GRAPH_H

#include <check/order/access_graph.h>

struct pto_point_edge {
  uint32_t from, to;
};

/* Zeroed: empty. */
struct pto_point_graph {
  uint64_t *times; /* by point: about when it happened; a hint for the numbers */
  size_t count, capacity;
  struct pto_point_edge *edges;
  size_t edge_count, edge_capacity;
  uint32_t *first_edge; /* by point: of those that lead to it, once they are sorted */
  uint32_t *number;     /* by point, once they have them */
};

/* The new point; PTO_GRAPH_NONE: no memory. */
uint32_t pto_point_graph_add(struct pto_point_graph *points, uint64_t time);
/* False: no memory, as the next. */
bool pto_point_graph_add_edge(struct pto_point_graph *points, uint32_t from, uint32_t to);
/* Sets points->number, and nodes, their number and `before` of the zeroed `graph`, which owns them.  What leads round
 * in a circle is left out. */
bool pto_point_graph_number(struct pto_point_graph *points, struct pto_access_graph *graph);
void pto_point_graph_fini(struct pto_point_graph *points);

#endif
