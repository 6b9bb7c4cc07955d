/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices, reductions, softmax and normalisations of the reference executor: by hand, by what must hold
 * between them, and against sums in long double.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <graph/reference/support.h>
#include <tests/support/graph_case.h>

static const uint32_t no_axes[1];
#define EMPTY                                                                                                          \
  { no_axes, 0 }

/* ---- products ---- */

static void test_matmul_broadcasts_the_matrices(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *a = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(2, 1, 3, 4), 1),
                                    *b = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(5, 4, 2), 2),
                                    *y = graph_case_call(&c, PTO_GRAPH_OP_matmul, NULL, OPERANDS(a, b));
  assert_int_equal(y->desc.ndims, 4);
  for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
    uint64_t at[4];
    double total = 0;
    pto_reference_locate(&y->desc, i, at);
    for (uint64_t k = 0; k < 4; k++)
      total += a->values[(at[0] * 3 + at[2]) * 4 + k] * b->values[(at[1] * 4 + k) * 2 + at[3]];
    assert_true(y->values[i] == total);
  }
  graph_case_close(&c);
}

static void test_matmul_skips_no_product(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *a = graph_case_floats(&c, SHAPE(1, 2), NUMBERS(0, 1)),
                                    *b = graph_case_floats(&c, SHAPE(2, 2), NUMBERS(INFINITY, 1, 2, INFINITY));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_matmul, NULL, OPERANDS(a, b)), SHAPE(1, 2),
                    NUMBERS(NAN, INFINITY));
  graph_case_close(&c);
}

static void test_gemm_is_matmul_of_what_it_transposes_and_scales(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *a = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(3, 4), 3),
                                    *b = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(4, 2), 4),
                                    *turned_a = graph_case_call(&c, PTO_GRAPH_OP_transpose, NULL, OPERANDS(a)),
                                    *turned_b = graph_case_call(&c, PTO_GRAPH_OP_transpose, NULL, OPERANDS(b)),
                                    *product = graph_case_call(&c, PTO_GRAPH_OP_matmul, NULL, OPERANDS(a, b));
  for (uint32_t turn = 0; turn < 4; turn++) {
    const struct pto_gemm_options options = {.a_transpose = turn & 1 ? PTO_FLAG_YES : PTO_FLAG_NO,
                                             .b_transpose = turn & 2 ? PTO_FLAG_YES : PTO_FLAG_DEFAULT};
    graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_gemm, &options,
                                            OPERANDS(turn & 1 ? turned_a : a, turn & 2 ? turned_b : b, NULL)),
                            product, 0);
  }
  const struct pto_gemm_options scaled = {.alpha = pto_number_f64(0.5), .beta = pto_number_f64(4)};
  const struct pto_reference_tensor *row = graph_case_floats(&c, SHAPE(2), NUMBERS(1, 2)),
                                    *col = graph_case_floats(&c, SHAPE(3, 1), NUMBERS(1, 2, 3)),
                                    *by_row = graph_case_call(&c, PTO_GRAPH_OP_gemm, &scaled, OPERANDS(a, b, row)),
                                    *by_col = graph_case_call(&c, PTO_GRAPH_OP_gemm, &scaled, OPERANDS(a, b, col));
  for (uint64_t i = 0; i < 6; i++) {
    assert_true(by_row->values[i] == product->values[i] / 2 + 4 * (double)(i % 2 + 1));
    assert_true(by_col->values[i] == product->values[i] / 2 + 4 * (double)(i / 2 + 1));
  }
  graph_case_close(&c);
}

/* ---- reductions ---- */

static const struct pto_reduce_options all = {0}, none = {.axes = EMPTY}, rows = {.axes = PTO_U32_LIST(0)},
                                       cols_kept = {.axes = PTO_U32_LIST(1), .keep_dimensions = PTO_FLAG_YES};

/* Of f32 [2, 2] with 1, −2, 3, 4: over everything, over rows, over columns. */
static void expect_reduced(uint32_t op, double over_all, const double *over_rows, const double *over_cols,
                           const double *over_none) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(2, 2), NUMBERS(1, -2, 3, 4));
  graph_case_expect(graph_case_call(&c, op, &all, OPERANDS(x)), SCALAR, &over_all);
  graph_case_expect(graph_case_call(&c, op, &rows, OPERANDS(x)), SHAPE(2), over_rows);
  graph_case_expect(graph_case_call(&c, op, &cols_kept, OPERANDS(x)), SHAPE(2, 1), over_cols);
  graph_case_expect(graph_case_call(&c, op, &none, OPERANDS(x)), SHAPE(2, 2), over_none);
  graph_case_close(&c);
}

static void test_reductions_join_along_their_axes_and_over_none_apply_the_function(void **state) {
  const double same[] = {1, -2, 3, 4};
  expect_reduced(PTO_GRAPH_OP_reduce_sum, 6, NUMBERS(4, 2), NUMBERS(-1, 7), same);
  expect_reduced(PTO_GRAPH_OP_reduce_mean, 1.5, NUMBERS(2, 1), NUMBERS(-0.5, 3.5), same);
  expect_reduced(PTO_GRAPH_OP_reduce_product, -24, NUMBERS(3, -8), NUMBERS(-2, 12), same);
  expect_reduced(PTO_GRAPH_OP_reduce_max, 4, NUMBERS(3, 4), NUMBERS(1, 4), same);
  expect_reduced(PTO_GRAPH_OP_reduce_min, -2, NUMBERS(1, -2), NUMBERS(-2, 3), same);
  expect_reduced(PTO_GRAPH_OP_reduce_l1, 10, NUMBERS(4, 6), NUMBERS(3, 7), NUMBERS(1, 2, 3, 4));
  expect_reduced(PTO_GRAPH_OP_reduce_l2, sqrt(30), NUMBERS(sqrt(10), sqrt(20)), NUMBERS(sqrt(5), 5),
                 NUMBERS(1, 2, 3, 4));
  expect_reduced(PTO_GRAPH_OP_reduce_sum_square, 30, NUMBERS(10, 20), NUMBERS(5, 25), NUMBERS(1, 4, 9, 16));
  expect_reduced(PTO_GRAPH_OP_reduce_log_sum, log(6), NUMBERS(log(4), log(2)), NUMBERS(NAN, log(7)),
                 NUMBERS(0, NAN, log(3), log(4)));
  expect_reduced(PTO_GRAPH_OP_reduce_log_sum_exp, log(exp(1) + exp(-2) + exp(3) + exp(4)),
                 NUMBERS(log(exp(1) + exp(3)), log(exp(-2) + exp(4))),
                 NUMBERS(log(exp(1) + exp(-2)), log(exp(3) + exp(4))), same);
}

static void test_integers_are_reduced_modulo_their_width(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_whole(&c, PTO_INT32, SHAPE(3), WHOLE(INT32_MIN, -1, 3)),
                                    *u = graph_case_whole(&c, PTO_UINT64, SHAPE(3), WHOLE(-1, -2, 3)),
                                    *b = graph_case_whole(&c, PTO_UINT8, SHAPE(2), WHOLE(255, 3));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_reduce_sum, &all, OPERANDS(x)), SCALAR,
                          WHOLE(INT32_MIN + 2));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_reduce_l1, &all, OPERANDS(x)), SCALAR, WHOLE(INT32_MIN + 4));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_reduce_product, &all, OPERANDS(x)), SCALAR,
                          WHOLE(INT32_MIN));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_reduce_sum_square, &all, OPERANDS(x)), SCALAR, WHOLE(10));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_reduce_max, &all, OPERANDS(u)), SCALAR, WHOLE(-1));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_reduce_min, &all, OPERANDS(u)), SCALAR, WHOLE(3));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_reduce_l1, &all, OPERANDS(u)), SCALAR, WHOLE(0));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_reduce_max, &all, OPERANDS(b)), SCALAR, WHOLE(255));
  graph_case_close(&c);
}

static void test_reductions_hand_on_nan_and_log_sum_exp_does_not_overflow(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(3), NUMBERS(1, NAN, 3)),
                                    *large = graph_case_floats(&c, SHAPE(2), NUMBERS(0x1p127, 0x1p127)),
                                    *ends = graph_case_floats(&c, SHAPE(2), NUMBERS(-INFINITY, 1)),
                                    *low = graph_case_floats(&c, SHAPE(2), NUMBERS(-INFINITY, -INFINITY));
  for (uint32_t op = PTO_GRAPH_OP_reduce_l1; op <= PTO_GRAPH_OP_reduce_sum_square; op++)
    graph_case_expect(graph_case_call(&c, op, &all, OPERANDS(x)), SCALAR, NUMBERS(NAN));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_reduce_log_sum_exp, &all, OPERANDS(large)), SCALAR,
                    NUMBERS(0x1p127));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_reduce_log_sum_exp, &all, OPERANDS(ends)), SCALAR, NUMBERS(1));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_reduce_log_sum_exp, &all, OPERANDS(low)), SCALAR,
                    NUMBERS(-INFINITY));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_reduce_mean, &all, OPERANDS(large)), SCALAR, NUMBERS(0x1p127));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_reduce_sum, &all, OPERANDS(large)), SCALAR, NUMBERS(INFINITY));
  graph_case_close(&c);
}

static void test_arg_reductions_give_the_first_of_equals_and_the_first_nan(void **state) {
  struct graph_case c = {0};
  const struct pto_arg_reduce_options axis1 = {.axis = 1, .output_data_type = pto_number_i64(PTO_INT64)},
                                      axis0 = {.axis = 0, .keep_dimensions = PTO_FLAG_YES};
  const struct pto_reference_tensor *x =
                                        graph_case_floats(&c, SHAPE(3, 3), NUMBERS(2, 5, 5, -0.0, 0.0, 1, 7, NAN, NAN)),
                                    *u = graph_case_whole(&c, PTO_UINT64, SHAPE(3, 1), WHOLE(1, -1, 0));
  const struct pto_reference_tensor *largest = graph_case_call(&c, PTO_GRAPH_OP_arg_max, &axis1, OPERANDS(x));
  assert_int_equal(largest->desc.dtype, PTO_INT64);
  graph_case_expect_whole(largest, SHAPE(3), WHOLE(1, 2, 1));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_arg_min, &axis1, OPERANDS(x)), SHAPE(3), WHOLE(0, 0, 1));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_arg_max, &axis0, OPERANDS(u)), SHAPE(1, 1), WHOLE(1));
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_arg_min, &axis0, OPERANDS(u)), SHAPE(1, 1), WHOLE(2));
  graph_case_close(&c);
}

static void test_running_sums_are_exclusive_and_reversed_as_told(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(2, 3), NUMBERS(1, 2, 3, 10, 20, 30)),
                                    *n = graph_case_whole(&c, PTO_UINT32, SHAPE(3), WHOLE(UINT32_MAX, 2, 3));
  struct pto_cumulative_sum_options options = {.axis = 1};
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_cumulative_sum, &options, OPERANDS(x)), SHAPE(2, 3),
                    NUMBERS(1, 3, 6, 10, 30, 60));
  options.exclusive = PTO_FLAG_YES;
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_cumulative_sum, &options, OPERANDS(x)), SHAPE(2, 3),
                    NUMBERS(0, 1, 3, 0, 10, 30));
  options.reversed = PTO_FLAG_YES;
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_cumulative_sum, &options, OPERANDS(x)), SHAPE(2, 3),
                    NUMBERS(5, 3, 0, 50, 30, 0));
  options = (struct pto_cumulative_sum_options){.axis = 0, .reversed = PTO_FLAG_YES};
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_cumulative_sum, &options, OPERANDS(x)), SHAPE(2, 3),
                    NUMBERS(11, 22, 33, 10, 20, 30));
  options = (struct pto_cumulative_sum_options){.axis = 0};
  graph_case_expect_whole(graph_case_call(&c, PTO_GRAPH_OP_cumulative_sum, &options, OPERANDS(n)), SHAPE(3),
                          WHOLE(UINT32_MAX, 1, 4));
  graph_case_close(&c);
}

/* ---- softmax and normalisations ---- */

static void test_softmax_sums_to_one_and_does_not_see_a_shift(void **state) {
  struct graph_case c = {0};
  const struct pto_softmax_options axis = {.axis = 1};
  const struct pto_reduce_options over = {.axes = PTO_U32_LIST(1)};
  const struct pto_reference_tensor *x = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(3, 7, 2), 5),
                                    *shift = graph_case_floats(&c, SCALAR, NUMBERS(4096)),
                                    *shifted = graph_case_call(&c, PTO_GRAPH_OP_add, NULL, OPERANDS(x, shift)),
                                    *y = graph_case_call(&c, PTO_GRAPH_OP_softmax, &axis, OPERANDS(x)),
                                    *sums = graph_case_call(&c, PTO_GRAPH_OP_reduce_sum, &over, OPERANDS(y));
  for (uint64_t i = 0; i < 6; i++) assert_true(fabs(sums->values[i] - 1) < 1e-6);
  graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_softmax, &axis, OPERANDS(shifted)), y, 0);
  /* Two of them differ by what their arguments do. */
  assert_true(fabs(log(y->values[2] / y->values[0]) - (x->values[2] - x->values[0])) < 1e-5);
  graph_case_close(&c);
}

static void test_softmax_takes_the_last_axis_where_it_is_told_to(void **state) {
  struct graph_case c = {0};
  const struct pto_softmax_options named = {.axis = 2}, last = {.axis = 1, .is_last = PTO_FLAG_YES};
  const struct pto_reference_tensor *x = graph_case_drawn(&c, PTO_FLOAT16, SHAPE(2, 3, 4), 15);
  graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_softmax, &last, OPERANDS(x)),
                          graph_case_call(&c, PTO_GRAPH_OP_softmax, &named, OPERANDS(x)), 0);
  graph_case_close(&c);
}

static void test_softmax_of_rows_with_nan_or_infinity_is_nan(void **state) {
  struct graph_case c = {0};
  const struct pto_softmax_options axis = {.axis = 1};
  const struct pto_reference_tensor *x =
      graph_case_floats(&c, SHAPE(4, 2), NUMBERS(NAN, 1, INFINITY, 1, -INFINITY, -INFINITY, -INFINITY, 1));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_softmax, &axis, OPERANDS(x)), SHAPE(4, 2),
                    NUMBERS(NAN, NAN, NAN, NAN, NAN, NAN, 0, 1));
  graph_case_close(&c);
}

/* [1, 3] has mean 2 and variance 1; with epsilon 3 the divisor is 2. */
static void test_normalisations_of_two_numbers_by_hand(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(1, 2, 1, 2), NUMBERS(1, 3, 10, 30)),
                                    *scale = graph_case_floats(&c, SHAPE(2), NUMBERS(4, 8)),
                                    *bias = graph_case_floats(&c, SHAPE(2), NUMBERS(0.5, -1)),
                                    *mean = graph_case_floats(&c, SHAPE(2), NUMBERS(1, 10)),
                                    *variance = graph_case_floats(&c, SHAPE(2), NUMBERS(1, 97));
  const struct pto_instance_normalization_options instance = {.epsilon = pto_number_f64(3)};
  const struct pto_batch_normalization_options batch = {.epsilon = pto_number_f64(3)};
  const struct pto_layer_normalization_options layer = {.axes = PTO_U32_LIST(3), .epsilon = pto_number_f64(3)};
  const double far = 10 / sqrt(103);
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_instance_normalization, &instance, OPERANDS(x, scale, bias)),
                    SHAPE(1, 2, 1, 2), NUMBERS(-1.5, 2.5, -far * 8 - 1, far * 8 - 1));
  graph_case_expect(
      graph_case_call(&c, PTO_GRAPH_OP_batch_normalization, &batch, OPERANDS(x, mean, variance, scale, bias)),
      SHAPE(1, 2, 1, 2), NUMBERS(0.5, 4.5, -1, 15));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_layer_normalization, &layer, OPERANDS(x, scale, bias)),
                    SHAPE(1, 2, 1, 2), NUMBERS(-1.5, 3, -far * 4 + 0.5, far * 8 - 1));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_instance_normalization, &instance, OPERANDS(x, NULL, NULL)),
                    SHAPE(1, 2, 1, 2), NUMBERS(-0.5, 0.5, -far, far));
  graph_case_close(&c);
}

static void test_layer_normalization_over_no_axes_is_the_bias(void **state) {
  struct graph_case c = {0};
  const struct pto_layer_normalization_options options = {.axes = EMPTY};
  const struct pto_reference_tensor *x = graph_case_floats(&c, SHAPE(2, 2), NUMBERS(1, -5, 7, 100)),
                                    *bias = graph_case_floats(&c, SCALAR, NUMBERS(0.25)),
                                    *scale = graph_case_floats(&c, SCALAR, NUMBERS(3));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_layer_normalization, &options, OPERANDS(x, NULL, NULL)),
                    SHAPE(2, 2), NUMBERS(0, 0, 0, 0));
  graph_case_expect(graph_case_call(&c, PTO_GRAPH_OP_layer_normalization, &options, OPERANDS(x, scale, bias)),
                    SHAPE(2, 2), NUMBERS(0.25, 0.25, 0.25, 0.25));
  graph_case_close(&c);
}

/* Scale and bias are in the order of the axes: transposed axes take a transposed scale. */
static void test_axes_of_layer_normalization_may_come_in_any_order(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(2, 3, 4), 6),
                                    *scale = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(2, 4), 7),
                                    *turned = graph_case_call(&c, PTO_GRAPH_OP_transpose, NULL, OPERANDS(scale));
  const struct pto_layer_normalization_options there = {.axes = PTO_U32_LIST(0, 2)},
                                               back = {.axes = PTO_U32_LIST(2, 0)};
  graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_layer_normalization, &there, OPERANDS(x, scale, NULL)),
                          graph_case_call(&c, PTO_GRAPH_OP_layer_normalization, &back, OPERANDS(x, turned, NULL)),
                          1e-7);
  graph_case_close(&c);
}

static void test_default_axes_of_layer_normalization_are_all_but_the_first(void **state) {
  struct graph_case c = {0};
  const struct pto_reference_tensor *x = graph_case_drawn(&c, PTO_FLOAT32, SHAPE(2, 3, 4), 8);
  const struct pto_layer_normalization_options given = {.axes = PTO_U32_LIST(1, 2), .epsilon = pto_number_f64(1e-5)};
  graph_case_expect_equal(graph_case_call(&c, PTO_GRAPH_OP_layer_normalization, NULL, OPERANDS(x, NULL, NULL)),
                          graph_case_call(&c, PTO_GRAPH_OP_layer_normalization, &given, OPERANDS(x, NULL, NULL)), 0);
  graph_case_close(&c);
}

/* ---- against long double ---- */

#define MANY 5000u

/* |x − exact| is within half a unit of f32, and a little for double. */
static void expect_rounded(double x, long double exact) {
  const double unit = ldexp(1, ilogb((double)exact) - 23);
  if (!(fabsl((long double)x - exact) <= (long double)unit * 0.5001L)) fail_msg("%.17g is not %.20Lg", x, exact);
}

static void test_reductions_of_many_are_the_exact_ones_rounded_once(void **state) {
  for (uint64_t seed = 0; seed < 5; seed++) {
    struct graph_case c = {0};
    struct pto_reference_tensor *x = graph_case_tensor(&c, PTO_FLOAT32, SHAPE(MANY), NULL);
    struct pto_rng rng = {seed};
    long double sum = 0, magnitude = 0, squares = 0, exponentials = 0;
    for (uint64_t i = 0; i < MANY; i++) {
      const double value = (double)(float)((pto_rng_unit(&rng) - 0.25) * 8);
      x->values[i] = value;
      sum += value;
      magnitude += fabs(value);
      squares += (long double)value * value;
      exponentials += expl(value);
    }
    expect_rounded(graph_case_call(&c, PTO_GRAPH_OP_reduce_sum, &all, OPERANDS(x))->values[0], sum);
    expect_rounded(graph_case_call(&c, PTO_GRAPH_OP_reduce_mean, &all, OPERANDS(x))->values[0], sum / MANY);
    expect_rounded(graph_case_call(&c, PTO_GRAPH_OP_reduce_l1, &all, OPERANDS(x))->values[0], magnitude);
    expect_rounded(graph_case_call(&c, PTO_GRAPH_OP_reduce_l2, &all, OPERANDS(x))->values[0], sqrtl(squares));
    expect_rounded(graph_case_call(&c, PTO_GRAPH_OP_reduce_sum_square, &all, OPERANDS(x))->values[0], squares);
    expect_rounded(graph_case_call(&c, PTO_GRAPH_OP_reduce_log_sum, &all, OPERANDS(x))->values[0], logl(sum));
    expect_rounded(graph_case_call(&c, PTO_GRAPH_OP_reduce_log_sum_exp, &all, OPERANDS(x))->values[0],
                   logl(exponentials));
    graph_case_close(&c);
  }
}

static void test_softmax_and_layer_normalization_of_many_are_rounded_once(void **state) {
  struct graph_case c = {0};
  const struct pto_softmax_options axis = {.axis = 1};
  struct pto_reference_tensor *x = graph_case_tensor(&c, PTO_FLOAT32, SHAPE(1, MANY), NULL);
  struct pto_rng rng = {9};
  long double mean = 0, variance = 0, exponentials = 0;
  for (uint64_t i = 0; i < MANY; i++) {
    x->values[i] = (double)(float)(pto_rng_unit(&rng) * 20 + 100);
    mean += x->values[i] / MANY;
    exponentials += expl((long double)x->values[i]);
  }
  for (uint64_t i = 0; i < MANY; i++) variance += (x->values[i] - mean) * (x->values[i] - mean) / MANY;
  const struct pto_reference_tensor *weights = graph_case_call(&c, PTO_GRAPH_OP_softmax, &axis, OPERANDS(x)),
                                    *normal = graph_case_call(&c, PTO_GRAPH_OP_layer_normalization, NULL,
                                                              OPERANDS(x, NULL, NULL));
  for (uint64_t i = 0; i < MANY; i++) {
    expect_rounded(weights->values[i], expl((long double)x->values[i]) / exponentials);
    expect_rounded(normal->values[i], (x->values[i] - mean) / sqrtl(variance + (long double)1e-5f));
  }
  graph_case_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul_broadcasts_the_matrices),
      cmocka_unit_test(test_matmul_skips_no_product),
      cmocka_unit_test(test_gemm_is_matmul_of_what_it_transposes_and_scales),
      cmocka_unit_test(test_reductions_join_along_their_axes_and_over_none_apply_the_function),
      cmocka_unit_test(test_integers_are_reduced_modulo_their_width),
      cmocka_unit_test(test_reductions_hand_on_nan_and_log_sum_exp_does_not_overflow),
      cmocka_unit_test(test_arg_reductions_give_the_first_of_equals_and_the_first_nan),
      cmocka_unit_test(test_running_sums_are_exclusive_and_reversed_as_told),
      cmocka_unit_test(test_softmax_sums_to_one_and_does_not_see_a_shift),
      cmocka_unit_test(test_softmax_takes_the_last_axis_where_it_is_told_to),
      cmocka_unit_test(test_softmax_of_rows_with_nan_or_infinity_is_nan),
      cmocka_unit_test(test_normalisations_of_two_numbers_by_hand),
      cmocka_unit_test(test_layer_normalization_over_no_axes_is_the_bias),
      cmocka_unit_test(test_axes_of_layer_normalization_may_come_in_any_order),
      cmocka_unit_test(test_default_axes_of_layer_normalization_are_all_but_the_first),
      cmocka_unit_test(test_reductions_of_many_are_the_exact_ones_rounded_once),
      cmocka_unit_test(test_softmax_and_layer_normalization_of_many_are_rounded_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
