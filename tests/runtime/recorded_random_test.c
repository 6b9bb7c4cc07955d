/* SPDX-License-Identifier: MIT */
/*
 * Random orchestrations that are recorded and launched, on both engines: one launch leaves the bytes of the plain
 * interpreter, also in a later run on other memory, and several launches in a run those of as many times the submits
 * themselves.  A launch is two tasks more.
 * PTO_RANDOM_PROGRAMS sets how many programs, PTO_SEED the first seed.  A failing program is shrunk and printed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tests/support/random_program.h>

static struct random_program program;
static struct random_plan plan;
static struct random_result expected, actual, plain;

static void draw_config(uint64_t seed, bool is_virtual, struct pto_config *config) {
  static const uint64_t windows[] = {64, 512, 512, 4096};
  struct pto_rng rng = {seed ^ 0x5ec0};
  *config = (struct pto_config){.size = sizeof *config,
                                .engine = is_virtual ? "virtual" : "threads",
                                .chip = pto_rng_below(&rng, 2) ? "tiny" : "a2a3",
                                .workers = 1 + (uint32_t)pto_rng_below(&rng, 3),
                                .policy = pto_rng_below(&rng, 2) ? "fifo" : "random:7",
                                .deps = PTO_DEPS_EXACT,
                                .window = windows[pto_rng_below(&rng, PTO_ARRAY_LENGTH(windows))],
                                .heap_bytes = pto_rng_below(&rng, 3) ? 1 << 20 : 65536,
                                .poison = true, /* launched again, predicates differ, and writers are missing */
                                .record = pto_rng_below(&rng, 2) ? PTO_RECORD_GRAPH : 0};
  if (is_virtual && pto_rng_below(&rng, 5) == 0) config->deps = random_program_weak_rules(&rng);
}

/* What a recording refuses: elements that the host touches, and outputs that name the next version. */
static void fit_to_recording(void) {
  program.is_given = true;
  for (uint32_t i = 0; i < program.op_count; i++) {
    struct random_op *op = &program.ops[i];
    op->is_dropped |= op->kind == OP_READ || op->kind == OP_WRITE;
    for (uint32_t k = 0; k < op->param_count; k++) op->params[k].advances = false;
  }
}

static bool is_too_small(int status) {
  return status == PTO_ESCOPE || status == PTO_EWINDOW || status == PTO_EHEAP || status == PTO_EFIT;
}

static const char *wrong_outcome(const struct pto_config *config, const struct random_result *as) {
  if (actual.status) return actual.sentence;
  if (config->deps != PTO_DEPS_EXACT) return NULL; /* may be wrong in its bytes, and that is the point of it */
  return memcmp(actual.externals, as->externals, sizeof actual.externals) ? "bytes of external memory" : NULL;
}

static const char *difference_of(struct random_kept *kept, struct pto_runtime *rt, const struct pto_config *config) {
  const char *wrong = wrong_outcome(config, &expected);
  if (!wrong && actual.tasks != expected.tasks + 2) wrong = "number of tasks";
  for (uint32_t times = 1; times <= 3 && !wrong; times++) {
    random_recorded_run(kept, rt, times, false, &plain);
    random_recorded_run(kept, rt, times, true, &actual);
    if (is_too_small(plain.status) || is_too_small(actual.status)) break;
    wrong = plain.status ? plain.sentence : wrong_outcome(config, &plain);
  }
  return wrong;
}

/* What differs, or NULL.  Programs that do not fit their rings are left out. */
static const char *difference(const struct pto_config *config, bool *fitted) {
  struct pto_runtime *rt = NULL;
  random_program_interpret(&program, config->deps, (uint32_t)config->window, &plan, &expected);
  assert_int_equal(pto_runtime_create(config, &rt), PTO_OK);
  struct random_kept *kept = random_program_record(&program, &plan, rt, &actual);
  const char *wrong = kept ? difference_of(kept, rt, config) : NULL;
  *fitted = kept != NULL;
  if (!kept && !is_too_small(actual.status) && !strstr(actual.sentence, "PTO_EFIT")) wrong = actual.sentence;
  if (kept) random_kept_destroy(kept);
  pto_runtime_destroy(rt);
  return wrong;
}

static bool still_fails(void *context) {
  bool fitted;
  return difference(context, &fitted) != NULL;
}

static void run_programs(bool is_virtual) {
  const struct random_seeds seeds = random_program_seeds(250, 10000);
  uint64_t fitted_count = 0, tasks = 0;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; seed++) {
    struct pto_config config;
    bool fitted;
    draw_config(seed, is_virtual, &config);
    random_program_make(&program, seed);
    fit_to_recording();
    const char *what = difference(&config, &fitted);
    fitted_count += fitted;
    tasks += expected.tasks;
    if (!what) continue;
    printf("seed %llu on %s: %s\n", (unsigned long long)seed, config.engine, what);
    random_program_shrink(&program, still_fails, &config);
    what = difference(&config, &fitted);
    printf("%s; shrunk to\n", what ? what : "not always");
    random_program_print(&program);
    fail();
  }
  printf("seeds %llu to %llu: %llu programs were recorded and launched, %llu tasks\n", (unsigned long long)seeds.first,
         (unsigned long long)(seeds.first + seeds.count - 1), (unsigned long long)fitted_count,
         (unsigned long long)tasks);
  assert_true(fitted_count > seeds.count / 2);
}

static void test_launches_on_threads_leave_the_bytes_of_the_submits(void **state) {
  (void)state;
  run_programs(false);
}
static void test_launches_in_virtual_time_leave_the_bytes_of_the_submits(void **state) {
  (void)state;
  run_programs(true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_launches_on_threads_leave_the_bytes_of_the_submits),
      cmocka_unit_test(test_launches_in_virtual_time_leave_the_bytes_of_the_submits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
