/* SPDX-License-Identifier: MIT */
/* Oracles: the tensor module's scalar conversions, the C library in double, exact integer arithmetic; and each
 * instruction set against the plainest. */
#include <kernels/levels/loops.h>
#include <tests/support/kernel_call.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(77)
#define MAX_COUNT 131
#define GAP 0xa5

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Any bit pattern; every fourth one special. */
static float any_float(struct pto_rng *rng) {
  static const uint32_t specials[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001,
                                      0x80000001, 0x3f800000, 0x7f7fffff, 0x00800000, 0x33000000, 0x477fefff};
  const uint64_t draw = pto_rng_next(rng);
  return float_of(draw % 4 == 0 ? specials[draw / 4 % PTO_ARRAY_LENGTH(specials)] : (uint32_t)(draw >> 32));
}

static void test_there_is_always_a_set_and_the_best_is_one_of_them(void **state) {
  (void)state;
  uint32_t count = 0;
  bool is_listed = false;
  for (; pto_loops_at(count) != NULL; count++) {
    print_message("%s\n", pto_loops_at(count)->name);
    is_listed = is_listed || pto_loops_at(count) == pto_loops_best();
  }
  assert_true(count > 0 && is_listed);
}

/* Small, of any size, and within 2 of a limit of some width. */
static uint64_t any_whole(struct pto_rng *rng) {
  switch (pto_rng_below(rng, 3)) {
  case 0:
    return pto_rng_below(rng, 200) - 100;
  case 1:
    return pto_rng_next(rng);
  default:
    return (UINT64_C(1) << (8 * (1 + pto_rng_below(rng, 8)) - 1)) + pto_rng_below(rng, 5) - 2;
  }
}

/* Bits of any kind: random, and at the limits of every width. */
static void any_elements(enum pto_class class_, void *elements, uint64_t count, struct pto_rng *rng) {
  const uint64_t size = pto_dtype_size(pto_class_dtype(class_));
  for (uint64_t i = 0; i < count; i++) {
    uint64_t value = any_whole(rng) & (class_ == PTO_CLASS_BOOL ? 1 : UINT64_MAX);
    const float real = any_float(rng);
    if (class_ == PTO_CLASS_F32) value = bits_of(real);
    memcpy((char *)elements + i * size, &value, size); /* low bytes first: little-endian */
  }
}

/* The same bits, or two NaN. */
static void assert_same(const char *what, bool are_floats, const void *wanted, const void *got, uint64_t size_bytes) {
  const float *x = wanted, *y = got;
  if (!are_floats && memcmp(wanted, got, size_bytes) != 0) fail_msg("%s differs", what);
  for (uint64_t i = 0; are_floats && i < size_bytes / sizeof(float); i++)
    if (bits_of(x[i]) != bits_of(y[i]) && !(x[i] != x[i] && y[i] != y[i]))
      fail_msg("%s differs at element %" PRIu64 ": %a and %a", what, i, (double)x[i], (double)y[i]);
}

static void check_operation(uint32_t set, uint32_t op, enum pto_class class_, struct pto_rng *rng) {
  static uint64_t a[MAX_COUNT], b[MAX_COUNT], c[MAX_COUNT], wanted[MAX_COUNT], got[MAX_COUNT];
  for (uint64_t count = 0; count <= MAX_COUNT; count += 1 + count / 3) {
    any_elements(op == PTO_OP_select ? PTO_CLASS_BOOL : class_, a, MAX_COUNT, rng);
    any_elements(class_, b, MAX_COUNT, rng);
    any_elements(class_, c, MAX_COUNT, rng);
    memset(wanted, 0, sizeof wanted);
    memset(got, 0, sizeof got);
    struct pto_chunk chunk = {.count = count, .a = a, .b = b, .c = c, .out = wanted};
    any_elements(class_ == PTO_CLASS_F32 ? PTO_CLASS_F32 : PTO_CLASS_I64, &chunk.scalar, 1, rng);
    any_elements(class_ == PTO_CLASS_F32 ? PTO_CLASS_F32 : PTO_CLASS_I64, &chunk.scalar2, 1, rng);
    pto_loops_at(0)->op[op][class_](&chunk);
    chunk.out = got;
    pto_loops_at(set)->op[op][class_](&chunk);
    char what[128];
    snprintf(what, sizeof what, "%s: %" PRIu64 " elements of operation %u in class %u", pto_loops_at(set)->name, count,
             op, class_);
    assert_same(what, class_ == PTO_CLASS_F32, wanted, got, sizeof wanted);
  }
}

static void test_every_set_gives_the_same_bits_for_every_operation(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  uint32_t checked = 0;
  for (uint32_t set = 1; pto_loops_at(set) != NULL; set++)
    for (uint32_t op = 0; op < PTO_OP_COUNT; op++)
      for (uint32_t class_ = 0; class_ < PTO_CLASS_COUNT; class_++) {
        assert_int_equal(pto_loops_at(set)->op[op][class_] == NULL, pto_loops_at(0)->op[op][class_] == NULL);
        if (pto_loops_at(set)->op[op][class_] == NULL) continue;
        check_operation(set, op, class_, &rng);
        checked++;
      }
  print_message("%u loops\n", checked);
}

static void test_every_set_gives_the_same_bits_for_every_cast(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  static uint64_t from[MAX_COUNT], wanted[MAX_COUNT], got[MAX_COUNT];
  for (uint32_t set = 1; pto_loops_at(set) != NULL; set++)
    for (uint32_t a = 0; a < PTO_CLASS_COUNT; a++)
      for (uint32_t b = 0; b < PTO_CAST_COUNT; b++)
        for (uint64_t count = 0; count <= MAX_COUNT; count += 1 + count / 3) {
          any_elements(a, from, MAX_COUNT, &rng);
          memset(wanted, 0, sizeof wanted);
          memset(got, 0, sizeof got);
          pto_loops_at(0)->cast[a][b](wanted, from, count);
          pto_loops_at(set)->cast[a][b](got, from, count);
          char what[128];
          snprintf(what, sizeof what, "%s: %" PRIu64 " elements of the cast of class %u to %u", pto_loops_at(set)->name,
                   count, a, b);
          assert_same(what, b == PTO_CLASS_F32 || b == PTO_CLASS_F32_ODD, wanted, got, sizeof wanted);
        }
}

/* Loads and stores, at every stride up to 3 elements; what lies between is left alone. */
static void test_every_set_moves_the_same_bits(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  static char from[3 * 8 * MAX_COUNT], wanted[3 * 8 * MAX_COUNT], got[3 * 8 * MAX_COUNT];
  for (uint32_t set = 0; pto_loops_at(set) != NULL; set++)
    for (uint32_t class_ = 0; class_ < PTO_CLASS_COUNT; class_++)
      for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
        for (uint64_t step = 0; step <= 3 && pto_loops_at(0)->load[class_][dtype] != NULL; step++) {
          const uint64_t count = pto_rng_below(&rng, MAX_COUNT), step_bytes = step * pto_dtype_size(dtype);
          any_elements(PTO_CLASS_U64, from, sizeof from / 8, &rng);
          memset(wanted, GAP, sizeof wanted);
          memset(got, GAP, sizeof got);
          pto_loops_at(0)->load[class_][dtype](wanted, from, step_bytes, count);
          pto_loops_at(set)->load[class_][dtype](got, from, step_bytes, count);
          assert_memory_equal(wanted, got, sizeof wanted);
          if (step == 0) continue; /* a store to one place is of no use */
          memset(wanted, GAP, sizeof wanted);
          memset(got, GAP, sizeof got);
          pto_loops_at(0)->store[class_][dtype](from, wanted, step_bytes, count);
          pto_loops_at(set)->store[class_][dtype](from, got, step_bytes, count);
          assert_memory_equal(wanted, got, sizeof wanted);
        }
}

static void test_all_16_bit_floats_load_as_the_scalar_conversion_says(void **state) {
  (void)state;
  static uint16_t stored[65536];
  static float loaded[65536];
  for (uint32_t i = 0; i < 65536; i++) stored[i] = (uint16_t)i;
  for (uint32_t set = 0; pto_loops_at(set) != NULL; set++) {
    pto_loops_at(set)->load[PTO_CLASS_F32][PTO_FLOAT16](loaded, (const char *)stored, 2, 65536);
    for (uint32_t i = 0; i < 65536; i++)
      if (bits_of(loaded[i]) != bits_of(pto_fp16_to_f32((uint16_t)i)))
        fail_msg("%s: fp16 %04x loads as %08x", pto_loops_at(set)->name, i, bits_of(loaded[i]));
    pto_loops_at(set)->load[PTO_CLASS_F32][PTO_BFLOAT16](loaded, (const char *)stored, 2, 65536);
    for (uint32_t i = 0; i < 65536; i++)
      if (bits_of(loaded[i]) != bits_of(pto_bf16_to_f32((uint16_t)i)))
        fail_msg("%s: bf16 %04x loads as %08x", pto_loops_at(set)->name, i, bits_of(loaded[i]));
  }
}

/* Every sign, exponent and upper mantissa, with lower mantissas on and beside the ties of both formats. */
static void test_floats_store_in_16_bits_as_the_scalar_conversion_says(void **state) {
  (void)state;
  static const uint32_t lows[] = {0,      1,      0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001,
                                  0x7fff, 0x8000, 0x8001, 0xefff, 0xf000, 0xf001, 0xffff};
  static float values[65536];
  static uint16_t stored[65536];
  for (uint32_t set = 0; pto_loops_at(set) != NULL; set++)
    for (uint32_t low = 0; low < PTO_ARRAY_LENGTH(lows); low++) {
      for (uint32_t i = 0; i < 65536; i++) values[i] = float_of(i << 16 | lows[low]);
      pto_loops_at(set)->store[PTO_CLASS_F32][PTO_FLOAT16](values, (char *)stored, 2, 65536);
      for (uint32_t i = 0; i < 65536; i++)
        if (stored[i] != pto_fp16_from_f32(values[i]))
          fail_msg("%s: %a stores as fp16 %04x", pto_loops_at(set)->name, (double)values[i], stored[i]);
      pto_loops_at(set)->store[PTO_CLASS_F32][PTO_BFLOAT16](values, (char *)stored, 2, 65536);
      for (uint32_t i = 0; i < 65536; i++)
        if (stored[i] != pto_bf16_from_f32(values[i]))
          fail_msg("%s: %a stores as bf16 %04x", pto_loops_at(set)->name, (double)values[i], stored[i]);
    }
}

static const uint32_t small_floats[] = {PTO_FLOAT8_E4M3FN, PTO_FLOAT8_E5M2, PTO_FLOAT8_E8M0FNU, PTO_FLOAT4_E2M1FN};

static void test_all_small_floats_load_as_the_scalar_conversion_says(void **state) {
  (void)state;
  static uint8_t stored[257];
  static float loaded[514];
  for (uint32_t i = 0; i < 256; i++) stored[i] = (uint8_t)i;
  for (uint32_t set = 0; pto_loops_at(set) != NULL; set++)
    for (uint32_t k = 0; k < PTO_ARRAY_LENGTH(small_floats); k++) {
      const uint32_t dtype = small_floats[k], per_byte = 8 / pto_dtype_bits(dtype), count = 256 * per_byte;
      pto_loops_at(set)->load[PTO_CLASS_F32][dtype](loaded, (const char *)stored, 1, count);
      for (uint32_t i = 0; i < count; i++) {
        const uint8_t code = per_byte == 1 ? (uint8_t)i : (uint8_t)(i / 2 >> i % 2 * 4 & 15);
        if (bits_of(loaded[i]) != bits_of(pto_small_float_to_f32(dtype, code)))
          fail_msg("%s: %s %02x loads as %08x", pto_loops_at(set)->name, pto_dtype_name(dtype), code,
                   bits_of(loaded[i]));
      }
    }
}

/* Every sign, exponent and upper mantissa, with lower mantissas on and beside the ties. */
static void test_floats_store_in_8_and_4_bits_as_the_scalar_conversion_says(void **state) {
  (void)state;
  static const uint32_t lows[] = {0, 1, 0x7fff, 0x8000, 0xffff};
  static float values[65536];
  static uint8_t stored[65536];
  for (uint32_t set = 0; pto_loops_at(set) != NULL; set++)
    for (uint32_t low = 0; low < PTO_ARRAY_LENGTH(lows); low++) {
      for (uint32_t i = 0; i < 65536; i++) values[i] = float_of(i << 16 | lows[low]);
      for (uint32_t k = 0; k < PTO_ARRAY_LENGTH(small_floats); k++) {
        const uint32_t dtype = small_floats[k];
        pto_loops_at(set)->store[PTO_CLASS_F32][dtype](values, (char *)stored, 1, 65536);
        for (uint32_t i = 0; i < 65536; i++) {
          const uint8_t code = pto_dtype_bits(dtype) == 8 ? stored[i] : (uint8_t)(stored[i / 2] >> i % 2 * 4 & 15);
          if (code != pto_small_float_from_f32(dtype, values[i]))
            fail_msg("%s: %a stores as %s %02x", pto_loops_at(set)->name, (double)values[i], pto_dtype_name(dtype),
                     code);
        }
      }
    }
}

/* Half a million floats of a range of bit patterns: none off by `ulps` units in the last place, and at most one in
 * `one_in` not rounded correctly. */
static void check_rounding(enum pto_op op, double (*reference)(double), const uint32_t range[2], double ulps,
                           uint64_t one_in) {
  enum { BATCH = 1024 };
  static float x[BATCH], y[BATCH];
  const uint32_t end = range[1], stride = (end - range[0]) / 500000 | 1;
  double worst = 0;
  uint64_t off_count = 0, all_count = 0;
  for (uint32_t bits = range[0]; bits < end;) {
    uint64_t count = 0;
    for (; count < BATCH && bits < end; count++, bits += stride) x[count] = float_of(bits);
    pto_loops_best()->op[op][PTO_CLASS_F32](&(struct pto_chunk){.count = count, .a = x, .out = y});
    all_count += count;
    for (uint64_t i = 0; i < count; i++) {
      const double right = reference((double)x[i]);
      if ((float)right == y[i]) continue;
      off_count++;
      worst = fmax(worst, fabs((double)y[i] - right) / pto_reference_ulp(PTO_FLOAT32, right));
    }
  }
  print_message("%" PRIu64 " of %" PRIu64 " not rounded correctly, worst %.6f ulp\n", off_count, all_count, worst);
  assert_true(worst < ulps);
  assert_true(off_count * one_in <= all_count);
}

static void test_exp_is_off_by_less_than_seven_tenths_of_a_unit_and_rounded_correctly_but_for_one_in_100(void **state) {
  (void)state;
  check_rounding(PTO_OP_exp, exp, (uint32_t[]){bits_of(0x1p-26f), bits_of(88.7f)}, 0.7, 100);
  check_rounding(PTO_OP_exp, exp, (uint32_t[]){bits_of(-0x1p-26f), bits_of(-87.3f)}, 0.7, 100);
}
static void test_subnormal_results_of_exp_are_off_by_less_than_eight_tenths_of_a_unit(void **state) {
  (void)state;
  check_rounding(PTO_OP_exp, exp, (uint32_t[]){bits_of(-87.3f), bits_of(-104.5f)}, 0.8, 10);
}

static void
test_log2_is_off_by_less_than_seven_tenths_of_a_unit_and_rounded_correctly_but_for_one_in_1000(void **state) {
  (void)state;
  check_rounding(PTO_OP_log2, log2, (uint32_t[]){1, 0x7f800000}, 0.7, 1000);
  check_rounding(PTO_OP_log2, log2, (uint32_t[]){bits_of(0.5f), bits_of(2.0f)}, 0.7, 30);
}
static void
test_log_is_off_by_less_than_eight_tenths_of_a_unit_and_rounded_correctly_but_for_one_in_1000(void **state) {
  (void)state;
  check_rounding(PTO_OP_log, log, (uint32_t[]){1, 0x7f800000}, 0.8, 1000);
  check_rounding(PTO_OP_log, log, (uint32_t[]){bits_of(0.5f), bits_of(2.0f)}, 0.8, 30);
}

static float one(enum pto_op op, float a, float b) {
  float y = 0;
  pto_loops_best()->op[op][PTO_CLASS_F32](&(struct pto_chunk){.count = 1, .a = &a, .b = &b, .out = &y});
  return y;
}

static void test_special_values_follow_ieee_754(void **state) {
  (void)state;
  const float inf = INFINITY, nan_value = NAN;
  assert_true(one(PTO_OP_exp, inf, 0) == inf && one(PTO_OP_exp, -inf, 0) == 0 && one(PTO_OP_exp, 0, 0) == 1);
  assert_true(isnan(one(PTO_OP_exp, nan_value, 0)));
  assert_true(one(PTO_OP_exp, 88.8f, 0) == inf && one(PTO_OP_exp, 88.7f, 0) < inf);
  assert_true(one(PTO_OP_exp, -103.9f, 0) == 0x1p-149f && one(PTO_OP_exp, -104.1f, 0) == 0);
  assert_true(one(PTO_OP_log, inf, 0) == inf && one(PTO_OP_log, 0.0f, 0) == -inf && one(PTO_OP_log, -0.0f, 0) == -inf);
  assert_true(isnan(one(PTO_OP_log, -1, 0)) && isnan(one(PTO_OP_log, -inf, 0)) && isnan(one(PTO_OP_log, nan_value, 0)));
  assert_true(one(PTO_OP_log, 1, 0) == 0);
  assert_true(isnan(one(PTO_OP_sqrt, -1, 0)) && isnan(one(PTO_OP_div, 0, 0)) && one(PTO_OP_div, -1, 0) == -inf);
  assert_true(isnan(one(PTO_OP_maximum, nan_value, 1)) && isnan(one(PTO_OP_maximum, 1, nan_value)));
  assert_true(isnan(one(PTO_OP_minimum, nan_value, 1)) && isnan(one(PTO_OP_minimum, 1, nan_value)));
  assert_true(isnan(one(PTO_OP_relu, nan_value, 0)) && one(PTO_OP_relu, -inf, 0) == 0 &&
              one(PTO_OP_relu, inf, 0) == inf);
}

static int64_t one_i64(enum pto_op op, int64_t a, int64_t b) {
  int64_t y = 0;
  pto_loops_best()->op[op][PTO_CLASS_I64](&(struct pto_chunk){.count = 1, .a = &a, .b = &b, .out = &y});
  return y;
}
static uint64_t one_u64(enum pto_op op, uint64_t a, uint64_t b) {
  uint64_t y = 0;
  pto_loops_best()->op[op][PTO_CLASS_U64](&(struct pto_chunk){.count = 1, .a = &a, .b = &b, .out = &y});
  return y;
}

static void test_integers_wrap_and_divide_as_documented(void **state) {
  (void)state;
  assert_true(one_i64(PTO_OP_add, INT64_MAX, 1) == INT64_MIN);
  assert_true(one_i64(PTO_OP_sub, INT64_MIN, 1) == INT64_MAX);
  assert_true(one_i64(PTO_OP_neg, INT64_MIN, 0) == INT64_MIN);
  assert_true(one_i64(PTO_OP_mul, INT64_C(0x100000001), INT64_C(0x100000001)) == INT64_C(0x200000001));
  assert_true(one_i64(PTO_OP_div, INT64_MIN, -1) == INT64_MIN);
  assert_true(one_i64(PTO_OP_div, -7, 2) == -3 && one_i64(PTO_OP_div, 7, -2) == -3 && one_i64(PTO_OP_div, 7, 0) == 0);
  assert_true(one_u64(PTO_OP_div, UINT64_MAX, 2) == INT64_MAX && one_u64(PTO_OP_div, 7, 0) == 0);
  assert_true(one_u64(PTO_OP_maximum, UINT64_MAX, 1) == UINT64_MAX && one_i64(PTO_OP_maximum, -1, 1) == 1);
  assert_true(one_u64(PTO_OP_minimum, UINT64_MAX, 1) == 1 && one_i64(PTO_OP_minimum, -1, 1) == -1);
  assert_true(one_u64(PTO_OP_relu, UINT64_MAX, 0) == UINT64_MAX && one_i64(PTO_OP_relu, -1, 0) == 0);
}

int main(void) {
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_there_is_always_a_set_and_the_best_is_one_of_them),
      cmocka_unit_test(test_every_set_gives_the_same_bits_for_every_operation),
      cmocka_unit_test(test_every_set_gives_the_same_bits_for_every_cast),
      cmocka_unit_test(test_every_set_moves_the_same_bits),
      cmocka_unit_test(test_all_16_bit_floats_load_as_the_scalar_conversion_says),
      cmocka_unit_test(test_floats_store_in_16_bits_as_the_scalar_conversion_says),
      cmocka_unit_test(test_all_small_floats_load_as_the_scalar_conversion_says),
      cmocka_unit_test(test_floats_store_in_8_and_4_bits_as_the_scalar_conversion_says),
      cmocka_unit_test(test_exp_is_off_by_less_than_seven_tenths_of_a_unit_and_rounded_correctly_but_for_one_in_100),
      cmocka_unit_test(test_subnormal_results_of_exp_are_off_by_less_than_eight_tenths_of_a_unit),
      cmocka_unit_test(test_log2_is_off_by_less_than_seven_tenths_of_a_unit_and_rounded_correctly_but_for_one_in_1000),
      cmocka_unit_test(test_log_is_off_by_less_than_eight_tenths_of_a_unit_and_rounded_correctly_but_for_one_in_1000),
      cmocka_unit_test(test_special_values_follow_ieee_754),
      cmocka_unit_test(test_integers_wrap_and_divide_as_documented),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
