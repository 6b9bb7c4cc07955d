/* SPDX-License-Identifier: MIT */
/* A matrix of 8 × 8 transposed, a task a tile of 2 × 2: views of views, transposed ones among them. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const uint32_t grid[2] = {8, 8}, tile[2] = {2, 2};
  const ChipTensor from = in.reshape(grid, 2), to = out.reshape(grid, 2);
  for (uint32_t i = 0; i < 8; i += 2) {
    PTO2_SCOPE() {
      for (uint32_t j = 0; j < 8; j += 2) {
        const uint32_t there[2] = {i, j}, here[2] = {j, i};
        copy(from.view(tile, there).transpose(0, 1), to.view(tile, here));
      }
    }
  }
}
