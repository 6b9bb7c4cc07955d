/* SPDX-License-Identifier: MIT */
/* Scopes of every form, and a manual scope whose tasks are ordered by hand. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  const uint32_t shape[1] = {4};
  const TensorCreateInfo info(shape, 1);
  for (uint32_t i = 0; i < 3; i++) {
    PTO2_SCOPE() {
      const TaskOutputTensors buffer = alloc_tensors(info);
      always_assert(buffer.task_id().ring() == 1 && buffer.task_id().local() == 3 * i);
      fill(buffer.get_ref(0), 1.0f + static_cast<float>(i));
      copy(buffer.get_ref(0), part(out, 4 * i, 4));
      if (i == 1) continue; /* ends the scope too */
    }
  }
  {
    PTO2_SCOPE_GUARD();
    fill(part(out, 12, 4), 9);
  }
  rt_scope_begin();
  fill(part(out, 16, 4), 8);
  rt_scope_end();
  PTO2_SCOPE(PTO2ScopeMode::MANUAL) {
    const ChipTensor from = part(out, 20, 4), to = part(out, 24, 4);
    const PTO2TaskId first[1] = {fill(from, 7).task_id()};
    PTO2_SCOPE_GUARD(PTO2ScopeMode::MANUAL);
    CoreTaskArgs args;
    args.add_input(from);
    args.add_output(to);
    args.set_dependencies(first, 1);
    always_assert(args.explicit_dep_count() == 1 && args.explicit_dep(0) == first[0]);
    rt_submit_aiv_task(COPY, args);
  }
}
