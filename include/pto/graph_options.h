/* SPDX-License-Identifier: MIT */
/*
 * Values that calls of <pto/graph.h> take: operands, their dtype and shape, and the options of each operation.
 *
 * Zeroed options are the specification's defaults, in brackets behind each; what is required is plain.
 */
#ifndef PTO_GRAPH_OPTIONS_H
#define PTO_GRAPH_OPTIONS_H

#include <pto/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif
#endif
