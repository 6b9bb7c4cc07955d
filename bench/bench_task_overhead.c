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
 * Each repeat goes once through all patterns and systems, so that what else the machine does slows all of them alike.
 * cpu_ns_per_task is CPU time of all threads, waiting that spins included: with one thread, the time without what
 * others took of the machine.  Peers whose library is missing are named on standard error.
 *
 *   bench_task_overhead [--repeats N] [--tasks N] [PATTERN…]
 *
 * To add a system or a peer: see support/systems.h.
 */
#include <bench/support/bench_line.h>
#include <bench/support/systems.h>
#include <orchestration/basics/task_patterns.h>
#include <runtime/base/base.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 3
#define PATTERN_COUNT PTO_ARRAY_LENGTH(task_patterns)

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
/* Nanoseconds a task of ours with two threads: geometric mean of the patterns, and each. */
#define MEAN_NS_AIM 110
#define MOST_NS_AIM 230

struct result {
  struct pto_samples ns, cpu_ns;
};
static struct result results[PTO_SYSTEM_COUNT][PATTERN_COUNT];

/* ---- results ---- */

static void print_result(uint32_t s, uint32_t p, uint32_t tasks) {
  const struct pto_system *system = &pto_systems[s];
  const struct result *r = &results[s][p];
  if (r->ns.count == 0) return;
  struct pto_bench_line *line = pto_bench_line_begin("task_overhead", system->name);
  pto_bench_line_text(line, "pattern", task_patterns[p].name);
  pto_bench_line_count(line, "workers", system->workers);
  pto_bench_line_count(line, "tasks", tasks / system->fewer);
  const struct pto_samples_figures cpu = pto_samples_figures(&r->cpu_ns);
  pto_bench_line_real(line, "cpu_ns_per_task", cpu.median);
  pto_bench_line_real(line, "cpu_min", cpu.min);
  pto_bench_line_real(line, "cpu_low", cpu.low);
  pto_bench_line_real(line, "cpu_high", cpu.high);
  pto_bench_line_real(line, "ns_per_task", pto_samples_median(&r->ns));
  pto_bench_line_print(line, &r->ns);
}

struct ratio {
  double log_sum, least;
  uint32_t count, least_pattern;
};

enum figure { MEDIAN, MINIMUM, CPU };

static double figure_of(const struct result *r, enum figure figure) {
  if (figure == MINIMUM) return pto_samples_figures(&r->ns).min;
  return pto_samples_median(figure == CPU ? &r->cpu_ns : &r->ns);
}

/* The peer's time over ours. */
static struct ratio ratio_to(size_t aim, uint32_t workers, enum figure figure) {
  struct ratio ratio = {.least = INFINITY};
  for (uint32_t p = 0; p < PATTERN_COUNT; p++) {
    double ours = 0, best = INFINITY;
    for (uint32_t s = 0; s < PTO_SYSTEM_COUNT; s++) {
      const struct result *r = &results[s][p];
      const char *name = pto_systems[s].name, *prefix = aims[aim].prefix;
      if (r->ns.count == 0 || pto_systems[s].workers != workers) continue;
      const double ns = figure_of(r, figure);
      if (strcmp(name, PTO_BENCH_SYSTEM) == 0) ours = ns;
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

static double mean_of(const struct ratio *ratio) { return exp(ratio->log_sum / ratio->count); }

static void print_ratios(uint32_t workers) {
  for (size_t aim = 0; aim < PTO_ARRAY_LENGTH(aims); aim++) {
    const struct ratio r = ratio_to(aim, workers, MEDIAN), of_minima = ratio_to(aim, workers, MINIMUM);
    const struct ratio of_cpu = ratio_to(aim, workers, CPU);
    if (r.count == 0) continue;
    struct pto_bench_line *line = pto_bench_line_begin("task_overhead_ratio", PTO_BENCH_SYSTEM);
    pto_bench_line_text(line, "peer", aims[aim].name);
    pto_bench_line_count(line, "workers", workers);
    pto_bench_line_count(line, "patterns", r.count);
    pto_bench_line_real(line, "mean", mean_of(&r));
    pto_bench_line_real(line, "mean_aim", aims[aim].mean_aim);
    pto_bench_line_real(line, "least", r.least);
    pto_bench_line_real(line, "least_aim", aims[aim].least_aim);
    pto_bench_line_text(line, "least_pattern", task_patterns[r.least_pattern].name);
    pto_bench_line_real(line, "mean_of_minima", mean_of(&of_minima));
    pto_bench_line_real(line, "mean_of_cpu", mean_of(&of_cpu));
    pto_bench_line_real(line, "load", pto_bench_load());
    pto_bench_line_print(line, NULL);
  }
}

/* Ours alone, against the aims in nanoseconds, which are of two threads. */
static void print_mean(uint32_t workers) {
  double log_sum = 0, most = 0;
  uint32_t count = 0, most_pattern = 0;
  for (uint32_t s = 0; s < PTO_SYSTEM_COUNT; s++)
    for (uint32_t p = 0; p < PATTERN_COUNT; p++) {
      const struct pto_system *system = &pto_systems[s];
      const double ns = pto_samples_median(&results[s][p].ns);
      if (ns == 0 || system->workers != workers || strcmp(system->name, PTO_BENCH_SYSTEM) != 0) continue;
      count++;
      log_sum += log(ns);
      if (ns <= most) continue;
      most = ns;
      most_pattern = p;
    }
  if (count == 0) return;
  struct pto_bench_line *line = pto_bench_line_begin("task_overhead_mean", PTO_BENCH_SYSTEM);
  pto_bench_line_count(line, "workers", workers);
  pto_bench_line_count(line, "patterns", count);
  pto_bench_line_real(line, "mean_ns", exp(log_sum / count));
  pto_bench_line_count(line, "mean_aim", workers == 2 ? MEAN_NS_AIM : 0);
  pto_bench_line_real(line, "most_ns", most);
  pto_bench_line_count(line, "most_aim", workers == 2 ? MOST_NS_AIM : 0);
  pto_bench_line_text(line, "most_pattern", task_patterns[most_pattern].name);
  pto_bench_line_print(line, NULL);
}

/* ---- all of it ---- */

static bool is_wanted(const char *pattern, char **wanted) {
  bool is_listed = *wanted == NULL;
  for (; *wanted != NULL; wanted++) is_listed |= strcmp(*wanted, pattern) == 0;
  return is_listed;
}

/* Two threads or one: so that no thread waits for a CPU. */
static bool takes_part(const struct pto_system *system) { return system->workers <= 2 && pto_system_is_there(system); }

/* What failed once is not tried again. */
static bool measure(uint32_t repeats, uint32_t tasks, char **wanted) {
  bool is_good = true;
  for (uint32_t repeat = 0; repeat < repeats; repeat++)
    for (uint32_t p = 0; p < PATTERN_COUNT; p++)
      for (uint32_t s = 0; s < PTO_SYSTEM_COUNT; s++) {
        struct result *r = &results[s][p];
        const struct pto_system_job job = {task_patterns[p].name, tasks / pto_systems[s].fewer, ROUNDS, 0};
        struct pto_system_times times;
        if (!is_wanted(job.pattern, wanted) || !takes_part(&pto_systems[s]) || r->ns.count != repeat) continue;
        if (pto_system_repeat(&pto_systems[s], &job, &times)) {
          pto_samples_add(&r->ns, times.wall_ns);
          pto_samples_add(&r->cpu_ns, times.cpu_ns);
        } else {
          is_good = false;
        }
      }
  return is_good;
}

int main(int argc, char **argv) {
  (void)argc;
  uint32_t repeats = pto_bench_repeats(7), tasks = pto_bench_size(100000);
  for (argv++; *argv != NULL && argv[1] != NULL; argv += 2) {
    if (strcmp(*argv, "--repeats") == 0 && atoi(argv[1]) > 0)
      repeats = (uint32_t)pto_min_u64((uint64_t)atoi(argv[1]), PTO_MAX_SAMPLES);
    else if (strcmp(*argv, "--tasks") == 0 && atoi(argv[1]) >= 10)
      tasks = (uint32_t)atoi(argv[1]);
    else
      break;
  }
  if (!pto_systems_find("bench_task_overhead")) return 1;
  const bool is_good = measure(repeats, tasks, argv);
  for (uint32_t p = 0; p < PATTERN_COUNT; p++)
    for (uint32_t s = 0; s < PTO_SYSTEM_COUNT; s++) print_result(s, p, tasks);
  for (uint32_t workers = 2; workers > 0; workers--) {
    print_mean(workers);
    print_ratios(workers);
  }
  return is_good ? 0 : 1;
}
