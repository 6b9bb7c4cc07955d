/* SPDX-License-Identifier: MIT */
/* Scalars of every form. */
#include "kernels.h"

enum class Choice : int32_t { SECOND = 2 };

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  always_assert(orch.tensor_count() == 3 && orch.scalar_count() == 1);
  const uint64_t two[2] = {20, 21};
  const int32_t minus[1] = {-1};
  CoreTaskArgs some, args;
  some.add_scalar(30, 31, 32);
  args.add_output(out);
  args.add_scalar(10, Choice::SECOND, true, from_u64<int32_t>(orch.scalar(0)));
  args.add_scalars(two, 2);
  args.add_scalars_i32(minus, 1);
  args.copy_scalars_from(some, 1, 2);
  always_assert(args.scalar_count() == 9 && args.scalar(6) == 0xffffffffu &&
                args.tag(0) == TensorArgType::OUTPUT_EXISTING);
  always_assert(&args.tensor(0).ref() == &out && args.scalars() == args.scalar_data());
  rt_submit_aiv_task(SCALARS, args);
}
