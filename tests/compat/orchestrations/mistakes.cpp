/* SPDX-License-Identifier: MIT */
/* One wrong use each, by scalar(0). */
#include "kernels.h"

#include <stdexcept>

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &in = orch.tensor(0).ref(), &out = orch.tensor(1).ref();
  const uint32_t shape[1] = {4}, zero[1] = {0}, wrong[1] = {99};
  const TensorCreateInfo info(shape, 1);
  CoreTaskArgs args;
  const PTO2TaskId none = PTO2TaskId::invalid(), unknown = PTO2TaskId::make(0, 77);
  const DepFlags *no_kinds = nullptr;
  switch (orch.scalar(0)) {
  case 1:
    args.add_scalar(1.0f), args.add_output(out);
    break;
  case 2:
    for (int i = 0; i < 33; i++) args.add_input(in);
    break;
  case 3:
    for (int i = 0; i < 17; i++) args.add_scalar(i);
    break;
  case 4:
    args.set_dependencies(&none, 1);
    break;
  case 5:
    args.set_dependencies(&unknown, 1);
    break;
  case 6:
    args.set_dependencies(nullptr, 1);
    break;
  case 7:
    args.set_dependencies(&none, 1), args.set_dependencies(&none, 1);
    break;
  case 8:
    args.set_dependencies_with_kinds(&none, no_kinds, 1);
    break;
  case 9:
    args.set_task_timing_slot(16);
    break;
  case 10:
    args.copy_scalars_from(args, 0, 1);
    break;
  case 11:
    args.dump();
    break;
  case 12:
    rt_report_fatal(PTO2_ERROR_EXPLICIT_ORCH_FATAL, "said %s", "so");
    break;
  case 13:
    rt_report_fatal(42, "a number of its own");
    break;
  case 14:
    rt_scope_end();
    break;
  case 15: {
    PTO2_SCOPE_GUARD(PTO2ScopeMode::MANUAL);
    PTO2_SCOPE() {}
    break;
  }
  case 16:
    in.view(shape, wrong);
    break;
  case 17:
    in.slice(0, 3, 3);
    break;
  case 18:
    in.reshape(shape, 1);
    break;
  case 19:
    in.transpose(0, 1);
    break;
  case 20:
    get_tensor_data<float>(in, 1, wrong);
    break;
  case 21:
    set_tensor_data(in, 2, zero, 1.0f);
    break;
  case 22:
    alloc_tensors(args);
    break;
  case 23: {
    const TaskOutputTensors nothing = fill(out, 1);
    nothing.get_ref(0);
    break;
  }
  case 24:
    throw std::runtime_error("thrown");
  case 25:
    throw 25;
  case 26:
    args.add_output(out), rt_submit_aiv_task(99, args);
    break;
  case 27:
    rt_submit_task(MixedKernels(), args);
    break;
  case 28:
#ifdef PTO_COMPAT_COUNTS_CORES
    args.launch_spec.set_core_num(0);
#else
    args.launch_spec.set_block_num(0);
#endif
    break;
  case 29: {
    ChipTensor nowhere{};
    nowhere.init_external(nullptr, 16, shape, 1, DataType::FLOAT32, 0);
    args.add_input(nowhere);
    break;
  }
  case 30: {
    CoreTaskPredicate predicate;
    predicate.op = PredicateOp::EQ;
    args.set_predicate(predicate);
    break;
  }
  case 32: {
    CoreTaskArgsWithDeps<1> with;
    const PTO2TaskId task = fill(out, 1).task_id();
    with.add_dep(task, task);
    rt_submit_aiv_task(FILL, with);
    break;
  }
#ifdef PTO_COMPAT_COUNTS_CORES
  case 33:
    args.launch_spec.set_core_num(1000), args.launch_spec.set_require_sync_start(true);
    break;
#else
  case 33:
    args.launch_spec.set_block_num(1000), args.launch_spec.set_require_sync_start(true);
    break;
#endif
  }
  const bool was_fatal = rt_is_fatal();
  if (orch.scalar(0) < 12 || orch.scalar(0) >= 28) {
    if (args.tensor_count() == 0 && !args.has_error) args.add_output(out);
    rt_submit_aiv_task(FILL, args);
  }
  always_assert(rt_is_fatal()); /* and from here on calls do nothing */
  always_assert(fill(out, 77).empty() && alloc_tensors(info).empty() && rt_available_aiv_count() == 0);
  always_assert(get_tensor_data(in, 1, zero) == 0);
  set_tensor_data(in, 1, zero, 3.0f);
  rt_scope_begin();
  rt_scope_end();
  (void)was_fatal;
}
