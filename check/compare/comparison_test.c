/* SPDX-License-Identifier: MIT */
/* Comparisons of results made by hand: what counts, what does not, which kernel is named, and that parts add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <check/compare/comparison.h>

/* A result of three kernels, whose path is what they take in turn and 10 us of submits. */
static json_t *result_of(const char *engine, double a, double b, double c) {
  return json_pack("{s:s, s:s, s:n, s:s, s:s, s:s, s:i, s:i, s:{s:f, s:{s:{s:f, s:f}}, s:[{s:s, s:i, s:f}, {s:s, s:i, "
                   "s:f}, {s:s, s:i, s:f}], s:[{s:s, s:{s:f, s:f}}]}}",
                   "format", "pto-run", "program", "made", "case", "engine", engine, "chip", "a2a3", "status", "PTO_OK",
                   "tasks", 12, "edges", 8, "stats", "makespan_us", 10 + a + b + c, "path", "us", "submit", 10.0,
                   "compute", a + b + c, "kernels", "name", "first", "calls", 4, "total_us", a, "name", "second",
                   "calls", 4, "total_us", b, "name", "third", "calls", 4, "total_us", c, "accounts", "resource", "AIV",
                   "us", "compute", a + b + c, "no_work", 10.0);
}

struct sides {
  json_t *results[2][PTO_COMPARE_MOST];
  uint32_t counts[2];
};

static void add(struct sides *sides, int side, json_t *result) {
  assert_non_null(result);
  sides->results[side][sides->counts[side]++] = result;
}

static int make(const struct sides *sides, struct pto_run_comparison *comparison, struct pto_error *error) {
  json_t *const *const lists[2] = {sides->results[0], sides->results[1]};
  return pto_run_comparison_make(lists, sides->counts, comparison, error);
}

static void drop(struct sides *sides, struct pto_run_comparison *comparison) {
  for (int side = 0; side < 2; side++)
    for (uint32_t i = 0; i < sides->counts[side]; i++) json_decref(sides->results[side][i]);
  pto_run_comparison_fini(comparison);
}

static void says(const struct pto_run_comparison *comparison, const char *part) {
  char text[512];
  pto_run_comparison_verdict(comparison, text, sizeof text);
  if (!strstr(text, part)) fail_msg("\"%s\" is not in: %s", part, text);
}

static void test_three_percent_of_one_kernel_are_named_in_virtual_time(void **state) {
  struct sides sides = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  add(&sides, 0, result_of("virtual", 20, 40, 30));
  add(&sides, 1, result_of("virtual", 20, 41.2, 30));
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  assert_false(pto_run_comparison_is_same(&comparison));
  says(&comparison, "B takes 1.20 us longer (+1.20 %); kernel second +1.20 us (+3.0 %)");
  says(&comparison, "on the critical path compute +1.20 us");
  assert_string_equal(comparison.tables[PTO_COMPARED_KERNELS].items[0].name, "second");
  assert_false(pto_compared_differs(&comparison, &comparison.tables[PTO_COMPARED_KERNELS].items[1]));
  drop(&sides, &comparison);
}

static void test_a_picosecond_counts_in_virtual_time_and_nothing_does_not(void **state) {
  struct sides sides = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  add(&sides, 0, result_of("virtual", 20, 40, 30));
  add(&sides, 1, result_of("virtual", 20, 40, 30));
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  assert_true(pto_run_comparison_is_same(&comparison));
  says(&comparison, "the same");
  json_decref(sides.results[1][0]);
  sides.results[1][0] = result_of("virtual", 20, 40.000001, 30);
  pto_run_comparison_fini(&comparison);
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  assert_false(pto_run_comparison_is_same(&comparison));
  drop(&sides, &comparison);
}

/* Changes of the path add up to that of the makespan. */
static void test_the_path_adds_up(void **state) {
  struct sides sides = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  int64_t sum = 0;
  add(&sides, 0, result_of("virtual", 11, 7, 3));
  add(&sides, 1, result_of("virtual", 2, 9, 4.5));
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  for (size_t i = 0; i < comparison.tables[PTO_COMPARED_PATH].count; i++) {
    const struct pto_compared *row = &comparison.tables[PTO_COMPARED_PATH].items[i];
    sum += (int64_t)(row->times[1].median_ps - row->times[0].median_ps);
  }
  assert_int_equal(sum, (int64_t)(comparison.makespan.times[1].median_ps - comparison.makespan.times[0].median_ps));
  drop(&sides, &comparison);
}

/* Runs whose times vary by so many percent to either side, in another order a kernel. */
static void add_noisy(struct sides *sides, int side, double second, double percent, uint32_t runs) {
  for (uint32_t i = 0; i < runs; i++) {
    const double noise = percent / 100 * (2.0 * (double)i / (double)(runs - 1) - 1);
    add(sides, side, result_of("threads", 200 * (1 - noise), second * (1 + noise), 300 * (1 + noise)));
  }
}

static void test_on_threads_a_change_beyond_the_noise_is_named_and_one_within_is_not(void **state) {
  struct sides sides = {0}, alike = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  add_noisy(&sides, 0, 400, 5, 7);
  add_noisy(&sides, 1, 460, 5, 7);
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  says(&comparison, "kernel second +60.00 us (+15.0 %)");
  assert_false(pto_compared_differs(&comparison, &comparison.tables[PTO_COMPARED_KERNELS].items[1]));
  drop(&sides, &comparison);
  add_noisy(&alike, 0, 400, 5, 7);
  add_noisy(&alike, 1, 408, 5, 7);
  assert_int_equal(make(&alike, &comparison, &error), PTO_OK);
  assert_true(pto_run_comparison_is_same(&comparison));
  says(&comparison, "no difference that counts");
  drop(&alike, &comparison);
}

static void test_one_run_on_threads_tells_nothing(void **state) {
  struct sides sides = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  add(&sides, 0, result_of("threads", 20, 40, 30));
  add(&sides, 1, result_of("threads", 20, 80, 30));
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  assert_true(pto_run_comparison_is_same(&comparison));
  says(&comparison, "that tells nothing");
  drop(&sides, &comparison);
}

static void test_what_cannot_be_compared_is_refused(void **state) {
  struct sides sides = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  add(&sides, 0, result_of("virtual", 20, 40, 30));
  add(&sides, 1, result_of("threads", 20, 40, 30));
  assert_int_equal(make(&sides, &comparison, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "two clocks"));
  drop(&sides, &comparison);
  struct sides others = {0};
  add(&others, 0, result_of("virtual", 20, 40, 30));
  add(&others, 1, result_of("virtual", 20, 40, 30));
  json_object_set_new(others.results[1][0], "stats", json_null());
  assert_int_equal(make(&others, &comparison, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "--stats"));
  json_object_set_new(others.results[1][0], "status", json_string("PTO_EKERNEL"));
  assert_int_equal(make(&others, &comparison, &error), PTO_EINVAL);
  json_object_set_new(others.results[1][0], "format", json_string("pto-check"));
  assert_int_equal(make(&others, &comparison, &error), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "pto-check"));
  drop(&others, &comparison);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_three_percent_of_one_kernel_are_named_in_virtual_time),
      cmocka_unit_test(test_a_picosecond_counts_in_virtual_time_and_nothing_does_not),
      cmocka_unit_test(test_the_path_adds_up),
      cmocka_unit_test(test_on_threads_a_change_beyond_the_noise_is_named_and_one_within_is_not),
      cmocka_unit_test(test_one_run_on_threads_tells_nothing),
      cmocka_unit_test(test_what_cannot_be_compared_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
