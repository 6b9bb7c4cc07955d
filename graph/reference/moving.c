/* SPDX-License-Identifier: MIT */
/*
 * Reference: operations that move elements and compute nothing.
 *
 * Each finds, for an element of the result, the element of an operand that stands there.  Constants; any thread.
 */
#include <graph/reference/support.h>

static int same_order(const struct pto_reference_tensor *const *operands, struct pto_reference_tensor *results) {
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) pto_reference_copy(results, i, operands[0], i);
  return PTO_OK;
}
PTO_REFERENCE_OPERATION(reshape) { return same_order(operands, results); }
PTO_REFERENCE_OPERATION(squeeze) { return same_order(operands, results); }
PTO_REFERENCE_OPERATION(unsqueeze) { return same_order(operands, results); }

PTO_REFERENCE_OPERATION(expand) {
  for (uint64_t i = 0; i < pto_reference_numel(results); i++)
    pto_reference_copy(results, i, operands[0], pto_reference_broadcast(&operands[0]->desc, &results->desc, i));
  return PTO_OK;
}

/* Coordinates in the operand of the element at `at` in the result, in place. */
typedef void source_function(const void *options, const struct pto_graph_desc *input, uint64_t *at);

static int move(const struct pto_graph_node *node, const struct pto_reference_tensor *input,
                struct pto_reference_tensor *results, source_function *source) {
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    uint64_t at[PTO_MAX_DIMS];
    pto_reference_locate(&results->desc, i, at);
    source(node->options, &input->desc, at);
    pto_reference_copy(results, i, input, pto_reference_index(&input->desc, at));
  }
  return PTO_OK;
}

/* Dimension d of the result is dimension permutation[d] of the operand; not given: in reverse. */
static void transposed(const void *options, const struct pto_graph_desc *input, uint64_t *at) {
  const struct pto_transpose_options *transpose = options;
  uint64_t from[PTO_MAX_DIMS] = {0};
  for (uint32_t d = 0; d < input->ndims; d++)
    from[pto_option_at(transpose->permutation, d, input->ndims - 1 - d)] = at[d];
  for (uint32_t d = 0; d < input->ndims; d++) at[d] = from[d];
}
PTO_REFERENCE_OPERATION(transpose) { return move(node, operands[0], results, transposed); }

static void reversed(const void *options, const struct pto_graph_desc *input, uint64_t *at) {
  const struct pto_axes_options *reverse = options;
  for (uint32_t d = 0; d < input->ndims; d++) {
    if (pto_option_has_axis(reverse->axes, d)) at[d] = input->shape[d] - 1 - at[d];
  }
}
PTO_REFERENCE_OPERATION(reverse) { return move(node, operands[0], results, reversed); }

static void sliced(const void *options, const struct pto_graph_desc *input, uint64_t *at) {
  const struct pto_slice_options *slice = options;
  for (uint32_t d = 0; d < input->ndims; d++)
    at[d] = slice->starts.values[d] + at[d] * pto_option_at(slice->strides, d, 1);
}
PTO_REFERENCE_OPERATION(slice) { return move(node, operands[0], results, sliced); }

static void tiled(const void *options, const struct pto_graph_desc *input, uint64_t *at) {
  for (uint32_t d = 0; d < input->ndims; d++) at[d] %= input->shape[d];
}
PTO_REFERENCE_OPERATION(tile) { return move(node, operands[0], results, tiled); }

/* ---- pad ---- */

/* The index in an extent that stands at `x` outside of it, which repeats as `mode` says: reflection about the first and
 * last element, which are not repeated, or about the edges, so that they are. */
static uint64_t folded(int64_t x, int64_t extent, uint32_t mode) {
  if (mode == PTO_PADDING_EDGE) return (uint64_t)(x < 0 ? 0 : x >= extent ? extent - 1 : x);
  while (x < 0 || x >= extent) {
    const int64_t first = mode == PTO_PADDING_REFLECTION ? 0 : -1;
    if (extent == 1) return 0;
    x = x < 0 ? first - x : 2 * (extent - 1) - first - x;
  }
  return (uint64_t)x;
}

/* Fills in the coordinates in the operand; false where there are none. */
static bool unpadded(const struct pto_pad_options *options, const struct pto_graph_desc *input, uint64_t *at) {
  for (uint32_t d = 0; d < input->ndims; d++) {
    const int64_t x = (int64_t)at[d] - (int64_t)options->beginning_padding.values[d], extent = (int64_t)input->shape[d];
    if (options->mode == PTO_PADDING_CONSTANT && (x < 0 || x >= extent)) return false;
    at[d] = folded(x, extent, options->mode);
  }
  return true;
}

PTO_REFERENCE_OPERATION(pad) {
  const struct pto_pad_options *options = node->options;
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    uint64_t at[PTO_MAX_DIMS];
    pto_reference_locate(&results->desc, i, at);
    if (unpadded(options, &operands[0]->desc, at))
      pto_reference_copy(results, i, operands[0], pto_reference_index(&operands[0]->desc, at));
    else if (pto_reference_is_float(results))
      results->values[i] = pto_reference_option(results->desc.dtype, options->value, 0);
    else
      results->whole[i] = pto_option_whole(options->value, results->desc.dtype, 0);
  }
  return PTO_OK;
}

/* ---- parts ---- */

/* Column − row ≥ diagonal is kept of an upper triangle, ≤ of a lower one; the rest is 0. */
PTO_REFERENCE_OPERATION(triangular) {
  const struct pto_triangular_options *options = node->options;
  const bool is_upper = pto_option_flag(options->upper, true);
  const int64_t diagonal = pto_option_i64(options->diagonal, 0);
  const uint32_t rank = results->desc.ndims;
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    uint64_t at[PTO_MAX_DIMS];
    pto_reference_locate(&results->desc, i, at);
    const int64_t distance = (int64_t)at[rank - 1] - (int64_t)at[rank - 2];
    if (is_upper ? distance >= diagonal : distance <= diagonal) pto_reference_copy(results, i, operands[0], i);
  }
  return PTO_OK;
}

/* `part` is the piece of `whole` that begins at index `start` of `axis`: copies it there, or from there. */
static void copy_part(struct pto_reference_tensor *to, const struct pto_reference_tensor *from, uint32_t axis,
                      uint64_t start, bool is_into_whole) {
  const struct pto_graph_desc *part = is_into_whole ? &from->desc : &to->desc,
                              *whole = is_into_whole ? &to->desc : &from->desc;
  for (uint64_t i = 0; i < pto_graph_desc_numel(part); i++) {
    uint64_t at[PTO_MAX_DIMS];
    pto_reference_locate(part, i, at);
    at[axis] += start;
    const uint64_t j = pto_reference_index(whole, at);
    pto_reference_copy(to, is_into_whole ? j : i, from, is_into_whole ? i : j);
  }
}

PTO_REFERENCE_OPERATION(concat) {
  const struct pto_concat_options *options = node->options;
  uint64_t start = 0;
  for (uint32_t k = 0; k < node->operand_count; k++) {
    copy_part(results, operands[k], options->axis, start, true);
    start += operands[k]->desc.shape[options->axis];
  }
  return PTO_OK;
}

PTO_REFERENCE_OPERATION(split) {
  const struct pto_split_options *options = node->options;
  const uint32_t axis = pto_option_u32(options->axis, 0);
  uint64_t start = 0;
  for (uint32_t k = 0; k < node->result_count; k++) {
    copy_part(&results[k], operands[0], axis, start, false);
    start += results[k].desc.shape[axis];
  }
  return PTO_OK;
}
