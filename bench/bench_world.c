/* SPDX-License-Identifier: MIT */
/*
 * Two questions: what does a task cost in a world of many chips, where kernels are priced alone, and what do two
 * threads gain where kernels compute?
 *
 * First one JSON line a number of ranks, of threads of the world, and rules: task_bench's stencil on a2a3, 15 971 tasks
 * a rank (as DeepSeek's decode step has), nothing recorded, nothing computed, no messages.  The samples are the
 * processor time of all ranks' runs, in nanoseconds, without the making of runtimes, of several threads that of the one
 * that took longest; step_ms is their median, ns_per_task that by tasks, and over_one how much that is over one rank.
 * peak_mb is the most memory that the process has had so far.  The aims are those of 16 ranks. A last line has a
 * million tasks on one rank.
 *
 * Then one line a program and threads of the world; the samples are the wall time of all ranks' runs, and the two
 * numbers of threads take turns.  Of two threads, over_one is one's median by this one; the aim is of this, and of
 * programs whose kernels compute, for 0.2 s and more.  A shorter run measures how ranks begin: the first write to a
 * page that was read before interrupts the other CPU, up to 256 times a rank, and on a virtual machine a page that the
 * host has not given it yet takes 25 times as long.  windows says how often all threads met.  On a loaded machine wall
 * time says little.  So cpu_over_one is the same of processor time: between two visits that of the thread that took
 * longest, which is what the run takes where each thread has a CPU of its own.  cpu_total is the processor time of all
 * threads over that of one thread, and balance what of the threads' time they work, the rest being waits for the
 * longest of a window: cpu_over_one = threads · balance / cpu_total, but for medians.
 *
 *   bench_world [RANKS…]   RANKS: the first question alone
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <bench/support/programs.h>
#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <world/world_state.h>

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define REPEATS 7
#define CHIP "a2a3"
#define TASKS "15971"
#define MANY_TASKS "1000000"
#define MOST_RANKS PTO_MAX_RANKS
#define MOST_SETTINGS 3u
#define MOST_THREADS 2u
#define AIM_RANKS 16u
#define GAIN_AIM 1.7 /* of two threads, where kernels compute */

struct workload {
  const char *program;
  const char *settings[MOST_SETTINGS];
  uint32_t ranks, deps;
  bool is_priced;  /* nothing is computed */
  double gain_aim; /* of two threads; 0: what the kernels do is to move memory */
};

struct job {
  struct workload workload;
  uint32_t threads;
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

/* ---- what the threads of a world take between two visits ---- */

static struct {
  bool (*meet)(struct pto_exchange *exchange, struct pto_exchange_visit *visit, bool is_well);
  uint32_t threads;
  struct {
    _Alignas(PTO_CACHE_LINE) double begin_ns, took_ns[2]; /* of this visit and of the one before */
    uint32_t visits;
  } parts[MOST_THREADS];
  double critical_ns, total_ns;
} visits;

/* The others' took_ns are read before any can come to the visit after the next. */
static bool meet(struct pto_exchange *exchange, struct pto_exchange_visit *visit, bool is_well) {
  const uint32_t turn = visits.parts[visit->part].visits++ % 2;
  const double now_ns = pto_bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  visits.parts[visit->part].took_ns[turn] = now_ns - visits.parts[visit->part].begin_ns;
  is_well = visits.meet(exchange, visit, is_well);
  visits.parts[visit->part].begin_ns = pto_bench_clock_ns(CLOCK_THREAD_CPUTIME_ID); /* a thread spins as it waits */
  if (visit->part > 0) return is_well;
  double most_ns = 0;
  for (uint32_t i = 0; i < visits.threads; i++) {
    visits.total_ns += visits.parts[i].took_ns[turn];
    if (visits.parts[i].took_ns[turn] > most_ns) most_ns = visits.parts[i].took_ns[turn];
  }
  visits.critical_ns += most_ns;
  return is_well;
}

static void watch_visits(struct pto_world *world, uint32_t threads) {
  memset(&visits, 0, sizeof visits);
  visits.threads = threads;
  visits.meet = world->exchange->meet;
  visits.parts[0].begin_ns = pto_bench_clock_ns(CLOCK_THREAD_CPUTIME_ID); /* other threads begin at 0 */
  world->exchange->meet = meet;
}

/* ---- one run ---- */

static int make_rank(struct job *job, struct pto_world *world, const struct pto_program *program, uint32_t i) {
  const struct workload *workload = &job->workload;
  uint32_t setting_count = 0;
  while (setting_count < MOST_SETTINGS && workload->settings[setting_count]) setting_count++;
  const struct pto_program_request request = {.settings = workload->settings,
                                              .setting_count = setting_count,
                                              .no_compute = workload->is_priced,
                                              .rank = i,
                                              .rank_count = workload->ranks};
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = CHIP,
                                    .deps = workload->deps,
                                    .no_compute = workload->is_priced,
                                    .rank = pto_world_rank(world, i)};
  struct pto_error error;
  int status = pto_program_run_create(program, &request, &job->runs[i], &error);
  if (status == PTO_OK) status = pto_program_run_prepare(job->runs[i]);
  return status == PTO_OK ? pto_runtime_create(&config, &job->runtimes[i]) : status;
}

/* Nanoseconds of wall time, with `visits` those of processor time; negative: it failed. */
static double run(struct job *job, const struct pto_program *program) {
  const struct pto_world_config config = {
      .size = sizeof config, .ranks = job->workload.ranks, .chip = CHIP, .threads = job->threads};
  struct pto_world *world = NULL;
  char sentence[512] = "no memory";
  double ns = -1;
  int status = pto_world_create(&config, &world, sentence, sizeof sentence);
  for (uint32_t i = 0; i < job->workload.ranks && status == PTO_OK; i++) status = make_rank(job, world, program, i);
  if (status == PTO_OK) {
    watch_visits(world, job->threads);
    const double begin = pto_bench_clock_ns(CLOCK_MONOTONIC);
    status = pto_world_run(world, run_rank, job);
    ns = pto_bench_clock_ns(CLOCK_MONOTONIC) - begin;
    if (status) snprintf(sentence, sizeof sentence, "%s", pto_world_last_error(world));
  }
  for (uint32_t i = 0; i < job->workload.ranks; i++) {
    pto_runtime_destroy(job->runtimes[i]);
    pto_program_run_destroy(job->runs[i]);
    job->runtimes[i] = NULL;
    job->runs[i] = NULL;
  }
  pto_world_destroy(world);
  if (status) fprintf(stderr, "bench_world: %s, %u ranks: %s\n", job->workload.program, job->workload.ranks, sentence);
  return status ? -1 : ns;
}

/* ---- what a task costs ---- */

static bool measure_tasks(struct job *job, const struct pto_program *program, const char *tasks, double *one_ns) {
  static const double aims_ms[] = {[PTO_DEPS_EXACT] = 60, [PTO_DEPS_PTO] = 100};
  char setting[32];
  struct pto_samples samples = {0};
  struct rusage usage;
  snprintf(setting, sizeof setting, "tasks=%s", tasks);
  job->workload.settings[1] = setting;
  for (uint32_t i = 0; i < pto_bench_repeats(REPEATS); i++) {
    if (run(job, program) < 0) return false;
    pto_samples_add(&samples, visits.critical_ns);
  }
  const double ns_per_task = pto_samples_median(&samples) / strtod(tasks, NULL) / job->workload.ranks;
  if (job->workload.ranks == 1 && *one_ns == 0) *one_ns = ns_per_task;
  getrusage(RUSAGE_SELF, &usage);
  struct pto_bench_line *line = pto_bench_line_begin("world", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "deps", job->workload.deps == PTO_DEPS_EXACT ? "exact" : "pto");
  pto_bench_line_count(line, "ranks", job->workload.ranks);
  pto_bench_line_count(line, "threads", job->threads);
  pto_bench_line_count(line, "tasks", strtoul(tasks, NULL, 10));
  pto_bench_line_real(line, "step_ms", pto_samples_median(&samples) / 1e6);
  pto_bench_line_real(line, "step_aim_ms", job->workload.ranks == AIM_RANKS ? aims_ms[job->workload.deps] : 0);
  pto_bench_line_real(line, "ns_per_task", ns_per_task);
  if (*one_ns > 0) pto_bench_line_real(line, "over_one", ns_per_task / *one_ns);
  pto_bench_line_count(line, "peak_mb", (uint64_t)usage.ru_maxrss / 1024);
  pto_bench_line_print(line, &samples);
  return true;
}

static struct job job;

static bool measure_world_sizes(int argc, char **argv) {
  static const uint32_t usual[] = {1, 16, 64};
  static const uint32_t rules[] = {PTO_DEPS_EXACT, PTO_DEPS_PTO};
  const uint32_t count = argc > 1 ? (uint32_t)argc - 1 : PTO_ARRAY_LENGTH(usual);
  struct pto_loaded_program *loaded;
  struct pto_error error;
  bool is_good = true;
  if (pto_program_load("task_bench", &loaded, &error)) {
    fprintf(stderr, "bench_world: %s\n", error.sentence);
    return false;
  }
  for (uint32_t r = 0; r < PTO_ARRAY_LENGTH(rules); r++) {
    double one_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
      job.workload = (struct workload){.program = "task_bench",
                                       .settings = {"pattern=stencil_1d"},
                                       .ranks = argc > 1 ? (uint32_t)strtoul(argv[i + 1], NULL, 10) : usual[i],
                                       .deps = rules[r],
                                       .is_priced = true};
      const uint32_t ranks = job.workload.ranks;
      is_good &= ranks >= 1 && ranks <= MOST_RANKS;
      for (job.threads = 1; is_good && job.threads <= MOST_THREADS && job.threads <= ranks; job.threads++)
        is_good = measure_tasks(&job, loaded->program, TASKS, &one_ns);
    }
    job.workload.ranks = job.threads = 1;
    if (argc == 1) is_good &= measure_tasks(&job, loaded->program, MANY_TASKS, &one_ns);
  }
  pto_program_unload(loaded);
  return is_good;
}

/* ---- what threads gain ---- */

/* By threads - 1. */
struct gains {
  struct pto_samples wall_ns[MOST_THREADS], critical_ns[MOST_THREADS], total_ns[MOST_THREADS];
  uint32_t windows[MOST_THREADS];
};

static void print_gains(const struct workload *workload, const struct gains *gains) {
  for (uint32_t i = 0; i < MOST_THREADS; i++) {
    struct pto_bench_line *line = pto_bench_line_begin("world_threads", PTO_BENCH_SYSTEM);
    pto_bench_line_text(line, "program", workload->program);
    pto_bench_line_text(line, "setting", workload->settings[0] ? workload->settings[0] : "");
    pto_bench_line_count(line, "ranks", workload->ranks);
    pto_bench_line_count(line, "threads", i + 1);
    pto_bench_line_real(line, "windows", gains->windows[i]);
    pto_bench_line_real(line, "cpu_ns", pto_samples_median(&gains->critical_ns[i]));
    pto_bench_line_real(line, "over_one",
                        pto_samples_median(&gains->wall_ns[0]) / pto_samples_median(&gains->wall_ns[i]));
    pto_bench_line_real(line, "over_one_aim", i > 0 ? workload->gain_aim : 0);
    pto_bench_line_real(line, "cpu_over_one",
                        pto_samples_median(&gains->critical_ns[0]) / pto_samples_median(&gains->critical_ns[i]));
    pto_bench_line_real(line, "cpu_total",
                        pto_samples_median(&gains->total_ns[i]) / pto_samples_median(&gains->total_ns[0]));
    pto_bench_line_real(line, "balance",
                        pto_samples_median(&gains->total_ns[i]) / pto_samples_median(&gains->critical_ns[i]) / (i + 1));
    pto_bench_line_print(line, &gains->wall_ns[i]);
  }
}

static bool measure_threads(const struct workload *workload) {
  struct gains gains = {0};
  struct pto_loaded_program *loaded;
  struct pto_error error;
  bool is_good = true;
  if (pto_program_load(workload->program, &loaded, &error)) {
    fprintf(stderr, "bench_world: %s\n", error.sentence);
    return false;
  }
  job.workload = *workload;
  for (uint32_t repeat = 0; repeat < pto_bench_repeats(REPEATS) && is_good; repeat++)
    for (uint32_t i = 0; i < MOST_THREADS && is_good; i++) {
      job.threads = i + 1;
      const double wall_ns = run(&job, loaded->program);
      is_good = wall_ns >= 0;
      pto_samples_add(&gains.wall_ns[i], wall_ns);
      pto_samples_add(&gains.critical_ns[i], visits.critical_ns);
      pto_samples_add(&gains.total_ns[i], visits.total_ns);
      gains.windows[i] = visits.parts[0].visits;
    }
  pto_program_unload(loaded);
  if (is_good) print_gains(workload, &gains);
  return is_good;
}

int main(int argc, char **argv) {
  static const struct workload workloads[] = {
      {.program = "bgemm", .settings = {"task_num=256", "tile=256", "grid_k=4"}, .ranks = 4, .gain_aim = GAIN_AIM},
      {.program = "tensor_parallel_mlp",
       .settings = {"tokens=512", "dim=2048", "hidden=8192"},
       .ranks = 4,
       .gain_aim = GAIN_AIM},
      {.program = "paged_attention", .settings = {"batch=64", "ctx=4096", "dim=128"}, .ranks = 4, .gain_aim = GAIN_AIM},
      {.program = "all_reduce", .settings = {"algorithm=ring", "elems=1000000"}, .ranks = 8},
      {.program = "all_reduce", .settings = {"algorithm=two_phase", "elems=1000000"}, .ranks = 8},
  };
  pto_bench_find_programs(argv[0]);
#ifdef M_MMAP_THRESHOLD /* as ptosim does: messages between ranks are not of pages that are touched for the first time \
                         */
  mallopt(M_MMAP_THRESHOLD, 4 * 1024 * 1024 * (int)sizeof(long));
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
  bool is_good = measure_world_sizes(argc, argv);
  for (uint32_t i = 0; argc == 1 && i < PTO_ARRAY_LENGTH(workloads); i++) is_good &= measure_threads(&workloads[i]);
  return is_good ? 0 : 1;
}
