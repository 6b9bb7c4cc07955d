/* SPDX-License-Identifier: MIT */
/*
 * Products of blocks with scales against exact sums: small numbers, whose every sum f32 holds, in every pairing of
 * dtypes and beyond a tile in every direction; scales of NaN; and numbers times scales that leave f32's range.
 */
#include <kernels/api/list.h>
#include <kernels/levels/level.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const uint32_t elements[] = {PTO_FLOAT8_E4M3FN, PTO_FLOAT8_E5M2, PTO_FLOAT4_E2M1FN};

static struct pto_test_tensor tensors[5];
static struct pto_test_call call;

static void make(const char *kernel, const uint32_t *dtypes, const struct pto_reference_shape *shapes) {
  pto_test_call_init(&call, pto_kernel_find(kernel));
  for (uint32_t i = 0; i < call.args.tensor_count; i++) {
    pto_test_tensor_init(&tensors[i], dtypes[i], &shapes[i], PTO_TEST_CONTIGUOUS, i + 1 == call.args.tensor_count,
                         NULL);
    call.tensors[i] = tensors[i].t;
  }
}
static void run(const char *kernel) {
  if (pto_kernel_find(kernel)->check(&call.args) != 0) fail_msg("%s", call.message);
  assert_int_equal(pto_test_call_run(pto_kernel_find(kernel), &call.args), 0);
}
static void end(void) {
  for (uint32_t i = 0; i < call.args.tensor_count; i++) pto_test_tensor_fini(&tensors[i]);
}

static void make_mx(uint32_t a, uint32_t b, uint64_t m, uint64_t k, uint64_t n) {
  const struct pto_reference_shape shapes[] = {
      {2, {m, k}}, {2, {m, k / 32}}, {2, {n, k}}, {2, {n, k / 32}}, {2, {m, n}}};
  make("matmul_mx", (uint32_t[]){a, PTO_FLOAT8_E8M0FNU, b, PTO_FLOAT8_E8M0FNU, PTO_FLOAT32}, shapes);
}

static void fill_whole(struct pto_test_tensor *t, int least, int most, struct pto_rng *rng) {
  for (uint64_t i = 0; i < pto_test_numel(t); i++)
    pto_test_set(t, i, least + (int)pto_rng_below(rng, (uint64_t)(most - least + 1)));
}
static void fill_powers(struct pto_test_tensor *t, struct pto_rng *rng) {
  for (uint64_t i = 0; i < pto_test_numel(t); i++) pto_test_set(t, i, ldexp(1, (int)pto_rng_below(rng, 4)));
}

/* The sum of one element of c in whole numbers; `b` is the first of the second matrix. */
static double exact_sum(uint32_t b, uint64_t row, uint64_t col) {
  const struct pto_kernel_tensor *t = call.tensors;
  const uint64_t k = t[0].shape[1];
  double sum = 0;
  for (uint64_t p = 0; p < k; p++) {
    const double of_a = pto_reference_element(&t[0], row * k + p), of_b = pto_reference_element(&t[b], col * k + p);
    const uint64_t a_blocks = b == 2 ? t[1].shape[1] : 1, b_blocks = t[b + 1].shape[1];
    const double a_scale = b == 2 ? pto_reference_element(&t[1], row * a_blocks + p / (k / a_blocks)) : 1;
    sum += of_a * a_scale * of_b * pto_reference_element(&t[b + 1], col * b_blocks + p / (k / b_blocks));
  }
  return sum;
}
static void expect_exact(uint32_t b) {
  const struct pto_kernel_tensor *c = &call.tensors[call.args.tensor_count - 1];
  const uint64_t n = c->shape[1];
  for (uint64_t i = 0; i < c->shape[0] * n; i++) {
    const double got = pto_reference_element(c, i), right = exact_sum(b, i / n, i % n);
    if (got != right) fail_msg("%g instead of %g at %" PRIu64 ", %" PRIu64, got, right, i / n, i % n);
  }
}

static void test_every_pairing_of_small_floats_has_exact_sums(void **state) {
  (void)state;
  static const uint64_t sizes[][3] = {{1, 32, 1}, {5, 64, 3}, {7, 96, 130}, {129, 160, 9}};
  struct pto_rng rng = {31};
  for (uint32_t pair = 0; pair < 9; pair++)
    for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(sizes); s++)
      for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
        pto_level_limit(level);
        make_mx(elements[pair / 3], elements[pair % 3], sizes[s][0], sizes[s][1], sizes[s][2]);
        for (uint32_t i = 0; i < 4; i += 2) {
          fill_whole(&tensors[i], -4, 4, &rng);
          fill_powers(&tensors[i + 1], &rng);
        }
        run("matmul_mx");
        expect_exact(2);
        end();
      }
}

static void test_weights_of_four_bits_have_exact_sums(void **state) {
  (void)state;
  static const uint64_t sizes[][4] = {{1, 32, 1, 1}, {3, 192, 5, 2}, {130, 96, 7, 3}, {9, 128, 131, 1}};
  struct pto_rng rng = {37};
  for (uint32_t kind = 0; kind < 4; kind++)
    for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(sizes); s++)
      for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
        const uint64_t *size = sizes[s];
        const struct pto_reference_shape shapes[] = {
            {2, {size[0], size[1]}}, {2, {size[2], size[1]}}, {2, {size[2], size[3]}}, {2, {size[0], size[2]}}};
        pto_level_limit(level);
        make("matmul_int4",
             (uint32_t[]){kind / 2 ? PTO_FLOAT32 : PTO_FLOAT16, kind % 2 ? PTO_INT4 : PTO_UINT4, PTO_BFLOAT16,
                          PTO_FLOAT32},
             shapes);
        fill_whole(&tensors[0], -8, 8, &rng);
        fill_whole(&tensors[1], kind % 2 ? -8 : 0, kind % 2 ? 7 : 15, &rng);
        fill_powers(&tensors[2], &rng);
        run("matmul_int4");
        expect_exact(1);
        end();
      }
}

static void test_a_scale_of_nan_makes_its_row_or_column_nan(void **state) {
  (void)state;
  struct pto_rng rng = {41};
  make_mx(PTO_FLOAT8_E4M3FN, PTO_FLOAT4_E2M1FN, 4, 96, 5);
  for (uint32_t i = 0; i < 4; i += 2) {
    fill_whole(&tensors[i], -4, 4, &rng);
    fill_powers(&tensors[i + 1], &rng);
  }
  pto_reference_set_whole(&tensors[1].t, 2 * 3 + 1, 0xff);
  pto_reference_set_whole(&tensors[3].t, 4 * 3 + 2, 0xff);
  run("matmul_mx");
  for (uint64_t i = 0; i < 20; i++)
    assert_int_equal(isnan(pto_reference_element(&call.tensors[4], i)) != 0, i / 5 == 2 || i % 5 == 4);
  end();
}

/* 448 · 2^127 is beyond f32, whatever the other scale is; 2^-9 · 2^-127 is a subnormal, and kept. */
static void test_an_element_times_its_scale_is_an_f32(void **state) {
  (void)state;
  make_mx(PTO_FLOAT8_E4M3FN, PTO_FLOAT8_E4M3FN, 1, 32, 1);
  for (uint32_t i = 0; i < 4; i += 2)
    for (uint64_t j = 0; j < 32; j++) pto_test_set(&tensors[i], j, j == 0 ? 448 : 0);
  pto_reference_set_whole(&tensors[1].t, 0, 254);
  pto_reference_set_whole(&tensors[3].t, 0, 0);
  run("matmul_mx");
  assert_true(pto_reference_element(&call.tensors[4], 0) == INFINITY);
  pto_test_set(&tensors[0], 0, 0x1p-9);
  pto_test_set(&tensors[2], 0, 1);
  pto_reference_set_whole(&tensors[1].t, 0, 0);
  pto_reference_set_whole(&tensors[3].t, 0, 127);
  run("matmul_mx");
  assert_true(pto_reference_element(&call.tensors[4], 0) == 0x1p-136);
  end();
}

static void refuses(const char *kernel, const char *sentence) {
  assert_int_not_equal(pto_kernel_find(kernel)->check(&call.args), 0);
  assert_string_equal(call.message, sentence);
  end();
}

static void test_blocks_that_do_not_fit_are_refused(void **state) {
  (void)state;
  make_mx(PTO_FLOAT8_E5M2, PTO_FLOAT8_E5M2, 2, 48, 3);
  refuses("matmul_mx", "matmul_mx: 48 columns in 1 blocks, which are to be of 32 (params 0 and 1)");
  const struct pto_reference_shape shapes[] = {{2, {2, 64}}, {2, {3, 64}}, {2, {3, 4}}, {2, {2, 3}}};
  make("matmul_int4", (uint32_t[]){PTO_FLOAT32, PTO_INT4, PTO_FLOAT32, PTO_FLOAT32}, shapes);
  refuses("matmul_int4", "matmul_int4: 64 columns in 4 blocks, which are to be of a multiple of 32 (params 1 and 2)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_pairing_of_small_floats_has_exact_sums),
      cmocka_unit_test(test_weights_of_four_bits_have_exact_sums),
      cmocka_unit_test(test_a_scale_of_nan_makes_its_row_or_column_nan),
      cmocka_unit_test(test_an_element_times_its_scale_is_an_f32),
      cmocka_unit_test(test_blocks_that_do_not_fit_are_refused),
  };
  return cmocka_run_group_tests_name("scaled", tests, NULL, NULL);
}
