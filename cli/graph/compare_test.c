/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <cli/graph/command.h>
#include <formats/npy.h>
#include <graph/fuse/fusion.h>
#include <runtime/base/base.h>

/* x → abs "a" → exp "b" → neg "c". */
static struct pto_graph *build(void) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  const struct pto_graph_desc desc = {PTO_FLOAT32, 1, {5}};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  struct pto_graph_operand x = pto_graph_builder_input(b, "x", &desc);
  x = pto_graph_builder_abs(b, x, &(struct pto_graph_options){"a"});
  assert_int_equal(pto_graph_builder_set_name(b, x, "middle"), PTO_OK);
  x = pto_graph_builder_exp(b, x, &(struct pto_graph_options){"b"});
  x = pto_graph_builder_neg(b, x, &(struct pto_graph_options){"c"});
  const struct pto_graph_output output = {"y", x};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  return graph;
}

/* An engine that is the reference, but for one element of one node's result. */
static struct {
  uint32_t node;
  uint64_t element;
  double factor;
  pto_reference_observer *observe;
  void *context;
} mistake;

static int observe_with_mistake(void *context, uint32_t node, const struct pto_reference_tensor *results) {
  if (node == mistake.node) results->values[mistake.element] *= mistake.factor;
  return mistake.observe(mistake.context, node, results);
}

static int run_with_mistake(const struct pto_graph_job *job, struct pto_error *error) {
  mistake.observe = job->observe;
  mistake.context = job->observe_context;
  return pto_graph_reference_run(job->graph, job->inputs, job->outputs, observe_with_mistake, NULL, error);
}

static struct pto_graph_divergence compare(uint32_t node, double factor, bool first, const char *dir) {
  static const struct pto_graph_engine engine = {"mistaken", run_with_mistake};
  struct pto_graph_command command = {.graph = build(), .first_divergence = first, .output_dir = dir};
  mistake.node = node;
  mistake.element = 3;
  mistake.factor = factor;
  assert_int_equal(pto_graph_command_open(&command), PTO_OK);
  if (pto_graph_command_compare(&command, &engine)) fail_msg("%s", command.error.sentence);
  const struct pto_graph_divergence divergence = command.divergence;
  pto_graph_command_fini(&command);
  return divergence;
}

static void test_results_that_are_the_same_do_not_diverge(void **state) {
  const struct pto_graph_divergence d = compare(99, 1, false, NULL);
  assert_false(d.is_found);
  assert_int_equal(d.nodes, 3);
  assert_int_equal(d.elements, 15);
  assert_true(d.worst_ulps == 0);
}

static void test_what_is_within_tolerance_is_counted_and_does_not_diverge(void **state) {
  const struct pto_graph_divergence d = compare(1, 1 + 0x1p-23, false, NULL);
  assert_false(d.is_found);
  assert_true(d.worst_ulps >= 1 && d.worst_ulps <= 2);
}

static void test_the_first_node_beyond_tolerance_is_told_with_its_worst_element(void **state) {
  struct pto_graph_divergence d = compare(1, 1.5, false, NULL);
  assert_true(d.is_found);
  assert_int_equal(d.node, 1);
  assert_int_equal(d.element, 3);
  assert_int_equal(d.node_elements, 1);
  assert_true(fabs(d.got / d.expected - 1.5) < 1e-6);
  assert_int_equal(d.diverging_nodes, 1); /* what follows is right, of what it made */
  assert_true(d.end_error > 0.1);
  d = compare(0, 2, true, NULL);
  assert_int_equal(d.node, 0);
  assert_int_equal(d.nodes, 1);
  assert_int_equal(d.diverging_nodes, 1);
}

static void test_a_result_that_is_no_number_diverges(void **state) {
  const struct pto_graph_divergence d = compare(2, (double)NAN, false, NULL);
  assert_true(d.is_found);
  assert_int_equal(d.node, 2);
  assert_true(isinf(d.ulps));
}

static void test_tensors_of_the_first_divergence_are_written(void **state) {
  static const char *const names[] = {"middle.operand.npy", "value_3.reference.npy", "value_3.engine.npy"};
  char dir[] = "/tmp/graph_compare_XXXXXX", path[200];
  float expected[5], got[5];
  struct pto_error error;
  struct pto_npy npy;
  assert_non_null(mkdtemp(dir));
  (void)compare(1, 3, true, dir);
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, names[i]);
    if (pto_npy_read(path, &npy, &error)) fail_msg("%s", error.sentence);
    assert_int_equal(npy.numel, 5);
    assert_int_equal(pto_npy_copy(&npy, PTO_FLOAT32, i == 1 ? expected : got, &error), PTO_OK);
    pto_npy_fini(&npy);
    unlink(path);
  }
  assert_int_equal(rmdir(dir), 0);
  for (int k = 0; k < 5; k++) assert_true(fabsf(got[k] - expected[k] * (k == 3 ? 3 : 1)) <= 1e-6f * got[k]);
}

/* ---- fused groups ---- */

#define COLUMNS 7

/* x → abs → an RMS norm of fp16, nodes 1 to 6 → neg. */
static struct pto_graph *build_norm(void) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  const struct pto_graph_desc rows = {PTO_FLOAT16, 2, {2, COLUMNS}}, one = {PTO_FLOAT16, 1, {COLUMNS}};
  const struct pto_reduce_options last = {.axes = PTO_U32_LIST(1), .keep_dimensions = PTO_FLAG_YES};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_abs(b, pto_graph_builder_input(b, "x", &rows), NULL);
  struct pto_graph_operand y = pto_graph_builder_reduce_mean(b, pto_graph_builder_mul(b, x, x, NULL), &last);
  y = pto_graph_builder_add(b, y, pto_graph_builder_scalar(b, PTO_FLOAT16, pto_number_f64(0.001)), NULL);
  y = pto_graph_builder_div(b, x, pto_graph_builder_sqrt(b, y, NULL), NULL);
  y = pto_graph_builder_mul(b, y, pto_graph_builder_input(b, "weight", &one), NULL);
  const struct pto_graph_output output = {"y", pto_graph_builder_neg(b, y, NULL)};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  return graph;
}

#define DEPTH 500

/* A sum of `DEPTH` products and a bias, nodes 0 and 2, and between them in the order of the calls a node of more
 * elements: nodes 0 and 2 are a group. */
static struct pto_graph *build_interrupted_sum(void) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  const struct pto_graph_desc row = {PTO_FLOAT32, 2, {1, DEPTH}}, matrix = {PTO_FLOAT32, 2, {DEPTH, 4}};
  const struct pto_graph_desc bias = {PTO_FLOAT32, 1, {4}}, many = {PTO_FLOAT32, 1, {4096}};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand product = pto_graph_builder_matmul(b, pto_graph_builder_input(b, "a", &row),
                                                                    pto_graph_builder_input(b, "b", &matrix), NULL);
  const struct pto_graph_operand other = pto_graph_builder_abs(b, pto_graph_builder_input(b, "x", &many), NULL);
  const struct pto_graph_output outputs[] = {
      {"y", pto_graph_builder_add(b, product, pto_graph_builder_input(b, "c", &bias), NULL)}, {"z", other}};
  assert_int_equal(pto_graph_builder_build(b, outputs, 2, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  return graph;
}

static struct pto_fusion_plan plan;

/* What a chip does: nodes inside a group have no results that it tells. */
static int observe_as_fused(void *context, uint32_t node, const struct pto_reference_tensor *results) {
  return pto_fusion_is_inside(&plan, node) ? PTO_OK : observe_with_mistake(context, node, results);
}

static int run_fused_with_mistake(const struct pto_graph_job *job, struct pto_error *error) {
  bool is_inside[16];
  for (uint32_t n = 0; n < job->graph->node_count; n++) is_inside[n] = pto_fusion_is_inside(&plan, n);
  mistake.observe = job->observe;
  mistake.context = job->observe_context;
  return pto_graph_reference_run_fused(job->graph, is_inside, job->inputs, job->outputs, observe_as_fused, NULL, error);
}

static struct pto_graph_divergence compare_graph(struct pto_graph *graph, uint32_t node, double factor,
                                                 const char *dir) {
  static const struct pto_graph_engine engine = {"fused", run_fused_with_mistake};
  struct pto_graph_command command = {.graph = graph, .first_divergence = dir != NULL, .output_dir = dir};
  mistake.node = node;
  mistake.element = 3;
  mistake.factor = factor;
  assert_int_equal(pto_fusion_plan_init(&plan, command.graph), PTO_OK);
  assert_int_equal(pto_graph_command_open(&command), PTO_OK);
  if (pto_graph_command_compare(&command, &engine)) fail_msg("%s", command.error.sentence);
  const struct pto_graph_divergence divergence = command.divergence;
  pto_fusion_plan_fini(&plan);
  pto_graph_command_fini(&command);
  return divergence;
}

static struct pto_graph_divergence compare_fused(uint32_t node, double factor, const char *dir) {
  return compare_graph(build_norm(), node, factor, dir);
}

static void test_a_fused_group_is_compared_at_its_last_node_without_rounding_inside(void **state) {
  const struct pto_graph_divergence d = compare_fused(99, 1, NULL);
  assert_false(d.is_found);
  assert_int_equal(d.nodes, 3);
  assert_int_equal(d.fused_nodes, 5);
  assert_true(d.worst_ulps == 0);
}

static void test_a_mistake_in_a_fused_group_is_told_at_its_last_node(void **state) {
  struct pto_graph_divergence d = compare_fused(6, 1.01, NULL);
  assert_true(d.is_found);
  assert_int_equal(d.node, 6);
  assert_string_equal(d.fused, "rms_norm");
  assert_int_equal(d.element, 3);
  assert_int_equal(d.diverging_nodes, 1);
  d = compare_fused(7, 1.01, NULL);
  assert_int_equal(d.node, 7);
  assert_null(d.fused);
}

static void test_the_operands_of_a_fused_group_are_written_and_nothing_from_inside(void **state) {
  static const char *const names[] = {"value_2.operand.npy", "weight.operand.npy", "const_5.operand.npy",
                                      "value_10.engine.npy", "value_10.reference.npy"};
  char dir[] = "/tmp/graph_compare_XXXXXX", path[200];
  assert_non_null(mkdtemp(dir));
  (void)compare_fused(6, 2, dir);
  uint32_t found = 0;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(names); i++) {
    snprintf(path, sizeof path, "%s/%s", dir, names[i]);
    found += unlink(path) == 0;
  }
  if (rmdir(dir) != 0 || found != PTO_ARRAY_LENGTH(names)) fail_msg("%u of them; see %s", found, dir);
}

/* As much as terms of both signs may make of it, and far more than the other node is allowed. */
static void test_bounds_of_a_product_are_those_of_its_group_whatever_node_comes_between(void **state) {
  struct pto_graph_divergence d = compare_graph(build_interrupted_sum(), 99, 1, NULL);
  assert_false(d.is_found);
  assert_int_equal(d.nodes, 2);
  assert_int_equal(d.fused_nodes, 1);
  d = compare_graph(build_interrupted_sum(), 1, 1 + 1e-4, NULL);
  assert_true(d.is_found);
  assert_int_equal(d.node, 1);
  assert_true(fabs(d.tolerance - (1e-5 + 1.3e-6 * fabs(d.expected))) < 1e-12);
  d = compare_graph(build_interrupted_sum(), 2, 1.5, NULL);
  assert_true(d.is_found);
  assert_string_equal(d.fused, "product_sum");
  assert_true(d.tolerance > 1.01 * (1e-5 + 1.3e-6 * fabs(d.expected))); /* what roundings of 500 terms may come to */
}

/* ---- sums ---- */

/* y = x · w, x [1, n] of ±scale, w [n, 4]. */
static struct pto_graph *build_product(uint32_t n, float scale, float *w) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  const struct pto_graph_desc row = {PTO_FLOAT32, 2, {1, n}}, matrix = {PTO_FLOAT32, 2, {n, 4}};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  for (uint32_t i = 0; i < 4 * n; i++) w[i] = scale * (float)((i * 2654435761u >> 8) % 20001) / 10000.0f - scale;
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &row);
  const struct pto_graph_operand y =
      pto_graph_builder_matmul(b, x, pto_graph_builder_constant(b, &matrix, w, 16ul * n), NULL);
  const struct pto_graph_output output = {"y", y};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  pto_graph_builder_destroy(b);
  return graph;
}

/* An engine that sums in float32, one product after another, and leaves one out, or adds something. */
static struct {
  const float *w;
  uint32_t n, dropped; /* n: none is */
  float added;
} sum;

static int run_sums(const struct pto_graph_job *job, struct pto_error *error) {
  const float *x = job->inputs[0];
  double y[4];
  struct pto_reference_tensor result = {.desc = job->graph->values[job->graph->outputs[0]].desc, .values = y};
  for (uint32_t j = 0; j < 4; j++) {
    float total = 0;
    for (uint32_t k = 0; k < sum.n; k++)
      if (k != sum.dropped || j != 2) total += x[k] * sum.w[4 * k + j];
    y[j] = (double)(total + (j == 2 ? sum.added : 0));
  }
  pto_reference_tensor_store(&result, job->outputs[0]);
  return job->observe(job->observe_context, 0, &result);
}

/* The median of the magnitudes of products of column 2: which k has it. */
static const float *products_of;
static int order_products(const void *left, const void *right) {
  const float a = fabsf(products_of[*(const uint32_t *)left]), b = fabsf(products_of[*(const uint32_t *)right]);
  return (a > b) - (a < b);
}

/* `rank` of 100: of the smallest products 0, of the largest 99; 100: none is dropped. */
static struct pto_graph_divergence compare_product(uint32_t n, float scale, uint32_t rank, float added) {
  static const struct pto_graph_engine engine = {"float32", run_sums};
  float *w = calloc(4u * n, sizeof *w), *products = calloc(n, sizeof *products);
  uint32_t *order = calloc(n, sizeof *order);
  assert_true(w && products && order);
  struct pto_graph_command command = {.graph = build_product(n, scale, w)};
  assert_int_equal(pto_graph_command_open(&command), PTO_OK);
  for (uint32_t k = 0; k < n; k++) {
    products[k] = ((const float *)command.inputs[0])[k] * w[4 * k + 2];
    order[k] = k;
  }
  products_of = products;
  qsort(order, n, sizeof *order, order_products);
  sum.w = w;
  sum.n = n;
  sum.added = added;
  sum.dropped = rank < 100 ? order[(uint64_t)n * rank / 100] : n;
  if (pto_graph_command_compare(&command, &engine)) fail_msg("%s", command.error.sentence);
  const struct pto_graph_divergence divergence = command.divergence;
  pto_graph_command_fini(&command);
  free(w);
  free(products);
  free(order);
  return divergence;
}

static void test_a_product_missing_among_17408_is_found_but_for_the_smallest(void **state) {
  static const float scales[] = {1e-4f, 0.02f, 1, 1000};
  for (int s = 0; s < 4; s++) {
    /* Where `worst` is what is allowed, a quarter of the mean product is. */
    for (uint32_t rank = s == 0 ? 35 : 3; rank < 100; rank += 8) {
      const struct pto_graph_divergence d = compare_product(17408, scales[s], rank, 0);
      assert_true(d.is_found);
      assert_int_equal(d.element, 2);
      assert_int_equal(d.node_elements, 1);
    }
  }
}

static void test_sums_in_float32_do_not_diverge(void **state) {
  static const uint32_t counts[] = {1, 2, 5, 30, 1000, 17408};
  static const float scales[] = {1e-30f, 1e-4f, 0.02f, 1, 1000};
  for (int c = 0; c < 6; c++)
    for (int s = 0; s < 5; s++) {
      const struct pto_graph_divergence d = compare_product(counts[c], scales[s], 100, 0);
      if (d.is_found) fail_msg("%u terms of %g: %g allowed", counts[c], (double)scales[s], d.tolerance);
      assert_true(d.worst_of_tolerance < 1);
    }
}

/* What 1e-5 for all would not find. */
static void test_a_short_sum_of_small_terms_is_held_to_their_size(void **state) {
  struct pto_graph_divergence d = compare_product(8, 1e-4f, 100, 1e-9f); /* of terms near 5e-5 */
  assert_true(d.is_found);
  assert_true(d.tolerance < 1e-9);
  d = compare_product(8, 1e-4f, 100, 1e-12f);
  assert_false(d.is_found);
}

/* Not more than torch's for sums of up to a hundred terms within ±1. */
static void test_short_sums_are_allowed_no_more_than_other_nodes(void **state) {
  for (uint32_t n = 1; n <= 100; n += 9) {
    const struct pto_graph_divergence d = compare_product(n, 1, 100, 1);
    assert_true(d.is_found);
    assert_true(d.tolerance <= 1e-5 + 1.3e-6 * fabs(d.expected));
  }
}

static void test_ulps_count_the_values_of_the_dtype_in_between(void **state) {
  assert_true(pto_graph_ulps(PTO_FLOAT32, 1, 1) == 0);
  assert_true(pto_graph_ulps(PTO_FLOAT32, 1, 1 + 0x1p-23) == 1);
  assert_true(pto_graph_ulps(PTO_FLOAT32, 0.0, -0.0) == 0);
  assert_true(pto_graph_ulps(PTO_FLOAT32, 0x1p-149, -0x1p-149) == 2);
  assert_true(pto_graph_ulps(PTO_FLOAT16, 1, 1 + 0x1p-10) == 1);
  assert_true(pto_graph_ulps(PTO_FLOAT16, 65504, (double)INFINITY) == 1);
  assert_true(pto_graph_ulps(PTO_INT32, -3, 4) == 7);
  assert_true(pto_graph_ulps(PTO_FLOAT32, (double)NAN, (double)NAN) == 0);
  assert_true(isinf(pto_graph_ulps(PTO_FLOAT32, (double)NAN, 0)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_results_that_are_the_same_do_not_diverge),
      cmocka_unit_test(test_what_is_within_tolerance_is_counted_and_does_not_diverge),
      cmocka_unit_test(test_the_first_node_beyond_tolerance_is_told_with_its_worst_element),
      cmocka_unit_test(test_a_result_that_is_no_number_diverges),
      cmocka_unit_test(test_tensors_of_the_first_divergence_are_written),
      cmocka_unit_test(test_a_fused_group_is_compared_at_its_last_node_without_rounding_inside),
      cmocka_unit_test(test_a_mistake_in_a_fused_group_is_told_at_its_last_node),
      cmocka_unit_test(test_the_operands_of_a_fused_group_are_written_and_nothing_from_inside),
      cmocka_unit_test(test_bounds_of_a_product_are_those_of_its_group_whatever_node_comes_between),
      cmocka_unit_test(test_a_product_missing_among_17408_is_found_but_for_the_smallest),
      cmocka_unit_test(test_sums_in_float32_do_not_diverge),
      cmocka_unit_test(test_a_short_sum_of_small_terms_is_held_to_their_size),
      cmocka_unit_test(test_short_sums_are_allowed_no_more_than_other_nodes),
      cmocka_unit_test(test_ulps_count_the_values_of_the_dtype_in_between),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
