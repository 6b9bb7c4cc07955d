/* SPDX-License-Identifier: MIT */
/*
 * What kernel calls take on the virtual engine: memory and its sharing, L2, tables of kernel times, stages; against
 * times worked out on paper.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <tests/support/virtual_bench.h>

#include <sim/chips/timing.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void test_the_longer_of_memory_and_vector_decides(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 400, 0), 0);
  dispatch(&b, pto_script_message(2, 100, 40, 0), 0);
  wait_until(&b, 121); /* sent at 6, begins at 16, 100 elements outlast 40 bytes */
  expect_completion(&b, 1, 123);
  wait_until(&b, 418); /* sent at 3, begins at 13, 400 bytes outlast 100 elements */
  expect_completion(&b, 0, 420);
  bench_end(&b);
}

static void test_a_third_core_at_the_memory_gets_a_third_of_the_chip(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  for (uint32_t core = 0; core < 3; core++) dispatch(&b, pto_script_message(core, 0, 1000, 0), 0);
  for (uint32_t i = 0; i < 3; i++) {
    b.port->ops->wait(b.port);
    expect_completion(&b, i, b.port->clock + 2);
  }
  expect_span(&b, 0, 0, 13, 1013); /* alone */
  expect_span(&b, 1, 1, 16, 1016); /* two: 1000 · 2 / 2 */
  expect_span(&b, 2, 2, 19, 1519); /* three: 1000 · 3 / 2; the others keep what they had */
  bench_end(&b);
}

static void test_cores_that_move_nothing_do_not_share_the_memory(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 1));
  for (uint32_t core = 0; core < 4; core++) dispatch(&b, pto_script_message(core, 5000, 0, 0), 0);
  dispatch(&b, pto_script_message(4, 0, 1000, 0), 0);
  wait_until(&b, 1030); /* sent at 15, begins at 25, alone at the memory */
  expect_completion(&b, 4, 1032);
  bench_end(&b);
}

static void test_a_core_that_ends_at_an_instant_does_not_share_with_one_that_begins(void **state) {
  struct pto_chip chip = pto_script_chip(1, 1);
  struct bench b;
  chip.chip_bandwidth_mbps = chip.core_bandwidth_mbps;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(2, 0, 100, 0), 0);   /* begins at 13, visible at 118 */
  dispatch(&b, pto_script_message(1, 0, 100, 0), 105); /* sent at 108, begins at 118 */
  b.port->ops->wait(b.port);
  expect_completion(&b, 0, 120);
  b.port->ops->wait(b.port);
  expect_completion(&b, 1, 225);
  expect_span(&b, 1, 1, 118, 218);
  bench_end(&b);
}

static void test_bandwidth_that_is_shared_anew_changes_with_each_begin_and_end(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.shares_anew = true;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(0, 0, 1000, 0), 0);   /* begins at 13 */
  dispatch(&b, pto_script_message(1, 2000, 500, 0), 0); /* begins at 16; its elements outlast its bytes */
  dispatch(&b, pto_script_message(2, 0, 200, 0), 400);  /* begins at 413; 600, 103 and 200 left, 2/3 byte a ps each */
  for (uint32_t i = 0; i < 3; i++) {
    b.port->ops->wait(b.port);
    expect_completion(&b, i == 0 ? 2 : i == 1 ? 0 : 1, b.port->clock + 2);
  }
  expect_span(&b, 0, 0, 13, 1065); /* 497 left at 567.5, as 96.3 of core 2, which then go at a byte a ps */
  expect_span(&b, 1, 1, 16, 2016); /* its stream ends in the middle of 567, its elements at 2016 */
  expect_span(&b, 2, 2, 413, 665);
  bench_end(&b);
}

/* 2⁵⁰ bytes are more than 64 bits of the units that are served; what would take longer than can be is cut. */
static void test_bytes_beyond_all_memory_end_too(void **state) {
  struct bench b;
  struct pto_completion completion;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.shares_anew = true;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(0, 0, UINT64_C(1) << 50, 0), 0);
  wait_until(&b, 13 + (UINT64_C(1) << 50) + 5);
  expect_completion(&b, 0, b.port->clock + 2);
  expect_span(&b, 0, 0, 13, 13 + (UINT64_C(1) << 50));
  dispatch(&b, pto_script_message(0, 0, UINT64_MAX, 0), 0);
  b.port->ops->wait(b.port);
  assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
  const struct pto_trace_span *span = pto_trace_log_at(&b.spans, 1);
  assert_int_equal(span->end - span->begin, PTO_TIMING_MAX_PS);
  bench_end(&b);
  bench_begin_as(&b, chip, 100000, false); /* and where noise would make them more */
  for (uint32_t i = 0; i < 8; i++) {
    dispatch(&b, pto_script_message(0, 0, UINT64_MAX, 0), 0);
    b.port->ops->wait(b.port);
    assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
    span = pto_trace_log_at(&b.spans, i);
    assert_int_equal(span->end - span->begin, PTO_TIMING_MAX_PS);
  }
  bench_end(&b);
}

/* The noise is on both: what a core computes is recorded as long as its span. */
static void test_what_noise_makes_longer_is_recorded_so(void **state) {
  struct bench b;
  bench_begin_as(&b, pto_script_chip(1, 1), 100000, true);
  for (uint32_t i = 0; i < 4; i++) {
    struct pto_completion completion;
    dispatch(&b, pto_script_message(0, 1000000, 1000, 0), 0);
    b.port->ops->wait(b.port);
    assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
  }
  uint32_t found = 0;
  for (uint64_t s = 0; s < b.trace.segments.count; s++) {
    const struct pto_trace_segment *segment = pto_trace_log_at(&b.trace.segments, s);
    if (segment->activity != PTO_ACTIVITY_compute || segment->resource.kind != PTO_RESOURCE_CORE) continue;
    const struct pto_trace_span *span = pto_trace_log_at(&b.spans, found++);
    assert_int_equal(segment->begin, span->begin);
    assert_int_equal(segment->end, span->end);
    assert_true(span->end - span->begin != 1000000);
  }
  assert_int_equal(found, 4);
  bench_end(&b);
}

static uint64_t allocated_now;
static uint64_t allocated_bytes(const void *context) { return allocated_now; }

/* The L2 moves 4 bytes a ps. */
static void test_what_tasks_allocated_comes_from_the_l2_cache_as_far_as_it_fits(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  char heap[4], outside[4];
  const uint64_t part = 400, all = 5000;
  chip.shares_anew = true;
  chip.l2_bytes = 1000;
  bench_begin(&b, chip);
  b.port->allocated_bytes = allocated_bytes;
  b.port->ops->bind_memory(b.port, heap, sizeof heap);
  allocated_now = 1000;
  dispatch(&b, pto_script_message_of(0, 0, 1000, heap, &part), 0);    /* begins at 13: 600 bytes, then 400 of the L2 */
  dispatch(&b, pto_script_message_of(1, 0, 1000, outside, &part), 0); /* begins at 16 */
  b.port->ops->wait(b.port);
  expect_completion(&b, 0, 720);
  expect_span(&b, 0, 0, 13, 713);
  b.port->ops->wait(b.port);
  expect_completion(&b, 1, 1023);
  expect_span(&b, 1, 1, 16, 1016);
  allocated_now = 4000;                                              /* a quarter of it fits */
  dispatch(&b, pto_script_message_of(0, 0, 1000, heap, &all), 2000); /* begins at 2013: 750 bytes, then 250 */
  b.port->ops->wait(b.port);
  struct pto_completion completion;
  assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
  expect_span(&b, 2, 2, 2013, 2826); /* 2763, and 62.5 */
  b.port->allocated_bytes = NULL;    /* then all of it fits */
  dispatch(&b, pto_script_message_of(0, 0, 1000, heap, &part), 4000);
  b.port->ops->wait(b.port);
  assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
  expect_span(&b, 3, 3, 4013, 4713);
  bench_end(&b);
}

static void dispatch_a_a_b_a(struct bench *bench, struct pto_chip chip) {
  static char a[400], b[800];
  static const uint64_t a_bytes = sizeof a, b_bytes = sizeof b;
  bench_begin(bench, chip);
  dispatch(bench, pto_script_message_of(0, 0, 400, a, &a_bytes), 0); /* begins at 13; all are missed */
  dispatch(bench, pto_script_message_of(0, 0, 400, a, &a_bytes), 0); /* all are there, 4 bytes a picosecond */
  const struct pto_message writes = pto_script_message_of(0, 0, 800, b, &b_bytes); /* nothing is fetched; 200 of a go */
  pto_script_tasks[2].payload.kernels[0] = &pto_script_kernels[PTO_OUTPUT];
  dispatch(bench, writes, 0);
  /* 200 are missed, and 200 of b, which are the oldest now, are written back; then 200 of the L2. */
  dispatch(bench, pto_script_message_of(0, 0, 400, a, &a_bytes), 0);
  for (uint32_t i = 0; i < 4; i++) {
    bench->port->ops->wait(bench->port);
    expect_completion(bench, i, bench->port->clock + 2);
  }
}

static void test_what_was_used_last_is_in_the_l2_cache_where_it_goes_by_use(void **state) {
  struct bench bench;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.slots_per_core = 4;
  chip.shares_anew = true;
  chip.l2_bytes = 1000;
  chip.has_lru_l2 = true;
  dispatch_a_a_b_a(&bench, chip);
  expect_span(&bench, 0, 0, 13, 413);
  expect_span(&bench, 1, 1, 428, 528);
  expect_span(&bench, 2, 2, 543, 743);
  expect_span(&bench, 3, 3, 758, 1208);
  bench_end(&bench);
  /* A kernel in half the time: half of what missed and half of what did not.  The cache sees all bytes. */
  strcpy(chip.half_kernel, "other+script");
  dispatch_a_a_b_a(&bench, chip);
  expect_span(&bench, 0, 0, 13, 213);
  expect_span(&bench, 1, 1, 228, 278);
  expect_span(&bench, 2, 2, 293, 393);
  expect_span(&bench, 3, 3, 408, 633);
  bench_end(&bench);
}

/* Scalars of a list are no tensors, and of a list that is longer there are only so many. */
static void test_a_tensor_is_used_by_the_mode_that_is_its_own(void **state) {
  static const struct pto_kernel_param before[] = {{.mode = PTO_SCALAR}, {.mode = PTO_INPUT}},
                                       behind[] = {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}};
  static char a[400];
  static const uint64_t a_bytes = sizeof a;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.shares_anew = true;
  chip.l2_bytes = 1000;
  chip.has_lru_l2 = true;
  for (int i = 0; i < 2; i++) {
    struct pto_kernel kernel = pto_script_kernel;
    struct bench b;
    kernel.params = i ? behind : before;
    kernel.param_count = 2;
    bench_begin(&b, chip);
    for (uint32_t k = 0; k < 2; k++) {
      dispatch(&b, pto_script_message_of(0, 0, 400, a, &a_bytes), 0);
      pto_script_tasks[k].payload.kernels[0] = &kernel;
    }
    for (uint32_t k = 0; k < 2; k++) {
      b.port->ops->wait(b.port);
      expect_completion(&b, k, b.port->clock + 2);
    }
    expect_span(&b, 0, 0, 13, 413); /* all are missed, and then all are there */
    expect_span(&b, 1, 1, 428, 528);
    bench_end(&b);
  }
}

/* Keys are fifties of bytes. */
static struct pto_chip chip_with_table(char *path, const char *rows) {
  struct pto_chip chip = pto_script_chip(2, 1);
  strcpy(path, "/tmp/pto_engine_XXXXXX");
  FILE *file = fdopen(mkstemp(path), "w");
  assert_non_null(file);
  fprintf(file, "kernel,core,key,count,mean_ps,p10_ps,p90_ps,active_cores,source,commit,date\n%s", rows);
  assert_int_equal(fclose(file), 0);
  memcpy(chip.kernel_times, path, strlen(path) + 1);
  return chip;
}

static void expect_origins(const struct bench *bench, uint64_t measured, uint64_t interpolated, uint64_t modelled,
                           uint64_t assumed) {
  const uint64_t *is = bench->port->origin_ps;
  assert_int_equal(is[PTO_ORIGIN_MEASURED], measured);
  assert_int_equal(is[PTO_ORIGIN_INTERPOLATED], interpolated);
  assert_int_equal(is[PTO_ORIGIN_MODELLED], modelled);
  assert_int_equal(is[PTO_ORIGIN_ASSUMED], assumed);
}

static void test_a_call_takes_what_the_table_says(void **state) {
  char path[32];
  struct bench b;
  for (uint32_t is_anew = 0; is_anew <= 1; is_anew++) {
    struct pto_chip chip = chip_with_table(
        path, "script,AIV,b2,0,300,0,0,2,,,\nscript,AIV,b8,0,900,0,0,2,,,\nscript,AIC,b0,0,9,0,0,2,,,\n");
    chip.shares_anew = is_anew;
    bench_begin(&b, chip);
    unlink(path);
    dispatch(&b, pto_script_message(1, 2, 100, 0), 0); /* begins at 13 */
    wait_until(&b, 318);
    expect_completion(&b, 0, 320);
    expect_span(&b, 0, 0, 13, 313);
    dispatch(&b, pto_script_message(1, 2, 200, 0), 0); /* between two keys; sent at 323, begins at 333 */
    wait_until(&b, 838);
    expect_completion(&b, 1, 840);
    expect_span(&b, 1, 1, 333, 833);
    dispatch(&b, pto_script_message(0, 2, 0, 0), 0);  /* begins at 853 */
    dispatch(&b, pto_script_message(1, 2, 20, 0), 0); /* no row, no stages; begins at 856 */
    wait_until(&b, 867);
    expect_completion(&b, 2, 869);
    wait_until(&b, 881);
    expect_origins(&b, 300 + 9, 500, 0, 20);
    expect_completion(&b, 3, 883);
    bench_end(&b);
  }
}

/* 240 ps with 4 cores busy, where 200 bytes take 400 at the share of 4: all of it is a stream, of 120 bytes. */
static void test_a_time_that_its_bytes_fill_is_shared(void **state) {
  char path[32];
  struct bench b;
  for (uint32_t is_anew = 0; is_anew <= 1; is_anew++) {
    struct pto_chip chip = chip_with_table(path, "script,AIV,b4,0,240,0,0,4,,,\n");
    chip.shares_anew = is_anew;
    bench_begin(&b, chip);
    unlink(path);
    dispatch(&b, pto_script_message(1, 2, 200, 0), 0); /* alone: begins at 13 */
    wait_until(&b, 138);
    expect_completion(&b, 0, 140);
    for (uint32_t i = 0; i < 4; i++) {
      static const uint16_t cores[] = {1, 2, 4, 5};
      struct pto_message message = pto_script_message(cores[i], 2, 200, 0);
      message.flags = i == 3 ? PTO_MESSAGE_TOGETHER | PTO_MESSAGE_LAST : PTO_MESSAGE_TOGETHER;
      dispatch(&b, message, 0); /* the last one is sent at 152, all begin at 162 */
    }
    wait_until(&b, 162 + 240 + 5);
    for (uint32_t i = 0; i < 4; i++) expect_span(&b, 1 + i, 1 + i, 162, 402);
    expect_origins(&b, 120 + 4 * 240, 0, 0, 0);
    bench_end(&b);
  }
}

static void test_a_call_goes_through_the_stages_of_the_chip(void **state) {
  struct bench b;
  for (uint32_t is_anew = 0; is_anew <= 1; is_anew++) {
    struct pto_chip chip = pto_script_chip(1, 1);
    chip.shares_anew = is_anew;
    chip.has_stages = 1;
    chip.stages = (struct pto_chip_stages){.start_ps = 50,
                                           .trip_ps = 7,
                                           .gm_to_l1_mbps = 500000,
                                           .l1_to_l0a_mbps = 1,
                                           .l1_to_l0b_mbps = 1,
                                           .l0c_to_gm_mbps = 1,
                                           .gm_to_ub_mbps = 4000000,
                                           .ub_to_gm_mbps = 1,
                                           .cube_percent = 100};
    bench_begin(&b, chip);
    dispatch(&b, pto_script_message(1, 30, 100, 0), 0); /* 13 + 100 at the memory + 50 + 7 + 30 */
    wait_until(&b, 205);
    expect_completion(&b, 0, 207);
    dispatch(&b, pto_script_message(0, 30, 100, 0), 0); /* 220 + 200 into L1, which computes meanwhile, + 50 + 7 */
    wait_until(&b, 482);
    expect_completion(&b, 1, 484);
    dispatch(&b, pto_script_message(0, 30, 0, 0), 0); /* 497 + 30: it moves nothing */
    wait_until(&b, 532);
    expect_origins(&b, 0, 0, 187 + 257 + 30, 0);
    expect_completion(&b, 2, 534);
    bench_end(&b);
  }
}

static void test_a_table_that_does_not_load_is_told_at_once(void **state) {
  struct pto_chip chip = pto_script_chip(1, 1);
  struct pto_port *port;
  struct pto_error error;
  strcpy(chip.kernel_times, "/tmp/no such table");
  const struct pto_engine_config config = {.chip = &chip};
  assert_int_equal(pto_engine_virtual_create(&config, &port, &error), PTO_ESYSTEM);
  assert_non_null(strstr(error.sentence, "/tmp/no such table"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_longer_of_memory_and_vector_decides),
      cmocka_unit_test(test_a_third_core_at_the_memory_gets_a_third_of_the_chip),
      cmocka_unit_test(test_cores_that_move_nothing_do_not_share_the_memory),
      cmocka_unit_test(test_a_core_that_ends_at_an_instant_does_not_share_with_one_that_begins),
      cmocka_unit_test(test_bandwidth_that_is_shared_anew_changes_with_each_begin_and_end),
      cmocka_unit_test(test_bytes_beyond_all_memory_end_too),
      cmocka_unit_test(test_what_noise_makes_longer_is_recorded_so),
      cmocka_unit_test(test_a_tensor_is_used_by_the_mode_that_is_its_own),
      cmocka_unit_test(test_what_tasks_allocated_comes_from_the_l2_cache_as_far_as_it_fits),
      cmocka_unit_test(test_what_was_used_last_is_in_the_l2_cache_where_it_goes_by_use),
      cmocka_unit_test(test_a_call_takes_what_the_table_says),
      cmocka_unit_test(test_a_time_that_its_bytes_fill_is_shared),
      cmocka_unit_test(test_a_call_goes_through_the_stages_of_the_chip),
      cmocka_unit_test(test_a_table_that_does_not_load_is_told_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
