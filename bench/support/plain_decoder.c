/* SPDX-License-Identifier: MIT */
#include <bench/support/plain_decoder.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The peer of a bench is worth what the compiler can do for it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

static bool is_f32(const struct pto_language_model *model) {
  for (uint32_t i = 0; i < model->layer_count; i++) {
    const struct pto_model_layer *l = &model->layers[i];
    if (l->q.format | l->k.format | l->v.format | l->o.format | l->gate.format | l->up.format | l->down.format)
      return false;
  }
  return model->embedding.format == PTO_WEIGHT_F32 && model->classifier.format == PTO_WEIGHT_F32;
}

static float *floats(uint64_t count) { return calloc(count, sizeof(float)); }

bool pto_plain_decoder_init(struct pto_plain_decoder *d, const struct pto_language_model *model) {
  const uint64_t cache = (uint64_t)model->layer_count * model->sequence_length * pto_model_kv_dim(model);
  *d = (struct pto_plain_decoder){.model = model};
  if (!is_f32(model)) return false;
  d->x = floats(model->dim);
  d->normed = floats(model->dim);
  d->q = floats(model->dim);
  d->heads = floats(model->dim);
  d->gate = floats(model->hidden_dim);
  d->up = floats(model->hidden_dim);
  d->scores = floats(model->sequence_length);
  d->logits = floats(model->vocab_size);
  d->keys = floats(cache);
  d->values = floats(cache);
  if (d->x && d->normed && d->q && d->heads && d->gate && d->up && d->scores && d->logits && d->keys && d->values)
    return true;
  pto_plain_decoder_fini(d);
  return false;
}

void pto_plain_decoder_fini(struct pto_plain_decoder *d) {
  float *const all[] = {d->x, d->normed, d->q, d->heads, d->gate, d->up, d->scores, d->logits, d->keys, d->values};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
  memset(d, 0, sizeof *d);
}

/* ---- arithmetic ---- */

static void multiply(float *y, const struct pto_model_matrix *w, const float *x) {
  const float *row = w->data;
  for (uint64_t r = 0; r < w->rows; r++, row += w->columns) {
    float sum = 0;
    for (uint64_t c = 0; c < w->columns; c++) sum += row[c] * x[c];
    y[r] = sum;
  }
}

static void normalize(float *y, const float *x, const float *weight, uint32_t n, float epsilon) {
  float sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += x[i] * x[i];
  const float scale = 1.0f / sqrtf(sum / (float)n + epsilon);
  for (uint32_t i = 0; i < n; i++) y[i] = weight[i] * (scale * x[i]);
}

/* Neighbouring pairs turn by position / base^(2i / width). */
static void rotate(float *vector, uint32_t n, uint32_t width, uint32_t position, float base) {
  for (uint32_t i = 0; i < n; i += 2) {
    const float angle = (float)position / powf(base, (float)(i % width) / (float)width);
    const float c = cosf(angle), s = sinf(angle), a = vector[i], b = vector[i + 1];
    vector[i] = a * c - b * s;
    vector[i + 1] = a * s + b * c;
  }
}

static void softmax(float *x, uint32_t n) {
  float most = x[0], sum = 0;
  for (uint32_t i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
  for (uint32_t i = 0; i < n; i++) sum += x[i] = expf(x[i] - most);
  for (uint32_t i = 0; i < n; i++) x[i] /= sum;
}

static void add(float *x, const float *y, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) x[i] += y[i];
}

/* ---- a layer ---- */

static void attend(struct pto_plain_decoder *d, const float *keys, const float *values, uint32_t position) {
  const struct pto_language_model *m = d->model;
  const uint32_t width = pto_model_head_width(m), kv_dim = pto_model_kv_dim(m),
                 group = m->head_count / m->kv_head_count;
  for (uint32_t h = 0; h < m->head_count; h++) {
    const float *q = d->q + h * width;
    const uint32_t shared = h / group * width;
    float *out = d->heads + h * width;
    for (uint32_t t = 0; t <= position; t++) {
      float score = 0;
      for (uint32_t i = 0; i < width; i++) score += q[i] * keys[(uint64_t)t * kv_dim + shared + i];
      d->scores[t] = score / sqrtf((float)width);
    }
    softmax(d->scores, position + 1);
    memset(out, 0, width * sizeof *out);
    for (uint32_t t = 0; t <= position; t++)
      for (uint32_t i = 0; i < width; i++) out[i] += d->scores[t] * values[(uint64_t)t * kv_dim + shared + i];
  }
}

static void do_layer(struct pto_plain_decoder *d, uint32_t index, uint32_t position) {
  const struct pto_language_model *m = d->model;
  const struct pto_model_layer *l = &m->layers[index];
  const uint32_t width = pto_model_head_width(m), kv_dim = pto_model_kv_dim(m);
  float *keys = d->keys + (uint64_t)index * m->sequence_length * kv_dim;
  float *values = d->values + (uint64_t)index * m->sequence_length * kv_dim;
  float *key = keys + (uint64_t)position * kv_dim;
  normalize(d->normed, d->x, l->attention_norm, m->dim, m->norm_epsilon);
  multiply(d->q, &l->q, d->normed);
  multiply(key, &l->k, d->normed);
  multiply(values + (uint64_t)position * kv_dim, &l->v, d->normed);
  rotate(d->q, m->dim, width, position, m->rope_base);
  rotate(key, kv_dim, width, position, m->rope_base);
  attend(d, keys, values, position);
  multiply(d->normed, &l->o, d->heads);
  add(d->x, d->normed, m->dim);
  normalize(d->normed, d->x, l->ffn_norm, m->dim, m->norm_epsilon);
  multiply(d->gate, &l->gate, d->normed);
  multiply(d->up, &l->up, d->normed);
  for (uint32_t i = 0; i < m->hidden_dim; i++) d->gate[i] *= d->up[i] / (1.0f + expf(-d->gate[i]));
  multiply(d->normed, &l->down, d->gate);
  add(d->x, d->normed, m->dim);
}

const float *pto_plain_decoder_step(struct pto_plain_decoder *d, uint32_t token, uint32_t position) {
  const struct pto_language_model *m = d->model;
  memcpy(d->x, (const float *)m->embedding.data + (uint64_t)token * m->dim, m->dim * sizeof *d->x);
  for (uint32_t i = 0; i < m->layer_count; i++) do_layer(d, i, position);
  normalize(d->normed, d->x, m->final_norm, m->dim, m->norm_epsilon);
  multiply(d->logits, &m->classifier, d->normed);
  return d->logits;
}
