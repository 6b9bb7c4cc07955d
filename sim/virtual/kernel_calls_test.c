/* SPDX-License-Identifier: MIT */
/*
 * Kernel calls on several threads, through the virtual engine's port: that they run side by side and no earlier or
 * later than they may, that times are those of one thread, and where they stay on the control thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <tests/support/virtual_script.h>

#include <pto/core.h>
#include <runtime/base/clock.h>
#include <runtime/base/memory_checker.h>
#include <runtime/base/reserve.h>
#include <runtime/base/thread.h>
#include <sim/host/current.h>
#include <sim/virtual/core.h>
#include <sim/virtual/rank_clock.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define LONGEST_WAIT_NS UINT64_C(20000000000)

static struct pto_chip chip;
static pthread_t control;

static struct pto_port *make_port(const struct pto_engine_config *given) {
  struct pto_engine_config config = *given;
  struct pto_error error = {0};
  struct pto_port *port = NULL;
  config.chip = &chip;
  config.orders_conflicts = true;
  control = pthread_self();
  pto_script_reset();
  if (pto_engine_virtual_create(&config, &port, &error) != PTO_OK) fail_msg("%s", error.sentence);
  return port;
}

static struct pto_port *begin(uint32_t clusters, uint32_t workers) {
  chip = pto_script_chip(clusters, 1);
  struct pto_port *port = make_port(&(struct pto_engine_config){.workers = workers});
  assert_int_equal(port->ops->begin_run(port, NULL, 0), PTO_OK);
  return port;
}

static void end(struct pto_port *port) {
  port->ops->end_run(port);
  port->ops->destroy(port);
}

static void send(struct pto_port *port, struct pto_message message, int (*run)(const struct pto_kernel_args *)) {
  if (run) message.run = run;
  port->ops->dispatch(port, &message, 0, NULL);
}

static struct pto_completion next(struct pto_port *port) {
  struct pto_completion completion;
  port->ops->wait(port);
  assert_int_equal(port->ops->poll(port, &completion, 1), 1);
  return completion;
}

/* ---- side by side ---- */

static _Atomic uint32_t arrived;

/* Comes back once another call is here too: with one thread, never. */
static int meet_run(const struct pto_kernel_args *args) {
  const uint64_t begin_ns = pto_clock_ns();
  atomic_fetch_add(&arrived, 1);
  while (atomic_load(&arrived) < 2)
    if (pto_clock_ns() - begin_ns > LONGEST_WAIT_NS) return 1;
  return 0;
}

static void test_calls_of_two_cores_run_at_the_same_time(void **state) {
  struct pto_port *port = begin(1, 2);
  assert_int_equal(port->worker_count, 2);
  atomic_store(&arrived, 0);
  send(port, pto_script_message(1, 100, 0, 0), meet_run);
  send(port, pto_script_message(2, 100, 0, 0), meet_run);
  for (int i = 0; i < 2; i++) assert_int_equal(next(port).status, 0);
  end(port);
}

static _Atomic uint32_t value;

static int write_run(const struct pto_kernel_args *args) {
  atomic_store_explicit(&value, 7, memory_order_relaxed);
  return 0;
}
/* What the calls of its core have left in its local memory. */
static int count_run(const struct pto_kernel_args *args) {
  uint32_t *local = args->core->local.addr;
  return (int)++*local;
}

static void test_calls_of_a_core_follow_each_other(void **state) {
  struct pto_port *port = begin(2, 4);
  for (int round = 0; round < 200; round++) {
    for (uint32_t i = 0; i < 2; i++)
      for (uint32_t core = 0; core < 6; core++) send(port, pto_script_message(core, 10 + core, 0, 0), count_run);
    for (uint32_t i = 0; i < 12; i++) {
      const struct pto_completion completion = next(port);
      assert_int_equal(completion.status, 2 * round + 1 + (int)(completion.ticket % 12 / 6));
    }
  }
  end(port);
}

static int status_run(const struct pto_kernel_args *args) { return (int)args->scalars[2].i64; }

/* Completions, their clocks and the log's length of a run of some hundred messages. */
static uint64_t hash_of_run(uint32_t workers) {
  struct pto_port *port = begin(3, workers);
  uint64_t hash = 0;
  for (uint32_t i = 0; i < 18; i++) send(port, pto_script_message(i / 2, 1 + 37 * i % 100, 41 * i % 90, 0), write_run);
  for (uint32_t i = 18; i < 600; i++) {
    const struct pto_completion completion = next(port);
    hash = (hash * 31 + completion.ticket) * 31 + port->clock;
    send(port, pto_script_message(completion.core, 1 + 37 * i % 100, 41 * i % 90, i % 50 == 0), status_run);
    hash += (uint64_t)completion.status;
  }
  for (uint32_t i = 0; i < 18; i++) hash = (hash * 31 + next(port).ticket) * 31 + port->clock;
  hash = hash * 31 + port->elapsed_ps(port);
  end(port);
  return hash;
}

static void test_times_are_those_of_one_thread(void **state) {
  const uint64_t expected = hash_of_run(1);
  for (uint32_t workers = 2; workers < 5; workers++) assert_int_equal(hash_of_run(workers), expected);
}

static void test_a_completion_has_what_its_kernel_left(void **state) {
  struct pto_port *port = begin(1, 2);
  atomic_store(&value, 0);
  send(port, pto_script_message(1, 100, 0, 0), write_run);
  send(port, pto_script_message(2, 50, 0, 3), NULL);
  const struct pto_completion failed = next(port);
  assert_int_equal(failed.status, 3);
  assert_string_equal(port->ops->kernel_message(port, failed.core), "task 1 fails");
  assert_int_equal(next(port).status, 0);
  assert_int_equal(atomic_load_explicit(&value, memory_order_relaxed), 7);
  assert_string_equal(port->ops->kernel_message(port, 1), "");
  end(port);
}

/* A run that is given up with calls in flight, and another one. */
static void test_a_new_run_begins_after_all_calls(void **state) {
  struct pto_port *port = begin(2, 3);
  for (uint32_t core = 0; core < 6; core++) send(port, pto_script_message(core, 10 + core, 0, 0), write_run);
  (void)next(port);
  port->ops->end_run(port);
  assert_int_equal(port->ops->begin_run(port, NULL, 0), PTO_OK);
  send(port, pto_script_message(0, 10, 0, 5), NULL);
  assert_int_equal(next(port).status, 5);
  end(port);
}

/* ---- on the control thread ---- */

static int tell_thread_run(const struct pto_kernel_args *args) {
  return pthread_equal(pthread_self(), control) ? 0 : 1;
}
static int wait_run(const struct pto_kernel_args *args) { return pto_core_barrier(args); }
static const struct pto_kernel wait_kernel = {
    .name = "wait", .cores = PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = wait_run, .cost = pto_script_cost};

static void send_twelve(struct pto_port *port) {
  for (uint32_t i = 0; i < 12; i++) send(port, pto_script_message(i % 6, 10, 0, 0), tell_thread_run);
}

static void expect_twelve_here(struct pto_port *port) {
  for (uint32_t i = 0; i < 12; i++) assert_int_equal(next(port).status, 0);
}

static void send_waiting(struct pto_port *port) {
  struct pto_message message = pto_script_message(1, 1, 0, 0);
  pto_script_tasks[message.ticket].payload.kernels[1] = &wait_kernel;
  pto_script_tasks[message.ticket].payload.kernels[0] = NULL;
  pto_script_tasks[message.ticket].payload.first_role = message.role = 1;
  message.flags = PTO_MESSAGE_WAITS | PTO_MESSAGE_LAST;
  send(port, message, wait_run);
}

static void test_calls_stay_once_a_kernel_waits(void **state) {
  struct pto_port *port = begin(2, 2);
  send_waiting(port);
  assert_int_equal(next(port).status, 0);
  send_twelve(port);
  expect_twelve_here(port);
  end(port);
}

/* The first call of the core is made by any thread, the last one here. */
static void test_a_core_leaves_its_sentences_in_one_place_on_any_thread(void **state) {
  struct pto_port *port = begin(2, 2);
  send(port, pto_script_message(1, 10, 0, 0), write_run);
  assert_int_equal(next(port).status, 0);
  send_waiting(port);
  assert_int_equal(next(port).status, 0);
  send(port, pto_script_message(1, 10, 0, 3), NULL);
  const struct pto_completion failed = next(port);
  assert_int_equal(failed.status, 3);
  assert_string_equal(port->ops->kernel_message(port, failed.core), "task 2 fails");
  end(port);
}

static void test_calls_stay_once_the_orchestration_polls(void **state) {
  struct pto_port *port = begin(2, 2);
  atomic_store(&value, 0);
  send(port, pto_script_message(0, 1000, 0, 0), write_run);
  send(port, pto_script_message(1, 1, 0, 0), NULL);
  (void)next(port); /* the other one has begun, too */
  port->ops->settle(port);
  assert_int_equal(atomic_load_explicit(&value, memory_order_relaxed), 7);
  (void)next(port);
  send_twelve(port);
  expect_twelve_here(port);
  end(port);
}

static uint32_t metered;
static void meter_begin(void *context) { metered += pthread_equal(pthread_self(), control) != 0; }
static void meter_end(void *context, const struct pto_kernel *kernel, enum pto_core_kind kind, bool has_returned) {}

static void test_calls_stay_where_they_are_metered(void **state) {
  const struct pto_kernel_meter meter = {.begin = meter_begin, .end = meter_end};
  struct pto_port *port = begin(2, 2);
  port->ops->end_run(port);
  port->meter = &meter;
  metered = 0;
  assert_int_equal(port->ops->begin_run(port, NULL, 0), PTO_OK);
  send_twelve(port);
  expect_twelve_here(port);
  assert_int_equal(metered, 12);
  end(port);
}

static void test_a_call_that_was_joined_gives_its_core_back_and_is_closed(void **state) {
  const struct pto_engine_config config = {.chip = &chip};
  struct pto_kernel_calls calls;
  struct pto_error error;
  char usual[8] = "usual", its[8] = "its", next[8] = "next";
  chip = pto_script_chip(1, 1);
  pto_script_reset();
  assert_int_equal(pto_kernel_calls_init(&calls, &config, 3, 1, &error), PTO_OK);
  const struct pto_message message = pto_script_message(1, 1, 0, 0);
  struct pto_core view = {.index = 1, .message = usual, .message_size = sizeof usual};
  pto_kernel_calls_open(&calls, &message, &view, its, sizeof its - 1);
  assert_ptr_equal(view.message, its);
  assert_int_equal(pto_kernel_calls_join(&calls, 1), 0);
  assert_ptr_equal(view.message, usual);
  assert_int_equal(view.message_size, sizeof usual);
  view.message = next;
  pto_kernel_calls_drop(&calls); /* of none */
  assert_ptr_equal(view.message, next);
  pto_kernel_calls_fini(&calls);
}

static void test_calls_are_not_made_where_kernels_are_skipped(void **state) {
  struct pto_port *port = begin(2, 2);
  port->ops->end_run(port);
  port->skips_kernels = true;
  assert_int_equal(port->ops->begin_run(port, NULL, 0), PTO_OK);
  for (uint32_t core = 0; core < 6; core++) send(port, pto_script_message(core, 10, 0, 3), NULL);
  port->ops->settle(port);
  for (uint32_t core = 0; core < 6; core++) send(port, pto_script_message(core, 10, 0, 3), NULL);
  for (uint32_t i = 0; i < 12; i++) assert_int_equal(next(port).status, 0);
  assert_int_equal(pto_script_log_count, 0);
  end(port);
}

static void test_there_is_one_worker_by_default_and_where_conflicts_are_not_ordered(void **state) {
  chip = pto_script_chip(1, 1);
  const struct pto_engine_config configs[] = {{.chip = &chip, .orders_conflicts = true},
                                              {.chip = &chip, .workers = 1, .orders_conflicts = true},
                                              {.chip = &chip, .workers = 2}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(configs); i++)
    assert_int_equal(pto_kernel_calls_worker_count(&configs[i], 3), 1);
  const struct pto_engine_config many = {.chip = &chip, .workers = 1000, .orders_conflicts = true};
  assert_int_equal(pto_kernel_calls_worker_count(&many, 3), 3);
  assert_int_equal(pto_kernel_calls_worker_count(&many, 600), PTO_KERNEL_CALLS_MAX_WORKERS);
  for (uint32_t most = 0; most < 5; most++) { /* beside other ranks */
    struct pto_rank_clock rank = {.most_workers = most};
    const struct pto_engine_config of_rank = {.chip = &chip, .workers = 9, .orders_conflicts = true, .rank = &rank};
    assert_int_equal(pto_kernel_calls_worker_count(&of_rank, 3), most == 0 || most > 3 ? 3 : most);
  }
}

/* ---- reports ---- */

static char described[2][512];

/* Both are in their calls when each says which one it is. */
static int describe_run(const struct pto_kernel_args *args) {
  const int status = meet_run(args);
  return status ? status : !pto_engine_describe_current(described[args->core->index - 1], sizeof described[0]);
}

static void test_each_thread_knows_its_own_kernel(void **state) {
  struct pto_port *port = begin(1, 2);
  atomic_store(&arrived, 0);
  send(port, pto_script_message(1, 100, 0, 0), describe_run);
  send(port, pto_script_message(2, 100, 0, 0), describe_run);
  for (int i = 0; i < 2; i++) assert_int_equal(next(port).status, 0);
  assert_non_null(strstr(described[0], "task 0 (script) block 0 on core 1"));
  assert_non_null(strstr(described[1], "task 1 (script) block 0 on core 2"));
  end(port);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t was_reported = PTHREAD_COND_INITIALIZER;
static char report[1024];

static void take_report(void *context, const char *sentence) {
  pthread_mutex_lock(&mutex);
  snprintf(report, sizeof report, "%s", sentence);
  pthread_cond_broadcast(&was_reported);
  pthread_mutex_unlock(&mutex);
}
/* Two calls meet; that on the control thread, or the other one, comes back once the watchdog has spoken. */
static bool control_is_stuck;
static uint32_t stuck_core;
static int stuck_run(const struct pto_kernel_args *args) {
  if (meet_run(args) != 0) return 1;
  if ((pthread_equal(pthread_self(), control) != 0) != control_is_stuck) return 0;
  pthread_mutex_lock(&mutex);
  stuck_core = args->core->index;
  while (!report[0]) pthread_cond_wait(&was_reported, &mutex);
  pthread_mutex_unlock(&mutex);
  return 0;
}

static void expect_report(bool is_of_control) {
  control_is_stuck = is_of_control;
  report[0] = '\0';
  atomic_store(&arrived, 0);
  chip = pto_script_chip(1, 1);
  struct pto_port *port =
      make_port(&(struct pto_engine_config){.workers = 2, .timeout_ms = 40, .on_timeout = take_report});
  assert_int_equal(port->ops->begin_run(port, NULL, 0), PTO_OK);
  for (uint32_t core = 1; core <= 2; core++) send(port, pto_script_message(core, 100, 0, 0), stuck_run);
  for (int i = 0; i < 2; i++) assert_int_equal(next(port).status, 0);
  char expected[64];
  snprintf(expected, sizeof expected, "task %u (script) block 0 on core %u", stuck_core - 1, stuck_core);
  assert_non_null(strstr(report, expected));
  end(port);
}

static void test_the_watchdog_looks_at_every_thread(void **state) {
  expect_report(true);
  expect_report(false);
}

/* ---- creation ---- */

static void test_creation_survives_every_failure_of_memory_and_threads(void **state) {
  uint32_t *const countdowns[] = {&pto_reserve_fail_countdown, &pto_thread_fail_countdown};
  static const uint32_t expected[] = {8, 4}; /* the reserves of one thread and one more; two watchdogs, two workers */
  chip = pto_script_chip(2, 2);
  const struct pto_engine_config config = {
      .chip = &chip, .workers = 3, .orders_conflicts = true, .timeout_ms = 1000, .on_timeout = take_report};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(countdowns); i++) {
    uint32_t failures = 0;
    for (uint32_t n = 1;; n++) {
      struct pto_port *port = NULL;
      struct pto_error error = {0};
      *countdowns[i] = n;
      const int status = pto_engine_virtual_create(&config, &port, &error);
      const bool has_failed = *countdowns[i] == 0;
      *countdowns[i] = 0;
      if (!has_failed) {
        assert_int_equal(status, PTO_OK);
        port->ops->destroy(port);
        break;
      }
      failures++;
      assert_int_equal(status, i ? PTO_ESYSTEM : PTO_ENOMEM);
      assert_null(port);
      assert_non_null(strstr(error.sentence, "chip script: "));
    }
    assert_int_equal(failures, expected[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_calls_of_two_cores_run_at_the_same_time),
      cmocka_unit_test(test_calls_of_a_core_follow_each_other),
      cmocka_unit_test(test_times_are_those_of_one_thread),
      cmocka_unit_test(test_a_completion_has_what_its_kernel_left),
      cmocka_unit_test(test_a_new_run_begins_after_all_calls),
      cmocka_unit_test(test_calls_stay_once_a_kernel_waits),
      cmocka_unit_test(test_a_core_leaves_its_sentences_in_one_place_on_any_thread),
      cmocka_unit_test(test_calls_stay_once_the_orchestration_polls),
      cmocka_unit_test(test_calls_stay_where_they_are_metered),
      cmocka_unit_test(test_a_call_that_was_joined_gives_its_core_back_and_is_closed),
      cmocka_unit_test(test_calls_are_not_made_where_kernels_are_skipped),
      cmocka_unit_test(test_there_is_one_worker_by_default_and_where_conflicts_are_not_ordered),
      cmocka_unit_test(test_each_thread_knows_its_own_kernel),
      cmocka_unit_test(test_the_watchdog_looks_at_every_thread),
      cmocka_unit_test(test_creation_survives_every_failure_of_memory_and_threads),
  };
  if (pto_memory_is_checked()) return 77; /* there calls stay on the one thread */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
