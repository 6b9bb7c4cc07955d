/* SPDX-License-Identifier: MIT */
/*
 * conv2d, and the convolutions that convTranspose2d is made of.
 *
 *   one channel a group            the kernel depthwise, on all rows of some channels, or some rows of all channels
 *   windows of one element         a product of pixels and filters where they lie
 *   else                           windows unfolded, tile by tile of output rows, and a product with the filters
 *
 * Products add in f32 and round once, bias included.
 */
#include <graph/lower/window.h>

#include <graph/build/op_options.h>
#include <kernels/api/list.h>
#include <math.h>

#define MOST_DEPTHWISE_TAPS 1024  /* of the kernel depthwise */
#define MOST_PIXELS UINT64_C(512) /* of a plane that is small: all of them fit a tile */
#define VECTOR UINT64_C(16)       /* f32 of the widest */
#define DEPTHWISE_SPEED 4u        /* multiply-adds of it in the time of an unfolded element */

/* ---- one product a tile ---- */

/* Dimensions first … first + count as one, if they lie behind each other; false if not. */
static bool collapse(const struct pto_tensor *t, uint32_t first, uint32_t count, struct pto_tensor *out) {
  const uint32_t last = first + count - 1;
  uint64_t extent = 1, stride = t->strides[last];
  for (uint32_t d = last + 1; d-- > first;) {
    if (t->shape[d] != 1 && extent != 1 && t->strides[d] != stride * extent) return false;
    if (extent == 1 && t->shape[d] != 1) stride = t->strides[d];
    extent *= t->shape[d];
  }
  *out = *t;
  out->shape[first] = extent;
  out->strides[first] = stride;
  for (uint32_t d = last + 1; d < t->ndims; d++) {
    out->shape[d - count + 1] = t->shape[d];
    out->strides[d - count + 1] = t->strides[d];
  }
  out->ndims = t->ndims - count + 1;
  for (uint32_t d = out->ndims; d < PTO_MAX_DIMS; d++) out->shape[d] = out->strides[d] = 0;
  return true;
}

/* Pixels [count · w, c] of a tile of [n, c, h, w]; false where rows do not lie behind each other. */
static bool pixels_of(const struct pto_row_tile *tile, const struct pto_tensor *t, struct pto_tensor *pixels) {
  const struct pto_tensor rows = pto_row_tile_of(tile, t), turned = pto_lower_permuted(&rows, 0, 2, 3, 1);
  return collapse(&turned, 0, 3, pixels);
}

static void multiply(struct pto_graph_lowering *l, const struct pto_convolution *conv, const struct pto_tensor *pixels,
                     const struct pto_tensor *filters, const struct pto_tensor *y) {
  const struct pto_tensor turned = pto_tensor_transpose(filters, 0, 1);
  const struct pto_tensor bias = conv->has_bias ? pto_tensor_broadcast(&conv->bias, 2, y->shape) : turned;
  if (conv->has_bias && conv->bounds.are_finite)
    PTO_LOWER_TASK(l, &pto_general_gemm_clamp, pto_input(pixels), pto_input(&turned), pto_input(&bias), pto_output(y),
                   pto_scalar_f32(1), pto_scalar_f32(1), pto_scalar_f32(conv->bounds.least),
                   pto_scalar_f32(conv->bounds.most));
  else
    pto_graph_lowering_product(l, pixels, &turned, conv->has_bias ? &bias : NULL, 1, 1, y);
}

/* Filters as they are multiplied: a view of those given, or new dense ones where they are backwards. */
static struct pto_tensor turn_filters(struct pto_graph_lowering *l, const struct pto_convolution *conv) {
  const struct pto_tensor given = conv->filter;
  if (!conv->is_turned || given.shape[2] * given.shape[3] == 1) return given;
  const struct pto_tensor filter = pto_graph_lowering_temporary(l, given.dtype, 4, given.shape);
  PTO_LOWER_TASK(l, &pto_general_reverse, pto_input(&given), pto_output(&filter), pto_scalar_u64(12));
  return filter;
}

/* Filters [oc, k], in the order (c, kh, kw) or (kh, kw, c), whichever they lie in; dense ones where in neither. */
static struct pto_tensor filters_of(struct pto_graph_lowering *l, const struct pto_convolution *conv,
                                    bool *is_channels_last) {
  const struct pto_tensor filter = turn_filters(l, conv), channels_last = pto_lower_permuted(&filter, 0, 2, 3, 1);
  struct pto_tensor filters;
  *is_channels_last = false;
  if (collapse(&filter, 1, 3, &filters)) return filters;
  *is_channels_last = collapse(&channels_last, 1, 3, &filters);
  if (*is_channels_last) return filters;
  const struct pto_tensor dense = pto_graph_lowering_temporary(l, filter.dtype, 4, filter.shape);
  collapse(&dense, 1, 3, &filters);
  pto_graph_lowering_convert(l, &filter, &dense);
  return filters;
}

/* Pixels of x are the rows of a product as they lie; those of a view may lie otherwise. */
static bool is_pointwise(const struct pto_convolution *conv) {
  struct pto_tensor pixels;
  if (!collapse(&conv->x, 2, 2, &pixels)) return false;
  const struct pto_slide *h = &conv->slides.height, *w = &conv->slides.width;
  return h->window == 1 && w->window == 1 && h->stride == 1 && w->stride == 1 && h->pad == 0 && w->pad == 0 &&
         conv->x.shape[2] == conv->y.shape[2] && conv->x.shape[3] == conv->y.shape[3];
}

/* Rows of windows [count · ow, k] of a tile, new. */
static struct pto_tensor unfold_tile(struct pto_graph_lowering *l, const struct pto_convolution *conv,
                                     const struct pto_row_tile *tile, bool is_channels_last,
                                     const struct pto_tensor *zero) {
  const uint64_t c = conv->x.shape[1], kh = conv->slides.height.window, kw = conv->slides.width.window;
  const uint64_t last[] = {1, tile->count, conv->y.shape[3], kh, kw, c};
  const uint64_t first[] = {1, tile->count, conv->y.shape[3], c, kh, kw};
  static const uint32_t order[] = {0, 1, 2, 4, 5, 3};
  const struct pto_tensor windows = pto_graph_lowering_temporary(l, conv->x.dtype, 6, is_channels_last ? last : first);
  const struct pto_tensor to = is_channels_last ? windows : pto_tensor_permute(&windows, order);
  /* a permuted buffer is none that a task's output could get memory for */
  if (!is_channels_last) pto_graph_lowering_allocate(l, &windows);
  pto_lower_unfold(l, &conv->x, &conv->slides, tile, zero, &to);
  return pto_tensor_reshape(&windows, 2, (const uint64_t[]){tile->count * conv->y.shape[3], c * kh * kw});
}

/* The product of a tile; into a tensor of its own first, where the pixels of y lie apart. */
static void multiply_tile(struct pto_graph_lowering *l, const struct pto_convolution *conv,
                          const struct pto_row_tile *tile, const struct pto_tensor *rows,
                          const struct pto_tensor *filters) {
  struct pto_tensor pixels;
  if (pixels_of(tile, &conv->y, &pixels)) {
    multiply(l, conv, rows, filters, &pixels);
    return;
  }
  const uint64_t shape[] = {1, tile->count, conv->y.shape[3], conv->y.shape[1]};
  const struct pto_tensor product = pto_graph_lowering_temporary(l, conv->y.dtype, 4, shape);
  const struct pto_tensor to = pto_row_tile_of(tile, &conv->y), turned = pto_lower_permuted(&to, 0, 2, 3, 1);
  pixels = pto_tensor_reshape(&product, 2, (const uint64_t[]){shape[1] * shape[2], shape[3]});
  multiply(l, conv, rows, filters, &pixels);
  PTO_LOWER_TASK(l, &pto_general_copy, pto_input(&product), pto_output(&turned));
}

static struct pto_tensor some_of(const struct pto_tensor *t, uint32_t dim, uint64_t first, uint64_t count) {
  return pto_tensor_slice(t, dim, first, first + count, 1);
}

/* What is the same for all tiles. */
struct product {
  struct pto_tensor filters, zero; /* [oc, k] */
  bool is_channels_last;           /* k is (kh, kw, c) */
  bool is_direct;                  /* pixels of x are what is multiplied */
};

/* Some channels of y, tile by tile of rows. */
static void multiply_tiles(struct pto_graph_lowering *l, const struct pto_convolution *conv,
                           const struct product *product, uint64_t row_work) {
  const struct pto_row_tiles tiles = pto_row_tiles_make(&conv->y, row_work);
  for (uint64_t i = 0; i < tiles.count && l->status == PTO_OK; i++) {
    const struct pto_row_tile tile = pto_row_tiles_at(&tiles, &conv->y, i);
    struct pto_tensor rows = {0};
    pto_graph_lowering_tile(l);
    if (product->is_direct)
      pixels_of(&tile, &conv->x, &rows);
    else
      rows = unfold_tile(l, conv, &tile, product->is_channels_last, &product->zero);
    multiply_tile(l, conv, &tile, &rows, &product->filters);
  }
}

/* Channels of y in a tile: all; but of small planes few, so that a tile has all pixels: then no other reads its
 * filters. Whole vectors of them. */
static uint64_t product_channels(const struct pto_convolution *conv, const struct product *product) {
  const struct pto_tensor *y = &conv->y;
  const uint64_t channels = y->shape[1], pixels = y->shape[2] * y->shape[3];
  if (!product->is_direct || pixels > MOST_PIXELS) return channels;
  const uint64_t most = pto_max_u64(1, PTO_ROW_TILE_WORK * 64 / (pixels * conv->x.shape[1]));
  const uint64_t parts = pto_min_u64((channels + most - 1) / most, PTO_TILE_MOST);
  return pto_align_up((channels + parts - 1) / parts, VECTOR);
}

/* y has memory. */
static void convolve_as_product(struct pto_graph_lowering *l, const struct pto_convolution *conv) {
  pto_graph_lowering_part(l);
  struct product whole = {.zero = pto_graph_lowering_temporary(l, conv->x.dtype, 0, NULL),
                          .is_direct = is_pointwise(conv)};
  whole.filters = filters_of(l, conv, &whole.is_channels_last);
  if (!whole.is_direct) pto_graph_lowering_fill(l, (struct pto_number){0}, &whole.zero);
  const uint64_t channels = conv->y.shape[1], each = product_channels(conv, &whole);
  const uint64_t taps = conv->x.shape[1] * conv->slides.height.window * conv->slides.width.window;
  const uint64_t row_work = conv->y.shape[3] * taps * (whole.is_direct ? (channels + 63) / 64 : 1);
  for (uint64_t c = 0; c < channels && l->status == PTO_OK; c += each) {
    const uint64_t count = pto_min_u64(each, channels - c);
    struct pto_convolution part = *conv;
    struct product some = whole;
    part.y = some_of(&conv->y, 1, c, count);
    if (conv->has_bias) part.bias = some_of(&conv->bias, 0, c, count);
    some.filters = some_of(&whole.filters, 0, c, count);
    multiply_tiles(l, &part, &some, each < channels ? 0 : row_work);
  }
  pto_graph_lowering_tiles_end(l);
}

/* ---- one channel a group ---- */

/* Tiles of rows; x, filter [c, 1, kh, kw], bias and y are of the same channels. */
static void convolve_channels(struct pto_graph_lowering *l, const struct pto_convolution *conv, uint64_t row_work) {
  struct pto_tensor filter;
  collapse(&conv->filter, 0, 2, &filter); /* the extent of 1 goes */
  const struct pto_row_tiles tiles = pto_row_tiles_make(&conv->y, row_work);
  for (uint64_t i = 0; i < tiles.count && l->status == PTO_OK; i++) {
    const struct pto_row_tile tile = pto_row_tiles_at(&tiles, &conv->y, i);
    pto_graph_lowering_tile(l);
    pto_lower_depthwise(l, &conv->x, &filter, &conv->bias, &conv->y, &conv->slides, &tile, &conv->bounds);
  }
}

/* Channels of a tile: all where they lie side by side, and rows are cut; else so few that a tile has all rows of them,
 * since the kernel brings a channel to local memory.  Work of a row is that of the tile's channels. */
static uint64_t depthwise_channels(const struct pto_convolution *conv, uint64_t *row_work) {
  const struct pto_tensor *x = &conv->x, *y = &conv->y;
  const uint64_t taps = conv->slides.height.window * conv->slides.width.window, channels = y->shape[1];
  const uint64_t work = (y->shape[3] * taps + DEPTHWISE_SPEED - 1) / DEPTHWISE_SPEED; /* of a row of a channel */
  *row_work = channels * work;
  if (x->strides[1] < x->strides[3]) return channels;
  const uint64_t fewest = (y->shape[0] * channels + PTO_TILE_MOST - 1) / PTO_TILE_MOST;
  const uint64_t each = pto_max_u64(fewest, PTO_ROW_TILE_WORK / (work * y->shape[2]));
  *row_work = each > 1 ? 0 : work;
  return pto_max_u64(1, each);
}

static void convolve_depthwise(struct pto_graph_lowering *l, const struct pto_convolution *conv) {
  const uint64_t channels = conv->y.shape[1];
  uint64_t row_work;
  const uint64_t each = depthwise_channels(conv, &row_work);
  struct pto_convolution whole = *conv;
  pto_graph_lowering_part(l);
  if (conv->is_turned) whole.filter = pto_lower_permuted(&conv->filter, 1, 0, 2, 3);
  whole.filter = turn_filters(l, &whole);
  if (!conv->has_bias) {
    whole.bias = pto_graph_lowering_temporary(l, conv->x.dtype, 1, &channels);
    pto_graph_lowering_fill(l, (struct pto_number){0}, &whole.bias);
  }
  for (uint64_t c = 0; c < channels && l->status == PTO_OK; c += each) {
    const uint64_t count = pto_min_u64(each, channels - c);
    struct pto_convolution part = whole;
    part.x = some_of(&whole.x, 1, c, count);
    part.y = some_of(&whole.y, 1, c, count);
    part.filter = some_of(&whole.filter, 0, c, count);
    part.bias = some_of(&whole.bias, 0, c, count);
    convolve_channels(l, &part, row_work);
  }
  pto_graph_lowering_tiles_end(l);
}

/* ---- groups ---- */

static struct pto_tensor channels_of(const struct pto_tensor *t, uint32_t dim, uint64_t groups, uint64_t group) {
  const uint64_t each = t->shape[dim] / groups;
  return pto_tensor_slice(t, dim, group * each, (group + 1) * each, 1);
}

void pto_lower_convolve(struct pto_graph_lowering *l, const struct pto_convolution *conv, uint64_t groups) {
  const uint64_t taps = conv->slides.height.window * conv->slides.width.window;
  if (groups > 1 && groups == conv->x.shape[1] && groups == conv->y.shape[1] && taps <= MOST_DEPTHWISE_TAPS) {
    convolve_depthwise(l, conv);
    return;
  }
  for (uint64_t g = 0; g < groups && l->status == PTO_OK; g++) {
    struct pto_convolution part = *conv;
    part.x = channels_of(&conv->x, 1, groups, g);
    part.filter = channels_of(&conv->filter, conv->is_turned ? 1 : 0, groups, g);
    part.y = channels_of(&conv->y, 1, groups, g);
    if (conv->has_bias) part.bias = channels_of(&conv->bias, 0, groups, g);
    convolve_as_product(l, &part);
  }
}

struct pto_convolution pto_lower_convolution(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                                             const struct pto_tensor *result, uint32_t layout,
                                             const uint8_t filter_places[4]) {
  const struct pto_tensor *bias = pto_graph_lowering_operand(l, node, 2);
  struct pto_convolution conv = {.x = pto_lower_as_nchw(pto_graph_lowering_operand(l, node, 0), layout),
                                 .filter = pto_lower_permuted(pto_graph_lowering_operand(l, node, 1), filter_places[0],
                                                              filter_places[1], filter_places[2], filter_places[3]),
                                 .y = pto_lower_as_nchw(result, layout),
                                 .has_bias = bias != NULL,
                                 .bounds = {.least = -INFINITY, .most = INFINITY}};
  if (bias != NULL) conv.bias = *bias;
  return conv;
}

void pto_lower_conv2d_within(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                             const struct pto_bounds *bounds) {
  const struct pto_conv2d_options *options = node->options;
  const struct pto_tensor result = options->input_layout == PTO_LAYOUT_NCHW
                                       ? pto_graph_lowering_image(l, node, 0, PTO_IN_PLACE_NONE)
                                       : pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_convolution conv =
      pto_lower_convolution(l, node, &result, options->input_layout, pto_conv2d_filter_places[options->filter_layout]);
  if (bounds != NULL) conv.bounds = *bounds;
  conv.slides =
      pto_slides_of(options->padding, options->strides, options->dilations, conv.filter.shape[2], conv.filter.shape[3]);
  pto_graph_lowering_allocate(l, &result);
  pto_lower_convolve(l, &conv, pto_option_u32(options->groups, 1));
}

void pto_lower_conv2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  pto_lower_conv2d_within(l, node, NULL);
}
