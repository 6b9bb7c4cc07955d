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
#include <graph/lower/convolution.h>

#include <graph/build/op_options.h>
#include <kernels/api/list.h>
#include <math.h>

#define MOST_DEPTHWISE_TAPS 1024  /* of the kernel depthwise */
#define MOST_PIXELS UINT64_C(512) /* of a plane that is small: rows that long are multiplied where they lie */
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

static int multiply(struct pto_graph_lowering *l, const struct pto_convolution *conv, const struct pto_tensor *pixels,
                    const struct pto_tensor *filters, const struct pto_tensor *y) {
  const struct pto_tensor turned = pto_tensor_transpose(filters, 0, 1);
  if (!conv->has_bias) {
    const struct pto_param params[] = {pto_input(pixels), pto_input(&turned), pto_output(y)};
    return pto_graph_lowering_submit(l, &pto_general_matmul, params, 3);
  }
  const struct pto_tensor bias = pto_tensor_broadcast(&conv->bias, 2, y->shape);
  const struct pto_param params[] = {pto_input(pixels),
                                     pto_input(&turned),
                                     pto_input(&bias),
                                     pto_output(y),
                                     pto_scalar_f32(1),
                                     pto_scalar_f32(1),
                                     pto_scalar_f32(conv->bounds.least),
                                     pto_scalar_f32(conv->bounds.most)};
  return conv->bounds.are_finite ? pto_graph_lowering_submit(l, &pto_general_gemm_clamp, params, 8)
                                 : pto_graph_lowering_submit(l, &pto_general_gemm, params, 6);
}

/* Filters as they are multiplied: a view of those given, or new dense ones where they are backwards. */
static int turn_filters(struct pto_graph_lowering *l, const struct pto_convolution *conv, struct pto_tensor *filter) {
  const struct pto_tensor given = conv->filter;
  *filter = given;
  if (!conv->is_turned || given.shape[2] * given.shape[3] == 1) return PTO_OK;
  *filter = pto_graph_lowering_temporary(l, given.dtype, 4, given.shape);
  const struct pto_param params[] = {pto_input(&given), pto_output(filter), pto_scalar_u64(12)};
  return pto_graph_lowering_submit(l, &pto_general_reverse, params, 3);
}

/* Filters [oc, k], in the order (c, kh, kw) or (kh, kw, c), whichever they lie in; dense ones where in neither. */
static int filters_of(struct pto_graph_lowering *l, const struct pto_convolution *conv, struct pto_tensor *filters,
                      bool *is_channels_last) {
  struct pto_tensor filter;
  const int status = turn_filters(l, conv, &filter);
  const struct pto_tensor channels_last = pto_lower_permuted(&filter, 0, 2, 3, 1);
  *is_channels_last = false;
  if (status != PTO_OK || collapse(&filter, 1, 3, filters)) return status;
  *is_channels_last = collapse(&channels_last, 1, 3, filters);
  if (*is_channels_last) return PTO_OK;
  const struct pto_tensor dense = pto_graph_lowering_temporary(l, filter.dtype, 4, filter.shape);
  collapse(&dense, 1, 3, filters);
  return pto_graph_lowering_convert(l, &filter, &dense);
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
static int unfold_tile(struct pto_graph_lowering *l, const struct pto_convolution *conv,
                       const struct pto_row_tile *tile, bool is_channels_last, const struct pto_tensor *zero,
                       struct pto_tensor *rows) {
  const uint64_t c = conv->x.shape[1], kh = conv->slides.height.window, kw = conv->slides.width.window;
  const uint64_t last[] = {1, tile->count, conv->y.shape[3], kh, kw, c};
  const uint64_t first[] = {1, tile->count, conv->y.shape[3], c, kh, kw};
  static const uint32_t order[] = {0, 1, 2, 4, 5, 3};
  const struct pto_tensor windows = pto_graph_lowering_temporary(l, conv->x.dtype, 6, is_channels_last ? last : first);
  const struct pto_tensor to = is_channels_last ? windows : pto_tensor_permute(&windows, order);
  *rows = pto_tensor_reshape(&windows, 2, (const uint64_t[]){tile->count * conv->y.shape[3], c * kh * kw});
  /* a permuted buffer is none that a task's output could get memory for */
  const int status = is_channels_last ? PTO_OK : pto_graph_lowering_allocate(l, &windows);
  return status ? status : pto_lower_unfold(l, &conv->x, &conv->slides, tile, zero, &to);
}

/* The product of a tile; into a tensor of its own first, where the pixels of y lie apart. */
static int multiply_tile(struct pto_graph_lowering *l, const struct pto_convolution *conv,
                         const struct pto_row_tile *tile, const struct pto_tensor *rows,
                         const struct pto_tensor *filters) {
  struct pto_tensor pixels;
  if (pixels_of(tile, &conv->y, &pixels)) return multiply(l, conv, rows, filters, &pixels);
  const uint64_t shape[] = {1, tile->count, conv->y.shape[3], conv->y.shape[1]};
  const struct pto_tensor product = pto_graph_lowering_temporary(l, conv->y.dtype, 4, shape);
  const struct pto_tensor to = pto_row_tile_of(tile, &conv->y), turned = pto_lower_permuted(&to, 0, 2, 3, 1);
  const struct pto_param params[] = {pto_input(&product), pto_output(&turned)};
  pixels = pto_tensor_reshape(&product, 2, (const uint64_t[]){shape[1] * shape[2], shape[3]});
  const int status = multiply(l, conv, rows, filters, &pixels);
  return status ? status : pto_graph_lowering_submit(l, &pto_general_copy, params, 2);
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
static int multiply_tiles(struct pto_graph_lowering *l, const struct pto_convolution *conv,
                          const struct product *product, uint64_t row_work) {
  const struct pto_row_tiles tiles = pto_row_tiles_make(&conv->y, row_work);
  int status = PTO_OK;
  for (uint64_t i = 0; i < tiles.count && status == PTO_OK; i++) {
    const struct pto_row_tile tile = pto_row_tiles_at(&tiles, &conv->y, i);
    struct pto_tensor rows = {0};
    if (product->is_direct) pixels_of(&tile, &conv->x, &rows);
    status = pto_graph_lowering_tile(l);
    if (!product->is_direct && status == PTO_OK)
      status = unfold_tile(l, conv, &tile, product->is_channels_last, &product->zero, &rows);
    if (status == PTO_OK) status = multiply_tile(l, conv, &tile, &rows, &product->filters);
  }
  return status;
}

/* Channels of y in a tile: all; but of small planes that lie one behind the other few, so that a tile has all pixels:
 * then no other packs its filters, and rows of pixels are long. */
static uint64_t product_channels(const struct pto_convolution *conv, const struct product *product) {
  const struct pto_tensor *y = &conv->y;
  const uint64_t channels = y->shape[1], pixels = y->shape[2] * y->shape[3];
  if (!product->is_direct || y->strides[1] < y->strides[3] || pixels > MOST_PIXELS) return channels;
  const uint64_t most = pto_max_u64(1, PTO_ROW_TILE_WORK * 64 / (pixels * conv->x.shape[1]));
  const uint64_t parts = pto_min_u64((channels + most - 1) / most, PTO_TILE_MOST);
  return (channels + parts - 1) / parts;
}

/* y has memory. */
static int convolve_as_product(struct pto_graph_lowering *l, const struct pto_convolution *conv) {
  int status = pto_graph_lowering_part(l);
  struct product whole = {.zero = pto_graph_lowering_temporary(l, conv->x.dtype, 0, NULL),
                          .is_direct = is_pointwise(conv)};
  if (status == PTO_OK) status = filters_of(l, conv, &whole.filters, &whole.is_channels_last);
  if (status == PTO_OK && !whole.is_direct) status = pto_graph_lowering_fill(l, (struct pto_number){0}, &whole.zero);
  const uint64_t channels = conv->y.shape[1], each = product_channels(conv, &whole);
  const uint64_t taps = conv->x.shape[1] * conv->slides.height.window * conv->slides.width.window;
  const uint64_t row_work = conv->y.shape[3] * taps * (whole.is_direct ? (channels + 63) / 64 : 1);
  for (uint64_t c = 0; c < channels && status == PTO_OK; c += each) {
    const uint64_t count = pto_min_u64(each, channels - c);
    struct pto_convolution part = *conv;
    struct product some = whole;
    part.y = some_of(&conv->y, 1, c, count);
    if (conv->has_bias) part.bias = some_of(&conv->bias, 0, c, count);
    some.filters = some_of(&whole.filters, 0, c, count);
    status = multiply_tiles(l, &part, &some, each < channels ? 0 : row_work);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}

/* ---- one channel a group ---- */

/* Tiles of rows; x, filter [c, 1, kh, kw], bias and y are of the same channels. */
static int convolve_channels(struct pto_graph_lowering *l, const struct pto_convolution *conv, uint64_t row_work) {
  struct pto_tensor filter;
  collapse(&conv->filter, 0, 2, &filter); /* the extent of 1 goes */
  const struct pto_row_tiles tiles = pto_row_tiles_make(&conv->y, row_work);
  int status = PTO_OK;
  for (uint64_t i = 0; i < tiles.count && status == PTO_OK; i++) {
    const struct pto_row_tile tile = pto_row_tiles_at(&tiles, &conv->y, i);
    status = pto_graph_lowering_tile(l);
    if (status == PTO_OK)
      status = pto_lower_depthwise(l, &conv->x, &filter, &conv->bias, &conv->y, &conv->slides, &tile, &conv->bounds);
  }
  return status;
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

static int convolve_depthwise(struct pto_graph_lowering *l, const struct pto_convolution *conv) {
  const uint64_t channels = conv->y.shape[1];
  uint64_t row_work;
  const uint64_t each = depthwise_channels(conv, &row_work);
  struct pto_convolution whole = *conv;
  int status = pto_graph_lowering_part(l);
  if (conv->is_turned) whole.filter = pto_lower_permuted(&conv->filter, 1, 0, 2, 3);
  if (status == PTO_OK) status = turn_filters(l, &whole, &whole.filter);
  if (status == PTO_OK && !conv->has_bias) {
    whole.bias = pto_graph_lowering_temporary(l, conv->x.dtype, 1, &channels);
    status = pto_graph_lowering_fill(l, (struct pto_number){0}, &whole.bias);
  }
  for (uint64_t c = 0; c < channels && status == PTO_OK; c += each) {
    const uint64_t count = pto_min_u64(each, channels - c);
    struct pto_convolution part = whole;
    part.x = some_of(&whole.x, 1, c, count);
    part.y = some_of(&whole.y, 1, c, count);
    part.filter = some_of(&whole.filter, 0, c, count);
    part.bias = some_of(&whole.bias, 0, c, count);
    status = convolve_channels(l, &part, row_work);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}

/* ---- groups ---- */

static struct pto_tensor channels_of(const struct pto_tensor *t, uint32_t dim, uint64_t groups, uint64_t group) {
  const uint64_t each = t->shape[dim] / groups;
  return pto_tensor_slice(t, dim, group * each, (group + 1) * each, 1);
}

int pto_lower_convolve(struct pto_graph_lowering *l, const struct pto_convolution *conv, uint64_t groups) {
  int status = PTO_OK;
  const uint64_t taps = conv->slides.height.window * conv->slides.width.window;
  if (groups > 1 && groups == conv->x.shape[1] && groups == conv->y.shape[1] && taps <= MOST_DEPTHWISE_TAPS)
    return convolve_depthwise(l, conv);
  for (uint64_t g = 0; g < groups && status == PTO_OK; g++) {
    struct pto_convolution part = *conv;
    part.x = channels_of(&conv->x, 1, groups, g);
    part.filter = channels_of(&conv->filter, conv->is_turned ? 1 : 0, groups, g);
    part.y = channels_of(&conv->y, 1, groups, g);
    if (conv->has_bias) part.bias = channels_of(&conv->bias, 0, groups, g);
    status = convolve_as_product(l, &part);
  }
  return status;
}

void pto_lower_take_bias(const struct pto_graph_lowering *l, const struct pto_graph_node *node,
                         struct pto_convolution *conv) {
  const struct pto_tensor *bias = pto_graph_lowering_operand(l, node, 2);
  conv->has_bias = bias != NULL;
  if (bias != NULL) conv->bias = *bias;
}

int pto_lower_conv2d_within(struct pto_graph_lowering *l, const struct pto_graph_node *node,
                            const struct pto_bounds *bounds) {
  const struct pto_conv2d_options *options = node->options;
  const struct pto_tensor *filter = pto_graph_lowering_operand(l, node, 1);
  const struct pto_tensor result = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct pto_convolution conv = {.bounds = *bounds,
                                 .x = pto_lower_as_nchw(pto_graph_lowering_operand(l, node, 0), options->input_layout),
                                 .y = pto_lower_as_nchw(&result, options->input_layout)};
  switch (options->filter_layout) {
  case PTO_CONV2D_HWIO:
    conv.filter = pto_lower_permuted(filter, 3, 2, 0, 1);
    break;
  case PTO_CONV2D_OHWI:
    conv.filter = pto_lower_permuted(filter, 0, 3, 1, 2);
    break;
  case PTO_CONV2D_IHWO:
    conv.filter = pto_lower_permuted(filter, 3, 0, 1, 2);
    break;
  default:
    conv.filter = *filter;
  }
  pto_lower_take_bias(l, node, &conv);
  conv.slides =
      pto_slides_of(options->padding, options->strides, options->dilations, conv.filter.shape[2], conv.filter.shape[3]);
  const int status = pto_graph_lowering_allocate(l, &result);
  return status ? status : pto_lower_convolve(l, &conv, pto_option_u32(options->groups, 1));
}

int pto_lower_conv2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  return pto_lower_conv2d_within(l, node, &(struct pto_bounds){.least = -INFINITY, .most = INFINITY});
}
