/* SPDX-License-Identifier: MIT */
/*
 * One question: does a task cost more where there are many: of tasks, of tasks in one scope, of explicit edges, of
 * cores?
 *
 * One JSON line a case, ours alone, with two threads (the control thread included) and empty tasks; `what` names it:
 *
 *   million_tasks    stencil_1d: a million tasks in one run, beside a hundred thousand, in scopes of 1024
 *   one_scope        stencil_1d: 200 000 tasks in one scope, with a window that holds them, beside 10 000
 *   explicit_edges   layers of 64 tasks without tensors, each after all 64 of the layer before, in a manual scope:
 *                    64 × 64 edges a layer; beside layers whose tasks come after one each.  ns_per_edge: what the
 *                    further edges cost
 *   cores            each pattern on chips of 3, 72 and 108 cores; then a line a chip with the tasks a second beside
 *                    those of 3 cores: geometric mean of the patterns, and the least
 *
 * Cases that belong together are measured in turns in one process, RUNS runs after one to warm up; every run's result
 * is checked.
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <bench/support/graph_run.h>
#include <orchestration/basics/task_patterns.h>
#include <runtime/base/base.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RUNS 7
#define WORKERS 2
#define MILLION 1000000u
#define SCOPE_TASKS 200000u
#define SCOPE_WINDOW (UINT64_C(1) << 18)
#define LAYER 64u
#define CORES_AIM 0.9

static bool is_good = true;

static struct pto_runtime *make_runtime(const char *chip, uint64_t window) {
  const struct pto_config config = {
      .size = sizeof config, .engine = "threads", .chip = chip, .workers = WORKERS, .window = window};
  struct pto_runtime *rt = NULL;
  char sentence[256];
  if (pto_runtime_create_explained(&config, &rt, sentence, sizeof sentence) == PTO_OK) return rt;
  fprintf(stderr, "bench_scale: %s\n", sentence);
  is_good = false;
  return NULL;
}

static struct pto_task_graph *make_graph(const char *pattern, uint32_t tasks) {
  struct pto_task_graph *graph = pto_task_graph_create(pattern, tasks);
  if (graph == NULL) fprintf(stderr, "bench_scale: no memory for %u tasks of %s\n", tasks, pattern);
  is_good &= graph != NULL;
  return graph;
}

static void print_case(const char *what, const char *pattern, uint32_t tasks, uint32_t cores,
                       const struct pto_samples *ns) {
  if (ns->count > 0) {
    struct pto_bench_line *line = pto_bench_line_begin("scale", PTO_BENCH_SYSTEM);
    pto_bench_line_text(line, "what", what);
    pto_bench_line_text(line, "pattern", pattern);
    pto_bench_line_count(line, "workers", WORKERS);
    pto_bench_line_count(line, "cores", cores);
    pto_bench_line_count(line, "tasks", tasks);
    pto_bench_line_real(line, "ns_per_task", pto_samples_median(ns));
    pto_bench_line_print(line, ns);
  }
}

static uint32_t cores_of(const struct pto_runtime *rt) {
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  return stats.cores;
}

/* ---- many tasks ---- */

/* Two numbers of tasks in turns; scope_tasks 0: one scope for all. */
static void bench_tasks(const char *what, uint32_t few, uint32_t many, uint32_t scope_tasks, uint64_t window) {
  static const char pattern[] = "stencil_1d";
  struct pto_task_graph *graphs[] = {make_graph(pattern, few), make_graph(pattern, many)};
  struct pto_runtime *rt = make_runtime("tiny", window);
  struct pto_samples ns[2] = {{.count = 0}};
  for (uint32_t run = 0; rt && graphs[0] && graphs[1] && run <= pto_bench_repeats(RUNS); run++)
    for (uint32_t side = 0; side < 2; side++) {
      const double took = pto_graph_run_ns(rt, graphs[side], scope_tasks ? scope_tasks : graphs[side]->task_count);
      is_good &= took > 0;
      if (run > 0 && took > 0) pto_samples_add(&ns[side], took);
    }
  for (uint32_t side = 0; side < 2; side++)
    print_case(what, pattern, side ? many : few, rt ? cores_of(rt) : 0, &ns[side]);
  pto_runtime_destroy(rt);
  pto_task_graph_destroy(graphs[0]);
  pto_task_graph_destroy(graphs[1]);
}

/* ---- explicit edges ---- */

static int nothing_run(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}
static const struct pto_kernel nothing = {.name = "nothing", .cores = PTO_AIV, .run = nothing_run};

struct layers {
  uint32_t count, after_count; /* after_count: the first so many of the layer before, from the task's own place on */
};

static int submit_layers(struct pto_runtime *rt, void *context) {
  const struct layers *layers = context;
  struct pto_task tasks[2][2 * LAYER]; /* twice each, so that any place is followed by LAYER tasks */
  int status = PTO_OK;
  for (uint32_t layer = 0; layer < layers->count && status == PTO_OK; layer++) {
    struct pto_task *before = tasks[layer % 2], *now = tasks[1 - layer % 2];
    if (layer % 16 == 0 && (status = pto_scope_begin(rt, PTO_SCOPE_MANUAL)) != PTO_OK) break;
    for (uint32_t i = 0; i < LAYER && status == PTO_OK; i++) {
      const struct pto_launch launch = {
          .aiv0 = &nothing, .after = before + i, .after_count = layer ? layers->after_count : 0};
      status = pto_submit(rt, &launch, NULL, 0, &now[i]);
      now[i + LAYER] = now[i];
    }
    if (status == PTO_OK && (layer % 16 == 15 || layer + 1 == layers->count)) status = pto_scope_end(rt);
  }
  return status;
}

static void bench_explicit_edges(void) {
  const uint32_t layer_count = pto_bench_size(400), after_counts[] = {1, LAYER};
  struct pto_runtime *rt = make_runtime("tiny", 0);
  struct pto_samples ns[2] = {{.count = 0}};
  struct pto_stats stats = {.size = sizeof stats};
  const uint32_t tasks = layer_count * LAYER;
  for (uint32_t run = 0; rt && run <= pto_bench_repeats(RUNS); run++)
    for (uint32_t side = 0; side < 2; side++) {
      struct layers layers = {layer_count, after_counts[side]};
      const bool is_done = pto_run(rt, submit_layers, &layers) == PTO_OK;
      pto_runtime_stats(rt, &stats);
      if (!is_done || stats.edges != (uint64_t)(layer_count - 1) * LAYER * layers.after_count) {
        fprintf(stderr, "bench_scale: explicit edges: %s\n", is_done ? "not as many as asked for" : pto_last_error(rt));
        is_good = false;
      } else if (run > 0) {
        pto_samples_add(&ns[side], (double)stats.wall_ns / tasks);
      }
    }
  for (uint32_t side = 0; side < 2 && ns[side].count > 0; side++) {
    const double further = (pto_samples_median(&ns[1]) - pto_samples_median(&ns[0])) / (LAYER - 1);
    struct pto_bench_line *line = pto_bench_line_begin("scale", PTO_BENCH_SYSTEM);
    pto_bench_line_text(line, "what", "explicit_edges");
    pto_bench_line_text(line, "pattern", side ? "64x64" : "1x64");
    pto_bench_line_count(line, "workers", WORKERS);
    pto_bench_line_count(line, "cores", stats.cores);
    pto_bench_line_count(line, "tasks", tasks);
    pto_bench_line_count(line, "edges", (uint64_t)(layer_count - 1) * LAYER * after_counts[side]);
    pto_bench_line_real(line, "ns_per_edge", side ? further : 0.0);
    pto_bench_line_real(line, "ns_per_task", pto_samples_median(&ns[side]));
    pto_bench_line_print(line, &ns[side]);
  }
  pto_runtime_destroy(rt);
}

/* ---- cores ---- */

static const char *const chips[] = {"tiny", "a2a3", "a5"};
#define CHIP_COUNT PTO_ARRAY_LENGTH(chips)
#define PATTERN_COUNT PTO_ARRAY_LENGTH(task_patterns)
static struct pto_samples core_ns[CHIP_COUNT][PATTERN_COUNT];

static void print_core_ratio(size_t chip, uint32_t cores) {
  double log_sum = 0, least = INFINITY;
  const char *least_pattern = "";
  for (size_t p = 0; p < PATTERN_COUNT; p++) {
    struct pto_samples ratios = {.count = 0}; /* of runs that followed each other */
    for (uint32_t run = 0; run < core_ns[0][p].count; run++)
      pto_samples_add(&ratios, core_ns[0][p].values[run] / core_ns[chip][p].values[run]);
    const double ratio = pto_samples_median(&ratios);
    log_sum += log(ratio);
    if (ratio >= least) continue;
    least = ratio;
    least_pattern = task_patterns[p].name;
  }
  struct pto_bench_line *line = pto_bench_line_begin("scale_cores", PTO_BENCH_SYSTEM);
  pto_bench_line_count(line, "workers", WORKERS);
  pto_bench_line_count(line, "cores", cores);
  pto_bench_line_real(line, "mean", exp(log_sum / PATTERN_COUNT));
  pto_bench_line_real(line, "least", least);
  pto_bench_line_text(line, "least_pattern", least_pattern);
  pto_bench_line_real(line, "aim", CORES_AIM);
  pto_bench_line_print(line, NULL);
}

static void bench_cores(void) {
  const uint32_t tasks = pto_bench_size(50000);
  struct pto_runtime *rts[CHIP_COUNT];
  bool is_ready = true;
  for (size_t c = 0; c < CHIP_COUNT; c++) is_ready &= (rts[c] = make_runtime(chips[c], 0)) != NULL;
  for (size_t p = 0; p < PATTERN_COUNT && is_ready; p++) {
    struct pto_task_graph *graph = make_graph(task_patterns[p].name, tasks);
    for (uint32_t run = 0; graph && run <= pto_bench_repeats(RUNS); run++)
      for (size_t c = 0; c < CHIP_COUNT; c++) {
        const double took = pto_graph_run_ns(rts[c], graph, PTO_GRAPH_SCOPE_TASKS);
        is_good &= took > 0;
        if (run > 0 && took > 0) pto_samples_add(&core_ns[c][p], took);
      }
    pto_task_graph_destroy(graph);
    for (size_t c = 0; c < CHIP_COUNT; c++)
      print_case("cores", task_patterns[p].name, tasks, cores_of(rts[c]), &core_ns[c][p]);
  }
  for (size_t c = 1; c < CHIP_COUNT && is_ready && is_good; c++) print_core_ratio(c, cores_of(rts[c]));
  for (size_t c = 0; c < CHIP_COUNT; c++) pto_runtime_destroy(rts[c]);
}

int main(void) {
  bench_tasks("million_tasks", pto_bench_size(MILLION / 10), pto_bench_size(MILLION), PTO_GRAPH_SCOPE_TASKS, 0);
  bench_tasks("one_scope", 10000, SCOPE_TASKS, 0, SCOPE_WINDOW);
  bench_explicit_edges();
  bench_cores();
  return is_good ? 0 : 1;
}
