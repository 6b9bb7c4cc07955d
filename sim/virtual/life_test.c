/* SPDX-License-Identifier: MIT */
/* The virtual engine around its runs: made and not made, and what it tells of a kernel that is running. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/engine/observed_unit.h>
#include <sim/host/current.h>
#include <tests/support/virtual_script.h>

#include <runtime/base/reserve.h>
#include <runtime/base/thread.h>

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

static char described[512], beside_local[3][128];
static int describe_run(const struct pto_kernel_args *args) {
  const struct pto_local_memory *local = &args->core->local;
  const char *const begin = local->addr;
  pto_engine_describe_local(begin + local->size_bytes + 12, beside_local[0], sizeof beside_local[0]);
  pto_engine_describe_local(begin - 4, beside_local[1], sizeof beside_local[1]);
  pto_engine_describe_local(begin + local->size_bytes - 1, beside_local[2], sizeof beside_local[2]);
  return pto_engine_describe_current(described, sizeof described) ? 0 : 1;
}

static void test_a_running_kernel_can_be_described(void **state) {
  struct pto_chip chip = pto_script_chip(2, 1);
  struct pto_error error;
  struct pto_port *port;
  struct pto_completion completion;
  const struct pto_engine_config config = {.chip = &chip};
  pto_script_reset();
  assert_int_equal(pto_engine_virtual_create(&config, &port, &error), PTO_OK);
  assert_int_equal(port->ops->begin_run(port, NULL, 0), PTO_OK);
  struct pto_message message = pto_script_message(5, 1, 0, 0);
  message.run = describe_run;
  port->ops->dispatch(port, &message, 0, NULL);
  assert_false(pto_engine_describe_current(described, sizeof described));
  port->ops->wait(port);
  assert_int_equal(port->ops->poll(port, &completion, 1), 1);
  assert_int_equal(completion.status, 0);
  assert_non_null(strstr(described, "task 0 (script) block 0 on core 5 (cluster 1 AIV1)"));
  assert_false(pto_engine_describe_current(described, sizeof described));
  char behind[128];
  snprintf(behind, sizeof behind, ", 12 bytes behind the end of its UB (%" PRIu64 " bytes of local memory),",
           chip.ub_bytes);
  assert_string_equal(beside_local[0], behind);
  assert_non_null(strstr(beside_local[1], ", 4 bytes before its UB ("));
  assert_string_equal(beside_local[2], "");
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t was_reported = PTHREAD_COND_INITIALIZER;
static char report[1024];

static void take_report(void *context, const char *sentence) {
  pthread_mutex_lock(&mutex);
  strncpy(report, sentence, sizeof report - 1);
  pthread_cond_signal(&was_reported);
  pthread_mutex_unlock(&mutex);
}

/* Comes back once the watchdog has spoken. */
static int stuck_run(const struct pto_kernel_args *args) {
  pthread_mutex_lock(&mutex);
  while (!report[0]) pthread_cond_wait(&was_reported, &mutex);
  pthread_mutex_unlock(&mutex);
  return 0;
}

/* One kernel under a watchdog, and then so long without one; `report` is what the watchdog said. */
static void run_watched(int (*run)(const struct pto_kernel_args *), uint32_t rest_ms) {
  struct pto_chip chip = pto_script_chip(1, 1);
  struct pto_error error;
  struct pto_port *port;
  struct pto_completion completion;
  const struct pto_engine_config config = {.chip = &chip, .timeout_ms = 8, .on_timeout = take_report};
  pto_script_reset();
  report[0] = '\0';
  assert_int_equal(pto_engine_virtual_create(&config, &port, &error), PTO_OK);
  assert_int_equal(port->ops->begin_run(port, NULL, 0), PTO_OK);
  struct pto_message message = pto_script_message(2, 1, 0, 0);
  message.run = run;
  port->ops->dispatch(port, &message, 0, NULL);
  port->ops->wait(port);
  assert_int_equal(port->ops->poll(port, &completion, 1), 1);
  (void)nanosleep(&(struct timespec){.tv_nsec = rest_ms * 1000000L}, NULL);
  port->ops->end_run(port);
  port->ops->destroy(port); /* which ends the watchdog */
}

static void test_the_watchdog_reports_a_kernel_that_does_not_come_back(void **state) {
  run_watched(stuck_run, 0);
  assert_non_null(strstr(report, "task 0 (script)"));
}

static int return_run(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}

static void test_the_watchdog_reports_no_kernel_that_has_come_back(void **state) {
  run_watched(return_run, 100); /* in which a wrong one would be told */
  assert_string_equal(report, "");
}

static struct pto_port *observed_port;
static uint32_t run_count;

/* Longer than the time-out, but for the first run. */
static int rest_run(const struct pto_kernel_args *args) {
  (void)args;
  if (run_count++) (void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  return 0;
}
static void run_twice(void *context, const struct pto_observed_unit *unit) {
  for (uint32_t i = 0; i < 2; i++) pto_observed_unit_run(observed_port, (struct pto_observed_fill){0});
}
static void ignore_end(void *context) { (void)context; }

static void test_the_watchdog_counts_no_time_of_runs_that_an_observer_limits(void **state) {
  const struct pto_engine_observer observer = {.observe = run_twice, .end_run = ignore_end};
  struct pto_chip chip = pto_script_chip(1, 1);
  struct pto_error error;
  struct pto_completion completion;
  const struct pto_engine_config config = {.chip = &chip, .timeout_ms = 8, .on_timeout = take_report};
  pto_script_reset();
  report[0] = '\0';
  run_count = 0;
  assert_int_equal(pto_engine_observed_virtual_create(&config, &observed_port, &error), PTO_OK);
  struct pto_port *port = observed_port;
  pto_port_set_observer(port, &observer);
  assert_int_equal(port->ops->begin_run(port, NULL, 0), PTO_OK);
  struct pto_message message = pto_script_message(2, 1, 0, 0);
  message.run = rest_run;
  port->ops->dispatch(port, &message, 0, NULL);
  port->ops->wait(port);
  assert_int_equal(port->ops->poll(port, &completion, 1), 1);
  port->ops->end_run(port);
  port->ops->destroy(port);
  assert_int_equal(run_count, 2);
  assert_string_equal(report, "");
}

static void test_creation_survives_every_failure_of_memory(void **state) {
  struct pto_chip chip = pto_script_chip(2, 2);
  const struct pto_engine_config config = {.chip = &chip};
  uint32_t failures = 0;
  for (uint32_t n = 1;; n++) {
    struct pto_port *port = NULL;
    struct pto_error error = {0};
    pto_reserve_fail_countdown = n;
    int status = pto_engine_virtual_create(&config, &port, &error);
    bool has_failed = pto_reserve_fail_countdown == 0;
    pto_reserve_fail_countdown = 0;
    if (!has_failed) {
      assert_int_equal(status, PTO_OK);
      port->ops->destroy(port);
      break;
    }
    failures++;
    assert_int_equal(status, PTO_ENOMEM);
    assert_null(port);
    assert_non_null(strstr(error.sentence, "chip script: no memory"));
  }
  assert_int_equal(failures, 7); /* engine, cores, local memories; cores that wait, stacks, rendezvous, FIFOs */
}

static void test_a_watchdog_that_cannot_start_is_answered(void **state) {
  struct pto_chip chip = pto_script_chip(1, 1);
  struct pto_error error;
  struct pto_port *port = NULL;
  const struct pto_engine_config config = {.chip = &chip, .timeout_ms = 1000, .on_timeout = take_report};
  pto_thread_fail_countdown = 1;
  assert_int_equal(pto_engine_virtual_create(&config, &port, &error), PTO_ESYSTEM);
  assert_null(port);
  assert_string_equal(error.sentence, "virtual engine of chip script: the watchdog's thread does not start");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_running_kernel_can_be_described),
      cmocka_unit_test(test_the_watchdog_reports_a_kernel_that_does_not_come_back),
      cmocka_unit_test(test_the_watchdog_reports_no_kernel_that_has_come_back),
      cmocka_unit_test(test_the_watchdog_counts_no_time_of_runs_that_an_observer_limits),
      cmocka_unit_test(test_a_watchdog_that_cannot_start_is_answered),
      cmocka_unit_test(test_creation_survives_every_failure_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
