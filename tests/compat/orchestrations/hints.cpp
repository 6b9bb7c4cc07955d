/* SPDX-License-Identifier: MIT */
/* Calls that are accepted and change nothing, and logging. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  const ChipTensor place = part(out, 0, 4);
  CoreTaskArgs args;
  args.add_output(place);
  args.add_scalar(1.0f);
  args.set_allow_early_resolve(true);
  args.set_task_timing_slot(15);
  args.dump(place);
  always_assert(args.allow_early_resolve() && args.task_timing_slot() == 15);
  rt_submit_aiv_task(FILL, args);
  LOG_ERROR("error %d", 1);
  LOG_WARN("warning");
  LOG_TIMING("timing %s", "x");
  LOG_INFO("info");
  LOG_DEBUG("debug");
  debug_assert(arg_direction_name(ArgDirection::IN)[0] == 'I' && get_dtype_name(DataType::BFLOAT16)[0] == 'B');
}
