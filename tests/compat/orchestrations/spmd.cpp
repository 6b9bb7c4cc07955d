/* SPDX-License-Identifier: MIT */
/* Blocks of a task, all at once or not, as many as the chip has cores. */
#include "kernels.h"

static void set_blocks(CoreTaskArgs &args, int16_t count) {
#ifdef PTO_COMPAT_COUNTS_CORES
  args.launch_spec.set_core_num(count);
  always_assert(args.launch_spec.core_num() == count);
#else
  args.launch_spec.set_block_num(count);
  always_assert(args.launch_spec.block_num() == count);
#endif
}

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  CoreTaskArgs args;
  const ChipTensor a = part(out, 0, 16), b = part(out, 16, 16);
  args.add_output(a);
  set_blocks(args, 16);
  rt_submit_aiv_task(BLOCKS, args); /* more than there are cores */
  args.clear();                     /* keeps the launch_spec */
  args.add_output(b);
  const int32_t clusters = rt_available_cluster_count(), aivs = rt_available_aiv_count();
  always_assert(aivs == 2 * clusters);
  set_blocks(args, static_cast<int16_t>(aivs));
  args.launch_spec.set_require_sync_start(true);
  always_assert(args.launch_spec.require_sync_start());
  rt_submit_aiv_task(BLOCKS, args);
}
