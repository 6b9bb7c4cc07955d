/* SPDX-License-Identifier: MIT */
/*
 * The virtual engine, driven by hand through its port: a message's life from dispatch to completion, each rule of time
 * once, against times worked out on paper.  Beside it: work_test (what calls take), schedulers_test (clocks of
 * control).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <tests/support/virtual_bench.h>

#include <sim/virtual/core.h>

static void test_a_message_pays_dispatch_start_work_end_and_poll(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  submit(&b, pto_script_message(1, 100, 0, 0)); /* asked at 20, sent at 23, begins at 33, ends at 133, visible at 138 */
  expect_nothing(&b);
  assert_int_equal(b.port->clock, 20);
  assert_int_equal(pto_script_log_count, 0);
  wait_until(&b, 138);
  expect_completion(&b, 0, 140);
  expect_span(&b, 0, 0, 33, 133);
  assert_int_equal(b.port->elapsed_ps(b.port), 140);
  bench_end(&b);
}

static void test_a_pending_message_begins_when_the_first_ends_without_the_scheduler(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* sent at 3, begins at 13, visible at 118 */
  dispatch(&b, pto_script_message(1, 50, 0, 0), 0);  /* sent at 6, begins at 118 + 10, visible at 183 */
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 100); /* a scheduler busy until 820 delays no task */
  assert_int_equal(b.port->clock, 820);
  wait_until(&b, 820);
  expect_completion(&b, 1, 822);
  expect_span(&b, 1, 1, 128, 178);
  bench_end(&b);
}

static void test_a_message_that_waited_at_the_core_starts_in_its_own_time(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.pending_start_ps = 4;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0);  /* sent at 3, begins at 13, visible at 118 */
  dispatch(&b, pto_script_message(1, 50, 0, 0), 114); /* sent at 117, begins at 118 + 4, visible at 177 */
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  dispatch(&b, pto_script_message(1, 10, 0, 0), 174); /* sent at 177, in time for nothing: begins at 187 */
  b.port->ops->wait(b.port);
  expect_completion(&b, 1, 179);
  b.port->ops->wait(b.port);
  expect_completion(&b, 2, 204);
  expect_span(&b, 1, 1, 122, 172);
  expect_span(&b, 2, 2, 187, 197);
  bench_end(&b);
}

static void test_the_first_message_of_a_core_is_slower(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.cold_start_ps = 32;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(0, 10, 0, 0), 0); /* sent at 3; 22 more, begins at 35 */
  dispatch(&b, pto_script_message(1, 10, 0, 0), 0); /* sent at 6; 0 more, begins at 16 */
  dispatch(&b, pto_script_message(2, 10, 0, 0), 0); /* sent at 9; 54 more, begins at 73 */
  dispatch(&b, pto_script_message(1, 10, 0, 0), 0); /* as always */
  for (uint32_t i = 0; i < 4; i++) {
    struct pto_completion completion;
    b.port->ops->wait(b.port);
    assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
  }
  expect_span(&b, 0, 1, 16, 26);
  expect_span(&b, 1, 0, 35, 45);
  expect_span(&b, 2, 3, 41, 51);
  expect_span(&b, 3, 2, 73, 83);
  bench_end(&b);
  uint64_t sum = 0;
  for (uint32_t core = 5; core < 17; core++) sum += pto_virtual_cold_start_ps(1600, core);
  assert_int_equal(sum, 12 * 1600);
}

static void test_nothing_starts_before_its_task_is_ready(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 1000); /* sent at 1003 */
  dispatch(&b, pto_script_message(1, 10, 0, 0), 0);     /* same core: must not overtake */
  dispatch(&b, pto_script_message(2, 10, 0, 0), 500);   /* other core: sent at 503, begins at 513, visible at 528 */
  wait_until(&b, 528);
  expect_completion(&b, 2, 530);
  wait_until(&b, 1118);
  expect_completion(&b, 0, 1120);
  wait_until(&b, 1143);
  expect_completion(&b, 1, 1145);
  expect_span(&b, 1, 0, 1013, 1113);
  bench_end(&b);
}

static struct pto_message together(struct pto_message message, bool is_last) {
  message.flags |= PTO_MESSAGE_TOGETHER | (is_last ? PTO_MESSAGE_LAST : 0);
  return message;
}

static void test_a_sync_start_group_begins_at_one_instant(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 1));
  dispatch(&b, pto_script_message(2, 500, 0, 0), 0);                 /* sent at 3, core 2 free at 518 */
  dispatch(&b, together(pto_script_message(1, 10, 0, 0), false), 0); /* could begin at 16 */
  dispatch(&b, together(pto_script_message(2, 20, 0, 0), false), 0); /* could begin at 528 */
  dispatch(&b, together(pto_script_message(4, 30, 0, 0), true), 0);
  dispatch(&b, pto_script_message(1, 40, 0, 0), 0); /* behind the group's member, which holds the core */
  wait_until(&b, 518);
  expect_completion(&b, 0, 520);
  wait_until(&b, 543);
  expect_completion(&b, 1, 545);
  wait_until(&b, 553);
  expect_completion(&b, 2, 555);
  expect_span(&b, 1, 1, 528, 538);
  expect_span(&b, 2, 2, 528, 548);
  expect_span(&b, 3, 3, 528, 558);
  b.port->ops->wait(b.port);
  expect_completion(&b, 3, 565);
  b.port->ops->wait(b.port);
  expect_completion(&b, 4, 600); /* core 1 free at 543, begins at 553, visible at 598 */
  bench_end(&b);
}

/* Each with its own work: no begin of an instant overwrites what another core is to do. */
static void test_more_cores_begin_at_one_instant_than_fill_a_line(void **state) {
  enum { CORES = 48 };
  struct bench b;
  bench_begin(&b, pto_script_chip(CORES / 3, 1));
  for (uint32_t core = 0; core < CORES; core++) /* the last is sent at 144, and all begin at 154 */
    dispatch(&b, together(pto_script_message(core, 100 + 10 * core, 0, 0), core + 1 == CORES), 0);
  for (uint32_t i = 0; i < CORES; i++) {
    struct pto_completion completion;
    b.port->ops->wait(b.port);
    assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
    assert_int_equal(completion.ticket, i);
  }
  for (uint32_t core = 0; core < CORES; core++) expect_span(&b, core, core, 154, 254 + 10 * core);
  bench_end(&b);
}

static void test_members_that_begin_together_share_the_memory_alike(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  for (uint32_t core = 0; core < 3; core++) dispatch(&b, together(pto_script_message(core, 0, 1000, 0), core == 2), 0);
  for (uint32_t i = 0; i < 3; i++) {
    b.port->ops->wait(b.port);
    expect_completion(&b, i, b.port->clock + 2);
  }
  for (uint32_t i = 0; i < 3; i++) expect_span(&b, i, i, 19, 1519);
  bench_end(&b);
}

static void test_kernels_run_in_order_of_their_begins_not_of_their_dispatch(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(0, 10, 0, 0), 900);
  dispatch(&b, pto_script_message(1, 10, 0, 0), 600);
  dispatch(&b, pto_script_message(2, 10, 0, 0), 300);
  for (uint32_t i = 0; i < 3; i++) {
    struct pto_completion completion;
    b.port->ops->wait(b.port);
    assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
    assert_int_equal(completion.ticket, 2 - i);
    assert_int_equal(pto_script_log[i], 2 - i);
  }
  bench_end(&b);
}

static void test_each_failure_keeps_its_own_sentence(void **state) {
  struct bench b;
  struct pto_completion completion;
  static const int statuses[] = {PTO_EKERNEL, -2, 100000, 0, -100000};
  static const int16_t clamped[] = {PTO_EKERNEL, -2, INT16_MAX, 0, INT16_MIN};
  static const char *const sentences[] = {"task 0 fails", "", "task 2 fails", "", "task 4 fails"};
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.slots_per_core = 5;
  bench_begin(&b, chip);
  for (uint32_t i = 0; i < 5; i++) dispatch(&b, pto_script_message(1, 10, 0, statuses[i]), 0);
  pto_port_charge(b.port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SUBMIT, 1000); /* all five have run before the first poll */
  for (uint32_t i = 0; i < 5; i++) {
    assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
    assert_int_equal(completion.status, clamped[i]);
    assert_string_equal(b.port->ops->kernel_message(b.port, 1), sentences[i]);
  }
  bench_end(&b);
}

static void test_who_has_said_nothing_has_no_sentence_and_a_poll_for_nothing_takes_nothing(void **state) {
  struct bench b;
  struct pto_completion completion;
  bench_begin(&b, pto_script_chip(1, 1));
  assert_string_equal(b.port->ops->kernel_message(b.port, 1), "");
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0);
  b.port->ops->wait(b.port);
  const uint64_t clock = b.port->clock;
  assert_int_equal(b.port->ops->poll(b.port, &completion, 0), 0);
  expect_completion(&b, 0, clock + 2);
  bench_end(&b);
}

static void test_a_second_run_starts_at_zero(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  for (uint32_t run = 0; run < 2; run++) {
    assert_int_equal(b.port->ops->begin_run(b.port, NULL, 0), PTO_OK);
    assert_int_equal(b.port->elapsed_ps(b.port), 0);
    submit(&b, pto_script_message(1, 100, 0, 0));
    wait_until(&b, 138);
    expect_completion(&b, run, 140);
    b.port->ops->end_run(b.port);
    assert_int_equal(b.port->elapsed_ps(b.port), 140);
  }
  bench_end(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_message_pays_dispatch_start_work_end_and_poll),
      cmocka_unit_test(test_a_pending_message_begins_when_the_first_ends_without_the_scheduler),
      cmocka_unit_test(test_a_message_that_waited_at_the_core_starts_in_its_own_time),
      cmocka_unit_test(test_the_first_message_of_a_core_is_slower),
      cmocka_unit_test(test_nothing_starts_before_its_task_is_ready),
      cmocka_unit_test(test_a_sync_start_group_begins_at_one_instant),
      cmocka_unit_test(test_more_cores_begin_at_one_instant_than_fill_a_line),
      cmocka_unit_test(test_members_that_begin_together_share_the_memory_alike),
      cmocka_unit_test(test_kernels_run_in_order_of_their_begins_not_of_their_dispatch),
      cmocka_unit_test(test_each_failure_keeps_its_own_sentence),
      cmocka_unit_test(test_who_has_said_nothing_has_no_sentence_and_a_poll_for_nothing_takes_nothing),
      cmocka_unit_test(test_a_second_run_starts_at_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
