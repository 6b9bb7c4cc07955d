/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <check/task/choice.h>

static struct pto_task_choice choice;
static struct pto_error error;
static const struct pto_kernel add = {.name = "add"}, exp_ = {.name = "exp"};

/* Asks for tasks 0 … 9, of which the even ones run add, the odd ones exp + add; the numbers of those taken. */
static const char *taken(const char *text) {
  static char list[64];
  const struct pto_kernel *even[3] = {NULL, &add, NULL}, *odd[3] = {&exp_, NULL, &add};
  size_t used = 0;
  list[0] = '\0';
  assert_int_equal(pto_task_choice_init(&choice, text, &error), PTO_OK);
  for (uint64_t i = 0; i < 10; i++)
    if (pto_task_choice_takes(&choice, i, i % 2 ? odd : even)) list[used++] = (char)('0' + i);
  list[used] = '\0';
  return list;
}

static void assert_takes(const char *text, const char *numbers) {
  assert_string_equal(taken(text), numbers);
  assert_null(pto_task_choice_unmet(&choice));
  pto_task_choice_fini(&choice);
}

static void test_numbers_ranges_and_kernels_are_taken(void **state) {
  assert_takes("3", "3");
  assert_takes("3,5-7", "3567");
  assert_takes("exp", "13579");
  assert_takes("first:exp", "1");
  assert_takes("first:add,4,9-9", "049");
  assert_takes("add", "0123456789");
}

static void test_what_took_nothing_is_known(void **state) {
  char text[128];
  assert_string_equal(taken("3,mul"), "3");
  assert_string_equal(pto_task_term_format(pto_task_choice_unmet(&choice), text, sizeof text), "mul");
  pto_task_choice_fini(&choice);
  assert_string_equal(taken("17"), "");
  assert_string_equal(pto_task_term_format(pto_task_choice_unmet(&choice), text, sizeof text), "task 17");
  pto_task_choice_fini(&choice);
}

static void test_what_is_no_choice_is_refused(void **state) {
  static const char *const bad[] = {"", ",", "3,", "3-", "-3", "7-3", "3x", "99999999999999999999", "first:"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (strcmp(bad[i], "-3") == 0) continue; /* a kernel may be called that */
    assert_int_equal(pto_task_choice_init(&choice, bad[i], &error), PTO_EINVAL);
    assert_true(error.sentence[0] != '\0');
    pto_task_choice_fini(&choice);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers_ranges_and_kernels_are_taken),
      cmocka_unit_test(test_what_took_nothing_is_known),
      cmocka_unit_test(test_what_is_no_choice_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
