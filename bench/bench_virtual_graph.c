/* SPDX-License-Identifier: MIT */
/*
 * One question: what does a task cost in virtual time, from its submit to its place in the timeline, and what does
 * SimGrid take to simulate the same graph?
 *
 * One JSON line a system, pattern and what is recorded: nanoseconds a task of processor time, all of it on one thread,
 * so that other load on the machine counts little.  Ours: the graphs of task_bench on a2a3, empty kernels, submit,
 * dependencies, engine and record in one; SimGrid (peers/peer_simgrid.cpp): the same graphs with the edges handed over,
 * 72 hosts, nothing recorded.  "simgrid" gets each task when it is ready, "simgrid-dag" the graph as a whole, and fewer
 * tasks, since its time a task grows with their number.  Then one line a pattern with ratios: SimGrid's time over ours
 * with a timeline, and ours with each record over ours with none.
 *
 * "pto-plain" runs on a chip file with no optional rule (tests/regress/plain.ini), with nothing recorded: what the
 * optional rules of a2a3 cost is `rules_over_plain`.  Instructions a task stand there too where valgrind is: callgrind
 * counts them, so what else the machine does makes no difference.
 *
 * A repeat goes once through all systems of a pattern; in it a round warms up, and the median of ROUNDS is kept.  The
 * result of each round is checked.
 *
 *   bench_virtual_graph [--repeats N] [--tasks N] [PATTERN…]
 *   bench_virtual_graph --count SYSTEM PATTERN    by index: what the bench runs under callgrind
 */
#include <bench/support/bench_clock.h>
#include <bench/support/bench_line.h>
#include <bench/support/programs.h>
#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <orchestration/basics/task_patterns.h>
#include <runtime/base/base.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 3
#define CHIP "a2a3"
#define COUNTED_TASKS 10000u /* callgrind takes fifty times as long */
#define MTASKS_AIM 5
#define RULES_AIM 1.35
#define PATTERN_COUNT PTO_ARRAY_LENGTH(task_patterns)

struct system {
  const char *name, *record;
  uint32_t record_bits; /* ours: enum pto_record */
  uint32_t fewer;       /* tasks are divided by this */
  bool is_plain;        /* ours: by the rules of a chip file without optional ones */
  bool is_peer, is_option;
};
enum { PLAIN, NOTHING_RECORDED, WITH_TIMELINE, ALL_RECORDED, SIMGRID };
static const struct system systems[] = {
    [PLAIN] = {.name = "pto-plain", .record = "nothing", .fewer = 1, .is_plain = true},
    [NOTHING_RECORDED] = {.name = "pto", .record = "nothing", .fewer = 1},
    [WITH_TIMELINE] = {.name = "pto", .record = "timeline", .record_bits = PTO_RECORD_TIMELINE, .fewer = 1},
    [ALL_RECORDED] = {.name = "pto",
                      .record = "timeline and graph",
                      .record_bits = PTO_RECORD_TIMELINE | PTO_RECORD_GRAPH,
                      .fewer = 1},
    [SIMGRID] = {.name = "simgrid", .record = "nothing", .fewer = 1, .is_peer = true},
    {.name = "simgrid-dag", .record = "nothing", .fewer = 100, .is_peer = true, .is_option = true},
};
#define SYSTEM_COUNT PTO_ARRAY_LENGTH(systems)

static struct pto_samples results[SYSTEM_COUNT][PATTERN_COUNT];
static double instructions[SYSTEM_COUNT][PATTERN_COUNT]; /* a task; 0: not counted */
static char folder[PATH_MAX];                            /* of this program */

/* ---- ours ---- */

/* The region that callgrind counts. */
static PTO_NOINLINE int orchestrate_counted(struct pto_program_run *run, struct pto_runtime *rt) {
  return pto_program_run_orchestrate(run, rt);
}

static int run_rounds(struct pto_program_run *run, struct pto_runtime *rt, uint32_t tasks, double ns[ROUNDS]) {
  struct pto_stats stats = {.size = sizeof stats};
  struct pto_comparison comparison;
  for (int round = -1; round < ROUNDS; round++) {
    pto_program_run_rewind(run);
    const double begin = pto_bench_cpu_ns();
    if (orchestrate_counted(run, rt) != PTO_OK) return -1;
    if (round >= 0) ns[round] = (pto_bench_cpu_ns() - begin) / tasks;
    if (round < 0 && pto_program_run_expect(run) != PTO_OK) return -1;
    pto_program_run_compare(run, 0, 0, &comparison);
    pto_runtime_stats(rt, &stats);
    if (!comparison.has_golden || !comparison.is_verified || stats.tasks != tasks) return -1;
  }
  return 0;
}

static bool run_ours(const struct system *system, const char *pattern, uint32_t task_count, double ns[ROUNDS]) {
  char with_pattern[64], tasks[32];
  snprintf(with_pattern, sizeof with_pattern, "pattern=%s", pattern);
  snprintf(tasks, sizeof tasks, "tasks=%u", task_count);
  const char *const settings[] = {with_pattern, tasks};
  const struct pto_program_request request = {.settings = settings, .setting_count = PTO_ARRAY_LENGTH(settings)};
  char plain[PATH_MAX + 32];
  snprintf(plain, sizeof plain, "%s/../../tests/regress/plain.ini", folder);
  const struct pto_config config = {.size = sizeof config,
                                    .engine = "virtual",
                                    .chip = system->is_plain ? plain : CHIP,
                                    .record = system->record_bits};
  struct pto_loaded_program *loaded = NULL;
  struct pto_program_run *run = NULL;
  struct pto_runtime *rt = NULL;
  struct pto_error error = {0};
  int status = pto_program_load("task_bench", &loaded, &error);
  if (status == PTO_OK) status = pto_program_run_create(loaded->program, &request, &run, &error);
  if (status == PTO_OK) status = pto_program_run_prepare(run);
  if (status == PTO_OK) status = pto_program_run_remember(run);
  if (status == PTO_OK) status = pto_runtime_create(&config, &rt);
  if (status == PTO_OK) status = run_rounds(run, rt, task_count, ns);
  if (status != PTO_OK)
    fprintf(stderr, "bench_virtual_graph: %s: %s\n", pattern,
            run ? pto_program_run_error(run)->sentence : error.sentence);
  if (rt != NULL) pto_runtime_destroy(rt);
  pto_program_run_destroy(run);
  pto_program_unload(loaded);
  return status == PTO_OK;
}

/* ---- the peer ---- */

static bool run_peer(const struct system *system, const char *pattern, uint32_t tasks, double ns[ROUNDS]) {
  char command[PATH_MAX + 128];
  double wall_ns;
  uint32_t count = 0;
  snprintf(command, sizeof command, "'%s/peers/simgrid' %s %u 1 0 %d %d 0", folder, pattern, tasks, system->is_option,
           ROUNDS);
  fflush(stdout);
  FILE *from = popen(command, "r");
  while (from != NULL && count < ROUNDS && fscanf(from, "%lf %lf", &wall_ns, &ns[count]) == 2) count++;
  return from != NULL && pclose(from) == 0 && count == ROUNDS;
}

static bool is_there(const struct system *system) {
  char path[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/peers/simgrid", folder);
  return !system->is_peer || access(path, X_OK) == 0;
}

/* ---- instructions ---- */

/* What callgrind counts a task in all rounds of a process of its own; 0 where that fails. */
static double count_instructions(uint32_t s, uint32_t p) {
  char command[2 * PATH_MAX], line[512];
  unsigned long long collected = 0;
  snprintf(command, sizeof command,
           "valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=orchestrate_counted "
           "'%s/bench_virtual_graph' --count %u %u 2>&1",
           folder, s, p);
  fflush(stdout);
  FILE *from = popen(command, "r");
  while (from != NULL && fgets(line, sizeof line, from) != NULL) {
    const char *found = strstr(line, "Collected : ");
    if (found != NULL) collected = strtoull(found + strlen("Collected : "), NULL, 10);
  }
  const bool is_good = from != NULL && pclose(from) == 0;
  return is_good ? (double)collected / (COUNTED_TASKS * (ROUNDS + 1)) : 0;
}

/* The bench as its own child. */
static int be_counted(const char *s, const char *p) {
  const uint32_t system = (uint32_t)atoi(s), pattern = (uint32_t)atoi(p);
  double ns[ROUNDS];
  if (system >= SIMGRID || pattern >= PATTERN_COUNT) return 1;
  return run_ours(&systems[system], task_patterns[pattern].name, COUNTED_TASKS, ns) ? 0 : 1;
}

/* ---- results ---- */

static double figure_of(uint32_t s, uint32_t p) { return pto_samples_median(&results[s][p]); }

static void print_result(uint32_t s, uint32_t p, uint32_t tasks) {
  if (results[s][p].count == 0) return;
  struct pto_bench_line *line = pto_bench_line_begin("virtual_engine", systems[s].name);
  pto_bench_line_text(line, "pattern", task_patterns[p].name);
  pto_bench_line_text(line, "chip", systems[s].is_plain ? "plain" : CHIP);
  pto_bench_line_text(line, "record", systems[s].record);
  pto_bench_line_count(line, "workers", 1);
  pto_bench_line_count(line, "tasks", tasks / systems[s].fewer);
  pto_bench_line_real(line, "ns_per_task", figure_of(s, p));
  if (instructions[s][p] > 0) pto_bench_line_real(line, "instructions_per_task", instructions[s][p]);
  pto_bench_line_print(line, &results[s][p]);
}

static void print_ratios(uint32_t p) {
  const double nothing = figure_of(NOTHING_RECORDED, p), timeline = figure_of(WITH_TIMELINE, p);
  const double plain_count = instructions[PLAIN][p], count = instructions[NOTHING_RECORDED][p];
  if (nothing == 0 || timeline == 0) return;
  struct pto_bench_line *line = pto_bench_line_begin("virtual_engine_ratio", PTO_BENCH_SYSTEM);
  pto_bench_line_text(line, "pattern", task_patterns[p].name);
  pto_bench_line_real(line, "timeline_over_nothing", timeline / nothing);
  pto_bench_line_real(line, "all_over_nothing", figure_of(ALL_RECORDED, p) / nothing);
  pto_bench_line_real(line, "rules_over_plain", nothing / figure_of(PLAIN, p));
  if (plain_count > 0 && count > 0) pto_bench_line_real(line, "rules_over_plain_instructions", count / plain_count);
  pto_bench_line_real(line, "rules_aim", RULES_AIM);
  pto_bench_line_real(line, "simgrid_over_timeline", figure_of(SIMGRID, p) / timeline);
  pto_bench_line_real(line, "mtasks_per_s", 1e3 / timeline);
  pto_bench_line_real(line, "aim", MTASKS_AIM);
  pto_bench_line_print(line, NULL);
}

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
        const struct system *system = &systems[s];
        struct pto_samples *r = &results[s][p], rounds = {.count = ROUNDS};
        /* What failed once is not tried again. */
        if (!is_wanted(task_patterns[p].name, wanted) || !is_there(system) || r->count != repeat) continue;
        if ((system->is_peer ? run_peer : run_ours)(system, task_patterns[p].name, tasks / system->fewer,
                                                    rounds.values)) {
          pto_samples_add(r, pto_samples_median(&rounds));
          continue;
        }
        fprintf(stderr, "bench_virtual_graph: %s failed on %s\n", system->name, task_patterns[p].name);
        is_good = false;
      }
  return is_good;
}

int main(int argc, char **argv) {
  uint32_t repeats = pto_bench_repeats(7), tasks = pto_bench_size(100000);
  if (readlink("/proc/self/exe", folder, sizeof folder - 1) < 0) return 1;
  *strrchr(folder, '/') = '\0';
  pto_bench_find_programs(argv[0]);
  if (argc == 4 && strcmp(argv[1], "--count") == 0) return be_counted(argv[2], argv[3]);
  for (argv++; *argv != NULL && argv[1] != NULL; argv += 2) {
    if (strcmp(*argv, "--repeats") == 0 && atoi(argv[1]) > 0)
      repeats = (uint32_t)pto_min_u64((uint64_t)atoi(argv[1]), PTO_MAX_SAMPLES);
    else if (strcmp(*argv, "--tasks") == 0 && atoi(argv[1]) >= 1000)
      tasks = (uint32_t)atoi(argv[1]);
    else
      break;
  }
  if (!is_there(&systems[SIMGRID]))
    fprintf(stderr,
            "bench_virtual_graph: without simgrid: its library or compiler is missing (scripts/deps --bench)\n");
  const bool is_good = measure(repeats, tasks, argv);
  if (system("valgrind --version >/dev/null 2>&1") != 0)
    fprintf(stderr, "bench_virtual_graph: without valgrind, no instructions are counted\n");
  else
    for (uint32_t s = 0; s < SIMGRID; s++)
      for (uint32_t p = 0; p < PATTERN_COUNT; p++)
        if (is_wanted(task_patterns[p].name, argv)) instructions[s][p] = count_instructions(s, p);
  for (uint32_t p = 0; p < PATTERN_COUNT; p++)
    for (uint32_t s = 0; s < SYSTEM_COUNT; s++) print_result(s, p, tasks);
  for (uint32_t p = 0; p < PATTERN_COUNT; p++) print_ratios(p);
  return is_good ? 0 : 1;
}
