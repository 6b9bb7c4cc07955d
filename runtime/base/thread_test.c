/* SPDX-License-Identifier: MIT */
/* The stack for faults of a thread: one that has its own keeps it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <runtime/base/thread.h>

static char own[PTO_THREAD_FAULT_STACK_BYTES], given[PTO_THREAD_FAULT_STACK_BYTES];

static void *fault_stack(void) {
  stack_t stack;
  assert_int_equal(sigaltstack(NULL, &stack), 0);
  return stack.ss_flags & SS_DISABLE ? NULL : stack.ss_sp;
}

static void a_thread_has_one_stack_for_faults_the_first(void **state) {
  const stack_t before = {.ss_sp = own, .ss_size = sizeof own}, none = {.ss_flags = SS_DISABLE};
  assert_int_equal(sigaltstack(&none, NULL), 0); /* a sanitizer has one */
  assert_true(pto_thread_use_fault_stack(given));
  assert_ptr_equal(fault_stack(), given);
  pto_thread_drop_fault_stack();
  assert_null(fault_stack());
  assert_int_equal(sigaltstack(&before, NULL), 0);
  assert_false(pto_thread_use_fault_stack(given));
  assert_ptr_equal(fault_stack(), own);
  pto_thread_drop_fault_stack();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thread_has_one_stack_for_faults_the_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
