/* SPDX-License-Identifier: MIT */
/*
 * Each operation once through its typed call and once through pto_graph_builder_call: the same node.  And what the
 * table says of dtypes, ranks and builders, tried on each operand of each operation.
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

/* ---- a valid call of each operation ---- */

/* The typed call with operands by parameter; optional ones are in `options` already.  Returns how many results. */
typedef uint32_t typed_call(struct pto_graph_builder *builder, const struct pto_graph_operand *o, const void *options,
                            struct pto_graph_operand *results);

#define ONE(id)                                                                                                        \
  static uint32_t typed_##id(struct pto_graph_builder *b, const struct pto_graph_operand *o, const void *options,      \
                             struct pto_graph_operand *r) {                                                            \
    r[0] = pto_graph_builder_##id(b, o[0], options);                                                                   \
    return 1;                                                                                                          \
  }
#define TWO(id)                                                                                                        \
  static uint32_t typed_##id(struct pto_graph_builder *b, const struct pto_graph_operand *o, const void *options,      \
                             struct pto_graph_operand *r) {                                                            \
    r[0] = pto_graph_builder_##id(b, o[0], o[1], options);                                                             \
    return 1;                                                                                                          \
  }
#define THREE(id)                                                                                                      \
  static uint32_t typed_##id(struct pto_graph_builder *b, const struct pto_graph_operand *o, const void *options,      \
                             struct pto_graph_operand *r) {                                                            \
    r[0] = pto_graph_builder_##id(b, o[0], o[1], o[2], options);                                                       \
    return 1;                                                                                                          \
  }
#define X(id, ...) ONE(id)
PTO_UNARY_OP_LIST(X)
PTO_REDUCE_OP_LIST(X)
#undef X
#define X(id, ...) TWO(id)
PTO_BINARY_OP_LIST(X)
#undef X
ONE(cast)
ONE(clamp)
THREE(where)
ONE(elu)
ONE(hard_sigmoid)
ONE(leaky_relu)
ONE(linear)
TWO(prelu)
ONE(softmax)
ONE(arg_min)
ONE(arg_max)
ONE(cumulative_sum)
TWO(matmul)
TWO(gemm)
TWO(conv2d)
TWO(conv_transpose2d)
ONE(average_pool2d)
ONE(l2_pool2d)
ONE(max_pool2d)
ONE(global_average_pool)
ONE(global_max_pool)
ONE(resample2d)
THREE(batch_normalization)
ONE(instance_normalization)
ONE(layer_normalization)
THREE(quantize_linear)
THREE(dequantize_linear)
ONE(expand)
ONE(reshape)
ONE(squeeze)
ONE(unsqueeze)
ONE(transpose)
ONE(reverse)
ONE(slice)
ONE(pad)
ONE(tile)
ONE(triangular)
TWO(gather)
TWO(gather_elements)
TWO(gather_nd)
THREE(scatter_elements)
THREE(scatter_nd)
static uint32_t typed_concat(struct pto_graph_builder *b, const struct pto_graph_operand *o, const void *options,
                             struct pto_graph_operand *r) {
  r[0] = pto_graph_builder_concat(b, o, 2, options);
  return 1;
}
static uint32_t typed_split(struct pto_graph_builder *b, const struct pto_graph_operand *o, const void *options,
                            struct pto_graph_operand *r) {
  assert_int_equal(pto_graph_builder_split(b, o[0], options, r, 3), pto_graph_builder_status(b));
  return 3;
}
static uint32_t typed_gru(struct pto_graph_builder *b, const struct pto_graph_operand *o, const void *options,
                          struct pto_graph_operand *r) {
  assert_int_equal(pto_graph_builder_gru(b, o[0], o[1], o[2], options, r, 2), pto_graph_builder_status(b));
  return 2;
}
static uint32_t typed_gru_cell(struct pto_graph_builder *b, const struct pto_graph_operand *o, const void *options,
                               struct pto_graph_operand *r) {
  r[0] = pto_graph_builder_gru_cell(b, o[0], o[1], o[2], o[3], options);
  return 1;
}
static uint32_t typed_lstm(struct pto_graph_builder *b, const struct pto_graph_operand *o, const void *options,
                           struct pto_graph_operand *r) {
  assert_int_equal(pto_graph_builder_lstm(b, o[0], o[1], o[2], options, r, 3), pto_graph_builder_status(b));
  return 3;
}
static uint32_t typed_lstm_cell(struct pto_graph_builder *b, const struct pto_graph_operand *o, const void *options,
                                struct pto_graph_operand *r) {
  int status = pto_graph_builder_lstm_cell(b, o[0], o[1], o[2], o[3], o[4], options, r, 2);
  assert_int_equal(status, pto_graph_builder_status(b));
  return 2;
}

/* Shapes of the operands by parameter; their dtypes are made from the table. */
struct sample {
  typed_call *call;
  struct pto_graph_desc operands[8];
  const void *options;
};
#define S(...)                                                                                                         \
  {                                                                                                                    \
    0, sizeof((const int[]){__VA_ARGS__}) / sizeof(int), { __VA_ARGS__ }                                               \
  }
#define SAMPLE(id, type, shapes, ...)                                                                                  \
  [PTO_GRAPH_OP_##id] = {typed_##id, shapes, &(const struct pto_##type##_options){.label = "sample", __VA_ARGS__}}
#define SHAPES(...)                                                                                                    \
  { __VA_ARGS__ }

static const uint32_t ones[] = {1, 1};
static const uint32_t three_words[] = {PTO_ACTIVATION_RELU, PTO_ACTIVATION_TANH, PTO_ACTIVATION_SIGMOID};
static const uint32_t axis_1[] = {1}, axis_0[] = {0}, four[] = {1, 0, 1, 0}, new_shape[] = {4, 2, 3}, six[] = {6},
                      sizes_3[] = {1, 1, 1}, turned[] = {1, 0}, begin[] = {0, 1}, two[] = {2, 2}, axes_02[] = {0, 2};
static const float scales[] = {2, 0.5f};

static const struct sample samples[PTO_GRAPH_OP_COUNT] = {
#define X(id, ...) SAMPLE(id, graph, SHAPES(S(2, 3))),
    PTO_UNARY_OP_LIST(X)
#undef X
#define X(id, ...) SAMPLE(id, graph, SHAPES(S(2, 3), S(4, 1, 3))),
        PTO_BINARY_OP_LIST(X)
#undef X
#define X(id, ...) SAMPLE(id, reduce, SHAPES(S(2, 3)), .axes = {axis_1, 1}, .keep_dimensions = PTO_FLAG_YES),
            PTO_REDUCE_OP_LIST(X)
#undef X
                SAMPLE(cast, cast, SHAPES(S(2, 3)), .data_type = PTO_INT8),
    SAMPLE(clamp, clamp, SHAPES(S(2, 3)), .max_value = {PTO_NUMBER_I64, {.i64 = 6}}),
    SAMPLE(where, graph, SHAPES(S(3), S(2, 1), S(2, 3))),
    SAMPLE(elu, elu, SHAPES(S(2, 3)), .alpha = {PTO_NUMBER_F64, {.f64 = 2}}),
    SAMPLE(hard_sigmoid, hard_sigmoid, SHAPES(S(2, 3)), .beta = {PTO_NUMBER_F64, {.f64 = 2}}),
    SAMPLE(leaky_relu, leaky_relu, SHAPES(S(2, 3)), .alpha = {PTO_NUMBER_F64, {.f64 = 2}}),
    SAMPLE(linear, linear, SHAPES(S(2, 3)), .alpha = {PTO_NUMBER_F64, {.f64 = 2}}),
    SAMPLE(prelu, graph, SHAPES(S(2, 3), S(3))),
    SAMPLE(softmax, softmax, SHAPES(S(2, 3)), .is_last = PTO_FLAG_YES),
    SAMPLE(arg_min, arg_reduce, SHAPES(S(2, 3)), .axis = 1),
    SAMPLE(arg_max, arg_reduce, SHAPES(S(2, 3)), .output_data_type = {PTO_NUMBER_U64, {.u64 = PTO_INT64}}),
    SAMPLE(cumulative_sum, cumulative_sum, SHAPES(S(2, 3)), .axis = 1, .reversed = PTO_FLAG_YES),
    SAMPLE(matmul, graph, SHAPES(S(5, 1, 2, 3), S(4, 3, 6))),
    SAMPLE(gemm, gemm, SHAPES(S(3, 2), S(4, 3), S(4)), .a_transpose = PTO_FLAG_YES, .b_transpose = PTO_FLAG_YES),
    SAMPLE(conv2d, conv2d, SHAPES(S(1, 4, 5, 5), S(6, 2, 3, 3), S(6)), .padding = {four, 4},
           .groups = {PTO_NUMBER_I64, {.i64 = 2}}),
    SAMPLE(conv_transpose2d, conv_transpose2d, SHAPES(S(1, 4, 5, 5), S(4, 3, 3, 3), S(3)), .strides = {two, 2},
           .output_padding = {ones, 2}),
    SAMPLE(average_pool2d, pool2d, SHAPES(S(1, 2, 5, 5)), .window_dimensions = {two, 2}, .strides = {two, 2}),
    SAMPLE(l2_pool2d, pool2d, SHAPES(S(1, 5, 5, 2)), .layout = PTO_LAYOUT_NHWC, .dilations = {ones, 2}),
    SAMPLE(max_pool2d, pool2d, SHAPES(S(1, 2, 5, 5)), .window_dimensions = {two, 2}, .strides = {two, 2},
           .output_shape_rounding = PTO_ROUNDING_CEIL),
    SAMPLE(global_average_pool, graph, SHAPES(S(1, 2, 5, 5))),
    SAMPLE(global_max_pool, graph, SHAPES(S(1, 2, 5, 5))),
    SAMPLE(resample2d, resample2d, SHAPES(S(1, 2, 4, 4)), .scales = {scales, 2}, .mode = PTO_INTERPOLATION_LINEAR),
    SAMPLE(batch_normalization, batch_normalization, SHAPES(S(2, 3, 4), S(4), S(4), S(4), S(4)),
           .axis = {PTO_NUMBER_F64, {.f64 = 2}}),
    SAMPLE(instance_normalization, instance_normalization, SHAPES(S(1, 2, 3, 4), S(4), S(4)),
           .layout = PTO_LAYOUT_NHWC),
    SAMPLE(layer_normalization, layer_normalization, SHAPES(S(2, 3, 4), S(2, 4), S(2, 4)), .axes = {axes_02, 2}),
    SAMPLE(quantize_linear, graph, SHAPES(S(4, 6), S(2, 3), S(2, 3))),
    SAMPLE(dequantize_linear, graph, SHAPES(S(4, 6), S(3), S(3))),
    SAMPLE(expand, new_shape, SHAPES(S(2, 1)), .new_shape = {new_shape, 3}),
    SAMPLE(reshape, new_shape, SHAPES(S(2, 3)), .new_shape = {six, 1}),
    SAMPLE(squeeze, axes, SHAPES(S(2, 1, 3)), .axes = {axis_1, 1}),
    SAMPLE(unsqueeze, axes, SHAPES(S(2, 3)), .axes = {axis_1, 1}),
    SAMPLE(transpose, transpose, SHAPES(S(2, 3)), .permutation = {turned, 2}),
    SAMPLE(reverse, axes, SHAPES(S(2, 3)), .axes = {axis_0, 1}),
    SAMPLE(slice, slice, SHAPES(S(2, 3)), .starts = {begin, 2}, .sizes = {two, 2}, .strides = {two, 2}),
    SAMPLE(pad, pad, SHAPES(S(2, 3)), .beginning_padding = {begin, 2}, .ending_padding = {two, 2}),
    SAMPLE(tile, tile, SHAPES(S(2, 3)), .repetitions = {two, 2}),
    SAMPLE(triangular, triangular, SHAPES(S(2, 3)), .upper = PTO_FLAG_NO, .diagonal = {PTO_NUMBER_I64, {.i64 = -1}}),
    SAMPLE(gather, axis, SHAPES(S(2, 3), S(5, 4)), .axis = {PTO_NUMBER_I64, {.i64 = 1}}),
    SAMPLE(gather_elements, axis, SHAPES(S(2, 3), S(5, 3))),
    SAMPLE(gather_nd, graph, SHAPES(S(2, 3), S(5, 1))),
    SAMPLE(scatter_elements, axis, SHAPES(S(2, 3), S(2, 1), S(2, 1)), .axis = {PTO_NUMBER_I64, {.i64 = 1}}),
    SAMPLE(scatter_nd, graph, SHAPES(S(2, 3), S(5, 1), S(5, 3))),
    SAMPLE(concat, concat, SHAPES(S(2, 3), S(2, 4)), .axis = 1),
    SAMPLE(split, split, SHAPES(S(2, 3)), .splits = {sizes_3, 3}, .axis = {PTO_NUMBER_I64, {.i64 = 1}}),
    SAMPLE(gru, gru, SHAPES(S(4, 2, 3), S(2, 15, 3), S(2, 15, 5), S(2, 15), S(2, 15), S(2, 2, 5)), .steps = 4,
           .hidden_size = 5, .direction = PTO_DIRECTION_BOTH, .return_sequence = PTO_FLAG_YES),
    SAMPLE(gru_cell, gru_cell, SHAPES(S(2, 3), S(15, 3), S(15, 5), S(2, 5), S(15), S(15)), .hidden_size = 5,
           .activations = {turned, 2}),
    SAMPLE(lstm, lstm,
           SHAPES(S(4, 2, 3), S(1, 20, 3), S(1, 20, 5), S(1, 20), S(1, 20), S(1, 15), S(1, 2, 5), S(1, 2, 5)),
           .steps = 4, .hidden_size = 5, .return_sequence = PTO_FLAG_YES, .activations = {three_words, 3}),
    SAMPLE(lstm_cell, lstm_cell, SHAPES(S(2, 3), S(20, 3), S(20, 5), S(2, 5), S(2, 5), S(20), S(20), S(15)),
           .hidden_size = 5),
};

/* ---- a sample in a builder ---- */

struct call {
  struct pto_graph_builder *builder;
  struct pto_graph_operand operands[8];
  uint32_t operand_count;
  _Alignas(16) char options[PTO_OPTIONS_BYTES];
};

static uint32_t first_dtype(uint32_t dtypes) {
  static const uint32_t preferred[] = {PTO_FLOAT32, PTO_UINT8, PTO_INT32};
  for (size_t i = 0; i < sizeof preferred / sizeof preferred[0]; i++)
    if (dtypes & PTO_DTYPE_BIT(preferred[i])) return preferred[i];
  return PTO_DTYPE_COUNT;
}

static uint32_t operand_count_of(uint32_t op) {
  return op == PTO_GRAPH_OP_concat ? 2 : pto_op_info(op)->parameter_count;
}
static const struct pto_op_parameter *parameter_of(uint32_t op, uint32_t operand) {
  return &pto_op_info(op)->parameters[op == PTO_GRAPH_OP_concat ? 0 : operand];
}

static struct pto_graph_desc desc_of(uint32_t op, uint32_t operand) {
  struct pto_graph_desc desc = samples[op].operands[operand];
  const struct pto_op_parameter *parameter = parameter_of(op, operand);
  desc.dtype = first_dtype(parameter->same_dtype ? pto_op_info(op)->parameters[parameter->same_dtype - 1].dtypes
                                                 : parameter->dtypes);
  return desc;
}

/* Puts a handle where the operation's options have it, if it is one of these. */
static void set_operand(struct call *call, uint32_t op, uint32_t i, struct pto_graph_operand operand) {
  const struct pto_op_parameter *parameter = parameter_of(op, i);
  call->operands[i] = operand;
  if (parameter->is_optional) memcpy(call->options + parameter->offset, &operand, sizeof operand);
}

static void begin_call(struct call *call, uint32_t op) {
  char name[16];
  memset(call, 0, sizeof *call);
  assert_int_equal(pto_graph_builder_create(NULL, &call->builder), PTO_OK);
  memcpy(call->options, samples[op].options, pto_op_info(op)->options_size);
  call->operand_count = operand_count_of(op);
  for (uint32_t i = 0; i < call->operand_count; i++) {
    struct pto_graph_desc desc = desc_of(op, i);
    snprintf(name, sizeof name, "x%u", i);
    set_operand(call, op, i, pto_graph_builder_input(call->builder, name, &desc));
  }
  assert_int_equal(pto_graph_builder_status(call->builder), PTO_OK);
}

static int generic_call(struct call *call, uint32_t op, struct pto_graph_operand *results, uint32_t *count) {
  struct pto_graph_call made = {op, call->operands, call->operand_count, call->options, 0};
  return pto_graph_builder_call(call->builder, &made, results, 8, count);
}

/* ---- tests ---- */

static void expect_same_list(const struct pto_u32_list *a, const struct pto_u32_list *b) {
  assert_int_equal(a->count, b->count);
  assert_true(!a->values == !b->values);
  if (a->count) assert_memory_equal(a->values, b->values, a->count * sizeof *a->values);
}

static void expect_same_options(uint32_t op, const char *a, const char *b) {
  const struct pto_op_info *info = pto_op_info(op);
  for (uint32_t i = 0; i < info->attribute_count; i++) {
    const struct pto_op_attribute *attribute = &info->attributes[i];
    const void *x = a + attribute->offset, *y = b + attribute->offset;
    switch (attribute->kind) {
    case PTO_ATTRIBUTE_U32_LIST:
    case PTO_ATTRIBUTE_WORD_LIST:
    case PTO_ATTRIBUTE_SPLITS:
      expect_same_list(x, y);
      break;
    case PTO_ATTRIBUTE_F32_LIST:
      assert_memory_equal(((const struct pto_f32_list *)x)->values, ((const struct pto_f32_list *)y)->values,
                          ((const struct pto_f32_list *)x)->count * sizeof(float));
      break;
    case PTO_ATTRIBUTE_NUMBER:
    case PTO_ATTRIBUTE_OPTIONAL_DTYPE:
      assert_memory_equal(x, y, sizeof(struct pto_number));
      break;
    default:
      assert_memory_equal(x, y, sizeof(uint32_t));
      break;
    }
  }
}

static void expect_same_node(const struct call *typed, const struct call *generic, uint32_t op) {
  const struct pto_graph_node *a = &typed->builder->nodes[0], *b = &generic->builder->nodes[0];
  assert_int_equal(typed->builder->node_count, 1);
  assert_int_equal(a->op, op);
  assert_int_equal(b->op, op);
  assert_string_equal(a->label, "sample");
  assert_string_equal(b->label, "sample");
  assert_int_equal(a->operand_count, b->operand_count);
  for (uint32_t i = 0; i < a->operand_count; i++) assert_int_equal(a->operands[i], i + 1);
  assert_memory_equal(a->operands, b->operands, a->operand_count * sizeof *a->operands);
  assert_int_equal(a->result_count, b->result_count);
  for (uint32_t i = 0; i < a->result_count; i++)
    assert_memory_equal(&typed->builder->values[a->first_result + i].desc,
                        &generic->builder->values[b->first_result + i].desc, sizeof(struct pto_graph_desc));
  expect_same_options(op, a->options, b->options);
}

static void test_a_typed_call_makes_the_node_that_the_generic_call_makes(void **state) {
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++) {
    struct call typed, generic;
    struct pto_graph_operand typed_results[8], generic_results[8];
    uint32_t count = 0;
    begin_call(&typed, op);
    begin_call(&generic, op);
    uint32_t typed_count = samples[op].call(typed.builder, typed.operands, typed.options, typed_results);
    if (pto_graph_builder_status(typed.builder)) fail_msg("%s", pto_graph_builder_error(typed.builder));
    assert_int_equal(generic_call(&generic, op, generic_results, &count), PTO_OK);
    assert_int_equal(typed_count, count);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(typed_results[i].index, generic_results[i].index);
    expect_same_node(&typed, &generic, op);
    pto_graph_builder_destroy(typed.builder);
    pto_graph_builder_destroy(generic.builder);
  }
}

/* The call with operand `i` in another form is refused, with a sentence that begins with operation and label and has
 * the parameter. */
static void expect_refused(uint32_t op, uint32_t i, const struct pto_graph_desc *desc) {
  struct call call;
  struct pto_graph_operand results[8];
  char beginning[80];
  uint32_t count = 0;
  begin_call(&call, op);
  set_operand(&call, op, i, pto_graph_builder_input(call.builder, "other", desc));
  if (generic_call(&call, op, results, &count) != PTO_EINVAL) fail_msg("%s", pto_op_info(op)->name);
  const char *sentence = pto_graph_builder_error(call.builder);
  snprintf(beginning, sizeof beginning, "%s \"sample\": ", pto_op_info(op)->name);
  if (strncmp(sentence, beginning, strlen(beginning)) != 0 || !strstr(sentence, parameter_of(op, i)->name))
    fail_msg("%s", sentence);
  pto_graph_builder_destroy(call.builder);
}

static void test_a_dtype_that_the_table_has_not_is_refused_for_every_operand(void **state) {
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++)
    for (uint32_t i = 0; i < operand_count_of(op); i++)
      for (uint32_t dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++) {
        const struct pto_op_parameter *parameter = parameter_of(op, i);
        struct pto_graph_desc desc = desc_of(op, i);
        bool is_same = parameter->same_dtype && dtype == desc.dtype;
        bool is_allowed = is_same || (!parameter->same_dtype && parameter->dtypes & PTO_DTYPE_BIT(dtype));
        if (is_allowed || !pto_graph_dtype_name(dtype)) continue;
        desc.dtype = dtype;
        expect_refused(op, i, &desc);
      }
}

static void test_a_rank_that_the_table_has_not_is_refused_for_every_operand(void **state) {
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++)
    for (uint32_t i = 0; i < operand_count_of(op); i++)
      for (uint32_t ndims = 0; ndims <= PTO_MAX_DIMS; ndims++) {
        const struct pto_op_parameter *parameter = parameter_of(op, i);
        struct pto_graph_desc desc = desc_of(op, i);
        if (ndims >= parameter->min_rank && ndims <= parameter->max_rank) continue;
        desc.ndims = ndims;
        for (uint32_t d = 0; d < ndims; d++) desc.shape[d] = 1;
        expect_refused(op, i, &desc);
      }
}

static void test_a_required_operand_that_is_missing_is_refused(void **state) {
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++)
    for (uint32_t i = 0; i < operand_count_of(op); i++) {
      struct call call;
      struct pto_graph_operand results[8];
      uint32_t count = 0;
      begin_call(&call, op);
      set_operand(&call, op, i, (struct pto_graph_operand){0});
      int status = generic_call(&call, op, results, &count);
      assert_int_equal(status, parameter_of(op, i)->is_optional ? PTO_OK : PTO_EINVAL);
      if (status) assert_non_null(strstr(pto_graph_builder_error(call.builder), " is missing"));
      pto_graph_builder_destroy(call.builder);
    }
}

static void test_another_number_of_results_than_there_are_is_refused(void **state) {
  struct call call;
  struct pto_graph_operand parts[4];
  begin_call(&call, PTO_GRAPH_OP_split);
  assert_int_equal(pto_graph_builder_split(call.builder, call.operands[0], (void *)call.options, parts, 2), PTO_EINVAL);
  assert_string_equal(pto_graph_builder_error(call.builder), "split \"sample\": it has 3 results, and 2 are asked for");
  assert_int_equal(call.builder->node_count, 0);
  pto_graph_builder_clear_error(call.builder);
  assert_int_equal(pto_graph_builder_split(call.builder, call.operands[0], (void *)call.options, parts, 0), PTO_EINVAL);
  pto_graph_builder_destroy(call.builder);
}

static void test_words_flags_and_numbers_out_of_range_are_refused_in_the_structs_too(void **state) {
  static const struct {
    uint32_t op;
    struct pto_pool2d_options options;
    const char *sentence;
  } wrong[] = {
      {PTO_GRAPH_OP_max_pool2d, {.layout = 2}, "layout is 2"},
      {PTO_GRAPH_OP_max_pool2d, {.output_shape_rounding = 7}, "outputShapeRounding is 7"},
      {PTO_GRAPH_OP_max_pool2d, {.padding = {NULL, 4}}, "padding has 4 values at NULL"},
  };
  struct pto_graph_operand results[1];
  uint32_t count;
  struct call call;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    begin_call(&call, wrong[i].op);
    memcpy(call.options, &wrong[i].options, sizeof wrong[i].options);
    assert_int_equal(generic_call(&call, wrong[i].op, results, &count), PTO_EINVAL);
    if (!strstr(pto_graph_builder_error(call.builder), wrong[i].sentence))
      fail_msg("%s", pto_graph_builder_error(call.builder));
    pto_graph_builder_destroy(call.builder);
  }
  static const struct pto_number numbers[] = {
      {PTO_NUMBER_F64, {.f64 = 1.5}}, {PTO_NUMBER_I64, {.i64 = -1}}, {PTO_NUMBER_U64, {.u64 = UINT64_MAX}}, {7, {0}}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    begin_call(&call, PTO_GRAPH_OP_gather);
    struct pto_axis_options options = {.axis = numbers[i]};
    memcpy(call.options, &options, sizeof options);
    assert_int_equal(generic_call(&call, PTO_GRAPH_OP_gather, results, &count), PTO_EINVAL);
    pto_graph_builder_destroy(call.builder);
  }
  begin_call(&call, PTO_GRAPH_OP_reduce_sum);
  struct pto_reduce_options options = {.keep_dimensions = 3};
  memcpy(call.options, &options, sizeof options);
  assert_int_equal(generic_call(&call, PTO_GRAPH_OP_reduce_sum, results, &count), PTO_EINVAL);
  pto_graph_builder_destroy(call.builder);
}

static void test_every_operation_is_found_by_its_name(void **state) {
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++) assert_int_equal(pto_op_find(pto_op_info(op)->name), op);
  assert_int_equal(pto_op_find("conv3d"), PTO_GRAPH_OP_COUNT);
  assert_int_equal(PTO_GRAPH_OP_COUNT, 99);
}

/* What the limits say is what the builder goes by: the tests above hold it to the table. */
static void test_limits_are_those_of_the_table(void **state) {
  struct pto_graph_limit limits[8];
  assert_int_equal(pto_graph_operation_count(), PTO_GRAPH_OP_COUNT);
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++) {
    const struct pto_op_info *info = pto_op_info(op);
    assert_string_equal(pto_graph_operation_name(op), info->name);
    memset(limits, 0, sizeof limits);
    assert_int_equal(pto_graph_operation_limits(NULL, info->name, limits, 8), info->parameter_count);
    for (uint32_t i = 0; i < info->parameter_count; i++) {
      const struct pto_op_parameter *parameter = &info->parameters[i];
      assert_string_equal(limits[i].name, parameter->name);
      assert_int_equal(limits[i].dtypes, parameter->dtypes);
      assert_int_equal(limits[i].min_rank, parameter->min_rank);
      assert_int_equal(limits[i].max_rank, parameter->max_rank);
      assert_true(limits[i].is_optional == parameter->is_optional && limits[i].is_list == parameter->is_list);
    }
  }
  memset(limits, 0, sizeof limits);
  assert_int_equal(pto_graph_operation_limits(NULL, "matmul", limits, 1), 2);
  assert_true(limits[0].name != NULL && limits[1].name == NULL);
  assert_int_equal(pto_graph_operation_limits(NULL, "conv9d", limits, 8), 0);
  assert_null(pto_graph_operation_name(PTO_GRAPH_OP_COUNT));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_typed_call_makes_the_node_that_the_generic_call_makes),
      cmocka_unit_test(test_a_dtype_that_the_table_has_not_is_refused_for_every_operand),
      cmocka_unit_test(test_a_rank_that_the_table_has_not_is_refused_for_every_operand),
      cmocka_unit_test(test_a_required_operand_that_is_missing_is_refused),
      cmocka_unit_test(test_another_number_of_results_than_there_are_is_refused),
      cmocka_unit_test(test_words_flags_and_numbers_out_of_range_are_refused_in_the_structs_too),
      cmocka_unit_test(test_every_operation_is_found_by_its_name),
      cmocka_unit_test(test_limits_are_those_of_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
