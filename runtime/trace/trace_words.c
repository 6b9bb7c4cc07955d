/* SPDX-License-Identifier: MIT */
#include <runtime/trace/trace_words.h>

#include <stdio.h>

const struct pto_kernel *pto_trace_task_kernel(const struct pto_trace *trace, uint64_t number, uint32_t role) {
  const struct pto_trace_task *task = pto_trace_task_at(trace, number);
  return task && role < PTO_ARRAY_LENGTH(task->kernels) ? task->kernels[role] : NULL;
}

static const char *name_at(const char *const *names, size_t count, uint32_t index) {
  return index < count && names[index] ? names[index] : "?";
}

const char *pto_trace_task_kind_name(uint32_t kind) {
  static const char *const names[] = {[PTO_TASK_KERNEL] = "kernel",
                                      [PTO_TASK_BARRIER] = "barrier",
                                      [PTO_TASK_ALLOC] = "alloc",
                                      [PTO_TASK_EMPTY] = "empty"};
  return name_at(names, PTO_ARRAY_LENGTH(names), kind);
}

const char *pto_trace_task_name(const struct pto_trace_task *task, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t role = 0; role < PTO_ARRAY_LENGTH(task->kernels) && used < size; role++)
    if (task->kernels[role])
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " + " : "", task->kernels[role]->name);
  if (!text[0]) used = (size_t)snprintf(text, size, "%s", pto_trace_task_kind_name(task->kind));
  if (task->label && used < size) snprintf(text + used, size - used, " \"%s\"", task->label);
  return text;
}

const struct pto_trace_param *pto_trace_param_of(const struct pto_trace *trace, const struct pto_trace_task *task,
                                                 uint32_t index) {
  for (uint64_t i = task->first_param; i < task->first_param + task->param_count && i < trace->params.count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
    if (param->index == index) return param;
  }
  return NULL;
}

const char *pto_mode_name(uint32_t mode) {
  static const char *const names[] = {[PTO_INPUT] = "INPUT", [PTO_OUTPUT] = "OUTPUT",         [PTO_INOUT] = "INOUT",
                                      [PTO_HOLD] = "HOLD",   [PTO_ACCUMULATE] = "ACCUMULATE", [PTO_SCALAR] = "SCALAR"};
  return name_at(names, PTO_ARRAY_LENGTH(names), mode);
}

const char *pto_edge_reason_name(uint32_t reason) {
  static const char *const names[] = {[PTO_EDGE_RAW] = "RAW",
                                      [PTO_EDGE_WAW] = "WAW",
                                      [PTO_EDGE_WAR] = "WAR",
                                      [PTO_EDGE_EXPLICIT] = "explicit",
                                      [PTO_EDGE_CREATOR] = "creator"};
  return name_at(names, PTO_ARRAY_LENGTH(names), reason);
}

const char *pto_control_activity_name(uint32_t activity) {
  static const char *const names[] = {[PTO_CONTROL_SUBMIT] = "submit",       [PTO_CONTROL_WAIT] = "wait",
                                      [PTO_CONTROL_SCOPE] = "scope",         [PTO_CONTROL_HOST_ACCESS] = "host access",
                                      [PTO_CONTROL_TO_DEVICE] = "to device", [PTO_CONTROL_TO_HOST] = "to host",
                                      [PTO_CONTROL_ON_DEVICE] = "on device"};
  return name_at(names, PTO_ARRAY_LENGTH(names), activity);
}
