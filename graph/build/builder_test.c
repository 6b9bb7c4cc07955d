/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <graph/build/builder_state.h>
#include <tests/support/failing_malloc.h>

/* ---- small graphs ---- */

static struct pto_graph_builder *new_builder(void) {
  struct pto_graph_builder *builder = NULL;
  assert_int_equal(pto_graph_builder_create(NULL, &builder), PTO_OK);
  return builder;
}
static const struct pto_graph_desc matrix = {PTO_FLOAT32, 2, {2, 3}};
static struct pto_graph_operand input(struct pto_graph_builder *builder, const char *name) {
  return pto_graph_builder_input(builder, name, &matrix);
}
static bool is_none(struct pto_graph_operand operand) { return operand.index == 0; }

/* The builder is in error, of this status, and its sentence has this text. */
static void expect_error(struct pto_graph_builder *builder, int status, const char *text) {
  assert_int_equal(pto_graph_builder_status(builder), status);
  if (!strstr(pto_graph_builder_error(builder), text)) fail_msg("%s", pto_graph_builder_error(builder));
  pto_graph_builder_clear_error(builder);
}

/* ---- errors ---- */

static void test_the_first_refusal_stays_and_later_calls_do_nothing(void **state) {
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_operand x = input(builder, "x");
  struct pto_softmax_options options = {.label = "attention", .axis = 2};
  struct pto_graph_operand refused = pto_graph_builder_softmax(builder, x, &options);
  assert_true(is_none(refused));
  uint32_t values = builder->value_count;
  assert_true(is_none(pto_graph_builder_relu(builder, x, NULL)));
  assert_true(is_none(pto_graph_builder_relu(builder, refused, NULL)));
  assert_true(is_none(input(builder, "y")));
  assert_int_equal(builder->value_count, values);
  struct pto_graph_output output = {"out", x};
  struct pto_graph *graph = NULL;
  assert_int_equal(pto_graph_builder_build(builder, &output, 1, &graph), PTO_EINVAL);
  assert_null(graph);
  assert_string_equal(pto_graph_builder_error(builder), "softmax \"attention\": axis 2 is not below the 2 dimensions");
  pto_graph_builder_clear_error(builder);
  assert_int_equal(pto_graph_builder_status(builder), PTO_OK);
  assert_false(is_none(pto_graph_builder_relu(builder, x, NULL)));
  pto_graph_builder_destroy(builder);
}

static void test_what_a_refused_call_returned_is_refused_as_an_option_too(void **state) {
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_operand x = input(builder, "x");
  struct pto_graph_operand refused = pto_graph_builder_matmul(builder, x, x, NULL);
  expect_error(builder, PTO_EINVAL, "matmul: inner sizes 3 and 2 differ");
  struct pto_gemm_options options = {.c = refused, .b_transpose = PTO_FLAG_YES};
  assert_true(is_none(pto_graph_builder_gemm(builder, x, x, &options)));
  expect_error(builder, PTO_EINVAL, "gemm: c comes from a call that was refused");
  options.c = (struct pto_graph_operand){0};
  assert_false(is_none(pto_graph_builder_gemm(builder, x, x, &options)));
  (void)pto_graph_builder_add(builder, x, options.c, NULL);
  expect_error(builder, PTO_EINVAL, "add: b is missing");
  pto_graph_builder_destroy(builder);
}

static void test_operands_of_another_builder_and_made_up_ones_are_refused(void **state) {
  struct pto_graph_builder *builder = new_builder(), *other = new_builder();
  struct pto_graph_operand x = input(builder, "x"), foreign = input(other, "x");
  (void)pto_graph_builder_add(builder, x, foreign, NULL);
  expect_error(builder, PTO_EINVAL, "add: b is of another builder");
  struct pto_graph_operand made_up = {17, x.builder};
  (void)pto_graph_builder_add(builder, made_up, x, NULL);
  expect_error(builder, PTO_EINVAL, "add: a is 17");
  struct pto_graph_output output = {"out", pto_graph_builder_relu(other, foreign, NULL)};
  struct pto_graph *graph = NULL;
  assert_int_equal(pto_graph_builder_build(builder, &output, 1, &graph), PTO_EINVAL);
  expect_error(builder, PTO_EINVAL, "build: output \"out\" is of another builder");
  assert_int_equal(pto_graph_builder_desc(builder, foreign).ndims, 0);
  assert_int_equal(pto_graph_builder_desc(builder, x).ndims, 2);
  pto_graph_builder_destroy(builder);
  pto_graph_builder_destroy(other);
}

static void test_labels_are_told_without_what_could_disturb_a_terminal(void **state) {
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_options options = {.label = "a\x1b[31m\xe2\x80\xaegnp.b"};
  (void)pto_graph_builder_logical_not(builder, input(builder, "x"), &options);
  expect_error(builder, PTO_EINVAL, "logicalNot \"a?[31m?gnp.b\": a is float32, not uint8");
  options.label = "\xff";
  (void)pto_graph_builder_relu(builder, input(builder, "y"), &options);
  expect_error(builder, PTO_EINVAL, "relu \"?\": the label is no UTF-8");
  pto_graph_builder_destroy(builder);
}

static void test_without_a_builder_calls_are_refused(void **state) {
  struct pto_graph_operand x = {1, 1};
  assert_true(is_none(pto_graph_builder_relu(NULL, x, NULL)));
  assert_true(is_none(pto_graph_builder_input(NULL, "x", &matrix)));
  assert_int_equal(pto_graph_builder_status(NULL), PTO_EINVAL);
  pto_graph_builder_destroy(NULL);
  pto_graph_destroy(NULL);
}

/* ---- inputs and constants ---- */

static void test_inputs_need_a_name_of_their_own_and_a_possible_descriptor(void **state) {
  static const struct {
    const char *name;
    struct pto_graph_desc desc;
    const char *sentence;
  } wrong[] = {
      {"", {PTO_FLOAT32, 1, {1}}, "input: the name is empty"},
      {NULL, {PTO_FLOAT32, 1, {1}}, "input: the name is empty"},
      {"x", {PTO_FLOAT32, 1, {1}}, "input: the name \"x\" is used twice"},
      {"y", {PTO_BFLOAT16, 1, {1}}, "input: data type bf16 is not supported"},
      {"y", {PTO_DTYPE_COUNT, 1, {1}}, "input: data type ? is not supported"},
      {"y", {PTO_FLOAT32, 2, {3, 0}}, "input: dimension 1 of [3, 0] is not within 1 to 4294967295"},
      {"y", {PTO_INT8, 1, {UINT64_C(1) << 32}}, "is not within 1 to 4294967295"},
      {"y", {PTO_FLOAT32, 9, {1}}, "input: 9 dimensions are more than 8"},
      {"y", {PTO_FLOAT32, 1, {536870911}}, "float32[536870911] has more bytes than the limit of 2147483643"},
      {"y", {PTO_FLOAT32, 3, {4294967295, 4294967295, 4294967295}}, "has more bytes than the limit"},
  };
  struct pto_graph_builder *builder = new_builder();
  assert_false(is_none(input(builder, "x")));
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_true(is_none(pto_graph_builder_input(builder, wrong[i].name, &wrong[i].desc)));
    expect_error(builder, PTO_EINVAL, wrong[i].sentence);
  }
  assert_true(is_none(pto_graph_builder_input(builder, "y", NULL)));
  expect_error(builder, PTO_EINVAL, "input: there is no descriptor");
  assert_int_equal(builder->input_count, 1);
  struct pto_graph_desc largest = {PTO_INT8, 1, {PTO_GRAPH_MAX_TENSOR_BYTES}};
  assert_false(is_none(pto_graph_builder_input(builder, "y", &largest)));
  largest = (struct pto_graph_desc){PTO_UINT4, 1, {4294967286}};
  assert_false(is_none(pto_graph_builder_input(builder, "z", &largest)));
  pto_graph_builder_destroy(builder);
}

static void test_constants_keep_a_copy_of_exactly_their_bytes(void **state) {
  struct pto_graph_builder *builder = new_builder();
  float data[6] = {1, 2, 3, 4, 5, 6};
  struct pto_graph_operand c = pto_graph_builder_constant(builder, &matrix, data, sizeof data);
  data[5] = -1;
  assert_float_equal(((const float *)builder->values[c.index].data)[5], 6, 0);
  assert_int_equal((uintptr_t)builder->values[c.index].data % 64, 0);
  (void)pto_graph_builder_constant(builder, &matrix, data, 20);
  expect_error(builder, PTO_EINVAL, "constant: float32[2, 3] has 24 bytes, and 20 are given");
  (void)pto_graph_builder_constant(builder, &matrix, NULL, 24);
  expect_error(builder, PTO_EINVAL, "at NULL");
  struct pto_graph_desc nibbles = {PTO_INT4, 1, {3}};
  assert_false(is_none(pto_graph_builder_constant(builder, &nibbles, data, 2)));
  (void)pto_graph_builder_constant_tensor(builder, (struct pto_device_tensor){1, 1});
  expect_error(builder, PTO_EINVAL, "constant: the builder has no context");
  pto_graph_builder_destroy(builder);
}

static void test_a_scalar_is_refused_where_its_dtype_cannot_hold_the_number(void **state) {
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_operand c = pto_graph_builder_scalar(builder, PTO_INT64, pto_number_i64(INT64_MIN));
  assert_int_equal(*(const int64_t *)builder->values[c.index].data, INT64_MIN);
  assert_int_equal(pto_graph_builder_desc(builder, c).ndims, 0);
  c = pto_graph_builder_scalar(builder, PTO_UINT64, pto_number_u64(UINT64_MAX));
  assert_true(*(const uint64_t *)builder->values[c.index].data == UINT64_MAX);
  c = pto_graph_builder_scalar(builder, PTO_FLOAT32, pto_number_f64(-INFINITY));
  assert_true(*(const float *)builder->values[c.index].data == -INFINITY);
  static const struct {
    uint32_t dtype;
    struct pto_number number;
  } wrong[] = {{PTO_INT8, {PTO_NUMBER_I64, {.i64 = 128}}},      {PTO_INT8, {PTO_NUMBER_I64, {.i64 = -129}}},
               {PTO_UINT8, {PTO_NUMBER_I64, {.i64 = -1}}},      {PTO_INT32, {PTO_NUMBER_F64, {.f64 = 1.5}}},
               {PTO_INT32, {PTO_NUMBER_F64, {.f64 = NAN}}},     {PTO_FLOAT16, {PTO_NUMBER_F64, {.f64 = 65520}}},
               {PTO_FLOAT32, {PTO_NUMBER_F64, {.f64 = 1e39}}},  {PTO_INT64, {PTO_NUMBER_U64, {.u64 = UINT64_MAX}}},
               {PTO_UINT64, {PTO_NUMBER_F64, {.f64 = 0x1p64}}}, {PTO_UINT4, {PTO_NUMBER_I64, {.i64 = 16}}},
               {PTO_FLOAT32, {PTO_NUMBER_ABSENT, {0}}}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_true(is_none(pto_graph_builder_scalar(builder, wrong[i].dtype, wrong[i].number)));
    expect_error(builder, PTO_EINVAL, "cannot hold");
  }
  pto_graph_builder_destroy(builder);
}

static void test_constants_of_a_context_are_its_constant_tensors_alone(void **state) {
  struct pto_context_options options = {.size = sizeof options, .memory_bytes = 1 << 20, .tensor_count = 8};
  options.acceleration = PTO_ACCELERATION_NO;
  struct pto_context *context = NULL;
  struct pto_graph_builder *builder = NULL;
  struct pto_device_tensor constant, plain;
  assert_int_equal(pto_context_create(&options, &context, NULL, 0), PTO_OK);
  struct pto_device_tensor_desc desc = {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {2, 3}};
  assert_int_equal(pto_device_tensor_create_constant(context, &desc, (float[6]){0}, 24, &constant), PTO_OK);
  assert_int_equal(pto_device_tensor_create(context, &desc, &plain), PTO_OK);
  assert_int_equal(pto_graph_builder_create(context, &builder), PTO_OK);
  struct pto_graph_operand c = pto_graph_builder_constant_tensor(builder, constant);
  assert_int_equal(pto_graph_builder_desc(builder, c).shape[1], 3);
  assert_true(builder->values[c.index].tensor.id == constant.id && !builder->values[c.index].data);
  (void)pto_graph_builder_constant_tensor(builder, plain);
  expect_error(builder, PTO_EINVAL, "constant: the tensor is no constant one");
  assert_int_equal(pto_device_tensor_destroy(context, constant), PTO_OK);
  (void)pto_graph_builder_constant_tensor(builder, constant);
  assert_int_equal(pto_graph_builder_status(builder), PTO_EINVAL);
  pto_graph_builder_destroy(builder);
  pto_context_destroy(context);
}

static void test_values_have_one_name_each_and_no_two_the_same(void **state) {
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_operand x = input(builder, "x"), y = pto_graph_builder_relu(builder, x, NULL);
  assert_int_equal(pto_graph_builder_set_name(builder, y, "x"), PTO_EINVAL);
  expect_error(builder, PTO_EINVAL, "set_name: the name \"x\" is used twice");
  assert_int_equal(pto_graph_builder_set_name(builder, x, "y"), PTO_EINVAL);
  expect_error(builder, PTO_EINVAL, "has a name already");
  assert_int_equal(pto_graph_builder_set_name(builder, y, "\xe2\x82"), PTO_EINVAL);
  expect_error(builder, PTO_EINVAL, "set_name: the name \"??\" is no UTF-8");
  assert_int_equal(pto_graph_builder_set_name(builder, y, "y"), PTO_OK);
  assert_true(is_none(input(builder, "y")));
  expect_error(builder, PTO_EINVAL, "input: the name \"y\" is used twice");
  pto_graph_builder_destroy(builder);
}

/* ---- nothing is left of a refused call ---- */

static void test_a_refused_call_allocates_nothing(void **state) {
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_operand x = input(builder, "x");
  struct pto_conv2d_options conv2d = {.label = "c", .padding = PTO_U32_LIST(1, 2, 3)};
  struct pto_split_options split = {.splits = PTO_U32_LIST(2), .axis = pto_number_i64(1)};
  struct pto_new_shape_options reshape = {.new_shape = PTO_U32_LIST(7)};
  struct pto_graph_desc image = {PTO_FLOAT32, 4, {1, 1, 4, 4}};
  struct pto_graph_operand i = pto_graph_builder_input(builder, "i", &image), parts[2];
  uint64_t used = builder->arena.used_bytes, allocations = allocation_count;
  int64_t live = live_blocks;
  uint32_t values = builder->value_count, nodes = builder->node_count;
  for (int round = 0; round < 4; round++) {
    if (round == 0) (void)pto_graph_builder_conv2d(builder, i, i, &conv2d);
    if (round == 1) (void)pto_graph_builder_reshape(builder, x, &reshape);
    if (round == 2) (void)pto_graph_builder_matmul(builder, x, x, NULL);
    if (round == 3) (void)pto_graph_builder_input(builder, "x", &matrix);
    assert_int_equal(pto_graph_builder_status(builder), PTO_EINVAL);
    pto_graph_builder_clear_error(builder);
  }
  assert_int_equal(allocation_count, allocations);
  assert_int_equal(pto_graph_builder_split(builder, x, &split, parts, 2), PTO_EINVAL);
  assert_true(is_none(parts[0]) && is_none(parts[1]) && parts[0].builder == x.builder);
  assert_int_equal(live_blocks, live);
  assert_int_equal(builder->arena.used_bytes, used);
  assert_int_equal(builder->value_count, values);
  assert_int_equal(builder->node_count, nodes);
  pto_graph_builder_destroy(builder);
}

/* ---- build ---- */

static void test_a_graph_has_what_its_outputs_need_in_order_and_every_input(void **state) {
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_operand unused = input(builder, "unused"), x = input(builder, "x");
  float data[6] = {0};
  struct pto_graph_operand dead_constant = pto_graph_builder_constant(builder, &matrix, data, sizeof data);
  struct pto_graph_operand constant = pto_graph_builder_constant(builder, &matrix, data, sizeof data);
  struct pto_graph_operand dead = pto_graph_builder_add(builder, x, dead_constant, NULL);
  struct pto_graph_operand sum = pto_graph_builder_add(builder, x, constant, NULL);
  (void)pto_graph_builder_relu(builder, dead, NULL);
  struct pto_split_options split = {.label = "halves", .splits = PTO_U32_LIST(1, 2), .axis = pto_number_i64(1)};
  struct pto_graph_operand parts[2];
  assert_int_equal(pto_graph_builder_split(builder, sum, &split, parts, 2), PTO_OK);
  struct pto_graph_operand out = pto_graph_builder_relu(builder, parts[1], NULL);
  (void)unused;
  struct pto_graph_output outputs[] = {{"out", out}, {"sum", sum}};
  struct pto_graph *graph = NULL;
  assert_int_equal(pto_graph_builder_build(builder, outputs, 2, &graph), PTO_OK);
  pto_graph_builder_destroy(builder);
  assert_int_equal(graph->node_count, 3);
  static const uint32_t ops[] = {PTO_GRAPH_OP_add, PTO_GRAPH_OP_split, PTO_GRAPH_OP_relu};
  for (uint32_t n = 0; n < 3; n++) {
    const struct pto_graph_node *node = &graph->nodes[n];
    assert_int_equal(node->op, ops[n]);
    for (uint32_t i = 0; i < node->operand_count; i++) assert_true(node->operands[i] < node->first_result);
    for (uint32_t i = 0; i < node->result_count; i++) {
      assert_int_equal(graph->values[node->first_result + i].producer, n + 1);
      assert_int_equal(graph->values[node->first_result + i].result_index, i);
    }
  }
  assert_int_equal(graph->value_count, 1 + 2 + 1 + 1 + 2 + 1);
  assert_int_equal(pto_graph_input_count(graph), 2);
  assert_string_equal(pto_graph_input(graph, 0)->name, "unused");
  assert_string_equal(pto_graph_input(graph, 1)->name, "x");
  assert_int_equal(pto_graph_output_count(graph), 2);
  assert_string_equal(pto_graph_output_at(graph, 0)->name, "out");
  assert_int_equal(pto_graph_output_at(graph, 0)->shape[1], 2);
  assert_null(pto_graph_output_at(graph, 2));
  assert_string_equal(graph->nodes[1].label, "halves");
  const struct pto_split_options *kept = graph->nodes[1].options;
  assert_int_equal(kept->splits.values[1], 2);
  const struct pto_graph_value *added = &graph->values[graph->nodes[0].operands[1]];
  assert_true(added->kind == PTO_VALUE_CONSTANT && added->data && added->size_bytes == 24);
  pto_graph_destroy(graph);
}

static void test_options_are_copied_with_their_lists(void **state) {
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_operand x = input(builder, "x");
  char label[] = "turn";
  uint32_t order[] = {1, 0};
  struct pto_transpose_options options = {.label = label, .permutation = {order, 2}};
  (void)pto_graph_builder_transpose(builder, x, &options);
  order[0] = 9;
  label[0] = 'b';
  const struct pto_transpose_options *kept = builder->nodes[0].options;
  assert_int_equal(kept->permutation.values[0], 1);
  assert_string_equal(builder->nodes[0].label, "turn");
  struct pto_reduce_options none_at_all = {.axes = {order, 0}};
  (void)pto_graph_builder_reduce_sum(builder, x, &none_at_all);
  (void)pto_graph_builder_reduce_sum(builder, x, NULL);
  /* An empty list is not an absent one. */
  assert_non_null(((const struct pto_reduce_options *)builder->nodes[1].options)->axes.values);
  assert_null(((const struct pto_reduce_options *)builder->nodes[2].options)->axes.values);
  assert_int_equal(builder->values[builder->nodes[1].first_result].desc.ndims, 2);
  assert_int_equal(builder->values[builder->nodes[2].first_result].desc.ndims, 0);
  pto_graph_builder_destroy(builder);
}

static void test_whole_numbers_of_options_are_kept_as_such_however_they_were_given(void **state) {
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_operand x = input(builder, "x");
  const struct pto_number given[] = {pto_number_f64(1), pto_number_u64(1), pto_number_i64(1)};
  for (uint32_t i = 0; i < 3; i++) {
    struct pto_split_options split = {.splits = PTO_U32_LIST(3), .axis = given[i]};
    struct pto_triangular_options triangular = {.diagonal = given[i]};
    struct pto_graph_operand parts[3];
    assert_int_equal(pto_graph_builder_split(builder, x, &split, parts, 3), PTO_OK);
    assert_false(is_none(pto_graph_builder_triangular(builder, x, &triangular)));
    const struct pto_split_options *kept = builder->nodes[2 * i].options;
    const struct pto_triangular_options *other = builder->nodes[2 * i + 1].options;
    assert_true(kept->axis.kind == PTO_NUMBER_I64 && kept->axis.value.i64 == 1);
    assert_true(other->diagonal.kind == PTO_NUMBER_I64 && other->diagonal.value.i64 == 1);
  }
  pto_graph_builder_destroy(builder);
}

static void test_build_refuses_what_is_no_output_and_changes_nothing(void **state) {
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_operand x = input(builder, "x"), y = pto_graph_builder_relu(builder, x, NULL);
  struct pto_graph_operand c = pto_graph_builder_scalar(builder, PTO_INT8, pto_number_i64(1));
  const struct {
    struct pto_graph_output outputs[2];
    uint32_t count;
    const char *sentence;
  } wrong[] = {{{{NULL, y}}, 0, "build: there are no outputs"},
               {{{"", y}}, 1, "build: the name of output 0 is empty"},
               {{{"y", y}, {NULL, y}}, 2, "build: the name of output 1 is empty"},
               {{{"y", y}, {"y", y}}, 2, "build: the name \"y\" is used twice"},
               {{{"\xff", y}}, 1, "build: the name \"?\" is no UTF-8"},
               {{{"y", x}}, 1, "build: output \"y\" is an input"},
               {{{"y", c}}, 1, "build: output \"y\" is a constant"},
               {{{"y", {0, 0}}}, 1, "build: output \"y\" is missing"}};
  struct pto_graph *graph = NULL;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_int_equal(pto_graph_builder_build(builder, wrong[i].outputs, wrong[i].count, &graph), PTO_EINVAL);
    assert_null(graph);
    expect_error(builder, PTO_EINVAL, wrong[i].sentence);
  }
  /* One value may be two outputs. */
  struct pto_graph_output outputs[] = {{"y", y}, {"again", y}};
  assert_int_equal(pto_graph_builder_build(builder, outputs, 2, &graph), PTO_OK);
  assert_int_equal(graph->outputs[0], graph->outputs[1]);
  struct pto_graph *second = NULL;
  assert_int_equal(pto_graph_builder_build(builder, outputs, 2, &second), PTO_ESTALE);
  expect_error(builder, PTO_ESTALE, "build: the builder has built its graph");
  assert_true(is_none(pto_graph_builder_relu(builder, x, NULL)));
  expect_error(builder, PTO_ESTALE, "relu: the builder has built its graph");
  pto_graph_builder_destroy(builder);
  pto_graph_destroy(graph);
}

/* ---- memory that runs out ---- */

/* All calls of a small model; the status of the first that failed. */
static int build_model(struct pto_graph **graph_out) {
  struct pto_graph_builder *builder = NULL;
  int status = pto_graph_builder_create(NULL, &builder);
  if (status) return status;
  float data[6] = {0};
  struct pto_graph_operand x = input(builder, "x");
  struct pto_graph_operand c = pto_graph_builder_constant(builder, &matrix, data, sizeof data);
  (void)pto_graph_builder_set_name(builder, c, "weights");
  struct pto_graph_options label = {"sum"};
  struct pto_graph_operand y = pto_graph_builder_add(builder, x, c, &label), parts[3];
  for (int i = 0; i < 40; i++) y = pto_graph_builder_relu(builder, y, NULL);
  struct pto_split_options split = {.splits = PTO_U32_LIST(3), .axis = pto_number_i64(1)};
  (void)pto_graph_builder_split(builder, y, &split, parts, 3);
  struct pto_concat_options concat = {.axis = 0};
  y = pto_graph_builder_concat(builder, parts, 3, &concat);
  struct pto_graph_output output = {"y", y};
  status = pto_graph_builder_build(builder, &output, 1, graph_out);
  if (status) assert_int_equal(pto_graph_builder_status(builder), status);
  pto_graph_builder_destroy(builder);
  return status;
}

static void test_each_allocation_that_fails_is_an_error_and_leaks_nothing(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  int64_t live = live_blocks;
  uint32_t failures = 0;
  for (bool is_done = false; !is_done; failures++) {
    struct pto_graph *graph = NULL;
    fail_countdown = failures + 1;
    int status = build_model(&graph);
    is_done = fail_countdown != 0; /* it was never reached */
    fail_countdown = 0;
    assert_int_equal(status, is_done ? PTO_OK : PTO_ENOMEM);
    assert_true(is_done == (graph != NULL));
    pto_graph_destroy(graph);
    assert_int_equal(live_blocks, live);
  }
  assert_true(failures > 10);
}

static void test_a_call_that_runs_out_of_memory_half_way_leaves_the_builder_as_it_was(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  static uint32_t sizes[1000];
  struct pto_graph_builder *builder = new_builder();
  struct pto_graph_operand x = input(builder, "x");
  struct pto_graph_options first = {"first"}; /* so that there is room for nodes */
  assert_false(is_none(pto_graph_builder_relu(builder, x, &first)));
  /* The label fits the block that there is, the list does not. */
  struct pto_graph_desc many = {PTO_FLOAT32, 1, {1000}};
  for (uint32_t i = 0; i < 1000; i++) sizes[i] = 1;
  struct pto_split_options split = {.label = "parts", .splits = {sizes, 1000}, .has_sizes = PTO_FLAG_YES};
  struct pto_graph_operand y = pto_graph_builder_input(builder, "y", &many);
  static struct pto_graph_operand parts[1000];
  for (uint32_t i = 0; i < 1000; i++) parts[i] = x;
  struct pto_graph_call call = {PTO_GRAPH_OP_split, &y, 1, &split, 0};
  uint64_t used = builder->arena.used_bytes;
  uint32_t count = 0, failures = 0;
  for (bool is_done = false; !is_done; failures++) {
    fail_countdown = failures + 1;
    int status = pto_graph_builder_call(builder, &call, parts, 1000, &count);
    is_done = fail_countdown != 0;
    fail_countdown = 0;
    assert_int_equal(status, is_done ? PTO_OK : PTO_ENOMEM);
    if (is_done) break;
    assert_int_equal(builder->arena.used_bytes, used);
    assert_int_equal(builder->node_count, 1);
    pto_graph_builder_clear_error(builder);
  }
  assert_true(failures > 2 && count == 1000);
  pto_graph_builder_destroy(builder);
}

static void test_a_builder_holds_many_operands_and_names(void **state) {
  struct pto_graph_builder *builder = new_builder();
  char name[32];
  struct pto_graph_operand sum = input(builder, "first");
  for (uint32_t i = 0; i < 5000; i++) {
    snprintf(name, sizeof name, "input %u", i);
    sum = pto_graph_builder_add(builder, sum, input(builder, name), NULL);
  }
  struct pto_graph_output output = {"sum", sum};
  struct pto_graph *graph = NULL;
  assert_int_equal(pto_graph_builder_build(builder, &output, 1, &graph), PTO_OK);
  assert_int_equal(graph->node_count, 5000);
  assert_int_equal(graph->input_count, 5001);
  assert_string_equal(graph->values[graph->inputs[4999]].name, "input 4998");
  pto_graph_builder_destroy(builder);
  pto_graph_destroy(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_first_refusal_stays_and_later_calls_do_nothing),
      cmocka_unit_test(test_what_a_refused_call_returned_is_refused_as_an_option_too),
      cmocka_unit_test(test_operands_of_another_builder_and_made_up_ones_are_refused),
      cmocka_unit_test(test_labels_are_told_without_what_could_disturb_a_terminal),
      cmocka_unit_test(test_without_a_builder_calls_are_refused),
      cmocka_unit_test(test_inputs_need_a_name_of_their_own_and_a_possible_descriptor),
      cmocka_unit_test(test_constants_keep_a_copy_of_exactly_their_bytes),
      cmocka_unit_test(test_a_scalar_is_refused_where_its_dtype_cannot_hold_the_number),
      cmocka_unit_test(test_constants_of_a_context_are_its_constant_tensors_alone),
      cmocka_unit_test(test_values_have_one_name_each_and_no_two_the_same),
      cmocka_unit_test(test_a_refused_call_allocates_nothing),
      cmocka_unit_test(test_a_graph_has_what_its_outputs_need_in_order_and_every_input),
      cmocka_unit_test(test_options_are_copied_with_their_lists),
      cmocka_unit_test(test_whole_numbers_of_options_are_kept_as_such_however_they_were_given),
      cmocka_unit_test(test_build_refuses_what_is_no_output_and_changes_nothing),
      cmocka_unit_test(test_each_allocation_that_fails_is_an_error_and_leaks_nothing),
      cmocka_unit_test(test_a_call_that_runs_out_of_memory_half_way_leaves_the_builder_as_it_was),
      cmocka_unit_test(test_a_builder_holds_many_operands_and_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
