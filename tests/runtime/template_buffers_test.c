/* SPDX-License-Identifier: MIT */
/*
 * What a form remembers of its buffers (runtime/submit/template.h), where a buffer changes between two submits that
 * are the same to the letter: each is judged, and ordered, by what the buffer is by then.
 *
 * Every case runs with a recorded graph and without, as submits go different ways then.
 * To add a change: a body that makes the second submit differ from the first by what happened in between alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tests/support/template_hits.h>
#include <tests/support/runtime_fixture.h>

static const struct pto_kernel *copy_kernel(void) { return fixture_kernel("io"); }

static int try_copy(struct pto_runtime *rt, const struct pto_tensor *from, const struct pto_tensor *to) {
  const struct pto_param params[] = {pto_input(from), pto_output(to)};
  return pto_submit_aiv(rt, copy_kernel(), params, 2);
}

/* Two submits of one form, the second of which is known to have taken it. */
static void repeat_copy(struct pto_runtime *rt, const struct pto_tensor *from, const struct pto_tensor *to) {
  fixture_expect(rt, try_copy(rt, from, to), PTO_OK);
  const struct template_mark mark = template_mark_take(rt);
  fixture_expect(rt, try_copy(rt, from, to), PTO_OK);
  assert_true(template_was_hit(rt, mark));
}

static int version_that_goes_on(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor from = fixture_bytes(f, 0, 64), to = fixture_bytes(f, 64, 64);
  repeat_copy(rt, &from, &to);
  const struct pto_tensor next = pto_tensor_with_version(&from, 1);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &next), PTO_OK);
  fixture_expect(rt, try_copy(rt, &from, &to), PTO_EINVAL);
  fixture_expect_sentence(rt, "names version 0");
  repeat_copy(rt, &next, &to);
  fixture_expect(rt, try_copy(rt, &from, &to), PTO_EINVAL);
  return 0;
}

static int scope_that_ends(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor to = fixture_bytes(f, 64, 64);
  fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
  struct pto_tensor from = fixture_bytes(f, 0, 64);
  repeat_copy(rt, &from, &to);
  fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  fixture_expect(rt, try_copy(rt, &from, &to), PTO_ESTALE);
  /* and where another buffer has the record by then */
  struct pto_tensor again = fixture_bytes(f, 0, 64);
  assert_int_equal((uint32_t)again.buffer.generation, (uint32_t)from.buffer.generation);
  repeat_copy(rt, &again, &to);
  fixture_expect(rt, try_copy(rt, &from, &to), PTO_ESTALE);
  return 0;
}

/* Managed memory of a scope, held by those who use it, and then that of the next scope. */
static int scopes_in_turn(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor to = fixture_bytes(f, 64, 64), last = to;
  for (int i = 0; i < 4; i++) {
    fixture_expect(rt, pto_scope_begin(rt, PTO_SCOPE_AUTO), PTO_OK);
    struct pto_tensor from = fixture_managed(rt, 64);
    if (i) fixture_expect(rt, try_copy(rt, &last, &to), PTO_ESTALE);
    fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &from), PTO_OK);
    repeat_copy(rt, &from, &to);
    assert_int_equal(pto_payload_held_count(template_last_payload(rt)), 1);
    repeat_copy(rt, &to, &from);
    last = from;
    fixture_expect(rt, pto_scope_end(rt), PTO_OK);
  }
  return 0;
}

/* Two registrations that have nothing to do with each other, until a third one joins them to one memory. */
static int registration_that_joins_two(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor from = fixture_bytes(f, 0, 64), to = fixture_bytes(f, 128, 64);
  repeat_copy(rt, &from, &to);
  struct pto_tensor all = fixture_bytes(f, 0, 192);
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "o", &all), PTO_OK);
  const uint64_t edges = fixture_edges(rt);
  fixture_expect(rt, try_copy(rt, &from, &to), PTO_OK);
  assert_int_equal(fixture_edges(rt), edges + 1); /* behind the writer of all, whose handle is another buffer's */
  fixture_expect(rt, FIXTURE_SUBMIT(rt, "i", &all), PTO_OK);
  assert_int_equal(fixture_edges(rt), edges + 3); /* and found by who comes through that */
  return 0;
}

/* Tensors that lay in different memory, and could not meet, come to lie in the same. */
static int tensors_that_come_together(struct pto_runtime *rt, struct fixture *f) {
  struct pto_tensor one = fixture_bytes(f, 0, 64), other = fixture_bytes(f, 128, 64);
  repeat_copy(rt, &one, &other);
  fixture_expect(rt, try_copy(rt, &one, &one), PTO_EINVAL);
  fixture_expect_sentence(rt, "share bytes");
  repeat_copy(rt, &one, &other);
  struct pto_tensor shifted = fixture_bytes(f, 150, 64);
  fixture_expect(rt, try_copy(rt, &shifted, &other), PTO_EINVAL);
  fixture_expect_sentence(rt, "share bytes");
  return 0;
}

static void run_both(int (*body)(struct pto_runtime *, struct fixture *)) {
  for (uint32_t record = PTO_RECORD_GRAPH; record <= PTO_RECORD_TIMELINE; record++) {
    static struct fixture f;
    memset(&f, 0, sizeof f);
    f.config.record = record;
    fixture_open(&f);
    for (int i = 0; i < 2; i++) fixture_run(&f, body, PTO_OK);
    fixture_close(&f);
  }
}
static void test_a_version_that_has_gone_on_is_refused(void **state) {
  (void)state;
  run_both(version_that_goes_on);
}
static void test_a_handle_whose_scope_has_ended_is_stale(void **state) {
  (void)state;
  run_both(scope_that_ends);
}
static void test_memory_of_scopes_in_turn_is_found_and_held(void **state) {
  (void)state;
  run_both(scopes_in_turn);
}
static void test_registrations_that_are_joined_order_tasks_through_both(void **state) {
  (void)state;
  run_both(registration_that_joins_two);
}
static void test_tensors_that_come_to_lie_in_one_memory_may_not_meet(void **state) {
  (void)state;
  run_both(tensors_that_come_together);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_version_that_has_gone_on_is_refused),
      cmocka_unit_test(test_a_handle_whose_scope_has_ended_is_stale),
      cmocka_unit_test(test_memory_of_scopes_in_turn_is_found_and_held),
      cmocka_unit_test(test_registrations_that_are_joined_order_tasks_through_both),
      cmocka_unit_test(test_tensors_that_come_to_lie_in_one_memory_may_not_meet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
