/* SPDX-License-Identifier: MIT */
#include <graph/infer/infer.h>

/* The shape without the chosen dimensions, or with ones in their place. */
static void reduce(const struct pto_graph_desc *input, uint32_t chosen, bool keeps, struct pto_graph_desc *result) {
  result->ndims = 0;
  for (uint32_t d = 0; d < input->ndims; d++) {
    bool is_chosen = chosen & 1u << d;
    if (!is_chosen || keeps) result->shape[result->ndims++] = is_chosen ? 1 : input->shape[d];
  }
}

int pto_infer_reduce(struct pto_inference *inference) {
  const struct pto_reduce_options *options = inference->options;
  const struct pto_graph_desc *input = &inference->operands[0];
  struct pto_graph_desc result = {.dtype = input->dtype};
  uint32_t chosen = (1u << input->ndims) - 1;
  if (options->axes.values) {
    int status = pto_infer_check_axes(inference, "axes", options->axes, input->ndims, &chosen);
    if (status) return status;
  }
  reduce(input, chosen, options->keep_dimensions == PTO_FLAG_YES, &result);
  return pto_infer_result(inference, &result);
}

static int infer_arg(struct pto_inference *inference) {
  const struct pto_arg_reduce_options *options = inference->options;
  const struct pto_graph_desc *input = &inference->operands[0];
  struct pto_graph_desc result = {.dtype = (uint32_t)pto_option_u64(options->output_data_type, PTO_INT32)};
  int status = pto_infer_check_axis(inference, "axis", options->axis, input->ndims);
  if (status) return status;
  if (result.dtype != PTO_INT32 && result.dtype != PTO_INT64)
    return PTO_INFER_REFUSE(inference, "outputDataType is %s, not int32 or int64", pto_dtype_name(result.dtype));
  reduce(input, 1u << options->axis, options->keep_dimensions == PTO_FLAG_YES, &result);
  return pto_infer_result(inference, &result);
}

int pto_infer_arg_min(struct pto_inference *inference) { return infer_arg(inference); }
int pto_infer_arg_max(struct pto_inference *inference) { return infer_arg(inference); }

int pto_infer_cumulative_sum(struct pto_inference *inference) {
  const struct pto_cumulative_sum_options *options = inference->options;
  int status = pto_infer_check_axis(inference, "axis", options->axis, inference->operands[0].ndims);
  return status ? status : pto_infer_result(inference, &inference->operands[0]);
}

/* ---- normalisations ---- */

/* Operands first … last − 1 are [size], where they are given. */
static int expect_vectors(struct pto_inference *inference, uint32_t first, uint32_t last, uint64_t size) {
  int status = PTO_OK;
  for (uint32_t i = first; status == PTO_OK && i < last; i++) status = pto_infer_expect_shape(inference, i, 1, &size);
  return status;
}

int pto_infer_batch_normalization(struct pto_inference *inference) {
  const struct pto_batch_normalization_options *options = inference->options;
  const struct pto_graph_desc *input = &inference->operands[0];
  uint64_t axis = pto_option_u64(options->axis, 1);
  int status = pto_infer_check_axis(inference, "axis", axis, input->ndims);
  if (status == PTO_OK) status = expect_vectors(inference, 1, 5, input->shape[axis]);
  return status ? status : pto_infer_result(inference, input);
}

int pto_infer_instance_normalization(struct pto_inference *inference) {
  const struct pto_instance_normalization_options *options = inference->options;
  const struct pto_graph_desc *input = &inference->operands[0];
  int status = expect_vectors(inference, 1, 3, input->shape[options->layout == PTO_LAYOUT_NCHW ? 1 : 3]);
  return status ? status : pto_infer_result(inference, input);
}

int pto_infer_layer_normalization(struct pto_inference *inference) {
  const struct pto_layer_normalization_options *options = inference->options;
  const struct pto_graph_desc *input = &inference->operands[0];
  uint64_t shape[PTO_MAX_DIMS] = {0}; /* of scale and bias: the dimensions in the order of axes */
  uint32_t chosen = 0, count = 0;
  if (options->axes.values) {
    int status = pto_infer_check_axes(inference, "axes", options->axes, input->ndims, &chosen);
    if (status) return status;
    for (; count < options->axes.count; count++) shape[count] = input->shape[options->axes.values[count]];
  } else {
    for (uint32_t d = 1; d < input->ndims; d++) shape[count++] = input->shape[d];
  }
  int status = pto_infer_expect_shape(inference, 1, count, shape);
  if (status == PTO_OK) status = pto_infer_expect_shape(inference, 2, count, shape);
  return status ? status : pto_infer_result(inference, input);
}
