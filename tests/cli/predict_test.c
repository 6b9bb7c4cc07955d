/* SPDX-License-Identifier: MIT */
/* `ptosim predict` and `ptosim run --jitter` from outside: ranges, what they depend on, and how kernels were left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/ptosim_child.h>

static json_t *predict(const char *options) {
  const int code = pto_ptosim_run("predict %s --json -", options);
  if (code) fail_msg("%s: exit %d: %s%s", options, code, pto_ptosim_last.out, pto_ptosim_last.err);
  return pto_ptosim_parse(pto_ptosim_last.out);
}

static double number(json_t *object, const char *key) {
  json_t *value = json_object_get(object, key);
  if (!json_is_number(value)) fail_msg("no number %s", key);
  return json_number_value(value);
}

static double run_us(const char *options) {
  assert_int_equal(pto_ptosim_run("run %s --quiet --json -", options), 0);
  json_t *result = pto_ptosim_parse(pto_ptosim_last.out);
  const double us = number(result, "virtual_us");
  json_decref(result);
  return us;
}

static void test_the_runs_are_those_of_run(void **state) {
  json_t *root = predict("bgemm --chip tests/regress/plain.ini --runs 1 --jitter 5% --seed 6"),
         *p = json_object_get(root, "prediction");
  assert_true(number(p, "makespan_us") == run_us("bgemm --chip tests/regress/plain.ini --no-compute"));
  assert_true(number(p, "makespan_us") == run_us("bgemm --chip tests/regress/plain.ini --engine virtual"));
  assert_true(number(p, "makespan_us") == run_us("bgemm --chip tests/regress/plain.ini --engine virtual --jitter 0%"));
  const double seventh = run_us("bgemm --chip tests/regress/plain.ini --engine virtual --jitter 5% --seed 7");
  json_t *range = json_object_get(p, "makespan");
  assert_true(number(range, "median_us") == seventh && number(range, "low_us") == seventh);
  assert_true(seventh != number(p, "makespan_us"));
  json_decref(root);
}

static void test_the_numbers_are_the_same_with_any_count_of_processes(void **state) {
  json_t *one = predict("bgemm --chip tests/regress/plain.ini --runs 9 --jobs 1"),
         *three = predict("bgemm --chip tests/regress/plain.ini --runs 9 --jobs 3");
  assert_true(json_equal(one, three));
  json_t *p = json_object_get(one, "prediction"), *range = json_object_get(p, "makespan");
  assert_true(number(range, "low_us") < number(range, "median_us"));
  assert_true(number(range, "median_us") < number(range, "high_us"));
  assert_true(number(p, "window_us") > 0 && number(p, "window_us") < number(p, "makespan_us"));
  json_decref(three);
  json_decref(one);
}

static void test_more_jitter_is_a_wider_range(void **state) {
  double width[2];
  static const char *const options[] = {"bgemm --chip tests/regress/plain.ini --runs 25 --jitter 1%",
                                        "bgemm --chip tests/regress/plain.ini --runs 25 --jitter 20%"};
  for (int i = 0; i < 2; i++) {
    json_t *root = predict(options[i]), *range = json_object_get(json_object_get(root, "prediction"), "makespan");
    width[i] = number(range, "high_us") - number(range, "low_us");
    json_decref(root);
  }
  assert_true(width[1] > 4 * width[0]);
}

static void test_ranks_are_run_at_once(void **state) {
  json_t *one = predict("bgemm --chip tiny --runs 0"), *p = json_object_get(one, "prediction");
  json_t *four = predict("bgemm --chip tiny --runs 0 --ranks 4"), *of_four = json_object_get(four, "prediction");
  assert_int_equal(number(of_four, "ranks"), 4);
  static const char *const sums[] = {"tasks", "edges", "calls"}, *const same[] = {"makespan_us", "window_us",
                                                                                  "path_us"};
  for (int i = 0; i < 3; i++) {
    assert_true(number(of_four, sums[i]) == 4 * number(p, sums[i]));
    assert_true(number(of_four, same[i]) == number(p, same[i])); /* they send nothing */
  }
  assert_true(number(json_object_get(of_four, "gains"), "links between ranks") == 0);
  assert_null(json_object_get(json_object_get(p, "gains"), "links between ranks"));
  json_decref(four);
  json_decref(one);
  /* Of one that sends, as many as it wants; links are what bounds it. */
  json_t *sent = predict("all_reduce --chip tiny --runs 3 --set times=8 --set elems=20000");
  p = json_object_get(sent, "prediction");
  assert_true(number(p, "makespan_us") == run_us("all_reduce --chip tiny --set times=8 --set elems=20000"));
  assert_true(number(json_object_get(p, "gains"), "links between ranks") > 0.03);
  json_t *range = json_object_get(p, "makespan");
  assert_true(number(range, "low_us") < number(range, "high_us"));
  json_decref(sent);
}

static void run_three_ranks(int seed, double us[3]) {
  assert_int_equal(pto_ptosim_run("run bgemm --chip tiny --ranks 3 --jitter 5%% --seed %d --quiet --json -", seed), 0);
  json_t *result = pto_ptosim_parse(pto_ptosim_last.out), *ranks = json_object_get(result, "results");
  assert_int_equal(json_array_size(ranks), 3);
  for (size_t i = 0; i < 3; i++) us[i] = number(json_array_get(ranks, i), "virtual_us");
  json_decref(result);
}

/* Rank 0 as one chip does, the others otherwise, and as none does with the next seed, which predict takes next. */
static void test_ranks_do_not_vary_alike(void **state) {
  const double alone = run_us("bgemm --chip tiny --engine virtual --jitter 5% --seed 3");
  double us[3], next[3];
  run_three_ranks(3, us);
  run_three_ranks(4, next);
  assert_true(us[0] == alone);
  assert_true(us[1] != alone && us[2] != alone && us[1] != us[2]);
  for (size_t i = 0; i < 9; i++) assert_true(us[i / 3] != next[i % 3]);
}

/* Lengths are there, so kernels can be left out; and the graph is the one with kernels. */
static void test_lengths_and_tables_are_made(void **state) {
  json_t *root = predict("paged_attention --chip tiny --runs 0"), *p = json_object_get(root, "prediction");
  assert_true(json_is_null(json_object_get(p, "kernels_run_because")));
  assert_true(number(p, "makespan_us") == run_us("paged_attention --chip tiny --engine virtual"));
  json_decref(root);
  /* run itself wants them from a file */
  assert_int_equal(pto_ptosim_run("run paged_attention --no-compute --quiet"), 2);
}

static void test_kernels_run_where_the_program_needs_them(void **state) {
  json_t *root = predict("predicated --chip tiny --runs 2"), *p = json_object_get(root, "prediction");
  assert_non_null(strstr(pto_json_text(p, "kernels_run_because"), "the predicate of task 1"));
  assert_true(number(p, "makespan_us") == run_us("predicated --chip tiny --engine virtual"));
  json_decref(root);
  root = predict("core_fifo --chip tiny --runs 0");
  p = json_object_get(root, "prediction");
  assert_non_null(strstr(pto_json_text(p, "kernels_run_because"), "wait for other cores"));
  assert_true(number(p, "makespan_us") == run_us("core_fifo --chip tiny --engine virtual"));
  json_decref(root);
  root = predict("predicated --chip tiny --runs 0 --assume-zero");
  assert_true(json_is_null(json_object_get(json_object_get(root, "prediction"), "kernels_run_because")));
  json_decref(root);
}

static void test_what_bounds_a_run_is_what_would_shorten_it(void **state) {
  /* Empty tasks one after another wait for the control CPU; large tiles keep the cores busy. */
  json_t *root = predict("bgemm --chip tests/regress/plain.ini --runs 0 --set tile=128 --set task_num=512");
  json_t *p = json_object_get(root, "prediction"), *gains = json_object_get(p, "gains"), *value;
  const char *bound = pto_json_text(p, "bound_by"), *key;
  double most = 0;
  json_object_foreach(gains, key, value) most = json_number_value(value) > most ? json_number_value(value) : most;
  assert_true(most >= 0.03);
  assert_true(number(gains, bound) == most);
  json_decref(root);
}

static void test_shares_sum_to_one(void **state) {
  json_t *root = predict("bgemm --runs 0"), *p = json_object_get(root, "prediction"), *value;
  const char *key;
  double sum = 0;
  json_object_foreach(json_object_get(p, "origins"), key, value) sum += json_number_value(value);
  assert_true(sum > 0.9999 && sum < 1.0001);
  json_decref(root);
}

static void test_text_for_people(void **state) {
  assert_int_equal(pto_ptosim_run("predict bgemm --runs 3 --chip tests/regress/plain.ini"), 0);
  static const char *const parts[] = {"priced, not run", "without jitter; median", "bound by ", "origin   of core time",
                                      "era \"not said\""};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (!strstr(pto_ptosim_last.out, parts[i])) fail_msg("no \"%s\" in: %s", parts[i], pto_ptosim_last.out);
}

static void test_what_has_no_meaning_is_refused(void **state) {
  pto_ptosim_run("predict bgemm --jitter 26%%");
  pto_ptosim_assert_complaint(2, "from 0% to 25%");
  pto_ptosim_run("predict bgemm --jitter 5");
  pto_ptosim_assert_complaint(2, "such as 5% or 0.5%");
  pto_ptosim_run("predict bgemm --engine threads");
  pto_ptosim_assert_complaint(2, "--engine");
  pto_ptosim_run("predict nothing_such");
  pto_ptosim_assert_complaint(2, "nothing_such");
  pto_ptosim_run("predict bgemm --chip nothing_such");
  pto_ptosim_assert_complaint(2, "nothing_such");
  pto_ptosim_run("run bgemm --engine threads --jitter 5%%");
  pto_ptosim_assert_complaint(2, "virtual");
}

static void test_a_run_that_fails_or_crashes_is_told(void **state) {
  pto_ptosim_run("predict errors/heap --chip tiny --runs 1");
  pto_ptosim_assert_complaint(3, "heap");
  if (!pto_ptosim_reports_faults) return;
  /* without kernels it goes well: they are what crashes */
  json_t *root = predict("errors/crash --chip tiny --runs 1");
  json_decref(root);
}

static void test_a_program_that_ends_its_process_has_not_ended_well(void **state) {
  pto_ptosim_run("predict %s/planted/planted_exit.so --chip tiny --runs 1", pto_ptosim_build());
  pto_ptosim_assert_complaint(3, "the run ended its own process");
  pto_ptosim_run("what-if %s/planted/planted_exit.so --chip tiny", pto_ptosim_build());
  pto_ptosim_assert_complaint(3, "the run ended its own process");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_runs_are_those_of_run),
      cmocka_unit_test(test_the_numbers_are_the_same_with_any_count_of_processes),
      cmocka_unit_test(test_more_jitter_is_a_wider_range),
      cmocka_unit_test(test_ranks_are_run_at_once),
      cmocka_unit_test(test_ranks_do_not_vary_alike),
      cmocka_unit_test(test_lengths_and_tables_are_made),
      cmocka_unit_test(test_kernels_run_where_the_program_needs_them),
      cmocka_unit_test(test_what_bounds_a_run_is_what_would_shorten_it),
      cmocka_unit_test(test_shares_sum_to_one),
      cmocka_unit_test(test_text_for_people),
      cmocka_unit_test(test_what_has_no_meaning_is_refused),
      cmocka_unit_test(test_a_run_that_fails_or_crashes_is_told),
      cmocka_unit_test(test_a_program_that_ends_its_process_has_not_ended_well),
  };
  return cmocka_run_group_tests(tests, pto_ptosim_setup, pto_ptosim_teardown);
}
