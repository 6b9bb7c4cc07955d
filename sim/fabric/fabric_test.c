/* SPDX-License-Identifier: MIT */
/* Messages whose times can be worked out by hand, refusals, counters, and who is told of what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/chips/timing.h>
#include <sim/fabric/fabric.h>

#include <stdio.h>
#include <string.h>

#include <tests/support/fabric_fixture.h>
#include <tests/support/failing_malloc.h>

static void test_a_message_alone_takes_a_latency_and_its_bytes(void **state) {
  struct pto_fabric *fabric = fabric_of("tiny", 64);
  send(fabric, 0, 0, 1, 1000);  /* in a package: 100 ns, 10 ps a byte */
  send(fabric, 0, 2, 4, 1000);  /* in a node: 200 ns, 20 ps a byte */
  send(fabric, 0, 5, 63, 1000); /* between nodes: 1 us, 100 ps a byte */
  expect_arrival(fabric, 110000, 0, 1);
  expect_arrival(fabric, 220000, 2, 4);
  expect_arrival(fabric, 1100000, 5, 63);
  expect_nothing(fabric);
  pto_fabric_destroy(fabric);
}

static void test_the_start_of_a_transfer_and_the_percentage_count(void **state) {
  struct pto_fabric *fabric = fabric_of("tiny,transfer_start_ps=7,link_percent=50", 8);
  send(fabric, 3, 0, 1, 1000);
  assert_int_equal(pto_fabric_lookahead_ps(fabric, 0, 1), 100007);
  expect_arrival(fabric, 3 + 100007 + 20000, 0, 1);
  pto_fabric_destroy(fabric);
}

/* A byte takes 333333 1/3 ps. */
static void test_a_message_arrives_in_the_first_picosecond_that_has_all_of_it(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE ",node_bandwidth_mbps=3", 8);
  for (uint32_t bytes = 1; bytes <= 4; bytes++) send(fabric, 0, 2 * bytes - 2, 2 * bytes - 1, bytes);
  expect_arrival(fabric, 200000 + 333334, 0, 1);
  expect_arrival(fabric, 200000 + 666667, 2, 3);
  expect_arrival(fabric, 200000 + 1000000, 4, 5);
  expect_arrival(fabric, 200000 + 1333334, 6, 7);
  pto_fabric_destroy(fabric);
}

static void test_two_share_the_way_up_or_the_way_down_of_a_switch(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE, 8);
  send(fabric, 0, 0, 1, 1000);
  send(fabric, 0, 0, 2, 1000);
  send(fabric, 0, 4, 3, 500);
  send(fabric, 0, 5, 3, 1000);
  send(fabric, 0, 1, 0, 1000); /* the other direction */
  expect_arrival(fabric, 200000 + 1000 * 20, 1, 0);
  expect_arrival(fabric, 200000 + 500 * 40, 4, 3);
  expect_arrival(fabric, 200000 + 500 * 40 + 500 * 20, 5, 3);
  expect_arrival(fabric, 200000 + 1000 * 40, 0, 1);
  expect_arrival(fabric, 200000 + 1000 * 40, 0, 2);
  pto_fabric_destroy(fabric);
}

static void test_a_mesh_has_a_link_for_each_pair(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE ",node_topology=mesh", 8);
  for (uint32_t source = 0; source < 8; source++)
    for (uint32_t target = 0; target < 8; target++)
      if (source != target) send(fabric, 0, source, target, 1000);
  for (uint32_t source = 0; source < 8; source++)
    for (uint32_t target = 0; target < 8; target++)
      if (source != target) expect_arrival(fabric, 220000, source, target);
  pto_fabric_destroy(fabric);
}

/* A link of 60 GB/s for each of 0 -> 1, 1 -> 2, 2 -> 3.  The first has three flows, of 20 GB/s each; so the one that
 * takes all three links leaves 40 on the second. */
static void test_what_a_narrow_link_keeps_a_flow_from_taking_others_get(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE ",node_topology=ring,node_bandwidth_mbps=60000", 8);
  send(fabric, 0, 0, 3, 200000); /* three hops */
  send(fabric, 400000, 0, 1, 200000);
  send(fabric, 400000, 0, 1, 200000);
  send(fabric, 400000, 1, 2, 400000);
  expect_arrival(fabric, 600000 + 10000000, 0, 3);
  expect_arrival(fabric, 600000 + 10000000, 0, 1);
  expect_arrival(fabric, 600000 + 10000000, 0, 1);
  expect_arrival(fabric, 600000 + 10000000, 1, 2);
  expect_nothing(fabric);
  pto_fabric_destroy(fabric);
}

/* 10 of the 50 GB/s go to one, 40 to the other; a cap above the share changes nothing. */
static void test_a_cap_leaves_the_rest_to_others(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE, 8);
  send_capped(fabric, 0, 0, 1, 1000, 10000);
  send_capped(fabric, 0, 0, 2, 4000, 45000);
  expect_arrival(fabric, 200000 + 100000, 0, 1);
  expect_arrival(fabric, 200000 + 100000, 0, 2);
  pto_fabric_destroy(fabric);
}

/* 60 bytes a nanosecond for one, 30 for each of two, 20 for each of three. */
static void test_a_third_flow_slows_the_others_and_its_end_hurries_them(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE ",node_bandwidth_mbps=60000", 8);
  send(fabric, 0, 0, 1, 2900);
  send(fabric, 10000, 0, 2, 2900);      /* 2300 are left of the first */
  send(fabric, 30000, 0, 3, 200);       /* 1700 and 2300 are left */
  expect_arrival(fabric, 240000, 0, 3); /* 1500 and 2100 are left */
  expect_arrival(fabric, 290000, 0, 1); /* 600 are left */
  expect_arrival(fabric, 300000, 0, 2);
  pto_fabric_destroy(fabric);
}

static void test_a_message_without_bytes_takes_the_latency_and_no_share(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE, 8);
  send(fabric, 0, 0, 1, 1000);
  for (uint32_t i = 0; i < 8; i++) send(fabric, i + 1, 0, 1, 0);
  for (uint32_t i = 0; i < 8; i++) expect_arrival(fabric, 200000 + i + 1, 0, 1);
  expect_arrival(fabric, 220000, 0, 1);
  assert_int_equal(pto_fabric_link(fabric, 0).flows, 1);
  pto_fabric_destroy(fabric);
}

/* Eight messages of one picosecond, with and without bytes, whatever the order in which they were begun. */
static void test_what_arrives_together_comes_by_source_and_then_as_it_began(void **state) {
  for (uint32_t turn = 0; turn < 4; turn++) {
    struct pto_fabric *fabric = fabric_of(ONE_NODE, 8);
    struct pto_fabric_arrival arrival;
    for (uint32_t i = 0; i < 4; i++) {
      const uint32_t source = (i ^ turn) * 2;
      struct pto_fabric_message message = {.id = 2 * source, .bytes = 100, .source = source, .target = source + 1};
      assert_int_equal(pto_fabric_begin(fabric, 0, &message), PTO_OK);
      message = (struct pto_fabric_message){.id = 2 * source + 1, .source = source, .target = source + 1};
      assert_int_equal(pto_fabric_begin(fabric, 2000, &message), PTO_OK);
    }
    for (uint32_t source = 0; source < 8; source += 2) {
      for (uint32_t k = 0; k < 2; k++) {
        assert_int_equal(pto_fabric_next_at(fabric), source + k == 0 ? 200000 : 202000);
        assert_true(pto_fabric_advance(fabric, 202000, &arrival));
        assert_int_equal(arrival.at, 202000);
        assert_int_equal(arrival.began_at, k * 2000);
        assert_int_equal(arrival.message.id, 2 * source + k);
      }
    }
    expect_nothing(fabric);
    pto_fabric_destroy(fabric);
  }
}

static void test_a_ring_of_eight_takes_the_shorter_way(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE ",node_topology=ring", 8);
  for (uint32_t rank = 0; rank < 8; rank++) send(fabric, 0, rank, (rank + 1) % 8, 1000);
  for (uint32_t rank = 0; rank < 8; rank++) send(fabric, 0, rank, (rank + 7) % 8, 1000);
  for (uint32_t rank = 0; rank < 8; rank++) {
    expect_arrival(fabric, 220000, rank, (rank + 1) % 8);
    expect_arrival(fabric, 220000, rank, (rank + 7) % 8);
  }
  /* Three hops back share the links of one hop back, not of one forward. */
  send(fabric, 1000000, 2, 7, 1000);
  send(fabric, 1400000, 0, 7, 1000);
  send(fabric, 1400000, 0, 1, 1000);
  expect_arrival(fabric, 1620000, 0, 1);
  expect_arrival(fabric, 1640000, 0, 7);
  expect_arrival(fabric, 1640000, 2, 7);
  pto_fabric_destroy(fabric);
}

static void test_a_message_may_begin_before_the_clock_and_join_after_it(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE, 8);
  struct pto_fabric_arrival arrival;
  send(fabric, 0, 0, 1, 1000);
  assert_false(pto_fabric_advance(fabric, 209999, &arrival)); /* 500 are left and a little more */
  send(fabric, 10000, 0, 2, 1000);
  assert_int_equal(pto_fabric_next_at(fabric), 210000);
  expect_arrival(fabric, 230000, 0, 1);
  expect_arrival(fabric, 240000, 0, 2);
  pto_fabric_destroy(fabric);
}

static void test_lookahead_is_that_of_the_tier_and_of_the_hops(void **state) {
  struct pto_fabric *fabric = fabric_of("tiny", 16);
  assert_int_equal(pto_fabric_lookahead_ps(fabric, 0, 1), 100000);
  assert_int_equal(pto_fabric_lookahead_ps(fabric, 1, 2), 200000);
  assert_int_equal(pto_fabric_lookahead_ps(fabric, 7, 8), 1000000);
  pto_fabric_destroy(fabric);
  fabric = fabric_of(ONE_NODE ",node_topology=ring", 8);
  assert_int_equal(pto_fabric_lookahead_ps(fabric, 0, 4), 800000);
  assert_int_equal(pto_fabric_lookahead_ps(fabric, 0, 6), 400000);
  pto_fabric_destroy(fabric);
  fabric = fabric_of("tiny", 1);
  expect_nothing(fabric);
  pto_fabric_destroy(fabric);
}

static void test_ranks_that_no_fabric_holds_are_refused(void **state) {
  static const char expected[] = "ranks = %u: the fabric of chip %s holds 1 to %u (nodes = %u, chips_per_node = %u)";
  static const struct {
    const char *chip;
    uint32_t ranks, nodes, chips;
  } cases[] = {{"tiny", 65, 8, 8},
               {"tiny", 0, 8, 8},
               {"tiny,nodes=1", 9, 1, 8},
               {"tiny,nodes=1,chips_per_node=1,dies_per_package=1", 2, 1, 1}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    const struct pto_chip chip = chip_of(cases[i].chip);
    struct pto_fabric *fabric = NULL;
    struct pto_error error;
    char sentence[256];
    assert_int_equal(pto_fabric_capacity(&chip), cases[i].nodes * cases[i].chips);
    assert_int_equal(pto_fabric_create(&chip, cases[i].ranks, &fabric, &error), PTO_EINVAL);
    snprintf(sentence, sizeof sentence, expected, cases[i].ranks, cases[i].chip, cases[i].nodes * cases[i].chips,
             cases[i].nodes, cases[i].chips);
    assert_string_equal(error.sentence, sentence);
    assert_null(fabric);
  }
}

static uint32_t link_of(const struct pto_fabric *fabric, const char *name) {
  char text[PTO_FABRIC_LINK_NAME];
  for (uint32_t link = 0; link < pto_fabric_link_count(fabric); link++)
    if (strcmp(pto_fabric_link_name(fabric, link, text), name) == 0) return link;
  fail_msg("no link \"%s\"", name);
  return 0;
}

static void test_links_count_bytes_flows_and_busy_time(void **state) {
  struct pto_fabric *fabric = fabric_of("tiny", 64);
  struct pto_fabric_arrival arrival;
  send(fabric, 0, 0, 2, 1000);
  send(fabric, 0, 0, 4, 1000);
  send(fabric, 90000, 0, 2, 1000);
  const struct pto_fabric_link before = pto_fabric_link(fabric, link_of(fabric, "node 0 up"));
  assert_int_equal(before.bytes + before.busy_ps + before.flows + before.flows_now, 0);
  assert_int_equal(before.bandwidth_mbps, 50000);
  assert_false(pto_fabric_advance(fabric, 210000, &arrival));
  const struct pto_fabric_link now = pto_fabric_link(fabric, link_of(fabric, "node 0 up"));
  assert_int_equal(now.bytes, 0);
  assert_int_equal(now.busy_ps, 10000);
  assert_int_equal(now.flows_now, 2);
  while (pto_fabric_advance(fabric, 1000000, &arrival)) continue;
  const struct pto_fabric_link up = pto_fabric_link(fabric, link_of(fabric, "node 0 up"));
  assert_int_equal(up.bytes, 3000);
  assert_int_equal(up.flows, 3);
  assert_int_equal(up.busy_ps, 40000 + 20000);
  assert_int_equal(pto_fabric_link(fabric, link_of(fabric, "node 2 down")).bytes, 2000);
  assert_int_equal(pto_fabric_link(fabric, link_of(fabric, "node 4 down")).busy_ps, 40000);
  assert_int_equal(pto_fabric_link(fabric, link_of(fabric, "package 0 -> 1")).flows, 0);
  pto_fabric_destroy(fabric);
}

static void test_links_of_a_ring_go_both_ways_round(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE ",node_topology=ring", 8);
  send(fabric, 0, 7, 0, 1000);
  send(fabric, 0, 0, 7, 2000);
  send(fabric, 0, 3, 4, 3000);
  for (int i = 0; i < 3; i++) {
    struct pto_fabric_arrival arrival;
    assert_true(pto_fabric_advance(fabric, 1000000, &arrival));
  }
  assert_int_equal(pto_fabric_link(fabric, link_of(fabric, "node 7 -> 0")).bytes, 1000);
  assert_int_equal(pto_fabric_link(fabric, link_of(fabric, "node 0 -> 7")).bytes, 2000);
  assert_int_equal(pto_fabric_link(fabric, link_of(fabric, "node 3 -> 4")).bytes, 3000);
  pto_fabric_destroy(fabric);
}

static void test_the_largest_message_arrives_after_the_longest_time(void **state) {
  struct pto_fabric *fabric = fabric_of(ONE_NODE ",node_bandwidth_mbps=1", 8);
  send(fabric, 0, 0, 1, PTO_FABRIC_MAX_BYTES);
  expect_arrival(fabric, 200000 + PTO_TIMING_MAX_PS, 0, 1);
  pto_fabric_destroy(fabric);
}

static void test_where_memory_ends_nothing_is_lost(void **state) {
#if PTO_HAS_FAILING_MALLOC
  const struct pto_chip chip = chip_of(ONE_NODE);
  struct pto_fabric *fabric = NULL;
  struct pto_error error;
  const int64_t before = live_blocks;
  uint32_t refused = 0;
  do {
    fail_countdown = ++refused;
    const int status = pto_fabric_create(&chip, 8, &fabric, &error);
    assert_true(status == PTO_OK || status == PTO_ENOMEM);
    if (status) assert_int_equal(live_blocks, before);
  } while (fail_countdown == 0);
  fail_countdown = 0;
  assert_true(refused > 6);
  /* The first that finds no room tries four times in vain, once for each array. */
  const struct pto_fabric_message message = {.bytes = 1000, .target = 1};
  for (uint32_t i = 0; i < 64; i++) send(fabric, 0, 2, 3, 0);
  for (fail_countdown = 1; fail_countdown <= 4; fail_countdown++) {
    const uint32_t nth = fail_countdown;
    assert_int_equal(pto_fabric_begin(fabric, 0, &message), PTO_ENOMEM);
    fail_countdown = nth;
  }
  fail_countdown = 0;
  send(fabric, 0, 0, 1, 1000);
  for (uint32_t i = 0; i < 64; i++) expect_arrival(fabric, 200000, 2, 3);
  expect_arrival(fabric, 220000, 0, 1);
  /* Nothing more is allocated once there is room. */
  const uint64_t allocations = allocation_count;
  for (uint32_t i = 0; i < 128; i++) send(fabric, 300000, 0, 1, 10);
  for (uint32_t i = 0; i < 128; i++) expect_arrival(fabric, 500000 + 128 * 200, 0, 1);
  assert_int_equal(allocation_count, allocations);
  pto_fabric_destroy(fabric);
  assert_int_equal(live_blocks, before);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_message_alone_takes_a_latency_and_its_bytes),
      cmocka_unit_test(test_the_start_of_a_transfer_and_the_percentage_count),
      cmocka_unit_test(test_a_message_arrives_in_the_first_picosecond_that_has_all_of_it),
      cmocka_unit_test(test_two_share_the_way_up_or_the_way_down_of_a_switch),
      cmocka_unit_test(test_a_mesh_has_a_link_for_each_pair),
      cmocka_unit_test(test_what_a_narrow_link_keeps_a_flow_from_taking_others_get),
      cmocka_unit_test(test_a_cap_leaves_the_rest_to_others),
      cmocka_unit_test(test_a_third_flow_slows_the_others_and_its_end_hurries_them),
      cmocka_unit_test(test_a_message_without_bytes_takes_the_latency_and_no_share),
      cmocka_unit_test(test_what_arrives_together_comes_by_source_and_then_as_it_began),
      cmocka_unit_test(test_a_ring_of_eight_takes_the_shorter_way),
      cmocka_unit_test(test_a_message_may_begin_before_the_clock_and_join_after_it),
      cmocka_unit_test(test_lookahead_is_that_of_the_tier_and_of_the_hops),
      cmocka_unit_test(test_ranks_that_no_fabric_holds_are_refused),
      cmocka_unit_test(test_links_count_bytes_flows_and_busy_time),
      cmocka_unit_test(test_links_of_a_ring_go_both_ways_round),
      cmocka_unit_test(test_the_largest_message_arrives_after_the_longest_time),
      cmocka_unit_test(test_where_memory_ends_nothing_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
