/* SPDX-License-Identifier: MIT */
/*
 * MobileNetV2: M. Sandler et al., "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018; layers of table
 * 2, blocks of figure 3d.  Batch normalisation is folded into the convolutions, as for inference; ReLU6 is a clamp.
 *
 * Input "image" [batch, 3, size, size], or [batch, size, size, 3], output "probabilities" [batch, classes].
 */
#include <graph/models/graph_model.h>

#include <stdio.h>

const struct pto_graph_model_option pto_graph_model_options_mobilenet_v2[] = {
    {"batch", "images at a time", 1, 1024, 1, NULL},
    {"size", "height and width of the image", 32, 4096, 224, NULL},
    {"width", "channels, in percent of the paper's", 1, 400, 100, NULL},
    {"classes", "what an image may be", 1, 100000, 1000, NULL},
    {"channels_last", "1: operands are NHWC, filters OHWI and IHWO; the same weights in the order of these", 0, 1, 0,
     NULL},
    {0}};

/* Expansion, channels, blocks, stride of the first of them. */
static const struct stage {
  uint32_t expansion, channels, blocks, stride;
} stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
              {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
#define FIRST_CHANNELS 32u
#define LAST_CHANNELS 1280u

/* The paper's channels times the width, as a multiple of 8 that is at least 9/10 of it. */
static uint32_t scale_channels(const struct pto_graph_model *model, uint32_t channels) {
  const uint64_t wanted = channels * pto_graph_model_option(model, "width");
  uint64_t rounded = (wanted / 100 + 4) / 8 * 8;
  if (rounded < 8) rounded = 8;
  if (rounded * 1000 < wanted * 9) rounded += 8;
  return (uint32_t)rounded;
}

struct convolution {
  uint32_t inputs, outputs, kernel, stride, groups;
  bool is_clamped;
};

static struct pto_graph_operand convolve(struct pto_graph_model *model, const char *name,
                                         struct pto_graph_operand input, const struct convolution *c) {
  const bool is_last = pto_graph_model_option(model, "channels_last") != 0, is_depthwise = c->groups > 1;
  const uint32_t edge = c->kernel / 2, per_group = c->inputs / c->groups;
  const uint64_t first[] = {c->outputs, per_group, c->kernel, c->kernel};
  const uint64_t last[] = {is_depthwise ? 1 : c->outputs, c->kernel, c->kernel, is_depthwise ? c->outputs : per_group};
  const uint64_t *shape = is_last ? last : first;
  const double scale = pto_graph_model_scale((uint64_t)per_group * c->kernel * c->kernel, c->is_clamped ? 2 : 1);
  const struct pto_graph_operand filter =
      pto_graph_model_weights(model, pto_graph_model_name(model, "%s.weight", name), 4, shape, scale);
  const struct pto_conv2d_options options = {
      .label = name,
      .bias = pto_graph_model_vector(model, pto_graph_model_name(model, "%s.bias", name), c->outputs, 0, 0.1),
      .padding = PTO_U32_LIST(edge, edge, edge, edge),
      .strides = PTO_U32_LIST(c->stride, c->stride),
      .groups = pto_number_u64(c->groups),
      .input_layout = is_last ? PTO_LAYOUT_NHWC : PTO_LAYOUT_NCHW,
      .filter_layout = !is_last       ? PTO_CONV2D_OIHW
                       : is_depthwise ? PTO_CONV2D_IHWO
                                      : PTO_CONV2D_OHWI};
  const struct pto_graph_operand result = pto_graph_builder_conv2d(model->builder, input, filter, &options);
  if (!c->is_clamped) return result;
  const struct pto_clamp_options clamp = {pto_graph_model_name(model, "%s.relu6", name), pto_number_f64(0),
                                          pto_number_f64(6)};
  return pto_graph_builder_clamp(model->builder, result, &clamp);
}

/* Expand, filter each channel, project; added to its input where the two are of one shape. */
static struct pto_graph_operand bottleneck(struct pto_graph_model *model, const char *name,
                                           struct pto_graph_operand input, uint32_t inputs, uint32_t outputs,
                                           uint32_t expansion, uint32_t stride) {
  const uint32_t hidden = inputs * expansion;
  struct pto_graph_operand x = input;
  const struct convolution expand = {inputs, hidden, 1, 1, 1, true},
                           depthwise = {hidden, hidden, 3, stride, hidden, true},
                           project = {hidden, outputs, 1, 1, 1, false};
  if (expansion > 1) x = convolve(model, pto_graph_model_name(model, "%s.expand", name), x, &expand);
  x = convolve(model, pto_graph_model_name(model, "%s.depthwise", name), x, &depthwise);
  x = convolve(model, pto_graph_model_name(model, "%s.project", name), x, &project);
  const struct pto_graph_options options = {pto_graph_model_name(model, "%s.add", name)};
  return stride == 1 && inputs == outputs ? pto_graph_builder_add(model->builder, input, x, &options) : x;
}

static struct pto_graph_operand classify(struct pto_graph_model *model, struct pto_graph_operand x, uint32_t channels) {
  const uint32_t batch = (uint32_t)pto_graph_model_option(model, "batch");
  const uint64_t classes = pto_graph_model_option(model, "classes"), shape[] = {channels, classes};
  const bool is_last = pto_graph_model_option(model, "channels_last") != 0;
  const struct pto_pool2d_options pool = {.label = "pool", .layout = is_last ? PTO_LAYOUT_NHWC : PTO_LAYOUT_NCHW};
  const struct pto_new_shape_options flat = {"flatten", PTO_U32_LIST(batch, channels)};
  x = pto_graph_builder_average_pool2d(model->builder, x, &pool);
  x = pto_graph_builder_reshape(model->builder, x, &flat);
  const struct pto_gemm_options gemm = {.label = "classifier",
                                        .c = pto_graph_model_vector(model, "classifier.bias", classes, 0, 0.1)};
  x = pto_graph_builder_gemm(
      model->builder, x,
      pto_graph_model_weights(model, "classifier.weight", 2, shape, pto_graph_model_scale(channels, 1)), &gemm);
  const struct pto_softmax_options softmax = {.label = "softmax", .axis = 1};
  return pto_graph_builder_softmax(model->builder, x, &softmax);
}

void pto_graph_model_build_mobilenet_v2(struct pto_graph_model *model) {
  const uint64_t size = pto_graph_model_option(model, "size");
  const uint64_t batch = pto_graph_model_option(model, "batch");
  const struct pto_graph_desc nchw = {PTO_FLOAT32, 4, {batch, 3, size, size}};
  const struct pto_graph_desc nhwc = {PTO_FLOAT32, 4, {batch, size, size, 3}};
  const struct pto_graph_desc desc = pto_graph_model_option(model, "channels_last") != 0 ? nhwc : nchw;
  uint32_t channels = scale_channels(model, FIRST_CHANNELS);
  const struct convolution first = {3, channels, 3, 2, 1, true};
  struct pto_graph_operand x = pto_graph_builder_input(model->builder, "image", &desc);
  x = convolve(model, "first", x, &first);
  for (uint32_t s = 0; s < sizeof stages / sizeof stages[0]; s++)
    for (uint32_t b = 0; b < stages[s].blocks; b++) {
      char name[32];
      const uint32_t outputs = scale_channels(model, stages[s].channels);
      snprintf(name, sizeof name, "stage%u.block%u", s, b);
      x = bottleneck(model, name, x, channels, outputs, stages[s].expansion, b == 0 ? stages[s].stride : 1);
      channels = outputs;
    }
  const uint32_t last =
      pto_graph_model_option(model, "width") > 100 ? scale_channels(model, LAST_CHANNELS) : LAST_CHANNELS;
  const struct convolution head = {channels, last, 1, 1, 1, true};
  x = convolve(model, "last", x, &head);
  pto_graph_model_output(model, classify(model, x, last), "probabilities");
}
