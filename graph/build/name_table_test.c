/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <graph/build/name_table.h>
#include <tests/support/failing_malloc.h>

static void test_every_name_has_its_number_however_many_there_are(void **state) {
  static char names[20000][12];
  struct pto_name_table table = {0};
  uint32_t number;
  assert_false(pto_name_table_lookup(&table, "n0", &number));
  for (uint32_t i = 0; i < 20000; i++) {
    snprintf(names[i], sizeof names[i], "n%u", i);
    assert_false(pto_name_table_lookup(&table, names[i], &number));
    assert_true(pto_name_table_insert(&table, names[i], i));
  }
  for (uint32_t i = 0; i < 20000; i++) {
    assert_true(pto_name_table_lookup(&table, names[i], &number));
    assert_int_equal(number, i);
  }
  pto_name_table_fini(&table);
  assert_false(pto_name_table_lookup(&table, "n0", &number));
}

static void test_without_memory_the_table_stays_as_it_was(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  struct pto_name_table table = {0};
  uint32_t number;
  for (uint32_t i = 0; i < 8; i++) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    assert_true(pto_name_table_insert(&table, names[i], i));
  }
  fail_countdown = 1;
  assert_false(pto_name_table_insert(&table, "i", 8));
  fail_countdown = 0;
  assert_false(pto_name_table_lookup(&table, "i", &number));
  assert_true(pto_name_table_lookup(&table, "h", &number));
  assert_int_equal(number, 7);
  pto_name_table_fini(&table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_name_has_its_number_however_many_there_are),
      cmocka_unit_test(test_without_memory_the_table_stays_as_it_was),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
