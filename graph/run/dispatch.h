/* SPDX-License-Identifier: MIT */
/*
 * What a graph has on each context that it was dispatched on: its constants as device tensors, and the program that
 * lowers it.
 *
 * Owns those tensors and programs; made at the first dispatch on a context, freed with the graph, before which its
 * contexts must not go.
 *
 * Always true: one instance a context; a constant is moved to the device once; the program has a number of its own, so
 * that the context keeps the lowered tasks of each set of bindings and lowers nothing twice.
 *
 * Any thread: the list is under a lock.
 */
#ifndef PTO_GRAPH_RUN_DISPATCH_H
#define PTO_GRAPH_RUN_DISPATCH_H

#include <graph/build/operand_graph.h>

/* As pto_graph_compute, on constants of its own, but with another orchestration, which nothing is kept of, and its
 * context: for those who look on while the graph is lowered. */
PTO_MUST_CHECK int pto_graph_compute_by(const struct pto_graph *graph, struct pto_context *context,
                                        const struct pto_compute_arrays *arrays,
                                        int (*orchestrate)(struct pto_runtime *, const struct pto_bound *),
                                        void *orchestrate_context);

#endif
