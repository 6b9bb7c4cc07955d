/* SPDX-License-Identifier: MIT */
/* One thread against a model, then two threads under load; orders are the business of
 * tests/interleave/interleave_test.c. */
#include <sim/threads/mailbox.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/thread.h>
#include <runtime/base/wait.h>

#define STREAM 100000u

static struct pto_mailbox mailbox;
static uint64_t slots[1024];

static void init(uint32_t capacity, uint32_t start) {
  memset(slots, 0xee, sizeof slots);
  pto_mailbox_init(&mailbox, slots, capacity, sizeof slots[0], start);
}
static bool put(uint64_t value) {
  uint64_t *slot = pto_mailbox_claim(&mailbox, sizeof *slot);
  if (slot) *slot = value;
  return slot != NULL;
}
static bool has_unpublished(void) { return mailbox.written != pto_atomic_load(&mailbox.tail, memory_order_relaxed); }

static void test_a_new_mailbox_is_valid_and_empty(void **state) {
  for (uint32_t capacity = 1; capacity <= 1024; capacity *= 2) {
    init(capacity, UINT32_MAX);
    assert_true(pto_mailbox_is_valid(&mailbox));
    assert_null(pto_mailbox_peek(&mailbox, sizeof slots[0]));
    assert_false(pto_mailbox_has_element(&mailbox));
    assert_false(has_unpublished());
  }
}

static void test_what_is_not_published_is_not_seen(void **state) {
  init(8, 0);
  for (uint64_t i = 0; i < 3; i++) assert_true(put(i));
  assert_null(pto_mailbox_peek(&mailbox, sizeof slots[0]));
  assert_true(has_unpublished());
  pto_mailbox_publish(&mailbox);
  assert_false(has_unpublished());
  for (uint64_t i = 0; i < 3; i++) {
    assert_int_equal(*(const uint64_t *)pto_mailbox_peek(&mailbox, sizeof slots[0]), i);
    pto_mailbox_pop(&mailbox);
  }
  assert_null(pto_mailbox_peek(&mailbox, sizeof slots[0]));
  assert_true(pto_mailbox_is_taken(&mailbox));
}

static void test_a_full_mailbox_refuses_until_a_pop(void **state) {
  init(4, UINT32_MAX - 2);
  for (uint64_t i = 0; i < 4; i++) assert_true(put(i));
  assert_false(put(4));
  pto_mailbox_publish(&mailbox);
  assert_false(put(4)); /* published is not taken */
  pto_mailbox_peek(&mailbox, sizeof slots[0]);
  assert_false(put(4)); /* nor is it read */
  pto_mailbox_pop(&mailbox);
  assert_true(put(4));
  assert_false(put(5));
}

/* Random claims, publishes, peeks and pops against three counters, across the wrap of the mailbox's own. */
static void test_a_mailbox_is_a_queue_whatever_its_capacity_and_counters(void **state) {
  for (uint32_t capacity = 1; capacity <= 64; capacity *= 2) {
    struct pto_rng rng = {capacity};
    uint64_t written = 0, published = 0, taken = 0;
    init(capacity, UINT32_MAX - 1000);
    for (uint32_t step = 0; step < 20000; step++) {
      uint64_t what = pto_rng_below(&rng, 8);
      if (what < 4) {
        bool is_put = put(written);
        assert_int_equal(is_put, written - taken < capacity);
        written += is_put;
      } else if (what == 4) {
        pto_mailbox_publish(&mailbox);
        published = written;
      } else {
        const uint64_t *slot = pto_mailbox_peek(&mailbox, sizeof *slot);
        assert_int_equal(slot != NULL, taken < published);
        assert_int_equal(pto_mailbox_has_element(&mailbox), taken < published);
        if (slot) {
          assert_int_equal(*slot, taken);
          pto_mailbox_pop(&mailbox);
          taken++;
        }
      }
      assert_true(pto_mailbox_is_valid(&mailbox));
      assert_int_equal(has_unpublished(), written != published);
      assert_int_equal(pto_mailbox_is_taken(&mailbox), written == taken);
    }
  }
}

static void test_the_validity_function_sees_each_broken_invariant(void **state) {
  init(4, UINT32_MAX);
  for (uint64_t i = 0; i < 3; i++) put(i);
  pto_mailbox_publish(&mailbox);
  pto_mailbox_peek(&mailbox, sizeof slots[0]);
  pto_mailbox_pop(&mailbox);
  const struct pto_mailbox good = mailbox;
  assert_true(pto_mailbox_is_valid(&mailbox));
#define BROKEN(change)                                                                                                 \
  do {                                                                                                                 \
    mailbox = good;                                                                                                    \
    change;                                                                                                            \
    assert_false(pto_mailbox_is_valid(&mailbox));                                                                      \
  } while (0)
  BROKEN(mailbox.capacity = 3);
  BROKEN(mailbox.written += 4); /* more than the ring holds */
  BROKEN(mailbox.written -= 1); /* published, and not written */
  BROKEN(atomic_store_explicit(&mailbox.tail, good.written + 1, memory_order_relaxed));
  BROKEN(atomic_store_explicit(&mailbox.head, good.taken - 1,
                               memory_order_relaxed)); /* the consumer's two counters differ */
  BROKEN(mailbox.taken += 1);
  BROKEN(mailbox.cached_tail += 1);             /* ahead of tail */
  BROKEN(mailbox.cached_head = good.taken + 1); /* ahead of head */
#undef BROKEN
}

/* ---- two threads ---- */

static struct pto_mailbox there, back;
static struct pto_message messages[16];
static struct pto_completion completions[16];
static struct pto_wait worker_wait, control_wait;

static bool there_is_ready(void *context) { return pto_mailbox_has_element(&there); }
static bool back_is_ready(void *context) { return pto_mailbox_has_element(&back); }

/* Answers each message with a completion, a random number of them at a time. */
static void *answer(void *context) {
  struct pto_rng rng = {2};
  for (uint32_t i = 0; i < STREAM;) {
    const struct pto_message *message = pto_message_mailbox_peek(&there);
    struct pto_completion *completion = message ? pto_completion_mailbox_claim(&back) : NULL;
    if (!completion) {
      pto_mailbox_publish_to_sleeper(&back);
      pto_wait_notify(&control_wait);
      if (!message) pto_wait_until(&worker_wait, there_is_ready, NULL);
      continue;
    }
    *completion = (struct pto_completion){.ticket = message->ticket ^ message->block_index, .core = message->core};
    pto_mailbox_pop(&there);
    if (++i == STREAM || pto_rng_below(&rng, 3) == 0) {
      pto_mailbox_publish_to_sleeper(&back);
      pto_wait_notify(&control_wait);
    }
  }
  return NULL;
}

static void exchange(uint32_t capacity, uint32_t spin_rounds) {
  pthread_t thread;
  struct pto_rng rng = {1};
  uint32_t sent = 0, received = 0;
  int error;
  pto_mailbox_init(&there, messages, capacity, sizeof messages[0], UINT32_MAX - STREAM / 2);
  pto_mailbox_init(&back, completions, capacity, sizeof completions[0], UINT32_MAX - STREAM / 3);
  pto_wait_init(&worker_wait, spin_rounds);
  pto_wait_init(&control_wait, spin_rounds);
  assert_true(pto_thread_start(&thread, answer, NULL, &error));
  while (received < STREAM) {
    const struct pto_completion *completion = pto_completion_mailbox_peek(&back);
    if (completion) {
      assert_int_equal(completion->ticket, received ^ (received * 3));
      assert_int_equal(completion->core, received % 1000);
      pto_mailbox_pop(&back);
      received++;
      continue;
    }
    uint32_t batch = 1 + (uint32_t)pto_rng_below(&rng, 2 * capacity);
    struct pto_message *message;
    for (uint32_t i = 0; i < batch && sent < STREAM && (message = pto_message_mailbox_claim(&there)); i++, sent++)
      *message = (struct pto_message){.ticket = sent, .block_index = sent * 3, .core = (uint16_t)(sent % 1000)};
    pto_mailbox_publish_to_sleeper(&there);
    pto_wait_notify(&worker_wait);
    pto_wait_until(&control_wait, back_is_ready, NULL);
  }
  pthread_join(thread, NULL);
  assert_true(pto_mailbox_is_valid(&there) && pto_mailbox_is_valid(&back));
  assert_true(pto_mailbox_is_taken(&there) && pto_mailbox_is_taken(&back));
}
static void test_two_threads_exchange_every_message_in_order(void **state) { exchange(16, PTO_WAIT_SPIN_ROUNDS); }
static void test_two_threads_exchange_through_one_slot_without_spinning(void **state) { exchange(1, 0); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_new_mailbox_is_valid_and_empty),
      cmocka_unit_test(test_what_is_not_published_is_not_seen),
      cmocka_unit_test(test_a_full_mailbox_refuses_until_a_pop),
      cmocka_unit_test(test_a_mailbox_is_a_queue_whatever_its_capacity_and_counters),
      cmocka_unit_test(test_the_validity_function_sees_each_broken_invariant),
      cmocka_unit_test(test_two_threads_exchange_every_message_in_order),
      cmocka_unit_test(test_two_threads_exchange_through_one_slot_without_spinning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
