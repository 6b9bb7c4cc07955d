/* SPDX-License-Identifier: MIT */
/*
 * Random messages on random fabrics: against a model in floating point that raises all rates together in small steps of
 * its own, and what must hold whatever the model says.
 *
 * The model has no integers, no heap and no links.c: it knows which ends of which pairs meet on a link from the text of
 * fabric.h alone.  It rounds nothing, so each arrival before another may make that one late by a picosecond more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/fabric/fabric.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tests/support/fabric_fixture.h>

#define SETS 1000
#define MOST 40

struct set {
  struct pto_chip chip;
  uint32_t ranks, count;
  struct pto_fabric_message messages[MOST];
  uint64_t begins[MOST];
  struct pto_fabric_arrival arrivals[MOST]; /* as they came */
  uint64_t at[MOST];                        /* by message */
};

/* ---- random sets ---- */

static uint32_t draw(struct pto_rng *rng, uint32_t bound) { return (uint32_t)pto_rng_below(rng, bound); }

static void draw_chip(struct pto_rng *rng, struct pto_chip *chip) {
  static const char *const words[] = {"switch", "mesh", "ring"}, *const tiers[] = {"package", "node", "nodes"};
  char text[512];
  const uint32_t dies = 1u << draw(rng, 3), chips = dies << draw(rng, 4 - (dies > 2)),
                 nodes = 1 + draw(rng, 64 / chips);
  const uint32_t percent = 1 + draw(rng, 100), start_ps = draw(rng, 10000);
  int length = snprintf(text, sizeof text,
                        "tiny,dies_per_package=%u,chips_per_node=%u,nodes=%u,link_percent=%u,transfer_start_ps=%u",
                        dies, chips, nodes, percent, start_ps);
  for (uint32_t tier = 0; tier < PTO_CHIP_TIER_COUNT; tier++) {
    const char *const word = words[draw(rng, 3)];
    length += snprintf(text + length, sizeof text - (size_t)length, ",%s_topology=%s,%s_bandwidth_mbps=%u", tiers[tier],
                       word, tiers[tier], 1 + draw(rng, 200000));
  }
  *chip = chip_of(text);
}

/* Few ranks and few targets, so that they meet; times and sizes of all magnitudes. */
static void draw_set(struct pto_rng *rng, struct set *set) {
  memset(set, 0, sizeof *set);
  do draw_chip(rng, &set->chip);
  while (pto_fabric_capacity(&set->chip) < 2);
  set->ranks = pto_fabric_capacity(&set->chip);
  const uint32_t active = 2 + draw(rng, set->ranks - 1);
  set->count = 1 + draw(rng, MOST);
  for (uint32_t i = 0; i < set->count; i++) {
    const uint32_t source = draw(rng, active), target = (source + 1 + draw(rng, active - 1)) % active;
    const uint64_t bytes = pto_rng_below(rng, UINT64_C(1) << pto_rng_below(rng, 24));
    set->messages[i] = (struct pto_fabric_message){.id = i, .bytes = bytes, .source = source, .target = target};
    if (draw(rng, 4) == 0) set->messages[i].cap_mbps = 1 + pto_rng_below(rng, 100000);
    set->begins[i] = pto_rng_below(rng, UINT64_C(1) << pto_rng_below(rng, 30));
  }
}

/* ---- the fabric ---- */

/* Begins each message as late as it may, others of its source before it, and looks at the clock in random steps. */
static void run_late(struct pto_rng *rng, struct set *set, struct pto_fabric *fabric) {
  bool has_begun[MOST] = {false};
  uint64_t clock = 0;
  uint32_t arrived = 0;
  while (arrived < set->count) {
    uint64_t first_join = PTO_FABRIC_NEVER, until;
    for (uint32_t i = 0; i < set->count; i++)
      if (!has_begun[i])
        first_join = pto_min_u64(first_join, set->begins[i] + pto_fabric_lookahead_ps(fabric, set->messages[i].source,
                                                                                      set->messages[i].target));
    /* What joins until then must be known; of one source, all before it too. */
    until = clock + pto_rng_below(rng, UINT64_C(1) << (1 + pto_rng_below(rng, 40)));
    for (uint32_t i = set->count; first_join <= until && i-- > 0;) {
      const uint64_t join =
          set->begins[i] + pto_fabric_lookahead_ps(fabric, set->messages[i].source, set->messages[i].target);
      if (has_begun[i] || join > until) continue;
      for (uint32_t k = 0; k <= i; k++) {
        if (has_begun[k] || set->messages[k].source != set->messages[i].source) continue;
        assert_int_equal(pto_fabric_begin(fabric, set->begins[k], &set->messages[k]), PTO_OK);
        has_begun[k] = true;
      }
    }
    while (pto_fabric_advance(fabric, until, &set->arrivals[arrived])) {
      assert_true(pto_fabric_is_valid(fabric));
      set->at[set->arrivals[arrived].message.id] = set->arrivals[arrived].at;
      arrived++;
    }
    assert_true(pto_fabric_is_valid(fabric));
    clock = until;
  }
}

/* All begun at first, and the clock at each event. */
static void run_at_once(struct set *set, struct pto_fabric *fabric) {
  uint32_t arrived = 0;
  for (uint32_t i = 0; i < set->count; i++)
    assert_int_equal(pto_fabric_begin(fabric, set->begins[i], &set->messages[i]), PTO_OK);
  for (uint64_t at; (at = pto_fabric_next_at(fabric)) != PTO_FABRIC_NEVER;) {
    while (pto_fabric_advance(fabric, at, &set->arrivals[arrived])) {
      set->at[set->arrivals[arrived].message.id] = set->arrivals[arrived].at;
      arrived++;
    }
  }
  assert_int_equal(arrived, set->count);
}

static void run(struct set *set) {
  struct pto_fabric *fabric;
  struct pto_error error;
  assert_int_equal(pto_fabric_create(&set->chip, set->ranks, &fabric, &error), PTO_OK);
  run_at_once(set, fabric);
  pto_fabric_destroy(fabric);
}

/* ---- the model ---- */

static uint32_t tier_between(const struct pto_chip_fabric *fabric, uint32_t a, uint32_t b) {
  if (a / fabric->chips_per_node != b / fabric->chips_per_node) return PTO_CHIP_NODES;
  return a / fabric->dies_per_package == b / fabric->dies_per_package ? PTO_CHIP_PACKAGE : PTO_CHIP_NODE;
}

/* The links of a message as keys: two messages share a link where they have a key in common. */
static uint32_t links_between(const struct pto_chip_fabric *fabric, uint32_t a, uint32_t b, uint32_t *keys) {
  const uint32_t tier = tier_between(fabric, a, b), base = tier << 24;
  const uint32_t sizes[] = {fabric->dies_per_package, fabric->chips_per_node, fabric->chips_per_node * fabric->nodes};
  const uint32_t size = sizes[tier], start = a - a % size;
  if (fabric->tiers[tier].topology == PTO_CHIP_MESH) {
    keys[0] = base | a << 8 | b;
    return 1;
  }
  if (fabric->tiers[tier].topology == PTO_CHIP_SWITCH) {
    keys[0] = base | a << 8;
    keys[1] = base | 1u << 16 | b;
    return 2;
  }
  uint32_t count = 0;
  const uint32_t forward = a < b ? b - a : b + size - a;
  for (uint32_t at = a - start; at != b - start; count++) {
    const uint32_t next = 2 * forward <= size ? (at + 1) % size : (at + size - 1) % size;
    keys[count] = base | (2 * forward <= size) << 16 | (start + at) << 8 | (start + next);
    at = next;
  }
  return count;
}

struct model_flow {
  uint32_t keys[PTO_FABRIC_MAX_HOPS], key_count;
  double join, left, rate, cap, capacity; /* rates in bytes a picosecond */
  bool is_flow, is_done, is_fixed;
};

/* What of the capacity of a link is left, and for how many flows. */
static double free_of(const struct model_flow *flows, uint32_t count, uint32_t key, double capacity,
                      uint32_t *unfixed) {
  *unfixed = 0;
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; flows[i].is_flow && k < flows[i].key_count; k++) {
      if (flows[i].keys[k] != key) continue;
      capacity -= flows[i].rate;
      *unfixed += !flows[i].is_fixed;
    }
  }
  return capacity;
}

/* Raises all rates that may rise by the same step until one may not. */
static void model_rates(struct model_flow *flows, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    flows[i].rate = 0;
    flows[i].is_fixed = !flows[i].is_flow;
  }
  for (;;) {
    double step = INFINITY, steps[MOST];
    for (uint32_t i = 0; i < count; i++) {
      steps[i] = INFINITY;
      if (flows[i].is_fixed) continue;
      steps[i] = flows[i].cap - flows[i].rate;
      for (uint32_t k = 0; k < flows[i].key_count; k++) {
        uint32_t unfixed;
        const double room = free_of(flows, count, flows[i].keys[k], flows[i].capacity, &unfixed);
        steps[i] = fmin(steps[i], room / unfixed);
      }
      step = fmin(step, steps[i]);
    }
    if (isinf(step)) return;
    for (uint32_t i = 0; i < count; i++) {
      if (flows[i].is_fixed) continue;
      flows[i].rate += step;
      flows[i].is_fixed = steps[i] <= step * (1 + 1e-12) + 1e-18;
    }
  }
}

static void run_model(const struct set *set, double *at) {
  const struct pto_chip_fabric *fabric = &set->chip.fabric;
  struct model_flow flows[MOST] = {0};
  double now = 0;
  for (uint32_t i = 0; i < set->count; i++) {
    const struct pto_fabric_message *m = &set->messages[i];
    const uint32_t tier = tier_between(fabric, m->source, m->target);
    struct model_flow *flow = &flows[i];
    flow->key_count = links_between(fabric, m->source, m->target, flow->keys);
    const uint32_t hops = fabric->tiers[tier].topology == PTO_CHIP_RING ? flow->key_count : 1;
    flow->join = (double)(set->begins[i] + fabric->start_ps + fabric->tiers[tier].latency_ps * hops);
    flow->left = (double)m->bytes;
    flow->capacity = (double)(fabric->tiers[tier].bandwidth_mbps * fabric->link_percent) / 1e8;
    flow->cap = m->cap_mbps ? (double)m->cap_mbps / 1e6 : INFINITY;
    flow->is_done = m->bytes == 0;
    at[i] = flow->join;
  }
  for (;;) {
    double next = INFINITY;
    uint32_t which = 0;
    model_rates(flows, set->count);
    for (uint32_t i = 0; i < set->count; i++) {
      if (flows[i].is_done) continue;
      const double then = flows[i].is_flow ? now + flows[i].left / flows[i].rate : flows[i].join;
      if (then >= next) continue;
      next = then;
      which = i;
    }
    if (isinf(next)) return;
    for (uint32_t i = 0; i < set->count; i++)
      if (flows[i].is_flow) flows[i].left -= flows[i].rate * (next - now);
    now = next;
    if (flows[which].is_flow) at[which] = now;
    flows[which].is_done = flows[which].is_flow;
    flows[which].is_flow = !flows[which].is_flow;
  }
}

/* ---- tests ---- */

static void test_random_messages_arrive_as_a_model_in_floating_point_says(void **state) {
  struct pto_rng rng = {.state = 1};
  double worst = 0;
  for (uint32_t n = 0; n < SETS; n++) {
    static struct set set;
    double at[MOST];
    draw_set(&rng, &set);
    run(&set);
    run_model(&set, at);
    for (uint32_t i = 0; i < set.count; i++) {
      const double off = fabs((double)set.at[i] - at[i]), allowed = 2.0 * set.count + 1e-8 * at[i];
      worst = fmax(worst, off / allowed);
      if (off > allowed)
        fail_msg("set %u, message %u of %u: %llu ps, not %.1f", n, i, set.count, (unsigned long long)set.at[i], at[i]);
    }
  }
  print_message("worst: %.3f of what is allowed\n", worst);
}

/* The order of calls and the steps of the clock change nothing, and all arrivals are in order. */
static void test_who_is_told_when_changes_nothing(void **state) {
  struct pto_rng rng = {.state = 2};
  for (uint32_t n = 0; n < SETS; n++) {
    static struct set at_once, late;
    struct pto_fabric *fabric;
    struct pto_error error;
    draw_set(&rng, &at_once);
    late = at_once;
    run(&at_once);
    assert_int_equal(pto_fabric_create(&late.chip, late.ranks, &fabric, &error), PTO_OK);
    run_late(&rng, &late, fabric);
    pto_fabric_destroy(fabric);
    assert_memory_equal(late.at, at_once.at, sizeof late.at);
    for (uint32_t i = 0; i < late.count; i++) {
      const struct pto_fabric_arrival *a = &late.arrivals[i], *b = &a[-1];
      assert_memory_equal(a, &at_once.arrivals[i], sizeof *a);
      if (i == 0) continue;
      assert_true(b->at < a->at || (b->at == a->at && b->message.source <= a->message.source));
      if (b->at == a->at && b->message.source == a->message.source) assert_true(b->message.id < a->message.id);
    }
  }
}

/* A link's bytes are those of the messages whose route has it, and no link carried them faster than it can. */
static void test_links_carry_all_bytes_and_not_more_than_they_can(void **state) {
  struct pto_rng rng = {.state = 3};
  for (uint32_t n = 0; n < SETS; n++) {
    static struct set set;
    static uint64_t bytes[1u << 16], flows[1u << 16];
    struct pto_fabric *fabric;
    struct pto_error error;
    draw_set(&rng, &set);
    assert_int_equal(pto_fabric_create(&set.chip, set.ranks, &fabric, &error), PTO_OK);
    run_late(&rng, &set, fabric);
    memset(bytes, 0, pto_fabric_link_count(fabric) * sizeof bytes[0]);
    memset(flows, 0, pto_fabric_link_count(fabric) * sizeof flows[0]);
    for (uint32_t i = 0; i < set.count; i++) {
      uint16_t links[PTO_FABRIC_MAX_HOPS];
      const struct pto_fabric_message *m = &set.messages[i];
      const uint32_t count = pto_fabric_route(fabric, m->source, m->target, links);
      for (uint32_t k = 0; k < count; k++) {
        bytes[links[k]] += m->bytes;
        flows[links[k]] += m->bytes > 0;
      }
    }
    for (uint32_t i = 0; i < pto_fabric_link_count(fabric); i++) {
      const struct pto_fabric_link link = pto_fabric_link(fabric, i);
      assert_int_equal(link.bytes, bytes[i]);
      assert_int_equal(link.flows, flows[i]);
      assert_int_equal(link.flows_now, 0);
      assert_true((double)link.bytes * 1e6 <= (double)link.busy_ps * (double)(link.bandwidth_mbps + 1));
    }
    pto_fabric_destroy(fabric);
  }
}

static void test_everything_later_makes_everything_as_much_later(void **state) {
  struct pto_rng rng = {.state = 4};
  for (uint32_t n = 0; n < SETS / 4; n++) {
    static struct set set, later;
    const uint64_t by = pto_rng_below(&rng, UINT64_C(1) << 40);
    draw_set(&rng, &set);
    later = set;
    for (uint32_t i = 0; i < set.count; i++) later.begins[i] += by;
    run(&set);
    run(&later);
    for (uint32_t i = 0; i < set.count; i++) assert_int_equal(later.at[i], set.at[i] + by);
  }
}

/* Where a flow has one link, others can only slow it. */
static void test_on_meshes_one_more_message_makes_none_earlier(void **state) {
  struct pto_rng rng = {.state = 5};
  for (uint32_t n = 0; n < SETS / 4; n++) {
    static struct set set, less;
    draw_set(&rng, &set);
    for (uint32_t tier = 0; tier < PTO_CHIP_TIER_COUNT; tier++) set.chip.fabric.tiers[tier].topology = PTO_CHIP_MESH;
    less = set;
    less.count--;
    run(&set);
    if (less.count > 0) run(&less);
    for (uint32_t i = 0; i < less.count; i++) assert_true(set.at[i] + set.count >= less.at[i]); /* a ps an arrival */
  }
}

/* Where it has several, not: what slows 0 -> 2 leaves more of the way down to 2 for 3 -> 2. */
static void test_on_a_switch_one_more_message_may_make_another_earlier(void **state) {
  uint64_t at[2] = {0};
  for (uint32_t more = 0; more < 2; more++) {
    struct pto_fabric *fabric = fabric_of(ONE_NODE, 8);
    struct pto_fabric_arrival arrival;
    send(fabric, 0, 0, 1, 3000);
    send(fabric, 0, 0, 2, 3000);
    send(fabric, 0, 3, 2, 1000);
    if (more) send(fabric, 0, 0, 4, 3000);
    assert_true(pto_fabric_advance(fabric, PTO_FABRIC_NEVER - 1, &arrival));
    assert_int_equal(arrival.message.source, 3);
    at[more] = arrival.at;
    pto_fabric_destroy(fabric);
  }
  assert_int_equal(at[0], 240000);
  assert_in_range(at[1], 230000, 230001);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random_messages_arrive_as_a_model_in_floating_point_says),
      cmocka_unit_test(test_who_is_told_when_changes_nothing),
      cmocka_unit_test(test_links_carry_all_bytes_and_not_more_than_they_can),
      cmocka_unit_test(test_everything_later_makes_everything_as_much_later),
      cmocka_unit_test(test_on_meshes_one_more_message_makes_none_earlier),
      cmocka_unit_test(test_on_a_switch_one_more_message_may_make_another_earlier),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
