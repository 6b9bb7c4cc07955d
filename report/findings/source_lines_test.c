/* SPDX-License-Identifier: MIT */
/* Places of calls: by line where there is debug information and libdw, else by file and offset. */
#include <report/findings/source_lines.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <runtime/base/call_stack.h>

static const void *returned_to;
static PTO_NOINLINE int called(int x) {
  returned_to = __builtin_return_address(0);
  return x + 1;
}

static void test_a_call_is_told_by_its_line_or_by_file_and_offset(void **state) {
  (void)state;
  struct pto_source_lines *lines = pto_source_lines_create();
  char text[128], expected[64];
  const int line = __LINE__ + 1;
  const int answer = called(41);
  assert_int_equal(answer, 42);
  pto_source_lines_name(lines, returned_to, NULL, text, sizeof text);
  snprintf(expected, sizeof expected, "source_lines_test.c:%d", line);
  /* built without libdw, or without debug information */
  if (strncmp(text, "program+0x", 10)) assert_string_equal(text, expected);
  pto_source_lines_destroy(lines);
}

static inline __attribute__((always_inline)) int inlined(int x) { return called(x) + 1; }
static const int inlined_line = __LINE__ - 1;

static void test_the_callers_line_comes_first(void **state) {
  (void)state;
  struct pto_source_lines *lines = pto_source_lines_create();
  char text[128], expected[128];
  const int line = __LINE__ + 1;
  assert_int_equal(inlined(1), 3);
  pto_source_lines_name(lines, returned_to, NULL, text, sizeof text);
  snprintf(expected, sizeof expected, "source_lines_test.c:%d (source_lines_test.c:%d)", line, inlined_line);
  if (strncmp(text, "program+0x", 10)) assert_string_equal(text, expected);
  pto_source_lines_destroy(lines);
}

static PTO_NOINLINE int calls_twice(const void **first) {
  const int answer = called(1);
  *first = returned_to;
  return answer + called(2);
}
static const int first_line = __LINE__ - 4;

/* As where a compiler makes two functions of one. */
static void test_of_two_lines_of_one_function_the_inner_one_is_told_alone(void **state) {
  (void)state;
  struct pto_source_lines *lines = pto_source_lines_create();
  const void *first;
  char text[128], expected[64];
  assert_int_equal(calls_twice(&first), 5);
  pto_source_lines_name(lines, first, returned_to, text, sizeof text);
  snprintf(expected, sizeof expected, "source_lines_test.c:%d", first_line);
  if (strncmp(text, "program+0x", 10)) assert_string_equal(text, expected);
  pto_source_lines_destroy(lines);
}

/* ---- the stack ---- */

static const void *outer_call;
static PTO_NOINLINE int note_outer(void) {
  returned_to = __builtin_return_address(0);
  outer_call = pto_call_stack_outer(returned_to);
  return 1;
}
static PTO_NOINLINE int deep(int x) { return x ? deep(x - 1) + 1 : note_outer() + 1; }
static PTO_NOINLINE int own_code(int x) {
  const int answer = x ? deep(x) + 1 : note_outer() + 1;
  return answer;
}

static void test_the_outermost_call_is_that_of_the_function_which_was_called_first(void **state) {
  (void)state;
  assert_int_equal(own_code(3), 6);
  assert_null(outer_call); /* where the program's own code begins is not known */
  (void)pto_call_stack_begin(__builtin_frame_address(0));
  assert_int_equal(own_code(3), 6);
  assert_non_null(outer_call);
  assert_ptr_not_equal(outer_call, returned_to);
  const void *first = outer_call;
  assert_int_equal(own_code(9), 12);
  assert_ptr_equal(outer_call, first); /* however deep */
  assert_int_equal(own_code(0), 2);
  assert_null(outer_call); /* the call itself is the outermost */
  (void)pto_call_stack_begin(NULL);
}

static void test_an_address_in_no_file_has_no_place_and_none_at_all_neither(void **state) {
  (void)state;
  struct pto_source_lines *lines = pto_source_lines_create();
  char text[64] = "before";
  assert_string_equal(pto_source_lines_name(lines, NULL, NULL, text, sizeof text), "");
  assert_string_equal(pto_source_lines_name(lines, (const void *)(uintptr_t)64, NULL, text, sizeof text), "");
  pto_source_lines_destroy(lines);
  pto_source_lines_destroy(NULL);
}

static void test_without_a_reader_of_lines_a_call_is_told_by_file_and_offset(void **state) {
  (void)state;
  char text[128];
  assert_int_equal(called(1), 2);
  pto_source_lines_name(NULL, returned_to, NULL, text, sizeof text);
  assert_non_null(strstr(text, "+0x"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_call_is_told_by_its_line_or_by_file_and_offset),
      cmocka_unit_test(test_the_callers_line_comes_first),
      cmocka_unit_test(test_of_two_lines_of_one_function_the_inner_one_is_told_alone),
      cmocka_unit_test(test_the_outermost_call_is_that_of_the_function_which_was_called_first),
      cmocka_unit_test(test_an_address_in_no_file_has_no_place_and_none_at_all_neither),
      cmocka_unit_test(test_without_a_reader_of_lines_a_call_is_told_by_file_and_offset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
