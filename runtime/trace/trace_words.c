/* SPDX-License-Identifier: MIT */
#include <runtime/trace/trace_words.h>

#include <stdio.h>

const struct pto_kernel *pto_trace_task_kernel(const struct pto_trace *trace, uint64_t number, uint32_t role) {
  const struct pto_trace_task *task = pto_trace_task_at(trace, number);
  return task && role < PTO_ARRAY_LENGTH(task->kernels) ? task->kernels[role] : NULL;
}

const char *pto_trace_task_kind_name(uint32_t kind) {
  switch (kind) {
  case PTO_TASK_KERNEL:
    return "kernel";
  case PTO_TASK_BARRIER:
    return "barrier";
  case PTO_TASK_ALLOC:
    return "alloc";
  default:
    return "?";
  }
}

const char *pto_trace_task_name(const struct pto_trace_task *task, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t role = 0; role < PTO_ARRAY_LENGTH(task->kernels) && used < size; role++)
    if (task->kernels[role])
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " + " : "", task->kernels[role]->name);
  if (!text[0]) snprintf(text, size, "%s", pto_trace_task_kind_name(task->kind));
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
  switch (mode) {
  case PTO_INPUT:
    return "INPUT";
  case PTO_OUTPUT:
    return "OUTPUT";
  case PTO_INOUT:
    return "INOUT";
  case PTO_ACCUMULATE:
    return "ACCUMULATE";
  case PTO_SCALAR:
    return "SCALAR";
  default:
    return "?";
  }
}

const char *pto_edge_reason_name(uint32_t reason) {
  switch (reason) {
  case PTO_EDGE_RAW:
    return "RAW";
  case PTO_EDGE_WAW:
    return "WAW";
  case PTO_EDGE_WAR:
    return "WAR";
  case PTO_EDGE_EXPLICIT:
    return "explicit";
  default:
    return "?";
  }
}
