/* SPDX-License-Identifier: MIT */
/* Graphs with open sizes: what does not fit is refused by name and value. */
#include <tests/graph/open_templates.h>

static void expect(const char *got, const char *expected) {
  if (!strstr(got, expected)) fail_msg("\"%s\" does not say \"%s\"", got, expected);
}

static void test_values_that_do_not_fit_are_refused_by_name(void **state) {
  static const struct {
    struct pto_graph_size sizes[3];
    uint32_t count;
    const char *expected;
  } cases[] = {
      {{{"batch", 2}}, 1, "size \"length\" is not given; it is 1 to 6"},
      {{{"batch", 2}, {"length", 7}}, 2, "size \"length\" is 7, not 1 to 6"},
      {{{"batch", 0}, {"length", 6}}, 2, "size \"batch\" is 0, not 1 to 4"},
      {{{"batch", 2}, {"length", 6}, {"batch", 2}}, 3, "size \"batch\" is given twice"},
      {{{"batch", 2}, {"length", 6}, {"width", 2}}, 3, "the graph has no size \"width\""},
      {{{"batch", 2}, {"length", 6}, {"rows", 12}},
       3,
       "size \"rows\" is not given: a reshape decides it, or no output needs it"},
      {{{NULL, 2}}, 1, "the graph has no size \"\""},
  };
  struct pto_graph *open = load(&templates[1], NULL), *bound = NULL;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    assert_int_equal(pto_graph_bind(open, cases[i].sizes, cases[i].count, &bound, sentence, sizeof sentence),
                     PTO_EINVAL);
    expect(sentence, cases[i].expected);
    assert_null(bound);
  }
  pto_graph_destroy(open);
  /* A call that is right with the largest values alone. */
  const struct template odd = {
      HEAD "inputs { x: f32[$0,4]; } nodes { r = reshape(x, newShape=[8,2]); y = abs(r); } outputs { y; } }",
      {{"n", 4}},
      1,
      1,
      {{0}}};
  open = load(&odd, NULL);
  assert_int_equal(pto_graph_bind(open, &(struct pto_graph_size){"n", 3}, 1, &bound, sentence, sizeof sentence),
                   PTO_EINVAL);
  assert_string_equal(sentence, "reshape \"r\": input of shape [3, 4] has another number of elements than newShape "
                                "[8, 2] (with n = 3)");
  pto_graph_destroy(open);
}

static void test_tensors_that_do_not_fit_are_refused_by_name(void **state) {
  struct pto_context *context = open_context("threads");
  struct pto_graph *open = load(&templates[1], NULL);
  const struct pto_device_tensor_desc descs[] = {
      {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {2, 5, 4}}, {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {1, 3, 1}},
      {.dtype = PTO_FLOAT32, .ndims = 2, .shape = {2, 20}},   {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {5, 5, 4}},
      {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {1, 5, 1}}, {.dtype = PTO_FLOAT32, .ndims = 3, .shape = {2, 5, 8}}};
  enum { X, SHORT_MASK, FLAT, LARGE, MASK, WIDE, TENSORS };
  struct pto_device_tensor tensors[TENSORS];
  for (uint32_t i = 0; i < TENSORS; i++)
    assert_int_equal(pto_device_tensor_create_host(context, &descs[i], &tensors[i]), PTO_OK);
  static const struct {
    uint32_t x, mask, count;
    const char *expected;
  } cases[] = {
      {X, SHORT_MASK, 2, "dispatch: size \"length\" is 5 in input \"x\" and 3 in input \"mask\""},
      {FLAT, MASK, 2, "dispatch: input \"x\" has 3 dimensions, and 2 are bound to it"},
      {LARGE, MASK, 2, "dispatch: size \"batch\" is 5, not 1 to 4"},
      {WIDE, MASK, 2, "x"}, /* of the plain graph */
      {X, MASK, 1, "mask"}, /* of the plain graph */
      {X, MASK, 0, "dispatch: size \"batch\" is not known, as nothing is bound to input \"x\""},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    const struct pto_binding inputs[] = {{"x", tensors[cases[i].x]}, {"mask", tensors[cases[i].mask]}};
    const struct pto_dispatch_bindings bindings = {.inputs = inputs, .input_count = cases[i].count};
    assert_int_equal(pto_graph_dispatch(open, context, &bindings), PTO_EINVAL);
    expect(pto_context_error(context), cases[i].expected);
  }
  /* Bytes tell one size of an input, once another input has told the other. */
  float data[40] = {0}, wide[20], y[30];
  const struct pto_argument made[] = {{.name = "x", .data = data, .size_bytes = sizeof data},
                                      {.name = "mask", .tensor = tensors[MASK]}};
  struct pto_argument outputs[] = {{.name = "y", .data = y, .size_bytes = sizeof y},
                                   {.name = "wide", .data = wide, .size_bytes = sizeof wide}};
  struct pto_call call = {.size = sizeof call, .inputs = made, .outputs = outputs, .input_count = 2, .output_count = 2};
  if (pto_graph_call(open, context, &call)) fail_msg("%s", pto_context_error(context));
  call.input_count = 1;
  assert_int_equal(pto_graph_call(open, context, &call), PTO_EINVAL);
  expect(pto_context_error(context), "call: size \"batch\" cannot be told from the 160 bytes of input \"x\"");
  const struct pto_binding stale = {"x", {77, 78}};
  assert_int_equal(
      pto_graph_dispatch(open, context, &(struct pto_dispatch_bindings){.inputs = &stale, .input_count = 1}),
      PTO_ESTALE);
  pto_graph_destroy(open);
  pto_context_destroy(context);
}

static void test_sizes_that_cannot_be_are_refused_where_they_stand(void **state) {
  static const struct {
    const char *text, *expected;
  } cases[] = {
      {"inputs { x: f32[dyn(\"n\", 8),dyn(\"n\", 4)]; } nodes { y = abs(x); } outputs { y; } }",
       "column 31: \"x\": set_size: size \"n\" is at most 8 at one place and 4 at another"},
      {"inputs { x: f32[4]; } nodes { y = expand(x, newShape=[dyn(\"n\", 8),4]); } outputs { y; } }",
       "build: size \"n\" is in no input's shape, and does not follow from a reshape"},
      {"inputs { x: f32[6]; } nodes { y = reshape(x, newShape=[dyn(\"n\", 2),dyn(\"m\", 3)]); } outputs { y; } }",
       "build: size \"m\" is in no input's shape, and its reshape has another such size"},
      {"inputs { x: f32[dyn(\"n\", 8),8]; } nodes { y = reshape(x, newShape=[dyn(\"s\", 8),dyn(\"s\", 8)]); } "
       "outputs { y; } }",
       "build: size \"s\" is in no input's shape, and stands twice in its reshape"},
      {"inputs { x: f32[4]; } nodes { y = softmax(x, axis=dyn(\"n\", 0)); } outputs { y; } }",
       "set_size: option axis of softmax has no sizes"},
      {"inputs { x: f32[4]; } nodes { y = abs(x, label=dyn(\"n\", 1)); } outputs { y; } }", "label is 1, not a text"},
      {"inputs { x: f32[4]; } consts { c: f32[dyn(\"n\", 8)] @scalar(1); } nodes { y = abs(x); } outputs { y; } }",
       "\"c\": size 0 has a name (n), and is a number only later: it has to be one now"},
      {"inputs { x: f32[dyn(\"n\", 0)]; } nodes { y = abs(x); } outputs { y; } }", "dimension 0 of [0]"},
      {"inputs { x: f32[dyn(\"\", 2)]; } nodes { y = abs(x); } outputs { y; } }", "set_size: the name is empty"},
      {"inputs { x: f32[dyn(\"n\")]; } nodes { y = abs(x); } outputs { y; } }", "\",\" is expected"},
      {"inputs { x: f32[dyn(\"n\", 4)]; } nodes { y = matmul(x, x); } outputs { y; } }", "matmul"},
      {"inputs { x: f32[4]; } nodes { y = slice(x, starts=[dyn(\"n\", 0)], sizes=[4]); } outputs { y; } }",
       "set_size: size \"n\" is at most 0"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    struct pto_graph *graph = NULL;
    char text[1024];
    snprintf(text, sizeof text, HEAD "%s", cases[i].text);
    assert_int_equal(try_load(text, &graph), PTO_EINVAL);
    expect(sentence, cases[i].expected);
  }
}

static void test_calls_of_the_builder_name_places(void **state) {
  struct pto_graph_builder *b = NULL;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &(struct pto_graph_desc){PTO_FLOAT32, 2, {8, 4}});
  const struct pto_new_shape_options shape = {.new_shape = PTO_U32_LIST(8, 2, 2)};
  const struct pto_graph_operand r = pto_graph_builder_reshape(b, x, &shape);
  const struct {
    struct pto_graph_operand operand;
    const char *attribute;
    uint32_t item;
    const char *name, *expected;
  } wrong[] = {
      {x, NULL, 2, "n", "set_size: input \"x\" has 2 dimensions, and none is 2"},
      {r, NULL, 0, "n", "set_size: the operand is no input: shapes of others follow from inputs"},
      {x, "newShape", 0, "n", "set_size: the operand is no result, and has no \"newShape\""},
      {r, "axes", 0, "n", "set_size: reshape has no option \"axes\""},
      {r, "newShape", 3, "n", "set_size: newShape of reshape has 3 items, and no item 3"},
      {x, NULL, 0, NULL, "set_size: the name is empty"},
      {x, NULL, 0, "\xff", "is no UTF-8"},
      {{0, 0}, NULL, 0, "n", "set_size: the operand is missing"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(wrong); i++) {
    assert_int_equal(pto_graph_builder_set_size(b, wrong[i].operand, wrong[i].attribute, wrong[i].item, wrong[i].name),
                     PTO_EINVAL);
    expect(pto_graph_builder_error(b), wrong[i].expected);
    pto_graph_builder_clear_error(b);
  }
  assert_int_equal(pto_graph_builder_set_size(b, x, NULL, 0, "n"), PTO_OK);
  assert_int_equal(pto_graph_builder_set_size(b, r, "newShape", 0, "n"), PTO_OK);
  assert_int_equal(pto_graph_builder_set_size(b, x, NULL, 1, "n"), PTO_EINVAL); /* 4, not 8 */
  pto_graph_builder_clear_error(b);
  struct pto_graph *graph = NULL, *bound = NULL;
  const struct pto_graph_output output = {"y", r};
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_OK);
  assert_int_equal(pto_graph_bind(graph, &(struct pto_graph_size){"n", 5}, 1, &bound, NULL, 0), PTO_OK);
  assert_int_equal(pto_graph_output_at(bound, 0)->shape[0], 5);
  assert_int_equal(pto_graph_output_at(graph, 0)->shape[0], 8);
  pto_graph_destroy(bound);
  pto_graph_destroy(graph);
  pto_graph_builder_destroy(b);
}

static void test_a_place_has_one_size(void **state) {
  struct pto_graph_builder *b = NULL;
  struct pto_graph *graph = NULL;
  assert_int_equal(pto_graph_builder_create(NULL, &b), PTO_OK);
  const struct pto_graph_operand x = pto_graph_builder_input(b, "x", &(struct pto_graph_desc){PTO_FLOAT32, 1, {8}});
  const struct pto_graph_output output = {"y", pto_graph_builder_abs(b, x, NULL)};
  assert_int_equal(pto_graph_builder_set_size(b, x, NULL, 0, "n"), PTO_OK);
  assert_int_equal(pto_graph_builder_set_size(b, x, NULL, 0, "m"), PTO_OK);
  assert_int_equal(pto_graph_builder_build(b, &output, 1, &graph), PTO_EINVAL);
  expect(pto_graph_builder_error(b), "build: one place has two sizes, \"n\" and \"m\"");
  pto_graph_builder_destroy(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_that_do_not_fit_are_refused_by_name),
      cmocka_unit_test(test_tensors_that_do_not_fit_are_refused_by_name),
      cmocka_unit_test(test_sizes_that_cannot_be_are_refused_where_they_stand),
      cmocka_unit_test(test_calls_of_the_builder_name_places),
      cmocka_unit_test(test_a_place_has_one_size),
  };
  return cmocka_run_group_tests(tests, test_folder_open, test_folder_close);
}
