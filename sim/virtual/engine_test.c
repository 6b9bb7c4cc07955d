/* SPDX-License-Identifier: MIT */
/*
 * The virtual engine, driven by hand through its port: each rule of time once, against times worked out on paper.
 *
 * The chip (tests/support/virtual_script.h): element 1 ps, byte 1 ps alone, two cores at the memory without loss; start
 * 10, end 5, dispatch 3, poll 2, complete 7, submit 20.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <tests/support/virtual_script.h>

#include <runtime/base/reserve.h>
#include <runtime/trace/trace.h>
#include <sim/virtual/core.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* An engine with its trace, whose log is made by hand: only its spans are used. */
struct bench {
  struct pto_chip chip;
  struct pto_port *port;
  struct pto_trace trace;
  struct pto_trace_log spans;
};

static void bench_begin(struct bench *bench, struct pto_chip chip) {
  struct pto_error error;
  memset(bench, 0, sizeof *bench);
  pto_script_reset();
  bench->chip = chip;
  const struct pto_engine_config config = {.chip = &bench->chip};
  assert_int_equal(pto_engine_virtual_create(&config, &bench->port, &error), PTO_OK);
  assert_true(pto_reserve_init(&bench->spans.memory, 1 << 20));
  bench->spans.record_bytes = sizeof(struct pto_trace_span);
  bench->spans.capacity = (1 << 20) / sizeof(struct pto_trace_span);
  bench->trace = (struct pto_trace){
      .record = PTO_RECORD_TIMELINE, .is_virtual = true, .spans = &bench->spans, .span_log_count = 1};
  bench->port->trace = &bench->trace;
  char sentence[64];
  assert_int_equal(bench->port->ops->begin_run(bench->port, sentence, sizeof sentence), PTO_OK);
}

static void bench_end(struct bench *bench) {
  bench->port->ops->end_run(bench->port);
  bench->port->ops->destroy(bench->port);
  pto_reserve_fini(&bench->spans.memory);
}

static void dispatch(struct bench *bench, struct pto_message message, uint64_t ready_at) {
  bench->port->ops->dispatch(bench->port, &message, ready_at, NULL);
}

static void submit(struct bench *bench, struct pto_message message) {
  pto_port_charge(bench->port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SUBMIT, 1);
  dispatch(bench, message, bench->port->clock);
}

static void expect_nothing(struct bench *bench) {
  struct pto_completion completion;
  assert_int_equal(bench->port->ops->poll(bench->port, &completion, 1), 0);
}

static void expect_completion(struct bench *bench, uint32_t ticket, uint64_t clock) {
  struct pto_completion completions[8];
  assert_int_equal(bench->port->ops->poll(bench->port, completions, 8), 1);
  assert_int_equal(completions[0].ticket, ticket);
  assert_int_equal(bench->port->clock, clock);
}

static void wait_until(struct bench *bench, uint64_t clock) {
  bench->port->ops->wait(bench->port);
  assert_int_equal(bench->port->clock, clock);
}

static void expect_span(const struct bench *bench, uint32_t index, uint32_t task, uint64_t begin, uint64_t end) {
  const struct pto_trace_span *span = pto_trace_log_at(&bench->spans, index);
  assert_int_equal(span->task, task);
  assert_int_equal(span->begin, begin);
  assert_int_equal(span->end, end);
}

static void test_a_message_pays_dispatch_start_work_end_and_poll(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  submit(&b, pto_script_message(1, 100, 0, 0)); /* asked at 20, sent at 23, begins at 33, ends at 133, visible at 138 */
  expect_nothing(&b);
  assert_int_equal(b.port->clock, 20);
  assert_int_equal(pto_script_log_count, 0);
  wait_until(&b, 138);
  expect_completion(&b, 0, 140);
  expect_span(&b, 0, 0, 33, 133);
  assert_int_equal(b.port->elapsed_ps(b.port), 140);
  bench_end(&b);
}

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
  bench_end(&b);
}

static void test_what_was_used_last_is_in_the_l2_cache_where_it_goes_by_use(void **state) {
  static char a[400], b[800];
  static const uint64_t a_bytes = sizeof a, b_bytes = sizeof b;
  struct bench bench;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.slots_per_core = 4;
  chip.shares_anew = true;
  chip.l2_bytes = 1000;
  chip.has_lru_l2 = true;
  bench_begin(&bench, chip);
  dispatch(&bench, pto_script_message_of(0, 0, 400, a, &a_bytes), 0); /* begins at 13; all are missed */
  dispatch(&bench, pto_script_message_of(0, 0, 400, a, &a_bytes), 0); /* all are there, 4 bytes a picosecond */
  const struct pto_message writes = pto_script_message_of(0, 0, 800, b, &b_bytes); /* nothing is fetched; 200 of a go */
  pto_script_tasks[2].payload.kernels[0] = &pto_script_kernels[PTO_OUTPUT];
  dispatch(&bench, writes, 0);
  /* 200 are missed, and 200 of b, which are the oldest now, are written back; then 200 of the L2. */
  dispatch(&bench, pto_script_message_of(0, 0, 400, a, &a_bytes), 0);
  for (uint32_t i = 0; i < 4; i++) {
    bench.port->ops->wait(bench.port);
    expect_completion(&bench, i, bench.port->clock + 2);
  }
  expect_span(&bench, 0, 0, 13, 413);
  expect_span(&bench, 1, 1, 428, 528);
  expect_span(&bench, 2, 2, 543, 743);
  expect_span(&bench, 3, 3, 758, 1208);
  bench_end(&bench);
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
        path, "script,AIV,b2,0,300,0,0,2,,,\nscript,AIV,b8,0,900,0,0,2,,,\nscript,AIC,b0,0,9,0,0,0,,,\n");
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

static void test_cores_that_move_nothing_do_not_share_the_memory(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 1));
  for (uint32_t core = 0; core < 4; core++) dispatch(&b, pto_script_message(core, 5000, 0, 0), 0);
  dispatch(&b, pto_script_message(4, 0, 1000, 0), 0);
  wait_until(&b, 1030); /* sent at 15, begins at 25, alone at the memory */
  expect_completion(&b, 4, 1032);
  bench_end(&b);
}

static void test_a_pending_message_begins_when_the_first_ends_without_the_scheduler(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* sent at 3, begins at 13, visible at 118 */
  dispatch(&b, pto_script_message(1, 50, 0, 0), 0);  /* sent at 6, begins at 118 + 10, visible at 183 */
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 100); /* a scheduler busy until 820 delays no task */
  assert_int_equal(b.port->clock, 820);
  wait_until(&b, 820);
  expect_completion(&b, 1, 822);
  expect_span(&b, 1, 1, 128, 178);
  bench_end(&b);
}

static void test_a_message_that_waited_at_the_core_starts_in_its_own_time(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.pending_start_ps = 4;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0);  /* sent at 3, begins at 13, visible at 118 */
  dispatch(&b, pto_script_message(1, 50, 0, 0), 114); /* sent at 117, begins at 118 + 4, visible at 177 */
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  dispatch(&b, pto_script_message(1, 10, 0, 0), 174); /* sent at 177, in time for nothing: begins at 187 */
  b.port->ops->wait(b.port);
  expect_completion(&b, 1, 179);
  b.port->ops->wait(b.port);
  expect_completion(&b, 2, 204);
  expect_span(&b, 1, 1, 122, 172);
  expect_span(&b, 2, 2, 187, 197);
  bench_end(&b);
}

static void test_the_first_message_of_a_core_is_slower(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.cold_start_ps = 32;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(0, 10, 0, 0), 0); /* sent at 3; 22 more, begins at 35 */
  dispatch(&b, pto_script_message(1, 10, 0, 0), 0); /* sent at 6; 0 more, begins at 16 */
  dispatch(&b, pto_script_message(2, 10, 0, 0), 0); /* sent at 9; 54 more, begins at 73 */
  dispatch(&b, pto_script_message(1, 10, 0, 0), 0); /* as always */
  for (uint32_t i = 0; i < 4; i++) {
    struct pto_completion completion;
    b.port->ops->wait(b.port);
    assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
  }
  expect_span(&b, 0, 1, 16, 26);
  expect_span(&b, 1, 0, 35, 45);
  expect_span(&b, 2, 3, 41, 51);
  expect_span(&b, 3, 2, 73, 83);
  bench_end(&b);
  uint64_t sum = 0;
  for (uint32_t core = 5; core < 17; core++) sum += pto_virtual_cold_start_ps(1600, core);
  assert_int_equal(sum, 12 * 1600);
}

static void test_all_clocks_begin_after_the_handshake(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.handshake_ps = 1000;
  bench_begin(&b, chip);
  assert_int_equal(b.port->clock, 1000);
  assert_int_equal(b.port->elapsed_ps(b.port), 1000);
  submit(&b, pto_script_message(1, 100, 0, 0));
  wait_until(&b, 1138);
  expect_completion(&b, 0, 1140);
  bench_end(&b);
}

static void test_further_messages_of_a_task_are_sent_for_less(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(2, 2);
  chip.dispatch_more_ps = 1;
  bench_begin(&b, chip);
  for (uint32_t i = 0; i < 3; i++) {
    struct pto_message message = pto_script_message(i, 10, 0, 0);
    pto_script_tasks[i].payload.task_number = 7;
    dispatch(&b, message, 0); /* sent at 3, 4, 5 */
  }
  dispatch(&b, pto_script_message(0, 10, 0, 0), 0); /* of another one: at 8 */
  struct pto_message elsewhere = pto_script_message(3, 10, 0, 0);
  pto_script_tasks[4].payload.task_number = 7;
  dispatch(&b, elsewhere, 0); /* by the other scheduler, which has sent none of it: at 3 */
  struct pto_completion completion;
  b.port->ops->wait(b.port);
  assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
  expect_span(&b, 0, 7, 13, 23);
  expect_span(&b, 1, 7, 13, 23);
  expect_span(&b, 2, 7, 14, 24);
  expect_span(&b, 3, 7, 15, 25);
  bench_end(&b);
}

static void test_a_message_behind_none_waits_for_the_scheduler(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0);
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  dispatch(&b, pto_script_message(1, 50, 0, 0), b.port->clock); /* sent at 127 + 3, begins at 140, visible at 195 */
  assert_int_equal(b.port->clock, 130);
  wait_until(&b, 195);
  expect_completion(&b, 1, 197);
  bench_end(&b);
}

static void test_two_schedulers_work_at_the_same_time(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 2));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* scheduler 0: visible at 118 */
  dispatch(&b, pto_script_message(4, 100, 0, 0), 0); /* scheduler 1: the same, no queueing behind the other */
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  assert_int_equal(b.port->clock, 127);
  expect_completion(&b, 1, 120); /* its own clock, not after the first one's 127 */
  expect_nothing(&b);
  assert_int_equal(b.port->clock, 118);
  bench_end(&b);
}

static void test_one_scheduler_takes_in_completions_one_after_the_other(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 1));
  dispatch(&b, pto_script_message(4, 103, 0, 0), 0); /* sent at 3, visible at 121 */
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* sent at 6, visible at 121 too: the lower core is first */
  wait_until(&b, 121);
  expect_completion(&b, 1, 123);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  expect_nothing(&b); /* its turn comes at 130, the orchestrator knows until 121 */
  wait_until(&b, 130);
  expect_completion(&b, 0, 132);
  bench_end(&b);
}

static void test_a_message_asked_for_elsewhere_waits_for_its_own_scheduler(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 2));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* scheduler 0, visible at 118 */
  dispatch(&b, pto_script_message(4, 105, 0, 0), 0); /* scheduler 1, visible at 123 */
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  dispatch(&b, pto_script_message(5, 10, 0, 0), 120); /* scheduler 1 is idle at 120: sends by 123, begins at 133 */
  assert_int_equal(b.port->clock, 120);               /* and this scheduler pays nothing */
  wait_until(&b, 123);
  expect_completion(&b, 1, 125);
  wait_until(&b, 148);
  expect_completion(&b, 2, 150);
  expect_span(&b, 2, 2, 133, 143);
  bench_end(&b);
}

static void test_a_scheduler_does_what_came_up_first(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 2));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* scheduler 0, visible at 118 */
  dispatch(&b, pto_script_message(4, 104, 0, 0), 0); /* scheduler 1, visible at 122 */
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  dispatch(&b, pto_script_message(5, 10, 0, 0),
           127); /* asked at 127: scheduler 1 has the completion of 122 before it */
  wait_until(&b, 122);
  expect_completion(&b, 1, 124);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1); /* until 131; sent at 134, begins at 144 */
  wait_until(&b, 159);
  expect_completion(&b, 2, 161);
  expect_span(&b, 2, 2, 144, 154);
  bench_end(&b);
}

static void test_the_first_scheduler_wires_edges_where_the_chip_says_so(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(2, 2);
  assert_int_equal(chip.schedulers_wire, 0);
  chip.work_ps[PTO_WORK_EDGE] = 4;
  bench_begin(&b, chip);
  assert_null(b.port->ops->wire); /* the orchestrator does */
  assert_int_equal(b.port->work_ps[PTO_WORK_EDGE], 4);
  bench_end(&b);
  chip.schedulers_wire = true;
  bench_begin(&b, chip);
  assert_int_equal(b.port->work_ps[PTO_WORK_EDGE], 0);
  submit(&b, pto_script_message(1, 100, 0, 0)); /* asked for at 20, as its edges: */
  b.port->ops->wire(b.port, 5);                 /* wired until 40, sent at 43, visible at 158 */
  submit(&b, pto_script_message(4, 100, 0, 0)); /* of the other scheduler: asked for at 40, sent at 43 */
  wait_until(&b, 158);
  expect_completion(&b, 0, 160);
  expect_completion(&b, 1, 160);
  bench_end(&b);
}

static void test_a_resolver_handles_completions_where_the_graph_is_prebuilt(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(2, 2);
  chip.is_graph_prebuilt = chip.schedulers_wire = true;
  bench_begin(&b, chip);
  assert_null(b.port->ops->wire);
  submit(&b, pto_script_message(1, 100, 0, 0)); /* asked for at 0: sent at 3, visible at 118 */
  submit(&b, pto_script_message(4, 102, 0, 0)); /* of the other scheduler: visible at 120 */
  submit(&b, pto_script_message(2, 109, 0, 0)); /* sent at 6, visible at 130 */
  assert_int_equal(b.port->clock, 0);
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 2); /* the resolver's clock: 134 */
  assert_int_equal(b.port->clock, 134);
  dispatch(&b, pto_script_message(1, 10, 0, 0), 134); /* sent after the completion of 130, which is over at 132 */
  wait_until(&b, 120);
  expect_completion(&b, 1, 134); /* taken in at 122, handled after the first */
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  wait_until(&b, 130);
  expect_completion(&b, 2, 141);
  wait_until(&b, 162); /* sent at 137, begins at 147 */
  expect_completion(&b, 3, 164);
  bench_end(&b);
}

/* Turns of 20 and 10 for each core that runs something. */
static void test_a_scheduler_with_a_loop_sees_what_its_looks_come_to(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.loop_ps = 20;
  chip.look_ps = 10;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* sent at once, as at the end of a turn: begins at 13, */
  dispatch(&b, pto_script_message(2, 100, 0, 0), 0); /* and at 16; the next turn begins at 6 */
  wait_until(&b, 126);                               /* looks at 116 and 126; visible at 118 and 121 */
  expect_completion(&b, 1, 128);
  wait_until(&b, 158); /* one look a turn now, and this one was in time */
  expect_completion(&b, 0, 160);
  assert_int_equal(b.port->elapsed_ps(b.port), 160);
  dispatch(&b, pto_script_message(1, 0, 0, 0), 250); /* turns end at 180, 200 and so on: sent at 263, visible at 278 */
  wait_until(&b, 293);
  expect_completion(&b, 2, 295);
  bench_end(&b);
}

/* What the scheduler's own completion makes ready goes out after all completions of the turn. */
static void test_a_loop_sends_after_all_that_its_turn_has_found(void **state) {
  struct bench b;
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.loop_ps = 200;
  bench_begin(&b, chip);
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* sent at 3, visible at 118 */
  dispatch(&b, pto_script_message(2, 10, 0, 0), 0);  /* sent at 6, visible at 31 */
  wait_until(&b, 206);                               /* both are found, the lower core first */
  expect_completion(&b, 0, 208);
  dispatch(&b, pto_script_message(1, 0, 0, 0), 0); /* asked for at 208 */
  wait_until(&b, 208);
  expect_completion(&b, 1, 210);
  wait_until(&b, 413); /* sent at 213, where the next turn begins; visible at 228 */
  expect_completion(&b, 2, 415);
  bench_end(&b);
}

static void test_nothing_starts_before_its_task_is_ready(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 1000); /* sent at 1003 */
  dispatch(&b, pto_script_message(1, 10, 0, 0), 0);     /* same core: must not overtake */
  dispatch(&b, pto_script_message(2, 10, 0, 0), 500);   /* other core: sent at 503, begins at 513, visible at 528 */
  wait_until(&b, 528);
  expect_completion(&b, 2, 530);
  wait_until(&b, 1118);
  expect_completion(&b, 0, 1120);
  wait_until(&b, 1143);
  expect_completion(&b, 1, 1145);
  expect_span(&b, 1, 0, 1013, 1113);
  bench_end(&b);
}

static void test_the_orchestrator_sees_completions_up_to_its_own_time(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0); /* visible at 118 */
  pto_port_charge(b.port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SUBMIT, 5);
  expect_nothing(&b);
  assert_int_equal(pto_script_log_count, 1); /* begun at 13, before 100 */
  pto_port_charge(b.port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SUBMIT, 1);
  expect_completion(&b, 0, 120); /* the orchestrator is at 120, the scheduler was idle at 118 */
  b.port->ops->resume(b.port, 0);
  assert_int_equal(b.port->clock, 120);
  bench_end(&b);
}

static void test_resume_takes_the_orchestrator_to_what_it_waited_for(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(1, 100, 0, 0), 0);
  wait_until(&b, 118);
  expect_completion(&b, 0, 120);
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_COMPLETE, 1);
  pto_port_charge(b.port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SUBMIT, 1); /* the other clock: 118 + 20 */
  assert_int_equal(b.port->clock, 127);
  b.port->ops->resume(b.port, 127);
  assert_int_equal(b.port->clock, 138);
  b.port->ops->resume(b.port, 200);
  assert_int_equal(b.port->clock, 200);
  bench_end(&b);
}

static void test_dispatch_and_poll_cannot_be_charged_twice(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  pto_port_charge(b.port, PTO_ACTOR_CURRENT, PTO_WORK_DISPATCH, 9);
  pto_port_charge(b.port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_POLL, 9);
  assert_int_equal(b.port->clock, 0);
  bench_end(&b);
}

static struct pto_message together(struct pto_message message, bool is_last) {
  message.flags |= PTO_MESSAGE_TOGETHER | (is_last ? PTO_MESSAGE_LAST : 0);
  return message;
}

static void test_a_sync_start_group_begins_at_one_instant(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(2, 1));
  dispatch(&b, pto_script_message(2, 500, 0, 0), 0);                 /* sent at 3, core 2 free at 518 */
  dispatch(&b, together(pto_script_message(1, 10, 0, 0), false), 0); /* could begin at 16 */
  dispatch(&b, together(pto_script_message(2, 20, 0, 0), false), 0); /* could begin at 528 */
  dispatch(&b, together(pto_script_message(4, 30, 0, 0), true), 0);
  dispatch(&b, pto_script_message(1, 40, 0, 0), 0); /* behind the group's member, which holds the core */
  wait_until(&b, 518);
  expect_completion(&b, 0, 520);
  wait_until(&b, 543);
  expect_completion(&b, 1, 545);
  wait_until(&b, 553);
  expect_completion(&b, 2, 555);
  expect_span(&b, 1, 1, 528, 538);
  expect_span(&b, 2, 2, 528, 548);
  expect_span(&b, 3, 3, 528, 558);
  b.port->ops->wait(b.port);
  expect_completion(&b, 3, 565);
  b.port->ops->wait(b.port);
  expect_completion(&b, 4, 600); /* core 1 free at 543, begins at 553, visible at 598 */
  bench_end(&b);
}

static void test_members_that_begin_together_share_the_memory_alike(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  for (uint32_t core = 0; core < 3; core++) dispatch(&b, together(pto_script_message(core, 0, 1000, 0), core == 2), 0);
  for (uint32_t i = 0; i < 3; i++) {
    b.port->ops->wait(b.port);
    expect_completion(&b, i, b.port->clock + 2);
  }
  for (uint32_t i = 0; i < 3; i++) expect_span(&b, i, i, 19, 1519);
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

static void test_kernels_run_in_order_of_their_begins_not_of_their_dispatch(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  dispatch(&b, pto_script_message(0, 10, 0, 0), 900);
  dispatch(&b, pto_script_message(1, 10, 0, 0), 600);
  dispatch(&b, pto_script_message(2, 10, 0, 0), 300);
  for (uint32_t i = 0; i < 3; i++) {
    struct pto_completion completion;
    b.port->ops->wait(b.port);
    assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
    assert_int_equal(completion.ticket, 2 - i);
    assert_int_equal(pto_script_log[i], 2 - i);
  }
  bench_end(&b);
}

static void test_each_failure_keeps_its_own_sentence(void **state) {
  struct bench b;
  struct pto_completion completion;
  static const int statuses[] = {PTO_EKERNEL, -2, 100000, 0, -100000};
  static const int16_t clamped[] = {PTO_EKERNEL, -2, INT16_MAX, 0, INT16_MIN};
  static const char *const sentences[] = {"task 0 fails", "", "task 2 fails", "", "task 4 fails"};
  struct pto_chip chip = pto_script_chip(1, 1);
  chip.slots_per_core = 5;
  bench_begin(&b, chip);
  for (uint32_t i = 0; i < 5; i++) dispatch(&b, pto_script_message(1, 10, 0, statuses[i]), 0);
  pto_port_charge(b.port, PTO_ACTOR_ORCHESTRATOR, PTO_WORK_SUBMIT, 1000); /* all five have run before the first poll */
  for (uint32_t i = 0; i < 5; i++) {
    assert_int_equal(b.port->ops->poll(b.port, &completion, 1), 1);
    assert_int_equal(completion.status, clamped[i]);
    assert_string_equal(b.port->ops->kernel_message(b.port, 1), sentences[i]);
  }
  bench_end(&b);
}

static void test_a_second_run_starts_at_zero(void **state) {
  struct bench b;
  bench_begin(&b, pto_script_chip(1, 1));
  for (uint32_t run = 0; run < 2; run++) {
    assert_int_equal(b.port->ops->begin_run(b.port, NULL, 0), PTO_OK);
    assert_int_equal(b.port->elapsed_ps(b.port), 0);
    submit(&b, pto_script_message(1, 100, 0, 0));
    wait_until(&b, 138);
    expect_completion(&b, run, 140);
    b.port->ops->end_run(b.port);
    assert_int_equal(b.port->elapsed_ps(b.port), 140);
  }
  bench_end(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_message_pays_dispatch_start_work_end_and_poll),
      cmocka_unit_test(test_the_longer_of_memory_and_vector_decides),
      cmocka_unit_test(test_a_third_core_at_the_memory_gets_a_third_of_the_chip),
      cmocka_unit_test(test_bandwidth_that_is_shared_anew_changes_with_each_begin_and_end),
      cmocka_unit_test(test_what_tasks_allocated_comes_from_the_l2_cache_as_far_as_it_fits),
      cmocka_unit_test(test_what_was_used_last_is_in_the_l2_cache_where_it_goes_by_use),
      cmocka_unit_test(test_a_call_takes_what_the_table_says),
      cmocka_unit_test(test_a_time_that_its_bytes_fill_is_shared),
      cmocka_unit_test(test_a_call_goes_through_the_stages_of_the_chip),
      cmocka_unit_test(test_a_table_that_does_not_load_is_told_at_once),
      cmocka_unit_test(test_cores_that_move_nothing_do_not_share_the_memory),
      cmocka_unit_test(test_a_pending_message_begins_when_the_first_ends_without_the_scheduler),
      cmocka_unit_test(test_a_message_that_waited_at_the_core_starts_in_its_own_time),
      cmocka_unit_test(test_the_first_message_of_a_core_is_slower),
      cmocka_unit_test(test_all_clocks_begin_after_the_handshake),
      cmocka_unit_test(test_further_messages_of_a_task_are_sent_for_less),
      cmocka_unit_test(test_a_message_behind_none_waits_for_the_scheduler),
      cmocka_unit_test(test_two_schedulers_work_at_the_same_time),
      cmocka_unit_test(test_one_scheduler_takes_in_completions_one_after_the_other),
      cmocka_unit_test(test_a_message_asked_for_elsewhere_waits_for_its_own_scheduler),
      cmocka_unit_test(test_a_scheduler_does_what_came_up_first),
      cmocka_unit_test(test_the_first_scheduler_wires_edges_where_the_chip_says_so),
      cmocka_unit_test(test_a_resolver_handles_completions_where_the_graph_is_prebuilt),
      cmocka_unit_test(test_a_scheduler_with_a_loop_sees_what_its_looks_come_to),
      cmocka_unit_test(test_a_loop_sends_after_all_that_its_turn_has_found),
      cmocka_unit_test(test_nothing_starts_before_its_task_is_ready),
      cmocka_unit_test(test_the_orchestrator_sees_completions_up_to_its_own_time),
      cmocka_unit_test(test_resume_takes_the_orchestrator_to_what_it_waited_for),
      cmocka_unit_test(test_dispatch_and_poll_cannot_be_charged_twice),
      cmocka_unit_test(test_a_sync_start_group_begins_at_one_instant),
      cmocka_unit_test(test_members_that_begin_together_share_the_memory_alike),
      cmocka_unit_test(test_a_core_that_ends_at_an_instant_does_not_share_with_one_that_begins),
      cmocka_unit_test(test_kernels_run_in_order_of_their_begins_not_of_their_dispatch),
      cmocka_unit_test(test_each_failure_keeps_its_own_sentence),
      cmocka_unit_test(test_a_second_run_starts_at_zero),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
