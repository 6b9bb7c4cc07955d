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

/* That has recorded a task; NULL: none. */
static const struct pto_session *first_recorded(const struct pto_session *sessions, uint32_t count) {
  uint32_t i = 0;
  while (i < count && !(pto_session_trace(&sessions[i]) && pto_session_trace(&sessions[i])->tasks.count)) i++;
  return i < count ? &sessions[i] : NULL;
}

int pto_session_check_kernels(const struct pto_session *sessions, uint32_t count, uint64_t *found,
                              struct pto_error *error) {
  const struct pto_session *first = first_recorded(sessions, count);
  char names[sizeof first->chip.half_kernel], *rest = names, *name, question[PTO_CLOSEST_TEXT];
  int status = PTO_OK;
  if (!first || !first->chip.half_kernel[0]) return PTO_OK; /* not recorded: of a program that reports no context */
  memcpy(names, first->chip.half_kernel, sizeof names);
  for (uint64_t bit = 1; (name = strsep(&rest, "+")) != NULL; bit <<= 1) {
    struct pto_closest closest;
    bool is_there = *found & bit;
    pto_closest_begin(&closest, name);
    for (uint32_t i = 0; i < count && !is_there; i++) is_there = runs_kernel(&sessions[i], name, &closest);
    if (is_there)
      *found |= bit;
    else if (status == PTO_OK)
      status = pto_error_set(error, PTO_EINVAL, "half_kernel = %s: no task runs a kernel \"%s\"%s",
                             first->chip.half_kernel, name, pto_closest_question(&closest, question));
  }
  return status;
}
