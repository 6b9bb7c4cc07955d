/* SPDX-License-Identifier: MIT */
/*
 * The reference executor: a graph computed on the host, one plain function an operation, in double precision.  The
 * oracle of everything that is lowered.
 *
 * Owns nothing but what a run allocates and gives.
 *
 * Always true: every function is the specification's formula written down, without regard to speed, and shares no code
 * with the kernels; where an operation is what a kernel does, it is the reference of that kernel
 * (graph/reference/call.h).  Values between nodes are rounded to their dtype once, when a node has made them, as a
 * device that computes exactly and stores once would, but for those within a group where the caller says so; integers
 * are computed as integers, with wrap-around where the specification has it.  Where the specification leaves a result
 * open, the file of the operation says which one it is here.
 *
 * Any thread.  To add an operation: pto_graph_reference_ID in the file of its subject here.
 */
#ifndef PTO_GRAPH_REFERENCE_REFERENCE_H
#define PTO_GRAPH_REFERENCE_REFERENCE_H

#include <graph/build/operand_graph.h>

/* One operand or result: dense, row-major.  Of float dtypes `values` has the elements, of integer ones `whole`, sign-
 * extended from their width (uint64 by its bits); the other is NULL. */
struct pto_reference_tensor {
  struct pto_graph_desc desc;
  double *values;
  int64_t *whole;
};

/* Computes the results of one node, allocated, zeroed and shaped by the caller, who rounds or wraps them afterwards.
 * `operands` is by parameter, NULL where absent, and goes on with NULLs to PTO_REFERENCE_PARAMETERS at least.  PTO_OK
 * or PTO_ENOMEM. */
typedef int pto_reference_function(const struct pto_graph_node *node,
                                   const struct pto_reference_tensor *const *operands,
                                   struct pto_reference_tensor *results);
#define PTO_REFERENCE_PARAMETERS 8u
#define X(id, ...) pto_reference_function pto_graph_reference_##id;
PTO_OP_LIST(X)
#undef X
/* Of an operation from outside (graph/reference/outside.c). */
pto_reference_function pto_graph_reference_outside;

/* Called after each node with its results, rounded; to compare, or to stop (non-zero ends the run with that status).
 * The elements may be changed: later nodes are computed of what they are then; outputs are as they were. */
typedef int pto_reference_observer(void *context, uint32_t node_index, const struct pto_reference_tensor *results);

/* What the first result of a node is sums of, for who bounds what rounding makes of them (graph/reference/sums.h). */
struct pto_reference_sums {
  uint64_t terms;                         /* of each element, at most; 0: it is no sum of terms that are known, and
                                             nothing else is set */
  struct pto_reference_tensor magnitudes; /* Σ |term|, by element */
  struct pto_reference_tensor squares;    /* Σ term² */
};
/* As an observer, with these sums. */
typedef int pto_reference_judge(void *context, uint32_t node_index, const struct pto_reference_tensor *results,
                                const struct pto_reference_sums *sums);

/* Runs the graph.  inputs[i] are the dense bytes of input i; outputs[i] get those of output i, which the caller has
 * allocated.  `observe` may be NULL.  PTO_OK; PTO_ENOMEM, or PTO_ENOTSUP for a constant that a device keeps, with a
 * sentence; or what `observe` returned. */
PTO_MUST_CHECK int pto_graph_reference_run(const struct pto_graph *graph, const void *const *inputs,
                                           void *const *outputs, pto_reference_observer *observe, void *context,
                                           struct pto_error *error);
/* The same of a graph that is lowered in groups (graph/fuse/fusion.h): results of node n are not rounded where
 * is_inside[n], as those within a group never are; NULL: all are. */
PTO_MUST_CHECK int pto_graph_reference_run_fused(const struct pto_graph *graph, const bool *is_inside,
                                                 const void *const *inputs, void *const *outputs,
                                                 pto_reference_observer *observe, void *context,
                                                 struct pto_error *error);
/* That with a judge, for whom nodes that are sums are computed three times. */
PTO_MUST_CHECK int pto_graph_reference_run_judged(const struct pto_graph *graph, const bool *is_inside,
                                                  const void *const *inputs, void *const *outputs,
                                                  pto_reference_judge *judge, void *context, struct pto_error *error);

/* ---- tensors ---- */

/* A zeroed tensor of this dtype and shape; false where there is no memory.  fini of a zeroed struct is allowed. */
PTO_MUST_CHECK bool pto_reference_tensor_init(struct pto_reference_tensor *tensor, const struct pto_graph_desc *desc);
void pto_reference_tensor_fini(struct pto_reference_tensor *tensor);
/* From and to dense bytes (two 4-bit elements a byte, the low half first; half a byte behind the last is 0). */
void pto_reference_tensor_load(struct pto_reference_tensor *tensor, const void *bytes);
void pto_reference_tensor_store(const struct pto_reference_tensor *tensor, void *bytes);
/* Every element as its dtype has it: floats rounded to nearest, ties to even, beyond the largest ±∞; integers modulo 2
 * to the number of their bits; bools 0 or 1. */
void pto_reference_tensor_round(struct pto_reference_tensor *tensor);

#endif
