/* SPDX-License-Identifier: MIT */
/*
 * Elementwise kernels and casts on every value where a dtype has few, and on all that is odd where it has many.
 * Oracle: the references, at every instruction set.  No operation is named but cast.
 */
#include <kernels/levels/level.h>
#include <kernels/api/list.h>
#include <check/trial/trial.h>
#include <tests/support/trial_help.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SEED UINT64_C(4711)
#define ALL 65536
#define SIDE 256   /* ALL = SIDE · SIDE */
#define SCALARS 12 /* draws of a kernel's scalars */

static struct pto_trial trial;
static struct pto_trial_case c;

/* One dimension of `count` elements.  The kernel's own check must take the dtypes that are set in the case. */
static void make(uint32_t kernel, uint64_t count, uint64_t draw) {
  const struct pto_reference_sizes sizes = {.rank = 1, .extents = {count}, .draw = draw};
  pto_trial_init(&trial, kernel);
  assert_true(pto_trial_sizes(&trial, &sizes, &c));
  c.layout = PTO_LAYOUT_CONTIGUOUS;
  c.seed = SEED;
  assert_int_equal(pto_trial_check(&trial, &c), PTO_OK);
  assert_int_equal(pto_trial_make(&trial, &c), PTO_OK);
}

/* Runs what was made at each level. */
static void judge(void) {
  assert_int_equal(pto_trial_expect(&trial), PTO_OK);
  for (uint32_t level = 0; level < PTO_LEVEL_COUNT; level++) {
    if (!pto_level_is_supported(level)) continue;
    pto_level_limit(level);
    pto_trial_restore(&trial);
    assert_int_equal(pto_trial_run(&trial), PTO_OK);
    for (uint32_t i = 0; i < trial.args.tensor_count; i++) {
      struct pto_trial_error error;
      char text[256];
      if (!pto_trial_is_written(trial.params[i])) continue;
      pto_trial_judge(&trial, i, &error);
      if (error.wrong_count == 0) continue;
      pto_trial_describe(&trial, &c, text, sizeof text);
      fail_msg("%s: %s: %" PRIu64 " elements are wrong, the first from %#" PRIx64 ": got %.17g, reference %.17g", text,
               pto_level_name(level), error.wrong_count, pto_reference_bits(&trial.views[0], error.index), error.got,
               error.value);
    }
  }
  pto_level_limit(PTO_LEVEL_COUNT - 1);
  pto_trial_fini(&trial);
}

static uint32_t input_count(void) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < trial.args.tensor_count; i++) count += pto_trial_is_read(trial.params[i]) ? 1 : 0;
  return count;
}

/* Sets the case's dtypes to `dtype` wherever a parameter leaves a choice; false where one has others only. */
static bool choose(uint32_t kernel, uint32_t dtype) {
  bool is_used = false;
  pto_trial_init(&trial, kernel);
  for (uint32_t i = 0; i < trial.args.tensor_count; i++) {
    const uint32_t set = pto_trial_dtypes(trial.params[i]);
    const bool is_only_bool = set == PTO_DTYPE_BIT(PTO_BOOL);
    if (!is_only_bool && (set & PTO_DTYPE_BIT(dtype)) == 0) return false;
    c.dtypes[i] = is_only_bool ? PTO_BOOL : dtype;
    is_used = is_used || c.dtypes[i] == dtype;
  }
  return is_used;
}

/* Value `index` of a list of SIDE that holds what is odd in a dtype: around every power of two and the limits, and for
 * floats signs, subnormals, ∞ and NaN among every exponent. */
static uint64_t odd_value(uint32_t dtype, uint64_t index) {
  const uint32_t bits = pto_dtype_bits(dtype);
  if ((PTO_DTYPES_FLOAT & PTO_DTYPE_BIT(dtype)) != 0) {
    const uint64_t exponents = index / 2 % 64, mantissa = index / 128;
    const uint64_t high = (index % 2) << 8 | (exponents < 32 ? exponents : 224 + exponents - 32);
    return bits == 32 ? high << 23 | mantissa << 22 | (mantissa == 0 ? 0 : 1) : (high << 7 | mantissa << 6) & 0xffff;
  }
  const uint64_t power = index / 4 % 64, around = index % 4;
  return (UINT64_C(1) << power) + around - 2;
}

/* Every pair of 8-bit values, and every pair of odd ones of wider dtypes. */
static void test_every_kernel_of_two_inputs_is_right_on_all_pairs(void **state) {
  (void)state;
  uint32_t cases = 0;
  for (uint32_t k = 0; k < PTO_OP_COUNT; k++)
    for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
      if (!choose(k, dtype) || input_count() < 2) continue;
      make(k, ALL, SEED);
      const uint32_t last = input_count() - 1;
      for (uint64_t i = 0; i < ALL; i++)
        for (uint32_t t = 0; t < 2; t++) {
          const uint64_t value = t == 0 ? i % SIDE : i / SIDE;
          const bool is_whole = pto_dtype_bits(dtype) <= 8;
          const uint64_t kept = dtype == PTO_BOOL ? 1 : UINT64_MAX;
          pto_reference_set_whole(&trial.views[last - 1 + t], i, (is_whole ? value : odd_value(dtype, value)) & kept);
        }
      judge();
      cases++;
    }
  assert_true(cases > 100);
}

static void test_every_kernel_of_one_input_is_right_on_all_16_bit_values(void **state) {
  (void)state;
  uint32_t cases = 0;
  for (uint32_t k = 0; k < PTO_OP_COUNT; k++)
    for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
      if (!choose(k, dtype) || input_count() != 1 || pto_dtype_bits(dtype) < 8) continue;
      const uint32_t draws = trial.args.scalar_count == 0 ? 1 : SCALARS;
      for (uint32_t draw = 0; draw < draws; draw++) {
        make(k, ALL, pto_mix64(SEED + draw));
        for (uint64_t i = 0; i < ALL; i++) {
          const uint64_t value = pto_dtype_bits(dtype) <= 16 ? i : odd_value(dtype, i % SIDE) ^ i / SIDE;
          pto_reference_set_whole(&trial.views[0], i, dtype == PTO_BOOL ? i & 1 : value);
        }
        judge();
        cases++;
      }
    }
  assert_true(cases > 100);
}

/* Element i of a tensor that is cast: every value where there are few.  Else, in turn, what lies around each power of
 * two, what is half a unit of some narrower float above one, next to that (of floats: the next one) or any single bit
 * above it, and random bits. */
static uint64_t cast_value(uint32_t dtype, uint64_t i, struct pto_rng *rng) {
  const uint32_t bits = pto_dtype_bits(dtype);
  if (dtype == PTO_BOOL) return i & 1;
  if (bits <= 16) return i;
  const uint64_t random = pto_rng_next(rng), power = pto_rng_below(rng, dtype == PTO_FLOAT32 ? 64 : bits),
                 digits = 8 + pto_rng_below(rng, 18);
  const uint64_t leading = (UINT64_C(1) << power) + (power > digits ? (random & 7) << (power - digits) : 0);
  const uint64_t around = pto_rng_below(rng, 4);
  const uint64_t near = leading + (around < 3 ? around - 1 : UINT64_C(1) << pto_rng_below(rng, power + 1));
  if (i % 2 == 0) return dtype == PTO_FLOAT32 || i % 4 == 0 ? random : random >> pto_rng_below(rng, 64);
  if (dtype != PTO_FLOAT32) return i % 4 == 1 ? near : 0 - near;
  static const float scales[] = {0.5f, -0.25f, 1, -1, 2};
  const float value = (float)near * scales[pto_rng_below(rng, PTO_ARRAY_LENGTH(scales))];
  uint32_t as_bits;
  memcpy(&as_bits, &value, sizeof as_bits);
  return as_bits + pto_rng_below(rng, 3) - 1;
}

static void test_cast_is_right_between_all_dtypes(void **state) {
  (void)state;
  uint32_t kernel = 0;
  struct pto_rng rng = {SEED};
  while (strcmp(pto_kernel_at(kernel)->name, "cast") != 0) kernel++;
  for (uint32_t from = 0; from < PTO_DTYPE_COUNT; from++)
    for (uint32_t to = 0; to < PTO_DTYPE_COUNT; to++) {
      c.dtypes[0] = from;
      c.dtypes[1] = to;
      const uint64_t count = pto_dtype_bits(from) <= 8 ? 4 * SIDE : ALL; /* every value, more than once */
      make(kernel, count, SEED);
      for (uint64_t i = 0; i < count; i++)
        pto_reference_set_whole(&trial.views[0], i, cast_value(from, i, &rng) & (from == PTO_BOOL ? 1 : UINT64_MAX));
      judge();
    }
}

/* Not of one size: the last half byte, chunks, and layouts that meet a dense 4-bit tensor. */
static void test_cast_is_right_between_all_dtypes_in_every_layout(void **state) {
  (void)state;
  static const struct pto_reference_sizes sizes[] = {
      {0, {0}, 0}, {1, {0}, 0}, {1, {1}, 0}, {2, {37, 29}, 0}, {3, {5, 33, 13}, 0}, {8, {2, 1, 3, 1, 2, 5, 2, 3}, 0}};
  uint32_t kernel = 0;
  while (strcmp(pto_kernel_at(kernel)->name, "cast") != 0) kernel++;
  for (uint32_t pair = 0; pair < PTO_DTYPE_COUNT * PTO_DTYPE_COUNT; pair++)
    for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(sizes); s++)
      for (uint32_t layout = 0; layout < PTO_LAYOUT_COUNT; layout++) {
        pto_trial_init(&trial, kernel);
        assert_true(pto_trial_sizes(&trial, &sizes[s], &c));
        c.dtypes[0] = pair / PTO_DTYPE_COUNT;
        c.dtypes[1] = pair % PTO_DTYPE_COUNT;
        c.layout = layout;
        c.seed = pto_mix64(SEED + pair);
        assert_int_equal(pto_trial_make(&trial, &c), PTO_OK);
        judge();
      }
}

int main(void) {
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kernel_of_two_inputs_is_right_on_all_pairs),
      cmocka_unit_test(test_every_kernel_of_one_input_is_right_on_all_16_bit_values),
      cmocka_unit_test(test_cast_is_right_between_all_dtypes),
      cmocka_unit_test(test_cast_is_right_between_all_dtypes_in_every_layout),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
