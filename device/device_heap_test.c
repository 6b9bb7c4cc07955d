/* SPDX-License-Identifier: MIT */
#include <device/device_heap.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define KIB UINT64_C(1024)
#define MOST 4096u

static uint32_t take(struct pto_device_heap *heap, uint64_t size_bytes) {
  uint32_t block = pto_device_heap_alloc(heap, size_bytes);
  assert_int_not_equal(block, PTO_DEVICE_NO_BLOCK);
  return block;
}

static void test_blocks_are_aligned_disjoint_and_large_enough(void **state) {
  struct pto_device_heap heap;
  assert_true(pto_device_heap_init(&heap, 64 * KIB, MOST));
  uint64_t end = 0;
  static const uint64_t sizes[] = {1, 511, 512, 513, 0, 4096};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(sizes); i++) {
    uint32_t block = take(&heap, sizes[i]);
    uint64_t offset = pto_device_heap_offset(&heap, block);
    assert_int_equal(offset % PTO_DEVICE_ALIGN, 0);
    assert_true(offset >= end);
    end = offset + sizes[i];
    assert_true(pto_device_heap_is_valid(&heap));
  }
  assert_int_equal(heap.live_bytes, 512 + 512 + 512 + 1024 + 512 + 4096);
  pto_device_heap_fini(&heap);
}

static void test_the_whole_heap_is_one_allocation_and_one_byte_more_is_none(void **state) {
  struct pto_device_heap heap;
  assert_true(pto_device_heap_init(&heap, 64 * KIB + 100, MOST));
  assert_int_equal(heap.capacity_bytes, 64 * KIB);
  assert_int_equal(pto_device_heap_alloc(&heap, 64 * KIB + 1), PTO_DEVICE_NO_BLOCK);
  uint32_t all = take(&heap, 64 * KIB);
  assert_int_equal(pto_device_heap_alloc(&heap, 1), PTO_DEVICE_NO_BLOCK);
  assert_true(pto_device_heap_fragmentation(&heap) == 0.0);
  pto_device_heap_free(&heap, all);
  assert_int_equal(heap.live_bytes, 0);
  assert_int_equal(heap.peak_bytes, 64 * KIB);
  assert_int_equal(pto_device_heap_largest_free(&heap), 64 * KIB);
  pto_device_heap_fini(&heap);
}

static void test_freed_neighbours_join_in_any_order(void **state) {
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int o = 0; o < 6; o++) {
    struct pto_device_heap heap;
    assert_true(pto_device_heap_init(&heap, 3 * KIB, MOST));
    uint32_t blocks[3];
    for (int i = 0; i < 3; i++) blocks[i] = take(&heap, KIB);
    for (int i = 0; i < 3; i++) {
      pto_device_heap_free(&heap, blocks[orders[o][i]]);
      assert_true(pto_device_heap_is_valid(&heap));
    }
    assert_int_equal(pto_device_heap_largest_free(&heap), 3 * KIB);
    pto_device_heap_fini(&heap);
  }
}

static void test_a_hole_of_the_right_size_is_used_though_its_class_has_smaller_ones(void **state) {
  struct pto_device_heap heap;
  /* 33 and 32 units are of one class; all else is taken. */
  assert_true(pto_device_heap_init(&heap, (33 + 1 + 32 + 1) * PTO_DEVICE_ALIGN, MOST));
  uint32_t large = take(&heap, 33 * PTO_DEVICE_ALIGN);
  take(&heap, 1);
  uint32_t small = take(&heap, 32 * PTO_DEVICE_ALIGN);
  take(&heap, 1);
  pto_device_heap_free(&heap, large);
  pto_device_heap_free(&heap, small);
  take(&heap, 33 * PTO_DEVICE_ALIGN);
  assert_true(pto_device_heap_is_valid(&heap));
  pto_device_heap_fini(&heap);
}

/* 64 blocks of the request's own class are looked at, the last freed first: the hole is the one behind them, or among
 * them. */
static void test_a_hole_behind_too_many_smaller_ones_of_its_class_is_not_found(void **state) {
  enum { SMALLER = 64 };
  for (uint32_t freed = SMALLER - 1; freed <= SMALLER; freed++) {
    struct pto_device_heap heap;
    uint32_t smaller[SMALLER];
    assert_true(pto_device_heap_init(&heap, (33 + 1 + SMALLER * (32 + 1)) * PTO_DEVICE_ALIGN, MOST));
    const uint32_t large = take(&heap, 33 * PTO_DEVICE_ALIGN);
    take(&heap, 1);
    for (uint32_t i = 0; i < SMALLER; i++) {
      smaller[i] = take(&heap, 32 * PTO_DEVICE_ALIGN);
      take(&heap, 1);
    }
    pto_device_heap_free(&heap, large);
    for (uint32_t i = 0; i < freed; i++) pto_device_heap_free(&heap, smaller[i]);
    assert_int_equal(pto_device_heap_alloc(&heap, 33 * PTO_DEVICE_ALIGN) == PTO_DEVICE_NO_BLOCK, freed == SMALLER);
    assert_true(pto_device_heap_is_valid(&heap));
    pto_device_heap_fini(&heap);
  }
}

static void test_more_blocks_than_were_asked_for_at_creation_are_refused_and_nothing_is_lost(void **state) {
  struct pto_device_heap heap;
  assert_true(pto_device_heap_init(&heap, 1024 * KIB, 2));
  uint32_t count = 0, blocks[64];
  while (count < 64 && (blocks[count] = pto_device_heap_alloc(&heap, 1)) != PTO_DEVICE_NO_BLOCK) count++;
  assert_in_range(count, 2, 5);
  assert_true(pto_device_heap_is_valid(&heap));
  while (count) pto_device_heap_free(&heap, blocks[--count]);
  assert_int_equal(pto_device_heap_largest_free(&heap), 1024 * KIB);
  pto_device_heap_fini(&heap);
}

/* A map of owners, a byte a unit, says what is whose. */
#define MODEL_UNITS 4096u
static void test_a_million_random_steps_agree_with_a_map_of_owners(void **state) {
  static uint16_t owner[MODEL_UNITS];
  static struct {
    uint32_t block;
    uint64_t first, units;
  } live[512];
  struct pto_device_heap heap;
  struct pto_rng rng = {20261122};
  uint32_t live_count = 0;
  double worst = 0;
  memset(owner, 0, sizeof owner);
  assert_true(pto_device_heap_init(&heap, MODEL_UNITS * PTO_DEVICE_ALIGN, 512));
  for (uint32_t step = 0; step < 1000000; step++) {
    if (live_count < 512 && pto_rng_next(&rng) % 100 < 52) {
      uint64_t size_bytes = 1 + pto_rng_next(&rng) % (PTO_DEVICE_ALIGN << pto_rng_next(&rng) % 7);
      uint32_t block = pto_device_heap_alloc(&heap, size_bytes);
      if (block == PTO_DEVICE_NO_BLOCK) {
        /* then no hole of the next class is there: holes grow by at most a sixteenth from class to class */
        assert_true(pto_device_heap_largest_free(&heap) < size_bytes + size_bytes / 8 + 2 * PTO_DEVICE_ALIGN);
        continue;
      }
      uint64_t first = pto_device_heap_offset(&heap, block) / PTO_DEVICE_ALIGN;
      uint64_t units = (size_bytes + PTO_DEVICE_ALIGN - 1) / PTO_DEVICE_ALIGN;
      for (uint64_t u = first; u < first + units; u++) {
        assert_int_equal(owner[u], 0);
        owner[u] = 1;
      }
      live[live_count].block = block;
      live[live_count].first = first;
      live[live_count++].units = units;
    } else if (live_count) {
      uint32_t i = (uint32_t)(pto_rng_next(&rng) % live_count);
      memset(&owner[live[i].first], 0, live[i].units * sizeof *owner);
      pto_device_heap_free(&heap, live[i].block);
      live[i] = live[--live_count];
    }
    if (step % 1000 == 0) {
      assert_true(pto_device_heap_is_valid(&heap));
      double fragmentation = pto_device_heap_fragmentation(&heap);
      if (fragmentation > worst) worst = fragmentation;
    }
  }
  printf("soak: %llu allocations, most bytes %.0f %% of the heap, worst fragmentation %.2f\n",
         (unsigned long long)heap.allocations, 100.0 * (double)heap.peak_bytes / (double)heap.capacity_bytes, worst);
  while (live_count) pto_device_heap_free(&heap, live[--live_count].block);
  assert_int_equal(heap.live_bytes, 0);
  assert_int_equal(heap.allocations, heap.frees);
  assert_int_equal(pto_device_heap_largest_free(&heap), heap.capacity_bytes);
  pto_device_heap_fini(&heap);
}

static void test_creation_without_memory_is_refused(void **state) {
  struct pto_device_heap heap;
  pto_reserve_fail_countdown = 1;
  assert_false(pto_device_heap_init(&heap, 64 * KIB, MOST));
  pto_reserve_fail_countdown = 0;
  pto_device_heap_fini(&heap);
  assert_false(pto_device_heap_init(&heap, 511, MOST));
  assert_false(pto_device_heap_init(&heap, 64 * KIB, 0));
}

static void test_more_blocks_than_can_be_numbered_are_refused(void **state) {
  struct pto_device_heap heap;
  assert_false(pto_device_heap_init(&heap, 1 << 20, UINT32_MAX));
  assert_false(pto_device_heap_init(&heap, 1 << 20, UINT32_MAX / 2));
  assert_false(pto_device_heap_init(&heap, 1 << 20, 0));
  assert_false(pto_device_heap_init(&heap, 0, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_more_blocks_than_can_be_numbered_are_refused),
      cmocka_unit_test(test_blocks_are_aligned_disjoint_and_large_enough),
      cmocka_unit_test(test_the_whole_heap_is_one_allocation_and_one_byte_more_is_none),
      cmocka_unit_test(test_freed_neighbours_join_in_any_order),
      cmocka_unit_test(test_a_hole_of_the_right_size_is_used_though_its_class_has_smaller_ones),
      cmocka_unit_test(test_a_hole_behind_too_many_smaller_ones_of_its_class_is_not_found),
      cmocka_unit_test(test_more_blocks_than_were_asked_for_at_creation_are_refused_and_nothing_is_lost),
      cmocka_unit_test(test_a_million_random_steps_agree_with_a_map_of_owners),
      cmocka_unit_test(test_creation_without_memory_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
