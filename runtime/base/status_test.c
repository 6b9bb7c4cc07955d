/* SPDX-License-Identifier: MIT */
/* The public list of statuses: each has a name, a text, and the existing runtime's number where that has one. */
#include <pto/status.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

static void test_a_status_is_named_as_it_is_written(void **state) {
  (void)state;
  assert_string_equal(pto_status_name(PTO_OK), "PTO_OK");
  assert_string_equal(pto_status_name(PTO_EHEAP), "PTO_EHEAP");
  assert_string_equal(pto_status_name(-1000), "PTO_UNKNOWN");
  assert_string_equal(pto_status_name(1), "PTO_UNKNOWN");
}

static void test_the_existing_runtimes_numbers_are_told(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *number;
  } known[] = {{PTO_ESCOPE, "error 1)"},    {PTO_EHEAP, "error 2)"},
               {PTO_EWINDOW, "error 3)"},   {PTO_ECAPACITY, "errors 4 and 11)"},
               {PTO_EINVAL, "error 5)"},    {PTO_EFIT, "error 7)"},
               {PTO_EUSER, "error 9)"},     {PTO_EDEADLOCK, "error 100)"},
               {PTO_ETIMEOUT, "error 100)"}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    assert_non_null(strstr(pto_strerror(known[i].status), known[i].number));
}

static void test_a_status_without_a_number_tells_none(void **state) {
  (void)state;
  static const int without[] = {PTO_OK, PTO_ESTALE, PTO_EKERNEL, PTO_ENOMEM, PTO_ESYSTEM, PTO_ENOTSUP};
  for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
    assert_null(strstr(pto_strerror(without[i]), "runtime error"));
    assert_true(strlen(pto_strerror(without[i])) > 5);
  }
}

static void test_an_unknown_status_is_called_unknown(void **state) {
  (void)state;
  assert_string_equal(pto_strerror(-1000), "unknown status");
  assert_string_equal(pto_strerror(INT32_MAX), "unknown status");
  assert_string_equal(pto_strerror(INT32_MIN), "unknown status");
}

static void test_codes_are_negative_and_distinct(void **state) {
  (void)state;
  static const int codes[] = {
#define X(name, value, number, ends_run, text) name,
      PTO_STATUS_LIST(X)
#undef X
  };
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    assert_true(i == 0 ? codes[i] == 0 : codes[i] < 0);
    for (size_t j = 0; j < i; j++) {
      assert_int_not_equal(codes[i], codes[j]);
      assert_string_not_equal(pto_status_name(codes[i]), pto_status_name(codes[j]));
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_status_is_named_as_it_is_written),
      cmocka_unit_test(test_the_existing_runtimes_numbers_are_told),
      cmocka_unit_test(test_a_status_without_a_number_tells_none),
      cmocka_unit_test(test_an_unknown_status_is_called_unknown),
      cmocka_unit_test(test_codes_are_negative_and_distinct),
  };
  return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
