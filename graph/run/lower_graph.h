/* SPDX-License-Identifier: MIT */
/*
 * From a graph to tasks: goes through the nodes in their order and lowers each, or the group of nodes that ends with it
 * (graph/fuse/fusion.h), with the function of its operation or pattern.
 *
 * Owns how long each value lives and which output is which value's, for the time of the call.  Always true: the tasks
 * depend on the graph, on which outputs share storage with which inputs, and on the rules of dependencies, on nothing
 * else.  An output whose value lies elsewhere when its node is done is copied at the end.
 *
 * The control thread of a dispatch calls, in orchestrate.  An error gets the node's number, operation and label.
 */
#ifndef PTO_GRAPH_RUN_LOWER_GRAPH_H
#define PTO_GRAPH_RUN_LOWER_GRAPH_H

#include <graph/lower/lowering.h>

/* Lowers `graph` into `rt`: inputs and outputs in the graph's order, constants in the order of its constant values, as
 * pto_graph_constant gives them. */
PTO_MUST_CHECK int pto_graph_lower(const struct pto_graph *graph, struct pto_runtime *rt,
                                   const struct pto_tensor *inputs, const struct pto_tensor *outputs,
                                   const struct pto_tensor *constants);

#endif
