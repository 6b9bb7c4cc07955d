/* SPDX-License-Identifier: MIT */
/*
 * The published model of PTO_LLM_DATA, read and decoded by plain loops, gives the published text: so reader, tokenizer
 * and the decoder that others are held against are right.  Skipped where the variable is not set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <bench/support/plain_decoder.h>
#include <formats/llm/tokenizer.h>
#include <runtime/base/error.h>

/* Of the text in llama2.c's doc/stories260K.md: temperature 0, 256 steps, no prompt.  The folder's README has it too.
 */
#define PUBLISHED_BYTES 565u
#define PUBLISHED_FNV1A UINT64_C(0xc8c3dfcef4268b93)

static uint64_t fnv1a(const char *text) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325); /* Fowler, Noll and Vo, 64 bits */
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return hash;
}

static uint32_t argmax(const float *x, uint32_t n) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < n; i++)
    if (x[i] > x[best]) best = i;
  return best;
}

static void test_greedy_decoding_of_the_published_model_gives_the_published_text(void **state) {
  const char *folder = getenv("PTO_LLM_DATA");
  char path[512], text[4096] = "";
  struct pto_language_model model;
  struct pto_tokenizer tokenizer;
  struct pto_plain_decoder decoder;
  struct pto_error error;
  size_t used = 0;
  if (!folder) {
    print_message("PTO_LLM_DATA is not set\n");
    skip();
  }
  snprintf(path, sizeof path, "%s/stories260K.bin", folder);
  if (pto_language_model_read(&model, path, error.sentence, sizeof error.sentence)) fail_msg("%s", error.sentence);
  snprintf(path, sizeof path, "%s/tok512.bin", folder);
  if (pto_tokenizer_read(&tokenizer, path, model.vocab_size, error.sentence, sizeof error.sentence))
    fail_msg("%s", error.sentence);
  assert_true(pto_plain_decoder_init(&decoder, &model));
  uint32_t token = PTO_TOKEN_BOS;
  for (uint32_t position = 0; position < 256; position++) {
    const uint32_t next = argmax(pto_plain_decoder_step(&decoder, token, position), model.vocab_size);
    if (next == PTO_TOKEN_BOS) break;
    uint32_t length;
    const char *piece = pto_tokenizer_decode(&tokenizer, token, next, &length);
    assert_true(used + length < sizeof text);
    memcpy(text + used, piece, length);
    text[used += length] = '\0';
    token = next;
  }
  if (used != PUBLISHED_BYTES || fnv1a(text) != PUBLISHED_FNV1A) fail_msg("another text: %s", text);
  pto_plain_decoder_fini(&decoder);
  pto_tokenizer_fini(&tokenizer);
  pto_language_model_fini(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_greedy_decoding_of_the_published_model_gives_the_published_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
