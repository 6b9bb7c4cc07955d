/* SPDX-License-Identifier: MIT */
/* ADD: tensor 2 = tensor 0 + tensor 1. */
#include "elements.h"

extern "C" void kernel_entry(std::int64_t *args) {
  const ChipTensor &a = tensor_of(args, 0), &b = tensor_of(args, 1), &out = tensor_of(args, 2);
  for (std::uint64_t i = 0; i < out.numel(); i++) element(out, i) = element(a, i) + element(b, i);
}
