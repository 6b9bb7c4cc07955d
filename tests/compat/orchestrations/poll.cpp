/* SPDX-License-Identifier: MIT */
/* An orchestration that looks at memory until a task has written it. */
#include "kernels.h"

#include "aicpu/cache_maintenance.h"

extern "C" void aicpu_orchestration_entry(const ChipTaskArgs &orch) {
  const ChipTensor &out = orch.tensor(1).ref();
  const float wanted = orch.scalar(0) == 1 ? 2.0f : 1.0f; /* 2 never comes */
  fill(part(out, 0, 4), 1);
  const volatile float *element = out.data_as<float>() + 3;
  while (!rt_is_fatal()) {
    cache_invalidate_range(out.data_as<float>(), 16);
    if (*element == wanted) break;
    SPIN_WAIT_HINT();
  }
  fill(part(out, 4, 4), 2);
}
