/* SPDX-License-Identifier: MIT */
#include <check/observe/shadow.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/memory/heap_ring.h>

#define ARENA UINT64_C(0x100000)
#define ARENA_BYTES 16384u
#define OUTER UINT64_C(0x900f00) /* across a page */
#define OUTER_BYTES 8192u

/* What the shadow must say, a byte a byte. */
static uint8_t arena[ARENA_BYTES], left[OUTER_BYTES], ever[OUTER_BYTES];
static struct pto_observe_shadow shadow;

static int make(void **state) {
  memset(arena, 0, sizeof arena);
  memset(left, 0, sizeof left);
  memset(ever, 0, sizeof ever);
  return pto_observe_shadow_init(&shadow, ARENA, ARENA_BYTES) ? 0 : -1;
}
static int drop(void **state) {
  pto_observe_shadow_fini(&shadow);
  return 0;
}

static bool all_are(const uint8_t *bytes, uint64_t lo, uint64_t hi, uint8_t value) {
  for (; lo < hi; lo++)
    if (bytes[lo] != value) return false;
  return true;
}

static void test_bytes_are_written_and_left_one_by_one(void **state) {
  struct pto_rng rng = {.state = 7};
  for (int step = 0; step < 20000; step++) {
    const bool is_arena = pto_rng_next(&rng) & 1, is_left = pto_rng_below(&rng, 3) == 0;
    const uint64_t size = is_arena ? ARENA_BYTES : OUTER_BYTES, base = is_arena ? ARENA : OUTER;
    const uint64_t longest = pto_rng_below(&rng, 8) ? 40 : size;
    const uint64_t lo = pto_rng_below(&rng, size), hi = pto_min_u64(size, lo + 1 + pto_rng_below(&rng, longest));
    if (is_left)
      pto_observe_shadow_leave(&shadow, base + lo, base + hi);
    else
      pto_observe_shadow_write(&shadow, base + lo, base + hi);
    if (is_arena) memset(arena + lo, !is_left, hi - lo);
    if (!is_arena) memset(left + lo, is_left, hi - lo);
    if (!is_arena && !is_left) memset(ever + lo, 1, hi - lo);
    const uint64_t from = pto_rng_below(&rng, size), to = pto_min_u64(size, from + 1 + pto_rng_below(&rng, longest));
    const bool expected = is_arena ? all_are(arena, from, to, 1) : all_are(left, from, to, 0);
    assert_int_equal(pto_observe_shadow_is_written(&shadow, base + from, base + to), expected);
    const uint64_t byte = pto_rng_below(&rng, OUTER_BYTES);
    assert_int_equal(pto_observe_shadow_was_written(&shadow, OUTER + byte), ever[byte]);
  }
}

static void test_memory_is_unwritten_when_it_is_allocated_again(void **state) {
  pto_observe_shadow_allocate(&shadow, 5, ARENA + 1024, 1500);
  assert_false(pto_observe_shadow_is_written(&shadow, ARENA + 1024, ARENA + 1025));
  pto_observe_shadow_write(&shadow, ARENA + 1024, ARENA + 1024 + 1500);
  assert_true(pto_observe_shadow_is_written(&shadow, ARENA + 1024, ARENA + 1024 + 1500));
  pto_observe_shadow_allocate(&shadow, 6, ARENA + 1024, 1000);
  assert_false(pto_observe_shadow_is_written(&shadow, ARENA + 2023, ARENA + 2024));
  assert_true(pto_observe_shadow_is_written(&shadow, ARENA + 2024, ARENA + 2025));
}

static void test_a_cell_is_its_last_buffers(void **state) {
  pto_observe_shadow_allocate(&shadow, 5, ARENA, 3000);
  pto_observe_shadow_allocate(&shadow, 6, ARENA + 1024, 100);
  assert_int_equal(pto_observe_shadow_find(&shadow, ARENA + 1023)->number, 5);
  assert_int_equal(pto_observe_shadow_find(&shadow, ARENA + 2047)->number, 6);
  assert_int_equal(pto_observe_shadow_find(&shadow, ARENA + 3071)->number, 5);
  assert_null(pto_observe_shadow_find(&shadow, ARENA + 3072));
  assert_null(pto_observe_shadow_find(&shadow, ARENA - 1));
  assert_null(pto_observe_shadow_find(&shadow, ARENA + ARENA_BYTES));
}

static void test_a_new_run_knows_nothing(void **state) {
  pto_observe_shadow_allocate(&shadow, 5, ARENA, 1024);
  pto_observe_shadow_write(&shadow, ARENA, ARENA + 1024);
  pto_observe_shadow_leave(&shadow, OUTER, OUTER + 10);
  pto_observe_shadow_reset(&shadow);
  assert_false(pto_observe_shadow_is_written(&shadow, ARENA, ARENA + 1));
  assert_true(pto_observe_shadow_is_written(&shadow, OUTER, OUTER + 10));
  assert_null(pto_observe_shadow_find(&shadow, ARENA));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make, drop)
int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(test_bytes_are_written_and_left_one_by_one),
      CASE(test_memory_is_unwritten_when_it_is_allocated_again),
      CASE(test_a_cell_is_its_last_buffers),
      CASE(test_a_new_run_knows_nothing),
  };
  return cmocka_run_group_tests_name("observe_shadow", tests, NULL, NULL);
}
