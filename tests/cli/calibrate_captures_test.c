/* SPDX-License-Identifier: MIT */
/*
 * `ptosim calibrate --capture` on captures with dependencies: a run of the virtual engine, on a chip whose numbers are
 * changed, is written as the existing runtime writes its runs.  A calibration that begins with other numbers must find
 * these, and the captured tasks must come out again: span within 5 %, heads and tails within 30 %.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <check/session/session.h>
#include <runtime/base/sanitizer.h>
#include <tests/support/ptosim_child.h>

#define TICK_PS UINT64_C(20000) /* 50 MHz */
/* Under the recorder of that file, and behind the end of the one before. */
#define HEAD_PS UINT64_C(850000)
#define PENDING_PS UINT64_C(990000)
#define CORES 72

/* The chip file a2a3-2026-04 with other numbers, recorded. */
static void put_chip(const char *path, bool has_phases) {
  const char *const changes[][2] = {{"kernel_start_ps", "kernel_start_ps = 700000"},
                                    {"slots_per_core", "slots_per_core = 2\nprofiling = on"},
                                    {"pending_start_ps", "pending_start_ps = 400000"},
                                    {"cold_start_ps", "cold_start_ps = 0"},
                                    {"submit", has_phases ? "submit = 700000" : "submit = 151000"}};
  char *text = pto_ptosim_read_file("sim/chips/a2a3-2026-04.ini"), key[64];
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    size_t i = 0;
    for (; i < sizeof changes / sizeof *changes; i++) {
      snprintf(key, sizeof key, "%s = ", changes[i][0]);
      if (strncmp(line, key, strlen(key)) == 0) break;
    }
    fprintf(file, "%s\n", i < sizeof changes / sizeof *changes ? changes[i][1] : line);
  }
  fclose(file);
  free(text);
}

static uint64_t ticks(uint64_t ps) { return 1000000 + ps / TICK_PS; }

static const char *dtype_of(const struct pto_tensor *tensor) {
  return tensor->dtype == PTO_FLOAT32 ? "FLOAT32" : tensor->dtype == PTO_BFLOAT16 ? "BFLOAT16" : "INT32";
}

/* What the task touches: outputs of its own have no tensor there. */
static void put_args(FILE *file, const struct pto_trace *trace, const struct pto_trace_task *task) {
  fputs("\"args\":[", file);
  for (uint64_t i = 0; i < task->param_count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, task->first_param + i);
    const struct pto_tensor *t = &param->tensor;
    fprintf(file, "%s{\"idx\":%lu,\"type\":\"%s\"", i ? "," : "", (unsigned long)i,
            param->mode == PTO_INPUT ? "INPUT" : "INOUT");
    fprintf(file, ",\"tensor_id\":\"%lu\",\"dtype\":\"%s\",\"start_offset\":\"%lu\"",
            (unsigned long)param->buffer_number * 16 + t->dtype, dtype_of(t), (unsigned long)t->start_offset);
    for (int what = 0; what < 2; what++) {
      fprintf(file, ",\"%s\":[", what ? "strides" : "shape");
      for (uint32_t d = 0; d < t->ndims; d++)
        fprintf(file, "%s%lu", d ? "," : "", (unsigned long)(what ? t->strides[d] : t->shape[d]));
      putc(']', file);
    }
    putc('}', file);
  }
  putc(']', file);
}

static void put_tensors(FILE *file, const struct pto_trace *trace) {
  uint64_t *told = calloc(trace->params.count + 1, sizeof *told), count = 0;
  for (uint64_t i = 0; i < trace->params.count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, i);
    const uint64_t id = param->buffer_number * 16 + param->tensor.dtype;
    uint64_t k = 0;
    while (k < count && told[k] != id) k++;
    if (k < count) continue;
    fprintf(file,
            "%s{\"tensor_id\":\"%lu\",\"buffer_addr\":\"%lu\",\"version\":0,\"dtype\":\"%s\","
            "\"buffer_numel\":\"268435456\"}",
            count ? "," : "", (unsigned long)id, (unsigned long)((param->buffer_number + 1) << 32),
            dtype_of(&param->tensor));
    told[count++] = id;
  }
  free(told);
}

/* The argument that a creator edge is of. */
static const struct pto_trace_param *param_of(const struct pto_trace *trace, const struct pto_trace_task *task,
                                              const struct pto_trace_edge *edge) {
  for (uint64_t i = 0; i < task->param_count; i++) {
    const struct pto_trace_param *param = pto_trace_log_at(&trace->params, task->first_param + i);
    if (param->buffer_number == edge->buffer_number) return param;
  }
  return NULL;
}

static void put_deps(const struct pto_trace *trace, const char *path) {
  FILE *file = fopen(path, "w");
  const char *comma = "";
  assert_non_null(file);
  fputs("{\"tasks\":[", file);
  for (uint64_t i = 0; i < trace->tasks.count; i++) {
    const struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, i);
    if (task->kind != PTO_TASK_KERNEL) continue; /* allocations are named by edges alone */
    fprintf(file, "%s{\"task_id\":\"%lu\",\"scope\":\"auto\",\"kernel_ids\":[%d,%d,%d],\"block_num\":%u,", comma,
            (unsigned long)i, task->kernels[0] ? 1 : -1, task->kernels[1] ? 2 : -1, task->kernels[2] ? 3 : -1,
            task->block_count);
    put_args(file, trace, task);
    putc('}', file);
    comma = ",";
  }
  fputs("],\"tensors\":[", file);
  put_tensors(file, trace);
  fputs("],\"edges\":[", file);
  comma = "";
  for (uint64_t i = 0; i < trace->edges.count; i++) {
    const struct pto_trace_edge *edge = pto_trace_log_at(&trace->edges, i);
    const struct pto_trace_task *consumer = pto_trace_log_at(&trace->tasks, edge->consumer);
    const struct pto_trace_param *made = edge->reason == PTO_EDGE_CREATOR ? param_of(trace, consumer, edge) : NULL;
    if (!made && !edge->is_first) continue;
    fprintf(file, "%s{\"pred\":\"%lu\",\"succ\":\"%lu\",\"flags\":[\"wait\"],\"strides\":[],", comma,
            (unsigned long)edge->producer, (unsigned long)edge->consumer);
    if (made)
      fprintf(file, "\"arg\":%lu,\"source\":\"creator\",\"tensor_id\":\"%lu\"}",
              (unsigned long)(made -
                              (const struct pto_trace_param *)pto_trace_log_at(&trace->params, consumer->first_param)),
              (unsigned long)(made->buffer_number * 16 + made->tensor.dtype));
    else
      fputs("\"arg\":-1,\"source\":\"explicit\"}", file);
    comma = ",";
  }
  fputs("]}\n", file);
  fclose(file);
}

/* When a scheduler had taken in the n-th end of each core. */
static uint64_t finish_of(const struct pto_trace *trace, uint32_t core, uint32_t n) {
  for (uint64_t i = 0; i < trace->samples.count; i++) {
    const struct pto_trace_sample *sample = pto_trace_log_at(&trace->samples, i);
    if (sample->taken_core == core + 1 && n-- == 0) return sample->taken_time;
  }
  return 0;
}

static void put_records(const struct pto_trace *trace, bool has_phases, const char *path) {
  uint64_t ended[CORES] = {0}; /* the last kernel of each core */
  uint32_t had[CORES] = {0};
  char *messages = NULL;
  size_t size = 0;
  FILE *file = fopen(path, "w"), *seen = open_memstream(&messages, &size);
  assert_non_null(file);
  fputs("{\"chip_swimlane_level\":4,\"metadata\":{\"clock_freq_hz\":50000000,\"core_types\":[", file);
  for (uint32_t core = 0; core < CORES; core++) fprintf(file, "%s\"%s\"", core ? "," : "", core % 3 ? "aiv" : "aic");
  fputs("]},\"aicore_tasks\":[", file);
  for (uint64_t i = 0; i < trace->spans[0].count; i++) {
    const struct pto_trace_span *span = pto_trace_log_at(&trace->spans[0], i);
    const uint32_t core = span->core;
    const bool waited =
        had[core] && span->begin - ended[core] <= PENDING_PS; /* it lay there while the one before ran */
    const uint64_t dispatch = waited ? ended[core] - TICK_PS : span->begin - HEAD_PS;
    const uint64_t finish = finish_of(trace, core, had[core]);
    assert_true(finish >= span->end);
    fprintf(file, "%s[%u,%u,%u,%lu,%lu]", i ? "," : "", core, span->task, had[core], ticks(span->begin),
            ticks(span->end));
    fprintf(seen, "%s[%u,%u,%lu,%lu]", i ? "," : "", core, had[core], ticks(dispatch), ticks(finish));
    ended[core] = span->end;
    had[core]++;
  }
  fclose(seen);
  fprintf(file, "],\"aicpu_tasks\":[%s]", messages);
  free(messages);
  if (has_phases) {
    const char *comma = ",\"aicpu_orchestrator_phases\":[[";
    for (uint64_t i = 0; i < trace->control.count; i++) {
      const struct pto_trace_control *record = pto_trace_log_at(&trace->control, i);
      if (record->activity != PTO_CONTROL_SUBMIT) continue;
      fprintf(file, "%s{\"submit_idx\":%lu,\"task_id\":%u,\"start_cycles\":%lu,\"end_cycles\":%lu}", comma,
              (unsigned long)i, record->task, ticks(record->begin), ticks(record->end));
      comma = ",";
    }
    fputs("]]", file);
  }
  fputs("}\n", file);
  fclose(file);
}

/* The run, as deps.json and records.json. */
static void put_run(const char *program, const char *case_name, bool has_phases) {
  char *const chip = strdup(pto_ptosim_path("mine.ini")), *const deps = strdup(pto_ptosim_path("deps.json"));
  char path[512];
  snprintf(path, sizeof path, "%s/programs/%s.so", pto_ptosim_build(), program);
  put_chip(chip, has_phases);
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = chip,
                                    .deps = PTO_DEPS_PTO,
                                    .record = PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE,
                                    .no_compute = true};
  const struct pto_session_options options = {.size = sizeof options,
                                              .program = path,
                                              .case_name = case_name,
                                              .config = &config,
                                              .has_deps = true,
                                              .small_inputs = true};
  struct pto_session *session = calloc(1, sizeof *session);
  if (pto_session_init(session, &options)) fail_msg("%s", session->result.error.sentence);
  if (pto_session_execute(session)) fail_msg("%s", session->result.error.sentence);
  put_deps(pto_session_trace(session), deps);
  put_records(pto_session_trace(session), has_phases, pto_ptosim_path("records.json"));
  pto_session_fini(session);
  free(session);
  free(chip);
  free(deps);
}

static void calibrate(const char *program, const char *case_name, bool has_phases) {
  if (PTO_HAS_TSAN) skip(); /* its address space has no room for pools of real size */
  char *const deps = strdup(pto_ptosim_path("deps.json")), *const run = strdup(pto_ptosim_path("run.json"));
  put_run(program, case_name, has_phases);
  if (pto_ptosim_run("import %s %s -o %s", deps, pto_ptosim_path("records.json"), run))
    fail_msg("%s", pto_ptosim_last.err);
  if (pto_ptosim_run("calibrate --chip a2a3-2026-04 --capture %s -o %s", run, pto_ptosim_path("found.ini")))
    fail_msg("%s", pto_ptosim_last.err);
  free(deps);
  free(run);
}

static long found(const char *key) {
  char *text = pto_ptosim_read_file(pto_ptosim_path("found.ini")), line[64];
  snprintf(line, sizeof line, "\n%s = ", key);
  const char *at = strstr(text, line);
  const long value = at ? atol(at + strlen(line)) : -1;
  free(text);
  return value;
}

static void assert_comes_out(const char *what, const char *limit) {
  char *line = strstr(pto_ptosim_last.out, what);
  if (!line) fail_msg("no \"%s\" in: %s", what, pto_ptosim_last.out);
  char *end = strchr(line, '\n');
  *end = '\0';
  if (!strstr(line, limit)) fail_msg("%s", line);
  *end = '\n';
}

static void assert_near(const char *key, long expected) {
  const long is = found(key);
  if (labs(is - expected) > (long)TICK_PS) fail_msg("%s is %ld, not %ld", key, is, expected);
}

static void assert_all_comes_out(void) {
  assert_comes_out("run.json, span", "within 5 %: yes");
  assert_comes_out("head of a free core (p50)", "within 30 %: yes");
  assert_comes_out("tail (p50)", "within 30 %: yes");
  assert_near("kernel_start_ps", 700000);
}

/* Its prices are those of the chip that it begins with: where a capture has no calls, it says nothing of them. */
static void test_a_capture_without_the_orchestrators_calls_comes_out_again(void **state) {
  calibrate("paged_attention_unroll", "C2", false);
  assert_all_comes_out();
  assert_near("pending_start_ps", 400000);
  assert_near("submit", 151000);
  calibrate("bgemm", "C0", false);
  assert_all_comes_out();
}

static void test_captured_calls_give_the_price_of_a_submit_and_its_times(void **state) {
  static const struct { const char *program, *case_name; } runs[] = {{"paged_attention_unroll", "C2"}, {"bgemm", "C0"}};
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    calibrate(runs[i].program, runs[i].case_name, true);
    assert_all_comes_out();
    assert_near("submit", 700000);
    assert_near("alloc_tensors", 501000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_capture_without_the_orchestrators_calls_comes_out_again),
      cmocka_unit_test(test_captured_calls_give_the_price_of_a_submit_and_its_times),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
