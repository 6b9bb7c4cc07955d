/* SPDX-License-Identifier: MIT */
/* Dependencies that are older than the window: they have ended, and order nothing. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  const ChipTensor first = part(out, 0, 4);
  PTO2TaskId oldest = PTO2TaskId::invalid();
  for (uint32_t i = 0; i < 200; i++) {
    PTO2_SCOPE() { /* a ring keeps the slots of its open scope */
      CoreTaskArgs args;
      args.add_inout(first); /* ordered: outputs alone are not */
      args.add_scalar(static_cast<float>(i));
      if (oldest.is_valid()) args.set_dependencies(&oldest, 1);
      const PTO2TaskId task = rt_submit_aiv_task(FILL, args).task_id();
      if (!oldest.is_valid()) oldest = task;
    }
  }
}
