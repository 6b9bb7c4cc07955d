/* SPDX-License-Identifier: MIT */
#include <check/calibrate/benchmark.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check/session/session.h>

static const struct pto_benchmark benchmarks[] = {
    {"alternating C1", "alternating_matmul_add", "C1", PTO_DEPS_PTO, 0, 0},
    {"PAU C1", "paged_attention_unroll", "C1", PTO_DEPS_PTO, 256, 8192},
    {"PAU C2", "paged_attention_unroll", "C2", PTO_DEPS_PTO, 64, 8192},
    {"BPA C1", "batch_paged_attention", "C1", PTO_DEPS_PTO, 256, 8192},
    {"HBG PA", "paged_attention", "256x16x128x128x8192", PTO_DEPS_EXACT, 256, 8192},
    {"bgemm C0", "bgemm", "C0", PTO_DEPS_PTO, 0, 0},
    {"sliding_window_deps", "sliding_window_deps", "C0", PTO_DEPS_PTO, 0, 0},
};

const struct pto_benchmark *pto_benchmark_at(uint32_t index) {
  return index < PTO_ARRAY_LENGTH(benchmarks) ? &benchmarks[index] : NULL;
}

const struct pto_benchmark *pto_benchmark_find(const char *row) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(benchmarks); i++)
    if (strcmp(benchmarks[i].row, row) == 0) return &benchmarks[i];
  return NULL;
}

/* ---- files for a run ---- */

static FILE *open_new(char *path, const char *pattern, struct pto_error *error) {
  strcpy(path, pattern);
  const int fd = mkstemp(path);
  FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
  if (!file) pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(errno));
  return file;
}

int pto_benchmark_write_chip(const struct pto_chip_sheet *sheet, char *path, struct pto_error *error) {
  FILE *file = open_new(path, "/tmp/pto-calibrate-chip-XXXXXX", error);
  if (!file) return PTO_ESYSTEM;
  pto_chip_sheet_write(sheet, file);
  return fclose(file) ? pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(errno)) : PTO_OK;
}

static int write_values(const struct pto_benchmark *benchmark, char *path, struct pto_error *error) {
  FILE *file = open_new(path, "/tmp/pto-calibrate-lens-XXXXXX", error);
  if (!file) return PTO_ESYSTEM;
  fputs("{\"format\":\"pto-values\",\"version\":1,\"values\":[{\"array\":\"context_lens\",\"values\":[", file);
  for (uint32_t i = 0; i < benchmark->requests; i++) fprintf(file, "%s%u", i ? "," : "", benchmark->context_len);
  fputs("]}]}\n", file);
  return fclose(file) ? pto_error_set(error, PTO_ESYSTEM, "%s: %s", path, strerror(errno)) : PTO_OK;
}

/* ---- runs ---- */

static uint64_t orchestrator_end(const struct pto_trace *trace) {
  uint64_t end = 0;
  for (uint64_t i = 0; i < trace->control.count; i++) {
    const struct pto_trace_control *record = pto_trace_log_at(&trace->control, i);
    if (record->activity != PTO_CONTROL_WAIT || record->stall != PTO_STALL_drain) end = pto_max_u64(end, record->end);
  }
  return end;
}

static int run_session(const struct pto_session_options *options, struct pto_benchmark_times *times,
                       struct pto_error *error) {
  struct pto_session *session = calloc(1, sizeof *session);
  if (!session) return pto_error_set(error, PTO_ENOMEM, "no memory for a run");
  int code = pto_session_init(session, options);
  if (code == PTO_EXIT_OK) code = pto_session_execute(session);
  int status = PTO_OK;
  if (code != PTO_EXIT_OK) {
    status = session->result.error.status ? session->result.error.status : PTO_EINVAL;
    pto_error_set(error, status, "%s %s: %s", options->program, options->case_name ? options->case_name : "",
                  session->result.error.sentence);
  } else {
    const uint64_t begin = session->chip.handshake_ps, end = orchestrator_end(pto_session_trace(session));
    *times = (struct pto_benchmark_times){.makespan_ps = session->result.stats.virtual_ps - begin,
                                          .orchestrator_ps = end > begin ? end - begin : 0,
                                          .tasks = session->result.stats.tasks,
                                          .edges = session->result.stats.edges};
  }
  pto_session_fini(session);
  free(session);
  return status;
}

int pto_benchmark_run(const struct pto_benchmark *benchmark, const struct pto_chip_sheet *sheet, uint64_t heap_bytes,
                      struct pto_benchmark_times *times, struct pto_error *error) {
  char chip_path[64] = "", values_path[64] = "";
  int status = pto_benchmark_write_chip(sheet, chip_path, error);
  if (!status && benchmark->requests) status = write_values(benchmark, values_path, error);
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = chip_path,
                                    .deps = benchmark->deps,
                                    .heap_bytes = heap_bytes,
                                    .no_compute = true};
  const struct pto_session_options options = {.size = sizeof options,
                                              .program = benchmark->program,
                                              .case_name = benchmark->case_name,
                                              .config = &config,
                                              .has_deps = true,
                                              .values = values_path[0] ? values_path : NULL,
                                              .assume_zero = true};
  if (!status) status = run_session(&options, times, error);
  if (chip_path[0]) unlink(chip_path);
  if (values_path[0]) unlink(values_path);
  return status;
}
