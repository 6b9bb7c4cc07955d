/* SPDX-License-Identifier: MIT */
/* Against the textbook table of longest common subsequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <check/diff/sequence_match.h>
#include <runtime/base/base.h>

#define MOST 40

static uint64_t longest(const uint64_t *a, uint64_t n, const uint64_t *b, uint64_t m) {
  static uint64_t table[MOST + 1][MOST + 1];
  memset(table, 0, sizeof table);
  for (uint64_t i = 1; i <= n; i++)
    for (uint64_t j = 1; j <= m; j++)
      table[i][j] = a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1 : pto_max_u64(table[i - 1][j], table[i][j - 1]);
  return table[n][m];
}

/* Increasing, equal, and as many as there can be. */
static void assert_is_longest(const uint64_t *a, uint64_t n, const uint64_t *b, uint64_t m) {
  uint64_t match[MOST + 1], count = 0, next = 0;
  assert_int_equal(pto_sequence_match(a, n, b, m, match), PTO_OK);
  for (uint64_t i = 0; i < n; i++) {
    if (match[i] == PTO_SEQUENCE_UNMATCHED) continue;
    assert_true(match[i] >= next && match[i] < m && a[i] == b[match[i]]);
    next = match[i] + 1;
    count++;
  }
  assert_int_equal(count, longest(a, n, b, m));
}

static void test_random_sequences_have_the_longest_match(void **state) {
  struct pto_rng rng = {7};
  uint64_t a[MOST], b[MOST];
  for (int round = 0; round < 20000; round++) {
    uint64_t n = pto_rng_below(&rng, MOST + 1), m = pto_rng_below(&rng, MOST + 1), letters = 1 + pto_rng_below(&rng, 6);
    for (uint64_t i = 0; i < n; i++) a[i] = pto_rng_below(&rng, letters);
    for (uint64_t i = 0; i < m; i++) b[i] = pto_rng_below(&rng, letters);
    assert_is_longest(a, n, b, m);
  }
}

static void test_one_item_inserted_among_many_is_the_one_that_is_unmatched(void **state) {
  enum { COUNT = 100000 };
  uint64_t *a = calloc(COUNT, sizeof *a), *b = calloc(COUNT + 1, sizeof *b), *match = calloc(COUNT, sizeof *match);
  for (uint64_t i = 0; i < COUNT; i++) {
    a[i] = i % 7;
    b[i + (i >= 777)] = i % 7;
  }
  b[777] = 99;
  assert_int_equal(pto_sequence_match(a, COUNT, b, COUNT + 1, match), PTO_OK);
  for (uint64_t i = 0; i < COUNT; i++) assert_int_equal(match[i], i + (i >= 777));
  free(a);
  free(b);
  free(match);
}

static void test_sequences_with_nothing_in_common_are_given_up_on(void **state) {
  enum { COUNT = 4000 };
  uint64_t *a = calloc(COUNT, sizeof *a), *b = calloc(COUNT, sizeof *b), *match = calloc(COUNT, sizeof *match);
  for (uint64_t i = 0; i < COUNT; i++) b[i] = 1;
  assert_int_equal(pto_sequence_match(a, COUNT, b, COUNT, match), PTO_EFIT);
  for (uint64_t i = 0; i < COUNT; i++) assert_true(match[i] == PTO_SEQUENCE_UNMATCHED);
  free(a);
  free(b);
  free(match);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_sequences_have_the_longest_match),
      cmocka_unit_test(test_one_item_inserted_among_many_is_the_one_that_is_unmatched),
      cmocka_unit_test(test_sequences_with_nothing_in_common_are_given_up_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
