/* SPDX-License-Identifier: MIT */
/*
 * Random orchestrations on both engines against the plain interpreter: the bytes of all external memory, what the host
 * read, the number of tasks and of edges; in virtual time also the timeline, which repeats with any number of workers.
 *
 * Every program runs once on threads and on the virtual engine, in settings that rotate with the seed: chips, workers,
 * policies, windows, heaps and first sequences.  The weaker rules run in virtual time alone: on threads they let
 * kernels race, which is their nature and not a finding.  Observed, they touch what they declare and nothing else.
 * PTO_RANDOM_PROGRAMS sets how many programs, PTO_SEED the first seed.  A failing program is shrunk and printed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <check/observe/observe.h>
#include <runtime/control/runtime_state.h>
#include <runtime/trace/trace_digest.h>
#include <tests/support/random_program.h>

/* A failure on threads may need several attempts to show again while its program is shrunk. */
#define SHRINK_ATTEMPTS 10

struct setting {
  struct pto_config config;
  uint32_t other_workers;  /* virtual: must not matter */
  uint64_t first_sequence; /* where the task rings start: at 0 and just below the wraps of references and of 32 bits */
};

static struct random_program program;
static struct random_plan plan;
static struct random_result expected, actual;
static char reason[640];

static const char *const chips[] = {"tiny", "a2a3"};
static const uint32_t worker_counts[] = {1, 2, 5};
static const char *const policies[] = {"fifo", "lifo", "random:7"};

static void draw_setting(uint64_t seed, bool is_virtual, struct setting *setting) {
  static const uint64_t windows[] = {8, 16, 64, 512, 512, 4096};
  struct pto_rng rng = {seed * 2 + is_virtual};
  bool is_weak = is_virtual && pto_rng_below(&rng, 6) == 0;
  static const uint64_t starts[] = {0, (UINT64_C(1) << 30) - 20, (UINT64_C(1) << 32) - 20, (UINT64_C(1) << 31) - 20};
  uint64_t turn = seed / 2;
  /* Under weak rules a predicate may read an output that no task has written yet: with poison always the same. */
  *setting = (struct setting){.config = {.size = sizeof setting->config,
                                         .engine = is_virtual ? "virtual" : "threads",
                                         .chip = chips[seed % 2],
                                         .workers = worker_counts[turn % PTO_ARRAY_LENGTH(worker_counts)],
                                         .policy = policies[turn / 3 % PTO_ARRAY_LENGTH(policies)],
                                         .deps = is_weak ? random_program_weak_rules(&rng) : PTO_DEPS_EXACT,
                                         .window = windows[pto_rng_below(&rng, PTO_ARRAY_LENGTH(windows))],
                                         .heap_bytes = pto_rng_below(&rng, 3) ? 1 << 20 : 8192,
                                         .poison = pto_rng_below(&rng, 2) || is_weak,
                                         .record = is_virtual ? PTO_RECORD_TIMELINE : 0,
                                         .keep_released = pto_rng_below(&rng, 3) == 0},
                              .other_workers = 1 + (uint32_t)pto_rng_below(&rng, 7),
                              .first_sequence = starts[pto_rng_below(&rng, PTO_ARRAY_LENGTH(starts))]};
}

/* ---- one comparison ---- */

static bool is_too_small(int status) { return status == PTO_ESCOPE || status == PTO_EWINDOW || status == PTO_EHEAP; }

/* What is wrong with `actual`, or NULL.  Programs that do not fit the small rings end with the error that says so. */
static const char *wrong_outcome(const struct pto_config *config, bool *fitted) {
  *fitted = !is_too_small(actual.status);
  if (!*fitted && config->keep_released) return actual.sentence; /* what does not fit is skipped */
  if (!*fitted) return config->window >= 512 && config->heap_bytes > 8192 ? actual.sentence : NULL;
  if (actual.status) return actual.sentence;
  if (actual.tasks != expected.tasks || actual.edges != expected.edges) {
    snprintf(reason, sizeof reason, "%llu tasks and %llu edges, expected %llu and %llu",
             (unsigned long long)actual.tasks, (unsigned long long)actual.edges, (unsigned long long)expected.tasks,
             (unsigned long long)expected.edges);
    return reason;
  }
  if (config->deps != PTO_DEPS_EXACT) return NULL; /* may be wrong in its bytes, and that is the point of it */
  if (actual.reads != expected.reads) return "what the host read differs";
  return memcmp(actual.externals, expected.externals, sizeof actual.externals) ? "bytes of external memory differ"
                                                                               : NULL;
}

static struct pto_runtime *make_runtime(const struct pto_config *config, uint64_t first_sequence) {
  struct pto_runtime *rt = NULL;
  char sentence[PTO_SENTENCE_SIZE] = "";
  if (pto_runtime_create_explained(config, &rt, sentence, sizeof sentence) != PTO_OK) fail_msg("%s", sentence);
  rt->first_sequence = first_sequence;
  return rt;
}

/* Two runs in one runtime: the second finds everything as the first left it. */
static const char *run_twice(const struct pto_config *config, uint64_t first_sequence, bool *fitted,
                             uint64_t *timeline) {
  struct pto_runtime *rt = make_runtime(config, first_sequence);
  const char *wrong = NULL;
  for (int round = 0; round < 2 && !wrong; round++) {
    random_program_run(&program, &plan, rt, &actual);
    wrong = wrong_outcome(config, fitted);
    uint64_t digest = config->record ? pto_trace_digest(pto_runtime_trace(rt)) : 0;
    if (!wrong && round && digest != *timeline) wrong = "the second run in one runtime has another timeline";
    *timeline = digest;
  }
  pto_runtime_destroy(rt);
  return wrong;
}

static const char *difference(const struct setting *setting, bool *fitted) {
  uint64_t timeline = 0, other = 0;
  program.kept_heap_bytes = setting->config.keep_released ? setting->config.heap_bytes : 0;
  random_program_interpret(&program, setting->config.deps, (uint32_t)setting->config.window, &plan, &expected);
  const char *wrong = run_twice(&setting->config, setting->first_sequence, fitted, &timeline);
  if (wrong || !setting->config.record) return wrong;
  struct pto_config config = setting->config;
  config.workers = setting->other_workers;
  wrong = run_twice(&config, setting->first_sequence, fitted, &other);
  return !wrong && other != timeline ? "with other workers the timeline is another" : wrong;
}

static bool still_fails(void *context) {
  const struct setting *setting = context;
  bool fitted;
  for (int i = 0; i < SHRINK_ATTEMPTS; i++)
    if (difference(setting, &fitted)) return true;
  return false;
}

/* ---- tests ---- */

/* Seeds of longer runs that have failed. */
static const uint64_t failed_once[] = {1109, 21783, 21819};

/* Those, and then all in turn. */
static uint64_t seed_at(const struct random_seeds *seeds, uint64_t i) {
  return i < PTO_ARRAY_LENGTH(failed_once) ? failed_once[i] : seeds->first + i - PTO_ARRAY_LENGTH(failed_once);
}

static void run_programs(bool is_virtual) {
  const struct random_seeds seeds = random_program_seeds(500, 10000);
  uint64_t fitted_count = 0, tasks = 0, edges = 0;
  for (uint64_t i = 0; i < seeds.count + PTO_ARRAY_LENGTH(failed_once); i++) {
    const uint64_t seed = seed_at(&seeds, i);
    struct setting setting;
    bool fitted;
    draw_setting(seed, is_virtual, &setting);
    random_program_make(&program, seed);
    const char *what = difference(&setting, &fitted);
    fitted_count += fitted;
    tasks += expected.tasks;
    edges += expected.edges;
    if (!what) continue;
    const struct pto_config *c = &setting.config;
    printf("seed %llu: %s (%s %s, workers %u and %u, policy %s, rules %u, window %llu, heap %llu, sequences from "
           "%llu); shrunk to\n",
           (unsigned long long)seed, what, c->engine, c->chip, c->workers, setting.other_workers, c->policy, c->deps,
           (unsigned long long)c->window, (unsigned long long)c->heap_bytes,
           (unsigned long long)setting.first_sequence);
    random_program_shrink(&program, still_fails, &setting);
    random_program_print(&program);
    fail();
  }
  printf("%s, seeds %llu to %llu: %llu programs fitted their rings; %llu tasks, %llu edges\n",
         is_virtual ? "virtual" : "threads", (unsigned long long)seeds.first,
         (unsigned long long)(seeds.first + seeds.count - 1), (unsigned long long)fitted_count,
         (unsigned long long)tasks, (unsigned long long)edges);
  assert_true(fitted_count > seeds.count / 2);
}

static void random_orchestrations_on_threads_give_the_bytes_and_edges_of_sequential_execution(void **state) {
  (void)state;
  run_programs(false);
}

static void random_orchestrations_in_virtual_time_also_repeat_their_timeline(void **state) {
  (void)state;
  run_programs(true);
}

/* ---- observed ---- */

static uint32_t sums_told;

/* The kernels multiply what they accumulate into, so that the order shows in bytes: that is told, and rightly. */
static bool is_of_sums(const struct pto_finding *finding) {
  return finding->kind == PTO_FINDING_MODE && strstr(finding->sentence, "grows by another amount") != NULL;
}

/* What is wrong with a program of kernels that are right but for their sums when it is observed; NULL: nothing. */
static const char *wrong_when_observed(const struct pto_config *config) {
  const struct pto_observe_options all = {0};
  struct pto_runtime *rt = make_runtime(config, 0);
  struct pto_observation *observation;
  struct pto_findings findings;
  struct pto_error error;
  bool fitted;
  pto_findings_init(&findings);
  assert_int_equal(pto_observation_create(rt, &all, &findings, &observation, &error), PTO_OK);
  random_program_interpret(&program, config->deps, (uint32_t)config->window, &plan, &expected);
  random_program_run(&program, &plan, rt, &actual);
  const char *wrong = wrong_outcome(config, &fitted);
  for (size_t i = 0; i < findings.count && !wrong; i++) {
    const struct pto_finding *finding = &findings.items[i];
    sums_told += is_of_sums(finding);
    if (is_of_sums(finding) || pto_finding_kind_is_note(finding->kind)) continue;
    snprintf(reason, sizeof reason, "%s: %.500s", pto_finding_kind_name(finding->kind), finding->sentence);
    wrong = reason;
  }
  pto_observation_destroy(observation);
  pto_runtime_destroy(rt);
  pto_findings_fini(&findings);
  return wrong;
}

static bool is_still_wrong(void *context) { return wrong_when_observed(context) != NULL; }

static void random_orchestrations_are_observed_without_a_finding_but_of_their_sums(void **state) {
  const struct random_seeds seeds = random_program_seeds(200, 2000);
  for (uint64_t i = 0; i < seeds.count + PTO_ARRAY_LENGTH(failed_once); i++) {
    const uint64_t seed = seed_at(&seeds, i);
    const struct pto_config config = {.size = sizeof config,
                                      .engine = "observe",
                                      .chip = chips[seed % 2],
                                      .policy = policies[seed / 2 % PTO_ARRAY_LENGTH(policies)],
                                      .window = 512,
                                      .heap_bytes = 1 << 20,
                                      .poison = seed % 3 == 0,
                                      .keep_released = seed % 5 == 0};
    random_program_make(&program, seed);
    program.kept_heap_bytes = config.keep_released ? config.heap_bytes : 0;
    const char *what = wrong_when_observed(&config);
    if (!what) continue;
    printf("seed %llu: %s; shrunk to\n", (unsigned long long)seed, what);
    random_program_shrink(&program, is_still_wrong, (void *)(uintptr_t)&config);
    random_program_print(&program);
    fail();
  }
  assert_true(sums_told > 0 || pto_observation_is_left_to_tool());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_orchestrations_on_threads_give_the_bytes_and_edges_of_sequential_execution),
      cmocka_unit_test(random_orchestrations_are_observed_without_a_finding_but_of_their_sums),
      cmocka_unit_test(random_orchestrations_in_virtual_time_also_repeat_their_timeline),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
