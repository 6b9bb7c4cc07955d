/* SPDX-License-Identifier: MIT */
/* Explicit dependencies of every form, and tasks without kernels between. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  PTO2_SCOPE(PTO2ScopeMode::MANUAL) {
    const ChipTensor a = part(out, 0, 8), b = part(out, 8, 8);
    PTO2TaskId task = copy(part(in, 0, 8), a).task_id();
    for (int i = 0; i < 4; i++) { /* each waits for the one before, by way of a task without a kernel */
      CoreTaskArgs nothing;
      nothing.set_dependencies(&task, 1);
      const PTO2TaskId fence = rt_submit_dummy_task(nothing).task_id();
      CoreTaskArgsWithDeps<2> args;
      const ChipTensor from = part(in, 0, 8);
      args.add_input(from);
      args.add_inout(a);
      args.add_dep(fence);
      args.add_dep_wait(task);
      task = rt_submit_aiv_task(PLUS, args).task_id();
    }
    CoreTaskArgs args;
    const DepFlags kinds[1] = {DEP_WAIT};
    args.add_input(a);
    args.add_output(b);
    args.set_dependencies_with_kinds(&task, kinds, 1);
    always_assert(args.explicit_dep_kind(0) == DEP_WAIT && dep_has_wait(args.explicit_dep_kind(0)));
    rt_submit_aic_task(COPY, args);
    args.set_dependencies(nullptr, 0);
    always_assert(args.explicit_dep_count() == 0);
  }
  /* A task without a kernel that creates a tensor, and one that stands for its writer. */
  const uint32_t shape[1] = {4};
  TensorCreateInfo info(shape, 1);
  CoreTaskArgs args;
  args.add_output(info);
  const TaskOutputTensors made = rt_submit_dummy_task(args);
  fill(made.get_ref(0), 3);
  copy(made.get_ref(0), part(out, 16, 4));
}
