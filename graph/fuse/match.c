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

const struct pto_graph_node *pto_match_node(struct pto_fusion_match *m, uint32_t value, uint32_t op) {
  struct pto_fused_group *g = &m->group;
  const uint32_t producer = m->graph->values[value].producer;
  if (producer == 0 || m->plan->group_of[producer - 1] != 0 || m->graph->nodes[producer - 1].op != op) return NULL;
  uint32_t i = 0;
  while (i < g->node_count && g->nodes[i] != producer - 1) i++;
  m->is_full = m->is_full || i == PTO_FUSED_NODES;
  if (i == g->node_count && !m->is_full) g->nodes[g->node_count++] = producer - 1;
  return &m->graph->nodes[producer - 1];
}

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

/* Whether it is `number`, as its dtype has it. */
static bool is_number(const struct pto_fusion_match *m, uint32_t value, double number) {
  double is = 0;
  if (!pto_match_constant(m, value, &is)) return false;
  const bool is_half = pto_match_desc(m, value)->dtype == PTO_FLOAT16;
  return is == (double)(is_half ? pto_fp16_to_f32(pto_fp16_from_f32((float)number)) : (float)number);
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

/* ---- the search ---- */

/* Values that are to be of forms, one behind the other. */
struct goal {
  const struct pto_form *form;
  uint32_t value;
  const struct goal *next;
};

static bool prove(struct pto_fusion_match *m, const struct goal *goals);

/* parts[0] of the form for `value`, then the others. */
static bool prove_part(struct pto_fusion_match *m, const struct goal *goal, uint32_t value) {
  return prove(m, &(struct goal){goal->form->parts[0], value, goal->next});
}

/* The parts of the form for as many values, in their order or in any. */
static bool prove_parts(struct pto_fusion_match *m, const struct goal *goal, const uint32_t *values, uint32_t count,
                        bool is_any_order) {
  static const uint8_t orders[][3] = {{0, 1, 2}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const struct pto_form *form = goal->form;
  const uint32_t ways = !is_any_order ? 1 : count == 2 ? 2 : 6;
  for (uint32_t w = 0; w < ways; w++) {
    struct goal parts[3];
    for (uint32_t i = 0; i < count; i++)
      parts[i] = (struct goal){form->parts[i], values[orders[w][i]], i + 1 < count ? &parts[i + 1] : goal->next};
    if (form->keeps != 0 && !pto_match_same_shape(m, goal->value, parts[form->keeps - 1].value)) continue;
    if (prove(m, parts)) return true;
  }
  return false;
}

static uint32_t part_count(const struct pto_form *form) {
  uint32_t count = 0;
  while (count < PTO_FORM_PARTS && form->parts[count] != NULL) count++;
  return count;
}

static bool prove_value(struct pto_fusion_match *m, const struct goal *goal) {
  uint32_t *operand = &m->group.operands[goal->form->place];
  if (*operand != 0 && *operand != goal->value) return false;
  *operand = goal->value;
  return goal->form->parts[0] != NULL ? prove_part(m, goal, goal->value) : prove(m, goal->next);
}

static bool take_axes(struct pto_fusion_match *m, uint32_t axes) {
  if (m->axes == 0) m->axes = axes;
  return m->axes == axes;
}

static bool prove_op(struct pto_fusion_match *m, const struct goal *goal) {
  const struct pto_graph_node *node = pto_match_node(m, goal->value, goal->form->op);
  if (node == NULL) return false;
  if (node->op == PTO_GRAPH_OP_softmax &&
      !take_axes(m, 1u << ((const struct pto_softmax_options *)node->options)->axis))
    return false;
  const bool is_any_order = node->op == PTO_GRAPH_OP_add || node->op == PTO_GRAPH_OP_mul;
  return prove_parts(m, goal, node->operands, part_count(goal->form), is_any_order);
}

static bool prove_product(struct pto_fusion_match *m, const struct goal *goal) {
  uint32_t factors[3];
  const uint32_t wanted = part_count(goal->form);
  const struct pto_graph_node *node = pto_match_node(m, goal->value, PTO_GRAPH_OP_mul);
  const uint32_t count = node == NULL ? 0 : add_factors(m, node, factors, 0, wanted);
  return count == wanted && prove_parts(m, goal, factors, count, true);
}

/* The operand of a reduction by the form's operation that makes `value`; 0 where it is none. */
static uint32_t find_reduced(struct pto_fusion_match *m, const struct pto_form *form, uint32_t value) {
  const struct pto_graph_node *node = pto_match_node(m, value, form->op);
  if (node == NULL) return 0;
  const struct pto_reduce_options *options = node->options;
  const struct pto_graph_desc *x = pto_match_desc(m, node->operands[0]), *y = pto_match_desc(m, value);
  const uint32_t axes = pto_option_axes(options->axes, x->ndims);
  return axes != 0 && y->ndims == x->ndims && take_axes(m, axes) ? node->operands[0] : 0;
}

static bool prove_reduced(struct pto_fusion_match *m, const struct goal *goal) {
  const uint32_t x = find_reduced(m, goal->form, goal->value);
  return x != 0 && prove_part(m, goal, x);
}

/* sum · 1/n, 1/n · sum or sum / n, as `way` says. */
static bool prove_over_count(struct pto_fusion_match *m, const struct goal *goal, uint32_t way) {
  const struct pto_graph_node *node = pto_match_node(m, goal->value, way < 2 ? PTO_GRAPH_OP_mul : PTO_GRAPH_OP_div);
  if (node == NULL) return false;
  const uint32_t sum = node->operands[way % 2], x = find_reduced(m, goal->form, sum);
  if (x == 0 || !pto_match_same_shape(m, goal->value, sum)) return false;
  const double count = reduced_count(m, goal->value, x);
  return is_about(m, node->operands[1 - way % 2], way < 2 ? 1 / count : count) && prove_part(m, goal, x);
}

/* One way of those that there are, by `way` from 0; *has_more says whether there may be another. */
static bool prove_way(struct pto_fusion_match *m, const struct goal *goal, uint32_t way, bool *has_more) {
  const struct pto_form *form = goal->form;
  *has_more = false;
  switch ((enum pto_form_kind)form->kind) {
  case PTO_FORM_VALUE:
    return prove_value(m, goal);
  case PTO_FORM_NUMBER:
    return is_number(m, goal->value, form->number) && prove(m, goal->next);
  case PTO_FORM_CONSTANT:
    return pto_match_constant(m, goal->value, &m->number) && prove(m, goal->next);
  case PTO_FORM_OP:
    return prove_op(m, goal);
  case PTO_FORM_PRODUCT:
    return prove_product(m, goal);
  case PTO_FORM_REDUCED:
    return prove_reduced(m, goal);
  case PTO_FORM_OVER_COUNT:
    *has_more = way + 1 < 3;
    return prove_over_count(m, goal, way);
  case PTO_FORM_EITHER:
    *has_more = way + 1 < part_count(form);
    return prove(m, &(struct goal){form->parts[way], goal->value, goal->next});
  case PTO_FORM_NOTED:
    m->notes |= 1u << form->place;
    return prove_part(m, goal, goal->value);
  }
  return false;
}

static bool prove(struct pto_fusion_match *m, const struct goal *goals) {
  if (goals == NULL) return true;
  const struct pto_fusion_match before = *m;
  bool has_more = true;
  for (uint32_t way = 0; has_more; way++) {
    if (prove_way(m, goals, way, &has_more)) return true;
    const bool is_full = m->is_full;
    *m = before;
    m->is_full = is_full;
  }
  return false;
}

bool pto_match_form(struct pto_fusion_match *m, uint32_t index, const struct pto_form *form, uint32_t operand_count) {
  struct pto_fused_group *g = &m->group;
  m->axes = m->notes = 0;
  m->number = 1;
  if (!prove(m, &(struct goal){form, m->graph->nodes[index].first_result, NULL})) return false;
  g->operand_count = operand_count;
  memset(g->operands + operand_count, 0, (PTO_FUSED_OPERANDS - operand_count) * sizeof *g->operands);
  for (uint32_t d = 0; d < PTO_MAX_DIMS; d++)
    if ((m->axes >> d & 1) != 0) g->options.axes[g->options.axis_count++] = d;
  return true;
}
