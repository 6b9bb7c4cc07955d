/* SPDX-License-Identifier: MIT */
/* A kernel that computes in bfloat16: 1 + 1/128 is a number there, and 1 + 1/256 is not. */
#include <cstdint>
#include <pto/pto-inst.hpp>
#include <stdfloat>

#include "tensor.h"

using bfloat16_t = std::bfloat16_t;

extern "C" void kernel_entry(std::int64_t *args) {
  auto *tensor = reinterpret_cast<ChipTensor *>(args[0]);
  auto *cells = reinterpret_cast<std::int64_t *>(tensor->buffer.addr);
  volatile float some = 1.0f + 1.0f / 128, more = 1.0f + 1.0f / 256, tie = 1.0f + 3.0f / 256;
  volatile double large = 3.0e38;
  cells[0] = static_cast<float>(static_cast<bfloat16_t>(some)) == some;
  cells[1] = static_cast<float>(static_cast<bfloat16_t>(more)) == 1.0f;
  cells[2] = static_cast<float>(static_cast<bfloat16_t>(tie)) == 1.0f + 1.0f / 64;
  cells[3] = static_cast<float>(static_cast<bfloat16_t>(large)) > 2.9e38f;
}
