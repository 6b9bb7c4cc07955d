/* SPDX-License-Identifier: MIT */
/*
 * The operations of graphs: a call each, which infers dtype and shape of its result at once.  Builders, errors and
 * ownership are those of <pto/graph.h>; `options` may be NULL where nothing in it is required.
 */
#ifndef PTO_GRAPH_OPERATIONS_H
#define PTO_GRAPH_OPERATIONS_H

#include <pto/graph_options.h>
#include <pto/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pto_graph_builder;

/* Elementwise, of one operand. */
PTO_API struct pto_graph_operand pto_graph_builder_abs(struct pto_graph_builder *builder,
                                                       struct pto_graph_operand input,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_ceil(struct pto_graph_builder *builder,
                                                        struct pto_graph_operand input,
                                                        const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_cos(struct pto_graph_builder *builder,
                                                       struct pto_graph_operand input,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_erf(struct pto_graph_builder *builder,
                                                       struct pto_graph_operand input,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_exp(struct pto_graph_builder *builder,
                                                       struct pto_graph_operand input,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_floor(struct pto_graph_builder *builder,
                                                         struct pto_graph_operand input,
                                                         const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_identity(struct pto_graph_builder *builder,
                                                            struct pto_graph_operand input,
                                                            const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_is_nan(struct pto_graph_builder *builder,
                                                          struct pto_graph_operand input,
                                                          const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_is_infinite(struct pto_graph_builder *builder,
                                                               struct pto_graph_operand input,
                                                               const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_log(struct pto_graph_builder *builder,
                                                       struct pto_graph_operand input,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_logical_not(struct pto_graph_builder *builder,
                                                               struct pto_graph_operand input,
                                                               const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_neg(struct pto_graph_builder *builder,
                                                       struct pto_graph_operand input,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reciprocal(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_round_even(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_sign(struct pto_graph_builder *builder,
                                                        struct pto_graph_operand input,
                                                        const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_sin(struct pto_graph_builder *builder,
                                                       struct pto_graph_operand input,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_sqrt(struct pto_graph_builder *builder,
                                                        struct pto_graph_operand input,
                                                        const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_tan(struct pto_graph_builder *builder,
                                                       struct pto_graph_operand input,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_cast(struct pto_graph_builder *builder,
                                                        struct pto_graph_operand input,
                                                        const struct pto_cast_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_clamp(struct pto_graph_builder *builder,
                                                         struct pto_graph_operand input,
                                                         const struct pto_clamp_options *options);
/* Elementwise, of two operands that are broadcast to one shape; comparisons and logical ones give uint8. */
PTO_API struct pto_graph_operand pto_graph_builder_add(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                       struct pto_graph_operand b,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_sub(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                       struct pto_graph_operand b,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_mul(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                       struct pto_graph_operand b,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_div(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                       struct pto_graph_operand b,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_max(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                       struct pto_graph_operand b,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_min(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                       struct pto_graph_operand b,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_pow(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                       struct pto_graph_operand b,
                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_equal(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                         struct pto_graph_operand b,
                                                         const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_not_equal(struct pto_graph_builder *builder,
                                                             struct pto_graph_operand a, struct pto_graph_operand b,
                                                             const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_greater(struct pto_graph_builder *builder,
                                                           struct pto_graph_operand a, struct pto_graph_operand b,
                                                           const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_greater_or_equal(struct pto_graph_builder *builder,
                                                                    struct pto_graph_operand a,
                                                                    struct pto_graph_operand b,
                                                                    const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_lesser(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                          struct pto_graph_operand b,
                                                          const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_lesser_or_equal(struct pto_graph_builder *builder,
                                                                   struct pto_graph_operand a,
                                                                   struct pto_graph_operand b,
                                                                   const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_logical_and(struct pto_graph_builder *builder,
                                                               struct pto_graph_operand a, struct pto_graph_operand b,
                                                               const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_logical_or(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand a, struct pto_graph_operand b,
                                                              const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_logical_xor(struct pto_graph_builder *builder,
                                                               struct pto_graph_operand a, struct pto_graph_operand b,
                                                               const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_where(struct pto_graph_builder *builder,
                                                         struct pto_graph_operand condition,
                                                         struct pto_graph_operand true_value,
                                                         struct pto_graph_operand false_value,
                                                         const struct pto_graph_options *options);
/* Activations. */
PTO_API struct pto_graph_operand pto_graph_builder_gelu(struct pto_graph_builder *builder,
                                                        struct pto_graph_operand input,
                                                        const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_hard_swish(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_relu(struct pto_graph_builder *builder,
                                                        struct pto_graph_operand input,
                                                        const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_sigmoid(struct pto_graph_builder *builder,
                                                           struct pto_graph_operand input,
                                                           const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_softplus(struct pto_graph_builder *builder,
                                                            struct pto_graph_operand input,
                                                            const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_softsign(struct pto_graph_builder *builder,
                                                            struct pto_graph_operand input,
                                                            const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_tanh(struct pto_graph_builder *builder,
                                                        struct pto_graph_operand input,
                                                        const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_elu(struct pto_graph_builder *builder,
                                                       struct pto_graph_operand input,
                                                       const struct pto_elu_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_hard_sigmoid(struct pto_graph_builder *builder,
                                                                struct pto_graph_operand input,
                                                                const struct pto_hard_sigmoid_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_leaky_relu(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              const struct pto_leaky_relu_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_linear(struct pto_graph_builder *builder,
                                                          struct pto_graph_operand input,
                                                          const struct pto_linear_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_prelu(struct pto_graph_builder *builder,
                                                         struct pto_graph_operand input, struct pto_graph_operand slope,
                                                         const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_softmax(struct pto_graph_builder *builder,
                                                           struct pto_graph_operand input,
                                                           const struct pto_softmax_options *options);
/* Reductions. */
PTO_API struct pto_graph_operand pto_graph_builder_reduce_l1(struct pto_graph_builder *builder,
                                                             struct pto_graph_operand input,
                                                             const struct pto_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reduce_l2(struct pto_graph_builder *builder,
                                                             struct pto_graph_operand input,
                                                             const struct pto_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reduce_log_sum(struct pto_graph_builder *builder,
                                                                  struct pto_graph_operand input,
                                                                  const struct pto_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reduce_log_sum_exp(struct pto_graph_builder *builder,
                                                                      struct pto_graph_operand input,
                                                                      const struct pto_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reduce_max(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              const struct pto_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reduce_mean(struct pto_graph_builder *builder,
                                                               struct pto_graph_operand input,
                                                               const struct pto_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reduce_min(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              const struct pto_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reduce_product(struct pto_graph_builder *builder,
                                                                  struct pto_graph_operand input,
                                                                  const struct pto_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reduce_sum(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              const struct pto_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reduce_sum_square(struct pto_graph_builder *builder,
                                                                     struct pto_graph_operand input,
                                                                     const struct pto_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_arg_min(struct pto_graph_builder *builder,
                                                           struct pto_graph_operand input,
                                                           const struct pto_arg_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_arg_max(struct pto_graph_builder *builder,
                                                           struct pto_graph_operand input,
                                                           const struct pto_arg_reduce_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_cumulative_sum(struct pto_graph_builder *builder,
                                                                  struct pto_graph_operand input,
                                                                  const struct pto_cumulative_sum_options *options);
/* Matrices, convolutions, pools. */
PTO_API struct pto_graph_operand pto_graph_builder_matmul(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                          struct pto_graph_operand b,
                                                          const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_gemm(struct pto_graph_builder *builder, struct pto_graph_operand a,
                                                        struct pto_graph_operand b,
                                                        const struct pto_gemm_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_conv2d(struct pto_graph_builder *builder,
                                                          struct pto_graph_operand input,
                                                          struct pto_graph_operand filter,
                                                          const struct pto_conv2d_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_conv_transpose2d(struct pto_graph_builder *builder,
                                                                    struct pto_graph_operand input,
                                                                    struct pto_graph_operand filter,
                                                                    const struct pto_conv_transpose2d_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_average_pool2d(struct pto_graph_builder *builder,
                                                                  struct pto_graph_operand input,
                                                                  const struct pto_pool2d_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_l2_pool2d(struct pto_graph_builder *builder,
                                                             struct pto_graph_operand input,
                                                             const struct pto_pool2d_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_max_pool2d(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              const struct pto_pool2d_options *options);
/* The mean and maximum over height and width of [N, C, H, W]: no operations of the specification, but of exchange
 * formats. */
PTO_API struct pto_graph_operand pto_graph_builder_global_average_pool(struct pto_graph_builder *builder,
                                                                       struct pto_graph_operand input,
                                                                       const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_global_max_pool(struct pto_graph_builder *builder,
                                                                   struct pto_graph_operand input,
                                                                   const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_resample2d(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              const struct pto_resample2d_options *options);
/* Normalisations. */
PTO_API struct pto_graph_operand
pto_graph_builder_batch_normalization(struct pto_graph_builder *builder, struct pto_graph_operand input,
                                      struct pto_graph_operand mean, struct pto_graph_operand variance,
                                      const struct pto_batch_normalization_options *options);
PTO_API struct pto_graph_operand
pto_graph_builder_instance_normalization(struct pto_graph_builder *builder, struct pto_graph_operand input,
                                         const struct pto_instance_normalization_options *options);
PTO_API struct pto_graph_operand
pto_graph_builder_layer_normalization(struct pto_graph_builder *builder, struct pto_graph_operand input,
                                      const struct pto_layer_normalization_options *options);
/* Numbers with a scale. */
PTO_API struct pto_graph_operand pto_graph_builder_quantize_linear(struct pto_graph_builder *builder,
                                                                   struct pto_graph_operand input,
                                                                   struct pto_graph_operand scale,
                                                                   struct pto_graph_operand zero_point,
                                                                   const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_dequantize_linear(struct pto_graph_builder *builder,
                                                                     struct pto_graph_operand input,
                                                                     struct pto_graph_operand scale,
                                                                     struct pto_graph_operand zero_point,
                                                                     const struct pto_graph_options *options);
/* Moving. */
PTO_API struct pto_graph_operand pto_graph_builder_expand(struct pto_graph_builder *builder,
                                                          struct pto_graph_operand input,
                                                          const struct pto_new_shape_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reshape(struct pto_graph_builder *builder,
                                                           struct pto_graph_operand input,
                                                           const struct pto_new_shape_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_squeeze(struct pto_graph_builder *builder,
                                                           struct pto_graph_operand input,
                                                           const struct pto_axes_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_unsqueeze(struct pto_graph_builder *builder,
                                                             struct pto_graph_operand input,
                                                             const struct pto_axes_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_transpose(struct pto_graph_builder *builder,
                                                             struct pto_graph_operand input,
                                                             const struct pto_transpose_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_reverse(struct pto_graph_builder *builder,
                                                           struct pto_graph_operand input,
                                                           const struct pto_axes_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_slice(struct pto_graph_builder *builder,
                                                         struct pto_graph_operand input,
                                                         const struct pto_slice_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_pad(struct pto_graph_builder *builder,
                                                       struct pto_graph_operand input,
                                                       const struct pto_pad_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_tile(struct pto_graph_builder *builder,
                                                        struct pto_graph_operand input,
                                                        const struct pto_tile_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_triangular(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              const struct pto_triangular_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_gather(struct pto_graph_builder *builder,
                                                          struct pto_graph_operand input,
                                                          struct pto_graph_operand indices,
                                                          const struct pto_axis_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_gather_elements(struct pto_graph_builder *builder,
                                                                   struct pto_graph_operand input,
                                                                   struct pto_graph_operand indices,
                                                                   const struct pto_axis_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_gather_nd(struct pto_graph_builder *builder,
                                                             struct pto_graph_operand input,
                                                             struct pto_graph_operand indices,
                                                             const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_scatter_elements(struct pto_graph_builder *builder,
                                                                    struct pto_graph_operand input,
                                                                    struct pto_graph_operand indices,
                                                                    struct pto_graph_operand updates,
                                                                    const struct pto_axis_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_scatter_nd(struct pto_graph_builder *builder,
                                                              struct pto_graph_operand input,
                                                              struct pto_graph_operand indices,
                                                              struct pto_graph_operand updates,
                                                              const struct pto_graph_options *options);
PTO_API struct pto_graph_operand pto_graph_builder_concat(struct pto_graph_builder *builder,
                                                          const struct pto_graph_operand *inputs, uint32_t input_count,
                                                          const struct pto_concat_options *options);
/* Operations of several results: written to outputs[0 … output_count − 1], which is exactly as many as there are:
 * parts; 1 of gru, or 2 with return_sequence; 2 of lstm, or 3; 2 of lstm_cell (hidden state, cell state).  PTO_OK or
 * the kind of the refusal. */
PTO_API int pto_graph_builder_split(struct pto_graph_builder *builder, struct pto_graph_operand input,
                                    const struct pto_split_options *options, struct pto_graph_operand *outputs,
                                    uint32_t output_count);
PTO_API int pto_graph_builder_gru(struct pto_graph_builder *builder, struct pto_graph_operand input,
                                  struct pto_graph_operand weight, struct pto_graph_operand recurrent_weight,
                                  const struct pto_gru_options *options, struct pto_graph_operand *outputs,
                                  uint32_t output_count);
PTO_API int pto_graph_builder_lstm(struct pto_graph_builder *builder, struct pto_graph_operand input,
                                   struct pto_graph_operand weight, struct pto_graph_operand recurrent_weight,
                                   const struct pto_lstm_options *options, struct pto_graph_operand *outputs,
                                   uint32_t output_count);
PTO_API int pto_graph_builder_lstm_cell(struct pto_graph_builder *builder, struct pto_graph_operand input,
                                        struct pto_graph_operand weight, struct pto_graph_operand recurrent_weight,
                                        struct pto_graph_operand hidden_state, struct pto_graph_operand cell_state,
                                        const struct pto_lstm_cell_options *options, struct pto_graph_operand *outputs,
                                        uint32_t output_count);
PTO_API struct pto_graph_operand
pto_graph_builder_gru_cell(struct pto_graph_builder *builder, struct pto_graph_operand input,
                           struct pto_graph_operand weight, struct pto_graph_operand recurrent_weight,
                           struct pto_graph_operand hidden_state, const struct pto_gru_cell_options *options);

#ifdef __cplusplus
}
#endif
#endif
