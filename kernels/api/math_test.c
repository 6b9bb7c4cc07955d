/* SPDX-License-Identifier: MIT */
/*
 * Every function of the list that is not just rounded, of one float, of two, or of one and a scalar: against its
 * reference in double, and each instruction set against the plainest.
 *
 * No function is named but where a result is written down; the program's argument is the one to try alone.  Of one
 * float: every argument there is where PTO_TEST_LONG is set, else one in 4099.  Of two: random pairs, 64 times as many
 * in the long form.  In both cases all pairs of special values besides.  What is printed: how many results are not the
 * correctly rounded ones, and the worst error in units of the last place of f32.
 */
#include <kernels/levels/loops.h>
#include <kernels/api/math.h>
#include <kernels/reference/reference.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(4711)
#define BATCH 4096

/* ---- the functions ---- */

enum kind { OTHER, OF_ONE, OF_TWO, OF_ONE_AND_SCALAR };

static const struct function {
  const char *name, *form;
  double ulps;
} functions[PTO_OP_COUNT] = {
#define X(name_, form_, dtypes, ulps_, ...) [PTO_OP_##name_] = {#name_, #form_, ulps_},
    PTO_ELEMENTWISE_LIST(X)
#undef X
};

static const char *only; /* the name of the function that is tried, or NULL */

static enum kind kind_of(uint32_t op) {
  const char *form = functions[op].form;
  if (functions[op].ulps <= 0.5) return OTHER;
  if (strcmp(form, "UNARY") == 0 || strcmp(form, "LANES") == 0) return OF_ONE;
  if (strcmp(form, "BINARY") == 0 || strcmp(form, "LANES_BINARY") == 0) return OF_TWO;
  return strcmp(form, "SCALED") == 0 || strcmp(form, "LANES_SCALED") == 0 ? OF_ONE_AND_SCALAR : OTHER;
}
static enum kind kind_tried(uint32_t op) {
  return only == NULL || strcmp(only, functions[op].name) == 0 ? kind_of(op) : OTHER;
}

/* Arguments and results of up to BATCH elements, a scalar, and what was found so far. */
struct trial {
  uint32_t op;
  float x[BATCH], second[BATCH], scalar;
  uint64_t checked, off_count; /* all results, and those that are not rounded correctly */
  double worst;
  float worst_x, worst_second;
};
static struct trial trial;

static void trial_begin(uint32_t op) {
  trial.op = op;
  trial.checked = trial.off_count = 0;
  trial.worst = 0;
  trial.worst_x = trial.worst_second = trial.scalar = 0;
}

static void trial_print(void) {
  print_message("%-10s %10" PRIu64 " results, %7" PRIu64 " not rounded correctly, worst %.6f ulp at %a",
                functions[trial.op].name, trial.checked, trial.off_count, trial.worst, (double)trial.worst_x);
  if (kind_of(trial.op) != OF_ONE) print_message(", %a", (double)trial.worst_second);
  print_message("\n");
}

static void exact_values(uint64_t count, double *value) {
  static uint64_t whole[BATCH];
  static const uint64_t stride = 1;
  const struct pto_kernel_tensor tensor = {.shape = &count, .strides = &stride, .ndims = 1, .dtype = PTO_FLOAT32};
  const union pto_scalar scalar = {.f32 = trial.scalar};
  const uint32_t out = kind_of(trial.op) == OF_TWO ? 2 : 1;
  struct pto_kernel_tensor tensors[3] = {tensor, tensor, tensor};
  struct pto_golden golden[3] = {{0}};
  tensors[0].addr = trial.x;
  tensors[1].addr = trial.second;
  golden[out] = (struct pto_golden){.value = value, .whole = whole};
  const struct pto_kernel_args args = {.tensors = tensors, .scalars = &scalar, .tensor_count = out + 1};
  pto_kernel_reference_at(trial.op)->golden(&args, golden);
}

static void check_one(float x, float second, float y, double exact) {
  const char *name = functions[trial.op].name;
  const float rounded = (float)exact;
  trial.checked++;
  if (bits_of_f32(rounded) == bits_of_f32(y) || (isnan(exact) && isnan(y))) return;
  const bool is_beyond = fabs(exact) >= 0x1.ffffffp127; /* rounds to ∞ */
  const double error = isfinite(y) && isfinite(exact) && !is_beyond
                           ? fabs((double)y - exact) / pto_reference_ulp(PTO_FLOAT32, exact)
                           : INFINITY;
  /* A zero of the wrong sign is wrong, and so is a NaN or ∞ where there is none. */
  if (!(error <= functions[trial.op].ulps) || (rounded == 0 && y == 0))
    fail_msg("%s(%a, %a) = %a, exactly %a: off by %g ulp", name, (double)x, (double)second, (double)y, exact, error);
  trial.off_count++;
  if (error > trial.worst) {
    trial.worst = error;
    trial.worst_x = x;
    trial.worst_second = second;
  }
}

/* The first `count` arguments of the trial, on all instruction sets. */
static void trial_check(uint64_t count) {
  static float wanted[BATCH], got[BATCH];
  static double exact[BATCH];
  struct pto_chunk chunk = {.count = count, .a = trial.x, .b = trial.second, .out = wanted};
  chunk.scalar.f32 = trial.scalar;
  pto_loops_at(0)->op[trial.op][PTO_CLASS_F32](&chunk);
  chunk.out = got;
  for (uint32_t set = 1; pto_loops_at(set) != NULL; set++) {
    pto_loops_at(set)->op[trial.op][PTO_CLASS_F32](&chunk);
    for (uint64_t i = 0; i < count; i++)
      if (bits_of_f32(wanted[i]) != bits_of_f32(got[i]) && !(isnan(wanted[i]) && isnan(got[i])))
        fail_msg("%s(%a, %a) is %a, and %a with %s", functions[trial.op].name, (double)trial.x[i],
                 (double)trial.second[i], (double)wanted[i], (double)got[i], pto_loops_at(set)->name);
  }
  exact_values(count, exact);
  const bool has_scalar = kind_of(trial.op) == OF_ONE_AND_SCALAR;
  for (uint64_t i = 0; i < count; i++)
    check_one(trial.x[i], has_scalar ? trial.scalar : trial.second[i], wanted[i], exact[i]);
}

/* ---- arguments ---- */

static bool is_long(void) { return getenv("PTO_TEST_LONG") != NULL; }

static void check_all_floats(void) {
  const uint64_t step = is_long() ? 1 : 4099;
  for (uint64_t bits = 0; bits <= UINT32_MAX;) {
    uint64_t count = 0;
    for (; count < BATCH && bits <= UINT32_MAX; count++, bits += step) trial.x[count] = f32_of_bits((uint32_t)bits);
    trial_check(count);
  }
}

/* Random bits; pairs that keep a power within the range of f32; small integers. */
static void check_pairs(void) {
  struct pto_rng rng = {SEED};
  for (uint64_t batch = 0; batch < (is_long() ? 64 : 1) * UINT64_C(256); batch++) {
    for (uint64_t i = 0; i < BATCH; i++) {
      const uint64_t draw = pto_rng_next(&rng);
      float *x = &trial.x[i], *y = &trial.second[i];
      *x = f32_of_bits((uint32_t)draw);
      *y = f32_of_bits((uint32_t)(draw >> 32));
      if (i % 4 == 2) *x = (float)(0.5 + pto_rng_unit(&rng));
      if (i % 4 == 1 || i % 4 == 2) *y = (float)((pto_rng_unit(&rng) * 300 - 150) / log2(fabs((double)*x)));
      if (i % 4 == 3) *y = (float)((int)(draw >> 40) % 40 - 20);
      if (i % 8 == 7) *x = (float)((int)(draw & 63) - 32);
    }
    trial_check(BATCH);
  }
}

static void test_every_function_is_within_its_ulps_and_has_the_same_bits_on_every_instruction_set(void **state) {
  (void)state;
  static const float scalars[] = {1.0f, 0.25f, -1.7f, 0x1p-130f};
  for (uint32_t op = 0; op < PTO_OP_COUNT; op++) {
    const enum kind kind = kind_tried(op);
    trial_begin(op);
    if (kind == OF_TWO) check_pairs();
    if (kind == OF_ONE) check_all_floats();
    for (uint32_t i = 0; kind == OF_ONE_AND_SCALAR && i < PTO_ARRAY_LENGTH(scalars); i++) {
      trial.scalar = scalars[i];
      check_all_floats();
    }
    if (kind != OTHER) trial_print();
  }
}

/* What the samples may miss: both neighbours of where a function changes its formula or its range, ends of the range,
 * subnormals, integers about 2^24, and the f32 that are nearest to multiples of π/2. */
static uint64_t special_values(float *values) {
  static const float points[] = {
      0.0f,           0x1p-149f,       0x1p-127f, 0x1p-126f,   0x1p-63f,    0x1p-25f,    0x1p-24f,       0x1p-12f,
      0.25f,          0.41421356f,     0.5f,      0.70710678f, 1.0f,        1.41421356f, 1.5f,           2.0f,
      0.75f,          0.984375f,       1.03125f,  0.125f,      3.9375f,     4.125f,      7.875f,         9.25f,
      172.0f,         14.875f,         18.5f,     110.0f,      2.4142135f,  3.0f,        3.95f,          4.0f,
      9.01f,          10.0f,           13.0f,     14.7f,       17.0f,       18.7f,       20.0f,          40.0f,
      87.336544f,     88.72284f,       89.41599f, 90.0f,       103.9721f,   104.0f,      127.0f,         128.0f,
      149.0f,         150.0f,          151.0f,    255.0f,      300.0f,      700.0f,      8388607.5f,     16777215.0f,
      16777216.0f,    33554432.0f,     0x1p31f,   0x1p52f,     0x1p53f,     0x1p63f,     0x1p80f,        0x1p108f,
      0x1p127f,       0x1.fffffep127f, INFINITY,  NAN,         1.57079633f, 3.14159265f, 0x1.f9cbe2p82f, 0x1.f37f6ap95f,
      0x1.6ac5b2p85f, 0x1.fef4c6p20f,  200.0f,    3216.0f};
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

static void test_special_values_and_every_pair_of_them_are_right(void **state) {
  (void)state;
  static float values[BATCH];
  const uint64_t count = special_values(values);
  for (uint32_t op = 0; op < PTO_OP_COUNT; op++) {
    const enum kind kind = kind_tried(op);
    trial_begin(op);
    for (uint64_t i = 0; i < (kind == OTHER ? 0 : kind == OF_ONE ? 1 : count); i++) {
      trial.scalar = values[i];
      for (uint64_t j = 0; j < count; j++) {
        trial.x[j] = values[j];
        trial.second[j] = values[i];
      }
      trial_check(count);
    }
    if (kind != OTHER) trial_print();
  }
}

static float value_of(enum pto_op op, float x, float second) {
  float y = 0;
  struct pto_chunk chunk = {.count = 1, .a = &x, .b = &second, .out = &y};
  chunk.scalar.f32 = second;
  pto_loops_best()->op[op][PTO_CLASS_F32](&chunk);
  return y;
}

/* Written down and not computed, against a reference that has the kernel's mistake. */
static void test_limits_at_infinity_and_exact_results_are_those_of_the_books(void **state) {
  (void)state;
  static const struct {
    enum pto_op op;
    float x, second, y;
  } cases[] = {
      {PTO_OP_exp, -INFINITY, 0, 0},
      {PTO_OP_exp, 0, 0, 1},
      {PTO_OP_exp2, 10, 0, 1024},
      {PTO_OP_exp2, -149, 0, 0x1p-149f},
      {PTO_OP_expm1, -INFINITY, 0, -1},
      {PTO_OP_log, 1, 0, 0},
      {PTO_OP_log, 0, 0, -INFINITY},
      {PTO_OP_log2, 0x1p-149f, 0, -149},
      {PTO_OP_log1p, -1, 0, -INFINITY},
      {PTO_OP_rsqrt, 4, 0, 0.5f},
      {PTO_OP_rsqrt, INFINITY, 0, 0},
      {PTO_OP_cos, 0, 0, 1},
      {PTO_OP_sin, 0x1p127f, 0, 0x1.3f2c62p-1f},
      {PTO_OP_acos, 1, 0, 0},
      {PTO_OP_atan, INFINITY, 0, 0x1.921fb6p0f},
      {PTO_OP_tanh, -INFINITY, 0, -1},
      {PTO_OP_erf, INFINITY, 0, 1},
      {PTO_OP_sigmoid, 0, 0, 0.5f},
      {PTO_OP_sigmoid, -INFINITY, 0, 0},
      {PTO_OP_sigmoid, INFINITY, 0, 1},
      {PTO_OP_softplus, -INFINITY, 0, 0},
      {PTO_OP_softplus, INFINITY, 0, INFINITY},
      {PTO_OP_softsign, -INFINITY, 0, -1},
      {PTO_OP_silu, -INFINITY, 0, -0.0f},
      {PTO_OP_mish, -INFINITY, 0, -0.0f},
      {PTO_OP_gelu, -INFINITY, 0, -0.0f},
      {PTO_OP_gelu_tanh, -INFINITY, 0, -0.0f},
      {PTO_OP_gelu, INFINITY, 0, INFINITY},
      {PTO_OP_elu, -INFINITY, 2, -2},
      {PTO_OP_elu, 3, 2, 3},
      {PTO_OP_pow, NAN, 0, 1},
      {PTO_OP_pow, 1, NAN, 1},
      {PTO_OP_pow, -1, INFINITY, 1},
      {PTO_OP_pow, -0.0f, -3, -INFINITY},
      {PTO_OP_pow, -0.0f, -2, INFINITY},
      {PTO_OP_pow, -0.0f, 3, -0.0f},
      {PTO_OP_pow, -INFINITY, 3, -INFINITY},
      {PTO_OP_pow, -INFINITY, -3, -0.0f},
      {PTO_OP_pow, -INFINITY, 0.5f, INFINITY},
      {PTO_OP_pow, -2, 3, -8},
      {PTO_OP_pow, -2, 0x1p30f, INFINITY},
      {PTO_OP_pow, 0.5f, -INFINITY, INFINITY},
      {PTO_OP_pow, 3, 4, 81},
      {PTO_OP_pow, 2, -149, 0x1p-149f},
      {PTO_OP_pow, -0.0f, 0.5f, 0},
  };
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    const float y = value_of(cases[i].op, cases[i].x, cases[i].second);
    if (bits_of_f32(y) != bits_of_f32(cases[i].y))
      fail_msg("%s(%a, %a) = %a and not %a", functions[cases[i].op].name, (double)cases[i].x, (double)cases[i].second,
               (double)y, (double)cases[i].y);
  }
  assert_true(isnan(value_of(PTO_OP_pow, -2, 0.5f)) && isnan(value_of(PTO_OP_pow, NAN, 1)) &&
              isnan(value_of(PTO_OP_pow, 2, NAN)));
  assert_true(isnan(value_of(PTO_OP_log, -1, 0)) && isnan(value_of(PTO_OP_rsqrt, -1, 0)) &&
              isnan(value_of(PTO_OP_sin, INFINITY, 0)));
  assert_true(isnan(value_of(PTO_OP_asin, 1.5f, 0)) && isnan(value_of(PTO_OP_acosh, 0.5f, 0)) &&
              isnan(value_of(PTO_OP_atanh, 2, 0)));
}

int main(int argc, char **argv) {
  only = argc > 1 ? argv[1] : NULL;
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_limits_at_infinity_and_exact_results_are_those_of_the_books),
      cmocka_unit_test(test_special_values_and_every_pair_of_them_are_right),
      cmocka_unit_test(test_every_function_is_within_its_ulps_and_has_the_same_bits_on_every_instruction_set),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
