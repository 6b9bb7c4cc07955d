/* SPDX-License-Identifier: MIT */
/* Times of timed cases: what is taken from results, and which changes count, of lists whose shift is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <check/compare/clock.h>

#define RUNS 9

/* A kernel whose calls take `ns`, and up to RUNS − 1 more in other runs. */
static json_t *times_of(const char *name, json_int_t ns) {
  json_t *times = json_object(), *list = json_array();
  for (json_int_t i = 0; i < RUNS; i++)
    assert_int_equal(json_array_append_new(list, json_integer(ns + i * 4 % RUNS)), 0);
  assert_int_equal(json_object_set_new(times, name, list), 0);
  return times;
}

/* Takes both. */
static int compare(json_t *then, json_t *now, double percent, bool is_less_fine, struct pto_error *error) {
  const struct pto_regress_allowed allowed = {.percent = percent, .is_less_fine = is_less_fine};
  struct pto_baseline baseline = {.cases = json_pack("{s{}}", "case")};
  if (then) assert_int_equal(pto_clock_put(&baseline, "case", then), PTO_OK);
  assert_ptr_equal(pto_clock_of(&baseline, "case"), then);
  const int status = pto_clock_compare(&baseline, "case", now, &allowed, error);
  json_decref(baseline.cases);
  json_decref(then);
  json_decref(now);
  return status;
}

static void test_a_kernel_that_is_slower_or_faster_is_named(void **state) {
  (void)state;
  struct pto_error error;
  assert_int_equal(compare(times_of("second", 30000), times_of("second", 30000), 0, false, &error), PTO_OK);
  assert_int_equal(compare(times_of("second", 30000), times_of("second", 34500), 0, false, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "kernel second +4.50 us a call (+15.0 %) on the clock, from +4.50 to +4.50");
  assert_int_equal(compare(times_of("second", 34500), times_of("second", 30000), 0, false, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "second -4.50 us"));
  assert_int_equal(compare(times_of("second", 34500), times_of("second", 30000), 0, true, &error), PTO_OK);
  assert_int_equal(compare(times_of("second", 30000), times_of("second", 34500), 0, true, &error), PTO_EINVAL);
}

/* What is allowed, and what a cold cache makes of a call, come together. */
static void test_a_change_counts_where_its_interval_is_beyond_what_is_allowed(void **state) {
  (void)state;
  struct pto_error error;
  assert_int_equal(compare(times_of("k", 200), times_of("k", 200 + PTO_CLOCK_SLACK_NS - RUNS), 0, false, &error),
                   PTO_OK);
  assert_int_equal(compare(times_of("k", 200), times_of("k", 200 + PTO_CLOCK_SLACK_NS + RUNS), 0, false, &error),
                   PTO_EINVAL);
  assert_int_equal(compare(times_of("k", 30000), times_of("k", 34500), 15, false, &error), PTO_OK);
  assert_int_equal(compare(times_of("k", 30000), times_of("k", 34500), 10, false, &error), PTO_EINVAL);
}

static void test_a_kernel_that_is_new_or_gone_is_a_change(void **state) {
  (void)state;
  struct pto_error error;
  json_t *both = times_of("old", 5000), *next = times_of("next", 7000);
  assert_int_equal(json_object_update(both, next), 0);
  json_decref(next);
  assert_int_equal(compare(times_of("old", 5000), json_deep_copy(both), 0, false, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "kernel next +7.00 us a call on the clock"));
  assert_int_equal(compare(both, times_of("old", 5000), 0, false, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "kernel next -7.00 us a call (-100.0 %)"));
}

static void test_too_few_runs_and_no_times_are_told(void **state) {
  (void)state;
  struct pto_error error;
  assert_int_equal(compare(NULL, times_of("k", 5000), 0, false, &error), PTO_ENOTSUP);
  assert_non_null(strstr(error.sentence, "no times"));
  json_t *few = json_pack("{s[i]}", "k", 5000);
  assert_int_equal(compare(times_of("k", 5000), few, 0, false, &error), PTO_ENOTSUP);
  assert_string_equal(error.sentence, "runs: 1 now, 9 in the baseline, which tell nothing; 4 are needed");
}

/* Of calls that are alike the median, times their number; zeros where a kernel is new. */
static void test_times_are_those_of_a_call(void **state) {
  (void)state;
  static const char
      first[] = "{\"stats\": {\"time\": \"real\", \"kernels\": [{\"name\": \"a\", \"calls\": 4, \"total_us\": 90}]},"
                " \"alike_tasks\": {\"groups\": [{\"kernels\": \"a\", \"calls\": 4, \"us\": 90, \"median_us\": 7.5}]}}",
      second[] = "{\"stats\": {\"time\": \"real\", \"kernels\": [{\"name\": \"a\", \"calls\": 4, \"total_us\": 90},"
                 " {\"name\": \"b\", \"calls\": 2, \"total_us\": 6}]}}",
      exact[] = "{\"stats\": {\"time\": \"virtual\", \"kernels\": [{\"name\": \"a\", \"calls\": 1, \"total_us\": 1}]}}";
  struct pto_error error;
  json_t *times = json_object(), *wanted = json_pack("{s[ii]s[ii]}", "a", 7500, 22500, "b", 0, 3000);
  const char *const texts[] = {first, second};
  for (int i = 0; i < 2; i++) {
    json_t *result = json_loads(texts[i], 0, NULL);
    assert_int_equal(pto_clock_add(times, result, &error), PTO_OK);
    json_decref(result);
  }
  assert_true(json_equal(times, wanted));
  json_t *result = json_loads(exact, 0, NULL);
  assert_int_equal(pto_clock_add(times, result, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "virtual time"));
  assert_int_equal(pto_clock_add(times, wanted, &error), PTO_EINVAL);
  json_decref(result);
  json_decref(wanted);
  json_decref(times);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_kernel_that_is_slower_or_faster_is_named),
      cmocka_unit_test(test_a_change_counts_where_its_interval_is_beyond_what_is_allowed),
      cmocka_unit_test(test_a_kernel_that_is_new_or_gone_is_a_change),
      cmocka_unit_test(test_too_few_runs_and_no_times_are_told),
      cmocka_unit_test(test_times_are_those_of_a_call),
  };
  return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
