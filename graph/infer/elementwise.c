/* SPDX-License-Identifier: MIT */
#include <graph/infer/infer.h>

#include <graph/build/data.h>

static int same_as_input(struct pto_inference *inference) {
  return pto_infer_result(inference, &inference->operands[0]);
}

int pto_infer_unary(struct pto_inference *inference) {
  struct pto_graph_desc result = inference->operands[0];
  if (inference->op == PTO_GRAPH_OP_is_nan || inference->op == PTO_GRAPH_OP_is_infinite) result.dtype = PTO_UINT8;
  return pto_infer_result(inference, &result);
}

static int refuse_broadcast(struct pto_inference *inference, uint32_t a, uint32_t b) {
  return PTO_INFER_REFUSE(inference, "%s of shape %s and %s of shape %s cannot be broadcast",
                          pto_infer_parameter(inference, a), PTO_SHAPE_TEXT(&inference->operands[a]),
                          pto_infer_parameter(inference, b), PTO_SHAPE_TEXT(&inference->operands[b]));
}

static int infer_pair(struct pto_inference *inference, uint32_t dtype) {
  struct pto_graph_desc result = {.dtype = dtype};
  if (!pto_shape_broadcast(&inference->operands[0], &inference->operands[1], &result))
    return refuse_broadcast(inference, 0, 1);
  return pto_infer_result(inference, &result);
}

int pto_infer_binary(struct pto_inference *inference) { return infer_pair(inference, inference->operands[0].dtype); }
int pto_infer_test(struct pto_inference *inference) { return infer_pair(inference, PTO_UINT8); }

int pto_infer_where(struct pto_inference *inference) {
  const struct pto_graph_desc *operands = inference->operands;
  struct pto_graph_desc values = {.dtype = operands[1].dtype}, result = values;
  if (!pto_shape_broadcast(&operands[1], &operands[2], &values)) return refuse_broadcast(inference, 1, 2);
  if (!pto_shape_broadcast(&operands[0], &values, &result)) return refuse_broadcast(inference, 0, 1);
  return pto_infer_result(inference, &result);
}

int pto_infer_prelu(struct pto_inference *inference) { return pto_infer_binary(inference); }

int pto_infer_cast(struct pto_inference *inference) {
  const struct pto_cast_options *options = inference->options;
  struct pto_graph_desc result = inference->operands[0];
  result.dtype = options->data_type;
  /* What may be cast may be cast to. */
  if (!(pto_op_info(inference->op)->parameters[0].dtypes & PTO_DTYPE_BIT(result.dtype)))
    return PTO_INFER_REFUSE(inference, "dataType is %s, which nothing is cast to", pto_dtype_name(result.dtype));
  return pto_infer_result(inference, &result);
}

/* ---- clamp ---- */

/* a > b, of integers exactly. */
static bool is_greater(struct pto_number a, struct pto_number b) {
  if (a.kind == PTO_NUMBER_F64 || b.kind == PTO_NUMBER_F64) return pto_option_f64(a, 0) > pto_option_f64(b, 0);
  bool a_is_negative = a.kind == PTO_NUMBER_I64 && a.value.i64 < 0;
  bool b_is_negative = b.kind == PTO_NUMBER_I64 && b.value.i64 < 0;
  if (a_is_negative != b_is_negative) return b_is_negative;
  return a_is_negative ? a.value.i64 > b.value.i64 : a.value.u64 > b.value.u64;
}

/* As the operand's dtype has it. */
static struct pto_number as_dtype(struct pto_number number, uint32_t dtype) {
  double value = pto_option_f64(number, 0);
  if (dtype == PTO_FLOAT32) return pto_number_f64((float)value);
  if (dtype == PTO_FLOAT16) return pto_number_f64(pto_fp16_to_f32(pto_fp16_from_f64(value)));
  return number;
}

int pto_infer_clamp(struct pto_inference *inference) {
  const struct pto_clamp_options *options = inference->options;
  uint32_t dtype = inference->operands[0].dtype;
  if (options->min_value.kind && options->max_value.kind &&
      is_greater(as_dtype(options->min_value, dtype), as_dtype(options->max_value, dtype)))
    return PTO_INFER_REFUSE(inference, "minValue %.17g is greater than maxValue %.17g",
                            pto_option_f64(options->min_value, 0), pto_option_f64(options->max_value, 0));
  return same_as_input(inference);
}

/* ---- activations ---- */

int pto_infer_elu(struct pto_inference *inference) { return same_as_input(inference); }
int pto_infer_hard_sigmoid(struct pto_inference *inference) { return same_as_input(inference); }
int pto_infer_leaky_relu(struct pto_inference *inference) { return same_as_input(inference); }
int pto_infer_linear(struct pto_inference *inference) { return same_as_input(inference); }

int pto_infer_softmax(struct pto_inference *inference) {
  const struct pto_softmax_options *options = inference->options;
  int status = pto_infer_check_axis(inference, "axis", options->axis, inference->operands[0].ndims);
  return status ? status : same_as_input(inference);
}

/* ---- numbers with a scale ---- */

/* Aligned at the innermost dimension, each dimension of the scale divides that of the input: blocks of elements share
 * one. */
static int check_scale(struct pto_inference *inference) {
  const struct pto_graph_desc *input = &inference->operands[0], *scale = &inference->operands[1];
  bool is_blockwise = scale->ndims <= input->ndims;
  for (uint32_t i = 1; is_blockwise && i <= scale->ndims; i++)
    is_blockwise = input->shape[input->ndims - i] % scale->shape[scale->ndims - i] == 0;
  if (is_blockwise) return pto_infer_same_shape(inference, 2, 1);
  return PTO_INFER_REFUSE(inference, "scale of shape %s does not divide input of shape %s into blocks",
                          PTO_SHAPE_TEXT(scale), PTO_SHAPE_TEXT(input));
}

static int infer_scaled(struct pto_inference *inference, uint32_t dtype) {
  struct pto_graph_desc result = inference->operands[0];
  result.dtype = dtype;
  int status = check_scale(inference);
  return status ? status : pto_infer_result(inference, &result);
}

int pto_infer_quantize_linear(struct pto_inference *inference) {
  return infer_scaled(inference, inference->operands[2].dtype);
}
int pto_infer_dequantize_linear(struct pto_inference *inference) {
  return infer_scaled(inference, inference->operands[1].dtype);
}
