/* SPDX-License-Identifier: MIT */
/*
 * What holds of any run in virtual time, whatever the rules in detail: told from the timeline and the clocks alone,
 * without a model.  And where more may be less, one example each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <tests/support/virtual_script.h>

#include <runtime/base/reserve.h>
#include <runtime/trace/trace.h>

#define MESSAGES 96u
#define CLUSTERS 4u

struct run {
  struct pto_rng rng;
  struct pto_chip chip;
  struct pto_port *port;
  struct pto_trace trace;
  struct pto_trace_log spans;
  uint64_t bytes[MESSAGES];
  uint32_t count, left, held[3 * CLUSTERS];
};

static uint64_t below(struct run *run, uint64_t bound) { return pto_rng_below(&run->rng, bound); }

static void begin(struct run *run) {
  struct pto_error error;
  const struct pto_engine_config config = {.chip = &run->chip};
  pto_script_reset();
  assert_int_equal(pto_engine_virtual_create(&config, &run->port, &error), PTO_OK);
  assert_true(pto_reserve_init(&run->spans.memory, 1 << 16));
  run->spans.record_bytes = sizeof(struct pto_trace_span);
  run->spans.capacity = (1 << 16) / sizeof(struct pto_trace_span);
  run->spans.count = run->count = run->left = 0;
  memset(run->held, 0, sizeof run->held);
  run->trace =
      (struct pto_trace){.record = PTO_RECORD_TIMELINE, .is_virtual = true, .spans = &run->spans, .span_log_count = 1};
  run->port->trace = &run->trace;
  assert_int_equal(run->port->ops->begin_run(run->port, NULL, 0), PTO_OK);
}

/* The run's time. */
static uint64_t end(struct run *run) {
  run->port->ops->end_run(run->port);
  const uint64_t elapsed = run->port->elapsed_ps(run->port);
  run->port->ops->destroy(run->port);
  return elapsed;
}

static void send(struct run *run, struct pto_message message, uint64_t bytes, uint64_t ready_at) {
  message.block_index = run->count;
  run->bytes[run->count++] = bytes;
  run->held[message.core]++;
  run->left++;
  run->port->ops->dispatch(run->port, &message, ready_at, NULL);
}

static bool take(struct run *run) {
  struct pto_completion completion;
  if (run->port->ops->poll(run->port, &completion, 1) == 0) return false;
  run->held[completion.core]--;
  run->left--;
  pto_port_charge(run->port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  return true;
}

static void take_all(struct run *run) {
  while (run->left)
    if (!take(run)) run->port->ops->wait(run->port);
}

/* All that a chip may have but an L2 cache, with which the bytes of a call are not those of one memory. */
static struct pto_chip random_chip(struct run *run) {
  struct pto_chip chip = pto_script_chip(CLUSTERS, 1 + (uint32_t)below(run, CLUSTERS));
  chip.slots_per_core = 1 + (uint32_t)below(run, 4);
  chip.shares_anew = true;
  chip.core_bandwidth_mbps = 1 + below(run, 3000000);
  chip.chip_bandwidth_mbps = 1 + below(run, 9000000);
  chip.pending_start_ps = below(run, 20);
  chip.cold_start_ps = below(run, 200);
  chip.handshake_ps = below(run, 200);
  chip.dispatch_more_ps = below(run, 12);
  chip.deals_clusters = below(run, 2) == 0;
  chip.is_graph_prebuilt = below(run, 3) == 0;
  if (below(run, 2)) chip.loop_ps = 1 + below(run, 60);
  if (chip.loop_ps) chip.look_ps = below(run, 20);
  return chip;
}

/* ---- conservation ---- */

/* Units that each of `count` streams gets in a picosecond, of 2⁻²⁰ · 10⁻⁶ bytes. */
static uint64_t share_of(const struct pto_chip *chip, uint32_t count) {
  const uint64_t cap = chip->core_bandwidth_mbps << 20, part = (chip->chip_bandwidth_mbps << 20) / count;
  return cap < part ? cap : part;
}

/* From the spans alone, which are those of the streams: what a stream has got between its begin and its end is what it
 * asked for, to the picosecond, if none gets more than its cap and all of them no more than the chip has. */
static void check_streams(const struct run *run) {
  for (uint32_t i = 0; i < run->spans.count; i++) {
    const struct pto_trace_span *span = pto_trace_log_at(&run->spans, i);
    const unsigned __int128 asked = (unsigned __int128)run->bytes[span->block_index] * 1000000 << 20;
    unsigned __int128 served = 0;
    uint64_t last_share = 0;
    if (asked == 0) assert_int_equal(span->begin, span->end);
    for (uint64_t now = span->begin; now < span->end;) {
      uint64_t next = span->end;
      uint32_t count = 0;
      for (uint32_t k = 0; k < run->spans.count; k++) {
        const struct pto_trace_span *other = pto_trace_log_at(&run->spans, k);
        count += other->begin <= now && now < other->end;
        if (other->begin > now) next = pto_min_u64(next, other->begin);
        if (other->end > now) next = pto_min_u64(next, other->end);
      }
      assert_true(count > 0);
      last_share = share_of(&run->chip, count ? count : 1);
      served += (unsigned __int128)last_share * (next - now);
      now = next;
    }
    assert_true(served >= asked && (asked == 0 || served - last_share < asked));
  }
}

static void check_cores(const struct run *run) {
  uint64_t free_at[3 * CLUSTERS] = {0};
  assert_int_equal(run->spans.count, run->count);
  for (uint32_t i = 0; i < run->spans.count; i++) {
    const struct pto_trace_span *span = pto_trace_log_at(&run->spans, i);
    assert_true(span->begin >= free_at[span->core] && span->end >= span->begin);
    free_at[span->core] = span->end + run->chip.kernel_end_ps;
  }
}

static void test_streams_get_what_they_ask_for_and_no_core_does_two_things(void **state) {
  static struct run run;
  run.rng.state = 3;
  print_message("seed 3\n");
  for (uint32_t round = 0; round < 200; round++) {
    run.chip = random_chip(&run);
    begin(&run);
    for (uint32_t i = 0; i < MESSAGES; i++) {
      const uint32_t core = (uint32_t)below(&run, 3 * CLUSTERS);
      const uint64_t bytes = below(&run, 3) ? below(&run, 500) : 0;
      if (below(&run, 4) == 0 && run.left) run.port->ops->wait(run.port);
      if (below(&run, 4) == 0) take(&run);
      if (run.held[core] < run.chip.slots_per_core)
        send(&run, pto_script_message(core, 0, bytes, 0), bytes, run.port->clock + below(&run, 50));
    }
    take_all(&run);
    check_streams(&run);
    check_cores(&run);
    end(&run);
    pto_reserve_fini(&run.spans.memory);
  }
}

/* ---- prices ---- */

/* One scheduler that is never idle but at the end: its clock is the sum of all that it did. */
static void test_every_price_is_paid_once(void **state) {
  static struct run run;
  run.rng.state = 5;
  print_message("seed 5\n");
  for (uint32_t round = 0; round < 200; round++) {
    struct pto_chip chip = pto_script_chip(CLUSTERS, 1);
    const uint64_t handshake = below(&run, 5000), edges = 1 + below(&run, 9);
    chip.handshake_ps = handshake;
    chip.kernel_start_ps = chip.pending_start_ps = 3;
    chip.kernel_end_ps = 1;
    chip.schedulers_wire = true;
    chip.work_ps[PTO_WORK_DISPATCH] = 1000 + below(&run, 1000);
    chip.work_ps[PTO_WORK_POLL] = 1000 + below(&run, 1000);
    chip.work_ps[PTO_WORK_COMPLETE] = 1000 + below(&run, 1000);
    chip.work_ps[PTO_WORK_EDGE] = 1000 + below(&run, 1000);
    chip.dispatch_more_ps = 100 + below(&run, 900);
    run.chip = chip;
    begin(&run);
    run.port->ops->wire(run.port, edges);
    for (uint32_t i = 0; i < 6 * CLUSTERS; i++) { /* two blocks a task */
      send(&run, pto_script_message(i / 2, 0, 0, 0), 0, 0);
      pto_script_tasks[i].payload.task_number = i / 2;
    }
    take_all(&run);
    const uint64_t price = edges * chip.work_ps[PTO_WORK_EDGE] +
                           3 * CLUSTERS * (chip.work_ps[PTO_WORK_DISPATCH] + chip.dispatch_more_ps) +
                           6 * CLUSTERS * (chip.work_ps[PTO_WORK_POLL] + chip.work_ps[PTO_WORK_COMPLETE]);
    const uint64_t elapsed = end(&run);
    assert_true(elapsed >= handshake + price && elapsed <= handshake + price + 4);
    pto_reserve_fini(&run.spans.memory);
  }
}

/* ---- monotonicity ---- */

/* Messages of one core, each asked for when the one before has been handled. */
static uint64_t run_chain(struct run *run, const struct pto_chip *chip, uint64_t seed) {
  static char memory[1024];
  static uint64_t sizes[MESSAGES];
  run->chip = *chip;
  run->rng.state = seed;
  begin(run);
  for (uint32_t i = 0; i < 20; i++) {
    const uint64_t elems = below(run, 300), bytes = below(run, 300), place = below(run, 500);
    sizes[i] = 1 + below(run, 300);
    const struct pto_message message = pto_script_message_of(1, elems, bytes, memory + place, &sizes[i]);
    pto_script_tasks[i].payload.kernels[0] = &pto_script_kernels[PTO_INPUT + below(run, 3)];
    send(run, message, bytes, run->port->clock);
    while (!take(run)) run->port->ops->wait(run->port);
  }
  const uint64_t elapsed = end(run);
  pto_reserve_fini(&run->spans.memory);
  return elapsed;
}

static void test_a_chain_takes_no_less_where_something_takes_more(void **state) {
#define FIELD(field) offsetof(struct pto_chip, field)
  static const size_t prices[] = {FIELD(kernel_start_ps),
                                  FIELD(pending_start_ps),
                                  FIELD(cold_start_ps),
                                  FIELD(handshake_ps),
                                  FIELD(kernel_end_ps),
                                  FIELD(dispatch_more_ps),
                                  FIELD(work_ps[PTO_WORK_DISPATCH]),
                                  FIELD(work_ps[PTO_WORK_POLL]),
                                  FIELD(work_ps[PTO_WORK_COMPLETE])},
                      rates[] = {FIELD(core_bandwidth_mbps),    FIELD(chip_bandwidth_mbps),
                                 FIELD(l2_core_bandwidth_mbps), FIELD(l2_chip_bandwidth_mbps),
                                 FIELD(vector_elems_per_cycle), FIELD(aiv_clock_khz)};
  static struct run run;
  print_message("seeds 1 to 200\n");
  for (uint64_t seed = 1; seed <= 200; seed++) {
    struct pto_chip chip = pto_script_chip(CLUSTERS, 1);
    chip.shares_anew = seed % 2;
    chip.l2_bytes = seed % 2 ? 300 + seed : 0;
    chip.has_lru_l2 = seed % 4 == 1;
    const uint64_t usual = run_chain(&run, &chip, seed);
    for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(prices) + PTO_ARRAY_LENGTH(rates); i++) {
      const bool is_price = i < PTO_ARRAY_LENGTH(prices);
      struct pto_chip other = chip;
      char *field = (char *)&other + (is_price ? prices[i] : rates[i - PTO_ARRAY_LENGTH(prices)]);
      uint64_t value;
      memcpy(&value, field, sizeof value);
      value += is_price ? 1 + seed % 50 : value / (1 + seed % 5);
      memcpy(field, &value, sizeof value);
      const uint64_t time = run_chain(&run, &other, seed);
      assert_true(is_price ? time >= usual : time <= usual);
    }
  }
}

/* A look comes at another time, and so it may be the right one. */
static void test_a_longer_turn_may_find_a_completion_sooner(void **state) {
  static struct run run;
  uint64_t times[2];
  struct pto_chip chip = pto_script_chip(CLUSTERS, 1);
  chip.loop_ps = 102; /* turns end at 105, 207, 309; with 103 at 106, 209; visible at 208 */
  for (uint32_t i = 0; i < 2; i++, chip.loop_ps++) {
    run.chip = chip;
    begin(&run);
    send(&run, pto_script_message(1, 190, 0, 0), 0, 0);
    take_all(&run);
    times[i] = end(&run);
    pto_reserve_fini(&run.spans.memory);
  }
  assert_int_equal(times[0], 309 + 2 + 7);
  assert_int_equal(times[1], 209 + 2 + 7);
}

/* What shares at its begin keeps its share: so it may be better to come when the other one has gone. */
static void test_a_slower_start_may_end_sooner_where_shares_are_kept(void **state) {
  static struct run run;
  uint64_t times[2];
  for (uint32_t i = 0; i < 2; i++) {
    struct pto_chip chip = pto_script_chip(CLUSTERS, 1);
    chip.chip_bandwidth_mbps = chip.core_bandwidth_mbps; /* two share it with loss */
    chip.work_ps[PTO_WORK_DISPATCH] = i == 0 ? 3 : 110;
    run.chip = chip;
    begin(&run);
    send(&run, pto_script_message(1, 0, 100, 0), 100, 0);
    send(&run, pto_script_message(2, 0, 1000, 0), 1000, 0); /* begins 3 later, or 110 later */
    take_all(&run);
    times[i] = end(&run);
    pto_reserve_fini(&run.spans.memory);
  }
  assert_int_equal(times[0], 16 + 2000 + 5 + 2 + 7);
  assert_true(times[1] < times[0]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_streams_get_what_they_ask_for_and_no_core_does_two_things),
      cmocka_unit_test(test_every_price_is_paid_once),
      cmocka_unit_test(test_a_chain_takes_no_less_where_something_takes_more),
      cmocka_unit_test(test_a_longer_turn_may_find_a_completion_sooner),
      cmocka_unit_test(test_a_slower_start_may_end_sooner_where_shares_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
