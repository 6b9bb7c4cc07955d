/* SPDX-License-Identifier: MIT */
#include <check/session/named_kernels.h>

#include <string.h>

#include <runtime/base/closest.h>
#include <runtime/trace/trace_words.h>

/* Whether a task of the session runs that kernel; else the names of those that it runs are considered. */
static bool runs_kernel(const struct pto_session *session, const char *name, struct pto_closest *closest) {
  const struct pto_trace *trace = pto_session_trace(session);
  for (uint64_t i = 0; trace && i < trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_task_at(trace, i);
    for (size_t role = 0; role < PTO_ARRAY_LENGTH(task->kernels); role++) {
      if (!task->kernels[role]) continue;
      if (strcmp(task->kernels[role]->name, name) == 0) return true;
      pto_closest_consider(closest, task->kernels[role]->name);
    }
  }
  return false;
}

int pto_session_check_kernels(const struct pto_session *sessions, uint32_t count, struct pto_error *error) {
  char names[sizeof sessions->chip.half_kernel], *rest = names, *name, question[PTO_CLOSEST_TEXT];
  uint64_t task_count = 0;
  memcpy(names, sessions->chip.half_kernel, sizeof names);
  for (uint32_t i = 0; i < count; i++)
    task_count += pto_session_trace(&sessions[i]) ? pto_session_trace(&sessions[i])->tasks.count : 0;
  if (!task_count) return PTO_OK; /* of a program that reports no context */
  while ((name = strsep(&rest, "+")) != NULL && sessions->chip.half_kernel[0]) {
    struct pto_closest closest;
    bool is_there = false;
    pto_closest_begin(&closest, name);
    for (uint32_t i = 0; i < count && !is_there; i++) is_there = runs_kernel(&sessions[i], name, &closest);
    if (!is_there)
      return pto_error_set(error, PTO_EINVAL, "half_kernel = %s: no task runs a kernel \"%s\"%s",
                           sessions->chip.half_kernel, name, pto_closest_question(&closest, question));
  }
  return PTO_OK;
}
