/* SPDX-License-Identifier: MIT */
/* Names and forms of April 2026. */
#include "kernels.h"

static void submit(Arg &args) { pto2_rt_submit_aiv_task(FILL, args); }

extern "C" PTO2OrchestrationConfig aicpu_orchestration_config(const ChipStorageTaskArgs &) {
  PTO2OrchestrationConfig config = {3};
  return config;
}

extern "C" void aicpu_orchestration_entry(const ChipStorageTaskArgs &orch) {
  const ContinuousTensor &out = orch.tensor(1);
  Tensor whole = from_tensor_arg(out);
  const uint32_t shape[1] = {4}, begin[1] = {0};
  Tensor first = whole.view(shape, begin);
  LOG_ALWAYS("%u", static_cast<unsigned>(RUNTIME_MAX_TENSOR_DIMS));
  LOG_INFO_V3("x");
  pto2_rt_scope_begin();
  Arg args;
  args.add_output(first);
  args.add_scalar(2.0f);
  submit(args);
  pto2_rt_scope_end();
  ArgWithDeps<1> more;
  more.add_inout(first);
  L0TaskArgsWithDeps<2> others;
  others.add_inout(first);
  L0TaskArgs later;
  L2TaskArgs of_a_chip;
  const Tensor second = whole.view(shape, shape);
  later.add_input(first);
  later.add_inout(second); /* ordered: outputs alone are not */
  pto2_rt_submit_aic_task(COPY, later);
  MixedKernels kernels;
  kernels.aiv0_kernel_id = COPY;
  later.add_dep(pto2_rt_submit_aiv_task_deferred(COPY, later).task_id());
  always_assert(later.explicit_dep_count() == 1);
  pto2_rt_submit_task(kernels, later);
  if (of_a_chip.tensor_count() != 0 || pto2_rt_is_fatal()) pto2_rt_report_fatal(PTO2_ERROR_INVALID_ARGS, "never");
  pto2_rt_orchestration_done();
}
