/* SPDX-License-Identifier: MIT */
/*
 * The finding of an output that is not what the program expects, with the task that is the last to declare a write of
 * its first wrong element.  Part of session.h.
 */
#include <check/session/session.h>

#include <inttypes.h>
#include <stdio.h>

#include <report/findings/findings.h>
#include <report/findings/source_lines.h>
#include <runtime/base/dtype.h>
#include <runtime/tensor/region.h>
#include <runtime/trace/trace_words.h>

/* The last parameter that declares to write the byte, and its task; NULL: none does. */
static const struct pto_trace_param *find_last(const struct pto_trace *trace, uint64_t addr,
                                               const struct pto_trace_task **task) {
  const struct pto_region byte = {.start = addr, .end = addr + 1, .run_bytes = 1};
  struct pto_region region;
  for (uint64_t i = trace->tasks.count; i-- > 0;) {
    *task = pto_trace_log_at(&trace->tasks, i);
    for (uint64_t k = 0; k < (*task)->param_count; k++) {
      const struct pto_trace_param *param = pto_trace_log_at(&trace->params, (*task)->first_param + k);
      if (!(param->mode & PTO_OUTPUT)) continue;
      pto_region_from_tensor(&param->tensor, param->tensor.buffer.base, &region);
      if (pto_region_intersects(&region, &byte, NULL)) return param;
    }
  }
  return NULL;
}

static void add_of_task(const struct pto_session *session, struct pto_findings *findings, struct pto_finding *wrong,
                        const struct pto_trace_task *task, const struct pto_trace_param *param, const char *before,
                        const char *behind) {
  struct pto_source_lines *lines = pto_source_lines_create();
  char places[4 * PTO_SOURCE_FILE_SIZE], remedy[256];
  pto_source_lines_find(lines, task->call, task->outer_call, &wrong->places[0]);
  pto_source_lines_destroy(lines);
  wrong->tasks[0] = task->number;
  wrong->params[0] = param->index;
  pto_trace_task_name(task, wrong->kernels[0], sizeof wrong->kernels[0]);
  snprintf(wrong->arrays[0], sizeof wrong->arrays[0], "array %s", session->wrong_array->name);
  const uint64_t bits = pto_dtype_bits(session->wrong_array->dtype);
  snprintf(wrong->extents[0], sizeof wrong->extents[0], "bytes %" PRIu64 ":%" PRIu64, session->wrong_element * bits / 8,
           ((session->wrong_element + 1) * bits + 7) / 8);
  snprintf(remedy, sizeof remedy,
           "mend the kernel that `ptosim check --observe` names; where it names none, what task %" PRIu64
           " is given, or what the program expects",
           task->number);
  pto_findings_add(findings, wrong, remedy,
                   "%s%s%s; the last task that declares to write it is task %" PRIu64 " (%s), by param %" PRIu32 "%s",
                   before, session->result.error.sentence, behind, task->number, wrong->kernels[0], param->index,
                   pto_finding_say_places(wrong, places, sizeof places));
}

void pto_session_add_wrong(const struct pto_session *session, struct pto_findings *findings,
                           const struct pto_finding *wrong, const char *before, const char *behind) {
  const struct pto_trace *trace = session->rt ? pto_session_trace(session) : NULL;
  const struct pto_array *array = session->wrong_array;
  const struct pto_trace_task *task = NULL;
  struct pto_finding finding = *wrong;
  const bool is_known = array && trace && pto_trace_has_graph(trace) && !trace->params.dropped && !trace->tasks.dropped;
  if (!is_known) {
    pto_findings_add(findings, &finding, NULL, "%s%s%s", before, session->result.error.sentence, behind);
    return;
  }
  const uint64_t addr = (uintptr_t)array->data + session->wrong_element * pto_dtype_bits(array->dtype) / 8;
  const struct pto_trace_param *param = find_last(trace, addr, &task);
  if (param)
    add_of_task(session, findings, &finding, task, param, before, behind);
  else
    pto_findings_add(findings, &finding, "submit a task that writes it, or mend what the program expects",
                     "%s%s%s; no task declares to write it", before, session->result.error.sentence, behind);
}
