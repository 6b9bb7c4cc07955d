/* SPDX-License-Identifier: MIT */
#include <runtime/control/runtime_state.h>

#include <runtime/base/stop.h>

#include <stdarg.h>
#include <stdio.h>

static void store_sentence(struct pto_runtime *rt, int status, const char *format, va_list arguments) {
  vsnprintf(rt->error.sentence, sizeof rt->error.sentence, format, arguments);
  rt->error.status = status;
}

int pto_runtime_refuse(struct pto_runtime *rt, int status, const char *format, ...) {
  if (rt->has_failed) return rt->error.status;
  va_list arguments;
  va_start(arguments, format);
  store_sentence(rt, status, format, arguments);
  va_end(arguments);
  return status;
}

int pto_runtime_fail(struct pto_runtime *rt, int status, const char *format, ...) {
  if (rt->has_failed) return rt->error.status;
  va_list arguments;
  va_start(arguments, format);
  store_sentence(rt, status, format, arguments);
  va_end(arguments);
  rt->has_failed = true;
  rt->since_poll = PTO_POLL_INTERVAL;
  if (status != PTO_EUSER && status != PTO_EINTERRUPTED && rt->is_running)
    pto_wait_picture_take(rt, status, rt->failed_slot, &rt->stopped->picture);
  pto_scheduler_abandon(&rt->scheduler);
  return status;
}

bool pto_runtime_stops(struct pto_runtime *rt) {
  atomic_store_explicit(&rt->config.stop->counted, rt->completed_count, memory_order_relaxed);
  if (!pto_stop_is_asked(rt->config.stop)) return false;
  pto_runtime_fail(rt, PTO_EINTERRUPTED, "interrupted after %llu tasks, of which %llu have completed",
                   (unsigned long long)rt->task_count, (unsigned long long)rt->completed_count);
  return true;
}

const struct pto_refusals *pto_runtime_refusals(const struct pto_runtime *rt) { return &rt->refusals; }
const struct pto_failed_kernel *pto_runtime_failed_kernel(const struct pto_runtime *rt) { return &rt->failed_kernel; }
const void *pto_runtime_left_open(const struct pto_runtime *rt) { return rt->left_open; }

int pto_report_error(struct pto_runtime *rt, const char *sentence) {
  if (!rt->is_running) return PTO_REFUSE(rt, PTO_EINVAL, "not within a run");
  return pto_runtime_fail(rt, PTO_EUSER, "%s", sentence ? sentence : "the orchestration reported an error");
}

const char *pto_last_error(struct pto_runtime *rt) { return rt ? rt->error.sentence : ""; }

void pto_host_append_error(struct pto_runtime *rt, const char *text) { pto_error_append(&rt->error, "%s", text); }

/* ---- words for sentences ---- */

const char *pto_param_mode_name(uint32_t mode) {
  static const char *const names[] = {
      [PTO_UNUSED] = "unused", [PTO_INPUT] = "input",           [PTO_OUTPUT] = "output", [PTO_INOUT] = "inout",
      [PTO_HOLD] = "hold",     [PTO_ACCUMULATE] = "accumulate", [PTO_SCALAR] = "scalar"};
  return mode < PTO_ARRAY_LENGTH(names) && names[mode] ? names[mode] : "?";
}

void pto_params_describe(const struct pto_payload *payload, struct pto_error *error) {
  for (uint32_t i = 0; i < payload->tensor_count; i++) {
    const struct pto_kernel_tensor *t = &payload->tensors[i];
    pto_error_append(error, "%stensor %u %s[", i ? ", " : "", i, pto_dtype_name(t->dtype));
    for (uint32_t d = 0; d < t->ndims; d++)
      pto_error_append(error, "%s%llu", d ? "," : "", (unsigned long long)t->shape[d]);
    pto_error_append(error, "]");
  }
  const union pto_scalar *scalars = (const union pto_scalar *)(const void *)&payload->tensors[payload->tensor_count];
  for (uint32_t j = 0; j < payload->scalar_count; j++)
    pto_error_append(error, "%sscalar %u 0x%llx", payload->tensor_count || j ? ", " : "", j,
                     (unsigned long long)scalars[j].u64);
}
