/* SPDX-License-Identifier: MIT */
/*
 * A graph seen another way: the same nodes, but with the result of every node as an output, so that a run tells them
 * all; but for nodes inside a fused group (graph/fuse/fusion.h), whose results are nowhere.
 *
 * Owns its outputs and what it has on contexts; everything else is the graph's, which must outlive it.
 *
 * Always true: output i is the i-th such result in the order of values, so operands come before what is made of them;
 * its name is "result NUMBER", the number of the value; the groups are those of the graph.
 *
 * One thread makes and destroys it; any may dispatch it, as any graph.
 */
#ifndef PTO_GRAPH_RUN_WATCHED_H
#define PTO_GRAPH_RUN_WATCHED_H

#include <graph/build/operand_graph.h>

struct pto_watched_graph {
  struct pto_graph graph; /* to dispatch; not for pto_graph_destroy */
  char (*names)[24];
};

/* PTO_OK or PTO_ENOMEM.  fini of a zeroed struct is allowed. */
PTO_MUST_CHECK int pto_watched_graph_init(struct pto_watched_graph *watched, const struct pto_graph *graph);
void pto_watched_graph_fini(struct pto_watched_graph *watched);

#endif
