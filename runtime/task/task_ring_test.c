/* SPDX-License-Identifier: MIT */
/*
 * Task rings against a list of the tasks in flight.  Sequences start at 0 and just below the wraps of a reference
 * (2^30), of 32 bits and of 64.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <runtime/base/memory_checker.h>
#include <runtime/task/task_ring.h>

#define WINDOW 8u
#define HEAP_BYTES (16u * PTO_OUTPUT_ALIGN)

static _Alignas(PTO_OUTPUT_ALIGN) char arena[PTO_RING_COUNT * HEAP_BYTES];
static struct pto_task_rings rings;

static const uint64_t starts[] = {0, (UINT64_C(1) << 30) - 5, (UINT64_C(1) << 32) - 5, (UINT64_C(3) << 30) - 5,
                                  UINT64_MAX - 4};

static void make(uint64_t first_sequence) {
  assert_true(pto_task_rings_init(&rings, WINDOW, arena, HEAP_BYTES));
  pto_task_rings_reset(&rings, first_sequence);
}
static uint32_t alloc(uint32_t ring) {
  uint32_t slot = pto_task_ring_alloc(&rings, &rings.rings[ring]);
  assert_true(pto_task_rings_is_valid(&rings));
  return slot;
}
static void complete(uint32_t slot) { rings.slots[slot].state = PTO_TASK_COMPLETED; }
/* The scopes of the ring's tasks so far have ended. */
static void close_scopes(uint32_t ring) {
  rings.rings[ring].open_begin = rings.rings[ring].released_end = rings.rings[ring].head;
}
static bool is_visible(uint32_t ring, uint64_t sequence) {
  return pto_task_ref_is_visible(&rings, pto_task_ref_make(&rings, ring, sequence));
}

/* In the place of memory_checker.c: how often something was forgotten. */
static uint32_t forgotten;
void pto_memory_mark_free(void *addr, uint64_t size_bytes) {}
void pto_memory_forget(void *addr, uint64_t size_bytes) { forgotten++; }

/* What is watched has to be told; a ring of three laps is forgotten in seven pieces. */
static void test_the_end_of_the_rings_is_the_end_of_each_heap(void **state) {
  (void)state;
  make(0);
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) pto_heap_ring_watch(&rings.rings[i].heap, 1, 3);
  forgotten = 0;
  pto_task_rings_fini(&rings);
  assert_int_equal(forgotten, 7 * PTO_RING_COUNT);
}

static void test_rings_begin_empty_aligned_and_within_their_struct(void **state) {
  (void)state;
  static struct {
    struct pto_task_rings rings;
    unsigned char behind[256];
  } space;
  memset(&space, 0x5a, sizeof space);
  assert_true(pto_task_rings_init(&space.rings, WINDOW, arena, HEAP_BYTES));
  assert_int_equal((uintptr_t)space.rings.slots % PTO_CACHE_LINE, 0);
  assert_int_equal((uintptr_t)space.rings.cold % PTO_CACHE_LINE, 0);
  pto_task_rings_reset(&space.rings, 9);
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    const struct pto_task_ring *ring = &space.rings.rings[i];
    assert_int_equal(ring->high_water, 0);
    assert_true(ring->head == 9 && ring->tail == 9 && ring->open_begin == 9);
    assert_ptr_equal(ring->heap.base, arena + i * HEAP_BYTES);
  }
  pto_task_rings_fini(&space.rings);
  for (size_t i = 0; i < sizeof space.behind; i++) assert_int_equal(space.behind[i], 0x5a);
}

static void test_a_window_of_n_takes_n_minus_one_tasks_wherever_sequences_start(void **state) {
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(starts); i++) {
    make(starts[i]);
    for (uint32_t ring = 0; ring < PTO_RING_COUNT; ring++) {
      for (uint32_t k = 0; k < WINDOW - 1; k++) {
        assert_false(pto_task_ring_is_full(&rings.rings[ring]));
        uint32_t slot = alloc(ring);
        assert_int_equal(slot, ring * WINDOW + (starts[i] + k) % WINDOW);
        assert_int_equal(rings.slots[slot].ref.bits, pto_task_ref_make(&rings, ring, starts[i] + k).bits);
        assert_int_equal(pto_task_ref_slot(&rings, rings.slots[slot].ref), slot);
      }
      assert_true(pto_task_ring_is_full(&rings.rings[ring]));
      assert_int_equal(pto_task_ring_high_water(&rings.rings[ring]), WINDOW - 1);
    }
    pto_task_rings_fini(&rings);
  }
}

static void test_a_task_is_visible_until_as_many_submits_later_as_the_ring_has_slots(void **state) {
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(starts); i++) {
    make(starts[i]);
    uint64_t first = starts[i];
    for (uint64_t later = 0; later <= 3 * WINDOW; later++) {
      complete(alloc(1)); /* `later` submits behind the first */
      close_scopes(1);
      pto_task_ring_retire(&rings, 1);
      assert_int_equal(is_visible(1, first), later < WINDOW);
      assert_true(is_visible(1, first + later));
    }
    pto_task_rings_fini(&rings);
  }
}

static void test_rings_do_not_age_each_other(void **state) {
  (void)state;
  make(0);
  complete(alloc(0));
  for (uint32_t i = 0; i < 2 * WINDOW; i++) {
    complete(alloc(2));
    close_scopes(2);
    assert_true(pto_task_ring_retire(&rings, 2));
  }
  assert_true(is_visible(0, 0));
  assert_false(is_visible(2, 0));
  assert_int_equal(rings.rings[0].head - rings.rings[0].tail, 1);
  pto_task_rings_fini(&rings);
}

static void test_a_fresh_slot_remembers_nothing_of_the_task_before(void **state) {
  (void)state;
  make(0);
  for (uint32_t i = 0; i < WINDOW; i++) {
    uint32_t index = alloc(0);
    struct pto_task_slot *slot = &rings.slots[index];
    struct pto_task_ref ref = slot->ref;
    memset(slot, 0xff, sizeof *slot);
    slot->ref = ref;
    slot->state = PTO_TASK_COMPLETED;
    slot->holders = 0;
    slot->flags = 0;
    close_scopes(0);
    assert_true(pto_task_ring_retire(&rings, 0));
  }
  const struct pto_task_slot *slot = &rings.slots[alloc(0)];
  assert_int_equal(slot->state, PTO_TASK_WAITING);
  assert_int_equal(slot->pending, 1); /* the submit itself */
  assert_int_equal(slot->holders | slot->flags | slot->consumer_count | slot->more_consumers | slot->messages_left, 0);
  assert_null(slot->payload);
  pto_task_rings_fini(&rings);
}

static void test_tasks_retire_in_order_and_a_younger_one_waits_for_the_oldest(void **state) {
  (void)state;
  make(UINT64_MAX - 1);
  uint32_t first = alloc(0), second = alloc(0), third = alloc(0);
  close_scopes(0);
  complete(second);
  assert_false(pto_task_ring_retire(&rings, 0));
  complete(first);
  assert_true(pto_task_ring_retire(&rings, 0));
  assert_int_equal(rings.rings[0].head - rings.rings[0].tail, 1);
  assert_int_equal(rings.slots[first].state, PTO_TASK_FREE);
  assert_int_equal(rings.slots[second].state, PTO_TASK_FREE);
  assert_int_equal(rings.slots[third].state, PTO_TASK_WAITING);
  complete(third);
  assert_true(pto_task_ring_retire(&rings, 0));
  assert_int_equal(rings.rings[0].head, rings.rings[0].tail);
  pto_task_rings_fini(&rings);
}

static void test_a_task_stays_while_its_scope_is_open_or_its_memory_is_held(void **state) {
  (void)state;
  make((UINT64_C(1) << 30) - 1);
  uint32_t ended = alloc(0), held = alloc(0);
  close_scopes(0);
  uint32_t open = alloc(0);
  complete(ended);
  complete(held);
  complete(open);
  rings.slots[held].holders = 1;
  assert_true(pto_task_ring_retire(&rings, 0));
  assert_int_equal(rings.slots[held].state, PTO_TASK_COMPLETED);
  rings.slots[held].holders = 0;
  assert_true(pto_task_ring_retire(&rings, 0));
  assert_false(pto_task_ring_retire(&rings, 0));
  assert_int_equal(rings.slots[open].state, PTO_TASK_COMPLETED);
  assert_int_equal(rings.rings[0].tail, rings.rings[0].open_begin);
  close_scopes(0);
  assert_true(pto_task_ring_retire(&rings, 0));
  pto_task_rings_fini(&rings);
}

static void test_a_retired_task_gives_its_heap_back(void **state) {
  (void)state;
  char *addr;
  make(0);
  struct pto_heap_ring *heap = &rings.rings[3].heap;
  assert_ptr_equal(heap->base, arena + 3 * HEAP_BYTES);
  uint32_t first = alloc(3), without = alloc(3);
  assert_true(pto_heap_ring_alloc(heap, 2 * PTO_OUTPUT_ALIGN, &addr, &rings.cold[first].heap_end));
  rings.slots[first].flags |= PTO_TASK_HAS_HEAP;
  rings.cold[without].heap_end = UINT64_MAX; /* means nothing without the flag */
  complete(first);
  complete(without);
  close_scopes(3);
  assert_true(pto_task_ring_retire(&rings, 3));
  assert_int_equal(pto_heap_ring_used(heap), 0);
  pto_task_rings_fini(&rings);
}

static void test_depths_beyond_the_rings_share_the_last(void **state) {
  (void)state;
  for (uint32_t depth = 0; depth < 10; depth++) {
    uint32_t expected = depth < PTO_RING_COUNT ? depth : PTO_RING_COUNT - 1;
    assert_int_equal(pto_task_ring_of_depth(depth), expected);
  }
}

static void test_finished_is_what_fan_in_need_not_wait_for(void **state) {
  (void)state;
  assert_true(pto_task_state_has_finished(PTO_TASK_FREE) && pto_task_state_has_finished(PTO_TASK_COMPLETED));
  assert_false(pto_task_state_has_finished(PTO_TASK_WAITING) || pto_task_state_has_finished(PTO_TASK_READY) ||
               pto_task_state_has_finished(PTO_TASK_RUNNING));
}

/* Tasks that are done when the next one comes need not be looked at; those of open scopes stay all the same. */
static void test_tasks_that_were_done_in_turn_retire_up_to_the_open_scope(void **state) {
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(starts); i++) {
    make(starts[i]);
    struct pto_task_ring *ring = &rings.rings[0];
    for (uint32_t k = 0; k < 2; k++) {
      complete(alloc(0));
      pto_task_ring_note_done(ring);
    }
    close_scopes(0);
    complete(alloc(0)); /* done, but of an open scope */
    pto_task_ring_note_done(ring);
    const uint32_t late = alloc(0);
    complete(alloc(0));
    pto_task_ring_note_done(ring); /* behind one that is not done */
    assert_true(pto_task_rings_is_valid(&rings));
    assert_true(pto_task_ring_retire(&rings, 0));
    assert_int_equal(ring->tail - starts[i], 2);
    close_scopes(0);
    assert_true(pto_task_ring_retire(&rings, 0));
    assert_int_equal(ring->tail - starts[i], 3);
    assert_false(pto_task_ring_retire(&rings, 0));
    complete(late);
    assert_true(pto_task_ring_retire(&rings, 0));
    assert_int_equal(ring->tail, ring->head);
    complete(alloc(0));
    pto_task_ring_note_done(ring); /* in turn again */
    assert_int_equal(ring->done_end, ring->head);
    rings.slots[pto_task_slot_index(&rings, 0, ring->tail)].holders = 1;
    assert_false(pto_task_rings_is_valid(&rings));
    pto_task_rings_fini(&rings);
  }
}

static void test_what_contradicts_the_formulas_is_not_valid(void **state) {
  (void)state;
  make(0);
  uint32_t slot = alloc(0);
  assert_true(pto_task_rings_is_valid(&rings));
  rings.slots[slot].state = PTO_TASK_FREE;
  assert_false(pto_task_rings_is_valid(&rings));
  rings.slots[slot].state = PTO_TASK_WAITING;
  rings.slots[slot].ref.bits++;
  assert_false(pto_task_rings_is_valid(&rings));
  rings.slots[slot].ref.bits--;
  rings.rings[0].open_begin = rings.rings[0].head + 1;
  assert_false(pto_task_rings_is_valid(&rings));
  rings.rings[0].open_begin = 0;
  rings.rings[0].head = WINDOW;
  assert_false(pto_task_rings_is_valid(&rings));
  pto_task_rings_fini(&rings);
}

/* ---- random work ---- */

struct model_task {
  uint32_t slot, holders;
  bool is_completed, has_block, is_open;
  uint64_t bytes;
};
struct model_ring {
  struct model_task tasks[WINDOW]; /* oldest first */
  uint32_t count;
};
static struct model_ring model[PTO_RING_COUNT];

static void model_alloc(struct pto_rng *rng, uint32_t r) {
  struct model_ring *m = &model[r];
  assert_int_equal(pto_task_ring_is_full(&rings.rings[r]), m->count == WINDOW - 1);
  if (m->count == WINDOW - 1) return;
  struct model_task *task = &m->tasks[m->count++];
  *task = (struct model_task){.slot = alloc(r), .is_open = true, .bytes = pto_rng_below(rng, 4) * PTO_OUTPUT_ALIGN};
  char *addr;
  uint64_t end;
  if (!pto_rng_below(rng, 2) || !pto_heap_ring_alloc(&rings.rings[r].heap, task->bytes, &addr, &end)) return;
  task->has_block = true;
  rings.slots[task->slot].flags |= PTO_TASK_HAS_HEAP;
  rings.cold[task->slot].heap_end = end;
}

static void model_retire(uint32_t r) {
  struct model_ring *m = &model[r];
  uint32_t gone = 0;
  uint64_t left_bytes = 0;
  while (gone < m->count && m->tasks[gone].is_completed && !m->tasks[gone].holders && !m->tasks[gone].is_open) gone++;
  assert_int_equal(pto_task_ring_retire(&rings, r), gone > 0);
  for (uint32_t i = 0; i < gone; i++) assert_int_equal(rings.slots[m->tasks[i].slot].state, PTO_TASK_FREE);
  m->count -= gone;
  memmove(m->tasks, m->tasks + gone, m->count * sizeof m->tasks[0]);
  for (uint32_t i = 0; i < m->count; i++) left_bytes += m->tasks[i].has_block ? m->tasks[i].bytes : 0;
  assert_true(pto_heap_ring_used(&rings.rings[r].heap) >= left_bytes);
  if (!left_bytes && !m->count) assert_int_equal(pto_heap_ring_used(&rings.rings[r].heap), 0);
}

static void model_step(struct pto_rng *rng, uint32_t r) {
  struct model_ring *m = &model[r];
  struct model_task *task = m->count ? &m->tasks[pto_rng_below(rng, m->count)] : NULL;
  switch (pto_rng_below(rng, 6)) {
  case 0:
  case 1:
    model_alloc(rng, r);
    break;
  case 2:
    if (!task) break;
    task->is_completed = true;
    complete(task->slot);
    break;
  case 3: /* a holder more, or one fewer */
    if (!task) break;
    task->holders = !task->holders;
    rings.slots[task->slot].holders = task->holders;
    break;
  case 4:
    close_scopes(r);
    for (uint32_t i = 0; i < m->count; i++) m->tasks[i].is_open = false;
    break;
  case 5:
    model_retire(r);
    break;
  }
}

static void test_random_work_retires_what_the_model_retires(void **state) {
  (void)state;
  struct pto_rng rng = {20261120};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(starts); i++) {
    make(starts[i]);
    memset(model, 0, sizeof model);
    for (uint32_t step = 0; step < 5000; step++) {
      model_step(&rng, (uint32_t)pto_rng_below(&rng, PTO_RING_COUNT));
      assert_true(pto_task_rings_is_valid(&rings));
      for (uint32_t r = 0; r < PTO_RING_COUNT; r++) {
        const struct pto_task_ring *ring = &rings.rings[r];
        assert_int_equal(ring->head - ring->tail, model[r].count);
        for (uint64_t k = 0; k < 2 * WINDOW && k < ring->head - starts[i]; k++)
          assert_int_equal(is_visible(r, ring->head - 1 - k), k < WINDOW);
      }
    }
    pto_task_rings_fini(&rings);
  }
}

static void test_each_refused_reservation_is_reported_and_leaves_nothing(void **state) {
  (void)state;
  uint32_t failures = 0;
  for (uint32_t n = 1;; n++, failures++) {
    pto_reserve_fail_countdown = n;
    bool is_made = pto_task_rings_init(&rings, WINDOW, arena, HEAP_BYTES);
    pto_reserve_fail_countdown = 0;
    pto_task_rings_fini(&rings);
    assert_null(rings.memory.addr);
    if (is_made) break;
  }
  assert_int_equal(failures, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rings_begin_empty_aligned_and_within_their_struct),
      cmocka_unit_test(test_the_end_of_the_rings_is_the_end_of_each_heap),
      cmocka_unit_test(test_a_window_of_n_takes_n_minus_one_tasks_wherever_sequences_start),
      cmocka_unit_test(test_a_task_is_visible_until_as_many_submits_later_as_the_ring_has_slots),
      cmocka_unit_test(test_rings_do_not_age_each_other),
      cmocka_unit_test(test_a_fresh_slot_remembers_nothing_of_the_task_before),
      cmocka_unit_test(test_tasks_retire_in_order_and_a_younger_one_waits_for_the_oldest),
      cmocka_unit_test(test_a_task_stays_while_its_scope_is_open_or_its_memory_is_held),
      cmocka_unit_test(test_a_retired_task_gives_its_heap_back),
      cmocka_unit_test(test_depths_beyond_the_rings_share_the_last),
      cmocka_unit_test(test_finished_is_what_fan_in_need_not_wait_for),
      cmocka_unit_test(test_tasks_that_were_done_in_turn_retire_up_to_the_open_scope),
      cmocka_unit_test(test_what_contradicts_the_formulas_is_not_valid),
      cmocka_unit_test(test_random_work_retires_what_the_model_retires),
      cmocka_unit_test(test_each_refused_reservation_is_reported_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
