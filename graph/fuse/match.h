/* SPDX-License-Identifier: MIT */
/*
 * Patterns of fusion: forms, which say what makes a value, and the search for nodes that are of a form.
 *
 * Owns nothing.  A form is a tree of constants, written with the macros below.  pto_match_form goes back and tries
 * another way wherever there are several: other operands of a sum or product, another alternative, another spelling.
 * A node that is in another group makes nothing here.  Whether results within the group are used by others, are
 * outputs, or are operands of the group is asked once, when the group is whole (graph/fuse/fusion.c).
 *
 * pto_fusion_plan_init calls patterns, which alone call this.
 */
#ifndef PTO_GRAPH_FUSE_MATCH_H
#define PTO_GRAPH_FUSE_MATCH_H

#include <graph/fuse/fusion.h>
#include <graph/lower/lowering.h>

/* ---- forms ---- */

enum pto_form_kind {
  PTO_FORM_VALUE,    /* any value, or one of the form in parts[0]: the same wherever `place` stands */
  PTO_FORM_NUMBER,   /* a constant of one element that is `number`, as its dtype has it */
  PTO_FORM_CONSTANT, /* any such: which goes to match.number */
  PTO_FORM_OP,       /* `op` of the parts, in any order where that is add or mul */
  PTO_FORM_PRODUCT,  /* of just these factors, by mul and by what is mul itself and used once, in any order */
  PTO_FORM_REDUCED,  /* `op` of the part along axes that stay with an extent of 1; the same axes in all of a pattern */
  PTO_FORM_OVER_COUNT, /* such a sum, by `op`, over the number of its elements */
  PTO_FORM_EITHER,     /* the first of the parts that the whole pattern is of */
  PTO_FORM_NOTED       /* the part; sets bit `place` of match.notes */
};

#define PTO_FORM_PARTS 4u

struct pto_form {
  uint32_t kind; /* enum pto_form_kind */
  uint32_t op;
  uint32_t keeps; /* of OP: 1 + the part whose shape the result has; 0: it does not matter */
  uint32_t place; /* of VALUE: where it goes in the operands of the group */
  double number;
  const struct pto_form *parts[PTO_FORM_PARTS]; /* NULL behind the last */
};

#define PTO_FORM(...) (&(const struct pto_form){__VA_ARGS__})
#define PTO_VALUE_AT(place_) PTO_FORM(.kind = PTO_FORM_VALUE, .place = place_)
#define PTO_VALUE_OF(place_, form) PTO_FORM(.kind = PTO_FORM_VALUE, .place = place_, .parts = {form})
#define PTO_THE_NUMBER(number_) PTO_FORM(.kind = PTO_FORM_NUMBER, .number = number_)
#define PTO_A_CONSTANT PTO_FORM(.kind = PTO_FORM_CONSTANT)
#define PTO_OP_OF(id, ...) PTO_FORM(.kind = PTO_FORM_OP, .op = PTO_GRAPH_OP_##id, .parts = {__VA_ARGS__})
/* In the shape of part `which`. */
#define PTO_OP_LIKE(which, id, ...)                                                                                    \
  PTO_FORM(.kind = PTO_FORM_OP, .op = PTO_GRAPH_OP_##id, .keeps = 1 + which, .parts = {__VA_ARGS__})
#define PTO_PRODUCT_OF(...) PTO_FORM(.kind = PTO_FORM_PRODUCT, .parts = {__VA_ARGS__})
#define PTO_REDUCED(id, form) PTO_FORM(.kind = PTO_FORM_REDUCED, .op = PTO_GRAPH_OP_##id, .parts = {form})
#define PTO_OVER_COUNT(id, form) PTO_FORM(.kind = PTO_FORM_OVER_COUNT, .op = PTO_GRAPH_OP_##id, .parts = {form})
#define PTO_EITHER(...) PTO_FORM(.kind = PTO_FORM_EITHER, .parts = {__VA_ARGS__})
#define PTO_NOTED(bit, form) PTO_FORM(.kind = PTO_FORM_NOTED, .place = bit, .parts = {form})

/* x², √x, 1 / x, 1 / √x, the mean of x and that of x², in all spellings. */
#define PTO_SQUARE(x) PTO_EITHER(PTO_OP_OF(mul, x, x), PTO_OP_LIKE(0, pow, x, PTO_THE_NUMBER(2)))
#define PTO_ROOT(x) PTO_EITHER(PTO_OP_OF(sqrt, x), PTO_OP_LIKE(0, pow, x, PTO_THE_NUMBER(0.5)))
#define PTO_RECIPROCAL(x) PTO_EITHER(PTO_OP_OF(reciprocal, x), PTO_OP_LIKE(1, div, PTO_THE_NUMBER(1), x))
#define PTO_RECIPROCAL_ROOT(x)                                                                                         \
  PTO_EITHER(PTO_OP_LIKE(0, pow, x, PTO_THE_NUMBER(-0.5)), PTO_RECIPROCAL(PTO_ROOT(x)), PTO_ROOT(PTO_RECIPROCAL(x)))
#define PTO_MEAN(x) PTO_EITHER(PTO_REDUCED(reduce_mean, x), PTO_OVER_COUNT(reduce_sum, x))
#define PTO_MEAN_SQUARE(x) PTO_EITHER(PTO_MEAN(PTO_SQUARE(x)), PTO_OVER_COUNT(reduce_sum_square, x))

/* e / Σe, e = e^(s − max s), s of form `scores` at place `s`; e takes the place behind. */
#define PTO_SOFTMAX_OF(s, scores)                                                                                      \
  PTO_SHARE_OF((s) + 1,                                                                                                \
               PTO_OP_OF(exp, PTO_OP_OF(sub, PTO_VALUE_OF(s, scores), PTO_REDUCED(reduce_max, PTO_VALUE_AT(s)))))
#define PTO_SHARE_OF(e, form)                                                                                          \
  PTO_EITHER(PTO_OP_OF(div, PTO_VALUE_OF(e, form), PTO_REDUCED(reduce_sum, PTO_VALUE_AT(e))),                          \
             PTO_OP_OF(mul, PTO_VALUE_OF(e, form), PTO_RECIPROCAL(PTO_REDUCED(reduce_sum, PTO_VALUE_AT(e)))))

/* ---- a match ---- */

struct pto_fusion_match {
  const struct pto_graph *graph;
  const struct pto_fusion_plan *plan; /* as far as it is */
  const uint32_t *uses;               /* by value: operands that it is, and one for an output of the graph */
  struct pto_fused_group group;
  uint32_t axes;  /* of all reductions, a bit each; 0: none yet */
  uint32_t notes; /* bits */
  double number;  /* of PTO_FORM_CONSTANT */
  bool is_full;   /* of nodes: no group then */
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

/* Whether node `index` is of the form, whose nodes are taken then; the first `operand_count` places are the group's. */
bool pto_match_form(struct pto_fusion_match *m, uint32_t index, const struct pto_form *form, uint32_t operand_count);

static inline const struct pto_graph_desc *pto_match_desc(const struct pto_fusion_match *m, uint32_t value) {
  return &m->graph->values[value].desc;
}
bool pto_match_same_shape(const struct pto_fusion_match *m, uint32_t a, uint32_t b);
/* The node of operation `op` that makes `value`, taken; NULL where there is none, or it is in a group. */
const struct pto_graph_node *pto_match_node(struct pto_fusion_match *m, uint32_t value, uint32_t op);
/* Whether `value` is a constant of one element, of a float dtype. */
bool pto_match_constant(const struct pto_fusion_match *m, uint32_t value, double *number_out);

#endif
