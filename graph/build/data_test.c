/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include <graph/build/data.h>
#include <runtime/base/base.h>

/* The nearer of the two halves beside the value; of two equally near the even one. */
static void expect_nearest(double value) {
  uint16_t half = pto_fp16_from_f64(value);
  double given = pto_fp16_to_f32(half), distance = fabs(given - value);
  if (isinf(given)) {
    assert_true(fabs(value) >= 65520);
    return;
  }
  assert_true(signbit(given) == signbit(value));
  for (int step = -1; step <= 1; step += 2) {
    uint16_t other = (uint16_t)(half + step);
    if ((half & 0x7fff) == 0 && step < 0) continue;
    double beside = pto_fp16_to_f32(other);
    if (isinf(beside)) beside = copysign(65536, value); /* where the next value would be */
    assert_true(distance < fabs(beside - value) || (distance == fabs(beside - value) && !(half & 1)));
  }
}

static void test_a_half_is_the_nearest_of_a_double_ties_to_even(void **state) {
  struct pto_rng rng = {11};
  for (uint32_t h = 0; h < 0x7bff; h++) {
    double a = pto_fp16_to_f32((uint16_t)h), b = pto_fp16_to_f32((uint16_t)(h + 1)), tie = (a + b) / 2;
    expect_nearest(tie);
    expect_nearest(nextafter(tie, 0));
    expect_nearest(-nextafter(tie, INFINITY));
    expect_nearest(a + (b - a) * pto_rng_unit(&rng));
  }
  expect_nearest(65519.999999999);
  assert_int_equal(pto_fp16_from_f64(65520), 0x7c00);
  assert_int_equal(pto_fp16_from_f64(-1e300), 0xfc00);
  assert_int_equal(pto_fp16_from_f64(1e-300), 0);
  assert_int_equal(pto_fp16_from_f64(-0.0), 0x8000);
  assert_true(isnan(pto_fp16_to_f32(pto_fp16_from_f64(NAN))));
}

static void test_integers_are_held_exactly_within_their_range_and_not_beyond(void **state) {
  static const struct {
    uint32_t dtype;
    int64_t least;
    uint64_t most;
  } ranges[] = {{PTO_INT4, -8, 7},
                {PTO_UINT4, 0, 15},
                {PTO_INT8, -128, 127},
                {PTO_UINT8, 0, 255},
                {PTO_INT32, INT32_MIN, INT32_MAX},
                {PTO_UINT32, 0, UINT32_MAX},
                {PTO_INT64, INT64_MIN, INT64_MAX},
                {PTO_UINT64, 0, UINT64_MAX}};
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    uint32_t dtype = ranges[i].dtype;
    uint64_t element = 0, mask = UINT64_MAX >> (64 - pto_dtype_bits(dtype));
    assert_true(pto_graph_data_from_number(dtype, pto_number_i64(ranges[i].least), &element));
    assert_true(element == ((uint64_t)ranges[i].least & mask));
    element = 0;
    assert_true(pto_graph_data_from_number(dtype, pto_number_u64(ranges[i].most), &element));
    assert_true(element == ranges[i].most);
    if (ranges[i].least > INT64_MIN)
      assert_false(pto_graph_data_from_number(dtype, pto_number_i64(ranges[i].least - 1), &element));
    if (ranges[i].most < UINT64_MAX)
      assert_false(pto_graph_data_from_number(dtype, pto_number_u64(ranges[i].most + 1), &element));
    assert_false(pto_graph_data_from_number(dtype, pto_number_f64(0.5), &element));
    assert_true(pto_graph_data_from_number(dtype, pto_number_f64(-0.0), &element));
  }
}

static void test_floats_round_an_integer_once(void **state) {
  float single;
  /* 2^53 + 2^29 + 1 is above the tie between two floats; rounded to a double first it would be the tie. */
  assert_true(
      pto_graph_data_from_number(PTO_FLOAT32, pto_number_i64((INT64_C(1) << 53) + (INT64_C(1) << 29) + 1), &single));
  assert_true(single == 0x1p53f + 0x1p30f);
  assert_false(pto_graph_data_from_number(PTO_FLOAT16, pto_number_i64(65520), &single));
}

static void test_texts_are_numbers_where_json_has_none(void **state) {
  static const char *const none[] = {"",
                                     "-",
                                     "+1",
                                     "1.5",
                                     "1e3",
                                     "nan",
                                     "inf",
                                     " 1",
                                     "1 ",
                                     "0x1",
                                     "--1",
                                     "18446744073709551616",
                                     "-9223372036854775809",
                                     "Infinity "};
  struct pto_number n = {0};
  assert_true(pto_graph_data_parse_number("NaN", &n) && n.kind == PTO_NUMBER_F64 && isnan(n.value.f64));
  assert_true(pto_graph_data_parse_number("Infinity", &n) && n.value.f64 == INFINITY);
  assert_true(pto_graph_data_parse_number("+Infinity", &n) && n.value.f64 == INFINITY);
  assert_true(pto_graph_data_parse_number("-Infinity", &n) && n.value.f64 == -INFINITY);
  assert_true(pto_graph_data_parse_number("-9223372036854775808", &n) && n.kind == PTO_NUMBER_I64);
  assert_true(n.value.i64 == INT64_MIN);
  assert_true(pto_graph_data_parse_number("9223372036854775808", &n) && n.kind == PTO_NUMBER_U64);
  assert_true(n.value.u64 == UINT64_C(1) << 63);
  assert_true(pto_graph_data_parse_number("18446744073709551615", &n) && n.value.u64 == UINT64_MAX);
  n = pto_number_i64(7);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(none); i++) {
    assert_false(pto_graph_data_parse_number(none[i], &n));
    assert_true(n.kind == PTO_NUMBER_I64 && n.value.i64 == 7);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_half_is_the_nearest_of_a_double_ties_to_even),
      cmocka_unit_test(test_integers_are_held_exactly_within_their_range_and_not_beyond),
      cmocka_unit_test(test_floats_round_an_integer_once),
      cmocka_unit_test(test_texts_are_numbers_where_json_has_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
