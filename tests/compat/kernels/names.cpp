/* SPDX-License-Identifier: MIT */
/* A kernel that defines names which pto-isa has too, as generated ones do. */
#include <cstdint>
#include <pto/pto-inst.hpp>

#include "tensor.h"

namespace cache_line_t {
constexpr int ENTIRE_DATA_CACHE = 41;
}
static inline void dcci(...) {}

extern "C" void kernel_entry(std::int64_t *args) {
  auto *tensor = reinterpret_cast<ChipTensor *>(args[0]);
  dcci(tensor, cache_line_t::ENTIRE_DATA_CACHE);
  reinterpret_cast<std::int64_t *>(tensor->buffer.addr)[0] = cache_line_t::ENTIRE_DATA_CACHE + 1;
}
