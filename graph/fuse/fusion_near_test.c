/* SPDX-License-Identifier: MIT */
/*
 * Graphs that only look like a pattern of graph/fuse/fusion.h: no node of theirs is in a group, or only those that fit.
 */
#include <graph/fuse/fusion.h>

#include <math.h>
#include <tests/support/form_graph.h>

#define B f->builder
#define NUMBER(x) form_number(f, x, 0)
#define MUL(a, b) pto_graph_builder_mul(B, a, b, NULL)
#define ADD(a, b) pto_graph_builder_add(B, a, b, NULL)
#define SUB(a, b) pto_graph_builder_sub(B, a, b, NULL)
#define DIV(a, b) pto_graph_builder_div(B, a, b, NULL)
#define POW(a, b) pto_graph_builder_pow(B, a, b, NULL)
#define SQRT(a) pto_graph_builder_sqrt(B, a, NULL)
#define EXP(a) pto_graph_builder_exp(B, a, NULL)
#define MEAN(a, keep, ...)                                                                                             \
  pto_graph_builder_reduce_mean(                                                                                       \
      B, a, &(struct pto_reduce_options){.axes = PTO_U32_LIST(__VA_ARGS__), .keep_dimensions = keep})
#define MOST(a, ...)                                                                                                   \
  pto_graph_builder_reduce_max(                                                                                        \
      B, a, &(struct pto_reduce_options){.axes = PTO_U32_LIST(__VA_ARGS__), .keep_dimensions = PTO_FLAG_YES})
#define TOTAL(a, ...)                                                                                                  \
  pto_graph_builder_reduce_sum(                                                                                        \
      B, a, &(struct pto_reduce_options){.axes = PTO_U32_LIST(__VA_ARGS__), .keep_dimensions = PTO_FLAG_YES})
#define YES PTO_FLAG_YES

static form_operand near_epsilon_of_a_row(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return MUL(DIV(x, SQRT(ADD(MEAN(MUL(x, x), YES, 1), IN("eps", 4, 1)))), IN("w", 4));
}
static form_operand near_constant_of_a_row(struct form_maker *f) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 2, {4, 1}};
  const float eps[] = {1, 2, 3, 4};
  const form_operand x = IN("x", 4, 4);
  return DIV(x, SQRT(ADD(MEAN(MUL(x, x), YES, 1), pto_graph_builder_constant(B, &desc, eps, sizeof eps))));
}
static form_operand near_epsilon_that_is_an_input(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return MUL(DIV(x, SQRT(ADD(MEAN(MUL(x, x), YES, 1), IN("eps", 1)))), IN("w", 4));
}
static form_operand near_epsilon_without_end(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return DIV(x, POW(ADD(MEAN(MUL(x, x), YES, 1), NUMBER(-(double)INFINITY)), NUMBER(0.5)));
}
static form_operand near_third_power(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return MUL(DIV(x, SQRT(ADD(MEAN(POW(x, NUMBER(3)), YES, 1), NUMBER(1)))), IN("w", 4));
}
static form_operand near_third_root(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return MUL(DIV(x, POW(ADD(MEAN(MUL(x, x), YES, 1), NUMBER(1)), NUMBER(1.0 / 3))), IN("w", 4));
}
static form_operand near_product_of_two(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return MUL(DIV(x, SQRT(ADD(MEAN(MUL(x, IN("z", 4, 4)), YES, 1), NUMBER(1)))), IN("w", 4));
}
static form_operand near_root_of_another(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return MUL(DIV(IN("z", 4, 4), SQRT(ADD(MEAN(MUL(x, x), YES, 1), NUMBER(1)))), IN("w", 4));
}
static form_operand near_wrong_count(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return DIV(x, SQRT(ADD(DIV(TOTAL(MUL(x, x), 1), NUMBER(5)), NUMBER(1))));
}
static form_operand near_count_over_sum(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return DIV(x, SQRT(ADD(DIV(NUMBER(4), TOTAL(MUL(x, x), 1)), NUMBER(1))));
}
/* In fp16 1/400 is half a thousandth off. */
static form_operand near_count_of_few_bits(struct form_maker *f) {
  f->dtype = PTO_FLOAT16;
  const form_operand x = IN("x", 4, 400);
  return DIV(x, SQRT(ADD(MUL(TOTAL(MUL(x, x), 1), NUMBER(1.0 / 400)), NUMBER(1))));
}
/* [4] beside [4, 4]: it would be taken along the other axis. */
static form_operand near_dimensions_that_go(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return DIV(x, SQRT(ADD(MEAN(MUL(x, x), PTO_FLAG_NO, 1), NUMBER(1))));
}
static form_operand near_number_of_higher_rank(struct form_maker *f) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 3, {1, 1, 1}};
  const float one = 1;
  const form_operand x = IN("x", 4, 4), eps = pto_graph_builder_constant(B, &desc, &one, sizeof one);
  return DIV(x, SQRT(ADD(MEAN(MUL(x, x), YES, 1), eps)));
}
static form_operand near_power_of_higher_rank(struct form_maker *f) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 3, {1, 1, 1}};
  const float two = 2;
  const form_operand x = IN("x", 4, 4), exponent = pto_graph_builder_constant(B, &desc, &two, sizeof two);
  return DIV(x, SQRT(ADD(MEAN(POW(x, exponent), YES, 2), NUMBER(1))));
}
static form_operand near_maximum_of_another(struct form_maker *f) {
  const form_operand e = EXP(SUB(IN("x", 4, 4), MOST(IN("z", 4, 4), 1)));
  return DIV(e, TOTAL(e, 1));
}
static form_operand near_maximum_of_another_axis(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4), e = EXP(SUB(x, MOST(x, 0)));
  return DIV(e, TOTAL(e, 1));
}
static form_operand near_softmax_without_maximum(struct form_maker *f) {
  const form_operand e = EXP(IN("x", 4, 4));
  return DIV(e, TOTAL(e, 1));
}
static form_operand near_softmax_of_two_axes(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4), e = EXP(SUB(x, MOST(x, 0, 1)));
  return DIV(e, TOTAL(e, 0, 1));
}
static form_operand near_sum_of_another(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4), m = MOST(x, 1);
  return DIV(EXP(SUB(x, m)), TOTAL(EXP(SUB(IN("z", 4, 4), m)), 1));
}
static form_operand near_sum_of_an_input(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return DIV(EXP(SUB(x, MOST(x, 1))), TOTAL(IN("z", 4, 4), 1));
}
static form_operand near_sigmoid_of_another(struct form_maker *f) {
  return MUL(IN("x", 4, 4), pto_graph_builder_sigmoid(B, IN("z", 4, 4), NULL));
}
static form_operand near_division_by_another(struct form_maker *f) {
  const form_operand exponential = EXP(pto_graph_builder_neg(B, IN("z", 4, 4), NULL));
  return DIV(IN("x", 4, 4), ADD(exponential, NUMBER(1)));
}
static form_operand near_two_over_one_and_exponential(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4), exponential = EXP(pto_graph_builder_neg(B, x, NULL));
  return MUL(x, DIV(NUMBER(2), ADD(exponential, NUMBER(1))));
}
static form_operand near_two_and_exponential(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return DIV(x, ADD(EXP(pto_graph_builder_neg(B, x, NULL)), NUMBER(2)));
}
static form_operand near_gelu_of_a_third(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return MUL(MUL(x, NUMBER(0.3)), ADD(pto_graph_builder_erf(B, DIV(x, NUMBER(1.41421356)), NULL), NUMBER(1)));
}
static form_operand near_gelu_of_another_width(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return MUL(MUL(x, NUMBER(0.5)), ADD(pto_graph_builder_erf(B, DIV(x, NUMBER(1.5)), NULL), NUMBER(1)));
}
static form_operand near_gelu_of_about_root_two(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return MUL(MUL(x, NUMBER(0.5)), ADD(pto_graph_builder_erf(B, DIV(x, NUMBER(1.414)), NULL), NUMBER(1)));
}
/* ½ · x · (1 + tanh(√(2/π) · bent)). */
static form_operand tanh_of(struct form_maker *f, form_operand x, form_operand bent) {
  return MUL(MUL(x, NUMBER(0.5)), ADD(pto_graph_builder_tanh(B, MUL(bent, NUMBER(0.7978845608)), NULL), NUMBER(1)));
}
static form_operand near_tanh_of_about_that_cube(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return tanh_of(f, x, ADD(x, MUL(NUMBER(0.0447), POW(x, NUMBER(3)))));
}
static form_operand near_tanh_of_another_and_a_cube(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return tanh_of(f, x, ADD(IN("z", 4, 4), MUL(NUMBER(0.044715), POW(x, NUMBER(3)))));
}
static form_operand near_tanh_of_a_square_and_another(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return tanh_of(f, x, ADD(x, MUL(NUMBER(0.044715), MUL(MUL(x, x), IN("z", 4, 4)))));
}
static form_operand near_tanh_of_a_square(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4);
  return tanh_of(f, x, ADD(x, MUL(NUMBER(0.044715), POW(x, NUMBER(2)))));
}
/* The sum has a shape that the product has not. */
static form_operand near_sum_of_more_rows(struct form_maker *f) {
  return ADD(pto_graph_builder_matmul(B, IN("a", 1, 4), IN("b", 4, 4), NULL), IN("c", 4, 4));
}
static form_operand near_gemm_with_c(struct form_maker *f) {
  const struct pto_gemm_options options = {.c = IN("c", 4)};
  return ADD(pto_graph_builder_gemm(B, IN("a", 4, 4), IN("b", 4, 4), &options), IN("d", 4));
}
static form_operand near_convolution_without_bias(struct form_maker *f) {
  const struct pto_clamp_options bounds = {.min_value = pto_number_f64(0)};
  return pto_graph_builder_clamp(B, pto_graph_builder_conv2d(B, IN("x", 1, 2, 5, 5), IN("w", 4, 2, 3, 3), NULL),
                                 &bounds);
}
static form_operand near_attention_along_rows(struct form_maker *f) {
  const form_operand scores = pto_graph_builder_matmul(B, IN("q", 4, 4), IN("k", 4, 4), NULL);
  return pto_graph_builder_matmul(B, pto_graph_builder_softmax(B, scores, &(struct pto_softmax_options){.axis = 0}),
                                  IN("v", 4, 4), NULL);
}
static form_operand near_attention_to_the_left(struct form_maker *f) {
  const form_operand scores = pto_graph_builder_matmul(B, IN("q", 4, 4), IN("k", 4, 4), NULL);
  return pto_graph_builder_matmul(B, IN("v", 4, 4),
                                  pto_graph_builder_softmax(B, scores, &(struct pto_softmax_options){.axis = 1}), NULL);
}
/* One row of scores, and as many as the mask has. */
static form_operand near_attention_with_a_mask_of_more_rows(struct form_maker *f) {
  const form_operand scores = pto_graph_builder_matmul(B, IN("q", 1, 4), IN("k", 4, 4), NULL);
  const struct pto_softmax_options last = {.axis = 1};
  return pto_graph_builder_matmul(B, pto_graph_builder_softmax(B, ADD(scores, IN("m", 4, 4)), &last), IN("v", 4, 4),
                                  NULL);
}
static form_operand near_attention_with_a_choice_of_more_rows(struct form_maker *f) {
  const form_operand scores = pto_graph_builder_matmul(B, IN("q", 1, 4), IN("k", 4, 4), NULL);
  const form_operand mask = form_input(f, "m", PTO_UINT8, SHAPE(4, 4));
  const form_operand chosen = pto_graph_builder_where(B, mask, scores, NUMBER(-10000), NULL);
  const struct pto_softmax_options last = {.axis = 1};
  return pto_graph_builder_matmul(B, pto_graph_builder_softmax(B, chosen, &last), IN("v", 4, 4), NULL);
}
/* Scores that each of the values' batch would share. */
static form_operand near_attention_of_fewer_heads(struct form_maker *f) {
  const form_operand scores = pto_graph_builder_matmul(B, IN("q", 1, 4, 4), IN("k", 1, 4, 4), NULL);
  return pto_graph_builder_matmul(B, pto_graph_builder_softmax(B, scores, &(struct pto_softmax_options){.axis = 2}),
                                  IN("v", 3, 4, 4), NULL);
}
/* 1 / 1e−40 is beyond float32. */
static form_operand near_attention_over_next_to_nothing(struct form_maker *f) {
  const form_operand scores = DIV(pto_graph_builder_matmul(B, IN("q", 4, 4), IN("k", 4, 4), NULL), NUMBER(1e-40));
  return pto_graph_builder_matmul(B, pto_graph_builder_softmax(B, scores, &(struct pto_softmax_options){.axis = 1}),
                                  IN("v", 4, 4), NULL);
}
static form_operand near_attention_scaled_by_an_input(struct form_maker *f) {
  const form_operand scores = MUL(pto_graph_builder_matmul(B, IN("q", 4, 4), IN("k", 4, 4), NULL), IN("s", 1));
  return pto_graph_builder_matmul(B, pto_graph_builder_softmax(B, scores, &(struct pto_softmax_options){.axis = 1}),
                                  IN("v", 4, 4), NULL);
}

/* ---- operands that the group would make itself ---- */

static form_operand near_weight_that_is_the_root(struct form_maker *f) {
  const form_operand x = IN("x", 1, 4), r = POW(ADD(MEAN(MUL(x, x), YES, 1), NUMBER(1)), NUMBER(-0.5));
  return MUL(MUL(x, r), r);
}
static form_operand near_gate_of_its_own_sigmoid(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4), s = pto_graph_builder_sigmoid(B, x, NULL);
  return MUL(MUL(x, s), s);
}
static form_operand near_mask_that_is_the_scores(struct form_maker *f) {
  const form_operand scores = pto_graph_builder_matmul(B, IN("q", 4, 4), IN("k", 4, 4), NULL);
  const form_operand masked = ADD(MUL(scores, NUMBER(0.5)), scores);
  return pto_graph_builder_matmul(B, pto_graph_builder_softmax(B, masked, &(struct pto_softmax_options){.axis = 1}),
                                  IN("v", 4, 4), NULL);
}
static form_operand near_values_that_are_the_scores(struct form_maker *f) {
  const form_operand scores = pto_graph_builder_matmul(B, IN("q", 4, 4), IN("k", 4, 4), NULL);
  return pto_graph_builder_matmul(B, pto_graph_builder_softmax(B, scores, &(struct pto_softmax_options){.axis = 1}),
                                  scores, NULL);
}
static form_operand near_values_that_are_the_shares(struct form_maker *f) {
  const form_operand scores = pto_graph_builder_matmul(B, IN("q", 4, 4), IN("k", 4, 4), NULL);
  const form_operand shares = pto_graph_builder_softmax(B, scores, &(struct pto_softmax_options){.axis = 1});
  return pto_graph_builder_matmul(B, shares, shares, NULL);
}

static make_form *const near[] = {near_weight_that_is_the_root,
                                  near_gate_of_its_own_sigmoid,
                                  near_mask_that_is_the_scores,
                                  near_values_that_are_the_scores,
                                  near_values_that_are_the_shares,
                                  near_epsilon_of_a_row,
                                  near_constant_of_a_row,
                                  near_epsilon_that_is_an_input,
                                  near_epsilon_without_end,
                                  near_third_power,
                                  near_third_root,
                                  near_product_of_two,
                                  near_root_of_another,
                                  near_wrong_count,
                                  near_count_over_sum,
                                  near_count_of_few_bits,
                                  near_dimensions_that_go,
                                  near_number_of_higher_rank,
                                  near_power_of_higher_rank,
                                  near_maximum_of_another,
                                  near_maximum_of_another_axis,
                                  near_softmax_without_maximum,
                                  near_softmax_of_two_axes,
                                  near_sum_of_another,
                                  near_sum_of_an_input,
                                  near_sigmoid_of_another,
                                  near_division_by_another,
                                  near_two_over_one_and_exponential,
                                  near_two_and_exponential,
                                  near_gelu_of_a_third,
                                  near_gelu_of_another_width,
                                  near_gelu_of_about_root_two,
                                  near_tanh_of_about_that_cube,
                                  near_tanh_of_another_and_a_cube,
                                  near_tanh_of_a_square_and_another,
                                  near_tanh_of_a_square,
                                  near_sum_of_more_rows,
                                  near_gemm_with_c,
                                  near_convolution_without_bias,
                                  near_attention_along_rows,
                                  near_attention_to_the_left,
                                  near_attention_with_a_mask_of_more_rows,
                                  near_attention_with_a_choice_of_more_rows,
                                  near_attention_of_fewer_heads,
                                  near_attention_over_next_to_nothing,
                                  near_attention_scaled_by_an_input};

static void test_what_only_looks_like_a_pattern_is_no_group(void **state) {
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(near); i++) {
    struct pto_graph *graph = build(near[i], 1, PTO_FLOAT32);
    struct pto_fusion_plan plan = plan_of(graph);
    if (plan.group_count != 0) fail_msg("near[%zu] is %s", i, pto_fusion_name(plan.groups[0].pattern));
    pto_fusion_plan_fini(&plan);
    pto_graph_destroy(graph);
  }
}

/* ---- less than the whole ---- */

/* What is a smaller group than it looks: the pattern that it is, and of how many nodes. */
static form_operand less_weight_of_columns(struct form_maker *f) {
  return form_rms_norm(f, IN("x", 4, 4), IN("w", 4, 1), AXES(1));
}
static form_operand less_mean_of_another_axis(struct form_maker *f) {
  const form_operand x = IN("x", 4, 4), z = SUB(x, MEAN(x, YES, 0));
  return form_rms_norm(f, z, IN("w", 4), AXES(1));
}
static form_operand less_mean_of_another(struct form_maker *f) {
  const form_operand z = SUB(IN("x", 4, 4), MEAN(IN("z", 4, 4), YES, 1));
  return form_rms_norm(f, z, IN("w", 4), AXES(1));
}
static form_operand less_bias_of_columns(struct form_maker *f) {
  return ADD(form_layer_norm(f, IN("x", 4, 4), IN("w", 4), (form_operand){0, 0}, AXES(1)), IN("b", 4, 1));
}
static form_operand less_gate_of_one_row(struct form_maker *f) { return MUL(form_silu(f, IN("x", 4, 4)), IN("y", 4)); }

/* x is a product that is used twice: no factors of it are factors of the whole. */
static form_operand less_silu_of_a_product(struct form_maker *f) {
  return form_silu(f, MUL(IN("x", 4, 4), IN("y", 4, 4)));
}

/* The mean would be the bias, and is made by the group. */
static form_operand less_bias_that_is_the_mean(struct form_maker *f) {
  const form_operand x = IN("x", 1, 4), mean = MEAN(x, YES, 1);
  return ADD(form_rms_norm(f, SUB(x, mean), (form_operand){0, 0}, AXES(1)), mean);
}

static void test_what_does_not_fit_the_whole_pattern_is_left_out(void **state) {
  (void)state;
  static const struct {
    make_form *make;
    uint32_t pattern;
    uint32_t left_out; /* nodes */
  } cases[] = {
      {less_mean_of_another_axis, PTO_FUSION_rms_norm, 2}, {less_mean_of_another, PTO_FUSION_rms_norm, 2},
      {less_bias_of_columns, PTO_FUSION_layer_norm, 1},    {less_silu_of_a_product, PTO_FUSION_silu, 1},
      {less_gate_of_one_row, PTO_FUSION_silu, 1},          {less_bias_that_is_the_mean, PTO_FUSION_rms_norm, 3}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++)
    for (uint64_t seed = 1; seed <= 20; seed++) {
      struct pto_graph *graph = build(cases[i].make, seed, PTO_FLOAT32);
      struct pto_fusion_plan plan = plan_of(graph);
      assert_int_equal(plan.group_count, 1);
      assert_int_equal(plan.groups[0].pattern, cases[i].pattern);
      assert_int_equal(plan.groups[0].node_count + cases[i].left_out, graph->node_count);
      pto_fusion_plan_fini(&plan);
      pto_graph_destroy(graph);
    }
  for (uint64_t seed = 1; seed <= 20; seed++) { /* the weight is no row's: what it is multiplied with may be a group */
    struct pto_graph *graph = build(less_weight_of_columns, seed, PTO_FLOAT32);
    struct pto_fusion_plan plan = plan_of(graph);
    for (uint32_t g = 0; g < plan.group_count; g++) assert_int_equal(plan.groups[g].operands[1], 0);
    assert_null(pto_fusion_group_at(&plan, graph->node_count - 1));
    pto_fusion_plan_fini(&plan);
    pto_graph_destroy(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_only_looks_like_a_pattern_is_no_group),
      cmocka_unit_test(test_what_does_not_fit_the_whole_pattern_is_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
