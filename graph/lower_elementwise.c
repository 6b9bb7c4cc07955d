/* SPDX-License-Identifier: MIT */
#include <graph/graph_lowering.h>
#include <graph/op_options.h>
#include <kernels/kernel_list.h>
#include <math.h>

/* ---- one operand ---- */

static int unary(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                 const struct pto_param *scalars, uint32_t scalar_count) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, true);
  return pto_graph_lowering_elementwise(l, kernel, &x, 1, &y, scalars, scalar_count);
}

#define UNARY(id, kernel)                                                                                              \
  int pto_lower_##id(struct pto_graph_lowering *l, const struct pto_graph_node *node) {                                \
    return unary(l, node, &pto_general_##kernel, NULL, 0);                                                             \
  }
UNARY(abs, abs)
UNARY(ceil, ceil)
UNARY(cos, cos)
UNARY(erf, erf)
UNARY(exp, exp)
UNARY(floor, floor)
UNARY(log, log)
UNARY(neg, neg)
UNARY(reciprocal, reciprocal)
UNARY(round_even, round_even)
UNARY(sign, sign)
UNARY(sin, sin)
UNARY(sqrt, sqrt)
UNARY(tan, tan)
UNARY(gelu, gelu)
UNARY(hard_swish, hard_swish)
UNARY(relu, relu)
UNARY(sigmoid, sigmoid)
UNARY(softplus, softplus)
UNARY(softsign, softsign)
UNARY(tanh, tanh)

static bool is_float(uint32_t dtype) { return (PTO_DTYPE_BIT(dtype) & PTO_DTYPES_FLOAT) != 0; }

/* Integers are neither NaN nor infinite. */
static int predicate(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, true), bools = pto_graph_lowering_as_bool(&y);
  if (!is_float(x->dtype)) return pto_graph_lowering_fill(l, (struct pto_number){0}, &y);
  return pto_graph_lowering_elementwise(l, kernel, &x, 1, &bools, NULL, 0);
}

int pto_lower_is_nan(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  return predicate(l, node, &pto_general_is_nan);
}

int pto_lower_is_infinite(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  return predicate(l, node, &pto_general_is_infinite);
}

int pto_lower_logical_not(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor x = pto_graph_lowering_as_bool(pto_graph_lowering_operand(l, node, 0)), *in = &x;
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, true), bools = pto_graph_lowering_as_bool(&y);
  return pto_graph_lowering_elementwise(l, &pto_general_logical_not, &in, 1, &bools, NULL, 0);
}

int pto_lower_identity(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  return pto_graph_lowering_alias(l, node, 0, pto_graph_lowering_operand(l, node, 0));
}

int pto_lower_cast(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, false);
  return pto_graph_lowering_convert(l, x, &y);
}

/* ---- with numbers ---- */

/* Of integer dtypes bounds are whole numbers; one beyond the dtype bounds nothing. */
int pto_lower_clamp(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_clamp_options *options = node->options;
  if (is_float(pto_graph_lowering_operand(l, node, 0)->dtype)) {
    const struct pto_param bounds[] = {pto_scalar_f32((float)pto_option_f64(options->min_value, -(double)INFINITY)),
                                       pto_scalar_f32((float)pto_option_f64(options->max_value, (double)INFINITY))};
    return unary(l, node, &pto_general_clamp, bounds, 2);
  }
  const struct pto_param bounds[] = {pto_scalar_i64(pto_option_i64(options->min_value, INT64_MIN)),
                                     pto_scalar_i64(pto_option_i64(options->max_value, INT64_MAX))};
  return unary(l, node, &pto_general_clamp_int, bounds, 2);
}

static int with_two(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                    double first, double second) {
  const struct pto_param scalars[] = {pto_scalar_f32((float)first), pto_scalar_f32((float)second)};
  return unary(l, node, kernel, scalars, 2);
}

int pto_lower_linear(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_linear_options *options = node->options;
  return with_two(l, node, &pto_general_linear, pto_option_f64(options->alpha, 1), pto_option_f64(options->beta, 0));
}

int pto_lower_hard_sigmoid(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_hard_sigmoid_options *options = node->options;
  return with_two(l, node, &pto_general_hard_sigmoid, pto_option_f64(options->alpha, 0.2),
                  pto_option_f64(options->beta, 0.5));
}

int pto_lower_elu(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_param alpha =
      pto_scalar_f32((float)pto_option_f64(((const struct pto_elu_options *)node->options)->alpha, 1));
  return unary(l, node, &pto_general_elu, &alpha, 1);
}

int pto_lower_leaky_relu(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_param alpha =
      pto_scalar_f32((float)pto_option_f64(((const struct pto_leaky_relu_options *)node->options)->alpha, 0.01));
  return unary(l, node, &pto_general_leaky_relu, &alpha, 1);
}

/* ---- two and three operands ---- */

static int binary(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel) {
  const struct pto_tensor *inputs[] = {pto_graph_lowering_operand(l, node, 0), pto_graph_lowering_operand(l, node, 1)};
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, true);
  return pto_graph_lowering_elementwise(l, kernel, inputs, 2, &y, NULL, 0);
}

#define BINARY(id, kernel)                                                                                             \
  int pto_lower_##id(struct pto_graph_lowering *l, const struct pto_graph_node *node) {                                \
    return binary(l, node, &pto_general_##kernel);                                                                     \
  }
BINARY(add, add)
BINARY(sub, sub)
BINARY(mul, mul)
BINARY(div, div)
BINARY(max, maximum)
BINARY(min, minimum)
BINARY(pow, pow)
BINARY(prelu, prelu)

/* The result is a byte of 0 or 1. */
static int test(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                bool are_bools) {
  const struct pto_tensor *inputs[] = {pto_graph_lowering_operand(l, node, 0), pto_graph_lowering_operand(l, node, 1)};
  const struct pto_tensor bools[] = {pto_graph_lowering_as_bool(inputs[0]), pto_graph_lowering_as_bool(inputs[1])};
  if (are_bools)
    for (int i = 0; i < 2; i++) inputs[i] = &bools[i];
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, true), result = pto_graph_lowering_as_bool(&y);
  return pto_graph_lowering_elementwise(l, kernel, inputs, 2, &result, NULL, 0);
}

#define TEST(id, kernel, are_bools)                                                                                    \
  int pto_lower_##id(struct pto_graph_lowering *l, const struct pto_graph_node *node) {                                \
    return test(l, node, &pto_general_##kernel, are_bools);                                                            \
  }
TEST(equal, equal, false)
TEST(not_equal, not_equal, false)
TEST(greater, greater, false)
TEST(greater_or_equal, greater_equal, false)
TEST(lesser, lesser, false)
TEST(lesser_or_equal, lesser_equal, false)
TEST(logical_and, logical_and, true)
TEST(logical_or, logical_or, true)
TEST(logical_xor, logical_xor, true)

int pto_lower_where(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor condition = pto_graph_lowering_as_bool(pto_graph_lowering_operand(l, node, 0));
  const struct pto_tensor *inputs[] = {&condition, pto_graph_lowering_operand(l, node, 1),
                                       pto_graph_lowering_operand(l, node, 2)};
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, true);
  return pto_graph_lowering_elementwise(l, &pto_general_select, inputs, 3, &y, NULL, 0);
}
