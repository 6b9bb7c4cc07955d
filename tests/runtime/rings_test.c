/* SPDX-License-Identifier: MIT */
/*
 * Rings at their limits, through the runtime: slots and heap pieces at their ends and wraps, counters at theirs,
 * in-order reclaim, and what a submit that finds no room leaves behind.  (heap_ring_test.c has the heap ring alone.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/control.h>
#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static void begin(struct pto_runtime *rt) { fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK); }
static void end(struct pto_runtime *rt) { fixture_expect(rt, pto_scope_end(rt), PTO_OK); }
static struct pto_task_ring *ring_of(struct pto_runtime *rt, uint32_t ring) { return &rt->rings.rings[ring]; }
static uint64_t in_use(struct pto_runtime *rt, uint32_t ring) {
  return ring_of(rt, ring)->head - ring_of(rt, ring)->tail;
}
static uint64_t heap_used(struct pto_runtime *rt, uint32_t ring) {
  return pto_heap_ring_used(&ring_of(rt, ring)->heap);
}

/* A labelled task with one output of `size` bytes in a scope of its own, which has ended; where it was put, in bytes
 * from the base. */
static uint64_t temporary(struct pto_runtime *rt, uint64_t label, uint64_t size) {
  begin(rt);
  struct pto_tensor t = fixture_managed(rt, size);
  FIXTURE_DO(rt, .label = label, .modes = "o", .tensors = {&t});
  uint64_t place = fixture_heap_offset(rt, 1, t.buffer);
  end(rt);
  return place;
}
static void plain(struct pto_runtime *rt, uint64_t label) {
  begin(rt);
  FIXTURE_DO(rt, .label = label);
  end(rt);
}
static void each_label_ran_once(uint32_t count) {
  static uint8_t times[FIXTURE_MAX_CALLS];
  memset(times, 0, sizeof times);
  assert_int_equal(fixture_call_count, count);
  for (uint32_t i = 0; i < count; i++) {
    assert_true(fixture_calls[i].label < count);
    assert_int_equal(times[fixture_calls[i].label]++, 0);
  }
}

/* ---- ids ---- */

static int sequential_ids(struct pto_runtime *rt, struct fixture *f) {
  uint64_t first = rt->first_sequence;
  for (uint64_t i = 0; i < 5; i++) {
    struct pto_task task;
    FIXTURE_DO(rt, .label = i, .out = &task);
    assert_true(task.id == first + i);
  }
  begin(rt);
  for (uint64_t i = 0; i < 5; i++) {
    struct pto_task task;
    FIXTURE_DO(rt, .label = 5 + i, .out = &task);
    assert_true(task.id == ((UINT64_C(1) << 62) | (first + i))); /* each ring counts for itself */
  }
  end(rt);
  return 0;
}
static int refused_takes_no_id(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor none = fixture_managed(rt, 8);
  struct pto_task task = {77, 78};
  FIXTURE_DO(rt, .label = 0, .out = &task);
  assert_true(task.id == 0);
  fixture_expect(rt, FIXTURE_TRY(rt, .modes = "i", .tensors = {&none}, .out = &task), PTO_EINVAL);
  assert_true(task.id == 0); /* written on success alone */
  FIXTURE_DO(rt, .label = 1, .out = &task);
  assert_true(task.id == 1);
  return 0;
}

/* A program whose edges, order and errors depend on sequences in every way that there is: it must not notice the wrap.
 */
static int across_a_wrap(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 64), early = fixture_bytes(f, 64, 64), wide = fixture_bytes(f, 0, 1024);
  struct pto_task task, first;
  begin(rt);
  FIXTURE_DO(rt, .label = 0, .modes = "o", .tensors = {&early}, .out = &first);
  end(rt);
  for (uint64_t i = 1; i < 40; i++) {
    struct pto_tensor piece = fixture_bytes(f, 128 + 16 * i, 16);
    uint64_t edges = fixture_edges(rt);
    begin(rt);
    if (i % 3 == 1)
      FIXTURE_DO(rt, .label = i, .modes = "bo", .tensors = {&t, &piece}, .out = &task);
    else
      FIXTURE_DO(rt, .label = i, .modes = "io", .tensors = {&t, &piece},
                 .launch = {.after = i > 1 ? &task : NULL, .after_count = i > 1}, .out = &task);
    end(rt);
    if (i % 3 == 2 && i > 2) assert_int_equal(fixture_edges(rt) - edges, 1); /* the writer is the one before */
    if (i % 3 == 0) assert_int_equal(fixture_edges(rt) - edges, 2);          /* the writer, and the one before */
    if (i % 3 == 1 && i > 1) assert_int_equal(fixture_edges(rt) - edges, 3); /* its readers, and the last writer */
    assert_true(in_use(rt, 1) <= rt->rings.window - 1);
  }
  begin(rt);
  uint64_t edges = fixture_edges(rt);
  fixture_expect(rt, FIXTURE_TRY(rt, .launch = {.after = &first, .after_count = 1}), PTO_ESTALE);
  FIXTURE_DO(rt, .label = 40, .modes = "i", .tensors = {&early});
  assert_int_equal(fixture_edges(rt) - edges, 0); /* its slot has come round */
  FIXTURE_DO(rt, .label = 41, .modes = "b", .tensors = {&wide});
  assert_int_equal(fixture_edges(rt) - edges,
                   rt->rings.window - 1); /* all whose slots have not come round, its own being one */
  end(rt);
  return 0;
}
static void nothing_got_lost(struct fixture *f) { each_label_ran_once(42); }

/* The same rounds before, across and after the wrap must find the same edges. */
static int across_the_wrap_of_other_counters(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor all = fixture_bytes(f, 0, 64), left = fixture_bytes(f, 0, 40), right = fixture_bytes(f, 24, 40);
  for (uint64_t i = 0; i < 60; i++) {
    uint64_t edges = fixture_edges(rt);
    if (i == 20) {
      rt->scheduler.next_order = UINT32_MAX - 9;
      rt->hazards.serial = UINT32_MAX - 9;
      rt->map.visit = UINT32_MAX - 9;
    }
    begin(rt);
    FIXTURE_DO(rt, .label = 3 * i, .modes = "b", .tensors = {&all});
    FIXTURE_DO(rt, .label = 3 * i + 1, .modes = "b", .tensors = {&left});
    FIXTURE_DO(rt, .label = 3 * i + 2, .modes = "i", .tensors = {&right});
    end(rt);
    /* all → left, all → right, left → right; and all of this round after the three of the last */
    assert_int_equal(fixture_edges(rt) - edges, i ? 6 : 3);
    if (i == 19) fixture_drain(rt); /* no order from before the jump is left to compare with */
  }
  fixture_drain(rt);
  for (uint64_t i = 0; i < 180; i++) assert_int_equal(fixture_calls[i].label, i);
  return 0;
}

/* The consumer behind the wrap has the serial that one of its producers was marked with 2^32 submits ago. */
static int across_the_wrap_with_old_marks(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor all = fixture_bytes(f, 0, 320), apart = fixture_bytes(f, 1024, 64);
  begin(rt);
  rt->hazards.serial = 0;
  for (uint64_t i = 0; i < 5; i++) {
    struct pto_tensor piece = fixture_bytes(f, 64 * i, 64);
    FIXTURE_DO(rt, .label = i, .modes = "o", .tensors = {&piece});
  }
  rt->hazards.serial = UINT32_MAX;
  FIXTURE_DO(rt, .label = 5, .modes = "o", .tensors = {&apart});
  for (uint64_t i = 6; i < 9; i++) {
    uint64_t edges = fixture_edges(rt);
    FIXTURE_DO(rt, .label = i, .modes = "i", .tensors = {&all});
    assert_int_equal(fixture_edges(rt) - edges, 5);
  }
  end(rt);
  return 0;
}

/* ---- window ---- */

static int full_at_n_minus_1(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  for (uint64_t i = 0; i < 15; i++) FIXTURE_DO(rt, .label = i);
  assert_int_equal(in_use(rt, 1), 15);
  int status = FIXTURE_TRY(rt, .label = 15);
  assert_int_equal(in_use(rt, 1), 15);
  return status;
}
static int n_minus_1_is_usable(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t round = 0; round < 20; round++) {
    begin(rt);
    for (uint64_t i = 0; i < 15; i++) FIXTURE_DO(rt, .label = 15 * round + i);
    end(rt);
  }
  return 0;
}
static void three_hundred_ran(struct fixture *f) {
  each_label_ran_once(300);
  assert_int_equal(pto_task_ring_high_water(&f->rt->rings.rings[1]), 15);
}
static int full_window_waits(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 15; i++) plain(rt, i);
  assert_int_equal(fixture_call_count, 0);
  plain(rt, 15);
  assert_true(fixture_call_count >= 1);
  assert_int_equal(rt->submit_waits, 1);
  return 0;
}
static int barriers_and_allocations_take_slots(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  for (int i = 0; i < 5; i++) {
    struct pto_tensor t = fixture_managed(rt, 8);
    fixture_expect(rt, pto_submit_barrier(rt, NULL, 0, NULL), PTO_OK);
    fixture_expect(rt, pto_alloc_tensors(rt, &t, 1, NULL), PTO_OK);
    FIXTURE_DO(rt, .label = 0);
  }
  assert_int_equal(in_use(rt, 1), 15);
  return pto_submit_barrier(rt, NULL, 0, NULL);
}
static int rings_fill_apart(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t depth = 0; depth < 4; depth++) {
    for (uint64_t i = 0; i < 15; i++) FIXTURE_DO(rt, .label = 15 * depth + i);
    if (depth < 3) begin(rt);
  }
  for (uint32_t ring = 0; ring < 4; ring++) assert_int_equal(in_use(rt, ring), 15);
  for (int i = 0; i < 3; i++) end(rt);
  return 0;
}
static void sixty_ran(struct fixture *f) { each_label_ran_once(60); }

/* ---- heap ---- */

static int exact_fit(struct pto_runtime *rt, struct fixture *f) {
  assert_int_equal(temporary(rt, 0, 1024), 0);
  assert_int_equal(temporary(rt, 1, 3072), 1024);
  assert_int_equal(heap_used(rt, 1), 4096); /* full, and does not look empty */
  assert_int_equal(fixture_call_count, 0);
  assert_int_equal(temporary(rt, 2, 1024), 0);
  assert_int_equal(fixture_position(0), 0);
  return 0;
}
static int whole_heap_in_one(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 10; i++) assert_int_equal(temporary(rt, i, 4096), 0);
  return 0;
}
static int request_equals_the_tail(struct pto_runtime *rt, struct fixture *f) {
  assert_int_equal(temporary(rt, 0, 2048), 0);
  assert_int_equal(temporary(rt, 1, 1024), 2048);
  fixture_step(rt);
  while (fixture_position(0) == FIXTURE_MAX_CALLS || heap_used(rt, 1) > 1024) fixture_step(rt);
  assert_int_equal(fixture_call_count, 1);     /* task 0 is gone: [0, 2048) and the last 1024 are free */
  assert_int_equal(temporary(rt, 2, 2048), 0); /* skips the end and takes exactly what lies before the tail */
  assert_int_equal(fixture_call_count, 1);
  assert_int_equal(heap_used(rt, 1), 4096);
  assert_int_equal(rt->submit_waits, 0);
  return 0;
}
static int one_kib_more_than_the_tail(struct pto_runtime *rt, struct fixture *f) {
  assert_int_equal(temporary(rt, 0, 2048), 0);
  assert_int_equal(temporary(rt, 1, 1024), 2048);
  while (heap_used(rt, 1) > 1024) fixture_step(rt);
  assert_int_equal(fixture_call_count, 1);
  assert_int_equal(temporary(rt, 2, 3072), 0);
  assert_int_equal(fixture_call_count, 2); /* had to wait for task 1 */
  return 0;
}
static int wasted_end_comes_back(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 50; i++) { /* 3072 of 4096: the last 1024 are skipped again and again */
    assert_int_equal(temporary(rt, 2 * i, 1024), 0);
    assert_int_equal(temporary(rt, 2 * i + 1, 3072), 1024);
    fixture_drain(rt);
    assert_int_equal(heap_used(rt, 1), 0);
  }
  for (uint64_t i = 0; i < 50; i++) {
    uint64_t place = temporary(rt, 100 + i, 3072);
    assert_int_equal(place, 0);
  }
  return 0;
}
static void hundred_and_fifty_ran(struct fixture *f) { each_label_ran_once(150); }
static int empty_starts_over(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 10; i++) {
    assert_int_equal(temporary(rt, i, 1024 * (1 + i % 4)), 0);
    fixture_drain(rt);
  }
  return 0;
}
/* The zero-size block of an older task ends where the empty ring once stood; its retirement must free nothing newer. */
static int old_empty_block_frees_nothing_new(struct pto_runtime *rt, struct fixture *f) {
  assert_int_equal(temporary(rt, 0, 1024), 0);
  temporary(rt, 1, 0);
  while (heap_used(rt, 1)) fixture_step(rt);
  assert_int_equal(fixture_call_count, 1);
  begin(rt);
  struct pto_tensor t = fixture_managed(rt, 4096);
  FIXTURE_DO(rt, .label = 2, .modes = "o", .tensors = {&t});
  assert_int_equal(heap_used(rt, 1), 4096);
  while (fixture_position(1) == FIXTURE_MAX_CALLS || in_use(rt, 1) > 1) fixture_step(rt);
  assert_int_equal(heap_used(rt, 1), 4096);
  end(rt);
  assert_int_equal(temporary(rt, 3, 1024), 0);
  assert_int_equal(fixture_position(2), 2); /* waited for its own block's task */
  return 0;
}
static int tasks_without_outputs_leave_the_tail(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor kept = fixture_managed(rt, 1024);
  struct pto_task first;
  FIXTURE_DO(rt, .label = 0, .out = &first);
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&kept}, .launch = {.after = &first, .after_count = 1});
  for (uint64_t i = 2; i < 8; i++) FIXTURE_DO(rt, .label = i);
  end(rt);
  while (fixture_position(0) == FIXTURE_MAX_CALLS || in_use(rt, 1) > 7) fixture_step(rt);
  assert_int_equal(heap_used(rt, 1), 1024); /* the retired task had no block */
  return 0;
}
static int larger_than_the_heap(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 4097);
  return FIXTURE_TRY(rt, .modes = "o", .tensors = {&t});
}
static int several_larger_than_the_heap(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_managed(rt, 2048), b = fixture_managed(rt, 1025), c = fixture_managed(rt, 1);
  return FIXTURE_TRY(rt, .modes = "ooo", .tensors = {&a, &b, &c});
}
static int held_by_open_scope(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_managed(rt, 3000), b = fixture_managed(rt, 2000);
  FIXTURE_DO(rt, .label = 0, .modes = "o", .tensors = {&a});
  int status = FIXTURE_TRY(rt, .modes = "o", .tensors = {&b});
  assert_int_equal(heap_used(rt, 0), 3072);
  return status;
}
static int alloc_larger_than_the_heap(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_managed(rt, 5000);
  return pto_alloc_tensors(rt, &t, 1, NULL);
}
static int said_size_is_enough(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_managed(rt, 3000), b = fixture_managed(rt, 2000);
  FIXTURE_DO(rt, .label = 0, .modes = "o", .tensors = {&a});
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&b});
  return 0;
}
static int said_window_is_enough(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  for (uint64_t i = 0; i < 16; i++) FIXTURE_DO(rt, .label = i);
  end(rt);
  return 0;
}

/* ---- together or not at all, in order ---- */

static int window_full_takes_no_heap(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor t = fixture_managed(rt, 1024);
  for (uint64_t i = 0; i < 15; i++) FIXTURE_DO(rt, .label = i);
  int status = FIXTURE_TRY(rt, .label = 15, .modes = "o", .tensors = {&t});
  assert_int_equal(heap_used(rt, 1), 0);
  assert_int_equal(ring_of(rt, 1)->heap.head, 0);
  assert_int_equal(pto_get_buffer_addr(rt, t.buffer), 0);
  return status;
}
static int heap_full_takes_no_slot(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor a = fixture_managed(rt, 4096), b = fixture_managed(rt, 1);
  FIXTURE_DO(rt, .label = 0, .modes = "o", .tensors = {&a});
  struct fixture_state before, after;
  fixture_drain(rt);
  fixture_state_take(rt, &before);
  int status = FIXTURE_TRY(rt, .label = 1, .modes = "o", .tensors = {&b});
  fixture_state_take(rt, &after);
  assert_memory_equal(&after, &before, sizeof after);
  return status;
}
static int reclaim_is_in_order(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor chain = fixture_bytes(f, 0, 8);
  begin(rt);
  FIXTURE_DO(rt, .label = 0, .modes = "b", .tensors = {&chain});
  FIXTURE_DO(rt, .label = 1, .modes = "b", .tensors = {&chain});
  FIXTURE_DO(rt, .label = 2, .modes = "b", .tensors = {&chain});
  end(rt);
  temporary(rt, 3, 1024); /* no edge: runs before 1 and 2 */
  while (fixture_position(3) == FIXTURE_MAX_CALLS || rt->completed_count < fixture_call_count) fixture_step(rt);
  assert_true(fixture_position(2) == FIXTURE_MAX_CALLS);
  assert_int_equal(rt->rings.slots[pto_task_slot_index(&rt->rings, 1, 3)].state, PTO_TASK_COMPLETED);
  assert_int_equal(heap_used(rt, 1), 1024); /* completed, but an older one is not */
  assert_true(in_use(rt, 1) >= 2);
  fixture_drain(rt);
  assert_int_equal(in_use(rt, 1), 0);
  assert_int_equal(heap_used(rt, 1), 0);
  return 0;
}
static int other_rings_are_not_held(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor mine = fixture_managed(rt, 4096);
  FIXTURE_DO(rt, .label = 0, .modes = "o", .tensors = {&mine}); /* ring 0, for as long as the run */
  for (uint64_t i = 1; i < 50; i++) temporary(rt, i, 4096);
  begin(rt);
  struct pto_tensor deep = fixture_managed(rt, 4096);
  FIXTURE_DO(rt, .label = 50, .modes = "o", .tensors = {&deep});
  for (uint64_t i = 51; i < 100; i++) {
    begin(rt);
    struct pto_tensor t = fixture_managed(rt, 4096);
    FIXTURE_DO(rt, .label = i, .modes = "o", .tensors = {&t});
    end(rt);
  }
  end(rt);
  return 0;
}
static void hundred_ran(struct fixture *f) { each_label_ran_once(100); }
/* What a task left in a slot must not be taken for the next task's: consumers, holders, accesses. */
static int slot_reuse_starts_clean(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 8), other = fixture_bytes(f, 8, 8);
  for (uint64_t i = 0; i < 100; i++) {
    begin(rt);
    FIXTURE_DO(rt, .label = i, .modes = i % 2 ? "b" : "i", .tensors = {i % 5 ? &t : &other});
    end(rt);
    if (i % 7 == 0) fixture_drain(rt);
    for (uint64_t s = ring_of(rt, 1)->tail; s != ring_of(rt, 1)->head; s++)
      assert_true(rt->rings.slots[pto_task_slot_index(&rt->rings, 1, s)].pending <= 4);
  }
  return 0;
}

/* Random sizes against a list of what is live: blocks never overlap, never cross the end, and no alloc waits for ever.
 */
static int random_blocks_never_overlap(struct pto_runtime *rt, struct fixture *f) {
  struct pto_rng rng = {rt->scheduler.seed + 20260101};
  print_message("seed %llu\n", (unsigned long long)rng.state);
  struct {
    uint64_t lo, hi;
  } live[512];
  for (uint64_t i = 0; i < 400; i++) {
    uint64_t size = pto_rng_below(&rng, 5) ? 1 + pto_rng_below(&rng, 6000) : 0;
    live[i].lo = temporary(rt, i, size);
    live[i].hi = live[i].lo + size;
    assert_true(live[i].hi <= 8192);
    for (uint64_t k = 0; k < i; k++)
      if (fixture_position(k) == FIXTURE_MAX_CALLS && size && live[k].hi > live[k].lo)
        assert_true(live[k].hi <= live[i].lo || live[k].lo >= live[i].hi);
    if (pto_rng_below(&rng, 4) == 0 && rt->scheduler.cores.in_flight) fixture_step(rt);
  }
  return 0;
}
static void four_hundred_ran(struct fixture *f) { each_label_ran_once(400); }

#define NEAR_30 ((UINT64_C(1) << 30) - 9)
#define NEAR_32 ((UINT64_C(1) << 32) - 9)
/* A task of one ring between two marks, which are not set before; and of none. */
static int a_task_between_marks(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor a = fixture_bytes(f, 0, 8);
  for (uint32_t ring = 0; ring < PTO_RING_COUNT; ring++) {
    struct pto_host_mark before, from, to;
    memset(&from, 0xff, sizeof from);
    memset(&to, 0, sizeof to);
    pto_host_mark(rt, &before);
    pto_host_mark(rt, &from);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);
    pto_host_mark(rt, &to);
    assert_false(pto_host_has_finished(rt, &from, &to));
    assert_true(pto_host_has_finished(rt, &before, &from));
    fixture_drain(rt);
    assert_true(pto_host_has_finished(rt, &from, &to));
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  }
  for (uint32_t ring = 0; ring < PTO_RING_COUNT; ring++) fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  return 0;
}

static const struct fixture_case cases[] = {
    {.name = "whether tasks between two marks have finished, in each ring",
     .body = a_task_between_marks,
     .engine = "virtual"},
    {.name = "ids count up from 0, in each ring for itself", .body = sequential_ids},
    {.name = "ids go on across 2^30", .body = sequential_ids, .first_sequence = (UINT64_C(1) << 30) - 3},
    {.name = "ids go on across 2^32", .body = sequential_ids, .first_sequence = (UINT64_C(1) << 32) - 3},
    {.name = "a refused submit takes no id and writes no task", .body = refused_takes_no_id},
    {.name = "edges, stale tasks and reuse from the first id on",
     .body = across_a_wrap,
     .window = 16,
     .after = nothing_got_lost},
    {.name = "edges, stale tasks and reuse do not notice 2^30",
     .body = across_a_wrap,
     .window = 16,
     .first_sequence = NEAR_30,
     .after = nothing_got_lost},
    {.name = "edges, stale tasks and reuse do not notice 2^32",
     .body = across_a_wrap,
     .window = 16,
     .first_sequence = NEAR_32,
     .after = nothing_got_lost},
    {.name = "nor with the smallest window",
     .body = across_a_wrap,
     .window = 4,
     .first_sequence = NEAR_30,
     .after = nothing_got_lost},
    {.name = "a window of N holds N - 1 tasks of one scope and the next is an error",
     .body = full_at_n_minus_1,
     .status = PTO_ESCOPE,
     .window = 16,
     .sentence = "the scope holds 15 tasks, all that a window of 16 has room for"},
    {.name = "N - 1 slots are usable round after round",
     .body = n_minus_1_is_usable,
     .window = 16,
     .after = three_hundred_ran},
    {.name = "a window full of ended scopes waits instead of failing", .body = full_window_waits, .window = 16},
    {.name = "barriers and allocations take slots too",
     .body = barriers_and_allocations_take_slots,
     .status = PTO_ESCOPE,
     .window = 16},
    {.name = "four rings fill up apart from each other", .body = rings_fill_apart, .window = 16, .after = sixty_ran},
    {.name = "a block that ends exactly at the end fits, and full does not look empty",
     .body = exact_fit,
     .heap_bytes = 4096},
    {.name = "a block as large as the heap fits again and again", .body = whole_heap_in_one, .heap_bytes = 4096},
    {.name = "a block that wraps may take exactly what lies before the tail",
     .body = request_equals_the_tail,
     .heap_bytes = 4096},
    {.name = "a block that wraps and is larger than what lies before the tail waits",
     .body = one_kib_more_than_the_tail,
     .heap_bytes = 4096},
    {.name = "the space wasted at the end is given back",
     .body = wasted_end_comes_back,
     .heap_bytes = 4096,
     .after = hundred_and_fifty_ran},
    {.name = "an empty ring starts over at its begin", .body = empty_starts_over, .heap_bytes = 4096},
    {.name = "an older task without bytes frees nothing new when it retires",
     .body = old_empty_block_frees_nothing_new,
     .heap_bytes = 4096},
    {.name = "tasks without outputs do not move the heap's tail",
     .body = tasks_without_outputs_leave_the_tail,
     .heap_bytes = 4096},
    {.name = "an output larger than the heap is an error with both sizes",
     .body = larger_than_the_heap,
     .status = PTO_EHEAP,
     .heap_bytes = 4096,
     .sentence = "take 5120 bytes, the whole heap has 4096"},
    {.name = "outputs that only together are larger than the heap are an error",
     .body = several_larger_than_the_heap,
     .status = PTO_EHEAP,
     .heap_bytes = 4096,
     .sentence = "take 5120 bytes"},
    {.name = "alloc_tensors larger than the heap is the same error",
     .body = alloc_larger_than_the_heap,
     .status = PTO_EHEAP,
     .heap_bytes = 4096,
     .sentence = "take 5120 bytes"},
    {.name = "a heap held by an open scope is an error that says what would do",
     .body = held_by_open_scope,
     .status = PTO_EHEAP,
     .heap_bytes = 4096,
     .sentence = "2048 bytes wanted, 3072 of 4096 used, all held by open scopes; this task needs a heap of at least "
                 "5120 bytes"},
    {.name = "the heap that the error names is enough", .body = said_size_is_enough, .heap_bytes = 5120},
    {.name = "the window that the error names is enough", .body = said_window_is_enough, .window = 32},
    {.name = "a submit that finds no slot takes no heap",
     .body = window_full_takes_no_heap,
     .status = PTO_ESCOPE,
     .window = 16},
    {.name = "a submit that finds no heap takes no slot and changes nothing",
     .body = heap_full_takes_no_slot,
     .status = PTO_EHEAP,
     .heap_bytes = 4096},
    {.name = "an unfinished early task holds what came after it in its ring", .body = reclaim_is_in_order},
    {.name = "a long-lived task holds nothing in other rings",
     .body = other_rings_are_not_held,
     .heap_bytes = 4096,
     .after = hundred_ran},
    {.name = "a slot that comes round again starts clean", .body = slot_reuse_starts_clean, .window = 4},
    {.name = "random blocks never overlap live ones nor cross the end",
     .body = random_blocks_never_overlap,
     .heap_bytes = 8192,
     .after = four_hundred_ran},
    {.name = "random blocks in a random order of cores",
     .body = random_blocks_never_overlap,
     .heap_bytes = 8192,
     .seed = 5,
     .clusters = 3,
     .after = four_hundred_ran},
    {.name = "random blocks in a tiny window",
     .body = random_blocks_never_overlap,
     .heap_bytes = 8192,
     .window = 4,
     .seed = 6,
     .after = four_hundred_ran},
    {.name = "serials, orders and stamps wrap without a trace",
     .body = across_the_wrap_of_other_counters,
     .window = 16},
    {.name = "marks from before the wrap of serials count for nothing",
     .body = across_the_wrap_with_old_marks,
     .window = 16},
};

int main(void) { return fixture_run_cases("rings", cases, PTO_ARRAY_LENGTH(cases)); }
