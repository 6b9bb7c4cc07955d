/* SPDX-License-Identifier: MIT */
/*
 * The references of kernels that move elements and compute nothing.  Constants; any thread.
 */
#include <kernels/reference_support.h>

static bool copy_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                        union pto_scalar *scalars) {
  (void)scalars;
  return pto_reference_same_shapes(sizes, tensors, 2);
}
static void copy_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  for (uint64_t i = 0; i < pto_reference_numel(x); i++)
    if (pto_reference_is_float(x))
      golden[1].value[i] = pto_reference_element(x, i);
    else
      golden[1].whole[i] = pto_reference_whole(x, i);
}
const struct pto_kernel_reference pto_reference_copy = {
    .shapes = copy_shapes, .golden = copy_golden, .ulps = 0, .values = PTO_VALUES_ANY};
