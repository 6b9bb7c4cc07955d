/* SPDX-License-Identifier: MIT */
/* Prices from counts: exact where there is one answer, none below 0, the usual ones where there are many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <check/calibrate/least_squares.h>

#include <math.h>

static void test_one_answer_is_found(void **state) {
  (void)state;
  struct pto_equations e = {.unknown_count = 3, .count = 4, .usual = {1e5, 1e5, 1e5}};
  static const double prices[] = {120000, 7000, 45000}, counts[4][3] = {{10, 3, 1}, {4, 50, 2}, {7, 7, 90}, {1, 1, 1}};
  for (uint32_t r = 0; r < 4; r++) {
    for (uint32_t k = 0; k < 3; k++) {
      e.rows[r].counts[k] = counts[r][k];
      e.rows[r].value += counts[r][k] * prices[k];
    }
    e.rows[r].tolerance = 1000;
  }
  double found[PTO_MAX_UNKNOWNS];
  assert_true(pto_equations_solve(&e, found));
  for (uint32_t k = 0; k < 3; k++) {
    assert_true(fabs(found[k] - prices[k]) < 1);
    assert_true(pto_equations_identify(&e, k));
  }
}

static void test_no_price_is_below_0(void **state) {
  (void)state;
  struct pto_equations e = {.unknown_count = 2, .count = 2, .usual = {100, 100}};
  e.rows[0].counts[0] = 1, e.rows[0].counts[1] = 1, e.rows[0].value = 100, e.rows[0].tolerance = 1;
  e.rows[1].counts[0] = 1, e.rows[1].counts[1] = 2, e.rows[1].value = 50, e.rows[1].tolerance = 1;
  double found[PTO_MAX_UNKNOWNS];
  assert_true(pto_equations_solve(&e, found));
  assert_true(found[1] == 0 && fabs(found[0] - 75) < 0.1);
}

static void test_what_rows_do_not_tell_apart_is_as_usual(void **state) {
  (void)state;
  struct pto_equations e = {.unknown_count = 2, .count = 1, .usual = {300, 100}};
  e.rows[0].counts[0] = 1, e.rows[0].counts[1] = 1, e.rows[0].value = 1000, e.rows[0].tolerance = 1;
  double found[PTO_MAX_UNKNOWNS];
  assert_true(pto_equations_solve(&e, found));
  assert_true(fabs(found[0] - 900) < 1 && fabs(found[1] - 100) < 1); /* squares in units of the usual: 9 to 1 */
  assert_false(pto_equations_identify(&e, 0));
  assert_false(pto_equations_identify(&e, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_answer_is_found),
      cmocka_unit_test(test_no_price_is_below_0),
      cmocka_unit_test(test_what_rows_do_not_tell_apart_is_as_usual),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
