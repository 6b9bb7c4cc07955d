/* SPDX-License-Identifier: MIT */
/* Ready queues against an array that keeps the same items in the same order. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <runtime/sched/policy.h>

#define CAPACITY 16u

struct model {
  uint32_t slots[CAPACITY], count; /* front first */
};

static struct pto_ready_item items[CAPACITY];
static struct pto_ready_queue queue;
static struct model model;

/* Positions start just below the wrap of 32 bits. */
static void make(void) {
  queue =
      (struct pto_ready_queue){.items = items, .mask = CAPACITY - 1, .head = UINT32_MAX - 5, .tail = UINT32_MAX - 5};
  model.count = 0;
}

static void push(uint32_t slot) {
  pto_ready_queue_push(&queue, (struct pto_ready_item){.slot = slot, .order = slot + 1000});
  model.slots[model.count++] = slot;
}
static void push_front(uint32_t slot) {
  pto_ready_queue_push_front(&queue, (struct pto_ready_item){.slot = slot, .order = slot + 1000});
  memmove(model.slots + 1, model.slots, model.count++ * sizeof model.slots[0]);
  model.slots[0] = slot;
}
static void model_remove(uint32_t slot) {
  for (uint32_t i = 0; i < model.count; i++)
    if (model.slots[i] == slot) {
      memmove(model.slots + i, model.slots + i + 1, (--model.count - i) * sizeof model.slots[0]);
      return;
    }
  fail_msg("slot %u is not in the queue", slot);
}
static uint32_t take(enum pto_policy policy, struct pto_rng *rng) {
  struct pto_ready_item peeked = pto_policy_peek(&queue, policy, rng);
  assert_int_equal(pto_policy_peek(&queue, policy, rng).slot, peeked.slot);
  assert_int_equal(peeked.order, peeked.slot + 1000);
  pto_policy_pop(&queue);
  return peeked.slot;
}

static void test_fifo_takes_the_front_and_lifo_the_back(void **state) {
  (void)state;
  struct pto_rng rng = {1};
  make();
  for (uint32_t i = 0; i < 3; i++) push(i);
  assert_int_equal(take(PTO_POLICY_FIFO, &rng), 0);
  assert_int_equal(take(PTO_POLICY_LIFO, &rng), 2);
  assert_int_equal(take(PTO_POLICY_FIFO, &rng), 1);
  assert_int_equal(pto_ready_queue_count(&queue), 0);
}

static void test_a_task_that_is_put_back_is_the_next_of_fifo(void **state) {
  (void)state;
  struct pto_rng rng = {1};
  make();
  push(1);
  push(2);
  push_front(7);
  assert_int_equal(take(PTO_POLICY_FIFO, &rng), 7);
  assert_int_equal(take(PTO_POLICY_LIFO, &rng), 2);
}

/* So that a long run touches a few lines of a queue's memory, and not a page after another. */
static void test_an_empty_queue_begins_at_its_first_place(void **state) {
  (void)state;
  struct pto_rng rng = {1};
  make();
  queue.head = queue.tail = 0;
  memset(items, 0xff, sizeof items);
  for (uint32_t i = 0; i < 3 * CAPACITY; i++) {
    push(i);
    model_remove(take(PTO_POLICY_FIFO, &rng));
  }
  for (uint32_t i = 1; i < CAPACITY; i++) assert_int_equal(items[i].slot, UINT32_MAX);
}

static void test_a_queue_takes_as_many_items_as_it_has_places(void **state) {
  (void)state;
  struct pto_rng rng = {1};
  make();
  for (uint32_t i = 0; i < CAPACITY; i++) push(i);
  assert_int_equal(pto_ready_queue_count(&queue), CAPACITY);
  for (uint32_t i = 0; i < CAPACITY; i++) assert_int_equal(take(PTO_POLICY_FIFO, &rng), i);
}

static void test_every_item_of_a_queue_is_the_random_choice_of_some_seed(void **state) {
  (void)state;
  uint32_t first = 0, second = 0;
  for (uint64_t seed = 0; seed < 200; seed++) {
    struct pto_rng rng = {seed};
    make();
    for (uint32_t i = 0; i < 8; i++) push(i);
    first |= 1u << take(PTO_POLICY_RANDOM, &rng);
    second |= 1u << take(PTO_POLICY_RANDOM, &rng); /* drawn anew */
  }
  assert_int_equal(first, 0xff);
  assert_int_equal(second, 0xff);
}

static void test_a_random_choice_stays_chosen_while_others_are_pushed(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 50; seed++) {
    struct pto_rng rng = {seed};
    make();
    for (uint32_t i = 0; i < 4; i++) push(i);
    uint32_t chosen = pto_policy_peek(&queue, PTO_POLICY_RANDOM, &rng).slot;
    push(4);
    assert_int_equal(take(PTO_POLICY_RANDOM, &rng), chosen);
  }
}

static void test_random_operations_keep_the_items_that_the_model_has(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    enum pto_policy policy = (enum pto_policy)(seed - 1);
    struct pto_rng rng = {seed}, draws = {seed + 100};
    make();
    for (uint32_t step = 0; step < 20000; step++) {
      bool is_push = model.count == 0 || (model.count < CAPACITY && pto_rng_below(&draws, 2));
      if (is_push) {
        if (pto_rng_below(&draws, 4))
          push(step);
        else
          push_front(step);
      } else {
        uint32_t front = model.slots[0], back = model.slots[model.count - 1], taken = take(policy, &rng);
        if (policy == PTO_POLICY_FIFO) assert_int_equal(taken, front);
        if (policy == PTO_POLICY_LIFO) assert_int_equal(taken, back);
        model_remove(taken);
        if (policy == PTO_POLICY_RANDOM) /* the choice changes places with the front */
          for (uint32_t i = 0; i < model.count; i++) model.slots[i] = queue.items[(queue.head + i) & queue.mask].slot;
      }
      assert_int_equal(pto_ready_queue_count(&queue), model.count);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fifo_takes_the_front_and_lifo_the_back),
      cmocka_unit_test(test_a_task_that_is_put_back_is_the_next_of_fifo),
      cmocka_unit_test(test_an_empty_queue_begins_at_its_first_place),
      cmocka_unit_test(test_a_queue_takes_as_many_items_as_it_has_places),
      cmocka_unit_test(test_every_item_of_a_queue_is_the_random_choice_of_some_seed),
      cmocka_unit_test(test_a_random_choice_stays_chosen_while_others_are_pushed),
      cmocka_unit_test(test_random_operations_keep_the_items_that_the_model_has),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
