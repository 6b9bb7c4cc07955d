/* SPDX-License-Identifier: MIT */
/*
 * Graphs dispatched: errors that name the node, the orders in which graphs and contexts may forget each other, and one
 * graph on two contexts from two threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/lowered_graph.h>

#define ROWS 300
#define COLUMNS 200
#define NUMEL (ROWS * COLUMNS)

/* ---- a graph: y = tanh(x · c + x), x [300, 200], c a constant [200, 200] ---- */

static float weights[COLUMNS * COLUMNS];

static struct pto_graph *make_graph(void) {
  struct pto_graph_builder *b;
  struct pto_graph *graph;
  const struct pto_graph_desc x_desc = {PTO_FLOAT32, 2, {ROWS, COLUMNS}}, c_desc = {PTO_FLOAT32, 2, {COLUMNS, COLUMNS}};
  const struct pto_graph_options label = {.label = "head"};
  for (uint32_t i = 0; i < COLUMNS * COLUMNS; i++) weights[i] = (float)(i % 7) / 64 - 0.04f;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &x_desc);
  const struct pto_graph_operand c = pto_graph_builder_constant(b, &c_desc, weights, sizeof weights);
  const struct pto_graph_operand product = pto_graph_builder_matmul(b, x, c, &label);
  const struct pto_graph_output y = {"y", pto_graph_builder_tanh(b, pto_graph_builder_add(b, product, x, NULL), NULL)};
  if (pto_graph_builder_build(b, &y, 1, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  return graph;
}

struct numbers {
  float x[NUMEL], y[NUMEL];
};
static struct numbers wanted, first, second;

static void fill(struct numbers *n) {
  for (uint32_t i = 0; i < NUMEL; i++) n->x[i] = (float)(i % 31) / 16 - 1;
  memset(n->y, 0, sizeof n->y);
}

static int compute(struct pto_graph *graph, struct pto_context *context, struct numbers *n) {
  void *inputs[] = {n->x}, *outputs[] = {n->y};
  return lowered_graph_run(graph, context, inputs, outputs);
}

static int set_up(void **state) {
  struct pto_graph *graph = make_graph();
  const void *inputs[] = {wanted.x};
  void *outputs[] = {wanted.y};
  struct pto_error error = {0};
  fill(&wanted);
  assert_int_equal(pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, &error), PTO_OK);
  pto_graph_destroy(graph);
  return 0;
}

static void expect_right(const struct numbers *n) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 2, {ROWS, COLUMNS}};
  const struct lowered_graph_tolerance tolerance = {.f32 = 0x1p-18};
  lowered_graph_expect(&desc, n->y, wanted.y, false, &tolerance, "y");
}

/* ---- errors ---- */

static const struct pto_config narrow[] = {{.engine = "threads", .workers = 2, .heap_bytes = 65536},
                                           {.engine = "virtual", .heap_bytes = 65536},
                                           {.engine = "threads", .workers = 2, .window = 4},
                                           {.engine = "virtual", .window = 4}};

static void test_a_graph_that_does_not_fit_is_told_with_the_node_and_the_context_works_again(void **state) {
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(narrow); i++) {
    struct pto_graph *graph = make_graph();
    struct pto_context *context = lowered_graph_open(&narrow[i]);
    fill(&first);
    const int status = compute(graph, context, &first);
    assert_true(status == PTO_EHEAP || status == PTO_EWINDOW || status == PTO_ESCOPE);
    const char *sentence = pto_context_error(context);
    if (!strstr(sentence,
                "lowering had come to node 2 of 3, add, fused (product_sum) with node 1 of 3, matmul \"head\""))
      fail_msg("%s", sentence);
    assert_int_equal(pto_context_sync(context), status); /* kept until it is cleared */
    assert_int_equal(compute(graph, context, &first), status);
    assert_int_equal(pto_context_clear_error(context), PTO_OK);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    pto_graph_destroy(graph);
    pto_context_destroy(context);
  }
}

static void test_a_context_that_failed_runs_what_fits(void **state) {
  struct pto_context *context = lowered_graph_open(&narrow[0]);
  struct pto_graph *graph = make_graph();
  fill(&first);
  assert_int_not_equal(compute(graph, context, &first), PTO_OK);
  assert_int_equal(pto_context_clear_error(context), PTO_OK);
  struct pto_graph_builder *b;
  struct pto_graph *small;
  const struct pto_graph_desc desc = {PTO_FLOAT32, 1, {4}};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_output y = {"y", pto_graph_builder_neg(b, pto_graph_builder_input(b, "x", &desc), NULL)};
  assert_int_equal(pto_graph_builder_build(b, &y, 1, &small), PTO_OK);
  pto_graph_builder_destroy(b);
  float x[] = {1, 2, 3, 4}, got[4] = {0};
  void *inputs[] = {x}, *outputs[] = {got};
  assert_int_equal(lowered_graph_run(small, context, inputs, outputs), PTO_OK);
  for (int i = 0; i < 4; i++) assert_true(got[i] == -x[i]);
  pto_graph_destroy(small);
  pto_graph_destroy(graph);
  pto_context_destroy(context);
}

/* ---- who goes first ---- */

static const struct pto_config usual = {.engine = "threads", .chip = "a2a3", .workers = 2};

static uint64_t live_bytes(struct pto_context *context) {
  struct pto_context_counters counters = {.size = sizeof counters};
  assert_int_equal(pto_context_sync(context), PTO_OK);
  pto_context_counters(context, &counters);
  return counters.live_bytes;
}

static void test_a_graph_that_is_destroyed_gives_its_constants_back(void **state) {
  struct pto_context *context = lowered_graph_open(&usual);
  struct pto_graph *graph = make_graph();
  fill(&first);
  assert_int_equal(compute(graph, context, &first), PTO_OK);
  expect_right(&first);
  assert_true(live_bytes(context) >= sizeof weights);
  pto_graph_destroy(graph);
  assert_int_equal(live_bytes(context), 0);
  pto_context_destroy(context);
}

static void test_a_graph_that_forgot_a_context_outlives_it_and_runs_on_another(void **state) {
  struct pto_graph *graph = make_graph();
  for (int i = 0; i < 3; i++) {
    struct pto_context *context = lowered_graph_open(&usual);
    fill(&first);
    assert_int_equal(compute(graph, context, &first), PTO_OK);
    expect_right(&first);
    pto_graph_forget(graph, context);
    assert_int_equal(live_bytes(context), 0);
    pto_graph_forget(graph, context); /* a second time it is nothing */
    pto_context_destroy(context);
  }
  pto_graph_destroy(graph);
}

static void test_a_context_that_was_forgotten_takes_the_graph_again(void **state) {
  struct pto_graph *graph = make_graph();
  struct pto_context *context = lowered_graph_open(&usual), *other = lowered_graph_open(&narrow[1]);
  for (int i = 0; i < 3; i++) {
    fill(&first);
    assert_int_equal(compute(graph, context, &first), PTO_OK);
    expect_right(&first);
    pto_graph_forget(graph, other); /* it has never been there */
    pto_graph_forget(graph, context);
  }
  pto_graph_destroy(graph);
  pto_context_destroy(other);
  pto_context_destroy(context);
}

/* ---- two threads ---- */

struct side {
  struct pto_graph *graph;
  struct pto_context *context;
  struct numbers *numbers;
  bool forgets;
  int status;
};

static void *compute_often(void *argument) {
  struct side *side = argument;
  for (int i = 0; i < 5 && side->status == PTO_OK; i++) {
    side->status = compute(side->graph, side->context, side->numbers);
    if (side->forgets) pto_graph_forget(side->graph, side->context);
  }
  return NULL;
}

static void test_one_graph_runs_on_two_contexts_from_two_threads(void **state) {
  struct pto_graph *graph = make_graph();
  const struct pto_config virtual_chip = {.engine = "virtual", .chip = "tiny"};
  struct side sides[] = {{graph, lowered_graph_open(&usual), &first, false, PTO_OK},
                         {graph, lowered_graph_open(&virtual_chip), &second, true, PTO_OK}};
  pthread_t threads[2];
  fill(&first);
  fill(&second);
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, compute_often, &sides[i]), 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; i++) {
    if (sides[i].status) fail_msg("%s", pto_context_error(sides[i].context));
    expect_right(sides[i].numbers);
  }
  assert_memory_equal(first.y, second.y, sizeof first.y);
  pto_graph_destroy(graph);
  for (int i = 0; i < 2; i++) pto_context_destroy(sides[i].context);
}

/* ---- fusion ---- */

static void test_fusion_is_chosen_before_the_first_dispatch_and_again_once_that_is_forgotten(void **state) {
  struct pto_context *context = lowered_graph_open(&(struct pto_config){.engine = "virtual"});
  struct pto_graph *graph = make_graph();
  fill(&first);
  assert_int_equal(pto_graph_set_fusion(graph, 0), PTO_OK);
  assert_int_equal(pto_graph_set_fusion(graph, 1), PTO_OK);
  assert_int_equal(compute(graph, context, &first), PTO_OK);
  assert_int_equal(pto_graph_set_fusion(graph, 0), PTO_ESTALE);
  assert_int_equal(compute(graph, context, &first), PTO_OK);
  expect_right(&first);
  pto_graph_forget(graph, context);
  assert_int_equal(pto_graph_set_fusion(graph, 0), PTO_OK);
  fill(&first);
  assert_int_equal(compute(graph, context, &first), PTO_OK);
  expect_right(&first);
  pto_graph_destroy(graph);
  pto_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_graph_that_does_not_fit_is_told_with_the_node_and_the_context_works_again),
      cmocka_unit_test(test_a_context_that_failed_runs_what_fits),
      cmocka_unit_test(test_a_graph_that_is_destroyed_gives_its_constants_back),
      cmocka_unit_test(test_a_graph_that_forgot_a_context_outlives_it_and_runs_on_another),
      cmocka_unit_test(test_a_context_that_was_forgotten_takes_the_graph_again),
      cmocka_unit_test(test_one_graph_runs_on_two_contexts_from_two_threads),
      cmocka_unit_test(test_fusion_is_chosen_before_the_first_dispatch_and_again_once_that_is_forgotten),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
