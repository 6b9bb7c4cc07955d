/* SPDX-License-Identifier: MIT */
/* The payload pool: size classes by enumeration, and random work against a list of the pieces that are live. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <runtime/control/payload_pool.h>

static struct pto_payload_pool pool;

static void test_every_size_has_the_smallest_class_that_holds_it(void **state) {
  (void)state;
  for (uint32_t units = 1; units <= PTO_PAYLOAD_MAX_UNITS; units++) {
    uint32_t smallest = 0;
    while (pto_payload_class_units(smallest) < units) smallest++;
    assert_int_equal(pto_payload_class(units), smallest);
    assert_true(smallest < PTO_PAYLOAD_CLASSES);
    assert_true(4 * pto_payload_class_units(smallest) <= 5 * units); /* a quarter wasted at most */
  }
  for (uint32_t i = 1; i < PTO_PAYLOAD_CLASSES; i++)
    assert_true(pto_payload_class_units(i - 1) < pto_payload_class_units(i));
  assert_int_equal(pto_payload_class_units(PTO_PAYLOAD_CLASSES - 1), PTO_PAYLOAD_MAX_UNITS);
}

static void test_sizes_are_rounded_up_to_units(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 64));
  assert_int_equal(pto_payload_pool_alloc(&pool, 64)->size_class, 0);
  assert_int_equal(pool.units_used, 1);
  assert_int_equal(pto_payload_pool_alloc(&pool, 65)->size_class, 1);
  assert_int_equal(pool.units_used, 3);
  pto_payload_pool_fini(&pool);
}

static void test_the_piece_freed_last_comes_back_first_and_only_to_its_class(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 64));
  struct pto_payload *first = pto_payload_pool_alloc(&pool, 128), *second = pto_payload_pool_alloc(&pool, 128);
  pto_payload_pool_free(&pool, first);
  pto_payload_pool_free(&pool, second);
  struct pto_payload *larger = pto_payload_pool_alloc(&pool, 192);
  assert_ptr_not_equal(larger, first);
  assert_ptr_not_equal(larger, second);
  assert_ptr_equal(pto_payload_pool_alloc(&pool, 100), second);
  assert_ptr_equal(pto_payload_pool_alloc(&pool, 128), first);
  pto_payload_pool_fini(&pool);
}

static void test_live_work_that_has_all_units_is_refused_more_and_a_smaller_piece_may_still_fit(void **state) {
  (void)state;
  assert_true(pto_payload_pool_init(&pool, 5));
  assert_non_null(pto_payload_pool_alloc(&pool, 4 * PTO_PAYLOAD_UNIT));
  assert_null(pto_payload_pool_alloc(&pool, 2 * PTO_PAYLOAD_UNIT));
  assert_int_equal(pool.live_count, 1);
  assert_non_null(pto_payload_pool_alloc(&pool, PTO_PAYLOAD_UNIT));
  assert_null(pto_payload_pool_alloc(&pool, 1));
  pto_payload_pool_reset(&pool);
  assert_non_null(pto_payload_pool_alloc(&pool, 5 * PTO_PAYLOAD_UNIT));
  pto_payload_pool_fini(&pool);
}

#define MAX_LIVE 64u
struct piece {
  struct pto_payload *payload;
  uint32_t size_bytes;
  uint8_t pattern;
};

/* All bytes behind the header are the owner's. */
static void fill(const struct piece *piece) {
  memset((char *)piece->payload + sizeof *piece->payload, piece->pattern, piece->size_bytes - sizeof *piece->payload);
}
static void check(const struct piece *piece) {
  const uint8_t *bytes = (const uint8_t *)piece->payload;
  for (uint32_t i = sizeof *piece->payload; i < piece->size_bytes; i++) assert_int_equal(bytes[i], piece->pattern);
  assert_int_equal((uintptr_t)bytes % PTO_PAYLOAD_UNIT, 0);
}

static void test_random_sizes_never_share_a_byte_and_warm_pieces_need_no_new_units(void **state) {
  (void)state;
  struct pto_rng rng = {20261120};
  struct piece live[MAX_LIVE];
  uint32_t live_count = 0;
  uint64_t warm_units = 0;
  assert_true(pto_payload_pool_init(&pool, UINT64_C(2) * MAX_LIVE * PTO_PAYLOAD_CLASSES * PTO_PAYLOAD_MAX_UNITS));
  for (uint32_t step = 0; step < 20000; step++) {
    if (live_count < MAX_LIVE && pto_rng_below(&rng, 2)) {
      uint32_t most = pto_rng_below(&rng, 8) ? 1024 : PTO_PAYLOAD_MAX_UNITS * PTO_PAYLOAD_UNIT;
      uint32_t size =
          (uint32_t)(sizeof(struct pto_payload) + pto_rng_below(&rng, most - sizeof(struct pto_payload) + 1));
      struct piece *piece = &live[live_count++];
      *piece = (struct piece){pto_payload_pool_alloc(&pool, size), size, (uint8_t)step};
      assert_non_null(piece->payload);
      fill(piece);
    } else if (live_count) {
      uint32_t at = (uint32_t)pto_rng_below(&rng, live_count);
      check(&live[at]);
      pto_payload_pool_free(&pool, live[at].payload);
      live[at] = live[--live_count];
    }
    assert_int_equal(pool.live_count, live_count);
    if (step % 256 == 0) assert_true(pto_payload_pool_is_valid(&pool));
  }
  for (uint32_t i = 0; i < live_count; i++) check(&live[i]);
  while (live_count) pto_payload_pool_free(&pool, live[--live_count].payload);
  warm_units = pool.units_used;
  for (int i = 0; i < 1000; i++) pto_payload_pool_free(&pool, pto_payload_pool_alloc(&pool, 64 + (uint32_t)i));
  assert_int_equal(pool.units_used, warm_units);
  pto_payload_pool_fini(&pool);
}

static void test_a_refused_reservation_is_reported_and_leaves_nothing(void **state) {
  (void)state;
  pto_reserve_fail_countdown = 1;
  assert_false(pto_payload_pool_init(&pool, 64));
  assert_null(pool.memory.addr);
  pto_payload_pool_fini(&pool);
  assert_true(pto_payload_pool_init(&pool, 64));
  pto_payload_pool_fini(&pool);
  pto_payload_pool_fini(&pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_size_has_the_smallest_class_that_holds_it),
      cmocka_unit_test(test_sizes_are_rounded_up_to_units),
      cmocka_unit_test(test_the_piece_freed_last_comes_back_first_and_only_to_its_class),
      cmocka_unit_test(test_live_work_that_has_all_units_is_refused_more_and_a_smaller_piece_may_still_fit),
      cmocka_unit_test(test_random_sizes_never_share_a_byte_and_warm_pieces_need_no_new_units),
      cmocka_unit_test(test_a_refused_reservation_is_reported_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
