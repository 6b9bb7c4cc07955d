/* SPDX-License-Identifier: MIT */
#include <runtime/base/wait.h>

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/thread.h>

static struct pto_wait here;
static _Atomic uint32_t goal, reached;

static bool is_true(void *context) { return true; }
static bool is_goal_reached(void *context) {
  return atomic_load_explicit(&reached, memory_order_seq_cst) >= atomic_load_explicit(&goal, memory_order_relaxed);
}
static uint32_t looks;
static bool is_third_look(void *context) { return ++looks == 3; }

static void reset(uint32_t spin_rounds) {
  pto_wait_init(&here, spin_rounds);
  atomic_store_explicit(&goal, 0, memory_order_relaxed);
  atomic_store_explicit(&reached, 0, memory_order_relaxed);
}

static void test_a_condition_that_holds_is_not_waited_for(void **state) {
  reset(0);
  pto_wait_until(&here, is_true, NULL);
  assert_int_equal(pto_wait_sleep_count(&here), 0);
}

static void test_a_condition_that_comes_soon_is_found_without_sleeping(void **state) {
  reset(10);
  looks = 0;
  pto_wait_until(&here, is_third_look, NULL);
  assert_int_equal(looks, 3);
  assert_int_equal(pto_wait_sleep_count(&here), 0);
}

static void test_a_notify_without_a_waiter_is_harmless(void **state) {
  reset(0);
  for (uint32_t i = 0; i < 3; i++) pto_wait_notify(&here);
  pto_wait_until(&here, is_true, NULL);
  assert_int_equal(pto_wait_sleep_count(&here), 0);
}

static void *wait_for_goal(void *context) {
  pto_wait_until(&here, is_goal_reached, NULL);
  return NULL;
}

/* It sleeps, whatever the time that takes: idle costs no CPU. */
static void test_a_waiter_goes_to_sleep_and_wakes_when_notified(void **state) {
  const uint32_t spins[] = {0, PTO_WAIT_SPIN_ROUNDS};
  for (uint32_t i = 0; i < 2; i++) {
    pthread_t thread;
    int error;
    reset(spins[i]);
    atomic_store_explicit(&goal, 1, memory_order_relaxed);
    assert_true(pto_thread_start(&thread, wait_for_goal, NULL, &error));
    while (pto_wait_sleep_count(&here) == 0) sched_yield();
    atomic_store_explicit(&reached, 1, memory_order_seq_cst);
    pto_wait_notify(&here);
    pthread_join(thread, NULL);
  }
}

static void test_a_notify_that_changes_nothing_does_not_end_the_wait(void **state) {
  pthread_t thread;
  int error;
  reset(0);
  atomic_store_explicit(&goal, 1, memory_order_relaxed);
  assert_true(pto_thread_start(&thread, wait_for_goal, NULL, &error));
  for (uint32_t sleeps = 1; sleeps <= 3; sleeps++) {
    while (pto_wait_sleep_count(&here) < sleeps) sched_yield();
    pto_wait_notify(&here);
  }
  while (pto_wait_sleep_count(&here) < 4) sched_yield();
  atomic_store_explicit(&reached, 1, memory_order_seq_cst);
  pto_wait_notify(&here);
  pthread_join(thread, NULL);
}

#define NOTIFIERS 4u
#define ROUNDS 5000u

static void *notify_often(void *context) {
  for (uint32_t i = 0; i < ROUNDS; i++) {
    atomic_fetch_add_explicit(&reached, 1, memory_order_seq_cst);
    pto_wait_notify(&here);
    if (i % 64 == 0) sched_yield();
  }
  return NULL;
}

/* A lost wake-up hangs here. */
static void test_no_wake_up_of_many_notifiers_is_lost(void **state) {
  pthread_t threads[NOTIFIERS];
  int error;
  reset(0);
  for (uint32_t i = 0; i < NOTIFIERS; i++) assert_true(pto_thread_start(&threads[i], notify_often, NULL, &error));
  for (uint32_t i = 1; i <= NOTIFIERS * ROUNDS; i++) {
    atomic_store_explicit(&goal, i, memory_order_relaxed);
    pto_wait_until(&here, is_goal_reached, NULL);
  }
  for (uint32_t i = 0; i < NOTIFIERS; i++) pthread_join(threads[i], NULL);
  assert_int_equal(atomic_load_explicit(&reached, memory_order_relaxed), NOTIFIERS * ROUNDS);
}

static void *block_nothing(void *context) {
  sigset_t set, *out = context;
  pthread_sigmask(SIG_SETMASK, NULL, &set);
  *out = set;
  return NULL;
}

static void test_a_thread_of_ours_takes_faults_and_leaves_interrupts_to_others(void **state) {
  pthread_t thread;
  sigset_t inside, before, after;
  int error;
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  assert_true(pto_thread_start(&thread, block_nothing, &inside, &error));
  pthread_join(thread, NULL);
  pthread_sigmask(SIG_SETMASK, NULL, &after);
  assert_true(sigismember(&inside, SIGINT) && sigismember(&inside, SIGTERM) && sigismember(&inside, SIGALRM));
  assert_false(sigismember(&inside, SIGSEGV) || sigismember(&inside, SIGBUS) || sigismember(&inside, SIGFPE));
  for (int signal = 1; signal < 32; signal++)
    assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
}

static void test_a_thread_start_can_be_made_to_fail(void **state) {
  pthread_t thread;
  int error = 0;
  pto_thread_fail_countdown = 1;
  assert_false(pto_thread_start(&thread, wait_for_goal, NULL, &error));
  assert_int_not_equal(error, 0);
  assert_int_equal(pto_thread_fail_countdown, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_condition_that_holds_is_not_waited_for),
      cmocka_unit_test(test_a_condition_that_comes_soon_is_found_without_sleeping),
      cmocka_unit_test(test_a_notify_without_a_waiter_is_harmless),
      cmocka_unit_test(test_a_waiter_goes_to_sleep_and_wakes_when_notified),
      cmocka_unit_test(test_a_notify_that_changes_nothing_does_not_end_the_wait),
      cmocka_unit_test(test_no_wake_up_of_many_notifiers_is_lost),
      cmocka_unit_test(test_a_thread_of_ours_takes_faults_and_leaves_interrupts_to_others),
      cmocka_unit_test(test_a_thread_start_can_be_made_to_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
