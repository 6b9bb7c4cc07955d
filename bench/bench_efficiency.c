/* SPDX-License-Identifier: MIT */
/*
 * One question: how long must tasks be, so that two threads are well used?
 *
 * stencil_1d, 64 tasks wide, whose tasks have serial bodies: one chain of dependent operations that goes on from task
 * to task, so that a body takes the time that it says (pto_task_body).  All systems of the list in the same run, in
 * turns; a repeat is one process.  Two kinds of lines:
 *
 *   efficiency  a system and body: ns_per_task is time on the clock; efficiency = serial / (CPUS · ns_per_task) of
 *               each repeat, where serial is what the same tasks take in a plain loop on one thread of the same process
 *   metg        METG(50 %) as Task Bench defines it (Slaughter et al., SC 2020): the least granularity, which is
 *               CPUS · time / tasks, at an efficiency of 50 % or more; found by bodies that double, and between the
 *               last that was too short and the first that was not by a straight line over the logarithms.  body_at_50
 *               is the body there, half of it.
 *
 * Two threads for two CPUs, but for StarPU: its submitter does no tasks and sleeps when all are submitted, so it has
 * three.
 *
 *   bench_efficiency [--repeats N] [SYSTEM…]
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <bench/support/systems.h>
#include <bench/support/task_graph.h>
#include <runtime/base/base.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN "stencil_1d"
#define CPUS 2
#define LEAST_TASKS (20 * PTO_TASK_WIDTH) /* so that the ends of a run weigh 0.2 % */
#define MOST_TASKS 40000u
#define RUN_NS 2e7      /* of bodies, where that is not fewer tasks */
#define LEAST_BODY_NS 8 /* of the search */
#define MOST_BODY_NS 2e5

static const struct {
  const char *name;
  uint32_t workers;
} wanted[] = {{"pto", 2},    {"openmp-gcc", 2}, {"openmp-gcc-w256", 2}, {"openmp-llvm", 2}, {"openmp-llvm-w256", 2},
              {"starpu", 3}, {"tbb", 2},        {"tbb-inline", 2}};
static const struct { double ns, aim; } bodies[] = {{200, 0}, {1000, 0.85}, {10000, 0.96}, {100000, 0.98}};
#define METG_AIM_NS 300

#define SYSTEM_COUNT PTO_ARRAY_LENGTH(wanted)
#define BODY_COUNT PTO_ARRAY_LENGTH(bodies)

struct result {
  const struct pto_system *system;
  bool is_wanted, has_failed;
  struct pto_samples ns[BODY_COUNT], efficiency[BODY_COUNT];
  struct pto_samples metg_ns, body_at_50_ns;
};
static struct result results[SYSTEM_COUNT];
static double steps_per_ns;

static uint32_t tasks_of(const struct pto_system *system, double body_ns) {
  const double tasks = fmin(RUN_NS / body_ns, pto_bench_size(MOST_TASKS)) / system->fewer;
  return (uint32_t)fmax(tasks, LEAST_TASKS);
}

struct point {
  double ns, body_ns, efficiency;
};

static bool measure_point(struct result *r, double body_ns, struct point *point) {
  const struct pto_system_job job = {.pattern = PATTERN,
                                     .tasks = tasks_of(r->system, body_ns),
                                     .rounds = body_ns > 5000 ? 1 : 3,
                                     .body_steps = (uint64_t)fmax(1, round(body_ns * steps_per_ns))};
  struct pto_system_times times;
  if (r->has_failed || !pto_system_repeat(r->system, &job, &times)) {
    r->has_failed = true;
    return false;
  }
  *point = (struct point){times.wall_ns, times.serial_ns, times.serial_ns / (CPUS * times.wall_ns)};
  return true;
}

static void measure_bodies(struct result *r) {
  struct point point;
  for (size_t b = 0; b < BODY_COUNT; b++) {
    if (!measure_point(r, bodies[b].ns, &point)) return;
    pto_samples_add(&r->ns[b], point.ns);
    pto_samples_add(&r->efficiency[b], point.efficiency);
  }
}

/* Where the straight line between two points over the logarithms comes to an efficiency of one half. */
static double between(double low, double high, const struct point *below, const struct point *above) {
  const double part = log(0.5 / below->efficiency) / log(above->efficiency / below->efficiency);
  return low * pow(high / low, part);
}

/* Two bodies, the one twice the other, of which only the longer is long enough; from where the last repeat found them.
 * Where the least body of all is, or none, there is no METG. */
static bool search(struct result *r, struct point *below, struct point *above) {
  const uint32_t found = r->body_at_50_ns.count;
  double body_ns = found ? r->body_at_50_ns.values[found - 1] : 16 * LEAST_BODY_NS;
  *below = *above = (struct point){0};
  while (below->ns == 0 || above->ns == 0) {
    struct point point;
    if (body_ns < LEAST_BODY_NS || body_ns > MOST_BODY_NS || !measure_point(r, body_ns, &point)) return false;
    if (point.efficiency < 0.5) {
      *below = point;
      body_ns *= 2;
    } else {
      *above = point;
      body_ns /= 2;
    }
  }
  return true;
}

static void measure_metg(struct result *r) {
  struct point below, above;
  if (!search(r, &below, &above)) return;
  pto_samples_add(&r->metg_ns, CPUS * between(below.ns, above.ns, &below, &above));
  pto_samples_add(&r->body_at_50_ns, between(below.body_ns, above.body_ns, &below, &above));
}

static void print_bodies(const struct result *r, size_t b) {
  struct pto_bench_line *line = pto_bench_line_begin("efficiency", r->system->name);
  pto_bench_line_text(line, "pattern", PATTERN);
  pto_bench_line_count(line, "workers", r->system->workers);
  pto_bench_line_count(line, "tasks", tasks_of(r->system, bodies[b].ns));
  pto_bench_line_count(line, "body_ns", (uint64_t)bodies[b].ns);
  pto_bench_line_real(line, "efficiency", pto_samples_median(&r->efficiency[b]));
  pto_bench_line_real(line, "best_efficiency", pto_samples_figures(&r->efficiency[b]).max);
  pto_bench_line_real(line, "aim", strcmp(r->system->name, PTO_BENCH_SYSTEM) == 0 ? bodies[b].aim : 0);
  pto_bench_line_real(line, "ns_per_task", pto_samples_median(&r->ns[b]));
  pto_bench_line_print(line, &r->ns[b]);
}

static void print_metg(const struct result *r) {
  struct pto_bench_line *line = pto_bench_line_begin("metg", r->system->name);
  pto_bench_line_text(line, "pattern", PATTERN);
  pto_bench_line_count(line, "workers", r->system->workers);
  pto_bench_line_real(line, "body_at_50", pto_samples_median(&r->body_at_50_ns));
  pto_bench_line_count(line, "aim_ns", strcmp(r->system->name, PTO_BENCH_SYSTEM) == 0 ? METG_AIM_NS : 0);
  pto_bench_line_print(line, &r->metg_ns);
}

static bool is_wanted(const char *name, char **listed) {
  bool is_listed = *listed == NULL;
  for (; *listed != NULL; listed++) is_listed |= strcmp(*listed, name) == 0;
  return is_listed;
}

int main(int argc, char **argv) {
  (void)argc;
  uint32_t repeats = pto_bench_repeats(7);
  argv++;
  if (argv[0] != NULL && argv[1] != NULL && strcmp(argv[0], "--repeats") == 0) {
    repeats = (uint32_t)atoi(argv[1]);
    argv += 2;
  }
  if (!pto_systems_find("bench_efficiency")) return 1;
  steps_per_ns = pto_task_body_steps_per_ns();
  for (size_t s = 0; s < SYSTEM_COUNT; s++) {
    results[s].system = pto_system_find(wanted[s].name, wanted[s].workers);
    results[s].is_wanted = is_wanted(wanted[s].name, argv) && pto_system_is_there(results[s].system);
  }
  for (uint32_t repeat = 0; repeat < repeats; repeat++)
    for (size_t s = 0; s < SYSTEM_COUNT; s++) {
      if (!results[s].is_wanted) continue;
      measure_bodies(&results[s]);
      measure_metg(&results[s]);
    }
  bool is_good = true;
  for (size_t b = 0; b < BODY_COUNT; b++)
    for (size_t s = 0; s < SYSTEM_COUNT; s++)
      if (results[s].ns[b].count > 0) print_bodies(&results[s], b);
  for (size_t s = 0; s < SYSTEM_COUNT; s++) {
    if (results[s].metg_ns.count > 0) print_metg(&results[s]);
    is_good &= !results[s].has_failed;
  }
  return is_good ? 0 : 1;
}
