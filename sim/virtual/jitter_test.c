/* SPDX-License-Identifier: MIT */
/* What docs/virtual-time.md promises of the noise on kernel times: its distribution, and what it does not depend on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include <sim/virtual/jitter.h>

#define DRAWS 200000u
#define VALUE UINT64_C(1000000000)

static void test_mean_and_deviation_are_those_asked_for(void **state) {
  const struct pto_jitter jitter = {.seed = 7, .ppm = 50000};
  double sum = 0, squares = 0, least = 2, most = 0;
  for (uint32_t task = 0; task < DRAWS; task++) {
    const double factor = (double)pto_jitter_scale(&jitter, task, 0, VALUE) / (double)VALUE;
    sum += factor;
    squares += (factor - 1) * (factor - 1);
    least = fmin(least, factor);
    most = fmax(most, factor);
  }
  assert_true(fabs(sum / DRAWS - 1) < 4 * 0.05 / sqrt(DRAWS));
  assert_true(fabs(sqrt(squares / DRAWS) / 0.05 - 1) < 0.01);
  assert_true(least > 1 - 0.05 * 3.4642 && most < 1 + 0.05 * 3.4642);
  assert_true(least < 1 - 0.05 * 3 && most > 1 + 0.05 * 3);
}

static void test_seeds_tasks_and_blocks_are_independent(void **state) {
  const struct pto_jitter a = {.seed = 1, .ppm = 50000}, b = {.seed = 2, .ppm = 50000};
  double products[3] = {0};
  for (uint32_t task = 0; task < DRAWS; task++) {
    const double draw = (double)pto_jitter_draw(&a, task, 3) / (double)PTO_JITTER_DEVIATION;
    products[0] += draw * (double)pto_jitter_draw(&b, task, 3) / (double)PTO_JITTER_DEVIATION;
    products[1] += draw * (double)pto_jitter_draw(&a, task + 1, 3) / (double)PTO_JITTER_DEVIATION;
    products[2] += draw * (double)pto_jitter_draw(&a, task, 4) / (double)PTO_JITTER_DEVIATION;
    assert_int_equal(pto_jitter_draw(&a, task, 3), pto_jitter_draw(&a, task, 3));
  }
  for (int i = 0; i < 3; i++) assert_true(fabs(products[i] / DRAWS) < 4 / sqrt(DRAWS));
}

static void test_the_ends_of_the_range(void **state) {
  const struct pto_jitter none = {.seed = 5}, most = {.seed = 5, .ppm = PTO_JITTER_MOST_PPM};
  for (uint32_t task = 0; task < 1000; task++) {
    assert_int_equal(pto_jitter_scale(&none, task, task, 12345), 12345);
    assert_int_equal(pto_jitter_scale(&none, task, task, UINT64_MAX), UINT64_MAX);
    assert_int_equal(pto_jitter_scale(&most, task, 0, 0), 0);
    assert_true(pto_jitter_scale(&most, task, 0, 1) >= 1);
    assert_true(pto_jitter_scale(&most, task, 0, UINT64_MAX) > UINT64_MAX / 8);
  }
  /* The least and the most that four numbers come to leave the factor above 0. */
  const int64_t one = (int64_t)(PTO_JITTER_DEVIATION * 1000000);
  assert_true(one - (int64_t)PTO_JITTER_MOST_PPM * PTO_JITTER_MEAN > one / 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mean_and_deviation_are_those_asked_for),
                                     cmocka_unit_test(test_seeds_tasks_and_blocks_are_independent),
                                     cmocka_unit_test(test_the_ends_of_the_range)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
