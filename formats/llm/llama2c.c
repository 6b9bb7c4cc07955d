/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints of llama2.c, version 0: dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size, seq_len as int32,
 * then f32 weights, each kind for all layers in a row.  A negative vocab_size says that a classifier of its own
 * follows; else the embedding serves.  Before it stand tables of rotations, which newer readers do not use, and neither
 * do we.
 */
#include <formats/llm/model_reader.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

#define HEADER_INTS 7u
#define ROPE_BASE 10000.0f
#define NORM_EPSILON 1e-5f

/* Takes weights off the file one after the other. */
struct cursor {
  const unsigned char *at;
  uint64_t left_floats;
  uint64_t missing_floats; /* that were wanted beyond the end */
};

static const float *take(struct cursor *cursor, uint64_t floats) {
  const float *taken = (const float *)(const void *)cursor->at;
  if (cursor->missing_floats || floats > cursor->left_floats) {
    cursor->missing_floats += cursor->missing_floats ? floats : floats - cursor->left_floats;
    return NULL;
  }
  cursor->at += floats * sizeof(float);
  cursor->left_floats -= floats;
  return taken;
}

static struct pto_model_matrix matrix(const float *data, uint64_t rows, uint64_t columns) {
  return (struct pto_model_matrix){.data = data, .format = PTO_WEIGHT_F32, .rows = rows, .columns = columns};
}

/* One kind of matrix of all layers; `offset` is its place in a layer. */
static void take_matrices(struct pto_language_model *model, struct cursor *cursor, size_t offset, uint64_t rows,
                          uint64_t columns) {
  for (uint32_t i = 0; i < model->layer_count; i++)
    *(struct pto_model_matrix *)(void *)((char *)&model->layers[i] + offset) =
        matrix(take(cursor, rows * columns), rows, columns);
}

static void take_norms(struct pto_language_model *model, struct cursor *cursor, size_t offset) {
  for (uint32_t i = 0; i < model->layer_count; i++)
    *(const float **)(void *)((char *)&model->layers[i] + offset) = take(cursor, model->dim);
}

static void take_weights(struct pto_language_model *model, struct cursor *cursor, bool has_classifier) {
#define IN_LAYER(field) offsetof(struct pto_model_layer, field)
  const uint64_t dim = model->dim, kv_dim = pto_model_kv_dim(model), hidden = model->hidden_dim;
  model->embedding = matrix(take(cursor, model->vocab_size * dim), model->vocab_size, dim);
  take_norms(model, cursor, IN_LAYER(attention_norm));
  take_matrices(model, cursor, IN_LAYER(q), dim, dim);
  take_matrices(model, cursor, IN_LAYER(k), kv_dim, dim);
  take_matrices(model, cursor, IN_LAYER(v), kv_dim, dim);
  take_matrices(model, cursor, IN_LAYER(o), dim, dim);
  take_norms(model, cursor, IN_LAYER(ffn_norm));
  take_matrices(model, cursor, IN_LAYER(gate), hidden, dim);
  take_matrices(model, cursor, IN_LAYER(down), dim, hidden);
  take_matrices(model, cursor, IN_LAYER(up), hidden, dim);
  model->final_norm = take(cursor, dim);
  (void)take(cursor, (uint64_t)model->sequence_length * pto_model_head_width(model)); /* cosines and sines */
  model->classifier =
      has_classifier ? matrix(take(cursor, model->vocab_size * dim), model->vocab_size, dim) : model->embedding;
#undef IN_LAYER
}

int pto_llama2c_read(struct pto_language_model *model, const char *path, struct pto_error *error) {
  int32_t header[HEADER_INTS];
  if (model->file.size_bytes < sizeof header)
    return pto_error_set(error, PTO_EINVAL, "%llu bytes are no checkpoint: its header alone has %zu",
                         (unsigned long long)model->file.size_bytes, sizeof header);
  memcpy(header, model->file.data, sizeof header);
  const bool has_classifier = header[5] < 0;
  uint32_t *const sizes[HEADER_INTS] = {
      &model->dim,           &model->hidden_dim, &model->layer_count,    &model->head_count,
      &model->kv_head_count, &model->vocab_size, &model->sequence_length};
  for (uint32_t i = 0; i < HEADER_INTS; i++)
    *sizes[i] = i == 5 && has_classifier ? 0u - (uint32_t)header[i] : (uint32_t)header[i];
  model->rope_base = ROPE_BASE;
  model->norm_epsilon = NORM_EPSILON;
  int status = pto_model_check_sizes(model, error);
  if (status) return status;
  model->layers = calloc(model->layer_count, sizeof *model->layers);
  if (!model->layers) return pto_error_set(error, PTO_ENOMEM, "no memory for %u layers", model->layer_count);
  struct cursor cursor = {.at = model->file.data + sizeof header,
                          .left_floats = (model->file.size_bytes - sizeof header) / sizeof(float)};
  take_weights(model, &cursor, has_classifier);
  if (cursor.missing_floats)
    return pto_error_set(error, PTO_EINVAL, "the file is cut: its sizes ask for %llu bytes more",
                         (unsigned long long)(cursor.missing_floats * sizeof(float)));
  const uint64_t end = (uint64_t)(cursor.at - model->file.data);
  if (end != model->file.size_bytes)
    return pto_error_set(error, PTO_EINVAL, "%llu bytes follow the last weight: its sizes are not those of its weights",
                         (unsigned long long)(model->file.size_bytes - end));
  return PTO_OK;
}
