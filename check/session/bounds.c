/* SPDX-License-Identifier: MIT */
#include <check/session/bounds.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <runtime/base/dtype.h>
#include <runtime/base/text.h>
#include <runtime/tensor/region_runs.h>
#include <runtime/tensor/tensor_make.h>
#include <runtime/trace/trace_words.h>

/* Larger outputs are not looked at. */
#define MOST_OUTPUT_BYTES (UINT64_C(64) << 20)

/* ---- ends ---- */

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

static void add_on_stack(const struct pto_trace_task *task, const struct pto_trace_param *param,
                         struct pto_source_lines *lines, struct pto_findings *findings) {
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_STACK), .group = (uintptr_t)task->call};
  struct pto_region region;
  char place[512];
  finding.tasks[0] = task->number;
  finding.params[0] = param->index;
  pto_source_lines_find(lines, task->call, task->outer_call, &finding.places[0]);
  pto_trace_task_name(task, finding.kernels[0], sizeof finding.kernels[0]);
  snprintf(finding.arrays[0], sizeof finding.arrays[0], "buffer %" PRIu64, param->buffer_number);
  pto_region_from_tensor(&param->tensor, param->tensor.buffer.base, &region);
  snprintf(finding.extents[0], sizeof finding.extents[0], "bytes %" PRIu64 ":%" PRIu64,
           region.start - param->tensor.buffer.base, region.end - param->tensor.buffer.base);
  pto_findings_add(findings, &finding, NULL,
                   "task %" PRIu64 " (%s) param %" PRIu32
                   " lies over a local variable of the orchestration, which waits for no task behind this submit: the "
                   "variable may be gone when the task runs%s",
                   task->number, finding.kernels[0], param->index,
                   pto_finding_say_places(&finding, place, sizeof place));
}

/* Whether the orchestration has waited for something after it submitted the task.  What a context moves, or syncs,
 * comes behind the orchestration of its dispatch. */
static bool has_waited(const struct pto_trace *trace, const struct pto_trace_task *task) {
  if (trace->host_accesses.dropped) return true;
  for (uint64_t i = trace->host_accesses.count; i-- > 0;) {
    const struct pto_trace_host_access *access = pto_trace_log_at(&trace->host_accesses, i);
    if (access->task_count <= task->number) return false;
    if (!access->is_move && !access->is_sync) return true;
  }
  return false;
}

static void check_ends(const struct pto_trace *trace, struct pto_program_run *run, struct pto_findings *findings) {
  struct pto_source_lines *lines = NULL;
  const struct pto_array *array = NULL;
  for (uint64_t t = 0; t < trace->tasks.count; t++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, t);
    for (uint64_t i = task->first_param; i < task->first_param + task->param_count && i < trace->params.count; i++) {
      const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
      struct pto_region region;
      if (param->is_managed || pto_tensor_is_empty(&param->tensor)) continue;
      if (param->is_on_stack && param->index != UINT32_MAX && !has_waited(trace, task)) {
        if (!lines) lines = pto_source_lines_create();
        add_on_stack(task, param, lines, findings);
      }
      pto_region_from_tensor(&param->tensor, param->tensor.buffer.base, &region);
      if (!array || !has_byte(array, region.start)) array = array_of(run, region.start);
      if (!array || region.end - (uint64_t)(uintptr_t)array->data <= array->size_bytes) continue;
      if (!lines) lines = pto_source_lines_create();
      add(task, param, array, &region, lines, findings);
    }
  }
  pto_source_lines_destroy(lines);
}

/* ---- outputs ---- */

/* An array, and a byte that is not 0 for each of its bytes that is declared to be written. */
struct cover {
  const struct pto_array *array;
  uint8_t *is_declared;
  bool is_any;
};

static void mark(struct cover *cover, uint64_t lo, uint64_t hi) {
  const uint64_t begin = (uint64_t)(uintptr_t)cover->array->data, end = begin + cover->array->size_bytes;
  lo = pto_max_u64(lo, begin);
  hi = pto_min_u64(hi, end);
  if (lo >= hi) return;
  memset(cover->is_declared + (lo - begin), 1, hi - lo);
  cover->is_any = true;
}

/* A held tensor may be written too. */
static void mark_writes(struct cover *cover, const struct pto_trace *trace) {
  const uint64_t begin = (uint64_t)(uintptr_t)cover->array->data;
  for (uint64_t i = 0; i < trace->params.count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
    struct pto_region region;
    if (param->is_managed || !(param->mode & (PTO_OUTPUT | PTO_HOLD)) || pto_tensor_is_empty(&param->tensor)) continue;
    pto_region_from_tensor(&param->tensor, param->tensor.buffer.base, &region);
    if (region.end <= begin || region.start >= begin + cover->array->size_bytes) continue;
    struct pto_region_runs runs = pto_region_runs(&region);
    for (uint64_t lo; pto_region_runs_next(&runs, &lo);) mark(cover, lo, lo + region.run_bytes);
  }
  for (uint64_t i = 0; i < trace->host_accesses.count; i++) {
    const struct pto_trace_host_access *access = pto_trace_log_at(&trace->host_accesses, i);
    if (access->is_write && !access->is_managed) mark(cover, access->begin, access->end);
  }
}

/* Whether the element, in these bytes of the array, is as it began. */
static bool is_left(const struct cover *cover, uint64_t lo, uint64_t hi) {
  const uint8_t *data = cover->array->data;
  for (uint64_t at = lo; at < hi; at++)
    if (cover->is_declared[at] || data[at]) return false;
  return true;
}

static void say_element(const struct pto_array *array, uint64_t index, char *text, size_t size) {
  uint64_t at[PTO_MAX_DIMS];
  for (uint32_t d = array->ndims; d-- > 0; index /= array->shape[d]) at[d] = index % array->shape[d];
  text[0] = '\0';
  pto_text_append_numbers(text, size, ",", at, array->ndims);
}

static void add_unfilled(const struct cover *cover, struct pto_findings *findings) {
  const struct pto_array *array = cover->array;
  const uint64_t bits = pto_dtype_bits(array->dtype);
  struct pto_finding finding = {PTO_FINDING_OF_RUN(PTO_FINDING_UNFILLED), .group = (uintptr_t)array};
  uint64_t count = 0, first = 0;
  char element[160];
  for (uint64_t i = 0; i < array->numel; i++) {
    if (!is_left(cover, i * bits / 8, ((i + 1) * bits + 7) / 8)) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return;
  say_element(array, first, element, sizeof element);
  snprintf(finding.arrays[0], sizeof finding.arrays[0], "array %.60s", array->name);
  pto_findings_add(findings, &finding, "submit a task that writes them, or give them a value in `prepare`",
                   "%" PRIu64 " of the %" PRIu64
                   " elements of array %s, an output, no task declares to write, from [%s] "
                   "on: they hold the zeros that arrays begin with",
                   count, array->numel, array->name, element);
}

/* Of a program that does not say itself what its outputs are to be. */
static void check_outputs(const struct pto_trace *trace, struct pto_program_run *run, struct pto_findings *findings) {
  struct cover cover;
  if (pto_program_run_program(run)->expect) return;
  for (uint32_t i = 0; (cover.array = pto_program_run_array(run, i)) != NULL; i++) {
    const uint64_t bytes = cover.array->size_bytes;
    if (cover.array->role != PTO_ARRAY_OUTPUT || !bytes || bytes > MOST_OUTPUT_BYTES) continue;
    cover.is_any = false;
    cover.is_declared = calloc(bytes, 1);
    if (!cover.is_declared) continue;
    mark_writes(&cover, trace);
    if (cover.is_any) add_unfilled(&cover, findings);
    free(cover.is_declared);
  }
}

void pto_bounds_check(const struct pto_trace *trace, struct pto_program_run *run, bool is_whole,
                      struct pto_findings *findings) {
  if (!trace || !run) return;
  check_ends(trace, run, findings);
  if (is_whole) check_outputs(trace, run, findings);
}
