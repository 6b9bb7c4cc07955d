/* SPDX-License-Identifier: MIT */
/* What lists of arguments tell, and assertions that are caught. */
#include "kernels.h"

#include "aicpu/cache_maintenance.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const uint32_t shape[1] = {4}, far[1] = {99};
  const TensorCreateInfo info(shape, 1);
  const TaskSubmitResult before = fill(out, 1);
  const PTO2TaskId task = before.task_id();
  CoreTaskArgs args;
  args.add_input(in);
  args.add_output(info);
  args.set_dependencies(&task, 1);
  always_assert(args.tensor(1).refers_to(&info) && args.tensor(0).refers_to(&in) && !args.tensor(0).refers_to(&out));
  always_assert(&args.tensor(1).create_info() == &info && &args.tensor_data()[0].ref() == &in);
  always_assert(args.tag_data()[1] == TensorArgType::OUTPUT && args.explicit_deps_data() == &task);
  args.set_error("the first");
  args.set_error("the second");
  always_assert(args.has_error && args.error_msg[4] == 'f');
  args.reset();
  always_assert(!args.has_error && args.error_msg == nullptr && args.tensor_count() == 0);
  const uint64_t value = 7;
  args.add_scalar(value);
  always_assert(args.scalar_sources()[0] == &value);
  args.scalar(0) = 8;
  always_assert(args.scalar_sources()[0] == nullptr && args.scalar_data()[0] == 8);
  always_assert(PTO2TaskId::invalid().is_invalid() && dep_has_retain(DEP_WAIT | DEP_RETAIN) && dtype_of<bool>() == 11);
  cache_flush_range(&value, sizeof value);
  bool is_caught = false;
  try {
    in.view(shape, far);
  } catch (const AssertionError &error) {
    is_caught = error.condition()[0] == 'v' && error.file() != nullptr && error.line() > 30;
  }
  always_assert(is_caught && get_stacktrace().empty() && !rt_is_fatal());
}
