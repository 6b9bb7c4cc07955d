/* SPDX-License-Identifier: MIT */
#include <orchestration/llm/random_model.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <formats/llm/llama_weights.h>
#include <orchestration/llm/kernels.h>

/* A row of `count` numbers in the matrix's format; q8_0 scales so that the largest is 127. */
static void llm_store_row(unsigned char *to, uint32_t format, const float *from, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    uint16_t half = format == PTO_WEIGHT_BF16 ? pto_bf16_from_f32(from[i]) : pto_fp16_from_f32(from[i]);
    if (format == PTO_WEIGHT_F32) memcpy(to + i * sizeof(float), from + i, sizeof(float));
    if (format == PTO_WEIGHT_F16 || format == PTO_WEIGHT_BF16) memcpy(to + i * sizeof half, &half, sizeof half);
  }
  for (uint64_t b = 0; format == PTO_WEIGHT_Q8_0 && b < count / LLM_BLOCK; b++) {
    unsigned char *block = to + b * (LLM_BLOCK + sizeof(uint16_t));
    float most = 0;
    for (uint64_t i = 0; i < LLM_BLOCK; i++) most = fmaxf(most, fabsf(from[b * LLM_BLOCK + i]));
    const uint16_t scale = pto_fp16_from_f32(most / 127);
    memcpy(block, &scale, sizeof scale);
    for (uint64_t i = 0; i < LLM_BLOCK; i++) {
      const float q = most > 0 ? from[b * LLM_BLOCK + i] / pto_fp16_to_f32(scale) : 0;
      block[sizeof scale + i] = (unsigned char)(signed char)lrintf(fminf(fmaxf(q, -127), 127));
    }
  }
}

struct llm_generator {
  struct pto_program_run *run;
  struct llm_random random;
  uint32_t format;
  float *row; /* room for the widest */
  bool is_out_of_memory;
};

/* Uniform entries with the variance 1 / columns. */
static struct pto_model_matrix llm_random_matrix(struct llm_generator *g, uint64_t rows, uint64_t columns) {
  struct pto_model_matrix m = {.format = g->format, .rows = rows, .columns = columns};
  unsigned char *data = pto_program_alloc(g->run, rows * pto_model_row_bytes(&m));
  const float most = sqrtf(3.0f / (float)columns);
  m.data = data;
  g->is_out_of_memory |= !data;
  for (uint64_t r = 0; data && r < rows; r++) {
    for (uint64_t c = 0; c < columns; c++) g->row[c] = (2 * llm_random_unit(&g->random) - 1) * most;
    llm_store_row(data + r * pto_model_row_bytes(&m), m.format, g->row, columns);
  }
  return m;
}

/* [vocab, dim], what belongs to marks and bytes a hundredth. */
static struct pto_model_matrix llm_random_vocabulary(struct llm_generator *g, uint64_t vocab, uint64_t dim) {
  const struct pto_model_matrix m = llm_random_matrix(g, vocab, dim);
  for (uint64_t r = 0; m.data && r < vocab && r < LLM_BYTE_TOKENS; r++) {
    for (uint64_t c = 0; c < dim; c++) g->row[c] = (2 * llm_random_unit(&g->random) - 1) * 0.01f;
    llm_store_row((unsigned char *)(uintptr_t)m.data + r * pto_model_row_bytes(&m), m.format, g->row, dim);
  }
  return m;
}

static const float *llm_random_norm(struct llm_generator *g, uint64_t dim) {
  float *norm = pto_program_alloc(g->run, dim * sizeof *norm);
  g->is_out_of_memory |= !norm;
  for (uint64_t i = 0; norm && i < dim; i++) norm[i] = 0.75f + llm_random_unit(&g->random) / 2;
  return norm;
}

int llm_random_model(struct pto_program_run *run, struct pto_language_model *model, uint32_t format, bool is_shared,
                     uint64_t seed) {
  const uint64_t dim = model->dim, hidden = model->hidden_dim, kv_dim = pto_model_kv_dim(model);
  struct llm_generator g = {.run = run, .random = {seed ? seed : 1}, .format = format};
  g.row = pto_program_alloc(run, (dim > hidden ? dim : hidden) * sizeof *g.row);
  model->layers = pto_program_alloc(run, model->layer_count * sizeof *model->layers);
  if (!g.row || !model->layers) return PTO_ENOMEM;
  model->embedding = llm_random_vocabulary(&g, model->vocab_size, dim);
  model->classifier = is_shared ? model->embedding : llm_random_vocabulary(&g, model->vocab_size, dim);
  model->final_norm = llm_random_norm(&g, dim);
  for (uint32_t i = 0; i < model->layer_count; i++) {
    struct pto_model_layer *layer = &model->layers[i];
    layer->attention_norm = llm_random_norm(&g, dim);
    layer->ffn_norm = llm_random_norm(&g, dim);
#define X(field, rows, columns, ...) layer->field = llm_random_matrix(&g, rows, columns);
    PTO_LLAMA_MATRIX_LIST(X)
#undef X
  }
  return g.is_out_of_memory ? PTO_ENOMEM : PTO_OK;
}

/* ---- its tokenizer ---- */

/* The piece of a token, of at most 15 bytes: marks, bytes, then printable characters, then syllables. */
static void llm_piece(uint32_t token, char piece[16]) {
  static const char consonants[] = "bdfghklmnprstvwz", vowels[] = "aeiou";
  const uint32_t first_syllable = LLM_BYTE_TOKENS + 95;
  if (token < 3)
    snprintf(piece, 16, "%s", token == 0 ? "<unk>" : token == 1 ? "\n<s>\n" : "\n</s>\n");
  else if (token < LLM_BYTE_TOKENS)
    snprintf(piece, 16, "<0x%02X>", token - 3);
  else if (token < first_syllable)
    snprintf(piece, 16, "%c", (char)(' ' + (token - LLM_BYTE_TOKENS)));
  else {
    uint32_t number = token - first_syllable, at = 0;
    if (number % 2) piece[at++] = ' ';
    for (number /= 2; at < 12;) {
      piece[at++] = consonants[number % 16];
      piece[at++] = vowels[number / 16 % 5];
      number /= 80;
      if (number-- == 0) break;
    }
    piece[at] = '\0';
  }
}

int llm_random_tokenizer(uint32_t vocab, struct pto_tokenizer *tokenizer, char *sentence, size_t size) {
  char path[64], piece[16];
  const int32_t longest = 15;
  int fd = memfd_create("tokenizer", MFD_CLOEXEC);
  FILE *file = fd < 0 ? NULL : fdopen(fd, "wb");
  if (!file) {
    if (fd >= 0) close(fd);
    snprintf(sentence, size, "no memory for a tokenizer");
    return PTO_ESYSTEM;
  }
  (void)fwrite(&longest, sizeof longest, 1, file);
  for (uint32_t token = 0; token < vocab; token++) {
    const float score = token < LLM_BYTE_TOKENS ? 0 : -(float)token;
    llm_piece(token, piece);
    const int32_t length = (int32_t)strlen(piece);
    (void)fwrite(&score, sizeof score, 1, file);
    (void)fwrite(&length, sizeof length, 1, file);
    (void)fwrite(piece, 1, (size_t)length, file);
  }
  fflush(file);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  int status = pto_tokenizer_read(tokenizer, path, vocab, sentence, size);
  fclose(file);
  return status;
}
