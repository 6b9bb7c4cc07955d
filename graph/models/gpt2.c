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
#include <graph/models/graph_model.h>

#include <math.h>
#include <stdlib.h>

const struct pto_graph_model_option pto_graph_model_options_gpt2[] = {
    {"layers", "blocks", 1, 48, 12},
    {"width", "of a token's vector", 1, 16384, 768},
    {"heads", "of attention; the width is a multiple", 1, 256, 12},
    {"window", "positions that the cache holds", 1, 65536, 128},
    {"vocabulary", "tokens", 1, 1000000, 5000},
    {0}};

/* Scores of positions that are not there yet: exp of it is 0. */
#define NEVER (-1e9)

struct decoder {
  struct pto_graph_model *model;
  struct pto_graph_builder *builder;
  uint64_t width, heads, window, head_width;
  struct pto_graph_operand is_past, is_now; /* of positions: up to this step's, this step's */
};

static struct pto_graph_operand normalize(struct decoder *d, const char *name, struct pto_graph_operand x) {
  struct pto_layer_normalization_options options = {.label = name, .axes = PTO_U32_LIST(1)};
  options.scale = pto_graph_model_vector(d->model, pto_graph_model_name("%s.scale", name), d->width, 1, 0.1);
  options.bias = pto_graph_model_vector(d->model, pto_graph_model_name("%s.bias", name), d->width, 0, 0.1);
  return pto_graph_builder_layer_normalization(d->builder, x, &options);
}

/* x · weight + bias. */
static struct pto_graph_operand project(struct decoder *d, const char *name, struct pto_graph_operand x,
                                        uint64_t inputs, uint64_t outputs) {
  const uint64_t shape[] = {inputs, outputs};
  const struct pto_gemm_options options = {
      .label = name, .c = pto_graph_model_vector(d->model, pto_graph_model_name("%s.bias", name), outputs, 0, 0.1)};
  return pto_graph_builder_gemm(d->builder, x,
                                pto_graph_model_weights(d->model, pto_graph_model_name("%s.weight", name), 2, shape,
                                                        pto_graph_model_scale(inputs, 1)),
                                &options);
}

static struct pto_graph_operand reshape(struct decoder *d, struct pto_graph_operand x, uint32_t ndims,
                                        const uint32_t *shape) {
  const struct pto_new_shape_options options = {NULL, {shape, ndims}};
  return pto_graph_builder_reshape(d->builder, x, &options);
}

/* The cache with this step's row at its position. */
static struct pto_graph_operand extend(struct decoder *d, const char *what, uint32_t layer,
                                       struct pto_graph_operand row) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 3, {d->heads, d->window, d->head_width}};
  const uint32_t shape[] = {(uint32_t)d->heads, 1, (uint32_t)d->head_width};
  const struct pto_graph_options options = {pto_graph_model_name("block%u.%s", layer, what)};
  const struct pto_graph_operand past =
      pto_graph_builder_input(d->builder, pto_graph_model_name("past_%s%u", what, layer), &desc);
  const struct pto_graph_operand cache =
      pto_graph_builder_where(d->builder, d->is_now, reshape(d, row, 3, shape), past, &options);
  pto_graph_model_output(d->model, cache, "%s%u", what, layer);
  return cache;
}

static struct pto_graph_operand attend(struct decoder *d, uint32_t layer, struct pto_graph_operand x) {
  struct pto_graph_builder *b = d->builder;
  struct pto_graph_operand parts[3];
  const uint32_t row[] = {(uint32_t)d->heads, 1, (uint32_t)d->head_width}, flat[] = {1, (uint32_t)d->width};
  const struct pto_split_options thirds = {.splits = PTO_U32_LIST(3), .axis = pto_number_u64(1)};
  const struct pto_transpose_options turned = {NULL, PTO_U32_LIST(0, 2, 1)};
  const struct pto_softmax_options last = {pto_graph_model_name("block%u.softmax", layer), 2};
  const struct pto_graph_operand all =
      project(d, pto_graph_model_name("block%u.query_key_value", layer), x, d->width, 3 * d->width);
  if (pto_graph_builder_split(b, all, &thirds, parts, 3)) return parts[0];
  const struct pto_graph_operand query = reshape(d, parts[0], 3, row);
  const struct pto_graph_operand keys = extend(d, "key", layer, parts[1]), values = extend(d, "value", layer, parts[2]);
  struct pto_graph_operand scores =
      pto_graph_builder_matmul(b, query, pto_graph_builder_transpose(b, keys, &turned), NULL);
  scores = pto_graph_builder_mul(b, scores, pto_graph_model_scalar(d->model, 1 / sqrt((double)d->head_width)), NULL);
  scores = pto_graph_builder_where(b, d->is_past, scores, pto_graph_model_scalar(d->model, NEVER), NULL);
  const struct pto_graph_operand seen =
      pto_graph_builder_matmul(b, pto_graph_builder_softmax(b, scores, &last), values, NULL);
  return project(d, pto_graph_model_name("block%u.attention", layer), reshape(d, seen, 2, flat), d->width, d->width);
}

static struct pto_graph_operand block(struct decoder *d, uint32_t layer, struct pto_graph_operand x) {
  struct pto_graph_builder *b = d->builder;
  const struct pto_graph_options label = {pto_graph_model_name("block%u.gelu", layer)};
  x = pto_graph_builder_add(b, x, attend(d, layer, normalize(d, pto_graph_model_name("block%u.norm1", layer), x)),
                            NULL);
  struct pto_graph_operand h = normalize(d, pto_graph_model_name("block%u.norm2", layer), x);
  h = project(d, pto_graph_model_name("block%u.widen", layer), h, d->width, 4 * d->width);
  h = pto_graph_builder_gelu(b, h, &label);
  h = project(d, pto_graph_model_name("block%u.narrow", layer), h, 4 * d->width, d->width);
  return pto_graph_builder_add(b, x, h, NULL);
}

/* Which positions are there, from the one of this step. */
static void compare_positions(struct decoder *d, struct pto_graph_operand position) {
  const uint32_t column[] = {(uint32_t)d->window, 1};
  int32_t *numbers = malloc(d->window * sizeof *numbers);
  if (!numbers) {
    d->model->error = "out of memory";
    return;
  }
  for (uint64_t i = 0; i < d->window; i++) numbers[i] = (int32_t)i;
  const struct pto_graph_operand all =
      pto_graph_model_constant(d->model, "positions", PTO_INT32, 1, &d->window, numbers);
  free(numbers);
  d->is_past = pto_graph_builder_lesser_or_equal(d->builder, all, position, NULL);
  d->is_now = reshape(d, pto_graph_builder_equal(d->builder, all, position, NULL), 2, column);
}

void pto_graph_model_build_gpt2(struct pto_graph_model *model) {
  struct decoder d = {.model = model,
                      .builder = model->builder,
                      .width = pto_graph_model_option(model, "width"),
                      .heads = pto_graph_model_option(model, "heads"),
                      .window = pto_graph_model_option(model, "window")};
  const struct pto_graph_desc one = {PTO_INT32, 1, {1}};
  const uint64_t tokens[] = {pto_graph_model_option(model, "vocabulary"), d.width}, positions[] = {d.window, d.width};
  if (d.width % d.heads != 0) {
    model->error = "the width is no multiple of the heads";
    return;
  }
  d.head_width = d.width / d.heads;
  const struct pto_graph_operand token = pto_graph_builder_input(d.builder, "token", &one);
  const struct pto_graph_operand position = pto_graph_builder_input(d.builder, "position", &one);
  const struct pto_graph_operand embedding = pto_graph_model_weights(model, "tokens.weight", 2, tokens, 0.05);
  const struct pto_graph_operand places = pto_graph_model_weights(model, "positions.weight", 2, positions, 0.05);
  compare_positions(&d, position);
  struct pto_graph_operand x = pto_graph_builder_gather(d.builder, embedding, token, NULL);
  x = pto_graph_builder_add(d.builder, x, pto_graph_builder_gather(d.builder, places, position, NULL), NULL);
  for (uint32_t layer = 0; layer < pto_graph_model_option(model, "layers"); layer++) x = block(&d, layer, x);
  x = normalize(&d, "norm", x);
  const struct pto_gemm_options logits = {.label = "logits", .b_transpose = PTO_FLAG_YES};
  pto_graph_model_output(model, pto_graph_builder_gemm(d.builder, x, embedding, &logits), "logits");
}
