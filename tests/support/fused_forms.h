/* SPDX-License-Identifier: MIT */
/*
 * For tests: what graph/fuse/fusion.h looks for, written out in one of the ways in which it may be; which, is drawn.
 *
 * Owns nothing: calls of the caller's builder, of which the last makes the result.  Operands are of the maker's dtype
 * unless a line says otherwise.  One thread.  A new spelling is one more case of a draw.
 */
#ifndef PTO_FUSED_FORMS_H
#define PTO_FUSED_FORMS_H

#include <pto/graph.h>
#include <runtime/base/base.h>

struct form_maker {
  struct pto_graph_builder *builder;
  struct pto_rng rng;
  uint32_t dtype; /* PTO_FLOAT32 or PTO_FLOAT16 */
  double epsilon; /* of norms */
  double scale;   /* of scores */
};
typedef struct pto_graph_operand form_operand;

/* A constant of one element, of some rank up to `most_rank`. */
form_operand form_number(struct form_maker *f, double number, uint32_t most_rank);

form_operand form_softmax(struct form_maker *f, form_operand x, uint32_t axis);
/* Along `axes` of x, which stay: with a weight and, of a layer norm, a bias, where their index is not 0. */
form_operand form_rms_norm(struct form_maker *f, form_operand x, form_operand weight, struct pto_u32_list axes);
form_operand form_layer_norm(struct form_maker *f, form_operand x, form_operand weight, form_operand bias,
                             struct pto_u32_list axes);
form_operand form_silu(struct form_maker *f, form_operand x);
form_operand form_silu_product(struct form_maker *f, form_operand x, form_operand y);
form_operand form_gelu(struct form_maker *f, form_operand x);
form_operand form_gelu_tanh(struct form_maker *f, form_operand x);
/* a · b + c; by gemm in some, where both are matrices. */
form_operand form_product_sum(struct form_maker *f, form_operand a, form_operand b, form_operand c);
/* softmax(query · keys · scale, masked) · values; keys are [.., width, count].  `mask`, broadcast to the scores: of the
 * maker's dtype, which is added, or uint8, which chooses; of index 0: none. */
form_operand form_attention(struct form_maker *f, form_operand query, form_operand keys, form_operand values,
                            form_operand mask);

/* A convolution of x [n, c, h, w] with a bias, then a clamp or relu. */
form_operand form_conv2d_clamp(struct form_maker *f, form_operand x, form_operand filter, form_operand bias);

#endif
