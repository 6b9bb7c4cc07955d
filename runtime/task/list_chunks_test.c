/* SPDX-License-Identifier: MIT */
/* The pool of list chunks against a set of the indices that are live. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <runtime/task/list_chunks.h>

#define CAPACITY 100u

static struct pto_list_chunks pool;

static void test_chunks_are_handed_out_until_the_last_and_zero_is_none(void **state) {
  (void)state;
  bool seen[CAPACITY + 1] = {false};
  assert_true(pto_list_chunks_init(&pool, CAPACITY));
  for (uint32_t i = 0; i < CAPACITY; i++) {
    uint32_t index = pto_list_chunks_alloc(&pool);
    assert_true(index >= 1 && index <= CAPACITY && !seen[index]);
    seen[index] = true;
    memset(&pool.chunks[index], 0xff, sizeof pool.chunks[index]); /* all of it is ours */
    pool.chunks[index].next = 0;
  }
  assert_int_equal(pto_list_chunks_alloc(&pool), 0);
  assert_int_equal(pool.live_count, CAPACITY);
  assert_true(pto_list_chunks_is_valid(&pool));
  pto_list_chunks_fini(&pool);
}

static void test_the_chunk_freed_last_comes_back_first_and_empty(void **state) {
  (void)state;
  assert_true(pto_list_chunks_init(&pool, CAPACITY));
  uint32_t first = pto_list_chunks_alloc(&pool), second = pto_list_chunks_alloc(&pool);
  pool.chunks[second] = (struct pto_list_chunk){.next = first, .count = 3, .total = 9};
  pto_list_chunks_free(&pool, first);
  pto_list_chunks_free(&pool, second);
  assert_int_equal(pto_list_chunks_alloc(&pool), second);
  assert_int_equal(pool.chunks[second].next, 0);
  assert_int_equal(pool.chunks[second].count, 0);
  assert_int_equal(pool.chunks[second].total, 0);
  assert_int_equal(pto_list_chunks_alloc(&pool), first);
  pto_list_chunks_fini(&pool);
}

static void test_a_reset_makes_all_chunks_free_again(void **state) {
  (void)state;
  assert_true(pto_list_chunks_init(&pool, 4));
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 4; i++) assert_int_not_equal(pto_list_chunks_alloc(&pool), 0);
    assert_int_equal(pto_list_chunks_alloc(&pool), 0);
    pto_list_chunks_free(&pool, 2);
    pto_list_chunks_reset(&pool);
    assert_true(pto_list_chunks_is_valid(&pool));
  }
  pto_list_chunks_fini(&pool);
}

static void test_a_free_list_that_loops_or_leaves_the_pool_is_not_valid(void **state) {
  (void)state;
  assert_true(pto_list_chunks_init(&pool, 4));
  for (int i = 0; i < 3; i++) pto_list_chunks_alloc(&pool);
  pto_list_chunks_free(&pool, 1);
  pto_list_chunks_free(&pool, 2);
  assert_true(pto_list_chunks_is_valid(&pool));
  pool.chunks[1].next = 2;
  assert_false(pto_list_chunks_is_valid(&pool));
  pool.chunks[1].next = 4;
  assert_false(pto_list_chunks_is_valid(&pool));
  pto_list_chunks_fini(&pool);
}

static void test_random_operations_never_hand_out_a_live_chunk(void **state) {
  (void)state;
  struct pto_rng rng = {20261120};
  uint32_t live[CAPACITY], live_count = 0;
  bool is_live[CAPACITY + 1] = {false};
  assert_true(pto_list_chunks_init(&pool, CAPACITY));
  for (uint32_t step = 0; step < 50000; step++) {
    bool grows = pto_rng_below(&rng, 1000) < 500 + (step / 5000 % 2 ? 100u : 0u) - (step / 5000 % 2 ? 0u : 100u);
    if (grows) {
      uint32_t index = pto_list_chunks_alloc(&pool);
      assert_int_equal(index == 0, live_count == CAPACITY);
      if (!index) continue;
      assert_true(index <= CAPACITY && !is_live[index]);
      is_live[index] = true;
      live[live_count++] = index;
      for (uint32_t i = 0; i < PTO_CHUNK_SLOTS; i++) pool.chunks[index].items.slots[i] = index;
    } else if (live_count) {
      uint32_t at = (uint32_t)pto_rng_below(&rng, live_count), index = live[at];
      for (uint32_t i = 0; i < PTO_CHUNK_SLOTS; i++) assert_int_equal(pool.chunks[index].items.slots[i], index);
      pto_list_chunks_free(&pool, index);
      is_live[index] = false;
      live[at] = live[--live_count];
    }
    assert_int_equal(pool.live_count, live_count);
    if (step % 64 == 0) assert_true(pto_list_chunks_is_valid(&pool));
  }
  pto_list_chunks_fini(&pool);
}

static void test_a_refused_reservation_is_reported_and_leaves_nothing(void **state) {
  (void)state;
  pto_reserve_fail_countdown = 1;
  assert_false(pto_list_chunks_init(&pool, CAPACITY));
  assert_int_equal(pto_reserve_fail_countdown, 0);
  assert_null(pool.memory.addr);
  pto_list_chunks_fini(&pool);
  assert_true(pto_list_chunks_init(&pool, CAPACITY));
  pto_list_chunks_fini(&pool);
  pto_list_chunks_fini(&pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chunks_are_handed_out_until_the_last_and_zero_is_none),
      cmocka_unit_test(test_the_chunk_freed_last_comes_back_first_and_empty),
      cmocka_unit_test(test_a_reset_makes_all_chunks_free_again),
      cmocka_unit_test(test_a_free_list_that_loops_or_leaves_the_pool_is_not_valid),
      cmocka_unit_test(test_random_operations_never_hand_out_a_live_chunk),
      cmocka_unit_test(test_a_refused_reservation_is_reported_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
