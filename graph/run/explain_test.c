/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <graph/run/explain.h>
#include <pto/device.h>
#include <sim/chips/chip.h>
#include <tests/support/failing_malloc.h>

#define ROWS 40
#define COLUMNS 24

/* x · w → transpose → relu, two nodes that are tasks and a view. */
static struct pto_graph *build(void) {
  static float weights[COLUMNS * COLUMNS];
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  const struct pto_graph_desc x_desc = {PTO_FLOAT32, 2, {ROWS, COLUMNS}}, w_desc = {PTO_FLOAT32, 2, {COLUMNS, COLUMNS}};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  struct pto_graph_operand v = pto_graph_builder_input(b, "x", &x_desc);
  v = pto_graph_builder_matmul(b, v, pto_graph_builder_constant(b, &w_desc, weights, sizeof weights), NULL);
  v = pto_graph_builder_transpose(b, v, NULL);
  const struct pto_graph_output output = {"y", pto_graph_builder_relu(b, v, NULL)};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  return graph;
}

static struct pto_context *open_context(struct pto_chip *chip) {
  struct pto_context *context = NULL;
  struct pto_error error;
  const struct pto_context_options options = {
      .size = sizeof options,
      .memory_bytes = 1 << 20,
      .tensor_count = 64,
      .runtime = {.engine = "virtual", .chip = "tiny", .window = 64, .heap_bytes = 1 << 20}};
  assert_int_equal(pto_chip_load("tiny", chip, &error), PTO_OK);
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  return context;
}

static void check(const struct pto_graph_explanation *e) {
  assert_int_equal(e->node_count, 3 + 1);
  assert_int_equal(e->nodes[0].multiply_adds, ROWS * COLUMNS * COLUMNS);
  assert_int_equal(e->nodes[0].bytes_out, ROWS * COLUMNS * sizeof(float));
  assert_int_equal(e->nodes[1].tasks, 0);
  assert_int_equal(pto_explained_bound(&e->nodes[1]), PTO_BOUND_COUNT);
  assert_int_equal(pto_explained_ps(&e->nodes[1]), 0);
  assert_true(e->nodes[2].tasks >= 1 && e->nodes[2].kernel_count == 1);
  assert_string_equal(e->nodes[2].kernels[0].kernel->name, "relu");
  assert_true(pto_explained_ps(&e->nodes[2]) > 0);
  assert_int_equal(e->nodes[3].tasks, 0);
}

static void test_each_node_has_its_work_and_a_view_has_none(void **state) {
  struct pto_graph *graph = build();
  struct pto_chip chip;
  struct pto_context *context = open_context(&chip);
  struct pto_graph_explanation explanation;
  struct pto_error error;
  if (pto_graph_explain(graph, context, &chip, &explanation, &error)) fail_msg("%s", error.sentence);
  check(&explanation);
  pto_graph_explanation_fini(&explanation);
  pto_graph_destroy(graph);
  pto_context_destroy(context);
}

/* Whichever fails, in the explanation, in the context or in the lowering: nothing is lost, the error has a sentence,
 * and the same call succeeds afterwards. */
static void test_each_allocation_may_fail(void **state) {
#if PTO_HAS_FAILING_MALLOC
  struct pto_graph *graph = build();
  uint32_t failures = 0;
  for (bool is_done = false; !is_done; failures++) {
    const int64_t before = live_blocks;
    struct pto_chip chip;
    struct pto_context *context = open_context(&chip);
    struct pto_graph_explanation explanation = {0};
    struct pto_error error = {0};
    fail_countdown = failures + 1;
    const int status = pto_graph_explain(graph, context, &chip, &explanation, &error);
    is_done = fail_countdown != 0; /* it was never reached */
    fail_countdown = 0;
    if (is_done) assert_int_equal(status, PTO_OK);
    if (status) {
      assert_null(explanation.nodes);
      assert_true(error.sentence[0] != '\0');
      assert_int_equal(pto_context_clear_error(context), PTO_OK);
      if (pto_graph_explain(graph, context, &chip, &explanation, &error)) fail_msg("%s", error.sentence);
    }
    check(&explanation); /* one may fail and not be missed: of what is only remembered for speed */
    pto_graph_explanation_fini(&explanation);
    pto_graph_forget(graph, context);
    pto_context_destroy(context);
    assert_int_equal(live_blocks, before);
  }
  printf("| %u allocations failed, each once\n", failures - 1);
  assert_true(failures > 20);
  pto_graph_destroy(graph);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_node_has_its_work_and_a_view_has_none),
      cmocka_unit_test(test_each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
