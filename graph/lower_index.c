/* SPDX-License-Identifier: MIT */
#include <graph/graph_lowering.h>
#include <graph/op_options.h>
#include <kernels/kernel_list.h>

/* Indices of an extent n count from the end where they are negative, and the specification takes those beyond −n … n −
 * 1 for the nearest; the kernels refuse them.  Writes those of `from` within bounds to `to`. */
static int clamp_indices(struct pto_graph_lowering *l, const struct pto_tensor *from, uint64_t extent,
                         const struct pto_tensor *to) {
  const struct pto_param bounds[] = {pto_scalar_i64(-(int64_t)extent), pto_scalar_i64((int64_t)extent - 1)};
  return pto_graph_lowering_elementwise(l, &pto_general_clamp_int, &from, 1, to, bounds, 2);
}

/* Indices of one dimension. */
static int clamped(struct pto_graph_lowering *l, const struct pto_tensor *indices, uint64_t extent,
                   struct pto_tensor *out) {
  *out = pto_graph_lowering_temporary(l, indices->dtype, indices->ndims, indices->shape);
  return clamp_indices(l, indices, extent, out);
}

/* Tuples of indices of the first dimensions of `indexed`, in the last dimension of `indices`. */
static int clamped_tuples(struct pto_graph_lowering *l, const struct pto_tensor *indices,
                          const struct pto_tensor *indexed, struct pto_tensor *out) {
  const uint32_t last = indices->ndims - 1;
  *out = pto_graph_lowering_temporary(l, indices->dtype, indices->ndims, indices->shape);
  int status = pto_graph_lowering_allocate(l, out);
  for (uint64_t c = 0; c < indices->shape[last] && status == PTO_OK; c++) {
    const struct pto_tensor from = pto_tensor_slice(indices, last, c, c + 1, 1);
    const struct pto_tensor to = pto_tensor_slice(out, last, c, c + 1, 1);
    status = clamp_indices(l, &from, indexed->shape[c], &to);
  }
  return status;
}

/* ---- gather ---- */

/* One task for some of the positions: `indices` and `y` cut alike in the dimensions that are positions in both. */
static int gather_by_positions(struct pto_graph_lowering *l, const struct pto_kernel *kernel,
                               const struct pto_tensor *data, const struct pto_tensor *indices,
                               const struct pto_tensor *y, uint32_t first, const struct pto_param *axis) {
  struct pto_tiles tiles;
  uint64_t row = 1;
  const uint32_t positions = indices->ndims;
  for (uint32_t d = 0; d < y->ndims; d++) row *= d < first || d >= first + positions ? y->shape[d] : 1;
  if (positions == 0) {
    const struct pto_param params[] = {pto_input(data), pto_input(indices), pto_output(y), axis ? *axis : pto_input(y)};
    return pto_graph_lowering_submit(l, kernel, params, axis != NULL ? 4 : 3);
  }
  pto_tiles_make(&tiles, positions, indices->shape, 0, row);
  int status = tiles.count > 1 ? pto_graph_lowering_allocate(l, y) : PTO_OK;
  for (uint64_t i = 0; i < tiles.count && status == PTO_OK; i++) {
    const struct pto_tensor some = pto_tiles_view(&tiles, i, indices);
    struct pto_tensor into = *y;
    for (uint32_t d = 0; d < positions; d++) {
      const uint64_t begin = pto_tiles_offset(&tiles, i, d);
      into = pto_tensor_slice(&into, first + d, begin, begin + some.shape[d], 1);
    }
    const struct pto_param params[] = {pto_input(data), pto_input(&some), pto_output(&into),
                                       axis ? *axis : pto_input(y)};
    if (tiles.count > 1) status = pto_graph_lowering_tile(l);
    if (status == PTO_OK) status = pto_graph_lowering_submit(l, kernel, params, axis != NULL ? 4 : 3);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}

int pto_lower_gather(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, 0);
  const uint32_t axis = pto_option_u32(((const struct pto_axis_options *)node->options)->axis, 0);
  const struct pto_param scalar = pto_scalar_u64(axis);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_tensor indices;
  const int status = clamped(l, pto_graph_lowering_operand(l, node, 1), data->shape[axis], &indices);
  if (status != PTO_OK) return status;
  return gather_by_positions(l, &pto_general_gather, data, &indices, &y, axis, &scalar);
}

int pto_lower_gather_elements(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, 0);
  const uint32_t axis = pto_option_u32(((const struct pto_axis_options *)node->options)->axis, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_tensor indices;
  const int status = clamped(l, pto_graph_lowering_operand(l, node, 1), data->shape[axis], &indices);
  if (status != PTO_OK) return status;
  const struct pto_param params[] = {pto_input(data), pto_input(&indices), pto_output(&y), pto_scalar_u64(axis)};
  return pto_graph_lowering_submit(l, &pto_general_gather_elements, params, 4);
}

int pto_lower_gather_nd(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_tensor indices;
  const int status = clamped_tuples(l, pto_graph_lowering_operand(l, node, 1), data, &indices);
  if (status != PTO_OK) return status;
  const struct pto_param params[] = {pto_input(data), pto_input(&indices), pto_output(&y)};
  return pto_graph_lowering_submit(l, &pto_general_gather_nd, params, 3);
}

/* ---- scatter ---- */

enum { DATA, INDICES, UPDATES };

/* Into the storage of the data where the result is there already, else into a copy of it. */
static int scatter(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_kernel *kernel,
                   const struct pto_tensor *indices, const struct pto_param *axis, struct pto_tensor y) {
  const struct pto_tensor data = *pto_graph_lowering_operand(l, node, DATA);
  const struct pto_tensor *updates = pto_graph_lowering_operand(l, node, UPDATES);
  int status = pto_tensor_overlap(&data, &y) == PTO_EQUAL ? PTO_OK : pto_graph_lowering_convert(l, &data, &y);
  const struct pto_param params[] = {pto_inout(&y), pto_input(indices), pto_input(updates),
                                     axis ? *axis : pto_input(&y)};
  return status ? status : pto_graph_lowering_submit(l, kernel, params, axis != NULL ? 4 : 3);
}

int pto_lower_scatter_elements(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, DATA);
  const uint32_t axis = pto_option_u32(((const struct pto_axis_options *)node->options)->axis, 0);
  const struct pto_param scalar = pto_scalar_u64(axis);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST);
  struct pto_tensor indices;
  const int status = clamped(l, pto_graph_lowering_operand(l, node, INDICES), data->shape[axis], &indices);
  return status ? status : scatter(l, node, &pto_general_scatter_elements_inplace, &indices, &scalar, y);
}

int pto_lower_scatter_nd(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, DATA);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST);
  struct pto_tensor indices;
  const int status = clamped_tuples(l, pto_graph_lowering_operand(l, node, INDICES), data, &indices);
  return status ? status : scatter(l, node, &pto_general_scatter_nd_inplace, &indices, NULL, y);
}
