/* SPDX-License-Identifier: MIT */
/*
 * One step of a decoder in the form of GPT-2: A. Radford et al., "Language Models are Unsupervised Multitask Learners",
 * 2019: layer norm before each part, learned positions, one matrix for tokens and logits.  gelu is the specification's,
 * by erf.
 *
 * Inputs: "token" and "position", int32 [1], and for each layer its cache, "past_key0" and "past_value0", float32
 * [heads, window, width/heads].  Outputs: "logits" [1, vocabulary], and "key0", "value0" …: the caches with this step's
 * key and value at the position.  Input and output of a cache have one shape, so that two tensors can take turns.
 */
#include <graph/models/decoder_parts.h>

const struct pto_graph_model_option pto_graph_model_options_gpt2[] = {
    {"layers", "blocks", 1, 48, 12, NULL},
    {"width", "of a token's vector", 1, 16384, 768, NULL},
    {"heads", "of attention; the width is a multiple", 1, 256, 12, NULL},
    {"window", "positions that the cache holds", 1, 65536, 128, NULL},
    {"vocabulary", "tokens", 1, 1000000, 5000, NULL},
    {0}};

struct decoder {
  struct pto_graph_model *model;
  struct pto_graph_builder *builder;
  uint64_t width;
  struct pto_model_attention attention;
};

static struct pto_graph_operand normalize(struct decoder *d, const char *name, struct pto_graph_operand x) {
  struct pto_layer_normalization_options options = {.label = name, .axes = PTO_U32_LIST(1)};
  options.scale = pto_graph_model_vector(d->model, pto_graph_model_name(d->model, "%s.scale", name), d->width, 1, 0.1);
  options.bias = pto_graph_model_vector(d->model, pto_graph_model_name(d->model, "%s.bias", name), d->width, 0, 0.1);
  return pto_graph_builder_layer_normalization(d->builder, x, &options);
}

/* x · weight + bias. */
static struct pto_graph_operand project(struct decoder *d, const char *name, struct pto_graph_operand x,
                                        uint64_t inputs, uint64_t outputs) {
  const uint64_t shape[] = {inputs, outputs};
  const struct pto_gemm_options options = {
      .label = name,
      .c = pto_graph_model_vector(d->model, pto_graph_model_name(d->model, "%s.bias", name), outputs, 0, 0.1)};
  return pto_graph_builder_gemm(d->builder, x,
                                pto_graph_model_weights(d->model, pto_graph_model_name(d->model, "%s.weight", name), 2,
                                                        shape, pto_graph_model_scale(inputs, 1)),
                                &options);
}

static struct pto_graph_operand attend(struct decoder *d, uint32_t layer, struct pto_graph_operand x) {
  struct pto_graph_operand parts[3] = {{0, 0}};
  const struct pto_split_options thirds = {.splits = PTO_U32_LIST(3), .axis = pto_number_u64(1)};
  x = project(d, pto_graph_model_name(d->model, "block%u.query_key_value", layer), x, d->width, 3 * d->width);
  if (pto_graph_builder_split(d->builder, x, &thirds, parts, 3)) return parts[0];
  const struct pto_graph_operand keys = pto_model_cache(&d->attention, "key", layer, parts[1]);
  const struct pto_graph_operand values = pto_model_cache(&d->attention, "value", layer, parts[2]);
  x = pto_model_attend(&d->attention, layer, parts[0], keys, values);
  return project(d, pto_graph_model_name(d->model, "block%u.attention", layer), x, d->width, d->width);
}

static struct pto_graph_operand block(struct decoder *d, uint32_t layer, struct pto_graph_operand x) {
  struct pto_graph_builder *b = d->builder;
  const struct pto_graph_options label = {pto_graph_model_name(d->model, "block%u.gelu", layer)};
  x = pto_graph_builder_add(
      b, x, attend(d, layer, normalize(d, pto_graph_model_name(d->model, "block%u.norm1", layer), x)), NULL);
  struct pto_graph_operand h = normalize(d, pto_graph_model_name(d->model, "block%u.norm2", layer), x);
  h = project(d, pto_graph_model_name(d->model, "block%u.widen", layer), h, d->width, 4 * d->width);
  h = pto_graph_builder_gelu(b, h, &label);
  h = project(d, pto_graph_model_name(d->model, "block%u.narrow", layer), h, 4 * d->width, d->width);
  return pto_graph_builder_add(b, x, h, NULL);
}

void pto_graph_model_build_gpt2(struct pto_graph_model *model) {
  const uint64_t width = pto_graph_model_option(model, "width"), heads = pto_graph_model_option(model, "heads");
  const uint64_t window = pto_graph_model_option(model, "window");
  const struct pto_graph_desc one = {PTO_INT32, 1, {1}};
  const uint64_t tokens[] = {pto_graph_model_option(model, "vocabulary"), width}, positions[] = {window, width};
  struct decoder d = {model, model->builder, width, {model, heads, heads, width / heads, window, {0, 0}, {0, 0}}};
  if (width % heads != 0) {
    pto_graph_model_refuse(model, PTO_EINVAL, "the width is no multiple of the heads");
    return;
  }
  const struct pto_graph_operand token = pto_graph_builder_input(d.builder, "token", &one);
  const struct pto_graph_operand position = pto_graph_builder_input(d.builder, "position", &one);
  const struct pto_graph_operand embedding = pto_graph_model_weights(model, "tokens.weight", 2, tokens, 0.05);
  const struct pto_graph_operand places = pto_graph_model_weights(model, "positions.weight", 2, positions, 0.05);
  pto_model_attention_init(&d.attention, position);
  struct pto_graph_operand x = pto_graph_builder_gather(d.builder, embedding, token, NULL);
  x = pto_graph_builder_add(d.builder, x, pto_graph_builder_gather(d.builder, places, position, NULL), NULL);
  for (uint32_t layer = 0; layer < pto_graph_model_option(model, "layers"); layer++) x = block(&d, layer, x);
  x = normalize(&d, "norm", x);
  const struct pto_gemm_options logits = {.label = "logits", .b_transpose = PTO_FLAG_YES};
  pto_graph_model_output(model, pto_graph_builder_gemm(d.builder, x, embedding, &logits), "logits");
}
