/* SPDX-License-Identifier: MIT */
/*
 * Whether two graphs are one and the same but for the numbers of their values: inputs, outputs, nodes in their order,
 * options as they were given, constants bit by bit; values that have a name in the first have it in the second.
 *
 * Owns nothing.  Any thread.
 */
#ifndef PTO_GRAPH_SAME_H
#define PTO_GRAPH_SAME_H

#include <graph/build/operand_graph.h>

/* True, or false with the first difference in `why`. */
bool pto_graph_is_same(const struct pto_graph *a, const struct pto_graph *b, char why[256]);

#endif
