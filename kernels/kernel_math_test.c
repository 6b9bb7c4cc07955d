/* SPDX-License-Identifier: MIT */
/*
 * The functions of kernel_math.h against the C library in double and reference_math.h, and each instruction set against
 * the plainest.
 *
 * Every f32 argument of the unary functions where PTO_TEST_LONG is set, and 64 times as many pairs for the binary ones;
 * else one argument in 4099.  In both cases all pairs of special values besides.  What is printed: the worst error in
 * units of the last place of f32, where it is, and how many results are not the correctly rounded ones.
 */
#include <kernels/kernel_level.h>
#include <kernels/kernel_math.h>
#include <kernels/reference_math.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(4711)
#define BATCH 4096

/* X(name, bound on the error in ulp, the exact function of a) */
#define UNARY_LIST(X)                                                                                                  \
  X(exp, 0.501, exp(a))                                                                                                \
  X(exp2, 0.501, exp2(a))                                                                                              \
  X(expm1, 0.501, expm1(a))                                                                                            \
  X(log, 0.501, log(a))                                                                                                \
  X(log2, 0.501, log2(a))                                                                                              \
  X(log1p, 0.501, log1p(a))                                                                                            \
  X(rsqrt, 0.501, pto_reference_rsqrt(a))                                                                              \
  X(sin, 0.501, sin(a))                                                                                                \
  X(cos, 0.501, cos(a))                                                                                                \
  X(tan, 0.501, tan(a))                                                                                                \
  X(asin, 0.501, asin(a))                                                                                              \
  X(acos, 0.501, acos(a))                                                                                              \
  X(atan, 0.501, atan(a))                                                                                              \
  X(sinh, 0.501, sinh(a))                                                                                              \
  X(cosh, 0.501, cosh(a))                                                                                              \
  X(tanh, 0.501, tanh(a))                                                                                              \
  X(asinh, 0.501, asinh(a))                                                                                            \
  X(acosh, 0.501, acosh(a))                                                                                            \
  X(atanh, 0.501, atanh(a))                                                                                            \
  X(erf, 0.501, erf(a))                                                                                                \
  X(sigmoid, 0.501, pto_reference_sigmoid(a))                                                                          \
  X(softplus, 0.501, pto_reference_softplus(a))                                                                        \
  X(softsign, 0.501, pto_reference_softsign(a))                                                                        \
  X(silu, 0.501, pto_reference_silu(a))                                                                                \
  X(mish, 0.501, pto_reference_mish(a))                                                                                \
  X(gelu, 0.501, pto_reference_gelu(a))                                                                                \
  X(gelu_tanh, 0.501, pto_reference_gelu_tanh(a))
/* X(name, bound, the exact function of a and b) */
#define BINARY_LIST(X)                                                                                                 \
  X(pow, 0.501, pow(a, b))                                                                                             \
  X(elu, 0.501, pto_reference_elu(a, b))
#define FUNCTION_LIST(X) UNARY_LIST(X) BINARY_LIST(X)

/* ---- the functions as loops, an instruction set at a time ---- */

#if defined(__clang__)
#define PTO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define PRAGMA(text) _Pragma(#text)
#define PUSH(target_) PRAGMA(clang attribute push(__attribute__((target(target_))), apply_to = function))
#define POP PRAGMA(clang attribute pop)
#else
#define PTO_INDEPENDENT _Pragma("GCC ivdep")
#define PRAGMA(text) _Pragma(#text)
#define PUSH(target_) PRAGMA(GCC push_options) PRAGMA(GCC target(target_))
#define POP PRAGMA(GCC pop_options)
#pragma GCC optimize("O3", "no-trapping-math")
#endif

#define PTO_LEVEL(name) name##_plain
#include <kernels/kernel_math_test.inc>
#define AT_LEVEL_plain(name) name##_plain
#if defined(__x86_64__)
PUSH("avx2,fma,f16c,bmi2")
#define PTO_LEVEL(name) name##_avx2
#include <kernels/kernel_math_test.inc>
POP PUSH("avx2,fma,f16c,bmi2,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")
#define PTO_LEVEL(name) name##_avx512
#include <kernels/kernel_math_test.inc>
    POP
#define LOOPS(name)                                                                                                    \
  { name##_plain, name##_avx2, name##_avx512 }
#else
#define LOOPS(name)                                                                                                    \
  { name##_plain, NULL, NULL }
#endif

    typedef void loop(const float *x, const float *second, float *y, uint64_t count);

static const struct function {
  const char *name;
  double bound;
  bool is_binary;
  loop *loops[PTO_LEVEL_COUNT];
  double (*exact)(double a, double b);
} * subject;

#define X(name_, bound_, expression)                                                                                   \
  static double name_##_exact(double a, double b) {                                                                    \
    (void)b;                                                                                                           \
    return expression;                                                                                                 \
  }
FUNCTION_LIST(X)
#undef X

static const struct function functions[] = {
#define X(name_, bound_, expression) {.name = #name_, .bound = bound_, .loops = LOOPS(name_), .exact = name_##_exact},
    UNARY_LIST(X)
#undef X
#define X(name_, bound_, expression)                                                                                   \
  {.name = #name_, .bound = bound_, .is_binary = true, .loops = LOOPS(name_), .exact = name_##_exact},
        BINARY_LIST(X)
#undef X
};

/* ---- errors ---- */

struct tally {
  double worst;
  float worst_x, worst_second;
  uint64_t count, off_count; /* all, and those that are not rounded correctly */
};

static double ulp_of(double value) {
  int exponent = value == 0 || !isfinite(value) ? -126 : ilogb(value);
  exponent = exponent < -126 ? -126 : exponent > 127 ? 127 : exponent;
  return ldexp(1, exponent - 23);
}

static void check_one(struct tally *tally, float x, float second, float y) {
  const double exact = subject->exact((double)x, (double)second);
  const float rounded = (float)exact;
  tally->count++;
  if (bits_of_f32(rounded) == bits_of_f32(y) || (isnan(exact) && isnan(y))) return;
  const double error = isfinite(y) && isfinite(exact) ? fabs((double)y - exact) / ulp_of(exact) : INFINITY;
  /* A zero of the wrong sign is wrong, as is a NaN or ∞ where there is none. */
  if (!(error <= subject->bound) || (rounded == 0 && y == 0))
    fail_msg("%s(%a, %a) = %a, exactly %a: off by %g ulp", subject->name, (double)x, (double)second, (double)y, exact,
             error);
  tally->off_count++;
  if (error > tally->worst) {
    tally->worst = error;
    tally->worst_x = x;
    tally->worst_second = second;
  }
}

/* All instruction sets on `count` ≤ BATCH arguments. */
static void check_batch(struct tally *tally, const float *x, const float *second, uint64_t count) {
  static float wanted[BATCH], got[BATCH];
  subject->loops[PTO_LEVEL_PLAIN](x, second, wanted, count);
  for (uint32_t level = PTO_LEVEL_PLAIN + 1; level < PTO_LEVEL_COUNT; level++) {
    if (!pto_level_is_supported(level)) continue;
    subject->loops[level](x, second, got, count);
    for (uint64_t i = 0; i < count; i++)
      if (bits_of_f32(wanted[i]) != bits_of_f32(got[i]) && !(isnan(wanted[i]) && isnan(got[i])))
        fail_msg("%s(%a, %a) is %a, and %a with %s", subject->name, (double)x[i], (double)second[i], (double)wanted[i],
                 (double)got[i], pto_level_name(level));
  }
  for (uint64_t i = 0; i < count; i++) check_one(tally, x[i], second[i], wanted[i]);
}

static void print_tally(const struct tally *tally) {
  print_message("%-10s %10" PRIu64 " results, %7" PRIu64 " not rounded correctly, worst %.6f ulp at %a", subject->name,
                tally->count, tally->off_count, tally->worst, (double)tally->worst_x);
  if (subject->is_binary) print_message(", %a", (double)tally->worst_second);
  print_message("\n");
}

/* ---- arguments ---- */

static bool is_long(void) { return getenv("PTO_TEST_LONG") != NULL; }

static void check_unary(void) {
  static float x[BATCH];
  struct tally tally = {0};
  const uint64_t step = is_long() ? 1 : 4099;
  for (uint64_t bits = 0; bits <= UINT32_MAX;) {
    uint64_t count = 0;
    for (; count < BATCH && bits <= UINT32_MAX; count++, bits += step) x[count] = f32_of_bits((uint32_t)bits);
    check_batch(&tally, x, x, count);
  }
  print_tally(&tally);
}

/* Random bits; pairs that keep a power within the range of f32; small integers. */
static void check_binary(void) {
  static float x[BATCH], second[BATCH];
  struct tally tally = {0};
  struct pto_rng rng = {SEED};
  for (uint64_t batch = 0; batch < (is_long() ? 64 : 1) * UINT64_C(256); batch++) {
    for (uint64_t i = 0; i < BATCH; i++) {
      const uint64_t draw = pto_rng_next(&rng);
      x[i] = f32_of_bits((uint32_t)draw);
      second[i] = f32_of_bits((uint32_t)(draw >> 32));
      if (i % 4 == 1) second[i] = (float)((pto_rng_unit(&rng) * 300 - 150) / log2(fabs((double)x[i])));
      if (i % 4 == 2) x[i] = (float)(0.5 + pto_rng_unit(&rng));
      if (i % 4 == 2) second[i] = (float)((pto_rng_unit(&rng) * 300 - 150) / log2((double)x[i]));
      if (i % 4 == 3) second[i] = (float)((int)(draw >> 40) % 40 - 20);
      if (i % 8 == 7) x[i] = (float)((int)(draw & 63) - 32);
    }
    check_batch(&tally, x, second, BATCH);
  }
  print_tally(&tally);
}

static void test_every_function_is_within_its_bound_and_the_same_on_every_instruction_set(void **state) {
  (void)state;
  for (subject = functions; subject < functions + PTO_ARRAY_LENGTH(functions); subject++) {
    if (subject->is_binary)
      check_binary();
    else
      check_unary();
  }
}

/* What the samples may miss: both neighbours of where a function changes its formula or its range, ends of the range,
 * subnormals, integers about 2^24, and the f32 that are nearest to multiples of π/2. */
static uint64_t special_values(float *values) {
  static const float points[] = {
      0.0f,           0x1p-149f,      0x1p-127f,       0x1p-126f,     0x1p-63f,    0x1p-25f,    0x1p-24f,
      0x1p-12f,       0.25f,          0.41421356f,     0.5f,          0.70710678f, 1.0f,        1.41421356f,
      1.5f,           2.0f,           2.4142135f,      3.0f,          3.95f,       4.0f,        9.01f,
      10.0f,          13.0f,          14.7f,           17.0f,         18.7f,       20.0f,       40.0f,
      88.72284f,      89.41599f,      103.9721f,       104.0f,        127.0f,      128.0f,      149.0f,
      150.0f,         151.0f,         255.0f,          300.0f,        700.0f,      8388607.5f,  16777215.0f,
      16777216.0f,    33554432.0f,    0x1p31f,         0x1p52f,       0x1p53f,     0x1p63f,     0x1p80f,
      0x1p108f,       0x1p127f,       0x1.fffffep127f, INFINITY,      NAN,         1.57079633f, 3.14159265f,
      0x1.f9cbe2p82f, 0x1.f37f6ap95f, 0x1.6ac5b2p85f,  0x1.fef4c6p20f};
  uint64_t count = 0;
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(points); i++)
    for (int32_t step = -1; step <= 1; step++) {
      const uint32_t bits = bits_of_f32(points[i]) + (uint32_t)step;
      if (points[i] == 0 && step < 0) continue;
      values[count++] = f32_of_bits(bits);
      values[count++] = f32_of_bits(bits ^ 0x80000000);
    }
  return count;
}

static void test_special_values_are_right_in_every_function_and_every_pair_of_them(void **state) {
  (void)state;
  static float values[BATCH], first[BATCH];
  const uint64_t count = special_values(values);
  for (subject = functions; subject < functions + PTO_ARRAY_LENGTH(functions); subject++) {
    struct tally tally = {0};
    for (uint64_t i = 0; i < (subject->is_binary ? count : 1); i++) {
      for (uint64_t j = 0; j < count; j++) first[j] = subject->is_binary ? values[i] : values[j];
      check_batch(&tally, first, values, count);
    }
    print_tally(&tally);
  }
}

static float value_of(const char *name, float x, float second) {
  float y = 0;
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(functions); i++)
    if (strcmp(functions[i].name, name) == 0) functions[i].loops[PTO_LEVEL_PLAIN](&x, &second, &y, 1);
  return y;
}

/* Written down here and not computed, against a reference that has the kernel's mistake. */
static void test_limits_at_infinity_and_exact_results_are_those_of_the_books(void **state) {
  (void)state;
  static const struct {
    const char *name;
    float x, second, y;
  } cases[] = {
      {"exp", -INFINITY, 0, 0},
      {"exp", 0, 0, 1},
      {"exp2", 10, 0, 1024},
      {"exp2", -149, 0, 0x1p-149f},
      {"expm1", -INFINITY, 0, -1},
      {"log", 1, 0, 0},
      {"log", 0, 0, -INFINITY},
      {"log2", 0x1p-149f, 0, -149},
      {"log1p", -1, 0, -INFINITY},
      {"rsqrt", 4, 0, 0.5f},
      {"rsqrt", INFINITY, 0, 0},
      {"cos", 0, 0, 1},
      {"sin", 0x1p127f, 0, 0x1.3f2c62p-1f},
      {"acos", 1, 0, 0},
      {"atan", INFINITY, 0, 0x1.921fb6p0f},
      {"tanh", -INFINITY, 0, -1},
      {"erf", INFINITY, 0, 1},
      {"sigmoid", 0, 0, 0.5f},
      {"sigmoid", -INFINITY, 0, 0},
      {"sigmoid", INFINITY, 0, 1},
      {"softplus", -INFINITY, 0, 0},
      {"softplus", INFINITY, 0, INFINITY},
      {"softsign", -INFINITY, 0, -1},
      {"silu", -INFINITY, 0, -0.0f},
      {"mish", -INFINITY, 0, -0.0f},
      {"gelu", -INFINITY, 0, -0.0f},
      {"gelu_tanh", -INFINITY, 0, -0.0f},
      {"gelu", INFINITY, 0, INFINITY},
      {"elu", -INFINITY, 2, -2},
      {"elu", 3, 2, 3},
      {"pow", NAN, 0, 1},
      {"pow", 1, NAN, 1},
      {"pow", -1, INFINITY, 1},
      {"pow", -0.0f, -3, -INFINITY},
      {"pow", -0.0f, -2, INFINITY},
      {"pow", -0.0f, 3, -0.0f},
      {"pow", -INFINITY, 3, -INFINITY},
      {"pow", -INFINITY, -3, -0.0f},
      {"pow", -INFINITY, 0.5f, INFINITY},
      {"pow", -2, 3, -8},
      {"pow", -2, 0x1p30f, INFINITY},
      {"pow", 0.5f, -INFINITY, INFINITY},
      {"pow", 3, 4, 81},
      {"pow", 2, -149, 0x1p-149f},
      {"pow", -0.0f, 0.5f, 0},
  };
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    const float y = value_of(cases[i].name, cases[i].x, cases[i].second);
    if (bits_of_f32(y) != bits_of_f32(cases[i].y))
      fail_msg("%s(%a, %a) = %a and not %a", cases[i].name, (double)cases[i].x, (double)cases[i].second, (double)y,
               (double)cases[i].y);
  }
  assert_true(isnan(value_of("pow", -2, 0.5f)) && isnan(value_of("pow", NAN, 1)) && isnan(value_of("pow", 2, NAN)));
  assert_true(isnan(value_of("log", -1, 0)) && isnan(value_of("rsqrt", -1, 0)) && isnan(value_of("sin", INFINITY, 0)));
  assert_true(isnan(value_of("asin", 1.5f, 0)) && isnan(value_of("acosh", 0.5f, 0)) && isnan(value_of("atanh", 2, 0)));
}

int main(void) {
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_limits_at_infinity_and_exact_results_are_those_of_the_books),
      cmocka_unit_test(test_special_values_are_right_in_every_function_and_every_pair_of_them),
      cmocka_unit_test(test_every_function_is_within_its_bound_and_the_same_on_every_instruction_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
