/* SPDX-License-Identifier: MIT */
/* Comparisons of results made by hand: what counts, what does not, what is named, that parts add up, and which tasks
 * are matched with which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <check/compare/comparison.h>

static json_t *step(const char *kernel, double begin, double end) {
  return json_pack("{s:s, s:s, s:f, s:f}", "kernel", kernel, "group", "compute", "begin_us", begin, "end_us", end);
}

/* A result of three kernels, whose path is what they take in turn after 10 us of submits. */
static json_t *result_of(const char *engine, double a, double b, double c) {
  const bool is_virtual = strcmp(engine, "virtual") == 0;
  json_t *path = json_pack("{s:{s:f, s:f}, s:[o, o, o]}", "us", "submit", 10.0, "compute", a + b + c, "steps",
                           step("first", 10, 10 + a), step("second", 10 + a, 10 + a + b),
                           step("third", 10 + a + b, 10 + a + b + c));
  json_t *kernels =
      json_pack("[{s:s, s:i, s:f}, {s:s, s:i, s:f}, {s:s, s:i, s:f}]", "name", "first", "calls", 4, "total_us", a,
                "name", "second", "calls", 4, "total_us", b, "name", "third", "calls", 4, "total_us", c);
  json_t *account = json_pack("{s:s, s:s, s:i, s:{s:f, s:f}}", "resource", is_virtual ? "AIV" : "thread 0", "kind",
                              is_virtual ? "aiv" : "thread", "count", 1, "us", is_virtual ? "compute" : "kernel",
                              a + b + c, "no_work", 10.0);
  json_t *stats = json_pack("{s:f, s:o, s:o, s:[o]}", "makespan_us", 10 + a + b + c, "path",
                            is_virtual ? json_incref(path) : json_null(), "kernels", kernels, "accounts", account);
  json_decref(path);
  return json_pack("{s:s, s:s, s:n, s:s, s:s, s:s, s:i, s:i, s:o}", "format", "pto-run", "program", "made", "case",
                   "engine", engine, "chip", "a2a3", "status", "PTO_OK", "tasks", 12, "edges", 8, "stats", stats);
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
  says(&comparison, "B takes 1.20 us longer (+1.20 %); kernel second +1.20 us of core time (+3.0 %)");
  assert_string_equal(comparison.tables[PTO_COMPARED_KERNELS].items[0].name, "second");
  assert_false(pto_compared_differs(&comparison, &comparison.tables[PTO_COMPARED_KERNELS].items[1]));
  drop(&sides, &comparison);
}

/* Adds looks of a scheduler, all of them on the path, and that kernels only compute. */
static json_t *with_looks(json_t *result, double us) {
  json_t *kernel;
  size_t i;
  json_array_foreach(json_object_get(json_object_get(result, "stats"), "kernels"), i, kernel)
    json_object_set(kernel, "compute_us", json_object_get(kernel, "total_us"));
  json_t *stats = json_object_get(result, "stats"), *path = json_object_get(json_object_get(stats, "path"), "us");
  json_array_append_new(json_object_get(stats, "accounts"),
                        json_pack("{s:s, s:s, s:i, s:{s:f}}", "resource", "schedulers", "kind", "scheduler", "count", 1,
                                  "us", "look", us));
  json_object_set_new(path, "look", json_real(us));
  json_object_set_new(stats, "makespan_us", json_real(json_real_value(json_object_get(stats, "makespan_us")) + us));
  return result;
}

/* They follow from the order of events, which a slower kernel changes. */
static void test_looks_are_no_cause_beside_a_kernel_that_changed(void **state) {
  struct sides sides = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  add(&sides, 0, with_looks(result_of("virtual", 20, 4, 30), 2));
  add(&sides, 1, with_looks(result_of("virtual", 20, 4.12, 30), 2.3));
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  says(&comparison, "B takes 0.42 us longer (+0.64 %); kernel second +0.12 us of core time (+3.0 %)");
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
  says(&comparison, "kernel second +60.00 us of core time (+15.0 %)");
  assert_false(pto_compared_differs(&comparison, &comparison.tables[PTO_COMPARED_KERNELS].items[1]));
  drop(&sides, &comparison);
  add_noisy(&alike, 0, 400, 5, 7);
  add_noisy(&alike, 1, 408, 5, 7);
  assert_int_equal(make(&alike, &comparison, &error), PTO_OK);
  assert_true(pto_run_comparison_is_same(&comparison));
  says(&comparison, "no difference that counts");
  drop(&alike, &comparison);
}

/* Runs in which a call of `second` is interrupted, for longer than the change: its tasks have the median of four calls.
 */
static void add_interrupted(struct sides *sides, int side, double median, uint32_t runs) {
  for (uint32_t i = 0; i < runs; i++) {
    const double sum = 4 * median + 1000 * (double)i;
    json_t *result = result_of("threads", 200, sum, 300);
    json_object_set_new(result, "alike_tasks",
                        json_pack("{s:b, s:b, s:[{s:s, s:n, s:n, s:n, s:i, s:i, s:f, s:f}], s:[[i, [i]]]}",
                                  "has_labels", 1, "has_tensors", 1, "groups", "kernels", "second", "label", "tensors",
                                  "place", "tasks", 4, "calls", 4, "us", sum, "median_us", median, "order", 4, 0));
    add(sides, side, result);
  }
}

static void test_on_threads_interrupted_calls_say_nothing_of_a_kernel(void **state) {
  struct sides sides = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  add_interrupted(&sides, 0, 100, 7);
  add_interrupted(&sides, 1, 115, 7);
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  says(&comparison, "neither takes longer, as far as can be told; kernel second +60.00 us of core time (+15.0 %)");
  assert_float_equal(pto_compared_change_us(&comparison.tables[PTO_COMPARED_TASKS].items[0]), 60, 1e-9);
  drop(&sides, &comparison);
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

/* ---- tasks ---- */

/* A result with tasks: a group a line of "KERNEL LABEL US", and the order of submission as JSON. */
static json_t *with_tasks(const char *const (*groups)[2], const double *us, size_t count, const char *order) {
  json_t *result = result_of("virtual", 20, 40, 30), *list = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, json_pack("{s:s, s:s*, s:s, s:s, s:i, s:i, s:f}", "kernels", groups[i][0], "label",
                                          groups[i][1], "tensors", "OUTPUT f32 [8]", "place", "made.c:7", "tasks", 0,
                                          "calls", 1, "us", us[i]));
  json_object_set_new(result, "alike_tasks",
                      json_pack("{s:b, s:b, s:o, s:o}", "has_labels", 1, "has_tensors", 1, "groups", list, "order",
                                json_loads(order, 0, NULL)));
  return result;
}

static const struct pto_compared *tasks_of(const struct pto_run_comparison *c, const char *name, const char *label) {
  const struct pto_compared_rows *rows = &c->tables[PTO_COMPARED_TASKS];
  for (size_t i = 0; i < rows->count; i++) {
    const struct pto_compared *row = &rows->items[i];
    if (strcmp(row->name, name) == 0 && (label ? row->label && strcmp(row->label, label) == 0 : !row->label))
      return row;
  }
  fail_msg("no tasks %s %s", name, label ? label : "");
  return NULL;
}

static void has_tasks(const struct pto_compared *row, uint64_t a, uint64_t b, double change_us) {
  assert_int_equal(row->tasks[0], a);
  assert_int_equal(row->tasks[1], b);
  assert_float_equal(pto_compared_change_us(row), change_us, 1e-9);
}

static void test_tasks_that_are_new_gone_or_slower_are_told(void **state) {
  static const char *const of_a[][2] = {{"mul", "row"}, {"add", "row"}, {"copy", NULL}}, *const of_b[][2] = {
                                                                                             {"add", "row"},
                                                                                             {"mul", "row"},
                                                                                             {"scale", NULL}};
  struct sides sides = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  add(&sides, 0, with_tasks(of_a, (double[]){10, 5, 1}, 3, "[[8, [0, 1]], [1, [2]]]"));
  add(&sides, 1, with_tasks(of_b, (double[]){6, 11.5, 2}, 3, "[[2, [2]], [8, [1, 0]], [1, [1]]]"));
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  assert_true(comparison.tasks.is_known && !comparison.tasks.is_by_number);
  assert_int_equal(comparison.tasks.only[0], 1);
  assert_int_equal(comparison.tasks.only[1], 3);
  assert_int_equal(comparison.tasks.moved, 0);
  has_tasks(tasks_of(&comparison, "mul", "row"), 8, 9, 1.5);
  has_tasks(tasks_of(&comparison, "add", "row"), 8, 8, 1);
  has_tasks(tasks_of(&comparison, "copy", NULL), 1, 0, -1);
  has_tasks(tasks_of(&comparison, "scale", NULL), 0, 2, 2);
  says(&comparison, "; 1 task fewer: 1 copy; 3 tasks more: 2 scale, 1 mul");
  assert_false(pto_run_comparison_is_same(&comparison));
  drop(&sides, &comparison);
}

static void test_a_kernel_under_a_new_name_is_one_row(void **state) {
  static const char *const of_a[][2] = {{"mul", "row"}, {"add", NULL}}, *const of_b[][2] = {{"mul", "row"},
                                                                                            {"sum", "b"}};
  struct sides sides = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  add(&sides, 0, with_tasks(of_a, (double[]){10, 5}, 2, "[[8, [0, 1]]]"));
  add(&sides, 1, with_tasks(of_b, (double[]){10, 7}, 2, "[[8, [0, 1]]]"));
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  assert_int_equal(comparison.tables[PTO_COMPARED_TASKS].count, 2);
  has_tasks(tasks_of(&comparison, "add → sum", "b"), 8, 8, 2);
  assert_int_equal(comparison.tasks.only[0] + comparison.tasks.only[1] + comparison.tasks.moved, 0);
  drop(&sides, &comparison);
}

static void test_the_same_tasks_in_another_order_have_moved(void **state) {
  static const char *const groups[][2] = {{"mul", NULL}, {"add", NULL}};
  struct sides sides = {0};
  struct pto_run_comparison comparison;
  struct pto_error error;
  add(&sides, 0, with_tasks(groups, (double[]){10, 5}, 2, "[[3, [0, 0, 1]]]"));
  add(&sides, 1, with_tasks(groups, (double[]){10, 5}, 2, "[[1, [0, 1, 0]], [2, [0, 0, 1]]]"));
  assert_int_equal(make(&sides, &comparison, &error), PTO_OK);
  assert_int_equal(comparison.tasks.moved, 1);
  assert_int_equal(comparison.tasks.only[0] + comparison.tasks.only[1], 0);
  assert_false(pto_run_comparison_is_same(&comparison));
  drop(&sides, &comparison);
}

static void test_an_order_that_is_none_is_refused(void **state) {
  static const char *const groups[][2] = {{"mul", NULL}};
  static const char *const orders[] = {"[[3, [0, 1]]]", "[[3, [-1]]]", "[[0, [0]]]",
                                       "[[3, []]]",     "[7]",         "[[9000000000, [0]]]"};
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    struct sides sides = {0};
    struct pto_run_comparison comparison;
    struct pto_error error;
    add(&sides, 0, with_tasks(groups, (double[]){10}, 1, "[[3, [0]]]"));
    add(&sides, 1, with_tasks(groups, (double[]){10}, 1, orders[i]));
    assert_int_equal(make(&sides, &comparison, &error), PTO_EINVAL);
    drop(&sides, &comparison);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_three_percent_of_one_kernel_are_named_in_virtual_time),
      cmocka_unit_test(test_looks_are_no_cause_beside_a_kernel_that_changed),
      cmocka_unit_test(test_a_picosecond_counts_in_virtual_time_and_nothing_does_not),
      cmocka_unit_test(test_the_path_adds_up),
      cmocka_unit_test(test_on_threads_a_change_beyond_the_noise_is_named_and_one_within_is_not),
      cmocka_unit_test(test_on_threads_interrupted_calls_say_nothing_of_a_kernel),
      cmocka_unit_test(test_one_run_on_threads_tells_nothing),
      cmocka_unit_test(test_what_cannot_be_compared_is_refused),
      cmocka_unit_test(test_tasks_that_are_new_gone_or_slower_are_told),
      cmocka_unit_test(test_a_kernel_under_a_new_name_is_one_row),
      cmocka_unit_test(test_the_same_tasks_in_another_order_have_moved),
      cmocka_unit_test(test_an_order_that_is_none_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
