/* SPDX-License-Identifier: MIT */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>
#include <math.h>

/* As an operand of the same shape lies. */
static struct pto_tensor result_like(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                                     const struct pto_tensor *const *inputs) {
  const struct pto_graph_desc *desc = &l->graph->values[node->first_result].desc;
  for (uint32_t i = 0; i < node->operand_count; i++)
    if (pto_is_image(inputs[i]) && pto_tensor_numel(inputs[i]) == pto_graph_desc_numel(desc))
      return pto_graph_lowering_image(l, node, 0, PTO_IN_PLACE_ANY);
  return pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_ANY);
}

/* `kernel` on all operands of the node, broadcast, then scalars. */
static void elementwise(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                        const struct pto_kernel *kernel, const struct pto_param *scalars, uint32_t scalar_count) {
  const struct pto_tensor *inputs[3];
  for (uint32_t i = 0; i < node->operand_count; i++) inputs[i] = pto_graph_lowering_operand(l, node, i);
  const struct pto_tensor y = result_like(l, node, inputs);
  pto_graph_lowering_elementwise(l, kernel, inputs, node->operand_count, &y, scalars, scalar_count);
}

/* By operation; those that have another name as kernels. */
#define pto_general_identity pto_general_copy
#define pto_general_max pto_general_maximum
#define pto_general_min pto_general_minimum
#define pto_general_greater_or_equal pto_general_greater_equal
#define pto_general_lesser_or_equal pto_general_lesser_equal
static const struct pto_kernel *const kernels[PTO_GRAPH_OP_COUNT] = {
#define X(id, ...) [PTO_GRAPH_OP_##id] = &pto_general_##id,
    PTO_UNARY_OP_LIST(X) PTO_BINARY_OP_LIST(X)
#undef X
        [PTO_GRAPH_OP_prelu] = &pto_general_prelu,
    [PTO_GRAPH_OP_where] = &pto_general_select,
};

void pto_lower_binary(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  elementwise(l, node, kernels[node->op], NULL, 0);
}
void pto_lower_prelu(struct pto_graph_lowering *l, const struct pto_graph_node *node) { pto_lower_binary(l, node); }
void pto_lower_where(struct pto_graph_lowering *l, const struct pto_graph_node *node) { pto_lower_binary(l, node); }

static bool is_float(uint32_t dtype) { return (PTO_DTYPE_BIT(dtype) & PTO_DTYPES_FLOAT) != 0; }

void pto_lower_unary(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const bool is_predicate = node->op == PTO_GRAPH_OP_is_nan || node->op == PTO_GRAPH_OP_is_infinite;
  if (node->op == PTO_GRAPH_OP_identity) {
    pto_graph_lowering_alias(l, node, 0, x);
  } else if (is_predicate && !is_float(x->dtype)) { /* integers are neither */
    const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_ANY);
    pto_graph_lowering_fill(l, (struct pto_number){0}, &y);
  } else {
    elementwise(l, node, kernels[node->op], NULL, 0);
  }
}

/* The integer dtype of graphs of the width of one, signed or not as the other. */
static uint32_t of_sign(uint32_t width, uint32_t sign) {
  uint32_t dtype = 0;
  while (pto_graph_dtype_name(dtype) == NULL || is_float(dtype) || pto_dtype_bits(dtype) != pto_dtype_bits(width) ||
         pto_dtype_is_signed(dtype) != pto_dtype_is_signed(sign))
    dtype++;
  return dtype;
}

/* Integers keep their low bits, where the kernel would saturate: to a dtype as narrow or narrower they are copied from
 * where these bits are (little-endian); to a wider one they become one of their own sign, whose bits the result has. */
static void cast_integers(struct pto_graph_lowering *l, const struct pto_tensor *x, const struct pto_tensor *y) {
  const uint32_t from_bits = pto_dtype_bits(x->dtype), to_bits = pto_dtype_bits(y->dtype);
  struct pto_tensor from = *x, to = *y;
  if (to_bits > from_bits) {
    to.dtype = of_sign(y->dtype, x->dtype);
  } else {
    const uint64_t parts = from_bits / to_bits;
    from.dtype = y->dtype;
    from.start_offset *= parts;
    for (uint32_t d = 0; d < from.ndims; d++) from.strides[d] *= parts;
  }
  pto_graph_lowering_convert(l, &from, &to);
}

void pto_lower_cast(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  if (is_float(x->dtype) || is_float(y.dtype))
    pto_graph_lowering_convert(l, x, &y);
  else
    cast_integers(l, x, &y);
}

/* ---- with numbers ---- */

/* A kernel of one number of the options, or two. */
static void with_numbers(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                         const struct pto_kernel *kernel, uint32_t count, double first, double second) {
  const struct pto_param scalars[] = {pto_scalar_f32((float)first), pto_scalar_f32((float)second)};
  elementwise(l, node, kernel, scalars, count);
}

/* Bounds of uint64 that no scalar of 64 bits with a sign can say, as tensors of one element. */
static void clamp_unsigned(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_clamp_options *options = node->options;
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_ANY);
  const struct pto_tensor low = pto_graph_lowering_temporary(l, PTO_UINT64, 0, NULL);
  const struct pto_tensor high = pto_graph_lowering_temporary(l, PTO_UINT64, 0, NULL);
  const struct pto_tensor raised = pto_graph_lowering_temporary(l, PTO_UINT64, x->ndims, x->shape);
  const struct pto_tensor *up[] = {x, &low}, *down[] = {&raised, &high};
  const bool has_max = options->max_value.kind != PTO_NUMBER_ABSENT;
  pto_graph_lowering_fill(l, options->min_value, &low);
  pto_graph_lowering_elementwise(l, &pto_general_maximum, up, 2, has_max ? &raised : &y, NULL, 0);
  if (!has_max) return;
  pto_graph_lowering_fill(l, options->max_value, &high);
  pto_graph_lowering_elementwise(l, &pto_general_minimum, down, 2, &y, NULL, 0);
}

/* Of integer dtypes bounds are whole numbers; one beyond the dtype bounds nothing. */
void pto_lower_clamp(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_clamp_options *options = node->options;
  const uint32_t dtype = pto_graph_lowering_operand(l, node, 0)->dtype;
  if (is_float(dtype)) {
    with_numbers(l, node, &pto_general_clamp, 2, pto_option_f64(options->min_value, -(double)INFINITY),
                 pto_option_f64(options->max_value, (double)INFINITY));
  } else if (dtype == PTO_UINT64 && (pto_option_u64(options->min_value, 0) > INT64_MAX ||
                                     pto_option_u64(options->max_value, UINT64_MAX) > INT64_MAX)) {
    clamp_unsigned(l, node);
  } else {
    const struct pto_param bounds[] = {pto_scalar_i64(pto_option_i64(options->min_value, INT64_MIN)),
                                       pto_scalar_i64(pto_option_i64(options->max_value, INT64_MAX))};
    elementwise(l, node, &pto_general_clamp_int, bounds, 2);
  }
}

void pto_lower_linear(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_linear_options *options = node->options;
  with_numbers(l, node, &pto_general_linear, 2, pto_option_f64(options->alpha, 1), pto_option_f64(options->beta, 0));
}

void pto_lower_hard_sigmoid(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_hard_sigmoid_options *options = node->options;
  with_numbers(l, node, &pto_general_hard_sigmoid, 2, pto_option_f64(options->alpha, 0.2),
               pto_option_f64(options->beta, 0.5));
}

void pto_lower_elu(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_elu_options *options = node->options;
  with_numbers(l, node, &pto_general_elu, 1, pto_option_f64(options->alpha, 1), 0);
}

void pto_lower_leaky_relu(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_leaky_relu_options *options = node->options;
  with_numbers(l, node, &pto_general_leaky_relu, 1, pto_option_f64(options->alpha, 0.01), 0);
}
