/* SPDX-License-Identifier: MIT */
/*
 * One question: what does a task of an adopted program cost, its own kernels included, and how long would the chip
 * take?
 *
 * One JSON line a case and engine: tasks, wall nanoseconds a task from the begin of the orchestration to the drain, and
 * on the virtual engine the microseconds of the chip that the manifest names.  The cases are manifests below
 * build/adopted (or $PTO_ADOPTED), which `make adopt-test` leaves there; those that are not there are named and left
 * out.
 *
 * Beside other work threads wait for a CPU at each hand-over, and virtual time does not: compare the engines on a quiet
 * machine, or with `chrt -r 10`.
 *
 * The peer would be the existing runtime's own simulator.  It is not run: its build asks for g++ 15, which Debian 12
 * has not.
 *
 *   PTO_ISA=DIR bench_adopted
 */
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bench/support/bench_line.h>
#include <check/adopt/program.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>

#define RUNS 7

static const struct {
  const char *scene, *chosen;
} cases[] = {
    {"TestBenchmarkBgemm", "Bgemm64"},
    {"TestAlternatingMatmulAdd", "default"},
    {"TestPagedAttention", "CaseSmall1"},
    {"TestBatchPagedAttention", "CaseSmall1"},
};

static const char *const engines[] = {"threads", "virtual"};

static void print_result(const struct pto_adopted_program *adopted, const char *engine, const struct pto_stats *stats,
                         const struct pto_samples *ns) {
  struct pto_bench_line *line = pto_bench_line_begin("adopted", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "program", adopted->program.name);
  pto_bench_line_text(line, "engine", engine);
  pto_bench_line_text(line, "unit", "ns a task");
  pto_bench_line_count(line, "workers", stats->workers);
  pto_bench_line_count(line, "tasks", stats->tasks);
  pto_bench_line_real(line, "us_a_task", pto_samples_median(ns) / 1e3);
  pto_bench_line_real(line, "virtual_us", strcmp(engine, "virtual") == 0 ? (double)stats->virtual_ps / 1e6 : NAN);
  pto_bench_line_print(line, ns);
}

static int measure(const struct pto_adopted_program *adopted, struct pto_program_run *run, const char *engine) {
  struct pto_config config = adopted->config;
  struct pto_stats stats = {.size = sizeof stats};
  struct pto_samples ns = {.count = 0};
  struct pto_runtime *rt = NULL;
  config.engine = engine;
  int status = pto_runtime_create(&config, &rt);
  for (uint32_t i = 0; i < pto_bench_repeats(RUNS) && status == PTO_OK; i++) {
    pto_program_run_rewind(run);
    status = pto_program_run_orchestrate(run, rt);
    pto_runtime_stats(rt, &stats);
    if (status == PTO_OK) pto_samples_add(&ns, (double)stats.wall_ns / (double)stats.tasks);
  }
  pto_runtime_destroy(rt);
  if (status == PTO_OK) print_result(adopted, engine, &stats, &ns);
  return status;
}

/* Whether it went well. */
static bool bench(const char *manifest) {
  struct pto_adopted_program *adopted = NULL;
  struct pto_program_run *run = NULL;
  struct pto_error error = {0};
  const struct pto_program_request request = {.case_name = NULL};
  int status = pto_adopted_program_load(manifest, true, &adopted, &error);
  if (status == PTO_OK) status = pto_program_run_create(&adopted->program, &request, &run, &error);
  if (status == PTO_OK) status = pto_program_run_prepare(run);
  if (status == PTO_OK) status = pto_program_run_remember(run);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines) && status == PTO_OK; i++) status = measure(adopted, run, engines[i]);
  if (status)
    fprintf(stderr, "bench_adopted: %s: %s\n", manifest, run ? pto_program_run_error(run)->sentence : error.sentence);
  pto_program_run_destroy(run);
  pto_adopted_program_destroy(adopted);
  return status == PTO_OK;
}

/* The headers of the tree that this is built of. */
static void find_compat(const char *self) {
  char path[PATH_MAX];
  const char *slash = strrchr(self, '/');
  const int length = slash ? (int)(slash - self) : 1;
  if (snprintf(path, sizeof path, "%.*s/../../compat", length, slash ? self : ".") < PATH_MAX)
    setenv("PTO_COMPAT", path, 0);
}

int main(int argc, char **argv) {
  const char *named = getenv("PTO_ADOPTED");
  bool is_good = true;
  (void)argc;
  find_compat(argv[0]);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    char pattern[PATH_MAX];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/cases/*/%s-%s-a2a3-*/manifest.json",
             named && *named ? named : "build/adopted", cases[i].scene, cases[i].chosen);
    if (glob(pattern, 0, NULL, &found) == 0) {
      is_good &= bench(found.gl_pathv[0]);
      globfree(&found);
    } else {
      fprintf(stderr, "bench_adopted: there is no %s: make adopt-test leaves it there\n", pattern);
    }
  }
  return is_good ? 0 : 1;
}
