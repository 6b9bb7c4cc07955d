/* SPDX-License-Identifier: MIT */
/* The event queue against a table that is searched from end to end, with times that come in order, nearly so, and not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/virtual/event_queue.h>

#include <string.h>

#define RANKS 100
#define RING 128

struct pair { /* the queue, and what must be in it */
  struct pto_event ring[RING];
  struct pto_event_queue queue;
  uint64_t times[RANKS];
  bool has[RANKS];
  uint32_t count;
};

static void begin(struct pair *pair) {
  memset(pair, 0, sizeof *pair);
  assert_int_equal(pto_event_queue_ring_size(RANKS), RING);
  pair->queue = (struct pto_event_queue){.ring = pair->ring, .mask = RING - 1};
  pto_event_queue_reset(&pair->queue);
  pair->queue.head = pair->queue.tail = UINT32_MAX - 40; /* just below the wrap */
  pair->ring[pair->queue.tail % RING].time = PTO_EVENT_NEVER;
}

static uint32_t first_of(const struct pair *pair) {
  uint32_t first = RANKS;
  for (uint32_t i = 0; i < RANKS; i++) {
    if (pair->has[i] && (first == RANKS || pair->times[i] < pair->times[first])) first = i;
  }
  return first;
}

static void check(const struct pair *pair) {
  const uint32_t first = first_of(pair);
  assert_true(pto_event_queue_is_valid(&pair->queue));
  assert_int_equal(pair->queue.tail - pair->queue.head, pair->count);
  assert_int_equal(pair->queue.next_at, first == RANKS ? PTO_EVENT_NEVER : pair->times[first]);
}

static void insert(struct pair *pair, uint32_t rank, uint64_t time) {
  pto_event_queue_insert(&pair->queue, time, rank, RANKS - rank);
  pair->has[rank] = true;
  pair->times[rank] = time;
  pair->count++;
  check(pair);
}

static void pop(struct pair *pair) {
  const uint32_t first = first_of(pair);
  const struct pto_event event = pto_event_queue_pop(&pair->queue);
  assert_int_equal(event.rank, first);
  assert_int_equal(event.core, RANKS - first);
  assert_int_equal(event.time, pair->times[first]);
  pair->has[first] = false;
  pair->count--;
  check(pair);
}

/* Some event comes earlier than it was to. */
static void hasten(struct pair *pair, uint32_t place, uint64_t less) {
  const uint32_t at = pair->queue.head + place;
  const struct pto_event event = pair->ring[at % RING];
  pair->times[event.rank] = event.time - pto_min_u64(less, event.time);
  pto_event_queue_hasten(&pair->queue, at, pair->times[event.rank]);
  check(pair);
}

/* `spread`: how far the times of an instant lie apart; 0 is many ties. */
static void play(uint32_t spread, uint64_t seed) {
  struct pair pair;
  struct pto_rng rng = {seed};
  uint64_t now = 0;
  begin(&pair);
  for (uint32_t step = 0; step < 100000; step++) {
    const uint32_t rank = (uint32_t)pto_rng_below(&rng, RANKS);
    now += pto_rng_below(&rng, 3);
    if (!pair.has[rank] && pto_rng_below(&rng, 2))
      insert(&pair, rank, now + pto_rng_below(&rng, spread + 1));
    else if (pair.count > 0 && pto_rng_below(&rng, 4))
      pop(&pair);
    else if (pair.count > 0)
      hasten(&pair, (uint32_t)pto_rng_below(&rng, pair.count), pto_rng_below(&rng, spread + 2));
  }
  while (pair.count > 0) pop(&pair);
}

static void test_events_come_out_by_time_and_then_by_rank_whatever_order_they_came_in(void **state) {
  static const uint32_t spreads[] = {0, 1, 4, 30, 300, 100000};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(spreads); i++) play(spreads[i], 31 + i);
}

static void test_equal_events_come_out_in_order_of_insertion(void **state) {
  struct pto_event ring[16];
  struct pto_event_queue queue = {.ring = ring, .mask = 15};
  pto_event_queue_reset(&queue);
  static const uint64_t times[] = {5, 3, 5, 3, 4, 3};
  static const uint32_t order[] = {1, 3, 5, 4, 0, 2};
  for (uint32_t i = 0; i < 6; i++) pto_event_queue_insert(&queue, times[i], 0, i);
  assert_true(pto_event_queue_is_valid(&queue));
  for (uint32_t i = 0; i < 6; i++) assert_int_equal(pto_event_queue_pop(&queue).core, order[i]);
}

static void test_a_queue_of_one_core_has_room_for_its_event(void **state) {
  struct pto_event ring[2];
  struct pto_event_queue queue = {.ring = ring, .mask = 1};
  assert_int_equal(pto_event_queue_ring_size(1), 2);
  pto_event_queue_reset(&queue);
  for (uint64_t time = 0; time < 5; time++) {
    pto_event_queue_insert(&queue, time, 0, 0);
    assert_true(pto_event_queue_is_valid(&queue));
    assert_int_equal(pto_event_queue_pop(&queue).time, time);
    assert_int_equal(queue.next_at, PTO_EVENT_NEVER);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_events_come_out_by_time_and_then_by_rank_whatever_order_they_came_in),
      cmocka_unit_test(test_equal_events_come_out_in_order_of_insertion),
      cmocka_unit_test(test_a_queue_of_one_core_has_room_for_its_event),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
