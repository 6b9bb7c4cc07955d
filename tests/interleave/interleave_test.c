/* SPDX-License-Identifier: MIT */
/*
 * Every interleaving of small scenarios over the mailbox and the wait module, and the proof that the scenarios can
 * fail: each mutant (an order weakened, a bound shifted, a step left out) must be found by one of them.
 *
 * The modules are compiled into this file with their atomics taken over by tests/interleave.  A new scenario is an
 * entry in `scenarios`, a new mutant one in `mutants` and a PTO_MUTANT or PTO_ORDER in the module.
 */
#define PTO_INTERLEAVE 1
static int interleave_mutant;
#define PTO_MUTANT interleave_mutant

#include <tests/interleave/interleave.c>

#include <runtime/base/wait.c>
#include <sim/threads/mailbox.c>
#include <sim/threads/message_ring.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MAX_EXECUTIONS 3000000u

/* ---- what the scenarios share ---- */

static struct pto_mailbox there, back, other;
static uint32_t there_slots[4], back_slots[4], other_slots[4];
static struct pto_wait worker_wait, control_wait;
static _Atomic uint32_t is_stopping;
static uint32_t next_sent, next_taken;

/* Counters start just below the wrap. */
static void init_all(uint32_t capacity) {
  pto_mailbox_init(&there, there_slots, capacity, sizeof there_slots[0], UINT32_MAX - 1);
  pto_mailbox_init(&back, back_slots, capacity, sizeof back_slots[0], UINT32_MAX);
  pto_mailbox_init(&other, other_slots, capacity, sizeof other_slots[0], 0);
  pto_wait_init(&worker_wait, 0);
  pto_wait_init(&control_wait, 0);
  atomic_init(&is_stopping, 0);
  next_sent = next_taken = 1;
}
static void init_capacity_1(void) { init_all(1); }
static void init_capacity_2(void) { init_all(2); }

static bool send_to(struct pto_mailbox *mailbox, uint32_t value) {
  uint32_t *slot = pto_mailbox_claim(mailbox, sizeof *slot);
  if (!slot) return false;
  pto_atomic_note_write(slot);
  *slot = value;
  return true;
}
/* 0 where there is nothing. */
static uint32_t take_from(struct pto_mailbox *mailbox) {
  const uint32_t *slot = pto_mailbox_peek(mailbox, sizeof *slot);
  if (!slot) return 0;
  pto_atomic_note_read(slot);
  uint32_t value = *slot;
  pto_mailbox_pop(mailbox);
  return value;
}

/* ---- mailbox ---- */

static void try_send(uint32_t tries) {
  while (tries--)
    if (send_to(&there, next_sent)) {
      next_sent++;
      pto_mailbox_publish(&there);
    }
}
static void try_take(uint32_t tries) {
  while (tries--) {
    uint32_t value = take_from(&there);
    if (!value) continue;
    interleave_check(value == next_taken, "elements arrive out of order, twice, or not at all");
    next_taken++;
  }
}
static void send_3(void) { try_send(3); }
static void send_4(void) { try_send(4); }
static void take_3(void) { try_take(3); }
static void take_4(void) { try_take(4); }
static void send_batches_of_2(void) {
  for (uint32_t batch = 0; batch < 2; batch++) {
    for (uint32_t i = 0; i < 2; i++)
      if (send_to(&there, next_sent)) next_sent++;
    pto_mailbox_publish(&there);
  }
}
static void finish_mailbox(void) {
  interleave_check(pto_mailbox_is_valid(&there), "the mailbox is not valid");
  try_take(4);
  interleave_check(next_taken == next_sent, "an element was lost");
  interleave_check(pto_mailbox_is_valid(&there), "the emptied mailbox is not valid");
}

/* ---- message ring: messages 1, 2, … of one word, each taken once ---- */

static struct pto_message_ring ring;
static _Atomic uint32_t ring_words[2];
static uint32_t take_counts[8];

static void init_ring(void) {
  pto_message_ring_init(&ring, ring_words, 2, 1, UINT32_MAX);
  for (uint32_t i = 0; i < 2; i++) pto_atomic_init(&ring_words[i], 0);
  memset(take_counts, 0, sizeof take_counts);
  pto_wait_init(&worker_wait, 0);
  next_sent = 1;
}
static void push(uint32_t tries) {
  while (tries--) {
    if (pto_message_ring_has_many(&ring, 2)) continue;
    pto_message_ring_push(&ring, &next_sent);
    next_sent++;
    pto_message_ring_publish(&ring);
  }
}
static uint32_t take_ring(uint32_t max) {
  uint32_t messages[2];
  const uint32_t count = pto_message_ring_take(&ring, messages, max, 1);
  for (uint32_t i = 0; i < count; i++) {
    interleave_check(messages[i] > 0 && messages[i] < PTO_ARRAY_LENGTH(take_counts), "what was taken is no message");
    take_counts[messages[i]]++;
  }
  return count;
}
static void push_2(void) { push(2); }
static void push_4(void) { push(4); }
static void push_1_and_notify(void) {
  push(1);
  pto_wait_notify(&worker_wait);
}
static void take_1(void) { take_ring(1); }
static void take_2_twice(void) {
  take_ring(2);
  take_ring(2);
}
static void push_2_and_take(void) {
  push(2);
  take_ring(1);
  push(2);
}
static bool ring_is_ready(void *context) { return pto_message_ring_has_message(&ring); }
static void wait_for_ring(void) {
  while (!take_ring(1)) pto_wait_until(&worker_wait, ring_is_ready, NULL);
}
static void wait_for_ring_with_timeout(void) { /* which never comes: a wake-up that is lost is one */
  while (!take_ring(1)) pto_wait_for(&worker_wait, ring_is_ready, NULL, 1);
}
static void finish_ring(void) {
  while (take_ring(2)) {
  }
  interleave_check(pto_message_ring_is_empty(&ring), "the emptied ring is not empty");
  for (uint32_t i = 1; i < next_sent; i++) interleave_check(take_counts[i] == 1, "a message was lost, or taken twice");
}

/* ---- waiting ---- */

static bool there_is_ready(void *context) { return pto_mailbox_has_element(&there); }
static bool back_is_ready(void *context) { return pto_mailbox_has_element(&back); }
static bool any_is_ready(void *context) { return pto_mailbox_has_element(&back) || pto_mailbox_has_element(&other); }

static void publish_and_notify(struct pto_mailbox *mailbox, struct pto_wait *wait) {
  pto_mailbox_publish_to_sleeper(mailbox);
  pto_wait_notify(wait);
}
static void send_1_and_notify(void) {
  send_to(&there, next_sent++);
  publish_and_notify(&there, &worker_wait);
}
static void send_2_and_notify(void) {
  send_1_and_notify();
  send_1_and_notify();
}
static void wait_and_take(uint32_t count) {
  while (count) {
    uint32_t value = take_from(&there);
    if (!value) {
      pto_wait_until(&worker_wait, there_is_ready, NULL);
      continue;
    }
    interleave_check(value == next_taken++, "elements arrive out of order, twice, or not at all");
    count--;
  }
}
static void wait_for_1(void) { wait_and_take(1); }
static void wait_for_2(void) { wait_and_take(2); }

/* A round trip as the engine makes it: control sends and waits, the worker waits, runs and answers. */
static void control_round_trip(void) {
  send_1_and_notify();
  pto_wait_until(&control_wait, back_is_ready, NULL);
  interleave_check(take_from(&back) == 1, "the wrong answer came back");
}
static void worker_round_trip(void) {
  wait_and_take(1);
  send_to(&back, 1);
  publish_and_notify(&back, &control_wait);
}

/* Two workers complete, the control thread waits for both on one word. */
static void complete_on_back(void) {
  send_to(&back, 1);
  publish_and_notify(&back, &control_wait);
}
static void complete_on_other(void) {
  send_to(&other, 1);
  publish_and_notify(&other, &control_wait);
}
static void wait_for_both(void) {
  for (uint32_t got = 0; got < 2;) {
    pto_wait_until(&control_wait, any_is_ready, NULL);
    got += take_from(&back) + take_from(&other);
  }
}

/* The end of an engine: a worker that waits for messages is told that none will come. */
static bool there_or_stop(void *context) {
  return pto_mailbox_has_element(&there) || pto_atomic_load(&is_stopping, memory_order_seq_cst);
}
static void stop_worker(void) {
  pto_atomic_store(&is_stopping, 1, memory_order_seq_cst);
  pto_wait_notify(&worker_wait);
}
static void wait_for_stop(void) {
  pto_wait_until(&worker_wait, there_or_stop, NULL);
  interleave_check(pto_atomic_load(&is_stopping, memory_order_acquire) == 1, "woke without a reason");
}

/* The life of an engine: a message, its completion, and the end. */
static void control_life(void) {
  control_round_trip();
  stop_worker();
}
static void worker_life(void) {
  worker_round_trip();
  wait_for_stop();
}

static const struct interleave_scenario scenarios[] = {
    {"a ring of one slot", 2, init_capacity_1, {send_3, take_3}, finish_mailbox},
    {"a ring of two slots", 2, init_capacity_2, {send_4, take_4}, finish_mailbox},
    {"batches of two", 2, init_capacity_2, {send_batches_of_2, take_4}, finish_mailbox},
    {"a message to a sleeper", 2, init_capacity_2, {send_1_and_notify, wait_for_1}, NULL},
    {"two messages to a sleeper", 2, init_capacity_2, {send_2_and_notify, wait_for_2}, NULL},
    {"a round trip", 2, init_capacity_1, {control_round_trip, worker_round_trip}, NULL},
    {"two workers wake one control thread",
     3,
     init_capacity_1,
     {complete_on_back, complete_on_other, wait_for_both},
     NULL},
    {"a worker is stopped", 2, init_capacity_1, {stop_worker, wait_for_stop}, NULL},
    {"a ring and a taker", 2, init_ring, {push_4, take_2_twice}, finish_ring},
    {"a ring and two takers", 3, init_ring, {push_2, take_1, take_1}, finish_ring},
    {"a ring whose pusher takes", 2, init_ring, {push_2_and_take, take_2_twice}, finish_ring},
    {"a ring and a sleeper", 2, init_ring, {push_1_and_notify, wait_for_ring}, finish_ring},
    {"a ring and a sleeper with a timeout", 2, init_ring, {push_1_and_notify, wait_for_ring_with_timeout}, finish_ring},
    {"a worker's life", 2, init_capacity_1, {control_life, worker_life}, NULL},
};

static const struct {
  int number;
  const char *what;
} mutants[] = {
    {1, "claim believes its copy of head one element too long"},
    {2, "claim reads head relaxed"},
    {3, "claim overfills by one"},
    {4, "publish hands over one slot too many"},
    {5, "publish is relaxed"},
    {6, "peek reads tail relaxed"},
    {7, "peek shifts the empty test by one"},
    {8, "pop gives back one slot too many"},
    {9, "pop is relaxed"},
    {21, "notify reads the state with acquire only"},
    {22, "the sleeper announces itself relaxed"},
    {23, "the sleeper does not look once more"},
    {24, "the notifier wakes without taking the announcement back"},
    {25, "the notifier takes the announcement back and does not wake"},
    {26, "the publish to a sleeper is a release store only"},
    {27, "the sleeper's look reads tail with acquire only"},
    {28, "the sleeper with a timeout announces itself relaxed"},
    {29, "the sleeper with a timeout does not look once more"},
    {31, "the ring has room for one message too many"},
    {32, "the ring is published relaxed"},
    {33, "the ring is published to a sleeper by a release store only"},
    {34, "the look at the ring reads tail with acquire only"},
    {35, "take reads head relaxed"},
    {36, "take reads tail relaxed"},
    {37, "take keeps what another has taken"},
};

static void skip_under_thread_sanitizer(void) {
  if (INTERLEAVE_IS_BLIND) skip();
}

static void test_no_interleaving_of_any_scenario_fails(void **state) {
  skip_under_thread_sanitizer();
  interleave_mutant = 0;
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(scenarios); i++) {
    struct interleave_result result = interleave_explore(&scenarios[i], MAX_EXECUTIONS);
    print_message("%s: %llu executions%s\n", scenarios[i].name, (unsigned long long)result.executions,
                  result.failure ? " and a failure" : "");
    if (result.failure) {
      print_message("%s\n", result.failure);
      interleave_print_last();
    }
    assert_null(result.failure);
    assert_true(result.is_complete);
  }
}

static void test_every_mutant_is_found_by_some_scenario(void **state) {
  skip_under_thread_sanitizer();
  for (uint32_t m = 0; m < PTO_ARRAY_LENGTH(mutants); m++) {
    struct interleave_result result = {0};
    uint32_t i = 0;
    interleave_mutant = mutants[m].number;
    for (; i < PTO_ARRAY_LENGTH(scenarios) && !result.failure; i++)
      result = interleave_explore(&scenarios[i], MAX_EXECUTIONS);
    interleave_mutant = 0;
    print_message("mutant %d, %s: %s\n", mutants[m].number, mutants[m].what,
                  result.failure ? result.failure : "NOT FOUND");
    assert_non_null(result.failure);
  }
}

/* ---- the checker itself, against litmus tests whose answers are known ---- */

static _Atomic uint32_t x, y;
static uint32_t plain;
static uint32_t seen[2];
static memory_order store_order, load_order;
static bool outcomes[4];

static void init_litmus(void) {
  atomic_init(&x, 0);
  atomic_init(&y, 0);
  seen[0] = seen[1] = plain = 0;
}
static void store_buffering_0(void) {
  pto_atomic_store(&x, 1, store_order);
  seen[0] = pto_atomic_load(&y, load_order);
}
static void store_buffering_1(void) {
  pto_atomic_store(&y, 1, store_order);
  seen[1] = pto_atomic_load(&x, load_order);
}
static void message_passing_0(void) {
  pto_atomic_store(&x, 1, memory_order_relaxed);
  pto_atomic_store(&y, 1, store_order);
}
static void message_passing_1(void) {
  seen[0] = pto_atomic_load(&y, load_order);
  seen[1] = pto_atomic_load(&x, memory_order_relaxed);
}
static void write_plain(void) {
  pto_atomic_note_write(&plain);
  pto_atomic_store(&y, 1, store_order);
}
static void read_plain(void) {
  if (pto_atomic_load(&y, load_order)) pto_atomic_note_read(&plain);
}
static void note_outcome(void) { outcomes[2 * seen[0] + seen[1]] = true; }

static const char *litmus(void (*first)(void), void (*second)(void), memory_order store, memory_order load) {
  const struct interleave_scenario scenario = {"litmus", 2, init_litmus, {first, second}, note_outcome};
  store_order = store;
  load_order = load;
  memset(outcomes, 0, sizeof outcomes);
  return interleave_explore(&scenario, MAX_EXECUTIONS).failure;
}

static void test_store_buffering_is_seen_unless_all_four_are_seq_cst(void **state) {
  skip_under_thread_sanitizer();
  litmus(store_buffering_0, store_buffering_1, memory_order_release, memory_order_acquire);
  assert_true(outcomes[0] && outcomes[1] && outcomes[2] && outcomes[3]);
  litmus(store_buffering_0, store_buffering_1, memory_order_seq_cst, memory_order_acquire);
  assert_true(outcomes[0]);
  litmus(store_buffering_0, store_buffering_1, memory_order_release, memory_order_seq_cst);
  assert_true(outcomes[0]);
  litmus(store_buffering_0, store_buffering_1, memory_order_seq_cst, memory_order_seq_cst);
  assert_true(!outcomes[0] && outcomes[1] && outcomes[2] && outcomes[3]);
}

static void test_message_passing_holds_with_release_and_acquire_alone(void **state) {
  skip_under_thread_sanitizer();
  litmus(message_passing_0, message_passing_1, memory_order_release, memory_order_acquire);
  assert_true(outcomes[0] && outcomes[1] && !outcomes[2] && outcomes[3]);
  litmus(message_passing_0, message_passing_1, memory_order_relaxed, memory_order_acquire);
  assert_true(outcomes[2]);
  litmus(message_passing_0, message_passing_1, memory_order_release, memory_order_relaxed);
  assert_true(outcomes[2]);
}

static void test_a_plain_object_handed_over_without_release_and_acquire_is_a_race(void **state) {
  skip_under_thread_sanitizer();
  assert_null(litmus(write_plain, read_plain, memory_order_release, memory_order_acquire));
  assert_non_null(litmus(write_plain, read_plain, memory_order_relaxed, memory_order_acquire));
  assert_non_null(litmus(write_plain, read_plain, memory_order_release, memory_order_relaxed));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_store_buffering_is_seen_unless_all_four_are_seq_cst),
      cmocka_unit_test(test_message_passing_holds_with_release_and_acquire_alone),
      cmocka_unit_test(test_a_plain_object_handed_over_without_release_and_acquire_is_a_race),
      cmocka_unit_test(test_no_interleaving_of_any_scenario_fails),
      cmocka_unit_test(test_every_mutant_is_found_by_some_scenario),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
