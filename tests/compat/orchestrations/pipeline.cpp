/* SPDX-License-Identifier: MIT */
/* Two buffers in turns, in a manual scope: a part is fetched while the one before it is added. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const uint32_t shape[1] = {4};
  const TensorCreateInfo info(shape, 1);
  const TaskOutputTensors buffers = alloc_tensors(info, info);
  PTO2_SCOPE(PTO2ScopeMode::MANUAL) {
    const ChipTensor sum = part(out, 0, 4);
    PTO2TaskId added[2] = {fill(sum, 0).task_id(), PTO2TaskId::invalid()}; /* the last two of those that add */
    for (uint32_t i = 0; i < 8; i++) {
      const ChipTensor from = part(in, 4 * i, 4), &buffer = buffers.get_ref(i % 2);
      CoreTaskArgs fetch;
      fetch.add_input(from);
      fetch.add_output(buffer);
      if (i >= 2) fetch.set_dependencies(&added[1], 1);
      const PTO2TaskId fetched = rt_submit_aic_task(COPY, fetch).task_id();
      CoreTaskArgsWithDeps<2> add;
      add.add_input(buffer);
      add.add_inout(sum);
      add.add_dep(fetched, added[0]);
      added[1] = added[0];
      added[0] = rt_submit_aiv_task(PLUS, add).task_id();
    }
  }
}
