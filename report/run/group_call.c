/* SPDX-License-Identifier: MIT */
#include <report/run/group_call.h>

#include <kernels/collective/collective.h>
#include <runtime/base/dtype.h>
#include <runtime/trace/trace_words.h>

static uint64_t bytes_of(const struct pto_tensor *tensor) {
  uint64_t count = 1;
  for (uint32_t i = 0; i < tensor->ndims; i++) count *= tensor->shape[i];
  return pto_dtype_is_four_bit(tensor->dtype) ? (count + 1) / 2 : count * pto_dtype_size(tensor->dtype);
}

static uint32_t collective_of(const struct pto_kernel *kernel) {
  uint32_t i = 0;
  while (i < PTO_COLLECTIVE_COUNT && pto_collective_kernels[i] != kernel) i++;
  return i;
}

static bool is_of_moe(const struct pto_kernel *kernel) {
  return kernel == &pto_moe_dispatch_meta_kernel || kernel == &pto_moe_dispatch_data_kernel ||
         kernel == &pto_moe_combine_kernel;
}

struct pto_group_call pto_group_call_of(const struct pto_trace *trace, const struct pto_trace_remote *group) {
  const struct pto_trace_task *task = pto_trace_task_at(trace, group->task);
  struct pto_group_call call = {.collective = PTO_COLLECTIVE_COUNT};
  for (uint32_t i = 0; task && !call.kernel && i < PTO_ARRAY_LENGTH(task->kernels); i++) call.kernel = task->kernels[i];
  if (call.kernel) call.collective = collective_of(call.kernel);
  call.is_moe = is_of_moe(call.kernel);
  if (call.collective == PTO_COLLECTIVE_COUNT || task->param_count < 3)
    return call;                     /* a barrier has its window alone */
  for (uint32_t i = 0; i < 2; i++) { /* in and out stand before the window */
    const struct pto_trace_param *param = pto_trace_param_of(trace, task, i);
    if (param) call.bytes = pto_max_u64(call.bytes, bytes_of(&param->tensor));
  }
  return call;
}
