/* SPDX-License-Identifier: MIT */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>

/* ---- views ---- */

/* The same elements in row-major order, in the shape of the result. */
void pto_lower_reshape(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_graph_desc *desc = &l->graph->values[node->first_result].desc;
  const struct pto_tensor view =
      pto_graph_lowering_reshape(l, pto_graph_lowering_operand(l, node, 0), desc->ndims, desc->shape);
  pto_graph_lowering_alias(l, node, 0, &view);
}
void pto_lower_squeeze(struct pto_graph_lowering *l, const struct pto_graph_node *node) { pto_lower_reshape(l, node); }
void pto_lower_unsqueeze(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  pto_lower_reshape(l, node);
}

void pto_lower_transpose(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_transpose_options *options = node->options;
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  uint32_t order[PTO_MAX_DIMS] = {0};
  for (uint32_t d = 0; d < x->ndims; d++) order[d] = pto_option_at(options->permutation, d, x->ndims - 1 - d);
  const struct pto_tensor view = pto_tensor_permute(x, order);
  pto_graph_lowering_alias(l, node, 0, &view);
}

void pto_lower_expand(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_graph_desc *desc = &l->graph->values[node->first_result].desc;
  const struct pto_tensor view = pto_tensor_broadcast(pto_graph_lowering_operand(l, node, 0), desc->ndims, desc->shape);
  pto_graph_lowering_alias(l, node, 0, &view);
}

void pto_lower_slice(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_slice_options *options = node->options;
  struct pto_tensor view = *pto_graph_lowering_operand(l, node, 0);
  for (uint32_t d = 0; d < view.ndims; d++) {
    const uint64_t start = options->starts.values[d];
    view = pto_tensor_slice(&view, d, start, start + options->sizes.values[d], pto_option_at(options->strides, d, 1));
  }
  pto_graph_lowering_alias(l, node, 0, &view);
}

void pto_lower_split(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_split_options *options = node->options;
  const struct pto_tensor x = *pto_graph_lowering_operand(l, node, 0);
  const uint32_t axis = pto_option_u32(options->axis, 0);
  uint64_t start = 0;
  for (uint32_t i = 0; i < node->result_count && l->status == PTO_OK; i++) {
    const uint64_t size = l->graph->values[node->first_result + i].desc.shape[axis];
    const struct pto_tensor view = pto_tensor_slice(&x, axis, start, start + size, 1);
    pto_graph_lowering_alias(l, node, i, &view);
    start += size;
  }
}

/* ---- moves ---- */

void pto_lower_concat(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const uint32_t axis = ((const struct pto_concat_options *)node->options)->axis;
  if (node->operand_count == 1) {
    pto_graph_lowering_alias(l, node, 0, pto_graph_lowering_operand(l, node, 0));
    return;
  }
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  pto_graph_lowering_allocate(l, &y);
  uint64_t start = 0;
  for (uint32_t i = 0; i < node->operand_count && l->status == PTO_OK; i++) {
    const struct pto_tensor *x = pto_graph_lowering_operand(l, node, i);
    const struct pto_tensor part = pto_tensor_slice(&y, axis, start, start + x->shape[axis], 1);
    pto_graph_lowering_convert(l, x, &part);
    start += x->shape[axis];
  }
}

/* Dimensions in `whole`, of which each element needs its neighbours, are not cut. */
static void rearranged(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                       uint32_t whole, const struct pto_param *scalars, uint32_t scalar_count) {
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  const struct pto_cut cut = {.whole = whole, .weight = 1};
  pto_graph_lowering_apply(l, kernel, pto_graph_lowering_operand(l, node, 0), &y, &cut, scalars, scalar_count);
}

void pto_lower_reverse(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_axes_options *options = node->options;
  const uint32_t axes = pto_option_axes(options->axes, pto_graph_lowering_operand(l, node, 0)->ndims);
  const struct pto_param scalar = pto_scalar_u64(axes);
  rearranged(l, node, &pto_general_reverse, axes, &scalar, 1);
}

void pto_lower_tile(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tile_options *options = node->options;
  uint32_t whole = 0;
  for (uint32_t d = 0; d < options->repetitions.count; d++)
    whole |= (options->repetitions.values[d] != 1 ? 1u : 0u) << d;
  rearranged(l, node, &pto_general_tile, whole, NULL, 0);
}

void pto_lower_triangular(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_triangular_options *options = node->options;
  const uint32_t ndims = pto_graph_lowering_operand(l, node, 0)->ndims;
  const struct pto_param scalars[] = {pto_scalar_u64(pto_option_flag(options->upper, true)),
                                      pto_scalar_i64(pto_option_i64(options->diagonal, 0))};
  rearranged(l, node, &pto_general_triangular, 3u << (ndims - 2), scalars, 2);
}

/* Cuts dimension d into `parts` equal boxes, or one less. */
static void cut_into(struct pto_tiles *tiles, uint32_t d, uint64_t parts) {
  tiles->step[d] = (tiles->shape[d] + parts - 1) / parts;
  tiles->counts[d] = (tiles->shape[d] + tiles->step[d] - 1) / tiles->step[d];
}

/* Whether what is mirrored before or behind x lies in the first or last box. */
static bool has_what_is_mirrored(const struct pto_tiles *tiles, const struct pto_pad_options *options, uint32_t d) {
  if (tiles->counts[d] == 1 || options->mode == PTO_PADDING_CONSTANT || options->mode == PTO_PADDING_EDGE) return true;
  const uint64_t last = tiles->shape[d] - (tiles->counts[d] - 1) * tiles->step[d];
  const uint64_t before = options->beginning_padding.values[d], behind = options->ending_padding.values[d];
  return (before == 0 || before + 1 <= tiles->step[d]) && (behind == 0 || behind + 1 <= last);
}

/* Boxes of x, of which the outer ones bring the padding beside them. */
static void pad_tiles(struct pto_tiles *tiles, const struct pto_tensor *x, const struct pto_tensor *y,
                      const struct pto_pad_options *options) {
  const uint64_t weight = (pto_tensor_numel(y) + pto_tensor_numel(x) - 1) / pto_tensor_numel(x);
  uint32_t whole = 0;
  pto_tiles_make_one(tiles, x->ndims, x->shape);
  for (uint32_t d = 0; d < x->ndims; d++) {
    cut_into(tiles, d, 2);
    whole |= (has_what_is_mirrored(tiles, options, d) ? 0u : 1u) << d;
  }
  pto_tiles_make(tiles, x->ndims, x->shape, whole, weight);
  tiles->count = 1;
  for (uint32_t d = 0; d < x->ndims; d++) {
    while (!has_what_is_mirrored(tiles, options, d)) cut_into(tiles, d, tiles->counts[d] - 1);
    tiles->count *= tiles->counts[d];
  }
}

static void pad_box(struct pto_graph_lowering *l, const struct pto_pad_options *options, const struct pto_tiles *tiles,
                    uint64_t index, const struct pto_tensor *x, const struct pto_tensor *value,
                    const struct pto_tensor *y) {
  struct pto_tensor from = *x, to = *y;
  struct pto_param params[4 + PTO_MAX_DIMS] = {pto_input(&from), pto_input(value), pto_output(&to),
                                               pto_scalar_u64(options->mode)};
  for (uint32_t d = 0; d < PTO_MAX_DIMS; d++) {
    params[4 + d] = pto_scalar_u64(d < x->ndims ? options->beginning_padding.values[d] : 0);
    if (d >= x->ndims || tiles->counts[d] == 1) continue;
    const uint64_t begin = pto_tiles_offset(tiles, index, d), end = pto_min_u64(begin + tiles->step[d], x->shape[d]);
    const uint64_t before = options->beginning_padding.values[d];
    from = pto_tensor_slice(&from, d, begin, end, 1);
    to = pto_tensor_slice(&to, d, begin == 0 ? 0 : begin + before, end == x->shape[d] ? y->shape[d] : end + before, 1);
    if (begin != 0) params[4 + d] = pto_scalar_u64(0);
  }
  pto_graph_lowering_submit(l, &pto_general_pad, params, 4 + PTO_MAX_DIMS);
}

void pto_lower_pad(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_pad_options *options = node->options;
  const struct pto_tensor *x = pto_graph_lowering_operand(l, node, 0);
  const uint64_t one[] = {1};
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  const struct pto_tensor value = pto_graph_lowering_temporary(l, x->dtype, 0, one);
  struct pto_tiles tiles;
  pad_tiles(&tiles, x, &y, options);
  pto_graph_lowering_fill(l, options->value, &value);
  if (tiles.count > 1) pto_graph_lowering_allocate(l, &y);
  for (uint64_t i = 0; i < tiles.count && l->status == PTO_OK; i++) {
    if (tiles.count > 1) pto_graph_lowering_tile(l);
    pad_box(l, options, &tiles, i, x, &value, &y);
  }
  pto_graph_lowering_tiles_end(l);
}
