/* SPDX-License-Identifier: MIT */
#include <tests/support/random_model.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pto/tensor.h>
#include <runtime/base/base.h>

#define BLOCK_ELEMS 32u
#define BLOCK_BYTES 34u

/* ---- the model ---- */

static uint64_t count_weights(const struct pto_language_model *m, bool has_classifier) {
  const uint64_t dim = m->dim, kv_dim = pto_model_kv_dim(m), hidden = m->hidden_dim, vocab = m->vocab_size;
  return vocab * dim * (1 + has_classifier) + dim +
         m->layer_count * (2 * dim + 2 * dim * dim + 2 * kv_dim * dim + 3 * hidden * dim);
}

/* Takes numbers off the weights one after the other. */
static float *take(float **at, uint64_t count) {
  *at += count;
  return *at - count;
}

static struct pto_model_matrix take_matrix(float **at, struct pto_rng *rng, uint64_t rows, uint64_t columns) {
  float *data = take(at, rows * columns);
  const double most = 1.5 / sqrt((double)columns); /* so that what goes through keeps its size */
  for (uint64_t i = 0; i < rows * columns; i++) data[i] = (float)((2 * pto_rng_unit(rng) - 1) * most);
  return (struct pto_model_matrix){.data = data, .format = PTO_WEIGHT_F32, .rows = rows, .columns = columns};
}

static const float *take_norm(float **at, struct pto_rng *rng, uint32_t dim) {
  float *data = take(at, dim);
  for (uint32_t i = 0; i < dim; i++) data[i] = (float)(0.5 + pto_rng_unit(rng));
  return data;
}

void pto_random_model_init(struct pto_random_model *random, const struct pto_language_model *sizes, bool has_classifier,
                           uint64_t seed) {
  struct pto_rng rng = {seed};
  struct pto_language_model *m = &random->model;
  *random = (struct pto_random_model){.model = *sizes, .has_classifier = has_classifier};
  const uint32_t dim = m->dim, kv_dim = pto_model_kv_dim(m), hidden = m->hidden_dim;
  random->weight_count = count_weights(m, has_classifier);
  random->weights = calloc(random->weight_count, sizeof *random->weights);
  m->layers = calloc(m->layer_count, sizeof *m->layers);
  if (!random->weights || !m->layers) abort();
  float *at = random->weights;
  m->embedding = take_matrix(&at, &rng, m->vocab_size, dim);
  for (uint32_t i = 0; i < m->layer_count; i++) {
    struct pto_model_layer *l = &m->layers[i];
    l->attention_norm = take_norm(&at, &rng, dim);
    l->q = take_matrix(&at, &rng, dim, dim);
    l->k = take_matrix(&at, &rng, kv_dim, dim);
    l->v = take_matrix(&at, &rng, kv_dim, dim);
    l->o = take_matrix(&at, &rng, dim, dim);
    l->ffn_norm = take_norm(&at, &rng, dim);
    l->gate = take_matrix(&at, &rng, hidden, dim);
    l->down = take_matrix(&at, &rng, dim, hidden);
    l->up = take_matrix(&at, &rng, hidden, dim);
  }
  m->final_norm = take_norm(&at, &rng, dim);
  m->classifier = has_classifier ? take_matrix(&at, &rng, m->vocab_size, dim) : m->embedding;
  m->rope_style = PTO_ROPE_NEIGHBOURS;
}

void pto_random_model_fini(struct pto_random_model *random) {
  free(random->weights);
  free(random->model.layers);
  *random = (struct pto_random_model){0};
}

/* ---- weight formats ---- */

/* As ggml's quantize_row_q8_0_ref: the largest is 127 of a scale that is rounded to f16 afterwards. */
static void encode_block(const float *numbers, unsigned char *block) {
  float most = 0;
  for (uint32_t i = 0; i < BLOCK_ELEMS; i++) most = fmaxf(most, fabsf(numbers[i]));
  const float scale = most / 127.0f, inverse = scale > 0 ? 1.0f / scale : 0.0f;
  const uint16_t bits = pto_fp16_from_f32(scale);
  memcpy(block, &bits, sizeof bits);
  for (uint32_t i = 0; i < BLOCK_ELEMS; i++) block[2 + i] = (unsigned char)(int8_t)roundf(numbers[i] * inverse);
}

void *pto_random_model_encode(const float *numbers, uint64_t count, uint32_t format, uint64_t *size_bytes_out) {
  const uint64_t size = format == PTO_WEIGHT_F32    ? count * sizeof(float)
                        : format == PTO_WEIGHT_Q8_0 ? count / BLOCK_ELEMS * BLOCK_BYTES
                                                    : count * sizeof(uint16_t);
  unsigned char *bytes = malloc(size);
  if (!bytes || (format == PTO_WEIGHT_Q8_0 && count % BLOCK_ELEMS)) abort();
  if (format == PTO_WEIGHT_F32) memcpy(bytes, numbers, size);
  for (uint64_t i = 0; format == PTO_WEIGHT_Q8_0 && i < count / BLOCK_ELEMS; i++)
    encode_block(numbers + i * BLOCK_ELEMS, bytes + i * BLOCK_BYTES);
  for (uint64_t i = 0; (format == PTO_WEIGHT_F16 || format == PTO_WEIGHT_BF16) && i < count; i++) {
    const uint16_t bits = format == PTO_WEIGHT_F16 ? pto_fp16_from_f32(numbers[i]) : pto_bf16_from_f32(numbers[i]);
    memcpy(bytes + i * sizeof bits, &bits, sizeof bits);
  }
  *size_bytes_out = size;
  return bytes;
}

float pto_random_model_weight(const struct pto_model_matrix *matrix, uint64_t index) {
  const unsigned char *bytes = matrix->data;
  uint16_t bits;
  if (matrix->format == PTO_WEIGHT_F32) return ((const float *)matrix->data)[index];
  if (matrix->format == PTO_WEIGHT_Q8_0) {
    const unsigned char *block = bytes + index / BLOCK_ELEMS * BLOCK_BYTES;
    memcpy(&bits, block, sizeof bits);
    return pto_fp16_to_f32(bits) * (float)(int8_t)block[sizeof bits + index % BLOCK_ELEMS];
  }
  memcpy(&bits, bytes + index * sizeof bits, sizeof bits);
  return matrix->format == PTO_WEIGHT_F16 ? pto_fp16_to_f32(bits) : pto_bf16_to_f32(bits);
}
