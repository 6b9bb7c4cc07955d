/* SPDX-License-Identifier: MIT */
/* ROLE: element 0, 1 or 2 of tensor 0, of the AIC, AIV0 or AIV1, is one more than that. */
#include "elements.h"

extern "C" void kernel_entry(std::int64_t *args) {
#ifdef __DAV_CUBE__
  const int role = 0;
#else
  const int role = 1 + get_sub_block_id(args);
#endif
  element(tensor_of(args, 0), static_cast<std::uint64_t>(role)) = static_cast<float>(1 + role);
}
