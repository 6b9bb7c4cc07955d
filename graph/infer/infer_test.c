/* SPDX-License-Identifier: MIT */
/*
 * Inference against counting: where a window can stand, which indices a slice has, which sizes a convolution brings
 * back. And any numbers at all: a call is refused or its results are possible.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <graph/build/builder_state.h>
#include <graph/build/op_attributes.h>

static struct pto_rng rng;
static uint32_t below(uint32_t bound) { return (uint32_t)pto_rng_below(&rng, bound); }

/* One call of one operand on a builder of its own; the result's descriptor, of rank 99 where it was refused. */
static struct pto_graph_desc call_one(uint32_t op, const struct pto_graph_desc *descs, uint32_t count,
                                      const void *options) {
  struct pto_graph_builder *builder = NULL;
  struct pto_graph_operand operands[8], result;
  struct pto_graph_desc desc = {.ndims = 99};
  uint32_t result_count;
  assert_int_equal(pto_graph_builder_create(NULL, &builder), PTO_OK);
  for (uint32_t i = 0; i < count; i++) {
    char name[2] = {(char)('a' + i), 0};
    operands[i] = pto_graph_builder_input(builder, name, &descs[i]);
  }
  assert_int_equal(pto_graph_builder_status(builder), PTO_OK);
  struct pto_graph_call call = {op, operands, count, options, 1};
  int status = pto_graph_builder_call(builder, &call, &result, 1, &result_count);
  if (status == PTO_OK)
    desc = pto_graph_builder_desc(builder, result);
  else
    assert_int_equal(status, PTO_EINVAL);
  pto_graph_builder_destroy(builder);
  return desc;
}
static bool is_refused(const struct pto_graph_desc *desc) { return desc->ndims == 99; }

/* ---- windows ---- */

struct side {
  uint32_t input, filter, stride, dilation, begin, end;
};
static struct side random_side(void) {
  return (struct side){1 + below(9), 1 + below(4), 1 + below(3), 1 + below(3), below(4), below(4)};
}
/* How many places the window has with every element within the padded input. */
static uint32_t count_places(const struct side *s) {
  uint32_t places = 0;
  for (uint32_t at = 0;; at += s->stride, places++)
    for (uint32_t f = 0; f < s->filter; f++)
      if (at + f * s->dilation >= s->input + s->begin + s->end) return places;
}

static void test_a_convolution_has_as_many_results_as_its_filter_has_places(void **state) {
  rng.state = 1;
  for (int round = 0; round < 3000; round++) {
    struct side h = random_side(), w = random_side();
    struct pto_graph_desc descs[] = {{PTO_FLOAT32, 4, {2, 3, h.input, w.input}},
                                     {PTO_FLOAT32, 4, {5, 3, h.filter, w.filter}}};
    struct pto_conv2d_options options = {.padding = PTO_U32_LIST(h.begin, h.end, w.begin, w.end),
                                         .strides = PTO_U32_LIST(h.stride, w.stride),
                                         .dilations = PTO_U32_LIST(h.dilation, w.dilation)};
    struct pto_graph_desc result = call_one(PTO_GRAPH_OP_conv2d, descs, 2, &options);
    uint32_t height = count_places(&h), width = count_places(&w);
    assert_true(is_refused(&result) == (height == 0 || width == 0));
    if (is_refused(&result)) continue;
    assert_int_equal(result.shape[0], 2);
    assert_int_equal(result.shape[1], 5);
    assert_int_equal(result.shape[2], height);
    assert_int_equal(result.shape[3], width);
  }
}

static void test_a_transposed_convolution_takes_the_sizes_that_a_convolution_brings_back(void **state) {
  rng.state = 2;
  for (int round = 0; round < 400; round++) {
    struct side h = random_side();
    struct pto_graph_desc descs[] = {{PTO_FLOAT32, 4, {1, 1, h.input, 1}}, {PTO_FLOAT32, 4, {1, 1, h.filter, 1}}};
    for (uint32_t size = 0; size < 40; size++) {
      struct side back = h;
      back.input = size;
      struct pto_conv_transpose2d_options options = {.padding = PTO_U32_LIST(h.begin, h.end, 0, 0),
                                                     .strides = PTO_U32_LIST(h.stride, 1),
                                                     .dilations = PTO_U32_LIST(h.dilation, 1),
                                                     .output_sizes = PTO_U32_LIST(size, 1)};
      struct pto_graph_desc result = call_one(PTO_GRAPH_OP_conv_transpose2d, descs, 2, &options);
      bool is_size = size > 0 && count_places(&back) == h.input;
      assert_true(is_refused(&result) == !is_size);
      if (!is_refused(&result)) assert_int_equal(result.shape[2], size);
    }
  }
}

static void test_a_pool_rounds_down_or_up_to_take_in_what_is_left(void **state) {
  rng.state = 3;
  for (int round = 0; round < 2000; round++) {
    struct side h = random_side(), larger = h;
    struct pto_graph_desc image = {PTO_FLOAT32, 4, {1, h.input, 1, 3}};
    struct pto_pool2d_options options = {.layout = PTO_LAYOUT_NHWC,
                                         .window_dimensions = PTO_U32_LIST(h.filter, 1),
                                         .padding = PTO_U32_LIST(h.begin, h.end, 0, 0),
                                         .strides = PTO_U32_LIST(h.stride, 1),
                                         .dilations = PTO_U32_LIST(h.dilation, 1)};
    struct pto_graph_desc floor = call_one(PTO_GRAPH_OP_max_pool2d, &image, 1, &options);
    options.output_shape_rounding = PTO_ROUNDING_CEIL;
    struct pto_graph_desc ceiling = call_one(PTO_GRAPH_OP_max_pool2d, &image, 1, &options);
    uint32_t places = count_places(&h);
    assert_true(is_refused(&floor) == (places == 0) && is_refused(&ceiling) == (places == 0));
    if (places == 0) continue;
    larger.end += h.stride - 1; /* any rest fills one stride more */
    assert_int_equal(floor.shape[1], places);
    assert_int_equal(ceiling.shape[1], count_places(&larger));
    for (uint32_t size = 1; size < 30; size++) {
      options.output_sizes = (struct pto_u32_list)PTO_U32_LIST(size, 1);
      struct pto_graph_desc asked = call_one(PTO_GRAPH_OP_max_pool2d, &image, 1, &options);
      assert_true(is_refused(&asked) == (size != floor.shape[1] && size != ceiling.shape[1]));
    }
  }
}

/* ---- shapes ---- */

static void test_a_slice_has_the_indices_that_its_strides_reach(void **state) {
  rng.state = 4;
  for (int round = 0; round < 3000; round++) {
    uint32_t size = 1 + below(9), start = below(10), count = below(10), stride = below(4), places = 0;
    struct pto_graph_desc input = {PTO_UINT8, 1, {size}};
    struct pto_slice_options options = {
        .starts = PTO_U32_LIST(start), .sizes = PTO_U32_LIST(count), .strides = PTO_U32_LIST(stride)};
    struct pto_graph_desc result = call_one(PTO_GRAPH_OP_slice, &input, 1, &options);
    assert_true(is_refused(&result) == (start + count > size || count == 0 || stride == 0));
    if (is_refused(&result)) continue;
    for (uint32_t i = start; i < start + count; i += stride) places++;
    assert_int_equal(result.shape[0], places);
  }
}

static struct pto_graph_desc random_shape(uint32_t dtype, uint32_t most_dims) {
  struct pto_graph_desc desc = {.dtype = dtype, .ndims = below(most_dims + 1)};
  for (uint32_t d = 0; d < desc.ndims; d++) desc.shape[d] = 1 + below(3);
  return desc;
}

/* The size of dimension i, counted from the innermost; 1 where there is none. */
static uint64_t size_at(const struct pto_graph_desc *desc, uint32_t i) {
  return i < desc->ndims ? desc->shape[desc->ndims - 1 - i] : 1;
}

static void test_two_shapes_are_broadcast_where_each_pair_of_sizes_is_equal_or_has_a_one(void **state) {
  rng.state = 5;
  for (int round = 0; round < 5000; round++) {
    struct pto_graph_desc descs[] = {random_shape(PTO_FLOAT16, 4), random_shape(PTO_FLOAT16, 4)};
    struct pto_graph_desc result = call_one(PTO_GRAPH_OP_lesser, descs, 2, NULL);
    bool is_possible = true, fits_second = descs[0].ndims <= descs[1].ndims;
    for (uint32_t i = 0; i < 4; i++) {
      uint64_t a = size_at(&descs[0], i), b = size_at(&descs[1], i);
      is_possible &= a == b || a == 1 || b == 1;
      fits_second &= a == b || a == 1;
    }
    assert_true(is_refused(&result) == !is_possible);
    if (is_possible) {
      assert_int_equal(result.dtype, PTO_UINT8);
      assert_int_equal(result.ndims, descs[0].ndims > descs[1].ndims ? descs[0].ndims : descs[1].ndims);
      for (uint32_t i = 0; i < result.ndims; i++)
        assert_int_equal(size_at(&result, i), pto_max_u64(size_at(&descs[0], i), size_at(&descs[1], i)));
    }
    uint32_t shape[4];
    for (uint32_t d = 0; d < descs[1].ndims; d++) shape[d] = (uint32_t)descs[1].shape[d];
    struct pto_new_shape_options options = {.new_shape = {shape, descs[1].ndims}};
    result = call_one(PTO_GRAPH_OP_expand, descs, 1, &options);
    assert_true(is_refused(&result) == !fits_second);
  }
}

static void test_reductions_and_gathers_have_the_shapes_of_their_examples(void **state) {
  const struct pto_graph_desc input = {PTO_FLOAT32, 4, {2, 3, 4, 5}};
  struct pto_reduce_options reduce = {.axes = PTO_U32_LIST(3, 1)};
  struct pto_graph_desc result = call_one(PTO_GRAPH_OP_reduce_l2, &input, 1, &reduce);
  assert_true(result.ndims == 2 && result.shape[0] == 2 && result.shape[1] == 4);
  reduce.keep_dimensions = PTO_FLAG_YES;
  result = call_one(PTO_GRAPH_OP_reduce_l2, &input, 1, &reduce);
  assert_true(result.ndims == 4 && result.shape[1] == 1 && result.shape[2] == 4 && result.shape[3] == 1);
  const struct pto_graph_desc gathered[] = {input, {PTO_INT64, 2, {7, 2}}};
  struct pto_axis_options axis = {.axis = {PTO_NUMBER_I64, {.i64 = 2}}};
  result = call_one(PTO_GRAPH_OP_gather, gathered, 2, &axis);
  assert_true(result.ndims == 5 && result.shape[2] == 7 && result.shape[3] == 2 && result.shape[4] == 5);
  result = call_one(PTO_GRAPH_OP_gather_nd, gathered, 2, NULL);
  assert_true(result.ndims == 3 && result.shape[0] == 7 && result.shape[1] == 4 && result.shape[2] == 5);
  const struct pto_graph_desc scattered[] = {input, {PTO_INT32, 2, {7, 2}}, {PTO_FLOAT32, 3, {7, 4, 5}}};
  result = call_one(PTO_GRAPH_OP_scatter_nd, scattered, 3, NULL);
  assert_true(result.ndims == 4 && result.shape[1] == 3);
}

static void test_clamp_compares_its_bounds_as_the_operand_has_them(void **state) {
  const struct pto_graph_desc f = {PTO_FLOAT32, 1, {1}}, i = {PTO_INT64, 1, {1}};
  struct pto_clamp_options options = {.min_value = pto_number_f64(1 + 1e-12), .max_value = pto_number_f64(1)};
  struct pto_graph_desc result = call_one(PTO_GRAPH_OP_clamp, &f, 1, &options);
  assert_false(is_refused(&result)); /* both are 1 */
  options =
      (struct pto_clamp_options){.min_value = pto_number_i64(INT64_MAX), .max_value = pto_number_i64(INT64_MAX - 1)};
  result = call_one(PTO_GRAPH_OP_clamp, &i, 1, &options);
  assert_true(is_refused(&result));
  options = (struct pto_clamp_options){.min_value = pto_number_i64(-1), .max_value = pto_number_u64(UINT64_MAX)};
  result = call_one(PTO_GRAPH_OP_clamp, &i, 1, &options);
  assert_false(is_refused(&result));
}

/* ---- any numbers ---- */

static uint32_t any_number(void) {
  static const uint32_t edges[] = {0, 1, 2, 3, 255, 65535, 65536, 2147483647, 2147483648u, 4294967294u, 4294967295u};
  return below(3) ? below(6) : edges[below(sizeof edges / sizeof edges[0])];
}

static void set_any(const struct pto_op_attribute *attribute, void *field, uint32_t lists[16]) {
  uint32_t *word = field;
  for (uint32_t i = 0; i < 16; i++) lists[i] = any_number();
  switch (attribute->kind) {
  case PTO_ATTRIBUTE_NUMBER:
  case PTO_ATTRIBUTE_OPTIONAL_DTYPE:
    *(struct pto_number *)field = pto_number_i64(any_number());
    break;
  case PTO_ATTRIBUTE_U32_LIST:
  case PTO_ATTRIBUTE_WORD_LIST:
  case PTO_ATTRIBUTE_SPLITS:
    *(struct pto_u32_list *)field = (struct pto_u32_list){below(4) ? lists : NULL, 0};
    if (((struct pto_u32_list *)field)->values)
      ((struct pto_u32_list *)field)->count = below(6) ? 1 + below(4) : below(17);
    break;
  case PTO_ATTRIBUTE_F32_LIST: {
    static const float scales[] = {1e-30f, 0.3f, 1, 2, 65536, 4e9f, 3e38f, -1};
    *(struct pto_f32_list *)field = (struct pto_f32_list){scales + below(7), 2};
    break;
  }
  default:
    *word = any_number();
    break;
  }
}

static struct pto_graph_desc any_desc(const struct pto_op_parameter *parameter) {
  struct pto_graph_desc desc = {.ndims = parameter->min_rank + below(parameter->max_rank - parameter->min_rank + 1)};
  do desc.dtype = below(PTO_DTYPE_COUNT);
  while (!(parameter->dtypes & PTO_DTYPE_BIT(desc.dtype)) || !pto_graph_dtype_name(desc.dtype));
  for (uint32_t d = 0; d < desc.ndims; d++) desc.shape[d] = below(40) ? 1 + below(4) : 1 + below(1 << 24);
  return desc;
}

/* One call of `op` with whatever numbers come; true where it was accepted. */
static bool play_any(uint32_t op) {
  static uint32_t lists[PTO_ATTRIBUTES_MAX][16];
  static struct pto_graph_operand results[PTO_GRAPH_MAX_RESULTS];
  _Alignas(16) char options[PTO_OPTIONS_BYTES] = {0};
  const struct pto_op_info *info = pto_op_info(op);
  struct pto_graph_builder *builder = NULL;
  struct pto_graph_operand operands[8] = {{0, 0}};
  assert_int_equal(pto_graph_builder_create(NULL, &builder), PTO_OK);
  struct pto_graph_desc first = {0};
  for (uint32_t i = 0; i < info->parameter_count; i++) {
    char name[2] = {(char)('a' + i), 0};
    struct pto_graph_desc desc = any_desc(&info->parameters[i]);
    if (info->parameters[i].same_dtype) desc.dtype = first.dtype;
    if (i == 0) first = desc;
    if (!info->parameters[i].is_optional || below(4) == 0) operands[i] = pto_graph_builder_input(builder, name, &desc);
    pto_graph_builder_clear_error(builder);
  }
  for (uint32_t i = 0; i < info->attribute_count; i++)
    if (below(3)) set_any(&info->attributes[i], options + info->attributes[i].offset, lists[i]);
  struct pto_graph_call call = {op, operands, info->parameter_count, options, 0};
  uint32_t count = 0;
  int status = pto_graph_builder_call(builder, &call, results, PTO_GRAPH_MAX_RESULTS, &count);
  if (status) assert_int_equal(status, PTO_EINVAL);
  for (uint32_t i = 0; status == PTO_OK && i < count; i++) {
    struct pto_graph_desc desc = pto_graph_builder_desc(builder, results[i]);
    uint64_t bytes = 0;
    struct pto_error error;
    assert_int_equal(pto_builder_check_desc(builder, &desc, &bytes, &error), PTO_OK);
    assert_int_equal(bytes, builder->values[results[i].index].size_bytes);
  }
  pto_graph_builder_destroy(builder);
  return status == PTO_OK;
}

static void test_whatever_numbers_are_given_a_call_is_refused_or_its_results_are_possible(void **state) {
  rng.state = 6;
  uint32_t accepted = 0;
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++)
    for (int round = 0; round < 400; round++) accepted += play_any(op);
  print_message("%u of %u calls are accepted\n", accepted, PTO_GRAPH_OP_COUNT * 400u);
  assert_true(accepted > PTO_GRAPH_OP_COUNT * 100u);
}

/* Groups that do not divide the channels of the input are what the specification's method steps accept, and what no
 * filter has a meaning for. */
static void test_groups_that_a_transposed_convolution_cannot_have_are_refused_by_build(void **state) {
  static const uint32_t channels[] = {1, 3, 4, 4}, groups[] = {3, 2, 3, 2};
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(groups); i++) {
    const struct pto_graph_desc image = {PTO_FLOAT32, 4, {1, 5, 5, channels[i]}},
                                filter_desc = {PTO_FLOAT32, 4, {channels[i], 1, 3, 3}};
    struct pto_graph_builder *builder = NULL;
    struct pto_graph *graph = NULL;
    assert_int_equal(pto_graph_builder_create(NULL, &builder), PTO_OK);
    struct pto_graph_operand x = pto_graph_builder_input(builder, "x", &image);
    struct pto_graph_operand filter = pto_graph_builder_input(builder, "filter", &filter_desc);
    struct pto_conv_transpose2d_options options = {
        .label = "up", .groups = pto_number_u64(groups[i]), .input_layout = PTO_LAYOUT_NHWC};
    struct pto_graph_output output = {"y", pto_graph_builder_conv_transpose2d(builder, x, filter, &options)};
    assert_int_equal(pto_graph_builder_status(builder), PTO_OK);
    const bool is_possible = channels[i] % groups[i] == 0;
    assert_int_equal(pto_graph_builder_build(builder, &output, 1, &graph), is_possible ? PTO_OK : PTO_ENOTSUP);
    assert_true(is_possible == (graph != NULL));
    if (i == 1)
      assert_string_equal(pto_graph_builder_error(builder),
                          "build: convTranspose2d \"up\": 3 input channels are no multiple of 2 groups");
    pto_graph_destroy(graph);
    pto_graph_builder_destroy(builder);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_convolution_has_as_many_results_as_its_filter_has_places),
      cmocka_unit_test(test_a_transposed_convolution_takes_the_sizes_that_a_convolution_brings_back),
      cmocka_unit_test(test_a_pool_rounds_down_or_up_to_take_in_what_is_left),
      cmocka_unit_test(test_a_slice_has_the_indices_that_its_strides_reach),
      cmocka_unit_test(test_two_shapes_are_broadcast_where_each_pair_of_sizes_is_equal_or_has_a_one),
      cmocka_unit_test(test_reductions_and_gathers_have_the_shapes_of_their_examples),
      cmocka_unit_test(test_clamp_compares_its_bounds_as_the_operand_has_them),
      cmocka_unit_test(test_groups_that_a_transposed_convolution_cannot_have_are_refused_by_build),
      cmocka_unit_test(test_whatever_numbers_are_given_a_call_is_refused_or_its_results_are_possible),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
