/* SPDX-License-Identifier: MIT */
/*
 * What patterns are found with: a group in the making, and questions about values that take the nodes which answer
 * them into it.
 *
 * Owns nothing.  A question that is answered with yes has taken the nodes that it stands on; one that is answered with
 * no may have taken some, so that a caller that tries another way goes back to where it was (pto_match_mark, _rewind).
 * A node that is in another group makes nothing here.  Whether results within the group are used by others, are
 * outputs, or are operands of the group is asked once, when the group is whole (graph/fuse/fusion.c).
 *
 * Always true of an answer: constants are single elements that do not change the shape of what they meet; shapes and
 * axes are those that the sentence says.
 *
 * pto_fusion_plan_init calls patterns, which alone call this.
 */
#ifndef PTO_GRAPH_FUSE_MATCH_H
#define PTO_GRAPH_FUSE_MATCH_H

#include <graph/fuse/fusion.h>
#include <graph/lower/lowering.h>

struct pto_fusion_match {
  const struct pto_graph *graph;
  const struct pto_fusion_plan *plan; /* as far as it is */
  const uint32_t *uses;               /* by value: operands that it is, and one for an output of the graph */
  struct pto_fused_group group;
  bool is_full; /* of nodes: no group then */
};

/* Whether a group ends at node `index`, which it takes first; fills operands and options. */
typedef bool pto_match_function(struct pto_fusion_match *m, uint32_t index);
#define X(id, ops) pto_match_function pto_match_##id;
PTO_FUSION_LIST(X)
#undef X
/* Its tasks: of the node that pto_fused_group_node makes. */
#define X(id, ops) pto_lower_function pto_lower_fused_##id;
PTO_FUSION_LIST(X)
#undef X

/* ---- nodes ---- */

static inline const struct pto_graph_desc *pto_match_desc(const struct pto_fusion_match *m, uint32_t value) {
  return &m->graph->values[value].desc;
}
bool pto_match_same_shape(const struct pto_fusion_match *m, uint32_t a, uint32_t b);

/* The node of operation `op` that makes `value`, taken; NULL where there is none, or it is in a group. */
const struct pto_graph_node *pto_match_node(struct pto_fusion_match *m, uint32_t value, uint32_t op);
/* The node at `index`, taken, if it is of `op`. */
const struct pto_graph_node *pto_match_last(struct pto_fusion_match *m, uint32_t index, uint32_t op);

static inline uint32_t pto_match_mark(const struct pto_fusion_match *m) { return m->group.node_count; }
void pto_match_rewind(struct pto_fusion_match *m, uint32_t mark);

/* ---- numbers ---- */

/* Whether `value` is a constant of one element, of a float dtype. */
bool pto_match_constant(const struct pto_fusion_match *m, uint32_t value, double *number_out);
/* Whether it is `number`, as its dtype has it. */
bool pto_match_number(const struct pto_fusion_match *m, uint32_t value, double number);

/* ---- expressions ---- */

/* `op` of x and a constant, in either order of a sum or product, behind x of a division or power; of the shape of x. */
bool pto_match_with_constant(struct pto_fusion_match *m, uint32_t value, uint32_t op, uint32_t *x_out,
                             double *number_out);
/* The same with this number. */
bool pto_match_with_number(struct pto_fusion_match *m, uint32_t value, uint32_t op, double number, uint32_t *x_out);
/* `op` of one operand. */
bool pto_match_of(struct pto_fusion_match *m, uint32_t value, uint32_t op, uint32_t *x_out);
/* x · x or x². */
bool pto_match_square(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out);
/* √x, by sqrt or as a power. */
bool pto_match_root(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out);
/* 1 / √x. */
bool pto_match_reciprocal_root(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out);
/* 1 / x, by reciprocal or a division. */
bool pto_match_reciprocal(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out);
/* `op`, a reduction of x along some axes that stay with an extent of 1: bit d, dimension d. */
bool pto_match_reduced(struct pto_fusion_match *m, uint32_t value, uint32_t op, uint32_t *x_out, uint32_t *axes_out);
/* The mean of x along such axes, by reduceMean or a sum and the number of elements. */
bool pto_match_mean(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out, uint32_t *axes_out);
/* The same of the squares of x. */
bool pto_match_mean_square(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out, uint32_t *axes_out);

/* e^(x − max x) / Σ e^(x − max x) along one axis, written out. */
bool pto_match_softmax_written_out(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out, uint32_t *axis_out);

/* The factors of a product: those of mul, and of what is mul itself and used once.  How many, 0 where there are more
 * than `most` or no product. */
uint32_t pto_match_factors(struct pto_fusion_match *m, uint32_t index, uint32_t *factors, uint32_t most);

#endif
