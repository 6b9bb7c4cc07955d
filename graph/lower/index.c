/* SPDX-License-Identifier: MIT */
/*
 * Gathers and scatters: indices brought within bounds, then tasks on boxes of the results, or of the updates.
 */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>

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

/* ---- tiles ---- */

#define NO_DIM UINT32_MAX

/* One tensor of a task: dims[d] is its dimension that dimension d of the plan cuts, NO_DIM where that is none. */
struct cut_tensor {
  struct pto_tensor tensor;
  uint32_t mode; /* enum pto_mode */
  uint32_t dims[PTO_MAX_DIMS];
};
#define CUT_TENSORS 3u

static struct cut_tensor uncut(const struct pto_tensor *tensor, uint32_t mode) {
  struct cut_tensor cut = {.tensor = *tensor, .mode = mode};
  for (uint32_t d = 0; d < PTO_MAX_DIMS; d++) cut.dims[d] = NO_DIM;
  return cut;
}

static int submit_box(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const struct pto_tiles *tiles,
                      uint64_t index, const struct cut_tensor *cuts, const struct pto_param *axis) {
  struct pto_tensor views[CUT_TENSORS];
  struct pto_param params[CUT_TENSORS + 1];
  for (uint32_t i = 0; i < CUT_TENSORS; i++) {
    views[i] = cuts[i].tensor;
    for (uint32_t d = 0; d < tiles->ndims; d++) {
      if (cuts[i].dims[d] == NO_DIM || tiles->counts[d] == 1) continue;
      const uint64_t begin = pto_tiles_offset(tiles, index, d);
      const uint64_t end = pto_min_u64(begin + tiles->step[d], tiles->shape[d]);
      views[i] = pto_tensor_slice(&views[i], cuts[i].dims[d], begin, end, 1);
    }
    params[i] = pto_param_tensor(cuts[i].mode, &views[i]);
  }
  if (axis != NULL) params[CUT_TENSORS] = *axis;
  return pto_graph_lowering_submit(l, kernel, params, CUT_TENSORS + (axis != NULL ? 1 : 0));
}

/* A task a box of the plan, of three tensors and where the kernel has one an axis.  An OUTPUT gets its memory first. */
static int submit_boxes(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const struct pto_tiles *tiles,
                        const struct cut_tensor *cuts, const struct pto_param *axis) {
  int status = PTO_OK;
  if (tiles->count == 1) return submit_box(l, kernel, tiles, 0, cuts, axis);
  for (uint32_t i = 0; i < CUT_TENSORS && status == PTO_OK; i++)
    if (cuts[i].mode == PTO_OUTPUT) status = pto_graph_lowering_allocate(l, &cuts[i].tensor);
  for (uint64_t i = 0; i < tiles->count && status == PTO_OK; i++) {
    status = pto_graph_lowering_tile(l);
    if (status == PTO_OK) status = submit_box(l, kernel, tiles, i, cuts, axis);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}

/* ---- gather: results are cut in all dimensions ---- */

int pto_lower_gather(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, 0);
  const uint32_t axis = pto_option_u32(((const struct pto_axis_options *)node->options)->axis, 0);
  const struct pto_param scalar = pto_scalar_u64(axis);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_tensor indices;
  const int status = clamped(l, pto_graph_lowering_operand(l, node, 1), data->shape[axis], &indices);
  if (status != PTO_OK) return status;
  struct cut_tensor cuts[] = {uncut(data, PTO_INPUT), uncut(&indices, PTO_INPUT), uncut(&y, PTO_OUTPUT)};
  for (uint32_t d = 0; d < y.ndims; d++) {
    cuts[2].dims[d] = d;
    if (d < axis)
      cuts[0].dims[d] = d;
    else if (d < axis + indices.ndims)
      cuts[1].dims[d] = d - axis;
    else
      cuts[0].dims[d] = d + 1 - indices.ndims;
  }
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, y.ndims, y.shape, 0, 1);
  return submit_boxes(l, &pto_general_gather, &tiles, cuts, &scalar);
}

int pto_lower_gather_elements(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, 0);
  const uint32_t axis = pto_option_u32(((const struct pto_axis_options *)node->options)->axis, 0);
  const struct pto_param scalar = pto_scalar_u64(axis);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_tensor indices;
  const int status = clamped(l, pto_graph_lowering_operand(l, node, 1), data->shape[axis], &indices);
  if (status != PTO_OK) return status;
  struct cut_tensor cuts[] = {uncut(data, PTO_INPUT), uncut(&indices, PTO_INPUT), uncut(&y, PTO_OUTPUT)};
  for (uint32_t d = 0; d < y.ndims; d++) {
    cuts[0].dims[d] = d != axis ? d : NO_DIM;
    cuts[1].dims[d] = cuts[2].dims[d] = d;
  }
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, y.ndims, y.shape, 0, 1);
  return submit_boxes(l, &pto_general_gather_elements, &tiles, cuts, &scalar);
}

int pto_lower_gather_nd(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_tensor indices;
  const int status = clamped_tuples(l, pto_graph_lowering_operand(l, node, 1), data, &indices);
  if (status != PTO_OK) return status;
  struct cut_tensor cuts[] = {uncut(data, PTO_INPUT), uncut(&indices, PTO_INPUT), uncut(&y, PTO_OUTPUT)};
  const uint32_t positions = indices.ndims - 1, tuple = (uint32_t)indices.shape[positions];
  for (uint32_t d = 0; d < y.ndims; d++) {
    cuts[2].dims[d] = d;
    if (d < positions)
      cuts[1].dims[d] = d;
    else
      cuts[0].dims[d] = tuple + d - positions;
  }
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, y.ndims, y.shape, 0, 1);
  return submit_boxes(l, &pto_general_gather_nd, &tiles, cuts, NULL);
}

/* ---- scatter ---- */

/* Updates are cut where no two tiles can write one element: not along what indices choose, where the last of several
 * updates is the one that stays. */

enum { DATA, INDICES, UPDATES };

/* The storage of the data where the result is there already, else a copy of it. */
static int take_data(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_tensor *y) {
  const struct pto_tensor data = *pto_graph_lowering_operand(l, node, DATA);
  return pto_tensor_overlap(&data, y) == PTO_EQUAL ? PTO_OK : pto_graph_lowering_convert(l, &data, y);
}

/* Cut in all dimensions but the axis. */
int pto_lower_scatter_elements(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, DATA);
  const struct pto_tensor *updates = pto_graph_lowering_operand(l, node, UPDATES);
  const uint32_t axis = pto_option_u32(((const struct pto_axis_options *)node->options)->axis, 0);
  const struct pto_param scalar = pto_scalar_u64(axis);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST);
  struct pto_tensor indices;
  int status = clamped(l, pto_graph_lowering_operand(l, node, INDICES), data->shape[axis], &indices);
  if (status == PTO_OK) status = take_data(l, node, &y);
  if (status != PTO_OK) return status;
  struct cut_tensor cuts[] = {uncut(&y, PTO_INOUT), uncut(&indices, PTO_INPUT), uncut(updates, PTO_INPUT)};
  for (uint32_t i = 0; i < CUT_TENSORS; i++)
    for (uint32_t d = 0; d < y.ndims; d++) cuts[i].dims[d] = d;
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, updates->ndims, updates->shape, 1u << axis, 1);
  return submit_boxes(l, &pto_general_scatter_elements_inplace, &tiles, cuts, &scalar);
}

/* Cut in the dimensions behind those that tuples choose from; one task where there are none. */
int pto_lower_scatter_nd(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, DATA);
  const struct pto_tensor *updates = pto_graph_lowering_operand(l, node, UPDATES);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST);
  struct pto_tensor indices;
  int status = clamped_tuples(l, pto_graph_lowering_operand(l, node, INDICES), data, &indices);
  if (status == PTO_OK) status = take_data(l, node, &y);
  if (status != PTO_OK) return status;
  struct cut_tensor cuts[] = {uncut(&y, PTO_INOUT), uncut(&indices, PTO_INPUT), uncut(updates, PTO_INPUT)};
  const uint32_t positions = indices.ndims - 1, tuple = (uint32_t)indices.shape[positions];
  for (uint32_t d = positions; d < updates->ndims; d++) {
    cuts[0].dims[d] = tuple + d - positions;
    cuts[2].dims[d] = d;
  }
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, updates->ndims, updates->shape, (1u << positions) - 1, 1);
  return submit_boxes(l, &pto_general_scatter_nd_inplace, &tiles, cuts, NULL);
}
