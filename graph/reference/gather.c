/* SPDX-License-Identifier: MIT */
/*
 * Reference: gathers and scatters.
 *
 * Of an extent n, indices from −n to n − 1 are valid, negative ones count from the end; others are clamped to that
 * range. Updates are written in row-major order of their indices, so that of several to one element the last stays.
 * Constants; any thread.
 */
#include <graph/reference/support.h>

/* What index `i` of `indices` means along an extent. */
static uint64_t index_at(const struct pto_reference_tensor *indices, uint64_t i, uint64_t extent) {
  const int64_t n = (int64_t)extent, x = indices->whole[i], clamped = x < -n ? -n : x > n - 1 ? n - 1 : x;
  return (uint64_t)(clamped < 0 ? clamped + n : clamped);
}

/* The shape of the result: that of the operand, with the indices' shape in place of the axis. */
PTO_REFERENCE_OPERATION(gather) {
  const struct pto_axis_options *options = node->options;
  const struct pto_reference_tensor *input = operands[0], *indices = operands[1];
  const struct pto_reference_lines lines = pto_reference_lines(&input->desc, pto_option_u32(options->axis, 0));
  const uint64_t index_count = pto_reference_numel(indices);
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    const uint64_t inner = i % lines.inner_count, k = i / lines.inner_count % index_count,
                   outer = i / lines.inner_count / index_count;
    pto_reference_copy(results, i, input,
                       (outer * lines.extent + index_at(indices, k, lines.extent)) * lines.inner_count + inner);
  }
  return PTO_OK;
}

/* The element of `desc` at the coordinates of index `i`, but that along the axis, which is the index itself. */
static uint64_t element_along(const struct pto_graph_desc *desc, const struct pto_reference_tensor *indices, uint64_t i,
                              uint32_t axis) {
  uint64_t at[PTO_MAX_DIMS];
  pto_reference_locate(&indices->desc, i, at);
  at[axis] = index_at(indices, i, desc->shape[axis]);
  return pto_reference_index(desc, at);
}

PTO_REFERENCE_OPERATION(gather_elements) {
  const struct pto_axis_options *options = node->options;
  const uint32_t axis = pto_option_u32(options->axis, 0);
  for (uint64_t i = 0; i < pto_reference_numel(results); i++)
    pto_reference_copy(results, i, operands[0], element_along(&operands[0]->desc, operands[1], i, axis));
  return PTO_OK;
}

PTO_REFERENCE_OPERATION(scatter_elements) {
  const struct pto_axis_options *options = node->options;
  const uint32_t axis = pto_option_u32(options->axis, 0);
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) pto_reference_copy(results, i, operands[0], i);
  for (uint64_t i = 0; i < pto_reference_numel(operands[1]); i++)
    pto_reference_copy(results, element_along(&results->desc, operands[1], i, axis), operands[2], i);
  return PTO_OK;
}

/* The last dimension of `indices` has coordinates of the first dimensions of `desc`: where the slice begins that the
 * k-th of them names, and its elements. */
static uint64_t slice_of(const struct pto_graph_desc *desc, const struct pto_reference_tensor *indices, uint64_t k,
                         uint64_t *size) {
  const uint64_t coordinates = indices->desc.shape[indices->desc.ndims - 1];
  uint64_t start = 0;
  *size = pto_graph_desc_numel(desc);
  for (uint32_t d = 0; d < coordinates; d++) {
    *size /= desc->shape[d];
    start += index_at(indices, k * coordinates + d, desc->shape[d]) * *size;
  }
  return start;
}

static uint64_t slice_count(const struct pto_reference_tensor *indices) {
  return pto_reference_numel(indices) / indices->desc.shape[indices->desc.ndims - 1];
}

PTO_REFERENCE_OPERATION(gather_nd) {
  for (uint64_t k = 0; k < slice_count(operands[1]); k++) {
    uint64_t size;
    const uint64_t start = slice_of(&operands[0]->desc, operands[1], k, &size);
    for (uint64_t i = 0; i < size; i++) pto_reference_copy(results, k * size + i, operands[0], start + i);
  }
  return PTO_OK;
}

PTO_REFERENCE_OPERATION(scatter_nd) {
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) pto_reference_copy(results, i, operands[0], i);
  for (uint64_t k = 0; k < slice_count(operands[1]); k++) {
    uint64_t size;
    const uint64_t start = slice_of(&results->desc, operands[1], k, &size);
    for (uint64_t i = 0; i < size; i++) pto_reference_copy(results, start + i, operands[2], k * size + i);
  }
  return PTO_OK;
}
