/* SPDX-License-Identifier: MIT */
/*
 * What a node's results are sums of, for who bounds what rounding makes of them (rounding_bound.h).
 *
 * Owns the two tensors of a pto_reference_sums until fini.
 *
 * Always true: the sums of magnitudes and of squares are the reference function of the operation itself, of operands
 * that are replaced by their magnitudes or squares, so they cannot have other terms than the results have.
 *
 * Any thread; the run of the reference calls.
 */
#ifndef PTO_GRAPH_REFERENCE_SUMS_H
#define PTO_GRAPH_REFERENCE_SUMS_H

#include <graph/reference/reference.h>

/* Sums of the node whose results have been computed of these operands; `function` is its operation's.  Operands change
 * meanwhile and are as they were afterwards.  PTO_OK or PTO_ENOMEM; fini of a zeroed one is allowed. */
PTO_MUST_CHECK int pto_reference_sums_init(struct pto_reference_sums *sums, const struct pto_graph_node *node,
                                           const struct pto_reference_tensor *const *operands,
                                           const struct pto_reference_tensor *results,
                                           pto_reference_function *function);
void pto_reference_sums_fini(struct pto_reference_sums *sums);

#endif
