/* SPDX-License-Identifier: MIT */
/*
 * The floats of 8 and 4 bits against tables that are computed from their definitions: sign, exponent and mantissa, in
 * double.
 *
 * The oracle of a narrowing conversion is such a table: the answer has to be the nearest value, of two the one of the
 * even code (f8e8m0fnu: the larger), and the last one beyond it.  All midpoints of two neighbours with the floats
 * beside them are tried, all floats of 16 bits, and random ones, or every one of the 2^32 with PTO_TEST_LONG=1.
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
#include <runtime/base/dtype.h>

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

/* The OCP specifications: "8-bit Floating Point (OFP8)", table 1, and "Microscaling Formats (MX)", 5.3 and 5.4. */
static const struct format {
  uint32_t dtype;
  int exponent_bits, mantissa_bits, bias;
  bool has_sign;
  uint32_t largest; /* the code of the largest number */
  double most, least_normal, least;
} formats[] = {
    {PTO_FLOAT8_E4M3FN, 4, 3, 7, true, 0x7e, 448, 0x1p-6, 0x1p-9},
    {PTO_FLOAT8_E5M2, 5, 2, 15, true, 0x7b, 57344, 0x1p-14, 0x1p-16},
    {PTO_FLOAT8_E8M0FNU, 8, 0, 127, false, 0xfe, 0x1p127, 0x1p-127, 0x1p-127},
    {PTO_FLOAT4_E2M1FN, 2, 1, 1, true, 0x7, 6, 1, 0.5},
};
#define FORMATS PTO_ARRAY_LENGTH(formats)

static uint32_t sign_of(const struct format *f) {
  return f->has_sign ? 1u << (f->exponent_bits + f->mantissa_bits) : 0;
}

/* The value of a code without its sign that is a number. */
static double definition(const struct format *f, uint32_t code) {
  const int exponent = (int)(code >> f->mantissa_bits), mantissa = (int)(code & ((1u << f->mantissa_bits) - 1));
  if (!f->has_sign) return ldexp(1, exponent - f->bias);
  const double fraction = ldexp(mantissa, -f->mantissa_bits);
  return exponent == 0 ? ldexp(fraction, 1 - f->bias) : ldexp(1 + fraction, exponent - f->bias);
}

static double values[FORMATS][256]; /* the tables */
static double value_of(const struct format *f, uint32_t code) { return values[f - formats][code]; }

/* The code nearest to a magnitude, which is no NaN; *low: the last code at or below the one before, of which less are
 * looked at. */
static uint32_t nearest(const struct format *f, double magnitude, uint32_t *low) {
  while (*low < f->largest && value_of(f, *low + 1) <= magnitude) ++*low;
  if (*low == f->largest || magnitude <= value_of(f, 0)) return *low;
  const double below = magnitude - value_of(f, *low), above = value_of(f, *low + 1) - magnitude;
  const bool is_lower_on_tie = f->has_sign && *low % 2 == 0;
  return below < above || (below == above && is_lower_on_tie) ? *low : *low + 1;
}

static void expect(const struct format *f, uint32_t bits, uint32_t expected) {
  const uint32_t found = pto_small_float_from_f32(f->dtype, float_of(bits));
  if (found != expected)
    fail_msg("%s of float 0x%08" PRIx32 ": 0x%02x, expected 0x%02x", pto_dtype_name(f->dtype), bits, found, expected);
}

/* A magnitude and its negative. */
static void expect_both(const struct format *f, uint32_t bits, uint32_t expected) {
  expect(f, bits, expected);
  expect(f, bits | 0x80000000u, f->has_sign ? expected | sign_of(f) : bits == 0 ? 0 : 0xff);
}

static void test_every_code_widens_to_the_value_of_its_definition(void **state) {
  for (size_t i = 0; i < FORMATS; i++) {
    const struct format *f = &formats[i];
    for (uint32_t code = 0; code <= f->largest; code++) {
      const double value = pto_small_float_to_f32(f->dtype, (uint8_t)code);
      assert_true(value == value_of(f, code) && !signbit(value));
      if (!f->has_sign) continue;
      const double negative = pto_small_float_to_f32(f->dtype, (uint8_t)(code | sign_of(f)));
      assert_true(negative == -value && signbit(negative));
    }
    assert_true((double)pto_small_float_to_f32(f->dtype, (uint8_t)f->largest) == f->most);
    assert_true((double)pto_small_float_to_f32(f->dtype, f->has_sign) == f->least);
    assert_true((double)pto_small_float_to_f32(f->dtype, (uint8_t)(f->has_sign << f->mantissa_bits)) ==
                f->least_normal);
  }
}

static void test_the_codes_that_are_no_numbers_are_infinities_and_nans(void **state) {
  uint32_t nans = 0, infinities = 0;
  for (size_t i = 0; i < FORMATS; i++)
    for (uint32_t code = 0; code < 1u << pto_dtype_bits(formats[i].dtype); code++) {
      const float value = pto_small_float_to_f32(formats[i].dtype, (uint8_t)code);
      nans += isnan(value) != 0;
      infinities += isinf(value) != 0;
    }
  assert_int_equal(nans, 2 + 6 + 1); /* 0x7f and 0xff; three of each sign; 0xff */
  assert_int_equal(infinities, 2);
  assert_true(pto_small_float_to_f32(PTO_FLOAT8_E5M2, 0x7c) == INFINITY);
  assert_true(pto_small_float_to_f32(PTO_FLOAT8_E5M2, 0xfc) == -INFINITY);
  assert_true(isnan(pto_small_float_to_f32(PTO_FLOAT8_E4M3FN, 0x7f)));
  assert_true(isnan(pto_small_float_to_f32(PTO_FLOAT8_E4M3FN, 0xff)));
  assert_true(isnan(pto_small_float_to_f32(PTO_FLOAT8_E8M0FNU, 0xff)));
}

/* All of what f4e2m1fn can be. */
static void test_four_bits_are_sixteen_values(void **state) {
  static const float magnitudes[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (uint32_t code = 0; code < 16; code++) {
    const float value = pto_small_float_to_f32(PTO_FLOAT4_E2M1FN, (uint8_t)code);
    assert_true(fabsf(value) == magnitudes[code % 8] && (signbit(value) != 0) == (code >= 8));
  }
}

static void test_every_code_comes_back_from_its_float(void **state) {
  for (size_t i = 0; i < FORMATS; i++)
    for (uint32_t code = 0; code <= formats[i].largest; code++)
      expect_both(&formats[i], bits_of(pto_small_float_to_f32(formats[i].dtype, (uint8_t)code)), code);
}

static void test_floats_around_every_midpoint_round_to_nearest(void **state) {
  for (size_t i = 0; i < FORMATS; i++) {
    const struct format *f = &formats[i];
    for (uint32_t code = 0; code < f->largest; code++) {
      const double middle = (value_of(f, code) + value_of(f, code + 1)) / 2;
      const uint32_t at = bits_of((float)middle);
      assert_true((double)float_of(at) == middle);
      expect_both(f, at, f->has_sign ? code + code % 2 : code + 1);
      expect_both(f, at - 1, code);
      expect_both(f, at + 1, code + 1);
    }
  }
}

static void test_what_is_beyond_the_largest_is_the_largest(void **state) {
  static const float factors[] = {1.0f, 1.0000001f, 1.03f, 1.06f, 1.07f, 1.13f, 1.25f, 1.5f, 2, 1e9f, INFINITY};
  for (size_t i = 0; i < FORMATS; i++) {
    for (size_t k = 0; k < PTO_ARRAY_LENGTH(factors); k++)
      expect_both(&formats[i], bits_of((float)formats[i].most * factors[k]), formats[i].largest);
    expect_both(&formats[i], 0x7f7fffff, formats[i].largest);
    expect_both(&formats[i], 0x7f800000, formats[i].largest);
  }
}

static void test_zeros_keep_their_sign_and_tiny_values_become_the_smallest(void **state) {
  for (size_t i = 0; i < FORMATS; i++) {
    const struct format *f = &formats[i];
    expect_both(f, 0, 0);
    expect_both(f, 1, 0);
    if (!f->has_sign) continue;
    const uint32_t half = bits_of((float)f->least / 2);
    expect_both(f, half, 0); /* a tie, and 0 is even */
    expect_both(f, half + 1, 1);
    expect_both(f, 0x00800000, 0);
  }
  expect_both(&formats[2], 0x00400000, 0); /* 2^-127, which f32 has as a subnormal */
  expect_both(&formats[2], 0x003fffff, 0);
}

static void test_nan_stays_nan_with_its_sign_and_becomes_6_where_there_is_none(void **state) {
  for (uint32_t mantissa = 1; mantissa <= 0x7fffffu; mantissa += mantissa < 64 || mantissa > 0x7fff00u ? 1 : 4093)
    for (uint32_t sign = 0; sign < 2; sign++) {
      const uint32_t bits = sign << 31 | 0x7f800000u | mantissa;
      expect(&formats[0], bits, sign << 7 | 0x7f);
      expect(&formats[1], bits, sign << 7 | 0x7e | mantissa >> 21);
      expect(&formats[2], bits, 0xff);
      expect(&formats[3], bits, 7);
    }
  for (uint32_t code = 0x7d; code <= 0x7f; code++)
    assert_int_equal(bits_of(pto_small_float_to_f32(PTO_FLOAT8_E5M2, (uint8_t)code)), 0x7fc00000u | (code & 3) << 21);
}

/* Whatever is narrowed from 16 bits. */
static void test_every_16_bit_float_rounds_to_nearest(void **state) {
  float (*const widen[])(uint16_t) = {pto_fp16_to_f32, pto_bf16_to_f32};
  static const uint32_t infinity[] = {0x7c00, 0x7f80};
  for (size_t k = 0; k < 2; k++)
    for (size_t i = 0; i < FORMATS; i++) {
      uint32_t low = 0;
      for (uint32_t half = 0; half <= infinity[k]; half++) {
        const float value = widen[k]((uint16_t)half);
        expect_both(&formats[i], bits_of(value), nearest(&formats[i], value, &low));
      }
    }
}

static void test_floats_of_any_bits_round_to_nearest(void **state) {
  struct pto_rng rng = {23};
  const uint64_t gap = getenv("PTO_TEST_LONG") != NULL ? 1 : 20000;
  uint32_t low[FORMATS] = {0};
  for (uint64_t bits = 0; bits < 0x7f800000u; bits += 1 + pto_rng_below(&rng, gap))
    for (size_t i = 0; i < FORMATS; i++)
      expect_both(&formats[i], (uint32_t)bits, nearest(&formats[i], float_of((uint32_t)bits), &low[i]));
}

static void test_other_dtypes_are_no_small_floats(void **state) {
  for (uint32_t dtype = 0; dtype <= PTO_DTYPE_COUNT; dtype++) {
    bool is_one = false;
    for (size_t i = 0; i < FORMATS; i++) is_one = is_one || formats[i].dtype == dtype;
    assert_int_equal(pto_dtype_is_small_float(dtype), is_one);
    if (is_one) continue;
    assert_true(pto_small_float_to_f32(dtype, 0x38) == 0);
    assert_int_equal(pto_small_float_from_f32(dtype, 1), 0);
  }
}

int main(void) {
  for (size_t i = 0; i < FORMATS; i++)
    for (uint32_t code = 0; code <= formats[i].largest; code++) values[i][code] = definition(&formats[i], code);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_code_widens_to_the_value_of_its_definition),
      cmocka_unit_test(test_the_codes_that_are_no_numbers_are_infinities_and_nans),
      cmocka_unit_test(test_four_bits_are_sixteen_values),
      cmocka_unit_test(test_every_code_comes_back_from_its_float),
      cmocka_unit_test(test_floats_around_every_midpoint_round_to_nearest),
      cmocka_unit_test(test_what_is_beyond_the_largest_is_the_largest),
      cmocka_unit_test(test_zeros_keep_their_sign_and_tiny_values_become_the_smallest),
      cmocka_unit_test(test_nan_stays_nan_with_its_sign_and_becomes_6_where_there_is_none),
      cmocka_unit_test(test_every_16_bit_float_rounds_to_nearest),
      cmocka_unit_test(test_floats_of_any_bits_round_to_nearest),
      cmocka_unit_test(test_other_dtypes_are_no_small_floats),
  };
  return cmocka_run_group_tests_name("small_floats", tests, NULL, NULL);
}
