/* SPDX-License-Identifier: MIT */
#include <graph/models/decoder_parts.h>

#include <math.h>
#include <stdlib.h>

/* Scores of positions that are not there yet: exp of it is 0. */
#define NEVER (-1e9)

struct pto_graph_operand pto_model_reshape(struct pto_graph_model *model, struct pto_graph_operand operand,
                                           uint32_t ndims, const uint32_t *shape) {
  const struct pto_new_shape_options options = {NULL, {shape, ndims}};
  return pto_graph_builder_reshape(model->builder, operand, &options);
}

/* ---- RMS norm ---- */

struct pto_graph_operand pto_model_rms_norm(struct pto_graph_model *model, const char *name, struct pto_graph_operand x,
                                            struct pto_graph_operand weight, double epsilon) {
  struct pto_graph_builder *b = model->builder;
  const struct pto_reduce_options rows = {.axes = PTO_U32_LIST(1), .keep_dimensions = PTO_FLAG_YES};
  const struct pto_graph_options label = {name};
  struct pto_graph_operand mean = pto_graph_builder_reduce_mean(b, pto_graph_builder_mul(b, x, x, NULL), &rows);
  mean = pto_graph_builder_add(b, mean, pto_graph_model_scalar(model, epsilon), NULL);
  x = pto_graph_builder_div(b, x, pto_graph_builder_sqrt(b, mean, NULL), NULL);
  return pto_graph_builder_mul(b, x, weight, &label);
}

/* ---- rotary positions ---- */

/* Row `position` of a table of sines or cosines, shaped for the parts that turn. */
static struct pto_graph_operand angles(const struct pto_model_rotation *r, struct pto_graph_model *model,
                                       const char *name, struct pto_graph_operand position, uint64_t window,
                                       double base, double (*function)(double)) {
  const uint64_t half = r->head_width / 2, shape[] = {window, half};
  const uint32_t halves[] = {1, 1, (uint32_t)half}, neighbours[] = {1, (uint32_t)half, 1};
  float *table = malloc(window * half * sizeof *table);
  if (!table) {
    pto_graph_model_refuse(model, PTO_ENOMEM, "out of memory");
    return (struct pto_graph_operand){0, 0};
  }
  for (uint64_t p = 0; p < window; p++)
    for (uint64_t i = 0; i < half; i++)
      table[p * half + i] = (float)function((double)p / pow(base, 2 * (double)i / (double)r->head_width));
  struct pto_graph_operand row = pto_graph_model_constant(model, name, PTO_FLOAT32, 2, shape, table);
  free(table);
  row = pto_graph_builder_gather(model->builder, row, position, NULL);
  return pto_model_reshape(model, row, 3, r->is_halves ? halves : neighbours);
}

void pto_model_rotation_init(struct pto_model_rotation *r, struct pto_graph_model *model,
                             struct pto_graph_operand position, uint64_t window, double base) {
  r->cosines = angles(r, model, "rope.cosines", position, window, base, cos);
  r->sines = angles(r, model, "rope.sines", position, window, base, sin);
}

struct pto_graph_operand pto_model_rotate(const struct pto_model_rotation *r, struct pto_graph_model *model,
                                          struct pto_graph_operand x, uint64_t heads) {
  struct pto_graph_builder *b = model->builder;
  const uint32_t half = (uint32_t)r->head_width / 2, axis = r->is_halves ? 1 : 2;
  const uint32_t halves[] = {(uint32_t)heads, 2, half}, neighbours[] = {(uint32_t)heads, half, 2};
  const uint32_t flat[] = {1, (uint32_t)heads * 2 * half};
  const struct pto_split_options parted = {.splits = PTO_U32_LIST(2), .axis = pto_number_u64(axis)};
  const struct pto_concat_options joined = {NULL, axis};
  struct pto_graph_operand p[2] = {{0, 0}}, turned[2];
  x = pto_model_reshape(model, x, 3, r->is_halves ? halves : neighbours);
  if (pto_graph_builder_split(b, x, &parted, p, 2)) return p[0];
  const struct pto_graph_operand first_cosine = pto_graph_builder_mul(b, p[0], r->cosines, NULL);
  const struct pto_graph_operand second_sine = pto_graph_builder_mul(b, p[1], r->sines, NULL);
  turned[0] = pto_graph_builder_sub(b, first_cosine, second_sine, NULL);
  const struct pto_graph_operand first_sine = pto_graph_builder_mul(b, p[0], r->sines, NULL);
  const struct pto_graph_operand second_cosine = pto_graph_builder_mul(b, p[1], r->cosines, NULL);
  turned[1] = pto_graph_builder_add(b, first_sine, second_cosine, NULL);
  return pto_model_reshape(model, pto_graph_builder_concat(b, turned, 2, &joined), 2, flat);
}

/* ---- attention ---- */

void pto_model_attention_init(struct pto_model_attention *a, struct pto_graph_operand position) {
  const uint32_t column[] = {(uint32_t)a->window, 1};
  int32_t *numbers = malloc(a->window * sizeof *numbers);
  if (!numbers) {
    pto_graph_model_refuse(a->model, PTO_ENOMEM, "out of memory");
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
  const struct pto_graph_options options = {pto_graph_model_name(a->model, "block%u.%s", layer, what)};
  const struct pto_graph_operand past =
      pto_graph_builder_input(a->model->builder, pto_graph_model_name(a->model, "past_%s%u", what, layer), &desc);
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
  const struct pto_softmax_options last = {.label = pto_graph_model_name(a->model, "block%u.softmax", layer),
                                           .axis = 2};
  query = pto_model_reshape(a->model, query, 3, grouped);
  keys = pto_graph_builder_transpose(b, keys, &turned);
  struct pto_graph_operand scores = pto_graph_builder_matmul(b, query, keys, NULL);
  scores = pto_graph_builder_mul(b, scores, pto_graph_model_scalar(a->model, 1 / sqrt((double)width)), NULL);
  scores = pto_graph_builder_where(b, a->is_past, scores, pto_graph_model_scalar(a->model, NEVER), NULL);
  scores = pto_graph_builder_softmax(b, scores, &last);
  return pto_model_reshape(a->model, pto_graph_builder_matmul(b, scores, values, NULL), 2, flat);
}
