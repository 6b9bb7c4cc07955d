/* SPDX-License-Identifier: MIT */
/*
 * One question: how many tasks a second go through programs of real size, kernels included, and how long would the chip
 * take?
 *
 * One JSON line a program, case, dtype and engine: tasks, edges, wall seconds from the begin of the orchestration to
 * the drain (median and minimum of RUNS runs from the same inputs, which are made once), tasks a second of the median,
 * and on the virtual engine the microseconds of the a2a3.  The peer of the threads engine is the same with one thread,
 * in the same process.  Every run must leave the bytes of the first, or the line says "same_bytes": false and the bench
 * fails; goldens are the tests' to compute.
 *
 *   bench_workloads [PROGRAM]      all of the list, or those of one program
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bench/support/bench_line.h>
#include <bench/support/programs.h>
#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>

#define RUNS 7

/* The large cases of every program that has one; `setting` NULL: as the case says. */
static const struct {
  const char *program, *chosen, *setting;
} workloads[] = {
    {"paged_attention", "64x16x128x128x8192", NULL},
    {"paged_attention", "256x16x128x128x8192", NULL},
    {"paged_attention", "256x16x128x128x8192", "dtype=fp16"},
    {"paged_attention", "256x16x128x128x8192", "dtype=bf16"},
    {"paged_attention_manual", "256x16x128x128x8192", NULL},
    {"paged_attention_ringbuffer", "32x16x128x128x4096", NULL},
    {"paged_attention_unroll", "256x16x128x128x8192", NULL},
    {"batch_paged_attention", "256x16x128x128x8192", NULL},
    {"bgemm", "500x128x2", NULL},
    {"alternating_matmul_add", "500x4x4", NULL},
    {"moe", "1024x32x4", NULL},
    {"moe", "1024x32x4", "dtype=bf16"},
    {"softmax_layernorm_mlp", "512x1024", NULL},
    {"softmax_layernorm_mlp", "512x1024", "dtype=bf16"},
};

struct engine {
  const char *name;
  uint32_t workers; /* 0: the CPUs of the process */
};
static const struct engine engines[] = {{"threads", 1}, {"threads", 0}, {"virtual", 0}};

static bool is_good = true;

static int fail(const char *program, const char *chosen, const char *sentence) {
  fprintf(stderr, "bench_workloads: %s %s: %s\n", program, chosen, sentence);
  is_good = false;
  return -1;
}

static int make_runtime(const struct pto_program *program, const struct engine *engine, struct pto_runtime **rt_out) {
  struct pto_config config = {0};
  if (program->config != NULL) memcpy(&config, program->config, pto_min_u64(program->config->size, sizeof config));
  config.size = sizeof config;
  config.engine = engine->name;
  config.chip = "a2a3";
  config.workers = engine->workers;
  return pto_runtime_create(&config, rt_out);
}

static void print_result(const struct pto_program_run *run, const struct engine *engine, const char *setting,
                         const struct pto_stats *stats, bool is_same, const struct pto_samples *seconds) {
  struct pto_bench_line *line = pto_bench_line_begin("workloads", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "program", pto_program_run_program(run)->name);
  pto_bench_line_text(line, "case", pto_program_run_case(run)->name);
  pto_bench_line_text(line, "set", setting ? setting : "");
  pto_bench_line_text(line, "engine", engine->name);
  pto_bench_line_text(line, "unit", "seconds");
  pto_bench_line_count(line, "workers", stats->workers);
  pto_bench_line_count(line, "tasks", stats->tasks);
  pto_bench_line_count(line, "edges", stats->edges);
  pto_bench_line_real(line, "seconds", pto_samples_median(seconds));
  pto_bench_line_real(line, "tasks_per_second", (double)stats->tasks / pto_samples_median(seconds));
  pto_bench_line_real(line, "virtual_us", strcmp(engine->name, "virtual") == 0 ? (double)stats->virtual_ps / 1e6 : NAN);
  pto_bench_line_bool(line, "same_bytes", is_same);
  pto_bench_line_print(line, seconds);
}

/* RUNS runs of what is prepared; *digest is that of the first run of all engines. */
static int measure(struct pto_program_run *run, const struct engine *engine, const char *setting, uint64_t *digest) {
  const struct pto_program *program = pto_program_run_program(run);
  const char *chosen = pto_program_run_case(run)->name;
  struct pto_stats stats = {.size = sizeof stats};
  struct pto_runtime *rt = NULL;
  struct pto_samples seconds = {.count = 0};
  bool is_same = true;
  if (make_runtime(program, engine, &rt) != PTO_OK) return fail(program->name, chosen, "no runtime");
  for (uint32_t i = 0; i < pto_bench_repeats(RUNS); i++) {
    pto_program_run_rewind(run);
    if (pto_program_run_orchestrate(run, rt) != PTO_OK) {
      pto_runtime_destroy(rt);
      return fail(program->name, chosen, pto_program_run_error(run)->sentence);
    }
    pto_runtime_stats(rt, &stats);
    pto_samples_add(&seconds, (double)stats.wall_ns / 1e9);
    if (*digest == 0) *digest = pto_program_run_digest(run);
    is_same &= pto_program_run_digest(run) == *digest;
  }
  pto_runtime_destroy(rt);
  print_result(run, engine, setting, &stats, is_same, &seconds);
  is_good &= is_same;
  return 0;
}

static void bench(const char *name, const char *chosen, const char *setting) {
  const struct pto_program_request request = {
      .case_name = chosen, .settings = &setting, .setting_count = setting != NULL};
  struct pto_loaded_program *loaded = NULL;
  struct pto_program_run *run = NULL;
  struct pto_error error = {0};
  uint64_t digest = 0;
  int status = pto_program_load(name, &loaded, &error);
  if (status == PTO_OK) status = pto_program_run_create(loaded->program, &request, &run, &error);
  if (status == PTO_OK) status = pto_program_run_prepare(run);
  if (status == PTO_OK) status = pto_program_run_remember(run);
  if (status != PTO_OK) (void)fail(name, chosen, run ? pto_program_run_error(run)->sentence : error.sentence);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines) && status == PTO_OK; i++)
    status = measure(run, &engines[i], setting, &digest);
  pto_program_run_destroy(run);
  pto_program_unload(loaded);
}

int main(int argc, char **argv) {
  pto_bench_find_programs(argv[0]);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(workloads); i++)
    if (argc < 2 || strcmp(argv[1], workloads[i].program) == 0)
      bench(workloads[i].program, workloads[i].chosen, workloads[i].setting);
  return is_good ? 0 : 1;
}
