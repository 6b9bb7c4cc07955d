/* SPDX-License-Identifier: MIT */
/* Two and three kernels on one cluster, and AIV1 alone, which is AIV0. */
#include "kernels.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  const ChipTensor places[3] = {part(out, 0, 3), part(out, 4, 3), part(out, 8, 3)};
  MixedKernels kernels[3];
  kernels[0].aic_kernel_id = kernels[0].aiv0_kernel_id = kernels[0].aiv1_kernel_id = ROLE;
  kernels[1].aic_kernel_id = kernels[1].aiv1_kernel_id = ROLE;
  kernels[2].aiv1_kernel_id = ROLE;
  for (int i = 0; i < 3; i++) {
    CoreTaskArgs args;
    args.add_inout(places[i]);
    rt_submit_task(kernels[i], args);
  }
}
