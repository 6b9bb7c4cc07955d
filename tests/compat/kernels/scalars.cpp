/* SPDX-License-Identifier: MIT */
/* SCALARS: element i of tensor 0 is scalar i, of nine. */
#include "elements.h"

extern "C" void kernel_entry(std::int64_t *args) {
  for (std::uint64_t i = 0; i < 9; i++) element(tensor_of(args, 0), i) = static_cast<float>(args[1 + i]);
}
