/* SPDX-License-Identifier: MIT */
#include <check/session/bounds.h>

#include <inttypes.h>
#include <stdio.h>

#include <runtime/tensor/region.h>
#include <runtime/tensor/tensor_make.h>
#include <runtime/trace/trace_words.h>

static bool has_byte(const struct pto_array *array, uint64_t address) {
  return address - (uint64_t)(uintptr_t)array->data < array->size_bytes;
}

/* The array or block that has the address; NULL: none has. */
static const struct pto_array *array_of(struct pto_program_run *run, uint64_t address) {
  const struct pto_array *array;
  for (uint32_t i = 0; (array = pto_program_run_array(run, i)) != NULL; i++)
    if (has_byte(array, address)) return array;
  for (const struct pto_array *block = NULL; (block = pto_program_run_block(run, block)) != NULL;)
    if (has_byte(block, address)) return block;
  return NULL;
}

static void add(const struct pto_trace_task *task, const struct pto_trace_param *param, const struct pto_array *array,
                const struct pto_region *region, struct pto_source_lines *lines, struct pto_findings *findings) {
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_BEYOND), .group = param->buffer_number};
  char which[32] = "predicate", type[160], place[512], remedy[160];
  finding.tasks[0] = task->number;
  if (param->index != UINT32_MAX) {
    finding.params[0] = param->index;
    snprintf(which, sizeof which, "param %" PRIu32, param->index);
  }
  pto_source_lines_find(lines, task->call, task->outer_call, &finding.places[0]);
  pto_trace_task_name(task, finding.kernels[0], sizeof finding.kernels[0]);
  snprintf(finding.arrays[0], sizeof finding.arrays[0], "array %.60s", array->name);
  snprintf(finding.extents[0], sizeof finding.extents[0], "bytes %" PRIu64 ":%" PRIu64,
           region->start - (uint64_t)(uintptr_t)array->data, region->end - (uint64_t)(uintptr_t)array->data);
  pto_tensor_format(&param->tensor, type, sizeof type);
  snprintf(remedy, sizeof remedy, "register it as large as the array is, or make that of %" PRIu64 " bytes",
           region->end - (uint64_t)(uintptr_t)array->data);
  pto_findings_add(
      findings, &finding, remedy,
      "task %" PRIu64 " (%s) %s %s has %" PRIu64 " bytes behind the end of array %s, which has %" PRIu64 "%s",
      task->number, finding.kernels[0], which, type, region->end - (uint64_t)(uintptr_t)array->data - array->size_bytes,
      array->name, array->size_bytes, pto_finding_say_places(&finding, place, sizeof place));
}

void pto_bounds_check(const struct pto_trace *trace, struct pto_program_run *run, struct pto_findings *findings) {
  struct pto_source_lines *lines = NULL;
  const struct pto_array *array = NULL;
  for (uint64_t t = 0; trace && run && t < trace->tasks.count; t++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, t);
    for (uint64_t i = task->first_param; i < task->first_param + task->param_count && i < trace->params.count; i++) {
      const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
      struct pto_region region;
      if (param->is_managed || pto_tensor_is_empty(&param->tensor)) continue;
      pto_region_from_tensor(&param->tensor, param->tensor.buffer.base, &region);
      if (!array || !has_byte(array, region.start)) array = array_of(run, region.start);
      if (!array || region.end - (uint64_t)(uintptr_t)array->data <= array->size_bytes) continue;
      if (!lines) lines = pto_source_lines_create();
      add(task, param, array, &region, lines, findings);
    }
  }
  pto_source_lines_destroy(lines);
}
