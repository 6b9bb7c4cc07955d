/* SPDX-License-Identifier: MIT */
/* The core tracker against a model that looks at every core. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include <runtime/sched/core_tracker.h>

#define MAX_CORES (3u * 130u)

static struct pto_port port;
static struct pto_core_tracker tracker;
static uint32_t load[MAX_CORES];
static bool is_claimed[MAX_CORES];

static void describe(uint32_t clusters, uint32_t slots) {
  port = (struct pto_port){.cluster_count = clusters, .slots_per_core = slots, .worker_count = 1};
}
static void make(uint32_t clusters, uint32_t slots) {
  describe(clusters, slots);
  memset(load, 0, sizeof load);
  memset(is_claimed, 0, sizeof is_claimed);
  assert_true(pto_core_tracker_init(&tracker, &port));
}

static void push(uint32_t core) {
  pto_core_tracker_push(&tracker, core, 1000 * core + load[core]);
  load[core]++;
}
static void pop(uint32_t core) {
  pto_core_tracker_pop(&tracker, core);
  load[core]--;
}
static void claim(uint32_t core) {
  pto_core_tracker_claim(&tracker, core);
  is_claimed[core] = true;
}

/* ---- the model's answers ---- */

static void test_a_core_holds_the_tickets_that_it_was_sent_oldest_first(void **state) {
  (void)state;
  make(2, 3);
  for (uint32_t lap = 0; lap < 1000; lap++) { /* counters come round */
    for (uint32_t core = 0; core < 6; core++)
      for (uint32_t i = 0; i < 3; i++) pto_core_tracker_push(&tracker, core, 100 * lap + 10 * core + i);
    pto_core_tracker_pop(&tracker, 4);
    pto_core_tracker_pop(&tracker, 4);
    pto_core_tracker_push(&tracker, 4, 77);
    assert_int_equal(tracker.load[4], 2);
    assert_int_equal(pto_core_tracker_ticket(&tracker, 4, 0), 100 * lap + 42);
    assert_int_equal(pto_core_tracker_ticket(&tracker, 4, 1), 77);
    assert_int_equal(pto_core_tracker_ticket(&tracker, 3, 2), 100 * lap + 32);
    assert_int_equal(pto_core_tracker_ticket(&tracker, 5, 0), 100 * lap + 50);
    for (uint32_t core = 0; core < 6; core++)
      while (tracker.load[core]) pto_core_tracker_pop(&tracker, core);
  }
  pto_core_tracker_fini(&tracker);
}

static uint32_t core_count(void) { return port.cluster_count * PTO_LANES; }
static bool may_take(uint32_t core, bool may_use_claimed, uint32_t below) {
  return load[core] < below && (may_use_claimed || !is_claimed[core]);
}

static uint32_t best_core(uint32_t lanes, bool may_use_claimed, bool only_idle) {
  for (uint32_t below = 1; below <= port.slots_per_core; below += pto_max_u64(port.slots_per_core - 1, 1)) {
    for (uint32_t core = 0; core < core_count(); core++)
      if (lanes & (1u << core % PTO_LANES) && may_take(core, may_use_claimed, below)) return core;
    if (only_idle) break;
  }
  return UINT32_MAX;
}

static uint32_t best_cluster(bool needs_aic, uint32_t aiv_count, bool may_use_claimed, bool only_idle,
                             uint32_t *below_out) {
  for (uint32_t below = 1; below <= port.slots_per_core; below += pto_max_u64(port.slots_per_core - 1, 1)) {
    for (uint32_t cluster = 0; cluster < port.cluster_count; cluster++) {
      uint32_t core = cluster * PTO_LANES;
      uint32_t aivs = may_take(core + 1, may_use_claimed, below) + (uint32_t)may_take(core + 2, may_use_claimed, below);
      if ((needs_aic && !may_take(core, may_use_claimed, below)) || aivs < aiv_count) continue;
      *below_out = below;
      return cluster;
    }
    if (only_idle) break;
  }
  return UINT32_MAX;
}

/* ---- tests ---- */

static void test_a_fresh_chip_is_idle_everywhere_and_gives_the_lowest_core_of_each_lane(void **state) {
  (void)state;
  make(65, 2);
  assert_true(pto_core_tracker_is_valid(&tracker));
  assert_int_equal(pto_core_tracker_pick(&tracker, true, false, true), 0);
  assert_int_equal(pto_core_tracker_pick(&tracker, false, false, true), 1);
  for (uint32_t i = 0; i < 64; i++) push(i * PTO_LANES);
  assert_int_equal(pto_core_tracker_pick(&tracker, true, false, true), 64 * PTO_LANES); /* in the second word */
  pto_core_tracker_fini(&tracker);
}

static void test_idle_cores_come_before_those_with_room_and_full_ones_are_refused(void **state) {
  (void)state;
  make(2, 2);
  push(0);
  assert_int_equal(pto_core_tracker_pick(&tracker, true, false, false), 3);
  push(3);
  assert_int_equal(pto_core_tracker_pick(&tracker, true, false, true), UINT32_MAX);
  assert_int_equal(pto_core_tracker_pick(&tracker, true, false, false), 0);
  push(0);
  push(3);
  assert_int_equal(pto_core_tracker_pick(&tracker, true, false, false), UINT32_MAX);
  pop(3);
  assert_int_equal(pto_core_tracker_pick(&tracker, true, false, false), 3);
  assert_true(pto_core_tracker_is_valid(&tracker));
  pto_core_tracker_fini(&tracker);
}

static void test_a_claimed_core_is_hidden_from_all_but_the_claimant(void **state) {
  (void)state;
  make(1, 2);
  claim(0);
  claim(0); /* twice is once */
  assert_int_equal(tracker.claim_count, 1);
  assert_int_equal(pto_core_tracker_pick(&tracker, true, false, false), UINT32_MAX);
  assert_int_equal(pto_core_tracker_pick(&tracker, true, true, false), 0);
  uint32_t lanes[2];
  assert_int_equal(pto_core_tracker_pick_cluster(&tracker, true, 1, false, false, lanes), UINT32_MAX);
  assert_int_equal(pto_core_tracker_pick_cluster(&tracker, true, 1, true, false, lanes), 0);
  pto_core_tracker_release_claims(&tracker);
  assert_int_equal(pto_core_tracker_pick(&tracker, true, false, false), 0);
  assert_true(pto_core_tracker_is_valid(&tracker));
  pto_core_tracker_fini(&tracker);
}

static void test_a_cluster_with_one_busy_AIV_gives_the_other_one(void **state) {
  (void)state;
  make(1, 1);
  uint32_t lanes[2];
  push(1);
  assert_int_equal(pto_core_tracker_pick_cluster(&tracker, true, 1, false, false, lanes), 0);
  assert_int_equal(lanes[0], 2);
  assert_int_equal(pto_core_tracker_pick_cluster(&tracker, false, 2, false, false, lanes), UINT32_MAX);
  pto_core_tracker_fini(&tracker);
}

static void check_picks(struct pto_rng *rng) {
  bool may_use_claimed = pto_rng_below(rng, 2), only_idle = pto_rng_below(rng, 2), needs_aic = pto_rng_below(rng, 2);
  uint32_t lanes = pto_rng_below(rng, 2) ? 1 : 6;
  uint32_t core = pto_core_tracker_pick(&tracker, lanes == 1, may_use_claimed, only_idle);
  uint32_t best = best_core(lanes, may_use_claimed, only_idle);
  assert_int_equal(core, best);
  if (!may_use_claimed && !only_idle) assert_int_equal(pto_core_tracker_pick_fast(&tracker, lanes == 1), best);
  uint32_t aiv_lanes[2] = {0}, aiv_count = needs_aic ? 1 + (uint32_t)pto_rng_below(rng, 2) : 2, below = 0;
  uint32_t cluster =
      pto_core_tracker_pick_cluster(&tracker, needs_aic, aiv_count, may_use_claimed, only_idle, aiv_lanes);
  assert_int_equal(cluster, best_cluster(needs_aic, aiv_count, may_use_claimed, only_idle, &below));
  for (uint32_t i = 0; cluster != UINT32_MAX && i < aiv_count; i++) {
    assert_true(aiv_lanes[i] == 1 || aiv_lanes[i] == 2);
    assert_true(may_take(cluster * PTO_LANES + aiv_lanes[i], may_use_claimed, below));
    assert_true(i == 0 || aiv_lanes[0] != aiv_lanes[1]);
  }
}

static void test_random_loads_and_claims_are_answered_as_the_model_does(void **state) {
  (void)state;
  static const uint32_t clusters[] = {1, 2, 24, 63, 64, 65, 130};
  struct pto_rng rng = {20261120};
  for (uint32_t round = 0; round < 3 * PTO_ARRAY_LENGTH(clusters); round++) {
    make(clusters[round % PTO_ARRAY_LENGTH(clusters)], 1 + (uint32_t)pto_rng_below(&rng, 3));
    uint64_t fullness = 1 + pto_rng_below(&rng, 9);
    for (uint32_t step = 0; step < 2000; step++) {
      uint32_t core = (uint32_t)pto_rng_below(&rng, core_count());
      if (pto_rng_below(&rng, 10) < fullness) {
        if (load[core] < port.slots_per_core) push(core);
      } else if (load[core]) {
        pop(core);
      }
      if (pto_rng_below(&rng, 20) == 0) claim((uint32_t)pto_rng_below(&rng, core_count()));
      if (pto_rng_below(&rng, 200) == 0) {
        pto_core_tracker_release_claims(&tracker);
        memset(is_claimed, 0, sizeof is_claimed);
      }
      if (step % 16 == 0) {
        assert_true(pto_core_tracker_is_valid(&tracker));
        check_picks(&rng);
      }
    }
    pto_core_tracker_reset(&tracker);
    assert_true(pto_core_tracker_is_valid(&tracker));
    assert_int_equal(tracker.in_flight, 0);
    pto_core_tracker_fini(&tracker);
  }
}

static void test_a_refused_reservation_is_reported_and_leaves_nothing(void **state) {
  (void)state;
  describe(24, 2);
  uint32_t failures = 0;
  for (uint32_t n = 1;; n++, failures++) {
    pto_reserve_fail_countdown = n;
    bool is_made = pto_core_tracker_init(&tracker, &port);
    pto_reserve_fail_countdown = 0;
    pto_core_tracker_fini(&tracker);
    pto_core_tracker_fini(&tracker);
    if (is_made) break;
  }
  assert_int_equal(failures, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_core_holds_the_tickets_that_it_was_sent_oldest_first),
      cmocka_unit_test(test_a_fresh_chip_is_idle_everywhere_and_gives_the_lowest_core_of_each_lane),
      cmocka_unit_test(test_idle_cores_come_before_those_with_room_and_full_ones_are_refused),
      cmocka_unit_test(test_a_claimed_core_is_hidden_from_all_but_the_claimant),
      cmocka_unit_test(test_a_cluster_with_one_busy_AIV_gives_the_other_one),
      cmocka_unit_test(test_random_loads_and_claims_are_answered_as_the_model_does),
      cmocka_unit_test(test_a_refused_reservation_is_reported_and_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
