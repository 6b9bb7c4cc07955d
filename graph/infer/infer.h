/* SPDX-License-Identifier: MIT */
/*
 * Dtype and shape of results, an operation each: the rules of the specification, as its method steps give them.
 *
 *   graph/infer/elementwise.c   unary, binary, where, prelu, clamp, activations, softmax, quantization
 *   graph/infer/reduce.c        reductions, argMin, argMax, cumulativeSum, normalisations
 *   graph/infer/matrix.c        matmul, gemm, gru, lstm
 *   graph/infer/window.c        convolutions, pools, resample2d
 *   graph/infer/move.c          shapes, slices, paddings
 *   graph/infer/index.c         gathers, scatters, concat, split
 *
 * Owns nothing.  Always true: a function reads the inference and writes its results and its error alone; on PTO_OK
 * every result has a dtype, a rank within PTO_MAX_DIMS and dimensions of 1 … 2^32 − 1.  Any thread.
 */
#ifndef PTO_GRAPH_INFER_INFER_H
#define PTO_GRAPH_INFER_INFER_H

#include <graph/build/op_options.h>
#include <graph/build/operation.h>

typedef int pto_infer_function(struct pto_inference *inference);
pto_infer_function pto_infer_unary, pto_infer_binary, pto_infer_test, pto_infer_reduce;
#define X(id, ...) pto_infer_function pto_infer_##id;
PTO_OTHER_OP_LIST(X)
#undef X

/* ---- for the functions ---- */

#define PTO_DIM_MAX UINT64_C(4294967295)

/* "[2, 3, 4]" of a shape.  Into `text`, which it returns; or into room of the block that asks. */
#define PTO_SHAPE_TEXT_BYTES 112
const char *pto_shape_text(const struct pto_graph_desc *desc, char *text);
#define PTO_SHAPE_TEXT(desc) pto_shape_text(desc, (char[PTO_SHAPE_TEXT_BYTES]){0})

/* PTO_EINVAL with this sentence. */
#define PTO_INFER_REFUSE(inference, ...) pto_error_set((inference)->error, PTO_EINVAL, __VA_ARGS__)

/* "input", from the table. */
const char *pto_infer_parameter(const struct pto_inference *inference, uint32_t parameter);
/* Refuses unless both have the same shape; `a` and `b` are parameters. */
PTO_MUST_CHECK int pto_infer_same_shape(struct pto_inference *inference, uint32_t a, uint32_t b);
/* Refuses unless the operand, where it is given, has exactly this shape. */
PTO_MUST_CHECK int pto_infer_expect_shape(struct pto_inference *inference, uint32_t parameter, uint32_t ndims,
                                          const uint64_t *shape);
/* Refuses an axis that is not below the rank of operand 0. */
PTO_MUST_CHECK int pto_infer_check_axis(struct pto_inference *inference, const char *name, uint64_t axis,
                                        uint32_t ndims);
/* Refuses an axis out of range or one given twice; `chosen` is a set of bits. */
PTO_MUST_CHECK int pto_infer_check_axes(struct pto_inference *inference, const char *name, struct pto_u32_list axes,
                                        uint32_t ndims, uint32_t *chosen);
/* The shape that both are broadcast to; false where there is none.  NumPy's rule on `ndims` innermost aligned. */
bool pto_shape_broadcast(const struct pto_graph_desc *a, const struct pto_graph_desc *b, struct pto_graph_desc *out);
/* Whether `from` can be broadcast to `to` without changing that. */
bool pto_shape_broadcasts_to(const struct pto_graph_desc *from, const struct pto_graph_desc *to);
/* One result. */
int pto_infer_result(struct pto_inference *inference, const struct pto_graph_desc *desc);

/* ---- for build ---- */

/* PTO_ENOTSUP where the groups of a transposed convolution do not divide the channels of its input.  The method steps
 * let a call be made with such groups, so that inference does too, but give it no result. */
PTO_MUST_CHECK int pto_conv_transpose2d_check_groups(const struct pto_conv_transpose2d_options *options,
                                                     const struct pto_graph_desc *input, struct pto_error *error);
#endif
