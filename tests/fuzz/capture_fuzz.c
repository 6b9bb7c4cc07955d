/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a file to import, and as a capture: refused with a sentence, or what holds of a settled capture holds.
 */
#include <tests/fuzz/fuzz_file.h>

#include <check/capture/import.h>
#include <tests/fuzz/fuzz_json.h>

static const char *const words[] = {
    "tasks",      "edges",         "tensors",     "task_id",     "scope",      "kernel_ids",  "block_num",
    "args",       "pred",          "succ",        "source",      "creator",    "tensormap",   "explicit",
    "flags",      "wait",          "tensor_id",   "buffer_addr", "dtype",      "FLOAT32",     "buffer_numel",
    "raw_shapes", "offset",        "strides",     "INPUT",       "INOUT",      "OUTPUT",      "aic",
    "aiv",        "aicore_tasks",  "aicpu_tasks", "metadata",    "core_types", "fanout",      "core_id",
    "core_type",  "start_time_us", "end_time_us", "traceEvents", "event-hint", "pto-capture", "buffers",
    "creator",    "spans",         "begin_ns",    "end_ns",      "alloc",      "empty",       "kernel",
    "4294967296", "Worker View",   "has_edges",   "null",        NULL};
static const struct fuzz_json_format fuzz_format = {.words = words};

static void hold(const struct pto_capture *c) {
  for (size_t i = 0; i < c->edge_count; i++)
    FUZZ_HOLDS(c->edges[i].from < c->edges[i].to && c->edges[i].to < c->task_count);
  for (size_t i = 0; i < c->span_count; i++) {
    const struct pto_capture_span *span = &c->spans[i];
    FUZZ_HOLDS(span->task < c->task_count && span->core < c->core_count && span->begin_ns <= span->end_ns);
    FUZZ_HOLDS(!span->has_dispatch || (span->dispatch_ns <= span->begin_ns && span->end_ns <= span->finish_ns));
  }
  for (size_t i = 0; i < c->access_count; i++)
    FUZZ_HOLDS(c->accesses[i].task < c->task_count && c->accesses[i].buffer < c->buffer_count);
  for (size_t i = 0; i < c->task_count; i++) {
    const struct pto_capture_task *task = &c->tasks[i];
    FUZZ_HOLDS(task->block_count >= 1);
    FUZZ_HOLDS(task->first_span + task->span_count <= c->span_count);
    FUZZ_HOLDS(task->first_access + task->access_count <= c->access_count);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct pto_capture capture;
  struct pto_error error = {0};
  struct fuzz_file file;
  const char *paths[1];
  fuzz_file_open(&file, data, size);
  paths[0] = file.path;
  if (pto_capture_import(paths, 1, &capture, &error) == PTO_OK)
    hold(&capture);
  else
    FUZZ_HOLDS(error.sentence[0] != '\0');
  pto_capture_fini(&capture);
  error.sentence[0] = '\0';
  if (pto_capture_read(file.path, &capture, &error) == PTO_OK)
    hold(&capture);
  else
    FUZZ_HOLDS(error.sentence[0] != '\0');
  pto_capture_fini(&capture);
  fuzz_file_close(&file);
  return 0;
}
