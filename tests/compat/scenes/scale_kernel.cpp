/* SPDX-License-Identifier: MIT */
#include <cstring>

#include <pto/pto-inst.hpp>

#include "tensor.h"

extern "C" void kernel_entry(std::int64_t *args) {
  const auto *in = reinterpret_cast<ChipTensor *>(args[0]);
  auto *out = reinterpret_cast<ChipTensor *>(args[1]);
  float factor;
  std::memcpy(&factor, &args[2], sizeof factor);
  for (std::uint32_t i = 0; i < in->shapes[0]; i++) out->data_as<float>()[i] = in->data_as<float>()[i] * factor;
}
