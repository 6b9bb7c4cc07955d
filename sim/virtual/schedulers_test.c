/* SPDX-License-Identifier: MIT */
/*
 * The clocks of the virtual engine's orchestrator, schedulers and resolver, and what each of them does when; against
 * times worked out on paper.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <tests/support/virtual_bench.h>

static void test_two_schedulers_work_at_the_same_time(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 2));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* scheduler 0: visible at 118 */
  dispatch(&b, pto_script_message(4, 100, 0, 0), 0); /* scheduler 1: the same, no queueing behind the other */
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  assert_int_equal(b.port->clock, 127);
  expect_completion(&b, 1, 120); /* its own clock, not after the first one's 127 */
  expect_nothing(&b);
  assert_int_equal(b.port->clock, 118);
  bench_end(&b);
}

static void test_one_scheduler_takes_in_completions_one_after_the_other(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 1));
  dispatch(&b, pto_script_message(4, 103, 0, 0), 0); /* sent at 3, visible at 121 */
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* sent at 6, visible at 121 too: the lower core is first */
  wait_until(&b, 121);
  expect_completion(&b, 1, 123);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  expect_nothing(&b); /* its turn comes at 130, the orchestrator knows until 121 */
  wait_until(&b, 130);
  expect_completion(&b, 0, 132);
  bench_end(&b);
}

static void test_a_message_asked_for_elsewhere_waits_for_its_own_scheduler(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 2));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* scheduler 0, visible at 118 */
  dispatch(&b, pto_script_message(4, 105, 0, 0), 0); /* scheduler 1, visible at 123 */
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  dispatch(&b, pto_script_message(5, 10, 0, 0), 120); /* scheduler 1 is idle at 120: sends by 123, begins at 133 */
  assert_int_equal(b.port->clock, 120);               /* and this scheduler pays nothing */
  wait_until(&b, 123);
  expect_completion(&b, 1, 125);
  wait_until(&b, 148);
  expect_completion(&b, 2, 150);
  expect_span(&b, 2, 2, 133, 143);
  bench_end(&b);
}

static void test_a_scheduler_does_what_came_up_first(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 2));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* scheduler 0, visible at 118 */
  dispatch(&b, pto_script_message(4, 104, 0, 0), 0); /* scheduler 1, visible at 122 */
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  dispatch(&b, pto_script_message(5, 10, 0, 0),
           127); /* asked at 127: scheduler 1 has the completion of 122 before it */
  wait_until(&b, 122);
  expect_completion(&b, 1, 124);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1); /* until 131; sent at 134, begins at 144 */
  wait_until(&b, 159);
  expect_completion(&b, 2, 161);
  expect_span(&b, 2, 2, 144, 154);
  bench_end(&b);
}

static void test_a_message_behind_none_waits_for_the_scheduler(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0);
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  dispatch(&b, pto_script_message(1, 50, 0, 0), b.port->clock); /* sent at 127 + 3, begins at 140, visible at 195 */
  assert_int_equal(b.port->clock, 130);
  wait_until(&b, 195);
  expect_completion(&b, 1, 197);
  bench_end(&b);
}

static void test_further_messages_of_a_task_are_sent_for_less(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(2, 2);
  chip.dispatch_more_ps = 1;
  bench_begin(&b, chip);
  for (uint32_t i = 0; i < 3; i++) {
    struct pto_message message = pto_script_message(i, 10, 0, 0);
    pto_script_tasks[i].payload.task_number = 7;
    dispatch(&b, message, 0); /* sent at 3, 4, 5 */
  }
  dispatch(&b, pto_script_message(0, 10, 0, 0), 0); /* of another one: at 8 */
  struct pto_message elsewhere = pto_script_message(3, 10, 0, 0);
  pto_script_tasks[4].payload.task_number = 7;
  dispatch(&b, elsewhere, 0); /* by the other scheduler, which has sent none of it: at 3 */
  struct pto_completion completion;
  b.port->ops->wait(b.port);
  assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
  expect_span(&b, 0, 7, 13, 23);
  expect_span(&b, 1, 7, 13, 23);
  expect_span(&b, 2, 7, 14, 24);
  expect_span(&b, 3, 7, 15, 25);
  bench_end(&b);
}

static void test_the_first_scheduler_wires_edges_where_the_chip_says_so(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(2, 2);
  assert_int_equal(chip.schedulers_wire, 0);
  chip.work_ps[PTO_WORK_EDGE] = 4;
  bench_begin(&b, chip);
  assert_null(b.port->ops->wire); /* the orchestrator does */
  assert_int_equal(b.port->work_ps[PTO_WORK_EDGE], 4);
  bench_end(&b);
  chip.schedulers_wire = true;
  bench_begin(&b, chip);
  assert_int_equal(b.port->work_ps[PTO_WORK_EDGE], 0);
  submit(&b, pto_script_message(1, 100, 0, 0)); /* asked for at 20, as its edges: */
  b.port->ops->wire(b.port, 5);                 /* wired until 40, sent at 43, visible at 158 */
  submit(&b, pto_script_message(4, 100, 0, 0)); /* of the other scheduler: asked for at 40, sent at 43 */
  wait_until(&b, 158);
  expect_completion(&b, 0, 160);
  expect_completion(&b, 1, 160);
  bench_end(&b);
}

static void test_a_resolver_handles_completions_where_the_graph_is_prebuilt(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(2, 2);
  chip.is_graph_prebuilt = chip.schedulers_wire = true;
  bench_begin(&b, chip);
  assert_null(b.port->ops->wire);
  submit(&b, pto_script_message(1, 100, 0, 0)); /* asked for at 0: sent at 3, visible at 118 */
  submit(&b, pto_script_message(4, 102, 0, 0)); /* of the other scheduler: visible at 120 */
  submit(&b, pto_script_message(2, 109, 0, 0)); /* sent at 6, visible at 130 */
  assert_int_equal(b.port->clock, 0);
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 2); /* the resolver's clock: 134 */
  assert_int_equal(b.port->clock, 134);
  dispatch(&b, pto_script_message(1, 10, 0, 0), 134); /* sent after the completion of 130, which is over at 132 */
  wait_until(&b, 120);
  expect_completion(&b, 1, 134); /* taken in at 122, handled after the first */
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  wait_until(&b, 130);
  expect_completion(&b, 2, 141);
  wait_until(&b, 162); /* sent at 137, begins at 147 */
  expect_completion(&b, 3, 164);
  bench_end(&b);
}

/* Turns of 20 and 10 for each core that runs something. */
static void test_a_scheduler_with_a_loop_sees_what_its_looks_come_to(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.loop_ps = 20;
  chip.look_ps = 10;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* sent at once, as at the end of a turn: begins at 13, */
  dispatch(&b, pto_script_message(2, 100, 0, 0), 0); /* and at 16; the next turn begins at 6 */
  wait_until(&b, 126);                               /* looks at 116 and 126; visible at 118 and 121 */
  expect_completion(&b, 1, 128);
  wait_until(&b, 158); /* one look a turn now, and this one was in time */
  expect_completion(&b, 0, 160);
  assert_int_equal(b.port->elapsed_ps(b.port), 160);
  dispatch(&b, pto_script_message(1, 0, 0, 0), 250); /* turns end at 180, 200 and so on: sent at 263, visible at 278 */
  wait_until(&b, 293);
  expect_completion(&b, 2, 295);
  bench_end(&b);
}

/* What the scheduler's own completion makes ready goes out after all completions of the turn. */
static void test_a_loop_sends_after_all_that_its_turn_has_found(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.loop_ps = 200;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* sent at 3, visible at 118 */
  dispatch(&b, pto_script_message(2, 10, 0, 0), 0);  /* sent at 6, visible at 31 */
  wait_until(&b, 206);                               /* both are found, the lower core first */
  expect_completion(&b, 0, 208);
  dispatch(&b, pto_script_message(1, 0, 0, 0), 0); /* asked for at 208 */
  wait_until(&b, 208);
  expect_completion(&b, 1, 210);
  wait_until(&b, 413); /* sent at 213, where the next turn begins; visible at 228 */
  expect_completion(&b, 2, 415);
  bench_end(&b);
}

static void test_the_orchestrator_sees_completions_up_to_its_own_time(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* visible at 118 */
  pto_port_charge(b.port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SUBMIT, 5);
  expect_nothing(&b);
  assert_int_equal(pto_script_log_count, 1); /* begun at 13, before 100 */
  pto_port_charge(b.port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SUBMIT, 1);
  expect_completion(&b, 0, 120); /* the orchestrator is at 120, the scheduler was idle at 118 */
  b.port->ops->resume(b.port, 0);
  assert_int_equal(b.port->clock, 120);
  bench_end(&b);
}

static void test_resume_takes_the_orchestrator_to_what_it_waited_for(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0);
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  pto_port_charge(b.port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SUBMIT, 1); /* the other clock: 118 + 20 */
  assert_int_equal(b.port->clock, 127);
  b.port->ops->resume(b.port, 127);
  assert_int_equal(b.port->clock, 138);
  b.port->ops->resume(b.port, 200);
  assert_int_equal(b.port->clock, 200);
  bench_end(&b);
}

static void test_dispatch_and_poll_cannot_be_charged_twice(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_DISPATCH, 9);
  pto_port_charge(b.port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_POLL, 9);
  assert_int_equal(b.port->clock, 0);
  bench_end(&b);
}

static void test_all_clocks_begin_after_the_handshake(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.handshake_ps = 1000;
  bench_begin(&b, chip);
  assert_int_equal(b.port->clock, 1000);
  assert_int_equal(b.port->elapsed_ps(b.port), 1000);
  submit(&b, pto_script_message(1, 100, 0, 0));
  wait_until(&b, 1138);
  expect_completion(&b, 0, 1140);
  bench_end(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two_schedulers_work_at_the_same_time),
      cmocka_unit_test(test_one_scheduler_takes_in_completions_one_after_the_other),
      cmocka_unit_test(test_a_message_asked_for_elsewhere_waits_for_its_own_scheduler),
      cmocka_unit_test(test_a_scheduler_does_what_came_up_first),
      cmocka_unit_test(test_a_message_behind_none_waits_for_the_scheduler),
      cmocka_unit_test(test_further_messages_of_a_task_are_sent_for_less),
      cmocka_unit_test(test_the_first_scheduler_wires_edges_where_the_chip_says_so),
      cmocka_unit_test(test_a_resolver_handles_completions_where_the_graph_is_prebuilt),
      cmocka_unit_test(test_a_scheduler_with_a_loop_sees_what_its_looks_come_to),
      cmocka_unit_test(test_a_loop_sends_after_all_that_its_turn_has_found),
      cmocka_unit_test(test_the_orchestrator_sees_completions_up_to_its_own_time),
      cmocka_unit_test(test_resume_takes_the_orchestrator_to_what_it_waited_for),
      cmocka_unit_test(test_dispatch_and_poll_cannot_be_charged_twice),
      cmocka_unit_test(test_all_clocks_begin_after_the_handshake),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
