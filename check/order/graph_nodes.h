/* SPDX-License-Identifier: MIT */
/*
 * The nodes of an access graph, and what each accesses, from the record of a run: before any edge is known.  One
 * thread.
 */
#ifndef PTO_CHECK_ORDER_GRAPH_NODES_H
#define PTO_CHECK_ORDER_GRAPH_NODES_H

#include <check/order/access_graph.h>

/* Fills nodes, node_of_task and accesses, for which the graph has memory, and counts them. */
void pto_graph_add_nodes(struct pto_access_graph *graph);

#endif
