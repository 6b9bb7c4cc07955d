/* SPDX-License-Identifier: MIT */
/*
 * One question: what does it cost a run on threads that it is recorded?
 *
 * The graphs of task_bench through our runtime (bench/support/graph_run.h), with one thread and two, empty tasks and
 * tasks of 1 µs: with nothing recorded, with a timeline (spans of kernels, spans of the control thread, samples of
 * counters), and with the graph besides (parameters, edges and their reasons: what `ptosim run --trace` and --stats
 * keep).  All are runtimes of one process, so that a repeat goes once through them, one behind the other; a first
 * repeat, whose logs get their memory from the system, warms up.  The time is all of pto_run: at its end the times of a
 * timeline are converted.
 *
 * One line a pattern, number of threads, body and record: ns_per_task on the clock; `over_nothing`, the median of the
 * repeats of what a run took over the run of the same repeat with nothing recorded, and `best_over_nothing`, the same
 * of the minima.  Then one line a record, number of threads and body with the geometric means over the patterns, and
 * the aim where there is one: a timeline of tasks of 1 µs at most 1.05.
 *
 *   bench_recording [--repeats N] [PATTERN…]
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <bench/support/graph_run.h>
#include <orchestration/basics/task_patterns.h>
#include <runtime/base/base.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WORKERS 2u
#define WINDOW (2 * PTO_GRAPH_SCOPE_TASKS) /* that of peers/peer_pto.c */
#define TIMELINE_AIM 1.05

static const struct {
  const char *name;
  uint32_t bits;
} records[] = {
    {"nothing", 0},
    {"timeline", PTO_RECORD_TIMELINE},
    {"timeline and graph", PTO_RECORD_TIMELINE | PTO_RECORD_GRAPH},
};
enum { NOTHING, TIMELINE };
#define RECORD_COUNT PTO_ARRAY_LENGTH(records)
static const struct { uint32_t ns, tasks; } bodies[] = {{0, 50000}, {1000, 10000}};
#define BODY_COUNT PTO_ARRAY_LENGTH(bodies)
#define PATTERN_COUNT PTO_ARRAY_LENGTH(task_patterns)

struct result {
  struct pto_samples ns, over_nothing;
};
static struct pto_runtime *runtimes[MOST_WORKERS][RECORD_COUNT];
/* Of the sum of logarithms over the patterns. */
static struct {
  double over_nothing, best;
  uint32_t count;
} sums[MOST_WORKERS][BODY_COUNT][RECORD_COUNT];
static double steps_per_ns;

static bool make_runtimes(void) {
  for (uint32_t w = 0; w < MOST_WORKERS; w++)
    for (size_t r = 0; r < RECORD_COUNT; r++) {
      const struct pto_config config = {.size = sizeof config,
                                        .engine = "threads",
                                        .chip = "a2a3",
                                        .workers = w + 1,
                                        .window = WINDOW,
                                        .record = records[r].bits};
      char sentence[256];
      if (pto_runtime_create_explained(&config, &runtimes[w][r], sentence, sizeof sentence) == PTO_OK) continue;
      fprintf(stderr, "bench_recording: %s\n", sentence);
      return false;
    }
  return true;
}

/* All of a run, in nanoseconds a task; negative where it failed, which is said. */
static double run_ns(struct pto_runtime *rt, struct pto_task_graph *graph) {
  struct pto_graph_run run = {graph, PTO_GRAPH_SCOPE_TASKS};
  pto_task_graph_rewind(graph);
  const double begin = pto_bench_now_ns();
  const int status = pto_run(rt, pto_graph_run_orchestrate, &run);
  const double ns = (pto_bench_now_ns() - begin) / graph->task_count;
  if (status == PTO_OK && pto_task_graph_is_right(graph)) return ns;
  fprintf(stderr, "bench_recording: %s\n", status ? pto_last_error(rt) : "a run left a wrong result");
  return -1;
}

static void print(uint32_t pattern, uint32_t w, size_t body, size_t record, const struct result *results) {
  const struct result *result = &results[record];
  const double over_nothing = pto_samples_median(&result->over_nothing),
               best = pto_samples_figures(&result->ns).min / pto_samples_figures(&results[NOTHING].ns).min;
  struct pto_bench_line *line = pto_bench_line_begin("recording", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "pattern", task_patterns[pattern].name);
  pto_bench_line_text(line, "record", records[record].name);
  pto_bench_line_count(line, "workers", w + 1);
  pto_bench_line_count(line, "tasks", pto_bench_size(bodies[body].tasks));
  pto_bench_line_count(line, "body_ns", bodies[body].ns);
  pto_bench_line_real(line, "ns_per_task", pto_samples_median(&result->ns));
  pto_bench_line_real(line, "over_nothing", over_nothing);
  pto_bench_line_real(line, "best_over_nothing", best);
  pto_bench_line_print(line, &result->ns);
  sums[w][body][record].over_nothing += log(over_nothing);
  sums[w][body][record].best += log(best);
  sums[w][body][record].count++;
}

static bool bench(uint32_t pattern, uint32_t w, size_t body, uint32_t repeats) {
  struct pto_task_graph *graph = pto_task_graph_create(task_patterns[pattern].name, pto_bench_size(bodies[body].tasks));
  if (graph == NULL) return false;
  graph->body_steps = (uint64_t)round(bodies[body].ns * steps_per_ns);
  struct result results[RECORD_COUNT] = {0};
  bool is_good = true;
  for (uint32_t repeat = 0; repeat <= repeats && is_good; repeat++) {
    double nothing_ns = 0;
    for (size_t r = 0; r < RECORD_COUNT && is_good; r++) {
      const double ns = run_ns(runtimes[w][r], graph);
      is_good = ns > 0;
      if (r == NOTHING) nothing_ns = ns;
      if (repeat == 0) continue;
      pto_samples_add(&results[r].ns, ns);
      pto_samples_add(&results[r].over_nothing, ns / nothing_ns);
    }
  }
  for (size_t r = 0; r < RECORD_COUNT && is_good; r++) print(pattern, w, body, r, results);
  pto_task_graph_destroy(graph);
  return is_good;
}

static void print_mean(uint32_t w, size_t body, size_t record) {
  if (sums[w][body][record].count == 0) return;
  struct pto_bench_line *line = pto_bench_line_begin("recording_mean", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "record", records[record].name);
  pto_bench_line_count(line, "workers", w + 1);
  pto_bench_line_count(line, "body_ns", bodies[body].ns);
  pto_bench_line_real(line, "over_nothing", exp(sums[w][body][record].over_nothing / sums[w][body][record].count));
  pto_bench_line_real(line, "best_over_nothing", exp(sums[w][body][record].best / sums[w][body][record].count));
  pto_bench_line_real(line, "aim", record == TIMELINE && bodies[body].ns > 0 ? TIMELINE_AIM : 0);
  pto_bench_line_print(line, NULL);
}

static bool is_wanted(const char *pattern, char **wanted) {
  bool is_listed = *wanted == NULL;
  for (; *wanted != NULL; wanted++) is_listed |= strcmp(*wanted, pattern) == 0;
  return is_listed;
}

int main(int argc, char **argv) {
  (void)argc;
  uint32_t repeats = pto_bench_repeats(31);
  bool is_good = true;
  argv++;
  if (argv[0] != NULL && argv[1] != NULL && strcmp(argv[0], "--repeats") == 0) {
    repeats = (uint32_t)atoi(argv[1]);
    argv += 2;
  }
  if (!make_runtimes()) return 1;
  steps_per_ns = pto_task_body_steps_per_ns();
  for (uint32_t w = 0; w < MOST_WORKERS; w++)
    for (size_t body = 0; body < BODY_COUNT; body++)
      for (uint32_t pattern = 0; pattern < PATTERN_COUNT; pattern++)
        if (is_wanted(task_patterns[pattern].name, argv)) is_good &= bench(pattern, w, body, repeats);
  for (uint32_t w = 0; w < MOST_WORKERS; w++)
    for (size_t body = 0; body < BODY_COUNT; body++)
      for (size_t r = TIMELINE; r < RECORD_COUNT; r++) print_mean(w, body, r);
  for (uint32_t w = 0; w < MOST_WORKERS; w++)
    for (size_t r = 0; r < RECORD_COUNT; r++) pto_runtime_destroy(runtimes[w][r]);
  return is_good ? 0 : 1;
}
