/* SPDX-License-Identifier: MIT */
#include <graph/infer/infer.h>

#include <inttypes.h>

/* A list that has one value a dimension. */
static int check_count(struct pto_inference *inference, const char *name, struct pto_u32_list list) {
  uint32_t ndims = inference->operands[0].ndims;
  if (list.count == ndims) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "%s has %u values, and input %u dimensions", name, list.count, ndims);
}

static int check_rank(struct pto_inference *inference, const char *name, uint32_t count) {
  if (count <= PTO_MAX_DIMS) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "%s gives %u dimensions, more than %d", name, count, PTO_MAX_DIMS);
}

/* The dimensions of a new shape, none of which is 0. */
static int read_shape(struct pto_inference *inference, struct pto_u32_list list, struct pto_graph_desc *result) {
  int status = check_rank(inference, "newShape", list.count);
  if (status) return status;
  result->dtype = inference->operands[0].dtype;
  result->ndims = list.count;
  for (uint32_t d = 0; d < list.count; d++) {
    if (list.values[d] == 0) return PTO_INFER_REFUSE(inference, "newShape[%u] is 0", d);
    result->shape[d] = list.values[d];
  }
  return PTO_OK;
}

int pto_infer_expand(struct pto_inference *inference) {
  const struct pto_new_shape_options *options = inference->options;
  struct pto_graph_desc result;
  int status = read_shape(inference, options->new_shape, &result);
  if (status) return status;
  if (pto_shape_broadcasts_to(&inference->operands[0], &result)) return pto_infer_result(inference, &result);
  return PTO_INFER_REFUSE(inference, "input of shape %s cannot be broadcast to newShape %s",
                          PTO_SHAPE_TEXT(&inference->operands[0]), PTO_SHAPE_TEXT(&result));
}

/* Elements of a shape, or 0 where a 64-bit number cannot count them. */
static uint64_t count_elements(const struct pto_graph_desc *desc) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < desc->ndims; d++)
    if (__builtin_mul_overflow(count, desc->shape[d], &count)) return 0;
  return count;
}

int pto_infer_reshape(struct pto_inference *inference) {
  const struct pto_new_shape_options *options = inference->options;
  struct pto_graph_desc result;
  int status = read_shape(inference, options->new_shape, &result);
  if (status) return status;
  if (count_elements(&result) == count_elements(&inference->operands[0])) return pto_infer_result(inference, &result);
  return PTO_INFER_REFUSE(inference, "input of shape %s has another number of elements than newShape %s",
                          PTO_SHAPE_TEXT(&inference->operands[0]), PTO_SHAPE_TEXT(&result));
}

int pto_infer_squeeze(struct pto_inference *inference) {
  const struct pto_axes_options *options = inference->options;
  const struct pto_graph_desc *input = &inference->operands[0];
  struct pto_graph_desc result = {.dtype = input->dtype};
  uint32_t chosen = 0;
  int status = pto_infer_check_axes(inference, "axes", options->axes, input->ndims, &chosen);
  if (status) return status;
  for (uint32_t d = 0; d < input->ndims; d++) {
    bool goes = options->axes.values ? chosen & 1u << d : input->shape[d] == 1;
    if (goes && input->shape[d] != 1)
      return PTO_INFER_REFUSE(inference, "axes: dimension %u is %" PRIu64 ", not 1", d, input->shape[d]);
    if (!goes) result.shape[result.ndims++] = input->shape[d];
  }
  return pto_infer_result(inference, &result);
}

int pto_infer_unsqueeze(struct pto_inference *inference) {
  const struct pto_axes_options *options = inference->options;
  const struct pto_graph_desc *input = &inference->operands[0];
  struct pto_graph_desc result = {.dtype = input->dtype};
  uint32_t chosen = 0, next = 0;
  /* No list that is longer is without a repetition. */
  int status = options->axes.count > PTO_MAX_DIMS ? check_rank(inference, "axes", options->axes.count)
                                                  : check_rank(inference, "axes", input->ndims + options->axes.count);
  if (status) return status;
  result.ndims = input->ndims + options->axes.count;
  status = pto_infer_check_axes(inference, "axes", options->axes, result.ndims, &chosen);
  if (status) return status;
  for (uint32_t d = 0; d < result.ndims; d++) result.shape[d] = chosen & 1u << d ? 1 : input->shape[next++];
  return pto_infer_result(inference, &result);
}

int pto_infer_transpose(struct pto_inference *inference) {
  const struct pto_transpose_options *options = inference->options;
  const struct pto_graph_desc *input = &inference->operands[0];
  struct pto_graph_desc result = *input;
  struct pto_u32_list order = options->permutation;
  uint32_t chosen = 0;
  if (order.values) {
    int status = check_count(inference, "permutation", order);
    if (status == PTO_OK) status = pto_infer_check_axes(inference, "permutation", order, input->ndims, &chosen);
    if (status) return status;
  }
  for (uint32_t d = 0; d < input->ndims; d++)
    result.shape[d] = input->shape[order.values ? order.values[d] : input->ndims - 1 - d];
  return pto_infer_result(inference, &result);
}

int pto_infer_reverse(struct pto_inference *inference) {
  const struct pto_axes_options *options = inference->options;
  uint32_t chosen = 0;
  int status = pto_infer_check_axes(inference, "axes", options->axes, inference->operands[0].ndims, &chosen);
  return status ? status : pto_infer_result(inference, &inference->operands[0]);
}

int pto_infer_slice(struct pto_inference *inference) {
  const struct pto_slice_options *options = inference->options;
  struct pto_graph_desc result = inference->operands[0];
  int status = check_count(inference, "starts", options->starts);
  if (status == PTO_OK) status = check_count(inference, "sizes", options->sizes);
  if (status == PTO_OK && options->strides.values) status = check_count(inference, "strides", options->strides);
  for (uint32_t d = 0; status == PTO_OK && d < result.ndims; d++) {
    uint64_t start = options->starts.values[d], size = options->sizes.values[d];
    uint64_t stride = options->strides.values ? options->strides.values[d] : 1;
    if (size == 0) return PTO_INFER_REFUSE(inference, "sizes[%u] is 0", d);
    if (stride == 0) return PTO_INFER_REFUSE(inference, "strides[%u] is 0", d);
    if (start + size > result.shape[d])
      return PTO_INFER_REFUSE(inference,
                              "starts[%u] %" PRIu64 " and sizes[%u] %" PRIu64 " exceed dimension %u of %" PRIu64, d,
                              start, d, size, d, result.shape[d]);
    result.shape[d] = (size + stride - 1) / stride;
  }
  return status ? status : pto_infer_result(inference, &result);
}

/* What is mirrored has to be there: all but the edge itself, or with it. */
static int check_mirrored(struct pto_inference *inference, const char *name, uint32_t mode, uint32_t d, uint64_t pad) {
  uint64_t size = inference->operands[0].shape[d];
  bool is_mirrored = mode == PTO_PADDING_REFLECTION || mode == PTO_PADDING_SYMMETRIC;
  if (!is_mirrored || pad < size || (pad == size && mode == PTO_PADDING_SYMMETRIC)) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "%s[%u] is %" PRIu64 ", too much to mirror of a dimension of %" PRIu64, name, d,
                          pad, size);
}

int pto_infer_pad(struct pto_inference *inference) {
  const struct pto_pad_options *options = inference->options;
  struct pto_graph_desc result = inference->operands[0];
  int status = check_count(inference, "beginningPadding", options->beginning_padding);
  if (status == PTO_OK) status = check_count(inference, "endingPadding", options->ending_padding);
  for (uint32_t d = 0; status == PTO_OK && d < result.ndims; d++) {
    uint64_t before = options->beginning_padding.values[d], behind = options->ending_padding.values[d];
    status = check_mirrored(inference, "beginningPadding", options->mode, d, before);
    if (status == PTO_OK) status = check_mirrored(inference, "endingPadding", options->mode, d, behind);
    result.shape[d] += before + behind;
  }
  return status ? status : pto_infer_result(inference, &result);
}

int pto_infer_tile(struct pto_inference *inference) {
  const struct pto_tile_options *options = inference->options;
  struct pto_graph_desc result = inference->operands[0];
  int status = check_count(inference, "repetitions", options->repetitions);
  for (uint32_t d = 0; status == PTO_OK && d < result.ndims; d++) {
    if (options->repetitions.values[d] == 0) return PTO_INFER_REFUSE(inference, "repetitions[%u] is 0", d);
    result.shape[d] *= options->repetitions.values[d]; /* of two numbers below 2^32 */
  }
  return status ? status : pto_infer_result(inference, &result);
}

int pto_infer_triangular(struct pto_inference *inference) {
  return pto_infer_result(inference, &inference->operands[0]);
}
