/* SPDX-License-Identifier: MIT */
/*
 * One question: what does an empty task cost, here and in other task runtimes, on the same graphs in the same run?
 *
 * One JSON line a system, pattern and number of threads (the submitter included): nanoseconds a task from the first
 * submit until the last task is done.  Then one line a peer and number of threads with the ratios, peer's time over
 * ours: their geometric mean over the patterns, the least of them, and the aim.  The graphs are task_bench's, with 2 or
 * 3 tensors a task that are tiles of two shared buffers (the join of fork_join: 64 tiles and one).
 *
 * A repeat is one process, which warms up and takes the median of ROUNDS rounds; every round's buffers are checked.
 * Each repeat goes once through all patterns and systems, so that what else the machine does meets all of them alike.
 * cpu_ns_per_task is CPU time of all threads, waiting that spins included: with one thread, the time without what
 * others took of the machine.  `low` and `high` hold the median of many repeats with a probability of 95 % or more
 * (order statistics), if repeats are independent.  Peers whose library is missing have no program in peers/, and are
 * named on standard error.
 *
 *   bench_task_overhead [--repeats N] [--tasks N] [PATTERN…]
 *
 * To add a peer: see peers/peer.h.  LLVM's OpenMP does not look at dependencies in a team of one, so it has no line of
 * one thread; nor has StarPU, whose submitter does no tasks.
 */
#include <bench/support/task_graph.h>
#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <orchestration/task_patterns.h>
#include <runtime/base/base.h>

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 3
#define MAX_REPEATS 99
#define MAX_SECONDS 120 /* of a process */
#define OURS "pto"
#define PATTERN_COUNT PTO_ARRAY_LENGTH(task_patterns)

struct system {
  const char *name, *program; /* program: of peers/ */
  uint32_t workers, window;
  uint32_t fewer; /* tasks are divided by this: it is slow, or its time a task grows with their number */
  bool is_option; /* OpenMP: the submitter does not help; TBB: goes on with a consumer in the same call */
};
static const struct system systems[] = {
    {OURS, NULL, 2, 0, 1, false},
    {"openmp-gcc", "openmp-gcc", 2, 0, 10, false},
    {"openmp-gcc-1+1", "openmp-gcc", 2, 0, 10, true},
    {"openmp-gcc-w256", "openmp-gcc", 2, 256, 1, false},
    {"openmp-gcc-w256-1+1", "openmp-gcc", 2, 256, 10, true},
    {"openmp-llvm", "openmp-llvm", 2, 0, 2, false},
    {"openmp-llvm-1+1", "openmp-llvm", 2, 0, 5, true},
    {"openmp-llvm-w256", "openmp-llvm", 2, 256, 2, false},
    {"openmp-llvm-w256-1+1", "openmp-llvm", 2, 256, 5, true},
    {"starpu", "starpu", 2, 0, 5, false},
    {"tbb", "tbb", 2, 0, 1, false},
    {"tbb-inline", "tbb", 2, 0, 1, true},
    {OURS, NULL, 1, 0, 1, false},
    {"openmp-gcc-w256", "openmp-gcc", 1, 256, 1, false},
    {"tbb", "tbb", 1, 0, 1, false},
    {"tbb-inline", "tbb", 1, 0, 1, true},
};
#define SYSTEM_COUNT PTO_ARRAY_LENGTH(systems)

/* Peers as the aims name them: the best of the systems whose name begins so, in each pattern. */
static const struct {
  const char *name, *prefix;
  bool is_whole; /* the prefix is the whole name */
  double mean_aim, least_aim;
} aims[] = {
    {"best OpenMP of each pattern", "openmp", false, 4, 1},
    {"tbb", "tbb", true, 1, 0},
    {"tbb-inline", "tbb-inline", true, 0, 0},
    {"starpu", "starpu", true, 10, 0},
};

struct result {
  double ns[MAX_REPEATS], cpu_ns[MAX_REPEATS]; /* each sorted once all are there */
  uint32_t count;
};
static struct result results[SYSTEM_COUNT][PATTERN_COUNT];
static char folder[PATH_MAX]; /* of this program */

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const double *sorted, uint32_t count) { return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2; }

static double cpu_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ---- ours: this program, started with --ours PATTERN TASKS WORKERS ---- */

static int run_rounds(struct pto_program_run *run, struct pto_runtime *rt, uint32_t tasks) {
  struct pto_stats stats = {.size = sizeof stats};
  struct pto_comparison comparison;
  uint64_t digest = 0;
  for (int round = 0; round <= ROUNDS; round++) {
    pto_program_run_rewind(run);
    const double cpu_begin = cpu_now_ns();
    if (pto_program_run_orchestrate(run, rt) != PTO_OK) return -1;
    const double cpu_took = cpu_now_ns() - cpu_begin;
    pto_runtime_stats(rt, &stats);
    if (round == 0) {
      if (pto_program_run_expect(run) != PTO_OK) return -1;
      pto_program_run_compare(run, 0, 0, &comparison);
      digest = pto_program_run_digest(run);
      if (!comparison.has_golden || !comparison.is_verified) return -1;
    } else {
      printf("%.3f %.3f\n", (double)stats.wall_ns / tasks, cpu_took / tasks);
    }
    if (pto_program_run_digest(run) != digest || stats.tasks != tasks) return -1;
  }
  return 0;
}

static int run_ours(char **argv) {
  char pattern[64], tasks[64], width[64], programs[PATH_MAX + sizeof "/../programs"];
  snprintf(pattern, sizeof pattern, "pattern=%s", argv[0]);
  snprintf(tasks, sizeof tasks, "tasks=%s", argv[1]);
  snprintf(width, sizeof width, "width=%u", PTO_TASK_WIDTH);
  snprintf(programs, sizeof programs, "%s/../programs", folder);
  setenv("PTO_PROGRAM_PATH", programs, 0);
  const char *const settings[] = {pattern, tasks, width};
  const struct pto_program_request request = {.settings = settings, .setting_count = PTO_ARRAY_LENGTH(settings)};
  const struct pto_config config = {
      .size = sizeof config, .engine = "threads", .chip = "tiny", .workers = (uint32_t)atoi(argv[2])};
  struct pto_loaded_program *loaded = NULL;
  struct pto_program_run *run = NULL;
  struct pto_runtime *rt = NULL;
  struct pto_error error = {0};
  int status = pto_program_load("task_bench", &loaded, &error);
  if (status == PTO_OK) status = pto_program_run_create(loaded->program, &request, &run, &error);
  if (status == PTO_OK) status = pto_program_run_prepare(run);
  if (status == PTO_OK) status = pto_program_run_remember(run);
  if (status == PTO_OK) status = pto_runtime_create(&config, &rt);
  if (status == PTO_OK) status = run_rounds(run, rt, (uint32_t)atoi(argv[1]));
  if (status != PTO_OK)
    fprintf(stderr, "bench_task_overhead: %s: %s\n", argv[0],
            run ? pto_program_run_error(run)->sentence : error.sentence);
  if (rt != NULL) pto_runtime_destroy(rt);
  pto_program_run_destroy(run);
  pto_program_unload(loaded);
  return status == PTO_OK ? 0 : 1;
}

/* ---- one repeat: a process ---- */

static void program_of(const struct system *system, char path[static PATH_MAX + 64]) {
  if (system->program == NULL)
    strcpy(path, "/proc/self/exe");
  else
    snprintf(path, PATH_MAX + 64, "%s/peers/%s", folder, system->program);
}

static bool is_there(const struct system *system) {
  char path[PATH_MAX + 64];
  program_of(system, path);
  return access(path, X_OK) == 0;
}

/* Replaces this process, which does not outlive MAX_SECONDS. */
static void become(const struct system *system, const char *pattern, uint32_t task_count) {
  char path[PATH_MAX + 64], tasks[16], workers[16], window[16], rounds[16];
  program_of(system, path);
  snprintf(tasks, sizeof tasks, "%u", task_count);
  snprintf(workers, sizeof workers, "%u", system->workers);
  snprintf(window, sizeof window, "%u", system->window);
  snprintf(rounds, sizeof rounds, "%d", ROUNDS);
  setenv("STARPU_SILENT", "1", 1);
  setenv("STARPU_HOME", folder, 1); /* it keeps files there */
  if (system->is_option) setenv("KMP_ENABLE_TASK_THROTTLING", "0", 1);
  alarm(MAX_SECONDS);
  if (system->program == NULL)
    execl(path, folder, "--ours", pattern, tasks, workers, (char *)NULL);
  else
    execl(path, path, pattern, tasks, workers, window, system->is_option ? "1" : "0", rounds, (char *)NULL);
  perror(path);
  _exit(127);
}

/* The medians of its rounds, into the result; false: it failed. */
static bool repeat_once(const struct system *system, const char *pattern, uint32_t tasks, struct result *result) {
  double ns[ROUNDS], cpu_ns[ROUNDS];
  int ends[2], status = 0, count = 0;
  if (pipe(ends) != 0) return false;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    become(system, pattern, tasks);
  }
  close(ends[1]);
  FILE *from = fdopen(ends[0], "r");
  while (from != NULL && count < ROUNDS && fscanf(from, "%lf %lf", &ns[count], &cpu_ns[count]) == 2) count++;
  if (from != NULL) fclose(from);
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0 || count != ROUNDS) return false;
  qsort(ns, ROUNDS, sizeof ns[0], compare);
  qsort(cpu_ns, ROUNDS, sizeof cpu_ns[0], compare);
  result->ns[result->count] = median(ns, ROUNDS);
  result->cpu_ns[result->count++] = median(cpu_ns, ROUNDS);
  return true;
}

/* ---- results ---- */

/* The k-th least and k-th greatest of n, the largest k (from 0) whose interval has the median with 95 % or more. */
static uint32_t interval_rank(uint32_t n) {
  double outside = 0, ways = 1; /* 2 · P(at most k of n below the median) */
  for (uint32_t k = 0; k < n / 2; k++) {
    outside += 2 * ways * pow(0.5, n);
    if (outside > 0.05) return k > 0 ? k - 1 : 0;
    ways = ways * (n - k) / (k + 1);
  }
  return 0;
}

static void print_result(uint32_t s, uint32_t p, uint32_t tasks) {
  const struct system *system = &systems[s];
  struct result *r = &results[s][p];
  if (r->count == 0) return;
  qsort(r->ns, r->count, sizeof r->ns[0], compare);
  qsort(r->cpu_ns, r->count, sizeof r->cpu_ns[0], compare);
  const uint32_t rank = interval_rank(r->count);
  const double middle = median(r->ns, r->count);
  printf("{\"bench\": \"task_overhead\", \"system\": \"%s\", \"pattern\": \"%s\", \"workers\": %u, \"tasks\": %u, "
         "\"ns_per_task\": %.1f, \"runs\": %u, \"median\": %.1f, \"min\": %.1f, \"low\": %.1f, \"high\": %.1f, "
         "\"cpu_ns_per_task\": %.1f}\n",
         system->name, task_patterns[p].name, system->workers, tasks / system->fewer, middle, r->count, middle,
         r->ns[0], r->ns[rank], r->ns[r->count - 1 - rank], median(r->cpu_ns, r->count));
}

struct ratio {
  double log_sum, least;
  uint32_t count, least_pattern;
};

enum figure { MEDIAN, MINIMUM, CPU };

static double figure_of(const struct result *r, enum figure figure) {
  if (figure == MINIMUM) return r->ns[0];
  return median(figure == CPU ? r->cpu_ns : r->ns, r->count);
}

/* The peer's time over ours. */
static struct ratio ratio_to(size_t aim, uint32_t workers, enum figure figure) {
  struct ratio ratio = {.least = INFINITY};
  for (uint32_t p = 0; p < PATTERN_COUNT; p++) {
    double ours = 0, best = INFINITY;
    for (uint32_t s = 0; s < SYSTEM_COUNT; s++) {
      const struct result *r = &results[s][p];
      const char *name = systems[s].name, *prefix = aims[aim].prefix;
      if (r->count == 0 || systems[s].workers != workers) continue;
      const double ns = figure_of(r, figure);
      if (strcmp(name, OURS) == 0) ours = ns;
      if (aims[aim].is_whole ? strcmp(name, prefix) == 0 : strncmp(name, prefix, strlen(prefix)) == 0)
        best = fmin(best, ns);
    }
    if (ours == 0 || isinf(best)) continue;
    ratio.count++;
    ratio.log_sum += log(best / ours);
    if (best / ours >= ratio.least) continue;
    ratio.least = best / ours;
    ratio.least_pattern = p;
  }
  return ratio;
}

static void print_ratios(uint32_t workers, double load) {
  for (size_t aim = 0; aim < PTO_ARRAY_LENGTH(aims); aim++) {
    const struct ratio r = ratio_to(aim, workers, MEDIAN), of_minima = ratio_to(aim, workers, MINIMUM);
    const struct ratio of_cpu = ratio_to(aim, workers, CPU);
    if (r.count == 0) continue;
    printf("{\"bench\": \"task_overhead_ratio\", \"peer\": \"%s\", \"workers\": %u, \"patterns\": %u, "
           "\"mean\": %.2f, \"mean_aim\": %g, \"least\": %.2f, \"least_aim\": %g, \"least_pattern\": \"%s\", "
           "\"mean_of_minima\": %.2f, \"mean_of_cpu\": %.2f, \"load\": %.1f}\n",
           aims[aim].name, workers, r.count, exp(r.log_sum / r.count), aims[aim].mean_aim, r.least, aims[aim].least_aim,
           task_patterns[r.least_pattern].name, exp(of_minima.log_sum / of_minima.count),
           exp(of_cpu.log_sum / of_cpu.count), load);
  }
}

/* ---- all of it ---- */

static bool is_wanted(const char *pattern, char **wanted) {
  bool is_listed = *wanted == NULL;
  for (; *wanted != NULL; wanted++) is_listed |= strcmp(*wanted, pattern) == 0;
  return is_listed;
}

static bool measure(uint32_t repeats, uint32_t tasks, char **wanted) {
  bool is_good = true;
  for (uint32_t repeat = 0; repeat < repeats; repeat++)
    for (uint32_t p = 0; p < PATTERN_COUNT; p++)
      for (uint32_t s = 0; s < SYSTEM_COUNT; s++) {
        struct result *r = &results[s][p];
        /* What failed once is not tried again. */
        if (!is_wanted(task_patterns[p].name, wanted) || !is_there(&systems[s]) || r->count != repeat) continue;
        if (repeat_once(&systems[s], task_patterns[p].name, tasks / systems[s].fewer, r)) continue;
        fprintf(stderr, "bench_task_overhead: %s failed on %s\n", systems[s].name, task_patterns[p].name);
        is_good = false;
      }
  return is_good;
}

static void name_missing(void) {
  const char *last = "";
  for (uint32_t s = 0; s < SYSTEM_COUNT; s++) {
    if (is_there(&systems[s]) || strcmp(systems[s].program, last) == 0 || systems[s].workers == 1) continue;
    last = systems[s].program;
    fprintf(stderr, "bench_task_overhead: without %s: its library or compiler is missing (scripts/deps --bench)\n",
            last);
  }
}

int main(int argc, char **argv) {
  if (readlink("/proc/self/exe", folder, sizeof folder - 1) < 0) return 1;
  *strrchr(folder, '/') = '\0';
  if (argc == 5 && strcmp(argv[1], "--ours") == 0) return run_ours(argv + 2);
  uint32_t repeats = 7, tasks = 100000;
  for (argv++; *argv != NULL && argv[1] != NULL; argv += 2) {
    if (strcmp(*argv, "--repeats") == 0 && atoi(argv[1]) > 0)
      repeats = (uint32_t)pto_min_u64((uint64_t)atoi(argv[1]), MAX_REPEATS);
    else if (strcmp(*argv, "--tasks") == 0 && atoi(argv[1]) >= 10)
      tasks = (uint32_t)atoi(argv[1]);
    else
      break;
  }
  name_missing();
  const bool is_good = measure(repeats, tasks, argv);
  double load = 0;
  (void)!getloadavg(&load, 1);
  for (uint32_t p = 0; p < PATTERN_COUNT; p++)
    for (uint32_t s = 0; s < SYSTEM_COUNT; s++) print_result(s, p, tasks);
  print_ratios(2, load);
  print_ratios(1, load);
  return is_good ? 0 : 1;
}
