/* SPDX-License-Identifier: MIT */
/*
 * Recordings of which the n-th allocation fails, n = 1, 2, … until none does: the call that needed it is refused, the
 * run goes on, a recording that came about launches, and nothing is lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/control/runtime_state.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/runtime_fixture.h>

/* More of each kind than the first piece of a list has. */
#define TASKS 40u

static struct fixture fixture;
static uint32_t refused, failed_begins, failed_ends;

static bool note(struct pto_runtime *rt, int status) {
  if (status == PTO_OK) return true;
  fixture_expect(rt, status, PTO_ENOMEM);
  fixture_expect_sentence(rt, "no memory");
  refused++;
  return false;
}

/* Half of the bytes in one task, the other in the next; each with a temporary that begins with a value. */
static int record_and_launch(struct pto_runtime *rt, struct fixture *f) {
  const struct pto_tensor in = fixture_bytes(f, 0, 64), out = fixture_bytes(f, 64, 64);
  const struct pto_param boundary[] = {pto_input(&in), pto_output(&out)};
  const struct pto_recorded_launch launch = {.size = sizeof launch, .params = boundary, .count = 2};
  struct pto_recorded *recorded = NULL;
  if (!note(rt, pto_recorded_begin(rt, boundary, 2))) {
    failed_begins++;
    return 0;
  }
  for (uint32_t i = 0; i < TASKS; i++) {
    const struct pto_tensor t = fixture_managed(rt, 64);
    const struct pto_initial initial = {.param = 1, .bits = i};
    const struct pto_param params[] = {pto_input(&in), pto_output(&t), pto_output(&out), pto_scalar_u64(i)};
    const struct pto_launch with = {.aiv0 = fixture_kernel("ioos"), .initial = &initial, .initial_count = 1};
    struct pto_task task = {0};
    const uint64_t tasks = fixture_tasks(rt);
    (void)note(rt, pto_submit(rt, &with, params, 4, &task));
    assert_int_equal(fixture_tasks(rt), tasks); /* recorded or refused, it does not run */
  }
  if (!note(rt, pto_recorded_end(rt, &recorded))) {
    failed_ends++;
    return 0;
  }
  for (int i = 0; i < 2; i++) {
    fixture_expect(rt, pto_submit_recorded(rt, recorded, &launch, NULL), PTO_OK);
    fixture_drain(rt);
  }
  pto_recorded_destroy(recorded);
  return 0;
}

static void every_allocation_of_a_recording_may_fail(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  fixture_open(&fixture);
  fixture_run(&fixture, record_and_launch, PTO_OK);
  uint32_t failures = 0;
  for (bool is_over = false; !is_over; failures++) {
    const int64_t before = live_blocks;
    fail_countdown = failures + 1;
    fixture_run(&fixture, record_and_launch, PTO_OK);
    is_over = fail_countdown != 0;
    fail_countdown = 0;
    assert_int_equal(live_blocks, before);
    assert_int_equal(refused, failures + !is_over);
  }
  assert_in_range(failures, 12, 100);
  assert_int_equal(failed_begins, 1);
  assert_in_range(failed_ends, 1, 2);
  fixture_close(&fixture);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_of_a_recording_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
