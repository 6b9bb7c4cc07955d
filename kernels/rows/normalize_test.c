/* SPDX-License-Identifier: MIT */
/* Oracles: what a normalised row must be (its sum, its mean, its variance), and IEEE 754 for NaN and ∞. */
#include <kernels/api/list.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(424242)

static struct pto_rng rng;
static struct pto_test_call call;

static void make(struct pto_test_tensor *t, uint32_t dtype, uint32_t ndims, const uint64_t *extents, uint32_t layout) {
  struct pto_reference_shape shape = {.ndims = ndims};
  memcpy(shape.shape, extents, ndims * sizeof *extents);
  pto_test_tensor_init(t, dtype, &shape, layout, true, &rng);
}
#define MAKE(t, dtype, layout, ...)                                                                                    \
  make(t, dtype, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__}, layout)

static void set_all(const struct pto_test_tensor *t, double value) {
  for (uint64_t i = 0; i < pto_test_numel(t); i++) pto_test_set(t, i, value);
}
static double get(const struct pto_test_tensor *t, uint64_t i) { return pto_reference_element(&t->t, i); }

static void run(const char *name, struct pto_test_tensor *const *tensors, const union pto_scalar *scalars) {
  const struct pto_kernel *kernel = pto_kernel_find(name);
  pto_test_call_init(&call, kernel);
  for (uint32_t i = 0; i < call.args.tensor_count; i++) call.tensors[i] = tensors[i]->t;
  for (uint32_t i = 0; i < call.args.scalar_count; i++) call.scalars[i] = scalars[i];
  if (kernel->check(&call.args) != 0) fail_msg("%s", call.message);
  assert_int_equal(pto_test_call_run(kernel, &call.args), 0);
}

/* Rows of every kind, in both directions of vectors: only the row with the NaN, and the like, is NaN. */
static void test_a_row_that_has_no_softmax_is_nan_and_no_other(void **state) {
  (void)state;
  enum { ROWS = 9, COLS = 40 };
  static const char *const kernels[] = {"softmax", "log_softmax"};
  for (uint32_t k = 0; k < 2; k++)
    for (uint32_t layout = 0; layout < 2; layout++) {
      struct pto_test_tensor x, y;
      MAKE(&x, PTO_FLOAT32, layout, ROWS, COLS);
      MAKE(&y, PTO_FLOAT32, layout, ROWS, COLS);
      pto_test_fill(&x, false, &rng);
      pto_test_set(&x, 1 * COLS + 7, NAN);
      pto_test_set(&x, 3 * COLS + 7, INFINITY);
      for (uint64_t i = 0; i < COLS; i++) pto_test_set(&x, 5 * COLS + i, -INFINITY);
      for (uint64_t i = 1; i < COLS; i++) pto_test_set(&x, 6 * COLS + i, -INFINITY);
      for (uint64_t i = 0; i < COLS; i++) pto_test_set(&x, 7 * COLS + i, 3e38);
      pto_test_set(&x, 8 * COLS, -3e38);
      run(kernels[k], (struct pto_test_tensor *[]){&x, &y}, (union pto_scalar[]){{.i64 = 1}});
      for (uint64_t row = 0; row < ROWS; row++) {
        double sum = 0;
        for (uint64_t i = 0; i < COLS; i++) {
          const double value = get(&y, row * COLS + i);
          assert_int_equal(isnan(value) != 0, row == 1 || row == 3 || row == 5);
          sum += k == 0 ? value : exp(value);
        }
        if (!(row == 1 || row == 3 || row == 5) && fabs(sum - 1) > 1e-5)
          fail_msg("row %" PRIu64 ": sum %.9g", row, sum);
      }
      assert_true(get(&y, 6 * COLS) == (k == 0 ? 1 : 0)); /* the one weight of a row of −∞ else */
      assert_true(get(&y, 6 * COLS + 1) == (k == 0 ? 0 : -INFINITY));
      assert_true(get(&y, 8 * COLS) == (k == 0 ? 0 : get(&y, 8 * COLS)));
      pto_test_tensor_fini(&x);
      pto_test_tensor_fini(&y);
    }
}

/* A softmax does not move when all of a row is moved, and ones of equal elements are 1 / n. */
static void test_a_softmax_of_equal_elements_is_one_over_their_number(void **state) {
  (void)state;
  static const double values[] = {0, -1e30, 3e38, 88};
  static const uint64_t lengths[] = {1, 3, 1000, 20000};
  for (uint32_t v = 0; v < PTO_ARRAY_LENGTH(values); v++)
    for (uint32_t n = 0; n < PTO_ARRAY_LENGTH(lengths); n++) {
      struct pto_test_tensor x, y;
      MAKE(&x, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, 2, lengths[n]);
      MAKE(&y, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, 2, lengths[n]);
      set_all(&x, values[v]);
      run("softmax", (struct pto_test_tensor *[]){&x, &y}, (union pto_scalar[]){{.i64 = -1}});
      for (uint64_t i = 0; i < 2 * lengths[n]; i++) assert_true(get(&y, i) == (double)(1 / (float)lengths[n]));
      pto_test_tensor_fini(&x);
      pto_test_tensor_fini(&y);
    }
}

/* Mean 0 and variance 1 within each group, whichever way the groups lie. */
static void check_groups(const char *kernel, uint32_t layout, uint64_t groups, const union pto_scalar *scalars) {
  enum { N = 3, C = 24, S = 35 };
  struct pto_test_tensor x, scale, bias, y;
  MAKE(&x, PTO_FLOAT32, layout, N, C, 5, 7);
  MAKE(&y, PTO_FLOAT32, layout, N, C, 5, 7);
  MAKE(&scale, PTO_FLOAT32, PTO_TEST_STEPPED, C);
  MAKE(&bias, PTO_FLOAT32, PTO_TEST_STEPPED, C);
  pto_test_fill(&x, false, &rng);
  for (uint64_t c = 0; c < C; c++) {
    pto_test_set(&scale, c, (double)c + 1);
    pto_test_set(&bias, c, -(double)c);
  }
  run(kernel, (struct pto_test_tensor *[]){&x, &scale, &bias, &y}, scalars);
  const uint64_t per_group = C / groups * S;
  for (uint64_t g = 0; g < N * groups; g++) {
    double mean = 0, variance = 0;
    for (uint64_t i = g * per_group; i < (g + 1) * per_group; i++) {
      const uint64_t c = i / S % C;
      const double value = (get(&y, i) + (double)c) / ((double)c + 1);
      mean += value / (double)per_group;
      variance += value * value / (double)per_group;
    }
    if (fabs(mean) > 1e-5 || fabs(variance - 1) > 1e-4)
      fail_msg("%s, %s: mean %g, variance %g", kernel, pto_test_layout_name(layout), mean, variance);
  }
  struct pto_test_tensor *all[] = {&x, &scale, &bias, &y};
  for (uint32_t i = 0; i < 4; i++) pto_test_tensor_fini(all[i]);
}

static void test_groups_have_mean_zero_and_variance_one_before_scale_and_bias(void **state) {
  (void)state;
  for (uint32_t layout = 0; layout < PTO_TEST_LAYOUT_COUNT; layout++) {
    check_groups("instance_norm", layout, 24, (union pto_scalar[]){{.f32 = 1e-7f}});
    for (uint64_t groups = 1; groups <= 24; groups *= 2)
      if (24 % groups == 0)
        check_groups("group_norm", layout, groups, (union pto_scalar[]){{.u64 = groups}, {.f32 = 1e-7f}});
  }
}

static void test_a_constant_row_normalises_to_its_bias(void **state) {
  (void)state;
  struct pto_test_tensor x, scale, bias, y;
  MAKE(&x, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, 4, 64);
  MAKE(&y, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, 4, 64);
  MAKE(&scale, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, 64);
  MAKE(&bias, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, 64);
  set_all(&x, 4097);
  set_all(&scale, 3);
  set_all(&bias, 0.25);
  pto_test_set(&x, 2 * 64 + 5, INFINITY);
  run("layernorm", (struct pto_test_tensor *[]){&x, &scale, &bias, &y}, (union pto_scalar[]){{.f32 = 1e-5f}});
  for (uint64_t i = 0; i < 4 * 64; i++) assert_true(i / 64 == 2 ? isnan(get(&y, i)) : get(&y, i) == 0.25);
  struct pto_test_tensor *all[] = {&x, &scale, &bias, &y};
  for (uint32_t i = 0; i < 4; i++) pto_test_tensor_fini(all[i]);
}

/* x and y are one: no row is read after it has been written. */
static void test_norms_may_overwrite_their_input(void **state) {
  (void)state;
  for (uint32_t layout = 0; layout < 3; layout++)
    for (uint64_t length = 33; length < 40000; length *= 33) {
      struct pto_test_tensor x, weight, y;
      MAKE(&x, PTO_FLOAT32, layout, 9, length);
      MAKE(&y, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, 9, length);
      MAKE(&weight, PTO_BFLOAT16, PTO_TEST_CONTIGUOUS, length);
      pto_test_fill(&x, false, &rng);
      pto_test_fill(&weight, false, &rng);
      run("rmsnorm", (struct pto_test_tensor *[]){&x, &weight, &y}, (union pto_scalar[]){{.f32 = 1e-5f}});
      run("rmsnorm", (struct pto_test_tensor *[]){&x, &weight, &x}, (union pto_scalar[]){{.f32 = 1e-5f}});
      for (uint64_t i = 0; i < 9 * length; i++) assert_true(get(&x, i) == get(&y, i));
      pto_test_tensor_fini(&x);
      pto_test_tensor_fini(&y);
      pto_test_tensor_fini(&weight);
    }
}

static void refused(const char *name, const char *sentence, uint32_t count, const struct pto_kernel_tensor *tensors) {
  pto_test_call_init(&call, pto_kernel_find(name));
  memcpy(call.tensors, tensors, count * sizeof *tensors);
  call.scalars[0].u64 = 5;
  assert_int_equal(pto_kernel_find(name)->check(&call.args), PTO_EKERNEL);
  assert_string_equal(call.message, sentence);
}
static struct pto_kernel_tensor shaped(uint32_t ndims, const uint64_t *shape) {
  return (struct pto_kernel_tensor){.shape = shape, .strides = shape, .ndims = ndims, .dtype = PTO_FLOAT32};
}
#define SHAPED(...) shaped(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

static void test_refusals_name_kernel_parameters_and_values(void **state) {
  (void)state;
  refused("layernorm", "layernorm: [4,9] is not the last dimensions of [2,4,8] (params 1 and 0)", 4,
          (struct pto_kernel_tensor[]){SHAPED(2, 4, 8), SHAPED(4, 9), SHAPED(4, 8), SHAPED(2, 4, 8)});
  refused("layernorm", "layernorm: [8] is not the last dimensions of [2,4,8] (params 2 and 0)", 4,
          (struct pto_kernel_tensor[]){SHAPED(2, 4, 8), SHAPED(4, 8), SHAPED(8), SHAPED(2, 4, 8)});
  refused("rmsnorm", "rmsnorm: shapes [2,8] and [2,9] differ (params 0 and 2)", 3,
          (struct pto_kernel_tensor[]){SHAPED(2, 8), SHAPED(8), SHAPED(2, 9)});
  refused("group_norm", "group_norm: 8 channels are no 5 equal groups (params 0 and 4)", 4,
          (struct pto_kernel_tensor[]){SHAPED(2, 8, 3), SHAPED(8), SHAPED(8), SHAPED(2, 8, 3)});
  refused("batch_norm", "batch_norm: channels 8 and 7 differ (params 0 and 3)", 6,
          (struct pto_kernel_tensor[]){SHAPED(2, 8, 3), SHAPED(8), SHAPED(8), SHAPED(7), SHAPED(8), SHAPED(2, 8, 3)});
}

/* What docs/numerics.md says of rows whose squares, or whose sum, f32 does not hold. */
static void test_a_row_whose_squares_overflow_is_its_bias_and_one_whose_sum_does_is_nan(void **state) {
  (void)state;
  enum { ROWS = 3, COLS = 20 };
  struct pto_test_tensor x, scale, bias, y;
  MAKE(&x, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, ROWS, COLS);
  MAKE(&y, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, ROWS, COLS);
  MAKE(&scale, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, COLS);
  MAKE(&bias, PTO_FLOAT32, PTO_TEST_CONTIGUOUS, COLS);
  pto_test_fill(&x, false, &rng);
  pto_test_fill(&scale, false, &rng);
  pto_test_fill(&bias, false, &rng);
  pto_test_set(&x, 1 * COLS + 4, 2e19); /* its square is 4e38 */
  for (uint64_t i = 0; i < COLS; i++) pto_test_set(&x, 2 * COLS + i, 3e38);
  run("layernorm", (struct pto_test_tensor *[]){&x, &scale, &bias, &y}, (union pto_scalar[]){{.f32 = 1e-5f}});
  for (uint64_t i = 0; i < COLS; i++) {
    assert_true(get(&y, i) != get(&bias, i));
    assert_true(get(&y, COLS + i) == get(&bias, i));
    assert_true(isnan(get(&y, 2 * COLS + i)));
  }
  run("rmsnorm", (struct pto_test_tensor *[]){&x, &scale, &y}, (union pto_scalar[]){{.f32 = 1e-5f}});
  for (uint64_t i = 0; i < COLS; i++) {
    assert_true(get(&y, i) != 0);
    assert_true(get(&y, COLS + i) == 0 && get(&y, 2 * COLS + i) == 0);
  }
  struct pto_test_tensor *all[] = {&x, &scale, &bias, &y};
  for (uint32_t i = 0; i < 4; i++) pto_test_tensor_fini(all[i]);
}

int main(void) {
  rng.state = SEED;
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_row_that_has_no_softmax_is_nan_and_no_other),
      cmocka_unit_test(test_a_softmax_of_equal_elements_is_one_over_their_number),
      cmocka_unit_test(test_groups_have_mean_zero_and_variance_one_before_scale_and_bias),
      cmocka_unit_test(test_a_constant_row_normalises_to_its_bias),
      cmocka_unit_test(test_norms_may_overwrite_their_input),
      cmocka_unit_test(test_a_row_whose_squares_overflow_is_its_bias_and_one_whose_sum_does_is_nan),
      cmocka_unit_test(test_refusals_name_kernel_parameters_and_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
