/* SPDX-License-Identifier: MIT */
/*
 * Short work: what the control thread takes for itself and what it gives to other threads, over a port that only keeps
 * what it is sent.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <runtime/sched/scheduler.h>
#include <tests/support/scheduler_fixture.h>

/* Cores of even numbers live on the control thread: of the first two clusters 0, an AIC, and 2 and 4, AIVs. */
static bool take_new(enum pto_shape shape, struct pto_message *message) {
  const uint32_t index = make_task(shape, 1, 0);
  struct pto_task_slot *slot = &rings.slots[index];
  const uint64_t dispatched = scheduler.dispatched;
  const bool is_taken = pto_scheduler_take_new(&scheduler, index, slot, slot->payload, message);
  assert_int_equal(slot->state, is_taken ? PTO_TASK_RUNNING : PTO_TASK_WAITING);
  assert_int_equal(scheduler.dispatched - dispatched, is_taken);
  if (!is_taken) return false;
  assert_int_equal(message->ticket, index);
  assert_ptr_equal(message->payload, slot->payload);
  assert_int_equal(message->core % 2, 0);
  assert_int_equal(message->core % PTO_LANES == 0, shape == PTO_SHAPE_AIC);
  assert_int_equal(scheduler.cores.load[message->core], 0);
  return true;
}
static void test_short_work_is_taken_as_it_comes_on_an_idle_core_of_the_control_thread(void **state) {
  (void)state;
  struct pto_message message;
  open_fifo(2, 1);
  assert_false(take_new(PTO_SHAPE_AIV, &message)); /* it is not known to be short */
  port.is_fine_grained = true;
  assert_true(take_new(PTO_SHAPE_AIV, &message));
  assert_int_equal(message.core, 2);
  assert_true(take_new(PTO_SHAPE_AIV, &message)); /* the same core again, which is warm */
  assert_int_equal(message.core, 2);
  assert_true(take_new(PTO_SHAPE_AIC, &message));
  assert_int_equal(message.core, 0);
  pto_core_tracker_push(&scheduler.cores, 2, 0); /* somebody has sent it something */
  assert_true(take_new(PTO_SHAPE_AIV, &message));
  assert_int_equal(message.core, 4);
  pto_core_tracker_push(&scheduler.cores, 4, 0);
  assert_false(take_new(PTO_SHAPE_AIV, &message));
  pto_core_tracker_pop(&scheduler.cores, 4);
  assert_true(take_new(PTO_SHAPE_AIV, &message));
  close_all();
}
static void test_short_work_is_not_taken_before_what_waits_nor_out_of_the_order_asked_for(void **state) {
  (void)state;
  struct pto_message message;
  open_fifo(2, 1);
  port.is_fine_grained = true;
  push(PTO_SHAPE_AIC, 1, 0);
  assert_false(take_new(PTO_SHAPE_AIV, &message));
  assert_true(pto_scheduler_begin_row(&scheduler));
  assert_true(pto_scheduler_take_own(&scheduler, &message));
  assert_true(take_new(PTO_SHAPE_AIV, &message));
  close_all();
  for (enum pto_policy policy = PTO_POLICY_FIFO; policy <= PTO_POLICY_RANDOM; policy++) {
    open_policy(2, 1, policy, 1);
    port.is_fine_grained = true;
    assert_int_equal(take_new(PTO_SHAPE_AIV, &message), policy == PTO_POLICY_FIFO);
    close_all();
  }
  open_fifo(1, 1); /* of whose AICs and AIVs the control thread has none or both */
  port.is_fine_grained = true;
  scheduler.cores.has_home = false;
  assert_false(take_new(PTO_SHAPE_AIV, &message));
  close_all();
}

/* Worker 1 has AIVs 1 and 5 of two clusters, and AIC 3. */
static void test_another_thread_is_given_short_work_up_to_a_limit_and_the_rest_is_left_to_be_taken(void **state) {
  (void)state;
  struct pto_message message;
  open_fifo(2, 8);
  port.away_limit = 8;
  for (uint32_t i = 0; i < 20; i++) push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 8);
  for (uint32_t i = 0; i < sent_count; i++) assert_int_equal(core_worker[sent[i].core], 1);
  assert_true(pto_scheduler_begin_row(&scheduler));
  for (uint32_t i = 0; i < 12; i++) {
    assert_true(pto_scheduler_take_own(&scheduler, &message));
    assert_int_equal(core_worker[message.core], 0);
    assert_int_equal(message.ticket, sent[7].ticket + 1 + i); /* the oldest first */
  }
  assert_false(pto_scheduler_take_own(&scheduler, &message));
  close_all();
}
static void test_of_few_short_tasks_another_thread_is_given_half_and_of_one_alone_nothing(void **state) {
  (void)state;
  for (uint32_t limit = 2; limit <= 32; limit += 5)
    for (uint32_t count = 1; count <= limit; count++) {
      open_fifo(20, 8);
      port.away_limit = limit;
      for (uint32_t i = 0; i < count; i++) push(PTO_SHAPE_AIV, 1, 0);
      dispatch();
      assert_int_equal(sent_count + scheduler.ready_count, count);
      assert_int_equal(sent_count, count == 1 ? 0 : (count + 1) / 2);
      close_all();
    }
}
static void test_short_tasks_that_others_made_ready_are_shared_before_a_row_of_them_begins(void **state) {
  (void)state;
  struct pto_message message;
  open_fifo(2, 8);
  port.away_limit = 8;
  for (uint32_t i = 0; i < 6; i++) pto_scheduler_ready(&scheduler, make_task(PTO_SHAPE_AIV, 1, 0));
  assert_int_equal(sent_count, 0);
  assert_true(pto_scheduler_begin_row(&scheduler));
  assert_int_equal(sent_count, 3);
  for (uint32_t i = 0; i < 3; i++) assert_true(pto_scheduler_take_own(&scheduler, &message));
  assert_false(pto_scheduler_take_own(&scheduler, &message));
  push(PTO_SHAPE_MIX_X2, 1, 0);
  push(PTO_SHAPE_MIX_X2, 1, 0);
  push(PTO_SHAPE_MIX_X2, 1, 0); /* for which cores are claimed */
  for (uint32_t core = 0; core < 6; core++)
    while (scheduler.cores.load[core] < 8) pto_core_tracker_push(&scheduler.cores, core, 0);
  assert_false(pto_scheduler_begin_row(&scheduler));
  assert_true(scheduler.claimant.slot != PTO_NO_SLOT);
  close_all();
}
static void test_a_short_task_that_is_new_goes_to_another_thread_that_has_nothing(void **state) {
  (void)state;
  open_fifo(2, 8);
  port.away_limit = 8;
  pto_scheduler_offer(&scheduler, make_task(PTO_SHAPE_AIV, 1, 0));
  assert_int_equal(sent_count, 1);
  assert_int_equal(core_worker[sent[0].core], 1);
  pto_scheduler_offer(&scheduler, make_task(PTO_SHAPE_AIV, 1, 0));
  assert_int_equal(sent_count, 1);
  close_all();
}
static void test_what_has_more_than_one_kernel_goes_to_all_threads_while_work_is_short(void **state) {
  (void)state;
  bool has_home_core = false;
  open_fifo(2, 8);
  port.away_limit = 8;
  push(PTO_SHAPE_AIV, 4, 0);
  dispatch();
  assert_int_equal(sent_count, 4);
  for (uint32_t i = 0; i < sent_count; i++) has_home_core |= core_worker[sent[i].core] == 0;
  assert_true(has_home_core);
  close_all();
  open_fifo(2, 8); /* nor is anything left to a control thread that cannot run it */
  port.away_limit = 1;
  scheduler.cores.has_home = false;
  for (uint32_t i = 0; i < 20; i++) push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 20);
  assert_false(pto_scheduler_begin_row(&scheduler));
  close_all();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_short_work_is_taken_as_it_comes_on_an_idle_core_of_the_control_thread),
      cmocka_unit_test(test_short_work_is_not_taken_before_what_waits_nor_out_of_the_order_asked_for),
      cmocka_unit_test(test_another_thread_is_given_short_work_up_to_a_limit_and_the_rest_is_left_to_be_taken),
      cmocka_unit_test(test_of_few_short_tasks_another_thread_is_given_half_and_of_one_alone_nothing),
      cmocka_unit_test(test_short_tasks_that_others_made_ready_are_shared_before_a_row_of_them_begins),
      cmocka_unit_test(test_a_short_task_that_is_new_goes_to_another_thread_that_has_nothing),
      cmocka_unit_test(test_what_has_more_than_one_kernel_goes_to_all_threads_while_work_is_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
