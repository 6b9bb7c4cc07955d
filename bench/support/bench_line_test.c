/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include <bench/support/bench_line.h>

/* What is printed, read back by another parser; the caller frees it. */
static json_t *printed(struct pto_bench_line *line, const struct pto_samples *samples, char text[static 512]) {
  int ends[2];
  fflush(stdout);
  const int kept = dup(STDOUT_FILENO);
  assert_int_equal(pipe(ends), 0);
  dup2(ends[1], STDOUT_FILENO);
  pto_bench_line_print(line, samples);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  close(ends[1]);
  const ssize_t size = read(ends[0], text, 511);
  close(ends[0]);
  assert_true(size > 0);
  text[size] = '\0';
  json_t *root = json_loads(text, 0, NULL);
  assert_non_null(root);
  return root;
}

static void a_line_has_the_figures_of_the_samples(void **state) {
  struct pto_samples samples = {.count = 3, .values = {30, 10, 20}};
  char text[512];
  struct pto_bench_line *line = pto_bench_line_begin("task_overhead", "pto");
  pto_bench_line_text(line, "pattern", "a \"quoted\" one");
  pto_bench_line_count(line, "tasks", UINT64_C(1) << 40);
  pto_bench_line_bool(line, "exact", true);
  json_t *root = printed(line, &samples, text);
  assert_string_equal(json_string_value(json_object_get(root, "pattern")), "a \"quoted\" one");
  assert_true(json_integer_value(json_object_get(root, "tasks")) == (json_int_t)1 << 40);
  assert_true(json_is_true(json_object_get(root, "exact")));
  assert_int_equal(json_integer_value(json_object_get(root, "runs")), 3);
  assert_true(json_real_value(json_object_get(root, "median")) == 20);
  assert_true(json_real_value(json_object_get(root, "min")) == 10);
  assert_int_equal(strncmp(text, "{\"bench\": \"task_overhead\", \"system\": \"pto\", ", 43), 0);
  assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
  json_decref(root);
}

static void a_number_that_json_has_not_is_null(void **state) {
  char text[512];
  struct pto_bench_line *line = pto_bench_line_begin("workloads", NULL);
  pto_bench_line_real(line, "virtual_us", 0.0 / 0.0);
  json_t *root = printed(line, NULL, text);
  assert_true(json_is_null(json_object_get(root, "virtual_us")));
  assert_null(json_object_get(root, "system"));
  assert_null(json_object_get(root, "median"));
  assert_true(json_is_true(json_object_get(root, "summary")));
  json_decref(root);
}

static void quick_runs_repeat_less_of_less(void **state) {
  unsetenv("PTO_BENCH_QUICK");
  assert_int_equal(pto_bench_repeats(7), 7);
  assert_int_equal(pto_bench_size(1000), 1000);
  setenv("PTO_BENCH_QUICK", "", 1);
  assert_false(pto_bench_is_quick());
  setenv("PTO_BENCH_QUICK", "1", 1);
  assert_int_equal(pto_bench_repeats(7), 3);
  assert_int_equal(pto_bench_repeats(1), 1);
  assert_int_equal(pto_bench_size(1000), 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_has_the_figures_of_the_samples),
      cmocka_unit_test(a_number_that_json_has_not_is_null),
      cmocka_unit_test(quick_runs_repeat_less_of_less),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
