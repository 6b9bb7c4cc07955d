/* SPDX-License-Identifier: MIT */
/*
 * The reference executor: a graph computed on the host, one plain function an operation, in double precision.  The
 * oracle of everything that is lowered.
 *
 * Owns nothing but what a run allocates and gives.
 *
 * Always true: every function is the specification's formula written down, without regard to speed, and shares no code
 * with kernels/.  Values between nodes are rounded to their dtype once, when a node has made them, as a device that
 * computes exactly and stores once would; integers are computed as integers, with wrap-around where the specification
 * has it.
 *
 * Any thread.  To add an operation: pto_graph_reference_ID in the graph_reference_*.c of its subject.
 */
#ifndef PTO_GRAPH_REFERENCE_H
#define PTO_GRAPH_REFERENCE_H

#include <graph/operand_graph.h>

/* One operand or result: dense, row-major.  Of float dtypes `values` has the elements, of integer ones `whole`, sign-
 * extended from their width (uint64 by its bits); the other is NULL. */
struct pto_reference_tensor {
  struct pto_graph_desc desc;
  double *values;
  int64_t *whole;
};

/* Computes the results of one node, allocated and shaped by the caller.  `operands` is by parameter, NULL where absent.
 * PTO_OK or PTO_ENOMEM. */
typedef int pto_reference_function(const struct pto_graph_node *node,
                                   const struct pto_reference_tensor *const *operands,
                                   struct pto_reference_tensor *results);
#define X(id, name) pto_reference_function pto_graph_reference_##id;
PTO_OP_LIST(X)
#undef X

/* Called after each node with its results, rounded; to compare, or to stop (non-zero ends the run with that status). */
typedef int pto_reference_observer(void *context, uint32_t node_index, const struct pto_reference_tensor *results);

/* Runs the graph.  inputs[i] are the dense bytes of input i; outputs[i] get those of output i, which the caller has
 * allocated.  `observe` may be NULL.  PTO_OK, PTO_ENOMEM with a sentence, or what `observe` returned. */
PTO_MUST_CHECK int pto_graph_reference_run(const struct pto_graph *graph, const void *const *inputs,
                                           void *const *outputs, pto_reference_observer *observe, void *context,
                                           struct pto_error *error);

#endif
