/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bench/support/samples.h>
#include <runtime/base/base.h>

static struct pto_samples numbers(uint32_t count) {
  struct pto_samples samples = {.count = 0};
  for (uint32_t i = 0; i < count; i++)
    pto_samples_add(&samples, (i * 37) % count + 1); /* 37 is prime: all of 1 … count */
  return samples;
}

static void figures_are_of_the_sorted_samples(void **state) {
  const struct pto_samples odd = numbers(7), even = numbers(8), one = numbers(1), none = numbers(0);
  const struct pto_samples_figures figures = pto_samples_figures(&odd);
  assert_true(figures.median == 4 && figures.min == 1 && figures.max == 7);
  assert_true(pto_samples_median(&even) == 4.5);
  assert_true(pto_samples_figures(&one).low == 1 && pto_samples_figures(&one).high == 1);
  assert_true(pto_samples_median(&none) == 0);
  assert_true(odd.values[1] == 3); /* they are left as they came: 37 mod 7, and 1 */
}

/* The ranks that tables of the sign test give for 95 %: 1 of 6, 2 of 9, 3 of 12, 6 of 20, 40 of 99. */
static void the_interval_has_the_ranks_of_the_sign_test(void **state) {
  static const struct {
    uint32_t count, low;
  } known[] = {{2, 1}, {5, 1}, {6, 1}, {7, 1}, {8, 1}, {9, 2}, {11, 2}, {12, 3}, {20, 6}, {99, 40}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(known); i++) {
    const struct pto_samples samples = numbers(known[i].count);
    const struct pto_samples_figures figures = pto_samples_figures(&samples);
    if (figures.low != known[i].low || figures.high != known[i].count + 1 - known[i].low)
      fail_msg("%u samples: %g to %g", known[i].count, figures.low, figures.high);
  }
}

static void the_interval_holds_the_median_as_often_as_it_says(void **state) {
  enum { TRIALS = 20000, COUNT = 9 };
  struct pto_rng rng = {20240607};
  uint32_t held = 0;
  for (uint32_t trial = 0; trial < TRIALS; trial++) {
    struct pto_samples samples = {.count = 0};
    for (uint32_t i = 0; i < COUNT; i++) pto_samples_add(&samples, pto_rng_unit(&rng));
    const struct pto_samples_figures figures = pto_samples_figures(&samples);
    held += figures.low <= 0.5 && 0.5 <= figures.high;
  }
  assert_in_range(held, TRIALS * 95 / 100, TRIALS * 97 / 100); /* 96.1 %: 1 − 20 / 2^9 */
}

static void samples_beyond_the_most_are_dropped(void **state) {
  struct pto_samples samples = {.count = 0};
  for (uint32_t i = 0; i < PTO_MAX_SAMPLES + 10; i++) pto_samples_add(&samples, 1);
  assert_int_equal(samples.count, PTO_MAX_SAMPLES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(figures_are_of_the_sorted_samples),
      cmocka_unit_test(the_interval_has_the_ranks_of_the_sign_test),
      cmocka_unit_test(the_interval_holds_the_median_as_often_as_it_says),
      cmocka_unit_test(samples_beyond_the_most_are_dropped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
