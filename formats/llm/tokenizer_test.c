/* SPDX-License-Identifier: MIT */
#include <formats/llm/tokenizer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <runtime/base/error.h>
#include <tests/support/temporary_path.h>

/* Three special tokens, 256 bytes, then these. */
static const struct {
  const char *piece;
  float score;
} words[] = {{" ", 0},   {"a", 0},   {"b", 0},    {"c", 0},   {"é", 0},
             {"ab", -1}, {"bc", -2}, {"abc", -5}, {" a", -3}, {"b", -9}};
enum { FIRST_WORD = 3 + 256, VOCAB = FIRST_WORD + PTO_ARRAY_LENGTH(words) };
enum { SPACE = FIRST_WORD, A, B, C, E_ACUTE, AB, BC, ABC, SPACE_A };

struct file {
  char path[TEMPORARY_PATH_BYTES];
  unsigned char bytes[16384];
  size_t size;
};

static void add(struct file *file, const char *piece, float score) {
  const int32_t length = (int32_t)strlen(piece);
  memcpy(file->bytes + file->size, &score, 4);
  memcpy(file->bytes + file->size + 4, &length, 4);
  memcpy(file->bytes + file->size + 8, piece, (size_t)length);
  file->size += 8 + (size_t)length;
}

static void make(struct file *file) {
  const int32_t longest = 7;
  memcpy(file->bytes, &longest, 4);
  file->size = 4;
  add(file, "<unk>", 0);
  add(file, "\n<s>\n", 0);
  add(file, "\n</s>\n", 0);
  for (int i = 0; i < 256; i++) {
    char piece[8];
    snprintf(piece, sizeof piece, "<0x%02X>", i);
    add(file, piece, 0);
  }
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(words); i++) add(file, words[i].piece, words[i].score);
}

static int read_it(struct file *file, uint32_t vocab_size, struct pto_tokenizer *tokenizer, struct pto_error *error) {
  temporary_path(file->path, "tokenizer_test");
  FILE *stream = fopen(file->path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(file->bytes, 1, file->size, stream), file->size);
  fclose(stream);
  int status = pto_tokenizer_read(tokenizer, file->path, vocab_size, error->sentence, sizeof error->sentence);
  unlink(file->path);
  return status;
}

static void open_it(struct pto_tokenizer *tokenizer) {
  static struct file file;
  struct pto_error error;
  make(&file);
  if (read_it(&file, VOCAB, tokenizer, &error)) fail_msg("%s", error.sentence);
}

static void gives(const struct pto_tokenizer *tokenizer, const char *text, const uint32_t *wanted, uint32_t count) {
  uint32_t *tokens, found;
  struct pto_error error;
  if (pto_tokenizer_encode(tokenizer, text, false, false, &tokens, &found, error.sentence, sizeof error.sentence))
    fail_msg("%s", error.sentence);
  assert_int_equal(found, count);
  if (count) assert_memory_equal(tokens, wanted, count * sizeof *tokens);
  free(tokens);
}
#define GIVES(tokenizer, text, ...)                                                                                    \
  gives(tokenizer, text, (const uint32_t[]){__VA_ARGS__}, PTO_ARRAY_LENGTH(((const uint32_t[]){__VA_ARGS__})))

static void test_the_best_pair_is_joined_first(void **state) {
  struct pto_tokenizer t;
  open_it(&t);
  GIVES(&t, "b", SPACE, B);
  GIVES(&t, "a", SPACE_A);
  GIVES(&t, "ab", SPACE, AB);   /* "ab" (−1) before " a" (−3) */
  GIVES(&t, "abc", SPACE, ABC); /* and then that with c */
  GIVES(&t, "bc", SPACE, BC);
  GIVES(&t, "ba", SPACE, B, A);
  GIVES(&t, "abab", SPACE, AB, AB); /* the leftmost of equals first; both in the end */
  pto_tokenizer_fini(&t);
}

static void test_characters_without_a_piece_become_bytes(void **state) {
  struct pto_tokenizer t;
  open_it(&t);
  GIVES(&t, "é", SPACE, E_ACUTE);
  GIVES(&t, "ü", SPACE, 3 + 0xc3, 3 + 0xbc);
  GIVES(&t, "\xff", SPACE, 3 + 0xff);
  GIVES(&t, "€", SPACE, 3 + 0xe2, 3 + 0x82, 3 + 0xac);
  pto_tokenizer_fini(&t);
}

static void test_an_empty_text_has_no_tokens_and_marks_are_added_where_asked_for(void **state) {
  struct pto_tokenizer t;
  struct pto_error error;
  uint32_t *tokens, count;
  open_it(&t);
  gives(&t, "", NULL, 0);
  assert_int_equal(pto_tokenizer_encode(&t, "a", true, true, &tokens, &count, error.sentence, sizeof error.sentence),
                   PTO_OK);
  assert_int_equal(count, 3);
  assert_int_equal(tokens[0], PTO_TOKEN_BOS);
  assert_int_equal(tokens[1], SPACE_A);
  assert_int_equal(tokens[2], PTO_TOKEN_EOS);
  free(tokens);
  pto_tokenizer_fini(&t);
}

static void test_decoding_strips_the_space_after_bos_and_knows_bytes(void **state) {
  struct pto_tokenizer t;
  uint32_t length;
  open_it(&t);
  assert_memory_equal(pto_tokenizer_decode(&t, PTO_TOKEN_BOS, SPACE_A, &length), "a", 2);
  assert_int_equal(length, 1);
  assert_memory_equal(pto_tokenizer_decode(&t, A, SPACE_A, &length), " a", 3);
  assert_int_equal(length, 2);
  assert_memory_equal(pto_tokenizer_decode(&t, A, 3 + 0xc3, &length), "\xc3", 1);
  assert_int_equal(length, 1);
  assert_memory_equal(pto_tokenizer_decode(&t, A, 3, &length), "", 1); /* byte 0 is a byte */
  assert_int_equal(length, 1);
  (void)pto_tokenizer_decode(&t, A, VOCAB, &length);
  assert_int_equal(length, 0);
  pto_tokenizer_fini(&t);
}

static void test_what_is_encoded_decodes_to_the_same_text(void **state) {
  struct pto_tokenizer t;
  struct pto_error error;
  struct pto_rng rng = {7};
  open_it(&t);
  for (int round = 0; round < 500; round++) {
    char text[64], back[256];
    const uint64_t size = pto_rng_below(&rng, 60);
    size_t used = 0;
    for (uint64_t i = 0; i < size; i++)
      text[i] = (char)(round % 2 ? 1 + pto_rng_below(&rng, 255) : 'a' + pto_rng_below(&rng, 3));
    text[size] = '\0';
    uint32_t *tokens, count, previous = PTO_TOKEN_BOS;
    assert_int_equal(
        pto_tokenizer_encode(&t, text, false, false, &tokens, &count, error.sentence, sizeof error.sentence), PTO_OK);
    for (uint32_t i = 0; i < count; previous = tokens[i++]) {
      uint32_t length;
      const char *piece = pto_tokenizer_decode(&t, previous, tokens[i], &length);
      memcpy(back + used, piece, length);
      used += length;
    }
    assert_int_equal(used, size);
    assert_memory_equal(back, text, size);
    free(tokens);
  }
  pto_tokenizer_fini(&t);
}

static void refused(struct file *file, uint32_t vocab_size, const char *part) {
  struct pto_tokenizer t;
  struct pto_error error = {0};
  assert_int_equal(read_it(file, vocab_size, &t, &error), PTO_EINVAL);
  if (!strstr(error.sentence, part)) fail_msg("\"%s\" does not say \"%s\"", error.sentence, part);
  assert_null(t.pieces);
}

static void test_files_that_are_none_are_refused_with_the_token(void **state) {
  static struct file file;
  int32_t length = -1;
  make(&file);
  refused(&file, VOCAB - 1, "bytes follow token 267");
  refused(&file, VOCAB + 1, "cut at token 269 of 270");
  refused(&file, 1 << 24, "cannot hold 16777216 tokens");
  refused(&file, 0, "cannot hold 0 tokens");
  file.size--;
  refused(&file, VOCAB, "cut in token 268");
  memcpy(file.bytes + 8, &length, 4);
  refused(&file, VOCAB, "token 0 has -1 bytes");
  length = 1 << 30;
  memcpy(file.bytes + 8, &length, 4);
  refused(&file, VOCAB, "token 0 has 1073741824 bytes");
  make(&file);
  memset(file.bytes + 4, 0xff, 4);
  refused(&file, VOCAB, "score of token 0 is not a number");
  file.size = 3;
  refused(&file, 1, "3 bytes cannot hold");
}

static void test_a_byte_without_a_token_is_refused(void **state) {
  static struct file file;
  struct pto_tokenizer t;
  struct pto_error error;
  uint32_t *tokens, count;
  const int32_t longest = 1;
  memcpy(file.bytes, &longest, 4);
  file.size = 4;
  for (int i = 0; i < 10; i++) add(&file, "x", 0);
  assert_int_equal(read_it(&file, 10, &t, &error), PTO_OK);
  assert_int_equal(pto_tokenizer_encode(&t, "y", false, false, &tokens, &count, error.sentence, sizeof error.sentence),
                   PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "no token for byte 0x20"));
  pto_tokenizer_fini(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_best_pair_is_joined_first),
      cmocka_unit_test(test_characters_without_a_piece_become_bytes),
      cmocka_unit_test(test_an_empty_text_has_no_tokens_and_marks_are_added_where_asked_for),
      cmocka_unit_test(test_decoding_strips_the_space_after_bos_and_knows_bytes),
      cmocka_unit_test(test_what_is_encoded_decodes_to_the_same_text),
      cmocka_unit_test(test_files_that_are_none_are_refused_with_the_token),
      cmocka_unit_test(test_a_byte_without_a_token_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
