/* SPDX-License-Identifier: MIT */
/*
 * Tokenizers: text into tokens and back, by byte-pair merges of the best score.
 *
 * Owns vocabulary and index until fini.
 *
 * Always true after a successful read: every piece is at most PTO_TOKEN_MAX_BYTES long; `index` has the pieces in byte
 * order, so that a piece is found by bisection; of equal pieces the lowest token stands first.  Tokens that no text is
 * made of (marks, bytes) are not in it where the file says which these are.
 *
 * Encoding (as llama2.c and SentencePiece's BPE do it): a space is put in front of a text that is not empty, where
 * has_space_prefix says so; each character of UTF-8 that is a piece is its token, of others each byte is its byte
 * token; then the neighbouring pair whose joined piece has the best score is joined, the leftmost of equals, until none
 * can be.  bos_token is put in front, eos_token behind, where asked for.
 *
 * Decoding: after BOS a leading space is dropped; pieces "<0xNN>" are that byte.
 *
 * Threads: any, once read.
 */
#ifndef PTO_TOKENIZER_H
#define PTO_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pto/status.h>

/* In files of llama2.c; other files say theirs, and the tokenizer has them. */
#define PTO_TOKEN_BOS 1u
#define PTO_TOKEN_EOS 2u

#define PTO_TOKEN_MAX_BYTES 512u
#define PTO_TOKEN_NONE UINT32_MAX

struct pto_token_piece {
  const char *bytes; /* followed by a 0 that is not counted */
  uint32_t length;
  float score;
};

struct pto_tokenizer {
  struct pto_token_piece *pieces; /* by token */
  uint32_t vocab_size;
  uint32_t bos_token, eos_token; /* PTO_TOKEN_NONE where there is none */
  uint32_t byte_tokens[256];     /* of a byte whose character is no piece; PTO_TOKEN_NONE where there is none */
  bool has_space_prefix;
  uint32_t *index; /* index_count tokens by their pieces */
  uint32_t index_count;
  char *memory;       /* of all pieces */
  char bytes[256][2]; /* of pieces "<0xNN>" */
};

/* Reads the tokenizer at `path` with exactly `vocab_size` tokens: one of llama2.c (an int32, the longest piece, then
 * score (f32), length (int32) and bytes of each), or the one inside a GGUF file.  PTO_OK; PTO_ESYSTEM, PTO_EINVAL (cut,
 * inconsistent, oversized), PTO_ENOMEM; path and reason go to `sentence` (sentence_size bytes, may be NULL). */
PTO_MUST_CHECK int pto_tokenizer_read(struct pto_tokenizer *tokenizer, const char *path, uint32_t vocab_size,
                                      char *sentence, size_t sentence_size);
/* A zeroed struct is allowed. */
void pto_tokenizer_fini(struct pto_tokenizer *tokenizer);

/* The tokens of a text: *tokens_out is the caller's, to be freed.  PTO_OK, PTO_ENOMEM, or PTO_EINVAL where a byte has
 * no token; the reason in `sentence`, as above. */
PTO_MUST_CHECK int pto_tokenizer_encode(const struct pto_tokenizer *tokenizer, const char *text, bool has_bos,
                                        bool has_eos, uint32_t **tokens_out, uint32_t *count_out, char *sentence,
                                        size_t sentence_size);
/* What `token` adds to a text after `previous`; borrowed from the tokenizer.  *length_out is its bytes.  Tokens beyond
 * the vocabulary are "". */
const char *pto_tokenizer_decode(const struct pto_tokenizer *tokenizer, uint32_t previous, uint32_t token,
                                 uint32_t *length_out);

#endif
