/* SPDX-License-Identifier: MIT */
/* Interrupts for bindings: SIGINT asks runs to end and reaches the handler that was there; the last end restores it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pto/pto.h>
#include <pto/tools.h>
#include <runtime/base/clock.h>
#include <runtime/base/stop.h>
#include <tests/support/runtime_fixture.h>

static atomic_int handled; /* by the handler that was there */

static void handle(int signal) {
  (void)signal;
  handled++;
}
static void (*handler_now(void))(int) {
  struct sigaction action;
  sigaction(SIGINT, NULL, &action);
  return action.sa_handler;
}

static void test_a_signal_asks_and_goes_on_to_the_handler(void **state) {
  (void)state;
  signal(SIGINT, handle);
  struct pto_stop *stop = pto_tools_interrupts_begin();
  assert_ptr_equal(pto_tools_interrupts_begin(), stop);
  assert_false(pto_stop_is_asked(stop));
  raise(SIGINT);
  raise(SIGINT); /* soon after: the process stays */
  assert_int_equal(handled, 2);
  pto_tools_interrupts_end();
  assert_true(pto_stop_is_asked(stop));
  pto_tools_interrupts_end();
  assert_false(pto_stop_is_asked(stop));
  assert_ptr_equal(handler_now(), handle);
}

/* What a kernel that does not return needs: the third here comes when the run has had the time to end by itself. */
static void test_one_that_comes_later_ends_the_process(void **state) {
  (void)state;
  const pid_t child = fork();
  if (child == 0) {
    handled = 0;
    signal(SIGINT, handle);
    pto_tools_interrupts_begin();
    const uint64_t begun_ns = pto_clock_ns();
    raise(SIGINT);
    raise(SIGINT);
    if (handled != 2) _exit(1);
    while (pto_clock_ns() < begun_ns + UINT64_C(2100000000)) poll(NULL, 0, 100);
    raise(SIGINT);
    _exit(2);
  }
  int end;
  assert_int_equal(waitpid(child, &end, 0), child);
  assert_true(WIFSIGNALED(end));
  assert_int_equal(WTERMSIG(end), SIGINT);
}

static void test_a_handler_that_came_later_stays(void **state) {
  (void)state;
  signal(SIGINT, SIG_IGN);
  pto_tools_interrupts_begin();
  assert_ptr_equal(handler_now(), SIG_IGN); /* without a handler nothing is set */
  signal(SIGINT, handle);
  pto_tools_interrupts_end();
  assert_ptr_equal(handler_now(), handle);
}

static int interrupted(struct pto_runtime *rt, void *context) {
  (void)context;
  raise(SIGINT);
  int status = PTO_OK;
  for (uint32_t i = 0; i < 100 && status == PTO_OK; i++) status = fixture_submit(rt, "", NULL, NULL);
  return status;
}

static void test_a_run_ends(void **state) {
  (void)state;
  signal(SIGINT, handle);
  struct pto_config config = {.size = sizeof config, .stop = pto_tools_interrupts_begin()};
  struct pto_runtime *rt;
  assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
  assert_int_equal(pto_run(rt, interrupted, NULL), PTO_EINTERRUPTED);
  assert_non_null(strstr(pto_last_error(rt), "interrupted after "));
  pto_tools_interrupts_end();
  pto_runtime_destroy(rt);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_signal_asks_and_goes_on_to_the_handler),
      cmocka_unit_test(test_one_that_comes_later_ends_the_process),
      cmocka_unit_test(test_a_handler_that_came_later_stays),
      cmocka_unit_test(test_a_run_ends),
  };
  return cmocka_run_group_tests_name("interrupts", tests, NULL, NULL);
}
