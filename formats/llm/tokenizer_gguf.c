/* SPDX-License-Identifier: MIT */
/*
 * The tokenizer inside a GGUF file: tokenizer.ggml.model "llama", which is SentencePiece's byte-pair encoding, with
 * tokens, scores and token_type.  Spaces are U+2581 there and become spaces; marks (control, unknown) and unused tokens
 * stand for no text; byte tokens are for what is no piece.  Other models ("gpt2", "bert", …) split texts by rules that
 * are not implemented, and are refused.
 */
#include <formats/llm/tokenizer_reader.h>

#include <inttypes.h>
#include <string.h>

#include <formats/llm/gguf.h>
#include <runtime/base/base.h>

#define KEY "tokenizer.ggml."
#define SPACE "\xe2\x96\x81" /* U+2581 */

/* Of tokenizer.ggml.token_type, as SentencePiece has them. */
enum token_type { TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER_DEFINED, TOKEN_UNUSED, TOKEN_BYTE };

struct arrays {
  struct pto_gguf_value tokens, scores, types; /* types: no data where the file has none */
};

static int find_array(const struct pto_gguf *gguf, const char *key, uint32_t elem_type, uint32_t count,
                      struct pto_gguf_value *out, struct pto_error *error) {
  int status = pto_gguf_array(gguf, key, elem_type, out, error);
  if (status || !out->data || out->count == count) return status;
  return pto_error_set(error, PTO_EINVAL, "key \"%s\" has %" PRIu64 " items, the model has %u tokens", key, out->count,
                       count);
}

static int find_arrays(const struct pto_gguf *gguf, uint32_t count, struct arrays *arrays, struct pto_error *error) {
  struct pto_gguf_string model = {"", 0};
  if (count == 0) return pto_error_set(error, PTO_EINVAL, "a tokenizer cannot have 0 tokens");
  *arrays = (struct arrays){0};
  int status = pto_gguf_string(gguf, KEY "model", &model, error);
  if (!status && model.length == 0)
    return pto_error_set(error, PTO_EINVAL, "there is no key \"" KEY "model\": it has no tokenizer");
  if (!status && !pto_gguf_string_is(model, "llama"))
    return pto_error_set(error, PTO_EINVAL, "key \"" KEY "model\" is \"%.*s\": only \"llama\" (SentencePiece) is read",
                         (int)pto_min_u64(model.length, 60), model.bytes);
  if (!status) status = find_array(gguf, KEY "tokens", PTO_GGUF_VALUE_STRING, count, &arrays->tokens, error);
  if (!status) status = find_array(gguf, KEY "scores", PTO_GGUF_VALUE_F32, count, &arrays->scores, error);
  if (!status) status = find_array(gguf, KEY "token_type", PTO_GGUF_VALUE_I32, count, &arrays->types, error);
  if (!status && (!arrays->tokens.data || !arrays->scores.data))
    return pto_error_set(error, PTO_EINVAL, "there is no key \"%s\"",
                         arrays->tokens.data ? KEY "scores" : KEY "tokens");
  return status;
}

/* A token that the file names, or `usual` where it names none; none where the vocabulary has no such. */
static int find_mark(const struct pto_gguf *gguf, const char *key, uint32_t count, uint64_t usual, uint32_t *out,
                     struct pto_error *error) {
  uint64_t token = usual < count ? usual : PTO_TOKEN_NONE;
  int status = pto_gguf_u64(gguf, key, &token, error);
  if (!status && token >= count && token != PTO_TOKEN_NONE)
    return pto_error_set(error, PTO_EINVAL, "key \"%s\" is %" PRIu64 ", there are %u tokens", key, token, count);
  *out = (uint32_t)token;
  return status;
}

/* Copies with spaces for U+2581; returns the length. */
static uint32_t copy_piece(char *to, struct pto_gguf_string piece) {
  uint32_t length = 0;
  for (uint64_t i = 0; i < piece.length;) {
    const bool is_space = piece.length - i >= sizeof SPACE - 1 && memcmp(piece.bytes + i, SPACE, sizeof SPACE - 1) == 0;
    to[length++] = is_space ? ' ' : piece.bytes[i];
    i += is_space ? sizeof SPACE - 1 : 1;
  }
  to[length] = '\0';
  return length;
}

/* The kind of `token`; where the file has none, what its piece looks like. */
static int32_t type_of(const struct arrays *arrays, uint32_t token, struct pto_gguf_string piece) {
  int32_t type;
  if (!arrays->types.data) return pto_token_piece_byte(piece.bytes, piece.length) >= 0 ? TOKEN_BYTE : TOKEN_NORMAL;
  memcpy(&type, arrays->types.data + token * sizeof type, sizeof type);
  return type;
}

static int read_token(struct pto_tokenizer *tokenizer, const struct arrays *arrays, uint32_t token,
                      struct pto_gguf_string piece, char **memory, struct pto_error *error) {
  float score;
  memcpy(&score, arrays->scores.data + token * sizeof score, sizeof score);
  int status = pto_tokenizer_check(token, (int64_t)piece.length, score, error);
  if (status) return status;
  const int32_t type = type_of(arrays, token, piece);
  if (type < TOKEN_NORMAL || type > TOKEN_BYTE)
    return pto_error_set(error, PTO_EINVAL, "token %u is of type %d, not 1 to 6", token, type);
  const bool is_mark = type == TOKEN_UNKNOWN || type == TOKEN_CONTROL || type == TOKEN_UNUSED;
  const uint32_t length = is_mark ? copy_piece(*memory, (struct pto_gguf_string){"", 0}) : copy_piece(*memory, piece);
  tokenizer->pieces[token] = (struct pto_token_piece){*memory, length, score};
  *memory += length + 1;
  if (type == TOKEN_BYTE) {
    const int byte = pto_token_piece_byte(piece.bytes, piece.length);
    if (byte < 0)
      return pto_error_set(error, PTO_EINVAL, "token %u is a byte, but its piece is not like <0x0A>", token);
    if (tokenizer->byte_tokens[byte] == PTO_TOKEN_NONE) tokenizer->byte_tokens[byte] = token;
  } else if (length) {
    tokenizer->index[tokenizer->index_count++] = token;
  }
  return PTO_OK;
}

static int read_tokens(struct pto_tokenizer *tokenizer, const struct arrays *arrays, struct pto_error *error) {
  const unsigned char *at = arrays->tokens.data;
  char *memory = tokenizer->memory;
  for (uint32_t token = 0; token < tokenizer->vocab_size; token++) {
    struct pto_gguf_string piece;
    at = pto_gguf_next_string(at, &piece);
    int status = read_token(tokenizer, arrays, token, piece, &memory, error);
    if (status) return status;
  }
  return PTO_OK;
}

static int read_gguf(struct pto_tokenizer *tokenizer, const struct pto_gguf *gguf, uint32_t vocab_size,
                     struct pto_error *error) {
  struct arrays arrays;
  int status = find_arrays(gguf, vocab_size, &arrays, error);
  /* Each string stands behind 8 bytes of length, which are more than the zero that is put behind it here. */
  if (!status) status = pto_tokenizer_alloc(tokenizer, vocab_size, arrays.tokens.size_bytes, error);
  if (status) return status;
  tokenizer->has_space_prefix = true;
  status = pto_gguf_bool(gguf, KEY "add_space_prefix", &tokenizer->has_space_prefix, error);
  if (!status) status = find_mark(gguf, KEY "bos_token_id", vocab_size, 1, &tokenizer->bos_token, error);
  if (!status) status = find_mark(gguf, KEY "eos_token_id", vocab_size, 2, &tokenizer->eos_token, error);
  return status ? status : read_tokens(tokenizer, &arrays, error);
}

int pto_tokenizer_gguf_read(struct pto_tokenizer *tokenizer, const void *bytes, uint64_t size_bytes,
                            uint32_t vocab_size, struct pto_error *error) {
  struct pto_gguf gguf;
  int status = pto_gguf_init_memory(&gguf, "GGUF", bytes, size_bytes, error);
  if (status) return status;
  status = read_gguf(tokenizer, &gguf, vocab_size, error);
  pto_gguf_fini(&gguf);
  return status;
}
