/* SPDX-License-Identifier: MIT */
/*
 * The one list of operations of the graph layer: the 95 of the specification, and four of exchange formats.
 *
 * A row is X(id, "name", options, call, operands…): the name that the specification has for it; its options, struct
 * pto_OPTIONS_options of <pto/graph_options.h>; what the typed call is given besides them (ONE, TWO, THREE operands, or
 * OWN, which graph/build/builder_calls.c spells out); and the operands, with their names, dtypes and ranks, in the
 * words of graph/build/op_table.c, which alone reads them.
 *
 * Always true: identifiers, names, the table of operands and attributes, the typed calls, inference, lowering and
 * reference are made from these rows, so that a part that is forgotten does not link.  A row asks for
 *
 *   attributes_OPTIONS       what the options are called in files       graph/build/op_table.c
 *   pto_infer_ID             dtype and shape of its results             graph/infer/
 *   pto_graph_reference_ID   its results in double precision            graph/reference/
 *   pto_lower_ID             its tasks                                  graph/lower/
 *   pto_graph_builder_ID     the declaration of its call                <pto/graph_operations.h>
 *
 * Operations of one form share a list, and inference and lowering with it (pto_infer_unary, pto_lower_reduce).
 */
#ifndef PTO_GRAPH_BUILD_OP_LIST_H
#define PTO_GRAPH_BUILD_OP_LIST_H

/* One operand, no options; the shape of the operand. */
#define PTO_UNARY_OP_LIST(X)                                                                                           \
  X(abs, "abs", graph, ONE, OPERAND("input", SIGNED, 0, N))                                                            \
  X(ceil, "ceil", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                          \
  X(cos, "cos", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                            \
  X(erf, "erf", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                            \
  X(exp, "exp", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                            \
  X(floor, "floor", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                        \
  X(identity, "identity", graph, ONE, OPERAND("input", ALL, 0, N))                                                     \
  X(is_nan, "isNaN", graph, ONE, OPERAND("a", ALL, 0, N))                                                              \
  X(is_infinite, "isInfinite", graph, ONE, OPERAND("a", ALL, 0, N))                                                    \
  X(log, "log", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                            \
  X(logical_not, "logicalNot", graph, ONE, OPERAND("a", TRUTH, 0, N))                                                  \
  X(neg, "neg", graph, ONE, OPERAND("input", SIGNED, 0, N))                                                            \
  X(reciprocal, "reciprocal", graph, ONE, OPERAND("input", FLOATS, 0, N))                                              \
  X(round_even, "roundEven", graph, ONE, OPERAND("input", FLOATS, 0, N))                                               \
  X(sign, "sign", graph, ONE, OPERAND("input", SIGNED, 0, N))                                                          \
  X(sin, "sin", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                            \
  X(sqrt, "sqrt", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                          \
  X(tan, "tan", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                            \
  X(gelu, "gelu", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                          \
  X(hard_swish, "hardSwish", graph, ONE, OPERAND("input", FLOATS, 0, N))                                               \
  X(relu, "relu", graph, ONE, OPERAND("input", SIGNED, 0, N))                                                          \
  X(sigmoid, "sigmoid", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                    \
  X(softplus, "softplus", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                  \
  X(softsign, "softsign", graph, ONE, OPERAND("input", FLOATS, 0, N))                                                  \
  X(tanh, "tanh", graph, ONE, OPERAND("input", FLOATS, 0, N))

/* Two operands a and b, broadcast to one shape; no options.  Of their dtype: */
#define PTO_ARITHMETIC_OP_LIST(X)                                                                                      \
  X(add, "add", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                                               \
  X(sub, "sub", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                                               \
  X(mul, "mul", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                                               \
  X(div, "div", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                                               \
  X(max, "max", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                                               \
  X(min, "min", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                                               \
  X(pow, "pow", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))

/* uint8, 1 where it holds of two numbers, else 0: */
#define PTO_COMPARISON_OP_LIST(X)                                                                                      \
  X(equal, "equal", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                                           \
  X(not_equal, "notEqual", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                                    \
  X(greater, "greater", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                                       \
  X(greater_or_equal, "greaterOrEqual", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                       \
  X(lesser, "lesser", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))                                         \
  X(lesser_or_equal, "lesserOrEqual", graph, TWO, OPERAND("a", ALL, 0, N), SAME("b", 0, 0, N))

/* The same of two bools. */
#define PTO_LOGIC_OP_LIST(X)                                                                                           \
  X(logical_and, "logicalAnd", graph, TWO, OPERAND("a", TRUTH, 0, N), SAME("b", 0, 0, N))                              \
  X(logical_or, "logicalOr", graph, TWO, OPERAND("a", TRUTH, 0, N), SAME("b", 0, 0, N))                                \
  X(logical_xor, "logicalXor", graph, TWO, OPERAND("a", TRUTH, 0, N), SAME("b", 0, 0, N))

#define PTO_BINARY_OP_LIST(X) PTO_ARITHMETIC_OP_LIST(X) PTO_COMPARISON_OP_LIST(X) PTO_LOGIC_OP_LIST(X)

/* One operand; options axes and keepDimensions. */
#define PTO_REDUCE_OP_LIST(X)                                                                                          \
  X(reduce_l1, "reduceL1", reduce, ONE, OPERAND("input", WIDE, 0, N))                                                  \
  X(reduce_l2, "reduceL2", reduce, ONE, OPERAND("input", FLOATS, 0, N))                                                \
  X(reduce_log_sum, "reduceLogSum", reduce, ONE, OPERAND("input", FLOATS, 0, N))                                       \
  X(reduce_log_sum_exp, "reduceLogSumExp", reduce, ONE, OPERAND("input", FLOATS, 0, N))                                \
  X(reduce_max, "reduceMax", reduce, ONE, OPERAND("input", ALL, 0, N))                                                 \
  X(reduce_mean, "reduceMean", reduce, ONE, OPERAND("input", FLOATS, 0, N))                                            \
  X(reduce_min, "reduceMin", reduce, ONE, OPERAND("input", ALL, 0, N))                                                 \
  X(reduce_product, "reduceProduct", reduce, ONE, OPERAND("input", WIDE, 0, N))                                        \
  X(reduce_sum, "reduceSum", reduce, ONE, OPERAND("input", WIDE, 0, N))                                                \
  X(reduce_sum_square, "reduceSumSquare", reduce, ONE, OPERAND("input", WIDE, 0, N))

/* All others.  Those of required_axes are options like axes, but files have to give them. */
#define pto_required_axes_options pto_axes_options
#define PTO_OTHER_OP_LIST(X)                                                                                           \
  X(cast, "cast", cast, ONE, OPERAND("input", ALL, 0, N))                                                              \
  X(clamp, "clamp", clamp, ONE, OPERAND("input", ALL, 0, N))                                                           \
  X(where, "where", graph, THREE, OPERAND("condition", TRUTH, 0, N), OPERAND("trueValue", ALL, 0, N),                  \
    SAME("falseValue", 1, 0, N))                                                                                       \
  X(elu, "elu", elu, ONE, OPERAND("input", FLOATS, 0, N))                                                              \
  X(hard_sigmoid, "hardSigmoid", hard_sigmoid, ONE, OPERAND("input", FLOATS, 0, N))                                    \
  X(leaky_relu, "leakyRelu", leaky_relu, ONE, OPERAND("input", FLOATS, 0, N))                                          \
  X(linear, "linear", linear, ONE, OPERAND("input", FLOATS, 0, N))                                                     \
  X(prelu, "prelu", graph, TWO, OPERAND("input", SIGNED, 0, N), SAME("slope", 0, 0, N))                                \
  X(softmax, "softmax", softmax, ONE, OPERAND("input", FLOATS, 1, N))                                                  \
  X(arg_min, "argMin", arg_reduce, ONE, OPERAND("input", ALL, 1, N))                                                   \
  X(arg_max, "argMax", arg_reduce, ONE, OPERAND("input", ALL, 1, N))                                                   \
  X(cumulative_sum, "cumulativeSum", cumulative_sum, ONE, OPERAND("input", WIDE, 1, N))                                \
  X(matmul, "matmul", graph, TWO, OPERAND("a", FLOATS, 2, N), SAME("b", 0, 2, N))                                      \
  X(gemm, "gemm", gemm, TWO, OPERAND("a", FLOATS, 2, 2), SAME("b", 0, 2, 2),                                           \
    OPTION("c", 0, 0, 2, pto_gemm_options, c))                                                                         \
  X(conv2d, "conv2d", conv2d, TWO, OPERAND("input", FLOATS, 4, 4), SAME("filter", 0, 4, 4),                            \
    OPTION("bias", 0, 1, 1, pto_conv2d_options, bias))                                                                 \
  X(conv_transpose2d, "convTranspose2d", conv_transpose2d, TWO, OPERAND("input", FLOATS, 4, 4),                        \
    SAME("filter", 0, 4, 4), OPTION("bias", 0, 1, 1, pto_conv_transpose2d_options, bias))                              \
  X(average_pool2d, "averagePool2d", pool2d, ONE, OPERAND("input", FLOATS, 4, 4))                                      \
  X(l2_pool2d, "l2Pool2d", pool2d, ONE, OPERAND("input", FLOATS, 4, 4))                                                \
  X(max_pool2d, "maxPool2d", pool2d, ONE, OPERAND("input", ALL, 4, 4))                                                 \
  X(global_average_pool, "globalAveragePool", graph, ONE, OPERAND("input", FLOATS, 4, 4))                              \
  X(global_max_pool, "globalMaxPool", graph, ONE, OPERAND("input", ALL, 4, 4))                                         \
  X(resample2d, "resample2d", resample2d, ONE, OPERAND("input", FLOATS | BIT(UINT8) | BIT(INT8), 4, 4))                \
  X(batch_normalization, "batchNormalization", batch_normalization, THREE, OPERAND("input", FLOATS, 1, N),             \
    SAME("mean", 0, 1, 1), SAME("variance", 0, 1, 1),                                                                  \
    OPTION("scale", 0, 1, 1, pto_batch_normalization_options, scale),                                                  \
    OPTION("bias", 0, 1, 1, pto_batch_normalization_options, bias))                                                    \
  X(instance_normalization, "instanceNormalization", instance_normalization, ONE, OPERAND("input", FLOATS, 4, 4),      \
    OPTION("scale", 0, 1, 1, pto_instance_normalization_options, scale),                                               \
    OPTION("bias", 0, 1, 1, pto_instance_normalization_options, bias))                                                 \
  X(layer_normalization, "layerNormalization", layer_normalization, ONE, OPERAND("input", FLOATS, 0, N),               \
    OPTION("scale", 0, 0, N, pto_layer_normalization_options, scale),                                                  \
    OPTION("bias", 0, 0, N, pto_layer_normalization_options, bias))                                                    \
  X(quantize_linear, "quantizeLinear", graph, THREE, OPERAND("input", FLOATS, 0, N), SAME("scale", 0, 0, N),           \
    OPERAND("zeroPoint", QUANTIZED, 0, N))                                                                             \
  X(dequantize_linear, "dequantizeLinear", graph, THREE, OPERAND("input", QUANTIZED, 0, N),                            \
    OPERAND("scale", FLOATS, 0, N), SAME("zeroPoint", 0, 0, N))                                                        \
  X(expand, "expand", new_shape, ONE, OPERAND("input", ALL, 0, N))                                                     \
  X(reshape, "reshape", new_shape, ONE, OPERAND("input", ALL, 0, N))                                                   \
  X(squeeze, "squeeze", axes, ONE, OPERAND("input", ALL, 0, N))                                                        \
  X(unsqueeze, "unsqueeze", required_axes, ONE, OPERAND("input", ALL, 0, N))                                           \
  X(transpose, "transpose", transpose, ONE, OPERAND("input", ALL, 0, N))                                               \
  X(reverse, "reverse", axes, ONE, OPERAND("input", ALL, 0, N))                                                        \
  X(slice, "slice", slice, ONE, OPERAND("input", ALL, 0, N))                                                           \
  X(pad, "pad", pad, ONE, OPERAND("input", ALL, 1, N))                                                                 \
  X(tile, "tile", tile, ONE, OPERAND("input", ALL, 0, N))                                                              \
  X(triangular, "triangular", triangular, ONE, OPERAND("input", ALL, 2, N))                                            \
  X(gather, "gather", axis, TWO, OPERAND("input", ALL, 1, N), OPERAND("indices", INDICES, 0, N))                       \
  X(gather_elements, "gatherElements", axis, TWO, OPERAND("input", ALL, 1, N), OPERAND("indices", INDICES, 1, N))      \
  X(gather_nd, "gatherND", graph, TWO, OPERAND("input", ALL, 1, N), OPERAND("indices", INDICES, 1, N))                 \
  X(scatter_elements, "scatterElements", axis, THREE, OPERAND("input", ALL, 1, N), OPERAND("indices", INDICES, 1, N),  \
    SAME("updates", 0, 1, N))                                                                                          \
  X(scatter_nd, "scatterND", graph, THREE, OPERAND("input", ALL, 1, N), OPERAND("indices", INDICES, 1, N),             \
    SAME("updates", 0, 0, N))                                                                                          \
  X(concat, "concat", concat, OWN, LIST_OF("inputs", ALL, 1, N))                                                       \
  X(split, "split", split, OWN, OPERAND("input", ALL, 1, N))                                                           \
  X(gru, "gru", gru, OWN, OPERAND("input", FLOATS, 3, 3), SAME("weight", 0, 3, 3), SAME("recurrentWeight", 0, 3, 3),   \
    OPTION("bias", 0, 2, 2, pto_gru_options, bias), OPTION("recurrentBias", 0, 2, 2, pto_gru_options, recurrent_bias), \
    OPTION("initialHiddenState", 0, 3, 3, pto_gru_options, initial_hidden_state))                                      \
  X(gru_cell, "gruCell", gru_cell, OWN, OPERAND("input", FLOATS, 2, 2), SAME("weight", 0, 2, 2),                       \
    SAME("recurrentWeight", 0, 2, 2), SAME("hiddenState", 0, 2, 2),                                                    \
    OPTION("bias", 0, 1, 1, pto_gru_cell_options, bias),                                                               \
    OPTION("recurrentBias", 0, 1, 1, pto_gru_cell_options, recurrent_bias))                                            \
  X(lstm, "lstm", lstm, OWN, OPERAND("input", FLOATS, 3, 3), SAME("weight", 0, 3, 3),                                  \
    SAME("recurrentWeight", 0, 3, 3), OPTION("bias", 0, 2, 2, pto_lstm_options, bias),                                 \
    OPTION("recurrentBias", 0, 2, 2, pto_lstm_options, recurrent_bias),                                                \
    OPTION("peepholeWeight", 0, 2, 2, pto_lstm_options, peephole_weight),                                              \
    OPTION("initialHiddenState", 0, 3, 3, pto_lstm_options, initial_hidden_state),                                     \
    OPTION("initialCellState", 0, 3, 3, pto_lstm_options, initial_cell_state))                                         \
  X(lstm_cell, "lstmCell", lstm_cell, OWN, OPERAND("input", FLOATS, 2, 2), SAME("weight", 0, 2, 2),                    \
    SAME("recurrentWeight", 0, 2, 2), SAME("hiddenState", 0, 2, 2), SAME("cellState", 0, 2, 2),                        \
    OPTION("bias", 0, 1, 1, pto_lstm_cell_options, bias),                                                              \
    OPTION("recurrentBias", 0, 1, 1, pto_lstm_cell_options, recurrent_bias),                                           \
    OPTION("peepholeWeight", 0, 1, 1, pto_lstm_cell_options, peephole_weight))

#define PTO_OP_LIST(X) PTO_UNARY_OP_LIST(X) PTO_BINARY_OP_LIST(X) PTO_REDUCE_OP_LIST(X) PTO_OTHER_OP_LIST(X)

enum pto_graph_op {
#define X(id, ...) PTO_GRAPH_OP_##id,
  PTO_OP_LIST(X)
#undef X
      PTO_GRAPH_OP_COUNT
};

/* X(id): results may be views of the first operand (pto_graph_lowering_alias); of concat, where it has one alone. */
#define PTO_VIEW_OP_LIST(X)                                                                                            \
  X(identity)                                                                                                          \
  X(reshape)                                                                                                           \
  X(squeeze)                                                                                                           \
  X(unsqueeze)                                                                                                         \
  X(transpose)                                                                                                         \
  X(slice)                                                                                                             \
  X(expand)                                                                                                            \
  X(split)                                                                                                             \
  X(concat)

#endif
