/* SPDX-License-Identifier: MIT */
/* A sum by pairs: each level halves the tensors that there are, and copies of descriptors outlive their submits. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const uint32_t shape[1] = {4};
  const TensorCreateInfo info(shape, 1);
  ChipTensor level[16];
  for (uint32_t i = 0; i < 16; i++) level[i] = part(in, 4 * i, 4);
  for (uint32_t count = 8; count > 0; count /= 2) {
    for (uint32_t i = 0; i < count; i++) {
      CoreTaskArgs args;
      args.add_input(level[2 * i], level[2 * i + 1]);
      args.add_output(info);
      const TaskOutputTensors sum = rt_submit_aiv_task(ADD, args);
      level[i] = sum.get_ref(0);
    }
  }
  copy(level[0], part(out, 0, 4));
}
