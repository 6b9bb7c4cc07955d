/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
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
    assert_true(pto_name_table_reserve(&table));
    pto_name_table_insert(&table, names[i], i);
  }
  for (uint32_t i = 0; i < 20000; i++) {
    assert_true(pto_name_table_lookup(&table, names[i], &number));
    assert_int_equal(number, i);
  }
  assert_true(2 * table.count <= table.capacity);
  pto_name_table_fini(&table);
  assert_false(pto_name_table_lookup(&table, "n0", &number));
}

static void test_without_memory_the_table_stays_as_it_was(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  struct pto_name_table table = {0};
  uint32_t number;
  for (uint32_t i = 0; i < 8; i++) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    assert_true(pto_name_table_reserve(&table));
    pto_name_table_insert(&table, names[i], i);
  }
  fail_countdown = 1;
  assert_false(pto_name_table_reserve(&table));
  fail_countdown = 0;
  assert_true(pto_name_table_lookup(&table, "h", &number));
  assert_int_equal(number, 7);
  pto_name_table_fini(&table);
}

/* Key and bytes 0, 1, 2 …: of lengths 0, 8 and 15 as in the paper's appendix and the authors' table. */
static void test_the_hash_is_siphash(void **state) {
  const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
  const unsigned char bytes[15] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  assert_true(pto_name_hash(key, bytes, 0) == UINT64_C(0x726fdb47dd0e0e31));
  assert_true(pto_name_hash(key, bytes, 8) == UINT64_C(0x93f5f5799a932462));
  assert_true(pto_name_hash(key, bytes, 15) == UINT64_C(0xa129ca6149be45e5));
}

static void test_two_tables_put_the_same_names_elsewhere(void **state) {
  static char names[64][8];
  struct pto_name_table tables[2] = {0};
  for (uint32_t t = 0; t < 2; t++)
    for (uint32_t i = 0; i < 64; i++) {
      snprintf(names[i], sizeof names[i], "n%u", i);
      assert_true(pto_name_table_reserve(&tables[t]));
      pto_name_table_insert(&tables[t], names[i], i);
    }
  assert_int_equal(tables[0].capacity, tables[1].capacity);
  uint32_t elsewhere = 0;
  for (uint32_t i = 0; i < tables[0].capacity; i++) elsewhere += tables[0].slots[i].name != tables[1].slots[i].name;
  assert_true(elsewhere > 64); /* of 128 slots; at least 84 in 20 000 random draws */
  for (uint32_t t = 0; t < 2; t++) pto_name_table_fini(&tables[t]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_name_has_its_number_however_many_there_are),
      cmocka_unit_test(test_the_hash_is_siphash),
      cmocka_unit_test(test_two_tables_put_the_same_names_elsewhere),
      cmocka_unit_test(test_without_memory_the_table_stays_as_it_was),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
