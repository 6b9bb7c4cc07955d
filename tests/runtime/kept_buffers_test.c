/* SPDX-License-Identifier: MIT */
/*
 * config.keep_released: buffers of ended scopes can be used until their slot or their memory is needed, oldest first and
 * no sooner, whatever has completed by then.
 *
 * To add one: an orchestration and a line in `cases`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/runtime_fixture.h>

#define PIECE 1024u

static void begin(struct pto_runtime *rt) { fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK); }
static void end(struct pto_runtime *rt) { fixture_expect(rt, pto_scope_end(rt), PTO_OK); }

/* A buffer of `pieces` pieces of a heap, which a task of a scope that has ended wrote. */
static struct pto_tensor released(struct pto_runtime *rt, uint64_t pieces) {
  struct pto_tensor t = fixture_managed(rt, pieces * PIECE);
  begin(rt);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &t), PTO_OK);
  end(rt);
  return t;
}

static int every_use_is_good(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  const uint64_t four = 4, index = 2;
  uint8_t x = 9, y = 0;
  const struct pto_tensor t = released(rt, 1), out = fixture_bytes(f, 0, 8);
  fixture_drain(rt); /* what has completed does not matter */
  const struct pto_tensor gate = pto_managed_tensor(rt, t.buffer, PTO_INT8, 1, &(uint64_t){PIECE});
  const struct pto_tensor element = pto_tensor_slice(&gate, 0, 1, 2, 1);
  FIXTURE_DO(rt, .label = 1, .modes = "io", .tensors = {&t, &out});
  const struct pto_tensor part = pto_tensor_slice(&t, 0, 0, four, 1);
  FIXTURE_DO(rt, .label = 2, .modes = "b", .tensors = {&part});
  FIXTURE_DO(rt, .label = 3, .launch = {.predicate = {&element, PTO_IF_EQ, 0}});
  fixture_expect(rt, pto_write_element(rt, &t, &index, &x), PTO_OK);
  fixture_expect(rt, pto_read_element(rt, &t, &index, &y), PTO_OK);
  assert_int_equal(y, 9);
  assert_true(pto_get_buffer_addr(rt, t.buffer) != 0);
  assert_int_equal(fixture_reasons(rt, 0, 1), PTO_EDGE_RAW);
  assert_int_equal(fixture_reasons(rt, 1, 2), PTO_EDGE_WAR);
  assert_int_equal(fixture_reasons(rt, 0, 3), PTO_EDGE_RAW);
  return 0;
}

/* A heap of four pieces: the fifth takes the oldest one's memory, and no other's. */
static int memory_goes_oldest_first(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  struct pto_tensor t[6];
  for (int i = 0; i < 4; i++) t[i] = released(rt, 1);
  fixture_drain(rt);
  for (int i = 0; i < 4; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t[i]), PTO_OK);
  t[4] = released(rt, 1);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t[0]), PTO_ESTALE);
  fixture_expect_sentence(rt, "is used after its scope has ended, and its memory was given back since");
  for (int i = 1; i <= 4; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t[i]), PTO_OK);
  t[5] = released(rt, 2); /* two more */
  for (int i = 1; i <= 5; i++) fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t[i]), i <= 2 ? PTO_ESTALE : PTO_OK);
  return 0;
}

/* The new task waits until the late one is over. */
static int a_late_task_holds_the_memory(struct pto_runtime *rt, struct fixture *f) {
  static uint64_t label = 100; /* of each round its own */
  label++;
  const struct pto_tensor t = released(rt, 4), out = fixture_bytes(f, 0, 8);
  fixture_drain(rt);
  FIXTURE_DO(rt, .label = label, .modes = "io", .tensors = {&t, &out});
  assert_int_equal(fixture_position(label), FIXTURE_MAX_CALLS);
  const struct pto_tensor next = released(rt, 4);
  assert_true(fixture_position(label) < FIXTURE_MAX_CALLS);
  assert_int_equal(fixture_heap_offset(rt, 1, next.buffer), 0);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_ESTALE);
  return 0;
}

/* Windows come round too, and a slot takes its buffers with it. */
static int slots_go_oldest_first(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  const struct pto_tensor t = released(rt, 1);
  for (int i = 0; i < 6; i++) {
    begin(rt);
    fixture_expect(rt, FIXTURE_TRY(rt, .label = 1), PTO_OK);
    end(rt);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK);
    fixture_drain(rt);
  }
  begin(rt); /* the eighth of a window of 8 */
  fixture_expect(rt, FIXTURE_TRY(rt, .label = 1), PTO_OK);
  end(rt);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_ESTALE);
  return 0;
}

/* What a task uses is not taken for its own outputs: it is refused, nothing has changed, and the run goes on. */
static int not_for_the_user_itself(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  struct fixture_state before;
  const struct pto_tensor t = released(rt, 3), bytes = fixture_managed(rt, 2 * PIECE);
  fixture_drain(rt);
  begin(rt);
  fixture_state_take(rt, &before);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "io", &t, &bytes), PTO_ESTALE);
  fixture_expect_sentence(rt, "the room that it takes is needed for this task");
  fixture_state_expect(rt, &before);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &bytes), PTO_OK);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_ESTALE);
  end(rt);
  return 0;
}

/* Room that open scopes hold is an error as ever, once all that ended ones kept is gone. */
static int open_scopes_hold_all(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  (void)released(rt, 2);
  begin(rt);
  const struct pto_tensor a = fixture_managed(rt, 3 * PIECE), b = fixture_managed(rt, 2 * PIECE);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &a), PTO_OK);
  return FIXTURE_SUBMIT(rt, "o", &b);
}

/* Buffers that were never written, and registrations, go with their scope as ever. */
static int what_has_no_memory_of_ours_goes(struct pto_runtime *rt, struct fixture *f) {
  begin(rt);
  const struct pto_tensor outside = fixture_bytes(f, 0, 8);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &outside), PTO_OK);
  end(rt);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &outside), PTO_ESTALE);
  begin(rt);
  const struct pto_tensor none = fixture_managed(rt, 8);
  end(rt);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &none), PTO_ESTALE);
  return 0;
}

static const struct {
  const char *name;
  int (*body)(struct pto_runtime *, struct fixture *);
  int status;
  uint64_t window; /* 0: 64 */
} cases[] = {
    {"every use is good", every_use_is_good, PTO_OK, 0},
    {"memory goes oldest first", memory_goes_oldest_first, PTO_OK, 0},
    {"a late task holds the memory", a_late_task_holds_the_memory, PTO_OK, 0},
    {"slots go oldest first", slots_go_oldest_first, PTO_OK, 8},
    {"not for the user itself", not_for_the_user_itself, PTO_OK, 0},
    {"open scopes hold all", open_scopes_hold_all, PTO_EHEAP, 0},
    {"what has no memory of ours goes", what_has_no_memory_of_ours_goes, PTO_OK, 0},
};

static void test_buffers_of_ended_scopes_are_there_until_their_room_is_needed(void **state) {
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    struct fixture f = {.config = {.window = cases[i].window, .heap_bytes = 4 * PIECE, .keep_released = true}};
    print_message("  %s\n", cases[i].name);
    fixture_open(&f);
    for (int round = 0; round < 2; round++) fixture_run(&f, cases[i].body, cases[i].status); /* the first leaves nothing */
    fixture_close(&f);
  }
}

static int stale_at_once(struct pto_runtime *rt, struct fixture *f) {
  (void)f;
  const struct pto_tensor t = released(rt, 1);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &t), PTO_ESTALE);
  return 0;
}

static void test_without_it_they_go_with_their_scope(void **state) {
  (void)state;
  struct fixture f = {0};
  fixture_open(&f);
  fixture_run(&f, stale_at_once, PTO_OK);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_buffers_of_ended_scopes_are_there_until_their_room_is_needed),
      cmocka_unit_test(test_without_it_they_go_with_their_scope),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
