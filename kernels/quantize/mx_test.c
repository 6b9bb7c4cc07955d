/* SPDX-License-Identifier: MIT */
/*
 * Blocks with a power of two: every element and every scale to the bit, against the specification's rule in double and
 * the scalar conversions; the registry's tests have the layouts and the refusals.
 */
#include <kernels/api/list.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { BLOCK = 32, BLOCKS = 600 };

static const struct format {
  uint32_t dtype;
  int most; /* exponent of the largest number */
} formats[] = {{PTO_FLOAT8_E4M3FN, 8}, {PTO_FLOAT8_E5M2, 15}, {PTO_FLOAT4_E2M1FN, 2}};

static float x[BLOCKS * BLOCK], back[BLOCKS * BLOCK];
static uint8_t y[BLOCKS * BLOCK], scale[BLOCKS];

static void run(const char *name, const struct pto_kernel_tensor tensors[3]) {
  const struct pto_kernel *kernel = pto_kernel_find(name);
  struct pto_test_call call;
  pto_test_call_init(&call, kernel);
  memcpy(call.tensors, tensors, 3 * sizeof *tensors);
  if (kernel->check(&call.args) != 0) fail_msg("%s", call.message);
  assert_int_equal(pto_test_call_run(kernel, &call.args), 0);
}

static uint8_t code_at(uint32_t dtype, uint64_t i) {
  return pto_dtype_bits(dtype) == 8 ? y[i] : (uint8_t)(y[i / 2] >> i % 2 * 4 & 15);
}

static void quantize(uint32_t dtype) {
  static const uint64_t shape[2] = {BLOCKS, BLOCK}, scales[2] = {BLOCKS, 1}, dense[2] = {BLOCK, 1}, one[2] = {1, 1};
  const struct pto_kernel_tensor forth[3] = {{x, shape, dense, 2, PTO_FLOAT32},
                                             {y, shape, dense, 2, dtype},
                                             {scale, scales, one, 2, PTO_FLOAT8_E8M0FNU}},
                                 again[3] = {forth[1], forth[2], {back, shape, dense, 2, PTO_FLOAT32}};
  run("quantize_mx", forth);
  run("dequantize_mx", again);
}

/* The rule of "OCP Microscaling Formats (MX)", 6.3. */
static void check_block(const struct format *f, uint64_t block) {
  double largest = 0;
  for (uint64_t i = 0; i < BLOCK; i++) largest = fmax(largest, fabs((double)x[block * BLOCK + i]));
  int exponent = -127;
  if (largest > 0 && ilogb(largest) - f->most > -127) exponent = ilogb(largest) - f->most;
  assert_int_equal(scale[block], exponent + 127);
  for (uint64_t i = block * BLOCK; i < (block + 1) * BLOCK; i++) {
    const double scaled = ldexp(x[i], -exponent);
    const uint8_t code = code_at(f->dtype, i);
    assert_int_equal(code, pto_small_float_from_f32(f->dtype, (float)scaled));
    assert_true((double)back[i] == ldexp(pto_small_float_to_f32(f->dtype, code), exponent));
  }
}

static void test_blocks_of_every_exponent_have_the_scale_of_their_largest(void **state) {
  (void)state;
  struct pto_rng rng = {29};
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(formats); k++) {
    for (uint64_t i = 0; i < BLOCKS * BLOCK; i++) {
      const int exponent = (int)(i / BLOCK % 278) - 149; /* of f32, its subnormals too */
      const float value = (float)ldexp(2 * pto_rng_unit(&rng) - 1, exponent < 127 ? exponent + 1 : 128);
      x[i] = pto_rng_below(&rng, 8) == 0 ? 0 : value;
    }
    memset(x + 5 * BLOCK, 0, BLOCK * sizeof *x);
    quantize(formats[k].dtype);
    for (uint64_t b = 0; b < BLOCKS; b++) check_block(&formats[k], b);
    assert_int_equal(scale[5], 0);
  }
}

/* The largest may be nearly 2^(e + 1) times the scale, which is above the largest number. */
static void test_what_is_above_the_largest_number_saturates(void **state) {
  (void)state;
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(formats); k++) {
    const double most = ldexp(1, formats[k].most + 1);
    for (uint64_t i = 0; i < BLOCKS * BLOCK; i++) x[i] = (float)(i % 2 == 0 ? most * 0.9999 : -most * 0.9999);
    quantize(formats[k].dtype);
    for (uint64_t b = 0; b < BLOCKS; b++) assert_int_equal(scale[b], 127);
    for (uint64_t i = 0; i < BLOCKS * BLOCK; i++)
      assert_int_equal(code_at(formats[k].dtype, i), pto_small_float_from_f32(formats[k].dtype, x[i]));
    assert_true((double)fabsf(back[0]) < most);
  }
}

static void test_a_block_with_a_nan_is_nan_and_an_infinity_saturates(void **state) {
  (void)state;
  for (size_t k = 0; k < PTO_ARRAY_LENGTH(formats); k++) {
    for (uint64_t i = 0; i < BLOCKS * BLOCK; i++) x[i] = 1;
    x[BLOCK + 3] = NAN;
    x[2 * BLOCK + 7] = -INFINITY;
    quantize(formats[k].dtype);
    assert_int_equal(scale[0], 127 - formats[k].most);
    assert_int_equal(scale[1], 0xff);
    assert_int_equal(scale[2], 255 - formats[k].most);
    for (uint64_t i = 0; i < BLOCK; i++) {
      assert_true(back[i] == 1);
      assert_true(isnan(back[BLOCK + i]));
      assert_true(i == 7 || back[2 * BLOCK + i] == 0);
    }
    const uint8_t code = code_at(formats[k].dtype, 2 * BLOCK + 7);
    assert_int_equal(code, pto_small_float_from_f32(formats[k].dtype, -INFINITY));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_blocks_of_every_exponent_have_the_scale_of_their_largest),
      cmocka_unit_test(test_what_is_above_the_largest_number_saturates),
      cmocka_unit_test(test_a_block_with_a_nan_is_nan_and_an_infinity_saturates),
  };
  return cmocka_run_group_tests_name("mx", tests, NULL, NULL);
}
