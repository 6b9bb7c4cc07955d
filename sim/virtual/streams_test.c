/* SPDX-License-Identifier: MIT */
/*
 * Streams that share a rate, against a model that serves each of them its share picosecond by picosecond; and what must
 * hold whatever the model says: all bytes asked for are served, no stream faster than its cap.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sim/virtual/streams.h>

#define CORES 24
#define SCRIPTS 1000

static struct pto_stream ring[32];
static struct pto_timing_rate shares[CORES + 1];

static struct pto_streams streams_of(uint64_t cap_mbps, uint64_t total_mbps) {
  struct pto_streams streams = {.ring = ring, .mask = PTO_ARRAY_LENGTH(ring) - 1, .shares = shares};
  pto_streams_set_rates(&streams, cap_mbps, total_mbps, CORES);
  pto_streams_reset(&streams);
  streams.head = streams.tail = UINT32_MAX - 40; /* just below the wrap */
  return streams;
}

static void expect_end(struct pto_streams *streams, uint64_t time, uint32_t core) {
  uint32_t cores[CORES];
  assert_int_equal(streams->next_at, time);
  assert_int_equal(pto_streams_end(streams, cores), 1);
  assert_int_equal(cores[0], core);
}

/* A byte takes 1 ps alone, two are served in full. */
static void test_a_third_stream_slows_the_others_and_its_end_hurries_them(void **state) {
  struct pto_streams streams = streams_of(1000000, 2000000);
  pto_streams_begin(&streams, 0, 1000, 0);
  pto_streams_begin(&streams, 100, 1000, 1);
  pto_streams_begin(&streams, 400, 200, 2); /* 600, 700 and 200 left, 2/3 byte a ps each */
  expect_end(&streams, 701, 2);             /* a little less than 2/3; 399.3 and 499.3 left, a byte a ps each */
  expect_end(&streams, 1101, 0);
  expect_end(&streams, 1201, 1);
  assert_int_equal(streams.next_at, PTO_EVENT_NEVER);
}

static void test_streams_of_one_end_end_together(void **state) {
  struct pto_streams streams = streams_of(1000000, 1000000);
  uint32_t cores[CORES], seen = 0;
  for (uint32_t i = 0; i < 4; i++) pto_streams_begin(&streams, 7, 25, i);
  assert_int_equal(streams.next_at, 107);
  assert_int_equal(pto_streams_end(&streams, cores), 4);
  for (uint32_t i = 0; i < 4; i++) seen |= 1u << cores[i];
  assert_int_equal(seen, 15);
}

static void test_impossible_sizes_end(void **state) {
  struct pto_streams streams = streams_of(1, 1);
  for (uint32_t i = 0; i < CORES; i++) pto_streams_begin(&streams, 0, UINT64_MAX, i);
  expect_end(&streams, PTO_TIMING_MAX_PS, 0);
  for (uint32_t i = 1; i < CORES; i++) {
    uint32_t cores[CORES];
    const uint64_t before = streams.updated_at;
    assert_int_equal(pto_streams_end(&streams, cores), 1);
    assert_int_equal(streams.updated_at, before + PTO_TIMING_MAX_PS);
  }
}

struct asked {
  unsigned __int128 units; /* still to be served */
  uint64_t bytes, begin;
};

static void play(uint64_t seed, uint64_t *ended_count) {
  struct pto_rng rng = {seed};
  const uint64_t cap_mbps = 1 + pto_rng_below(&rng, 3000000), total_mbps = 1 + pto_rng_below(&rng, 9000000);
  const uint32_t most = 1 + (uint32_t)pto_rng_below(&rng, CORES);
  struct pto_streams streams = streams_of(cap_mbps, total_mbps);
  struct asked asked[CORES] = {0};
  unsigned __int128 all_asked = 0, all_served = 0;
  uint32_t active = 0, cores[CORES];
  for (uint64_t now = 0; now < 1500; now++) {
    if (streams.next_at == now) { /* exactly those that the model has served */
      const uint32_t count = pto_streams_end(&streams, cores);
      for (uint32_t i = 0; i < count; i++) {
        struct asked *a = &asked[cores[i]];
        assert_true(a->bytes > 0 && a->units == 0);
        assert_true((unsigned __int128)a->bytes * 1000000 <= (unsigned __int128)cap_mbps * (now - a->begin));
        a->bytes = 0;
        active--;
        ++*ended_count;
      }
    }
    for (uint32_t i = 0; i < CORES; i++) assert_true(asked[i].bytes == 0 || asked[i].units > 0);
    const uint32_t core = (uint32_t)pto_rng_below(&rng, most);
    if (pto_rng_below(&rng, 8) == 0 && asked[core].bytes == 0) {
      asked[core].bytes = 1 + pto_rng_below(&rng, 300);
      asked[core].units = ((unsigned __int128)asked[core].bytes * 1000000) << 20;
      asked[core].begin = now;
      all_asked += asked[core].units;
      active++;
      pto_streams_begin(&streams, now, asked[core].bytes, core);
    }
    if (active == 0) continue;
    const unsigned __int128 cap = (unsigned __int128)cap_mbps << 20,
                            part = ((unsigned __int128)total_mbps << 20) / active;
    const unsigned __int128 share = cap < part ? cap : part;
    for (uint32_t i = 0; i < CORES; i++) {
      if (asked[i].bytes == 0) continue;
      const unsigned __int128 got = asked[i].units < share ? asked[i].units : share;
      asked[i].units -= got;
      all_served += got;
    }
  }
  unsigned __int128 left = 0;
  for (uint32_t i = 0; i < CORES; i++) left += asked[i].bytes ? asked[i].units : 0;
  assert_true(all_asked == all_served + left);
}

static void test_random_streams_are_served_as_picosecond_by_picosecond(void **state) {
  uint64_t ended_count = 0;
  print_message("seeds 1 to %d\n", SCRIPTS);
  for (uint64_t seed = 1; seed <= SCRIPTS; seed++) play(seed, &ended_count);
  print_message("%llu streams\n", (unsigned long long)ended_count);
  assert_true(ended_count > 10 * SCRIPTS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_third_stream_slows_the_others_and_its_end_hurries_them),
      cmocka_unit_test(test_streams_of_one_end_end_together),
      cmocka_unit_test(test_impossible_sizes_end),
      cmocka_unit_test(test_random_streams_are_served_as_picosecond_by_picosecond),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
