/* SPDX-License-Identifier: MIT */
/*
 * What lowerings with windows share: operands as [n, c, h, w] whatever their layout, tiles of output rows, and
 * convolutions, which convTranspose2d is made of too.
 *
 * Owns nothing: structs are passed by value.  Lowering functions call, on the thread of the lowering.
 */
#ifndef PTO_GRAPH_LOWER_WINDOW_H
#define PTO_GRAPH_LOWER_WINDOW_H

#include <graph/lower/lowering.h>

/* How a window slides over one of the two dimensions. */
struct pto_slide {
  uint64_t pad, stride, dilation, window;
};
struct pto_slides {
  struct pto_slide height, width;
};

/* Options padding (begin and end of height, then of width), strides and dilations, with their defaults. */
struct pto_slides pto_slides_of(struct pto_u32_list padding, struct pto_u32_list strides, struct pto_u32_list dilations,
                                uint64_t window_height, uint64_t window_width);

static inline struct pto_tensor pto_lower_permuted(const struct pto_tensor *t, uint32_t a, uint32_t b, uint32_t c,
                                                   uint32_t d) {
  return pto_tensor_permute(t, (const uint32_t[]){a, b, c, d});
}

/* A view [n, c, h, w] of a tensor in that layout. */
struct pto_tensor pto_lower_as_nchw(const struct pto_tensor *t, uint32_t layout);

/* Rows first … first + count − 1 of the outputs of sample n. */
struct pto_row_tile {
  uint64_t n, first, count;
};
/* What a tile is of, about: elements of unfolded windows, or multiply-adds of products by 64. */
#define PTO_ROW_TILE_WORK UINT64_C(65536)
/* Outputs of y [n, c, oh, ow] in tiles of as many rows as are that much work; all rows of a sample where it is 0. */
struct pto_row_tiles {
  uint64_t rows, tiles_a_sample, count;
};
struct pto_row_tiles pto_row_tiles_make(const struct pto_tensor *y, uint64_t row_work);
struct pto_row_tile pto_row_tiles_at(const struct pto_row_tiles *tiles, const struct pto_tensor *y, uint64_t index);

/* [1, c, count, ow] of y. */
struct pto_tensor pto_row_tile_of(const struct pto_row_tile *tile, const struct pto_tensor *y);

/* Submits `unfold`: the windows of the tile's outputs into `to`, a tensor [1, count, ow, i, j, c] of any layout;
 * `value` is what is outside x. */
void pto_lower_unfold(struct pto_graph_lowering *l, const struct pto_tensor *x, const struct pto_slides *slides,
                      const struct pto_row_tile *tile, const struct pto_tensor *value, const struct pto_tensor *to);

/* What a convolution's results are brought between. */
struct pto_bounds {
  bool are_finite; /* one of them is */
  float least, most;
};

/* ---- convolutions ---- */

/* All of it as [n, c, h, w] and [oc, c / groups, kh, kw], views of any strides. */
struct pto_convolution {
  struct pto_tensor x, filter, y;
  bool is_turned;         /* the filter is [oc / groups, c, kh, kw], and backwards in height and width */
  struct pto_tensor bias; /* [oc] */
  bool has_bias;
  struct pto_bounds bounds;
  struct pto_slides slides;
};

/* Of the node's operands and its result in their layouts, without bounds; the slides are the caller's. */
struct pto_convolution pto_lower_convolution(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                                             const struct pto_tensor *result, uint32_t layout,
                                             const uint8_t filter_places[4]);
/* y has memory. */
void pto_lower_convolve(struct pto_graph_lowering *l, const struct pto_convolution *conv, uint64_t groups);

/* conv2d with these bounds, NULL: none; finite ones only where it has a bias. */
void pto_lower_conv2d_within(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                             const struct pto_bounds *bounds);

/* Submits `depthwise` for a tile of y, or for some of its channels; filter [c, kh, kw]. */
void pto_lower_depthwise(struct pto_graph_lowering *l, const struct pto_tensor *x, const struct pto_tensor *filter,
                         const struct pto_tensor *bias, const struct pto_tensor *y, const struct pto_slides *slides,
                         const struct pto_row_tile *tile, const struct pto_bounds *bounds);

#endif
