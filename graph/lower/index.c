/* SPDX-License-Identifier: MIT */
/*
 * Gathers and scatters: indices brought within bounds, then tasks on boxes of the results, or of the updates.
 */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>

/* Indices of an extent n count from the end where they are negative, and the specification takes those beyond −n … n −
 * 1 for the nearest; the kernels refuse them.  Writes those of `from` within bounds to `to`. */
static void clamp_indices(struct pto_graph_lowering *l, const struct pto_tensor *from, uint64_t extent,
                          const struct pto_tensor *to) {
  const struct pto_param bounds[] = {pto_scalar_i64(-(int64_t)extent), pto_scalar_i64((int64_t)extent - 1)};
  pto_graph_lowering_elementwise(l, &pto_general_clamp_int, &from, 1, to, bounds, 2);
}

/* Indices of one dimension. */
static struct pto_tensor clamped(struct pto_graph_lowering *l, const struct pto_tensor *indices, uint64_t extent) {
  const struct pto_tensor out = pto_graph_lowering_temporary(l, indices->dtype, indices->ndims, indices->shape);
  clamp_indices(l, indices, extent, &out);
  return out;
}

/* Tuples of indices of the first dimensions of `indexed`, in the last dimension of `indices`. */
static struct pto_tensor clamped_tuples(struct pto_graph_lowering *l, const struct pto_tensor *indices,
                                        const struct pto_tensor *indexed) {
  const uint32_t last = indices->ndims - 1;
  const struct pto_tensor out = pto_graph_lowering_temporary(l, indices->dtype, indices->ndims, indices->shape);
  pto_graph_lowering_allocate(l, &out);
  for (uint64_t c = 0; c < indices->shape[last] && l->status == PTO_OK; c++) {
    const struct pto_tensor from = pto_tensor_slice(indices, last, c, c + 1, 1);
    const struct pto_tensor to = pto_tensor_slice(&out, last, c, c + 1, 1);
    clamp_indices(l, &from, indexed->shape[c], &to);
  }
  return out;
}

/* ---- tiles ---- */

#define NO_DIM UINT32_MAX

/* One tensor of a task: dims[d] is its dimension that dimension d of the plan cuts, NO_DIM where that is none. */
struct cut_tensor {
  struct pto_tensor tensor;
  uint32_t mode; /* enum pto_mode */
  uint32_t dims[PTO_MAX_DIMS];
};
enum { DATA, INDICES, LAST, CUT_TENSORS }; /* the last is what is gathered, or the updates that are scattered */

static struct cut_tensor uncut(const struct pto_tensor *tensor, uint32_t mode) {
  struct cut_tensor cut = {.tensor = *tensor, .mode = mode};
  for (uint32_t d = 0; d < PTO_MAX_DIMS; d++) cut.dims[d] = NO_DIM;
  return cut;
}

static void submit_box(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const struct pto_tiles *tiles,
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
  pto_graph_lowering_submit(l, kernel, params, CUT_TENSORS + (axis != NULL ? 1 : 0));
}

/* A task a box of the last tensor, whose dimensions in `whole` are not cut: of three tensors and where the kernel has
 * one an axis.  An OUTPUT gets its memory first. */
static void submit_boxes(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const struct cut_tensor *cuts,
                         uint32_t whole, const struct pto_param *axis) {
  const struct pto_tensor *last = &cuts[LAST].tensor;
  struct pto_tiles tiles;
  pto_tiles_make(&tiles, last->ndims, last->shape, whole, 1);
  if (tiles.count == 1) {
    submit_box(l, kernel, &tiles, 0, cuts, axis);
    return;
  }
  if (cuts[LAST].mode == PTO_OUTPUT) pto_graph_lowering_allocate(l, last);
  for (uint64_t i = 0; i < tiles.count && l->status == PTO_OK; i++) {
    pto_graph_lowering_tile(l);
    submit_box(l, kernel, &tiles, i, cuts, axis);
  }
  pto_graph_lowering_tiles_end(l);
}

static uint32_t axis_of(const struct pto_graph_node *node) {
  return pto_option_u32(((const struct pto_axis_options *)node->options)->axis, 0);
}

/* ---- gather: results are cut in all dimensions ---- */

void pto_lower_gather(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, DATA);
  const uint32_t axis = axis_of(node);
  const struct pto_param scalar = pto_scalar_u64(axis);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  const struct pto_tensor indices = clamped(l, pto_graph_lowering_operand(l, node, INDICES), data->shape[axis]);
  struct cut_tensor cuts[] = {uncut(data, PTO_INPUT), uncut(&indices, PTO_INPUT), uncut(&y, PTO_OUTPUT)};
  for (uint32_t d = 0; d < y.ndims; d++) {
    cuts[LAST].dims[d] = d;
    if (d < axis)
      cuts[DATA].dims[d] = d;
    else if (d < axis + indices.ndims)
      cuts[INDICES].dims[d] = d - axis;
    else
      cuts[DATA].dims[d] = d + 1 - indices.ndims;
  }
  submit_boxes(l, &pto_general_gather, cuts, 0, &scalar);
}

void pto_lower_gather_elements(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, DATA);
  const uint32_t axis = axis_of(node);
  const struct pto_param scalar = pto_scalar_u64(axis);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  const struct pto_tensor indices = clamped(l, pto_graph_lowering_operand(l, node, INDICES), data->shape[axis]);
  struct cut_tensor cuts[] = {uncut(data, PTO_INPUT), uncut(&indices, PTO_INPUT), uncut(&y, PTO_OUTPUT)};
  for (uint32_t d = 0; d < y.ndims; d++) {
    cuts[DATA].dims[d] = d != axis ? d : NO_DIM;
    cuts[INDICES].dims[d] = cuts[LAST].dims[d] = d;
  }
  submit_boxes(l, &pto_general_gather_elements, cuts, 0, &scalar);
}

void pto_lower_gather_nd(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, DATA);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  const struct pto_tensor indices = clamped_tuples(l, pto_graph_lowering_operand(l, node, INDICES), data);
  struct cut_tensor cuts[] = {uncut(data, PTO_INPUT), uncut(&indices, PTO_INPUT), uncut(&y, PTO_OUTPUT)};
  const uint32_t positions = indices.ndims - 1, tuple = (uint32_t)indices.shape[positions];
  for (uint32_t d = 0; d < y.ndims; d++) {
    cuts[LAST].dims[d] = d;
    if (d < positions)
      cuts[INDICES].dims[d] = d;
    else
      cuts[DATA].dims[d] = tuple + d - positions;
  }
  submit_boxes(l, &pto_general_gather_nd, cuts, 0, NULL);
}

/* ---- scatter ---- */

/* Updates are cut where no two tiles can write one element: not along what indices choose, where the last of several
 * updates is the one that stays. */

/* The storage of the data where the result is there already, else a copy of it. */
static void take_data(struct pto_graph_lowering *l, const struct pto_graph_node *node, const struct pto_tensor *y) {
  const struct pto_tensor data = *pto_graph_lowering_operand(l, node, DATA);
  if (pto_tensor_overlap(&data, y) != PTO_EQUAL) pto_graph_lowering_convert(l, &data, y);
}

/* Cut in all dimensions but the axis. */
void pto_lower_scatter_elements(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, DATA);
  const struct pto_tensor *updates = pto_graph_lowering_operand(l, node, LAST);
  const uint32_t axis = axis_of(node);
  const struct pto_param scalar = pto_scalar_u64(axis);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST);
  const struct pto_tensor indices = clamped(l, pto_graph_lowering_operand(l, node, INDICES), data->shape[axis]);
  take_data(l, node, &y);
  struct cut_tensor cuts[] = {uncut(&y, PTO_INOUT), uncut(&indices, PTO_INPUT), uncut(updates, PTO_INPUT)};
  for (uint32_t i = 0; i < CUT_TENSORS; i++)
    for (uint32_t d = 0; d < y.ndims; d++) cuts[i].dims[d] = d;
  submit_boxes(l, &pto_general_scatter_elements_inplace, cuts, 1u << axis, &scalar);
}

/* Cut in the dimensions behind those that tuples choose from; one task where there are none. */
void pto_lower_scatter_nd(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_tensor *data = pto_graph_lowering_operand(l, node, DATA);
  const struct pto_tensor *updates = pto_graph_lowering_operand(l, node, LAST);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_FIRST);
  const struct pto_tensor indices = clamped_tuples(l, pto_graph_lowering_operand(l, node, INDICES), data);
  take_data(l, node, &y);
  struct cut_tensor cuts[] = {uncut(&y, PTO_INOUT), uncut(&indices, PTO_INPUT), uncut(updates, PTO_INPUT)};
  const uint32_t positions = indices.ndims - 1, tuple = (uint32_t)indices.shape[positions];
  for (uint32_t d = positions; d < updates->ndims; d++) {
    cuts[DATA].dims[d] = tuple + d - positions;
    cuts[LAST].dims[d] = d;
  }
  submit_boxes(l, &pto_general_scatter_nd_inplace, cuts, (1u << positions) - 1, NULL);
}
