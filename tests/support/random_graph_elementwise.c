/* SPDX-License-Identifier: MIT */
#include <tests/support/random_graph_maker.h>

#define SET(id, ...) [PTO_GRAPH_OP_##id] = __VA_ARGS__

/* ---- one operand ---- */

/* The domain in which a function is smooth and of moderate slope; others take what is tame. */
struct domain {
  uint32_t dtypes;
  double low, high;
};
static const struct domain domains[PTO_GRAPH_OP_COUNT] = {
    SET(abs, {FLOATS | SIGNED, 0, 0}), SET(neg, {FLOATS | SIGNED, 0, 0}), SET(relu, {FLOATS | SIGNED, 0, 0}),
    SET(identity, {ALL, 0, 0}),        SET(sqrt, {FLOATS, 0.5, 2}),       SET(log, {FLOATS, 0.5, 2}),
    SET(reciprocal, {FLOATS, 0.5, 2}), SET(tan, {FLOATS, -1, 1}),
};

void random_unary(struct random_maker *m, uint32_t op) {
  const struct domain *domain = &domains[op];
  struct random_operand x = random_pick(m, domain->dtypes ? domain->dtypes : FLOATS, 0, 5, false);
  if (domain->low != domain->high) x = random_within(m, x, domain->low, domain->high);
  random_call_one(m, op, NULL, &x, 1, x.desc, x.is_exact && op == PTO_GRAPH_OP_identity);
}

/* Those that jump, or say yes or no. */
void random_unary_exact(struct random_maker *m, uint32_t op) {
  const bool is_truth = op == PTO_GRAPH_OP_is_nan || op == PTO_GRAPH_OP_is_infinite || op == PTO_GRAPH_OP_logical_not;
  const uint32_t dtypes = op == PTO_GRAPH_OP_logical_not ? BYTE
                          : op == PTO_GRAPH_OP_sign      ? FLOATS | SIGNED
                          : is_truth                     ? ALL
                                                         : FLOATS;
  const struct random_operand x = random_pick(m, dtypes, 0, 5, true);
  random_call_one(m, op, NULL, &x, 1, is_truth ? random_as(&x.desc, PTO_UINT8) : x.desc, true);
}

static struct pto_number factor(struct random_maker *m) {
  return random_chance(m) ? (struct pto_number){0} : pto_number_f64((double)random_below(m, 33) / 16 - 1);
}

/* elu, hardSigmoid, leakyRelu, linear: alpha and beta in [−1, 1], or their defaults. */
void random_factor(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, FLOATS, 0, 5, false);
  const struct pto_elu_options elu = {.alpha = pto_number_f64((double)random_below(m, 17) / 16)};
  const struct pto_leaky_relu_options leaky = {.alpha = factor(m)};
  const struct pto_hard_sigmoid_options hard = {.alpha = factor(m), .beta = factor(m)};
  const struct pto_linear_options linear = {.alpha = factor(m), .beta = factor(m)};
  const void *options = op == PTO_GRAPH_OP_elu            ? (const void *)&elu
                        : op == PTO_GRAPH_OP_leaky_relu   ? (const void *)&leaky
                        : op == PTO_GRAPH_OP_hard_sigmoid ? (const void *)&hard
                                                          : (const void *)&linear;
  random_call_one(m, op, options, &x, 1, x.desc, false);
}

void random_clamp(struct random_maker *m, uint32_t op) {
  const struct random_operand x = random_pick(m, ALL, 0, 5, false);
  struct pto_clamp_options options = {.min_value = pto_number_f64(-1.5)};
  if (random_chance(m)) options.max_value = pto_number_i64(1 + random_below(m, 3));
  random_call_one(m, op, &options, &x, 1, x.desc, x.is_exact);
}

void random_cast(struct random_maker *m, uint32_t op) {
  const uint32_t to = random_dtype(m, ALL);
  /* What was rounded to fp16 is judged as that, no longer once it is f32. */
  const struct random_operand x = random_pick(m, ALL, 0, 5, to != PTO_FLOAT16);
  const struct pto_cast_options options = {.data_type = to};
  /* Integers may be beyond fp16, and are beyond what is tame. */
  const struct random_operand small =
      random_is_float(x.desc.dtype) || !random_is_float(to) ? x : random_fresh_whole(m, &x.desc, 0, 100);
  random_call_one(m, op, &options, &small, 1, random_as(&x.desc, to), x.is_exact);
}

/* ---- two and three ---- */

void random_arithmetic(struct random_maker *m, uint32_t op) {
  const bool is_prelu = op == PTO_GRAPH_OP_prelu, is_pow = op == PTO_GRAPH_OP_pow;
  struct random_operand x[2];
  x[0] = random_pick(m, is_prelu ? FLOATS | SIGNED : ALL, 0, 5, false);
  x[1] = random_broadcastable(m, &x[0]);
  if (op == PTO_GRAPH_OP_div) x[1] = random_positive(m, x[1]);
  if (is_pow && random_is_float(x[0].desc.dtype)) x[0] = random_positive(m, x[0]);
  if (is_pow && !random_is_float(x[0].desc.dtype)) x[1] = random_fresh_whole(m, &x[1].desc, 0, 3);
  if (random_chance(m) && !is_pow && op != PTO_GRAPH_OP_div) {
    const struct random_operand first = x[0];
    x[0] = x[1];
    x[1] = first;
  }
  random_call_one(m, op, NULL, x, 2, random_broadcast(&x[0].desc, &x[1].desc, x[0].desc.dtype), false);
}

void random_compare(struct random_maker *m, uint32_t op) {
  struct random_operand x[2];
  x[0] = random_pick(m, ALL, 0, 5, true);
  x[1] = random_broadcastable(m, &x[0]);
  random_call_one(m, op, NULL, x, 2, random_broadcast(&x[0].desc, &x[1].desc, PTO_UINT8), true);
}

void random_logic(struct random_maker *m, uint32_t op) {
  struct random_operand x[2];
  x[0] = random_pick(m, BYTE, 0, 5, true);
  x[1] = random_broadcastable(m, &x[0]);
  random_call_one(m, op, NULL, x, 2, random_broadcast(&x[0].desc, &x[1].desc, PTO_UINT8), true);
}

void random_where(struct random_maker *m, uint32_t op) {
  struct random_operand x[3];
  x[1] = random_pick(m, ALL, 0, 5, false);
  x[2] = random_broadcastable(m, &x[1]);
  const struct pto_graph_desc values = random_broadcast(&x[1].desc, &x[2].desc, x[1].desc.dtype),
                              truth = random_as(&x[1].desc, PTO_UINT8);
  x[0] = random_fresh_whole(m, &truth, 0, 2);
  random_call_one(m, op, NULL, x, 3, random_broadcast(&truth, &values, values.dtype), x[1].is_exact && x[2].is_exact);
}

/* ---- quantisation ---- */

/* A shape whose extents divide those of `desc`. */
static struct pto_graph_desc blocks_of(struct random_maker *m, const struct pto_graph_desc *desc, uint32_t dtype) {
  struct pto_graph_desc blocks = random_as(desc, dtype);
  for (uint32_t d = 0; d < blocks.ndims; d++) {
    do blocks.shape[d] = 1 + random_below(m, (uint32_t)desc->shape[d]);
    while (desc->shape[d] % blocks.shape[d] != 0);
  }
  return blocks;
}

#define QUANTIZED                                                                                                      \
  (PTO_DTYPE_BIT(PTO_INT8) | BYTE | PTO_DTYPE_BIT(PTO_INT4) | PTO_DTYPE_BIT(PTO_UINT4) | PTO_DTYPE_BIT(PTO_INT32) |    \
   PTO_DTYPE_BIT(PTO_UINT32))

static struct random_operand zero_point_of(struct random_maker *m, const struct pto_graph_desc *scale, uint32_t dtype) {
  const struct pto_graph_desc desc = random_as(scale, dtype);
  return random_fresh_whole(m, &desc, 0, 7);
}

/* Scales are a quarter, so that quotients are exact. */
void random_quantize(struct random_maker *m, uint32_t op) {
  struct random_operand x[3];
  x[0] = random_pick(m, FLOATS, 0, 5, true);
  const struct pto_graph_desc blocks = blocks_of(m, &x[0].desc, x[0].desc.dtype);
  const struct random_operand scale = random_fresh(m, &blocks);
  x[1] = random_within(m, scale, 0.25, 0.25);
  x[2] = zero_point_of(m, &blocks, random_dtype(m, QUANTIZED));
  random_call_one(m, op, NULL, x, 3, random_as(&x[0].desc, x[2].desc.dtype), true);
}

void random_dequantize(struct random_maker *m, uint32_t op) {
  struct random_operand x[3];
  const uint32_t dtype = random_dtype(m, QUANTIZED);
  const struct pto_graph_desc desc = random_shape(m, dtype, 0, 5),
                              blocks = blocks_of(m, &desc, random_dtype(m, FLOATS));
  x[0] = random_fresh_whole(m, &desc, dtype == PTO_UINT32 ? 0 : -8, 15); /* −8 would be nearly 2^32 */
  x[1] = random_fresh(m, &blocks);
  x[2] = zero_point_of(m, &blocks, dtype);
  random_call_one(m, op, NULL, x, 3, random_as(&desc, blocks.dtype), false);
}
