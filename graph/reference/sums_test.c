/* SPDX-License-Identifier: MIT */
/* Sums of magnitudes and of squares against loops over the terms, and bounds of rounding against sums in float32. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <graph/reference/reference.h>
#include <graph/reference/rounding_bound.h>
#include <runtime/base/base.h>

/* ---- sums of a node ---- */

#define MOST 4096

static struct {
  struct pto_graph_builder *builder;
  float inputs[3][MOST];
  uint32_t input_count;
  double magnitudes[MOST], squares[MOST], results[MOST];
  uint64_t terms, numel;
} g;

static double term_value(uint64_t seed, uint64_t i) {
  struct pto_rng rng = {seed * 1000003 + i + 1};
  return (double)(float)(2 * pto_rng_unit(&rng) - 1);
}

static void begin(void) {
  memset(&g, 0, sizeof g);
  assert_int_equal(pto_graph_builder_create(NULL, &g.builder), PTO_OK);
}

static struct pto_graph_operand input(uint32_t ndims, const uint32_t *shape) {
  static const char *const names[] = {"a", "b", "c"};
  struct pto_graph_desc desc = {PTO_FLOAT32, ndims, {0}};
  uint64_t numel = 1;
  for (uint32_t d = 0; d < ndims; d++) numel *= desc.shape[d] = shape[d];
  assert_true(numel <= MOST);
  for (uint64_t i = 0; i < numel; i++) g.inputs[g.input_count][i] = (float)term_value(g.input_count + 7, i);
  return pto_graph_builder_input(g.builder, names[g.input_count++], &desc);
}

static int take(void *context, uint32_t node, const struct pto_reference_tensor *results,
                const struct pto_reference_sums *sums) {
  g.terms = sums->terms;
  g.numel = pto_graph_desc_numel(&results->desc);
  for (uint64_t i = 0; i < g.numel; i++) {
    g.results[i] = results->values[i];
    if (!sums->terms) continue;
    g.magnitudes[i] = sums->magnitudes.values[i];
    g.squares[i] = sums->squares.values[i];
  }
  return PTO_OK;
}

/* Builds, runs, forgets; what the last node was is in g. */
static void run(struct pto_graph_operand y) {
  static float out[MOST], before[3][MOST];
  struct pto_graph *graph = NULL;
  const struct pto_graph_output output = {"y", y};
  const void *inputs[] = {g.inputs[0], g.inputs[1], g.inputs[2]};
  void *outputs[] = {out};
  struct pto_error error;
  if (pto_graph_builder_build(g.builder, &output, 1, &graph)) fail_msg("%s", pto_graph_builder_error(g.builder));
  memcpy(before, g.inputs, sizeof before);
  if (pto_graph_reference_run_judged(graph, NULL, inputs, outputs, take, NULL, &error)) fail_msg("%s", error.sentence);
  assert_memory_equal(before, g.inputs, sizeof before);
  pto_graph_destroy(graph);
  pto_graph_builder_destroy(g.builder);
}

static void near(double a, double b) { assert_true(fabs(a - b) <= 1e-12 * fabs(b)); }

static void test_a_product_of_matrices_has_the_sums_of_its_products(void **state) {
  begin();
  const struct pto_graph_operand a = input(2, (const uint32_t[]){3, 50}), b = input(2, (const uint32_t[]){50, 4});
  run(pto_graph_builder_matmul(g.builder, a, b, NULL));
  assert_int_equal(g.terms, 50);
  for (uint32_t i = 0; i < 3; i++)
    for (uint32_t j = 0; j < 4; j++) {
      double s = 0, q = 0;
      for (uint32_t k = 0; k < 50; k++) {
        const double term = (double)g.inputs[0][i * 50 + k] * (double)g.inputs[1][k * 4 + j];
        s += fabs(term);
        q += term * term;
      }
      near(g.magnitudes[i * 4 + j], s);
      near(g.squares[i * 4 + j], q);
    }
}

static void test_a_matrix_times_itself_is_replaced_once(void **state) {
  begin();
  const struct pto_graph_operand a = input(2, (const uint32_t[]){6, 6});
  run(pto_graph_builder_matmul(g.builder, a, a, NULL));
  for (uint32_t i = 0; i < 6; i++) {
    double q = 0, r = 0;
    for (uint32_t k = 0; k < 6; k++) {
      const double term = (double)g.inputs[0][i * 6 + k] * (double)g.inputs[0][k * 6 + i];
      q += term * term;
      r += term;
    }
    near(g.squares[i * 6 + i], q);
    assert_true(fabs(g.results[i * 6 + i] - r) < 1e-6); /* computed of the operands as they are */
  }
}

static void test_factors_of_gemm_may_be_negative(void **state) {
  begin();
  const struct pto_graph_operand a = input(2, (const uint32_t[]){20, 2}), b = input(2, (const uint32_t[]){20, 3}),
                                 c = input(1, (const uint32_t[]){3});
  const struct pto_gemm_options options = {
      .c = c, .alpha = pto_number_f64(-2), .beta = pto_number_f64(-0.5), .a_transpose = PTO_FLAG_YES};
  run(pto_graph_builder_gemm(g.builder, a, b, &options));
  assert_int_equal(g.terms, 20 + 3);
  for (uint32_t i = 0; i < 2; i++)
    for (uint32_t j = 0; j < 3; j++) {
      double s = 0.5 * fabs((double)g.inputs[2][j]), q = s * s;
      for (uint32_t k = 0; k < 20; k++) {
        const double term = 2 * (double)g.inputs[0][k * 2 + i] * (double)g.inputs[1][k * 3 + j];
        s += fabs(term);
        q += term * term;
      }
      near(g.magnitudes[i * 3 + j], s);
      near(g.squares[i * 3 + j], q);
    }
}

static void test_windows_count_the_terms_of_a_whole_one(void **state) {
  const uint32_t image[] = {1, 4, 5, 5}, filter[] = {6, 2, 3, 3}, back[] = {4, 3, 2, 2};
  begin();
  struct pto_graph_operand x = input(4, image), w = input(4, filter);
  run(pto_graph_builder_conv2d(g.builder, x, w, &(struct pto_conv2d_options){.groups = pto_number_i64(2)}));
  assert_int_equal(g.terms, 2 * 9 + 1);
  begin();
  x = input(4, image), w = input(4, back);
  run(pto_graph_builder_conv_transpose2d(g.builder, x, w,
                                         &(struct pto_conv_transpose2d_options){.groups = pto_number_i64(2)}));
  assert_int_equal(g.terms, 2 * 4 + 1);
  begin();
  x = input(4, image);
  run(pto_graph_builder_average_pool2d(g.builder, x,
                                       &(struct pto_pool2d_options){.window_dimensions = PTO_U32_LIST(2, 3)}));
  assert_int_equal(g.terms, 2 * 3 + 1);
  double q = 0;
  for (uint32_t i = 0; i < 2; i++)
    for (uint32_t j = 0; j < 3; j++) q += pow((double)g.inputs[0][i * 5 + j] / 6, 2);
  near(g.squares[0], q);
}

static void test_reductions_count_what_they_join_and_other_operations_are_no_sums(void **state) {
  begin();
  struct pto_graph_operand x = input(2, (const uint32_t[]){7, 9});
  run(pto_graph_builder_reduce_mean(g.builder, x, &(struct pto_reduce_options){.axes = PTO_U32_LIST(1)}));
  assert_int_equal(g.terms, 9 + 1);
  begin();
  x = input(2, (const uint32_t[]){7, 9});
  run(pto_graph_builder_reduce_l2(g.builder, x, &(struct pto_reduce_options){.axes = PTO_U32_LIST(0)}));
  assert_int_equal(g.terms, 7 + 1);
  assert_true(g.magnitudes[4] == g.results[4]);
  begin();
  x = input(2, (const uint32_t[]){7, 9});
  run(pto_graph_builder_cumulative_sum(g.builder, x, &(struct pto_cumulative_sum_options){.axis = 1}));
  assert_int_equal(g.terms, 9);
  near(g.magnitudes[9 + 1], fabs((double)g.inputs[0][9]) + fabs((double)g.inputs[0][10]));
  begin();
  x = input(2, (const uint32_t[]){7, 9});
  run(pto_graph_builder_tanh(g.builder, x, NULL));
  assert_int_equal(g.terms, 0);
}

/* ---- bounds ---- */

/* A sum of n terms in float32, one after another and in 16 lanes; how far the worse is off, and both bounds. */
struct outcome {
  double error, worst, expected;
};

static struct outcome sum_of(uint64_t seed, uint64_t n, bool has_both_signs) {
  float one_after_another = 0, lanes[16] = {0}, in_lanes = 0;
  double exact = 0, magnitude = 0, squares = 0;
  for (uint64_t k = 0; k < n; k++) {
    const double t = has_both_signs ? term_value(seed, k) : fabs(term_value(seed, k));
    one_after_another += (float)t;
    lanes[k % 16] += (float)t;
    exact += t;
    magnitude += fabs(t);
    squares += t * t;
  }
  for (int i = 0; i < 16; i++) in_lanes += lanes[i];
  struct outcome outcome = {.worst = pto_rounding_bound_worst(n, magnitude)};
  outcome.expected = pto_rounding_bound_expected(n, exact, squares, outcome.worst);
  outcome.error = fmax(fabs((double)one_after_another - exact), fabs((double)in_lanes - exact));
  return outcome;
}

static void test_sums_in_float32_are_within_both_bounds(void **state) {
  static const uint64_t counts[] = {1, 2, 3, 10, 100, 1000, 17408};
  for (size_t c = 0; c < PTO_ARRAY_LENGTH(counts); c++)
    for (uint64_t seed = 0; seed < 40; seed++)
      for (int signs = 0; signs < 2; signs++) {
        const struct outcome o = sum_of(seed, counts[c], signs);
        assert_true(o.error <= o.expected);
        assert_true(o.expected <= o.worst);
      }
}

/* 2n terms, all positive ones first: partial sums are those of no random order. */
static void test_the_worst_bound_holds_for_terms_in_the_order_of_their_sign(void **state) {
  const uint64_t n = 10000;
  for (uint64_t seed = 0; seed < 20; seed++) {
    float sum = 0;
    double exact = 0, magnitude = 0;
    for (uint64_t k = 0; k < 2 * n; k++) {
      const double t = fabs(term_value(seed, k)) * (k < n ? 1 : -1);
      sum += (float)t;
      exact += t;
      magnitude += fabs(t);
    }
    assert_true(fabs((double)sum - exact) <= pto_rounding_bound_worst(2 * n, magnitude));
  }
}

static void test_few_terms_are_held_to_one_rounding_each(void **state) {
  assert_true(pto_rounding_bound_worst(1, 1) < 1.001 * 0x1p-24);
  assert_true(pto_rounding_bound_worst(4, 1) < 4.001 * 0x1p-24);
  assert_true(pto_rounding_bound_worst(10000, 1) == 200 * 0x1p-24 + 10000 * 0x1p-149);
  assert_true(pto_rounding_bound_worst(UINT64_C(1) << 40, 1) > 0); /* beyond where γ is defined */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_product_of_matrices_has_the_sums_of_its_products),
      cmocka_unit_test(test_a_matrix_times_itself_is_replaced_once),
      cmocka_unit_test(test_factors_of_gemm_may_be_negative),
      cmocka_unit_test(test_windows_count_the_terms_of_a_whole_one),
      cmocka_unit_test(test_reductions_count_what_they_join_and_other_operations_are_no_sums),
      cmocka_unit_test(test_sums_in_float32_are_within_both_bounds),
      cmocka_unit_test(test_the_worst_bound_holds_for_terms_in_the_order_of_their_sign),
      cmocka_unit_test(test_few_terms_are_held_to_one_rounding_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
