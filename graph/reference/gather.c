/* SPDX-License-Identifier: MIT */
/*
 * Reference: gathers and scatters, those of the kernels.
 *
 * Of an extent n, indices from −n to n − 1 are valid, negative ones count from the end; others are clamped to that
 * range. Updates are written in row-major order of their indices, so that of several to one element the last stays.
 * Constants; any thread.
 */
#include <graph/reference/call.h>

/* The result is of the same rank as the operand, or has the extents of the indices in place of the axis. */
static int indexed(const struct pto_kernel_reference *reference, const struct pto_axis_options *options,
                   const struct pto_reference_tensor *const *operands, struct pto_reference_tensor *results) {
  struct pto_reference_call call = {0};
  for (; operands[call.view_count]; call.view_count++)
    call.views[call.view_count] = pto_reference_view(operands[call.view_count]);
  call.views[call.view_count++] = pto_reference_view(results);
  if (options) call.scalars[call.scalar_count++].u64 = pto_option_u32(options->axis, 0);
  return pto_reference_call(reference, &call);
}

PTO_REFERENCE_OPERATION(gather) { return indexed(&pto_reference_gather, node->options, operands, results); }
PTO_REFERENCE_OPERATION(gather_nd) { return indexed(&pto_reference_gather_nd, NULL, operands, results); }
PTO_REFERENCE_OPERATION(scatter_nd) { return indexed(&pto_reference_scatter_nd, NULL, operands, results); }
PTO_REFERENCE_OPERATION(gather_elements) {
  return indexed(&pto_reference_gather_elements, node->options, operands, results);
}
PTO_REFERENCE_OPERATION(scatter_elements) {
  return indexed(&pto_reference_scatter_elements, node->options, operands, results);
}
