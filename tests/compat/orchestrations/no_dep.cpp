/* SPDX-License-Identifier: MIT */
/* Tensors that order nothing: add_no_dep, and manual_dep of a tensor and of a view. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  const uint32_t shape[1] = {4}, begin[1] = {0};
  const TensorCreateInfo info(shape, 1);
  const TaskOutputTensors made = alloc_tensors(info);
  const PTO2TaskId writer = fill(made.get_ref(0), 4).task_id();
  const ChipTensor by_hand = made.get_ref(0).view(shape, begin, true), place = part(out, 4, 4), first = part(out, 0, 4);
  CoreTaskArgs args;
  args.add_no_dep(made.get_ref(0));
  args.add_output(first);
  args.set_dependencies(&writer, 1);
  rt_submit_aiv_task(COPY, args);
  args.reset();
  args.add_input(by_hand);
  args.add_output(place);
  args.set_dependencies(&writer, 1);
  rt_submit_aiv_task(COPY, args);
  const ChipTensor external = make_tensor_external(out.data_as<float>() + 8, shape, 1, DataType::FLOAT32, true);
  fill(external, 3);
}
