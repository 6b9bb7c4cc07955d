/* SPDX-License-Identifier: MIT */
/*
 * Remainders of f32, bit for bit those of C's fmod, on every instruction set: random pairs of bits, quotients about
 * whole numbers and about 2^24, subnormals, and all pairs of special values.  With PTO_TEST_LONG 64 times as many.
 */
#include <kernels/levels/loops.h>
#include <kernels/api/math.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(4711)
#define BATCH 4096

static float x[BATCH], y[BATCH], z[BATCH];

static void check(uint64_t count) {
  const struct pto_chunk chunk = {.count = count, .a = x, .b = y, .out = z};
  for (uint32_t set = 0; pto_loops_at(set) != NULL; set++) {
    pto_loops_at(set)->op[PTO_OP_rem][PTO_CLASS_F32](&chunk);
    for (uint64_t i = 0; i < count; i++) {
      const float right = fmodf(x[i], y[i]);
      if (bits_of_f32(right) != bits_of_f32(z[i]) && !(isnan(right) && isnan(z[i])))
        fail_msg("%s: rem(%a, %a) = %a and not %a", pto_loops_at(set)->name, (double)x[i], (double)y[i], (double)z[i],
                 (double)right);
    }
  }
}

/* A pair of a kind. */
static void draw(struct pto_rng *rng, uint64_t kind, float *a, float *b) {
  const uint64_t bits = pto_rng_next(rng), more = pto_rng_next(rng);
  const float near = (float)(pto_rng_unit(rng) * 8 - 4);
  *a = f32_of_bits((uint32_t)bits);
  *b = f32_of_bits((uint32_t)(bits >> 32));
  if (kind == 1) *b = near;
  if (kind == 1) *a = near * (float)(more % (1 << 20)); /* a whole quotient, but for a rounding */
  if (kind == 2) *a = f32_of_bits((uint32_t)bits & 0x80ffffff);
  if (kind == 3) *b = f32_of_bits((uint32_t)bits & 0x80ffffff);
  if (kind == 4) *a = f32_of_bits(bits_of_f32(*b * (float)(more % (1 << 26))) + (uint32_t)(more >> 60) - 8);
  if (kind == 5) *a = (float)(more % (1 << 25));
  if (kind == 5) *b = (float)((more >> 32) % 1024);
}

static void test_remainders_of_random_pairs_are_those_of_fmod(void **state) {
  (void)state;
  struct pto_rng rng = {SEED};
  const uint64_t batches = getenv("PTO_TEST_LONG") != NULL ? 64 * UINT64_C(64) : 64;
  for (uint64_t batch = 0; batch < batches; batch++) {
    for (uint64_t i = 0; i < BATCH; i++) draw(&rng, pto_rng_below(&rng, 6), &x[i], &y[i]);
    check(BATCH);
  }
}

static void test_remainders_of_special_values_are_those_of_fmod(void **state) {
  (void)state;
  static const float values[] = {0.0f,           0x1p-149f, 0x1.8p-148f, 0x1.fffffcp-127f, 0x1p-126f,
                                 0x1.000002p0f,  1.0f,      3.0f,        0x1.fffffep23f,   0x1p24f,
                                 0x1.000002p24f, 0x1p103f,  0x1p104f,    0x1p127f,         0x1.fffffep127f,
                                 INFINITY,       NAN,       0x1p-102f,   0x1p-103f,        0x1.fffffep-1f};
  const uint64_t side = PTO_ARRAY_LENGTH(values);
  for (uint32_t signs = 0; signs < 4; signs++) {
    for (uint64_t i = 0; i < side * side; i++) {
      x[i] = (signs & 1) != 0 ? -values[i / side] : values[i / side];
      y[i] = (signs & 2) != 0 ? -values[i % side] : values[i % side];
    }
    check(side * side);
  }
}

int main(void) {
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_remainders_of_random_pairs_are_those_of_fmod),
      cmocka_unit_test(test_remainders_of_special_values_are_those_of_fmod),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
