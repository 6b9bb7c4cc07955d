/* SPDX-License-Identifier: MIT */
#include <report/findings/coverage.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

static void expect_text(const struct pto_coverage *coverage, const char *expected) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  pto_coverage_print(coverage, stream);
  fclose(stream);
  assert_string_equal(text, expected);
  free(text);
}

static void test_nothing_is_told_where_nothing_is_known(void **state) {
  const struct pto_coverage unknown = {0};
  expect_text(&unknown, "");
}

static void test_a_line_without_a_row_is_left_out(void **state) {
  struct pto_coverage coverage = {0};
  pto_coverage_add(&coverage, PTO_COVERAGE_HOST_READS, 0);
  pto_coverage_leave(&coverage, PTO_COVERAGE_HELD, 0, "explore");
  assert_true(coverage.is_known);
  expect_text(&coverage, "");
  pto_coverage_add(&coverage, PTO_COVERAGE_HOST_READS, 1);
  expect_text(&coverage, "  judged: 1 host read\n");
}

static void test_rows_add_up_and_one_command_stands_behind_all_that_it_judges(void **state) {
  struct pto_coverage coverage = {0};
  for (int i = 0; i < 2; i++) {
    pto_coverage_add(&coverage, PTO_COVERAGE_ACCESSES, 3);
    pto_coverage_leave(&coverage, PTO_COVERAGE_TOUCHED, 1, "check --observe");
  }
  pto_coverage_leave(&coverage, PTO_COVERAGE_ADDRESSES, 1, "check --observe");
  pto_coverage_leave(&coverage, PTO_COVERAGE_HELD, 2, "explore");
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_TOO_LARGE, 1, "nothing can");
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_CONTEXTS, 1, "nothing can");
  expect_text(&coverage,
              "  judged: 6 accesses that tasks declare\n"
              "  not judged: what 2 tasks touch beside what they declare, 1 scalar that is an address (ptosim check "
              "PROGRAM --observe); 2 held parameters (ptosim explore PROGRAM); 1 kernel call that touches more pages "
              "than there is room for, 1 context (nothing can)\n");
}

static void test_a_command_names_the_program_while_there_is_room_and_a_reason_gives_way_to_it(void **state) {
  struct pto_coverage coverage = {.subject = "moe --case 'two words'"};
  char subject[3000];
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_TOUCHED, 1, "one talks to other ranks");
  expect_text(&coverage, "  not judged: what 1 task touches beside what it declares (one talks to other ranks)\n");
  pto_coverage_leave(&coverage, PTO_COVERAGE_TOUCHED, 1, "check --observe");
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_TOUCHED, 1, "one talks to other ranks");
  expect_text(&coverage, "  not judged: what 3 tasks touch beside what they declare (ptosim check moe --case 'two "
                         "words' --observe)\n");
  memset(subject, 'x', sizeof subject - 1);
  subject[sizeof subject - 1] = '\0';
  coverage.subject = subject;
  expect_text(&coverage,
              "  not judged: what 3 tasks touch beside what they declare (ptosim check PROGRAM --observe)\n");
}

static void test_what_is_not_counted_has_no_number_whatever_is_added(void **state) {
  struct pto_coverage coverage = {0};
  pto_coverage_leave(&coverage, PTO_COVERAGE_ORDERS, 5, "explore --all");
  pto_coverage_leave(&coverage, PTO_COVERAGE_ORDERS, PTO_COVERAGE_UNCOUNTED, "explore --all");
  pto_coverage_leave(&coverage, PTO_COVERAGE_ORDERS, 5, "explore --all");
  expect_text(&coverage, "  not judged: orders of calls (ptosim explore PROGRAM --all)\n");
  pto_coverage_add(&coverage, PTO_COVERAGE_ORDERS, 2);
  expect_text(&coverage, "  judged: 2 orders of calls\n"
                         "  not judged: other orders of calls (ptosim explore PROGRAM --all)\n");
}

static json_t *json_of(const struct pto_coverage *coverage) {
  static struct pto_json_writer w;
  FILE *file = tmpfile();
  pto_json_init(&w, fileno(file));
  pto_json_object_begin(&w);
  pto_coverage_put_json(coverage, &w);
  pto_json_object_end(&w);
  assert_int_equal(pto_json_finish(&w), 0);
  rewind(file);
  json_t *root = json_loadf(file, 0, NULL);
  fclose(file);
  assert_non_null(root);
  return root;
}

static void test_json_has_a_row_a_kind_that_has_something(void **state) {
  struct pto_coverage coverage = {0};
  json_t *root = json_of(&coverage);
  assert_true(json_is_null(json_object_get(root, "coverage")));
  json_decref(root);
  pto_coverage_add(&coverage, PTO_COVERAGE_CALLS, 4);
  pto_coverage_add(&coverage, PTO_COVERAGE_SEEDS, 1);
  pto_coverage_leave(&coverage, PTO_COVERAGE_SEEDS, PTO_COVERAGE_UNCOUNTED, "check --seed N");
  pto_coverage_leave_because(&coverage, PTO_COVERAGE_CONTEXTS, 1, "nothing can");
  root = json_of(&coverage);
  json_t *expected = json_pack("{s:{s:{s:i,s:i,s:n,s:n},s:{s:i,s:i,s:n,s:s},s:{s:i,s:n,s:s,s:n}}}", "coverage", "calls",
                               "judged", 4, "not_judged", 0, "command", "reason", "contexts", "judged", 0, "not_judged",
                               1, "command", "reason", "nothing can", "seeds", "judged", 1, "not_judged", "command",
                               "ptosim check PROGRAM --seed N", "reason");
  assert_true(json_equal(root, expected));
  json_decref(expected);
  json_decref(root);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_is_told_where_nothing_is_known),
      cmocka_unit_test(test_a_line_without_a_row_is_left_out),
      cmocka_unit_test(test_rows_add_up_and_one_command_stands_behind_all_that_it_judges),
      cmocka_unit_test(test_a_command_names_the_program_while_there_is_room_and_a_reason_gives_way_to_it),
      cmocka_unit_test(test_what_is_not_counted_has_no_number_whatever_is_added),
      cmocka_unit_test(test_json_has_a_row_a_kind_that_has_something),
  };
  return cmocka_run_group_tests_name("coverage", tests, NULL, NULL);
}
