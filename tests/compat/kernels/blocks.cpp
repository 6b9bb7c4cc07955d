/* SPDX-License-Identifier: MIT */
/* BLOCKS: element block_index of tensor 0 is 100 · block_count + block_index. */
#include "elements.h"

extern "C" void kernel_entry(std::int64_t *args) {
  const int block = get_block_idx(args);
  element(tensor_of(args, 0), static_cast<std::uint64_t>(block)) =
      static_cast<float>(100 * get_block_num(args) + block);
}
