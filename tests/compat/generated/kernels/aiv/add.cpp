/* SPDX-License-Identifier: MIT */
/* Tensor 2 = tensor 0 + tensor 1, of dense tiles. */
#include <pto/pto-inst.hpp>

#include "tensor.h"

static __gm__ float *data_of(int64_t argument) {
  auto *tensor = reinterpret_cast<__gm__ ChipTensor *>(argument);
  return tensor->data_as<float>() + tensor->start_offset;
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args) {
  const float *a = data_of(args[0]), *b = data_of(args[1]);
  float *out = data_of(args[2]);
  for (uint64_t i = 0; i < reinterpret_cast<__gm__ ChipTensor *>(args[2])->numel(); i++) out[i] = a[i] + b[i];
}
