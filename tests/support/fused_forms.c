/* SPDX-License-Identifier: MIT */
#include <tests/support/fused_forms.h>

#include <math.h>
#include <string.h>

/* ---- pieces ---- */

static uint32_t draw(struct form_maker *f, uint32_t n) { return (uint32_t)pto_rng_below(&f->rng, n); }

typedef form_operand binary(struct pto_graph_builder *, form_operand, form_operand, const struct pto_graph_options *);

/* Of an operation whose operands may change places. */
static form_operand either(struct form_maker *f, binary *op, form_operand a, form_operand b) {
  return draw(f, 2) ? op(f->builder, a, b, NULL) : op(f->builder, b, a, NULL);
}
static form_operand sum(struct form_maker *f, form_operand a, form_operand b) {
  return either(f, pto_graph_builder_add, a, b);
}
static form_operand product(struct form_maker *f, form_operand a, form_operand b) {
  return either(f, pto_graph_builder_mul, a, b);
}
static form_operand quotient(struct form_maker *f, form_operand a, form_operand b) {
  return pto_graph_builder_div(f->builder, a, b, NULL);
}

static struct pto_graph_desc desc_of(const struct form_maker *f, form_operand x) {
  return pto_graph_builder_desc(f->builder, x);
}

form_operand form_number(struct form_maker *f, double number, uint32_t most_rank) {
  struct pto_graph_desc desc = {.dtype = f->dtype, .ndims = draw(f, most_rank + 1)};
  const float single = (float)number;
  const uint16_t half = pto_fp16_from_f32(single);
  for (uint32_t d = 0; d < desc.ndims; d++) desc.shape[d] = 1;
  return f->dtype == PTO_FLOAT16 ? pto_graph_builder_constant(f->builder, &desc, &half, sizeof half)
                                 : pto_graph_builder_constant(f->builder, &desc, &single, sizeof single);
}

/* A number beside x: of no higher rank, so that it changes no shape. */
static form_operand number_for(struct form_maker *f, double number, form_operand x) {
  return form_number(f, number, desc_of(f, x).ndims);
}

static form_operand power(struct form_maker *f, form_operand x, double exponent) {
  return pto_graph_builder_pow(f->builder, x, number_for(f, exponent, x), NULL);
}
static form_operand square(struct form_maker *f, form_operand x) {
  return draw(f, 2) ? pto_graph_builder_mul(f->builder, x, x, NULL) : power(f, x, 2);
}
static form_operand reciprocal(struct form_maker *f, form_operand x) {
  return draw(f, 2) ? pto_graph_builder_reciprocal(f->builder, x, NULL) : quotient(f, number_for(f, 1, x), x);
}
static form_operand root(struct form_maker *f, form_operand x) {
  return draw(f, 2) ? pto_graph_builder_sqrt(f->builder, x, NULL) : power(f, x, 0.5);
}
static form_operand reciprocal_root(struct form_maker *f, form_operand x) {
  switch (draw(f, 3)) {
  case 0:
    return power(f, x, -0.5);
  case 1:
    return reciprocal(f, root(f, x));
  default:
    return root(f, reciprocal(f, x));
  }
}

/* ---- rows ---- */

/* A sum over how many it is of; no 1/n of fp16 that is not exact, of which fusion keeps off. */
static form_operand over_count(struct form_maker *f, form_operand total, double count) {
  const bool is_exact = f->dtype == PTO_FLOAT32 || frexp(count, &(int){0}) == 0.5;
  return is_exact && draw(f, 2) ? product(f, total, number_for(f, 1 / count, total))
                                : quotient(f, total, number_for(f, count, total));
}

static double count_of(const struct form_maker *f, form_operand x, struct pto_u32_list axes) {
  const struct pto_graph_desc desc = desc_of(f, x);
  double count = 1;
  for (uint32_t i = 0; i < axes.count; i++) count *= (double)desc.shape[axes.values[i]];
  return count;
}

static form_operand mean(struct form_maker *f, form_operand x, struct pto_u32_list axes) {
  const struct pto_reduce_options options = {.axes = axes, .keep_dimensions = PTO_FLAG_YES};
  if (draw(f, 2)) return pto_graph_builder_reduce_mean(f->builder, x, &options);
  return over_count(f, pto_graph_builder_reduce_sum(f->builder, x, &options), count_of(f, x, axes));
}

static form_operand mean_square(struct form_maker *f, form_operand x, struct pto_u32_list axes) {
  const struct pto_reduce_options options = {.axes = axes, .keep_dimensions = PTO_FLAG_YES};
  if (draw(f, 3)) return mean(f, square(f, x), axes);
  return over_count(f, pto_graph_builder_reduce_sum_square(f->builder, x, &options), count_of(f, x, axes));
}

/* z / √(mean z² + eps), times the weight somewhere. */
static form_operand scaled(struct form_maker *f, form_operand z, form_operand weight, struct pto_u32_list axes) {
  const form_operand squares = mean_square(f, z, axes), v = sum(f, squares, number_for(f, f->epsilon, squares));
  if (draw(f, 2)) {
    const form_operand normal = quotient(f, z, root(f, v));
    return weight.index ? product(f, normal, weight) : normal;
  }
  const form_operand r = reciprocal_root(f, v);
  if (!weight.index) return product(f, z, r);
  return draw(f, 2) ? product(f, product(f, z, r), weight) : product(f, product(f, z, weight), r);
}

form_operand form_rms_norm(struct form_maker *f, form_operand x, form_operand weight, struct pto_u32_list axes) {
  return scaled(f, x, weight, axes);
}

form_operand form_layer_norm(struct form_maker *f, form_operand x, form_operand weight, form_operand bias,
                             struct pto_u32_list axes) {
  const form_operand z = pto_graph_builder_sub(f->builder, x, mean(f, x, axes), NULL);
  const form_operand y = scaled(f, z, weight, axes);
  return bias.index ? sum(f, y, bias) : y;
}

form_operand form_softmax(struct form_maker *f, form_operand x, uint32_t axis) {
  const struct pto_reduce_options options = {.axes = {&axis, 1}, .keep_dimensions = PTO_FLAG_YES};
  const form_operand most = pto_graph_builder_reduce_max(f->builder, x, &options);
  const form_operand e = pto_graph_builder_exp(f->builder, pto_graph_builder_sub(f->builder, x, most, NULL), NULL);
  const form_operand total = pto_graph_builder_reduce_sum(f->builder, e, &options);
  return draw(f, 2) ? quotient(f, e, total) : product(f, e, reciprocal(f, total));
}

/* ---- activations ---- */

/* 1 + e^−x */
static form_operand one_and_exponential(struct form_maker *f, form_operand x) {
  const form_operand e = pto_graph_builder_exp(f->builder, pto_graph_builder_neg(f->builder, x, NULL), NULL);
  return sum(f, e, number_for(f, 1, e));
}

static form_operand sigmoid(struct form_maker *f, form_operand x) {
  return draw(f, 2) ? pto_graph_builder_sigmoid(f->builder, x, NULL) : reciprocal(f, one_and_exponential(f, x));
}

form_operand form_silu(struct form_maker *f, form_operand x) {
  return draw(f, 3) ? product(f, x, sigmoid(f, x)) : quotient(f, x, one_and_exponential(f, x));
}

form_operand form_silu_product(struct form_maker *f, form_operand x, form_operand y) {
  if (draw(f, 2)) return product(f, form_silu(f, x), y);
  const form_operand both = product(f, x, y);
  return product(f, both, sigmoid(f, x));
}

/* x · ½ · part, in some order. */
static form_operand halved(struct form_maker *f, form_operand x, form_operand part) {
  const form_operand half = number_for(f, 0.5, x);
  switch (draw(f, 3)) {
  case 0:
    return product(f, product(f, x, half), part);
  case 1:
    return product(f, product(f, x, part), half);
  default:
    return product(f, product(f, part, half), x);
  }
}

form_operand form_gelu(struct form_maker *f, form_operand x) {
  const form_operand part =
      draw(f, 2) ? quotient(f, x, number_for(f, sqrt(2), x)) : product(f, x, number_for(f, sqrt(0.5), x));
  return halved(f, x, sum(f, pto_graph_builder_erf(f->builder, part, NULL), number_for(f, 1, x)));
}

form_operand form_gelu_tanh(struct form_maker *f, form_operand x) {
  const form_operand cube = draw(f, 2) ? power(f, x, 3) : product(f, square(f, x), x);
  const form_operand bent = sum(f, x, product(f, cube, number_for(f, 0.044715, x)));
  const form_operand argument = product(f, bent, number_for(f, 0.7978845608028654, x)); /* √(2/π) */
  return halved(f, x, sum(f, pto_graph_builder_tanh(f->builder, argument, NULL), number_for(f, 1, x)));
}

/* ---- products ---- */

form_operand form_product_sum(struct form_maker *f, form_operand a, form_operand b, form_operand c) {
  const struct pto_gemm_options options = {.alpha = pto_number_f64(0.5), .beta = pto_number_f64(3)}; /* of no c */
  const bool are_matrices = desc_of(f, a).ndims == 2 && desc_of(f, b).ndims == 2;
  return sum(f,
             are_matrices && draw(f, 2) ? pto_graph_builder_gemm(f->builder, a, b, &options)
                                        : pto_graph_builder_matmul(f->builder, a, b, NULL),
             c);
}

static form_operand masked(struct form_maker *f, form_operand scores, form_operand mask) {
  if (!mask.index) return scores;
  if (desc_of(f, mask).dtype == f->dtype) return sum(f, scores, mask);
  const form_operand never = number_for(f, -10000, scores);
  return draw(f, 2) ? pto_graph_builder_where(f->builder, mask, scores, never, NULL)
                    : pto_graph_builder_where(f->builder, mask, never, scores, NULL);
}

form_operand form_attention(struct form_maker *f, form_operand query, form_operand keys, form_operand values,
                            form_operand mask) {
  form_operand scores = pto_graph_builder_matmul(f->builder, query, keys, NULL);
  if (f->scale != 1)
    scores = draw(f, 2) ? product(f, scores, number_for(f, f->scale, scores))
                        : quotient(f, scores, number_for(f, 1 / f->scale, scores));
  scores = masked(f, scores, mask);
  const struct pto_softmax_options options = {.axis = desc_of(f, scores).ndims - 1};
  const form_operand weights =
      draw(f, 2) ? pto_graph_builder_softmax(f->builder, scores, &options) : form_softmax(f, scores, options.axis);
  return pto_graph_builder_matmul(f->builder, weights, values, NULL);
}

form_operand form_conv2d_clamp(struct form_maker *f, form_operand x, form_operand filter, form_operand bias) {
  const struct pto_conv2d_options options = {.bias = bias, .padding = PTO_U32_LIST(1, 1, 1, 1)};
  const struct pto_clamp_options bounds = {.min_value = pto_number_f64(-0.25), .max_value = pto_number_f64(0.5)};
  const form_operand y = pto_graph_builder_conv2d(f->builder, x, filter, &options);
  return draw(f, 2) ? pto_graph_builder_clamp(f->builder, y, &bounds) : pto_graph_builder_relu(f->builder, y, NULL);
}
