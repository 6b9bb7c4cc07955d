/* SPDX-License-Identifier: MIT */
/*
 * Random graphs of every operation: the builder takes each call and infers what its maker says, the reference executor
 * computes them, and what comes out is finite.  PTO_SEED is the first seed, PTO_RANDOM_GRAPHS how many.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <graph/reference/reference.h>
#include <tests/support/random_graph.h>

#define CALLS 10u

static uint64_t number(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

struct seen {
  const struct random_graph *g;
  uint64_t elements;
};

static int look(void *context, uint32_t node_index, const struct pto_reference_tensor *results) {
  struct seen *seen = context;
  const struct pto_graph_node *node = &seen->g->graph->nodes[node_index];
  for (uint32_t r = 0; r < node->result_count; r++) {
    for (uint64_t i = 0; i < pto_graph_desc_numel(&results[r].desc); i++) {
      seen->elements++;
      if (results[r].values && !(fabs(results[r].values[i]) < 60000))
        fail_msg("seed %llu: %s gives %g", (unsigned long long)seen->g->seed, pto_op_info(node->op)->name,
                 results[r].values[i]);
    }
  }
  return 0;
}

static void run(const struct random_graph *g, struct seen *seen) {
  struct pto_error error = {0};
  if (pto_graph_reference_run(g->graph, (const void *const *)g->inputs, g->outputs, look, seen, &error))
    fail_msg("seed %llu: %s", (unsigned long long)g->seed, error.sentence);
}

static void test_every_operation_is_inferred_as_drawn_and_computed_to_finite_numbers(void **state) {
  const uint64_t first = number("PTO_SEED", 1), count = number("PTO_RANDOM_GRAPHS", 3000);
  static uint32_t calls[PTO_GRAPH_OP_COUNT];
  struct random_graph g;
  struct seen seen = {.g = &g};
  for (uint64_t seed = first; seed < first + count; seed++) {
    random_graph_open(&g, seed, CALLS);
    run(&g, &seen);
    for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++) calls[op] += g.calls[op];
    random_graph_close(&g);
  }
  printf("| seeds %llu to %llu: %llu elements\n", (unsigned long long)first, (unsigned long long)(first + count - 1),
         (unsigned long long)seen.elements);
  for (uint32_t op = 0; count >= 1000 && op < PTO_GRAPH_OP_COUNT; op++) {
    if (calls[op] < count / 50) fail_msg("%s was called %u times", pto_op_info(op)->name, calls[op]);
  }
}

static void test_a_seed_gives_the_same_graph_and_numbers_each_time(void **state) {
  for (uint64_t seed = 5000; seed < 5050; seed++) {
    struct random_graph a, b;
    struct seen seen = {.g = &a};
    random_graph_open(&a, seed, CALLS);
    random_graph_open(&b, seed, CALLS);
    run(&a, &seen);
    seen.g = &b;
    run(&b, &seen);
    assert_int_equal(a.output_count, b.output_count);
    for (uint32_t i = 0; i < a.output_count; i++)
      assert_memory_equal(a.outputs[i], b.outputs[i], random_graph_bytes(&a.graph->values[a.graph->outputs[i]].desc));
    random_graph_close(&a);
    random_graph_close(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_operation_is_inferred_as_drawn_and_computed_to_finite_numbers),
      cmocka_unit_test(test_a_seed_gives_the_same_graph_and_numbers_each_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
