/* SPDX-License-Identifier: MIT */
#include <kernels/dense_rows.h>

#include <kernels/kernel_shape.h>

bool pto_dense_rows_make(const struct pto_kernel_args *args, uint32_t row_dims, struct pto_dense_rows *rows) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint32_t last = args->tensor_count - 1;
  *rows = (struct pto_dense_rows){.x = t[0].addr, .y = t[last].addr, .count = 1, .length = 1};
  for (uint32_t d = 0; d < t[0].ndims; d++)
    *(d + row_dims < t[0].ndims ? &rows->count : &rows->length) *= t[0].shape[d];
  if (rows->length == 0 || rows->length > PTO_DENSE_ROW_LONGEST) return false;
  for (uint32_t i = 0; i <= last; i++)
    if (t[i].dtype != PTO_FLOAT32 || !pto_kernel_is_dense(&t[i])) return false;
  if (last > 1) rows->scale = t[1].addr;
  if (last > 2) rows->bias = t[2].addr;
  return true;
}
