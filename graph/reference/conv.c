/* SPDX-License-Identifier: MIT */
/*
 * Reference: convolutions.
 *
 * Each element is a sum of products in double, the bias last; padding adds nothing, so 0 · ∞ does not arise there.
 * Constants; any thread.
 */
#include <graph/reference/image.h>

/* A filter as an image: batches are output channels, channels input channels, both within a group where the operation
 * has it so. */
static struct pto_reference_image filter_image(const struct pto_graph_desc *desc, const uint8_t places[4]) {
  return pto_reference_image_by(desc, places[0], places[1], places[2], places[3]);
}

/* The sum over one input channel; x is its first pixel, w its first weight. */
static double correlate(const double *x, const struct pto_reference_image *in, const double *w,
                        const struct pto_reference_image *filter, const struct pto_reference_window *window,
                        uint64_t row, uint64_t col) {
  double total = 0;
  uint64_t y_at, x_at;
  for (uint64_t i = 0; i < window->height; i++) {
    if (!pto_reference_window_hits(row, window->row_step, i, window->row_dilation, window->top, in->height, &y_at))
      continue;
    for (uint64_t j = 0; j < window->width; j++) {
      if (!pto_reference_window_hits(col, window->col_step, j, window->col_dilation, window->left, in->width, &x_at))
        continue;
      total += x[y_at * in->row_stride + x_at * in->col_stride] * w[i * filter->row_stride + j * filter->col_stride];
    }
  }
  return total;
}

/* input, filter, bias.  Output channel o is of group o / (output channels / groups), and so are the input channels. */
PTO_REFERENCE_OPERATION(conv2d) {
  const struct pto_conv2d_options *options = node->options;
  const struct pto_reference_image in = pto_reference_image(&operands[0]->desc, options->input_layout),
                                   out = pto_reference_image(&results->desc, options->input_layout),
                                   filter = filter_image(&operands[1]->desc,
                                                         pto_conv2d_filter_places[options->filter_layout]);
  const struct pto_reference_window window =
      pto_reference_window(filter.height, filter.width, options->padding, options->strides, options->dilations);
  const uint64_t group_outputs = out.channels / pto_option_u32(options->groups, 1);
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    const uint64_t b = i / out.batch_stride, o = i / out.channel_stride % out.channels,
                   row = i / out.row_stride % out.height, col = i / out.col_stride % out.width,
                   first_channel = o / group_outputs * filter.channels;
    double total = 0;
    for (uint64_t c = 0; c < filter.channels; c++)
      total += correlate(operands[0]->values + pto_reference_pixel(&in, b, first_channel + c, 0, 0), &in,
                         operands[1]->values + pto_reference_pixel(&filter, o, c, 0, 0), &filter, &window, row, col);
    results->values[i] = total + (operands[2] ? operands[2]->values[o] : 0);
  }
  return PTO_OK;
}

/* Adds one input pixel times one filter to an output channel; y is that channel's first pixel. */
static void spread(double pixel, const double *w, const struct pto_reference_image *filter,
                   const struct pto_reference_window *window, uint64_t row, uint64_t col, double *y,
                   const struct pto_reference_image *out) {
  uint64_t y_at, x_at;
  for (uint64_t i = 0; i < window->height; i++) {
    if (!pto_reference_window_hits(row, window->row_step, i, window->row_dilation, window->top, out->height, &y_at))
      continue;
    for (uint64_t j = 0; j < window->width; j++) {
      if (!pto_reference_window_hits(col, window->col_step, j, window->col_dilation, window->left, out->width, &x_at))
        continue;
      y[y_at * out->row_stride + x_at * out->col_stride] += pixel * w[i * filter->row_stride + j * filter->col_stride];
    }
  }
}

/* The transpose of conv2d: what conv2d reads at a place, this adds to.  Input channel c is of group
 * c / (input channels / groups); what lies beyond the output (padding taken away) is lost. */
PTO_REFERENCE_OPERATION(conv_transpose2d) {
  const struct pto_conv_transpose2d_options *options = node->options;
  const struct pto_reference_image in = pto_reference_image(&operands[0]->desc, options->input_layout),
                                   out = pto_reference_image(&results->desc, options->input_layout),
                                   filter = filter_image(&operands[1]->desc,
                                                         pto_conv_transpose2d_filter_places[options->filter_layout]);
  const struct pto_reference_window window =
      pto_reference_window(filter.height, filter.width, options->padding, options->strides, options->dilations);
  const uint64_t group_inputs = in.channels / pto_option_u32(options->groups, 1);
  for (uint64_t i = 0; i < pto_reference_numel(operands[0]); i++) {
    const uint64_t b = i / in.batch_stride, c = i / in.channel_stride % in.channels,
                   row = i / in.row_stride % in.height, col = i / in.col_stride % in.width,
                   first_channel = c / group_inputs * filter.batches;
    for (uint64_t o = 0; o < filter.batches; o++)
      spread(operands[0]->values[i], operands[1]->values + pto_reference_pixel(&filter, o, c, 0, 0), &filter, &window,
             row, col, results->values + pto_reference_pixel(&out, b, first_channel + o, 0, 0), &out);
  }
  for (uint64_t i = 0; operands[2] && i < pto_reference_numel(results); i++)
    results->values[i] += operands[2]->values[i / out.channel_stride % out.channels];
  return PTO_OK;
}
