/* SPDX-License-Identifier: MIT */
/*
 * One question: what does it save to keep a KV cache on the device?
 *
 * One JSON line an engine and mode of the program kv_cache (docs/kv-cache.md): nanoseconds a step on the clock, from
 * the first call on the context to the end of the last one (median and minimum of RUNS runs, the modes in turns), the
 * bytes that crossed the host link, and the virtual time of the a2a3, which has a host link that costs something: on
 * threads a transfer is a copy in this process's memory.  `speedup` is the time of mode host over this one's, of the
 * medians (virtual time where there is one).  All modes and runs must leave the same bytes, or the bench fails.
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
#define STEPS 256

static const char *const modes[] = {"host", "pingpong", "inplace"}; /* the first is what others are compared with */
static const char *const engines[] = {"threads", "virtual"};
enum { MODES = PTO_ARRAY_LENGTH(modes), ENGINES = PTO_ARRAY_LENGTH(engines) };

struct measured {
  struct pto_samples ns_per_step;
  struct pto_context_counters counters;
  uint32_t workers;
};

static int fail(const char *what, const char *sentence) {
  fprintf(stderr, "bench_kv_cache: %s: %s\n", what, sentence);
  return -1;
}

/* One run in a context of its own; *digest is that of the first of all. */
static int measure(const struct pto_program *program, const char *engine, const char *mode, struct measured *measured,
                   uint64_t *digest) {
  char chosen[64];
  snprintf(chosen, sizeof chosen, "mode=%s", mode);
  const char *const settings[] = {chosen, "steps=256", "check=false"};
  const struct pto_config config = {.size = sizeof config, .engine = engine, .chip = "a2a3"};
  const struct pto_program_request request = {
      .settings = settings, .setting_count = PTO_ARRAY_LENGTH(settings), .config = &config};
  struct pto_program_run *run = NULL;
  struct pto_error error = {0};
  if (pto_program_run_create(program, &request, &run, &error)) return fail(mode, error.sentence);
  int status = pto_program_run_prepare(run);
  if (status == PTO_OK) status = pto_program_run_orchestrate(run, NULL);
  const struct pto_context_counters *counters = pto_program_run_counters(run, &measured->workers);
  if (status == PTO_OK && !counters) status = PTO_EINVAL;
  if (status == PTO_OK) {
    measured->counters = *counters;
    pto_samples_add(&measured->ns_per_step, (double)counters->wall_ns / STEPS);
    if (*digest == 0) *digest = pto_program_run_digest(run);
    if (pto_program_run_digest(run) != *digest) status = fail(mode, "other bytes than the first run");
  } else {
    (void)fail(mode, pto_program_run_error(run)->sentence);
  }
  pto_program_run_destroy(run);
  return status;
}

static double time_of(const struct measured *measured, const char *engine) {
  if (strcmp(engine, "virtual") == 0) return (double)measured->counters.virtual_ps;
  return pto_samples_median(&measured->ns_per_step);
}

static void print_engine(const char *engine, const struct measured *of_mode) {
  for (uint32_t m = 0; m < MODES; m++) {
    const struct measured *one = &of_mode[m];
    struct pto_bench_line *line = pto_bench_line_begin("kv_cache", PTO_BENCH_SYSTEM);
    const bool is_virtual = strcmp(engine, "virtual") == 0;
    pto_bench_line_text(line, "pattern", modes[m]);
    pto_bench_line_text(line, "engine", engine);
    pto_bench_line_count(line, "workers", one->workers);
    pto_bench_line_count(line, "steps", STEPS);
    pto_bench_line_count(line, "h2d_bytes", one->counters.h2d_bytes);
    pto_bench_line_count(line, "d2h_bytes", one->counters.d2h_bytes);
    pto_bench_line_count(line, "d2d_bytes", one->counters.d2d_bytes);
    pto_bench_line_real(line, "virtual_us", is_virtual ? (double)one->counters.virtual_ps / 1e6 : NAN);
    pto_bench_line_real(line, "speedup", time_of(&of_mode[0], engine) / time_of(one, engine));
    pto_bench_line_print(line, &one->ns_per_step);
  }
}

int main(int argc, char **argv) {
  static struct measured measured[ENGINES][MODES];
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error = {0};
  uint64_t digest = 0;
  int status = PTO_OK;
  pto_bench_find_programs(argv[0]);
  if (pto_program_load("kv_cache", &loaded, &error)) return fail("kv_cache", error.sentence) != 0;
  for (uint32_t i = 0; i < pto_bench_repeats(RUNS) && status == PTO_OK; i++)
    for (uint32_t k = 0; k < ENGINES * MODES && status == PTO_OK; k++)
      status = measure(loaded->program, engines[k / MODES], modes[k % MODES], &measured[k / MODES][k % MODES], &digest);
  for (uint32_t e = 0; e < ENGINES && status == PTO_OK; e++) print_engine(engines[e], measured[e]);
  pto_program_unload(loaded);
  return status != PTO_OK;
}
