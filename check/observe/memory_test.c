/* SPDX-License-Identifier: MIT */
/* Guarded memory: how a repeated call ends that faults, or does not come back. */
#include <check/observe/memory.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <runtime/base/sanitizer.h>

#define ARENA_BYTES (UINT64_C(1) << 20)

static void fault(void *context) { memset(context, 1, 1); }
static void spin(void *context) {
  for (;;) continue;
}
static void come_back(void *context) {}

static void test_a_call_that_does_not_come_back_is_ended_after_one_that_faulted(void **state) {
  struct pto_observe_memory m;
  struct pto_error error;
  void *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void *forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(arena != MAP_FAILED && forbidden != MAP_FAILED);
  assert_true(pto_observe_memory_init(&m, (uintptr_t)arena, ARENA_BYTES));
  assert_int_equal(pto_observe_memory_begin(&m, &error), PTO_OK);
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

static void test_a_time_out_waits_for_the_handler_of_a_touch(void **state) {
  struct pto_observe_memory m;
  struct pto_error error;
  struct sigaction action;
  void *arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(arena != MAP_FAILED);
  assert_true(pto_observe_memory_init(&m, (uintptr_t)arena, ARENA_BYTES));
  assert_int_equal(pto_observe_memory_begin(&m, &error), PTO_OK);
  assert_int_equal(sigaction(SIGSEGV, NULL, &action), 0);
  assert_int_equal(sigismember(&action.sa_mask, SIGVTALRM), 1);
  pto_observe_memory_fini(&m);
  munmap(arena, ARENA_BYTES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_call_that_does_not_come_back_is_ended_after_one_that_faulted),
      cmocka_unit_test(test_a_time_out_waits_for_the_handler_of_a_touch),
  };
  if (PTO_HAS_SANITIZER) { /* faults are its own to report */
    print_message("skipped: a sanitizer watches\n");
    return 77;
  }
  return cmocka_run_group_tests_name("observe_memory", tests, NULL, NULL);
}
