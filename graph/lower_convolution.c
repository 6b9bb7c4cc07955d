/* SPDX-License-Identifier: MIT */
/*
 * conv2d and convTranspose2d.
 *
 *   one channel a group            the kernel depthwise
 *   windows of one element         a product of pixels and filters where they lie
 *   else                           windows unfolded, tile by tile of output rows, and a product with the filters
 *   convTranspose2d                the same of an input with zeros between its rows and columns, filters turned round
 *
 * Products add in f32 and round once, bias included.
 */
#include <graph/lower_window.h>
#include <graph/op_options.h>
#include <kernels/kernel_list.h>
#include <math.h>

#define MOST_DEPTHWISE_TAPS 1024 /* of the kernel depthwise */
#define DEPTHWISE_SPEED 4u       /* multiply-adds of it in the time of an unfolded element */

/* All of it as [n, c, h, w] and [oc, c, kh, kw]. */
struct convolution {
  struct pto_tensor x, filter, y;
  struct pto_tensor bias; /* [oc] */
  bool has_bias;
  struct pto_bounds bounds;
  struct pto_slides slides;
};

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

static struct pto_tensor permuted4(const struct pto_tensor *t, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return pto_tensor_permute(t, (const uint32_t[]){a, b, c, d});
}

/* Pixels [count · ow, oc] of a tile of y. */
static struct pto_tensor pixels_of(const struct pto_row_tile *tile, const struct pto_tensor *y) {
  const struct pto_tensor rows = pto_row_tile_of(tile, y), turned = permuted4(&rows, 0, 2, 3, 1);
  struct pto_tensor pixels = turned;
  if (!collapse(&turned, 0, 3, &pixels)) pixels.status = PTO_EINVAL; /* results are dense */
  return pixels;
}

static int multiply(struct pto_graph_lowering *l, const struct convolution *conv, const struct pto_tensor *pixels,
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

/* Filters [oc, k], in the order (c, kh, kw) or (kh, kw, c), whichever they lie in; dense ones where in neither. */
static int filters_of(struct pto_graph_lowering *l, const struct pto_tensor *filter, struct pto_tensor *filters,
                      bool *is_channels_last) {
  const struct pto_tensor channels_last = permuted4(filter, 0, 2, 3, 1);
  *is_channels_last = false;
  if (collapse(filter, 1, 3, filters)) return PTO_OK;
  *is_channels_last = collapse(&channels_last, 1, 3, filters);
  if (*is_channels_last) return PTO_OK;
  const struct pto_tensor dense = pto_graph_lowering_temporary(l, filter->dtype, 4, filter->shape);
  collapse(&dense, 1, 3, filters);
  return pto_graph_lowering_convert(l, filter, &dense);
}

/* Pixels of x are the rows of a product as they lie; those of a view may lie otherwise. */
static bool is_pointwise(const struct convolution *conv) {
  struct pto_tensor pixels;
  if (!collapse(&conv->x, 2, 2, &pixels)) return false;
  const struct pto_slide *h = &conv->slides.height, *w = &conv->slides.width;
  return h->window == 1 && w->window == 1 && h->stride == 1 && w->stride == 1 && h->pad == 0 && w->pad == 0 &&
         conv->x.shape[2] == conv->y.shape[2] && conv->x.shape[3] == conv->y.shape[3];
}

/* Rows of windows [count · ow, k] of a tile, new. */
static int unfold_tile(struct pto_graph_lowering *l, const struct convolution *conv, const struct pto_row_tile *tile,
                       bool is_channels_last, const struct pto_tensor *zero, struct pto_tensor *rows) {
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

/* y has memory. */
static int convolve_as_product(struct pto_graph_lowering *l, const struct convolution *conv) {
  struct pto_tensor filters, zero = pto_graph_lowering_temporary(l, conv->x.dtype, 0, NULL);
  bool is_channels_last;
  const bool is_direct = is_pointwise(conv);
  int status = filters_of(l, &conv->filter, &filters, &is_channels_last);
  if (status == PTO_OK && !is_direct) status = pto_graph_lowering_fill(l, (struct pto_number){0}, &zero);
  const uint64_t taps = conv->x.shape[1] * conv->slides.height.window * conv->slides.width.window;
  const uint64_t row_work = conv->y.shape[3] * taps * (is_direct ? (conv->y.shape[1] + 63) / 64 : 1);
  const struct pto_row_tiles tiles = pto_row_tiles_make(&conv->y, row_work);
  for (uint64_t i = 0; i < tiles.count && status == PTO_OK; i++) {
    const struct pto_row_tile tile = pto_row_tiles_at(&tiles, &conv->y, i);
    struct pto_tensor rows = {0};
    if (is_direct) rows = pixels_of(&tile, &conv->x);
    status = pto_graph_lowering_tile(l);
    if (!is_direct && status == PTO_OK) status = unfold_tile(l, conv, &tile, is_channels_last, &zero, &rows);
    const struct pto_tensor pixels = pixels_of(&tile, &conv->y);
    if (status == PTO_OK) status = multiply(l, conv, &rows, &filters, &pixels);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}

/* ---- one channel a group ---- */

static struct pto_tensor some_of(const struct pto_tensor *t, uint32_t dim, uint64_t first, uint64_t count) {
  return pto_tensor_slice(t, dim, first, first + count, 1);
}

/* Tiles of rows; x, filter [c, 1, kh, kw], bias and y are of the same channels. */
static int convolve_channels(struct pto_graph_lowering *l, const struct convolution *conv, uint64_t row_work) {
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
static uint64_t depthwise_channels(const struct convolution *conv, uint64_t *row_work) {
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

static int convolve_depthwise(struct pto_graph_lowering *l, const struct convolution *conv) {
  const uint64_t channels = conv->y.shape[1];
  uint64_t row_work;
  const uint64_t each = depthwise_channels(conv, &row_work);
  struct convolution whole = *conv;
  int status = PTO_OK;
  if (!conv->has_bias) {
    whole.bias = pto_graph_lowering_temporary(l, conv->x.dtype, 1, &channels);
    status = pto_graph_lowering_fill(l, (struct pto_number){0}, &whole.bias);
  }
  for (uint64_t c = 0; c < channels && status == PTO_OK; c += each) {
    const uint64_t count = pto_min_u64(each, channels - c);
    struct convolution part = whole;
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

/* The whole has filters [oc, c / groups, kh, kw]; y gets its memory here. */
static int convolve(struct pto_graph_lowering *l, const struct convolution *conv, uint64_t groups,
                    const struct pto_tensor *result) {
  int status = pto_graph_lowering_allocate(l, result);
  const uint64_t taps = conv->slides.height.window * conv->slides.width.window;
  if (status == PTO_OK && groups > 1 && groups == conv->x.shape[1] && groups == conv->y.shape[1] &&
      taps <= MOST_DEPTHWISE_TAPS)
    return convolve_depthwise(l, conv);
  for (uint64_t g = 0; g < groups && status == PTO_OK; g++) {
    struct convolution part = *conv;
    part.x = channels_of(&conv->x, 1, groups, g);
    part.filter = channels_of(&conv->filter, 0, groups, g);
    part.y = channels_of(&conv->y, 1, groups, g);
    if (conv->has_bias) part.bias = channels_of(&conv->bias, 0, groups, g);
    status = convolve_as_product(l, &part);
  }
  return status;
}

static void take_bias(const struct pto_graph_lowering *l, const struct pto_graph_node *node, struct convolution *conv) {
  const struct pto_tensor *bias = pto_graph_lowering_operand(l, node, 2);
  conv->has_bias = bias != NULL;
  if (bias != NULL) conv->bias = *bias;
}

int pto_lower_conv2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_conv2d_options *options = node->options;
  const struct pto_tensor *filter = pto_graph_lowering_operand(l, node, 1);
  struct pto_bounds bounds = {.least = -INFINITY, .most = INFINITY};
  const struct pto_tensor result = pto_graph_lowering_operand(l, node, 2) != NULL
                                       ? pto_graph_lowering_clamped_result(l, node, &bounds)
                                       : pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  struct convolution conv = {.bounds = bounds,
                             .x = pto_lower_as_nchw(pto_graph_lowering_operand(l, node, 0), options->input_layout),
                             .y = pto_lower_as_nchw(&result, options->input_layout)};
  switch (options->filter_layout) {
  case PTO_CONV2D_HWIO:
    conv.filter = permuted4(filter, 3, 2, 0, 1);
    break;
  case PTO_CONV2D_OHWI:
    conv.filter = permuted4(filter, 0, 3, 1, 2);
    break;
  case PTO_CONV2D_IHWO:
    conv.filter = permuted4(filter, 3, 0, 1, 2);
    break;
  default:
    conv.filter = *filter;
  }
  take_bias(l, node, &conv);
  conv.slides =
      pto_slides_of(options->padding, options->strides, options->dilations, conv.filter.shape[2], conv.filter.shape[3]);
  return convolve(l, &conv, pto_option_u32(options->groups, 1), &result);
}

/* ---- turned round ---- */

/* Zeros between the places of every `step` in dimension `dim`. */
static int fill_between(struct pto_graph_lowering *l, const struct pto_tensor *t, uint32_t dim, uint64_t step) {
  int status = PTO_OK;
  for (uint64_t first = 1; first < step && first < t->shape[dim] && status == PTO_OK; first++) {
    const struct pto_tensor between = pto_tensor_slice(t, dim, first, t->shape[dim], step);
    status = pto_graph_lowering_tile(l);
    if (status == PTO_OK) status = pto_graph_lowering_fill(l, (struct pto_number){0}, &between);
  }
  const int ended = pto_graph_lowering_tiles_end(l);
  return status ? status : ended;
}

/* x with stride − 1 zeros between its rows and columns; each element is written once, as the rules pto order no write
 * after another. */
static int spread(struct pto_graph_lowering *l, const struct pto_tensor *x, const struct pto_slides *slides,
                  struct pto_tensor *out) {
  const uint64_t sh = slides->height.stride, sw = slides->width.stride;
  *out = *x;
  if (sh == 1 && sw == 1) return PTO_OK;
  const uint64_t shape[] = {x->shape[0], x->shape[1], (x->shape[2] - 1) * sh + 1, (x->shape[3] - 1) * sw + 1};
  *out = pto_graph_lowering_temporary(l, x->dtype, 4, shape);
  int status = pto_graph_lowering_allocate(l, out);
  const struct pto_tensor rows = pto_tensor_slice(out, 2, 0, shape[2], sh);
  const struct pto_tensor places = pto_tensor_slice(&rows, 3, 0, shape[3], sw);
  if (status == PTO_OK) status = fill_between(l, out, 2, sh);
  if (status == PTO_OK) status = fill_between(l, &rows, 3, sw);
  return status ? status : pto_graph_lowering_convert(l, x, &places);
}

/* Filters [c, oc / groups, kh, kw] as dense ones [oc, c / groups, kh, kw], backwards in height and width. */
static int turn_filters(struct pto_graph_lowering *l, const struct pto_tensor *filter, uint64_t groups,
                        struct pto_tensor *out) {
  const uint64_t each_in = filter->shape[0] / groups, each_out = filter->shape[1];
  const uint64_t shape[] = {each_out * groups, each_in, filter->shape[2], filter->shape[3]};
  *out = pto_graph_lowering_temporary(l, filter->dtype, 4, shape);
  int status = pto_graph_lowering_allocate(l, out);
  for (uint64_t g = 0; g < groups && status == PTO_OK; g++) {
    const struct pto_tensor from = pto_tensor_slice(filter, 0, g * each_in, (g + 1) * each_in, 1);
    const struct pto_tensor turned = permuted4(&from, 1, 0, 2, 3);
    const struct pto_tensor to = pto_tensor_slice(out, 0, g * each_out, (g + 1) * each_out, 1);
    const struct pto_param params[] = {pto_input(&turned), pto_output(&to), pto_scalar_u64(12)};
    status = pto_graph_lowering_submit(l, &pto_general_reverse, params, 3);
  }
  return status;
}

/* The slide of the ordinary convolution: padding that is more than the window reaches cuts rows off x instead. */
static void turn_slide(struct pto_slide *slide, struct pto_tensor *x, uint32_t dim) {
  const uint64_t reach = (slide->window - 1) * slide->dilation;
  if (slide->pad > reach) *x = pto_tensor_slice(x, dim, slide->pad - reach, x->shape[dim], 1);
  slide->pad = slide->pad > reach ? 0 : reach - slide->pad;
  slide->stride = 1;
}

int pto_lower_conv_transpose2d(struct pto_graph_lowering *l, const struct pto_graph_node *node) {
  const struct pto_conv_transpose2d_options *options = node->options;
  const struct pto_tensor *given = pto_graph_lowering_operand(l, node, 1);
  const struct pto_tensor x = pto_lower_as_nchw(pto_graph_lowering_operand(l, node, 0), options->input_layout);
  const struct pto_tensor result = pto_graph_lowering_result(l, node, 0, PTO_IN_PLACE_NONE);
  const struct pto_tensor filter = options->filter_layout == PTO_CONV_TRANSPOSE2D_HWOI   ? permuted4(given, 3, 2, 0, 1)
                                   : options->filter_layout == PTO_CONV_TRANSPOSE2D_OHWI ? permuted4(given, 3, 0, 1, 2)
                                                                                         : *given;
  const uint64_t groups = pto_option_u32(options->groups, 1);
  struct convolution conv = {.y = pto_lower_as_nchw(&result, options->input_layout),
                             .bounds = {.least = -INFINITY, .most = INFINITY}};
  take_bias(l, node, &conv);
  conv.slides = pto_slides_of(options->padding, options->strides, options->dilations, filter.shape[2], filter.shape[3]);
  int status = spread(l, &x, &conv.slides, &conv.x);
  if (status == PTO_OK) status = turn_filters(l, &filter, groups, &conv.filter);
  turn_slide(&conv.slides.height, &conv.x, 2);
  turn_slide(&conv.slides.width, &conv.x, 3);
  return status ? status : convolve(l, &conv, groups, &result);
}
