/* SPDX-License-Identifier: MIT */
#include <pto/pto-inst.hpp>

#include "tensor.h"

extern "C" void kernel_entry(std::int64_t *args) {
  const auto *a = reinterpret_cast<ChipTensor *>(args[0]), *b = reinterpret_cast<ChipTensor *>(args[1]);
  auto *out = reinterpret_cast<ChipTensor *>(args[2]);
  for (std::uint32_t i = 0; i < a->shapes[0]; i++)
    out->data_as<float>()[i] = a->data_as<float>()[i] + b->data_as<float>()[i];
}
