/* SPDX-License-Identifier: MIT */
/* Wrong uses of graphs, by scalar(0). */
#include "kernels.h"

static void nothing(const GraphTaskArgs &) {}
static void launch(const GraphTaskArgs &args) { rt_submit_graph(&nothing, args); }

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  const uint32_t shape[1] = {4}, index[1] = {0};
  const TensorCreateInfo info(shape, 1);
  const PTO2TaskId task = fill(part(out, 32, 4), 1).task_id();
  GraphTaskArgs args;
  if (orch.scalar(0) != 1) args.add_input(out);
  switch (orch.scalar(0)) {
  case 1:
    rt_submit_graph(&nothing, args);
    break;
  case 2:
    args.add_output(info), rt_submit_graph(&nothing, args);
    break;
  case 3:
    args.set_dependencies(&task, 1), rt_submit_graph(&nothing, args);
    break;
  case 4:
    rt_submit_graph(&launch, args);
    break;
  case 5:
    args.set_error("its own"), rt_submit_graph(&nothing, args);
    break;
  case 6:
    get_tensor_data<float>(part(out, 32, 1), 1, index);
    break;
  case 7:
    set_tensor_data(out, 1, index, 1.0f),
        get_tensor_data<float>(alloc_tensors(info).task_id().is_valid() ? part(out, 33, 1) : out, 1, index);
    break;
  }
  always_assert(rt_is_fatal());
}
