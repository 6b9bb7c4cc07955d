/* SPDX-License-Identifier: MIT */
#include <graph/infer/infer.h>

#include <string.h>

#include <graph/build/outside.h>
#include <runtime/base/base.h>

/* Dtypes and ranks are those of the specification's tables "tensor limits" (state of June 2026); N is any rank. */
#define BIT(dtype) PTO_DTYPE_BIT(PTO_##dtype)
#define FLOATS (BIT(FLOAT32) | BIT(FLOAT16))
#define SIGNED (FLOATS | BIT(INT64) | BIT(INT32) | BIT(INT8))
#define WIDE (FLOATS | BIT(INT32) | BIT(UINT32) | BIT(INT64) | BIT(UINT64))
#define ALL (WIDE | BIT(INT8) | BIT(UINT8))
#define TRUTH BIT(UINT8)
#define INDICES (BIT(INT32) | BIT(UINT32) | BIT(INT64))
/* The 4-bit ones are no longer in the table, but in the tests. */
#define QUANTIZED (BIT(UINT8) | BIT(INT8) | BIT(UINT32) | BIT(INT32) | BIT(INT4) | BIT(UINT4))
#define N PTO_MAX_DIMS

/* ---- parameters ---- */

#define OPERAND(name, dtypes, min_rank, max_rank)                                                                      \
  { name, dtypes, 0, min_rank, max_rank, 0, false, false }
/* Of the dtype of parameter `same`, counted from 0. */
#define SAME(name, same, min_rank, max_rank)                                                                           \
  { name, PTO_DTYPES_ALL, (same) + 1, min_rank, max_rank, 0, false, false }
/* In the options. */
#define OPTION(name, same, min_rank, max_rank, options, field)                                                         \
  { name, PTO_DTYPES_ALL, (same) + 1, min_rank, max_rank, offsetof(struct options, field), true, false }
/* One or more. */
#define LIST_OF(name, dtypes, min_rank, max_rank)                                                                      \
  { name, dtypes, 0, min_rank, max_rank, 0, false, true }
#define X(id, name, options, call, ...) static const struct pto_op_parameter parameters_##id[] = {__VA_ARGS__};
PTO_OP_LIST(X)
#undef X

/* ---- attributes ---- */

static const char *const layouts[] = {"nchw", "nhwc", NULL};
static const char *const conv2d_filters[] = {"oihw", "hwio", "ohwi", "ihwo", NULL};
static const char *const conv_transpose2d_filters[] = {"iohw", "hwoi", "ohwi", NULL};
static const char *const roundings[] = {"floor", "ceil", NULL};
static const char *const interpolations[] = {"nearest-neighbor", "linear", NULL};
static const char *const paddings[] = {"constant", "edge", "reflection", "symmetric", NULL};
static const char *const activations[] = {"relu", "sigmoid", "tanh", NULL};
static const char *const directions[] = {"forward", "backward", "both", NULL};
static const char *const gru_layouts[] = {"zrn", "rzn", NULL};
static const char *const lstm_layouts[] = {"iofg", "ifgo", NULL};

#define U32(name, options, field)                                                                                      \
  { name, NULL, PTO_ATTRIBUTE_U32, offsetof(struct options, field), 0, true, NULL }
#define FLAG(name, options, field)                                                                                     \
  { name, NULL, PTO_ATTRIBUTE_FLAG, offsetof(struct options, field), 0, false, NULL }
#define WORD(name, options, field, words)                                                                              \
  { name, NULL, PTO_ATTRIBUTE_WORD, offsetof(struct options, field), 0, false, words }
#define NUMBER(name, options, field, class_)                                                                           \
  { name, NULL, PTO_ATTRIBUTE_NUMBER, offsetof(struct options, field), PTO_NUMBERS_##class_, false, NULL }
#define LIST(name, options, field)                                                                                     \
  { name, NULL, PTO_ATTRIBUTE_U32_LIST, offsetof(struct options, field), 0, false, NULL }
#define REQUIRED_LIST(name, options, field)                                                                            \
  { name, NULL, PTO_ATTRIBUTE_U32_LIST, offsetof(struct options, field), 0, true, NULL }
#define WORDS(name, options, field, words)                                                                             \
  { name, NULL, PTO_ATTRIBUTE_WORD_LIST, offsetof(struct options, field), 0, false, words }
/* Ends a list: some have nothing else. */
#define END                                                                                                            \
  { NULL, NULL, 0, 0, 0, false, NULL }

#define ATTRIBUTES(options) static const struct pto_op_attribute attributes_##options[]
ATTRIBUTES(graph) = {END};
ATTRIBUTES(reduce) = {LIST("axes", pto_reduce_options, axes),
                      FLAG("keepDimensions", pto_reduce_options, keep_dimensions), END};
ATTRIBUTES(cast) = {
    {"dataType", "type", PTO_ATTRIBUTE_DTYPE, offsetof(struct pto_cast_options, data_type), 0, true, NULL}, END};
ATTRIBUTES(clamp) = {NUMBER("minValue", pto_clamp_options, min_value, FINITE),
                     NUMBER("maxValue", pto_clamp_options, max_value, FINITE), END};
ATTRIBUTES(elu) = {NUMBER("alpha", pto_elu_options, alpha, FINITE), END};
ATTRIBUTES(hard_sigmoid) = {NUMBER("alpha", pto_hard_sigmoid_options, alpha, FINITE),
                            NUMBER("beta", pto_hard_sigmoid_options, beta, FINITE), END};
ATTRIBUTES(leaky_relu) = {NUMBER("alpha", pto_leaky_relu_options, alpha, FINITE), END};
ATTRIBUTES(linear) = {NUMBER("alpha", pto_linear_options, alpha, FINITE),
                      NUMBER("beta", pto_linear_options, beta, FINITE), END};
_Static_assert(offsetof(struct pto_softmax_options, is_last) ==
                   offsetof(struct pto_softmax_options, axis) + sizeof(uint32_t),
               "PTO_ATTRIBUTE_AXIS is a number and the flag behind it");
/* Files from before softmax had an axis have none, and mean the last. */
ATTRIBUTES(softmax) = {{"axis", NULL, PTO_ATTRIBUTE_AXIS, offsetof(struct pto_softmax_options, axis), 0, false, NULL},
                       END};
/* The dtype of the result is a number, so that it may be absent. */
ATTRIBUTES(arg_reduce) = {U32("axis", pto_arg_reduce_options, axis),
                          FLAG("keepDimensions", pto_arg_reduce_options, keep_dimensions),
                          {"outputDataType", NULL, PTO_ATTRIBUTE_OPTIONAL_DTYPE,
                           offsetof(struct pto_arg_reduce_options, output_data_type), PTO_NUMBERS_UNSIGNED, false,
                           NULL},
                          END};
ATTRIBUTES(cumulative_sum) = {U32("axis", pto_cumulative_sum_options, axis),
                              FLAG("exclusive", pto_cumulative_sum_options, exclusive),
                              FLAG("reversed", pto_cumulative_sum_options, reversed), END};
ATTRIBUTES(gemm) = {NUMBER("alpha", pto_gemm_options, alpha, FINITE), NUMBER("beta", pto_gemm_options, beta, FINITE),
                    FLAG("aTranspose", pto_gemm_options, a_transpose),
                    FLAG("bTranspose", pto_gemm_options, b_transpose), END};
ATTRIBUTES(conv2d) = {LIST("padding", pto_conv2d_options, padding),
                      LIST("strides", pto_conv2d_options, strides),
                      LIST("dilations", pto_conv2d_options, dilations),
                      NUMBER("groups", pto_conv2d_options, groups, UNSIGNED),
                      WORD("inputLayout", pto_conv2d_options, input_layout, layouts),
                      WORD("filterLayout", pto_conv2d_options, filter_layout, conv2d_filters),
                      END};
ATTRIBUTES(conv_transpose2d) = {
    LIST("padding", pto_conv_transpose2d_options, padding),
    LIST("strides", pto_conv_transpose2d_options, strides),
    LIST("dilations", pto_conv_transpose2d_options, dilations),
    LIST("outputPadding", pto_conv_transpose2d_options, output_padding),
    LIST("outputSizes", pto_conv_transpose2d_options, output_sizes),
    NUMBER("groups", pto_conv_transpose2d_options, groups, UNSIGNED),
    WORD("inputLayout", pto_conv_transpose2d_options, input_layout, layouts),
    WORD("filterLayout", pto_conv_transpose2d_options, filter_layout, conv_transpose2d_filters),
    END};
ATTRIBUTES(pool2d) = {LIST("windowDimensions", pto_pool2d_options, window_dimensions),
                      LIST("padding", pto_pool2d_options, padding),
                      LIST("strides", pto_pool2d_options, strides),
                      LIST("dilations", pto_pool2d_options, dilations),
                      WORD("layout", pto_pool2d_options, layout, layouts),
                      {"outputShapeRounding", "roundingType", PTO_ATTRIBUTE_WORD,
                       offsetof(struct pto_pool2d_options, output_shape_rounding), 0, false, roundings},
                      LIST("outputSizes", pto_pool2d_options, output_sizes),
                      END};
ATTRIBUTES(resample2d) = {
    WORD("mode", pto_resample2d_options, mode, interpolations),
    {"scales", NULL, PTO_ATTRIBUTE_F32_LIST, offsetof(struct pto_resample2d_options, scales), 0, false, NULL},
    LIST("sizes", pto_resample2d_options, sizes),
    LIST("axes", pto_resample2d_options, axes),
    END};
ATTRIBUTES(batch_normalization) = {NUMBER("axis", pto_batch_normalization_options, axis, UNSIGNED),
                                   NUMBER("epsilon", pto_batch_normalization_options, epsilon, FINITE), END};
ATTRIBUTES(instance_normalization) = {NUMBER("epsilon", pto_instance_normalization_options, epsilon, FINITE),
                                      WORD("layout", pto_instance_normalization_options, layout, layouts), END};
ATTRIBUTES(layer_normalization) = {LIST("axes", pto_layer_normalization_options, axes),
                                   NUMBER("epsilon", pto_layer_normalization_options, epsilon, FINITE), END};
ATTRIBUTES(new_shape) = {REQUIRED_LIST("newShape", pto_new_shape_options, new_shape), END};
ATTRIBUTES(axes) = {LIST("axes", pto_axes_options, axes), END};
ATTRIBUTES(required_axes) = {REQUIRED_LIST("axes", pto_axes_options, axes), END};
ATTRIBUTES(transpose) = {LIST("permutation", pto_transpose_options, permutation), END};
ATTRIBUTES(slice) = {REQUIRED_LIST("starts", pto_slice_options, starts),
                     REQUIRED_LIST("sizes", pto_slice_options, sizes), LIST("strides", pto_slice_options, strides),
                     END};
ATTRIBUTES(pad) = {REQUIRED_LIST("beginningPadding", pto_pad_options, beginning_padding),
                   REQUIRED_LIST("endingPadding", pto_pad_options, ending_padding),
                   WORD("mode", pto_pad_options, mode, paddings), NUMBER("value", pto_pad_options, value, ALL), END};
ATTRIBUTES(tile) = {REQUIRED_LIST("repetitions", pto_tile_options, repetitions), END};
ATTRIBUTES(triangular) = {FLAG("upper", pto_triangular_options, upper),
                          NUMBER("diagonal", pto_triangular_options, diagonal, SIGNED), END};
ATTRIBUTES(axis) = {NUMBER("axis", pto_axis_options, axis, UNSIGNED), END};
ATTRIBUTES(concat) = {U32("axis", pto_concat_options, axis), END};
_Static_assert(offsetof(struct pto_split_options, has_sizes) ==
                   offsetof(struct pto_split_options, splits) + sizeof(struct pto_u32_list),
               "PTO_ATTRIBUTE_SPLITS is a list and the flag behind it");
ATTRIBUTES(split) = {{"splits", NULL, PTO_ATTRIBUTE_SPLITS, offsetof(struct pto_split_options, splits), 0, true, NULL},
                     NUMBER("axis", pto_split_options, axis, UNSIGNED),
                     END};
ATTRIBUTES(gru) = {U32("steps", pto_gru_options, steps),
                   U32("hiddenSize", pto_gru_options, hidden_size),
                   FLAG("resetAfter", pto_gru_options, reset_after),
                   FLAG("returnSequence", pto_gru_options, return_sequence),
                   WORD("direction", pto_gru_options, direction, directions),
                   WORD("layout", pto_gru_options, layout, gru_layouts),
                   WORDS("activations", pto_gru_options, activations, activations),
                   END};
ATTRIBUTES(gru_cell) = {U32("hiddenSize", pto_gru_cell_options, hidden_size),
                        FLAG("resetAfter", pto_gru_cell_options, reset_after),
                        WORD("layout", pto_gru_cell_options, layout, gru_layouts),
                        WORDS("activations", pto_gru_cell_options, activations, activations), END};
ATTRIBUTES(lstm) = {U32("steps", pto_lstm_options, steps),
                    U32("hiddenSize", pto_lstm_options, hidden_size),
                    FLAG("returnSequence", pto_lstm_options, return_sequence),
                    WORD("direction", pto_lstm_options, direction, directions),
                    WORD("layout", pto_lstm_options, layout, lstm_layouts),
                    WORDS("activations", pto_lstm_options, activations, activations),
                    END};
ATTRIBUTES(lstm_cell) = {U32("hiddenSize", pto_lstm_cell_options, hidden_size),
                         WORD("layout", pto_lstm_cell_options, layout, lstm_layouts),
                         WORDS("activations", pto_lstm_cell_options, activations, activations), END};

/* ---- the table ---- */

#define INFO(id, name, options, infer)                                                                                 \
  [PTO_GRAPH_OP_##id] = {name,                                                                                         \
                         parameters_##id,                                                                              \
                         attributes_##options,                                                                         \
                         PTO_ARRAY_LENGTH(parameters_##id),                                                            \
                         PTO_ARRAY_LENGTH(attributes_##options) - 1,                                                   \
                         sizeof(struct pto_##options##_options),                                                       \
                         infer},
static const struct pto_op_info table[PTO_GRAPH_OP_COUNT] = {
#define X(id, name, options, ...) INFO(id, name, options, pto_infer_unary)
    PTO_UNARY_OP_LIST(X)
#undef X
#define X(id, name, options, ...) INFO(id, name, options, pto_infer_binary)
        PTO_ARITHMETIC_OP_LIST(X)
#undef X
#define X(id, name, options, ...) INFO(id, name, options, pto_infer_test)
            PTO_COMPARISON_OP_LIST(X) PTO_LOGIC_OP_LIST(X)
#undef X
#define X(id, name, options, ...) INFO(id, name, options, pto_infer_reduce)
                PTO_REDUCE_OP_LIST(X)
#undef X
#define X(id, name, options, ...) INFO(id, name, options, pto_infer_##id)
                    PTO_OTHER_OP_LIST(X)
#undef X
};

const struct pto_op_info *pto_op_info(uint32_t op) {
  const struct pto_op_info *info = op < PTO_GRAPH_OP_COUNT ? &table[op] : pto_outside_info(op);
  PTO_ASSERT(info);
  return info;
}

bool pto_op_is_known(uint32_t op) { return op < PTO_GRAPH_OP_COUNT || pto_outside_info(op); }

uint32_t pto_op_find(const char *name) {
  for (uint32_t op = 0; op < PTO_GRAPH_OP_COUNT; op++)
    if (strcmp(table[op].name, name) == 0) return op;
  return pto_outside_find(name);
}

/* X(dtype, the specification's name) */
#define DTYPE_NAMES(X)                                                                                                 \
  X(PTO_FLOAT32, "float32")                                                                                            \
  X(PTO_FLOAT16, "float16")                                                                                            \
  X(PTO_INT32, "int32")                                                                                                \
  X(PTO_UINT32, "uint32")                                                                                              \
  X(PTO_INT64, "int64")                                                                                                \
  X(PTO_UINT64, "uint64")                                                                                              \
  X(PTO_INT8, "int8")                                                                                                  \
  X(PTO_UINT8, "uint8")                                                                                                \
  X(PTO_INT4, "int4")                                                                                                  \
  X(PTO_UINT4, "uint4")
#define X(dtype, name) | PTO_DTYPE_BIT(dtype)
/* WebNN's MLOperandDataType has none of these. */
#define NOT_OF_GRAPHS                                                                                                  \
  (PTO_DTYPE_BIT(PTO_INT16) | PTO_DTYPE_BIT(PTO_UINT16) | PTO_DTYPE_BIT(PTO_BFLOAT16) | PTO_DTYPE_BIT(PTO_BOOL) |      \
   PTO_DTYPES_SMALL_FLOAT)
_Static_assert((NOT_OF_GRAPHS DTYPE_NAMES(X)) == PTO_DTYPES_ALL,
               "a dtype more: its name goes into DTYPE_NAMES, or it into NOT_OF_GRAPHS");
#undef X
static const char *const dtype_names[PTO_DTYPE_COUNT] = {
#define X(dtype, name) [dtype] = name,
    DTYPE_NAMES(X)
#undef X
};

const char *pto_graph_dtype_name(uint32_t dtype) { return dtype < PTO_DTYPE_COUNT ? dtype_names[dtype] : NULL; }

const char *pto_graph_dtype_names(void) {
#define X(dtype, name) ", " name
  static const char names[] = DTYPE_NAMES(X);
#undef X
  return names + 2;
}

int pto_graph_dtype_find(const char *name) {
  for (int dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    if (dtype_names[dtype] && strcmp(dtype_names[dtype], name) == 0) return dtype;
  return -1;
}
