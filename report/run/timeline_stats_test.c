/* SPDX-License-Identifier: MIT */
/* Tests of --stats on hand-made timelines. */
#include <report/run/timeline_stats.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static const struct pto_kernel matmul = {.name = "matmul"}, add = {.name = "add"};

static int setup(void **state) {
  struct pto_trace *trace = calloc(1, sizeof *trace);
  if (!trace || pto_trace_init(trace, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 2)) return -1;
  pto_trace_begin_run(trace, false);
  *state = trace;
  return 0;
}
static int teardown(void **state) {
  pto_trace_fini(*state);
  free(*state);
  return 0;
}

static void add_task(struct pto_trace *trace, const struct pto_kernel *aic, const struct pto_kernel *aiv) {
  uint64_t number = trace->tasks.count;
  struct pto_trace_task *task = pto_trace_log_append(&trace->tasks);
  *task = (struct pto_trace_task){.number = number, .kernels = {aic, aiv, NULL}, .block_count = 1};
}
static void add_span(struct pto_trace *trace, uint32_t worker, struct pto_trace_span span) {
  *(struct pto_trace_span *)pto_trace_log_append(&trace->spans[worker]) = span;
}
static void add_stall(struct pto_trace *trace, uint32_t activity, uint32_t stall, uint64_t begin, uint64_t end) {
  *(struct pto_trace_control *)pto_trace_log_append(&trace->control) =
      (struct pto_trace_control){.begin = begin, .end = end, .activity = (uint16_t)activity, .stall = (uint16_t)stall};
}
static bool is_near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

/* Task 0: matmul on core 0 from 100 to 400 ns; task 1: matmul on core 3 from 200 to 300 and add on core 4 from 200 to
 * 900. */
static void make_run(struct pto_trace *trace) {
  add_task(trace, &matmul, NULL);
  add_task(trace, &matmul, &add);
  add_span(trace, 0, (struct pto_trace_span){.begin = 100, .end = 400, .task = 0, .core = 0, .role = 0});
  add_span(trace, 1, (struct pto_trace_span){.begin = 200, .end = 900, .task = 1, .core = 4, .role = 1});
  add_span(trace, 1, (struct pto_trace_span){.begin = 200, .end = 300, .task = 1, .core = 3, .role = 0});
}

static void test_times_add_up_by_core_kind_and_by_kernel(void **state) {
  struct pto_trace *trace = *state;
  struct pto_timeline_stats t;
  struct pto_error error;
  make_run(trace);
  assert_int_equal(pto_timeline_stats_init(trace, 2, true, &t, &error), PTO_OK);
  assert_int_equal(t.calls, 3);
  assert_int_equal(t.busy[0], 400);
  assert_int_equal(t.busy[1], 700);
  assert_int_equal(t.core_count[0], 2);
  assert_int_equal(t.core_count[1], 4);
  assert_int_equal(t.used_count[0], 2);
  assert_int_equal(t.used_count[1], 1);
  assert_int_equal(t.kernel_count, 2);
  assert_ptr_equal(t.kernels[0].kernel, &add); /* the longest first */
  assert_int_equal(t.kernels[1].calls, 2);
  assert_int_equal(t.kernels[1].total, 400);
  assert_int_equal(t.kernels[1].longest, 300);
  pto_timeline_stats_fini(&t);
}

/* Thread 0 runs the orchestration: its submit until 90 waits from 10 to 60 for a slot, and meanwhile runs a kernel. */
static void test_each_moment_of_a_thread_counts_for_the_innermost_thing(void **state) {
  struct pto_trace *trace = *state;
  struct pto_timeline_stats t;
  struct pto_error error;
  add_task(trace, &matmul, NULL);
  add_span(trace, 0, (struct pto_trace_span){.begin = 20, .end = 50, .task = 0, .core = 0});
  add_span(trace, 1, (struct pto_trace_span){.begin = 30, .end = 70, .task = 0, .core = 3});
  add_stall(trace, PTO_CONTROL_WAIT, PTO_STALL_window, 10, 60);
  add_stall(trace, PTO_CONTROL_SUBMIT, PTO_STALL_none, 5, 90);
  add_stall(trace, PTO_CONTROL_SCOPE, PTO_STALL_none, 100, 101);
  assert_int_equal(pto_timeline_stats_init(trace, 2, true, &t, &error), PTO_OK);
  assert_int_equal(t.accounts.makespan, 101);
  assert_int_equal(t.accounts.count, 2);
  const uint64_t *times = t.accounts.items[0].times, *others = t.accounts.items[1].times;
  assert_int_equal(times[PTO_ACTIVITY_own_code], 5 + 10);
  assert_int_equal(times[PTO_ACTIVITY_submit], 5 + 30);
  assert_int_equal(times[PTO_ACTIVITY_wait_window], 50 - 30);
  assert_int_equal(times[PTO_ACTIVITY_kernel], 30);
  assert_int_equal(times[PTO_ACTIVITY_scope], 1);
  assert_int_equal(others[PTO_ACTIVITY_kernel], 40);
  assert_int_equal(others[PTO_ACTIVITY_wait_orchestrator], 30);
  assert_int_equal(others[PTO_ACTIVITY_no_work], 31);
  pto_timeline_stats_fini(&t);
}

static void add_submit(struct pto_trace *trace, uint32_t task, uint64_t begin, uint64_t end) {
  *(struct pto_trace_control *)pto_trace_log_append(&trace->control) =
      (struct pto_trace_control){.begin = begin, .end = end, .activity = PTO_CONTROL_SUBMIT, .task = task};
}

/* Task 0 from 20 to 60 on thread 0; task 1 after it, on thread 1 from 75 to 80, and task 2, submitted until 95, from
 * 100 on. */
static void test_a_worker_waits_for_submits_producers_and_its_turn(void **state) {
  struct pto_trace *trace = *state;
  struct pto_timeline_stats t;
  struct pto_error error;
  for (uint32_t i = 0; i < 3; i++) add_task(trace, &matmul, NULL);
  add_submit(trace, 0, 0, 10);
  add_submit(trace, 1, 10, 15);
  add_submit(trace, 2, 70, 95);
  *(struct pto_trace_edge *)pto_trace_log_append(&trace->edges) =
      (struct pto_trace_edge){.producer = 0, .consumer = 1, .reason = PTO_EDGE_RAW, .is_first = 1};
  ((struct pto_trace_task *)pto_trace_log_at(&trace->tasks, 1))->edge_count = 1;
  add_span(trace, 0, (struct pto_trace_span){.begin = 20, .end = 60, .task = 0, .core = 0});
  add_span(trace, 1, (struct pto_trace_span){.begin = 75, .end = 80, .task = 1, .core = 3});
  add_span(trace, 1, (struct pto_trace_span){.begin = 100, .end = 120, .task = 2, .core = 3});
  trace->submit_parts[PTO_SUBMIT_PARAMS] = 4;
  trace->submit_parts[PTO_SUBMIT_ALLOCATION] = 3;
  trace->submit_parts[PTO_SUBMIT_LOOKUPS] = 8;
  trace->submit_parts[PTO_SUBMIT_DISPATCH] = 6;
  trace->submit_parts[PTO_SUBMIT_COMPLETIONS] = 5;
  assert_int_equal(pto_timeline_stats_init(trace, 2, true, &t, &error), PTO_OK);
  const uint64_t *control = t.accounts.items[0].times, *worker = t.accounts.items[1].times;
  assert_int_equal(worker[PTO_ACTIVITY_wait_orchestrator], 15 + (95 - 80));
  assert_int_equal(worker[PTO_ACTIVITY_wait_dependency], 60 - 15);
  assert_int_equal(worker[PTO_ACTIVITY_wait_scheduler], (75 - 60) + (100 - 95));
  assert_int_equal(worker[PTO_ACTIVITY_kernel], 25);
  assert_int_equal(worker[PTO_ACTIVITY_no_work], 0);
  assert_int_equal(control[PTO_ACTIVITY_params], 4);
  assert_int_equal(control[PTO_ACTIVITY_allocation], 3);
  assert_int_equal(control[PTO_ACTIVITY_lookups], 8);
  assert_int_equal(control[PTO_ACTIVITY_submit], 40 - 15);
  assert_int_equal(control[PTO_ACTIVITY_dispatch] + control[PTO_ACTIVITY_completion], 11);
  assert_int_equal(control[PTO_ACTIVITY_own_code], 120 - 40 - 40 - 11);
  assert_int_equal(t.accounts.chain, 40 + 5);
  pto_timeline_stats_fini(&t);
}

static void bound_is(const char *what, uint64_t kernels, uint64_t submits, uint64_t handed, uint64_t chain) {
  struct pto_account items[2] = {{.times = {[PTO_ACTIVITY_submit] = submits, [PTO_ACTIVITY_kernel] = kernels}},
                                 {.times = {[PTO_ACTIVITY_wait_scheduler] = handed, [PTO_ACTIVITY_kernel] = kernels}}};
  const struct pto_accounts accounts = {.makespan = 1000, .chain = chain, .items = items, .count = 2};
  struct pto_thread_bound bound;
  assert_int_equal(pto_accounts_find_bound(&accounts, &bound), what != NULL);
  if (what) assert_non_null(strstr(bound.what, what));
}

static void test_what_takes_most_of_its_time_bounds_a_run_on_threads(void **state) {
  bound_is("kernels", 800, 200, 200, 100);
  bound_is("the orchestration", 100, 900, 0, 100);
  bound_is("the longest chain", 450, 10, 0, 760);
  bound_is("the way of ready tasks", 100, 100, 900, 0);
  bound_is(NULL, 740, 260, 260, 700);
}

static void test_an_empty_timeline_has_no_shares(void **state) {
  struct pto_timeline_stats t;
  struct pto_error error;
  assert_int_equal(pto_timeline_stats_init(*state, 1, true, &t, &error), PTO_OK);
  assert_int_equal(t.calls + t.kernel_count, 0);
  assert_int_equal(t.accounts.makespan, 0);
  pto_timeline_stats_fini(&t);
}

static void test_more_kernels_than_fit_at_first_are_all_there(void **state) {
  static struct pto_kernel many[100];
  struct pto_trace *trace = *state;
  struct pto_timeline_stats t;
  struct pto_error error;
  for (uint32_t i = 0; i < 100; i++) {
    many[i].name = "k";
    add_task(trace, &many[i], NULL);
    add_span(trace, 0, (struct pto_trace_span){.begin = 0, .end = 1 + i, .task = i, .core = 0});
  }
  assert_int_equal(pto_timeline_stats_init(trace, 1, true, &t, &error), PTO_OK);
  assert_int_equal(t.kernel_count, 100);
  for (uint32_t i = 0; i < 100; i++) assert_ptr_equal(t.kernels[i].kernel, &many[99 - i]);
  pto_timeline_stats_fini(&t);
}

static void test_a_cut_off_trace_says_so_and_unnamed_tasks_do_no_harm(void **state) {
  struct pto_trace *trace = *state;
  struct pto_timeline_stats t;
  struct pto_error error;
  add_span(trace, 0, (struct pto_trace_span){.begin = 0, .end = 5, .task = 77, .core = 60000});
  trace->spans[0].dropped = 3;
  assert_int_equal(pto_timeline_stats_init(trace, 1, true, &t, &error), PTO_OK);
  assert_int_equal(t.dropped, 3);
  assert_null(t.kernels[0].kernel);
  pto_timeline_stats_fini(&t);
}

static void test_waits_of_the_orchestration_are_told_by_reason(void **state) {
  struct pto_trace *trace = *state;
  struct pto_timeline_stats t;
  struct pto_error error;
  make_run(trace);
  add_stall(trace, PTO_CONTROL_WAIT, PTO_STALL_window, 10, 30);
  add_stall(trace, PTO_CONTROL_WAIT, PTO_STALL_heap, 30, 60);
  add_stall(trace, PTO_CONTROL_WAIT, PTO_STALL_window, 70, 75);
  add_stall(trace, PTO_CONTROL_HOST_ACCESS, PTO_STALL_host_access, 80, 100);
  add_stall(trace, PTO_CONTROL_HOST_ACCESS, PTO_STALL_none, 100, 101); /* it was there already */
  add_stall(trace, PTO_CONTROL_WAIT, PTO_STALL_drain, 200, 900);
  assert_int_equal(pto_timeline_stats_init(trace, 2, true, &t, &error), PTO_OK);
  const struct {
    uint64_t count, time;
  } expected[PTO_STALL_COUNT] = {[PTO_STALL_window] = {2, 25},
                                 [PTO_STALL_heap] = {1, 30},
                                 [PTO_STALL_host_access] = {1, 20},
                                 [PTO_STALL_drain] = {1, 700}};
  for (uint32_t reason = 0; reason < PTO_STALL_COUNT; reason++) {
    assert_int_equal(t.stalls[reason].count, expected[reason].count);
    assert_int_equal(t.stalls[reason].time, expected[reason].time);
  }
  pto_timeline_stats_fini(&t);
}

static void add_scope(struct pto_trace *trace, uint32_t depth, uint64_t tasks, uint64_t slots, uint64_t bytes) {
  *(struct pto_trace_scope *)pto_trace_log_append(&trace->scopes) = (struct pto_trace_scope){.depth = depth};
  for (uint64_t i = 0; i < tasks; i++) {
    add_task(trace, NULL, &add);
    struct pto_trace_task *task = pto_trace_log_at(&trace->tasks, trace->tasks.count - 1);
    task->scope_depth = depth;
    task->ring_slots_used = slots - i;
    task->ring_heap_used_bytes = bytes * i;
  }
}

static void test_scopes_and_rings_are_told_by_depth(void **state) {
  struct pto_trace *trace = *state;
  struct pto_timeline_stats t;
  struct pto_error error;
  char *text = NULL;
  size_t size;
  add_scope(trace, 0, 0, 0, 0);
  for (uint32_t depth = 1; depth < 6; depth++) add_scope(trace, depth, depth - 1, 9, 1024);
  add_scope(trace, 5, 2, 1, 0);
  assert_int_equal(pto_timeline_stats_init(trace, 2, true, &t, &error), PTO_OK);
  FILE *file = open_memstream(&text, &size);
  pto_depths_print(&t.depths, file);
  fclose(file);
  assert_string_equal(text, "  depths   0: 1 scope, 0 tasks\n"
                            "           1: 1 scope, 0 tasks\n"
                            "           2: 1 scope, 1 task; at most 9 slots and 0 bytes of ring 2\n"
                            "           3: 1 scope, 2 tasks; at most 9 slots and 1.0 KiB of ring 3\n"
                            "           4: 1 scope, 3 tasks; at most 9 slots and 2.0 KiB of ring 3\n"
                            "           5: 2 scopes, 6 tasks; at most 9 slots and 3.0 KiB of ring 3\n");
  free(text);
  pto_timeline_stats_fini(&t);
}

static void test_the_json_has_the_same_figures(void **state) {
  static struct pto_json_writer w;
  const struct pto_stats stats = {.submit_waits = 4, .lookups = 10, .candidates = 5};
  struct pto_trace *trace = *state;
  struct pto_timeline_stats t;
  struct pto_error error;
  json_error_t parse_error;
  make_run(trace);
  *(struct pto_trace_control *)pto_trace_log_append(&trace->control) =
      (struct pto_trace_control){.begin = 0, .end = 50, .activity = PTO_CONTROL_SUBMIT};
  add_stall(trace, PTO_CONTROL_WAIT, PTO_STALL_heap, 100, 160);
  assert_int_equal(pto_timeline_stats_init(trace, 2, true, &t, &error), PTO_OK);
  FILE *file = tmpfile();
  pto_json_init(&w, fileno(file));
  pto_json_object_begin(&w);
  pto_timeline_stats_write_json(&t, &stats, &w);
  pto_json_object_end(&w);
  assert_int_equal(pto_json_finish(&w), 0);
  rewind(file);
  json_t *root = json_loadf(file, 0, &parse_error);
  assert_non_null(root);
  json_t *object = json_object_get(root, "stats");
  json_t *thread = json_array_get(json_object_get(object, "accounts"), 0), *us = json_object_get(thread, "us");
  assert_string_equal(json_string_value(json_object_get(object, "time")), "real");
  assert_true(is_near(json_number_value(json_object_get(object, "makespan_us")), 0.9));
  assert_int_equal(json_integer_value(json_object_get(object, "submit_waits")), 4);
  assert_string_equal(json_string_value(json_object_get(thread, "resource")), "thread 0");
  assert_true(is_near(json_number_value(json_object_get(us, "submit")), 0.05));
  assert_true(is_near(json_number_value(json_object_get(us, "kernel")), 0.24)); /* within it is a wait */
  json_t *verdict = json_object_get(object, "verdict");                         /* task 1 is a chain of its own */
  assert_string_equal(json_string_value(json_object_get(verdict, "bound_by")), "the longest chain of kernels");
  assert_true(is_near(json_number_value(json_object_get(verdict, "share")), 700.0 / 900));
  assert_int_equal(json_array_size(json_object_get(verdict, "gains")), 0);
  assert_true(json_is_null(json_object_get(object, "path")));
  assert_int_equal(json_array_size(json_object_get(object, "kernels")), 2);
  json_t *stalls = json_object_get(object, "stalls"), *heap = json_object_get(stalls, "heap");
  assert_int_equal(json_object_size(stalls), PTO_STALL_COUNT - 1);
  assert_int_equal(json_integer_value(json_object_get(heap, "count")), 1);
  assert_true(is_near(json_number_value(json_object_get(heap, "us")), 0.06));
  json_decref(root);
  fclose(file);
  pto_timeline_stats_fini(&t);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_times_add_up_by_core_kind_and_by_kernel),
      TEST(test_each_moment_of_a_thread_counts_for_the_innermost_thing),
      TEST(test_a_worker_waits_for_submits_producers_and_its_turn),
      TEST(test_what_takes_most_of_its_time_bounds_a_run_on_threads),
      TEST(test_an_empty_timeline_has_no_shares),
      TEST(test_scopes_and_rings_are_told_by_depth),
      TEST(test_more_kernels_than_fit_at_first_are_all_there),
      TEST(test_a_cut_off_trace_says_so_and_unnamed_tasks_do_no_harm),
      TEST(test_waits_of_the_orchestration_are_told_by_reason),
      TEST(test_the_json_has_the_same_figures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
