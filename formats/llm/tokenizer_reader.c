/* SPDX-License-Identifier: MIT */
#include <formats/llm/tokenizer_reader.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/base.h>

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
