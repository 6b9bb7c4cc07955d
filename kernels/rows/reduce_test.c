/* SPDX-License-Identifier: MIT */
/* Oracles: IEEE 754 and the sentences of kernels/rows/reduce.c, arg_reduce.c and scan.c, with results worked out by
 * hand. */
#include <kernels/api/list.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MOST 64

/* x [rows, cols] and y, made from lists; y_cols 1 or cols. */
struct pair {
  struct pto_test_tensor x, y;
  struct pto_test_call call;
};
static struct pair pair;

static void pair_init(const char *kernel, uint32_t x_dtype, uint32_t y_dtype, const uint64_t *x_shape,
                      const uint64_t *y_shape) {
  struct pto_reference_shape x = {2, {x_shape[0], x_shape[1]}}, y = {2, {y_shape[0], y_shape[1]}};
  pto_test_call_init(&pair.call, pto_kernel_find(kernel));
  pto_test_tensor_init(&pair.x, x_dtype, &x, PTO_TEST_CONTIGUOUS, false, NULL);
  pto_test_tensor_init(&pair.y, y_dtype, &y, PTO_TEST_CONTIGUOUS, true, NULL);
  pair.call.tensors[0] = pair.x.t;
  pair.call.tensors[1] = pair.y.t;
}

static void pair_run(const char *kernel) {
  if (pto_kernel_find(kernel)->check(&pair.call.args) != 0) fail_msg("%s", pair.call.message);
  assert_int_equal(pto_test_call_run(pto_kernel_find(kernel), &pair.call.args), 0);
}

static void pair_fini(void) {
  pto_test_tensor_fini(&pair.x);
  pto_test_tensor_fini(&pair.y);
}

static double get(uint64_t index) { return pto_reference_element(&pair.y.t, index); }

/* A row of `count` values reduced to one, as a row and as a column of a matrix of equal columns. */
static double reduced(const char *kernel, uint32_t dtype, const double *values, uint64_t count) {
  double results[2];
  for (uint32_t is_column = 0; is_column < 2; is_column++) {
    const uint64_t row[] = {1, count}, rows[] = {1, 1}, column[] = {count, 32}, columns[] = {1, 32};
    pair_init(kernel, dtype, dtype, is_column ? column : row, is_column ? columns : rows);
    for (uint64_t i = 0; i < count * (is_column ? 32 : 1); i++)
      pto_test_set(&pair.x, i, values[is_column ? i / 32 : i]);
    pair_run(kernel);
    results[is_column] = get(is_column ? 31 : 0);
    pair_fini();
  }
  if (!(results[0] == results[1] || (isnan(results[0]) && isnan(results[1]))))
    fail_msg("%s: %g as a row, %g as a column", kernel, results[0], results[1]);
  return results[0];
}
#define REDUCED(kernel, dtype, ...)                                                                                    \
  reduced(kernel, dtype, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static void test_reductions_of_nothing_are_the_neutral_value(void **state) {
  (void)state;
  static const struct {
    const char *kernel;
    uint32_t dtype;
    double value;
  } cases[] = {
      {"reduce_sum", PTO_FLOAT32, 0},
      {"reduce_sum", PTO_INT16, 0},
      {"reduce_product", PTO_FLOAT16, 1},
      {"reduce_product", PTO_INT8, 1},
      {"reduce_max", PTO_FLOAT32, -INFINITY},
      {"reduce_max", PTO_INT8, -128},
      {"reduce_max", PTO_UINT16, 0},
      {"reduce_max", PTO_INT32, -2147483648.0},
      {"reduce_min", PTO_BFLOAT16, INFINITY},
      {"reduce_min", PTO_INT8, 127},
      {"reduce_min", PTO_UINT32, 4294967295.0},
      {"reduce_max", PTO_BOOL, 0},
      {"reduce_min", PTO_BOOL, 1},
      {"reduce_mean", PTO_FLOAT32, NAN},
      {"reduce_sum_square", PTO_FLOAT32, 0},
      {"reduce_l1", PTO_INT64, 0},
      {"reduce_l2", PTO_FLOAT32, 0},
      {"reduce_log_sum", PTO_FLOAT32, -INFINITY},
      {"reduce_log_sum_exp", PTO_FLOAT32, -INFINITY},
  };
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    const double got = reduced(cases[i].kernel, cases[i].dtype, NULL, 0);
    if (!(got == cases[i].value || (isnan(got) && isnan(cases[i].value))))
      fail_msg("%s of no %s: %g", cases[i].kernel, pto_dtype_name(cases[i].dtype), got);
  }
}

static void test_nan_and_infinity_go_through_reductions(void **state) {
  (void)state;
  assert_true(isnan(REDUCED("reduce_max", PTO_FLOAT32, 1, NAN, 3)));
  assert_true(isnan(REDUCED("reduce_min", PTO_FLOAT16, NAN, 1, 3)));
  assert_true(isnan(REDUCED("reduce_sum", PTO_FLOAT32, INFINITY, 1, -INFINITY)));
  assert_true(REDUCED("reduce_sum", PTO_FLOAT32, INFINITY, 1, 3e38) == INFINITY);
  assert_true(REDUCED("reduce_sum", PTO_FLOAT32, 3e38, 3e38) == INFINITY);
  assert_true(REDUCED("reduce_sum", PTO_FLOAT16, 60000, 60000, -60000, -60000) == 0); /* in f32 in between */
  assert_true(REDUCED("reduce_sum", PTO_FLOAT16, 60000, 60000) == INFINITY);
  assert_true(REDUCED("reduce_max", PTO_FLOAT32, -INFINITY, -INFINITY) == -INFINITY);
  assert_true(isnan(REDUCED("reduce_log_sum", PTO_FLOAT32, -1, -2)));
  assert_true(REDUCED("reduce_l2", PTO_FLOAT32, 3, 4) == 5);
  assert_true(REDUCED("reduce_mean", PTO_FLOAT32, 1, 2, 6) == 3);
  assert_true(REDUCED("reduce_l1", PTO_FLOAT32, 1, -2, -6) == 9);
}

static void test_the_logarithm_of_a_sum_of_exponentials_does_not_overflow(void **state) {
  (void)state;
  assert_true(fabs(REDUCED("reduce_log_sum_exp", PTO_FLOAT32, 1000, 1000) - (1000 + log(2))) < 1e-4);
  assert_true(fabs(REDUCED("reduce_log_sum_exp", PTO_FLOAT32, -1000, -1001) + 1000 - log(1 + exp(-1))) < 1e-4);
  assert_true(REDUCED("reduce_log_sum_exp", PTO_FLOAT32, -INFINITY, -INFINITY) == -INFINITY);
  assert_true(REDUCED("reduce_log_sum_exp", PTO_FLOAT32, -INFINITY, 5) == 5);
  assert_true(REDUCED("reduce_log_sum_exp", PTO_FLOAT32, INFINITY, 5) == INFINITY);
  assert_true(REDUCED("reduce_log_sum_exp", PTO_FLOAT32, INFINITY, -INFINITY) == INFINITY);
  assert_true(isnan(REDUCED("reduce_log_sum_exp", PTO_FLOAT32, NAN, INFINITY)));
}

/* Powers of two multiply exactly; none of the sixteen partial products leaves the range of f32. */
static void test_a_long_product_of_floats_is_right(void **state) {
  (void)state;
  static double values[4992];
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(values); i++) values[i] = i / 16 % 2 == 0 ? -2 : 0.5;
  assert_true(reduced("reduce_product", PTO_FLOAT32, values, PTO_ARRAY_LENGTH(values)) == 1);
  values[17] = 1.5;
  assert_true(reduced("reduce_product", PTO_FLOAT32, values, PTO_ARRAY_LENGTH(values)) == 3);
}

static void test_integers_wrap_in_y_which_may_be_wider(void **state) {
  (void)state;
  assert_true(REDUCED("reduce_sum", PTO_INT8, 100, 100, 1) == -55);
  assert_true(REDUCED("reduce_sum", PTO_UINT8, 200, 100) == 44);
  assert_true(REDUCED("reduce_product", PTO_INT16, 300, 300) == 24464);
  assert_true(REDUCED("reduce_sum_square", PTO_INT32, 65536, 1) == 1);
  assert_true(REDUCED("reduce_l1", PTO_INT8, -128) == -128);
  const uint64_t x_shape[] = {1, 300}, y_shape[] = {1, 1};
  pair_init("reduce_sum", PTO_INT8, PTO_INT32, x_shape, y_shape);
  for (uint64_t i = 0; i < 300; i++) pto_test_set(&pair.x, i, -128);
  pair_run("reduce_sum");
  assert_true(get(0) == -38400);
  pair_fini();
  pair_init("reduce_l1", PTO_INT8, PTO_INT64, x_shape, y_shape);
  for (uint64_t i = 0; i < 300; i++) pto_test_set(&pair.x, i, -128);
  pair_run("reduce_l1");
  assert_true(get(0) == 38400);
  pair_fini();
}

static void arg(const char *kernel, uint32_t dtype, const double *values, uint64_t count, uint64_t expected) {
  for (uint32_t is_column = 0; is_column < 2; is_column++) {
    const uint64_t row[] = {1, count}, rows[] = {1, 1}, column[] = {count, 32}, columns[] = {1, 32};
    pair_init(kernel, dtype, is_column ? PTO_INT32 : PTO_INT64, is_column ? column : row, is_column ? columns : rows);
    for (uint64_t i = 0; i < count * (is_column ? 32 : 1); i++)
      pto_test_set(&pair.x, i, values[is_column ? i / 32 : i]);
    pair.call.scalars[0].i64 = is_column ? -2 : 1;
    pair_run(kernel);
    for (uint64_t i = 0; i < (is_column ? 32 : 1); i++)
      if (get(i) != (double)expected) fail_msg("%s: %g, expected %" PRIu64, kernel, get(i), expected);
    pair_fini();
  }
}
#define ARG(kernel, dtype, expected, ...)                                                                              \
  arg(kernel, dtype, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double), expected)

static void test_the_place_of_an_extreme_is_that_of_the_first_and_of_a_nan_before_any_number(void **state) {
  (void)state;
  ARG("arg_max", PTO_FLOAT32, 1, 1, 7, 7, 2);
  ARG("arg_min", PTO_FLOAT16, 0, 1, 7, 1, 2);
  ARG("arg_max", PTO_FLOAT32, 2, 1, INFINITY, NAN, INFINITY, NAN);
  ARG("arg_min", PTO_FLOAT32, 1, -INFINITY, NAN, -INFINITY);
  ARG("arg_max", PTO_FLOAT32, 0, -0.0, 0.0);
  ARG("arg_max", PTO_FLOAT32, 0, -INFINITY, -INFINITY);
  ARG("arg_min", PTO_FLOAT32, 0, INFINITY, INFINITY);
  ARG("arg_max", PTO_INT8, 2, -128, -1, 127, 127);
  ARG("arg_min", PTO_UINT8, 1, 200, 3, 100, 3);
  static double values[40000];
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(values); i++) values[i] = i % 100;
  values[33333] = values[39999] = 101; /* in another part of the row, as it is read */
  arg("arg_max", PTO_FLOAT32, values, PTO_ARRAY_LENGTH(values), 33333);
  arg("arg_max", PTO_INT32, values, PTO_ARRAY_LENGTH(values), 33333);
}

/* Columns side by side that end their search in different parts: what is found stays found. */
static void test_places_of_columns_are_found_each_for_itself(void **state) {
  (void)state;
  enum { ROWS = 5000, COLS = 32 };
  const uint64_t x_shape[] = {ROWS, COLS}, y_shape[] = {1, COLS};
  pair_init("arg_min", PTO_FLOAT16, PTO_INT32, x_shape, y_shape);
  for (uint64_t i = 0; i < ROWS * COLS; i++) pto_test_set(&pair.x, i, (double)(i % 7));
  for (uint64_t j = 0; j < COLS; j++) {
    pto_test_set(&pair.x, (j * 150 + 1) * COLS + j, -1);
    if (j + 1 < COLS) pto_test_set(&pair.x, 4650 * COLS + j, -1); /* where the last column is still searched */
  }
  pair_run("arg_min");
  for (uint64_t j = 0; j < COLS; j++) assert_true(get(j) == (double)(j * 150 + 1));
  pair_fini();
}

/* Unsigned 64-bit numbers beyond the signed ones are larger, not negative. */
static void test_places_and_extremes_of_u64_compare_unsigned(void **state) {
  (void)state;
  const uint64_t x_shape[] = {1, 3}, y_shape[] = {1, 1};
  const uint64_t values[] = {5, UINT64_MAX, UINT64_C(1) << 63};
  pair_init("arg_max", PTO_UINT64, PTO_INT64, x_shape, y_shape);
  memcpy(pair.x.memory, values, sizeof values);
  pair.call.scalars[0].i64 = -1;
  pair_run("arg_max");
  assert_true(get(0) == 1);
  pair_fini();
  pair_init("reduce_min", PTO_UINT64, PTO_UINT64, x_shape, y_shape);
  memcpy(pair.x.memory, values, sizeof values);
  pair_run("reduce_min");
  assert_true(get(0) == 5);
  pair_fini();
}

static void test_the_largest_of_bools_is_any_and_the_smallest_all_and_every_byte_but_0_is_true(void **state) {
  (void)state;
  assert_float_equal(REDUCED("reduce_max", PTO_BOOL, 0, 0, 0), 0, 0);
  assert_float_equal(REDUCED("reduce_max", PTO_BOOL, 0, 2, 0), 1, 0);
  assert_float_equal(REDUCED("reduce_max", PTO_BOOL, 128, 255, 1), 1, 0);
  assert_float_equal(REDUCED("reduce_min", PTO_BOOL, 1, 2, 128), 1, 0);
  assert_float_equal(REDUCED("reduce_min", PTO_BOOL, 255, 254, 64), 1, 0);
  assert_float_equal(REDUCED("reduce_min", PTO_BOOL, 2, 0, 1), 0, 0);
}

static void test_running_sums_may_leave_out_the_element_itself_and_go_backwards(void **state) {
  (void)state;
  static const double expected[4][5] = {{1, 3, 6, 10, 15}, {0, 1, 3, 6, 10}, {15, 14, 12, 9, 5}, {14, 12, 9, 5, 0}};
  const uint64_t shape[] = {5, 16}, row[] = {1, 5};
  for (uint32_t way = 0; way < 4; way++)
    for (uint32_t is_column = 0; is_column < 2; is_column++) {
      pair_init("cumulative_sum", PTO_FLOAT16, PTO_FLOAT32, is_column ? shape : row, is_column ? shape : row);
      for (uint64_t i = 0; i < 5 * (is_column ? 16 : 1); i++)
        pto_test_set(&pair.x, i, (double)(is_column ? i / 16 : i) + 1);
      pair.call.scalars[0].i64 = is_column ? 0 : 1;
      pair.call.scalars[1].i64 = way & 1;
      pair.call.scalars[2].i64 = way >> 1;
      pair_run("cumulative_sum");
      for (uint64_t i = 0; i < 5; i++) assert_true(get(is_column ? i * 16 + 7 : i) == expected[way][i]);
      pair_fini();
    }
}

/* What is behind an element does not change its sum: not its bits either. */
static void test_a_running_sum_depends_on_what_it_adds_alone(void **state) {
  (void)state;
  enum { N = 5000 };
  static float whole[N];
  struct pto_rng rng = {11};
  const uint64_t shape[] = {1, N};
  pair_init("cumulative_sum", PTO_FLOAT32, PTO_FLOAT32, shape, shape);
  pto_test_fill(&pair.x, false, &rng);
  pair.call.scalars[0].i64 = -1;
  pair_run("cumulative_sum");
  memcpy(whole, pair.y.memory, sizeof whole);
  for (uint64_t n = 1; n < N; n += 613) {
    const uint64_t shorter[] = {1, n};
    pair.call.tensors[0].shape = pair.call.tensors[1].shape = shorter;
    memset(pair.y.memory, 0, sizeof whole);
    pair_run("cumulative_sum");
    assert_memory_equal(pair.y.memory, whole, n * sizeof(float));
  }
  pair_fini();
}

/* Factors near 1, so that thousands of them stay in range; several parts, both layouts. */
static void test_long_running_products_are_right(void **state) {
  (void)state;
  enum { N = 9000 };
  struct pto_rng rng = {12};
  const uint64_t shape[] = {1, N}, column[] = {N, 32};
  for (uint32_t is_column = 0; is_column < 2; is_column++) {
    const uint64_t cols = is_column ? 32 : 1;
    pair_init("cumulative_product", PTO_FLOAT32, PTO_FLOAT32, is_column ? column : shape, is_column ? column : shape);
    float *x = (float *)(void *)pair.x.memory;
    for (uint64_t i = 0; i < N * cols; i++) {
      const double size = 1 + (double)((int64_t)pto_rng_below(&rng, 2001) - 1000) / 0x1p17;
      x[i] = (float)(pto_rng_below(&rng, 2) == 0 ? -size : size);
    }
    pair.call.scalars[0].i64 = is_column ? 0 : 1;
    pair_run("cumulative_product");
    for (uint64_t j = 0; j < cols; j++) {
      double exact = 1;
      for (uint64_t i = 0; i < N; i++) {
        exact *= x[i * cols + j];
        if (!(fabs(get(i * cols + j) - exact) <= (double)(i + 1) * 0x1p-24 * fabs(exact)))
          fail_msg("element %" PRIu64 ": %.9g for %.12g", i, get(i * cols + j), exact);
      }
    }
    pair_fini();
  }
}

static void test_running_products_begin_with_one_and_wrap(void **state) {
  (void)state;
  static const double factors[] = {2, 3, 4, 38, 6};
  const uint64_t shape[] = {5, 16}, row[] = {1, 5};
  for (uint32_t way = 0; way < 4; way++)
    for (uint32_t is_column = 0; is_column < 2; is_column++) {
      pair_init("cumulative_product", PTO_INT8, PTO_INT8, is_column ? shape : row, is_column ? shape : row);
      for (uint64_t i = 0; i < 5 * (is_column ? 16 : 1); i++) pto_test_set(&pair.x, i, factors[is_column ? i / 16 : i]);
      pair.call.scalars[0].i64 = is_column ? 0 : 1;
      pair.call.scalars[1].i64 = way & 1;
      pair.call.scalars[2].i64 = way >> 1;
      pair_run("cumulative_product");
      for (uint64_t i = 0; i < 5; i++) {
        int64_t exact = 1; /* worked out in full and cut to 8 bits */
        for (uint64_t k = 0; k < 5; k++) {
          const bool is_before = way >> 1 ? k > i : k < i;
          if (is_before || (k == i && (way & 1) == 0)) exact *= (int64_t)factors[k];
        }
        assert_true(get(is_column ? i * 16 + 7 : i) == (double)(int8_t)exact);
      }
      pair_fini();
    }
}

static void refused(const char *kernel, const uint64_t *x_shape, const uint64_t *y_shape, const uint32_t *dtypes,
                    int64_t axis, const char *sentence) {
  pair_init(kernel, dtypes[0], dtypes[1], x_shape, y_shape);
  pair.call.scalars[0].i64 = axis;
  assert_int_equal(pto_kernel_find(kernel)->check(&pair.call.args), PTO_EKERNEL);
  assert_string_equal(pair.call.message, sentence);
  pair_fini();
}
#define SHAPE(...) ((const uint64_t[]){__VA_ARGS__})
#define DTYPES(...) ((const uint32_t[]){__VA_ARGS__})

static void test_refusals_name_kernel_parameters_and_values(void **state) {
  (void)state;
  refused("reduce_sum", SHAPE(4, 5), SHAPE(4, 2), DTYPES(0, 0), 0,
          "reduce_sum: shape [4,5] does not reduce to [4,2] (params 0 and 1)");
  refused("reduce_sum", SHAPE(4, 5), SHAPE(4, 1), DTYPES(PTO_INT32, PTO_INT16), 0,
          "reduce_sum: i32 does not reduce to i16 (params 0 and 1)");
  refused("reduce_max", SHAPE(4, 5), SHAPE(4, 1), DTYPES(PTO_INT16, PTO_INT32), 0,
          "reduce_max: i16 does not reduce to i32 (params 0 and 1)");
  refused("reduce_sum", SHAPE(4, 5), SHAPE(4, 1), DTYPES(PTO_INT16, PTO_FLOAT32), 0,
          "reduce_sum: i16 does not reduce to f32 (params 0 and 1)");
  refused("arg_max", SHAPE(4, 5), SHAPE(4, 1), DTYPES(PTO_FLOAT32, PTO_INT32), 2,
          "arg_max: axis 2 of rank 2 (params 0 and 2)");
  refused("arg_max", SHAPE(4, 5), SHAPE(1, 5), DTYPES(PTO_FLOAT32, PTO_INT32), -1,
          "arg_max: shape [4,5] along axis 1 does not reduce to [1,5] (params 0 and 1)");
  refused("arg_min", SHAPE(4, 0), SHAPE(4, 1), DTYPES(PTO_FLOAT32, PTO_INT32), 1,
          "arg_min: axis 1 has no elements (param 0)");
  refused("cumulative_sum", SHAPE(4, 5), SHAPE(4, 5), DTYPES(PTO_INT16, PTO_INT8), 1,
          "cumulative_sum: i16 does not add up to i8 (params 0 and 1)");
  refused("cumulative_sum", SHAPE(4, 5), SHAPE(4, 5), DTYPES(PTO_INT16, PTO_INT16), -3,
          "cumulative_sum: axis -3 of rank 2 (params 0 and 2)");
  refused("cumulative_product", SHAPE(4, 5), SHAPE(4, 6), DTYPES(0, 0), 0,
          "cumulative_product: shapes [4,5] and [4,6] differ (params 0 and 1)");
  refused("softmax", SHAPE(4, 5), SHAPE(4, 5), DTYPES(0, 0), 7, "softmax: axis 7 of rank 2 (params 0 and 2)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_reductions_of_nothing_are_the_neutral_value),
      cmocka_unit_test(test_nan_and_infinity_go_through_reductions),
      cmocka_unit_test(test_the_logarithm_of_a_sum_of_exponentials_does_not_overflow),
      cmocka_unit_test(test_a_long_product_of_floats_is_right),
      cmocka_unit_test(test_integers_wrap_in_y_which_may_be_wider),
      cmocka_unit_test(test_the_place_of_an_extreme_is_that_of_the_first_and_of_a_nan_before_any_number),
      cmocka_unit_test(test_places_of_columns_are_found_each_for_itself),
      cmocka_unit_test(test_places_and_extremes_of_u64_compare_unsigned),
      cmocka_unit_test(test_the_largest_of_bools_is_any_and_the_smallest_all_and_every_byte_but_0_is_true),
      cmocka_unit_test(test_running_sums_may_leave_out_the_element_itself_and_go_backwards),
      cmocka_unit_test(test_a_running_sum_depends_on_what_it_adds_alone),
      cmocka_unit_test(test_long_running_products_are_right),
      cmocka_unit_test(test_running_products_begin_with_one_and_wrap),
      cmocka_unit_test(test_refusals_name_kernel_parameters_and_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
