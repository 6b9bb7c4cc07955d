/* SPDX-License-Identifier: MIT */
/*
 * Reference: operations that move elements and compute nothing: copies of views, and the kernels' own.
 *
 * Constants; any thread.
 */
#include <graph/reference/call.h>

/* The elements in their order. */
static int same_order(const struct pto_reference_tensor *const *operands, struct pto_reference_tensor *results) {
  const struct pto_reference_view to = pto_reference_view(results),
                                  from = pto_reference_view_shaped(operands[0], to.ndims, to.shape);
  return pto_reference_copy_view(&to, &from);
}
PTO_REFERENCE_OPERATION(reshape) { return same_order(operands, results); }
PTO_REFERENCE_OPERATION(squeeze) { return same_order(operands, results); }
PTO_REFERENCE_OPERATION(unsqueeze) { return same_order(operands, results); }

PTO_REFERENCE_OPERATION(expand) {
  const struct pto_reference_view to = pto_reference_view(results),
                                  from = pto_reference_view_broadcast(operands[0], &results->desc);
  return pto_reference_copy_view(&to, &from);
}

/* Dimension d of the result is dimension permutation[d] of the operand; not given: in reverse. */
PTO_REFERENCE_OPERATION(transpose) {
  const struct pto_transpose_options *options = node->options;
  const struct pto_reference_view to = pto_reference_view(results);
  uint32_t order[PTO_MAX_DIMS];
  for (uint32_t d = 0; d < to.ndims; d++) order[d] = pto_option_at(options->permutation, d, to.ndims - 1 - d);
  const struct pto_reference_view from = pto_reference_view_permuted(pto_reference_view(operands[0]), order);
  return pto_reference_copy_view(&to, &from);
}

PTO_REFERENCE_OPERATION(slice) {
  const struct pto_slice_options *options = node->options;
  const struct pto_reference_view to = pto_reference_view(results);
  struct pto_reference_view from = pto_reference_view(operands[0]);
  for (uint32_t d = 0; d < from.ndims; d++) {
    pto_reference_view_start(&from, d, options->starts.values[d]);
    from.shape[d] = to.shape[d];
    from.strides[d] *= pto_option_at(options->strides, d, 1);
  }
  return pto_reference_copy_view(&to, &from);
}

/* A kernel of one tensor and two scalars at most. */
static int moved(const struct pto_kernel_reference *reference, const struct pto_reference_tensor *x,
                 const struct pto_reference_tensor *y, uint64_t first, int64_t second) {
  return pto_reference_call(reference,
                            &(struct pto_reference_call){.views = {pto_reference_view(x), pto_reference_view(y)},
                                                         .scalars = {{.u64 = first}, {.i64 = second}},
                                                         .view_count = 2,
                                                         .scalar_count = 2});
}
PTO_REFERENCE_OPERATION(tile) { return moved(&pto_reference_tile, operands[0], results, 0, 0); }
PTO_REFERENCE_OPERATION(reverse) {
  const struct pto_axes_options *options = node->options;
  return moved(&pto_reference_reverse, operands[0], results, pto_option_axes(options->axes, results->desc.ndims), 0);
}
/* Column − row ≥ diagonal is kept of an upper triangle, ≤ of a lower one; the rest is 0. */
PTO_REFERENCE_OPERATION(triangular) {
  const struct pto_triangular_options *options = node->options;
  return moved(&pto_reference_triangular, operands[0], results, pto_option_flag(options->upper, true),
               pto_option_i64(options->diagonal, 0));
}

/* The kernel's modes are the numbers of enum pto_graph_padding. */
PTO_REFERENCE_OPERATION(pad) {
  const struct pto_pad_options *options = node->options;
  double number = 0;
  int64_t whole = 0;
  const struct pto_reference_view x = pto_reference_view(operands[0]), y = pto_reference_view(results);
  struct pto_reference_view value = {.dtype = x.dtype};
  if (pto_reference_is_float(results)) {
    number = pto_reference_option(results->desc.dtype, options->value, 0);
    value.elements = &number;
  } else {
    whole = pto_option_whole(options->value, results->desc.dtype, 0);
    value.elements = &whole;
  }
  struct pto_reference_call call = {.views = {x, value, y}, .view_count = 3, .scalar_count = 1 + PTO_MAX_DIMS};
  call.scalars[0].u64 = options->mode;
  for (uint32_t d = 0; d < x.ndims; d++) call.scalars[1 + d].u64 = options->beginning_padding.values[d];
  return pto_reference_call(&pto_reference_pad, &call);
}

/* The piece of `whole` that begins at index `start` of `axis` and has the shape of `part`. */
static struct pto_reference_view piece(const struct pto_reference_tensor *whole, const struct pto_reference_view *part,
                                       uint32_t axis, uint64_t start) {
  struct pto_reference_view view = pto_reference_view(whole);
  pto_reference_view_start(&view, axis, start);
  view.shape[axis] = part->shape[axis];
  return view;
}

PTO_REFERENCE_OPERATION(concat) {
  const struct pto_concat_options *options = node->options;
  int status = PTO_OK;
  for (uint64_t k = 0, start = 0; k < node->operand_count && status == PTO_OK; k++) {
    const struct pto_reference_view part = pto_reference_view(operands[k]),
                                    to = piece(results, &part, options->axis, start);
    status = pto_reference_copy_view(&to, &part);
    start += part.shape[options->axis];
  }
  return status;
}

PTO_REFERENCE_OPERATION(split) {
  const struct pto_split_options *options = node->options;
  const uint32_t axis = pto_option_u32(options->axis, 0);
  int status = PTO_OK;
  for (uint64_t k = 0, start = 0; k < node->result_count && status == PTO_OK; k++) {
    const struct pto_reference_view part = pto_reference_view(&results[k]),
                                    from = piece(operands[0], &part, axis, start);
    status = pto_reference_copy_view(&part, &from);
    start += part.shape[axis];
  }
  return status;
}
