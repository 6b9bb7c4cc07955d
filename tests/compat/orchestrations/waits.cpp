/* SPDX-License-Identifier: MIT */
/*
 * Kernels that wait (tests/compat/kernels/cores.cpp), by scalar(0): one launch each.
 *
 * tensor(0) is i64[1024] of zeros, in which each core leaves what it saw.  scalar(1) is a number of the kernel's.
 */
#include "kernels.h"

enum Wait : uint64_t { STREAM = 0, BARRIER = 1, TURNS = 2, COUNTER = 6, HOOKS = 7, CLOCK = 9 };

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &cells = orch.tensor(0).ref();
  const uint64_t wait = orch.scalar(0), number = orch.scalar(1);
  CoreTaskArgs args;
  args.add_inout(cells);
  args.add_scalar(wait, number);
  if (wait == COUNTER || wait == CLOCK) {
    rt_submit_aiv_task(CORES, args);
  } else if (wait == BARRIER) {
#ifdef PTO_COMPAT_COUNTS_CORES
    args.launch_spec.set_core_num(8);
#else
    args.launch_spec.set_block_num(8);
#endif
    args.launch_spec.set_require_sync_start(true);
    rt_submit_aiv_task(CORES, args);
  } else {
    MixedKernels kernels;
    kernels.aic_kernel_id = kernels.aiv0_kernel_id = CORES;
    if (wait == HOOKS) kernels.aiv1_kernel_id = CORES;
    rt_submit_task(kernels, args);
  }
}
