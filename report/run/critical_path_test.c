/* SPDX-License-Identifier: MIT */
/* Tests of the critical path on hand-made graphs, and on random ones against all of their paths. */
#include <report/run/critical_path.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int setup(void **state) {
  struct pto_trace *trace = calloc(1, sizeof *trace);
  if (!trace || pto_trace_init(trace, PTO_RECORD_GRAPH | PTO_RECORD_TIMELINE, 2)) return -1;
  pto_trace_begin_run(trace, true);
  *state = trace;
  return 0;
}
static int teardown(void **state) {
  pto_trace_fini(*state);
  free(*state);
  return 0;
}

/* A task after `producers` (ended by -1) whose one call takes `length`. */
static void add(struct pto_trace *trace, uint64_t length, const int *producers) {
  struct pto_trace_task *task = pto_trace_log_append(&trace->tasks);
  *task = (struct pto_trace_task){.number = trace->tasks.count - 1, .first_edge = trace->edges.count};
  for (; *producers >= 0; producers++, task->edge_count++)
    *(struct pto_trace_edge *)pto_trace_log_append(&trace->edges) =
        (struct pto_trace_edge){.producer = (uint64_t)*producers, .consumer = task->number, .is_first = true};
  *(struct pto_trace_span *)pto_trace_log_append(&trace->spans[task->number % 2]) =
      (struct pto_trace_span){.begin = 1000, .end = 1000 + length, .task = (uint32_t)task->number};
}

static void expect(const struct pto_trace *trace, uint64_t length, uint64_t task_count, uint64_t last_task) {
  struct pto_critical_path path;
  struct pto_error error;
  assert_int_equal(pto_critical_path_find(trace, &path, &error), PTO_OK);
  assert_int_equal(path.length, length);
  assert_int_equal(path.task_count, task_count);
  assert_int_equal(path.last_task, last_task);
}

static void test_the_longer_side_of_a_diamond_counts(void **state) {
  add(*state, 10, (const int[]){-1});
  add(*state, 100, (const int[]){0, -1});
  add(*state, 30, (const int[]){0, -1});
  add(*state, 5, (const int[]){1, 2, -1});
  add(*state, 50, (const int[]){-1}); /* of no task */
  expect(*state, 115, 3, 3);
}

static void test_one_long_task_beats_a_chain_of_short_ones(void **state) {
  add(*state, 4, (const int[]){-1});
  add(*state, 4, (const int[]){0, -1});
  add(*state, 9, (const int[]){-1});
  expect(*state, 9, 1, 2);
}

static void test_a_task_of_many_calls_takes_as_long_as_the_longest(void **state) {
  struct pto_trace *trace = *state;
  add(trace, 4, (const int[]){-1});
  *(struct pto_trace_span *)pto_trace_log_append(&trace->spans[1]) =
      (struct pto_trace_span){.begin = 0, .end = 70, .task = 0};
  add(trace, 6, (const int[]){0, -1});
  expect(trace, 76, 2, 1);
}

static void test_nothing_that_ran_has_no_path(void **state) { expect(*state, 0, 0, 0); }

/* By going along every path backwards. */
static uint64_t longest_to(const uint64_t *lengths, const uint32_t *before, uint32_t task) {
  uint64_t longest = 0;
  for (uint32_t p = 0; p < task; p++)
    if (before[task] & (1u << p)) {
      const uint64_t length = longest_to(lengths, before, p);
      longest = length > longest ? length : longest;
    }
  return longest + lengths[task];
}

static void test_random_graphs_have_the_longest_of_all_their_paths(void **state) {
  enum { TASKS = 12, GRAPHS = 300 };
  uint32_t random = 12345;
  for (int graph = 0; graph < GRAPHS; graph++) {
    struct pto_trace *trace = *state;
    uint64_t lengths[TASKS], longest = 0;
    uint32_t before[TASKS];
    pto_trace_begin_run(trace, true);
    for (uint32_t task = 0; task < TASKS; task++) {
      int producers[TASKS + 1], count = 0;
      random = random * 1664525 + 1013904223;
      before[task] = (random >> 8) & (random >> 16) & ((1u << task) - 1);
      lengths[task] = random >> 24;
      for (int p = 0; p < (int)task; p++)
        if (before[task] & (1u << p)) producers[count++] = p;
      producers[count] = -1;
      add(trace, lengths[task], producers);
    }
    for (uint32_t task = 0; task < TASKS; task++) {
      const uint64_t length = longest_to(lengths, before, task);
      longest = length > longest ? length : longest;
    }
    struct pto_critical_path path;
    struct pto_error error;
    assert_int_equal(pto_critical_path_find(trace, &path, &error), PTO_OK);
    assert_int_equal(path.length, longest);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_the_longer_side_of_a_diamond_counts),
      TEST(test_one_long_task_beats_a_chain_of_short_ones),
      TEST(test_a_task_of_many_calls_takes_as_long_as_the_longest),
      TEST(test_nothing_that_ran_has_no_path),
      TEST(test_random_graphs_have_the_longest_of_all_their_paths),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
