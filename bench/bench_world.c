/* SPDX-License-Identifier: MIT */
/*
 * One question: what does a task cost in a world of many chips, where kernels are priced alone?
 *
 * One JSON line a number of ranks and rules: task_bench's stencil on a2a3, 15 971 tasks a rank (as DeepSeek's decode
 * step has), nothing recorded, nothing computed, no messages.  The samples are the processor time of all ranks' runs,
 * in nanoseconds, without the making of runtimes; ns_per_task is their median by tasks, and over_one how much that is
 * over one rank.  peak_mb is the most memory that the process has had so far.
 *
 *   bench_world [RANKS…]
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <bench/support/programs.h>
#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <pto/world.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define REPEATS 7
#define CHIP "a2a3"
#define TASKS 15971u
#define MOST_RANKS PTO_MAX_RANKS

struct job {
  uint32_t ranks, deps;
  struct pto_program_run *runs[MOST_RANKS];
  struct pto_runtime *runtimes[MOST_RANKS];
};

static int run_rank(struct pto_rank *rank, void *context) {
  const struct job *job = context;
  const uint32_t i = pto_rank_index(rank);
  const int status = pto_program_run_orchestrate(job->runs[i], job->runtimes[i]);
  if (status) pto_rank_set_error(rank, pto_program_run_error(job->runs[i])->sentence);
  return status;
}

static int make_rank(struct job *job, struct pto_world *world, const struct pto_program *program, uint32_t i) {
  static const char *const settings[] = {"pattern=stencil_1d", "tasks=15971"};
  const struct pto_program_request request = {.settings = settings, .setting_count = 2, .no_compute = true};
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = CHIP,
                                    .deps = job->deps,
                                    .no_compute = true,
                                    .rank = pto_world_rank(world, i)};
  struct pto_error error;
  int status = pto_program_run_create(program, &request, &job->runs[i], &error);
  if (status == PTO_OK) status = pto_program_run_prepare(job->runs[i]);
  return status == PTO_OK ? pto_runtime_create(&config, &job->runtimes[i]) : status;
}

/* Nanoseconds of processor time; negative: it failed. */
static double run(struct job *job, const struct pto_program *program) {
  const struct pto_world_config config = {.size = sizeof config, .ranks = job->ranks, .chip = CHIP};
  struct pto_world *world = NULL;
  char sentence[512] = "no memory";
  double ns = -1;
  int status = pto_world_create(&config, &world, sentence, sizeof sentence);
  for (uint32_t i = 0; i < job->ranks && status == PTO_OK; i++) status = make_rank(job, world, program, i);
  if (status == PTO_OK) {
    const double begin = pto_bench_cpu_ns();
    status = pto_world_run(world, run_rank, job);
    ns = pto_bench_cpu_ns() - begin;
    if (status) snprintf(sentence, sizeof sentence, "%s", pto_world_last_error(world));
  }
  for (uint32_t i = 0; i < job->ranks; i++) {
    pto_runtime_destroy(job->runtimes[i]);
    pto_program_run_destroy(job->runs[i]);
    job->runtimes[i] = NULL;
    job->runs[i] = NULL;
  }
  pto_world_destroy(world);
  if (status) fprintf(stderr, "bench_world: %u ranks: %s\n", job->ranks, sentence);
  return status ? -1 : ns;
}

static bool measure(struct job *job, const struct pto_program *program, double *one_ns) {
  struct pto_samples samples = {0};
  struct rusage usage;
  for (uint32_t i = 0; i < pto_bench_repeats(REPEATS); i++) {
    const double ns = run(job, program);
    if (ns < 0) return false;
    pto_samples_add(&samples, ns);
  }
  const double ns_per_task = pto_samples_median(&samples) / TASKS / job->ranks;
  if (job->ranks == 1) *one_ns = ns_per_task;
  getrusage(RUSAGE_SELF, &usage);
  struct pto_bench_line *line = pto_bench_line_begin("world", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "deps", job->deps == PTO_DEPS_EXACT ? "exact" : "pto");
  pto_bench_line_count(line, "ranks", job->ranks);
  pto_bench_line_count(line, "tasks", TASKS);
  pto_bench_line_real(line, "ns_per_task", ns_per_task);
  if (*one_ns > 0) pto_bench_line_real(line, "over_one", ns_per_task / *one_ns);
  pto_bench_line_count(line, "peak_mb", (uint64_t)usage.ru_maxrss / 1024);
  pto_bench_line_print(line, &samples);
  return true;
}

int main(int argc, char **argv) {
  static const uint32_t usual[] = {1, 16, 64};
  static const uint32_t rules[] = {PTO_DEPS_EXACT, PTO_DEPS_PTO};
  struct pto_loaded_program *loaded;
  struct pto_error error;
  pto_bench_find_programs(argv[0]);
  if (pto_program_load("task_bench", &loaded, &error)) {
    fprintf(stderr, "bench_world: %s\n", error.sentence);
    return 1;
  }
  static struct job job;
  bool is_good = true;
  const uint32_t count = argc > 1 ? (uint32_t)argc - 1 : 3;
  for (uint32_t r = 0; r < 2; r++) {
    double one_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
      job.deps = rules[r];
      job.ranks = argc > 1 ? (uint32_t)strtoul(argv[i + 1], NULL, 10) : usual[i];
      is_good &= job.ranks >= 1 && job.ranks <= MOST_RANKS && measure(&job, loaded->program, &one_ns);
    }
  }
  pto_program_unload(loaded);
  return is_good ? 0 : 1;
}
