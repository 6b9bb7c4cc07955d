/* SPDX-License-Identifier: MIT */
/*
 * A small Llama-style model of random weights in memory, and files of it in every format that is read.
 *
 * Owns the weights until fini: f32, neighbours as pairs, in the order of llama2.c.  The same seed and sizes give the
 * same weights.  Aborts where there is no memory or a file cannot be written.  One thread.
 *
 * To add a format: a line in the list, and its writer in random_model_files.c.
 */
#ifndef PTO_TESTS_RANDOM_MODEL_H
#define PTO_TESTS_RANDOM_MODEL_H

#include <formats/llm/language_model.h>
#include <stdbool.h>

/* X(enum constant, file name, enum pto_weight_format of its matrices) */
#define PTO_MODEL_FILE_LIST(X)                                                                                         \
  X(PTO_MODEL_FILE_LLAMA2C, "model.bin", PTO_WEIGHT_F32)                                                               \
  X(PTO_MODEL_FILE_SAFETENSORS_F32, "f32.safetensors", PTO_WEIGHT_F32)                                                 \
  X(PTO_MODEL_FILE_SAFETENSORS_F16, "f16.safetensors", PTO_WEIGHT_F16)                                                 \
  X(PTO_MODEL_FILE_SAFETENSORS_BF16, "bf16.safetensors", PTO_WEIGHT_BF16)                                              \
  X(PTO_MODEL_FILE_GGUF_F32, "f32.gguf", PTO_WEIGHT_F32)                                                               \
  X(PTO_MODEL_FILE_GGUF_F16, "f16.gguf", PTO_WEIGHT_F16)                                                               \
  X(PTO_MODEL_FILE_GGUF_BF16, "bf16.gguf", PTO_WEIGHT_BF16)                                                            \
  X(PTO_MODEL_FILE_GGUF_Q8_0, "q8_0.gguf", PTO_WEIGHT_Q8_0)

enum pto_model_file_kind {
#define X(constant, name, format) constant,
  PTO_MODEL_FILE_LIST(X)
#undef X
      PTO_MODEL_FILE_KIND_COUNT
};

struct pto_random_model {
  struct pto_language_model model; /* no file of its own; pto_random_model_fini frees it */
  bool has_classifier;             /* of its own; else the embedding serves */
  float *weights;
  uint64_t weight_count;
};

/* `sizes` has all sizes, rope_base and norm_epsilon; for files of q8_0 dim and hidden_dim are multiples of 32. */
void pto_random_model_init(struct pto_random_model *random, const struct pto_language_model *sizes, bool has_classifier,
                           uint64_t seed);
void pto_random_model_fini(struct pto_random_model *random);

/* The bytes of a weight format that hold `count` numbers, in memory to be freed; q8_0 as ggml rounds. */
void *pto_random_model_encode(const float *numbers, uint64_t count, uint32_t format, uint64_t *size_bytes_out);
/* Number `index` of a matrix, as f32. */
float pto_random_model_weight(const struct pto_model_matrix *matrix, uint64_t index);

const char *pto_model_file_name(enum pto_model_file_kind kind);
uint32_t pto_model_file_format(enum pto_model_file_kind kind);
/* Writes the model into `folder`, under the name of its kind; safetensors with a config.json beside it.  A tokenizer of
 * `vocab_size` tokens goes into GGUF files where has_tokenizer says so: <unk>, <s>, </s>, the 256 bytes, then the space
 * and letters from a on. */
void pto_random_model_write(const struct pto_random_model *random, const char *folder, enum pto_model_file_kind kind,
                            bool has_tokenizer);

#endif
