/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sim/handover.h>

static struct pto_handover handover;

static void begin(uint64_t own_ns) {
  pto_handover_init(&handover);
  for (uint32_t i = 0; i < PTO_HANDOVER_OWN; i++) pto_handover_note_own(&handover, own_ns);
}

/* A group of kernels that are sent, each waited for so long; whether they are then kept. */
static bool send_group(uint64_t waited_ns, uint64_t now_ns) {
  for (uint32_t i = 0; i < PTO_HANDOVER_GROUP; i++) {
    handover.sent++;
    if (pto_handover_note_wait(&handover, waited_ns, now_ns)) return true;
  }
  return false;
}

static void test_kernels_are_kept_where_waiting_for_them_took_longer_than_running_them(void **state) {
  begin(1000);
  assert_false(send_group(1000, 5));
  assert_false(pto_handover_is_keeping(&handover));
  assert_true(send_group(1001, 5));
  assert_true(pto_handover_is_keeping(&handover));
}

static void test_a_worker_off_its_cpu_is_noticed_at_once(void **state) {
  begin(1000);
  handover.sent = 1;
  assert_true(pto_handover_note_wait(&handover, PTO_HANDOVER_WAITED_NS, 5));
}

static void test_one_kernel_that_met_another_job_does_not_count(void **state) {
  begin(1000);
  for (int i = 0; i < 3; i++) pto_handover_note_own(&handover, 4000000);
  assert_true(send_group(1500, 5));
}

static void test_nothing_is_kept_before_own_kernels_are_known(void **state) {
  pto_handover_init(&handover);
  assert_false(send_group(1000000, 5));
  for (uint32_t i = 0; i + 1 < PTO_HANDOVER_OWN; i++) pto_handover_note_own(&handover, 10);
  assert_false(send_group(1000000, 5));
}

static void test_they_are_kept_longer_with_each_loss_and_no_longer_after_a_gain(void **state) {
  const uint64_t waited = PTO_HANDOVER_GROUP * 2000;
  uint64_t keep = PTO_HANDOVER_KEEP;
  begin(1000);
  for (int i = 0; i < 8; i++) {
    assert_true(send_group(2000, 100));
    assert_int_equal(handover.kept_until_ns, 100 + keep * waited);
    assert_false(pto_handover_is_over(&handover, 99 + keep * waited));
    assert_true(pto_handover_is_over(&handover, 100 + keep * waited));
    pto_handover_release(&handover);
    assert_false(pto_handover_is_over(&handover, UINT64_MAX));
    keep = keep == PTO_HANDOVER_MOST_KEEP ? keep : 2 * keep;
  }
  assert_int_equal(keep, PTO_HANDOVER_MOST_KEEP);
  assert_false(send_group(500, 100));
  assert_true(send_group(2000, 100));
  assert_int_equal(handover.kept_until_ns, 100 + PTO_HANDOVER_KEEP * waited);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kernels_are_kept_where_waiting_for_them_took_longer_than_running_them),
      cmocka_unit_test(test_a_worker_off_its_cpu_is_noticed_at_once),
      cmocka_unit_test(test_one_kernel_that_met_another_job_does_not_count),
      cmocka_unit_test(test_nothing_is_kept_before_own_kernels_are_known),
      cmocka_unit_test(test_they_are_kept_longer_with_each_loss_and_no_longer_after_a_gain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
