/* SPDX-License-Identifier: MIT */
#include <graph/infer/infer.h>

#include <inttypes.h>
#include <math.h>

/* Windows over height and width: index 0 is height, 1 is width. */
struct window {
  uint64_t input[2], filter[2], strides[2], dilations[2];
  uint64_t padding[4]; /* begin and end of height, then of width */
  const char *what;    /* that slides: "filter", "windowDimensions" */
};

/* Fills `values` from a list of exactly `count`, each at least `least`; absent lists leave what is there. */
static int read_list(struct pto_inference *inference, const char *name, struct pto_u32_list list, uint32_t count,
                     uint32_t least, uint64_t *values) {
  if (!list.values) return PTO_OK;
  if (list.count != count) return PTO_INFER_REFUSE(inference, "%s has %u values, not %u", name, list.count, count);
  for (uint32_t i = 0; i < count; i++) {
    if (list.values[i] < least)
      return PTO_INFER_REFUSE(inference, "%s[%u] is %u, below %u", name, i, list.values[i], least);
    values[i] = list.values[i];
  }
  return PTO_OK;
}

static int read_window(struct pto_inference *inference, struct pto_u32_list padding, struct pto_u32_list strides,
                       struct pto_u32_list dilations, struct window *window) {
  for (uint32_t i = 0; i < 2; i++) window->strides[i] = window->dilations[i] = 1;
  for (uint32_t i = 0; i < 4; i++) window->padding[i] = 0;
  int status = read_list(inference, "padding", padding, 4, 0, window->padding);
  if (status == PTO_OK) status = read_list(inference, "strides", strides, 2, 1, window->strides);
  if (status == PTO_OK) status = read_list(inference, "dilations", dilations, 2, 1, window->dilations);
  return status;
}

static const char *side(uint32_t i) { return i ? "width" : "height"; }

/* What the filter covers of the input along one side.  Factors are below 2^32: the product fits. */
static int effective_filter(struct pto_inference *inference, const struct window *window, uint32_t i,
                            uint64_t *covered) {
  *covered = (window->filter[i] - 1) * window->dilations[i] + 1;
  if (*covered <= PTO_DIM_MAX) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "%s of %s is %" PRIu64 " with dilations[%u] of %" PRIu64 ", too much", side(i),
                          window->what, window->filter[i], i, window->dilations[i]);
}

/* Steps of the window along one side, and what is left over of the last. */
static int count_steps(struct pto_inference *inference, const struct window *window, uint32_t i, uint64_t *steps,
                       uint64_t *left_over) {
  uint64_t covered, padded = window->input[i] + window->padding[2 * i] + window->padding[2 * i + 1];
  int status = effective_filter(inference, window, i, &covered);
  if (status) return status;
  if (covered > padded)
    return PTO_INFER_REFUSE(inference, "%s of %s covers %" PRIu64 ", and the padded input is %" PRIu64, side(i),
                            window->what, covered, padded);
  *steps = (padded - covered) / window->strides[i];
  *left_over = (padded - covered) % window->strides[i];
  return PTO_OK;
}

/* Channels and sides of an image in its layout. */
static void read_image(const struct pto_graph_desc *image, uint32_t layout, uint64_t *channels, uint64_t sides[2]) {
  bool is_nchw = layout == PTO_LAYOUT_NCHW;
  *channels = image->shape[is_nchw ? 1 : 3];
  sides[0] = image->shape[is_nchw ? 2 : 1];
  sides[1] = image->shape[is_nchw ? 3 : 2];
}
static int add_image(struct pto_inference *inference, uint32_t layout, uint64_t channels, const uint64_t sides[2]) {
  const struct pto_graph_desc *input = &inference->operands[0];
  struct pto_graph_desc image = {
      .dtype = input->dtype, .ndims = 4, .shape = {input->shape[0], channels, sides[0], sides[1]}};
  if (layout == PTO_LAYOUT_NHWC) {
    image.shape[1] = sides[0];
    image.shape[2] = sides[1];
    image.shape[3] = channels;
  }
  return pto_infer_result(inference, &image);
}

/* ---- convolutions ---- */

static void read_filter(const struct pto_graph_desc *filter, const uint8_t places[4], uint64_t *outputs,
                        uint64_t *inputs, uint64_t sides[2]) {
  *outputs = filter->shape[places[0]];
  *inputs = filter->shape[places[1]];
  sides[0] = filter->shape[places[2]];
  sides[1] = filter->shape[places[3]];
}

int pto_infer_conv2d(struct pto_inference *inference) {
  const struct pto_conv2d_options *options = inference->options;
  struct window window = {.what = "filter"};
  uint64_t channels, outputs, filter_channels, sides[2], left_over, groups = pto_option_u64(options->groups, 1);
  int status = read_window(inference, options->padding, options->strides, options->dilations, &window);
  if (status) return status;
  read_image(&inference->operands[0], options->input_layout, &channels, window.input);
  read_filter(&inference->operands[1], pto_conv2d_filter_places[options->filter_layout], &outputs, &filter_channels,
              window.filter);
  if (groups == 0) return PTO_INFER_REFUSE(inference, "groups is 0");
  if (channels % groups || filter_channels != channels / groups)
    return PTO_INFER_REFUSE(
        inference, "input has %" PRIu64 " channels in %" PRIu64 " groups, and filter %" PRIu64 " input channels",
        channels, groups, filter_channels);
  /* The method steps do not say so, but no group could compute its part. */
  if (outputs % groups)
    return PTO_INFER_REFUSE(inference, "%" PRIu64 " output channels are no multiple of %" PRIu64 " groups", outputs,
                            groups);
  status = pto_infer_expect_shape(inference, 2, 1, &outputs);
  for (uint32_t i = 0; status == PTO_OK && i < 2; i++) {
    status = count_steps(inference, &window, i, &sides[i], &left_over);
    sides[i]++;
  }
  return status ? status : add_image(inference, options->input_layout, outputs, sides);
}

/* The size of one side of a transposed convolution: where the last filter ends, without the padding, and what the
 * caller adds; or what the caller asks for, within one stride of it.  The padding may take all.  Inputs have fewer than
 * 2^31 elements, and strides are below 2^32: the product fits. */
static int transposed_side(struct pto_inference *inference, const struct window *window, uint32_t i,
                           const uint64_t *more, const uint64_t *asked, uint64_t *size_out) {
  uint64_t covered, padding = window->padding[2 * i] + window->padding[2 * i + 1];
  int status = effective_filter(inference, window, i, &covered);
  if (status) return status;
  int64_t size = (int64_t)((window->input[i] - 1) * window->strides[i] + covered) - (int64_t)padding;
  if (asked) {
    int64_t wanted = (int64_t)asked[i], last = size + (int64_t)window->strides[i] - 1;
    *size_out = asked[i];
    if (wanted >= size && wanted <= last) return PTO_OK;
    return PTO_INFER_REFUSE(inference, "outputSizes[%u] is %" PRId64 ", not within %" PRId64 " to %" PRId64, i, wanted,
                            size, last);
  }
  size += (int64_t)more[i];
  *size_out = (uint64_t)size;
  if (size > 0) return PTO_OK;
  return PTO_INFER_REFUSE(inference, "%s of the result would be %" PRId64 " with a padding of %" PRIu64, side(i), size,
                          padding);
}

int pto_infer_conv_transpose2d(struct pto_inference *inference) {
  const struct pto_conv_transpose2d_options *options = inference->options;
  struct window window = {.what = "filter"};
  uint64_t channels, outputs, filter_channels, sides[2], groups = pto_option_u64(options->groups, 1);
  uint64_t more[2] = {0, 0}, asked[2];
  bool is_asked = options->output_sizes.values;
  int status = read_window(inference, options->padding, options->strides, options->dilations, &window);
  if (status == PTO_OK) status = read_list(inference, "outputPadding", options->output_padding, 2, 0, more);
  if (status == PTO_OK) status = read_list(inference, "outputSizes", options->output_sizes, 2, 1, asked);
  if (status) return status;
  for (uint32_t i = 0; i < 2 && !is_asked; i++)
    if (more[i] >= window.strides[i])
      return PTO_INFER_REFUSE(inference, "outputPadding[%u] is %" PRIu64 ", not below strides[%u] of %" PRIu64, i,
                              more[i], i, window.strides[i]);
  read_image(&inference->operands[0], options->input_layout, &channels, window.input);
  read_filter(&inference->operands[1], pto_conv_transpose2d_filter_places[options->filter_layout], &outputs,
              &filter_channels, window.filter);
  if (groups == 0) return PTO_INFER_REFUSE(inference, "groups is 0");
  if (filter_channels != channels)
    return PTO_INFER_REFUSE(inference, "input has %" PRIu64 " channels, and filter %" PRIu64 " input channels",
                            channels, filter_channels);
  outputs *= groups; /* of two numbers below 2^32 */
  status = pto_infer_expect_shape(inference, 2, 1, &outputs);
  for (uint32_t i = 0; status == PTO_OK && i < 2; i++)
    status = transposed_side(inference, &window, i, more, is_asked ? asked : NULL, &sides[i]);
  return status ? status : add_image(inference, options->input_layout, outputs, sides);
}

int pto_conv_transpose2d_check_groups(const struct pto_conv_transpose2d_options *options,
                                      const struct pto_graph_desc *input, struct pto_error *error) {
  uint64_t channels, sides[2], groups = pto_option_u64(options->groups, 1);
  read_image(input, options->input_layout, &channels, sides);
  if (channels % groups == 0) return PTO_OK;
  return pto_error_set(error, PTO_ENOTSUP, "%" PRIu64 " input channels are no multiple of %" PRIu64 " groups", channels,
                       groups);
}

/* ---- pools ---- */

static int infer_pool(struct pto_inference *inference) {
  const struct pto_pool2d_options *options = inference->options;
  struct window window = {.what = "windowDimensions"};
  uint64_t channels, floors[2], ceilings[2], asked[2], left_over = 0;
  int status = read_window(inference, options->padding, options->strides, options->dilations, &window);
  if (status) return status;
  read_image(&inference->operands[0], options->layout, &channels, window.input);
  for (uint32_t i = 0; i < 2; i++) window.filter[i] = window.input[i];
  status = read_list(inference, "windowDimensions", options->window_dimensions, 2, 1, window.filter);
  if (status == PTO_OK) status = read_list(inference, "outputSizes", options->output_sizes, 2, 1, asked);
  for (uint32_t i = 0; status == PTO_OK && i < 2; i++) {
    status = count_steps(inference, &window, i, &floors[i], &left_over);
    floors[i]++;
    ceilings[i] = floors[i] + (left_over ? 1 : 0);
  }
  if (status) return status;
  if (!options->output_sizes.values)
    return add_image(inference, options->layout, channels,
                     options->output_shape_rounding == PTO_ROUNDING_CEIL ? ceilings : floors);
  bool is_floor = asked[0] == floors[0] && asked[1] == floors[1];
  bool is_ceiling = asked[0] == ceilings[0] && asked[1] == ceilings[1];
  if (is_floor || is_ceiling) return add_image(inference, options->layout, channels, asked);
  return PTO_INFER_REFUSE(inference,
                          "outputSizes is [%" PRIu64 ", %" PRIu64 "], not [%" PRIu64 ", %" PRIu64 "] or [%" PRIu64
                          ", %" PRIu64 "]",
                          asked[0], asked[1], floors[0], floors[1], ceilings[0], ceilings[1]);
}

int pto_infer_average_pool2d(struct pto_inference *inference) { return infer_pool(inference); }
int pto_infer_l2_pool2d(struct pto_inference *inference) { return infer_pool(inference); }
int pto_infer_max_pool2d(struct pto_inference *inference) { return infer_pool(inference); }

static int infer_global_pool(struct pto_inference *inference) {
  static const uint64_t one[2] = {1, 1};
  return add_image(inference, PTO_LAYOUT_NCHW, inference->operands[0].shape[1], one);
}
int pto_infer_global_average_pool(struct pto_inference *inference) { return infer_global_pool(inference); }
int pto_infer_global_max_pool(struct pto_inference *inference) { return infer_global_pool(inference); }

/* ---- resampling ---- */

static int scaled_side(struct pto_inference *inference, uint32_t i, double scale, uint64_t *size) {
  double scaled = floor((double)*size * scale);
  if (!(scale > 0)) return PTO_INFER_REFUSE(inference, "scales[%u] is %g, not above 0", i, scale);
  if (scaled < 1 || scaled > (double)PTO_DIM_MAX)
    return PTO_INFER_REFUSE(inference, "scales[%u] %g makes %" PRIu64 " to %.0f", i, scale, *size, scaled);
  *size = (uint64_t)scaled;
  return PTO_OK;
}

int pto_infer_resample2d(struct pto_inference *inference) {
  const struct pto_resample2d_options *options = inference->options;
  struct pto_graph_desc result = inference->operands[0];
  uint64_t axes[2] = {2, 3}, sizes[2];
  int status = read_list(inference, "axes", options->axes, 2, 0, axes);
  for (uint32_t i = 0; status == PTO_OK && i < 2; i++)
    status = pto_infer_check_axis(inference, "axes", axes[i], result.ndims);
  if (status) return status;
  if (axes[0] == axes[1]) return PTO_INFER_REFUSE(inference, "axes has %" PRIu64 " twice", axes[0]);
  if (options->scales.values && options->scales.count != 2)
    return PTO_INFER_REFUSE(inference, "scales has %u values, not 2", options->scales.count);
  for (uint32_t i = 0; i < 2; i++) sizes[i] = result.shape[axes[i]];
  /* Scales are checked where sizes override them too. */
  for (uint32_t i = 0; status == PTO_OK && options->scales.values && i < 2; i++)
    if (options->sizes.values && !(options->scales.values[i] > 0))
      status = PTO_INFER_REFUSE(inference, "scales[%u] is %g, not above 0", i, (double)options->scales.values[i]);
    else if (!options->sizes.values)
      status = scaled_side(inference, i, options->scales.values[i], &sizes[i]);
  if (status == PTO_OK) status = read_list(inference, "sizes", options->sizes, 2, 1, sizes);
  for (uint32_t i = 0; i < 2; i++) result.shape[axes[i]] = sizes[i];
  return status ? status : pto_infer_result(inference, &result);
}
