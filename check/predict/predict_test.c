/* SPDX-License-Identifier: MIT */
/* Ranges, shares and limits of predictions by hand, and trials that fail. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <check/predict/predict.h>
#include <pto/pto.h>

static void check_range(uint64_t *times, uint32_t count, uint64_t low, uint64_t median, uint64_t high) {
  const struct pto_range range = pto_range_of(times, count);
  assert_int_equal(range.low_ps, low);
  assert_int_equal(range.median_ps, median);
  assert_int_equal(range.high_ps, high);
}

static void test_ranges(void **state) {
  check_range((uint64_t[]){7}, 1, 7, 7, 7);
  check_range((uint64_t[]){300, 100}, 2, 120, 200, 280);
  check_range((uint64_t[]){5, 4, 3, 2, 1, 0, 10, 9, 8, 7, 6}, 11, 1, 5, 9);
  check_range((uint64_t[]){30, 10, 20, 40}, 4, 13, 25, 37);
  check_range((uint64_t[]){UINT64_MAX, UINT64_MAX}, 2, UINT64_MAX, UINT64_MAX, UINT64_MAX);
}

static void test_shares_sum_to_a_thousand(void **state) {
  static const uint64_t cases[][PTO_ORIGIN_COUNT] = {
      {1, 1, 1, 0}, {0, 0, 0, 5}, {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, {1, 0, 0, 1999}, {7, 11, 13, 17}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct pto_forecast forecast = {0};
    uint32_t permille[PTO_ORIGIN_COUNT], sum = 0;
    memcpy(forecast.origin_ps, cases[i], sizeof cases[i]);
    pto_origin_shares(&forecast, permille);
    for (int k = 0; k < PTO_ORIGIN_COUNT; k++) sum += permille[k];
    assert_int_equal(sum, 1000);
  }
  const struct pto_forecast none = {0};
  uint32_t permille[PTO_ORIGIN_COUNT];
  pto_origin_shares(&none, permille);
  for (int k = 0; k < PTO_ORIGIN_COUNT; k++) assert_int_equal(permille[k], 0);
}

static void test_each_trial_changes_what_it_says_and_no_more(void **state) {
  struct pto_chip chip = {.cluster_count = 24,
                          .core_bandwidth_mbps = 10,
                          .chip_bandwidth_mbps = 20,
                          .kernel_start_ps = 100,
                          .kernel_end_ps = 60,
                          .dispatch_more_ps = 8};
  for (uint32_t kind = 0; kind < PTO_WORK_COUNT; kind++) chip.work_ps[kind] = 1000;
  for (int wires = 0; wires <= 1; wires++) {
    chip.schedulers_wire = (uint32_t)wires;
    const struct pto_chip submit = pto_limit_chip(&chip, PTO_LIMIT_submit);
    const struct pto_chip schedule = pto_limit_chip(&chip, PTO_LIMIT_schedule);
    for (uint32_t kind = 0; kind < PTO_WORK_COUNT; kind++)
      assert_int_equal(submit.work_ps[kind] + schedule.work_ps[kind], 1500); /* each price is one's */
    assert_int_equal(submit.work_ps[PTO_WORK_EDGE], wires ? 1000 : 500);
    assert_int_equal(submit.dispatch_more_ps, 8);
    assert_int_equal(schedule.dispatch_more_ps, 4);
  }
  const struct pto_chip memory = pto_limit_chip(&chip, PTO_LIMIT_memory), hop = pto_limit_chip(&chip, PTO_LIMIT_hop);
  assert_int_equal(memory.core_bandwidth_mbps, 20);
  assert_int_equal(memory.chip_bandwidth_mbps, 40);
  assert_int_equal(memory.work_ps[PTO_WORK_SUBMIT], 1000);
  assert_int_equal(hop.kernel_start_ps, 50);
  assert_int_equal(hop.kernel_end_ps, 30);
  assert_int_equal(pto_limit_chip(&chip, PTO_LIMIT_cores).cluster_count, 48);
  chip.fabric.tiers[PTO_CHIP_NODE].latency_ps = 500;
  chip.fabric.tiers[PTO_CHIP_NODE].bandwidth_mbps = 7;
  const struct pto_chip links = pto_limit_chip(&chip, PTO_LIMIT_links);
  assert_int_equal(links.fabric.tiers[PTO_CHIP_NODE].latency_ps, 250);
  assert_int_equal(links.fabric.tiers[PTO_CHIP_NODE].bandwidth_mbps, 14);
  assert_int_equal(links.core_bandwidth_mbps, 10);
  chip.cluster_count = 800;
  assert_int_equal(pto_limit_chip(&chip, PTO_LIMIT_cores).cluster_count, PTO_CHIP_MAX_CLUSTERS);
}

static void test_the_largest_gain_bounds(void **state) {
  assert_int_equal(pto_limit_find((int64_t[PTO_LIMIT_COUNT]){0, 29999, -5, 0, 0}), PTO_LIMIT_COUNT);
  assert_int_equal(pto_limit_find((int64_t[PTO_LIMIT_COUNT]){0, 30000, -5, 0, 0}), 1);
  assert_int_equal(pto_limit_find((int64_t[PTO_LIMIT_COUNT]){0, 30000, 400000, 399999, 0}), 2);
  assert_string_equal(pto_limit_name(PTO_LIMIT_memory), "memory");
  assert_string_equal(pto_limit_name(PTO_LIMIT_COUNT), "kernels that follow each other");
}

/* ---- a program that fails where the chip is larger ---- */

#define CLUSTERS 1u /* of the chip "tiny" */

static int failure; /* of such a run; 0: its process is killed */

static int idle(const struct pto_kernel_args *args) { return 0; }
static const struct pto_kernel_param of_nothing[] = {
    {.name = "z", .mode = PTO_INOUT, .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32)}};
static const struct pto_kernel nothing = {
    .name = "nothing", .cores = PTO_AIV, .params = of_nothing, .param_count = 1, .run = idle};

static int prepare(struct pto_program_run *run) {
  (void)pto_program_array(run, "z", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 1, (const uint64_t[]){16});
  return PTO_OK;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const bool is_large = pto_core_count(rt, PTO_CLUSTER) > CLUSTERS;
  if (is_large && failure) return pto_program_fail_as(run, failure, "the chip is large");
  if (is_large) raise(SIGKILL);
  struct pto_tensor z = pto_array_tensor(rt, pto_program_find(run, "z"));
  const struct pto_launch launch = {.aiv0 = &nothing};
  return pto_submit(rt, &launch, (const struct pto_param[]){pto_inout(&z)}, 1, NULL);
}

static void predict(struct pto_prediction *prediction) {
  static const struct pto_program program = {
      .abi = PTO_PROGRAM_ABI, .name = "made", .prepare = prepare, .orchestrate = orchestrate};
  const struct pto_config config = {.size = sizeof config, .chip = "tiny"};
  const struct pto_session_options options = {.size = sizeof options, .made = &program, .config = &config};
  const struct pto_prediction_asked asked = {.options = &options, .at_once = 1};
  struct pto_error error;
  if (pto_predict(&asked, prediction, &error)) fail_msg("%s", error.sentence);
}

static void test_a_trial_that_the_program_refuses_says_nothing(void **state) {
  struct pto_prediction prediction;
  failure = PTO_EUSER;
  predict(&prediction);
  assert_string_equal(prediction.plain.sentence, "");
  assert_int_equal(prediction.plain.exit_code, PTO_EXIT_OK);
  assert_int_equal(prediction.gain_ppm[PTO_LIMIT_cores], 0);
  assert_true(prediction.gain_ppm[PTO_LIMIT_hop] > 0);
}

static void test_a_trial_that_the_machine_loses_is_the_failure_of_the_whole(void **state) {
  static const int failures[] = {PTO_ENOMEM, PTO_ESYSTEM, 0};
  for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
    struct pto_prediction prediction;
    failure = failures[i];
    predict(&prediction);
    assert_int_equal(prediction.plain.exit_code, PTO_EXIT_FAILED);
    assert_int_equal(prediction.plain.status, failure ? failure : PTO_ESYSTEM);
    assert_non_null(strstr(prediction.plain.sentence, failure ? "the chip is large" : "the run crashed: Killed"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges),
                                     cmocka_unit_test(test_shares_sum_to_a_thousand),
                                     cmocka_unit_test(test_each_trial_changes_what_it_says_and_no_more),
                                     cmocka_unit_test(test_the_largest_gain_bounds),
                                     cmocka_unit_test(test_a_trial_that_the_program_refuses_says_nothing),
                                     cmocka_unit_test(test_a_trial_that_the_machine_loses_is_the_failure_of_the_whole)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
