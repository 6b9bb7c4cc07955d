/* SPDX-License-Identifier: MIT */
/*
 * What readers of tokenizer files share; the tokenizer itself is in tokenizer.h.
 *
 * A reader finds the tokenizer zeroed, makes room by pto_tokenizer_alloc and fills the rest; what it leaves behind when
 * it refuses is freed by the caller.
 */
#ifndef PTO_TOKENIZER_READER_H
#define PTO_TOKENIZER_READER_H

#include <formats/llm/tokenizer.h>
#include <runtime/base/error.h>

/* Room for `vocab_size` pieces, an empty index, and `memory_bytes` for the pieces' bytes. */
PTO_MUST_CHECK int pto_tokenizer_alloc(struct pto_tokenizer *tokenizer, uint32_t vocab_size, uint64_t memory_bytes,
                                       struct pto_error *error);
/* Whether a token may have so many bytes and that score; PTO_EINVAL with the sentence. */
PTO_MUST_CHECK int pto_tokenizer_check(uint32_t token, int64_t length, float score, struct pto_error *error);
/* The byte that a piece "<0xNN>" stands for; -1 for others. */
int pto_token_piece_byte(const char *bytes, uint64_t length);

/* The tokenizer inside a GGUF file. */
PTO_MUST_CHECK int pto_tokenizer_gguf_read(struct pto_tokenizer *tokenizer, const void *bytes, uint64_t size_bytes,
                                           uint32_t vocab_size, struct pto_error *error);

#endif
