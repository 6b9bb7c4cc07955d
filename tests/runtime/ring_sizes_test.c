/* SPDX-License-Identifier: MIT */
/* Rings with sizes of their own by scope depth, and what the statistics of scopes and rings say of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/runtime_fixture.h>

/* Ring 1 has 8 slots of the 16, and 4096 bytes of the 8192. */
static int sizes_by_depth(struct pto_runtime *rt, struct fixture *f) {
  struct pto_stats stats = {.size = sizeof stats};
  struct pto_scope_stats scope = {.size = sizeof scope};
  struct pto_tensor most = fixture_managed(rt, 8192);
  FIXTURE_DO(rt, .label = 0, .modes = "o", .tensors = {&most});
  for (uint64_t i = 1; i < 15; i++) FIXTURE_DO(rt, .label = i);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor t = fixture_managed(rt, 4096);
  FIXTURE_DO(rt, .label = 15, .modes = "o", .tensors = {&t});
  for (uint64_t i = 16; i < 22; i++) FIXTURE_DO(rt, .label = i);
  pto_scope_statistics(rt, &scope);
  assert_int_equal(scope.depth, 1);
  assert_int_equal(scope.ring, 1);
  assert_int_equal(scope.tasks, 7);
  assert_int_equal(scope.window_used, 7);
  assert_int_equal(scope.window, 8);
  assert_int_equal(scope.heap_bytes, 4096);
  assert_int_equal(scope.heap_used_bytes, 4096);
  assert_int_equal(scope.heap_size_bytes, 4096);
  pto_runtime_stats(rt, &stats);
  const uint64_t slots[PTO_RINGS] = {15, 7}, bytes[PTO_RINGS] = {8192, 4096};
  assert_memory_equal(stats.ring_window_high_water, slots, sizeof slots);
  assert_memory_equal(stats.ring_heap_high_water_bytes, bytes, sizeof bytes);
  return pto_submit_barrier(rt, NULL, 0, NULL);
}
/* Depths 3 and 4 share the last ring. */
static int own_of_a_shared_ring(struct pto_runtime *rt, struct fixture *f) {
  struct pto_scope_stats scope = {.size = sizeof scope};
  for (uint32_t depth = 1; depth <= 4; depth++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    struct pto_tensor t = fixture_managed(rt, 1024 * depth);
    FIXTURE_DO(rt, .label = depth, .modes = "o", .tensors = {&t});
    pto_scope_statistics(rt, &scope);
    assert_int_equal(scope.depth, depth);
    assert_int_equal(scope.tasks, 1);
    assert_int_equal(scope.heap_bytes, 1024 * depth);
  }
  assert_int_equal(scope.window_used, 2);
  assert_int_equal(scope.heap_used_bytes, 3 * 1024 + 4 * 1024);
  for (uint32_t depth = 1; depth <= 4; depth++) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  return 0;
}
static int heap_by_depth(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor t = fixture_managed(rt, 5120);
  return FIXTURE_TRY(rt, .label = 0, .modes = "o", .tensors = {&t});
}
static int wrong_sizes_by_depth(struct pto_runtime *rt, struct fixture *f) {
  static const struct {
    uint64_t window, heap_bytes;
    const char *sentence;
  } wrong[] = {{128, 0, "window 128 of ring 2 is not a power of two from 4 to 64"},
               {24, 0, "window 24 of ring 2 is not"},
               {2, 0, "window 2 of ring 2 is not"},
               {0, 1 << 21, "heap of 2097152 bytes of ring 2 is not a multiple of 1024 up to 1048576"},
               {0, 1000, "heap of 1000 bytes of ring 2 is not"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wrong); i++) {
    struct pto_config config = {.size = sizeof config, .window = 64, .heap_bytes = 1 << 20};
    struct pto_runtime *made;
    char sentence[256];
    config.ring_window[2] = wrong[i].window;
    config.ring_heap_bytes[2] = wrong[i].heap_bytes;
    assert_int_equal(pto_runtime_create_explained(&config, &made, sentence, sizeof sentence), PTO_EINVAL);
    if (!strstr(sentence, wrong[i].sentence)) fail_msg("%s", sentence);
  }
  return 0;
}

static const struct fixture_case cases[] = {
    {.name = "rings have sizes of their own, and statistics",
     .body = sizes_by_depth,
     .window = 16,
     .heap_bytes = 8192,
     .ring_window = {0, 8},
     .ring_heap_bytes = {0, 4096},
     .status = PTO_ESCOPE,
     .sentence = "ring 1: the scope holds 7 tasks, all that a window of 8 has room for"},
    {.name = "a scope of a ring that it shares counts what is its own", .body = own_of_a_shared_ring},
    {.name = "an output that fits another ring does not fit a smaller one",
     .body = heap_by_depth,
     .heap_bytes = 8192,
     .ring_heap_bytes = {0, 4096},
     .status = PTO_EHEAP,
     .sentence = "ring 1"},
    {.name = "sizes of rings that are none are refused", .body = wrong_sizes_by_depth},
};

int main(void) { return fixture_run_cases("ring sizes", cases, PTO_ARRAY_LENGTH(cases)); }
