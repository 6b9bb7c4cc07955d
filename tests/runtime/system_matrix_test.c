/* SPDX-License-Identifier: MIT */
/*
 * The system matrix: every program, in each of its cases that is not long, on both engines × the chips that it fits ×
 * numbers of workers × policies × ring sizes.
 *
 * Each run must give the digest of the oracle, which executes one task at a time and shares no code with the runtime,
 * and where it verifies; the tasks and edges that the case states; and, since edges may shrink with the window, the
 * same edges as every other run with that window.  In virtual time a run repeats its timeline, in the same runtime and
 * with any number of workers.  A run that does not fit smaller rings than the program's own ends with the error that
 * says so; then no run fits that window.
 *
 * A case runs through two orthogonal arrays of nine, one an engine: every pair of chip, workers, policy and sizes
 * together once.  What completes a triple changes from case to case.  PTO_MATRIX_FULL=1 or PTO_TEST_LONG=1: the full
 * product instead, and long cases once an engine.  Sanitizer builds run a third of each array.
 *
 * A test is one run.  One line a failure and a table of what was run: "too small" are runs whose rings did not hold the
 * case, "skipped" are those on a chip with too few clusters for the program.  The last line has the count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <orchestration/loader/loader.h>
#include <orchestration/loader/program_run.h>
#include <runtime/base/base.h>
#include <runtime/base/sanitizer.h>
#include <runtime/control/control.h>
#include <runtime/trace/trace_digest.h>
#include <sim/chips/chip.h>

#define IS_SLOW PTO_HAS_SANITIZER

/* ---- the axes ---- */

#define AXIS 3u
#define ROUNDS (IS_SLOW ? 10u : 100u)

static const char *const chips[AXIS] = {"tiny", "a2a3", "a5"};
static const uint32_t workers[AXIS] = {1, 2, 5};
static const char *const policies[AXIS + 1] = {"fifo", "lifo", "random:1", "random:20261120"};
/* Window and heap; 0: the program's own.  A case runs with its own sizes, some of these by its turn, and the tightest
 * that it fits. */
struct sizes {
  uint64_t window, heap_bytes;
};
static const struct sizes usual[] = {{256, 8 << 20}, {1024, 16 << 20}, {64, 256 << 10}, {4096, 1 << 20}};
enum { SIZES_OWN, SIZES_USUAL, SIZES_TIGHT, SIZES_MORE, SIZES_COUNT = SIZES_MORE + 2 };

struct combination {
  bool is_virtual, repeats;
  uint32_t chip, workers, policy, sizes; /* indices */
};

/* ---- results ---- */

struct row {
  uint32_t cases, threads, is_virtual, repeated, rounds, too_small, skipped;
};
static uint32_t passed, failed;
static struct row all;
static bool is_full;

static bool record(bool is_good, const char *program, const char *case_name, const char *where, const char *reason) {
  if (is_good)
    passed++;
  else
    failed++;
  if (!is_good) printf("%s %s, %s: %s\n", program, case_name ? case_name : "(defaults)", where, reason);
  return is_good;
}

static void print_row(const char *name, const struct row *row) {
  printf("%-28s %5u %9u %9u %9u %9u %9u %9u\n", name, row->cases, row->threads, row->is_virtual, row->repeated,
         row->rounds, row->too_small, row->skipped);
}

/* ---- the oracle ---- */

struct truth {
  bool is_known; /* and verified, where there is a golden */
  uint64_t tasks;
  char digest[32];
};

/* What BUILD/oracle says; it is a process of its own, since it brings the calls of the runtime itself. */
static struct truth ask_oracle(const char *path, const char *case_name) {
  struct truth truth = {0};
  const char *build = getenv("PTO_BUILD_DIR");
  char command[1024];
  snprintf(command, sizeof command, "%s/oracle %s%s%s --json -", build ? build : "build", path,
           case_name ? " --case " : "", case_name ? case_name : "");
  FILE *pipe = popen(command, "r");
  json_t *object = pipe ? json_loadf(pipe, 0, NULL) : NULL;
  if (pipe) pclose(pipe);
  const char *digest = json_string_value(json_object_get(object, "output_digest"));
  if (digest && !json_is_false(json_object_get(object, "verified"))) {
    truth.is_known = true;
    truth.tasks = (uint64_t)json_integer_value(json_object_get(object, "tasks"));
    snprintf(truth.digest, sizeof truth.digest, "%s", digest);
  }
  json_decref(object);
  return truth;
}

/* ---- one case ---- */

struct subject {
  const struct pto_loaded_program *loaded;
  const struct pto_case *chosen; /* NULL: the defaults */
  struct truth truth;
  struct sizes sizes[SIZES_COUNT];
  struct {
    bool has_run, fits, fits_not;
    uint64_t edges;
  } seen[SIZES_COUNT];         /* by sizes */
  struct pto_program_run *run; /* prepared and remembered; NULL: to be made */
  uint32_t clusters[AXIS];     /* of the chips */
  struct row *row;
};

struct outcome {
  int status;
  uint64_t tasks, edges, timeline, window_used, heap_used_bytes;
  char digest[32];
  char sentence[PTO_SENTENCE_SIZE];
};

static bool is_too_small(int status) { return status == PTO_ESCOPE || status == PTO_EWINDOW || status == PTO_EHEAP; }
static const char *case_name_of(const struct subject *s) { return s->chosen ? s->chosen->name : NULL; }

static struct pto_config config_of(const struct subject *s, const struct combination *c) {
  const struct pto_program *program = s->loaded->program;
  struct pto_config config = {0};
  if (program->config) memcpy(&config, program->config, pto_min_u64(program->config->size, sizeof config));
  config.size = sizeof config;
  config.engine = c->is_virtual ? "virtual" : "threads";
  config.chip = chips[c->chip];
  config.workers = workers[c->workers];
  config.policy = policies[c->policy];
  config.poison = (c->chip + c->sizes) % 2;
  config.record = c->is_virtual ? PTO_RECORD_TIMELINE : 0;
  if (s->sizes[c->sizes].window) config.window = s->sizes[c->sizes].window;
  if (s->sizes[c->sizes].heap_bytes) config.heap_bytes = s->sizes[c->sizes].heap_bytes;
  return config;
}

static bool make_run(struct subject *s, struct outcome *outcome) {
  struct pto_error error = {0};
  const struct pto_program_request request = {.case_name = case_name_of(s)};
  outcome->status = pto_program_run_create(s->loaded->program, &request, &s->run, &error);
  if (outcome->status == PTO_OK) outcome->status = pto_program_run_prepare(s->run);
  if (outcome->status == PTO_OK) outcome->status = pto_program_run_remember(s->run);
  if (outcome->status == PTO_OK) return true;
  snprintf(outcome->sentence, sizeof outcome->sentence, "%s",
           s->run ? pto_program_run_error(s->run)->sentence : error.sentence);
  return false;
}
static void drop_run(struct subject *s) {
  pto_program_run_destroy(s->run);
  s->run = NULL;
}

/* Runs once more in `rt` from the remembered inputs. */
static void execute(struct subject *s, struct pto_runtime *rt, bool has_timeline, struct outcome *outcome) {
  struct pto_stats stats = {.size = sizeof stats};
  memset(outcome, 0, sizeof *outcome);
  if (s->run)
    pto_program_run_rewind(s->run);
  else if (!make_run(s, outcome))
    return;
  outcome->status = pto_program_run_orchestrate(s->run, rt);
  pto_runtime_stats(rt, &stats);
  outcome->tasks = stats.tasks;
  outcome->edges = stats.edges;
  outcome->window_used = stats.window_high_water;
  outcome->heap_used_bytes = stats.heap_high_water_bytes;
  if (has_timeline) outcome->timeline = pto_trace_digest(pto_runtime_trace(rt));
  snprintf(outcome->sentence, sizeof outcome->sentence, "%s", pto_program_run_error(s->run)->sentence);
  snprintf(outcome->digest, sizeof outcome->digest, "%016llx", (unsigned long long)pto_program_run_digest(s->run));
  if (outcome->status != PTO_OK) drop_run(s); /* a run that has failed refuses all that follows */
}

/* Against the golden, in this process too: once a case, since the digests are the same. */
static const char *compare_with_golden(struct subject *s) {
  static struct pto_comparison comparison;
  double rtol, atol;
  if (pto_program_run_expect(s->run) != PTO_OK) return pto_program_run_error(s->run)->sentence;
  pto_program_run_tolerance(s->run, &rtol, &atol);
  pto_program_run_compare(s->run, rtol, atol, &comparison);
  return comparison.has_golden && !comparison.is_verified ? comparison.sentence : NULL;
}

/* NULL, or what is wrong with a run that has ended well. */
static const char *judge_success(struct subject *s, const struct combination *c, const struct outcome *outcome) {
  static char reason[256];
  const struct pto_case *stated = s->chosen;
  bool is_first = !s->seen[c->sizes].has_run;
  s->seen[c->sizes].has_run = true;
  s->seen[c->sizes].fits = true;
  if (strcmp(s->truth.digest, outcome->digest) != 0)
    snprintf(reason, sizeof reason, "digest %s, the oracle's is %s", outcome->digest, s->truth.digest);
  else if (outcome->tasks != s->truth.tasks || (stated && stated->tasks && stated->tasks != outcome->tasks))
    snprintf(reason, sizeof reason, "%llu tasks, of the oracle %llu, %llu stated", (unsigned long long)outcome->tasks,
             (unsigned long long)s->truth.tasks, (unsigned long long)(stated ? stated->tasks : 0));
  else if (stated && stated->edges && !s->sizes[c->sizes].window && stated->edges != outcome->edges)
    snprintf(reason, sizeof reason, "%llu edges, %llu stated", (unsigned long long)outcome->edges,
             (unsigned long long)stated->edges);
  else if (!is_first && s->seen[c->sizes].edges != outcome->edges)
    snprintf(reason, sizeof reason, "%llu edges, %llu elsewhere with this window", (unsigned long long)outcome->edges,
             (unsigned long long)s->seen[c->sizes].edges);
  else if (s->seen[c->sizes].fits_not)
    snprintf(reason, sizeof reason, "it fits a window that it did not fit elsewhere");
  else {
    s->seen[c->sizes].edges = outcome->edges;
    return c->sizes == SIZES_OWN && is_first ? compare_with_golden(s) : NULL;
  }
  return reason;
}

static const char *judge(struct subject *s, const struct combination *c, const struct outcome *outcome) {
  int expected = s->loaded->program->expected_status;
  bool has_own_sizes = !s->sizes[c->sizes].window;
  if (expected != PTO_OK && outcome->status == expected)
    return *outcome->sentence ? NULL : "failed as expected, without a sentence";
  if (!has_own_sizes && is_too_small(outcome->status)) {
    s->row->too_small++;
    /* A scope holds as many tasks on every machine; how a heap is cut depends on who was done when. */
    if (outcome->status == PTO_EHEAP) return NULL;
    s->seen[c->sizes].fits_not = true;
    return s->seen[c->sizes].fits ? "it does not fit a window that it fits elsewhere" : NULL;
  }
  if (expected != PTO_OK) return has_own_sizes ? "it ended well or otherwise than expected" : NULL;
  return outcome->status != PTO_OK ? outcome->sentence : judge_success(s, c, outcome);
}

static void describe(const struct subject *s, const struct combination *c, char *text, size_t size) {
  snprintf(text, size, "%s %s workers %u policy %s window %llu heap %llu", c->is_virtual ? "virtual" : "threads",
           chips[c->chip], workers[c->workers], policies[c->policy], (unsigned long long)s->sizes[c->sizes].window,
           (unsigned long long)s->sizes[c->sizes].heap_bytes);
}

/* The same in the same runtime, and in another one with other workers: the same bytes and the same timeline. */
static const char *repeat(struct subject *s, const struct combination *c, struct pto_runtime *rt,
                          const struct outcome *first) {
  struct outcome outcome;
  struct pto_config config = config_of(s, c);
  execute(s, rt, true, &outcome);
  if (outcome.status || outcome.timeline != first->timeline || strcmp(outcome.digest, first->digest) != 0)
    return "the second run in one runtime is another";
  config.workers = workers[(c->workers + 1) % AXIS];
  if (pto_runtime_create(&config, &rt) != PTO_OK) return "no second runtime";
  execute(s, rt, true, &outcome);
  pto_runtime_destroy(rt);
  if (outcome.status || outcome.timeline != first->timeline || outcome.edges != first->edges)
    return "with other workers the timeline is another";
  s->row->repeated += 2;
  return NULL;
}

static void run_combination(struct subject *s, const struct combination *c) {
  struct pto_runtime *rt = NULL;
  struct outcome outcome = {0};
  struct pto_config config = config_of(s, c);
  char where[160];
  if (s->clusters[c->chip] < s->loaded->program->min_clusters) {
    s->row->skipped++;
    return;
  }
  describe(s, c, where, sizeof where);
  if (pto_runtime_create_explained(&config, &rt, outcome.sentence, sizeof outcome.sentence) != PTO_OK) {
    record(false, s->loaded->name, case_name_of(s), where, outcome.sentence);
    return;
  }
  execute(s, rt, c->is_virtual, &outcome);
  *(c->is_virtual ? &s->row->is_virtual : &s->row->threads) += 1;
  const char *reason = judge(s, c, &outcome);
  if (!reason && c->repeats && outcome.status == PTO_OK) reason = repeat(s, c, rt, &outcome);
  record(!reason, s->loaded->name, case_name_of(s), where, reason);
  pto_runtime_destroy(rt);
}

/* ---- the combinations of a case ---- */

/* The smallest window that the case fits, by halving, and twice the heap that it used there. */
static void find_tightest(struct subject *s) {
  struct sizes *tight = &s->sizes[SIZES_TIGHT];
  struct combination c = {.is_virtual = true};
  struct outcome outcome = {.window_used = 16383};
  *tight = (struct sizes){64, 256 << 10};
  if (s->loaded->program->expected_status != PTO_OK) return;
  while (s->clusters[c.chip] < s->loaded->program->min_clusters) c.chip++;
  for (uint64_t window = 16384; window >= 4 && outcome.window_used; window /= 2) {
    struct pto_config config = config_of(s, &c);
    struct pto_runtime *rt = NULL;
    if (outcome.window_used < window / 2) continue; /* it never came round */
    config.window = window;
    if (pto_runtime_create(&config, &rt) != PTO_OK) return;
    execute(s, rt, true, &outcome);
    pto_runtime_destroy(rt);
    if (outcome.status != PTO_OK) return;
    *tight = (struct sizes){window, pto_align_up(pto_max_u64(2 * outcome.heap_used_bytes, 1024), 1024)};
  }
}

/* Nine runs an engine: rows of the orthogonal array L9(3^4) over chip, workers (virtual: none, so whatever), policy and
 * sizes. */
static void run_array(struct subject *s, uint32_t turn) {
  for (uint32_t i = 0; i < 2 * AXIS * AXIS; i++) {
    uint32_t a = i / AXIS % AXIS, b = i % AXIS;
    if (IS_SLOW && a != (b + turn) % AXIS) continue;
    struct combination c = {.is_virtual = i >= AXIS * AXIS,
                            .chip = a,
                            .workers = b,
                            .policy = (a + b + turn) % AXIS,
                            .sizes = (a + 2 * b + turn) % AXIS};
    c.repeats = c.is_virtual && a == b;
    run_combination(s, &c);
  }
}

static void run_product(struct subject *s) {
  for (uint32_t sizes = 0; sizes < SIZES_COUNT; sizes++)
    for (uint32_t chip = 0; chip < AXIS; chip++)
      for (uint32_t policy = 0; policy < AXIS + 1; policy++) {
        for (uint32_t w = 0; w < AXIS; w++)
          run_combination(s, &(struct combination){.chip = chip, .workers = w, .policy = policy, .sizes = sizes});
        run_combination(s, &(struct combination){
                               .is_virtual = true, .repeats = true, .chip = chip, .policy = policy, .sizes = sizes});
      }
}

/* A hundred rounds in one runtime on threads. */
static void run_rounds(struct subject *s, uint32_t turn) {
  struct combination c = {.chip = 1 + turn % 2, .workers = 1 + turn % 2, .policy = turn % AXIS};
  struct pto_config config = config_of(s, &c);
  struct pto_runtime *rt = NULL;
  struct outcome outcome = {0};
  char where[200];
  describe(s, &c, where, sizeof where);
  if (pto_runtime_create_explained(&config, &rt, outcome.sentence, sizeof outcome.sentence) != PTO_OK) {
    record(false, s->loaded->name, case_name_of(s), where, outcome.sentence);
    return;
  }
  const char *reason = NULL;
  for (uint32_t round = 0; round < ROUNDS && !reason; round++) {
    execute(s, rt, false, &outcome);
    reason = judge(s, &c, &outcome);
    s->row->rounds++;
  }
  snprintf(where + strlen(where), sizeof where - strlen(where), " round %u", s->row->rounds);
  record(!reason, s->loaded->name, case_name_of(s), where, reason);
  pto_runtime_destroy(rt);
}

static void check_case(const struct pto_loaded_program *loaded, const struct pto_case *one, bool with_rounds,
                       struct row *row) {
  static uint32_t turn;
  struct subject s = {.loaded = loaded, .chosen = one, .row = row};
  row->cases++;
  if (loaded->program->expected_status == PTO_OK) {
    s.truth = ask_oracle(loaded->path, case_name_of(&s));
    if (!record(s.truth.is_known, loaded->name, case_name_of(&s), "oracle", "it does not verify")) return;
  }
  for (uint32_t i = 0; i < AXIS; i++) {
    struct pto_chip chip;
    struct pto_error error;
    s.clusters[i] = pto_chip_load(chips[i], &chip, &error) == PTO_OK ? chip.cluster_count : 0;
  }
  s.sizes[SIZES_USUAL] = usual[turn % PTO_ARRAY_LENGTH(usual)];
  for (uint32_t i = SIZES_MORE; i < SIZES_COUNT; i++) s.sizes[i] = usual[(turn + i) % PTO_ARRAY_LENGTH(usual)];
  if (!one || !one->is_long) find_tightest(&s);
  if (one && one->is_long) {
    run_combination(&s, &(struct combination){.chip = 1, .workers = 1});
    run_combination(&s, &(struct combination){.chip = 1, .is_virtual = true});
  } else if (is_full) {
    run_product(&s);
  } else {
    run_array(&s, turn);
  }
  if (with_rounds) run_rounds(&s, turn);
  drop_run(&s);
  turn++;
}

/* ---- programs ---- */

/* One case of each program has a hundred rounds: its first, that of the most edges for its time where that is another.
 */
static bool has_rounds(const char *program, const struct pto_case *one) {
  static const char *const others[][2] = {{"paged_attention", "var2"},
                                          {"task_bench", "random_dag"},
                                          {"barriers", "explicit64x64"},
                                          {"bgemm", "32x64x4"},
                                          {"spmd", "mix"},
                                          {"spmd_sync_start", "stress"},
                                          {"alternating_matmul_add", "uneven"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(others); i++)
    if (strcmp(program, others[i][0]) == 0) return one && strcmp(one->name, others[i][1]) == 0;
  return true;
}

static int check_program(void *context, const char *name, const char *path) {
  const char *only = context;
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error;
  struct row row = {0};
  if (only && strcmp(only, name) != 0) return 0;
  if (pto_program_load(path, &loaded, &error) != PTO_OK) {
    record(false, name, NULL, "loader", error.sentence);
    return 0;
  }
  /* What takes the process with it is the command line's to test. */
  bool is_fatal = strcmp(name, "errors/crash") == 0 || loaded->program->expected_status == PTO_ETIMEOUT;
  if (!is_fatal && !loaded->program->host && !loaded->program->ranks) {
    const struct pto_case *one = loaded->program->cases;
    bool is_right = loaded->program->expected_status == PTO_OK, had_rounds = false;
    if (!one || !one->name) check_case(loaded, NULL, is_right, &row);
    for (; one && one->name; one++) {
      if (one->is_long && !is_full) continue;
      bool with_rounds = is_right && !had_rounds && !one->is_long && has_rounds(name, one);
      had_rounds |= with_rounds;
      check_case(loaded, one, with_rounds, &row);
    }
    print_row(name, &row);
  }
  for (size_t i = 0; i < sizeof row / sizeof(uint32_t); i++) ((uint32_t *)&all)[i] += ((const uint32_t *)&row)[i];
  pto_program_unload(loaded);
  return 0;
}

int main(int argc, char **argv) {
  if (access(getenv("PTO_BUILD_DIR") ? getenv("PTO_BUILD_DIR") : "build", X_OK) != 0) return 77;
  if (!getenv("PTO_PROGRAM_PATH")) setenv("PTO_PROGRAM_PATH", "build/programs", 1);
  is_full = getenv("PTO_MATRIX_FULL") || getenv("PTO_TEST_LONG");
  printf("threads and virtual × tiny, a2a3, a5 × workers 1, 2, 5 × fifo, lifo, random × window and heap: %s\n",
         is_full   ? "the full product"
         : IS_SLOW ? "a third of the pairs"
                   : "every pair in every case");
  printf("%-28s %5s %9s %9s %9s %9s %9s %9s\n", "", "cases", "threads", "virtual", "repeated", "rounds", "too small",
         "skipped");
  (void)pto_program_list(check_program, argc > 1 ? argv[1] : NULL);
  print_row("all", &all);
  printf("%u passed, %u failed", passed, failed);
  if (all.skipped != 0) printf(", %u skipped", all.skipped);
  printf("\n");
  return failed != 0;
}
