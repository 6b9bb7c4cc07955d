/* SPDX-License-Identifier: MIT */
/* PLUS: tensor 1 += tensor 0. */
#include "elements.h"

extern "C" void kernel_entry(std::int64_t *args) {
  const ChipTensor &a = tensor_of(args, 0), &io = tensor_of(args, 1);
  for (std::uint64_t i = 0; i < a.numel(); i++) element(io, i) += element(a, i);
}
