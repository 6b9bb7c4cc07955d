/* SPDX-License-Identifier: MIT */
/*
 * Fusion: groups of nodes that are lowered together, as one operation that computes the same.
 *
 * A plan says of each node of a graph whether it is lowered by itself, is the last of a group, where the group is
 * lowered, or is inside one and lowered with it.  Groups are found by pattern, from the last node of the graph to the
 * first, so that the longest that ends at a node wins; PTO_FUSION_LIST is the one list of patterns.
 *
 * Owns its arrays, from init to fini.  The graph is borrowed and does not change.
 *
 * Always true: a node is in one group at most; results of nodes inside a group are used by nodes of that group alone,
 * and none is an output of the graph; operands of a group are made before its last node, and by none of its nodes; a
 * group computes what its nodes do, but for values between them, which are not rounded to their dtype (docs/lowering.md
 * has what that means for overflow, NaN and infinities).  The plan depends on the graph alone.  Of a graph that
 * is_unfused it has no groups. Making a result that is not inside a group an output leaves all groups as they are.
 *
 * Any thread.  To add a pattern: a line in PTO_FUSION_LIST, pto_match_ID in the file of its subject here, by the
 * forms of graph/fuse/match.h, and pto_lower_fused_ID beside it.
 */
#ifndef PTO_GRAPH_FUSE_FUSION_H
#define PTO_GRAPH_FUSE_FUSION_H

#include <graph/build/operand_graph.h>

/* X(id, which operations its nodes may be): in the order in which they are tried where several end at one node. */
/* clang-format off */
#define PTO_FUSION_LIST(X)                                                                                             \
  X(attention, "matmul mul div add where softmax reduceMax sub exp reduceSum reciprocal")                              \
  X(layer_norm, "reduceMean reduceSum reduceSumSquare sub mul pow add sqrt div reciprocal")                            \
  X(rms_norm, "reduceMean reduceSum reduceSumSquare mul pow add sqrt div reciprocal")                                  \
  X(softmax, "reduceMax sub exp reduceSum div reciprocal mul")                                                         \
  X(gelu, "mul div erf add")                                                                                           \
  X(gelu_tanh, "mul pow add tanh")                                                                                     \
  X(silu_product, "sigmoid neg exp add reciprocal div mul")                                                            \
  X(silu, "sigmoid neg exp add reciprocal div mul")                                                                    \
  X(product_sum, "matmul gemm add")                                                                                    \
  X(conv2d_clamp, "conv2d clamp relu")
/* clang-format on */

enum pto_fusion {
#define X(id, ops) PTO_FUSION_##id,
  PTO_FUSION_LIST(X)
#undef X
      PTO_FUSION_COUNT
};

#define PTO_FUSED_NODES 24u   /* of a group, at most */
#define PTO_FUSED_OPERANDS 8u /* that its lowering knows by place */

/* What a pattern found beside its operands; each uses some of it. */
struct pto_fused_options {
  double epsilon;              /* added to a mean of squares */
  double scale;                /* that scores are multiplied by */
  uint32_t axes[PTO_MAX_DIMS]; /* along which rows lie, ascending */
  uint32_t axis_count;
  bool is_centred;                     /* the mean is taken off first */
  bool is_inverted;                    /* the mask is true where scores do not count */
  bool is_other_finite;                /* a number stands for these */
  const struct pto_graph_node *node;   /* whose options hold for the group as well */
  const struct pto_graph_node *bounds; /* a clamp or relu */
};

struct pto_fused_group {
  uint32_t pattern;                /* enum pto_fusion */
  uint32_t nodes[PTO_FUSED_NODES]; /* ascending; the last is where it is lowered */
  uint32_t node_count;
  uint32_t operands[PTO_FUSED_OPERANDS]; /* values, by the pattern's own parameters; 0: absent */
  uint32_t operand_count;
  struct pto_fused_options options;
};

struct pto_fusion_plan {
  struct pto_fused_group *groups; /* descending by last node */
  size_t group_count, capacity;
  uint32_t *group_of; /* by node: 1 + the group, 0: lowered by itself */
};

/* PTO_OK or PTO_ENOMEM.  fini of a zeroed struct is allowed. */
PTO_MUST_CHECK int pto_fusion_plan_init(struct pto_fusion_plan *plan, const struct pto_graph *graph);
void pto_fusion_plan_fini(struct pto_fusion_plan *plan);

/* The node where `node` is lowered: the last of its group, else itself. */
uint32_t pto_fusion_place(const struct pto_fusion_plan *plan, uint32_t node);
/* Whether it is inside a group, and not the last of it. */
static inline bool pto_fusion_is_inside(const struct pto_fusion_plan *plan, uint32_t node) {
  return pto_fusion_place(plan, node) != node;
}
/* The group that is lowered at `node`; NULL where that is lowered by itself, or inside a group. */
const struct pto_fused_group *pto_fusion_group_at(const struct pto_fusion_plan *plan, uint32_t node);
/* The group as a node: its operands, the results of its last node, and struct pto_fused_options.  Borrows the group. */
struct pto_graph_node pto_fused_group_node(const struct pto_graph *graph, const struct pto_fused_group *group);

/* "rms_norm", and the operations that its groups may have, separated by spaces. */
const char *pto_fusion_name(uint32_t pattern);
const char *pto_fusion_ops(uint32_t pattern);

#endif
