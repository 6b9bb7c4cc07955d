/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <graph/build/arena.h>
#include <tests/support/failing_malloc.h>

static void test_memory_is_zeroed_aligned_and_stays_in_place(void **state) {
  struct pto_graph_arena arena = {0};
  struct pto_rng rng = {3};
  static struct {
    unsigned char *memory, mark;
    uint64_t size;
  } blocks[500];
  for (uint32_t i = 0; i < 500; i++) {
    blocks[i].size = pto_rng_below(&rng, i % 50 ? 100 : 20000);
    blocks[i].memory = pto_graph_arena_alloc(&arena, blocks[i].size);
    blocks[i].mark = (unsigned char)(1 + i % 255);
    assert_non_null(blocks[i].memory);
    assert_int_equal((uintptr_t)blocks[i].memory % 16, 0);
    for (uint64_t b = 0; b < blocks[i].size; b++) assert_int_equal(blocks[i].memory[b], 0);
    memset(blocks[i].memory, blocks[i].mark, blocks[i].size);
  }
  for (uint32_t i = 0; i < 500; i++)
    for (uint64_t b = 0; b < blocks[i].size; b++) assert_int_equal(blocks[i].memory[b], blocks[i].mark);
  pto_graph_arena_fini(&arena);
  pto_graph_arena_fini(&arena);
}

static void test_release_gives_back_what_was_allocated_since_the_mark(void **state) {
  struct pto_graph_arena arena = {0};
  int64_t live = live_blocks;
  struct pto_graph_arena_mark empty = pto_graph_arena_mark(&arena);
  char *first = pto_graph_arena_string(&arena, "first");
  struct pto_graph_arena_mark mark = pto_graph_arena_mark(&arena);
  uint64_t used = arena.used_bytes;
  for (uint32_t i = 0; i < 100; i++) assert_non_null(pto_graph_arena_alloc(&arena, 1000));
  pto_graph_arena_release(&arena, mark);
  assert_int_equal(arena.used_bytes, used);
  assert_string_equal(first, "first");
  char *second = pto_graph_arena_alloc(&arena, 16);
  assert_ptr_equal(second, first + 16);
  assert_int_equal(second[0], 0);
  pto_graph_arena_release(&arena, empty);
  assert_int_equal(arena.used_bytes, 0);
  assert_int_equal(live_blocks, live);
}

static void test_a_copy_of_nothing_is_not_null(void **state) {
  struct pto_graph_arena arena = {0};
  assert_non_null(pto_graph_arena_copy(&arena, NULL, 0, 4));
  const uint32_t items[] = {7, 8};
  uint32_t *copy = pto_graph_arena_copy(&arena, items, 2, sizeof *items);
  assert_int_equal(copy[1], 8);
  pto_graph_arena_fini(&arena);
}

static void test_without_memory_the_arena_stays_as_it_was(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  struct pto_graph_arena arena = {0};
  fail_countdown = 1;
  assert_null(pto_graph_arena_alloc(&arena, 1));
  fail_countdown = 0;
  assert_int_equal(arena.used_bytes, 0);
  assert_null(arena.last);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_memory_is_zeroed_aligned_and_stays_in_place),
      cmocka_unit_test(test_release_gives_back_what_was_allocated_since_the_mark),
      cmocka_unit_test(test_a_copy_of_nothing_is_not_null),
      cmocka_unit_test(test_without_memory_the_arena_stays_as_it_was),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
