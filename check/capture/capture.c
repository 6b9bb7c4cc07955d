/* SPDX-License-Identifier: MIT */
#include <check/capture/capture.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/mapped_file.h>
#include <runtime/base/base.h>
#include <runtime/base/grow.h>

void pto_capture_fini(struct pto_capture *capture) {
  for (size_t i = 0; i < capture->task_count; i++) free(capture->tasks[i].name);
  for (uint32_t i = 0; i < capture->file_count; i++) free(capture->files[i].path);
  free(capture->cores);
  free(capture->tasks);
  free(capture->accesses);
  free(capture->buffers);
  free(capture->edges);
  free(capture->spans);
  free(capture->submits);
  memset(capture, 0, sizeof *capture);
}

bool pto_capture_is_file(const char *path) {
  static const char mark[] = "\"" PTO_CAPTURE_FORMAT "\"";
  struct pto_mapped_file file;
  struct pto_error error;
  if (pto_mapped_file_init(&file, path, &error)) return false;
  const bool is_one = file.size_bytes && memmem(file.data, file.size_bytes, mark, sizeof mark - 1);
  pto_mapped_file_fini(&file);
  return is_one;
}

const char *pto_capture_id_format(uint64_t id, char *text, size_t size) {
  snprintf(text, size, "r%" PRIu64 "t%" PRIu64, id >> 32, id & UINT32_MAX);
  return text;
}

uint32_t pto_capture_role_count(const struct pto_capture_task *task) {
  return (task->kernels[0] >= 0) + (task->kernels[1] >= 0) + (task->kernels[2] >= 0);
}

/* ---- filling ---- */

struct pto_capture_task *pto_capture_add_task(struct pto_capture *capture, uint64_t id,
                                              const struct pto_capture_place *place) {
  struct pto_capture_task *task =
      pto_grow(&capture->tasks, &capture->task_count, &capture->task_capacity, sizeof *capture->tasks);
  if (!task) return NULL;
  task->id = id;
  task->place = *place;
  for (int role = 0; role < 3; role++) task->kernels[role] = -1;
  task->first_access = capture->access_count;
  return task;
}

struct pto_capture_edge *pto_capture_add_edge(struct pto_capture *capture, uint64_t from, uint64_t to,
                                              const struct pto_capture_place *place) {
  struct pto_capture_edge *edge =
      pto_grow(&capture->edges, &capture->edge_count, &capture->edge_capacity, sizeof *capture->edges);
  if (edge) *edge = (struct pto_capture_edge){.from = from, .to = to, .place = *place};
  return edge;
}

struct pto_capture_span *pto_capture_add_span(struct pto_capture *capture, uint64_t task, uint32_t core,
                                              const struct pto_capture_place *place) {
  struct pto_capture_span *span =
      pto_grow(&capture->spans, &capture->span_count, &capture->span_capacity, sizeof *capture->spans);
  if (span) *span = (struct pto_capture_span){.task = task, .core = core, .place = *place};
  return span;
}

struct pto_capture_submit *pto_capture_add_submit(struct pto_capture *capture, uint64_t task) {
  struct pto_capture_submit *submit =
      pto_grow(&capture->submits, &capture->submit_count, &capture->submit_capacity, sizeof *capture->submits);
  if (submit) submit->task = task;
  return submit;
}

bool pto_capture_set_core(struct pto_capture *capture, uint32_t core, uint32_t kind) {
  while (capture->core_count <= core)
    if (!pto_grow(&capture->cores, &capture->core_count, &capture->core_capacity, 1)) return false;
  if (kind) capture->cores[core] = (uint8_t)kind;
  return true;
}

#define A5_CLOCK_HZ 1000000000u

const char *pto_capture_chip(const struct pto_capture *capture) {
  return capture->clock_hz == 0 ? NULL : capture->clock_hz == A5_CLOCK_HZ ? "a5" : "a2a3";
}

bool pto_capture_suits(const struct pto_capture *capture, const char *chip) {
  static const char *const families[] = {"a5", "a2a3"};
  const char *const own = pto_capture_chip(capture);
  for (size_t i = 0; own && i < PTO_ARRAY_LENGTH(families); i++) {
    const size_t length = strlen(families[i]);
    const bool is_of_it = strncmp(chip, families[i], length) == 0 && (chip[length] == '\0' || chip[length] == '-');
    if (is_of_it && strcmp(own, families[i]) != 0) return false;
  }
  return true;
}
