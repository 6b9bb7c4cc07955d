/* SPDX-License-Identifier: MIT */
/*
 * The work of looking for conflicts in large records made by hand: counted, not timed.  Pairs of accesses looked at and
 * steps of searches together stay below a multiple of the graph's size, tasks and edges, that is the same for twice the
 * tasks.  (Edges are what the rules say: under pto, where nothing replaces a write that no task waits for, they can be
 * as many as the square.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <check/order/happens_before.h>
#include <runtime/base/sanitizer.h>

#define SMALL (PTO_HAS_SANITIZER ? 4096u : 32768u)

static struct pto_trace trace;

static void begin_record(void) {
  assert_int_equal(pto_trace_init(&trace, PTO_RECORD_GRAPH, 1), PTO_OK);
  pto_trace_begin_run(&trace, true);
  struct pto_trace_scope *scope = pto_trace_log_append(&trace.scopes);
  *scope = (struct pto_trace_scope){.parent = UINT32_MAX, .end_task = UINT64_MAX};
}

static void add_task(void) {
  const uint64_t number = trace.tasks.count;
  struct pto_trace_task *task = pto_trace_log_append(&trace.tasks);
  *task = (struct pto_trace_task){.number = number, .block_count = 1, .first_param = trace.params.count};
}

/* Bytes [begin, end) of an external memory of many bytes. */
static void add_access(uint32_t mode, uint64_t memory, uint64_t begin, uint64_t end) {
  struct pto_trace_task *task = pto_trace_log_at(&trace.tasks, trace.tasks.count - 1);
  struct pto_trace_param *param = pto_trace_log_append(&trace.params);
  *param = (struct pto_trace_param){.index = task->param_count++, .mode = mode, .buffer_number = 1 + memory};
  param->tensor = (struct pto_tensor){.buffer = {.base = (1 + memory) << 32, .size_bytes = UINT64_C(1) << 32},
                                      .start_offset = begin,
                                      .ndims = 1,
                                      .dtype = PTO_UINT8,
                                      .shape = {end - begin},
                                      .strides = {1}};
}

static void ignore(void *context, const struct pto_conflict *conflict) { (void)context, (void)conflict; }

/* Conflicts through *conflicts, tasks and edges through *size; returns pairs and steps together. */
static uint64_t work_of(enum pto_deps_rules rules, uint64_t *conflicts, uint64_t *size) {
  struct pto_access_graph graph;
  struct pto_reach reach;
  struct pto_happens_before result;
  struct pto_error error;
  assert_int_equal(pto_access_graph_init(&graph, &trace, rules, &error), PTO_OK);
  assert_int_equal(pto_reach_init(&reach, &graph), PTO_OK);
  assert_int_equal(pto_happens_before_check(&reach, ignore, NULL, &result), PTO_OK);
  const uint64_t work = result.pairs + reach.steps;
  print_message("  %u tasks, rules %s: %llu edges, %llu pairs, %llu conflicts, %llu steps of searches\n",
                graph.task_count, rules ? "pto" : "exact", (unsigned long long)graph.pair_count,
                (unsigned long long)result.pairs, (unsigned long long)result.conflicts,
                (unsigned long long)reach.steps);
  *conflicts = result.conflicts;
  *size = graph.task_count + graph.edge_count;
  pto_reach_fini(&reach);
  pto_access_graph_fini(&graph);
  return work;
}

static void expect_linear(void (*make)(uint64_t tasks), enum pto_deps_rules rules, uint64_t most, bool has_conflicts) {
  for (int i = 0; i < 2; i++) {
    uint64_t conflicts, size;
    begin_record();
    make((uint64_t)SMALL << i);
    const uint64_t work = work_of(rules, &conflicts, &size);
    assert_int_equal(conflicts != 0, has_conflicts);
    assert_true(work <= most * size);
    pto_trace_fini(&trace);
  }
}

/* One reads all of it; then each of a chain writes a byte of it: every pair has a path, and the longest have thousands
 * of tasks between. */
static void far_readers(uint64_t tasks) {
  for (uint64_t i = 0; i < tasks; i++) {
    add_task();
    add_access(PTO_INOUT, 0, 0, 8);
    add_access(i ? PTO_OUTPUT : PTO_INPUT, 1, i ? i : 0, i ? i + 1 : tasks);
  }
}

/* The same where the reader is outside the chain: every pair is a conflict, and none replaces another. */
static void lone_reader(uint64_t tasks) {
  for (uint64_t i = 0; i < tasks; i++) {
    add_task();
    if (i) add_access(PTO_INOUT, 0, 0, 8);
    add_access(i ? PTO_OUTPUT : PTO_INPUT, 1, i ? i : 0, i ? i + 1 : tasks);
  }
}

/* One memory that everybody writes anew or reads, in no order: conflicts with all that came before. */
static void crowd(uint64_t tasks) {
  for (uint64_t i = 0; i < tasks; i++) {
    add_task();
    add_access(i % 3 ? PTO_INPUT : PTO_OUTPUT, 1, 0, 8);
  }
}

/* 64 streams that cross at random; data go from stream to stream through 256 places that are written again. */
static void crossing_streams(uint64_t tasks) {
  struct pto_rng rng = {1};
  for (uint64_t i = 0; i < tasks; i++) {
    add_task();
    const uint64_t stream = pto_rng_below(&rng, 64), other = pto_rng_below(&rng, 64), place = pto_rng_below(&rng, 256);
    add_access(PTO_INOUT, 0, stream, stream + 1);
    if (pto_rng_below(&rng, 4) == 0 && other != stream) add_access(PTO_INOUT, 0, other, other + 1);
    add_access(pto_rng_below(&rng, 3) ? PTO_INPUT : PTO_OUTPUT, 1, place, place + 1);
  }
}

static void test_pairs_with_long_paths_cost_a_step_a_task_or_edge(void **state) {
  (void)state;
  expect_linear(far_readers, PTO_DEPS_EXACT, 1, false);
  expect_linear(far_readers, PTO_DEPS_PTO, 1, false);
}
static void test_one_access_in_conflict_with_all_others_costs_a_step_a_task_or_edge(void **state) {
  (void)state;
  expect_linear(lone_reader, PTO_DEPS_PTO, 1, true);
}
static void test_streams_that_cross_cost_a_step_a_task_or_edge(void **state) {
  (void)state;
  expect_linear(crossing_streams, PTO_DEPS_EXACT, 1, false);
}
static void test_streams_that_cross_without_edges_from_reads_to_writes_cost_some_steps_an_edge(void **state) {
  (void)state;
  expect_linear(crossing_streams, PTO_DEPS_PTO, 20, true);
}
static void test_a_crowd_in_no_order_is_told_pair_by_pair_up_to_a_limit_and_then_by_the_nearest_alone(void **state) {
  (void)state;
  uint64_t conflicts[2], size;
  for (int i = 0; i < 2; i++) {
    begin_record();
    crowd(1024u << i);
    (void)work_of(PTO_DEPS_PTO, &conflicts[i], &size);
    pto_trace_fini(&trace);
  }
  assert_true(conflicts[0] > PTO_CONFLICTS_MAX);
  assert_true(conflicts[1] - conflicts[0] <= 3 * 1024); /* not the square of 2048 */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pairs_with_long_paths_cost_a_step_a_task_or_edge),
      cmocka_unit_test(test_one_access_in_conflict_with_all_others_costs_a_step_a_task_or_edge),
      cmocka_unit_test(test_streams_that_cross_cost_a_step_a_task_or_edge),
      cmocka_unit_test(test_streams_that_cross_without_edges_from_reads_to_writes_cost_some_steps_an_edge),
      cmocka_unit_test(test_a_crowd_in_no_order_is_told_pair_by_pair_up_to_a_limit_and_then_by_the_nearest_alone),
  };
  return cmocka_run_group_tests_name("check scale", tests, NULL, NULL);
}
