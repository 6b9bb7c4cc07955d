/* SPDX-License-Identifier: MIT */
/*
 * Dtypes: the list's promises, and the 16-bit floats against double arithmetic.
 *
 * The oracle of a narrowing conversion is the sorted list of all finite values of the narrow format, each computed with
 * ldexp: the answer has to be the nearest, the even one of two.  Between two neighbours the answer can change only at
 * their midpoint, so all neighbours with the floats at, just below and just above each midpoint are all there is to
 * know; random bit patterns come on top, and every one of the 2^32 floats with PTO_TEST_LONG=1.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pto/tensor.h>
#include <runtime/base/base.h>

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* One of the two formats. */
struct format {
  const char *name;
  int mantissa_bits, least_exponent; /* of a unit in the last place of subnormals */
  uint16_t infinity;
  uint16_t (*narrow)(float);
  float (*widen)(uint16_t);
};

static const struct format formats[] = {
    {"fp16", 10, -24, 0x7c00, pto_fp16_from_f32, pto_fp16_to_f32},
    {"bf16", 7, -133, 0x7f80, pto_bf16_from_f32, pto_bf16_to_f32},
};

/* The value of non-negative finite bits; of the infinity: what it would be were the exponents to go on. */
static double value_of(const struct format *f, uint32_t bits) {
  uint32_t exponent = bits >> f->mantissa_bits, mantissa = bits & ((1u << f->mantissa_bits) - 1);
  if (exponent == 0) return ldexp(mantissa, f->least_exponent);
  return ldexp(mantissa + (1u << f->mantissa_bits), f->least_exponent + (int)exponent - 1);
}

static void expect_narrow(const struct format *f, uint32_t bits, uint16_t expected) {
  uint16_t found = f->narrow(float_of(bits));
  if (found != expected)
    fail_msg("%s of float 0x%08" PRIx32 ": 0x%04x, expected 0x%04x", f->name, bits, found, expected);
  found = f->narrow(float_of(bits | 0x80000000u));
  if (found != (expected | 0x8000))
    fail_msg("%s of float 0x%08" PRIx32 ", negative: 0x%04x", f->name, bits | 0x80000000u, found);
}

static void test_every_16_bit_float_widens_to_its_value(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(formats); i++) {
    const struct format *f = &formats[i];
    for (uint32_t bits = 0; bits < f->infinity; bits++) {
      assert_true((double)f->widen((uint16_t)bits) == value_of(f, bits));
      assert_true((double)f->widen((uint16_t)(bits | 0x8000)) == -value_of(f, bits));
      assert_int_equal(signbit(f->widen((uint16_t)(bits | 0x8000))) != 0, true);
    }
    assert_true(f->widen(f->infinity) == INFINITY);
    assert_true(f->widen(f->infinity | 0x8000) == -INFINITY);
  }
}

static void test_every_16_bit_float_comes_back_from_its_float(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(formats); i++)
    for (uint32_t bits = 0; bits <= formats[i].infinity; bits++)
      expect_narrow(&formats[i], bits_of(formats[i].widen((uint16_t)bits)), (uint16_t)bits);
}

static void test_floats_around_every_midpoint_round_to_nearest_even(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(formats); i++) {
    const struct format *f = &formats[i];
    for (uint32_t bits = 0; bits < f->infinity; bits++) {
      double middle = (value_of(f, bits) + value_of(f, bits + 1)) / 2;
      uint32_t at = bits_of((float)middle);
      assert_true((double)float_of(at) == middle);
      expect_narrow(f, at, (uint16_t)(bits + bits % 2));
      expect_narrow(f, at - 1, (uint16_t)bits);
      expect_narrow(f, at + 1, (uint16_t)(bits + 1));
    }
  }
}

static void test_what_exceeds_the_largest_by_half_a_step_becomes_infinite(void **state) {
  assert_int_equal(pto_fp16_from_f32(65504.0f), 0x7bff);
  assert_int_equal(pto_fp16_from_f32(65519.996f), 0x7bff);
  assert_int_equal(pto_fp16_from_f32(65520.0f), 0x7c00);
  assert_int_equal(pto_fp16_from_f32(1e10f), 0x7c00);
  assert_int_equal(pto_fp16_from_f32(-1e10f), 0xfc00);
  assert_int_equal(pto_bf16_from_f32(float_of(0x7f7fffff)), 0x7f80);
  assert_int_equal(pto_bf16_from_f32(float_of(0x7f7f7fff)), 0x7f7f);
  assert_int_equal(pto_fp16_from_f32(INFINITY), 0x7c00);
  assert_int_equal(pto_bf16_from_f32(-INFINITY), 0xff80);
}

static void test_subnormals_are_kept_and_tiny_values_become_zero_with_their_sign(void **state) {
  assert_int_equal(pto_fp16_from_f32(ldexpf(1, -24)), 0x0001);
  assert_int_equal(pto_fp16_from_f32(ldexpf(1, -25)), 0x0000);
  assert_int_equal(pto_fp16_from_f32(nextafterf(ldexpf(1, -25), 1)), 0x0001);
  assert_int_equal(pto_fp16_from_f32(ldexpf(-1, -26)), 0x8000);
  assert_int_equal(pto_fp16_from_f32(float_of(1)), 0x0000);
  assert_int_equal(pto_bf16_from_f32(float_of(0x00010000)), 0x0001);
  assert_int_equal(pto_bf16_from_f32(float_of(0x80000001)), 0x8000);
}

static void test_nan_stays_nan_quiet_and_keeps_its_sign_and_upper_payload(void **state) {
  for (uint32_t mantissa = 1; mantissa <= 0x7fffffu; mantissa += mantissa < 64 || mantissa > 0x7fff00u ? 1 : 4093)
    for (uint32_t sign = 0; sign < 2; sign++) {
      float nan_value = float_of(sign << 31 | 0x7f800000u | mantissa);
      assert_int_equal(pto_fp16_from_f32(nan_value), sign << 15 | 0x7e00u | mantissa >> 13);
      assert_int_equal(pto_bf16_from_f32(nan_value), sign << 15 | 0x7fc0u | mantissa >> 16);
    }
  for (uint32_t bits = 0x7c01; bits <= 0x7fff; bits++) {
    assert_int_equal(bits_of(pto_fp16_to_f32((uint16_t)bits)), 0x7fc00000u | (bits & 0x3ffu) << 13);
    assert_int_equal(pto_fp16_from_f32(pto_fp16_to_f32((uint16_t)bits)), bits | 0x200u);
  }
  for (uint32_t bits = 0x7f81; bits <= 0x7fff; bits++)
    assert_int_equal(bits_of(pto_bf16_to_f32((uint16_t)bits)), (bits | 0x40u) << 16);
}

/* The nearest value's bits; *low holds the bits of the last value that is not above the magnitude, which only grows. */
static uint16_t nearest(const struct format *f, double magnitude, uint32_t *low) {
  while (*low < f->infinity && value_of(f, *low + 1) <= magnitude) ++*low;
  if (*low == f->infinity) return f->infinity;
  double below = magnitude - value_of(f, *low), above = value_of(f, *low + 1) - magnitude;
  return (uint16_t)(below < above || (below == above && *low % 2 == 0) ? *low : *low + 1);
}

static void test_floats_of_any_bits_round_to_nearest_even(void **state) {
  struct pto_rng rng = {20};
  uint64_t gap = getenv("PTO_TEST_LONG") != NULL ? 1 : 10000;
  uint32_t low[PTO_ARRAY_LENGTH(formats)] = {0};
  for (uint64_t bits = 0; bits < 0x7f800000u; bits += 1 + pto_rng_below(&rng, gap))
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(formats); i++)
      expect_narrow(&formats[i], (uint32_t)bits, nearest(&formats[i], float_of((uint32_t)bits), &low[i]));
}

static void test_the_first_nine_dtypes_have_the_order_of_the_existing_runtime(void **state) {
  static const uint32_t order[] = {PTO_FLOAT32, PTO_FLOAT16,  PTO_INT32, PTO_INT16, PTO_INT8,
                                   PTO_UINT8,   PTO_BFLOAT16, PTO_INT64, PTO_UINT64};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(order); i++) assert_int_equal(order[i], i);
}

static void test_each_dtype_has_its_size_bits_and_name(void **state) {
#define X(constant, value, name, bits, class_)                                                                         \
  assert_int_equal(pto_dtype_bits(constant), bits);                                                                    \
  assert_int_equal(pto_dtype_size(constant), (bits) < 8 ? 1 : (bits) / 8);                                             \
  assert_string_equal(pto_dtype_name(constant), name);                                                                 \
  assert_int_equal(pto_dtype_from_name(name), constant);
  PTO_DTYPE_LIST(X)
#undef X
}

static void test_long_names_are_known_too(void **state) {
  static const struct {
    const char *name;
    int dtype;
  } names[] = {{"float32", PTO_FLOAT32},
               {"float16", PTO_FLOAT16},
               {"bfloat16", PTO_BFLOAT16},
               {"int8", PTO_INT8},
               {"int16", PTO_INT16},
               {"int32", PTO_INT32},
               {"int64", PTO_INT64},
               {"uint8", PTO_UINT8},
               {"uint16", PTO_UINT16},
               {"uint32", PTO_UINT32},
               {"uint64", PTO_UINT64},
               {"int4", PTO_INT4},
               {"float8_e4m3fn", PTO_FLOAT8_E4M3FN},
               {"float8_e5m2", PTO_FLOAT8_E5M2},
               {"float8_e8m0fnu", PTO_FLOAT8_E8M0FNU},
               {"float4_e2m1fn", PTO_FLOAT4_E2M1FN},
               {"uint4", PTO_UINT4},
               {"bool", PTO_BOOL}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(names); i++)
    assert_int_equal(pto_dtype_from_name(names[i].name), names[i].dtype);
}

static void test_what_is_no_dtype_has_no_size_and_no_name(void **state) {
  static const uint32_t values[] = {PTO_DTYPE_COUNT, PTO_DTYPE_COUNT + 1, 64, UINT32_MAX};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(values); i++) {
    assert_int_equal(pto_dtype_size(values[i]), 0);
    assert_int_equal(pto_dtype_bits(values[i]), 0);
    assert_string_equal(pto_dtype_name(values[i]), "?");
  }
  assert_int_equal(pto_dtype_from_name("f33"), -1);
  assert_int_equal(pto_dtype_from_name(""), -1);
  assert_int_equal(pto_dtype_from_name("F32"), -1);
  assert_int_equal(pto_dtype_from_name("f32 "), -1);
  assert_int_equal(pto_dtype_from_name(NULL), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_16_bit_float_widens_to_its_value),
      cmocka_unit_test(test_every_16_bit_float_comes_back_from_its_float),
      cmocka_unit_test(test_floats_around_every_midpoint_round_to_nearest_even),
      cmocka_unit_test(test_what_exceeds_the_largest_by_half_a_step_becomes_infinite),
      cmocka_unit_test(test_subnormals_are_kept_and_tiny_values_become_zero_with_their_sign),
      cmocka_unit_test(test_nan_stays_nan_quiet_and_keeps_its_sign_and_upper_payload),
      cmocka_unit_test(test_floats_of_any_bits_round_to_nearest_even),
      cmocka_unit_test(test_the_first_nine_dtypes_have_the_order_of_the_existing_runtime),
      cmocka_unit_test(test_each_dtype_has_its_size_bits_and_name),
      cmocka_unit_test(test_long_names_are_known_too),
      cmocka_unit_test(test_what_is_no_dtype_has_no_size_and_no_name),
  };
  return cmocka_run_group_tests_name("dtype", tests, NULL, NULL);
}
