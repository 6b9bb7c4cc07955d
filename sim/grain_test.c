/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sim/grain.h>

static struct pto_port port;
static struct pto_grain grain;

static void begin(void) {
  port = (struct pto_port){.worker_count = 2};
  pto_grain_init(&grain, &port);
}

/* The control thread runs so many kernels of its own that take so long; how many of them were timed. */
static uint32_t run(uint32_t count, uint64_t took_ns) {
  uint32_t timed = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!pto_grain_is_due(&grain)) continue;
    pto_grain_note_timed(&grain, took_ns, 5);
    timed++;
  }
  return timed;
}
/* The same until work is judged to be fine, or not to be. */
static void run_until(bool is_fine, uint64_t took_ns) {
  for (uint32_t i = 0; port.is_fine_grained != is_fine; i++) {
    assert_true(i < 3 * PTO_GRAIN_TIMED * PTO_GRAIN_GROUP);
    run(1, took_ns);
  }
}
/* Enough for any group to be judged, and a trial. */
#define GROUPS(n) ((n)*PTO_GRAIN_TIMED * PTO_GRAIN_GROUP)

static void test_the_first_kernels_are_all_timed_then_some_and_then_one_of_many(void **state) {
  (void)state;
  begin();
  assert_int_equal(run(PTO_GRAIN_GROUP, 1000), PTO_GRAIN_GROUP);
  assert_int_equal(port.away_limit, PTO_GRAIN_AWAY_NS / 1001); /* so there is something to judge by at once */
  run(PTO_GRAIN_TIMED * PTO_GRAIN_FIRST, 1000);
  assert_int_equal(run(10 * PTO_GRAIN_TIMED, 1000), 10);
}

static void test_kernels_cheaper_than_a_hand_over_stay_and_others_do_not(void **state) {
  (void)state;
  begin();
  run(GROUPS(3), PTO_GRAIN_FINE_NS - 1);
  assert_true(port.is_fine_grained);
  run(GROUPS(3), PTO_GRAIN_FINE_NS - 1);
  assert_true(port.is_fine_grained);
  run_until(false, PTO_GRAIN_FINE_NS);
}

static void test_short_kernels_are_shared_by_the_time_they_take_and_long_ones_are_not(void **state) {
  (void)state;
  static const uint32_t lengths[] = {1, 70, 200, 1000, 3000};
  uint32_t last = UINT32_MAX;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(lengths); i++) {
    begin();
    run(GROUPS(2), lengths[i]);
    assert_in_range(port.away_limit, PTO_GRAIN_LEAST_AWAY, PTO_GRAIN_MOST_AWAY);
    assert_true(port.away_limit < last || port.away_limit == PTO_GRAIN_MOST_AWAY);
    assert_in_range(pto_grain_row(&port), 1, PTO_GRAIN_MOST_AWAY / 4);
    last = port.away_limit;
  }
  begin();
  run(GROUPS(2), PTO_GRAIN_SHORT_NS);
  assert_int_equal(port.away_limit, 0);
  assert_false(port.is_fine_grained);
}

static void test_one_kernel_in_a_group_that_met_an_interrupt_changes_nothing(void **state) {
  (void)state;
  begin();
  run(GROUPS(4), 1000);
  const uint32_t limit = port.away_limit;
  for (uint32_t i = 0; i < 20; i++) {
    pto_grain_note_timed(&grain, PTO_GRAIN_LONG_NS - 1, 5);
    for (uint32_t k = 1; k < PTO_GRAIN_GROUP; k++) pto_grain_note_timed(&grain, 1000, 5);
    assert_int_equal(port.away_limit, limit);
  }
}

static void test_work_that_has_become_long_is_shared_no_more_at_once(void **state) {
  (void)state;
  for (int is_noticed_on_the_way = 0; is_noticed_on_the_way <= 1; is_noticed_on_the_way++)
    for (int is_fine = 0; is_fine <= 1; is_fine++) {
      void (*const note)(struct pto_grain *, uint64_t, uint64_t) =
          is_noticed_on_the_way ? pto_grain_note_long : pto_grain_note_timed;
      begin();
      run(GROUPS(4), is_fine ? 30 : 500);
      assert_int_equal(port.is_fine_grained, is_fine);
      assert_true(port.away_limit > 0);
      note(&grain, PTO_GRAIN_SHORT_NS, 5); /* one may have met an interrupt */
      assert_int_equal(port.is_fine_grained, is_fine);
      assert_true(port.away_limit > 0);
      pto_grain_note_not_long(&grain);
      note(&grain, PTO_GRAIN_SHORT_NS, 5);
      assert_true(port.away_limit > 0);
      note(&grain, PTO_GRAIN_SHORT_NS, 5); /* two in a row have not */
      assert_false(port.is_fine_grained);
      assert_int_equal(port.away_limit, 0);
      begin();
      run(GROUPS(4), is_fine ? 30 : 500);
      note(&grain, PTO_GRAIN_LONG_NS, 5); /* nor has such a long one */
      assert_false(port.is_fine_grained);
      assert_int_equal(port.away_limit, 0);
    }
}

/* How many of the next kernels stay because it is tried whether they are fine. */
static uint32_t count_trials(uint32_t kernels, uint64_t took_ns) {
  uint32_t trials = 0;
  for (uint32_t i = 0; i < kernels; i++) {
    const bool was_fine = port.is_fine_grained;
    run(1, took_ns);
    trials += port.is_fine_grained && !was_fine;
  }
  return trials;
}
static void test_what_a_tile_from_elsewhere_hides_is_tried_ever_more_seldom(void **state) {
  (void)state;
  begin();
  assert_int_equal(count_trials(GROUPS(8), PTO_GRAIN_COARSE_NS), 0);
  begin();
  const uint32_t first = count_trials(GROUPS(16), 200), second = count_trials(GROUPS(16), 200);
  assert_in_range(first, 3, 6);
  assert_in_range(second, 0, 1);
  assert_in_range(count_trials(GROUPS(10 * PTO_GRAIN_TRIAL_WAIT), 200), 8, 11);
  /* and one that succeeds makes them frequent again */
  while (!port.is_fine_grained) run(1, 200);
  run(GROUPS(1), 20);
  assert_true(port.is_fine_grained);
  run_until(false, 200);
  assert_true(count_trials(GROUPS(3), 200) >= 1);
}
static void test_trials_that_a_long_kernel_ends_come_ever_more_seldom_too(void **state) {
  (void)state;
  uint32_t trials[2] = {0};
  begin();
  for (uint32_t i = 0; i < 2 * GROUPS(16); i++) {
    run(1, 200);
    if (!port.is_fine_grained) continue;
    trials[i / GROUPS(16)]++;
    pto_grain_note_long(&grain, PTO_GRAIN_LONG_NS, 5);
    assert_false(port.is_fine_grained);
    while (port.away_limit == 0) run(1, 200); /* the others are short again */
  }
  assert_in_range(trials[0], 3, 6);
  assert_in_range(trials[1], 0, 1);
}
static void test_a_trial_times_nothing_until_tiles_have_come_home_and_is_then_short(void **state) {
  (void)state;
  begin();
  while (!port.is_fine_grained) run(1, 200);
  assert_int_equal(run(PTO_GRAIN_TRIAL_SKIP - 1, 5000), 0);
  uint32_t kernels = PTO_GRAIN_TRIAL_SKIP - 1;
  while (port.is_fine_grained && kernels < GROUPS(1)) kernels += (run(1, 200), 1);
  assert_false(port.is_fine_grained);
  assert_true(kernels <= PTO_GRAIN_TRIAL_SKIP + PTO_GRAIN_TRIAL_TIMED * PTO_GRAIN_GROUP);
}

static void test_kernels_stay_where_waiting_for_others_is_a_loss_until_the_time_is_over(void **state) {
  (void)state;
  begin();
  run(GROUPS(2), 1000);
  grain.handover.sent = 1;
  pto_grain_note_wait(&grain, PTO_HANDOVER_WAITED_NS, 100);
  assert_true(port.is_fine_grained);
  run(GROUPS(1), 1000);
  assert_true(port.is_fine_grained); /* however long they are */
  pto_grain_note_timed(&grain, 1000, grain.handover.kept_until_ns);
  assert_false(port.is_fine_grained);
  assert_true(port.away_limit > 0);
}
static void test_kernels_that_stay_because_of_a_loss_and_are_long_stay_no_more(void **state) {
  (void)state;
  begin();
  run(GROUPS(2), 1000);
  grain.handover.sent = 1;
  pto_grain_note_wait(&grain, PTO_HANDOVER_WAITED_NS, 100);
  pto_grain_note_timed(&grain, PTO_GRAIN_LONG_NS, 101);
  assert_true(port.is_fine_grained);
  pto_grain_note_timed(&grain, PTO_GRAIN_LONG_NS, 101);
  assert_false(port.is_fine_grained);
  assert_int_equal(port.away_limit, 0);
}

static void test_work_is_long_while_most_of_the_last_kernels_were(void **state) {
  (void)state;
  begin();
  run(GROUPS(2), PTO_GRAIN_LONG_NS - 1);
  assert_false(port.is_long);
  run(GROUPS(1), PTO_GRAIN_LONG_NS);
  assert_true(port.is_long);
  run((PTO_HANDOVER_OWN / 2 - 1) * PTO_GRAIN_TIMED, 1000);
  assert_true(port.is_long);
  run(PTO_GRAIN_TIMED, 1000);
  assert_false(port.is_long);
  pto_grain_note_timed(&grain, 1000 * PTO_GRAIN_LONG_NS, 5); /* one that another job has kept from its CPU */
  assert_false(port.is_long);
}

static void test_a_test_that_decides_itself_is_not_overruled(void **state) {
  (void)state;
  begin();
  grain.judges_nothing = true;
  port.away_limit = 7;
  port.is_fine_grained = true;
  run(GROUPS(2), 1000);
  pto_grain_note_long(&grain, PTO_GRAIN_LONG_NS, 5);
  assert_true(port.is_fine_grained);
  port.is_fine_grained = false;
  grain.handover.sent = 1;
  pto_grain_note_wait(&grain, PTO_HANDOVER_WAITED_NS, 100);
  run(GROUPS(2), 10);
  assert_false(port.is_fine_grained);
  assert_int_equal(port.away_limit, 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_first_kernels_are_all_timed_then_some_and_then_one_of_many),
      cmocka_unit_test(test_kernels_cheaper_than_a_hand_over_stay_and_others_do_not),
      cmocka_unit_test(test_short_kernels_are_shared_by_the_time_they_take_and_long_ones_are_not),
      cmocka_unit_test(test_one_kernel_in_a_group_that_met_an_interrupt_changes_nothing),
      cmocka_unit_test(test_work_that_has_become_long_is_shared_no_more_at_once),
      cmocka_unit_test(test_what_a_tile_from_elsewhere_hides_is_tried_ever_more_seldom),
      cmocka_unit_test(test_trials_that_a_long_kernel_ends_come_ever_more_seldom_too),
      cmocka_unit_test(test_a_trial_times_nothing_until_tiles_have_come_home_and_is_then_short),
      cmocka_unit_test(test_kernels_stay_where_waiting_for_others_is_a_loss_until_the_time_is_over),
      cmocka_unit_test(test_kernels_that_stay_because_of_a_loss_and_are_long_stay_no_more),
      cmocka_unit_test(test_work_is_long_while_most_of_the_last_kernels_were),
      cmocka_unit_test(test_a_test_that_decides_itself_is_not_overruled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
