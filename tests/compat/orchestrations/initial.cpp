/* SPDX-License-Identifier: MIT */
/* Tensors that begin with a value, and each form of alloc_tensors. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  const uint32_t shape[1] = {4};
  TensorCreateInfo infos[2] = {TensorCreateInfo(shape, 1), TensorCreateInfo(shape, 1)};
  infos[0].set_initial_value(2.5f);
  infos[1].copy(infos[0]);
  infos[1].set_initial_value(1.5f);
  always_assert(infos[0].buffer_size_bytes() == 16);
  const TaskOutputTensors a = alloc_tensors(infos, 2);
  const TaskOutputTensors b = alloc_tensors(infos[1], infos[0], infos[1]);
  CoreTaskArgs args;
  args.add_output(infos[0], infos[1]);
  const TaskOutputTensors c = alloc_tensors(args);
  always_assert(a.size() == 2 && b.size() == 3 && c.size() == 2);
  copy(a.get_ref(0), part(out, 0, 4));
  copy(a.get_ref(1), part(out, 4, 4));
  copy(b.get_ref(1), part(out, 8, 4));
  copy(c.get_ref(1), part(out, 12, 4));
  CoreTaskArgs sum; /* an output of a task that begins with a value, by which the kernel counts */
  const ChipTensor &one = a.get_ref(1);
  sum.add_input(one);
  sum.add_output(infos[0]);
  const TaskOutputTensors d = rt_submit_aiv_task(PLUS, sum);
  copy(d.get_ref(0), part(out, 16, 4));
}
