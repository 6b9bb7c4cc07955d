/* SPDX-License-Identifier: MIT */
/* Tensor 1 = tensor 0 · a scalar, of dense tiles. */
#include <cstring>
#include <pto/pto-inst.hpp>

#include "tensor.h"

extern "C" __aicore__ void kernel_entry(__gm__ int64_t *args) {
  auto *in = reinterpret_cast<__gm__ ChipTensor *>(args[0]), *out = reinterpret_cast<__gm__ ChipTensor *>(args[1]);
  const float *from = in->data_as<float>() + in->start_offset;
  float factor, *to = out->data_as<float>() + out->start_offset;
  std::memcpy(&factor, &args[2], sizeof factor);
  for (uint64_t i = 0; i < out->numel(); i++) to[i] = from[i] * factor;
}
