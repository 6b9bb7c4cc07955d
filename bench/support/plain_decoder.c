/* SPDX-License-Identifier: MIT */
#include <bench/support/plain_decoder.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pto/tensor.h>

/* The peer of a bench is worth what the compiler can do for it. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define BLOCK_ELEMS 32u /* of q8_0: an f16 scale, and as many int8 */
#define BLOCK_BYTES 34u

static float *floats(uint64_t count) { return calloc(count, sizeof(float)); }

bool pto_plain_decoder_init(struct pto_plain_decoder *d, const struct pto_language_model *model) {
  const uint64_t cache = (uint64_t)model->layer_count * model->sequence_length * pto_model_kv_dim(model);
  *d = (struct pto_plain_decoder){.model = model};
  d->x = floats(model->dim);
  d->normed = floats(model->dim);
  d->q = floats(model->dim);
  d->heads = floats(model->dim);
  d->gate = floats(model->hidden_dim);
  d->up = floats(model->hidden_dim);
  d->scores = floats(model->sequence_length);
  d->logits = floats(model->vocab_size);
  d->row = floats(model->dim > model->hidden_dim ? model->dim : model->hidden_dim);
  d->keys = floats(cache);
  d->values = floats(cache);
  if (d->x && d->normed && d->q && d->heads && d->gate && d->up && d->scores && d->logits && d->row && d->keys &&
      d->values)
    return true;
  pto_plain_decoder_fini(d);
  return false;
}

void pto_plain_decoder_fini(struct pto_plain_decoder *d) {
  float *const all[] = {d->x,      d->normed, d->q,   d->heads, d->gate,  d->up,
                        d->scores, d->logits, d->row, d->keys,  d->values};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) free(all[i]);
  memset(d, 0, sizeof *d);
}

/* ---- arithmetic ---- */

/* Row `r` as f32: in the file, or converted into `room`. */
static const float *row_of(const struct pto_model_matrix *w, uint64_t r, float *room) {
  const uint64_t n = w->columns;
  if (w->format == PTO_WEIGHT_F32) return (const float *)w->data + r * n;
  if (w->format == PTO_WEIGHT_Q8_0) {
    const unsigned char *block = (const unsigned char *)w->data + r * (n / BLOCK_ELEMS) * BLOCK_BYTES;
    for (uint64_t c = 0; c < n; c += BLOCK_ELEMS, block += BLOCK_BYTES) {
      uint16_t bits;
      memcpy(&bits, block, sizeof bits);
      const float scale = pto_fp16_to_f32(bits);
      for (uint32_t i = 0; i < BLOCK_ELEMS; i++) room[c + i] = scale * (float)(int8_t)block[sizeof bits + i];
    }
    return room;
  }
  const uint16_t *halves = (const uint16_t *)w->data + r * n;
  for (uint64_t c = 0; c < n; c++)
    room[c] = w->format == PTO_WEIGHT_F16 ? pto_fp16_to_f32(halves[c]) : pto_bf16_to_f32(halves[c]);
  return room;
}

static void multiply(float *y, const struct pto_model_matrix *w, const float *x, float *room) {
  for (uint64_t r = 0; r < w->rows; r++) {
    const float *row = row_of(w, r, room);
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

/* Pairs turn by position / base^(2i / width). */
static void rotate(float *vector, uint32_t n, const struct pto_language_model *m, uint32_t position) {
  const uint32_t width = pto_model_head_width(m);
  const bool is_halves = m->rope_style == PTO_ROPE_HALVES;
  for (uint32_t head = 0; head < n; head += width)
    for (uint32_t i = 0; i < width / 2; i++) {
      const float angle = (float)position / powf(m->rope_base, (float)(2 * i) / (float)width);
      const float c = cosf(angle), s = sinf(angle);
      float *first = vector + head + (is_halves ? i : 2 * i), *second = first + (is_halves ? width / 2 : 1);
      const float a = *first, b = *second;
      *first = a * c - b * s;
      *second = a * s + b * c;
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
  const uint32_t kv_dim = pto_model_kv_dim(m);
  float *keys = d->keys + (uint64_t)index * m->sequence_length * kv_dim;
  float *values = d->values + (uint64_t)index * m->sequence_length * kv_dim;
  float *key = keys + (uint64_t)position * kv_dim;
  normalize(d->normed, d->x, l->attention_norm, m->dim, m->norm_epsilon);
  multiply(d->q, &l->q, d->normed, d->row);
  multiply(key, &l->k, d->normed, d->row);
  multiply(values + (uint64_t)position * kv_dim, &l->v, d->normed, d->row);
  rotate(d->q, m->dim, m, position);
  rotate(key, kv_dim, m, position);
  attend(d, keys, values, position);
  multiply(d->normed, &l->o, d->heads, d->row);
  add(d->x, d->normed, m->dim);
  normalize(d->normed, d->x, l->ffn_norm, m->dim, m->norm_epsilon);
  multiply(d->gate, &l->gate, d->normed, d->row);
  multiply(d->up, &l->up, d->normed, d->row);
  for (uint32_t i = 0; i < m->hidden_dim; i++) d->gate[i] *= d->up[i] / (1.0f + expf(-d->gate[i]));
  multiply(d->normed, &l->down, d->gate, d->row);
  add(d->x, d->normed, m->dim);
}

const float *pto_plain_decoder_step(struct pto_plain_decoder *d, uint32_t token, uint32_t position) {
  const struct pto_language_model *m = d->model;
  memcpy(d->x, row_of(&m->embedding, token, d->row), m->dim * sizeof *d->x);
  for (uint32_t i = 0; i < m->layer_count; i++) do_layer(d, i, position);
  normalize(d->normed, d->x, m->final_norm, m->dim, m->norm_epsilon);
  multiply(d->logits, &m->classifier, d->normed, d->row);
  return d->logits;
}
