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

#define ROOT_HALF 0.70710678118654752      /* 1 / √2 */
#define ROOT_2 1.4142135623730950          /* √2 */
#define ROOT_2_OVER_PI 0.79788456080286536 /* √(2 / π) */

enum { X, Y }; /* operands */

#define NUMBER(number) PTO_THE_NUMBER(number)
#define AT(place) PTO_VALUE_AT(place)

/* ---- silu ---- */

#define ONE_AND_EXPONENTIAL PTO_OP_LIKE(0, add, PTO_OP_OF(exp, PTO_OP_OF(neg, AT(X))), NUMBER(1)) /* 1 + e^−x */
#define SIGMOID PTO_EITHER(PTO_OP_OF(sigmoid, AT(X)), PTO_RECIPROCAL(ONE_AND_EXPONENTIAL))
#define SILU_DIVISION PTO_OP_OF(div, AT(X), ONE_AND_EXPONENTIAL)

static const struct pto_form *const silu = PTO_EITHER(SILU_DIVISION, PTO_PRODUCT_OF(AT(X), SIGMOID));
static const struct pto_form *const silu_product =
    PTO_EITHER(PTO_PRODUCT_OF(AT(X), SIGMOID, AT(Y)), PTO_PRODUCT_OF(SILU_DIVISION, AT(Y)));

bool pto_match_silu(struct pto_fusion_match *m, uint32_t index) { return pto_match_form(m, index, silu, 1); }

bool pto_match_silu_product(struct pto_fusion_match *m, uint32_t index) {
  return pto_match_form(m, index, silu_product, 2) &&
         pto_match_same_shape(m, m->group.operands[X], m->group.operands[Y]);
}

/* ---- gelu ---- */

#define OVER_ROOT_TWO                                                                                                  \
  PTO_EITHER(PTO_OP_LIKE(0, mul, AT(X), NUMBER(ROOT_HALF)), PTO_OP_LIKE(0, div, AT(X), NUMBER(ROOT_2)))
#define CUBE PTO_EITHER(PTO_OP_LIKE(0, pow, AT(X), NUMBER(3)), PTO_OP_OF(mul, PTO_SQUARE(AT(X)), AT(X)))
#define BENT PTO_OP_OF(add, AT(X), PTO_OP_LIKE(0, mul, CUBE, NUMBER(0.044715)))

static const struct pto_form *const gelu =
    PTO_PRODUCT_OF(AT(X), NUMBER(0.5), PTO_OP_LIKE(0, add, PTO_OP_OF(erf, OVER_ROOT_TWO), NUMBER(1)));
static const struct pto_form *const gelu_tanh =
    PTO_PRODUCT_OF(AT(X), NUMBER(0.5),
                   PTO_OP_LIKE(0, add, PTO_OP_OF(tanh, PTO_OP_LIKE(0, mul, BENT, NUMBER(ROOT_2_OVER_PI))), NUMBER(1)));

static bool match_gelu(struct pto_fusion_match *m, uint32_t index, const struct pto_form *form) {
  return pto_match_form(m, index, form, 1) &&
         pto_match_same_shape(m, m->group.operands[X], m->graph->nodes[index].first_result);
}

bool pto_match_gelu(struct pto_fusion_match *m, uint32_t index) { return match_gelu(m, index, gelu); }
bool pto_match_gelu_tanh(struct pto_fusion_match *m, uint32_t index) { return match_gelu(m, index, gelu_tanh); }

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
