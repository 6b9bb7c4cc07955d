/* SPDX-License-Identifier: MIT */
/*
 * Operations from outside: registered here, called by the builder and in both forms of files, and the same on the
 * reference, on threads and in virtual time; what is wrong with one is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <graph/build/outside.h>
#include <graph/reference/reference.h>
#include <graph/run/lower_graph.h>
#include <tests/support/graph_same.h>
#include <tests/support/test_folder.h>

static char sentence[1024];

/* ---- two operations ---- */

/* y = alpha · a · b + beta, a task a row. */
static int fused_product_run(const struct pto_kernel_args *k) {
  const struct pto_kernel_tensor *a = &k->tensors[0], *b = &k->tensors[1], *y = &k->tensors[2];
  for (uint64_t i = 0; i < y->shape[0]; i++)
    ((float *)y->addr)[i * y->strides[0]] =
        k->scalars[0].f32 * ((const float *)a->addr)[i * a->strides[0]] * ((const float *)b->addr)[i * b->strides[0]] +
        k->scalars[1].f32;
  return 0;
}
static const struct pto_kernel_param fused_product_params[] = {{.mode = PTO_INPUT},
                                                               {.mode = PTO_INPUT},
                                                               {.mode = PTO_OUTPUT},
                                                               {.mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32},
                                                               {.mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32}};
static const struct pto_kernel fused_product_kernel = {.name = "fused_product",
                                                       .cores = PTO_AIV,
                                                       .params = fused_product_params,
                                                       .param_count = 5,
                                                       .run = fused_product_run};

static int product_infer(struct pto_operation_inference *call) {
  const struct pto_graph_desc *a = &call->operands[0], *b = &call->operands[1];
  if (memcmp(a->shape, b->shape, sizeof a->shape) != 0) {
    snprintf(call->sentence, call->sentence_size, "a has %llu rows and b %llu, or other columns",
             (unsigned long long)a->shape[0], (unsigned long long)b->shape[0]);
    return PTO_EINVAL;
  }
  call->results[0] = *a;
  return PTO_OK;
}
static struct pto_tensor row(const struct pto_tensor *t, uint64_t i) {
  const struct pto_tensor one = pto_tensor_view(t, (const uint64_t[]){i, 0}, (const uint64_t[]){1, t->shape[1]});
  return pto_tensor_reshape(&one, 1, &t->shape[1]);
}
static int product_lower(const struct pto_operation_lowering *call) {
  int status = PTO_OK;
  for (uint64_t i = 0; i < call->results[0].shape[0] && status == PTO_OK; i++) {
    const struct pto_tensor a = row(&call->operands[0], i), b = row(&call->operands[1], i),
                            y = row(&call->results[0], i);
    const struct pto_param params[] = {pto_input(&a), pto_input(&b), pto_output(&y),
                                       pto_scalar_f32((float)call->options[0]),
                                       pto_scalar_f32((float)call->options[1])};
    status = pto_operation_submit(call, &fused_product_kernel, params, 5);
  }
  return status;
}
static int product_reference(const struct pto_operation_reference *call) {
  const struct pto_operation_tensor *y = &call->results[0];
  for (uint64_t i = 0; i < y->desc.shape[0] * y->desc.shape[1]; i++)
    y->values[i] = call->options[0] * call->operands[0].values[i] * call->operands[1].values[i] + call->options[1];
  return PTO_OK;
}
static const struct pto_operation_operand product_operands[] = {
    {.name = "a", .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32), .min_rank = 2, .max_rank = 2},
    {.name = "b", .min_rank = 2, .max_rank = 2, .is_of_first_dtype = true}};
static const struct pto_operation_option product_options[] = {{"alpha", 1}, {"beta", 0}};
static const struct pto_operation fused_product = {.abi = PTO_OPERATION_ABI,
                                                   .name = "fusedProduct",
                                                   .operands = product_operands,
                                                   .options = product_options,
                                                   .operand_count = 2,
                                                   .option_count = 2,
                                                   .result_count = 1,
                                                   .infer = product_infer,
                                                   .lower = product_lower,
                                                   .reference = product_reference};

/* The largest and the smallest of int32, through a temporary [2]. */
static int extremes_run(const struct pto_kernel_args *k) {
  const struct pto_kernel_tensor *x = &k->tensors[0], *z = &k->tensors[1];
  int32_t *to = z->addr;
  to[0] = INT32_MAX;
  to[z->strides[0]] = INT32_MIN;
  for (uint64_t i = 0; i < x->shape[0]; i++) {
    const int32_t v = ((const int32_t *)x->addr)[i * x->strides[0]];
    if (v < to[0]) to[0] = v;
    if (v > to[z->strides[0]]) to[z->strides[0]] = v;
  }
  return 0;
}
static int separate_run(const struct pto_kernel_args *k) {
  const struct pto_kernel_tensor *z = &k->tensors[0];
  *(int32_t *)k->tensors[1].addr = *(const int32_t *)z->addr;
  *(int32_t *)k->tensors[2].addr = ((const int32_t *)z->addr)[z->strides[0]];
  return 0;
}
static const struct pto_kernel_param extremes_params[] = {{.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}};
static const struct pto_kernel_param separate_params[] = {
    {.mode = PTO_INPUT}, {.mode = PTO_OUTPUT}, {.mode = PTO_OUTPUT}};
static const struct pto_kernel extremes_kernel = {
    .name = "extremes", .cores = PTO_AIV, .params = extremes_params, .param_count = 2, .run = extremes_run};
static const struct pto_kernel separate_kernel = {
    .name = "separate", .cores = PTO_AIV, .params = separate_params, .param_count = 3, .run = separate_run};

static int extremes_infer(struct pto_operation_inference *call) {
  call->results[0].dtype = call->results[1].dtype = call->operands[0].dtype;
  call->results[0].ndims = call->results[1].ndims = 1;
  call->results[0].shape[0] = call->results[1].shape[0] = 1;
  return PTO_OK;
}
static int extremes_lower(const struct pto_operation_lowering *call) {
  const struct pto_tensor both = pto_operation_temporary(call, PTO_INT32, 1, (const uint64_t[]){2});
  const struct pto_param find[] = {pto_input(&call->operands[0]), pto_output(&both)};
  const struct pto_param separate[] = {pto_input(&both), pto_output(&call->results[0]), pto_output(&call->results[1])};
  const int status = pto_operation_submit(call, &extremes_kernel, find, 2);
  return status ? status : pto_operation_submit(call, &separate_kernel, separate, 3);
}
static int extremes_reference(const struct pto_operation_reference *call) {
  const struct pto_operation_tensor *x = &call->operands[0];
  int64_t least = INT32_MAX, most = INT32_MIN;
  for (uint64_t i = 0; i < x->desc.shape[0]; i++) {
    if (x->whole[i] < least) least = x->whole[i];
    if (x->whole[i] > most) most = x->whole[i];
  }
  call->results[0].whole[0] = least;
  call->results[1].whole[0] = most;
  return PTO_OK;
}
static const struct pto_operation_operand extremes_operands[] = {
    {.name = "input", .dtypes = PTO_DTYPE_BIT(PTO_INT32), .min_rank = 1, .max_rank = 1}};
static const struct pto_operation extremes = {.abi = PTO_OPERATION_ABI,
                                              .name = "extremes",
                                              .operands = extremes_operands,
                                              .operand_count = 1,
                                              .result_count = 2,
                                              .infer = extremes_infer,
                                              .lower = extremes_lower,
                                              .reference = extremes_reference};

static int give_up(const struct pto_operation_lowering *call) { return -77; }

static void register_it(const struct pto_operation *operation) {
  if (pto_operation_register(operation, sentence, sizeof sentence)) fail_msg("%s", sentence);
}

static int set_up(void **state) {
  register_it(&fused_product);
  register_it(&extremes);
  register_it(&fused_product); /* is nothing */
  return test_folder_open(state);
}

/* ---- graphs ---- */

static void expect(const char *got, const char *expected) {
  if (!strstr(got, expected)) fail_msg("\"%s\" does not say \"%s\"", got, expected);
}

#define ROWS 3
#define COLUMNS 5
static const char text[] =
    "webnn_graph \"g\" v2 { inputs { a: f32[dyn(\"rows\", 7),5]; b: f32[dyn(\"rows\", 7),5]; n: i32[4]; }"
    " nodes { s = add(a, b); p = fusedProduct(s, b, alpha=2.5, beta=-1, label=\"mixed\"); y = relu(p);"
    " [least, most] = extremes(n); d = sub(most, least); } outputs { y; least; d; } }";

static int try_load(const char *document, struct pto_graph **graph) {
  FILE *file = fopen(path_of("a.webnn"), "w");
  assert_non_null(file);
  fputs(document, file);
  fclose(file);
  return pto_graph_load(NULL, path_of("a.webnn"), NULL, graph, sentence, sizeof sentence);
}

static struct pto_graph *load(void) {
  struct pto_graph *open = NULL, *graph = NULL;
  if (try_load(text, &open)) fail_msg("%s", sentence);
  assert_int_equal(pto_graph_bind(open, &(struct pto_graph_size){"rows", ROWS}, 1, &graph, NULL, 0), PTO_OK);
  pto_graph_destroy(open);
  return graph;
}

static struct pto_graph *build(void) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  const struct pto_graph_desc matrix = {PTO_FLOAT32, 2, {ROWS, COLUMNS}}, whole = {PTO_INT32, 1, {4}};
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand a = pto_graph_builder_input(b, "a", &matrix),
                                 bb = pto_graph_builder_input(b, "b", &matrix),
                                 n = pto_graph_builder_input(b, "n", &whole);
  const struct pto_graph_options named[] = {{"s"}, {"y"}, {"d"}};
  const struct pto_graph_operand operands[] = {pto_graph_builder_add(b, a, bb, &named[0]), bb};
  const struct pto_operation_number options[] = {{"alpha", pto_number_f64(2.5)}, {"beta", pto_number_i64(-1)}};
  struct pto_graph_operand p, both[2];
  assert_int_equal(pto_graph_builder_operation(b, "fusedProduct", "mixed", operands, 2, options, 2, &p, 1), PTO_OK);
  const struct pto_graph_operand y = pto_graph_builder_relu(b, p, &named[1]);
  assert_int_equal(pto_graph_builder_operation(b, "extremes", "least", &n, 1, NULL, 0, both, 2), PTO_OK);
  const struct pto_graph_output outputs[] = {
      {"y", y}, {"least", both[0]}, {"d", pto_graph_builder_sub(b, both[1], both[0], &named[2])}};
  if (pto_graph_builder_build(b, outputs, 3, &graph)) fail_msg("%s", pto_graph_builder_error(b));
  pto_graph_builder_destroy(b);
  return graph;
}

/* Numbers that float32 has exactly. */
static float a_data[ROWS * COLUMNS], b_data[ROWS * COLUMNS], y_data[ROWS * COLUMNS];
static int32_t n_data[4] = {7, -3, 12, 0}, least, difference;

static void fill(void) {
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    a_data[i] = (float)(i - 6) / 4;
    b_data[i] = (float)(i * 5 % 7 - 3) / 2;
  }
  memset(y_data, 0xa5, sizeof y_data);
  least = difference = 77;
}

static void expect_results(void) {
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    const float y = 2.5f * (a_data[i] + b_data[i]) * b_data[i] - 1;
    assert_true(y_data[i] == (y > 0 ? y : 0));
  }
  assert_int_equal(least, -3);
  assert_int_equal(difference, 15);
}

static void run_reference(const struct pto_graph *graph) {
  const void *const inputs[] = {a_data, b_data, n_data};
  void *const outputs[] = {y_data, &least, &difference};
  struct pto_error error;
  fill();
  if (pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, &error)) fail_msg("%s", error.sentence);
  expect_results();
}

static struct pto_context *open_context(const char *engine) {
  const struct pto_context_options options = {.size = sizeof options, .runtime = {.engine = engine, .chip = "tiny"}};
  struct pto_context *context = NULL;
  if (pto_context_create(&options, &context, sentence, sizeof sentence)) fail_msg("%s", sentence);
  return context;
}

static int compute(struct pto_graph *graph, struct pto_context *context) {
  const struct pto_host_array inputs[] = {
      {"a", a_data, sizeof a_data}, {"b", b_data, sizeof b_data}, {"n", n_data, sizeof n_data}};
  const struct pto_host_array outputs[] = {
      {"y", y_data, sizeof y_data}, {"least", &least, sizeof least}, {"d", &difference, sizeof difference}};
  fill();
  return pto_graph_compute(graph, context, &(struct pto_compute_arrays){inputs, outputs, 3, 3});
}

static void test_builder_and_files_call_it_and_every_engine_runs_it(void **state) {
  static const char *const engines[] = {"threads", "virtual"};
  struct pto_graph *graphs[] = {load(), build()};
  char why[256];
  if (!pto_graph_is_same(graphs[1], graphs[0], why)) fail_msg("%s differ", why);
  for (size_t g = 0; g < 2; g++) {
    run_reference(graphs[g]);
    for (size_t e = 0; e < 2; e++) {
      struct pto_context *context = open_context(engines[e]);
      if (compute(graphs[g], context)) fail_msg("%s", pto_context_error(context));
      expect_results();
      struct pto_context_counters all = {.size = sizeof all};
      pto_context_counters(context, &all);
      /* Not more than add, a row each, relu, the two of the extremes, sub, and results that get their memory. */
      assert_true(all.tasks >= 1 + ROWS + 1 + 2 + 1);
      pto_graph_forget(graphs[g], context);
      pto_context_destroy(context);
    }
    pto_graph_destroy(graphs[g]);
  }
}

static void test_both_forms_of_files_keep_it(void **state) {
  static const char *const forms[] = {"b.json", "b.webnn"};
  struct pto_graph *graph = build();
  char why[256];
  for (size_t f = 0; f < 2; f++) {
    struct pto_graph *again = NULL;
    if (pto_graph_save(graph, path_of(forms[f]), NULL, sentence, sizeof sentence) ||
        pto_graph_load(NULL, path_of(forms[f]), NULL, &again, sentence, sizeof sentence))
      fail_msg("%s", sentence);
    if (!pto_graph_is_same(graph, again, why)) fail_msg("%s differ", why);
    run_reference(again);
    pto_graph_destroy(again);
  }
  pto_graph_destroy(graph);
}

static void test_options_that_are_not_given_have_their_defaults(void **state) {
  struct pto_graph *graph = NULL;
  if (try_load("webnn_graph \"g\" v1 { inputs { a: f32[3,5]; b: f32[3,5]; } nodes { y = fusedProduct(a, b); }"
               " outputs { y; } }",
               &graph))
    fail_msg("%s", sentence);
  const void *const inputs[] = {a_data, b_data};
  void *const outputs[] = {y_data};
  struct pto_error error;
  struct pto_context *context = open_context("threads");
  for (int k = 0; k < 2; k++) {
    const struct pto_host_array in[] = {{"a", a_data, sizeof a_data}, {"b", b_data, sizeof b_data}};
    const struct pto_host_array out = {"y", y_data, sizeof y_data};
    fill();
    assert_int_equal(k == 0 ? pto_graph_reference_run(graph, inputs, outputs, NULL, NULL, &error)
                            : pto_graph_compute(graph, context, &(struct pto_compute_arrays){in, &out, 2, 1}),
                     PTO_OK);
    for (int i = 0; i < ROWS * COLUMNS; i++) assert_true(y_data[i] == a_data[i] * b_data[i]);
  }
  pto_graph_destroy(graph);
  pto_context_destroy(context);
}

static void test_a_dispatch_that_its_lowering_gives_up_says_so(void **state) {
  static struct pto_operation failing;
  failing = extremes;
  failing.name = "failing";
  failing.lower = give_up;
  register_it(&failing);
  struct pto_graph *graph = NULL;
  if (try_load(
          "webnn_graph \"g\" v1 { inputs { n: i32[4]; } nodes { [a, b] = failing(n); y = add(a, b); } outputs { y; } }",
          &graph))
    fail_msg("%s", sentence);
  struct pto_context *context = open_context("threads");
  const struct pto_host_array n = {"n", n_data, sizeof n_data}, y = {"y", &least, sizeof least};
  assert_true(pto_graph_compute(graph, context, &(struct pto_compute_arrays){&n, &y, 1, 1}) < 0);
  expect(pto_context_error(context), "operation \"failing\": its lowering returned -77");
  expect(pto_context_error(context), "node 1 of 2, failing \"a\"");
  pto_graph_destroy(graph);
  pto_context_destroy(context);
}

/* ---- refusals ---- */

static void test_calls_are_refused_as_those_of_the_specification(void **state) {
#define IN "webnn_graph \"g\" v1 { inputs { x: f32[2,3]; z: f32[4,3]; h: f16[2,3]; v: f32[3]; } nodes { y = "
#define OUT "; } outputs { y; } }"
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {IN "fusedProduct(x, z)" OUT, "fusedProduct \"y\": a has 2 rows and b 4, or other columns"},
      {IN "fusedProduct(x, h)" OUT, "fusedProduct \"y\": b is float16, and a is float32"},
      {IN "fusedProduct(h, h)" OUT, "fusedProduct \"y\": a is float16, not float32"},
      {IN "fusedProduct(v, v)" OUT, "fusedProduct \"y\": a of shape [3] has 1 dimensions, not 2"},
      {IN "fusedProduct(x)" OUT, "fusedProduct takes 2 operands, \"inputs\" has 1"},
      {IN "fusedProduct(x, x, gamma=1)" OUT, "there is no attribute \"gamma\""},
      {IN "fusedProduct(x, x, alpha=\"NaN\")" OUT, "alpha"},
      {IN "fusedProduct(x, x, alpha=[1])" OUT, "alpha is a list of 1, not a number"},
      {IN "fusedProduct(x, x, alpha=dyn(\"n\", 2))" OUT, "option alpha of fusedProduct has no sizes"},
      {IN "fusedProdukt(x, x)" OUT, "there is no operation \"fusedProdukt\"; did you mean \"fusedProduct\"?"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    struct pto_graph *graph = NULL;
    assert_int_equal(try_load(cases[i].text, &graph), PTO_EINVAL);
    expect(sentence, cases[i].expected);
  }
  struct pto_graph_builder *b = NULL;
  struct pto_graph_operand results[3];
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand n = pto_graph_builder_input(b, "n", &(struct pto_graph_desc){PTO_INT32, 1, {4}});
  const struct pto_operation_number twice[] = {{"alpha", pto_number_f64(1)}, {"alpha", pto_number_f64(2)}};
  const struct {
    int status;
    const char *expected;
  } calls[] = {
      {pto_graph_builder_operation(b, "extreme", NULL, &n, 1, NULL, 0, results, 2), "did you mean \"extremes\"?"},
      {(pto_graph_builder_clear_error(b), pto_graph_builder_operation(b, "extremes", NULL, &n, 1, NULL, 0, results, 3)),
       NULL},
      {(pto_graph_builder_clear_error(b), pto_graph_builder_operation(b, "extremes", NULL, &n, 1, NULL, 0, results, 0)),
       NULL},
      {(pto_graph_builder_clear_error(b),
        pto_graph_builder_operation(b, "fusedProduct", NULL, &n, 1, twice, 2, results, 1)),
       "fusedProduct: alpha is set twice"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(calls); i++) assert_int_equal(calls[i].status, PTO_EINVAL);
  expect(pto_graph_builder_error(b), calls[3].expected);
  assert_int_equal(results[0].index, 0);
  pto_graph_builder_clear_error(b);
  /* One of the specification, by its name. */
  const struct pto_operation_number axis = {"axis", pto_number_i64(0)};
  assert_int_equal(pto_graph_builder_operation(b, "argMax", NULL, &n, 1, &axis, 1, results, 1), PTO_OK);
  assert_int_equal(pto_graph_builder_desc(b, results[0]).ndims, 0);
  pto_graph_builder_destroy(b);
}

static void test_what_is_not_whole_is_not_registered(void **state) {
  static const struct pto_operation_operand nameless = {0};
  static const struct pto_operation_operand ranked = {.name = "x", .min_rank = 3, .max_rank = 2};
  static const struct pto_operation_option label = {"label", 0}, twice[] = {{"t", 0}, {"t", 1}};
  struct pto_operation wrong[14];
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wrong); i++) {
    wrong[i] = fused_product;
    wrong[i].name = "another";
  }
  wrong[0].abi = PTO_OPERATION_ABI + 1;
  wrong[1].name = "";
  wrong[2].infer = NULL;
  wrong[3].lower = NULL;
  wrong[4].reference = NULL;
  wrong[5].operand_count = PTO_OPERATION_MOST + 1;
  wrong[6].result_count = 0;
  wrong[7].operands = &nameless;
  wrong[7].operand_count = 1;
  wrong[8].options = &label;
  wrong[8].option_count = 1;
  wrong[9].name = "softmax";
  wrong[10].operands = &ranked;
  wrong[10].operand_count = 1;
  wrong[11].options = twice;
  wrong[11].option_count = 2;
  wrong[12].name = "a b";
  wrong[13].name = "2nd";
  static const char *const expected[] = {
      "an operation has the interface 3, and this library 2",
      "an operation has no name of letters, digits and _",
      "operation \"another\" has no function `infer`",
      "operation \"another\" has no function `lower`",
      "operation \"another\" has no function `reference`",
      "operation \"another\" has 9 operands, not 1 to 8",
      "operation \"another\" has 0 results, not 1 to 4",
      "operation \"another\": operand 0 has no name of letters, digits and _",
      "operation \"another\": option 0 has no name of its own, of letters, digits and _",
      "there is an operation \"softmax\" already, the specification's",
      "operation \"another\": operand 0 has ranks 3 to 2, not of 0 to 8",
      "operation \"another\": option 1 has no name of its own, of letters, digits and _",
      "an operation has no name of letters, digits and _",
      "an operation has no name of letters, digits and _"};
  const uint32_t count = pto_graph_operation_count();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wrong); i++) {
    assert_int_equal(pto_operation_register(&wrong[i], sentence, sizeof sentence), PTO_EINVAL);
    assert_string_equal(sentence, expected[i]);
  }
  struct pto_operation second = fused_product;
  assert_int_equal(pto_operation_register(&second, sentence, sizeof sentence), PTO_EINVAL);
  assert_string_equal(sentence, "there is an operation \"fusedProduct\" already");
  assert_int_equal(pto_operation_register(NULL, NULL, 0), PTO_EINVAL);
  assert_int_equal(pto_graph_operation_count(), count);
  assert_string_equal(pto_graph_operation_name(99), "fusedProduct");
  struct pto_graph_limit limits[2];
  assert_int_equal(pto_graph_operation_limits(NULL, "fusedProduct", limits, 2), 2);
  assert_string_equal(limits[1].name, "b");
  assert_int_equal(limits[0].dtypes, PTO_DTYPE_BIT(PTO_FLOAT32));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_builder_and_files_call_it_and_every_engine_runs_it),
      cmocka_unit_test(test_both_forms_of_files_keep_it),
      cmocka_unit_test(test_options_that_are_not_given_have_their_defaults),
      cmocka_unit_test(test_a_dispatch_that_its_lowering_gives_up_says_so),
      cmocka_unit_test(test_calls_are_refused_as_those_of_the_specification),
      cmocka_unit_test(test_what_is_not_whole_is_not_registered),
  };
  return cmocka_run_group_tests(tests, set_up, test_folder_close);
}
