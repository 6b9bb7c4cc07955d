/* SPDX-License-Identifier: MIT */
/*
 * Quotients and remainders of 64-bit integers on every instruction set, against the compiler's division of one number:
 * random pairs of every size, one below and one above multiples of the divisor, and about powers of two.  With
 * PTO_TEST_LONG 64 times as many.
 */
#include <kernels/kernel_loops.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEED UINT64_C(4711)
#define BATCH 4096

static uint64_t a[BATCH], b[BATCH], quotients[BATCH], remainders[BATCH];

/* The right quotient; 0 of a division by 0. */
static uint64_t quotient_of(uint64_t x, uint64_t y, bool is_signed) {
  if (y == 0) return 0;
  if (!is_signed) return x / y;
  return (int64_t)y == -1 ? 0 - x : (uint64_t)((int64_t)x / (int64_t)y);
}

static void check(enum pto_class class_, bool is_signed) {
  for (uint32_t set = 0; pto_loops_at(set) != NULL; set++) {
    const struct pto_loops *loops = pto_loops_at(set);
    loops->op[PTO_OP_div][class_](&(struct pto_chunk){.count = BATCH, .a = a, .b = b, .out = quotients});
    loops->op[PTO_OP_rem][class_](&(struct pto_chunk){.count = BATCH, .a = a, .b = b, .out = remainders});
    for (uint64_t i = 0; i < BATCH; i++) {
      const uint64_t quotient = quotient_of(a[i], b[i], is_signed), remainder = a[i] - quotient * b[i];
      if (quotients[i] != quotient || remainders[i] != remainder)
        fail_msg("%s: %" PRIx64 " by %" PRIx64 " is %" PRIx64 " and %" PRIx64 ", not %" PRIx64 " and %" PRIx64,
                 loops->name, a[i], b[i], quotients[i], remainders[i], quotient, remainder);
    }
  }
}

/* A number of some size, or near a power of two, 0 or the largest. */
static uint64_t draw(struct pto_rng *rng) {
  const uint64_t bits = pto_rng_next(rng), shift = pto_rng_below(rng, 64), kind = pto_rng_below(rng, 6);
  if (kind == 0) return bits >> shift;
  if (kind == 1) return (UINT64_C(1) << shift) + bits % 5 - 2;
  if (kind == 2) return ~(bits >> shift);
  if (kind == 3) return bits & (UINT64_MAX << shift);
  return kind == 4 ? bits % 20 : bits;
}

static void check_pairs(enum pto_class class_, bool is_signed) {
  struct pto_rng rng = {SEED};
  const uint64_t batches = getenv("PTO_TEST_LONG") != NULL ? 64 * UINT64_C(64) : 64;
  for (uint64_t batch = 0; batch < batches; batch++) {
    for (uint64_t i = 0; i < BATCH; i++) {
      a[i] = draw(&rng);
      b[i] = draw(&rng);
      if (i % 2 == 0 && b[i] != 0) a[i] = a[i] / b[i] * b[i] + pto_rng_below(&rng, 3) - 1;
    }
    check(class_, is_signed);
  }
}

static void test_quotients_and_remainders_of_unsigned_64_bit_numbers_are_right(void **state) {
  (void)state;
  check_pairs(PTO_CLASS_U64, false);
}
static void test_quotients_and_remainders_of_signed_64_bit_numbers_are_right(void **state) {
  (void)state;
  check_pairs(PTO_CLASS_I64, true);
}

int main(void) {
  print_message("seed %" PRIu64 "\n", SEED);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_quotients_and_remainders_of_unsigned_64_bit_numbers_are_right),
      cmocka_unit_test(test_quotients_and_remainders_of_signed_64_bit_numbers_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
