/* SPDX-License-Identifier: MIT */
#include <graph/fuse/match.h>

#include <math.h>
#include <string.h>

#include <graph/build/op_options.h>

/* ---- nodes ---- */

bool pto_match_same_shape(const struct pto_fusion_match *m, uint32_t a, uint32_t b) {
  const struct pto_graph_desc *x = pto_match_desc(m, a), *y = pto_match_desc(m, b);
  return x->ndims == y->ndims && memcmp(x->shape, y->shape, x->ndims * sizeof *x->shape) == 0;
}

static void take(struct pto_fusion_match *m, uint32_t index) {
  struct pto_fused_group *g = &m->group;
  for (uint32_t i = 0; i < g->node_count; i++)
    if (g->nodes[i] == index) return;
  if (g->node_count == PTO_FUSED_NODES)
    m->is_full = true;
  else
    g->nodes[g->node_count++] = index;
}

const struct pto_graph_node *pto_match_last(struct pto_fusion_match *m, uint32_t index, uint32_t op) {
  const struct pto_graph_node *node = &m->graph->nodes[index];
  if (node->op != op) return NULL;
  take(m, index);
  return node;
}

const struct pto_graph_node *pto_match_node(struct pto_fusion_match *m, uint32_t value, uint32_t op) {
  const uint32_t producer = m->graph->values[value].producer;
  if (producer == 0 || m->plan->group_of[producer - 1] != 0) return NULL;
  return pto_match_last(m, producer - 1, op);
}

void pto_match_rewind(struct pto_fusion_match *m, uint32_t mark) { m->group.node_count = mark; }

/* ---- numbers ---- */

bool pto_match_constant(const struct pto_fusion_match *m, uint32_t value, double *number_out) {
  const struct pto_graph_value *v = &m->graph->values[value];
  if (v->kind != PTO_VALUE_CONSTANT || v->data == NULL || pto_graph_desc_numel(&v->desc) != 1) return false;
  if (v->desc.dtype == PTO_FLOAT32) {
    float number;
    memcpy(&number, v->data, sizeof number);
    *number_out = (double)number;
    return true;
  }
  if (v->desc.dtype != PTO_FLOAT16) return false;
  uint16_t bits;
  memcpy(&bits, v->data, sizeof bits);
  *number_out = (double)pto_fp16_to_f32(bits);
  return true;
}

bool pto_match_number(const struct pto_fusion_match *m, uint32_t value, double number) {
  double is = 0;
  if (!pto_match_constant(m, value, &is)) return false;
  const bool is_half = pto_match_desc(m, value)->dtype == PTO_FLOAT16;
  return is == (double)(is_half ? pto_fp16_to_f32(pto_fp16_from_f32((float)number)) : (float)number);
}

/* ---- expressions ---- */

/* `op` of x and a constant, which is *wanted where that is not NULL; of operations that are not commutative the second.
 */
static bool is_with(struct pto_fusion_match *m, uint32_t value, uint32_t op, const double *wanted, uint32_t *x_out,
                    double *number_out) {
  const uint32_t mark = pto_match_mark(m), ways = op == PTO_GRAPH_OP_div || op == PTO_GRAPH_OP_pow ? 1 : 2;
  const struct pto_graph_node *node = pto_match_node(m, value, op);
  for (uint32_t i = 0; node != NULL && i < ways; i++) {
    const uint32_t constant = node->operands[1 - i];
    *x_out = node->operands[i];
    if ((wanted != NULL ? pto_match_number(m, constant, *wanted) : pto_match_constant(m, constant, number_out)) &&
        pto_match_same_shape(m, value, *x_out))
      return true;
  }
  pto_match_rewind(m, mark);
  return false;
}

bool pto_match_with_constant(struct pto_fusion_match *m, uint32_t value, uint32_t op, uint32_t *x_out,
                             double *number_out) {
  return is_with(m, value, op, NULL, x_out, number_out);
}

bool pto_match_with_number(struct pto_fusion_match *m, uint32_t value, uint32_t op, double number, uint32_t *x_out) {
  return is_with(m, value, op, &number, x_out, NULL);
}

bool pto_match_of(struct pto_fusion_match *m, uint32_t value, uint32_t op, uint32_t *x_out) {
  const struct pto_graph_node *node = pto_match_node(m, value, op);
  if (node == NULL) return false;
  *x_out = node->operands[0];
  return true;
}

bool pto_match_square(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  const uint32_t mark = pto_match_mark(m);
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_mul);
  if (node != NULL && node->operands[0] == node->operands[1]) {
    *x_out = node->operands[0];
    return true;
  }
  pto_match_rewind(m, mark);
  return pto_match_with_number(m, value, PTO_GRAPH_OP_pow, 2, x_out);
}

bool pto_match_root(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  return pto_match_of(m, value, PTO_GRAPH_OP_sqrt, x_out) ||
         pto_match_with_number(m, value, PTO_GRAPH_OP_pow, 0.5, x_out);
}

bool pto_match_reciprocal(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  const uint32_t mark = pto_match_mark(m);
  if (pto_match_of(m, value, PTO_GRAPH_OP_reciprocal, x_out)) return true;
  const struct pto_graph_node *node = pto_match_node(m, value, PTO_GRAPH_OP_div);
  if (node != NULL && pto_match_number(m, node->operands[0], 1) && pto_match_same_shape(m, value, node->operands[1])) {
    *x_out = node->operands[1];
    return true;
  }
  pto_match_rewind(m, mark);
  return false;
}

bool pto_match_reciprocal_root(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out) {
  const uint32_t mark = pto_match_mark(m);
  uint32_t inner;
  if (pto_match_with_number(m, value, PTO_GRAPH_OP_pow, -0.5, x_out)) return true;
  if (pto_match_reciprocal(m, value, &inner) && pto_match_root(m, inner, x_out)) return true;
  pto_match_rewind(m, mark);
  if (pto_match_root(m, value, &inner) && pto_match_reciprocal(m, inner, x_out)) return true;
  pto_match_rewind(m, mark);
  return false;
}

bool pto_match_reduced(struct pto_fusion_match *m, uint32_t value, uint32_t op, uint32_t *x_out, uint32_t *axes_out) {
  const uint32_t mark = pto_match_mark(m);
  const struct pto_graph_node *node = pto_match_node(m, value, op);
  if (node == NULL) return false;
  const struct pto_reduce_options *options = node->options;
  const struct pto_graph_desc *x = pto_match_desc(m, node->operands[0]), *y = pto_match_desc(m, value);
  *x_out = node->operands[0];
  *axes_out = pto_option_axes(options->axes, x->ndims);
  if (*axes_out != 0 && y->ndims == x->ndims) return true; /* so the dimensions stay */
  pto_match_rewind(m, mark);
  return false;
}

/* Elements that an element of `value` is made of, by a reduction of x. */
static double reduced_count(const struct pto_fusion_match *m, uint32_t value, uint32_t x) {
  return (double)pto_graph_desc_numel(pto_match_desc(m, x)) / (double)pto_graph_desc_numel(pto_match_desc(m, value));
}

/* Whether `value` is that constant but for the rounding of float32: one of float16 is often further off than its
 * results may be. */
static bool is_about(const struct pto_fusion_match *m, uint32_t value, double number) {
  double is = 0;
  return pto_match_constant(m, value, &is) && fabs(is - number) <= 0x1p-23 * fabs(number);
}

/* A sum, by `op`, over the number of its elements. */
static bool is_sum_over_count(struct pto_fusion_match *m, uint32_t value, uint32_t op, uint32_t *x_out,
                              uint32_t *axes_out) {
  const uint32_t mark = pto_match_mark(m);
  for (uint32_t i = 0; i < 3; i++) { /* sum · 1/n, 1/n · sum, sum / n */
    const struct pto_graph_node *node = pto_match_node(m, value, i < 2 ? PTO_GRAPH_OP_mul : PTO_GRAPH_OP_div);
    const uint32_t sum = node == NULL ? 0 : node->operands[i % 2],
                   number = node == NULL ? 0 : node->operands[1 - i % 2];
    if (node != NULL && pto_match_reduced(m, sum, op, x_out, axes_out) && pto_match_same_shape(m, value, sum)) {
      const double count = reduced_count(m, value, *x_out);
      if (is_about(m, number, i < 2 ? 1 / count : count)) return true;
    }
    pto_match_rewind(m, mark);
  }
  return false;
}

bool pto_match_mean(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out, uint32_t *axes_out) {
  return pto_match_reduced(m, value, PTO_GRAPH_OP_reduce_mean, x_out, axes_out) ||
         is_sum_over_count(m, value, PTO_GRAPH_OP_reduce_sum, x_out, axes_out);
}

bool pto_match_mean_square(struct pto_fusion_match *m, uint32_t value, uint32_t *x_out, uint32_t *axes_out) {
  const uint32_t mark = pto_match_mark(m);
  uint32_t square;
  if (pto_match_mean(m, value, &square, axes_out) && pto_match_square(m, square, x_out)) return true;
  pto_match_rewind(m, mark);
  return is_sum_over_count(m, value, PTO_GRAPH_OP_reduce_sum_square, x_out, axes_out);
}

/* ---- products ---- */

static uint32_t add_factors(struct pto_fusion_match *m, const struct pto_graph_node *product, uint32_t *factors,
                            uint32_t count, uint32_t most) {
  for (uint32_t i = 0; i < 2; i++) {
    const uint32_t value = product->operands[i];
    const struct pto_graph_node *inner = m->uses[value] == 1 ? pto_match_node(m, value, PTO_GRAPH_OP_mul) : NULL;
    if (m->is_full) return most + 1;
    if (inner != NULL)
      count = add_factors(m, inner, factors, count, most);
    else if (count < most)
      factors[count++] = value;
    else
      count = most + 1;
    if (count > most) return most + 1;
  }
  return count;
}

uint32_t pto_match_factors(struct pto_fusion_match *m, uint32_t index, uint32_t *factors, uint32_t most) {
  const struct pto_graph_node *product = pto_match_last(m, index, PTO_GRAPH_OP_mul);
  const uint32_t count = product == NULL ? 0 : add_factors(m, product, factors, 0, most);
  return count > most ? 0 : count;
}
