/* SPDX-License-Identifier: MIT */
/*
 * Which nodes of a graph are groups: every spelling of every pattern is one, and plans are what fusion.h says.
 * What only looks like a pattern: fusion_near_test.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <graph/fuse/fusion.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/form_graph.h>
#include <tests/support/random_graph.h>

#define SPELLINGS 200u

/* ---- graphs ---- */

static const form_operand none;

static form_operand make_softmax(struct form_maker *f) { return form_softmax(f, IN("x", 2, 3, 5), 1); }
static form_operand make_rms_norm(struct form_maker *f) {
  return form_rms_norm(f, IN("x", 2, 3, 5), IN("w", 5), AXES(2));
}
static form_operand make_rms_norm_of_two_axes(struct form_maker *f) {
  return form_rms_norm(f, IN("x", 2, 3, 5), IN("w", 2, 1, 5), AXES(0, 2));
}
static form_operand make_rms_norm_without_weight(struct form_maker *f) {
  return form_rms_norm(f, IN("x", 2, 3, 5), none, AXES(2));
}
static form_operand make_layer_norm(struct form_maker *f) {
  return form_layer_norm(f, IN("x", 2, 3, 5), IN("w", 5), IN("b", 1, 5), AXES(2));
}
static form_operand make_layer_norm_of_a_middle_axis(struct form_maker *f) {
  return form_layer_norm(f, IN("x", 2, 3, 5), IN("w", 3, 1), IN("b", 1, 3, 1), AXES(1));
}
static form_operand make_layer_norm_without_weight(struct form_maker *f) {
  return form_layer_norm(f, IN("x", 2, 3, 5), none, IN("b", 5), AXES(2));
}
static form_operand make_layer_norm_alone(struct form_maker *f) {
  return form_layer_norm(f, IN("x", 2, 3, 5), none, none, AXES(1, 2));
}
static form_operand make_silu(struct form_maker *f) { return form_silu(f, IN("x", 3, 5)); }
static form_operand make_silu_product(struct form_maker *f) {
  return form_silu_product(f, IN("x", 3, 5), IN("y", 3, 5));
}
static form_operand make_gelu(struct form_maker *f) { return form_gelu(f, IN("x", 3, 5)); }
static form_operand make_gelu_tanh(struct form_maker *f) { return form_gelu_tanh(f, IN("x", 3, 5)); }
static form_operand make_product_sum(struct form_maker *f) {
  return form_product_sum(f, IN("a", 3, 5), IN("b", 5, 4), IN("c", 4));
}
static form_operand make_residual(struct form_maker *f) {
  return form_product_sum(f, IN("a", 2, 3, 5), IN("b", 5, 4), IN("c", 2, 3, 4));
}
static form_operand make_attention(struct form_maker *f) {
  return form_attention(f, IN("q", 2, 3, 4), IN("k", 2, 4, 5), IN("v", 2, 5, 4), none);
}
static form_operand make_attention_with_added_mask(struct form_maker *f) {
  return form_attention(f, IN("q", 2, 3, 4), IN("k", 4, 5), IN("v", 5, 6), IN("m", 3, 5));
}
static form_operand make_attention_with_chosen_mask(struct form_maker *f) {
  return form_attention(f, IN("q", 2, 3, 4), IN("k", 2, 4, 5), IN("v", 2, 5, 4),
                        form_input(f, "m", PTO_UINT8, SHAPE(5)));
}
static form_operand make_convolution(struct form_maker *f) {
  return form_conv2d_clamp(f, IN("x", 1, 2, 5, 5), IN("w", 4, 2, 3, 3), IN("b", 4));
}

static const struct form {
  make_form *make;
  uint32_t pattern;
} forms[] = {{make_softmax, PTO_FUSION_softmax},
             {make_rms_norm, PTO_FUSION_rms_norm},
             {make_rms_norm_of_two_axes, PTO_FUSION_rms_norm},
             {make_rms_norm_without_weight, PTO_FUSION_rms_norm},
             {make_layer_norm, PTO_FUSION_layer_norm},
             {make_layer_norm_of_a_middle_axis, PTO_FUSION_layer_norm},
             {make_layer_norm_without_weight, PTO_FUSION_layer_norm},
             {make_layer_norm_alone, PTO_FUSION_layer_norm},
             {make_silu, PTO_FUSION_silu},
             {make_silu_product, PTO_FUSION_silu_product},
             {make_gelu, PTO_FUSION_gelu},
             {make_gelu_tanh, PTO_FUSION_gelu_tanh},
             {make_product_sum, PTO_FUSION_product_sum},
             {make_residual, PTO_FUSION_product_sum},
             {make_attention, PTO_FUSION_attention},
             {make_attention_with_added_mask, PTO_FUSION_attention},
             {make_attention_with_chosen_mask, PTO_FUSION_attention},
             {make_convolution, PTO_FUSION_conv2d_clamp}};

/* ---- every spelling ---- */

static bool is_word(const char *words, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = strstr(words, word); at != NULL; at = strstr(at + 1, word))
    if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  return false;
}

static void expect_one_group(const struct pto_graph *graph, uint32_t pattern, uint64_t seed) {
  struct pto_fusion_plan plan = plan_of(graph);
  const char *name = pto_fusion_name(pattern);
  if (plan.group_count != 1 || plan.groups[0].pattern != pattern || plan.groups[0].node_count != graph->node_count)
    fail_msg("%s, seed %llu: %u nodes are %zu groups, the first %s of %u", name, (unsigned long long)seed,
             graph->node_count, plan.group_count, plan.group_count ? pto_fusion_name(plan.groups[0].pattern) : "none",
             plan.group_count ? plan.groups[0].node_count : 0);
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const char *op = pto_op_info(graph->nodes[n].op)->name;
    if (!is_word(pto_fusion_ops(pattern), op)) fail_msg("%s: its list of operations lacks %s", name, op);
    assert_int_equal(pto_fusion_place(&plan, n), graph->node_count - 1);
    assert_true(pto_fusion_is_inside(&plan, n) == (n + 1 < graph->node_count));
    assert_true((pto_fusion_group_at(&plan, n) != NULL) == (n + 1 == graph->node_count));
  }
  pto_fusion_plan_fini(&plan);
}

static void test_every_spelling_of_a_pattern_is_one_group(void **state) {
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++)
    for (uint64_t seed = 1; seed <= SPELLINGS; seed++) {
      struct pto_graph *graph = build(forms[i].make, seed, seed % 2 ? PTO_FLOAT32 : PTO_FLOAT16);
      expect_one_group(graph, forms[i].pattern, seed);
      pto_graph_destroy(graph);
    }
}

static void test_every_pattern_has_a_spelling_here(void **state) {
  (void)state;
  for (uint32_t pattern = 0; pattern < PTO_FUSION_COUNT; pattern++) {
    size_t i = 0;
    while (i < PTO_ARRAY_LENGTH(forms) && forms[i].pattern != pattern) i++;
    if (i == PTO_ARRAY_LENGTH(forms)) fail_msg("%s has none", pto_fusion_name(pattern));
  }
}

static void test_a_graph_that_is_unfused_has_no_groups(void **state) {
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++) {
    struct pto_graph *graph = build(forms[i].make, 1, PTO_FLOAT32);
    assert_int_equal(pto_graph_set_fusion(graph, 0), PTO_OK);
    struct pto_fusion_plan plan = plan_of(graph);
    assert_int_equal(plan.group_count, 0);
    for (uint32_t n = 0; n < graph->node_count; n++) assert_int_equal(pto_fusion_place(&plan, n), n);
    pto_fusion_plan_fini(&plan);
    assert_int_equal(pto_graph_set_fusion(graph, 1), PTO_OK);
    expect_one_group(graph, forms[i].pattern, 1);
    pto_graph_destroy(graph);
  }
}

/* ---- what is seen from outside ---- */

/* What must hold of any plan: groups are disjoint, ascending, and what is between their nodes is theirs alone. */
static void expect_valid(const struct pto_graph *graph, const struct pto_fusion_plan *plan, uint64_t seed) {
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const uint32_t place = pto_fusion_place(plan, n);
    if (place < n) fail_msg("seed %llu: node %u is lowered at %u", (unsigned long long)seed, n, place);
    if (plan->group_of[n] == 0) assert_int_equal(place, n);
    for (uint32_t i = 0; i < graph->nodes[n].operand_count; i++) {
      const uint32_t producer = graph->values[graph->nodes[n].operands[i]].producer;
      if (producer != 0 && pto_fusion_is_inside(plan, producer - 1) &&
          plan->group_of[producer - 1] != plan->group_of[n])
        fail_msg("seed %llu: node %u reads what node %u of another group makes", (unsigned long long)seed, n,
                 producer - 1);
    }
  }
  for (uint32_t o = 0; o < graph->output_count; o++)
    assert_false(pto_fusion_is_inside(plan, graph->values[graph->outputs[o]].producer - 1));
  for (uint32_t g = 0; g < plan->group_count; g++) {
    const struct pto_fused_group *group = &plan->groups[g];
    for (uint32_t i = 0; i < group->node_count; i++) {
      assert_int_equal(plan->group_of[group->nodes[i]], g + 1);
      assert_true(i == 0 || group->nodes[i - 1] < group->nodes[i]);
    }
    for (uint32_t i = 0; i < group->operand_count; i++) {
      const uint32_t producer = graph->values[group->operands[i]].producer;
      assert_true(producer == 0 || plan->group_of[producer - 1] != g + 1);
    }
  }
}

/* The form with the result of node `seen` as an output, too, or read by another node. */
static struct pto_graph *build_seen(const struct form *form, uint64_t seed, const struct pto_graph *whole,
                                    uint32_t seen, bool is_output) {
  struct form_maker f = open_maker(seed, PTO_FLOAT32);
  const form_operand y = form->make(&f);
  /* calls of the builder are values in their order, as those of the graph are */
  const uint32_t from_end = whole->nodes[whole->node_count - 1].first_result - whole->nodes[seen].first_result;
  const form_operand z = {y.index - from_end, y.builder};
  const struct pto_graph_output outputs[] = {{"y", y},
                                             {"z", is_output ? z : pto_graph_builder_abs(f.builder, z, NULL)}};
  return close_maker(&f, outputs, 2);
}

static void test_what_an_output_or_another_node_sees_is_inside_no_group(void **state) {
  (void)state;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++)
    for (uint64_t seed = 1; seed <= 8; seed++) {
      struct pto_graph *whole = build(forms[i].make, seed, PTO_FLOAT32);
      for (uint32_t n = 0; n + 1 < whole->node_count; n++)
        for (int is_output = 0; is_output < 2; is_output++) {
          struct pto_graph *graph = build_seen(&forms[i], seed, whole, n, is_output);
          struct pto_fusion_plan plan = plan_of(graph);
          assert_int_equal(graph->nodes[n].op, whole->nodes[n].op);
          assert_false(pto_fusion_is_inside(&plan, n));
          expect_valid(graph, &plan, seed);
          pto_fusion_plan_fini(&plan);
          pto_graph_destroy(graph);
        }
      pto_graph_destroy(whole);
    }
}

static void test_of_two_products_in_a_sum_the_one_that_no_other_node_reads_is_in_its_group(void **state) {
  (void)state;
  for (uint32_t seen = 0; seen < 2; seen++) {
    struct form_maker maker = open_maker(1, PTO_FLOAT32), *f = &maker;
    const form_operand x = IN("x", 3, 5), products[] = {
                                              pto_graph_builder_matmul(f->builder, x, IN("a", 5, 4), NULL),
                                              pto_graph_builder_matmul(f->builder, x, IN("b", 5, 4), NULL),
                                          };
    const struct pto_graph_output outputs[] = {{"y", pto_graph_builder_add(f->builder, products[0], products[1], NULL)},
                                               {"z", products[seen]}};
    struct pto_graph *graph = close_maker(f, outputs, 2);
    struct pto_fusion_plan plan = plan_of(graph);
    assert_int_equal(plan.group_count, 1);
    assert_int_equal(plan.groups[0].pattern, PTO_FUSION_product_sum);
    assert_false(pto_fusion_is_inside(&plan, seen));
    assert_true(pto_fusion_is_inside(&plan, 1 - seen));
    pto_fusion_plan_fini(&plan);
    pto_graph_destroy(graph);
  }
}

static void test_plans_of_random_graphs_are_valid(void **state) {
  (void)state;
  const struct random_graph_form form = {.call_count = 12, .has_patterns = true};
  uint32_t groups[PTO_FUSION_COUNT] = {0};
  for (uint64_t seed = 1; seed <= 600; seed++) {
    struct random_graph g;
    random_graph_open_form(&g, seed, &form);
    struct pto_fusion_plan plan = plan_of(g.graph);
    expect_valid(g.graph, &plan, seed);
    for (uint32_t k = 0; k < plan.group_count; k++) groups[plan.groups[k].pattern]++;
    pto_fusion_plan_fini(&plan);
    random_graph_close(&g);
  }
  for (uint32_t pattern = 0; pattern < PTO_FUSION_COUNT; pattern++) {
    printf("| %s %u", pto_fusion_name(pattern), groups[pattern]);
    if (groups[pattern] == 0 && pattern != PTO_FUSION_conv2d_clamp)
      fail_msg("%s was never drawn", pto_fusion_name(pattern));
  }
  putchar('\n');
}

/* ---- long chains, memory ---- */

static void test_a_product_of_many_factors_is_no_group_and_takes_no_time(void **state) {
  (void)state;
  struct form_maker maker = open_maker(1, PTO_FLOAT32), *f = &maker;
  form_operand x = IN("x", 2);
  const form_operand y = IN("y", 2);
  for (uint32_t i = 0; i < 100000; i++) x = pto_graph_builder_mul(f->builder, x, y, NULL);
  const struct pto_graph_output output = {"z", x};
  struct pto_graph *graph = close_maker(f, &output, 1);
  struct pto_fusion_plan plan = plan_of(graph);
  assert_int_equal(plan.group_count, 0);
  pto_fusion_plan_fini(&plan);
  pto_graph_destroy(graph);
}

static void test_each_allocation_may_fail(void **state) {
#if PTO_HAS_FAILING_MALLOC
  struct pto_graph *graph = build(make_layer_norm, 1, PTO_FLOAT32);
  uint32_t failures = 0;
  for (bool is_done = false; !is_done; failures++) {
    struct pto_fusion_plan plan = {0};
    const int64_t before = live_blocks;
    fail_countdown = failures + 1;
    const int status = pto_fusion_plan_init(&plan, graph);
    is_done = fail_countdown != 0; /* it was never reached */
    fail_countdown = 0;
    assert_int_equal(status, is_done ? PTO_OK : PTO_ENOMEM);
    pto_fusion_plan_fini(&plan);
    assert_int_equal(live_blocks, before);
  }
  assert_int_equal(failures, 4);
  pto_graph_destroy(graph);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_spelling_of_a_pattern_is_one_group),
      cmocka_unit_test(test_every_pattern_has_a_spelling_here),
      cmocka_unit_test(test_a_graph_that_is_unfused_has_no_groups),
      cmocka_unit_test(test_what_an_output_or_another_node_sees_is_inside_no_group),
      cmocka_unit_test(test_of_two_products_in_a_sum_the_one_that_no_other_node_reads_is_in_its_group),
      cmocka_unit_test(test_plans_of_random_graphs_are_valid),
      cmocka_unit_test(test_a_product_of_many_factors_is_no_group_and_takes_no_time),
      cmocka_unit_test(test_each_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
