/* SPDX-License-Identifier: MIT */
/*
 * Fused patterns on the chip: within the tolerance of their dtype of the same nodes in double precision, with fewer
 * tasks, in every spelling; and NaN, infinities, overflow as without fusion, but for what docs/lowering.md says.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <graph/file/json.h>
#include <runtime/base/base.h>
#include <tests/support/form_graph.h>
#include <tests/support/lowered_graph.h>

#define MOST_INPUTS 5u
#define SPELLINGS 12u

/* ---- forms, of sizes that are cut into tiles ---- */

static const form_operand none;

static form_operand softmax_rows(struct form_maker *f) { return form_softmax(f, IN("x", 90, 700), 1); }
static form_operand softmax_columns(struct form_maker *f) { return form_softmax(f, IN("x", 3, 60, 300), 1); }
static form_operand rms_norm(struct form_maker *f) {
  return form_rms_norm(f, IN("x", 2, 90, 400), IN("w", 400), AXES(2));
}
static form_operand rms_norm_of_one_row(struct form_maker *f) {
  return form_rms_norm(f, IN("x", 1, 5120), none, AXES(1));
}
static form_operand rms_norm_of_channels(struct form_maker *f) {
  return form_rms_norm(f, IN("x", 2, 30, 20, 40), IN("w", 30, 1, 1), AXES(1));
}
static form_operand layer_norm(struct form_maker *f) {
  return form_layer_norm(f, IN("x", 2, 90, 400), IN("w", 400), IN("b", 1, 400), AXES(2));
}
static form_operand layer_norm_of_two_axes(struct form_maker *f) {
  return form_layer_norm(f, IN("x", 60, 30, 20), IN("w", 30, 20), IN("b", 1, 20), AXES(1, 2));
}
static form_operand layer_norm_alone(struct form_maker *f) {
  return form_layer_norm(f, IN("x", 20, 300), none, none, AXES(0));
}
static form_operand silu(struct form_maker *f) { return form_silu(f, IN("x", 90, 700)); }
static form_operand silu_product(struct form_maker *f) {
  return form_silu_product(f, IN("x", 90, 700), IN("y", 90, 700));
}
static form_operand silu_product_of_one_row(struct form_maker *f) {
  return form_silu_product(f, IN("x", 1, 900), IN("y", 1, 900));
}
static form_operand gelu(struct form_maker *f) { return form_gelu(f, IN("x", 90, 700)); }
static form_operand gelu_tanh(struct form_maker *f) { return form_gelu_tanh(f, IN("x", 90, 700)); }
static form_operand bias(struct form_maker *f) {
  return form_product_sum(f, IN("a", 90, 50), IN("b", 50, 200), IN("c", 200));
}
static form_operand residual(struct form_maker *f) {
  return form_product_sum(f, IN("a", 3, 70, 50), IN("b", 50, 140), IN("c", 3, 70, 140));
}
static form_operand attention_of_rows(struct form_maker *f) {
  return form_attention(f, IN("q", 2, 3, 100, 16), IN("k", 2, 3, 16, 90), IN("v", 2, 3, 90, 20), IN("m", 100, 90));
}
static form_operand attention_of_one_row(struct form_maker *f) {
  return form_attention(f, IN("q", 5, 2, 64), IN("k", 5, 64, 256), IN("v", 5, 256, 64),
                        form_input(f, "m", PTO_UINT8, SHAPE(256)));
}
static form_operand attention_of_shared_keys(struct form_maker *f) {
  return form_attention(f, IN("q", 2, 40, 8), IN("k", 8, 30), IN("v", 30, 12), none);
}
static form_operand convolution(struct form_maker *f) {
  return form_conv2d_clamp(f, IN("x", 1, 6, 40, 30), IN("w", 20, 6, 3, 3), IN("b", 20));
}

static const struct form {
  const char *name;
  make_form *make;
  bool is_silu_or_gelu; /* −∞ becomes −0, where the nodes one by one make NaN of it */
} forms[] = {{"softmax_rows", softmax_rows, false},
             {"softmax_columns", softmax_columns, false},
             {"rms_norm", rms_norm, false},
             {"rms_norm_of_one_row", rms_norm_of_one_row, false},
             {"rms_norm_of_channels", rms_norm_of_channels, false},
             {"layer_norm", layer_norm, false},
             {"layer_norm_of_two_axes", layer_norm_of_two_axes, false},
             {"layer_norm_alone", layer_norm_alone, false},
             {"silu", silu, true},
             {"silu_product", silu_product, true},
             {"silu_product_of_one_row", silu_product_of_one_row, true},
             {"gelu", gelu, true},
             {"gelu_tanh", gelu_tanh, true},
             {"bias", bias, false},
             {"residual", residual, false},
             {"attention_of_rows", attention_of_rows, false},
             {"attention_of_one_row", attention_of_one_row, false},
             {"attention_of_shared_keys", attention_of_shared_keys, false},
             {"convolution", convolution, false}};

/* ---- a graph and its numbers ---- */

struct trial {
  const struct form *form;
  uint64_t seed;
  struct pto_graph *graph;
  void *inputs[MOST_INPUTS];
  void *fused, *unfused;
  struct pto_graph_desc desc; /* of the result */
};

static const struct pto_graph_desc *input_desc(const struct trial *t, uint32_t i) {
  return &t->graph->values[t->graph->inputs[i]].desc;
}
/* "x", "a" or "q", whatever the order in which a form's inputs were made. */
static uint32_t main_input(const struct trial *t) {
  uint32_t i = 0;
  while (strchr("xaq", t->graph->input_operands[i].name[0]) == NULL) i++;
  return i;
}
static uint64_t bytes_of(const struct pto_graph_desc *desc) {
  return pto_graph_desc_numel(desc) * pto_dtype_bits(desc->dtype) / 8;
}

/* Floats in [−2, 2], some of them `special`; of masks bytes of 0 and 1. */
static void *draw_input(const struct pto_graph_desc *desc, struct pto_rng *rng, const double *special,
                        uint32_t special_count) {
  struct pto_reference_tensor t;
  void *bytes = calloc(1, bytes_of(desc));
  assert_non_null(bytes);
  assert_true(pto_reference_tensor_init(&t, desc));
  for (uint64_t i = 0; i < pto_graph_desc_numel(desc); i++) {
    if (t.values)
      t.values[i] = (double)pto_rng_below(rng, 4097) / 1024 - 2;
    else
      t.whole[i] = (int64_t)pto_rng_below(rng, 2);
  }
  for (uint32_t s = 0; t.values && s < special_count; s++)
    t.values[pto_rng_below(rng, pto_graph_desc_numel(desc))] = special[s];
  pto_reference_tensor_round(&t);
  pto_reference_tensor_store(&t, bytes);
  pto_reference_tensor_fini(&t);
  return bytes;
}

static struct trial open_trial(const struct form *form, uint64_t seed, uint32_t dtype, const double *special,
                               uint32_t special_count) {
  struct trial t = {.form = form, .seed = seed, .graph = build(form->make, seed, dtype)};
  struct pto_rng rng = {seed};
  assert_true(t.graph->input_count <= MOST_INPUTS);
  for (uint32_t i = 0; i < t.graph->input_count; i++)
    t.inputs[i] = draw_input(input_desc(&t, i), &rng, special, i == main_input(&t) ? special_count : 0);
  t.desc = t.graph->values[t.graph->outputs[0]].desc;
  t.fused = calloc(1, bytes_of(&t.desc));
  t.unfused = calloc(1, bytes_of(&t.desc));
  assert_true(t.fused && t.unfused);
  return t;
}

static void close_trial(struct trial *t) {
  for (uint32_t i = 0; i < t->graph->input_count; i++) free(t->inputs[i]);
  pto_graph_destroy(t->graph);
  free(t->fused);
  free(t->unfused);
}

struct cost {
  uint64_t tasks, virtual_ps; /* without transfers */
};

static struct cost run(struct trial *t, struct pto_context *context, bool is_fused) {
  struct pto_context_counters before = {.size = sizeof before}, after = before;
  void *outputs[] = {is_fused ? t->fused : t->unfused};
  memset(outputs[0], 0xa5, bytes_of(&t->desc));
  assert_int_equal(pto_graph_set_fusion(t->graph, is_fused), PTO_OK);
  pto_context_counters(context, &before);
  if (lowered_graph_run(t->graph, context, t->inputs, outputs))
    fail_msg("%s, seed %llu: %s", t->form->name, (unsigned long long)t->seed, pto_context_error(context));
  pto_context_counters(context, &after);
  pto_graph_forget(t->graph, context);
  return (struct cost){after.tasks - before.tasks,
                       after.virtual_ps - after.transfer_ps - (before.virtual_ps - before.transfer_ps)};
}

/* ---- against double precision ---- */

/* What `ptosim graph --compare` allows: of a result beside the same nodes in double precision. */
static void expect_close(const struct trial *t, const void *got_bytes, const void *wanted_bytes) {
  const bool is_half = t->desc.dtype == PTO_FLOAT16;
  const double rtol = is_half ? 1e-3 : 1.3e-6, atol = 1e-5;
  struct pto_reference_tensor got, wanted;
  assert_true(pto_reference_tensor_init(&got, &t->desc));
  assert_true(pto_reference_tensor_init(&wanted, &t->desc));
  pto_reference_tensor_load(&got, got_bytes);
  pto_reference_tensor_load(&wanted, wanted_bytes);
  for (uint64_t i = 0; i < pto_graph_desc_numel(&t->desc); i++)
    if (!(fabs(got.values[i] - wanted.values[i]) <= atol + rtol * fabs(wanted.values[i])))
      fail_msg("%s, seed %llu, element %llu: %.9g, not %.9g", t->form->name, (unsigned long long)t->seed,
               (unsigned long long)i, got.values[i], wanted.values[i]);
  pto_reference_tensor_fini(&got);
  pto_reference_tensor_fini(&wanted);
}

static void expect_reference(const struct trial *t) {
  struct pto_fusion_plan plan = plan_of(t->graph);
  bool *is_inside = calloc(t->graph->node_count, sizeof *is_inside);
  void *wanted = calloc(1, bytes_of(&t->desc)), *outputs[] = {wanted};
  struct pto_error error = {0};
  assert_true(is_inside && wanted && plan.group_count == 1);
  for (uint32_t n = 0; n < t->graph->node_count; n++) is_inside[n] = pto_fusion_is_inside(&plan, n);
  if (pto_graph_reference_run_fused(t->graph, is_inside, (const void *const *)t->inputs, outputs, NULL, NULL, &error))
    fail_msg("%s", error.sentence);
  expect_close(t, t->fused, wanted);
  free(wanted);
  free(is_inside);
  pto_fusion_plan_fini(&plan);
}

/* Rounding between the nodes, which fusion has not: of numbers of magnitude 2. */
static const struct lowered_graph_tolerance apart = {.f32 = 0x1p-16, .f16 = 0x1p-6};

static void test_fused_nodes_are_within_tolerance_of_double_precision_and_of_themselves_one_by_one(void **state) {
  (void)state;
  const struct pto_config config = {.engine = "virtual", .chip = "a2a3"};
  struct pto_context *context = lowered_graph_open(&config);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++) {
    struct cost all = {0}, all_apart = {0}; /* a spelling by itself may come to as many small tasks */
    for (uint64_t seed = 1; seed <= SPELLINGS; seed++) {
      struct trial t = open_trial(&forms[i], seed, seed % 2 ? PTO_FLOAT32 : PTO_FLOAT16, NULL, 0);
      const struct cost apart_cost = run(&t, context, false), cost = run(&t, context, true);
      if (seed == 1)
        printf("| %-26s %3llu tasks, %6.1f us; without fusion %3llu tasks, %6.1f us\n", forms[i].name,
               (unsigned long long)cost.tasks, (double)cost.virtual_ps * 1e-6, (unsigned long long)apart_cost.tasks,
               (double)apart_cost.virtual_ps * 1e-6);
      if (cost.tasks > apart_cost.tasks)
        fail_msg("%s, seed %llu: %llu tasks, and %llu without fusion", forms[i].name, (unsigned long long)seed,
                 (unsigned long long)cost.tasks, (unsigned long long)apart_cost.tasks);
      all.tasks += cost.tasks, all.virtual_ps += cost.virtual_ps;
      all_apart.tasks += apart_cost.tasks, all_apart.virtual_ps += apart_cost.virtual_ps;
      expect_reference(&t);
      lowered_graph_expect(&t.desc, t.fused, t.unfused, false, &apart, forms[i].name);
      close_trial(&t);
    }
    assert_true(all.tasks < all_apart.tasks && all.virtual_ps < all_apart.virtual_ps);
  }
  pto_context_destroy(context);
}

static const struct pto_config configs[] = {{.engine = "threads", .chip = "tiny", .workers = 2},
                                            {.engine = "threads", .chip = "a2a3", .workers = 1},
                                            {.engine = "threads", .chip = "tiny", .workers = 2, .window = 64},
                                            {.engine = "virtual", .chip = "tiny", .window = 32},
                                            {.engine = "virtual", .chip = "a2a3", .heap_bytes = 4 << 20}};

static void test_fused_nodes_give_the_same_bytes_everywhere(void **state) {
  (void)state;
  struct pto_context *first = lowered_graph_open(&(struct pto_config){.engine = "virtual", .chip = "a2a3"});
  for (size_t c = 0; c < PTO_ARRAY_LENGTH(configs); c++) {
    struct pto_context *context = lowered_graph_open(&configs[c]);
    for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++) {
      struct trial t = open_trial(&forms[i], 3, PTO_FLOAT32, NULL, 0);
      (void)run(&t, first, true);
      memcpy(t.unfused, t.fused, bytes_of(&t.desc));
      (void)run(&t, context, true);
      assert_memory_equal(t.fused, t.unfused, bytes_of(&t.desc));
      close_trial(&t);
    }
    pto_context_destroy(context);
  }
  pto_context_destroy(first);
}

static void test_a_graph_that_was_saved_and_loaded_is_fused_alike(void **state) {
  (void)state;
  char path[] = "/tmp/fused_graph_XXXXXX";
  const int file = mkstemp(path);
  struct pto_context *context = lowered_graph_open(&configs[0]);
  assert_true(file >= 0);
  close(file);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++) {
    const struct pto_graph_file_options options = {.size = sizeof options, .weights = PTO_GRAPH_WEIGHTS_INLINE};
    struct trial t = open_trial(&forms[i], 5, PTO_FLOAT32, NULL, 0);
    struct pto_error error = {0};
    const uint64_t tasks = run(&t, context, true).tasks;
    memcpy(t.unfused, t.fused, bytes_of(&t.desc));
    if (pto_graph_json_save(t.graph, path, &options, &error)) fail_msg("%s", error.sentence);
    pto_graph_destroy(t.graph);
    if (pto_graph_json_load(NULL, path, &options, &t.graph, &error)) fail_msg("%s", error.sentence);
    assert_int_equal(run(&t, context, true).tasks, tasks);
    assert_memory_equal(t.fused, t.unfused, bytes_of(&t.desc));
    close_trial(&t);
  }
  unlink(path);
  pto_context_destroy(context);
}

/* ---- special values ---- */

/* Squares and cubes of some overflow; products of two factors do not, which fusion multiplies in its own order. */
static const double specials[] = {NAN, INFINITY, -INFINITY, 1e30, -1e30, 1e-38, 0x1p-149, 0, -0.0};

/* NaN where the other is NaN, the same infinity, or about the same number. */
static bool is_alike(double a, double b) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  return a == b || fabs(a - b) <= 1e-4 * fmax(1, fabs(b));
}

static void expect_alike(const struct trial *t) {
  struct pto_reference_tensor fused, unfused, x;
  assert_true(pto_reference_tensor_init(&fused, &t->desc));
  assert_true(pto_reference_tensor_init(&unfused, &t->desc));
  assert_true(pto_reference_tensor_init(&x, input_desc(t, main_input(t))));
  pto_reference_tensor_load(&fused, t->fused);
  pto_reference_tensor_load(&unfused, t->unfused);
  pto_reference_tensor_load(&x, t->inputs[main_input(t)]);
  for (uint64_t i = 0; i < pto_graph_desc_numel(&t->desc); i++) {
    if (t->form->is_silu_or_gelu && x.values[i] == -INFINITY) {
      assert_true(isnan(unfused.values[i]));
      continue;
    }
    if (!is_alike(fused.values[i], unfused.values[i]))
      fail_msg("%s, seed %llu, element %llu: %.9g, and %.9g without fusion", t->form->name, (unsigned long long)t->seed,
               (unsigned long long)i, fused.values[i], unfused.values[i]);
  }
  pto_reference_tensor_fini(&fused);
  pto_reference_tensor_fini(&unfused);
  pto_reference_tensor_fini(&x);
}

static void test_special_values_are_those_of_the_nodes_one_by_one(void **state) {
  (void)state;
  struct pto_context *context = lowered_graph_open(&configs[0]);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(forms); i++)
    for (uint32_t s = 0; s < PTO_ARRAY_LENGTH(specials); s++) {
      struct trial t = open_trial(&forms[i], s + 1, PTO_FLOAT32, &specials[s], 1);
      (void)run(&t, context, false);
      (void)run(&t, context, true);
      expect_alike(&t);
      close_trial(&t);
    }
  pto_context_destroy(context);
}

static form_operand one_silu(struct form_maker *f) { return form_silu(f, IN("x", 1)); }
static form_operand one_gelu(struct form_maker *f) { return form_gelu(f, IN("x", 1)); }
static form_operand one_gelu_tanh(struct form_maker *f) { return form_gelu_tanh(f, IN("x", 1)); }

static void test_silu_and_gelu_of_minus_infinity_are_zero(void **state) {
  (void)state;
  const struct form ones[] = {{"silu", one_silu, true}, {"gelu", one_gelu, true}, {"gelu_tanh", one_gelu_tanh, true}};
  struct pto_context *context = lowered_graph_open(&configs[0]);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(ones); i++)
    for (uint64_t seed = 1; seed <= 10; seed++) {
      struct trial t = open_trial(&ones[i], seed, PTO_FLOAT32, NULL, 0);
      memcpy(t.inputs[0], &(float){-INFINITY}, sizeof(float));
      (void)run(&t, context, false);
      (void)run(&t, context, true);
      assert_true(isnan((double)*(float *)t.unfused));
      assert_true(*(float *)t.fused == 0);
      close_trial(&t);
    }
  pto_context_destroy(context);
}

static form_operand attention_scaled_up(struct form_maker *f) {
  f->scale = 16;
  return form_attention(f, IN("q", 3, 20, 16), IN("k", 3, 16, 30), IN("v", 3, 30, 20), none);
}
static form_operand chosen_attention_scaled_up(struct form_maker *f) {
  f->scale = 16;
  return form_attention(f, IN("q", 3, 20, 16), IN("k", 3, 16, 30), IN("v", 3, 30, 20),
                        form_input(f, "m", PTO_UINT8, SHAPE(20, 30)));
}

/* A query near the end of float32, and keys as small: no score is large. */
static void test_a_scale_of_attention_overflows_no_query(void **state) {
  (void)state;
  const struct form scaled_up[] = {{"attention_scaled_up", attention_scaled_up, false},
                                   {"chosen_attention_scaled_up", chosen_attention_scaled_up, false}};
  struct pto_context *context = lowered_graph_open(&configs[0]);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(scaled_up); i++)
    for (uint64_t seed = 1; seed <= 10; seed++) {
      struct trial t = open_trial(&scaled_up[i], seed, PTO_FLOAT32, NULL, 0);
      for (uint32_t k = 0; k < t.graph->input_count; k++) {
        const char name = t.graph->input_operands[k].name[0];
        const float factor = name == 'q' ? 1e38f : name == 'k' ? 1e-38f : 1;
        for (uint64_t e = 0; name != 'm' && e < pto_graph_desc_numel(input_desc(&t, k)); e++)
          ((float *)t.inputs[k])[e] *= factor;
      }
      (void)run(&t, context, false);
      (void)run(&t, context, true);
      expect_alike(&t);
      for (uint64_t e = 0; e < pto_graph_desc_numel(&t.desc); e++) assert_true(isfinite(((float *)t.fused)[e]));
      close_trial(&t);
    }
  pto_context_destroy(context);
}

/* Where the mask is 0 a score does not count: of ∞ and of a finite number, on either side. */
static form_operand chosen_attention(struct form_maker *f, double never, bool is_inverted) {
  const form_operand scores =
      pto_graph_builder_mul(f->builder, pto_graph_builder_matmul(f->builder, IN("q", 2, 5, 8), IN("k", 2, 8, 6), NULL),
                            form_number(f, 0.25, 0), NULL);
  const form_operand mask = form_input(f, "m", PTO_UINT8, SHAPE(5, 6)), other = form_number(f, never, 0);
  const form_operand chosen =
      pto_graph_builder_where(f->builder, mask, is_inverted ? other : scores, is_inverted ? scores : other, NULL);
  const struct pto_softmax_options last = {.axis = 2};
  return pto_graph_builder_matmul(f->builder, pto_graph_builder_softmax(f->builder, chosen, &last), IN("v", 2, 6, 8),
                                  NULL);
}
static form_operand never_infinite(struct form_maker *f) { return chosen_attention(f, -(double)INFINITY, false); }
static form_operand never_infinite_inverted(struct form_maker *f) {
  return chosen_attention(f, -(double)INFINITY, true);
}
static form_operand never_finite(struct form_maker *f) { return chosen_attention(f, -1e30, false); }
static form_operand never_finite_inverted(struct form_maker *f) { return chosen_attention(f, -1e30, true); }
static form_operand never_little(struct form_maker *f) { return chosen_attention(f, 3, false); }

static void test_what_stands_for_scores_that_do_not_count_may_be_infinite(void **state) {
  (void)state;
  const struct form choices[] = {{"never_infinite", never_infinite, false},
                                 {"never_infinite_inverted", never_infinite_inverted, false},
                                 {"never_finite", never_finite, false},
                                 {"never_finite_inverted", never_finite_inverted, false},
                                 {"never_little", never_little, false}};
  struct pto_context *context = lowered_graph_open(&configs[0]);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(choices); i++)
    for (uint64_t seed = 1; seed <= 3; seed++) {
      struct trial t = open_trial(&choices[i], seed, PTO_FLOAT32, NULL, 0);
      for (uint32_t k = 0; k < t.graph->input_count; k++)
        for (uint64_t row = 0; t.graph->input_operands[k].name[0] == 'm' && row < 5; row++)
          memcpy((uint8_t *)t.inputs[k] + 6 * row, (const uint8_t[]){0, 1}, 2); /* one that counts, and one not */
      (void)run(&t, context, false);
      (void)run(&t, context, true);
      expect_reference(&t);
      expect_alike(&t);
      close_trial(&t);
    }
  pto_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fused_nodes_are_within_tolerance_of_double_precision_and_of_themselves_one_by_one),
      cmocka_unit_test(test_fused_nodes_give_the_same_bytes_everywhere),
      cmocka_unit_test(test_a_graph_that_was_saved_and_loaded_is_fused_alike),
      cmocka_unit_test(test_special_values_are_those_of_the_nodes_one_by_one),
      cmocka_unit_test(test_silu_and_gelu_of_minus_infinity_are_zero),
      cmocka_unit_test(test_a_scale_of_attention_overflows_no_query),
      cmocka_unit_test(test_what_stands_for_scores_that_do_not_count_may_be_infinite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
