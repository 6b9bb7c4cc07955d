/* SPDX-License-Identifier: MIT */
/* Long graphs in heaps that hold a few of their values: buffers of dead values are used again
 * (graph/lower/value_memory.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/lowered_graph.h>

#define SIDE 512
#define NUMEL (SIDE * SIDE) /* 1 MiB of float32 */
#define MIB (UINT64_C(1) << 20)

/* v = x + 1; then `count` times + 1, every fifth through a transposed view; y = v + the last one. */
static struct pto_graph *make_graph(uint32_t count) {
  struct pto_graph_builder *b;
  struct pto_graph *graph;
  static const float one = 1;
  const struct pto_graph_desc desc = {PTO_FLOAT32, 2, {SIDE, SIDE}}, scalar = {PTO_FLOAT32, 0, {0}};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &desc),
                                 c = pto_graph_builder_constant(b, &scalar, &one, sizeof one),
                                 first = pto_graph_builder_add(b, x, c, NULL);
  struct pto_graph_operand v = first;
  for (uint32_t i = 0; i < count; i++) {
    v = pto_graph_builder_add(b, v, c, NULL);
    if (i % 10 == 4 || i % 10 == 9) v = pto_graph_builder_transpose(b, v, NULL);
  }
  const struct pto_graph_output y = {"y", pto_graph_builder_add(b, first, v, NULL)};
  if (pto_graph_builder_build(b, &y, 1, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  return graph;
}

static float x[NUMEL], y[NUMEL];

/* A context of this heap, in which the graph has run; its counters. */
static struct pto_context_counters run(const struct pto_config *config, uint32_t count, int wanted_status) {
  struct pto_graph *graph = make_graph(count);
  struct pto_context *context = lowered_graph_open(config);
  void *inputs[] = {x}, *outputs[] = {y};
  for (uint32_t i = 0; i < NUMEL; i++) x[i] = (float)(i % 1000);
  memset(y, 0xa5, sizeof y);
  const int status = lowered_graph_run(graph, context, inputs, outputs);
  if (status != wanted_status) fail_msg("status %d: %s", status, pto_context_error(context));
  const bool is_transposed = count / 5 % 2;
  for (uint32_t i = 0; i < SIDE && status == PTO_OK; i++)
    for (uint32_t j = 0; j < SIDE; j++) {
      const float last = x[is_transposed ? j * SIDE + i : i * SIDE + j] + 1 + (float)count;
      if (y[i * SIDE + j] != x[i * SIDE + j] + 1 + last) fail_msg("element %u, %u", i, j);
    }
  struct pto_context_counters counters = {.size = sizeof counters};
  pto_context_counters(context, &counters);
  if (status) assert_int_equal(pto_context_clear_error(context), PTO_OK);
  pto_graph_destroy(graph);
  pto_context_destroy(context);
  return counters;
}

static void test_a_graph_of_200_values_of_1_mib_runs_in_a_heap_of_12(void **state) {
  static const struct pto_config heaps[] = {{.engine = "threads", .workers = 2, .heap_bytes = 12 * MIB},
                                            {.engine = "virtual", .chip = "a2a3", .heap_bytes = 12 * MIB}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(heaps); i++)
    assert_true(run(&heaps[i], 200, PTO_OK).heap_high_water_bytes <= 8 * MIB);
}

/* The first value is read by the last node, so two live at least, and two nodes lie between dead and new. */
static void test_a_heap_that_is_too_small_for_those_alive_is_told(void **state) {
  const struct pto_config heap = {.engine = "virtual", .heap_bytes = 2 * MIB};
  (void)run(&heap, 20, PTO_EHEAP);
}

/* Weaker rules order no write after reads, so there every value keeps its buffer, and the bytes are right all the same.
 */
static void test_under_rules_that_order_less_every_value_keeps_its_buffer(void **state) {
  const struct pto_config weak = {.engine = "threads", .workers = 2, .deps = PTO_DEPS_PTO};
  assert_true(run(&weak, 30, PTO_OK).heap_high_water_bytes >= 31 * MIB);
}

static void test_what_together_is_small_does_not_wait(void **state) {
  const struct pto_config heap = {.engine = "virtual"};
  const struct pto_context_counters few = run(&heap, 2, PTO_OK);
  assert_int_equal(few.heap_high_water_bytes, 3 * MIB);
}

/* A buffer that is used a hundred times has no edges to all who ever read it. */
static void test_edges_grow_as_the_graph_does(void **state) {
  const struct pto_config config = {.engine = "virtual"};
  const uint64_t a = run(&config, 50, PTO_OK).edges, b = run(&config, 100, PTO_OK).edges,
                 c = run(&config, 200, PTO_OK).edges;
  printf("| edges of 50, 100 and 200 nodes: %llu, %llu, %llu\n", (unsigned long long)a, (unsigned long long)b,
         (unsigned long long)c);
  assert_true(c - b < 21 * (b - a) / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_graph_of_200_values_of_1_mib_runs_in_a_heap_of_12),
      cmocka_unit_test(test_a_heap_that_is_too_small_for_those_alive_is_told),
      cmocka_unit_test(test_under_rules_that_order_less_every_value_keeps_its_buffer),
      cmocka_unit_test(test_what_together_is_small_does_not_wait),
      cmocka_unit_test(test_edges_grow_as_the_graph_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
