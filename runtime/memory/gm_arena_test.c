/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mman.h>

#include <runtime/base/memory_checker.h>
#include <runtime/memory/gm_arena.h>

#define KIB 1024u
#define RINGS 4u
#define MIB (1024 * UINT64_C(1024))
#define PART PTO_LARGE_PAGE_BYTES
#define HEAP (PTO_HEAP_PARTS * PART)

/* ---- in the place of memory_checker.c ---- */

static bool is_checked;
static uint64_t reserved_bytes;

bool pto_memory_is_checked(void) { return is_checked; }
void pto_memory_mark_reserved(void *addr, uint64_t size_bytes) { reserved_bytes += size_bytes; }
void pto_memory_mark_free(void *addr, uint64_t size_bytes) {}
void pto_memory_forget(void *addr, uint64_t size_bytes) {}

static uint64_t offset_in(const struct pto_gm_arena *arena, const void *addr) {
  return (uint64_t)((const char *)addr - (const char *)arena->memory.addr);
}

static void open_arena(struct pto_gm_arena *arena, bool checked, uint64_t heap_bytes) {
  is_checked = checked;
  reserved_bytes = 0;
  assert_true(pto_gm_arena_init(arena, heap_bytes, RINGS, false));
}

static void rings_lie_side_by_side_where_no_tool_watches(void **state) {
  struct pto_gm_arena arena;
  open_arena(&arena, false, 64 * KIB);
  assert_false(arena.is_checked);
  assert_int_equal(arena.spread_log2, 0);
  assert_int_equal(arena.memory.size_bytes, RINGS * 64 * KIB);
  assert_int_equal(reserved_bytes, 0);
  for (uint32_t i = 0; i < RINGS; i++) {
    struct pto_heap_ring ring;
    pto_gm_arena_init_ring(&arena, i, arena.heap_bytes, &ring);
    assert_int_equal(offset_in(&arena, ring.base), (uint64_t)i * 64 * KIB);
    assert_int_equal(ring.size_bytes, 64 * KIB);
    assert_int_equal(ring.spread_log2, 0);
    assert_int_equal(ring.lap_count, 1);
    pto_heap_ring_fini(&ring);
  }
  pto_gm_arena_fini(&arena);
}

static void watched_rings_have_room_for_their_laps_and_behind_each_output(void **state) {
  struct pto_gm_arena arena;
  open_arena(&arena, true, 64 * KIB);
  const uint64_t laps = UINT64_C(64) * KIB * 2 * PTO_ARENA_LAPS;
  assert_true(arena.is_checked);
  assert_int_equal(arena.spread_log2, 1);
  assert_int_equal(arena.memory.size_bytes, 4096 + RINGS * laps);
  assert_int_equal(reserved_bytes, arena.memory.size_bytes);
  for (uint32_t i = 0; i < RINGS; i++) {
    struct pto_heap_ring ring;
    pto_gm_arena_init_ring(&arena, i, arena.heap_bytes, &ring);
    assert_int_equal(offset_in(&arena, ring.base), 4096 + i * laps);
    assert_int_equal(ring.size_bytes, 64 * KIB);
    assert_int_equal(ring.spread_log2, 1);
    assert_int_equal(ring.lap_count, PTO_ARENA_LAPS);
    pto_heap_ring_fini(&ring);
  }
  pto_gm_arena_fini(&arena);
}

static void an_engine_that_looks_gets_the_same_layout_and_nothing_is_told(void **state) {
  struct pto_gm_arena watched, arena;
  open_arena(&watched, true, 64 * KIB);
  is_checked = false;
  reserved_bytes = 0;
  assert_true(pto_gm_arena_init(&arena, 64 * KIB, RINGS, true));
  assert_false(arena.is_checked);
  assert_int_equal(reserved_bytes, 0);
  assert_int_equal(arena.memory.size_bytes, watched.memory.size_bytes);
  for (uint32_t i = 0; i < RINGS; i++) {
    struct pto_heap_ring ring, other;
    pto_gm_arena_init_ring(&arena, i, arena.heap_bytes, &ring);
    pto_gm_arena_init_ring(&watched, i, watched.heap_bytes, &other);
    assert_int_equal(offset_in(&arena, ring.base), offset_in(&watched, other.base));
    assert_int_equal(ring.spread_log2, other.spread_log2);
    assert_int_equal(ring.lap_count, other.lap_count);
    pto_heap_ring_fini(&ring);
    pto_heap_ring_fini(&other);
  }
  pto_gm_arena_fini(&arena);
  pto_gm_arena_fini(&watched);
}

/* Every address of every output of three laps, and of the room behind it, in both layouts. */
static void the_ring_and_position_of_an_address_are_those_that_gave_it(void **state) {
  for (int apart = 0; apart < 2; apart++) {
    struct pto_gm_arena arena;
    is_checked = false;
    assert_true(pto_gm_arena_init(&arena, 8 * KIB, RINGS, apart));
    for (uint32_t i = 0; i < RINGS; i++) {
      struct pto_heap_ring ring;
      pto_gm_arena_init_ring(&arena, i, arena.heap_bytes, &ring);
      const uint64_t laps = (uint64_t)ring.lap_count * ring.size_bytes;
      for (uint64_t position = 0; position < 3 * ring.size_bytes; position += KIB) {
        for (uint64_t byte = 0; byte < KIB << arena.spread_log2; byte += 64) {
          uint64_t found;
          const uint64_t addr = (uint64_t)(uintptr_t)pto_heap_ring_addr(&ring, position) + byte;
          assert_int_equal(pto_gm_arena_ring_of(&arena, addr, &found), i);
          assert_in_range(found, position % laps, position % laps + KIB - 1);
        }
      }
      pto_heap_ring_fini(&ring);
    }
    pto_gm_arena_fini(&arena);
  }
}

/* How much of the ring has pages. */
static uint64_t resident_bytes(const struct pto_heap_ring *ring) {
  static unsigned char present[HEAP / 4096];
  uint64_t count = 0;
  assert_int_equal(mincore(ring->base, HEAP, present), 0);
  for (uint64_t i = 0; i < HEAP / 4096; i++) count += present[i] & 1;
  return count * 4096;
}

/* False where the system moves no pages: valgrind, or one that is too old. */
static bool can_move(const struct pto_gm_arena *arena) {
  char *const unused = (char *)arena->memory.addr + (RINGS - 1) * HEAP;
  return pto_reserve_move(unused, unused + 4096, 4096);
}

/* A piece of which each page says `number`. */
static uint64_t *take(struct pto_heap_ring *ring, uint64_t bytes, uint64_t number, uint64_t *end_out) {
  char *addr;
  assert_true(pto_heap_ring_alloc(ring, bytes, &addr, end_out));
  assert_true(pto_heap_ring_is_valid(ring));
  for (uint64_t at = 0; at < bytes; at += 4 * KIB) *(uint64_t *)(void *)(addr + at) = number;
  return (uint64_t *)(void *)addr;
}

/* Pieces of all sizes, a few of them live, twice round and more. */
static void a_ring_with_little_in_it_takes_little_and_keeps_it(void **state) {
  struct pto_gm_arena arena;
  struct pto_heap_ring ring;
  struct {
    uint64_t *words, bytes, end;
  } live[6] = {{0}};
  open_arena(&arena, false, HEAP);
  pto_gm_arena_init_ring(&arena, 1, arena.heap_bytes, &ring);
  assert_int_equal((uintptr_t)ring.base % PTO_LARGE_PAGE_BYTES, 0);
  uint64_t most = 0;
  for (uint64_t i = 0; ring.head < 5 * HEAP / 2; i++) {
    const uint64_t slot = i % 6, bytes = i % 32 == 0 ? 5 * MIB : (1 + i * 37 % 500) * KIB;
    if (i >= 6) {
      for (uint64_t at = 0; at < live[slot].bytes; at += 4 * KIB) assert_int_equal(live[slot].words[at / 8], i - 6);
      pto_heap_ring_retire(&ring, live[slot].end);
    }
    live[slot].words = take(&ring, bytes, i, &live[slot].end);
    live[slot].bytes = bytes;
    if (i % 64 == 0) most = pto_max_u64(most, resident_bytes(&ring));
  }
  if (can_move(&arena)) assert_in_range(most, 1, 12 * PART);
  pto_heap_ring_fini(&ring);
  pto_gm_arena_fini(&arena);
}

static void an_empty_ring_has_its_pages_where_it_starts_again(void **state) {
  struct pto_gm_arena arena;
  struct pto_heap_ring ring;
  uint64_t end;
  char *addr;
  open_arena(&arena, false, HEAP);
  pto_gm_arena_init_ring(&arena, 0, arena.heap_bytes, &ring);
  for (uint64_t round = 0; round < 3; round++) {
    for (uint64_t i = 0, last = 0; i < 10 + round; i++, last = end) {
      take(&ring, PART, i, &end);
      pto_heap_ring_retire(&ring, last); /* one is live */
    }
    const uint64_t before = resident_bytes(&ring);
    if (round == 1)
      pto_heap_ring_reset(&ring);
    else
      pto_heap_ring_retire(&ring, end);
    assert_true(pto_heap_ring_alloc(&ring, KIB, &addr, &end)); /* which is not written */
    assert_ptr_equal(addr, ring.base);
    assert_true(pto_heap_ring_is_valid(&ring));
    pto_heap_ring_retire(&ring, end);
    unsigned char is_present;
    assert_int_equal(mincore(ring.base, 4096, &is_present), 0);
    if (can_move(&arena)) assert_int_equal(is_present & 1, 1);
    assert_int_equal(resident_bytes(&ring), before);
  }
  for (uint64_t round = 0; round < 3; round++) { /* all of it at once */
    assert_true(pto_heap_ring_alloc(&ring, round == 1 ? HEAP - PART : HEAP, &addr, &end));
    assert_true(pto_heap_ring_is_valid(&ring));
    pto_heap_ring_retire(&ring, end);
  }
  pto_heap_ring_fini(&ring);
  pto_gm_arena_fini(&arena);
}

static void rings_of_more_than_the_limit_are_not_watched(void **state) {
  struct pto_gm_arena arena;
  open_arena(&arena, true, PTO_ARENA_CHECKED_LIMIT / RINGS);
  assert_true(arena.is_checked);
  pto_gm_arena_fini(&arena);
  open_arena(&arena, true, PTO_ARENA_CHECKED_LIMIT / RINGS + KIB);
  assert_false(arena.is_checked);
  assert_int_equal(arena.spread_log2, 0);
  pto_gm_arena_fini(&arena);
  assert_true(pto_gm_arena_init(&arena, PTO_ARENA_CHECKED_LIMIT / RINGS + KIB, RINGS, true));
  assert_int_equal(arena.spread_log2, 0); /* nor apart */
  pto_gm_arena_fini(&arena);
}

static void a_range_overlaps_the_arena_where_they_share_a_byte(void **state) {
  struct pto_gm_arena arena;
  open_arena(&arena, false, 64 * KIB);
  const uint64_t lo = (uint64_t)(uintptr_t)arena.memory.addr, hi = lo + RINGS * 64 * KIB;
  assert_true(pto_gm_arena_overlaps(&arena, lo, lo + 1));
  assert_true(pto_gm_arena_overlaps(&arena, hi - 1, hi + 10));
  assert_true(pto_gm_arena_overlaps(&arena, lo - 10, hi + 10));
  assert_false(pto_gm_arena_overlaps(&arena, lo - 10, lo));
  assert_false(pto_gm_arena_overlaps(&arena, hi, hi + 10));
  pto_gm_arena_fini(&arena);
  assert_false(pto_gm_arena_overlaps(&arena, lo, hi));
}

static void a_refused_reservation_is_reported_and_leaves_nothing(void **state) {
  struct pto_gm_arena arena;
  is_checked = false;
  pto_reserve_fail_countdown = 1;
  assert_false(pto_gm_arena_init(&arena, 64 * KIB, RINGS, false));
  assert_null(arena.memory.addr);
  assert_int_equal(pto_reserve_fail_countdown, 0);
  pto_gm_arena_fini(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rings_lie_side_by_side_where_no_tool_watches),
      cmocka_unit_test(watched_rings_have_room_for_their_laps_and_behind_each_output),
      cmocka_unit_test(an_engine_that_looks_gets_the_same_layout_and_nothing_is_told),
      cmocka_unit_test(the_ring_and_position_of_an_address_are_those_that_gave_it),
      cmocka_unit_test(a_ring_with_little_in_it_takes_little_and_keeps_it),
      cmocka_unit_test(an_empty_ring_has_its_pages_where_it_starts_again),
      cmocka_unit_test(rings_of_more_than_the_limit_are_not_watched),
      cmocka_unit_test(a_range_overlaps_the_arena_where_they_share_a_byte),
      cmocka_unit_test(a_refused_reservation_is_reported_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
