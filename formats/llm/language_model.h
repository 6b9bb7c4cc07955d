/* SPDX-License-Identifier: MIT */
/*
 * Llama-style decoder models in files: sizes, and where each weight is.
 *
 * Owns the mapped file and the list of layers until fini; matrices point into the file, as it has them, and so do norms
 * that are f32 there.
 *
 * Always true after a successful read: every size is at least 1 and within PTO_MODEL_LIMITS; head_count is a multiple
 * of kv_head_count, dim of head_count, and the width of a head is even; every weight lies inside the file, and is of
 * the shape that the sizes say.  Files are untrusted: a refusal says what was found.
 *
 * Matrices are [rows, columns] row-major: y = W·x has `rows` elements.  q has dim rows, k and v kv_dim.  What a
 * rotation turns together are neighbours (rows 2i and 2i + 1 of a head of q and k) or halves (rows i and i + width /
 * 2): rope_style says which, since files of both kinds are used as they are.
 *
 * Threads: any, each with its own arguments.
 */
#ifndef PTO_LANGUAGE_MODEL_H
#define PTO_LANGUAGE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <pto/status.h>

/* No size above is believed: 2^20 for widths, 2^24 for the vocabulary and positions, 4096 layers. */
#define PTO_MODEL_MAX_WIDTH (1u << 20)
#define PTO_MODEL_MAX_COUNT (1u << 24)
#define PTO_MODEL_MAX_LAYERS 4096u

enum pto_weight_format {
  PTO_WEIGHT_F32 = 0,
  PTO_WEIGHT_F16,
  PTO_WEIGHT_Q8_0, /* blocks of 32 columns: an f16 scale, 32 int8; 34 bytes */
  PTO_WEIGHT_BF16
};

/* Which elements of a head's vector of q or k turn as a pair, for 0 ≤ i < width / 2, by position / rope_base^(2i /
 * width). */
enum pto_rope_style {
  PTO_ROPE_NEIGHBOURS = 0, /* 2i and 2i + 1: llama2.c, GGUF */
  PTO_ROPE_HALVES          /* i and i + width / 2: safetensors by their Hugging Face names */
};

struct pto_model_matrix {
  const void *data;
  uint32_t format; /* enum pto_weight_format */
  uint64_t rows, columns;
};

struct pto_model_layer {
  const float *attention_norm, *ffn_norm; /* dim */
  struct pto_model_matrix q, k, v, o;
  struct pto_model_matrix gate, up, down; /* SwiGLU: down · (silu(gate · x) · (up · x)) */
};

/* The file as read-only memory. */
struct pto_model_file {
  const unsigned char *data; /* page-aligned; NULL where the file is empty */
  uint64_t size_bytes;
};

struct pto_language_model {
  uint32_t dim, hidden_dim, layer_count, head_count, kv_head_count, vocab_size, sequence_length;
  float rope_base, norm_epsilon;
  uint32_t rope_style;               /* enum pto_rope_style */
  struct pto_model_matrix embedding; /* [vocab_size, dim] */
  struct pto_model_matrix classifier;
  const float *final_norm;
  struct pto_model_layer *layers;
  float *norms; /* memory of norms that the file does not have as f32; those above point into it */
  struct pto_model_file file;
};

/* Reads the file at `path`, of whatever format it is.  PTO_OK; PTO_ESYSTEM where it cannot be read, PTO_EINVAL where it
 * is no such file, cut or inconsistent, PTO_ENOMEM; path and reason go to `sentence` (sentence_size bytes, may be
 * NULL). Nothing is left behind then. */
PTO_MUST_CHECK int pto_language_model_read(struct pto_language_model *model, const char *path, char *sentence,
                                           size_t sentence_size);
/* A zeroed struct is allowed. */
void pto_language_model_fini(struct pto_language_model *model);

/* Bytes of a row, and element `index` of a matrix in row-major order: weights of every format are f32 exactly. */
uint64_t pto_model_row_bytes(const struct pto_model_matrix *matrix);
float pto_model_element(const struct pto_model_matrix *matrix, uint64_t index);

static inline uint32_t pto_model_head_width(const struct pto_language_model *model) {
  return model->dim / model->head_count;
}
static inline uint32_t pto_model_kv_dim(const struct pto_language_model *model) {
  return pto_model_head_width(model) * model->kv_head_count;
}

#endif
