/* SPDX-License-Identifier: MIT */
/* Intervals of a shift: against tables of Mann and Whitney's U, against all orders counted one by one, and how often
 * random samples are told apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <check/compare/shift.h>
#include <runtime/base/base.h>

/* Critical values of U at 5 %, two-sided (Milton 1964): U at most that; the rank is one more. */
static void test_ranks_are_those_of_published_tables(void **state) {
  static const struct {
    uint32_t a, b, most;
  } table[] = {{4, 4, 0},    {5, 5, 2},    {6, 6, 5},     {7, 7, 8}, {8, 8, 13},
               {10, 10, 23}, {15, 15, 64}, {20, 20, 127}, {5, 9, 7}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(table); i++)
    assert_int_equal(pto_shift_rank(table[i].a, table[i].b, 0.05), table[i].most + 1);
  assert_int_equal(pto_shift_rank(3, 3, 0.05), 0);
  assert_int_equal(pto_shift_least_count(0.05), 4);
  assert_true(pto_shift_rank(PTO_SHIFT_MOST, PTO_SHIFT_MOST, 0.05) > 0);
}

/* Of all orders of a + b times: those whose U is at most `most`. */
static uint64_t count_orders(uint32_t a, uint32_t b, uint32_t most, uint64_t *all) {
  uint64_t found = 0;
  *all = 0;
  for (uint32_t order = 0; order < 1u << (a + b); order++) {
    uint32_t u = 0, of_a = 0;
    if ((uint32_t)__builtin_popcount(order) != a) continue;
    for (uint32_t i = 0; i < a + b; i++) {
      if (order >> i & 1)
        of_a++;
      else
        u += of_a;
    }
    ++*all;
    found += u <= most;
  }
  return found;
}

static void test_the_distribution_is_that_of_all_orders(void **state) {
  static const double probabilities[] = {0.5, 0.1, 0.05, 0.01, 0.001};
  for (uint32_t a = 1; a <= 8; a++)
    for (uint32_t b = 1; b <= 8; b++)
      for (size_t p = 0; p < PTO_ARRAY_LENGTH(probabilities); p++) {
        const uint32_t rank = pto_shift_rank(a, b, probabilities[p]);
        uint64_t all;
        if (rank > 0) assert_true(2.0 * (double)count_orders(a, b, rank - 1, &all) <= probabilities[p] * (double)all);
        if (rank <= a * b / 2)
          assert_true(2.0 * (double)count_orders(a, b, rank, &all) > probabilities[p] * (double)all);
      }
}

/* A time with noise that leans to longer ones, as those of threads do. */
static uint64_t draw(uint64_t *seed, uint64_t time) {
  *seed = pto_mix64(*seed + 1);
  const uint64_t noise = *seed % 1000;
  return time + time * noise * noise / 1000 / 1000 * 2 / 10;
}

/* Trials of 1000 in which B is told to take longer, or less. */
static uint32_t count_told(uint32_t count, uint64_t b_time) {
  uint64_t a[PTO_SHIFT_MOST], b[PTO_SHIFT_MOST], seed = 1;
  const uint32_t rank = pto_shift_rank(count, count, 0.05);
  uint32_t told = 0;
  for (uint32_t trial = 0; trial < 1000; trial++) {
    for (uint32_t i = 0; i < count; i++) a[i] = draw(&seed, 1000000), b[i] = draw(&seed, b_time);
    const struct pto_shift shift = pto_shift_between(a, count, b, count, rank);
    told += shift.low > 0 || shift.high < 0;
  }
  return told;
}

static void test_more_runs_tell_more_and_the_same_is_rarely_told_apart(void **state) {
  const uint32_t few = count_told(7, 1050000), many = count_told(20, 1050000), most = count_told(64, 1050000);
  print_message("5 %% more under noise of up to 20 %%: told %u, %u, %u times of 1000\n", few, many, most);
  assert_true(few < many && many < most && most > 900);
  for (uint32_t count = 4; count <= 64; count *= 2) assert_true(count_told(count, 1000000) <= 70);
}

static void test_an_interval_has_the_shift_between_its_ends(void **state) {
  const uint64_t a[] = {10, 20, 30, 40}, b[] = {15, 25, 35, 45};
  const struct pto_shift shift = pto_shift_between(a, 4, b, 4, 1);
  assert_int_equal(shift.low, -25);
  assert_int_equal(shift.high, 35);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ranks_are_those_of_published_tables),
      cmocka_unit_test(test_the_distribution_is_that_of_all_orders),
      cmocka_unit_test(test_more_runs_tell_more_and_the_same_is_rarely_told_apart),
      cmocka_unit_test(test_an_interval_has_the_shift_between_its_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
