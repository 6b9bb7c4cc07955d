/* SPDX-License-Identifier: MIT */
/*
 * The one list of operations of the graph layer: the 95 of the specification, and four of exchange formats.
 *
 * Always true: identifiers, names, the table of parameters and attributes, inference, lowering and reference are made
 * from these lines, so that a part that is forgotten does not link.  A line of X(id, "name") asks for
 *
 *   parameters_ID, attributes_ID   what its operands and options are called, dtypes, ranks   graph/build/op_table.c
 *   pto_infer_ID                   dtype and shape of its results                            graph/infer_*.c
 *   pto_graph_reference_ID         its results in double precision                           graph/reference/
 *   pto_lower_ID                   its tasks                                                 graph/lower/
 *   pto_graph_builder_ID           the call                                                  <pto/graph_operations.h>,
 *                                                                                            graph/build/builder_calls.c
 *
 * Operations of one form share a list, and whatever the form says once: those of the first three have no attributes or
 * inference of their own (pto_infer_unary, _binary, _reduce), and their calls are made by the lists.
 */
#ifndef PTO_GRAPH_BUILD_OP_LIST_H
#define PTO_GRAPH_BUILD_OP_LIST_H

/* One operand, no options; the shape of the operand. */
#define PTO_UNARY_OP_LIST(X)                                                                                           \
  X(abs, "abs")                                                                                                        \
  X(ceil, "ceil")                                                                                                      \
  X(cos, "cos")                                                                                                        \
  X(erf, "erf")                                                                                                        \
  X(exp, "exp")                                                                                                        \
  X(floor, "floor")                                                                                                    \
  X(identity, "identity")                                                                                              \
  X(is_nan, "isNaN")                                                                                                   \
  X(is_infinite, "isInfinite")                                                                                         \
  X(log, "log")                                                                                                        \
  X(logical_not, "logicalNot")                                                                                         \
  X(neg, "neg")                                                                                                        \
  X(reciprocal, "reciprocal")                                                                                          \
  X(round_even, "roundEven")                                                                                           \
  X(sign, "sign")                                                                                                      \
  X(sin, "sin")                                                                                                        \
  X(sqrt, "sqrt")                                                                                                      \
  X(tan, "tan")                                                                                                        \
  X(gelu, "gelu")                                                                                                      \
  X(hard_swish, "hardSwish")                                                                                           \
  X(relu, "relu")                                                                                                      \
  X(sigmoid, "sigmoid")                                                                                                \
  X(softplus, "softplus")                                                                                              \
  X(softsign, "softsign")                                                                                              \
  X(tanh, "tanh")

/* Two operands a and b, broadcast to one shape; no options. */
#define PTO_BINARY_OP_LIST(X)                                                                                          \
  X(add, "add")                                                                                                        \
  X(sub, "sub")                                                                                                        \
  X(mul, "mul")                                                                                                        \
  X(div, "div")                                                                                                        \
  X(max, "max")                                                                                                        \
  X(min, "min")                                                                                                        \
  X(pow, "pow")                                                                                                        \
  X(equal, "equal")                                                                                                    \
  X(not_equal, "notEqual")                                                                                             \
  X(greater, "greater")                                                                                                \
  X(greater_or_equal, "greaterOrEqual")                                                                                \
  X(lesser, "lesser")                                                                                                  \
  X(lesser_or_equal, "lesserOrEqual")                                                                                  \
  X(logical_and, "logicalAnd")                                                                                         \
  X(logical_or, "logicalOr")                                                                                           \
  X(logical_xor, "logicalXor")

/* One operand; options axes and keepDimensions. */
#define PTO_REDUCE_OP_LIST(X)                                                                                          \
  X(reduce_l1, "reduceL1")                                                                                             \
  X(reduce_l2, "reduceL2")                                                                                             \
  X(reduce_log_sum, "reduceLogSum")                                                                                    \
  X(reduce_log_sum_exp, "reduceLogSumExp")                                                                             \
  X(reduce_max, "reduceMax")                                                                                           \
  X(reduce_mean, "reduceMean")                                                                                         \
  X(reduce_min, "reduceMin")                                                                                           \
  X(reduce_product, "reduceProduct")                                                                                   \
  X(reduce_sum, "reduceSum")                                                                                           \
  X(reduce_sum_square, "reduceSumSquare")

/* All others. */
#define PTO_OTHER_OP_LIST(X)                                                                                           \
  X(cast, "cast")                                                                                                      \
  X(clamp, "clamp")                                                                                                    \
  X(where, "where")                                                                                                    \
  X(elu, "elu")                                                                                                        \
  X(hard_sigmoid, "hardSigmoid")                                                                                       \
  X(leaky_relu, "leakyRelu")                                                                                           \
  X(linear, "linear")                                                                                                  \
  X(prelu, "prelu")                                                                                                    \
  X(softmax, "softmax")                                                                                                \
  X(arg_min, "argMin")                                                                                                 \
  X(arg_max, "argMax")                                                                                                 \
  X(cumulative_sum, "cumulativeSum")                                                                                   \
  X(matmul, "matmul")                                                                                                  \
  X(gemm, "gemm")                                                                                                      \
  X(conv2d, "conv2d")                                                                                                  \
  X(conv_transpose2d, "convTranspose2d")                                                                               \
  X(average_pool2d, "averagePool2d")                                                                                   \
  X(l2_pool2d, "l2Pool2d")                                                                                             \
  X(max_pool2d, "maxPool2d")                                                                                           \
  X(global_average_pool, "globalAveragePool")                                                                          \
  X(global_max_pool, "globalMaxPool")                                                                                  \
  X(resample2d, "resample2d")                                                                                          \
  X(batch_normalization, "batchNormalization")                                                                         \
  X(instance_normalization, "instanceNormalization")                                                                   \
  X(layer_normalization, "layerNormalization")                                                                         \
  X(quantize_linear, "quantizeLinear")                                                                                 \
  X(dequantize_linear, "dequantizeLinear")                                                                             \
  X(expand, "expand")                                                                                                  \
  X(reshape, "reshape")                                                                                                \
  X(squeeze, "squeeze")                                                                                                \
  X(unsqueeze, "unsqueeze")                                                                                            \
  X(transpose, "transpose")                                                                                            \
  X(reverse, "reverse")                                                                                                \
  X(slice, "slice")                                                                                                    \
  X(pad, "pad")                                                                                                        \
  X(tile, "tile")                                                                                                      \
  X(triangular, "triangular")                                                                                          \
  X(gather, "gather")                                                                                                  \
  X(gather_elements, "gatherElements")                                                                                 \
  X(gather_nd, "gatherND")                                                                                             \
  X(scatter_elements, "scatterElements")                                                                               \
  X(scatter_nd, "scatterND")                                                                                           \
  X(concat, "concat")                                                                                                  \
  X(split, "split")                                                                                                    \
  X(gru, "gru")                                                                                                        \
  X(gru_cell, "gruCell")                                                                                               \
  X(lstm, "lstm")                                                                                                      \
  X(lstm_cell, "lstmCell")

#define PTO_OP_LIST(X) PTO_UNARY_OP_LIST(X) PTO_BINARY_OP_LIST(X) PTO_REDUCE_OP_LIST(X) PTO_OTHER_OP_LIST(X)

enum pto_graph_op {
#define X(id, name) PTO_GRAPH_OP_##id,
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
