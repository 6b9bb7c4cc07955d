/* SPDX-License-Identifier: MIT */
#include <formats/llm/tokenizer.h>

#include <stdlib.h>
#include <string.h>

#include <formats/llm/gguf.h>
#include <formats/llm/tokenizer_reader.h>
#include <formats/mapped_file.h>
#include <runtime/base/base.h>

#define FIRST_BYTE 3u /* token of byte 0 in files of llama2.c */

/* ---- pieces in byte order ---- */

static int compare_bytes(const char *a, uint32_t a_length, const char *b, uint32_t b_length) {
  const uint32_t both = a_length < b_length ? a_length : b_length;
  int order = memcmp(a, b, both);
  return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare_tokens(const void *left, const void *right, void *context) {
  const struct pto_token_piece *pieces = context;
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  int order = compare_bytes(pieces[a].bytes, pieces[a].length, pieces[b].bytes, pieces[b].length);
  return order ? order : (a > b) - (a < b);
}

/* The lowest token of a piece; PTO_TOKEN_NONE where it is none. */
static uint32_t find(const struct pto_tokenizer *tokenizer, const char *bytes, uint32_t length) {
  uint32_t first = 0, end = tokenizer->index_count;
  while (first < end) {
    const uint32_t middle = first + (end - first) / 2;
    const struct pto_token_piece *piece = &tokenizer->pieces[tokenizer->index[middle]];
    if (compare_bytes(piece->bytes, piece->length, bytes, length) < 0)
      first = middle + 1;
    else
      end = middle;
  }
  if (first == tokenizer->index_count) return PTO_TOKEN_NONE;
  const struct pto_token_piece *piece = &tokenizer->pieces[tokenizer->index[first]];
  return compare_bytes(piece->bytes, piece->length, bytes, length) ? PTO_TOKEN_NONE : tokenizer->index[first];
}

/* ---- reading ---- */

int pto_tokenizer_alloc(struct pto_tokenizer *tokenizer, uint32_t vocab_size, uint64_t memory_bytes,
                        struct pto_error *error) {
  tokenizer->vocab_size = vocab_size;
  tokenizer->pieces = calloc(vocab_size, sizeof *tokenizer->pieces);
  tokenizer->index = calloc(vocab_size, sizeof *tokenizer->index);
  tokenizer->memory = malloc(memory_bytes);
  for (uint32_t i = 0; i < 256; i++) {
    tokenizer->bytes[i][0] = (char)i;
    tokenizer->byte_tokens[i] = PTO_TOKEN_NONE;
  }
  if (tokenizer->pieces && tokenizer->index && tokenizer->memory) return PTO_OK;
  return pto_error_set(error, PTO_ENOMEM, "no memory for %u tokens", vocab_size);
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int pto_token_piece_byte(const char *bytes, uint64_t length) {
  if (length != 6 || memcmp(bytes, "<0x", 3) != 0 || bytes[5] != '>') return -1;
  const int high = hex_digit(bytes[3]), low = hex_digit(bytes[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

int pto_tokenizer_check(uint32_t token, int64_t length, float score, struct pto_error *error) {
  if (length < 0 || length > (int64_t)PTO_TOKEN_MAX_BYTES)
    return pto_error_set(error, PTO_EINVAL, "token %u has %lld bytes, not 0 to %u", token, (long long)length,
                         PTO_TOKEN_MAX_BYTES);
  if (score != score) return pto_error_set(error, PTO_EINVAL, "the score of token %u is not a number", token);
  return PTO_OK;
}

static int parse(struct pto_tokenizer *tokenizer, const struct pto_mapped_file *file, struct pto_error *error) {
  uint64_t at = sizeof(int32_t);
  char *memory = tokenizer->memory;
  for (uint32_t token = 0; token < tokenizer->vocab_size; token++) {
    float score;
    int32_t length;
    if (file->size_bytes < at + sizeof score + sizeof length)
      return pto_error_set(error, PTO_EINVAL, "the file is cut at token %u of %u", token, tokenizer->vocab_size);
    memcpy(&score, file->data + at, sizeof score);
    memcpy(&length, file->data + at + sizeof score, sizeof length);
    at += sizeof score + sizeof length;
    int status = pto_tokenizer_check(token, length, score, error);
    if (status) return status;
    if ((uint64_t)length > file->size_bytes - at)
      return pto_error_set(error, PTO_EINVAL, "the file is cut in token %u of %u", token, tokenizer->vocab_size);
    memcpy(memory, file->data + at, (size_t)length);
    tokenizer->pieces[token] = (struct pto_token_piece){memory, (uint32_t)length, score};
    memory[length] = '\0';
    memory += length + 1;
    at += (uint64_t)length;
  }
  if (at != file->size_bytes)
    return pto_error_set(error, PTO_EINVAL, "%llu bytes follow token %u: the model has fewer tokens than the file",
                         (unsigned long long)(file->size_bytes - at), tokenizer->vocab_size - 1);
  return PTO_OK;
}

static int read_llama2c(struct pto_tokenizer *tokenizer, const struct pto_mapped_file *file, uint32_t vocab_size,
                        struct pto_error *error) {
  /* A token takes 8 bytes at least, which are more than the zero that is put behind it here: what the file cannot hold
   * is refused before memory is asked for. */
  if (vocab_size == 0 || file->size_bytes < sizeof(int32_t) || (file->size_bytes - sizeof(int32_t)) / 8 < vocab_size)
    return pto_error_set(error, PTO_EINVAL, "%llu bytes cannot hold %u tokens", (unsigned long long)file->size_bytes,
                         vocab_size);
  int status = pto_tokenizer_alloc(tokenizer, vocab_size, file->size_bytes, error);
  if (status == PTO_OK) status = parse(tokenizer, file, error);
  if (status) return status;
  tokenizer->has_space_prefix = true;
  tokenizer->bos_token = PTO_TOKEN_BOS;
  tokenizer->eos_token = PTO_TOKEN_EOS;
  for (uint32_t i = 0; i < 256 && i + FIRST_BYTE < vocab_size; i++) tokenizer->byte_tokens[i] = i + FIRST_BYTE;
  for (uint32_t i = 0; i < vocab_size; i++) tokenizer->index[i] = i;
  tokenizer->index_count = vocab_size;
  return PTO_OK;
}

static int read_file(struct pto_tokenizer *tokenizer, const struct pto_mapped_file *file, uint32_t vocab_size,
                     struct pto_error *error) {
  int status = pto_gguf_is_one(file->data, file->size_bytes)
                   ? pto_tokenizer_gguf_read(tokenizer, file->data, file->size_bytes, vocab_size, error)
                   : read_llama2c(tokenizer, file, vocab_size, error);
  if (status == PTO_OK)
    qsort_r(tokenizer->index, tokenizer->index_count, sizeof *tokenizer->index, compare_tokens, tokenizer->pieces);
  return status;
}

int pto_tokenizer_read(struct pto_tokenizer *tokenizer, const char *path, uint32_t vocab_size, char *sentence,
                       size_t sentence_size) {
  struct pto_mapped_file file;
  struct pto_error error, reason;
  memset(tokenizer, 0, sizeof *tokenizer);
  int status = pto_mapped_file_init(&file, path, &error);
  if (status) return pto_error_tell(&error, sentence, sentence_size);
  status = read_file(tokenizer, &file, vocab_size, &reason);
  pto_mapped_file_fini(&file);
  if (status == PTO_OK) return status;
  pto_tokenizer_fini(tokenizer);
  pto_error_set(&error, status, "tokenizer %.400s: %.500s", path, reason.sentence);
  return pto_error_tell(&error, sentence, sentence_size);
}

void pto_tokenizer_fini(struct pto_tokenizer *tokenizer) {
  free(tokenizer->pieces);
  free(tokenizer->index);
  free(tokenizer->memory);
  memset(tokenizer, 0, sizeof *tokenizer);
}

/* ---- encoding ---- */

/* Bytes of the character that begins with `first`: continuation bytes (10xxxxxx) belong to it, four in all at most. */
static uint32_t character_length(const char *text, uint64_t left) {
  uint32_t length = 1;
  while (length < 4 && length < left && ((unsigned char)text[length] & 0xc0) == 0x80) length++;
  return length;
}

static int add_characters(const struct pto_tokenizer *tokenizer, const char *text, uint32_t *tokens, uint32_t *count,
                          struct pto_error *error) {
  const uint64_t size = strlen(text);
  for (uint64_t at = 0; at < size;) {
    const uint32_t length = character_length(text + at, size - at);
    const uint32_t token = find(tokenizer, text + at, length);
    for (uint32_t i = 0; token == PTO_TOKEN_NONE && i < length; i++) {
      const uint32_t byte = (unsigned char)text[at + i];
      if (tokenizer->byte_tokens[byte] == PTO_TOKEN_NONE)
        return pto_error_set(error, PTO_EINVAL, "the tokenizer has no token for byte 0x%02x of the text", byte);
      tokens[(*count)++] = tokenizer->byte_tokens[byte];
    }
    if (token != PTO_TOKEN_NONE) tokens[(*count)++] = token;
    at += length;
  }
  return PTO_OK;
}

/* The token of two neighbours joined; PTO_TOKEN_NONE. */
static uint32_t join(const struct pto_tokenizer *tokenizer, uint32_t left, uint32_t right) {
  const struct pto_token_piece *a = &tokenizer->pieces[left], *b = &tokenizer->pieces[right];
  char bytes[2 * PTO_TOKEN_MAX_BYTES];
  memcpy(bytes, a->bytes, a->length);
  memcpy(bytes + a->length, b->bytes, b->length);
  return find(tokenizer, bytes, a->length + b->length);
}

/* O(n²): prompts are short; joined[i] remembers what tokens i and its right neighbour give. */
static void merge(const struct pto_tokenizer *tokenizer, uint32_t *tokens, uint32_t *joined, uint32_t *count) {
  for (uint32_t i = 0; i + 1 < *count; i++) joined[i] = join(tokenizer, tokens[i], tokens[i + 1]);
  for (;;) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i + 1 < *count; i++)
      if (joined[i] != PTO_TOKEN_NONE &&
          (best == UINT32_MAX || tokenizer->pieces[joined[i]].score > tokenizer->pieces[joined[best]].score))
        best = i;
    if (best == UINT32_MAX) return;
    tokens[best] = joined[best];
    (*count)--;
    memmove(&tokens[best + 1], &tokens[best + 2], (*count - best - 1) * sizeof *tokens);
    memmove(&joined[best], &joined[best + 1], (*count - best - 1) * sizeof *joined);
    if (best) joined[best - 1] = join(tokenizer, tokens[best - 1], tokens[best]);
    if (best + 1 < *count) joined[best] = join(tokenizer, tokens[best], tokens[best + 1]);
  }
}

static int encode(const struct pto_tokenizer *tokenizer, const char *text, bool has_bos, bool has_eos,
                  uint32_t **tokens_out, uint32_t *count_out, struct pto_error *error) {
  const uint64_t most = strlen(text) + 3;
  if (most > UINT32_MAX / 2) return pto_error_set(error, PTO_EINVAL, "a text of %llu bytes", (unsigned long long)most);
  uint32_t *tokens = malloc(most * sizeof *tokens), *joined = malloc(most * sizeof *joined), count = 0;
  int status = tokens && joined ? PTO_OK : pto_error_set(error, PTO_ENOMEM, "no memory for the tokens of a text");
  if (status == PTO_OK && has_bos && tokenizer->bos_token != PTO_TOKEN_NONE) tokens[count++] = tokenizer->bos_token;
  const uint32_t fixed = count;
  if (status == PTO_OK && *text && tokenizer->has_space_prefix)
    status = add_characters(tokenizer, " ", tokens, &count, error);
  if (status == PTO_OK) status = add_characters(tokenizer, text, tokens, &count, error);
  if (status == PTO_OK) {
    uint32_t rest = count - fixed;
    merge(tokenizer, tokens + fixed, joined, &rest);
    count = fixed + rest;
    if (has_eos && tokenizer->eos_token != PTO_TOKEN_NONE) tokens[count++] = tokenizer->eos_token;
  }
  free(joined);
  if (status) {
    free(tokens);
    return status;
  }
  *tokens_out = tokens;
  *count_out = count;
  return PTO_OK;
}

int pto_tokenizer_encode(const struct pto_tokenizer *tokenizer, const char *text, bool has_bos, bool has_eos,
                         uint32_t **tokens_out, uint32_t *count_out, char *sentence, size_t sentence_size) {
  struct pto_error error;
  int status = encode(tokenizer, text, has_bos, has_eos, tokens_out, count_out, &error);
  return status ? pto_error_tell(&error, sentence, sentence_size) : PTO_OK;
}

/* ---- decoding ---- */

const char *pto_tokenizer_decode(const struct pto_tokenizer *tokenizer, uint32_t previous, uint32_t token,
                                 uint32_t *length_out) {
  *length_out = 0;
  if (token >= tokenizer->vocab_size) return "";
  const struct pto_token_piece *piece = &tokenizer->pieces[token];
  const char *bytes = piece->bytes;
  const int byte = pto_token_piece_byte(bytes, piece->length);
  if (byte >= 0) {
    *length_out = 1;
    return tokenizer->bytes[byte];
  }
  const uint32_t skip =
      previous == tokenizer->bos_token && tokenizer->has_space_prefix && piece->length && bytes[0] == ' ';
  *length_out = piece->length - skip;
  return bytes + skip;
}
