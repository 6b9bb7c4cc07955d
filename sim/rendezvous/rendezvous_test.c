/* SPDX-License-Identifier: MIT */
/*
 * Rendezvous by themselves: who is told what, who is woken and when, what is kept and what is let go.  The cores are
 * played by hand; wakes are collected.
 */
#include <sim/rendezvous/rendezvous.h>

#include <runtime/base/sanitizer.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLUSTERS 3u
#define SLOTS 2u

static int never_run(const struct pto_kernel_args *args) {
  (void)args;
  return 0;
}
static const struct pto_kernel waits = {
    .name = "waits", .cores = PTO_AIC | PTO_AIV, .flags = PTO_KERNEL_WAITS, .run = never_run};
static const struct pto_kernel plain = {.name = "plain", .cores = PTO_AIC | PTO_AIV, .run = never_run};
static const struct pto_kernel turns = {
    .name = "turns", .cores = PTO_AIC | PTO_AIV, .flags = PTO_KERNEL_TURNS, .run = never_run};

static struct pto_rendezvous_table table;
static uint32_t woken[64], woken_count;

static void wake(void *context, uint32_t core) {
  assert_ptr_equal(context, &table);
  assert_true(woken_count < 64);
  woken[woken_count++] = core;
}

static void ignore_wake(void *context, uint32_t core) {
  (void)context;
  (void)core;
}

static int set_up(void **state) {
  (void)state;
  woken_count = 0;
  return pto_rendezvous_init(&table, CLUSTERS, SLOTS, wake, &table) ? 0 : -1;
}
static int tear_down(void **state) {
  (void)state;
  const uint32_t live = table.live_count;
  pto_rendezvous_fini(&table);
  return live == 0 ? 0 : -1; /* every test lets its cores return */
}

/* The questions, by name. */
static enum pto_rendezvous_answer ask_any(struct pto_rendezvous_table *all, struct pto_rendezvous_member member,
                                          enum pto_waits_for what, uint32_t subject, uint64_t size_bytes,
                                          uint64_t *size_found) {
  struct pto_rendezvous_question question = {.what = what, .subject = subject, .size_bytes = size_bytes};
  const enum pto_rendezvous_answer answer = pto_rendezvous_ask(all, member, &question);
  if (size_found) *size_found = question.size_found;
  return answer;
}
#define ask_flag(all, member, flag) ask_any(all, member, PTO_WAITS_FOR_FLAG, flag, 0, NULL)
#define ask_room(all, member, to, bytes) ask_any(all, member, PTO_WAITS_FOR_ROOM, to, bytes, NULL)
#define ask_element(all, member, from, bytes, found) ask_any(all, member, PTO_WAITS_FOR_ELEMENT, from, bytes, found)
#define ask_barrier(all, member) ask_any(all, member, PTO_WAITS_FOR_BARRIER, 0, 0, NULL)
#define ask_turn(all, member) ask_any(all, member, PTO_WAITS_FOR_TURN, 0, 0, NULL)

/* A task of up to three kernels. */
static struct pto_payload *task_of(const struct pto_kernel *aic, const struct pto_kernel *aiv0,
                                   const struct pto_kernel *aiv1) {
  static struct pto_payload payloads[8];
  static uint32_t next;
  struct pto_payload *payload = &payloads[next++ % 8];
  *payload = (struct pto_payload){.task_number = 7, .block_count = 1, .kernels = {aic, aiv0, aiv1}};
  return payload;
}

static struct pto_rendezvous_member sit(const struct pto_payload *payload, uint32_t cluster, uint32_t role,
                                        uint32_t block, uint8_t flags) {
  const struct pto_message message = {
      .payload = payload,
      .block_index = block,
      .core = (uint16_t)(3 * cluster + role),
      .role = (uint8_t)role,
      .flags = (uint8_t)(flags | PTO_MESSAGE_WAITS | (payload->block_count > 1 ? PTO_MESSAGE_BLOCKS : 0))};
  return (struct pto_rendezvous_member){pto_rendezvous_join(&table, &message), role};
}

static struct pto_rendezvous_member begin(const struct pto_payload *payload, uint32_t cluster, uint32_t role,
                                          uint32_t block, uint8_t flags) {
  const struct pto_rendezvous_member member = sit(payload, cluster, role, block, flags);
  pto_rendezvous_begin(&table, member);
  return member;
}

static void leave(struct pto_rendezvous_member member) { pto_rendezvous_return(&table, member, false); }

static void test_a_signal_is_counted_and_wakes_only_who_waits_at_that_flag(void **state) {
  (void)state;
  const struct pto_payload *task = task_of(&waits, &waits, NULL);
  const struct pto_rendezvous_member a = begin(task, 1, 0, 0, 0), b = begin(task, 1, 1, 0, 0);
  assert_int_equal(a.rendezvous, b.rendezvous);
  pto_rendezvous_signal(&table, a, 0, PTO_ROLE_BIT(PTO_ROLE_AIV0), 3);
  pto_rendezvous_signal(&table, a, 0, PTO_ROLE_BIT(PTO_ROLE_AIV0), 3);
  assert_int_equal(ask_flag(&table, b, 3), PTO_RENDEZVOUS_DONE);
  assert_int_equal(ask_flag(&table, b, 3), PTO_RENDEZVOUS_DONE);
  assert_int_equal(ask_flag(&table, b, 3), PTO_RENDEZVOUS_WAIT);
  pto_rendezvous_signal(&table, a, 0, PTO_ROLE_BIT(PTO_ROLE_AIV0), 4);
  assert_int_equal(woken_count, 0);
  pto_rendezvous_signal(&table, a, 0, PTO_ROLE_BIT(PTO_ROLE_AIV0) | PTO_ROLE_BIT(PTO_ROLE_AIC), 3);
  pto_rendezvous_signal(&table, a, 0, PTO_ROLE_BIT(PTO_ROLE_AIV0), 3); /* woken already */
  assert_int_equal(woken_count, 1);
  assert_int_equal(woken[0], 4);
  assert_int_equal(ask_flag(&table, b, 3), PTO_RENDEZVOUS_DONE);
  assert_int_equal(ask_flag(&table, b, 3), PTO_RENDEZVOUS_DONE);
  assert_int_equal(ask_flag(&table, a, 3), PTO_RENDEZVOUS_DONE);
  leave(a);
  leave(b);
}

static void test_two_blocks_on_one_cluster_have_a_rendezvous_each(void **state) {
  (void)state;
  const struct pto_payload *first = task_of(&waits, &waits, NULL), *second = task_of(&waits, &waits, NULL);
  const struct pto_rendezvous_member a = begin(first, 0, 0, 0, 0), b = sit(first, 0, 1, 0, 0);
  const struct pto_rendezvous_member c = sit(second, 0, 0, 0, 0), d = sit(second, 0, 1, 0, 0);
  assert_int_not_equal(a.rendezvous, c.rendezvous);
  pto_rendezvous_signal(&table, a, 0, PTO_ROLE_BIT(PTO_ROLE_AIV0), 0); /* before b has begun */
  leave(a);
  pto_rendezvous_begin(&table, c);
  pto_rendezvous_begin(&table, b);
  assert_int_equal(ask_flag(&table, b, 0), PTO_RENDEZVOUS_DONE); /* after a has returned */
  leave(b);
  pto_rendezvous_begin(&table, d);
  assert_int_equal(ask_flag(&table, d, 0), PTO_RENDEZVOUS_WAIT); /* it was not meant */
  pto_rendezvous_signal(&table, c, 0, PTO_ROLE_BIT(PTO_ROLE_AIV0), 0);
  assert_int_equal(ask_flag(&table, d, 0), PTO_RENDEZVOUS_DONE);
  leave(c);
  leave(d);
}

static void test_a_rendezvous_is_over_when_all_its_roles_have_returned_and_starts_anew(void **state) {
  (void)state;
  const struct pto_payload *task = task_of(&waits, &plain, NULL);
  for (uint32_t round = 0; round < 100; round++) {
    const struct pto_rendezvous_member a = begin(task, 2, 0, round, 0), b = begin(task, 2, 1, round, 0);
    assert_int_equal(ask_flag(&table, a, 5), PTO_RENDEZVOUS_WAIT);
    pto_rendezvous_signal(&table, a, round, PTO_ROLE_BIT(PTO_ROLE_AIC), 5);
    assert_int_equal(ask_flag(&table, a, 5), PTO_RENDEZVOUS_DONE);
    pto_rendezvous_signal(&table, b, round, PTO_ROLE_BIT(PTO_ROLE_AIC), 5); /* left over */
    leave(a);
    assert_int_equal(table.live_count, 1);
    leave(b);
    assert_int_equal(table.live_count, 0);
    woken_count = 0;
  }
}

static void test_a_barrier_counts_the_cores_that_wait_in_all_blocks_that_start_together(void **state) {
  (void)state;
  struct pto_payload *task = task_of(&waits, &plain, &waits);
  struct pto_rendezvous_member places[3][3];
  task->block_count = 3;
  for (uint32_t block = 0; block < 3; block++)
    for (uint32_t role = 0; role < 3; role++)
      places[block][role] = begin(task, block, role, block, PTO_MESSAGE_TOGETHER);
  for (uint32_t round = 0; round < 3; round++) {
    woken_count = 0;
    for (uint32_t i = 0; i < 5; i++)
      assert_int_equal(ask_barrier(&table, places[i / 2][i % 2 * 2]), PTO_RENDEZVOUS_WAIT);
    assert_int_equal(woken_count, 0);
    assert_int_equal(ask_barrier(&table, places[2][2]), PTO_RENDEZVOUS_DONE);
    assert_int_equal(woken_count, 5);
    for (uint32_t i = 0; i < 5; i++)
      assert_int_equal(ask_barrier(&table, places[i / 2][i % 2 * 2]), PTO_RENDEZVOUS_DONE);
  }
  for (uint32_t block = 0; block < 3; block++)
    for (uint32_t role = 0; role < 3; role++) leave(places[block][role]);
}

static void test_who_was_through_a_barrier_is_through_though_its_leader_is_gone(void **state) {
  (void)state;
  struct pto_payload *task = task_of(NULL, &waits, NULL);
  task->block_count = 2;
  const struct pto_rendezvous_member leader = begin(task, 0, 1, 0, PTO_MESSAGE_TOGETHER);
  const struct pto_rendezvous_member other = begin(task, 1, 1, 1, PTO_MESSAGE_TOGETHER);
  assert_int_equal(ask_barrier(&table, other), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_barrier(&table, leader), PTO_RENDEZVOUS_DONE);
  leave(leader);
  assert_int_equal(ask_barrier(&table, other), PTO_RENDEZVOUS_DONE);
  assert_int_equal(ask_barrier(&table, other), PTO_RENDEZVOUS_WAIT); /* the next one never fills */
  static struct pto_core_waits found;
  pto_rendezvous_find_waits(&table, &found);
  assert_int_equal(found.count, 1);
  assert_int_equal(found.waits[0].barrier, 2);
  assert_int_equal(found.waits[0].expected, 0); /* who counts is gone */
  assert_true(found.waits[0].has_other);
  assert_int_equal(found.waits[0].other.block_index, 0);
  assert_int_equal(found.waits[0].other.core, 1);
  assert_int_equal(found.waits[0].other.state, PTO_SEAT_RETURNED);
  assert_int_equal(found.waits[0].other_barriers, 1);
  pto_rendezvous_break_deadlock(&table);
  assert_int_equal(ask_barrier(&table, other), PTO_RENDEZVOUS_BROKEN);
  leave(other);
}

static void test_blocks_that_need_not_start_together_have_barriers_of_their_own(void **state) {
  (void)state;
  static struct pto_core_waits found;
  struct pto_payload *task = task_of(&waits, &waits, NULL);
  struct pto_rendezvous_member places[2][2];
  task->block_count = 2;
  for (uint32_t block = 0; block < 2; block++)
    for (uint32_t role = 0; role < 2; role++) places[block][role] = begin(task, block, role, block, 0);
  assert_int_equal(ask_barrier(&table, places[1][0]), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_barrier(&table, places[1][0]), PTO_RENDEZVOUS_WAIT); /* it is there already */
  pto_rendezvous_find_waits(&table, &found);
  assert_int_equal(found.waits[0].arrived, 1);
  assert_int_equal(found.waits[0].other.block_index, 1); /* not block 0, which has not come either */
  assert_int_equal(found.waits[0].other.role, 1);
  assert_int_equal(ask_barrier(&table, places[0][0]), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_barrier(&table, places[0][1]), PTO_RENDEZVOUS_DONE);
  assert_int_equal(woken_count, 1);
  assert_int_equal(woken[0], 0);
  assert_int_equal(ask_barrier(&table, places[1][1]), PTO_RENDEZVOUS_DONE);
  assert_int_equal(woken[1], 3);
  for (uint32_t block = 0; block < 2; block++)
    for (uint32_t role = 0; role < 2; role++) leave(places[block][role]);
}

static void test_memory_of_a_block_is_of_one_size_and_may_not_be_had(void **state) {
  (void)state;
  const struct pto_payload *task = task_of(&waits, &waits, NULL);
  const struct pto_rendezvous_member a = begin(task, 0, 0, 0, 0), b = begin(task, 0, 1, 0, 0);
  uint8_t *memory = pto_rendezvous_shared(&table, a, 7, 64);
  assert_non_null(memory);
  for (uint32_t i = 0; i < 64; i++) assert_int_equal(memory[i], 0);
  assert_ptr_equal(pto_rendezvous_shared(&table, b, 7, 64), memory);
  assert_null(pto_rendezvous_shared(&table, b, 7, 128));
  assert_null(pto_rendezvous_shared(&table, b, 8, UINT64_MAX));
  if (!PTO_HAS_SANITIZER) assert_null(pto_rendezvous_shared(&table, b, 8, UINT64_C(1) << 61)); /* a mistake for one */
  assert_non_null(pto_rendezvous_shared(&table, b, 8, 64));
  leave(a);
  leave(b);
}

static void test_an_answer_of_another_rank_is_kept_for_who_asks_later(void **state) {
  (void)state;
  const struct pto_payload *task = task_of(&waits, NULL, NULL);
  const struct pto_rendezvous_member a = begin(task, 0, 0, 0, 0);
  pto_rendezvous_answer_peer(&table, a);
  assert_int_equal(woken_count, 0);
  assert_int_equal(ask_any(&table, a, PTO_WAITS_FOR_PEER, 0, 0, NULL), PTO_RENDEZVOUS_DONE);
  assert_int_equal(ask_any(&table, a, PTO_WAITS_FOR_PEER, 0, 0, NULL), PTO_RENDEZVOUS_WAIT);
  pto_rendezvous_answer_peer(&table, a);
  assert_int_equal(woken_count, 1);
  assert_int_equal(ask_any(&table, a, PTO_WAITS_FOR_PEER, 0, 0, NULL), PTO_RENDEZVOUS_DONE);
  assert_int_equal(ask_any(&table, a, PTO_WAITS_FOR_NOTHING, 0, 0, NULL), PTO_RENDEZVOUS_DONE);
  leave(a);
}

static void test_room_for_another_core_wakes_none(void **state) {
  (void)state;
  static uint8_t data[PTO_CORE_FIFO_BYTES - 8];
  const struct pto_payload *task = task_of(&waits, &waits, &waits);
  const struct pto_rendezvous_member from = begin(task, 0, 0, 0, 0), to = begin(task, 0, 1, 0, 0),
                                     other = begin(task, 0, 2, 0, 0);
  for (uint32_t role = 1; role < 3; role++) {
    assert_int_equal(ask_room(&table, from, role, sizeof data), PTO_RENDEZVOUS_DONE);
    pto_rendezvous_fifo_copy_in(&table.items[from.rendezvous].fifos[0][role], data, sizeof data);
    pto_rendezvous_publish(&table, from, role, sizeof data);
  }
  assert_int_equal(ask_room(&table, from, PTO_ROLE_AIV1, 1), PTO_RENDEZVOUS_WAIT);
  pto_rendezvous_release(&table, to, PTO_ROLE_AIC, sizeof data);
  assert_int_equal(woken_count, 0);
  pto_rendezvous_release(&table, other, PTO_ROLE_AIC, sizeof data);
  assert_int_equal(woken_count, 1);
  leave(from);
  leave(to);
  leave(other);
}

static void test_the_first_failure_of_a_task_is_its_reason(void **state) {
  (void)state;
  const struct pto_payload *task = task_of(&waits, &waits, &waits);
  const struct pto_rendezvous_member a = begin(task, 0, 0, 0, 0), b = begin(task, 0, 1, 0, 0),
                                     c = begin(task, 0, 2, 0, 0);
  assert_int_equal(ask_flag(&table, c, 0), PTO_RENDEZVOUS_WAIT);
  pto_rendezvous_break_deadlock(&table);
  pto_rendezvous_return(&table, a, true);
  pto_rendezvous_return(&table, b, true);
  assert_int_equal(table.items[c.rendezvous].broken, PTO_EDEADLOCK);
  leave(c);
}

static void test_turns_go_by_block_and_role_whatever_returns_first(void **state) {
  (void)state;
  struct pto_payload *task = task_of(&turns, &turns, NULL);
  struct pto_rendezvous_member places[2][2];
  task->block_count = 2;
  for (uint32_t block = 0; block < 2; block++)
    for (uint32_t role = 0; role < 2; role++) places[block][role] = begin(task, block, role, block, 0);
  assert_int_equal(ask_turn(&table, places[1][1]), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_turn(&table, places[0][1]), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_turn(&table, places[0][0]), PTO_RENDEZVOUS_DONE);
  assert_int_equal(ask_turn(&table, places[1][0]), PTO_RENDEZVOUS_WAIT);
  leave(places[0][0]);
  assert_int_equal(woken_count, 1);
  assert_int_equal(woken[0], 1); /* AIV0 of cluster 0 */
  assert_int_equal(ask_turn(&table, places[0][1]), PTO_RENDEZVOUS_DONE);
  leave(places[0][1]);
  assert_int_equal(woken[1], 3);
  assert_int_equal(ask_turn(&table, places[1][0]), PTO_RENDEZVOUS_DONE);
  leave(places[1][0]);
  assert_int_equal(woken[2], 4);
  assert_int_equal(ask_turn(&table, places[1][1]), PTO_RENDEZVOUS_DONE);
  leave(places[1][1]);
  assert_int_equal(woken_count, 3);
}

/* Elements of random sizes against a plain list, around the end of the ring many times. */
static void test_a_fifo_gives_back_what_was_put_in_in_order(void **state) {
  (void)state;
  enum { LARGEST = 9000, MOST = 1 << 16 };
  static uint32_t sizes[MOST];
  static uint8_t seeds[MOST];
  uint8_t data[LARGEST], out[LARGEST];
  struct pto_rng rng = {11};
  const struct pto_payload *task = task_of(&waits, NULL, &waits);
  const struct pto_rendezvous_member from = begin(task, 0, 0, 0, 0), to = begin(task, 0, 2, 0, 0);
  struct pto_rendezvous_fifo *fifo = &table.items[from.rendezvous].fifos[PTO_ROLE_AIC][PTO_ROLE_AIV1];
  uint32_t pushed = 0, popped = 0;
  uint64_t held = 0, size_found = 0;
  print_message("seed 11\n");
  while (popped < 4000) {
    const uint32_t size = 1 + (uint32_t)pto_rng_below(&rng, LARGEST);
    if (pto_rng_below(&rng, 2) == 0) {
      const bool has_room = held + size + 8 <= PTO_CORE_FIFO_BYTES;
      assert_int_equal(ask_room(&table, from, PTO_ROLE_AIV1, size),
                       has_room ? PTO_RENDEZVOUS_DONE : PTO_RENDEZVOUS_WAIT);
      table.items[from.rendezvous].seats[PTO_ROLE_AIC].waits_for = PTO_WAITS_FOR_NOTHING;
      if (!has_room) continue;
      seeds[pushed] = (uint8_t)pto_rng_below(&rng, 256);
      memset(data, seeds[pushed], size);
      data[0] = (uint8_t)pushed;
      pto_rendezvous_fifo_copy_in(fifo, data, size);
      pto_rendezvous_publish(&table, from, PTO_ROLE_AIV1, size);
      sizes[pushed++] = size;
      held += size + 8;
    } else if (popped < pushed) {
      const uint32_t wanted = sizes[popped];
      assert_int_equal(ask_element(&table, to, PTO_ROLE_AIC, wanted + 1, &size_found), PTO_RENDEZVOUS_MISTAKE);
      assert_int_equal(size_found, wanted);
      assert_int_equal(ask_element(&table, to, PTO_ROLE_AIC, wanted, &size_found), PTO_RENDEZVOUS_DONE);
      pto_rendezvous_fifo_copy_out(fifo, out, wanted);
      pto_rendezvous_release(&table, to, PTO_ROLE_AIC, wanted);
      assert_int_equal(out[0], (uint8_t)popped);
      for (uint32_t i = 1; i < wanted; i++) assert_int_equal(out[i], seeds[popped]);
      held -= wanted + 8;
      popped++;
    }
  }
  woken_count = 0;
  leave(from);
  leave(to);
}

static void test_room_and_elements_wake_the_other_end(void **state) {
  (void)state;
  static uint8_t data[PTO_CORE_FIFO_BYTES - 8];
  const struct pto_payload *task = task_of(&waits, &waits, NULL);
  const struct pto_rendezvous_member from = begin(task, 0, 0, 0, 0), to = begin(task, 0, 1, 0, 0);
  struct pto_rendezvous_fifo *fifo = &table.items[from.rendezvous].fifos[PTO_ROLE_AIC][PTO_ROLE_AIV0];
  uint64_t size_found = 0;
  assert_int_equal(ask_element(&table, to, PTO_ROLE_AIC, sizeof data, &size_found), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_room(&table, from, PTO_ROLE_AIV0, sizeof data), PTO_RENDEZVOUS_DONE);
  pto_rendezvous_fifo_copy_in(fifo, data, sizeof data);
  pto_rendezvous_publish(&table, from, PTO_ROLE_AIV0, sizeof data);
  assert_int_equal(woken_count, 1);
  assert_int_equal(woken[0], 1);
  assert_int_equal(ask_room(&table, from, PTO_ROLE_AIV0, 1), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_element(&table, to, PTO_ROLE_AIC, sizeof data, &size_found), PTO_RENDEZVOUS_DONE);
  pto_rendezvous_release(&table, to, PTO_ROLE_AIC, sizeof data);
  assert_int_equal(woken_count, 2);
  assert_int_equal(woken[1], 0);
  leave(to);
  leave(from);
}

static void test_a_core_that_fails_breaks_every_rendezvous_of_its_task_and_no_other(void **state) {
  (void)state;
  struct pto_payload *task = task_of(&waits, &waits, NULL);
  const struct pto_payload *other = task_of(&waits, NULL, NULL);
  task->block_count = 2;
  const struct pto_rendezvous_member a = begin(task, 0, 0, 0, PTO_MESSAGE_TOGETHER);
  const struct pto_rendezvous_member b = begin(task, 0, 1, 0, PTO_MESSAGE_TOGETHER);
  const struct pto_rendezvous_member c = begin(task, 1, 0, 1, PTO_MESSAGE_TOGETHER);
  const struct pto_rendezvous_member d = sit(task, 1, 1, 1, PTO_MESSAGE_TOGETHER);
  const struct pto_rendezvous_member e = begin(other, 2, 0, 0, 0);
  assert_int_equal(ask_flag(&table, b, 0), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_barrier(&table, c), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_flag(&table, e, 0), PTO_RENDEZVOUS_WAIT);
  pto_rendezvous_return(&table, a, true);
  assert_int_equal(woken_count, 2);
  assert_int_equal(ask_flag(&table, b, 0), PTO_RENDEZVOUS_BROKEN);
  assert_int_equal(ask_barrier(&table, c), PTO_RENDEZVOUS_BROKEN);
  assert_int_equal(table.items[c.rendezvous].broken, PTO_EKERNEL);
  pto_rendezvous_begin(&table, d);
  assert_int_equal(ask_flag(&table, d, 0), PTO_RENDEZVOUS_BROKEN);
  assert_int_equal(table.items[e.rendezvous].broken, PTO_OK);
  pto_rendezvous_signal(&table, e, 0, PTO_ROLE_BIT(PTO_ROLE_AIC), 0);
  leave(b);
  leave(c);
  leave(d);
  leave(e);
}

static void test_a_deadlock_is_described_core_by_core_and_broken(void **state) {
  (void)state;
  char text[2048], small[350];
  static struct pto_core_waits found;
  const struct pto_payload *task = task_of(&waits, &waits, &waits);
  const struct pto_rendezvous_member a = begin(task, 1, 0, 0, 0), b = begin(task, 1, 1, 0, 0),
                                     c = begin(task, 1, 2, 0, 0);
  uint64_t size_found;
  assert_int_equal(ask_flag(&table, a, 9), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_element(&table, b, PTO_ROLE_AIV1, 4, &size_found), PTO_RENDEZVOUS_WAIT);
  leave(c);
  pto_rendezvous_find_waits(&table, &found);
  assert_int_equal(found.count, 2);
  assert_int_equal(found.waits[1].other.core, 5);
  assert_int_equal(found.waits[1].other.state, PTO_SEAT_RETURNED);
  pto_core_waits_describe(&found, NULL, NULL, text, sizeof text);
  assert_string_equal(text,
                      "cores wait for ever: task 7 (waits) block 0 AIC on core 3 waits for a signal at flag 9; task "
                      "7 (waits) block 0 AIV0 on core 4 waits for an element from AIV1 on core 5, which has "
                      "returned");
  pto_core_waits_describe(&found, NULL, NULL, small, sizeof small);
  assert_true(strlen(small) < sizeof small && strstr(small, "; and 1 more") != NULL);
  pto_rendezvous_break_deadlock(&table);
  assert_int_equal(woken_count, 2);
  assert_int_equal(ask_flag(&table, a, 9), PTO_RENDEZVOUS_BROKEN);
  assert_int_equal(table.items[a.rendezvous].broken, PTO_EDEADLOCK);
  leave(a);
  leave(b);
}

static void test_a_wait_says_what_lies_there_instead(void **state) {
  (void)state;
  char text[512];
  static struct pto_core_waits found;
  const uint8_t data[4] = {0};
  const struct pto_payload *task = task_of(&waits, &waits, &waits);
  const struct pto_rendezvous_member a = begin(task, 0, 0, 0, 0), b = begin(task, 0, 1, 0, 0),
                                     c = begin(task, 0, 2, 0, 0);
  uint64_t size_found;
  pto_rendezvous_signal(&table, b, 0, PTO_ROLE_BIT(PTO_ROLE_AIC), 7);
  assert_int_equal(ask_room(&table, a, PTO_ROLE_AIV0, sizeof data), PTO_RENDEZVOUS_DONE);
  pto_rendezvous_fifo_copy_in(&table.items[a.rendezvous].fifos[PTO_ROLE_AIC][PTO_ROLE_AIV0], data, sizeof data);
  pto_rendezvous_publish(&table, a, PTO_ROLE_AIV0, sizeof data);
  assert_int_equal(ask_flag(&table, a, 9), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_element(&table, b, PTO_ROLE_AIV1, sizeof data, &size_found), PTO_RENDEZVOUS_WAIT);
  assert_int_equal(ask_flag(&table, c, 7), PTO_RENDEZVOUS_WAIT); /* that at flag 7 is for another core */
  pto_rendezvous_find_waits(&table, &found);
  assert_int_equal(found.count, 3);
  pto_core_wait_describe(&found.waits[0], text, sizeof text);
  assert_non_null(strstr(text, " waits for a signal at flag 9 (one lies at its flag 7)"));
  pto_core_wait_describe(&found.waits[1], text, sizeof text);
  assert_non_null(strstr(text, " waits for an element from AIV1 on core 2, which waits (one from AIC lies there)"));
  assert_false(found.waits[2].has_lying);
  pto_rendezvous_break_deadlock(&table);
  leave(a);
  leave(b);
  leave(c);
}

static void test_of_more_waits_than_the_picture_holds_the_rest_is_counted(void **state) {
  (void)state;
  enum { BLOCKS = PTO_CORE_WAITS_MAX / 3 + 8 };
  static struct pto_rendezvous_table wide;
  static struct pto_core_waits found;
  static struct pto_payload task;
  static struct pto_rendezvous_member members[BLOCKS][3];
  char text[16384];
  const uint32_t more = 3 * BLOCKS - PTO_CORE_WAITS_MAX;
  task = (struct pto_payload){.task_number = 7, .block_count = BLOCKS, .kernels = {&waits, &waits, &waits}};
  assert_true(pto_rendezvous_init(&wide, BLOCKS, 1, ignore_wake, NULL));
  for (uint32_t block = 0; block < BLOCKS; block++)
    for (uint32_t role = 0; role < 3; role++) {
      const struct pto_message message = {.payload = &task,
                                          .block_index = block,
                                          .core = (uint16_t)(3 * block + role),
                                          .role = (uint8_t)role,
                                          .flags = PTO_MESSAGE_WAITS | PTO_MESSAGE_BLOCKS};
      members[block][role] = (struct pto_rendezvous_member){pto_rendezvous_join(&wide, &message), role};
      pto_rendezvous_begin(&wide, members[block][role]);
      assert_int_equal(ask_flag(&wide, members[block][role], 1), PTO_RENDEZVOUS_WAIT);
    }
  pto_rendezvous_find_waits(&wide, &found);
  assert_int_equal(found.count, PTO_CORE_WAITS_MAX);
  assert_int_equal(found.more, more);
  for (uint32_t i = 0; i < found.count; i++) assert_int_equal(found.waits[i].waits_for, PTO_WAITS_FOR_FLAG);
  pto_core_waits_describe(&found, NULL, NULL, text, sizeof text);
  char end[32];
  snprintf(end, sizeof end, "; and %" PRIu32 " more", more);
  assert_string_equal(text + strlen(text) - strlen(end), end);
  pto_rendezvous_break_deadlock(&wide);
  for (uint32_t block = 0; block < BLOCKS; block++)
    for (uint32_t role = 0; role < 3; role++) pto_rendezvous_return(&wide, members[block][role], false);
  pto_rendezvous_fini(&wide);
}

static void test_a_cluster_has_a_rendezvous_for_every_message_it_can_hold(void **state) {
  (void)state;
  struct pto_rendezvous_member places[3 * SLOTS][3];
  const struct pto_payload *tasks[3 * SLOTS];
  /* The worst case: each live rendezvous has one message that has not returned. */
  for (uint32_t i = 0; i < 3 * SLOTS; i++) {
    tasks[i] = task_of(&waits, &waits, &waits);
    for (uint32_t role = 0; role < 3; role++) places[i][role] = begin(tasks[i], 0, role, i, 0);
    for (uint32_t role = 0; role < 3; role++)
      if (role != i % 3) leave(places[i][role]);
  }
  assert_int_equal(table.live_count, 3 * SLOTS);
  for (uint32_t i = 0; i < 3 * SLOTS; i++) leave(places[i][i % 3]);
}

static void test_a_reset_forgets_everything(void **state) {
  (void)state;
  const struct pto_payload *task = task_of(&waits, NULL, NULL);
  const struct pto_rendezvous_member a = begin(task, 0, 0, 0, 0);
  pto_rendezvous_signal(&table, a, 0, PTO_ROLE_BIT(PTO_ROLE_AIC), 1);
  pto_rendezvous_reset(&table);
  assert_int_equal(table.live_count, 0);
  const struct pto_rendezvous_member b = begin(task, 0, 0, 0, 0);
  assert_int_equal(ask_flag(&table, b, 1), PTO_RENDEZVOUS_WAIT);
  pto_rendezvous_reset(&table);
}

static bool tests_for(struct pto_rendezvous_member member, uint32_t comm, uint32_t signal, int32_t value) {
  return pto_rendezvous_test(
      &table, member, &(struct pto_peer_wait){.call = PTO_PEER_TEST, .comm = comm, .signal = signal, .value = value});
}

static bool tests(struct pto_rendezvous_member member, uint32_t comm, uint32_t signal) {
  return tests_for(member, comm, signal, 1);
}

/* Of one that has tested signal 99 before, and then tests so many in turn: how many tests until it is to wait. */
static uint32_t tests_until_it_waits(struct pto_rendezvous_member member, uint32_t in_turn) {
  uint32_t count = 0;
  assert_false(tests(member, 1, 99));
  while (!tests(member, count % in_turn % 2, count % in_turn / 2)) count++;
  return count;
}

static void test_who_tests_what_it_has_tested_is_to_wait_for_a_change(void **state) {
  (void)state;
  const struct pto_payload *task = task_of(&waits, &waits, NULL);
  const struct pto_rendezvous_member a = begin(task, 1, 0, 0, 0), b = begin(task, 1, 1, 0, 0);
  for (uint32_t in_turn = 1; in_turn <= 40; in_turn++) {
    const uint32_t count = tests_until_it_waits(a, in_turn);
    if (count < in_turn || count > 4 * in_turn + 4) fail_msg("%u of %u", count, in_turn);
    pto_rendezvous_change(&table);
  }
  /* What it does itself is no poll, nor is the first look after a change. */
  assert_false(tests(a, 0, 3));
  pto_rendezvous_signal(&table, b, 0, PTO_ROLE_BIT(PTO_ROLE_AIC), 3);
  assert_false(tests(a, 0, 3));
  assert_int_equal(ask_flag(&table, a, 3), PTO_RENDEZVOUS_DONE);
  assert_false(tests(a, 0, 3));
  assert_true(tests(a, 0, 3));
  assert_false(tests(b, 0, 3));        /* another core */
  assert_false(tests_for(b, 0, 3, 2)); /* another value */
  assert_true(tests_for(b, 0, 3, 2));
  leave(a);
  leave(b);
}

static void test_a_block_sent_after_one_before_it_failed_is_let_go_too(void **state) {
  (void)state;
  struct pto_payload *task = task_of(NULL, &turns, NULL);
  task->block_count = 3;
  const struct pto_rendezvous_member a = begin(task, 0, 1, 0, 0), b = begin(task, 1, 1, 1, 0);
  pto_rendezvous_return(&table, a, true);
  const struct pto_rendezvous_member c = begin(task, 2, 1, 2, 0);
  assert_int_equal(ask_turn(&table, b), PTO_RENDEZVOUS_BROKEN);
  leave(b);
  assert_int_equal(ask_turn(&table, c), PTO_RENDEZVOUS_BROKEN);
  leave(c);
}

int main(void) {
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      CASE(test_a_signal_is_counted_and_wakes_only_who_waits_at_that_flag),
      CASE(test_two_blocks_on_one_cluster_have_a_rendezvous_each),
      CASE(test_a_rendezvous_is_over_when_all_its_roles_have_returned_and_starts_anew),
      CASE(test_a_barrier_counts_the_cores_that_wait_in_all_blocks_that_start_together),
      CASE(test_who_was_through_a_barrier_is_through_though_its_leader_is_gone),
      CASE(test_blocks_that_need_not_start_together_have_barriers_of_their_own),
      CASE(test_memory_of_a_block_is_of_one_size_and_may_not_be_had),
      CASE(test_an_answer_of_another_rank_is_kept_for_who_asks_later),
      CASE(test_who_tests_what_it_has_tested_is_to_wait_for_a_change),
      CASE(test_room_for_another_core_wakes_none),
      CASE(test_the_first_failure_of_a_task_is_its_reason),
      CASE(test_turns_go_by_block_and_role_whatever_returns_first),
      CASE(test_a_fifo_gives_back_what_was_put_in_in_order),
      CASE(test_room_and_elements_wake_the_other_end),
      CASE(test_a_core_that_fails_breaks_every_rendezvous_of_its_task_and_no_other),
      CASE(test_a_deadlock_is_described_core_by_core_and_broken),
      CASE(test_a_wait_says_what_lies_there_instead),
      CASE(test_of_more_waits_than_the_picture_holds_the_rest_is_counted),
      CASE(test_a_cluster_has_a_rendezvous_for_every_message_it_can_hold),
      CASE(test_a_reset_forgets_everything),
      CASE(test_a_block_sent_after_one_before_it_failed_is_let_go_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
