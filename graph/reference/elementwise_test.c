/* SPDX-License-Identifier: MIT */
/*
 * Elementwise operations, casts and quantisation of the reference executor, on numbers whose results are known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <graph/reference/support.h>
#include <tests/support/graph_case.h>

static void expect_unary(uint32_t op, const void *options, uint32_t count, const double *x, const double *y) {
  struct graph_case c = {0};
  const uint64_t shape[] = {count};
  graph_case_expect(graph_case_call(&c, op, options, OPERANDS(graph_case_floats(&c, 1, shape, x))), 1, shape, y);
  graph_case_close(&c);
}
#define EXPECT_UNARY(id, x, y) expect_unary(PTO_GRAPH_OP_##id, NULL, sizeof(x) / sizeof(double), x, y)

static const double special[] = {-INFINITY, -2.5, -0.0, 0.0, 0.5, 1.5, INFINITY, NAN};

static void test_rounding_keeps_the_sign_of_zero_and_ties_go_to_even(void **state) {
  EXPECT_UNARY(ceil, special, NUMBERS(-INFINITY, -2, -0.0, 0.0, 1, 2, INFINITY, NAN));
  EXPECT_UNARY(floor, special, NUMBERS(-INFINITY, -3, -0.0, 0.0, 0, 1, INFINITY, NAN));
  EXPECT_UNARY(round_even, special, NUMBERS(-INFINITY, -2, -0.0, 0.0, 0, 2, INFINITY, NAN));
  EXPECT_UNARY(sign, special, NUMBERS(-1, -1, -0.0, 0.0, 1, 1, 1, NAN));
  EXPECT_UNARY(abs, special, NUMBERS(INFINITY, 2.5, 0.0, 0.0, 0.5, 1.5, INFINITY, NAN));
  EXPECT_UNARY(relu, special, NUMBERS(0, 0, -0.0, 0.0, 0.5, 1.5, INFINITY, NAN));
  EXPECT_UNARY(neg, special, NUMBERS(INFINITY, 2.5, 0.0, -0.0, -0.5, -1.5, -INFINITY, NAN));
}

static void test_functions_have_their_limits_at_infinity(void **state) {
  const double x[] = {-INFINITY, INFINITY, NAN, 0.0};
  EXPECT_UNARY(exp, x, NUMBERS(0, INFINITY, NAN, 1));
  EXPECT_UNARY(log, x, NUMBERS(NAN, INFINITY, NAN, -INFINITY));
  EXPECT_UNARY(sqrt, x, NUMBERS(NAN, INFINITY, NAN, 0));
  EXPECT_UNARY(erf, x, NUMBERS(-1, 1, NAN, 0));
  EXPECT_UNARY(tanh, x, NUMBERS(-1, 1, NAN, 0));
  EXPECT_UNARY(sigmoid, x, NUMBERS(0, 1, NAN, 0.5));
  EXPECT_UNARY(softplus, x, NUMBERS(0, INFINITY, NAN, 0.69314718055994531));
  EXPECT_UNARY(softsign, x, NUMBERS(-1, 1, NAN, 0));
  EXPECT_UNARY(gelu, x, NUMBERS(-0.0, INFINITY, NAN, 0));
  EXPECT_UNARY(hard_swish, x, NUMBERS(-0.0, INFINITY, NAN, 0));
  EXPECT_UNARY(relu, x, NUMBERS(0, INFINITY, NAN, 0));
  EXPECT_UNARY(elu, x, NUMBERS(-1, INFINITY, NAN, 0));
  EXPECT_UNARY(reciprocal, x, NUMBERS(-0.0, 0, NAN, INFINITY));
  EXPECT_UNARY(sin, x, NUMBERS(NAN, NAN, NAN, 0));
  EXPECT_UNARY(cos, x, NUMBERS(NAN, NAN, NAN, 1));
  EXPECT_UNARY(tan, x, NUMBERS(NAN, NAN, NAN, 0));
}

/* Values with 17 digits from tables of these functions. */
static void test_functions_have_the_values_of_tables(void **state) {
  EXPECT_UNARY(exp, NUMBERS(1, -1), NUMBERS(2.7182818284590452, 0.36787944117144233));
  EXPECT_UNARY(log, NUMBERS(2, 10), NUMBERS(0.69314718055994531, 2.3025850929940457));
  EXPECT_UNARY(erf, NUMBERS(0.5, 1), NUMBERS(0.52049987781304654, 0.84270079294971487));
  EXPECT_UNARY(sin, NUMBERS(1, 2), NUMBERS(0.84147098480789651, 0.90929742682568170));
  EXPECT_UNARY(cos, NUMBERS(1, 2), NUMBERS(0.54030230586813972, -0.41614683654714239));
  EXPECT_UNARY(tan, NUMBERS(1, 2), NUMBERS(1.5574077246549022, -2.1850398632615190));
  EXPECT_UNARY(tanh, NUMBERS(1, 0.5), NUMBERS(0.76159415595576489, 0.46211715726000976));
  EXPECT_UNARY(sigmoid, NUMBERS(1, -1), NUMBERS(0.73105857863000488, 0.26894142136999512));
  EXPECT_UNARY(softplus, NUMBERS(1, -100), NUMBERS(1.3132616875182228, 3.7200759760208360e-44));
  EXPECT_UNARY(gelu, NUMBERS(1, -1), NUMBERS(0.84134474606854293, -0.15865525393145707));
  EXPECT_UNARY(hard_swish, NUMBERS(-4, -1, 1, 4), NUMBERS(-0.0, -1.0 / 3, 2.0 / 3, 4));
  EXPECT_UNARY(softsign, NUMBERS(3, -1), NUMBERS(0.75, -0.5));
  EXPECT_UNARY(identity, NUMBERS(3, -0.0), NUMBERS(3, -0.0));
}

static void test_options_of_activations_are_used_and_have_defaults(void **state) {
  const double x[] = {-8, -2, 2, 8};
  const struct pto_elu_options elu = {.alpha = pto_number_f64(2)};
  const struct pto_leaky_relu_options leaky = {.alpha = pto_number_f64(0.25)};
  const struct pto_hard_sigmoid_options hard = {.alpha = pto_number_f64(0.125), .beta = pto_number_f64(0.25)};
  const struct pto_linear_options linear = {.alpha = pto_number_i64(3), .beta = pto_number_f64(-0.5)};
  expect_unary(PTO_GRAPH_OP_elu, &elu, 4, x, NUMBERS(2 * expm1(-8), 2 * expm1(-2), 2, 8));
  expect_unary(PTO_GRAPH_OP_leaky_relu, &leaky, 4, x, NUMBERS(-2, -0.5, 2, 8));
  expect_unary(PTO_GRAPH_OP_hard_sigmoid, &hard, 4, x, NUMBERS(0, 0, 0.5, 1));
  expect_unary(PTO_GRAPH_OP_linear, &linear, 4, x, NUMBERS(-24.5, -6.5, 5.5, 23.5));
  EXPECT_UNARY(leaky_relu, x, NUMBERS((float)0.01 * -8.0, (float)0.01 * -2.0, 2, 8));
  EXPECT_UNARY(hard_sigmoid, NUMBERS(-3, 0, 3), NUMBERS(0, 0.5, 1));
  EXPECT_UNARY(linear, x, x);
  EXPECT_UNARY(hard_sigmoid, NUMBERS(NAN, INFINITY, -INFINITY), NUMBERS(NAN, 1, 0));
}

/* ---- integers ---- */

static void expect_whole(uint32_t op, const void *options, uint32_t dtype, const int64_t *a, const int64_t *b,
                         const int64_t *y) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_whole(&c, dtype, SHAPE(4), a),
                                    *z = b ? graph_case_whole(&c, dtype, SHAPE(4), b) : NULL;
  const struct pto_reference_tensor *operands[] = {x, z};
  graph_case_expect_whole(graph_case_call(&c, op, options, b ? 2 : 1, operands), SHAPE(4), y);
  graph_case_close(&c);
}

static void test_integers_wrap_and_the_smallest_is_its_own_negative(void **state) {
  expect_whole(PTO_GRAPH_OP_neg, NULL, PTO_INT8, WHOLE(-128, -1, 0, 127), NULL, WHOLE(-128, 1, 0, -127));
  expect_whole(PTO_GRAPH_OP_abs, NULL, PTO_INT64, WHOLE(INT64_MIN, -1, 0, 7), NULL, WHOLE(INT64_MIN, 1, 0, 7));
  expect_whole(PTO_GRAPH_OP_sign, NULL, PTO_INT32, WHOLE(INT32_MIN, -1, 0, 7), NULL, WHOLE(-1, -1, 0, 1));
  expect_whole(PTO_GRAPH_OP_relu, NULL, PTO_INT8, WHOLE(-128, -1, 0, 127), NULL, WHOLE(0, 0, 0, 127));
  expect_whole(PTO_GRAPH_OP_add, NULL, PTO_UINT8, WHOLE(255, 1, 2, 3), WHOLE(1, 255, 3, 4), WHOLE(0, 0, 5, 7));
  expect_whole(PTO_GRAPH_OP_sub, NULL, PTO_INT32, WHOLE(INT32_MIN, 0, 5, 3), WHOLE(1, 1, 3, 4),
               WHOLE(INT32_MAX, -1, 2, -1));
  expect_whole(PTO_GRAPH_OP_mul, NULL, PTO_INT8, WHOLE(64, -128, 3, 16), WHOLE(2, -1, 4, 16), WHOLE(-128, -128, 12, 0));
  expect_whole(PTO_GRAPH_OP_add, NULL, PTO_INT64, WHOLE(INT64_MAX, 0, 0, 0), WHOLE(1, 0, 0, 0),
               WHOLE(INT64_MIN, 0, 0, 0));
}

static void test_integer_division_truncates_and_by_zero_gives_zero(void **state) {
  expect_whole(PTO_GRAPH_OP_div, NULL, PTO_INT32, WHOLE(-7, 7, INT32_MIN, 5), WHOLE(2, -2, -1, 0),
               WHOLE(-3, -3, INT32_MIN, 0));
  expect_whole(PTO_GRAPH_OP_div, NULL, PTO_UINT64, WHOLE(-1, -1, 7, 5), WHOLE(2, -1, 2, 0), WHOLE(INT64_MAX, 1, 3, 0));
  expect_whole(PTO_GRAPH_OP_div, NULL, PTO_INT64, WHOLE(INT64_MIN, -9, 9, 0), WHOLE(-1, 3, -3, 0),
               WHOLE(INT64_MIN, -3, -3, 0));
}

static void test_integer_powers_wrap_and_negative_exponents_truncate(void **state) {
  expect_whole(PTO_GRAPH_OP_pow, NULL, PTO_INT32, WHOLE(3, -2, 2, 0), WHOLE(4, 3, 31, 0), WHOLE(81, -8, INT32_MIN, 1));
  expect_whole(PTO_GRAPH_OP_pow, NULL, PTO_INT32, WHOLE(1, -1, -1, 5), WHOLE(-3, -3, -4, -1), WHOLE(1, -1, 1, 0));
  expect_whole(PTO_GRAPH_OP_pow, NULL, PTO_UINT64, WHOLE(3, -1, 2, 10), WHOLE(40, 2, 63, 19),
               WHOLE(INT64_C(-6289078614652622815), 1, INT64_MIN, INT64_C(-8446744073709551616)));
}

static void test_unsigned_64_bit_numbers_are_ordered_as_such(void **state) {
  const int64_t a[] = {-1, 1, -2, 5}, b[] = {1, -1, -1, 5};
  expect_whole(PTO_GRAPH_OP_max, NULL, PTO_UINT64, a, b, WHOLE(-1, -1, -1, 5));
  expect_whole(PTO_GRAPH_OP_min, NULL, PTO_UINT64, a, b, WHOLE(1, 1, -2, 5));
  expect_whole(PTO_GRAPH_OP_greater, NULL, PTO_UINT64, a, b, WHOLE(1, 0, 0, 0));
  expect_whole(PTO_GRAPH_OP_lesser_or_equal, NULL, PTO_UINT64, a, b, WHOLE(0, 1, 1, 1));
  expect_whole(PTO_GRAPH_OP_greater, NULL, PTO_INT64, a, b, WHOLE(0, 1, 0, 0));
}

/* ---- two and three operands ---- */

static void test_operands_are_broadcast_from_the_innermost_dimension(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *a = graph_case_floats(&c, SHAPE(2, 1, 3), NUMBERS(1, 2, 3, 4, 5, 6)),
                                    *b = graph_case_floats(&c, SHAPE(2, 1), NUMBERS(10, 20)),
                                    *s = graph_case_floats(&c, SCALAR, NUMBERS(100));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_add, NULL, OPERANDS(a, b)), SHAPE(2, 2, 3),
                    NUMBERS(11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_sub, NULL, OPERANDS(s, b)), SHAPE(2, 1), NUMBERS(90, 80));
  graph_case_close(&c);
}

static void expect_pair(uint32_t op, const double *a, const double *b, const double *y) {
  struct graph_case c = {0};
  graph_case_expect(
      graph_case_call(&c, op, NULL, OPERANDS(graph_case_floats(&c, SHAPE(4), a), graph_case_floats(&c, SHAPE(4), b))),
      SHAPE(4), y);
  graph_case_close(&c);
}

static void test_maximum_and_minimum_hand_on_nan_and_tell_zeros_apart(void **state) {
  expect_pair(PTO_GRAPH_OP_max, NUMBERS(NAN, 1, -0.0, 0.0), NUMBERS(1, NAN, 0.0, -0.0), NUMBERS(NAN, NAN, 0.0, 0.0));
  expect_pair(PTO_GRAPH_OP_min, NUMBERS(NAN, 1, -0.0, 0.0), NUMBERS(1, NAN, 0.0, -0.0), NUMBERS(NAN, NAN, -0.0, -0.0));
  expect_pair(PTO_GRAPH_OP_div, NUMBERS(1, 0, -1, 6), NUMBERS(0, 0, 0, 4), NUMBERS(INFINITY, NAN, -INFINITY, 1.5));
  expect_pair(PTO_GRAPH_OP_pow, NUMBERS(NAN, 1, -8, 2), NUMBERS(0, NAN, 1.0 / 3, -2), NUMBERS(1, 1, NAN, 0.25));
  expect_pair(PTO_GRAPH_OP_prelu, NUMBERS(-2, 2, NAN, -0.0), NUMBERS(3, NAN, 1, 5), NUMBERS(-6, 2, NAN, -0.0));
}

static void expect_truth(uint32_t op, const double *a, const double *b, const int64_t *y) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *r =
      graph_case_call(&c, op, NULL, OPERANDS(graph_case_floats(&c, SHAPE(4), a), graph_case_floats(&c, SHAPE(4), b)));
  assert_int_equal(r->desc.dtype, PTO_UINT8);
  graph_case_expect_whole(r, SHAPE(4), y);
  graph_case_close(&c);
}

static void test_comparisons_with_nan_are_false_but_for_not_equal(void **state) {
  const double a[] = {NAN, 1, -0.0, 2}, b[] = {NAN, 2, 0.0, 1};
  expect_truth(PTO_GRAPH_OP_equal, a, b, WHOLE(0, 0, 1, 0));
  expect_truth(PTO_GRAPH_OP_not_equal, a, b, WHOLE(1, 1, 0, 1));
  expect_truth(PTO_GRAPH_OP_greater, a, b, WHOLE(0, 0, 0, 1));
  expect_truth(PTO_GRAPH_OP_greater_or_equal, a, b, WHOLE(0, 0, 1, 1));
  expect_truth(PTO_GRAPH_OP_lesser, a, b, WHOLE(0, 1, 0, 0));
  expect_truth(PTO_GRAPH_OP_lesser_or_equal, a, b, WHOLE(0, 1, 1, 0));
}

static void test_logic_takes_anything_but_zero_as_true(void **state) {
  const int64_t a[] = {0, 0, 7, 255}, b[] = {0, 2, 0, 1};
  expect_whole(PTO_GRAPH_OP_logical_and, NULL, PTO_UINT8, a, b, WHOLE(0, 0, 0, 1));
  expect_whole(PTO_GRAPH_OP_logical_or, NULL, PTO_UINT8, a, b, WHOLE(0, 1, 1, 1));
  expect_whole(PTO_GRAPH_OP_logical_xor, NULL, PTO_UINT8, a, b, WHOLE(0, 1, 1, 0));
  expect_whole(PTO_GRAPH_OP_logical_not, NULL, PTO_UINT8, a, NULL, WHOLE(1, 1, 0, 0));
}

static void test_what_is_nan_or_infinite_is_told(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_tensor(&c, PTO_FLOAT16, SHAPE(8), special),
                                    *n = graph_case_whole(&c, PTO_INT32, SHAPE(2), WHOLE(0, -1));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_is_nan, NULL, OPERANDS(x)), SHAPE(8),
                          WHOLE(0, 0, 0, 0, 0, 0, 0, 1));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_is_infinite, NULL, OPERANDS(x)), SHAPE(8),
                          WHOLE(1, 0, 0, 0, 0, 0, 1, 0));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_is_nan, NULL, OPERANDS(n)), SHAPE(2), WHOLE(0, 0));
  graph_case_close(&c);
}

static void test_where_does_not_see_what_it_does_not_pick(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *which = graph_case_whole(&c, PTO_UINT8, SHAPE(2, 1), WHOLE(2, 0)),
                                    *yes = graph_case_floats(&c, SHAPE(3), NUMBERS(1, NAN, -0.0)),
                                    *no = graph_case_floats(&c, SCALAR, NUMBERS(INFINITY));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_where, NULL, OPERANDS(which, yes, no)), SHAPE(2, 3),
                    NUMBERS(1, NAN, -0.0, INFINITY, INFINITY, INFINITY));
  graph_case_close(&c);
}

static void test_clamp_applies_the_bounds_that_are_given(void **state) {
  const struct pto_clamp_options low = {.min_value = pto_number_f64(-1)}, high = {.max_value = pto_number_i64(1)},
                                 both = {.min_value = pto_number_f64(-1), .max_value = pto_number_f64(1)};
  const double x[] = {-INFINITY, -0.5, 3, NAN};
  expect_unary(PTO_GRAPH_OP_clamp, NULL, 4, x, x);
  expect_unary(PTO_GRAPH_OP_clamp, &low, 4, x, NUMBERS(-1, -0.5, 3, NAN));
  expect_unary(PTO_GRAPH_OP_clamp, &high, 4, x, NUMBERS(-INFINITY, -0.5, 1, NAN));
  expect_unary(PTO_GRAPH_OP_clamp, &both, 4, x, NUMBERS(-1, -0.5, 1, NAN));
}

/* The values of the web platform tests of MLNumber. */
static void test_bounds_of_integers_are_truncated_and_saturated(void **state) {
  const struct pto_clamp_options fraction = {.min_value = pto_number_f64(3.9)},
                                 above = {.min_value = pto_number_f64(1000)}, below = {.max_value = pto_number_f64(-1)},
                                 large = {.min_value = pto_number_u64(UINT64_C(9223372036854775820))};
  expect_whole(PTO_GRAPH_OP_clamp, &fraction, PTO_INT64, WHOLE(3, 5, -1, 0), NULL, WHOLE(3, 5, 3, 3));
  expect_whole(PTO_GRAPH_OP_clamp, &above, PTO_UINT8, WHOLE(255, 127, 5, 0), NULL, WHOLE(255, 255, 255, 255));
  expect_whole(PTO_GRAPH_OP_clamp, &below, PTO_UINT64, WHOLE(-1, 127, 5, 0), NULL, WHOLE(0, 0, 0, 0));
  expect_whole(PTO_GRAPH_OP_clamp, &large, PTO_INT64, WHOLE(1, -2, 0, 3), NULL,
               WHOLE(INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX));
  expect_whole(PTO_GRAPH_OP_clamp, &large, PTO_UINT64, WHOLE(1, -2, 0, 3), NULL,
               WHOLE(INT64_MIN + 12, -2, INT64_MIN + 12, INT64_MIN + 12));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rounding_keeps_the_sign_of_zero_and_ties_go_to_even),
      cmocka_unit_test(test_functions_have_their_limits_at_infinity),
      cmocka_unit_test(test_functions_have_the_values_of_tables),
      cmocka_unit_test(test_options_of_activations_are_used_and_have_defaults),
      cmocka_unit_test(test_integers_wrap_and_the_smallest_is_its_own_negative),
      cmocka_unit_test(test_integer_division_truncates_and_by_zero_gives_zero),
      cmocka_unit_test(test_integer_powers_wrap_and_negative_exponents_truncate),
      cmocka_unit_test(test_unsigned_64_bit_numbers_are_ordered_as_such),
      cmocka_unit_test(test_operands_are_broadcast_from_the_innermost_dimension),
      cmocka_unit_test(test_maximum_and_minimum_hand_on_nan_and_tell_zeros_apart),
      cmocka_unit_test(test_comparisons_with_nan_are_false_but_for_not_equal),
      cmocka_unit_test(test_logic_takes_anything_but_zero_as_true),
      cmocka_unit_test(test_what_is_nan_or_infinite_is_told),
      cmocka_unit_test(test_where_does_not_see_what_it_does_not_pick),
      cmocka_unit_test(test_clamp_applies_the_bounds_that_are_given),
      cmocka_unit_test(test_bounds_of_integers_are_truncated_and_saturated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
