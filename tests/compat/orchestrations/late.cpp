/* SPDX-License-Identifier: MIT */
/*
 * Tensors used after their scope has ended: right as long as the rings have not come round.  scalar(0) is 0, or what of
 * a first scope is used when they have: 1 an input, 2 a view, 3 an element that the host reads, 4 a predicate.
 */
#include "kernels.h"

static void use(const ChipTensor &old, const ChipTensor &out, uint64_t variant) {
  const uint32_t at[1] = {0};
  CoreTaskArgs args;
  CoreTaskPredicate predicate;
  predicate.operand.tensor = &old;
  predicate.operand.ndims = 1;
  predicate.op = PredicateOp::EQ;
  args.add_output(out);
  args.add_scalar(1.0f);
  args.set_predicate(predicate);
  if (variant == 1) copy(old, out);
  if (variant == 2) copy(part(old, 2, 2), part(out, 0, 2));
  if (variant == 3) (void)get_tensor_data<float>(old, 1, at);
  if (variant == 4) rt_submit_aiv_task(FILL, args);
}

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const ChipTensor ones = part(in, 1, 4), last = part(out, 0, 4);
  const uint32_t shape[1] = {4};
  const TensorCreateInfo info(shape, 1);
  ChipTensor first = ones, before = ones;
  for (uint32_t layer = 0; layer < 200; layer++) {
    PTO2_SCOPE() {
      const TaskOutputTensors made = alloc_tensors(info);
      copy(before, made.get_ref(0));
      plus(ones, made.get_ref(0));
      before = made.get_ref(0);
      if (layer == 0) first = before;
    }
  }
  copy(part(before, 0, 2), part(out, 4, 2));
  copy(before, last);
  use(first, part(out, 8, 4), orch.scalar(0));
}
