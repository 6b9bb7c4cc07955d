/* SPDX-License-Identifier: MIT */
/*
 * Reference: normalisations: (x − mean) / √(variance + epsilon) · scale + bias.
 *
 * The variance is Σ (x − mean)² / n.  Constants; any thread.
 */
#include <graph/reference/image.h>

struct moments {
  double mean, variance;
};

static double normalized(double x, struct moments moments, double epsilon, double scale, double bias) {
  return (x - moments.mean) / sqrt(moments.variance + epsilon) * scale + bias;
}

static double element_or(const struct pto_reference_tensor *t, uint64_t i, double otherwise) {
  return t ? t->values[i] : otherwise;
}

/* input, mean, variance, scale, bias: the last four one a feature, the index along axis. */
PTO_REFERENCE_OPERATION(batch_normalization) {
  const struct pto_batch_normalization_options *options = node->options;
  const double epsilon = pto_reference_factor(options->epsilon, 1e-5);
  const struct pto_reference_lines lines = pto_reference_lines(&results->desc, pto_option_u32(options->axis, 1));
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    const uint64_t feature = i / lines.inner_count % lines.extent;
    const struct moments moments = {operands[1]->values[feature], operands[2]->values[feature]};
    results->values[i] = normalized(operands[0]->values[i], moments, epsilon, element_or(operands[3], feature, 1),
                                    element_or(operands[4], feature, 0));
  }
  return PTO_OK;
}

/* Of rows and columns of one channel, whose first pixel is x. */
static struct moments channel_moments(const double *x, const struct pto_reference_image *image) {
  const double count = (double)(image->height * image->width);
  struct moments moments = {0};
  for (uint64_t row = 0; row < image->height; row++) {
    for (uint64_t col = 0; col < image->width; col++)
      moments.mean += x[row * image->row_stride + col * image->col_stride];
  }
  moments.mean /= count;
  for (uint64_t row = 0; row < image->height; row++) {
    for (uint64_t col = 0; col < image->width; col++) {
      const double distance = x[row * image->row_stride + col * image->col_stride] - moments.mean;
      moments.variance += distance * distance;
    }
  }
  moments.variance /= count;
  return moments;
}

/* input, scale, bias: the last two one a channel; moments of each channel of each batch. */
PTO_REFERENCE_OPERATION(instance_normalization) {
  const struct pto_instance_normalization_options *options = node->options;
  const double epsilon = pto_reference_factor(options->epsilon, 1e-5);
  const struct pto_reference_image image = pto_reference_image(&results->desc, options->layout);
  for (uint64_t b = 0; b < image.batches; b++) {
    for (uint64_t c = 0; c < image.channels; c++) {
      const double scale = element_or(operands[1], c, 1), bias = element_or(operands[2], c, 0);
      const struct moments moments =
          channel_moments(operands[0]->values + pto_reference_pixel(&image, b, c, 0, 0), &image);
      for (uint64_t row = 0; row < image.height; row++) {
        for (uint64_t col = 0; col < image.width; col++) {
          const uint64_t i = pto_reference_pixel(&image, b, c, row, col);
          results->values[i] = normalized(operands[0]->values[i], moments, epsilon, scale, bias);
        }
      }
    }
  }
  return PTO_OK;
}

/* ---- layerNormalization ---- */

/* The elements that are normalized together, by their number: the coordinates along the axes, in the axes' order. */
struct layer {
  uint32_t axes[PTO_MAX_DIMS], axis_count;
  struct pto_graph_desc desc; /* shape: the extents along the axes, as scale and bias have it */
  uint64_t strides[PTO_MAX_DIMS];
};

/* Axes that were not given: all but the first. */
static struct layer layer_of(const struct pto_graph_desc *desc, struct pto_u32_list axes) {
  struct layer layer = {.axis_count = axes.values ? axes.count : desc->ndims > 0 ? desc->ndims - 1 : 0};
  layer.desc.ndims = layer.axis_count;
  for (uint32_t k = 0; k < layer.axis_count; k++) {
    layer.axes[k] = pto_option_at(axes, k, k + 1);
    layer.desc.shape[k] = desc->shape[layer.axes[k]];
    layer.strides[k] = pto_reference_stride(desc, layer.axes[k]);
  }
  return layer;
}

static uint64_t layer_offset(const struct layer *layer, uint64_t k) {
  uint64_t at[PTO_MAX_DIMS], offset = 0;
  pto_reference_locate(&layer->desc, k, at);
  for (uint32_t d = 0; d < layer->axis_count; d++) offset += at[d] * layer->strides[d];
  return offset;
}

/* Is this element the first of its layer? */
static bool begins_layer(const struct layer *layer, const struct pto_graph_desc *desc, uint64_t i) {
  uint64_t at[PTO_MAX_DIMS];
  pto_reference_locate(desc, i, at);
  for (uint32_t k = 0; k < layer->axis_count; k++) {
    if (at[layer->axes[k]] != 0) return false;
  }
  return true;
}

static struct moments layer_moments(const struct layer *layer, const double *x, uint64_t size) {
  struct moments moments = {0};
  for (uint64_t k = 0; k < size; k++) moments.mean += x[layer_offset(layer, k)];
  moments.mean /= (double)size;
  for (uint64_t k = 0; k < size; k++) {
    const double distance = x[layer_offset(layer, k)] - moments.mean;
    moments.variance += distance * distance;
  }
  moments.variance /= (double)size;
  return moments;
}

/* input, scale, bias.  Over no axes each element is its own mean, and the result is the bias. */
PTO_REFERENCE_OPERATION(layer_normalization) {
  const struct pto_layer_normalization_options *options = node->options;
  const double epsilon = pto_reference_factor(options->epsilon, 1e-5);
  const struct layer layer = layer_of(&results->desc, options->axes);
  const uint64_t size = pto_graph_desc_numel(&layer.desc);
  const double *x = operands[0]->values;
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    if (!begins_layer(&layer, &results->desc, i)) continue;
    const struct moments moments = layer_moments(&layer, x + i, size);
    for (uint64_t k = 0; k < size; k++) {
      const uint64_t at = i + layer_offset(&layer, k);
      results->values[at] =
          normalized(x[at], moments, epsilon, element_or(operands[1], k, 1), element_or(operands[2], k, 0));
    }
  }
  return PTO_OK;
}
