/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <graph/reference/reference.h>
#include <graph/run/watched.h>
#include <tests/support/failing_malloc.h>

/* x → abs → split into two → the first exp, which is the only output. */
static struct pto_graph *build(void) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  const struct pto_graph_desc desc = {PTO_FLOAT32, 1, {4}};
  const struct pto_split_options halves = {.splits = PTO_U32_LIST(2)};
  struct pto_graph_operand parts[2];
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  struct pto_graph_operand x = pto_graph_builder_input(b, "x", &desc);
  x = pto_graph_builder_abs(b, x, NULL);
  assert_int_equal(pto_graph_builder_split(b, x, &halves, parts, 2), PTO_OK);
  const struct pto_graph_output output = {"y", pto_graph_builder_exp(b, parts[0], NULL)};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  return graph;
}

static void test_every_result_is_an_output_in_the_order_of_values(void **state) {
  static const char *const names[] = {"result 2", "result 3", "result 4", "result 5"};
  struct pto_graph *graph = build();
  struct pto_watched_graph watched;
  assert_int_equal(pto_watched_graph_init(&watched, graph), PTO_OK);
  assert_int_equal(pto_graph_output_count(&watched.graph), 4);
  for (uint32_t i = 0; i < 4; i++) {
    assert_int_equal(watched.graph.outputs[i], i + 2);
    assert_string_equal(pto_graph_output_at(&watched.graph, i)->name, names[i]);
    assert_int_equal(pto_graph_output_at(&watched.graph, i)->shape[0], i == 0 ? 4 : 2);
  }
  assert_int_equal(pto_graph_output_count(graph), 1);
  pto_watched_graph_fini(&watched);
  pto_graph_destroy(graph);
}

static void test_a_run_on_a_chip_tells_the_results_of_all_nodes(void **state) {
  float x[4] = {-0.0f, -1, 2, -3}, all[4], first[2], second[2], y[2];
  struct pto_graph *graph = build();
  struct pto_watched_graph watched;
  struct pto_context *context = NULL;
  const struct pto_context_options options = {.size = sizeof options, .runtime = {.engine = "virtual", .chip = "tiny"}};
  const struct pto_host_array in = {"x", x, sizeof x}, out[] = {{"result 2", all, sizeof all},
                                                                {"result 3", first, sizeof first},
                                                                {"result 4", second, sizeof second},
                                                                {"result 5", y, sizeof y}};
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  assert_int_equal(pto_watched_graph_init(&watched, graph), PTO_OK);
  assert_int_equal(pto_graph_compute(&watched.graph, context, &(struct pto_compute_arrays){&in, out, 1, 4}), PTO_OK);
  for (int i = 0; i < 4; i++) assert_true(all[i] == fabsf(x[i]));
  for (int i = 0; i < 2; i++) assert_true(first[i] == all[i] && second[i] == all[i + 2]);
  assert_true(y[0] == 1 && fabsf(y[1] - 2.71828183f) < 1e-6f);
  pto_watched_graph_fini(&watched);
  pto_graph_destroy(graph);
  pto_context_destroy(context);
}

static void test_each_allocation_may_fail(void **state) {
#if PTO_HAS_FAILING_MALLOC
  struct pto_graph *graph = build();
  uint32_t failures = 0;
  for (bool is_done = false; !is_done; failures++) {
    struct pto_watched_graph watched = {0};
    const int64_t before = live_blocks;
    fail_countdown = failures + 1;
    const int status = pto_watched_graph_init(&watched, graph);
    is_done = fail_countdown != 0; /* it was never reached */
    fail_countdown = 0;
    assert_int_equal(status, is_done ? PTO_OK : PTO_ENOMEM);
    pto_watched_graph_fini(&watched);
    assert_int_equal(live_blocks, before);
  }
  assert_int_equal(failures, 7);
  pto_graph_destroy(graph);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_result_is_an_output_in_the_order_of_values),
      cmocka_unit_test(test_a_run_on_a_chip_tells_the_results_of_all_nodes),
      cmocka_unit_test(test_each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
