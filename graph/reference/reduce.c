/* SPDX-License-Identifier: MIT */
/*
 * Reference: reductions, running sums and softmax, those of the kernels.
 *
 * A reduction over no axes is of one element each, so it applies the function; sums are made in the order of the
 * elements. argMin and argMax give the first of equals, and the first NaN where there is one.  Integers wrap.
 * Constants; any thread.
 */
#include <graph/reference/call.h>

/* The result has the rank of the operand, with extents of 1 for the dimensions of `axes`, a bit each. */
static int reduce(const struct pto_kernel_reference *reference, const struct pto_reference_tensor *input,
                  const struct pto_reference_tensor *result, uint32_t axes, int64_t axis) {
  uint64_t shape[PTO_MAX_DIMS];
  for (uint32_t d = 0; d < input->desc.ndims; d++) shape[d] = (axes >> d & 1) != 0 ? 1 : input->desc.shape[d];
  const struct pto_reference_view to = pto_reference_view_shaped(result, input->desc.ndims, shape);
  return pto_reference_call(reference, &(struct pto_reference_call){.views = {pto_reference_view(input), to},
                                                                    .scalars = {{.i64 = axis}},
                                                                    .view_count = 2,
                                                                    .scalar_count = 1});
}

#define X(id, ...)                                                                                                     \
  PTO_REFERENCE_OPERATION(id) {                                                                                        \
    const struct pto_reduce_options *options = node->options;                                                          \
    return reduce(&pto_reference_##id, operands[0], results, pto_option_axes(options->axes, operands[0]->desc.ndims),  \
                  0);                                                                                                  \
  }
PTO_REDUCE_OP_LIST(X)
#undef X

PTO_REFERENCE_OPERATION(arg_min) {
  const uint32_t axis = ((const struct pto_arg_reduce_options *)node->options)->axis;
  return reduce(&pto_reference_arg_min, operands[0], results, 1u << axis, axis);
}
PTO_REFERENCE_OPERATION(arg_max) {
  const uint32_t axis = ((const struct pto_arg_reduce_options *)node->options)->axis;
  return reduce(&pto_reference_arg_max, operands[0], results, 1u << axis, axis);
}

/* A line with a NaN or +∞, or of −∞ alone, is NaN throughout. */
PTO_REFERENCE_OPERATION(softmax) {
  const struct pto_softmax_options *options = node->options;
  const uint32_t last = results->desc.ndims - 1;
  return reduce(&pto_reference_softmax, operands[0], results, 0,
                pto_option_flag(options->is_last, false) ? last : options->axis);
}

/* Element k is the sum of those up to it, without itself where exclusive, from the end where reversed. */
PTO_REFERENCE_OPERATION(cumulative_sum) {
  const struct pto_cumulative_sum_options *options = node->options;
  const struct pto_reference_view x = pto_reference_view(operands[0]), y = pto_reference_view(results);
  return pto_reference_call(
      &pto_reference_cumulative_sum,
      &(struct pto_reference_call){.views = {x, y},
                                   .scalars = {{.i64 = options->axis},
                                               {.i64 = pto_option_flag(options->exclusive, false)},
                                               {.i64 = pto_option_flag(options->reversed, false)}},
                                   .view_count = 2,
                                   .scalar_count = 3});
}
