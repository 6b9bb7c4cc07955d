/* SPDX-License-Identifier: MIT */
/*
 * Reference: pooling.
 *
 * Padding takes no part: averages are over the elements that are there.  Of a window that lies in the padding
 * altogether (rounding up makes such) the maximum is −∞, or the smallest integer, the L2 norm 0 and the average NaN.
 * Constants; any thread.
 */
#include <graph/reference/image.h>
#include <kernels/reference/math.h>

/* What is found in one window of floats. */
struct found {
  uint64_t count;
  double sum, sum_of_squares, largest;
  int64_t whole_largest;
};

static struct found look(const struct pto_reference_tensor *input, const struct pto_reference_image *in,
                         const struct pto_reference_window *window, uint64_t channel_start, uint64_t row,
                         uint64_t col) {
  struct found found = {.largest = -INFINITY, .whole_largest = pto_reference_smallest(input->desc.dtype)};
  uint64_t y, x, top, bottom, left, right;
  pto_reference_window_range(row, window->row_step, window->height, window->row_dilation, window->top, in->height, &top,
                             &bottom);
  pto_reference_window_range(col, window->col_step, window->width, window->col_dilation, window->left, in->width, &left,
                             &right);
  for (uint64_t i = top; i < bottom; i++) {
    if (!pto_reference_window_hits(row, window->row_step, i, window->row_dilation, window->top, in->height, &y))
      continue;
    for (uint64_t j = left; j < right; j++) {
      if (!pto_reference_window_hits(col, window->col_step, j, window->col_dilation, window->left, in->width, &x))
        continue;
      const uint64_t at = channel_start + y * in->row_stride + x * in->col_stride;
      found.count++;
      if (!pto_reference_is_float(input)) {
        found.whole_largest = pto_reference_whole_max(input->desc.dtype, found.whole_largest, input->whole[at]);
        continue;
      }
      const double value = input->values[at];
      found.sum += value;
      found.sum_of_squares += value * value;
      found.largest = pto_exact_max(found.largest, value);
    }
  }
  return found;
}

static double average(const struct found *found) { return found->sum / (double)found->count; }
static double norm(const struct found *found) { return sqrt(found->sum_of_squares); }
static double largest(const struct found *found) { return found->largest; }

static void store(struct pto_reference_tensor *results, uint64_t i, const struct found *found,
                  double (*value)(const struct found *)) {
  if (pto_reference_is_float(results))
    results->values[i] = value(found);
  else
    results->whole[i] = found->whole_largest;
}

static int pool(const struct pto_graph_node *node, const struct pto_reference_tensor *input,
                struct pto_reference_tensor *results, double (*value)(const struct found *)) {
  const struct pto_pool2d_options *options = node->options;
  const struct pto_reference_image in = pto_reference_image(&input->desc, options->layout),
                                   out = pto_reference_image(&results->desc, options->layout);
  const struct pto_u32_list size = options->window_dimensions;
  const struct pto_reference_window window =
      pto_reference_window(size.values ? size.values[0] : in.height, size.values ? size.values[1] : in.width,
                           options->padding, options->strides, options->dilations);
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    const uint64_t b = i / out.batch_stride, c = i / out.channel_stride % out.channels,
                   row = i / out.row_stride % out.height, col = i / out.col_stride % out.width;
    const struct found found = look(input, &in, &window, pto_reference_pixel(&in, b, c, 0, 0), row, col);
    store(results, i, &found, value);
  }
  return PTO_OK;
}

PTO_REFERENCE_OPERATION(average_pool2d) { return pool(node, operands[0], results, average); }
PTO_REFERENCE_OPERATION(l2_pool2d) { return pool(node, operands[0], results, norm); }
PTO_REFERENCE_OPERATION(max_pool2d) { return pool(node, operands[0], results, largest); }

/* Over all dimensions behind batch and channel. */
static int pool_all(const struct pto_reference_tensor *input, struct pto_reference_tensor *results,
                    double (*value)(const struct found *)) {
  const uint64_t count = pto_reference_numel(results), size = pto_reference_stride(&input->desc, 1);
  const struct pto_reference_image row = {.height = 1, .width = size, .col_stride = 1};
  const struct pto_reference_window window = {
      .height = 1, .width = size, .row_step = 1, .col_step = 1, .row_dilation = 1, .col_dilation = 1};
  for (uint64_t i = 0; i < count; i++) {
    const struct found found = look(input, &row, &window, i * size, 0, 0);
    store(results, i, &found, value);
  }
  return PTO_OK;
}
PTO_REFERENCE_OPERATION(global_average_pool) { return pool_all(operands[0], results, average); }
PTO_REFERENCE_OPERATION(global_max_pool) { return pool_all(operands[0], results, largest); }
