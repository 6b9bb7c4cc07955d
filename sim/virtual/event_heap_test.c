/* SPDX-License-Identifier: MIT */
/* The event heap against a table that is searched from end to end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/virtual/event_heap.h>

#define RANKS 40

struct table {
  uint64_t times[RANKS];
  bool has[RANKS];
};

static uint32_t table_first(const struct table *table) {
  uint32_t first = RANKS;
  for (uint32_t i = 0; i < RANKS; i++) {
    if (table->has[i] && (first == RANKS || table->times[i] < table->times[first])) first = i;
  }
  return first;
}

static void test_events_come_out_by_time_and_then_by_rank(void **state) {
  struct pto_event events[RANKS];
  struct pto_event_heap heap = {.events = events, .capacity = RANKS};
  struct table table = {0};
  struct pto_rng rng = {11};
  print_message("seed 11\n");
  for (uint32_t step = 0; step < 200000; step++) {
    uint32_t rank = (uint32_t)pto_rng_below(&rng, RANKS), first = table_first(&table);
    uint64_t time = pto_rng_below(&rng, 16); /* few times: many ties */
    if (!table.has[rank]) {
      pto_event_heap_push(&heap, (struct pto_event){.time = time, .rank = rank});
      table.has[rank] = true;
      table.times[rank] = time;
    } else if (pto_rng_below(&rng, 2)) {
      pto_event_heap_pop(&heap);
      table.has[first] = false;
    } else {
      pto_event_heap_replace_top(&heap, (struct pto_event){.time = time, .rank = first});
      table.times[first] = time;
    }
    first = table_first(&table);
    assert_true(pto_event_heap_is_valid(&heap));
    assert_int_equal(heap.count == 0, first == RANKS);
    if (heap.count == 0) continue;
    assert_int_equal(events[0].rank, first);
    assert_int_equal(events[0].time, table.times[first]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_events_come_out_by_time_and_then_by_rank)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
