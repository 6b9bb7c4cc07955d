/* SPDX-License-Identifier: MIT */
/* Tests of the join on hand-made timelines and samples, and against looking at every interval. */
#include <cli/measure/perf_join.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pto/kernel.h>

#define CONTROL_TID 100u
#define WORKER_TID 101u
#define START UINT64_C(6527756112067) /* of the first round */

static const struct pto_kernel matmul = {.name = "matmul"}, add = {.name = "add"};

static struct pto_trace trace;
static struct pto_perf_join join;
static struct pto_error error;

static int setup(void **state) {
  if (pto_trace_init(&trace, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 2)) return -1;
  pto_trace_begin_run(&trace, false);
  trace.start_ns = START;
  trace.control.writer_tid = trace.spans[0].writer_tid = CONTROL_TID;
  trace.spans[1].writer_tid = WORKER_TID;
  if (pto_perf_join_init(&join, 6, &error)) return -1;
  return 0;
}
static int teardown(void **state) {
  pto_perf_join_fini(&join);
  pto_trace_fini(&trace);
  return 0;
}

static void add_task(const struct pto_kernel *aic, const struct pto_kernel *aiv) {
  struct pto_trace_task *task = pto_trace_log_append(&trace.tasks);
  *task = (struct pto_trace_task){.number = trace.tasks.count - 1, .kernels = {aic, aiv, NULL}, .block_count = 1};
}
static void add_call(uint32_t worker, uint64_t begin, uint64_t end, uint32_t task, uint16_t core) {
  *(struct pto_trace_span *)pto_trace_log_append(&trace.spans[worker]) =
      (struct pto_trace_span){.begin = begin, .end = end, .task = task, .core = core, .role = core % 3 ? 1 : 0};
}
static void add_control(uint64_t begin, uint64_t end, uint32_t activity) {
  *(struct pto_trace_control *)pto_trace_log_append(&trace.control) =
      (struct pto_trace_control){.begin = begin, .end = end, .activity = activity};
}

/* At `time` after START. */
static void sample_in(uint32_t tid, int64_t time, uint64_t period, const char *symbol, const char *module) {
  struct pto_perf_sample sample = {.time_ns = START + (uint64_t)time, .period = period, .tid = tid, .event = "cycles"};
  snprintf(sample.symbol, sizeof sample.symbol, "%s", symbol);
  snprintf(sample.module, sizeof sample.module, "%s", module);
  pto_perf_join_add_sample(&join, &sample);
}
static void sample(uint32_t tid, int64_t time, uint64_t period, const char *symbol) {
  sample_in(tid, time, period, symbol, "/usr/bin/ptosim");
}

static const struct pto_perf_row *row_of(const struct pto_kernel *kernel) {
  for (uint32_t i = 0; i < join.kernel_count; i++)
    if (join.kernels[i].kernel == kernel) return &join.kernels[i];
  fail();
  return NULL;
}

/* Sums that hold whatever the samples are. */
static void assert_all_is_counted(uint64_t samples) {
  uint64_t kernels = 0, works = 0, cores = 0, tasks = 0;
  for (uint32_t i = 0; i < join.kernel_count + PTO_PERF_WORK_COUNT; i++) {
    const struct pto_perf_row *row = i < join.kernel_count ? &join.kernels[i] : &join.works[i - join.kernel_count];
    uint64_t symbols = 0, count = 0;
    for (uint32_t k = 0; k < row->symbol_count; k++) {
      symbols += row->symbols[k].weight.period;
      count += row->symbols[k].weight.samples;
    }
    assert_int_equal(symbols, row->weight.period);
    assert_int_equal(count, row->weight.samples);
    *(i < join.kernel_count ? &kernels : &works) += row->weight.samples;
  }
  for (uint32_t i = 0; i < join.core_count; i++) cores += join.cores[i].weight.samples;
  for (size_t i = 0; i < join.task_count; i++) tasks += join.tasks[i].weight.samples;
  assert_int_equal(cores, kernels);
  assert_int_equal(tasks, kernels);
  assert_int_equal(join.rounds.samples, kernels + works + join.strangers.samples);
  assert_int_equal(join.rounds.samples + join.outside.samples, samples);
}

/* Worker 1 runs matmul on core 3 at [100, 200) and add on core 4 at [200, 300), both of cluster 1; the control thread
 * submits at [10, 50), waits at [60, 400) and runs add on core 1 at [80, 120) meanwhile.  The round ends at 500. */
static void make_round(void) {
  add_task(&matmul, NULL);
  add_task(NULL, &add);
  add_task(NULL, &add);
  add_call(1, 100, 200, 0, 3);
  add_call(1, 200, 300, 1, 4);
  add_call(0, 80, 120, 2, 1);
  add_control(10, 50, PTO_CONTROL_SUBMIT);
  add_control(60, 400, PTO_CONTROL_WAIT);
  pto_perf_join_add_round(&join, &trace, 0, trace.start_ns + 500);
}

static void test_a_sample_belongs_to_the_call_of_its_worker_and_moment(void **state) {
  make_round();
  sample(WORKER_TID, 100, 10, "gemm");
  sample(WORKER_TID, 199, 10, "gemm");
  sample(WORKER_TID, 200, 20, "vector_add");  /* where one ends the next begins */
  sample(CONTROL_TID, 100, 40, "vector_add"); /* at the same moment, another core */
  assert_int_equal(pto_perf_join_finish(&join, &error), PTO_OK);
  assert_int_equal(row_of(&matmul)->weight.samples, 2);
  assert_int_equal(row_of(&matmul)->weight.period, 20);
  assert_int_equal(row_of(&matmul)->symbol_count, 1);
  assert_int_equal(row_of(&add)->weight.period, 60);
  assert_int_equal(join.cores[3].weight.period, 20);
  assert_int_equal(join.cores[4].weight.period, 20);
  assert_int_equal(join.cores[1].weight.period, 40);
  assert_int_equal(join.task_count, 3);
  assert_int_equal(join.tasks[0].task, 2); /* the heaviest */
  assert_int_equal(join.tasks[0].weight.period, 40);
  assert_string_equal(join.event, "cycles");
  assert_all_is_counted(4);
}

static void test_calls_and_their_time_are_of_all_rounds_sampled_or_not(void **state) {
  make_round();
  trace.start_ns += 1000;
  pto_perf_join_add_round(&join, &trace, 0, trace.start_ns + 500);
  sample(WORKER_TID, 1150, 1, "gemm"); /* in the second round */
  sample(WORKER_TID, 150, 1, "gemm");
  assert_int_equal(pto_perf_join_finish(&join, &error), PTO_OK);
  assert_int_equal(row_of(&add)->calls, 4);
  assert_int_equal(row_of(&add)->call_ns, 2 * (100 + 40));
  assert_int_equal(join.cores[3].calls, 2);
  assert_int_equal(row_of(&matmul)->weight.samples, 2);
  assert_int_equal(join.task_count, 1); /* the same task of both rounds */
  assert_int_equal(join.tasks[0].weight.samples, 2);
  assert_all_is_counted(2);
}

/* A second runtime, as contexts have them: its worker 1 and its control thread are threads of its own, and its task 0
 * is number 3 of both.  It runs add on core 3 at [100, 200) and matmul on core 1 at [80, 120). */
static void test_timelines_of_runtimes_that_run_at_once_are_told_apart_by_thread(void **state) {
  enum { OTHER_CONTROL = 200, OTHER_WORKER = 201 };
  make_round();
  pto_trace_begin_run(&trace, false);
  trace.start_ns = START;
  trace.control.writer_tid = trace.spans[0].writer_tid = OTHER_CONTROL;
  trace.spans[1].writer_tid = OTHER_WORKER;
  add_task(&add, &matmul);
  add_call(1, 100, 200, 0, 3);
  add_call(0, 80, 120, 0, 1);
  add_control(60, 400, PTO_CONTROL_WAIT);
  pto_perf_join_add_round(&join, &trace, 3, trace.start_ns + 500);
  sample(WORKER_TID, 150, 1, "gemm");
  sample(OTHER_WORKER, 150, 10, "vector_add");
  sample(CONTROL_TID, 100, 100, "vector_add");
  sample(OTHER_CONTROL, 100, 1000, "gemm");
  sample(CONTROL_TID, 30, 1, "f");   /* in its submit */
  sample(OTHER_CONTROL, 30, 1, "f"); /* in none */
  assert_int_equal(pto_perf_join_finish(&join, &error), PTO_OK);
  assert_int_equal(row_of(&matmul)->weight.period, 1001);
  assert_int_equal(row_of(&add)->weight.period, 110);
  assert_int_equal(join.cores[3].weight.period, 11); /* those of that number of both */
  assert_int_equal(join.cores[1].weight.period, 1100);
  assert_int_equal(join.tasks[0].task, 3);
  assert_int_equal(join.works[PTO_PERF_WORK_submit].weight.samples, 1);
  assert_int_equal(join.works[PTO_PERF_WORK_orchestration].weight.samples, 1);
  assert_int_equal(join.strangers.samples, 0);
  assert_all_is_counted(6);
}

static void test_a_thread_that_no_timeline_names_is_a_worker_from_when_it_is_said(void **state) {
  make_round();
  sample(300, 150, 1, "f");
  pto_perf_join_add_thread(&join, 300, false);
  sample(300, 150, 1, "f");
  assert_int_equal(pto_perf_join_finish(&join, &error), PTO_OK);
  assert_int_equal(join.strangers.samples, 1);
  assert_int_equal(join.works[PTO_PERF_WORK_worker].weight.samples, 1);
  assert_all_is_counted(2);
}

static void test_what_is_in_no_call_is_the_control_work_of_the_moment(void **state) {
  static const struct {
    uint32_t tid;
    int64_t time;
    const char *symbol;
    enum pto_perf_work work;
  } cases[] = {
      {CONTROL_TID, 5, "main", PTO_PERF_WORK_orchestration},
      {CONTROL_TID, 20, "pto_hazards_find", PTO_PERF_WORK_submit},
      {CONTROL_TID, 20, "pto_scheduler_offer", PTO_PERF_WORK_dispatch},
      {CONTROL_TID, 20, "place.isra.0", PTO_PERF_WORK_dispatch},
      {CONTROL_TID, 20, "placement", PTO_PERF_WORK_submit}, /* another function */
      {CONTROL_TID, 130, "memcpy", PTO_PERF_WORK_waiting},
      {CONTROL_TID, 130, "take_in.cold", PTO_PERF_WORK_completion},
      {CONTROL_TID, 130, "pto_wait_until", PTO_PERF_WORK_idle},
      {CONTROL_TID, 130, "clock_gettime@@GLIBC_2.17", PTO_PERF_WORK_recording},
      {CONTROL_TID, 450, "main", PTO_PERF_WORK_orchestration},
      {WORKER_TID, 20, "take_message", PTO_PERF_WORK_worker},
      {WORKER_TID, 20, "pto_wait_until", PTO_PERF_WORK_idle},
  };
  make_round();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t before = join.works[cases[i].work].weight.samples;
    sample(cases[i].tid, cases[i].time, 1, cases[i].symbol);
    assert_int_equal(join.works[cases[i].work].weight.samples, before + 1);
  }
  sample_in(CONTROL_TID, 130, 1, "futex_wait", "[kernel.kallsyms]");
  assert_int_equal(join.works[PTO_PERF_WORK_system].weight.samples, 1);
  assert_int_equal(pto_perf_join_finish(&join, &error), PTO_OK);
  assert_all_is_counted(sizeof cases / sizeof cases[0] + 1);
}

static void test_nested_control_work_counts_as_the_inner_one(void **state) {
  add_control(50, 80, PTO_CONTROL_WAIT); /* for space, within a submit: recorded before it */
  add_control(10, 100, PTO_CONTROL_SUBMIT);
  add_control(10, 20, PTO_CONTROL_SCOPE);       /* begins with it */
  add_control(90, 95, PTO_CONTROL_HOST_ACCESS); /* reads an element */
  pto_perf_join_add_round(&join, &trace, 0, trace.start_ns + 200);
  sample(CONTROL_TID, 60, 1, "f");
  sample(CONTROL_TID, 30, 1, "f");
  sample(CONTROL_TID, 80, 1, "f");
  sample(CONTROL_TID, 15, 1, "f");
  sample(CONTROL_TID, 92, 1, "f");
  assert_int_equal(join.works[PTO_PERF_WORK_waiting].weight.samples, 1);
  assert_int_equal(join.works[PTO_PERF_WORK_submit].weight.samples, 2);
  assert_int_equal(join.works[PTO_PERF_WORK_scope].weight.samples, 1);
  assert_int_equal(join.works[PTO_PERF_WORK_host_access].weight.samples, 1);
}

static void test_of_kernels_that_wait_the_one_that_began_last_has_the_sample(void **state) {
  add_task(&matmul, NULL);
  add_task(NULL, &add);
  add_call(1, 100, 900, 0, 3); /* suspended while the other runs */
  add_call(1, 300, 400, 1, 4);
  pto_perf_join_add_round(&join, &trace, 0, trace.start_ns + 1000);
  sample(WORKER_TID, 200, 1, "f");
  sample(WORKER_TID, 350, 2, "f");
  sample(WORKER_TID, 500, 4, "f");
  sample(WORKER_TID, 600, 8, "pto_wait_until"); /* no kernel's, though one is open */
  assert_int_equal(pto_perf_join_finish(&join, &error), PTO_OK);
  assert_int_equal(row_of(&matmul)->weight.period, 5);
  assert_int_equal(row_of(&add)->weight.period, 2);
  assert_int_equal(join.works[PTO_PERF_WORK_idle].weight.period, 8);
  assert_all_is_counted(4);
}

static void test_samples_outside_of_rounds_and_of_other_threads_are_kept_apart(void **state) {
  make_round();
  sample(CONTROL_TID, -1, 1, "main");
  sample(CONTROL_TID, 500, 1, "main");
  sample(777, 150, 1, "progress");
  assert_int_equal(join.outside.samples, 2);
  assert_int_equal(join.strangers.samples, 1);
  assert_int_equal(pto_perf_join_finish(&join, &error), PTO_OK);
  assert_all_is_counted(3);
}

static void test_symbols_are_told_apart_by_module_and_sorted_by_weight(void **state) {
  make_round();
  sample_in(WORKER_TID, 150, 5, "f", "/a");
  sample_in(WORKER_TID, 150, 3, "f", "/b");
  sample_in(WORKER_TID, 150, 4, "f", "/b");
  assert_int_equal(pto_perf_join_finish(&join, &error), PTO_OK);
  const struct pto_perf_row *row = row_of(&matmul);
  assert_ptr_equal(row, &join.kernels[0]);
  assert_int_equal(row->symbol_count, 2);
  assert_string_equal(row->symbols[0].module, "/b");
  assert_int_equal(row->symbols[0].weight.period, 7);
  assert_int_equal(row->symbols[0].weight.samples, 2);
}

static void test_a_run_without_calls_or_samples_gives_empty_rows(void **state) {
  pto_perf_join_add_round(&join, &trace, 0, trace.start_ns + 10);
  assert_int_equal(pto_perf_join_finish(&join, &error), PTO_OK);
  assert_all_is_counted(0);
  assert_int_equal(join.kernel_count, 0);
}

/* ---- against looking at every call ---- */

struct call {
  uint64_t begin, end;
  uint32_t task;
};

static uint64_t draw(uint64_t *seed, uint64_t below) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (*seed >> 33) % below;
}

static void test_the_call_found_is_that_of_a_search_through_all_of_them(void **state) {
  enum { CALLS = 60, SAMPLES = 400, LENGTH = 1000 };
  struct call calls[CALLS];
  uint64_t seed = 12345, expected[CALLS] = {0}, in_none = 0;
  for (uint32_t i = 0; i < CALLS; i++) {
    bool is_taken;
    do { /* no two begin together: which one is the inner then depends on their ends */
      calls[i].begin = draw(&seed, LENGTH);
      is_taken = false;
      for (uint32_t k = 0; k < i; k++) is_taken = is_taken || calls[k].begin == calls[i].begin;
    } while (is_taken);
    calls[i].end = calls[i].begin + draw(&seed, draw(&seed, 10) ? 12 : 300); /* some long, some empty */
    calls[i].task = i;
    add_task(&matmul, NULL);
    add_call(1, calls[i].begin, calls[i].end, i, 3);
  }
  pto_perf_join_add_round(&join, &trace, 0, trace.start_ns + 2 * LENGTH);
  for (uint32_t i = 0; i < SAMPLES; i++) {
    uint64_t time = draw(&seed, LENGTH + 100);
    const struct call *found = NULL;
    for (uint32_t k = 0; k < CALLS; k++)
      if (calls[k].begin <= time && time < calls[k].end && (!found || calls[k].begin > found->begin)) found = &calls[k];
    if (found)
      expected[found->task]++;
    else
      in_none++;
    sample(WORKER_TID, (int64_t)time, 1, "f");
  }
  assert_int_equal(pto_perf_join_finish(&join, &error), PTO_OK);
  assert_int_equal(join.works[PTO_PERF_WORK_worker].weight.samples, in_none);
  assert_in_range(in_none, 1, SAMPLES - 1);
  for (size_t i = 0; i < join.task_count; i++) {
    assert_int_equal(join.tasks[i].weight.samples, expected[join.tasks[i].task]);
    expected[join.tasks[i].task] = 0;
  }
  for (uint32_t i = 0; i < CALLS; i++) assert_int_equal(expected[i], 0);
  assert_all_is_counted(SAMPLES);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_sample_belongs_to_the_call_of_its_worker_and_moment),
      TEST(calls_and_their_time_are_of_all_rounds_sampled_or_not),
      TEST(timelines_of_runtimes_that_run_at_once_are_told_apart_by_thread),
      TEST(a_thread_that_no_timeline_names_is_a_worker_from_when_it_is_said),
      TEST(what_is_in_no_call_is_the_control_work_of_the_moment),
      TEST(nested_control_work_counts_as_the_inner_one),
      TEST(of_kernels_that_wait_the_one_that_began_last_has_the_sample),
      TEST(samples_outside_of_rounds_and_of_other_threads_are_kept_apart),
      TEST(symbols_are_told_apart_by_module_and_sorted_by_weight),
      TEST(a_run_without_calls_or_samples_gives_empty_rows),
      TEST(the_call_found_is_that_of_a_search_through_all_of_them),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
