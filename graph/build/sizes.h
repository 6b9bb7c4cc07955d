/* SPDX-License-Identifier: MIT */
/*
 * Sizes that stay open in a graph until it is bound: their names, the most that each may be, and the places where they
 * stand.
 *
 *   graph/build/sizes.c   naming places, checking them at build, and values from the shapes of inputs
 *   graph/build/bind.c    the plain graph of some values
 *
 * A graph with open sizes is a template.  It is itself a graph, that of the largest sizes: what builders check and
 * infer is checked and inferred with these.  A bound graph is the template's calls once more with other numbers at the
 * places, so that every rule of a call holds for every value, and value v of the one is value v of the other.
 *
 * Owns a table of sizes and one of places, the builder's until build, then the graph's; names are in the arena.
 *
 * Always true: at all places of a size stands the most that it may be.  After build: places are in the order of value,
 * attribute and item, and no two are the same; each size stands in the shape of an input (it is free), or it follows:
 * its first place is the one item of the newShape of a reshape that the elements of the input decide.
 *
 * Threads: as of operand_graph.h.
 */
#ifndef PTO_GRAPH_BUILD_SIZES_H
#define PTO_GRAPH_BUILD_SIZES_H

#include <graph/build/builder_state.h>

/* Open sizes of a graph. */
#define PTO_GRAPH_MAX_SIZES 64u

/* The size at a place (PTO_SIZE_IN_SHAPE, or 1 + an attribute's index); NULL: it is a number.  Of a built graph. */
const struct pto_graph_open_size *pto_graph_size_in(const struct pto_graph *graph, uint32_t value, uint32_t attribute,
                                                    uint32_t item);
/* Whether the graph has free sizes: it is a template. */
bool pto_graph_is_open(const struct pto_graph *graph);

/* ---- for build ---- */

/* Whether the places of values that are needed (numbers[v] is not 0) are as above; marks sizes that follow.  PTO_OK or
 * PTO_EINVAL, left in the builder. */
PTO_MUST_CHECK int pto_builder_check_sizes(struct pto_graph_builder *builder, const uint32_t *numbers);
/* The tables become the graph's, by its numbers. */
void pto_builder_hand_on_sizes(struct pto_graph_builder *builder, const uint32_t *numbers, struct pto_graph *graph);

/* ---- binding ---- */

/* What is bound to an input: a shape, or bytes of host memory, from which one size can be told; or nothing. */
struct pto_graph_extent {
  bool is_given, has_shape;
  uint32_t ndims;
  const uint64_t *shape;
  uint64_t size_bytes;
};
/* The values that the free sizes have by what is bound to the inputs; values[s] of a size that follows is 0.  Whether
 * shapes are right otherwise is not looked at.  PTO_OK, or PTO_EINVAL with names and values in the sentence. */
PTO_MUST_CHECK int pto_graph_match_sizes(const struct pto_graph *graph, const struct pto_graph_extent *inputs,
                                         uint64_t *values, struct pto_error *error);
/* The plain graph of these values, which borrows names and data of constants: it goes before `graph`.  PTO_OK;
 * PTO_EINVAL for a value out of its range or one with which a call is refused; PTO_ENOMEM. */
PTO_MUST_CHECK int pto_graph_bind_values(const struct pto_graph *graph, const uint64_t *values,
                                         struct pto_graph **bound_out, struct pto_error *error);

#endif
