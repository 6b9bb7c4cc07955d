/* SPDX-License-Identifier: MIT */
/*
 * A byte for the size of the vocabulary, one for the length of a text, the text, then any bytes as a tokenizer: read or
 * refused with a sentence; what was read encodes the text or refuses it, and decodes every token that it gives.
 */
#include <tests/fuzz/fuzz_file.h>

#include <string.h>

#include <formats/llm/tokenizer.h>
#include <runtime/base/error.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct pto_tokenizer *tokenizer, const char *text) {
  struct pto_error error = {0};
  uint32_t *tokens, count;
  if (pto_tokenizer_encode(tokenizer, text, true, true, &tokens, &count, error.sentence, sizeof error.sentence)) {
    FUZZ_HOLDS(error.sentence[0] != '\0');
    return;
  }
  FUZZ_HOLDS(count >= 2 && count <= strlen(text) + 3);
  for (uint32_t i = 1; i < count; i++) {
    uint32_t length;
    const char *piece = pto_tokenizer_decode(tokenizer, tokens[i - 1], tokens[i], &length);
    FUZZ_HOLDS(length <= PTO_TOKEN_MAX_BYTES && (length == 0 || memchr(piece, piece[0], length)));
  }
  free(tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_file file;
  struct pto_error error = {0};
  struct pto_tokenizer tokenizer;
  char text[256];
  if (size < 2 || size - 2 < data[1]) return 0;
  memcpy(text, data + 2, data[1]);
  text[data[1]] = '\0';
  fuzz_file_open(&file, data + 2 + data[1], size - 2 - data[1]);
  int status = pto_tokenizer_read(&tokenizer, file.path, data[0], error.sentence, sizeof error.sentence);
  fuzz_file_close(&file);
  if (status == PTO_OK) {
    use(&tokenizer, text);
    pto_tokenizer_fini(&tokenizer);
  } else {
    FUZZ_HOLDS(error.sentence[0] != '\0');
  }
  return 0;
}
