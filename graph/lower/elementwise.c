/* SPDX-License-Identifier: MIT */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>
#include <math.h>

/* ---- one operand ---- */

static int unary(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                 const struct pto_param *scalars, uint32_t scalar_count) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_ANY);
  return pto_graph_lowering_elementwise(l, kernel, &x, 1, &y, scalars, scalar_count);
}

/* Of operations that are one kernel on one operand. */
static const struct pto_kernel *const unary_kernels[PTO_GRAPH_OP_COUNT] = {
    [PTO_GRAPH_OP_abs] = &pto_general_abs,
    [PTO_GRAPH_OP_ceil] = &pto_general_ceil,
    [PTO_GRAPH_OP_cos] = &pto_general_cos,
    [PTO_GRAPH_OP_erf] = &pto_general_erf,
    [PTO_GRAPH_OP_exp] = &pto_general_exp,
    [PTO_GRAPH_OP_floor] = &pto_general_floor,
    [PTO_GRAPH_OP_log] = &pto_general_log,
    [PTO_GRAPH_OP_neg] = &pto_general_neg,
    [PTO_GRAPH_OP_reciprocal] = &pto_general_reciprocal,
    [PTO_GRAPH_OP_round_even] = &pto_general_round_even,
    [PTO_GRAPH_OP_sign] = &pto_general_sign,
    [PTO_GRAPH_OP_sin] = &pto_general_sin,
    [PTO_GRAPH_OP_sqrt] = &pto_general_sqrt,
    [PTO_GRAPH_OP_tan] = &pto_general_tan,
    [PTO_GRAPH_OP_gelu] = &pto_general_gelu,
    [PTO_GRAPH_OP_hard_swish] = &pto_general_hard_swish,
    [PTO_GRAPH_OP_relu] = &pto_general_relu,
    [PTO_GRAPH_OP_sigmoid] = &pto_general_sigmoid,
    [PTO_GRAPH_OP_softplus] = &pto_general_softplus,
    [PTO_GRAPH_OP_softsign] = &pto_general_softsign,
    [PTO_GRAPH_OP_tanh] = &pto_general_tanh,
};

static bool is_float(uint32_t dtype) { return (PTO_DTYPE_BIT(dtype) & PTO_DTYPES_FLOAT) != 0; }

/* Integers are neither NaN nor infinite. */
static int predicate(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_ANY),
                          bools = pto_graph_lowering_as_bool(&y);
  if (!is_float(x->dtype)) return pto_graph_lowering_fill(l, (struct pto_number){0}, &y);
  return pto_graph_lowering_elementwise(l, kernel, &x, 1, &bools, NULL, 0);
}

static int logical_not(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor x = pto_graph_lowering_as_bool(pto_graph_lowering_operand(l, node, 0)), *in = &x;
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_ANY),
                          bools = pto_graph_lowering_as_bool(&y);
  return pto_graph_lowering_elementwise(l, &pto_general_logical_not, &in, 1, &bools, NULL, 0);
}

int pto_lower_unary(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  switch (node->op) {
  case PTO_GRAPH_OP_identity:
    return pto_graph_lowering_alias(l, node, 0, pto_graph_lowering_operand(l, node, 0));
  case PTO_GRAPH_OP_is_nan:
    return predicate(l, node, &pto_general_is_nan);
  case PTO_GRAPH_OP_is_infinite:
    return predicate(l, node, &pto_general_is_infinite);
  case PTO_GRAPH_OP_logical_not:
    return logical_not(l, node);
  default:
    return unary(l, node, unary_kernels[node->op], NULL, 0);
  }
}

static bool is_signed(uint32_t dtype) { return dtype == PTO_INT8 || dtype == PTO_INT32 || dtype == PTO_INT64; }

/* An integer dtype of the width of one, signed or not as the other. */
static uint32_t of_sign(uint32_t width, uint32_t sign) {
  switch (pto_dtype_bits(width)) {
  case 8:
    return is_signed(sign) ? PTO_INT8 : PTO_UINT8;
  case 32:
    return is_signed(sign) ? PTO_INT32 : PTO_UINT32;
  default:
    return is_signed(sign) ? PTO_INT64 : PTO_UINT64;
  }
}

/* Integers keep their low bits, where the kernel would saturate: to a dtype as narrow or narrower they are copied from
 * where these bits are (little-endian); to a wider one they become one of their own sign, whose bits the result has. */
static int cast_integers(struct pto_graph_lowering *l, const struct pto_tensor *x, const struct pto_tensor *y) {
  const uint32_t from_bits = pto_dtype_bits(x->dtype), to_bits = pto_dtype_bits(y->dtype);
  struct pto_tensor from = *x, to = *y;
  if (to_bits > from_bits) {
    to.dtype = of_sign(y->dtype, x->dtype);
    return pto_graph_lowering_convert(l, &from, &to);
  }
  const uint64_t parts = from_bits / to_bits;
  from.dtype = y->dtype;
  from.start_offset *= parts;
  for (uint32_t d = 0; d < from.ndims; d++) from.strides[d] *= parts;
  return pto_graph_lowering_convert(l, &from, &to);
}

int pto_lower_cast(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  return is_float(x->dtype) || is_float(y.dtype) ? pto_graph_lowering_convert(l, x, &y) : cast_integers(l, x, &y);
}

/* ---- with numbers ---- */

/* Bounds of uint64 that no scalar of 64 bits with a sign can say, as tensors of one element. */
static int clamp_unsigned(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_clamp_options *options = node->options;
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_ANY);
  const struct pto_tensor low = pto_graph_lowering_temporary(l, PTO_UINT64, 0, NULL);
  const struct pto_tensor high = pto_graph_lowering_temporary(l, PTO_UINT64, 0, NULL);
  const struct pto_tensor raised = pto_graph_lowering_temporary(l, PTO_UINT64, x->ndims, x->shape);
  const struct pto_tensor *up[] = {x, &low}, *down[] = {&raised, &high};
  const bool has_max = options->max_value.kind != PTO_NUMBER_ABSENT;
  int status = pto_graph_lowering_fill(l, options->min_value, &low);
  if (status == PTO_OK)
    status = pto_graph_lowering_elementwise(l, &pto_general_maximum, up, 2, has_max ? &raised : &y, NULL, 0);
  if (status != PTO_OK || !has_max) return status;
  status = pto_graph_lowering_fill(l, options->max_value, &high);
  return status ? status : pto_graph_lowering_elementwise(l, &pto_general_minimum, down, 2, &y, NULL, 0);
}

/* Of integer dtypes bounds are whole numbers; one beyond the dtype bounds nothing. */
int pto_lower_clamp(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_clamp_options *options = node->options;
  if (is_float(pto_graph_lowering_operand(l, node, 0)->dtype)) {
    const struct pto_param bounds[] = {pto_scalar_f32((float)pto_option_f64(options->min_value, -(double)INFINITY)),
                                       pto_scalar_f32((float)pto_option_f64(options->max_value, (double)INFINITY))};
    return unary(l, node, &pto_general_clamp, bounds, 2);
  }
  if (pto_graph_lowering_operand(l, node, 0)->dtype == PTO_UINT64 &&
      (pto_option_u64(options->min_value, 0) > INT64_MAX || pto_option_u64(options->max_value, UINT64_MAX) > INT64_MAX))
    return clamp_unsigned(l, node);
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
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_ANY);
  return pto_graph_lowering_elementwise(l, kernel, inputs, 2, &y, NULL, 0);
}

int pto_lower_prelu(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  return binary(l, node, &pto_general_prelu);
}

/* The result is a byte of 0 or 1. */
static int test(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                bool are_bools) {
  const struct pto_tensor *inputs[] = {pto_graph_lowering_operand(l, node, 0), pto_graph_lowering_operand(l, node, 1)};
  const struct pto_tensor bools[] = {pto_graph_lowering_as_bool(inputs[0]), pto_graph_lowering_as_bool(inputs[1])};
  if (are_bools)
    for (int i = 0; i < 2; i++) inputs[i] = &bools[i];
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_ANY),
                          result = pto_graph_lowering_as_bool(&y);
  return pto_graph_lowering_elementwise(l, kernel, inputs, 2, &result, NULL, 0);
}

/* What is known of an operation of two operands: its result is of their dtype, or a test of numbers, or of bools. */
static const struct binary_form {
  const struct pto_kernel *kernel;
  bool is_test, are_bools;
} binary_forms[PTO_GRAPH_OP_COUNT] = {
    [PTO_GRAPH_OP_add] = {&pto_general_add, false, false},
    [PTO_GRAPH_OP_sub] = {&pto_general_sub, false, false},
    [PTO_GRAPH_OP_mul] = {&pto_general_mul, false, false},
    [PTO_GRAPH_OP_div] = {&pto_general_div, false, false},
    [PTO_GRAPH_OP_max] = {&pto_general_maximum, false, false},
    [PTO_GRAPH_OP_min] = {&pto_general_minimum, false, false},
    [PTO_GRAPH_OP_pow] = {&pto_general_pow, false, false},
    [PTO_GRAPH_OP_equal] = {&pto_general_equal, true, false},
    [PTO_GRAPH_OP_not_equal] = {&pto_general_not_equal, true, false},
    [PTO_GRAPH_OP_greater] = {&pto_general_greater, true, false},
    [PTO_GRAPH_OP_greater_or_equal] = {&pto_general_greater_equal, true, false},
    [PTO_GRAPH_OP_lesser] = {&pto_general_lesser, true, false},
    [PTO_GRAPH_OP_lesser_or_equal] = {&pto_general_lesser_equal, true, false},
    [PTO_GRAPH_OP_logical_and] = {&pto_general_logical_and, true, true},
    [PTO_GRAPH_OP_logical_or] = {&pto_general_logical_or, true, true},
    [PTO_GRAPH_OP_logical_xor] = {&pto_general_logical_xor, true, true},
};

int pto_lower_binary(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct binary_form *form = &binary_forms[node->op];
  return form->is_test ? test(l, node, form->kernel, form->are_bools) : binary(l, node, form->kernel);
}

int pto_lower_where(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor condition = pto_graph_lowering_as_bool(pto_graph_lowering_operand(l, node, 0));
  const struct pto_tensor *inputs[] = {&condition, pto_graph_lowering_operand(l, node, 1),
                                       pto_graph_lowering_operand(l, node, 2)};
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_ANY);
  return pto_graph_lowering_elementwise(l, &pto_general_select, inputs, 3, &y, NULL, 0);
}
