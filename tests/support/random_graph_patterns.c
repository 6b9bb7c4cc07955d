/* SPDX-License-Identifier: MIT */
#include <tests/support/fused_forms.h>
#include <tests/support/random_graph_maker.h>

/* Operands of a pattern, of which all but the result stay unknown to later calls. */
struct planting {
  struct form_maker form;
  struct random_operand given[8];
  uint32_t count;
};

static form_operand give(struct planting *p, struct random_operand x) {
  p->given[p->count++] = x;
  return x.operand;
}

/* x in the sizes of rows along `axes`, extents of 1 elsewhere. */
static form_operand row_like(struct random_maker *m, struct planting *p, const struct pto_graph_desc *x,
                             struct pto_u32_list axes) {
  struct pto_graph_desc desc = random_as(x, x->dtype);
  for (uint32_t d = 0; d < desc.ndims; d++) {
    bool is_row = false;
    for (uint32_t i = 0; i < axes.count; i++) is_row |= axes.values[i] == d;
    if (!is_row) desc.shape[d] = 1;
  }
  return give(p, random_fresh(m, &desc));
}

static form_operand plant_rows(struct random_maker *m, struct planting *p, uint32_t which) {
  const struct random_operand x = random_pick(m, FLOATS, 1, 4, false);
  const uint32_t last = x.desc.ndims - 1, axis = random_chance(m) ? last : random_below(m, x.desc.ndims);
  uint32_t list[] = {axis, last};
  const struct pto_u32_list axes = {list, axis == last || random_chance(m) ? 1 : 2};
  const form_operand operand = give(p, x), none = {0, 0};
  p->form.dtype = x.desc.dtype;
  if (which == 0) return form_softmax(&p->form, operand, axis);
  const form_operand weight = random_chance(m) ? row_like(m, p, &x.desc, axes) : none;
  if (which == 1) return form_rms_norm(&p->form, operand, weight, axes);
  return form_layer_norm(&p->form, operand, weight, random_chance(m) ? row_like(m, p, &x.desc, axes) : none, axes);
}

static form_operand plant_elements(struct random_maker *m, struct planting *p, uint32_t which) {
  const struct random_operand x = random_pick(m, FLOATS, 0, 4, false);
  const form_operand operand = give(p, x);
  p->form.dtype = x.desc.dtype;
  switch (which) {
  case 0:
    return form_silu(&p->form, operand);
  case 1:
    return form_gelu(&p->form, operand);
  case 2:
    return form_gelu_tanh(&p->form, operand);
  default:
    return form_silu_product(&p->form, operand, give(p, random_fresh(m, &x.desc)));
  }
}

static form_operand fresh(struct random_maker *m, struct planting *p, uint32_t dtype, uint32_t ndims,
                          const uint64_t *shape) {
  const struct pto_graph_desc desc = random_desc(dtype, ndims, shape);
  return give(p, random_fresh(m, &desc));
}

/* Matrices [rows, depth] and [depth, columns], the first often of a batch. */
static form_operand plant_product(struct random_maker *m, struct planting *p) {
  const uint64_t shape[] = {1 + random_below(m, 3), random_extent(m, 6), random_extent(m, 6)};
  const uint64_t b[] = {shape[2], random_extent(m, 6)}, sum[] = {shape[0], shape[1], b[1]};
  const uint32_t skipped = random_below(m, 2), dtype = p->form.dtype = random_dtype(m, FLOATS);
  const form_operand first = fresh(m, p, dtype, 3 - skipped, shape + skipped), second = fresh(m, p, dtype, 2, b);
  const bool is_bias = random_chance(m);
  return form_product_sum(&p->form, first, second,
                          is_bias ? fresh(m, p, dtype, 1, b + 1) : fresh(m, p, dtype, 3 - skipped, sum + skipped));
}

/* Scores are held to some ±4, of which fp16 still has three digits. */
static form_operand plant_attention(struct random_maker *m, struct planting *p) {
  const uint64_t heads = 1 + random_below(m, 3), rows = random_extent(m, 6), width = 1 + random_below(m, 8);
  const uint64_t keys = random_extent(m, 6), out = 1 + random_below(m, 6);
  const uint64_t q[] = {heads, rows, width}, k[] = {heads, width, keys}, v[] = {heads, keys, out};
  const uint64_t mask_shape[] = {rows, keys};
  const uint32_t skipped = random_below(m, 2), dtype = p->form.dtype = random_dtype(m, FLOATS);
  p->form.scale = 1 / (double)width;
  const form_operand query = fresh(m, p, dtype, 3, q), most = fresh(m, p, dtype, 3 - skipped, k + skipped);
  const form_operand values = fresh(m, p, dtype, 3 - skipped, v + skipped);
  form_operand mask = {0, 0};
  if (random_chance(m)) mask = fresh(m, p, random_chance(m) ? dtype : PTO_UINT8, 2, mask_shape);
  return form_attention(&p->form, query, most, values, mask);
}

void random_pattern(struct random_maker *m) {
  struct planting p = {.form = {.builder = m->builder, .rng = {pto_rng_next(&m->rng)}, .epsilon = 0.25, .scale = 1}};
  form_operand result = {0, 0};
  const uint32_t which = random_below(m, 10);
  if (which < 3)
    result = plant_rows(m, &p, which);
  else if (which < 7)
    result = plant_elements(m, &p, which - 3);
  else
    result = which == 9 ? plant_attention(m, &p) : plant_product(m, &p);
  random_made(m, p.given, p.count, result);
  if (random_below(m, 6) != 0) return;
  /* something that it was made of is read, too */
  const uint32_t back = 1 + random_below(m, 3);
  const form_operand seen = {result.index > back ? result.index - back : 1, result.builder};
  const struct pto_graph_desc desc = pto_graph_builder_desc(m->builder, seen);
  if (random_is_float(desc.dtype)) random_made(m, NULL, 0, pto_graph_builder_abs(m->builder, seen, NULL));
}
