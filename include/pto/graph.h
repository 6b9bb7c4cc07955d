/* SPDX-License-Identifier: MIT */
/*
 * Operand graphs in the sense of WebNN's MLGraphBuilder and MLGraph: a builder takes typed calls and infers dtype and
 * shape of each result at once; build makes an immutable graph of what its outputs need; dispatch runs it on device
 * tensors, as tasks of the ordinary runtime.
 *
 *   builder ──input, constant──▶ operand ──operation──▶ operand … ──build(named outputs)──▶ graph ──dispatch──▶
 *
 * The specification is the W3C's Web Neural Network API (state of June 2026); operations, options and defaults are its,
 * in C spelling: `batchNormalization` is pto_graph_builder_batch_normalization.
 *
 * Errors.  A call that is refused returns an operand of index 0, allocates nothing, and leaves its sentence in the
 * builder; all later calls are refused too, and the first sentence stays: a model may be written down without a test at
 * each line, and asked once, by pto_graph_builder_status or by build.  Kinds of the specification:
 * TypeError is PTO_EINVAL, InvalidStateError PTO_ESTALE, NotSupportedError PTO_ENOTSUP, OperationError what a dispatch
 * that failed leaves in its context.  Every sentence of a call begins with its operation and label.
 *
 * Names and labels are UTF-8, as those of the specification are text; any other bytes are refused.
 *
 * Ownership.  Everything is borrowed for the call and copied: names, shapes, lists, the data of constants.  A builder
 * builds one graph, which takes the constants along and lives on without it.  One thread at a time uses a builder; any
 * number may dispatch a graph.
 */
#ifndef PTO_GRAPH_H
#define PTO_GRAPH_H

#include <pto/device.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pto_graph_builder;
struct pto_graph;

/* A handle: a value.  Zeroed is none: an option not given.  Index 0 of a builder is what a refused call returns; it is
 * refused wherever it is used, as an option too. */
struct pto_graph_operand {
  uint32_t index, builder;
};

/* Dtype and shape of an operand.  ndims 0 is a scalar. */
struct pto_graph_desc {
  uint32_t dtype, ndims;
  uint64_t shape[PTO_MAX_DIMS];
};

/* ---- values of options ---- */

/* A number that may be absent: then the default holds.  Zeroed is absent. */
enum pto_number_kind { PTO_NUMBER_ABSENT = 0, PTO_NUMBER_F64, PTO_NUMBER_I64, PTO_NUMBER_U64 };
struct pto_number {
  uint32_t kind; /* enum pto_number_kind */
  union {
    double f64;
    int64_t i64;
    uint64_t u64;
  } value;
};
static inline struct pto_number pto_number_f64(double x) {
  struct pto_number n;
  n.kind = PTO_NUMBER_F64;
  n.value.f64 = x;
  return n;
}
static inline struct pto_number pto_number_i64(int64_t x) {
  struct pto_number n;
  n.kind = PTO_NUMBER_I64;
  n.value.i64 = x;
  return n;
}
static inline struct pto_number pto_number_u64(uint64_t x) {
  struct pto_number n;
  n.kind = PTO_NUMBER_U64;
  n.value.u64 = x;
  return n;
}

/* Lists.  `values` NULL: absent.  PTO_U32_LIST(1, 2) writes one down in C; it lives as long as the block around it. */
struct pto_u32_list {
  const uint32_t *values;
  uint32_t count;
};
struct pto_f32_list {
  const float *values;
  uint32_t count;
};
#define PTO_U32_LIST(...)                                                                                              \
  { (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t) }
#define PTO_F32_LIST(...)                                                                                              \
  { (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float) }

/* Zeroed is the specification's default of each, where it has one. */
enum pto_graph_flag { PTO_FLAG_DEFAULT = 0, PTO_FLAG_NO, PTO_FLAG_YES };
enum pto_graph_layout { PTO_LAYOUT_NCHW = 0, PTO_LAYOUT_NHWC };
enum pto_graph_conv2d_filter { PTO_CONV2D_OIHW = 0, PTO_CONV2D_HWIO, PTO_CONV2D_OHWI, PTO_CONV2D_IHWO };
enum pto_graph_conv_transpose2d_filter {
  PTO_CONV_TRANSPOSE2D_IOHW = 0,
  PTO_CONV_TRANSPOSE2D_HWOI,
  PTO_CONV_TRANSPOSE2D_OHWI
};
enum pto_graph_rounding { PTO_ROUNDING_FLOOR = 0, PTO_ROUNDING_CEIL };
enum pto_graph_interpolation { PTO_INTERPOLATION_NEAREST_NEIGHBOR = 0, PTO_INTERPOLATION_LINEAR };
/* Symmetric is of earlier states of the specification, and of files. */
enum pto_graph_padding { PTO_PADDING_CONSTANT = 0, PTO_PADDING_EDGE, PTO_PADDING_REFLECTION, PTO_PADDING_SYMMETRIC };
enum pto_graph_activation { PTO_ACTIVATION_RELU = 0, PTO_ACTIVATION_SIGMOID, PTO_ACTIVATION_TANH };
enum pto_graph_direction { PTO_DIRECTION_FORWARD = 0, PTO_DIRECTION_BACKWARD, PTO_DIRECTION_BOTH };
enum pto_graph_gru_layout { PTO_GRU_ZRN = 0, PTO_GRU_RZN };
enum pto_graph_lstm_layout { PTO_LSTM_IOFG = 0, PTO_LSTM_IFGO };

/* ---- options ----
 * Required ones are plain; others may stay zeroed.  `label` (may be NULL) is in every sentence about the call.
 * Options that are operands are here too, as in the specification's dictionaries. */
/* Every operation without options of its own. */
struct pto_graph_options {
  const char *label;
};
/* argMin, argMax. */
struct pto_arg_reduce_options {
  const char *label;
  uint32_t axis;
  uint32_t keep_dimensions;           /* enum pto_graph_flag [no] */
  struct pto_number output_data_type; /* PTO_INT32 or PTO_INT64 [PTO_INT32] */
};
struct pto_batch_normalization_options {
  const char *label;
  struct pto_graph_operand scale, bias; /* [C] */
  struct pto_number axis;               /* [1] */
  struct pto_number epsilon;            /* [1e-5] */
};
struct pto_cast_options {
  const char *label;
  uint32_t data_type; /* enum pto_dtype */
};
struct pto_clamp_options {
  const char *label;
  struct pto_number min_value, max_value; /* finite; [none] */
};
struct pto_concat_options {
  const char *label;
  uint32_t axis;
};
/* padding: begin and end of height, then of width. */
struct pto_conv2d_options {
  const char *label;
  struct pto_graph_operand bias;                   /* [output channels] */
  struct pto_u32_list padding, strides, dilations; /* 4, 2, 2 values [0; 1; 1] */
  struct pto_number groups;                        /* [1] */
  uint32_t input_layout;                           /* enum pto_graph_layout */
  uint32_t filter_layout;                          /* enum pto_graph_conv2d_filter */
};
struct pto_conv_transpose2d_options {
  const char *label;
  struct pto_graph_operand bias;
  struct pto_u32_list padding, strides, dilations, output_padding,
      output_sizes;         /* output_sizes overrides padding of output */
  struct pto_number groups; /* [1] */
  uint32_t input_layout;    /* enum pto_graph_layout */
  uint32_t filter_layout;   /* enum pto_graph_conv_transpose2d_filter */
};
struct pto_cumulative_sum_options {
  const char *label;
  uint32_t axis;
  uint32_t exclusive, reversed; /* enum pto_graph_flag [no] */
};
struct pto_elu_options {
  const char *label;
  struct pto_number alpha; /* [1] */
};
/* expand, reshape. */
struct pto_new_shape_options {
  const char *label;
  struct pto_u32_list new_shape;
};
/* gather, gatherElements, scatterElements. */
struct pto_axis_options {
  const char *label;
  struct pto_number axis; /* [0] */
};
/* alpha · A · B + beta · C. */
struct pto_gemm_options {
  const char *label;
  struct pto_graph_operand c;        /* broadcast to the result */
  struct pto_number alpha, beta;     /* [1, 1] */
  uint32_t a_transpose, b_transpose; /* enum pto_graph_flag [no] */
};
struct pto_gru_options {
  const char *label;
  struct pto_graph_operand bias, recurrent_bias, initial_hidden_state;
  uint32_t steps, hidden_size;
  uint32_t reset_after;            /* enum pto_graph_flag [yes] */
  uint32_t return_sequence;        /* enum pto_graph_flag [no] */
  uint32_t direction;              /* enum pto_graph_direction */
  uint32_t layout;                 /* enum pto_graph_gru_layout */
  struct pto_u32_list activations; /* two of enum pto_graph_activation [sigmoid, tanh] */
};
struct pto_gru_cell_options {
  const char *label;
  struct pto_graph_operand bias, recurrent_bias;
  uint32_t hidden_size;
  uint32_t reset_after; /* enum pto_graph_flag [yes] */
  uint32_t layout;      /* enum pto_graph_gru_layout */
  struct pto_u32_list activations;
};
struct pto_hard_sigmoid_options {
  const char *label;
  struct pto_number alpha, beta; /* [0.2, 0.5] */
};
struct pto_instance_normalization_options {
  const char *label;
  struct pto_graph_operand scale, bias;
  struct pto_number epsilon; /* [1e-5] */
  uint32_t layout;           /* enum pto_graph_layout */
};
struct pto_layer_normalization_options {
  const char *label;
  struct pto_graph_operand scale, bias;
  struct pto_u32_list axes;  /* [all but the first] */
  struct pto_number epsilon; /* [1e-5] */
};
struct pto_leaky_relu_options {
  const char *label;
  struct pto_number alpha; /* [0.01] */
};
struct pto_linear_options {
  const char *label;
  struct pto_number alpha, beta; /* [1, 0] */
};
struct pto_lstm_options {
  const char *label;
  struct pto_graph_operand bias, recurrent_bias, peephole_weight, initial_hidden_state, initial_cell_state;
  uint32_t steps, hidden_size;
  uint32_t return_sequence;        /* enum pto_graph_flag [no] */
  uint32_t direction;              /* enum pto_graph_direction */
  uint32_t layout;                 /* enum pto_graph_lstm_layout */
  struct pto_u32_list activations; /* three [sigmoid, tanh, tanh] */
};
struct pto_lstm_cell_options {
  const char *label;
  struct pto_graph_operand bias, recurrent_bias, peephole_weight;
  uint32_t hidden_size;
  uint32_t layout; /* enum pto_graph_lstm_layout */
  struct pto_u32_list activations;
};
struct pto_pad_options {
  const char *label;
  struct pto_u32_list beginning_padding, ending_padding;
  uint32_t mode;           /* enum pto_graph_padding */
  struct pto_number value; /* [0] */
};
/* averagePool2d, l2Pool2d, maxPool2d. */
struct pto_pool2d_options {
  const char *label;
  struct pto_u32_list window_dimensions, padding, strides, dilations; /* [the whole; 0; 1; 1] */
  uint32_t layout;                                                    /* enum pto_graph_layout */
  uint32_t output_shape_rounding;                                     /* enum pto_graph_rounding */
  struct pto_u32_list output_sizes;                                   /* overrides the rounding */
};
struct pto_reduce_options {
  const char *label;
  struct pto_u32_list axes; /* [all] */
  uint32_t keep_dimensions; /* enum pto_graph_flag [no] */
};
struct pto_resample2d_options {
  const char *label;
  uint32_t mode;              /* enum pto_graph_interpolation */
  struct pto_f32_list scales; /* [1, 1] */
  struct pto_u32_list sizes;  /* overrides scales */
  struct pto_u32_list axes;   /* [2, 3] */
};
/* reverse [all], squeeze [all of size 1], unsqueeze. */
struct pto_axes_options {
  const char *label;
  struct pto_u32_list axes;
};
struct pto_slice_options {
  const char *label;
  struct pto_u32_list starts, sizes;
  struct pto_u32_list strides; /* [1] */
};
struct pto_softmax_options {
  const char *label;
  uint32_t axis;
  uint32_t is_last; /* enum pto_graph_flag [no]: the last axis, in place of `axis` */
};
struct pto_split_options {
  const char *label;
  struct pto_u32_list splits; /* one value: so many equal parts; else the size of each */
  uint32_t has_sizes;         /* enum pto_graph_flag [no]: splits is a list of sizes, of one too */
  struct pto_number axis;     /* [0] */
};
struct pto_tile_options {
  const char *label;
  struct pto_u32_list repetitions;
};
struct pto_transpose_options {
  const char *label;
  struct pto_u32_list permutation; /* [reversed] */
};
struct pto_triangular_options {
  const char *label;
  uint32_t upper;             /* enum pto_graph_flag [yes] */
  struct pto_number diagonal; /* [0] */
};

/* ---- the builder ---- */

/* A builder of graphs for `context`, whose limits hold and whose constant tensors may be used; with NULL, of graphs for
 * any. */
PTO_API PTO_MUST_CHECK int pto_graph_builder_create(struct pto_context *context,
                                                    struct pto_graph_builder **builder_out);
/* Takes NULL too. */
PTO_API void pto_graph_builder_destroy(struct pto_graph_builder *builder);
/* PTO_OK, or the kind of the first call that was refused; its sentence. */
PTO_API int pto_graph_builder_status(const struct pto_graph_builder *builder);
PTO_API const char *pto_graph_builder_error(const struct pto_graph_builder *builder);
/* Forgets the refusal: calls go on. */
PTO_API void pto_graph_builder_clear_error(struct pto_graph_builder *builder);

/* An input of the graph.  Names are not empty and each is used once. */
PTO_API struct pto_graph_operand pto_graph_builder_input(struct pto_graph_builder *builder, const char *name,
                                                         const struct pto_graph_desc *desc);
/* A constant with these bytes, dense and row-major (two 4-bit values a byte, the low half first). */
PTO_API struct pto_graph_operand pto_graph_builder_constant(struct pto_graph_builder *builder,
                                                            const struct pto_graph_desc *desc, const void *data,
                                                            uint64_t size_bytes);
/* A scalar constant of `dtype`; refused where the dtype cannot hold the number. */
PTO_API struct pto_graph_operand pto_graph_builder_scalar(struct pto_graph_builder *builder, uint32_t dtype,
                                                          struct pto_number value);
/* A constant tensor of the builder's context; both must outlive the graph. */
PTO_API struct pto_graph_operand pto_graph_builder_constant_tensor(struct pto_graph_builder *builder,
                                                                   struct pto_device_tensor tensor);
/* What is known of an operand; zeroed for none. */
PTO_API struct pto_graph_desc pto_graph_builder_desc(const struct pto_graph_builder *builder,
                                                     struct pto_graph_operand operand);

/* A name for a constant or result, in place of one made up: for files, pictures and explanations. */
PTO_API int pto_graph_builder_set_name(struct pto_graph_builder *builder, struct pto_graph_operand operand,
                                       const char *name);

struct pto_graph_output {
  const char *name;
  struct pto_graph_operand operand;
};
/* Makes the graph that computes `outputs`; of what they do not need nothing stays, but inputs.  Refused where the
 * builder is in error, without outputs, for a name used twice or empty, for an input or constant as an output; and with
 * PTO_ENOTSUP for what calls may say but has no result: groups of a transposed convolution that do not divide the
 * channels of its input.  After it the builder takes no more calls (PTO_ESTALE); a build that was refused or failed
 * changes nothing. */
PTO_API PTO_MUST_CHECK int pto_graph_builder_build(struct pto_graph_builder *builder,
                                                   const struct pto_graph_output *outputs, uint32_t output_count,
                                                   struct pto_graph **graph_out);

/* ---- operations ----
 * `options` may be NULL where nothing in it is required. */

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

/* ---- graphs ---- */

/* Takes NULL too; dispatches of it that are queued go first.  The contexts that it was dispatched on are destroyed
 * after it. */
PTO_API void pto_graph_destroy(struct pto_graph *graph);
/* Named inputs and outputs, in the order of their calls and of build; borrowed for the graph's life. */
PTO_API uint32_t pto_graph_input_count(const struct pto_graph *graph);
PTO_API uint32_t pto_graph_output_count(const struct pto_graph *graph);
PTO_API const struct pto_operand *pto_graph_input(const struct pto_graph *graph, uint32_t index);
PTO_API const struct pto_operand *pto_graph_output_at(const struct pto_graph *graph, uint32_t index);

/* Whether nodes are lowered in groups, by the patterns of docs/graph.md ("Fusion"): so it is where nobody sets it to 0.
 * PTO_ESTALE once the graph is dispatched on a context that it has not forgotten. */
PTO_API PTO_MUST_CHECK int pto_graph_set_fusion(struct pto_graph *graph, int is_fused);

/* Queues one run of the graph on `context`, as pto_context_dispatch queues an orchestration: the same bindings,
 * order, refusals and errors.  Lowered once a set of bindings. */
PTO_API PTO_MUST_CHECK int pto_graph_dispatch(struct pto_graph *graph, struct pto_context *context,
                                              const struct pto_dispatch_bindings *bindings);

/* Waits for the graph's dispatches on `context`, and gives back what it has there: its constants, lowered tasks. */
PTO_API void pto_graph_forget(struct pto_graph *graph, struct pto_context *context);
/* The same from host memory to host memory, as pto_context_compute does it: it waits. */
PTO_API PTO_MUST_CHECK int pto_graph_compute(struct pto_graph *graph, struct pto_context *context,
                                             const struct pto_compute_arrays *arrays);

/* ---- files ----
 * Graphs as webnn-graph-json, version 1 and 2 (docs/graph.md).  Data of constants are in the file, or in one beside it:
 * a safetensors file, or a weights manifest and its blob. */

/* Where save puts the data of constants.  Those of one value alone, and of 4 bits in safetensors, stay in the file. */
enum pto_graph_weights_form {
  PTO_GRAPH_WEIGHTS_DEFAULT = 0, /* as INLINE where they are up to 64 KiB in all, else as SAFETENSORS */
  PTO_GRAPH_WEIGHTS_INLINE,
  PTO_GRAPH_WEIGHTS_SAFETENSORS,
  PTO_GRAPH_WEIGHTS_MANIFEST
};

/* Zeroed fields mean the default in brackets.  Start with `struct pto_graph_file_options o = {.size = sizeof o};`. */
struct pto_graph_file_options {
  size_t size;
  uint32_t weights;          /* of save: enum pto_graph_weights_form */
  const char *weights_path;  /* safetensors file or blob [beside the graph: STEM.safetensors, STEM.weights; when reading
                                also model.safetensors, model.weights] */
  const char *manifest_path; /* [STEM.manifest.json; when reading also manifest.json] */
};

/* Reads the graph at `path` as the calls that it holds to a builder of `context` (may be NULL), so that what a builder
 * refuses is refused here; so are names that are unknown or used twice, use before production, circles, results that
 * nothing uses, constants of another length.  `options` may be NULL.  PTO_OK; PTO_EINVAL for what the file says,
 * PTO_ENOTSUP, PTO_ESYSTEM, PTO_ENOMEM; the reason, with file and place, goes to `sentence` (sentence_size bytes, may
 * be NULL), and *graph_out is untouched. */
PTO_API PTO_MUST_CHECK int pto_graph_load(struct pto_context *context, const char *path,
                                          const struct pto_graph_file_options *options, struct pto_graph **graph_out,
                                          char *sentence, size_t sentence_size);
/* Writes the graph at `path`, in one form alone: the same graph gives the same bytes, and loading gives the same graph.
 * `options` may be NULL.  PTO_OK; PTO_ENOTSUP for a constant tensor of a context, or more inline data than are read
 * again; PTO_ESYSTEM, PTO_ENOMEM.  Files that could not be written to their end are removed. */
PTO_API PTO_MUST_CHECK int pto_graph_save(const struct pto_graph *graph, const char *path,
                                          const struct pto_graph_file_options *options, char *sentence,
                                          size_t sentence_size);
/* Writes the graph for Graphviz: inputs, constants, intermediates and outputs told apart.  PTO_OK, PTO_ESYSTEM,
 * PTO_ENOMEM. */
PTO_API PTO_MUST_CHECK int pto_graph_save_dot(const struct pto_graph *graph, const char *path, char *sentence,
                                              size_t sentence_size);

#ifdef __cplusplus
}
#endif
#endif
