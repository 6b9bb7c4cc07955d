/* SPDX-License-Identifier: MIT */
/* out = (a + b) · factor: two tasks, by a tensor that the first creates. */
#include "pto_orchestration_api.h"

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipTaskArgs &) {
  PTO2OrchestrationConfig config = {4};
  return config;
}

extern "C" void scale_entry(const ChipTaskArgs &orch) {
  const ChipTensor &a = orch.tensor(0).ref(), &b = orch.tensor(1).ref(), &out = orch.tensor(2).ref();
  const TensorCreateInfo info(a.shapes, a.ndims, a.dtype);
  CoreTaskArgs args;
  args.add_input(a, b);
  args.add_output(info);
  const TaskOutputTensors sum = rt_submit_aiv_task(0, args);
  args.reset();
  args.add_input(sum.get_ref(0));
  args.add_output(out);
  args.add_scalar(orch.scalar(0));
  rt_submit_aiv_task(1, args);
}
