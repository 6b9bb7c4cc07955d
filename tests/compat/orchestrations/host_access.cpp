/* SPDX-License-Identifier: MIT */
/* The host reads what tasks write, and writes what they read. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const uint32_t shape[1] = {4}, index[1] = {2};
  always_assert(get_tensor_data<float>(in, 1, index) == 2.0f);
  always_assert(get_tensor_data(in, 1, index) == to_u64(2.0f));
#if PTO_COMPAT_MODE == 1
  const TensorCreateInfo info(shape, 1);
  const TaskOutputTensors made = alloc_tensors(info);
  fill(made.get_ref(0), 6);
  const float value = get_tensor_data<float>(made.get_ref(0), 1, index); /* waits for the task */
#else
  (void)shape;
  const float value = 6;
#endif
  set_tensor_data(in, 1, index, value + 1); /* before the task that reads it */
  copy(part(in, 0, 4), part(out, 0, 4));
}
