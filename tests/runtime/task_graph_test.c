/* SPDX-License-Identifier: MIT */
/*
 * The graphs that bench_task_overhead gives to other task runtimes are those of task_bench: the same edges, and the
 * check of the outcome lets every order pass that keeps them and none that breaks one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <bench/support/graph_run.h>
#include <orchestration/loader/loader.h>
#include <orchestration/basics/task_patterns.h>
#include <runtime/base/base.h>

#define TASKS 10000
#define SEED 20240607

static void the_edges_are_as_many_as_task_bench_states(void **state) {
  struct pto_loaded_program *loaded = NULL;
  struct pto_error error = {0};
  uint32_t compared = 0;
  assert_int_equal(pto_program_load("task_bench", &loaded, &error), PTO_OK);
  for (const struct pto_case *one = loaded->program->cases; one->name != NULL; one++) {
    assert_int_equal(one->tasks, TASKS);
    struct pto_task_graph *graph = pto_task_graph_create(one->name, TASKS);
    assert_non_null(graph);
    if (graph->edge_count != one->edges) fail_msg("%s: %u edges", one->name, graph->edge_count);
    pto_task_graph_destroy(graph);
    compared++;
  }
  assert_int_equal(compared, PTO_ARRAY_LENGTH(task_patterns));
  pto_program_unload(loaded);
}

/* Any order that keeps the edges: of the tasks that wait for none, one at random is next. */
static void do_in_some_order(const struct pto_task_graph *graph, struct pto_rng *rng) {
  uint32_t *waits = malloc(graph->task_count * sizeof *waits), *ready = malloc(graph->task_count * sizeof *ready);
  uint32_t ready_count = 0, done = 0;
  assert_true(waits != NULL && ready != NULL);
  for (uint32_t i = 0; i < graph->task_count; i++)
    if ((waits[i] = graph->producer_counts[i]) == 0) ready[ready_count++] = i;
  for (; ready_count > 0; done++) {
    const uint32_t chosen = (uint32_t)(pto_rng_unit(rng) * ready_count), task = ready[chosen];
    ready[chosen] = ready[--ready_count];
    pto_task_graph_do(graph, task);
    for (uint32_t i = graph->consumer_begins[task]; i < graph->consumer_begins[task + 1]; i++)
      if (--waits[graph->consumers[i]] == 0) ready[ready_count++] = graph->consumers[i];
  }
  assert_int_equal(done, graph->task_count);
  free(waits);
  free(ready);
}

static void every_order_that_keeps_the_edges_is_right(void **state) {
  struct pto_rng rng = {SEED};
  for (size_t p = 0; p < PTO_ARRAY_LENGTH(task_patterns); p++) {
    struct pto_task_graph *graph = pto_task_graph_create(task_patterns[p].name, TASKS);
    assert_non_null(graph);
    assert_false(pto_task_graph_is_right(graph));
    for (int order = 0; order < 5; order++) {
      pto_task_graph_rewind(graph);
      do_in_some_order(graph, &rng);
      if (!pto_task_graph_is_right(graph)) fail_msg("%s, seed %d", task_patterns[p].name, SEED);
    }
    pto_task_graph_destroy(graph);
  }
}

static void an_order_that_breaks_one_edge_is_found_out(void **state) {
  struct pto_rng rng = {SEED};
  uint32_t broken = 0;
  for (size_t p = 0; p < PTO_ARRAY_LENGTH(task_patterns); p++) {
    struct pto_task_graph *graph = pto_task_graph_create(task_patterns[p].name, TASKS);
    assert_non_null(graph);
    for (int order = 0; order < 50; order++) {
      const uint32_t from = (uint32_t)(pto_rng_unit(&rng) * graph->task_count);
      const uint32_t first = graph->consumer_begins[from], count = graph->consumer_begins[from + 1] - first;
      if (count == 0) continue;
      /* One after the other, but for one consumer, which is done right before its producer. */
      const uint32_t consumer = graph->consumers[first + (uint32_t)(pto_rng_unit(&rng) * count)];
      pto_task_graph_rewind(graph);
      for (uint32_t i = 0; i < graph->task_count; i++) {
        if (i == from) pto_task_graph_do(graph, consumer);
        if (i != consumer) pto_task_graph_do(graph, i);
      }
      if (pto_task_graph_is_right(graph)) fail_msg("%s: %u before %u", task_patterns[p].name, consumer, from);
      broken++;
    }
    pto_task_graph_destroy(graph);
  }
  assert_true(broken > 200);
}

static void a_task_left_out_is_found_out(void **state) {
  struct pto_task_graph *graph = pto_task_graph_create("independent", 100);
  assert_non_null(graph);
  for (uint32_t i = 0; i < 99; i++) pto_task_graph_do(graph, i);
  assert_false(pto_task_graph_is_right(graph));
  pto_task_graph_do(graph, 99);
  assert_true(pto_task_graph_is_right(graph));
  pto_task_graph_destroy(graph);
  assert_null(pto_task_graph_create("no such pattern", 100));
}

static void our_runtime_finds_these_edges_and_leaves_the_right_result(void **state) {
  static const char *const engines[] = {"threads", "virtual", "observe", "observed virtual"};
  for (size_t p = 0; p < PTO_ARRAY_LENGTH(task_patterns); p++)
    for (size_t e = 0; e < PTO_ARRAY_LENGTH(engines); e++) {
      const struct pto_config config = {.size = sizeof config, .engine = engines[e], .chip = "a2a3", .workers = 2};
      struct pto_stats stats = {.size = sizeof stats};
      struct pto_runtime *rt = NULL;
      struct pto_task_graph *graph = pto_task_graph_create(task_patterns[p].name, TASKS);
      assert_non_null(graph);
      assert_int_equal(pto_runtime_create(&config, &rt), PTO_OK);
      assert_true(pto_graph_run_ns(rt, graph, 100) >= 0);
      pto_runtime_stats(rt, &stats);
      if (stats.edges != graph->edge_count) fail_msg("%s: %u edges", task_patterns[p].name, (uint32_t)stats.edges);
      pto_runtime_destroy(rt);
      pto_task_graph_destroy(graph);
    }
}

static void a_body_changes_how_long_a_task_is_and_nothing_else(void **state) {
  struct pto_task_graph *graph = pto_task_graph_create("stencil_1d", 1000);
  assert_non_null(graph);
  graph->body_steps = 10;
  for (uint32_t i = 0; i < 1000; i++) pto_task_graph_do(graph, i);
  assert_true(pto_task_graph_is_right(graph));
  pto_task_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_edges_are_as_many_as_task_bench_states),
      cmocka_unit_test(every_order_that_keeps_the_edges_is_right),
      cmocka_unit_test(an_order_that_breaks_one_edge_is_found_out),
      cmocka_unit_test(a_task_left_out_is_found_out),
      cmocka_unit_test(our_runtime_finds_these_edges_and_leaves_the_right_result),
      cmocka_unit_test(a_body_changes_how_long_a_task_is_and_nothing_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
