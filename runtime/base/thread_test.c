/* SPDX-License-Identifier: MIT */
/* The stack for faults of a thread: one that has its own keeps it.  Processes forked while threads have just begun. */
#include <setjmp.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/process.h>
#include <runtime/base/sanitizer.h>
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

static void *wait_for(void *end) {
  while (sem_wait(end) != 0) {
  }
  return NULL;
}

/* Takes whatever locks a thread's begin and end need. */
static void start_and_join(void) {
  pthread_t thread;
  sem_t end;
  int reason;
  sem_init(&end, 0, 1);
  if (!pto_thread_start(&thread, wait_for, &end, &reason) || pthread_join(thread, NULL) != 0) _exit(1);
  _exit(0);
}

static void a_process_may_be_forked_once_a_thread_is_started(void **state) {
  (void)state;
  enum { TIMES = 200, MOST_SECONDS = 60 };
  if (PTO_HAS_TSAN) skip(); /* it ends a process that starts threads after such a fork */
  for (int i = 0; i < TIMES; i++) {
    pthread_t thread;
    sem_t end;
    int reason;
    sem_init(&end, 0, 0);
    assert_true(pto_thread_start(&thread, wait_for, &end, &reason));
    const pid_t child = fork();
    if (child == 0) {
      pto_process_limit(MOST_SECONDS);
      start_and_join();
    }
    assert_int_equal(pto_process_exit_code(child), 0);
    sem_post(&end);
    assert_int_equal(pthread_join(thread, NULL), 0);
    sem_destroy(&end);
  }
}

static void a_worker_has_its_name_when_it_has_been_given(void **state) {
  (void)state;
  pthread_t thread;
  sem_t end;
  char name[16];
  int reason;
  sem_init(&end, 0, 0);
  assert_true(pto_thread_start(&thread, wait_for, &end, &reason));
  pto_thread_name_worker(thread, 255);
  assert_int_equal(pthread_getname_np(thread, name, sizeof name), 0);
  assert_string_equal(name, "pto-worker-255");
  sem_post(&end);
  assert_int_equal(pthread_join(thread, NULL), 0);
  sem_destroy(&end);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thread_has_one_stack_for_faults_the_first),
      cmocka_unit_test(a_process_may_be_forked_once_a_thread_is_started),
      cmocka_unit_test(a_worker_has_its_name_when_it_has_been_given),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
