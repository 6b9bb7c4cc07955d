/* SPDX-License-Identifier: MIT */
/*
 * Graphs dispatched and called: errors that name the node, the orders in which graphs and contexts may forget each
 * other, and one graph on two contexts from two threads.
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

static void test_a_context_may_go_before_the_graphs_that_ran_on_it(void **state) {
  struct pto_graph *graph = make_graph(), *other = make_graph();
  for (int i = 0; i < 3; i++) {
    struct pto_context *context = lowered_graph_open(&usual);
    for (int k = 0; k < 2; k++) {
      fill(&first);
      assert_int_equal(compute(k ? other : graph, context, &first), PTO_OK);
      expect_right(&first);
    }
    pto_context_destroy(context);
  }
  struct pto_context *last = lowered_graph_open(&usual);
  assert_int_equal(compute(other, last, &first), PTO_OK);
  pto_graph_destroy(graph);
  pto_context_destroy(last);
  pto_graph_destroy(other);
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

/* ---- calls ---- */

/* y from a call where x is a tensor or host memory, and y host memory or made; read into n->y. */
static void call(struct pto_graph *graph, struct pto_context *context, struct pto_device_tensor x, bool is_made,
                 struct numbers *n) {
  const struct pto_argument in = {.name = "x", .tensor = x, .data = x.id ? NULL : n->x, x.id ? 0 : sizeof n->x};
  struct pto_argument out = {.name = "y", .data = is_made ? NULL : n->y, .size_bytes = is_made ? 0 : sizeof n->y};
  const struct pto_call made = {
      .size = sizeof made, .inputs = &in, .outputs = &out, .input_count = 1, .output_count = 1};
  memset(n->y, 0, sizeof n->y);
  if (pto_graph_call(graph, context, &made)) fail_msg("%s", pto_context_error(context));
  assert_true((out.tensor.id != 0) == is_made);
  if (!is_made) return;
  assert_int_equal(pto_device_tensor_read(context, out.tensor, n->y, sizeof n->y), PTO_OK);
  assert_int_equal(pto_device_tensor_destroy(context, out.tensor), PTO_OK);
}

static void test_a_call_takes_tensors_and_memory_and_makes_its_outputs(void **state) {
  const struct pto_config engines[] = {usual, {.engine = "virtual", .chip = "tiny"}};
  const struct pto_device_tensor_desc desc = {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {ROWS, COLUMNS}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines); i++) {
    struct pto_context *context = lowered_graph_open(&engines[i]);
    struct pto_graph *graph = make_graph();
    struct pto_device_tensor x;
    fill(&first);
    assert_int_equal(pto_device_tensor_create_host(context, &desc, &x), PTO_OK);
    assert_int_equal(pto_device_tensor_write(context, x, first.x, sizeof first.x), PTO_OK);
    for (int way = 0; way < 4; way++) {
      call(graph, context, way & 1 ? x : (struct pto_device_tensor){0}, way & 2, &first);
      expect_right(&first);
    }
    const struct pto_argument unknown = {.name = "z", .tensor = x};
    const struct pto_call wrong = {.size = sizeof wrong, .inputs = &unknown, .input_count = 1};
    assert_int_equal(pto_graph_call(graph, context, &wrong), PTO_EINVAL);
    assert_non_null(strstr(pto_context_error(context), "no input is called \"z\""));
    struct pto_context_counters counters = {.size = sizeof counters};
    assert_int_equal(pto_device_tensor_destroy(context, x), PTO_OK);
    pto_graph_destroy(graph);
    assert_int_equal(pto_context_sync(context), PTO_OK);
    pto_context_counters(context, &counters);
    assert_int_equal(counters.dispatches, 4);
    assert_int_equal(counters.live_bytes, 0);
    pto_context_destroy(context);
  }
}

/* ---- limits ---- */

/* Whether a builder of the context takes it as an input, and as the operand of sqrt. */
static bool is_taken(struct pto_context *context, uint32_t dtype, uint32_t ndims) {
  struct pto_graph_builder *builder;
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = ndims};
  for (uint32_t d = 0; d < ndims; d++) desc.shape[d] = 2;
  assert_int_equal(pto_graph_builder_create(context, &builder), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(builder, "x", &desc);
  const bool is = pto_graph_builder_sqrt(builder, x, NULL).index != 0;
  pto_graph_builder_destroy(builder);
  return is;
}

static void test_a_builder_of_a_context_refuses_by_what_the_limits_of_that_context_say(void **state) {
  const struct pto_config engines[] = {usual, {.engine = "virtual", .chip = "a2a3"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(engines); i++) {
    struct pto_context *context = lowered_graph_open(&engines[i]);
    const struct pto_context_info info = pto_context_info(context);
    struct pto_graph_limit limits[8] = {{0}};
    uint32_t taken = 0;
    for (uint32_t op = 0; op < pto_graph_operation_count(); op++) {
      const uint32_t count = pto_graph_operation_limits(context, pto_graph_operation_name(op), limits, 8);
      assert_true(count > 0 && count <= 8);
      for (uint32_t k = 0; k < count; k++)
        assert_true(limits[k].dtypes && !(limits[k].dtypes & ~info.dtypes) && limits[k].max_rank <= info.max_rank);
    }
    assert_int_equal(pto_graph_operation_limits(context, "sqrt", limits, 8), 1);
    for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
      const bool is = is_taken(context, dtype, 1);
      assert_true(is == (limits[0].dtypes >> dtype & 1));
      taken += is;
    }
    assert_true(taken > 0 && taken < PTO_DTYPE_COUNT);
    for (uint32_t rank = 0; rank <= info.max_rank; rank++)
      assert_true(is_taken(context, PTO_FLOAT32, rank) == (rank >= limits[0].min_rank && rank <= limits[0].max_rank));
    assert_int_equal(pto_graph_operation_limits(context, "conv9d", limits, 8), 0);
    pto_context_destroy(context);
  }
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
      cmocka_unit_test(test_a_context_may_go_before_the_graphs_that_ran_on_it),
      cmocka_unit_test(test_a_context_that_was_forgotten_takes_the_graph_again),
      cmocka_unit_test(test_one_graph_runs_on_two_contexts_from_two_threads),
      cmocka_unit_test(test_a_call_takes_tensors_and_memory_and_makes_its_outputs),
      cmocka_unit_test(test_a_builder_of_a_context_refuses_by_what_the_limits_of_that_context_say),
      cmocka_unit_test(test_fusion_is_chosen_before_the_first_dispatch_and_again_once_that_is_forgotten),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
