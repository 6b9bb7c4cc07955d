/* SPDX-License-Identifier: MIT */
/* Structs that begin with their size, between callers and libraries of different ages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <runtime/base/sized.h>

#include <string.h>

struct old {
  size_t size;
  uint64_t a;
};
struct new {
  size_t size;
  uint64_t a, b;
};

static void test_what_the_caller_does_not_have_keeps_its_value(void **state) {
  const struct old given = {sizeof given, 5};
  struct new taken = {.a = 1, .b = 2};
  struct pto_error error;
  assert_int_equal(pto_sized_take(&taken, sizeof taken, &given, "it", &error), PTO_OK);
  assert_int_equal(taken.size, sizeof taken);
  assert_int_equal(taken.a, 5);
  assert_int_equal(taken.b, 2);
  assert_int_equal(pto_sized_take(&taken, sizeof taken, NULL, "it", &error), PTO_OK);
  assert_int_equal(taken.a, 5);
}

static void test_what_the_library_does_not_know_is_refused_where_it_is_set(void **state) {
  struct new given = {sizeof given, 5, 0};
  struct old taken = {0};
  struct pto_error error;
  assert_int_equal(pto_sized_take(&taken, sizeof taken, &given, "it", &error), PTO_OK);
  assert_int_equal(taken.size, sizeof taken);
  assert_int_equal(taken.a, 5);
  given.b = 1;
  assert_int_equal(pto_sized_take(&taken, sizeof taken, &given, "it", &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "it: byte 16 is set and this library knows 16 bytes of it");
  given.size = 0;
  assert_int_equal(pto_sized_take(&taken, sizeof taken, &given, "it", &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "it.size is 0; start with {.size = sizeof it}");
}

static void test_what_is_given_has_the_size_that_the_caller_said(void **state) {
  const struct new from = {sizeof from, 7, 8};
  struct new given = {sizeof(struct old), 1, 2};
  pto_sized_give(&given, &from, sizeof from);
  assert_int_equal(given.size, sizeof(struct old));
  assert_int_equal(given.a, 7);
  assert_int_equal(given.b, 2);
  given = (struct new){sizeof given, 1, 2};
  pto_sized_give(&given, &from, sizeof(struct old));
  assert_int_equal(given.a, 7);
  assert_int_equal(given.b, 2);
  given = (struct new){0, 1, 2};
  pto_sized_give(&given, &from, sizeof from);
  assert_int_equal(given.a, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_the_caller_does_not_have_keeps_its_value),
      cmocka_unit_test(test_what_the_library_does_not_know_is_refused_where_it_is_set),
      cmocka_unit_test(test_what_is_given_has_the_size_that_the_caller_said),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
