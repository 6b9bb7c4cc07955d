/* SPDX-License-Identifier: MIT */
/*
 * Reference: normalisations, those of the kernels: (x − mean) / √(variance + epsilon) · scale + bias.
 *
 * The variance is Σ (x − mean)² / n.  Constants; any thread.
 */
#include <graph/reference/call.h>

/* An operand, or where it is absent a number at every element of a shape. */
static struct pto_reference_view scale_of(const struct pto_reference_tensor *t, uint32_t ndims, const uint64_t *shape) {
  static const double one = 1;
  return t ? pto_reference_view(t) : pto_reference_view_number(&one, ndims, shape);
}
static struct pto_reference_view bias_of(const struct pto_reference_tensor *t, uint32_t ndims, const uint64_t *shape) {
  static const double zero = 0;
  return t ? pto_reference_view(t) : pto_reference_view_number(&zero, ndims, shape);
}

static union pto_scalar epsilon_of(struct pto_number epsilon) {
  return (union pto_scalar){.f32 = (float)pto_reference_factor(epsilon, 1e-5)};
}

/* input, mean, variance, scale, bias: the last four one a feature, the index along axis. */
PTO_REFERENCE_OPERATION(batch_normalization) {
  const struct pto_batch_normalization_options *options = node->options;
  const uint32_t axis = pto_option_u32(options->axis, 1);
  uint64_t shape[] = {1, results->desc.shape[axis], pto_reference_stride(&results->desc, axis)};
  for (uint32_t d = 0; d < axis; d++) shape[0] *= results->desc.shape[d];
  return pto_reference_call(
      &pto_reference_batch_norm,
      &(struct pto_reference_call){.views = {pto_reference_view_shaped(operands[0], 3, shape),
                                             pto_reference_view(operands[1]), pto_reference_view(operands[2]),
                                             scale_of(operands[3], 1, &shape[1]), bias_of(operands[4], 1, &shape[1]),
                                             pto_reference_view_shaped(results, 3, shape)},
                                   .scalars = {epsilon_of(options->epsilon)},
                                   .view_count = 6,
                                   .scalar_count = 1});
}

/* input, scale, bias: the last two have the extents of x from dimension `first` on, `count` of them; dimension d of the
 * kernel's tensors is dimension order[d]. */
static int normalize(const struct pto_kernel_reference *reference, const struct pto_reference_tensor *const *operands,
                     const struct pto_reference_tensor *results, const uint32_t *order, uint32_t first, uint32_t count,
                     union pto_scalar epsilon) {
  const struct pto_reference_view x = pto_reference_view_permuted(pto_reference_view(operands[0]), order);
  return pto_reference_call(reference, &(struct pto_reference_call){
                                           .views = {x, scale_of(operands[1], count, &x.shape[first]),
                                                     bias_of(operands[2], count, &x.shape[first]),
                                                     pto_reference_view_permuted(pto_reference_view(results), order)},
                                           .scalars = {epsilon},
                                           .view_count = 4,
                                           .scalar_count = 1});
}

/* Moments of each channel of each batch. */
PTO_REFERENCE_OPERATION(instance_normalization) {
  static const uint32_t nchw[] = {0, 1, 2, 3}, nhwc[] = {0, 3, 1, 2};
  const struct pto_instance_normalization_options *options = node->options;
  return normalize(&pto_reference_instance_norm, operands, results, options->layout == PTO_LAYOUT_NHWC ? nhwc : nchw, 1,
                   1, epsilon_of(options->epsilon));
}

/* Over the elements along the axes, which scale and bias have in their order; axes that were not given: all but the
 * first.  Over no axes each element is its own mean, and the result is the bias. */
PTO_REFERENCE_OPERATION(layer_normalization) {
  const struct pto_layer_normalization_options *options = node->options;
  const uint32_t ndims = results->desc.ndims, given = options->axes.values ? options->axes.count : ndims;
  const uint32_t count = options->axes.values || ndims == 0 ? given : ndims - 1, first = ndims - count;
  uint32_t order[PTO_MAX_DIMS], outer = 0;
  for (uint32_t k = 0; k < count; k++) order[first + k] = pto_option_at(options->axes, k, k + 1);
  for (uint32_t d = 0; d < ndims; d++) {
    bool is_inner = false;
    for (uint32_t k = 0; k < count; k++) is_inner = is_inner || order[first + k] == d;
    if (!is_inner) order[outer++] = d;
  }
  return normalize(&pto_reference_layernorm, operands, results, order, first, count, epsilon_of(options->epsilon));
}
