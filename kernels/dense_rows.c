/* SPDX-License-Identifier: MIT */
#include <kernels/dense_rows.h>

bool pto_dense_rows_make(const struct pto_kernel_args *args, uint32_t row_dims, struct pto_dense_rows *rows) {
  const struct pto_kernel_tensor *t = args->tensors, *x = &t[0], *y = &t[args->tensor_count - 1];
  const uint32_t last = args->tensor_count - 1, before = x->ndims - row_dims;
  uint64_t length = 1, count = 1;
  for (uint32_t i = 0; i <= last; i++)
    if (t[i].dtype != PTO_FLOAT32) return false;
  for (uint32_t d = x->ndims; d-- > before; length *= x->shape[d]) {
    if (x->shape[d] == 1) continue;
    bool is_dense = x->strides[d] == length && y->strides[d] == length;
    for (uint32_t i = 1; i < last; i++) is_dense = is_dense && t[i].strides[d - before] == length;
    if (!is_dense) return false;
  }
  if (length == 0 || length > PTO_DENSE_ROW_LONGEST) return false;
  for (uint32_t d = before; d-- > 0; count *= x->shape[d]) {
    const uint64_t stride = count * length;
    if (x->shape[d] != 1 && (x->strides[d] != stride || y->strides[d] != stride)) return false;
  }
  rows->x = x->addr; /* one by one: cleared as a whole first, what is stored would be waited for */
  rows->y = y->addr;
  rows->scale = last > 1 ? t[1].addr : NULL;
  rows->bias = last > 2 ? t[2].addr : NULL;
  rows->count = count;
  rows->length = length;
  return true;
}
