/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <graph/lower/value_memory.h>
#include <runtime/base/base.h>

#define MIB (UINT64_C(1) << 20)

static struct pto_buffer made(uint64_t id, uint64_t size_bytes) { return (struct pto_buffer){id, 1, 0, size_bytes}; }

/* The number of the buffer that is handed on; 0: a new one is due. */
static uint64_t reused(struct pto_value_memory *memory, uint64_t size_bytes, uint32_t node, uint32_t end) {
  struct pto_buffer buffer;
  return pto_value_memory_reuse(memory, size_bytes, node, end, &buffer) ? buffer.id : 0;
}

static void test_nothing_is_handed_on_before_so_much_was_handed_out(void **state) {
  struct pto_value_memory memory = {0};
  assert_true(pto_value_memory_add(&memory, made(1, 2 * MIB), 1));
  assert_int_equal(reused(&memory, 2 * MIB, 10, 11), 0); /* together 4 MiB */
  assert_int_equal(reused(&memory, 2 * MIB + 1, 10, 11), 0);
  assert_true(pto_value_memory_add(&memory, made(2, 2 * MIB), 11));
  assert_int_equal(reused(&memory, 1, 20, 21), 1);
  pto_value_memory_fini(&memory);
}

static void test_a_buffer_is_handed_on_two_nodes_behind_its_last_reader(void **state) {
  struct pto_value_memory memory = {0};
  assert_true(pto_value_memory_add(&memory, made(1, 8 * MIB), 5)); /* node 4 reads it */
  assert_int_equal(reused(&memory, MIB, 4, 9), 0);
  assert_int_equal(reused(&memory, MIB, 5, 9), 0);
  assert_int_equal(reused(&memory, MIB, 6, 9), 0);
  assert_int_equal(reused(&memory, MIB, 7, 9), 1);
  assert_int_equal(reused(&memory, MIB, 8, 12), 0); /* it is that one's now */
  assert_int_equal(reused(&memory, MIB, 10, 12), 0);
  assert_int_equal(reused(&memory, MIB, 11, 12), 1);
  pto_value_memory_fini(&memory);
}

static void test_nothing_is_handed_on_where_rules_order_no_write_after_reads(void **state) {
  struct pto_value_memory memory = {.reuses_nothing = true, .reuses_at_once = true};
  assert_true(pto_value_memory_add(&memory, made(1, 8 * MIB), 1));
  assert_int_equal(reused(&memory, MIB, 100, 101), 0);
  pto_value_memory_fini(&memory);
}

static void test_what_lasts_is_never_handed_on(void **state) {
  struct pto_value_memory memory = {0};
  assert_true(pto_value_memory_add(&memory, made(1, 8 * MIB), UINT32_MAX));
  assert_int_equal(reused(&memory, MIB, 1000000, 1000001), 0);
  assert_int_equal(reused(&memory, MIB, UINT32_MAX - 1, UINT32_MAX), 0);
  pto_value_memory_fini(&memory);
}

static void test_of_those_that_are_large_enough_the_longest_dead_is_handed_on(void **state) {
  struct pto_value_memory memory = {0};
  assert_true(pto_value_memory_add(&memory, made(1, 4 * MIB), 9));
  assert_true(pto_value_memory_add(&memory, made(2, MIB), 3));
  assert_true(pto_value_memory_add(&memory, made(3, 6 * MIB), 7));
  assert_int_equal(reused(&memory, 2 * MIB, 20, 21), 3);
  assert_int_equal(reused(&memory, 2 * MIB, 20, 21), 1);
  assert_int_equal(reused(&memory, 2 * MIB, 20, 21), 0);
  assert_int_equal(reused(&memory, MIB, 20, 21), 2);
  pto_value_memory_fini(&memory);
}

/* Against a plain model: no two values that are alive at one node have one buffer. */
static void test_no_two_live_values_have_one_buffer(void **state) {
  enum { NODES = 2000 };
  static struct {
    uint64_t buffer;
    uint32_t from, end;
  } values[NODES];
  struct pto_rng rng = {42};
  struct pto_value_memory memory = {0};
  uint64_t buffers = 0, handed_on = 0;
  for (uint32_t n = 0; n < NODES; n++) {
    const uint64_t size_bytes = 1 + pto_rng_below(&rng, MIB);
    const uint32_t end = n + 1 + (uint32_t)pto_rng_below(&rng, 20);
    values[n].from = n;
    values[n].end = end;
    values[n].buffer = reused(&memory, size_bytes, n, end);
    if (values[n].buffer) {
      handed_on++;
    } else {
      values[n].buffer = ++buffers;
      assert_true(pto_value_memory_add(&memory, made(buffers, size_bytes), end));
    }
    for (uint32_t m = 0; m < n; m++)
      if (values[m].buffer == values[n].buffer) assert_true(values[m].end + PTO_VALUE_MEMORY_DISTANCE <= n);
  }
  assert_int_equal(handed_on + buffers, NODES);
  assert_true(buffers < 60); /* at most 22 are held at a time */
  pto_value_memory_fini(&memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_is_handed_on_before_so_much_was_handed_out),
      cmocka_unit_test(test_a_buffer_is_handed_on_two_nodes_behind_its_last_reader),
      cmocka_unit_test(test_nothing_is_handed_on_where_rules_order_no_write_after_reads),
      cmocka_unit_test(test_what_lasts_is_never_handed_on),
      cmocka_unit_test(test_of_those_that_are_large_enough_the_longest_dead_is_handed_on),
      cmocka_unit_test(test_no_two_live_values_have_one_buffer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
