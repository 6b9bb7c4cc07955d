/* SPDX-License-Identifier: MIT */
/*
 * Scopes and lifetime: what a scope keeps alive and what comes back when it ends, which handles are stale from when on,
 * how deep scopes nest, and what holds memory without them.
 *
 * To add one: an orchestration and a line in `cases`.  Longer than other files, because each case is a program of its
 * own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

static void begin(struct pto_runtime *rt) { fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK); }
static void begin_manual(struct pto_runtime *rt) { fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_OK); }
static void end(struct pto_runtime *rt) { fixture_expect(rt, pto_scope_end(rt), PTO_OK); }
static struct pto_tensor allocated(struct pto_runtime *rt, uint64_t size) {
  struct pto_tensor t = fixture_managed(rt, size);
  fixture_expect(rt, pto_alloc_tensors(rt, &t, 1, NULL), PTO_OK);
  return t;
}
static struct pto_stats stats_of(struct pto_runtime *rt) {
  struct pto_stats stats = {.size = sizeof stats};
  pto_runtime_stats(rt, &stats);
  return stats;
}

/* Every way of using a tensor is refused as stale, with nothing changed. */
static void expect_stale(struct pto_runtime *rt, const struct pto_tensor *t, const char *part) {
  struct fixture_state before;
  uint64_t index = 0;
  uint8_t x = 0;
  fixture_state_take(rt, &before);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", t), PTO_ESTALE);
  fixture_expect_sentence(rt, part);
  fixture_expect_sentence(rt, "param 0");
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", t), PTO_ESTALE);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "b", t), PTO_ESTALE);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "a", t), PTO_ESTALE);
  fixture_expect(rt, pto_alloc_tensors(rt, t, 1, NULL), PTO_ESTALE);
  fixture_expect(rt, pto_read_element(rt, t, &index, &x), PTO_ESTALE);
  fixture_expect_sentence(rt, "read_element: buffer ");
  fixture_expect(rt, pto_write_element(rt, t, &index, &x), PTO_ESTALE);
  assert_int_equal(pto_get_buffer_addr(rt, t->buffer), 0);
  uint64_t count = 1;
  struct pto_tensor again = pto_managed_tensor(rt, t->buffer, PTO_UINT8, 1, &count);
  assert_int_equal(pto_tensor_status(&again), PTO_ESTALE);
  fixture_expect(rt, FIXTURE_TRY(rt, .launch = {.predicate = {t, PTO_IF_EQ, 0}}), PTO_ESTALE);
  fixture_state_expect(rt, &before);
}
static void expect_stale_task(struct pto_runtime *rt, const struct pto_task *task, const char *part) {
  struct fixture_state before;
  fixture_state_take(rt, &before);
  fixture_expect(rt, FIXTURE_TRY(rt, .launch = {.after = task, .after_count = 1}), PTO_ESTALE);
  fixture_expect_sentence(rt, part);
  fixture_expect(rt, pto_submit_barrier(rt, task, 1, NULL), PTO_ESTALE);
  fixture_state_expect(rt, &before);
}

/* ---- what comes back ---- */

static int temporaries_return(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor kept = allocated(rt, 1000), sum = fixture_bytes(f, 0, 100);
  for (uint64_t i = 0; i < 100; i++) {
    begin(rt);
    struct pto_tensor t = fixture_managed(rt, 3000);
    FIXTURE_DO(rt, .label = i, .modes = "io", .tensors = {&kept, &t});
    struct pto_tensor head = pto_tensor_slice(&t, 0, 0, 100, 1);
    FIXTURE_DO(rt, .label = i, .modes = "ib", .tensors = {&head, &sum});
    assert_int_equal(fixture_heap_offset(rt, 1, t.buffer), 0);
    end(rt);
  }
  return 0;
}
static void high_water_is_one_block(struct fixture *f) {
  assert_int_equal(stats_of(f->rt).heap_high_water_bytes, 3072);
  assert_int_equal(stats_of(f->rt).window_high_water, 2);
  assert_int_equal(fixture_call_count, 200);
}
static int slots_return(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 500; i++) {
    begin(rt);
    for (uint64_t k = 0; k < 3; k++) FIXTURE_DO(rt, .label = 3 * i + k);
    end(rt);
  }
  return 0;
}
static void all_1500_ran_once(struct fixture *f) {
  static uint8_t times[1500];
  memset(times, 0, sizeof times);
  assert_int_equal(fixture_call_count, 1500);
  for (uint32_t i = 0; i < 1500; i++) assert_int_equal(times[fixture_calls[i].label]++, 0);
  assert_int_equal(stats_of(f->rt).window_high_water, 3);
}
static int outer_goes_on_allocating(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor first = allocated(rt, 10);
  begin(rt);
  allocated(rt, 60000);
  end(rt);
  struct pto_tensor second = allocated(rt, 10);
  assert_int_equal(fixture_heap_offset(rt, 0, second.buffer), fixture_heap_offset(rt, 0, first.buffer) + 1024);
  return 0;
}
static int empty_scopes(struct pto_runtime *rt, struct fixture *f) {
  struct fixture_state before;
  fixture_state_take(rt, &before);
  for (int i = 0; i < 10000; i++) {
    begin(rt);
    end(rt);
  }
  fixture_state_expect(rt, &before);
  return 0;
}
static int run_holds_its_tasks(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 7; i++) FIXTURE_DO(rt, .label = i);
  fixture_drain(rt);
  return FIXTURE_TRY(rt, .label = 7);
}

/* ---- depth beyond the rings ---- */

static int rings_by_depth(struct pto_runtime *rt, struct fixture *f) {
  static const uint32_t rings[] = {0, 1, 2, 3, 3, 3};
  for (uint32_t depth = 0; depth < 6; depth++) {
    struct pto_tensor t = allocated(rt, 10);
    char *base = rt->rings.rings[rings[depth]].heap.base;
    uint64_t addr = pto_get_buffer_addr(rt, t.buffer);
    assert_true(addr >= (uintptr_t)base && addr < (uintptr_t)base + 65536);
    begin(rt);
  }
  for (uint32_t depth = 0; depth < 6; depth++) end(rt);
  return 0;
}
/* Temporaries of an inner scope, over and over, while the scope around it has an output of its own. */
static int at_depth(struct pto_runtime *rt, int depth) {
  for (int i = 0; i < depth; i++) begin(rt);
  allocated(rt, 2048);
  for (int round = 0; round < 10; round++) {
    begin(rt);
    struct pto_tensor t = fixture_managed(rt, 2048);
    int status = FIXTURE_TRY(rt, .modes = "o", .tensors = {&t});
    if (status) return status;
    end(rt);
  }
  for (int i = 0; i < depth; i++) end(rt);
  return 0;
}
static int fits_at_depth_3(struct pto_runtime *rt, struct fixture *f) { return at_depth(rt, 2); }
static int too_deep_for_its_own_ring(struct pto_runtime *rt, struct fixture *f) { return at_depth(rt, 3); }
static int shared_ring_returns_with_its_outermost(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  begin(rt);
  for (int round = 0; round < 5; round++) {
    begin(rt); /* depth 3: the first of the last ring */
    for (int i = 0; i < 2; i++) {
      begin(rt);
      struct pto_tensor t = fixture_managed(rt, 2048);
      FIXTURE_DO(rt, .modes = "o", .tensors = {&t});
      end(rt);
    }
    end(rt);
  }
  end(rt);
  end(rt);
  return 0;
}
static int window_held_by_nested_scopes(struct pto_runtime *rt, struct fixture *f) {
  for (int i = 0; i < 3; i++) begin(rt);
  for (uint64_t i = 0; i < 4; i++) FIXTURE_DO(rt, .label = i);
  begin(rt);
  for (uint64_t i = 0; i < 3; i++) FIXTURE_DO(rt, .label = 10 + i);
  return FIXTURE_TRY(rt, .label = 20);
}
static int sixty_four_deep(struct pto_runtime *rt, struct fixture *f) {
  struct fixture_state before;
  for (int i = 0; i < 64; i++) begin(rt);
  FIXTURE_DO(rt, .label = 1);
  fixture_state_take(rt, &before);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_EINVAL);
  fixture_expect_sentence(rt, "64");
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_MANUAL), PTO_EINVAL);
  fixture_state_expect(rt, &before);
  for (int i = 0; i < 64; i++) end(rt);
  fixture_expect(rt, pto_scope_end(rt), PTO_EINVAL);
  fixture_expect_sentence(rt, "no scope is open but the run's own");
  for (int i = 0; i < 64; i++) begin(rt);
  for (int i = 0; i < 64; i++) end(rt);
  return 0;
}

/* ---- stale handles ---- */

static int buffer_after_its_scope(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor t = allocated(rt, 16);
  end(rt);
  expect_stale(rt, &t, "used after its scope has ended");
  return 0;
}
static int view_after_its_scope(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor t = allocated(rt, 16), view = pto_tensor_slice(&t, 0, 4, 8, 1);
  end(rt);
  expect_stale(rt, &view, "used after its scope has ended");
  return 0;
}
static int unallocated_buffer_after_its_scope(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor t = fixture_managed(rt, 16);
  end(rt);
  expect_stale(rt, &t, "used after its scope has ended");
  return 0;
}
static int recycled_record(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor old = allocated(rt, 16);
  end(rt);
  struct pto_tensor fresh = allocated(rt, 16);
  assert_int_equal((uint32_t)old.buffer.generation, (uint32_t)fresh.buffer.generation); /* the same record */
  expect_stale(rt, &old, "used after its scope has ended");
  FIXTURE_DO(rt, .modes = "i", .tensors = {&fresh});
  return 0;
}
static int lives_where_it_is_allocated(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor inner = fixture_managed(rt, 16), outer = fixture_managed(rt, 16);
  begin(rt);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&inner});
  end(rt);
  expect_stale(rt, &inner, "used after its scope has ended");
  FIXTURE_DO(rt, .modes = "o", .tensors = {&outer});
  begin(rt);
  FIXTURE_DO(rt, .modes = "b", .tensors = {&outer});
  end(rt);
  FIXTURE_DO(rt, .modes = "i", .tensors = {&outer});
  return 0;
}
static int external_after_its_scope(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor t = fixture_bytes(f, 0, 16);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&t});
  end(rt);
  expect_stale(rt, &t, "used after its scope has ended");
  struct pto_tensor again = fixture_bytes(f, 8, 16);
  FIXTURE_DO(rt, .modes = "i", .tensors = {&again});
  assert_int_equal(fixture_edges(rt), 1); /* what was done to the memory is still known */
  return 0;
}
static int second_registration_lives(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor outer = fixture_bytes(f, 0, 32);
  begin(rt);
  struct pto_tensor inner = fixture_bytes(f, 8, 8);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&inner});
  end(rt);
  FIXTURE_DO(rt, .modes = "b", .tensors = {&outer});
  assert_int_equal(fixture_edges(rt), 1);
  return 0;
}

/* Handles that a run leaves behind for the next. */
static struct pto_tensor left_buffer, left_external, left_outside;
static struct pto_task left_task;
static int leave_handles(struct pto_runtime *rt, struct fixture *f) {
  left_buffer = allocated(rt, 16);
  left_external = fixture_bytes(f, 0, 16);
  FIXTURE_DO(rt, .label = 1, .out = &left_task);
  return 0;
}
static int find_them_stale(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor fresh = allocated(rt, 16);
  FIXTURE_DO(rt, .label = 1, .out = NULL);
  assert_int_equal((uint32_t)fresh.buffer.generation, (uint32_t)left_buffer.buffer.generation);
  expect_stale(rt, &left_buffer, "used after its scope has ended");
  expect_stale(rt, &left_external, "used after its scope has ended");
  expect_stale_task(rt, &left_task, "a task of an earlier run");
  return 0;
}
static void in_the_next_run(struct fixture *f) { fixture_run(f, find_them_stale, PTO_OK); }
static int use_outside(struct pto_runtime *rt, struct fixture *f) {
  FIXTURE_DO(rt, .modes = "b", .tensors = {&left_outside});
  struct pto_tensor next = pto_tensor_with_version(&left_outside, 1);
  FIXTURE_DO(rt, .modes = "o", .tensors = {&next}); /* versions start anew in each run */
  return 0;
}
static void outside_registrations_live(struct fixture *f) {
  uint64_t count = 16;
  left_outside = pto_external_tensor(f->rt, f->memory + 100, PTO_UINT8, 1, &count);
  for (int i = 0; i < 3; i++) fixture_run(f, use_outside, PTO_OK);
  assert_int_equal(fixture_edges(f->rt), 1);
}
static int nothing_to_do(struct pto_runtime *rt, struct fixture *f) { return 0; }

/* ---- another runtime ---- */

static struct fixture other;
static int use_in_another(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor own = allocated(rt, 16);
  assert_int_equal(own.buffer.id, left_buffer.buffer.id); /* ids alone would meet */
  expect_stale(rt, &left_buffer, "belongs to another runtime");
  FIXTURE_DO(rt, .label = 5);
  expect_stale_task(rt, &left_task, "a task of another runtime");
  return 0;
}
static int external_in_another(struct pto_runtime *rt, struct fixture *f) {
  expect_stale(rt, &left_external, "belongs to another runtime");
  return 0;
}
static void in_other(int (*body)(struct pto_runtime *, struct fixture *)) {
  memset(&other, 0, sizeof other);
  fixture_open(&other);
  fixture_run(&other, body, PTO_OK);
  fixture_close(&other);
}
static int foreign_handles(struct pto_runtime *rt, struct fixture *f) {
  leave_handles(rt, f);
  in_other(use_in_another);
  return 0;
}
static int foreign_external(struct pto_runtime *rt, struct fixture *f) {
  leave_handles(rt, f);
  in_other(external_in_another);
  return 0;
}

/* ---- tasks ---- */

static int task_until_its_slot_comes_round(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task task, barrier;
  begin(rt);
  FIXTURE_DO(rt, .label = 1, .out = &task);
  end(rt);
  for (int i = 0; i < 7; i++) {
    begin(rt);
    fixture_expect(rt, pto_submit_barrier(rt, &task, 1, &barrier), PTO_OK);
    end(rt);
  }
  assert_int_equal(fixture_edges(rt), 7);
  begin(rt);
  expect_stale_task(rt, &task, "more than 8 submits old");
  end(rt);
  return 0;
}
static int task_after_its_scope(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task task;
  begin(rt);
  FIXTURE_DO(rt, .label = 1, .out = &task);
  end(rt);
  FIXTURE_DO(rt, .label = 2, .launch = {.after = &task, .after_count = 1});
  assert_int_equal(fixture_edges(rt), 1);
  fixture_drain(rt);
  assert_true(fixture_position(1) < fixture_position(2));
  return 0;
}
static int no_task_at_all(struct pto_runtime *rt, struct fixture *f) {
  struct pto_task none = {0, 0};
  fixture_expect(rt, FIXTURE_TRY(rt, .launch = {.after = &none, .after_count = 1}), PTO_EINVAL);
  fixture_expect_sentence(rt, "explicit dependency 0");
  return 0;
}

/* ---- kinds ---- */

static int automatic_in_manual(struct pto_runtime *rt, struct fixture *f) {
  struct fixture_state before;
  begin(rt);
  begin_manual(rt);
  fixture_state_take(rt, &before);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_EINVAL);
  fixture_expect_sentence(rt, "automatic scope cannot be inside a manual one (scope 2, depth 2)");
  fixture_state_expect(rt, &before);
  begin_manual(rt);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_EINVAL);
  end(rt);
  end(rt);
  begin(rt);
  end(rt);
  end(rt);
  return 0;
}
static int unknown_kind(struct pto_runtime *rt, struct fixture *f) {
  fixture_expect(rt, pto_scope_begin(rt, 7), PTO_EINVAL);
  fixture_expect_sentence(rt, "scope kind 7");
  return 0;
}
static int manual_orders_nothing(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 16);
  struct pto_task first;
  begin_manual(rt);
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&t}, .out = &first);
  FIXTURE_DO(rt, .label = 2, .modes = "o", .tensors = {&t});
  assert_int_equal(fixture_edges(rt), 0);
  FIXTURE_DO(rt, .label = 3, .modes = "i", .tensors = {&t}, .launch = {.after = &first, .after_count = 1});
  assert_int_equal(fixture_edges(rt), 1);
  end(rt);
  FIXTURE_DO(rt, .label = 4, .modes = "o", .tensors = {&t});
  assert_int_equal(fixture_edges(rt), 4);
  fixture_drain(rt);
  assert_int_equal(fixture_position(4), 3);
  return 0;
}
static int scopes_order_nothing(struct pto_runtime *rt, struct fixture *f) {
  for (uint64_t i = 0; i < 5; i++) {
    struct pto_tensor t = fixture_bytes(f, 16 * i, 16);
    begin(rt);
    FIXTURE_DO(rt, .label = i, .modes = "b", .tensors = {&t});
    end(rt);
  }
  assert_int_equal(fixture_edges(rt), 0);
  assert_int_equal(rt->scheduler.cores.in_flight + rt->scheduler.ready_count, 5);
  return 0;
}

/* ---- ends with work running, memory held without an edge ---- */

static int end_with_work_running(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor t = fixture_bytes(f, 0, 16);
  begin(rt);
  for (uint64_t i = 0; i < 5; i++) FIXTURE_DO(rt, .label = i, .modes = "b", .tensors = {&t});
  end(rt);
  assert_int_equal(fixture_call_count, 0); /* the end did not wait */
  assert_int_equal(rt->rings.rings[1].head - rt->rings.rings[1].tail, 5);
  fixture_drain(rt);
  assert_int_equal(rt->rings.rings[1].head - rt->rings.rings[1].tail, 0);
  return 0;
}
static int next_scope_waits_for_the_last_ones_memory(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor a = fixture_managed(rt, 1024);
  FIXTURE_DO(rt, .label = 1, .modes = "o", .tensors = {&a});
  end(rt);
  begin(rt);
  struct pto_tensor b = fixture_managed(rt, 1024);
  assert_int_equal(fixture_call_count, 0);
  FIXTURE_DO(rt, .label = 2, .modes = "o", .tensors = {&b});
  assert_int_equal(fixture_position(1), 0);
  end(rt);
  assert_int_equal(stats_of(rt).submit_waits, 1);
  return 0;
}
/* A reader in a deeper ring whose buffer's own task is done long since: nothing but the parameter holds the memory. */
static int held_by(struct pto_runtime *rt, uint32_t kind, const char *mode, const struct pto_predicate *no_predicate) {
  fixture_expect(rt, pto_scope_begin(rt, kind), PTO_OK);
  struct pto_tensor a = allocated(rt, 1024), byte = pto_tensor_slice(&a, 0, 5, 6, 1);
  const uint64_t first = 0;
  const uint8_t five = 5; /* so that the predicate reads what was written */
  fixture_expect(rt, pto_write_element(rt, &byte, &first, &five), PTO_OK);
  fixture_expect(rt, pto_scope_begin(rt, kind), PTO_OK);
  if (no_predicate)
    FIXTURE_DO(rt, .label = 1, .launch = {.predicate = {&byte, PTO_IF_LT, 256}});
  else
    FIXTURE_DO(rt, .label = 1, .modes = mode, .tensors = {&byte});
  end(rt);
  end(rt);
  assert_int_equal(fixture_call_count, 0);
  assert_int_equal(pto_heap_ring_used(&rt->rings.rings[1].heap), 1024);
  begin(rt);
  allocated(rt, 1024);
  assert_int_equal(fixture_position(1), 0); /* had to wait for it */
  end(rt);
  return 0;
}
static int held_by_an_input(struct pto_runtime *rt, struct fixture *f) {
  return held_by(rt, PTO_SCOPE_AUTO, "i", NULL);
}
static int held_in_a_manual_scope(struct pto_runtime *rt, struct fixture *f) {
  return held_by(rt, PTO_SCOPE_MANUAL, "i", NULL);
}
static int held_by_an_inout(struct pto_runtime *rt, struct fixture *f) {
  return held_by(rt, PTO_SCOPE_MANUAL, "b", NULL);
}
static int held_by_an_output(struct pto_runtime *rt, struct fixture *f) {
  return held_by(rt, PTO_SCOPE_MANUAL, "o", NULL);
}
static int held_by_an_accumulate(struct pto_runtime *rt, struct fixture *f) {
  return held_by(rt, PTO_SCOPE_MANUAL, "a", NULL);
}
static int held_by_a_predicate(struct pto_runtime *rt, struct fixture *f) {
  static const struct pto_predicate yes;
  return held_by(rt, PTO_SCOPE_AUTO, NULL, &yes);
}
static int held_until_the_last_of_many(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor a = allocated(rt, 1024);
  begin(rt);
  for (uint64_t i = 0; i < 40; i++) FIXTURE_DO(rt, .label = i, .modes = "i", .tensors = {&a});
  end(rt);
  end(rt);
  begin(rt);
  allocated(rt, 1024);
  assert_int_equal(fixture_call_count, 40);
  end(rt);
  return 0;
}
static int given_back_at_completion(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  struct pto_tensor a = allocated(rt, 1024);
  FIXTURE_DO(rt, .label = 1, .modes = "i", .tensors = {&a});
  end(rt);
  fixture_drain(rt);
  assert_int_equal(pto_heap_ring_used(&rt->rings.rings[1].heap), 0);
  return 0;
}

static const struct fixture_case cases[] = {
    {.name = "temporaries of inner scopes come back while the outer is open",
     .body = temporaries_return,
     .heap_bytes = 4096,
     .after = high_water_is_one_block},
    {.name = "slots of inner scopes come back while the outer is open",
     .body = slots_return,
     .window = 4,
     .after = all_1500_ran_once},
    {.name = "an outer scope goes on where it was when an inner one has ended", .body = outer_goes_on_allocating},
    {.name = "ten thousand empty scopes leave nothing behind", .body = empty_scopes},
    {.name = "the run is a scope and keeps its completed tasks",
     .body = run_holds_its_tasks,
     .status = PTO_ESCOPE,
     .window = 8},
    {.name = "each of the first depths has a ring, deeper ones share the last", .body = rings_by_depth},
    {.name = "temporaries at the last depth with a ring of its own come back",
     .body = fits_at_depth_3,
     .heap_bytes = 4096},
    {.name = "the same program one scope deeper fails and the error names the scope",
     .body = too_deep_for_its_own_ring,
     .status = PTO_EHEAP,
     .heap_bytes = 4096,
     .sentence = "open scope 3 (depth 3) holds 2 tasks and 4096 bytes"},
    {.name = "a shared ring is given back when its outermost scope ends",
     .body = shared_ring_returns_with_its_outermost,
     .heap_bytes = 4096},
    {.name = "nested scopes that share a ring and fill its window are all named",
     .body = window_held_by_nested_scopes,
     .status = PTO_EWINDOW,
     .window = 8,
     .sentence = "open scope 3 (depth 3) holds 4 tasks and 0 bytes; open scope 4 (depth 4) holds 3 tasks"},
    {.name = "scopes nest 64 deep and the 65th is refused", .body = sixty_four_deep},
    {.name = "a buffer is stale after its scope on every path", .body = buffer_after_its_scope},
    {.name = "a view is stale after its buffer's scope", .body = view_after_its_scope},
    {.name = "a buffer that was never allocated is stale after the scope that made it",
     .body = unallocated_buffer_after_its_scope},
    {.name = "a stale handle never means the new buffer in the same record", .body = recycled_record},
    {.name = "a buffer lives in the scope of the task that allocates it", .body = lives_where_it_is_allocated},
    {.name = "an external registration ends with its scope, what was done to the memory is still known",
     .body = external_after_its_scope},
    {.name = "of two registrations of one memory the outer one lives on", .body = second_registration_lives},
    {.name = "handles of a run are stale in the next run", .body = leave_handles, .after = in_the_next_run},
    {.name = "registrations made outside runs live through many of them",
     .body = nothing_to_do,
     .after = outside_registrations_live},
    {.name = "buffers and tasks of another runtime are refused although their ids exist here", .body = foreign_handles},
    {.name = "an external registration of another runtime is refused", .body = foreign_external},
    {.name = "a task can be waited for until its slot comes round",
     .body = task_until_its_slot_comes_round,
     .window = 8},
    {.name = "a task can be waited for after its scope", .body = task_after_its_scope},
    {.name = "a zeroed task is no task", .body = no_task_at_all},
    {.name = "an automatic scope in a manual one is refused, the other way is not", .body = automatic_in_manual},
    {.name = "a scope of an unknown kind is refused", .body = unknown_kind},
    {.name = "in a manual scope only explicit dependencies order, automatic tasks after it see all",
     .body = manual_orders_nothing},
    {.name = "scopes by themselves order nothing", .body = scopes_order_nothing},
    {.name = "a scope may end while its work runs", .body = end_with_work_running},
    {.name = "memory of an ended scope is reused only when its task has completed",
     .body = next_scope_waits_for_the_last_ones_memory,
     .heap_bytes = 1024},
    {.name = "an input holds memory without an edge", .body = held_by_an_input, .heap_bytes = 1024},
    {.name = "an input holds memory in manual scopes too", .body = held_in_a_manual_scope, .heap_bytes = 1024},
    {.name = "an inout holds memory without an edge", .body = held_by_an_inout, .heap_bytes = 1024},
    {.name = "an output in place holds memory without an edge", .body = held_by_an_output, .heap_bytes = 1024},
    {.name = "an accumulate holds memory without an edge", .body = held_by_an_accumulate, .heap_bytes = 1024},
    {.name = "a predicate holds memory like an input", .body = held_by_a_predicate, .heap_bytes = 1024},
    {.name = "memory is held until the last of forty readers", .body = held_until_the_last_of_many, .heap_bytes = 1024},
    {.name = "memory comes back at once when the last holder completes", .body = given_back_at_completion},
};

int main(void) { return fixture_run_cases("scopes", cases, PTO_ARRAY_LENGTH(cases)); }
