/* SPDX-License-Identifier: MIT */
/*
 * The scheduler over a port that only keeps what it is sent: which core, which role, which block, in which order. A
 * test completes messages when it likes. Random work is checked message by message, and must come to its end.
 * Tasks on several cores at once are in scheduler_together_test.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <runtime/sched/scheduler.h>
#include <tests/support/scheduler_fixture.h>

/* ---- shapes and cores ---- */

static void test_each_shape_goes_to_the_cores_it_needs_in_one_cluster(void **state) {
  (void)state;
  for (uint32_t shape = 0; shape < PTO_SHAPE_COUNT; shape++) {
    open_fifo(2, 2);
    uint32_t slot = push((enum pto_shape)shape, 1, 0);
    dispatch();
    assert_int_equal(sent_count, pto_shape_message_count(shape));
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
      assert_int_equal(sent[i].ticket, slot);
      assert_int_equal(cluster_of(i), cluster_of(0));
      assert_int_equal(sent[i].role == 0, lane_of(i) == 0);
      assert_false(lanes & (1u << lane_of(i)));
      lanes |= 1u << lane_of(i);
    }
    assert_int_equal(lanes & 1, shape == PTO_SHAPE_AIC || shape >= PTO_SHAPE_MIX_X1);
    assert_int_equal(rings.slots[slot].state, PTO_TASK_RUNNING);
    assert_int_equal(scheduler.ready_count, 0);
    close_all();
  }
}

static void test_a_lone_kernel_in_the_second_AIV_place_keeps_its_role(void **state) {
  (void)state;
  open_fifo(1, 1);
  uint32_t slot = make_task(PTO_SHAPE_AIV, 1, 0);
  payloads[slot].kernels[1] = NULL;
  payloads[slot].kernels[2] = &kernel;
  payloads[slot].first_role = 2;
  pto_scheduler_enqueue(&scheduler, slot);
  dispatch();
  assert_int_equal(sent_count, 1);
  assert_int_equal(sent[0].role, 2);
  close_all();
}

static void test_cores_never_get_more_than_their_slots_and_the_rest_waits(void **state) {
  (void)state;
  open_fifo(1, 2);
  for (int i = 0; i < 5; i++) push(PTO_SHAPE_AIC, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 2);
  assert_int_equal(scheduler.ready_count, 3);
  dispatch(); /* nothing has changed */
  assert_int_equal(sent_count, 2);
  complete(0);
  dispatch();
  assert_int_equal(sent_count, 3);
  close_all();
}

static void test_a_full_kind_of_core_does_not_hold_up_the_other(void **state) {
  (void)state;
  open_fifo(1, 1);
  push(PTO_SHAPE_AIC, 1, 0);
  push(PTO_SHAPE_AIC, 1, 0);
  uint32_t vector = push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  assert_int_equal(sent_count, 2);
  assert_int_equal(sent[1].ticket, vector);
  close_all();
}

static void test_blocks_beyond_the_cores_follow_as_cores_come_free_each_once_in_order(void **state) {
  (void)state;
  open_fifo(1, 1);
  push(PTO_SHAPE_AIV, 7, 0);
  for (uint32_t i = 0; i < 7; i++) {
    dispatch();
    assert_true(sent_count > i);
    assert_int_equal(sent[i].block_index, i);
    assert_true(sent[i].flags & PTO_MESSAGE_BLOCKS);
    complete(i);
  }
  dispatch();
  assert_int_equal(sent_count, 7);
  close_all();
}

static void test_sequential_blocks_run_one_after_the_other(void **state) {
  (void)state;
  open_fifo(24, 2);
  push(PTO_SHAPE_AIV, 4, PTO_TASK_SEQUENTIAL_BLOCKS);
  for (uint32_t i = 0; i < 4; i++) {
    dispatch();
    assert_int_equal(sent_count, i + 1);
    assert_int_equal(sent[i].block_index, i);
    complete(i);
  }
  dispatch();
  assert_int_equal(sent_count, 4);
  assert_int_equal(scheduler.ready_count, 0);
  close_all();
}

/* ---- order ---- */

static void test_fifo_sends_in_the_order_of_becoming_ready_across_shapes(void **state) {
  (void)state;
  open_fifo(8, 2);
  uint32_t slots[6];
  static const enum pto_shape order[] = {PTO_SHAPE_MIX_X2, PTO_SHAPE_AIC, PTO_SHAPE_AIV,
                                         PTO_SHAPE_AIV_X2, PTO_SHAPE_AIC, PTO_SHAPE_MIX_X1};
  for (int i = 0; i < 6; i++) slots[i] = push(order[i], 1, 0);
  dispatch();
  for (uint32_t i = 0, at = 0; i < 6; at += pto_shape_message_count(order[i]), i++)
    assert_int_equal(sent[at].ticket, slots[i]);
  close_all();
}

static void test_lifo_sends_what_became_ready_last(void **state) {
  (void)state;
  open_policy(8, 2, PTO_POLICY_LIFO, 0);
  uint32_t slots[4];
  for (int i = 0; i < 4; i++) slots[i] = push(i % 2 ? PTO_SHAPE_AIC : PTO_SHAPE_AIV, 1, 0);
  dispatch();
  for (uint32_t i = 0; i < 4; i++) assert_int_equal(sent[i].ticket, slots[3 - i]);
  close_all();
}

static void first_tickets(uint64_t seed, uint32_t tickets[8]) {
  open_policy(8, 2, PTO_POLICY_RANDOM, seed);
  for (int i = 0; i < 8; i++) push(PTO_SHAPE_AIC, 1, 0);
  dispatch();
  for (uint32_t i = 0; i < 8; i++) tickets[i] = sent[i].ticket;
  close_all();
}

static void test_a_random_order_is_that_of_its_seed(void **state) {
  (void)state;
  uint32_t one[8], again[8], others = 0;
  first_tickets(1, one);
  first_tickets(1, again);
  assert_memory_equal(one, again, sizeof one);
  for (uint64_t seed = 2; seed < 12; seed++) {
    first_tickets(seed, again);
    others += memcmp(one, again, sizeof one) != 0;
  }
  assert_true(others >= 9);
}

static void test_a_reset_starts_the_random_order_again(void **state) {
  (void)state;
  open_policy(8, 2, PTO_POLICY_RANDOM, 5);
  uint32_t first[8];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 8; i++) push(PTO_SHAPE_AIC, 1, 0);
    dispatch();
    for (uint32_t i = 0; i < 8; i++) {
      if (round == 0)
        first[i] = sent[i].ticket % WINDOW;
      else
        assert_int_equal(sent[sent_count - 8 + i].ticket % WINDOW, first[i] + 8);
      complete(sent_count - 8 + i);
    }
    pto_scheduler_reset(&scheduler);
    assert_int_equal(scheduler.dispatched, 0);
  }
  close_all();
}

static void test_in_virtual_time_a_message_says_when_its_task_became_ready(void **state) {
  (void)state;
  for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
    open_fifo(1, 1);
    port.is_virtual = is_virtual;
    port.clock = 5;
    push(PTO_SHAPE_AIC, 1, 0);
    port.clock = 9;
    dispatch();
    assert_int_equal(sent_count, 1);
    assert_int_equal(last_ready_at, is_virtual ? 5 : 0);
    close_all();
  }
}

static void test_a_random_order_draws_the_first_task_too(void **state) {
  (void)state;
  uint32_t others = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    open_policy(1, 1, PTO_POLICY_RANDOM, seed);
    const uint32_t first = push(PTO_SHAPE_AIC, 1, 0);
    for (int i = 0; i < 7; i++) push(PTO_SHAPE_AIC, 1, 0);
    dispatch();
    assert_int_equal(sent_count, 1);
    others += sent[0].ticket != first;
    close_all();
  }
  assert_true(others > 10);
}

static void test_what_is_abandoned_is_not_sent_and_cores_drain(void **state) {
  (void)state;
  open_fifo(1, 1);
  push(PTO_SHAPE_AIV, 1, 0);
  dispatch();
  push(PTO_SHAPE_AIV, 2, PTO_TASK_SYNC_START);
  push(PTO_SHAPE_AIC, 3, 0);
  dispatch();
  uint32_t before = sent_count;
  pto_scheduler_abandon(&scheduler);
  for (uint32_t i = 0; i < before; i++) pto_core_tracker_pop(&scheduler.cores, sent[i].core);
  dispatch();
  assert_int_equal(sent_count, before);
  assert_int_equal(scheduler.ready_count, 0);
  assert_int_equal(scheduler.cores.in_flight, 0);
  assert_int_equal(scheduler.cores.claim_count, 0);
  close_all();
}

/* ---- random work ---- */

/* The messages [from, sent_count) of one dispatch. */
static void check_sent(uint32_t from) {
  for (uint32_t i = from; i < sent_count; i++) {
    const struct pto_message *m = &sent[i];
    const struct pto_task_slot *slot = &rings.slots[m->ticket];
    assert_true(m->block_index < slot->block_count);
    assert_non_null(slot->payload->kernels[m->role]);
    assert_ptr_equal(m->payload, slot->payload);
    assert_int_equal(m->role == 0, m->core % PTO_LANES == 0);
    assert_true(scheduler.cores.load[m->core] <= port.slots_per_core);
    if (i > from && sent[i - 1].ticket == m->ticket && sent[i - 1].block_index == m->block_index)
      assert_int_equal(cluster_of(i - 1), cluster_of(i));
    if (slot->flags & PTO_TASK_SYNC_START) {
      assert_int_equal(slot->blocks_left, 0);                                                      /* all or none */
      if (slot->block_count > 1 || slot->shape > PTO_SHAPE_AIV) assert_int_equal(load_then[i], 1); /* it was idle */
      assert_true(m->flags & PTO_MESSAGE_TOGETHER);
    }
  }
}

/* No single-core task that is ready could be sent: every core of its kind is full, or claimed. */
static void check_nothing_idles(void) {
  for (uint32_t shape = PTO_SHAPE_AIC; shape <= PTO_SHAPE_AIV; shape++) {
    if (!pto_ready_queue_count(&scheduler.queues[shape])) continue;
    assert_int_equal(pto_core_tracker_pick(&scheduler.cores, shape == PTO_SHAPE_AIC, false, false), UINT32_MAX);
  }
}

static void push_random(struct pto_rng *rng) {
  enum pto_shape shape = (enum pto_shape)pto_rng_below(rng, PTO_SHAPE_COUNT);
  uint32_t most = shape == PTO_SHAPE_AIV ? 2 * port.cluster_count : port.cluster_count;
  uint32_t kind = (uint32_t)pto_rng_below(rng, 8);
  if (kind == 0)
    push(shape, 1 + (uint32_t)pto_rng_below(rng, most), PTO_TASK_SYNC_START);
  else if (kind == 1)
    push(shape, 1 + (uint32_t)pto_rng_below(rng, 4), PTO_TASK_SEQUENTIAL_BLOCKS);
  else
    push(shape, kind == 2 ? 1 + (uint32_t)pto_rng_below(rng, 2 * most) : 1, 0);
}

static void complete_random(struct pto_rng *rng) {
  uint32_t skip = (uint32_t)pto_rng_below(rng, sent_count - done_count);
  for (uint32_t i = 0; i < sent_count; i++)
    if (!is_done[i] && skip-- == 0) {
      complete(i);
      return;
    }
}

static void test_random_work_is_sent_whole_to_the_right_cores_and_comes_to_its_end(void **state) {
  (void)state;
  static const uint32_t clusters[] = {1, 2, 3, 8, MAX_CLUSTERS};
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct pto_rng rng = {seed};
    uint64_t messages = 0;
    open_policy(clusters[seed % PTO_ARRAY_LENGTH(clusters)], 1 + (uint32_t)pto_rng_below(&rng, 3),
                (enum pto_policy)(seed % 3), seed);
    for (uint32_t left = 150; left || done_count < sent_count || scheduler.ready_count;) {
      if (left && !pto_task_ring_is_full(&rings.rings[0]) && pto_rng_below(&rng, 2)) {
        push_random(&rng);
        const struct pto_task_slot *slot = &rings.slots[pto_task_slot_index(&rings, 0, rings.rings[0].head - 1)];
        messages += slot->messages_left;
        left--;
      } else if (done_count < sent_count) {
        complete_random(&rng);
      }
      uint32_t from = sent_count;
      dispatch();
      check_sent(from);
      check_nothing_idles();
      assert_int_equal(scheduler.cores.in_flight, sent_count - done_count);
      /* What is ready and cannot be sent waits for something that runs. */
      if (scheduler.ready_count) assert_true(sent_count > done_count);
    }
    assert_int_equal(sent_count, messages);
    assert_int_equal(scheduler.dispatched, messages);
    assert_int_equal(rings.rings[0].head, rings.rings[0].tail);
    close_all();
  }
}

/* ---- the rest ---- */

static void test_a_single_kernel_is_taken_at_once_only_where_nothing_waits_before_it(void **state) {
  (void)state;
  open_fifo(1, 1);
  const struct pto_task_slot *single = &rings.slots[make_task(PTO_SHAPE_AIV, 1, 0)];
  static const uint32_t others[] = {PTO_TASK_NO_KERNEL, PTO_TASK_HAS_PREDICATE};
  assert_true(pto_scheduler_takes_single(&scheduler, single));
  assert_false(pto_scheduler_takes_single(&scheduler, &rings.slots[make_task(PTO_SHAPE_AIV, 2, 0)]));
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(others); i++)
    assert_false(pto_scheduler_takes_single(&scheduler, &rings.slots[make_task(PTO_SHAPE_AIV, 1, others[i])]));
  push(PTO_SHAPE_AIC, 1, 0);
  assert_false(pto_scheduler_takes_single(&scheduler, single));
  dispatch();
  assert_true(pto_scheduler_takes_single(&scheduler, single));
  close_all();
}

static void test_where_kernels_are_skipped_only_those_that_tell_other_ranks_are_called_and_wait(void **state) {
  (void)state;
  static const struct pto_kernel remote = {
      .name = "remote", .cores = PTO_AIC | PTO_AIV, .flags = PTO_KERNEL_REMOTE, .run = run_nothing};
  for (uint32_t remotes = 0; remotes < 8; remotes++)
    for (int skips = 0; skips < 2; skips++) {
      open_fifo(1, 1);
      port.skips_kernels = skips;
      const uint32_t slot = make_task(PTO_SHAPE_MIX_X2, 1, PTO_TASK_WAITS);
      for (uint32_t role = 0; role < 3; role++)
        if (remotes & (1u << role)) payloads[slot].kernels[role] = &remote;
      pto_scheduler_enqueue(&scheduler, slot);
      dispatch();
      assert_int_equal(sent_count, 3);
      for (uint32_t i = 0; i < 3; i++) assert_int_equal(!(sent[i].flags & PTO_MESSAGE_WAITS), skips && remotes != 7);
      close_all();
    }
}

static void test_policies_are_read_with_their_seed_and_nothing_else_is(void **state) {
  (void)state;
  enum pto_policy policy;
  uint64_t seed;
  seed = 7;
  assert_true(pto_policy_parse("fifo", &policy, &seed) && policy == PTO_POLICY_FIFO && seed == 0);
  seed = 7;
  assert_true(pto_policy_parse("lifo", &policy, &seed) && policy == PTO_POLICY_LIFO && seed == 0);
  assert_true(pto_policy_parse("random:18446744073709551615", &policy, &seed) && policy == PTO_POLICY_RANDOM);
  assert_int_equal(seed, UINT64_MAX);
  static const char *const wrong[] = {"",         "FIFO",      "fifo ",      "random",
                                      "random:",  "random:-1", "random: 1",  "random:1x",
                                      "random:x", "rand:1",    "random:+17", "random:18446744073709551616"};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wrong); i++) assert_false(pto_policy_parse(wrong[i], &policy, &seed));
  uint32_t count = 0;
  while (pto_policy_syntax_at(count)) count++;
  assert_int_equal(count, 3);
}

static void test_each_refused_reservation_is_reported_and_leaves_nothing(void **state) {
  (void)state;
  open_fifo(24, 2);
  pto_scheduler_fini(&scheduler);
  uint32_t failures = 0;
  for (uint32_t n = 1;; n++, failures++) {
    pto_reserve_fail_countdown = n;
    bool is_made = pto_scheduler_init(&scheduler, &port, &rings, PTO_POLICY_FIFO, 0);
    pto_reserve_fail_countdown = 0;
    pto_scheduler_fini(&scheduler);
    assert_null(scheduler.memory.addr);
    assert_null(scheduler.cores.memory.addr);
    if (is_made) break;
  }
  assert_int_equal(failures, 2);
  pto_task_rings_fini(&rings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_shape_goes_to_the_cores_it_needs_in_one_cluster),
      cmocka_unit_test(test_a_lone_kernel_in_the_second_AIV_place_keeps_its_role),
      cmocka_unit_test(test_cores_never_get_more_than_their_slots_and_the_rest_waits),
      cmocka_unit_test(test_a_full_kind_of_core_does_not_hold_up_the_other),
      cmocka_unit_test(test_blocks_beyond_the_cores_follow_as_cores_come_free_each_once_in_order),
      cmocka_unit_test(test_sequential_blocks_run_one_after_the_other),
      cmocka_unit_test(test_fifo_sends_in_the_order_of_becoming_ready_across_shapes),
      cmocka_unit_test(test_lifo_sends_what_became_ready_last),
      cmocka_unit_test(test_a_random_order_is_that_of_its_seed),
      cmocka_unit_test(test_a_reset_starts_the_random_order_again),
      cmocka_unit_test(test_in_virtual_time_a_message_says_when_its_task_became_ready),
      cmocka_unit_test(test_a_random_order_draws_the_first_task_too),
      cmocka_unit_test(test_what_is_abandoned_is_not_sent_and_cores_drain),
      cmocka_unit_test(test_random_work_is_sent_whole_to_the_right_cores_and_comes_to_its_end),
      cmocka_unit_test(test_a_single_kernel_is_taken_at_once_only_where_nothing_waits_before_it),
      cmocka_unit_test(test_where_kernels_are_skipped_only_those_that_tell_other_ranks_are_called_and_wait),
      cmocka_unit_test(test_policies_are_read_with_their_seed_and_nothing_else_is),
      cmocka_unit_test(test_each_refused_reservation_is_reported_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
