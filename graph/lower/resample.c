/* SPDX-License-Identifier: MIT */
/*
 * resample2d: one axis after the other; between them, and of integers, in f32.
 */
#include <graph/lower/lowering.h>
#include <graph/build/op_options.h>
#include <kernels/api/list.h>

static void resample_axis(struct pto_graph_lowering *l, const struct pto_kernel *kernel, uint32_t axis,
                          const struct pto_tensor *x, const struct pto_tensor *y) {
  const struct pto_cut cut = {.whole = 1u << axis, .weight = 2};
  const struct pto_param scalar = pto_scalar_u64(axis);
  pto_graph_lowering_apply(l, kernel, x, y, &cut, &scalar, 1);
}

/* Both axes, the second first; `dtype` is of what lies between. */
static void resample_both(struct pto_graph_lowering *l, const struct pto_kernel *kernel, const uint32_t axes[2],
                          uint32_t dtype, const struct pto_tensor *x, const struct pto_tensor *y) {
  uint64_t shape[PTO_MAX_DIMS] = {0};
  for (uint32_t d = 0; d < x->ndims; d++) shape[d] = d == axes[1] ? y->shape[d] : x->shape[d];
  const struct pto_tensor between = pto_graph_lowering_temporary(l, dtype, x->ndims, shape);
  resample_axis(l, kernel, axes[1], x, &between);
  resample_axis(l, kernel, axes[0], &between, y);
}

void pto_lower_resample2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_resample2d_options *options = node->options;
  const uint32_t axes[] = {pto_option_at(options->axes, 0, 2), pto_option_at(options->axes, 1, 3)};
  const struct pto_tensor x = *pto_graph_lowering_operand(l, node, 0);
  const struct pto_tensor y = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  if (options->mode == PTO_INTERPOLATION_NEAREST_NEIGHBOR) {
    resample_both(l, &pto_general_resample_nearest, axes, x.dtype, &x, &y);
  } else if ((PTO_DTYPE_BIT(x.dtype) & PTO_DTYPES_FLOAT) != 0) {
    resample_both(l, &pto_general_resample_linear, axes, PTO_FLOAT32, &x, &y);
  } else {
    const struct pto_tensor numbers = pto_graph_lowering_temporary(l, PTO_FLOAT32, x.ndims, x.shape);
    const struct pto_tensor between = pto_graph_lowering_temporary(l, PTO_FLOAT32, y.ndims, y.shape), *in = &between;
    const struct pto_tensor rounded = pto_graph_lowering_temporary(l, PTO_FLOAT32, y.ndims, y.shape);
    pto_graph_lowering_convert(l, &x, &numbers);
    resample_both(l, &pto_general_resample_linear, axes, PTO_FLOAT32, &numbers, &between);
    pto_graph_lowering_elementwise(l, &pto_general_round_even, &in, 1, &rounded, NULL, 0);
    pto_graph_lowering_convert(l, &rounded, &y);
  }
}
