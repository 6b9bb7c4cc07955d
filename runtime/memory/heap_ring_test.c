/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include <runtime/base/memory_checker.h>
#include <runtime/base/reserve.h>
#include <runtime/memory/heap_ring.h>

#define KIB 1024u

/* ---- in the place of memory_checker.c: what is free, by KiB ---- */

#define LAPS 3u
#define WATCHED_KIB (2 * LAPS * 16 + 1)
static _Alignas(1024) char watched[WATCHED_KIB * KIB];
static enum { UNKNOWN, FREE, TAKEN, FORGOTTEN } state_of[WATCHED_KIB];

static void mark(const char *addr, uint64_t size_bytes, int state) {
  assert_true(addr >= watched && addr + size_bytes <= watched + sizeof watched);
  assert_int_equal((uint64_t)(addr - watched) % KIB + size_bytes % KIB, 0);
  for (uint64_t k = 0; k < size_bytes / KIB; k++) state_of[(uint64_t)(addr - watched) / KIB + k] = state;
}
void pto_memory_mark_free(void *addr, uint64_t size_bytes) { mark(addr, size_bytes, FREE); }
void pto_memory_forget(void *addr, uint64_t size_bytes) { mark(addr, size_bytes, FORGOTTEN); }
static _Alignas(1024) char arena[16 * KIB];

static void make(struct pto_heap_ring *ring, uint64_t kib) { pto_heap_ring_init(ring, arena, kib * KIB); }

/* Allocates and returns the offset in the arena; UINT64_MAX where refused. */
static uint64_t take(struct pto_heap_ring *ring, uint64_t kib, uint64_t *end) {
  char *addr = NULL;
  uint64_t ignored;
  if (!pto_heap_ring_alloc(ring, kib * KIB, &addr, end ? end : &ignored)) return UINT64_MAX;
  assert_true(pto_heap_ring_is_valid(ring));
  return (uint64_t)(addr - arena);
}

static void blocks_follow_each_other_from_offset_zero(void **state) {
  struct pto_heap_ring ring;
  make(&ring, 8);
  assert_int_equal(take(&ring, 1, NULL), 0);
  assert_int_equal(take(&ring, 2, NULL), KIB);
  assert_int_equal(take(&ring, 1, NULL), 3 * KIB);
  assert_int_equal(pto_heap_ring_used(&ring), 4 * KIB);
}

static void a_block_as_large_as_the_ring_fits_once(void **state) {
  struct pto_heap_ring ring;
  uint64_t end;
  make(&ring, 8);
  assert_int_equal(take(&ring, 8, &end), 0);
  assert_int_equal(take(&ring, 1, NULL), UINT64_MAX);
  pto_heap_ring_retire(&ring, end);
  assert_int_equal(take(&ring, 8, NULL), 0);
}

static void a_full_ring_does_not_look_empty(void **state) {
  struct pto_heap_ring ring;
  make(&ring, 4);
  for (int i = 0; i < 4; i++) assert_int_equal(take(&ring, 1, NULL), (uint64_t)i * KIB);
  assert_int_equal(pto_heap_ring_used(&ring), 4 * KIB);
  assert_int_equal(take(&ring, 1, NULL), UINT64_MAX);
}

static void a_request_larger_than_the_ring_is_refused_and_changes_nothing(void **state) {
  struct pto_heap_ring ring;
  make(&ring, 4);
  take(&ring, 1, NULL);
  struct pto_heap_ring before = ring;
  assert_int_equal(take(&ring, 5, NULL), UINT64_MAX);
  assert_memory_equal(&ring, &before, sizeof ring);
}

/* Of addresses alone: nothing is there. */
static void blocks_and_rings_may_be_larger_than_4_gib(void **state) {
  const uint64_t gib = UINT64_C(1) << 30;
  struct pto_heap_ring ring;
  uint64_t end;
  make(&ring, 16 * gib / KIB);
  for (uint64_t i = 0; i < 3; i++) assert_int_equal(take(&ring, 5 * gib / KIB, i ? NULL : &end), 5 * gib * i);
  assert_int_equal(take(&ring, 5 * gib / KIB, NULL), UINT64_MAX);
  pto_heap_ring_retire(&ring, end);
  assert_int_equal(take(&ring, 5 * gib / KIB, NULL), 0);
  assert_int_equal(ring.high_water_bytes, 16 * gib);
}

static void a_block_that_fits_exactly_at_the_end_goes_there(void **state) {
  struct pto_heap_ring ring;
  uint64_t first;
  make(&ring, 4);
  take(&ring, 2, &first);
  take(&ring, 1, NULL);
  pto_heap_ring_retire(&ring, first);
  assert_int_equal(take(&ring, 1, NULL), 3 * KIB);
  assert_int_equal(take(&ring, 2, NULL), 0); /* and the next one at the start, up to the tail */
  assert_int_equal(take(&ring, 1, NULL), UINT64_MAX);
}

static void a_block_never_crosses_the_end_and_the_wasted_bytes_come_back_with_it(void **state) {
  struct pto_heap_ring ring;
  uint64_t first, second, third;
  make(&ring, 8);
  take(&ring, 5, &first);
  take(&ring, 1, &second);
  pto_heap_ring_retire(&ring, first);
  assert_int_equal(take(&ring, 4, &third), 0); /* 2 KiB at the end are skipped */
  assert_int_equal(pto_heap_ring_used(&ring), (1 + 2 + 4) * KIB);
  pto_heap_ring_retire(&ring, second);
  assert_int_equal(pto_heap_ring_used(&ring), (2 + 4) * KIB);
  pto_heap_ring_retire(&ring, third);
  assert_int_equal(pto_heap_ring_used(&ring), 0);
}

static void a_wrapped_request_equal_to_the_space_before_the_tail_fits(void **state) {
  struct pto_heap_ring ring;
  uint64_t first;
  make(&ring, 8);
  take(&ring, 3, &first);
  take(&ring, 5, NULL);
  pto_heap_ring_retire(&ring, first);
  assert_int_equal(take(&ring, 3, NULL), 0);
  assert_int_equal(pto_heap_ring_used(&ring), 8 * KIB);
  assert_int_equal(take(&ring, 0, NULL), 3 * KIB); /* nothing still fits */
}

static void an_empty_ring_starts_over_and_a_block_that_would_not_fit_behind_the_head_fits(void **state) {
  struct pto_heap_ring ring;
  uint64_t end;
  make(&ring, 8);
  take(&ring, 5, &end);
  pto_heap_ring_retire(&ring, end);
  assert_int_equal(take(&ring, 6, NULL), 0);
}

static void a_zero_size_block_has_an_address_and_takes_nothing(void **state) {
  struct pto_heap_ring ring;
  uint64_t end;
  make(&ring, 4);
  take(&ring, 1, NULL);
  assert_int_equal(take(&ring, 0, &end), KIB);
  assert_int_equal(end, ring.head);
  assert_int_equal(pto_heap_ring_used(&ring), KIB);
}

static void retiring_a_zero_size_block_after_the_ring_started_over_frees_nothing_new(void **state) {
  struct pto_heap_ring ring;
  uint64_t first, empty, second;
  make(&ring, 4);
  take(&ring, 1, &first);
  take(&ring, 0, &empty);
  pto_heap_ring_retire(&ring, first);
  assert_int_equal(take(&ring, 2, &second), 0); /* starts over */
  pto_heap_ring_retire(&ring, empty);
  assert_int_equal(pto_heap_ring_used(&ring), 2 * KIB);
  pto_heap_ring_retire(&ring, second);
  assert_int_equal(pto_heap_ring_used(&ring), 0);
}

static void the_high_water_mark_keeps_the_most_that_was_used(void **state) {
  struct pto_heap_ring ring;
  uint64_t end;
  make(&ring, 8);
  take(&ring, 6, &end);
  pto_heap_ring_retire(&ring, end);
  take(&ring, 2, NULL);
  assert_int_equal(ring.high_water_bytes, 6 * KIB);
  pto_heap_ring_reset(&ring);
  assert_int_equal(ring.high_water_bytes, 0);
}

/* Against a model that marks every KiB with the block that has it. */
static void random_blocks_never_overlap_and_are_refused_only_when_no_place_is_left(void **state) {
  struct pto_rng rng = {20261120};
  for (int round = 0; round < 200; round++) {
    struct pto_heap_ring ring;
    uint64_t kib = 1 + pto_rng_below(&rng, 16), ends[256], offsets[256], sizes[256];
    uint32_t oldest = 0, newest = 0;
    make(&ring, kib);
    for (int step = 0; step < 200; step++) {
      if (newest != oldest && pto_rng_below(&rng, 2)) {
        pto_heap_ring_retire(&ring, ends[oldest++ % 256]);
        continue;
      }
      uint64_t size = pto_rng_below(&rng, kib + 2), offset = take(&ring, size, &ends[newest % 256]);
      bool busy[16] = {false};
      for (uint32_t i = oldest; i != newest; i++)
        for (uint64_t k = 0; k < sizes[i % 256]; k++) busy[offsets[i % 256] / KIB + k] = true;
      if (offset == UINT64_MAX) {
        assert_true(newest != oldest || size > kib); /* an empty ring takes whatever it can hold */
        continue;
      }
      assert_true(offset / KIB + size <= kib);
      for (uint64_t k = 0; k < size; k++) assert_false(busy[offset / KIB + k]);
      offsets[newest % 256] = offset;
      sizes[newest++ % 256] = size;
    }
  }
}

/* ---- watched rings ---- */

static void watch(struct pto_heap_ring *ring, uint64_t kib) {
  for (uint32_t i = 0; i < WATCHED_KIB; i++) state_of[i] = UNKNOWN;
  pto_heap_ring_init(ring, watched + KIB, kib * KIB);
  pto_heap_ring_watch(ring, 1, LAPS);
}
static uint64_t place_of(const char *addr) { return (uint64_t)(addr - watched) / KIB; }

static void a_watched_ring_leaves_as_much_room_behind_an_output_as_it_takes(void **state) {
  struct pto_heap_ring ring;
  char *first, *second;
  uint64_t end;
  watch(&ring, 8);
  assert_true(pto_heap_ring_alloc(&ring, 2 * KIB, &first, &end));
  assert_true(pto_heap_ring_alloc(&ring, 1 * KIB, &second, &end));
  assert_ptr_equal(first, watched + KIB);
  assert_ptr_equal(second, first + 4 * KIB);
  for (uint64_t k = 0; k < 7; k++) assert_int_equal(state_of[k], FREE); /* what the owner has not marked */
  assert_int_equal(state_of[place_of(pto_heap_ring_addr(&ring, 8 * KIB)) - 1], FREE);
}

static void a_watched_ring_uses_other_addresses_for_a_few_laps(void **state) {
  struct pto_heap_ring ring;
  char *addr[LAPS + 1];
  watch(&ring, 4);
  for (uint32_t lap = 0; lap <= LAPS; lap++) {
    uint64_t end;
    assert_true(pto_heap_ring_alloc(&ring, 3 * KIB, &addr[lap], &end));
    mark(addr[lap], 3 * KIB, TAKEN);
    pto_heap_ring_retire(&ring, end);
    for (uint64_t k = 0; k < 6; k++) assert_int_equal(state_of[place_of(addr[lap]) + k], FREE);
    for (uint32_t before = 0; before < lap && lap < LAPS; before++) assert_ptr_not_equal(addr[lap], addr[before]);
  }
  assert_ptr_equal(addr[LAPS], addr[0]);
}

static void what_a_watched_ring_marked_is_forgotten_at_its_end(void **state) {
  struct pto_heap_ring ring;
  char *addr;
  uint64_t end;
  watch(&ring, 4);
  for (int i = 0; i < 5; i++) {
    assert_true(pto_heap_ring_alloc(&ring, 3 * KIB, &addr, &end));
    pto_heap_ring_retire(&ring, end);
  }
  const uint32_t behind = 1 + 2 * LAPS * 4;
  for (uint32_t i = behind; i < WATCHED_KIB; i++) state_of[i] = TAKEN; /* the next ring's */
  pto_heap_ring_fini(&ring);
  for (uint32_t i = 0; i < behind; i++) assert_true(state_of[i] == UNKNOWN || state_of[i] == FORGOTTEN);
  for (uint32_t i = behind; i < WATCHED_KIB; i++) assert_int_equal(state_of[i], TAKEN);
}

/* The same requests to a ring that is watched and to one that is not. */
static void a_watched_ring_takes_refuses_and_counts_as_any_other(void **state) {
  struct pto_rng rng = {20261122};
  for (int round = 0; round < 200; round++) {
    struct pto_heap_ring plain, ring;
    uint64_t kib = 1 + pto_rng_below(&rng, 16), ends[256], sizes[256];
    char *addrs[256];
    uint32_t oldest = 0, newest = 0;
    make(&plain, kib);
    watch(&ring, kib);
    for (int step = 0; step < 200; step++) {
      if (newest != oldest && pto_rng_below(&rng, 2)) {
        pto_heap_ring_retire(&plain, ends[oldest % 256]);
        pto_heap_ring_retire(&ring, ends[oldest++ % 256]);
      } else {
        uint64_t size = pto_rng_below(&rng, kib + 2), end, plain_end;
        char *addr, *plain_addr;
        bool is_taken = pto_heap_ring_alloc(&plain, size * KIB, &plain_addr, &plain_end);
        assert_int_equal(pto_heap_ring_alloc(&ring, size * KIB, &addr, &end), is_taken);
        if (!is_taken) continue;
        assert_int_equal(end, plain_end);
        assert_int_equal((addr - ring.base) / 2 % (int64_t)(kib * KIB), plain_addr - plain.base);
        mark(addr, size * KIB, TAKEN);
        addrs[newest % 256] = addr;
        sizes[newest % 256] = size;
        ends[newest++ % 256] = end;
      }
      assert_true(ring.head == plain.head && ring.tail == plain.tail);
      assert_int_equal(ring.high_water_bytes, plain.high_water_bytes);
      for (uint32_t i = oldest; i != newest; i++)
        for (uint64_t k = 0; k < 2 * sizes[i % 256]; k++)
          assert_int_equal(state_of[place_of(addrs[i % 256]) + k], k < sizes[i % 256] ? TAKEN : FREE);
    }
  }
}

static void pages_move_where_each_part_is_whole_large_pages(void **state) {
  static char base[PTO_OUTPUT_ALIGN];
  const uint64_t parts = PTO_HEAP_PARTS * PTO_LARGE_PAGE_BYTES;
  const uint64_t sizes[] = {PTO_OUTPUT_ALIGN, parts / 2, parts, parts + PTO_OUTPUT_ALIGN, 3 * parts};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sizes); i++) {
    struct pto_heap_ring ring;
    pto_heap_ring_init(&ring, base, sizes[i]);
    pto_heap_ring_move_pages(&ring);
    assert_int_equal(ring.part_bytes, sizes[i] % parts ? 0 : sizes[i] / PTO_HEAP_PARTS);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_follow_each_other_from_offset_zero),
      cmocka_unit_test(a_block_as_large_as_the_ring_fits_once),
      cmocka_unit_test(a_full_ring_does_not_look_empty),
      cmocka_unit_test(a_request_larger_than_the_ring_is_refused_and_changes_nothing),
      cmocka_unit_test(blocks_and_rings_may_be_larger_than_4_gib),
      cmocka_unit_test(a_block_that_fits_exactly_at_the_end_goes_there),
      cmocka_unit_test(a_block_never_crosses_the_end_and_the_wasted_bytes_come_back_with_it),
      cmocka_unit_test(a_wrapped_request_equal_to_the_space_before_the_tail_fits),
      cmocka_unit_test(an_empty_ring_starts_over_and_a_block_that_would_not_fit_behind_the_head_fits),
      cmocka_unit_test(a_zero_size_block_has_an_address_and_takes_nothing),
      cmocka_unit_test(retiring_a_zero_size_block_after_the_ring_started_over_frees_nothing_new),
      cmocka_unit_test(the_high_water_mark_keeps_the_most_that_was_used),
      cmocka_unit_test(random_blocks_never_overlap_and_are_refused_only_when_no_place_is_left),
      cmocka_unit_test(a_watched_ring_leaves_as_much_room_behind_an_output_as_it_takes),
      cmocka_unit_test(a_watched_ring_uses_other_addresses_for_a_few_laps),
      cmocka_unit_test(what_a_watched_ring_marked_is_forgotten_at_its_end),
      cmocka_unit_test(pages_move_where_each_part_is_whole_large_pages),
      cmocka_unit_test(a_watched_ring_takes_refuses_and_counts_as_any_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
