/* SPDX-License-Identifier: MIT */
/* Tasks on both kinds of core, outputs that submits create, and what a submit gives. */
#include "kernels.h"

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipTaskArgs &) {
  PTO2OrchestrationConfig config = {4};
  return config;
}

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const uint32_t shape[1] = {64};
  const TensorCreateInfo info(shape, 1, in.dtype);
  CoreTaskArgs args;
  args.add_input(in, in);
  args.add_output(info);
  TaskOutputTensors sum = rt_submit_aic_task(ADD, args); /* 2 i */
  always_assert(sum.size() == 1 && !sum.empty() && sum.task_id().is_valid() && sum.task_id().local() == 0);
  always_assert(sum.get_ref(0).owner_task_id == sum.task_id() && sum.get_ref(0).numel() == 64);
  args.reset();
  args.add_input(sum.get_ref(0));
  args.add_input(in);
  args.add_output(out);
  const TaskOutputTensors none = rt_submit_aiv_task(ADD, args); /* 3 i */
  always_assert(none.empty() && none.task_id() != sum.task_id() && none.task_id().ring() == 0);
  rt_orchestration_done();
}
