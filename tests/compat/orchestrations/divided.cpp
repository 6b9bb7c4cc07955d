/* SPDX-License-Identifier: MIT */
/* A buffer divided by hand: descriptors over parts of it, and one that names another task as its creator. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  const uint32_t whole[1] = {32}, shape[1] = {8};
  const TensorCreateInfo storage_info(whole, 1), info(shape, 1);
  const TaskOutputTensors made = alloc_tensors(storage_info);
  const ChipTensor &storage = made.get_ref(0);
  ChipTensor first, second;
  init_tensor_from_create_info(first, info, storage.data_as<void>(), storage.buffer.size);
  first.owner_task_id = storage.owner_task_id;
  second.init_from(first);
  second.start_offset = 8;
  const PTO2TaskId writer = fill(first, 2).task_id();
  fill(second, 3);
  copy(first, part(out, 0, 8));
  copy(second, part(out, 8, 8));
  ChipTensor later = second; /* now after the task that wrote the first, too */
  later.owner_task_id = writer;
  copy(later, part(out, 16, 8));
  /* Memory of the runtime's by its address alone. */
  copy(make_tensor_external(storage.data_as<float>() + 4, shape, 1), part(out, 24, 8));
}
