/* SPDX-License-Identifier: MIT */
/* Guarded memory: how a repeated call ends that faults, or does not come back; and memory of several owners. */
#include <check/observe/memory.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include <runtime/base/clock.h>
#include <runtime/base/sanitizer.h>

#define ARENA_BYTES (UINT64_C(1) << 20)

static struct pto_observe_range range_of(const void *arena) {
  return (struct pto_observe_range){(uintptr_t)arena, (uintptr_t)arena + ARENA_BYTES};
}

static void fault(void *context) { memset(context, 1, 1); }
static void spin(void *context) {
  for (;;) continue;
}
static void come_back(void *context) {}

static void test_a_call_that_does_not_come_back_is_ended_after_one_that_faulted(void **state) {
  struct pto_observe_memory m;
  void *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void *forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(arena != MAP_FAILED && forbidden != MAP_FAILED);
  assert_true(pto_observe_memory_init(&m));
  assert_true(pto_observe_memory_begin(&m, 0, range_of(arena)));
  for (int i = 0; i < 3; i++) {
    assert_false(pto_observe_memory_try(&m, fault, forbidden, 1000000));
    assert_int_equal(m.caught, SIGSEGV);
    assert_false(pto_observe_memory_try(&m, spin, NULL, 1000));
    assert_int_equal(m.caught, SIGVTALRM);
    assert_true(pto_observe_memory_try(&m, come_back, NULL, 1000000));
  }
  pto_observe_memory_end(&m);
  pto_observe_memory_fini(&m);
  munmap(arena, ARENA_BYTES);
  munmap(forbidden, 4096);
}

/* User time: reads of this clock are the kernel's. */
static void spin_for(uint64_t us) {
  for (const uint64_t end_ns = pto_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
       pto_clock_of_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns;)
    for (uint32_t i = 0; i < 1000000; i++) __asm__ volatile("" : : "r"(i));
}
static void spin_in_stretches(void *context) {
  for (int i = 0; i < 4; i++) {
    spin_for(50000);
    pto_observe_memory_try_on(context);
  }
}

static void test_a_limit_is_that_of_a_stretch_where_each_begins_it_anew(void **state) {
  struct pto_observe_memory m;
  void *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(arena != MAP_FAILED);
  assert_true(pto_observe_memory_init(&m));
  assert_true(pto_observe_memory_begin(&m, 0, range_of(arena)));
  assert_true(pto_observe_memory_try_time(&m, spin_in_stretches, &m, 150000));
  assert_false(pto_observe_memory_try_time(&m, spin, NULL, 150000));
  pto_observe_memory_end(&m);
  pto_observe_memory_fini(&m);
  munmap(arena, ARENA_BYTES);
}

static void spin_in_a_pause(void *context) {
  (void)context;
  const uint64_t left_us = pto_observe_memory_try_pause();
  spin_for(200000);
  pto_observe_memory_try_resume(left_us);
}
static void spin_behind_a_pause(void *context) {
  spin_in_a_pause(context);
  spin(context);
}

static void test_what_the_observer_does_itself_takes_no_time_of_the_limit(void **state) {
  struct pto_observe_memory m;
  void *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(arena != MAP_FAILED);
  assert_true(pto_observe_memory_init(&m));
  assert_true(pto_observe_memory_begin(&m, 0, range_of(arena)));
  assert_true(pto_observe_memory_try(&m, spin_in_a_pause, NULL, 100000));
  assert_false(pto_observe_memory_try(&m, spin_behind_a_pause, NULL, 100000));
  assert_int_equal(m.caught, SIGVTALRM);
  pto_observe_memory_end(&m);
  pto_observe_memory_fini(&m);
  munmap(arena, ARENA_BYTES);
}

static void test_a_time_out_waits_for_the_handler_of_a_touch(void **state) {
  struct pto_observe_memory m;
  struct sigaction action;
  void *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(arena != MAP_FAILED);
  assert_true(pto_observe_memory_init(&m));
  assert_true(pto_observe_memory_begin(&m, 0, range_of(arena)));
  assert_int_equal(sigaction(SIGSEGV, NULL, &action), 0);
  assert_int_equal(sigismember(&action.sa_mask, SIGVTALRM), 1);
  pto_observe_memory_fini(&m);
  munmap(arena, ARENA_BYTES);
}

static char *pages(int protection) {
  char *memory = mmap(NULL, ARENA_BYTES, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  return memory;
}
static struct pto_observe_area area_of(char *memory, uint32_t owner, bool is_window) {
  return (struct pto_observe_area){
      .lo = (uintptr_t)memory, .hi = (uintptr_t)memory + ARENA_BYTES, .owner = owner, .is_window = is_window};
}

static void test_a_call_of_one_owner_sees_what_it_touches_of_another(void **state) {
  struct pto_observe_memory m;
  char *arenas[2] = {pages(PROT_READ | PROT_WRITE), pages(PROT_READ | PROT_WRITE)};
  char *window = pages(PROT_READ | PROT_WRITE), *array = pages(PROT_READ | PROT_WRITE), *peer = pages(PROT_NONE);
  assert_true(pto_observe_memory_init(&m));
  assert_true(pto_observe_memory_add_hollow(&m, (uintptr_t)peer, (uintptr_t)peer + ARENA_BYTES));
  for (uint32_t i = 0; i < 2; i++) assert_true(pto_observe_memory_begin(&m, i, range_of(arenas[i])));
  assert_true(pto_observe_memory_add(&m, area_of(window, 1, true)));
  assert_true(pto_observe_memory_add(&m, area_of(array, 1, false)));
  pto_observe_call_begin(&m);
  arenas[1][1] = window[2] = array[3] = 5;
  assert_int_equal(m.pages.count, 3);
  assert_int_equal(m.faults, 3);
  assert_int_equal(pto_observe_at(&m, m.before, pto_observe_call_find(&m, (uintptr_t)window))[2], 0);
  assert_int_equal(pto_observe_memory_owner(&m, (uintptr_t)arenas[1], 7), 1);
  assert_int_equal(pto_observe_memory_owner(&m, (uintptr_t)arenas[0], 7), 0);
  assert_int_equal(pto_observe_memory_owner(&m, (uintptr_t)peer, 7), 7);
  assert_true(pto_observe_memory_is_hollow(&m, (uintptr_t)peer + 1) &&
              !pto_observe_memory_is_hollow(&m, (uintptr_t)window));
  pto_observe_call_end(&m);
  /* The second owner's memory goes; its window stays. */
  pto_observe_memory_end(&m);
  pto_observe_memory_forget(&m, 1);
  munmap(arenas[1], ARENA_BYTES);
  munmap(array, ARENA_BYTES);
  pto_observe_call_begin(&m);
  assert_false(pto_observe_memory_has(&m, (uintptr_t)array));
  assert_false(pto_observe_memory_has(&m, (uintptr_t)arenas[1]));
  arenas[0][0] = window[0] = 1;
  assert_int_equal(m.pages.count, 2);
  pto_observe_call_end(&m);
  /* Between calls each page opens by itself, until the next call. */
  window[0] = 2;
  assert_int_equal(m.faults, 6);
  pto_observe_call_begin(&m);
  window[0] = 3;
  assert_int_equal(m.faults, 7);
  pto_observe_call_end(&m);
  pto_observe_memory_end(&m);
  window[0] = 4;
  assert_int_equal(m.faults, 7);
  pto_observe_memory_fini(&m);
  munmap(arenas[0], ARENA_BYTES);
  munmap(window, ARENA_BYTES);
  munmap(peer, ARENA_BYTES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_call_that_does_not_come_back_is_ended_after_one_that_faulted),
      cmocka_unit_test(test_a_call_of_one_owner_sees_what_it_touches_of_another),
      cmocka_unit_test(test_a_limit_is_that_of_a_stretch_where_each_begins_it_anew),
      cmocka_unit_test(test_what_the_observer_does_itself_takes_no_time_of_the_limit),
      cmocka_unit_test(test_a_time_out_waits_for_the_handler_of_a_touch),
  };
  if (PTO_HAS_SANITIZER) { /* faults are its own to report */
    print_message("skipped: a sanitizer watches\n");
    return 77;
  }
  return cmocka_run_group_tests_name("observe_memory", tests, NULL, NULL);
}
