/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include <graph/build/op_attributes.h>
#include <tests/support/failing_malloc.h>

typedef struct pto_attribute_value value;
static value integer(int64_t x) { return (value){.as.number = pto_number_i64(x)}; }
static value real(double x) { return (value){.as.number = pto_number_f64(x)}; }
static value truth(bool x) { return (value){.kind = PTO_VALUE_BOOL, .as.truth = x}; }
static value word(const char *x) { return (value){.kind = PTO_VALUE_WORD, .as.word = x}; }
static value list(const value *items, uint32_t count) {
  return (value){.kind = PTO_VALUE_LIST, .as.list = {items, count}};
}

static struct pto_op_attributes attributes;
static struct pto_error error;

static void begin(uint32_t op) {
  pto_op_attributes_init(&attributes, op);
  pto_error_clear(&error);
}
static void end(void) { pto_op_attributes_fini(&attributes); }
static void set(const char *name, value x) {
  if (pto_op_attributes_set(&attributes, name, &x, &error)) fail_msg("%s", error.sentence);
}
static void refuse(const char *name, value x, const char *sentence) {
  assert_int_equal(pto_op_attributes_set(&attributes, name, &x, &error), PTO_EINVAL);
  if (!strstr(error.sentence, sentence)) fail_msg("%s", error.sentence);
}

static void test_values_of_each_kind_arrive_in_the_struct(void **state) {
  const struct pto_conv2d_options *conv2d = (const void *)attributes.options;
  const value four[] = {integer(1), real(2), integer(3), integer(4294967295)};
  begin(PTO_GRAPH_OP_conv2d);
  set("padding", list(four, 4));
  set("groups", real(2));
  set("inputLayout", word("nhwc"));
  set("filterLayout", word("ihwo"));
  set("label", word("stem"));
  assert_int_equal(pto_op_attributes_finish(&attributes, &error), PTO_OK);
  assert_int_equal(conv2d->padding.values[1], 2);
  assert_true(conv2d->padding.values[3] == 4294967295);
  assert_true(conv2d->groups.kind == PTO_NUMBER_I64 && conv2d->groups.value.i64 == 2);
  assert_int_equal(conv2d->input_layout, PTO_LAYOUT_NHWC);
  assert_int_equal(conv2d->filter_layout, PTO_CONV2D_IHWO);
  assert_string_equal(conv2d->label, "stem");
  assert_null(conv2d->strides.values);
  end();
  const struct pto_gru_options *gru = (const void *)attributes.options;
  const value functions[] = {word("tanh"), word("relu")};
  begin(PTO_GRAPH_OP_gru);
  set("steps", integer(3));
  set("hiddenSize", integer(4));
  set("resetAfter", truth(false));
  set("returnSequence", truth(true));
  set("direction", word("both"));
  set("activations", list(functions, 2));
  assert_int_equal(gru->hidden_size, 4);
  assert_int_equal(gru->reset_after, PTO_FLAG_NO);
  assert_int_equal(gru->return_sequence, PTO_FLAG_YES);
  assert_int_equal(gru->activations.values[1], PTO_ACTIVATION_RELU);
  end();
  const struct pto_resample2d_options *resample = (const void *)attributes.options;
  const value scales[] = {integer(2), real(0.1)};
  begin(PTO_GRAPH_OP_resample2d);
  set("scales", list(scales, 2));
  set("mode", word("linear"));
  assert_true(resample->scales.values[0] == 2.0f && resample->scales.values[1] == 0.1f);
  assert_int_equal(resample->mode, PTO_INTERPOLATION_LINEAR);
  end();
}

static void test_old_names_mean_the_new_ones_and_neither_is_set_twice(void **state) {
  begin(PTO_GRAPH_OP_max_pool2d);
  set("roundingType", word("ceil"));
  assert_int_equal(((const struct pto_pool2d_options *)(const void *)attributes.options)->output_shape_rounding,
                   PTO_ROUNDING_CEIL);
  refuse("outputShapeRounding", word("floor"), "outputShapeRounding is set twice");
  set("label", word("a"));
  refuse("label", word("b"), "label is set twice");
  end();
  begin(PTO_GRAPH_OP_cast);
  set("type", word("uint64"));
  assert_int_equal(((const struct pto_cast_options *)(const void *)attributes.options)->data_type, PTO_UINT64);
  refuse("dataType", word("int8"), "dataType is set twice");
  end();
}

static void test_splits_are_a_number_of_parts_or_a_list_of_sizes(void **state) {
  const struct pto_split_options *options = (const void *)attributes.options;
  const value one[] = {integer(6)};
  begin(PTO_GRAPH_OP_split);
  set("splits", integer(6));
  assert_true(options->splits.count == 1 && options->splits.values[0] == 6);
  assert_int_equal(options->has_sizes, PTO_FLAG_NO);
  end();
  begin(PTO_GRAPH_OP_split);
  set("splits", list(one, 1));
  assert_true(options->splits.count == 1 && options->splits.values[0] == 6);
  assert_int_equal(options->has_sizes, PTO_FLAG_YES);
  end();
}

static void test_the_data_type_of_an_argument_may_be_absent(void **state) {
  const struct pto_arg_reduce_options *options = (const void *)attributes.options;
  begin(PTO_GRAPH_OP_arg_max);
  set("axis", integer(0));
  assert_int_equal(pto_op_attributes_finish(&attributes, &error), PTO_OK);
  assert_int_equal(options->output_data_type.kind, PTO_NUMBER_ABSENT);
  set("outputDataType", word("float32"));
  assert_true(options->output_data_type.kind == PTO_NUMBER_I64 && options->output_data_type.value.i64 == PTO_FLOAT32);
  end();
}

static void test_a_softmax_without_an_axis_is_along_the_last(void **state) {
  struct pto_softmax_options kept[PTO_OPTIONS_BYTES / sizeof(struct pto_softmax_options)];
  begin(PTO_GRAPH_OP_softmax);
  assert_int_equal(pto_op_attributes_finish(&attributes, &error), PTO_OK);
  pto_op_options_normalise(PTO_GRAPH_OP_softmax, attributes.options, 4, kept);
  assert_int_equal(kept[0].axis, 3);
  assert_int_equal(kept[0].is_last, PTO_FLAG_DEFAULT);
  end();
  begin(PTO_GRAPH_OP_softmax);
  set("axis", integer(0));
  assert_int_equal(pto_op_attributes_finish(&attributes, &error), PTO_OK);
  pto_op_options_normalise(PTO_GRAPH_OP_softmax, attributes.options, 4, kept);
  assert_int_equal(kept[0].axis, 0);
  end();
}

static void test_what_is_out_of_range_or_of_another_kind_is_refused(void **state) {
  const value minus[] = {integer(1), integer(-1)}, fraction[] = {real(0.5)}, huge[] = {real(1e39)},
              nested[] = {list(minus, 2)};
  begin(PTO_GRAPH_OP_slice);
  refuse("starts", list(minus, 2), "starts[1] is -1, not a whole number of 0 to 4294967295");
  refuse("starts", list(fraction, 1), "starts[0] is 0.5, not a whole number");
  refuse("starts", list(nested, 1), "starts[0] is a list of 2");
  refuse("starts", integer(1), "starts is 1, not a list");
  end();
  begin(PTO_GRAPH_OP_softmax);
  refuse("axis", integer(INT64_C(1) << 32), "axis is 4294967296, not a whole number");
  refuse("axis", (value){.as.number = pto_number_u64(UINT64_MAX)}, "axis is 18446744073709551615");
  refuse("axis", real(NAN), "axis is nan");
  refuse("axis", real(-INFINITY), "axis is -inf");
  refuse("axis", word("1"), "axis is \"1\"");
  refuse("label", integer(1), "label is 1, not a text");
  end();
  begin(PTO_GRAPH_OP_triangular);
  refuse("diagonal", integer(INT64_C(1) << 31), "diagonal is 2147483648, not a whole number of -2147483648 to");
  set("diagonal", integer(INT32_MIN));
  refuse("upper", integer(1), "upper is 1, not true or false");
  end();
  begin(PTO_GRAPH_OP_elu);
  refuse("alpha", real(INFINITY), "alpha is inf, not a finite number");
  refuse("alpha", truth(true), "alpha is true, not a number");
  end();
  begin(PTO_GRAPH_OP_resample2d);
  refuse("scales", list(huge, 1), "not a number of float32");
  refuse("mode", word("cubic"), "mode is \"cubic\", not one of nearest-neighbor, linear");
  end();
  begin(PTO_GRAPH_OP_cast);
  refuse("dataType", word("f32"), "dataType is \"f32\", not a data type");
  end();
}

static void test_numbers_that_may_be_anything_keep_all_their_bits(void **state) {
  const struct pto_pad_options *options = (const void *)attributes.options;
  begin(PTO_GRAPH_OP_pad);
  set("value", (value){.as.number = pto_number_u64(UINT64_MAX)});
  assert_true(options->value.kind == PTO_NUMBER_U64 && options->value.value.u64 == UINT64_MAX);
  end();
  begin(PTO_GRAPH_OP_pad);
  set("value", real(-INFINITY));
  assert_true(options->value.value.f64 == -INFINITY);
  end();
  begin(PTO_GRAPH_OP_pad);
  set("value", integer(INT64_MIN));
  assert_true(options->value.kind == PTO_NUMBER_I64 && options->value.value.i64 == INT64_MIN);
  end();
}

static void test_an_unknown_name_is_refused_and_the_nearest_is_told(void **state) {
  begin(PTO_GRAPH_OP_reduce_sum);
  refuse("keepDimension", truth(true), "there is no attribute \"keepDimension\"; did you mean \"keepDimensions\"?");
  refuse("zzz", truth(true), "there is no attribute \"zzz\"");
  refuse("input", truth(true), "there is no attribute \"input\"");
  end();
}

static void test_a_required_attribute_that_is_missing_is_told(void **state) {
  begin(PTO_GRAPH_OP_slice);
  set("starts", list(NULL, 0));
  assert_int_equal(pto_op_attributes_finish(&attributes, &error), PTO_EINVAL);
  assert_string_equal(error.sentence, "sizes is missing");
  set("sizes", list(NULL, 0));
  assert_int_equal(pto_op_attributes_finish(&attributes, &error), PTO_OK);
  end();
}

static void test_without_memory_lists_and_labels_are_refused(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  const value one[] = {integer(6)};
  const struct {
    uint32_t op;
    const char *name;
    value x;
  } calls[] = {{PTO_GRAPH_OP_split, "splits", integer(2)},
               {PTO_GRAPH_OP_split, "splits", list(one, 1)},
               {PTO_GRAPH_OP_resample2d, "scales", list(one, 1)},
               {PTO_GRAPH_OP_relu, "label", word("a")}};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    begin(calls[i].op);
    fail_countdown = 1;
    assert_int_equal(pto_op_attributes_set(&attributes, calls[i].name, &calls[i].x, &error), PTO_ENOMEM);
    fail_countdown = 0;
    end();
  }
}

static void test_structs_of_options_have_room_in_the_buffer(void **state) {
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++) {
    assert_true(pto_op_info(op)->options_size <= PTO_OPTIONS_BYTES);
    assert_true(pto_op_info(op)->attribute_count <= PTO_ATTRIBUTES_MAX);
    assert_true(pto_op_info(op)->parameter_count <= 8);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_values_of_each_kind_arrive_in_the_struct),
      cmocka_unit_test(test_old_names_mean_the_new_ones_and_neither_is_set_twice),
      cmocka_unit_test(test_splits_are_a_number_of_parts_or_a_list_of_sizes),
      cmocka_unit_test(test_the_data_type_of_an_argument_may_be_absent),
      cmocka_unit_test(test_a_softmax_without_an_axis_is_along_the_last),
      cmocka_unit_test(test_what_is_out_of_range_or_of_another_kind_is_refused),
      cmocka_unit_test(test_numbers_that_may_be_anything_keep_all_their_bits),
      cmocka_unit_test(test_an_unknown_name_is_refused_and_the_nearest_is_told),
      cmocka_unit_test(test_a_required_attribute_that_is_missing_is_told),
      cmocka_unit_test(test_without_memory_lists_and_labels_are_refused),
      cmocka_unit_test(test_structs_of_options_have_room_in_the_buffer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
