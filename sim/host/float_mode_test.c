/* SPDX-License-Identifier: MIT */
#include <sim/host/float_mode.h>

#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_each_way_to_round_has_words_and_is_put_back(void **state) {
  static const struct {
    int way;
    const char *words;
  } ways[] = {
      {FE_UPWARD, "it rounds upward"}, {FE_DOWNWARD, "it rounds downward"}, {FE_TOWARDZERO, "it rounds toward zero"}};
  const uint64_t usual = pto_float_mode();
  assert_string_equal(pto_float_mode_words(usual, usual), "");
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    assert_int_equal(fesetround(ways[i].way), 0);
    const uint64_t mode = pto_float_mode();
    pto_float_mode_set(usual);
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_string_equal(pto_float_mode_words(usual, mode), ways[i].words);
    assert_string_equal(pto_float_mode_words(mode, usual), "it rounds to nearest");
    pto_float_mode_set(mode);
    assert_int_equal(fegetround(), ways[i].way);
    pto_float_mode_set(usual);
  }
}

struct quotient {
  float a, b, result;
};
/* Where the compiler must do it: it does not know the values. */
static void divide(struct quotient *q) {
  __asm__("" : : "r"(q) : "memory");
  q->result = q->a / q->b;
  __asm__("" : : "r"(q) : "memory");
}

static void test_what_has_happened_is_no_mode(void **state) {
  const uint64_t usual = pto_float_mode();
  struct quotient q = {1, 0, 0};
  divide(&q);
  assert_true(q.result > 1);
  assert_true(pto_float_mode() == usual);
  pto_float_mode_set(usual);
  assert_true(fetestexcept(FE_DIVBYZERO));
  (void)feclearexcept(FE_ALL_EXCEPT);
}

/* Of such a bit that a machine has: exceptions that are masked on x86, that are not on ARM. */
static void test_what_is_neither_rounding_nor_tiny_numbers_has_words_too(void **state) {
#if defined(__x86_64__)
  const uint64_t bit = UINT64_C(1) << 7;
#elif defined(__aarch64__)
  const uint64_t bit = UINT64_C(1) << 8;
#else
  const uint64_t bit = 0;
#endif
  const uint64_t usual = pto_float_mode();
  if (!bit) skip();
  assert_string_equal(pto_float_mode_words(usual, usual ^ bit), "its exceptions or its precision are others");
}

/* The bits that a machine has for that. */
static void test_numbers_that_count_as_zero_have_words(void **state) {
#if defined(__x86_64__)
  const uint64_t bit = UINT64_C(1) << 15;
#elif defined(__aarch64__)
  const uint64_t bit = UINT64_C(1) << 24;
#else
  const uint64_t bit = 0;
#endif
  const uint64_t usual = pto_float_mode();
  struct quotient q = {1e-38f, 16, 0};
  if (!bit) skip();
  pto_float_mode_set(usual | bit);
  const uint64_t mode = pto_float_mode();
  divide(&q);
  pto_float_mode_set(usual);
  assert_true(q.result == 0);
  assert_string_equal(pto_float_mode_words(usual, mode), "it takes denormal numbers for zero");
  assert_string_equal(pto_float_mode_words(mode, usual), "it computes with denormal numbers");
  divide(&q);
  assert_true(q.result > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_way_to_round_has_words_and_is_put_back),
      cmocka_unit_test(test_what_has_happened_is_no_mode),
      cmocka_unit_test(test_what_is_neither_rounding_nor_tiny_numbers_has_words_too),
      cmocka_unit_test(test_numbers_that_count_as_zero_have_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
