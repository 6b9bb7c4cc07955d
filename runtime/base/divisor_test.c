/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include <runtime/base/divisor.h>

static void check(uint64_t n, const struct pto_divisor *by) {
  if (pto_divide(n, by) == n / by->value) return;
  printf("%llu / %llu\n", (unsigned long long)n, (unsigned long long)by->value);
  fail();
}

/* Numbers below the limit at which a quotient changes, and the ends. */
static void check_steps(uint64_t value, uint64_t limit, struct pto_rng *rng) {
  const struct pto_divisor by = pto_divisor_make(value, limit);
  check(0, &by);
  check(limit - 1, &by);
  for (int i = 0; i < 20; i++) {
    const uint64_t step = value * pto_rng_below(rng, limit / value + 1);
    if (step < limit) check(step, &by);
    if (step > 0) check(step - 1, &by);
  }
}

static void quotients_are_those_of_the_division(void **state) {
  struct pto_rng rng = {11};
  for (uint64_t value = 1; value < 300; value++)
    for (uint64_t limit = 1; limit < 70; limit++) check_steps(value, limit, &rng);
  for (int i = 0; i < 200000; i++) {
    const uint64_t value = 1 + (pto_rng_next(&rng) >> pto_rng_below(&rng, 64));
    const uint64_t limit = 1 + (pto_rng_next(&rng) >> (1 + pto_rng_below(&rng, 63)));
    check_steps(value, limit, &rng);
  }
}

static void the_largest_products_that_have_a_reciprocal_are_exact(void **state) {
  struct pto_rng rng = {12};
  for (uint32_t bits = 0; bits <= 62; bits++)
    for (uint32_t delta = 0; delta < 2; delta++) {
      const uint64_t value = (UINT64_C(2) << bits) - 1 - delta, limit = (UINT64_C(2) << (62 - bits)) - 1;
      if (value == 0) continue;
      assert_int_not_equal(pto_divisor_make(value, limit).reciprocal, 0);
      check_steps(value, limit, &rng);
    }
}

static void where_no_reciprocal_is_exact_there_is_none(void **state) {
  assert_int_equal(pto_divisor_make(UINT64_C(1) << 40, UINT64_C(1) << 40).reciprocal, 0);
  assert_int_equal(pto_divisor_make(3, UINT64_MAX).reciprocal, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quotients_are_those_of_the_division),
      cmocka_unit_test(the_largest_products_that_have_a_reciprocal_are_exact),
      cmocka_unit_test(where_no_reciprocal_is_exact_there_is_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
