/* SPDX-License-Identifier: MIT */
/*
 * Tasks that need several cores at once, sync_start and MIX, over a port that only keeps what it is sent: when they
 * start, whom they let pass, and whom they keep out.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <runtime/sched/scheduler.h>
#include <tests/support/scheduler_fixture.h>

static void test_sync_start_waits_until_all_its_blocks_have_idle_cores_and_marks_the_last(void **state) {
  (void)state;
  open_fifo(2, 2);
  push(PTO_SHAPE_AIC, 1, 0);
  dispatch();
  uint32_t together = push(PTO_SHAPE_MIX_X2, 2, PTO_TASK_SYNC_START);
  dispatch();
  assert_int_equal(sent_count, 1); /* cluster 0's AIC is busy, though it has room */
  complete(0);
  dispatch();
  assert_int_equal(sent_count, 1 + 6);
  for (uint32_t i = 1; i < 7; i++) {
    assert_int_equal(sent[i].ticket, together);
    assert_true(sent[i].flags & PTO_MESSAGE_TOGETHER);
    assert_int_equal((sent[i].flags & PTO_MESSAGE_LAST) != 0, i == 6);
  }
  close_all();
}

static void test_a_waiting_sync_start_lets_older_tasks_have_its_cores(void **state) {
  (void)state;
  open_fifo(1, 1);
  uint32_t older = push(PTO_SHAPE_AIV, 3, 0);
  dispatch(); /* two of its blocks are on their cores */
  uint32_t together = push(PTO_SHAPE_AIV, 2, PTO_TASK_SYNC_START);
  dispatch();
  assert_int_equal(scheduler.cores.claim_count, 2);
  complete(0);
  dispatch();
  assert_int_equal(sent_count, 3);
  assert_int_equal(sent[2].ticket, older);
  complete(1);
  complete(2);
  dispatch();
  assert_int_equal(sent_count, 5);
  assert_int_equal(sent[3].ticket, together);
  close_all();
}

static void test_a_waiting_sync_start_keeps_its_cores_from_younger_tasks_and_nothing_else(void **state) {
  (void)state;
  open_fifo(1, 1);
  push(PTO_SHAPE_AIV, 1, 0);
  dispatch(); /* one AIV is busy */
  uint32_t together = push(PTO_SHAPE_AIV, 2, PTO_TASK_SYNC_START);
  dispatch();
  assert_int_equal(sent_count, 1);
  push(PTO_SHAPE_AIV, 1, 0); /* fits the idle AIV, which is claimed */
  uint32_t cube = push(PTO_SHAPE_AIC, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 2);
  assert_int_equal(sent[1].ticket, cube);
  complete(0);
  dispatch();
  assert_int_equal(sent_count, 4);
  assert_int_equal(sent[2].ticket, together);
  assert_int_equal(sent[3].ticket, together);
  close_all();
}

static void test_a_mix_task_is_not_starved_by_a_stream_of_single_core_tasks(void **state) {
  (void)state;
  static const enum pto_policy policies[] = {PTO_POLICY_FIFO, PTO_POLICY_LIFO, PTO_POLICY_RANDOM};
  for (size_t p = 0; p < PTO_ARRAY_LENGTH(policies); p++) {
    open_policy(1, 1, policies[p], 3);
    for (uint32_t i = 0; i < 4; i++) push(i % 2 ? PTO_SHAPE_AIC : PTO_SHAPE_AIV, 1, 0);
    dispatch();
    uint32_t mix = push(PTO_SHAPE_MIX_X2, 1, 0), steps = 0, at = 0;
    dispatch();
    while (rings.slots[mix].state != PTO_TASK_RUNNING) { /* one completes, one more of each kind becomes ready */
      assert_true(++steps < 20);
      complete(at++);
      push(PTO_SHAPE_AIC, 1, 0);
      push(PTO_SHAPE_AIV, 1, 0);
      dispatch();
    }
    close_all();
  }
}

/* Cluster 1 does, whether its AIC counts or not. */
static void test_a_task_of_several_cores_claims_the_cluster_that_holds_least(void **state) {
  (void)state;
  static const uint32_t busy[] = {1, 2, 3, 6, 7, 8};
  for (int needs_aic = 0; needs_aic < 2; needs_aic++) {
    open_fifo(3, 1);
    for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(busy); i++) pto_core_tracker_push(&scheduler.cores, busy[i], 0);
    if (!needs_aic) pto_core_tracker_push(&scheduler.cores, 5, 0); /* or it would be sent at once */
    push(needs_aic ? PTO_SHAPE_MIX_X2 : PTO_SHAPE_AIV_X2, 1, 0);
    dispatch();
    assert_int_equal(sent_count, 0);
    const uint64_t cluster = 1u << 1;
    assert_int_equal(scheduler.cores.claimed[0][0], needs_aic ? cluster : 0);
    assert_int_equal(scheduler.cores.claimed[1][0], cluster);
    assert_int_equal(scheduler.cores.claimed[2][0], cluster);
    close_all();
  }
}

static void test_a_sync_start_task_of_one_block_needs_no_idle_core(void **state) {
  (void)state;
  open_fifo(1, 2);
  pto_core_tracker_push(&scheduler.cores, 0, 0);
  push(PTO_SHAPE_AIC, 1, PTO_TASK_SYNC_START);
  dispatch();
  assert_int_equal(sent_count, 1);
  assert_int_equal(load_then[0], 2);
  assert_int_equal(sent[0].flags, PTO_MESSAGE_TOGETHER | PTO_MESSAGE_LAST);
  close_all();
}

static void test_what_can_never_start_together_is_known(void **state) {
  (void)state;
  open_fifo(12, 2);
  assert_int_equal(pto_scheduler_room(&scheduler, PTO_SHAPE_AIV), 24);
  for (uint32_t shape = 0; shape < PTO_SHAPE_COUNT; shape++) {
    if (shape == PTO_SHAPE_AIV) continue;
    assert_int_equal(pto_scheduler_room(&scheduler, (enum pto_shape)shape), 12);
  }
  close_all();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sync_start_waits_until_all_its_blocks_have_idle_cores_and_marks_the_last),
      cmocka_unit_test(test_a_waiting_sync_start_lets_older_tasks_have_its_cores),
      cmocka_unit_test(test_a_waiting_sync_start_keeps_its_cores_from_younger_tasks_and_nothing_else),
      cmocka_unit_test(test_a_mix_task_is_not_starved_by_a_stream_of_single_core_tasks),
      cmocka_unit_test(test_a_task_of_several_cores_claims_the_cluster_that_holds_least),
      cmocka_unit_test(test_a_sync_start_task_of_one_block_needs_no_idle_core),
      cmocka_unit_test(test_what_can_never_start_together_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
