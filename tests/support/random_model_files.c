/* SPDX-License-Identifier: MIT */
#include <tests/support/random_model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <formats/llm/llama_weights.h>
#include <formats/safetensors.h>
#include <pto/tensor.h>
#include <tests/support/gguf_bytes.h>

static const struct {
  const char *name;
  uint32_t format;
} kinds[PTO_MODEL_FILE_KIND_COUNT] = {
#define X(constant, name, format) [constant] = {name, format},
    PTO_MODEL_FILE_LIST(X)
#undef X
};

const char *pto_model_file_name(enum pto_model_file_kind kind) { return kinds[kind].name; }
uint32_t pto_model_file_format(enum pto_model_file_kind kind) { return kinds[kind].format; }

static void write_file(const char *path, const void *bytes, uint64_t size) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
    perror(path);
    abort();
  }
}

/* ---- llama2.c ---- */

static void put_layers(struct pto_gguf_bytes *bytes, const struct pto_language_model *m, size_t offset) {
  for (uint32_t i = 0; i < m->layer_count; i++) {
    const void *field = (const char *)&m->layers[i] + offset;
    const struct pto_model_matrix *matrix = field;
    pto_gguf_put(bytes, matrix->data, matrix->rows * matrix->columns * sizeof(float));
  }
}

static void put_norms(struct pto_gguf_bytes *bytes, const struct pto_language_model *m, size_t offset) {
  for (uint32_t i = 0; i < m->layer_count; i++) {
    const void *field = (const char *)&m->layers[i] + offset;
    pto_gguf_put(bytes, *(const float *const *)field, m->dim * sizeof(float));
  }
}

static void write_llama2c(const struct pto_random_model *random, const char *path) {
  const struct pto_language_model *m = &random->model;
  const int32_t vocab = (int32_t)m->vocab_size;
  const int32_t header[] = {(int32_t)m->dim,
                            (int32_t)m->hidden_dim,
                            (int32_t)m->layer_count,
                            (int32_t)m->head_count,
                            (int32_t)m->kv_head_count,
                            random->has_classifier ? -vocab : vocab,
                            (int32_t)m->sequence_length};
  struct pto_gguf_bytes bytes = {0};
  pto_gguf_put(&bytes, header, sizeof header);
  pto_gguf_put(&bytes, m->embedding.data, (uint64_t)m->vocab_size * m->dim * sizeof(float));
  put_norms(&bytes, m, offsetof(struct pto_model_layer, attention_norm));
  put_layers(&bytes, m, offsetof(struct pto_model_layer, q));
  put_layers(&bytes, m, offsetof(struct pto_model_layer, k));
  put_layers(&bytes, m, offsetof(struct pto_model_layer, v));
  put_layers(&bytes, m, offsetof(struct pto_model_layer, o));
  put_norms(&bytes, m, offsetof(struct pto_model_layer, ffn_norm));
  put_layers(&bytes, m, offsetof(struct pto_model_layer, gate));
  put_layers(&bytes, m, offsetof(struct pto_model_layer, down));
  put_layers(&bytes, m, offsetof(struct pto_model_layer, up));
  pto_gguf_put(&bytes, m->final_norm, m->dim * sizeof(float));
  for (uint32_t i = 0; i < m->sequence_length * pto_model_head_width(m); i++) pto_gguf_put_u32(&bytes, 0);
  if (random->has_classifier)
    pto_gguf_put(&bytes, m->classifier.data, (uint64_t)m->vocab_size * m->dim * sizeof(float));
  write_file(path, bytes.data, bytes.size);
  pto_gguf_bytes_fini(&bytes);
}

/* ---- files of named tensors ---- */

struct named {
  char name[PTO_LLAMA_MAX_NAME_BYTES];
  const float *numbers;
  uint32_t ndims;
  uint64_t shape[2];
  uint32_t turned_heads; /* whose rows are to be put from neighbours into halves; 0: none */
};

struct names {
  struct named *list;
  uint64_t count;
};

static struct named *add(struct names *names, const char *name, const float *numbers, uint64_t rows, uint64_t columns) {
  struct named *added = &names->list[names->count++];
  *added = (struct named){.numbers = numbers, .ndims = columns ? 2 : 1, .shape = {rows, columns}};
  strcpy(added->name, name);
  return added;
}

static void add_matrix(struct names *names, const char *name, const struct pto_model_matrix *matrix) {
  add(names, name, matrix->data, matrix->rows, matrix->columns);
}

static void add_layer(struct names *names, const struct pto_language_model *m, uint32_t i,
                      enum pto_llama_naming naming) {
  const struct pto_model_layer *l = &m->layers[i];
  char name[PTO_LLAMA_MAX_NAME_BYTES];
#define X(field, hugging_face, gguf)                                                                                   \
  add(names, pto_llama_layer_name(name, naming, i, naming == PTO_LLAMA_GGUF ? gguf : hugging_face), l->field, m->dim,  \
      0);
  PTO_LLAMA_NORM_LIST(X)
#undef X
#define X(field, rows, columns, hugging_face, gguf)                                                                    \
  add_matrix(names, pto_llama_layer_name(name, naming, i, naming == PTO_LLAMA_GGUF ? gguf : hugging_face), &l->field);
  PTO_LLAMA_MATRIX_LIST(X)
#undef X
  for (uint64_t n = 0; naming == PTO_LLAMA_HUGGING_FACE && n < names->count; n++) {
    if (names->list[n].numbers == l->q.data) names->list[n].turned_heads = m->head_count;
    if (names->list[n].numbers == l->k.data) names->list[n].turned_heads = m->kv_head_count;
  }
}

static struct names name_all(const struct pto_random_model *random, enum pto_llama_naming naming) {
  const struct pto_language_model *m = &random->model;
  struct names names = {.list = calloc((size_t)m->layer_count * 9 + 3, sizeof *names.list)};
  if (!names.list) abort();
  const bool is_gguf = naming == PTO_LLAMA_GGUF;
  add_matrix(&names, is_gguf ? "token_embd.weight" : "model.embed_tokens.weight", &m->embedding);
  if (random->has_classifier) add_matrix(&names, is_gguf ? "output.weight" : "lm_head.weight", &m->classifier);
  add(&names, is_gguf ? "output_norm.weight" : "model.norm.weight", m->final_norm, m->dim, 0);
  for (uint32_t i = 0; i < m->layer_count; i++) add_layer(&names, m, i, naming);
  return names;
}

/* Rows 2i and 2i + 1 of each head become rows i and i + width / 2. */
static float *put_into_halves(const struct named *named) {
  const uint64_t columns = named->shape[1], width = named->shape[0] / named->turned_heads;
  float *turned = malloc(named->shape[0] * columns * sizeof *turned);
  if (!turned) abort();
  for (uint64_t r = 0; r < named->shape[0]; r++) {
    const uint64_t in_head = r % width, to = r - in_head + in_head / 2 + in_head % 2 * (width / 2);
    memcpy(turned + to * columns, named->numbers + r * columns, columns * sizeof *turned);
  }
  return turned;
}

static void *encode(const struct named *named, uint32_t format, uint64_t *size) {
  const uint64_t count = named->shape[0] * (named->ndims == 2 ? named->shape[1] : 1);
  if (!named->turned_heads) return pto_random_model_encode(named->numbers, count, format, size);
  float *turned = put_into_halves(named);
  void *bytes = pto_random_model_encode(turned, count, format, size);
  free(turned);
  return bytes;
}

/* ---- safetensors ---- */

static void write_config(const struct pto_random_model *random, const char *folder) {
  const struct pto_language_model *m = &random->model;
  char path[512], text[1024];
  snprintf(path, sizeof path, "%s/config.json", folder);
  const int length = snprintf(
      text, sizeof text,
      "{\"model_type\": \"llama\", \"hidden_act\": \"silu\", \"hidden_size\": %u, \"intermediate_size\": %u,\n"
      " \"num_hidden_layers\": %u, \"num_attention_heads\": %u, \"num_key_value_heads\": %u, \"vocab_size\": %u,\n"
      " \"max_position_embeddings\": %u, \"rms_norm_eps\": %.9g, \"rope_theta\": %.9g, \"rope_scaling\": null,\n"
      " \"tie_word_embeddings\": %s}\n",
      m->dim, m->hidden_dim, m->layer_count, m->head_count, m->kv_head_count, m->vocab_size, m->sequence_length,
      (double)m->norm_epsilon, (double)m->rope_base, random->has_classifier ? "false" : "true");
  write_file(path, text, (uint64_t)length);
}

static void write_safetensors(const struct pto_random_model *random, const char *folder, const char *path,
                              uint32_t format) {
  struct names names = name_all(random, PTO_LLAMA_HUGGING_FACE);
  struct pto_safetensors_tensor *tensors = calloc(names.count, sizeof *tensors);
  struct pto_error error;
  if (!tensors) abort();
  for (uint64_t i = 0; i < names.count; i++) {
    const struct named *named = &names.list[i];
    uint64_t size;
    tensors[i] = (struct pto_safetensors_tensor){.name = named->name,
                                                 .dtype = format == PTO_WEIGHT_F32   ? PTO_FLOAT32
                                                          : format == PTO_WEIGHT_F16 ? PTO_FLOAT16
                                                                                     : PTO_BFLOAT16,
                                                 .ndims = named->ndims,
                                                 .shape = {named->shape[0], named->shape[1]},
                                                 .data = encode(named, format, &size)};
  }
  if (pto_safetensors_write(path, tensors, names.count, &error)) {
    fprintf(stderr, "%s\n", error.sentence);
    abort();
  }
  for (uint64_t i = 0; i < names.count; i++) free((void *)(uintptr_t)tensors[i].data);
  free(tensors);
  free(names.list);
  write_config(random, folder);
}

/* ---- GGUF ---- */

static void put_tokenizer(struct pto_gguf_bytes *bytes, uint32_t vocab_size) {
  enum { FIRST_LETTER = 3 + 256 };
  static const char *const marks[] = {"<unk>", "<s>", "</s>"};
  pto_gguf_put_key_string(bytes, "tokenizer.ggml.model", "llama");
  pto_gguf_put_key_u32(bytes, "tokenizer.ggml.bos_token_id", 1);
  pto_gguf_put_key_u32(bytes, "tokenizer.ggml.eos_token_id", 2);
  pto_gguf_put_key_array(bytes, "tokenizer.ggml.tokens", PTO_GGUF_VALUE_STRING, vocab_size);
  for (uint32_t i = 0; i < vocab_size; i++) {
    char piece[16] = "\xe2\x96\x81"; /* a space, as SentencePiece writes it */
    if (i < FIRST_LETTER)
      snprintf(piece, sizeof piece, "<0x%02X>", i - 3);
    else if (i > FIRST_LETTER)
      snprintf(piece, sizeof piece, "%c", (int)('a' + (i - FIRST_LETTER - 1) % 26));
    pto_gguf_put_string(bytes, i < 3 ? marks[i] : piece);
  }
  pto_gguf_put_key_array(bytes, "tokenizer.ggml.scores", PTO_GGUF_VALUE_F32, vocab_size);
  for (uint32_t i = 0; i < vocab_size; i++) pto_gguf_put(bytes, &(float){-(float)i}, sizeof(float));
  pto_gguf_put_key_array(bytes, "tokenizer.ggml.token_type", PTO_GGUF_VALUE_I32, vocab_size);
  for (uint32_t i = 0; i < vocab_size; i++) pto_gguf_put_u32(bytes, i == 0 ? 2 : i < 3 ? 3 : i < FIRST_LETTER ? 6 : 1);
}

static void put_keys(struct pto_gguf_bytes *bytes, const struct pto_language_model *m) {
  pto_gguf_put_key_string(bytes, "general.architecture", "llama");
  pto_gguf_put_key_u32(bytes, "llama.embedding_length", m->dim);
  pto_gguf_put_key_u32(bytes, "llama.feed_forward_length", m->hidden_dim);
  pto_gguf_put_key_u32(bytes, "llama.block_count", m->layer_count);
  pto_gguf_put_key_u32(bytes, "llama.attention.head_count", m->head_count);
  pto_gguf_put_key_u32(bytes, "llama.attention.head_count_kv", m->kv_head_count);
  pto_gguf_put_key_u32(bytes, "llama.context_length", m->sequence_length);
  pto_gguf_put_key_u32(bytes, "llama.rope.dimension_count", pto_model_head_width(m));
  pto_gguf_put_key_f32(bytes, "llama.rope.freq_base", m->rope_base);
  pto_gguf_put_key_f32(bytes, "llama.attention.layer_norm_rms_epsilon", m->norm_epsilon);
}
enum { MODEL_KEYS = 10, TOKENIZER_KEYS = 6, ALIGNMENT = 32 };

static void write_gguf(const struct pto_random_model *random, const char *path, uint32_t format, bool has_tokenizer) {
  static const uint32_t types[] = {[PTO_WEIGHT_F32] = PTO_GGUF_F32,
                                   [PTO_WEIGHT_F16] = PTO_GGUF_F16,
                                   [PTO_WEIGHT_BF16] = PTO_GGUF_BF16,
                                   [PTO_WEIGHT_Q8_0] = PTO_GGUF_Q8_0};
  struct names names = name_all(random, PTO_LLAMA_GGUF);
  struct pto_gguf_bytes head = {0}, data = {0};
  pto_gguf_put_head(&head, 3, names.count, MODEL_KEYS + (has_tokenizer ? TOKENIZER_KEYS : 0));
  put_keys(&head, &random->model);
  if (has_tokenizer) put_tokenizer(&head, random->model.vocab_size);
  for (uint64_t i = 0; i < names.count; i++) {
    const struct named *named = &names.list[i];
    const uint32_t as = named->ndims == 1 ? PTO_WEIGHT_F32 : format; /* norms are f32 in such files */
    uint64_t size;
    void *bytes = encode(named, as, &size);
    pto_gguf_put_tensor(&head, named->name, named->ndims, named->shape, types[as], data.size);
    pto_gguf_put(&data, bytes, size);
    pto_gguf_put_padding(&data, ALIGNMENT);
    free(bytes);
  }
  pto_gguf_put_padding(&head, ALIGNMENT);
  pto_gguf_put(&head, data.data, data.size);
  write_file(path, head.data, head.size);
  pto_gguf_bytes_fini(&head);
  pto_gguf_bytes_fini(&data);
  free(names.list);
}

void pto_random_model_write(const struct pto_random_model *random, const char *folder, enum pto_model_file_kind kind,
                            bool has_tokenizer) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, kinds[kind].name);
  if (kind == PTO_MODEL_FILE_LLAMA2C)
    write_llama2c(random, path);
  else if (strstr(path, ".gguf"))
    write_gguf(random, path, kinds[kind].format, has_tokenizer);
  else
    write_safetensors(random, folder, path, kinds[kind].format);
}
