/* SPDX-License-Identifier: MIT */
#include <graph/infer/infer.h>

#include <inttypes.h>

static void append(struct pto_graph_desc *result, const struct pto_graph_desc *from, uint32_t first, uint32_t last) {
  for (uint32_t d = first; d < last && result->ndims < PTO_MAX_DIMS; d++)
    result->shape[result->ndims++] = from->shape[d];
}

static int check_rank(struct pto_inference *inference, uint64_t ndims) {
  if (ndims <= PTO_MAX_DIMS) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "the result would have %" PRIu64 " dimensions, more than %d", ndims, PTO_MAX_DIMS);
}

/* ---- gathers ---- */

int pto_infer_gather(struct pto_inference *inference) {
  const struct pto_axis_options *options = inference->options;
  const struct pto_graph_desc *input = &inference->operands[0], *indices = &inference->operands[1];
  struct pto_graph_desc result = {.dtype = input->dtype};
  uint64_t axis = pto_option_u64(options->axis, 0);
  int status = pto_infer_check_axis(inference, "axis", axis, input->ndims);
  if (status == PTO_OK) status = check_rank(inference, (uint64_t)input->ndims - 1 + indices->ndims);
  if (status) return status;
  append(&result, input, 0, (uint32_t)axis);
  append(&result, indices, 0, indices->ndims);
  append(&result, input, (uint32_t)axis + 1, input->ndims);
  return pto_infer_result(inference, &result);
}

/* Indices of the rank of the input, and of its sizes but along the axis. */
static int check_elements(struct pto_inference *inference, uint64_t axis) {
  const struct pto_graph_desc *input = &inference->operands[0], *indices = &inference->operands[1];
  int status = pto_infer_check_axis(inference, "axis", axis, input->ndims);
  if (status) return status;
  bool fits = input->ndims == indices->ndims;
  for (uint32_t d = 0; fits && d < input->ndims; d++) fits = d == axis || indices->shape[d] == input->shape[d];
  if (fits) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "indices of shape %s differ from input of shape %s in more than axis %" PRIu64,
                          PTO_SHAPE_TEXT(indices), PTO_SHAPE_TEXT(input), axis);
}

int pto_infer_gather_elements(struct pto_inference *inference) {
  const struct pto_axis_options *options = inference->options;
  struct pto_graph_desc result = inference->operands[1];
  int status = check_elements(inference, pto_option_u64(options->axis, 0));
  result.dtype = inference->operands[0].dtype;
  return status ? status : pto_infer_result(inference, &result);
}

/* The shape that indices choose of the input: their own without the last dimension, which says how many dimensions of
 * the input they fix, and then the rest of the input's. */
static int chosen_shape(struct pto_inference *inference, struct pto_graph_desc *chosen) {
  const struct pto_graph_desc *input = &inference->operands[0], *indices = &inference->operands[1];
  uint64_t fixed = indices->shape[indices->ndims - 1];
  *chosen = (struct pto_graph_desc){.dtype = input->dtype};
  if (fixed > input->ndims)
    return PTO_INFER_REFUSE(inference, "the last dimension of indices is %" PRIu64 ", and input has %u", fixed,
                            input->ndims);
  int status = check_rank(inference, (uint64_t)indices->ndims - 1 + input->ndims - fixed);
  if (status) return status;
  append(chosen, indices, 0, indices->ndims - 1);
  append(chosen, input, (uint32_t)fixed, input->ndims);
  return PTO_OK;
}

int pto_infer_gather_nd(struct pto_inference *inference) {
  struct pto_graph_desc result;
  int status = chosen_shape(inference, &result);
  return status ? status : pto_infer_result(inference, &result);
}

/* ---- scatters ---- */

int pto_infer_scatter_elements(struct pto_inference *inference) {
  const struct pto_axis_options *options = inference->options;
  int status = check_elements(inference, pto_option_u64(options->axis, 0));
  if (status == PTO_OK) status = pto_infer_same_shape(inference, 2, 1);
  return status ? status : pto_infer_result(inference, &inference->operands[0]);
}

int pto_infer_scatter_nd(struct pto_inference *inference) {
  struct pto_graph_desc chosen;
  int status = chosen_shape(inference, &chosen);
  if (status == PTO_OK) status = pto_infer_expect_shape(inference, 2, chosen.ndims, chosen.shape);
  return status ? status : pto_infer_result(inference, &inference->operands[0]);
}

/* ---- parts and wholes ---- */

static int check_alike(struct pto_inference *inference, uint32_t operand, uint32_t axis) {
  const struct pto_graph_desc *first = &inference->operands[0], *other = &inference->operands[operand];
  if (other->dtype != first->dtype)
    return PTO_INFER_REFUSE(inference, "inputs[0] is %s, and inputs[%u] is %s", pto_graph_dtype_name(first->dtype),
                            operand, pto_graph_dtype_name(other->dtype));
  bool fits = other->ndims == first->ndims;
  for (uint32_t d = 0; fits && d < first->ndims; d++) fits = d == axis || other->shape[d] == first->shape[d];
  if (fits) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "inputs[0] of shape %s and inputs[%u] of shape %s differ in more than axis %u",
                          PTO_SHAPE_TEXT(first), operand, PTO_SHAPE_TEXT(other), axis);
}

int pto_infer_concat(struct pto_inference *inference) {
  const struct pto_concat_options *options = inference->options;
  struct pto_graph_desc result = inference->operands[0];
  int status = pto_infer_check_axis(inference, "axis", options->axis, result.ndims);
  for (uint32_t i = 1; status == PTO_OK && i < inference->operand_count; i++) {
    status = check_alike(inference, i, options->axis);
    result.shape[options->axis] += inference->operands[i].shape[options->axis];
  }
  return status ? status : pto_infer_result(inference, &result);
}

static int split_equally(struct pto_inference *inference, uint32_t axis, uint32_t parts) {
  struct pto_graph_desc part = inference->operands[0];
  if (parts == 0) return PTO_INFER_REFUSE(inference, "splits is 0");
  if (part.shape[axis] % parts)
    return PTO_INFER_REFUSE(inference, "splits %u does not divide dimension %u of %" PRIu64, parts, axis,
                            part.shape[axis]);
  if (parts > PTO_GRAPH_MAX_RESULTS)
    return PTO_INFER_REFUSE(inference, "splits is %u, more than %u", parts, PTO_GRAPH_MAX_RESULTS);
  part.shape[axis] /= parts;
  for (uint32_t i = 0; i < parts; i++) (void)pto_infer_result(inference, &part);
  return PTO_OK;
}

static int split_by_size(struct pto_inference *inference, uint32_t axis, struct pto_u32_list sizes) {
  struct pto_graph_desc part = inference->operands[0];
  uint64_t whole = part.shape[axis], sum = 0;
  if (sizes.count > PTO_GRAPH_MAX_RESULTS)
    return PTO_INFER_REFUSE(inference, "splits has %u values, more than %u", sizes.count, PTO_GRAPH_MAX_RESULTS);
  for (uint32_t i = 0; i < sizes.count; i++) {
    if (sizes.values[i] == 0) return PTO_INFER_REFUSE(inference, "splits[%u] is 0", i);
    sum += sizes.values[i];
    part.shape[axis] = sizes.values[i];
    (void)pto_infer_result(inference, &part);
  }
  if (sum == whole) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "splits add up to %" PRIu64 ", and dimension %u is %" PRIu64, sum, axis, whole);
}

int pto_infer_split(struct pto_inference *inference) {
  const struct pto_split_options *options = inference->options;
  uint64_t axis = pto_option_u64(options->axis, 0);
  int status = pto_infer_check_axis(inference, "axis", axis, inference->operands[0].ndims);
  if (status) return status;
  struct pto_u32_list splits = options->splits;
  bool has_sizes = options->has_sizes == PTO_FLAG_YES || splits.count != 1;
  return has_sizes ? split_by_size(inference, (uint32_t)axis, splits)
                   : split_equally(inference, (uint32_t)axis, splits.values[0]);
}
