/* SPDX-License-Identifier: MIT */
#include <graph/models/attention.h>

#include <math.h>
#include <stdlib.h>

/* Scores of positions that are not there yet: exp of it is 0. */
#define NEVER (-1e9)

struct pto_graph_operand pto_model_reshape(struct pto_graph_model *model, struct pto_graph_operand operand,
                                           uint32_t ndims, const uint32_t *shape) {
  const struct pto_new_shape_options options = {NULL, {shape, ndims}};
  return pto_graph_builder_reshape(model->builder, operand, &options);
}

void pto_model_attention_init(struct pto_model_attention *a, struct pto_graph_operand position) {
  const uint32_t column[] = {(uint32_t)a->window, 1};
  int32_t *numbers = malloc(a->window * sizeof *numbers);
  if (!numbers) {
    a->model->error = "out of memory";
    return;
  }
  for (uint64_t i = 0; i < a->window; i++) numbers[i] = (int32_t)i;
  const struct pto_graph_operand all =
      pto_graph_model_constant(a->model, "positions", PTO_INT32, 1, &a->window, numbers);
  free(numbers);
  a->is_past = pto_graph_builder_lesser_or_equal(a->model->builder, all, position, NULL);
  a->is_now = pto_graph_builder_equal(a->model->builder, all, position, NULL);
  a->is_now = pto_model_reshape(a->model, a->is_now, 2, column);
}

struct pto_graph_operand pto_model_cache(const struct pto_model_attention *a, const char *what, uint32_t layer,
                                         struct pto_graph_operand row) {
  const struct pto_graph_desc desc = {PTO_FLOAT32, 3, {a->kv_heads, a->window, a->head_width}};
  const uint32_t shape[] = {(uint32_t)a->kv_heads, 1, (uint32_t)a->head_width};
  const struct pto_graph_options options = {pto_graph_model_name("block%u.%s", layer, what)};
  const struct pto_graph_operand past =
      pto_graph_builder_input(a->model->builder, pto_graph_model_name("past_%s%u", what, layer), &desc);
  row = pto_model_reshape(a->model, row, 3, shape);
  const struct pto_graph_operand cache = pto_graph_builder_where(a->model->builder, a->is_now, row, past, &options);
  pto_graph_model_output(a->model, cache, "%s%u", what, layer);
  return cache;
}

struct pto_graph_operand pto_model_attend(const struct pto_model_attention *a, uint32_t layer,
                                          struct pto_graph_operand query, struct pto_graph_operand keys,
                                          struct pto_graph_operand values) {
  struct pto_graph_builder *b = a->model->builder;
  const uint32_t group = (uint32_t)(a->heads / a->kv_heads), width = (uint32_t)a->head_width;
  const uint32_t grouped[] = {(uint32_t)a->kv_heads, group, width}, flat[] = {1, (uint32_t)a->heads * width};
  const struct pto_transpose_options turned = {NULL, PTO_U32_LIST(0, 2, 1)};
  const struct pto_softmax_options last = {.label = pto_graph_model_name("block%u.softmax", layer), .axis = 2};
  query = pto_model_reshape(a->model, query, 3, grouped);
  keys = pto_graph_builder_transpose(b, keys, &turned);
  struct pto_graph_operand scores = pto_graph_builder_matmul(b, query, keys, NULL);
  scores = pto_graph_builder_mul(b, scores, pto_graph_model_scalar(a->model, 1 / sqrt((double)width)), NULL);
  scores = pto_graph_builder_where(b, a->is_past, scores, pto_graph_model_scalar(a->model, NEVER), NULL);
  scores = pto_graph_builder_softmax(b, scores, &last);
  return pto_model_reshape(a->model, pto_graph_builder_matmul(b, scores, values, NULL), 2, flat);
}
