/* SPDX-License-Identifier: MIT */
#include <sim/host/watchdog.h>

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/thread.h>

static const struct pto_kernel kernel = {.name = "endless"};
static const uint64_t shape[] = {7, 9}, strides[] = {9, 1};

union body {
  struct pto_payload payload;
  uint64_t words[32];
};
static union body bodies[2];
static struct pto_watchdog_line lines[3];

struct report {
  _Atomic uint32_t count;
  char sentence[1024];
};
static struct report report;

static void take_report(void *context, const char *sentence) {
  struct report *into = context;
  snprintf(into->sentence, sizeof into->sentence, "%s", sentence);
  atomic_fetch_add_explicit(&into->count, 1, memory_order_release);
}

static void fill(union body *body, uint64_t number) {
  memset(body, 0, sizeof *body);
  body->payload.task_number = number;
  body->payload.kernels[1] = &kernel;
  body->payload.tensor_count = 1;
  body->payload.scalar_count = 1;
  body->payload.tensors[0] = (struct pto_kernel_tensor){
      .addr = (void *)(uintptr_t)(number * 64), .shape = shape, .strides = strides, .ndims = 2, .dtype = PTO_INT8};
  pto_payload_scalars(&body->payload)[0].u64 = number;
}
static struct pto_message message_of(union body *body) {
  return (struct pto_message){.payload = &body->payload,
                              .core = 4,
                              .role = 1,
                              .tensor_count = 1,
                              .scalar_count = 1,
                              .block_index = (uint32_t)body->payload.task_number};
}

static struct pto_watchdog_config make_config(uint32_t timeout_ms) {
  memset(lines, 0, sizeof lines);
  memset(&report, 0, sizeof report);
  return (struct pto_watchdog_config){timeout_ms, take_report, &report, lines, 3, NULL};
}
static void await_report(void) {
  while (atomic_load_explicit(&report.count, memory_order_acquire) == 0) sched_yield();
}

static void test_a_kernel_that_does_not_return_is_reported_once_with_its_parameters(void **state) {
  struct pto_watchdog_config config = make_config(4);
  struct pto_watchdog watchdog;
  fill(&bodies[0], 21);
  struct pto_message message = message_of(&bodies[0]);
  assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
  assert_true(watchdog.is_running);
  pto_watchdog_begin(&lines[2], &message);
  await_report();
  pto_watchdog_end(&lines[2]);
  pto_watchdog_begin(&lines[0], &message); /* a second one: no thread samples any more */
  pto_watchdog_fini(&watchdog);
  assert_int_equal(atomic_load_explicit(&report.count, memory_order_relaxed), 1);
  assert_string_equal(report.sentence,
                      "a kernel outlived the time-out of 4 ms: task 21 (endless) block 21 on core 4 (cluster 1 AIV0): "
                      "tensor 0 at 0x540 i8[7,9] strides [9,1]; scalar 0 0x15");
}

/* An orchestration is to blame where tasks neither come nor go, and no kernel runs. */
static void test_while_it_is_paused_no_time_is_counted(void **state) {
  struct pto_watchdog_config config = make_config(4);
  struct pto_watchdog watchdog;
  fill(&bodies[0], 21);
  struct pto_message message = message_of(&bodies[0]);
  assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
  pto_watchdog_pause(&watchdog, true);
  pto_watchdog_begin(&lines[2], &message);
  for (uint64_t until_ns = pto_watchdog_now_ns() + 40000000; pto_watchdog_now_ns() < until_ns;) sched_yield();
  assert_int_equal(atomic_load_explicit(&report.count, memory_order_relaxed), 0);
  pto_watchdog_pause(&watchdog, false);
  await_report();
  pto_watchdog_fini(&watchdog);
}

static void test_an_orchestration_that_does_not_return_is_reported(void **state) {
  static struct pto_port port;
  static uint64_t counts[2] = {3, 2};
  struct pto_watchdog_config config = make_config(4);
  struct pto_watchdog watchdog;
  config.port = &port;
  atomic_init(&port.orchestration, NULL);
  assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
  atomic_store_explicit(&port.orchestration, counts, memory_order_release);
  await_report();
  pto_watchdog_fini(&watchdog);
  assert_string_equal(
      report.sentence,
      "the orchestration outlived the time-out of 4 ms: it has submitted 3 tasks, and all is still since");
  counts[0] = 1, counts[1] = 0;
  config = make_config(4);
  config.port = &port;
  assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
  await_report();
  pto_watchdog_fini(&watchdog);
  assert_string_equal(
      report.sentence,
      "the orchestration outlived the time-out of 4 ms: it has submitted 1 task, and all is still since");
}

/* Nothing is submitted any more, and for a while tasks still complete. */
static void test_an_orchestration_is_not_still_while_its_tasks_complete(void **state) {
  static struct pto_port port;
  static uint64_t counts[2] = {3, 0};
  struct pto_watchdog_config config = make_config(64);
  struct pto_watchdog watchdog;
  config.port = &port;
  atomic_init(&port.orchestration, counts);
  assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
  const uint64_t begin_ns = pto_watchdog_now_ns();
  uint64_t last_ns = begin_ns, longest_ns = 0;
  bool is_early = false;
  while (last_ns < begin_ns + 160000000) {
    __atomic_fetch_add(&counts[1], 1, __ATOMIC_RELAXED); /* relaxed: as the control thread's words */
    sched_yield();
    is_early |= atomic_load_explicit(&report.count, memory_order_relaxed) > 0;
    const uint64_t now_ns = pto_watchdog_now_ns();
    longest_ns = now_ns - last_ns > longest_ns ? now_ns - last_ns : longest_ns;
    last_ns = now_ns;
  }
  await_report();
  pto_watchdog_fini(&watchdog);
  if (longest_ns < 16000000) assert_false(is_early); /* this thread has not been still itself */
  assert_string_equal(
      report.sentence,
      "the orchestration outlived the time-out of 64 ms: it has submitted 3 tasks, and all is still since");
}

static void test_of_pieces_that_took_too_long_the_first_kernel_is_told(void **state) {
  struct pto_watchdog_config config = make_config(4);
  struct pto_watchdog watchdog;
  const uint64_t begin_ns = pto_watchdog_now_ns() - 10000000;
  for (uint32_t i = 0; i < 2; i++) fill(&bodies[i], 30 + i);
  assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
  for (uint32_t i = 0; i < 2; i++) {
    const struct pto_message message = message_of(&bodies[i]);
    uint64_t ran_ns = 0;
    pto_watchdog_add_piece(&watchdog, &message, begin_ns, &ran_ns);
    assert_true(ran_ns >= 10000000);
    pto_watchdog_add_piece(&watchdog, &message, pto_watchdog_now_ns(), &ran_ns); /* told before */
  }
  await_report();
  pto_watchdog_fini(&watchdog);
  assert_int_equal(atomic_load_explicit(&report.count, memory_order_relaxed), 1);
  assert_non_null(strstr(report.sentence, "a kernel outlived the time-out of 4 ms: task 30 (endless)"));
}

/* Kernels come and go on two lines while a third one hangs; their payloads are rewritten as soon as they end. */
static _Atomic uint32_t is_over;
static void *run_short_kernels(void *argument) {
  struct pto_watchdog_line *line = argument;
  union body *body = &bodies[line - lines];
  for (uint64_t number = 1; !atomic_load_explicit(&is_over, memory_order_relaxed); number++) {
    fill(body, number);
    struct pto_message message = message_of(body);
    pto_watchdog_begin(line, &message);
    if (number % 1000 == 0) sched_yield();
    pto_watchdog_end(line);
  }
  return NULL;
}

static bool is_the_hanging_kernel_reported(void) {
  struct pto_watchdog_config config = make_config(100);
  struct pto_watchdog watchdog;
  static union body hanging;
  pthread_t threads[2];
  int error;
  fill(&hanging, 99);
  struct pto_message message = message_of(&hanging);
  atomic_store_explicit(&is_over, 0, memory_order_relaxed);
  for (uint32_t i = 0; i < 2; i++) assert_true(pto_thread_start(&threads[i], run_short_kernels, &lines[i], &error));
  pto_watchdog_begin(&lines[2], &message);
  assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
  await_report();
  atomic_store_explicit(&is_over, 1, memory_order_relaxed);
  for (uint32_t i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  pto_watchdog_fini(&watchdog);
  return strstr(report.sentence, "task 99 (endless) block 99 ") != NULL;
}
static void test_only_the_kernel_that_hangs_is_reported_among_others_that_return(void **state) {
  bool is_reported = false;
  /* A machine may be so busy that a short kernel rightly looks as if it hung; not time after time. */
  for (uint32_t i = 0; i < 10 && !is_reported; i++) is_reported = is_the_hanging_kernel_reported();
  assert_true(is_reported);
}

/* With a time-out of 1 ms an ordinary kernel may well be reported when the machine is busy: its description is then of
 * one kernel, never half of one and half of the next. */
static void test_a_report_never_mixes_two_kernels(void **state) {
  for (uint32_t round = 0; round < 5; round++) {
    struct pto_watchdog_config config = make_config(1);
    struct pto_watchdog watchdog;
    pthread_t thread;
    int error;
    atomic_store_explicit(&is_over, 0, memory_order_relaxed);
    assert_true(pto_thread_start(&thread, run_short_kernels, &lines[0], &error));
    assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
    for (uint32_t i = 0; i < 500 && atomic_load_explicit(&report.count, memory_order_acquire) == 0; i++) sched_yield();
    atomic_store_explicit(&is_over, 1, memory_order_relaxed);
    pthread_join(thread, NULL);
    pto_watchdog_fini(&watchdog);
    unsigned long long task, block, addr, scalar;
    if (atomic_load_explicit(&report.count, memory_order_acquire) == 0) continue;
    const char *at = strstr(report.sentence, "task ");
    assert_int_equal(sscanf(at,
                            "task %llu (endless) block %llu on core 4 (cluster 1 AIV0): tensor 0 at %llx i8[7,9] "
                            "strides [9,1]; scalar 0 %llx",
                            &task, &block, &addr, &scalar),
                     4);
    assert_true(task == block && addr == task * 64 && scalar == task);
  }
}

static void test_without_a_time_out_or_a_callback_there_is_no_thread(void **state) {
  struct pto_watchdog watchdog;
  struct pto_watchdog_config config = make_config(0);
  assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
  assert_false(watchdog.is_running);
  pto_watchdog_fini(&watchdog);
  config = make_config(5);
  config.on_timeout = NULL;
  assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
  assert_false(watchdog.is_running);
  pto_watchdog_fini(&watchdog);
  watchdog = (struct pto_watchdog){0};
  pto_watchdog_fini(&watchdog);
}

static void test_a_watchdog_stops_without_waiting_for_its_time_out(void **state) {
  struct pto_watchdog_config config = make_config(UINT32_MAX); /* seven weeks */
  struct pto_watchdog watchdog;
  for (uint32_t i = 0; i < 10; i++) {
    assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_OK);
    pto_watchdog_fini(&watchdog);
  }
  assert_int_equal(atomic_load_explicit(&report.count, memory_order_relaxed), 0);
}

static void test_a_thread_that_cannot_be_started_is_an_error(void **state) {
  struct pto_watchdog_config config = make_config(5);
  struct pto_watchdog watchdog;
  pto_thread_fail_countdown = 1;
  assert_int_equal(pto_watchdog_init(&watchdog, &config), PTO_ESYSTEM);
  assert_false(watchdog.is_running);
  pto_watchdog_fini(&watchdog);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_kernel_that_does_not_return_is_reported_once_with_its_parameters),
      cmocka_unit_test(test_while_it_is_paused_no_time_is_counted),
      cmocka_unit_test(test_an_orchestration_that_does_not_return_is_reported),
      cmocka_unit_test(test_an_orchestration_is_not_still_while_its_tasks_complete),
      cmocka_unit_test(test_of_pieces_that_took_too_long_the_first_kernel_is_told),
      cmocka_unit_test(test_only_the_kernel_that_hangs_is_reported_among_others_that_return),
      cmocka_unit_test(test_a_report_never_mixes_two_kernels),
      cmocka_unit_test(test_without_a_time_out_or_a_callback_there_is_no_thread),
      cmocka_unit_test(test_a_watchdog_stops_without_waiting_for_its_time_out),
      cmocka_unit_test(test_a_thread_that_cannot_be_started_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
