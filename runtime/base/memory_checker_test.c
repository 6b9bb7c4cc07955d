/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <runtime/base/memory_checker.h>
#include <runtime/base/sanitizer.h>

enum { GRANULES = 64, ROUNDS = 60000, HALF_BYTES = 4 };

static _Alignas(8) char memory[GRANULES * 2 * HALF_BYTES];
static _Atomic uint32_t arrivals;

/* Returns where both threads have come for the `count`-th time, within some nanoseconds of each other. */
static void meet(uint32_t count) {
  atomic_fetch_add_explicit(&arrivals, 1, memory_order_acq_rel);
  while (atomic_load_explicit(&arrivals, memory_order_acquire) < 2 * count) sched_yield();
}

static void mark_halves(char *first) {
  for (uint32_t i = 0; i < GRANULES; i++) pto_memory_mark_written(first + (uint64_t)i * 2 * HALF_BYTES, HALF_BYTES);
}

static void *other_thread(void *unused) {
  for (uint32_t round = 0; round < ROUNDS; round++) {
    meet(2 * round + 1);
    mark_halves(memory);
    meet(2 * round + 2);
  }
  return NULL;
}

/* How many granules are open as a whole: such can be hidden. */
static uint32_t count_open(void) {
  static struct pto_hidden_piece pieces[GRANULES];
  struct pto_hidden_list list = {pieces, 0, GRANULES};
  uint32_t open = 0;
  pto_memory_hide(&list, memory, sizeof memory);
  for (uint32_t i = 0; i < list.count; i++) open += pieces[i].before[0] == 2 * HALF_BYTES;
  pto_memory_show(&list);
  return open;
}

static void test_halves_of_a_granule_that_two_threads_begin_to_write_are_both_open(void **state) {
  if (!PTO_HAS_ASAN) skip(); /* memcheck sees writes itself */
  pthread_t other;
  uint64_t fewest = GRANULES;
  assert_int_equal(pthread_create(&other, NULL, other_thread, NULL), 0);
  for (uint32_t round = 0; round < ROUNDS; round++) {
    pto_memory_mark_fresh(memory, sizeof memory);
    meet(2 * round + 1);
    mark_halves(memory + HALF_BYTES);
    meet(2 * round + 2);
    fewest = pto_min_u64(fewest, count_open());
  }
  pthread_join(other, NULL);
  assert_int_equal(fewest, GRANULES);
  pto_memory_forget(memory, sizeof memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_halves_of_a_granule_that_two_threads_begin_to_write_are_both_open),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
