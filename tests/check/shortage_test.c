/* SPDX-License-Identifier: MIT */
/*
 * Where one of several runs of a program has no memory, thread or file, what is told of the program is what it is
 * without, or the call fails: with orders of ranks, and with predictions.
 *
 * The program is made here, and does in each run what is planned for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <check/predict/predict.h>
#include <check/ranks/delayed.h>
#include <pto/pto.h>
#include <runtime/base/base.h>
#include <runtime/base/thread.h>

#define MOST_RUNS 32u

/* By run: the status that its first rank's preparation ends with, and what its output is. */
static struct plan { int ends[MOST_RUNS], outputs[MOST_RUNS]; } plan;
static uint32_t run_count;

static int prepare(struct pto_program_run *run) {
  static const uint64_t shape[] = {16};
  if (pto_program_rank(run) == 0) run_count++;
  const uint32_t index = run_count - 1;
  assert_true(index < MOST_RUNS);
  struct pto_array *x = pto_program_array(run, "x", PTO_ARRAY_INPUT, PTO_FLOAT32, 1, shape);
  (void)pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 1, shape);
  for (uint32_t i = 0; x && i < shape[0]; i++) pto_array_set(x, i, plan.outputs[index]);
  return plan.ends[index];
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct pto_launch launch = {.aiv0 = pto_kernel_find("copy")};
  struct pto_tensor x = pto_array_tensor(rt, pto_program_find(run, "x"));
  struct pto_tensor z = pto_array_tensor(rt, pto_program_find(run, "z"));
  const struct pto_param params[2] = {pto_input(&x), pto_output(&z)};
  return pto_submit(rt, &launch, params, 2, NULL);
}

static const struct pto_program program = {
    .abi = PTO_PROGRAM_ABI, .name = "made", .summary = "a copy", .prepare = prepare, .orchestrate = orchestrate};
static const struct pto_config config = {.size = sizeof config, .chip = "tiny"};
static const struct pto_session_options options = {.size = sizeof options, .made = &program, .config = &config};

/* ---- orders of ranks ---- */

static struct pto_delays explored;
static struct pto_findings findings;

/* So many runs with delays; what they came to. */
static int explore(uint64_t runs) {
  run_count = 0;
  explored = (struct pto_delays){.options = &options, .rank_count = 2, .run_count = runs};
  pto_findings_init(&findings);
  assert_int_equal(pto_delays_begin(&explored), PTO_EXIT_OK);
  return pto_delays_run(&explored, &findings);
}

static void test_a_run_that_does_not_begin_is_no_difference(void **state) {
  static const int ends[] = {PTO_ENOMEM, PTO_ESYSTEM, PTO_EINVAL, PTO_EUSER};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(ends); i++) {
    plan = (struct plan){.ends = {[2] = ends[i]}};
    assert_int_equal(explore(3), PTO_EXIT_FAILED);
    assert_int_equal(explored.error.status, ends[i]);
    assert_true(explored.error.sentence[0] != '\0');
    assert_int_equal(explored.runs, 1);
    assert_int_equal(explored.differing, 0);
    assert_int_equal(findings.total, 0);
    pto_findings_fini(&findings);
  }
}

/* Behind the eight in which one thing is late both ranks are, and each is tried alone. */
static void test_a_difference_that_cannot_be_shrunk_is_told_and_the_exploration_has_failed(void **state) {
  plan = (struct plan){.outputs = {[9] = 1, [10] = 1}};
  assert_int_equal(explore(9), PTO_EXIT_FINDINGS);
  assert_int_equal(run_count, 12);
  assert_null(strstr(findings.items[0].sentence, "rank 0 is"));
  pto_findings_fini(&findings);
  plan.ends[10] = PTO_ENOMEM;
  assert_int_equal(explore(9), PTO_EXIT_FAILED);
  assert_int_equal(explored.error.status, PTO_ENOMEM);
  assert_int_equal(run_count, 11);
  assert_int_equal(findings.total, 1);
  assert_non_null(strstr(findings.items[0].sentence, "rank 0 is"));
  pto_findings_fini(&findings);
}

/* ---- predictions ---- */

static uint32_t without_thread; /* the run that gets none; UINT32_MAX: each gets all */

/* Before a run's process is forked off. */
static void count_down(const char *stage, unsigned done, unsigned count) {
  pto_thread_fail_countdown = done == without_thread;
}

static void predict(struct pto_prediction *prediction, bool is_alone) {
  struct pto_session_options told = options;
  struct pto_error error;
  const struct pto_prediction_asked asked = {
      .options = &told, .ranks = 2, .runs = !is_alone, .at_once = 1, .is_without_bound = is_alone};
  told.progress = count_down;
  run_count = 0;
  if (pto_predict(&asked, prediction, &error)) fail_msg("%s", error.sentence);
  pto_thread_fail_countdown = 0;
}

static void test_a_trial_without_a_thread_is_no_gain_of_nothing(void **state) {
  struct pto_prediction prediction;
  plan = (struct plan){.ends = {0}};
  without_thread = UINT32_MAX;
  predict(&prediction, false);
  assert_int_equal(prediction.plain.exit_code, PTO_EXIT_OK);
  for (without_thread = 0; without_thread < 1 + PTO_LIMIT_COUNT; without_thread++) {
    predict(&prediction, false);
    assert_int_equal(prediction.plain.exit_code, PTO_EXIT_FAILED);
    assert_true(pto_status_is_shortage(prediction.plain.status));
    assert_true(prediction.plain.sentence[0] != '\0');
  }
}

/* Its second run is one with kernels. */
static void test_a_run_that_cannot_read_a_file_is_no_run_that_needs_kernels(void **state) {
  struct pto_prediction prediction;
  plan = (struct plan){.ends = {PTO_ESYSTEM, PTO_OK}};
  without_thread = UINT32_MAX;
  predict(&prediction, true);
  assert_int_not_equal(prediction.plain.exit_code, PTO_EXIT_OK);
  assert_int_equal(prediction.plain.status, PTO_ESYSTEM);
  plan.ends[0] = PTO_EINVAL;
  predict(&prediction, true);
  assert_int_equal(prediction.plain.exit_code, PTO_EXIT_OK);
  assert_true(prediction.plain.why_run[0] != '\0');
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_run_that_does_not_begin_is_no_difference),
      cmocka_unit_test(test_a_difference_that_cannot_be_shrunk_is_told_and_the_exploration_has_failed),
      cmocka_unit_test(test_a_trial_without_a_thread_is_no_gain_of_nothing),
      cmocka_unit_test(test_a_run_that_cannot_read_a_file_is_no_run_that_needs_kernels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
