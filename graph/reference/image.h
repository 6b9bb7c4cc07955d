/* SPDX-License-Identifier: MIT */
/*
 * Images of the reference executor: 4-D tensors by batch, channel, row and column, whatever their layout; and windows
 * that slide over them.
 *
 * Owns nothing; functions of their arguments alone, any thread.  For convolutions, pools and instance norms.
 */
#ifndef PTO_GRAPH_REFERENCE_IMAGE_H
#define PTO_GRAPH_REFERENCE_IMAGE_H

#include <graph/reference/support.h>

/* Four dimensions by what they mean, and the elements from one index of each to the next. */
struct pto_reference_image {
  uint64_t batches, channels, height, width;
  uint64_t batch_stride, channel_stride, row_stride, col_stride;
};

/* batch, channel, row, col: which dimension of `desc` is which. */
static inline struct pto_reference_image pto_reference_image_by(const struct pto_graph_desc *desc, uint32_t batch,
                                                                uint32_t channel, uint32_t row, uint32_t col) {
  return (struct pto_reference_image){
      .batches = desc->shape[batch],
      .channels = desc->shape[channel],
      .height = desc->shape[row],
      .width = desc->shape[col],
      .batch_stride = pto_reference_stride(desc, batch),
      .channel_stride = pto_reference_stride(desc, channel),
      .row_stride = pto_reference_stride(desc, row),
      .col_stride = pto_reference_stride(desc, col),
  };
}

/* `layout` is an enum pto_graph_layout. */
static inline struct pto_reference_image pto_reference_image(const struct pto_graph_desc *desc, uint32_t layout) {
  return layout == PTO_LAYOUT_NHWC ? pto_reference_image_by(desc, 0, 3, 1, 2)
                                   : pto_reference_image_by(desc, 0, 1, 2, 3);
}

static inline uint64_t pto_reference_pixel(const struct pto_reference_image *image, uint64_t batch, uint64_t channel,
                                           uint64_t row, uint64_t col) {
  return batch * image->batch_stride + channel * image->channel_stride + row * image->row_stride +
         col * image->col_stride;
}

/* Options of a window. */
struct pto_reference_window {
  uint64_t height, width, top, left, row_step, col_step, row_dilation, col_dilation;
};
static inline struct pto_reference_window pto_reference_window(uint64_t height, uint64_t width,
                                                               struct pto_u32_list padding, struct pto_u32_list strides,
                                                               struct pto_u32_list dilations) {
  return (struct pto_reference_window){
      .height = height,
      .width = width,
      .top = pto_option_at(padding, 0, 0),
      .left = pto_option_at(padding, 2, 0),
      .row_step = pto_option_at(strides, 0, 1),
      .col_step = pto_option_at(strides, 1, 1),
      .row_dilation = pto_option_at(dilations, 0, 1),
      .col_dilation = pto_option_at(dilations, 1, 1),
  };
}

/* The row (or column) of the padded side at `position` of the window whose number is `index`; false in the padding. */
static inline bool pto_reference_window_hits(uint64_t index, uint64_t step, uint64_t position, uint64_t dilation,
                                             uint64_t padding, uint64_t extent, uint64_t *at) {
  const uint64_t padded = index * step + position * dilation;
  *at = padded - padding;
  return padded >= padding && *at < extent;
}

/* The positions of window `index` that are not in the padding: first … end − 1, few however large window and padding
 * are. */
static inline void pto_reference_window_range(uint64_t index, uint64_t step, uint64_t positions, uint64_t dilation,
                                              uint64_t padding, uint64_t extent, uint64_t *first, uint64_t *end) {
  const uint64_t start = index * step, behind = padding + extent;
  *first = start < padding ? (padding - start + dilation - 1) / dilation : 0;
  *end = start < behind ? pto_min_u64(positions, (behind - start + dilation - 1) / dilation) : 0;
}

#endif
