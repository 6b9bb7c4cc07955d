/* SPDX-License-Identifier: MIT */
/*
 * Fused: activations written out.
 *
 *   silu          x · s(x), or x / (1 + e^−x)
 *   silu_product  the same · y, of one shape
 *   gelu          x · ½ · (1 + erf(x / √2)), factors in any order
 *   gelu_tanh     x · ½ · (1 + tanh(√(2/π) · (x + 0.044715 · x³))), as well
 *
 * s(x) is sigmoid, or 1 / (1 + e^−x) by a division or reciprocal.
 */
#include <graph/fuse/match.h>

#include <kernels/api/list.h>
#include <math.h>

#define ROOT_HALF 0.70710678118654752      /* 1 / √2 */
#define ROOT_2 1.4142135623730950          /* √2 */
#define ROOT_2_OVER_PI 0.79788456080286536 /* √(2 / π) */

/* ---- silu ---- */

/* 1 + e^−x. */
static bool is_one_and_exponential(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  uint32_t exponential, negative;
  return pto_match_with_number(m, value, PTO_GRAPH_OP_add, 1, &exponential) &&
         pto_match_of(m, exponential, PTO_GRAPH_OP_exp, &negative) &&
         pto_match_of(m, negative, PTO_GRAPH_OP_neg, x_out);
}

static bool is_sigmoid(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  const uint32_t mark = pto_match_mark(m);
  uint32_t sum;
  if (pto_match_of(m, value, PTO_GRAPH_OP_sigmoid, x_out)) return true;
  if (pto_match_reciprocal(m, value, &sum) && is_one_and_exponential(m, sum, x_out)) return true;
  pto_match_rewind(m, mark);
  return false;
}

/* x / (1 + e^−x). */
static bool is_silu_division(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  const uint32_t mark = pto_match_mark(m);
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_div);
  if (node != NULL && is_one_and_exponential(m, node->operands[1], x_out) && node->operands[0] == *x_out) return true;
  pto_match_rewind(m, mark);
  return false;
}

/* Two of the factors are x and its sigmoid: `rest` is the third, or 0. */
static bool are_silu_factors(struct pto_fusion_match *m, const uint32_t *factors, uint32_t count, uint32_t *x_out,
                             uint32_t *rest_out) {
  const uint32_t mark = pto_match_mark(m);
  for (uint32_t s = 0; s < count; s++) {
    for (uint32_t i = 0; i < count && is_sigmoid(m, factors[s], x_out); i++) {
      if (i == s || factors[i] != *x_out) continue;
      *rest_out = count == 3 ? factors[3 - s - i] : 0;
      return true;
    }
    pto_match_rewind(m, mark);
  }
  return false;
}

bool pto_match_silu(struct pto_fusion_match *m, uint32_t index) {
  struct pto_fused_group *g = &m->group;
  uint32_t factors[2], rest;
  g->operand_count = 1;
  if (is_silu_division(m, m->graph->nodes[index].first_result, &g->operands[0])) return true;
  const uint32_t count = pto_match_factors(m, index, factors, 2);
  return count == 2 && are_silu_factors(m, factors, count, &g->operands[0], &rest);
}

bool pto_match_silu_product(struct pto_fusion_match *m, uint32_t index) {
  struct pto_fused_group *g = &m->group;
  uint32_t factors[3];
  const uint32_t count = pto_match_factors(m, index, factors, 3);
  bool is_it = count == 3 && are_silu_factors(m, factors, count, &g->operands[0], &g->operands[1]);
  for (uint32_t i = 0; !is_it && count == 2 && i < 2; i++) {
    is_it = is_silu_division(m, factors[i], &g->operands[0]);
    g->operands[1] = factors[1 - i];
  }
  g->operand_count = 2;
  return is_it && pto_match_same_shape(m, g->operands[0], g->operands[1]);
}

/* ---- gelu ---- */

/* x, ½ and another: which that is. */
static bool are_gelu_factors(const struct pto_fusion_match *m, const uint32_t *factors, uint32_t x, uint32_t another) {
  for (uint32_t i = 0; i < 3; i++)
    if (i != another && factors[i] == x && pto_match_number(m, factors[3 - another - i], 0.5)) return true;
  return false;
}

/* The argument of erf: x / √2. */
static bool is_over_root_two(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  return pto_match_with_number(m, value, PTO_GRAPH_OP_mul, ROOT_HALF, x_out) ||
         pto_match_with_number(m, value, PTO_GRAPH_OP_div, ROOT_2, x_out);
}

static bool is_erf_part(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  uint32_t erf, argument;
  return pto_match_with_number(m, value, PTO_GRAPH_OP_add, 1, &erf) &&
         pto_match_of(m, erf, PTO_GRAPH_OP_erf, &argument) && is_over_root_two(m, argument, x_out);
}

/* x³, as a power or by x · x · x. */
static bool is_cube(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  if (pto_match_with_number(m, value, PTO_GRAPH_OP_pow, 3, x_out)) return true;
  const uint32_t mark = pto_match_mark(m);
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_mul);
  for (uint32_t i = 0; node != NULL && i < 2; i++)
    if (pto_match_square(m, node->operands[i], x_out) && *x_out == node->operands[1 - i]) return true;
  pto_match_rewind(m, mark);
  return false;
}

/* x + 0.044715 · x³. */
static bool is_bent(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_add);
  const uint32_t mark = pto_match_mark(m);
  uint32_t cube;
  for (uint32_t i = 0; node != NULL && i < 2; i++) {
    if (pto_match_with_number(m, node->operands[i], PTO_GRAPH_OP_mul, 0.044715, &cube) && is_cube(m, cube, x_out) &&
        *x_out == node->operands[1 - i])
      return true;
    pto_match_rewind(m, mark);
  }
  return false;
}

static bool is_tanh_part(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  uint32_t tanh, argument, bent;
  return pto_match_with_number(m, value, PTO_GRAPH_OP_add, 1, &tanh) &&
         pto_match_of(m, tanh, PTO_GRAPH_OP_tanh, &argument) &&
         pto_match_with_number(m, argument, PTO_GRAPH_OP_mul, ROOT_2_OVER_PI, &bent) && is_bent(m, bent, x_out);
}

static bool match_gelu(struct pto_fusion_match *m, uint32_t index,
                       bool (*is_part)(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out)) {
  struct pto_fused_group *g = &m->group;
  uint32_t factors[3];
  const uint32_t count = pto_match_factors(m, index, factors, 3), mark = pto_match_mark(m);
  g->operand_count = 1;
  for (uint32_t i = 0; i < 3 && count == 3; i++) {
    if (is_part(m, factors[i], &g->operands[0]))
      return are_gelu_factors(m, factors, g->operands[0], i) &&
             pto_match_same_shape(m, g->operands[0], m->graph->nodes[index].first_result);
    pto_match_rewind(m, mark);
  }
  return false;
}

bool pto_match_gelu(struct pto_fusion_match *m, uint32_t index) { return match_gelu(m, index, is_erf_part); }
bool pto_match_gelu_tanh(struct pto_fusion_match *m, uint32_t index) { return match_gelu(m, index, is_tanh_part); }

/* ---- tasks ---- */

static void unary(struct pto_graph_lowering *l, const struct pto_graph_node *group, const struct pto_kernel *kernel) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, group, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, group, 0, PTO_IN_PLACE_ANY);
  pto_graph_lowering_elementwise(l, kernel, &x, 1, &y, NULL, 0);
}

void pto_lower_fused_silu(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  unary(l, group, &pto_general_silu);
}
void pto_lower_fused_gelu(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  unary(l, group, &pto_general_gelu);
}
void pto_lower_fused_gelu_tanh(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  unary(l, group, &pto_general_gelu_tanh);
}

/* Where silu(x) is kept: as long as results, where that is one task that brings the memory with it. */
static struct pto_tensor gate_of(struct pto_graph_lowering *l, const struct pto_tensor *y) {
  if (pto_tensor_numel(y) > PTO_TILE_ELEMS) return pto_graph_lowering_temporary(l, PTO_FLOAT32, y->ndims, y->shape);
  return pto_graph_lowering_kept(l, PTO_FLOAT32, y->ndims, y->shape);
}

/* silu(x) in f32, then its product. */
void pto_lower_fused_silu_product(struct pto_graph_lowering *l, const struct pto_graph_node *group) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, group, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, group, 0, PTO_IN_PLACE_ANY);
  const struct pto_tensor gate = gate_of(l, &y);
  const struct pto_tensor *factors[] = {&gate, pto_graph_lowering_operand(l, group, 1)};
  pto_graph_lowering_elementwise(l, &pto_general_silu, &x, 1, &gate, NULL, 0);
  pto_graph_lowering_elementwise(l, &pto_general_mul, factors, 2, &y, NULL, 0);
}
