/* SPDX-License-Identifier: MIT */
#include <formats/llm/tokenizer_reader.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <tests/support/gguf_bytes.h>
#include <tests/support/temporary_path.h>

/* Marks in another order than llama2.c's, bytes at the end, then one token that is not used. */
static const struct {
  const char *piece;
  float score;
} words[] = {{" ", 0}, {"a", 0}, {"b", 0}, {"c", 0}, {"é", 0}, {"ab", -1}, {"bc", -2}, {"abc", -5}, {" a", -3}};
enum { WORDS = PTO_ARRAY_LENGTH(words), END_OF_TEXT = WORDS, BEGIN_OF_TEXT, UNKNOWN, FIRST_BYTE };
enum { UNUSED = FIRST_BYTE + 256, VOCAB };
enum { SPACE, A, B, C, E_ACUTE, AB, BC, ABC, SPACE_A };

/* What a test makes different. */
struct change {
  const char *model, *last_piece;
  uint32_t token_count, score_count, type_count;
  uint32_t bos;
  int32_t last_type;
  float last_score;
  bool has_types, has_prefix;
};
static const struct change usual = {.model = "llama",
                                    .last_piece = "aba",
                                    .token_count = VOCAB,
                                    .score_count = VOCAB,
                                    .type_count = VOCAB,
                                    .bos = BEGIN_OF_TEXT,
                                    .last_type = 5,
                                    .has_types = true,
                                    .has_prefix = true};
static struct pto_gguf_bytes file;
static struct pto_error error;

static void put_piece(uint32_t token, const struct change *change) {
  static const char *const marks[] = {"</s>", "<s>", "<unk>"};
  char text[32], *to = text;
  if (token >= FIRST_BYTE) {
    snprintf(text, sizeof text, "<0x%02X>", token - FIRST_BYTE);
    pto_gguf_put_string(&file, token == UNUSED ? change->last_piece : text);
    return;
  }
  for (const char *from = token < WORDS ? words[token].piece : marks[token - WORDS]; *from; from++)
    to += sprintf(to, *from == ' ' ? "\xe2\x96\x81" : "%c", *from);
  pto_gguf_put_string(&file, text);
}

static void make(const struct change *change) {
  file.size = 0;
  pto_gguf_put_head(&file, 3, 0, 6 + change->has_types);
  pto_gguf_put_key_string(&file, "tokenizer.ggml.model", change->model);
  pto_gguf_put_key_u32(&file, "tokenizer.ggml.bos_token_id", change->bos);
  pto_gguf_put_key_u32(&file, "tokenizer.ggml.eos_token_id", END_OF_TEXT);
  pto_gguf_put_key(&file, "tokenizer.ggml.add_space_prefix", PTO_GGUF_VALUE_BOOL);
  pto_gguf_put(&file, change->has_prefix ? "\1" : "\0", 1);
  pto_gguf_put_key_array(&file, "tokenizer.ggml.tokens", PTO_GGUF_VALUE_STRING, change->token_count);
  for (uint32_t i = 0; i < change->token_count; i++) put_piece(i, change);
  pto_gguf_put_key_array(&file, "tokenizer.ggml.scores", PTO_GGUF_VALUE_F32, change->score_count);
  for (uint32_t i = 0; i < change->score_count; i++)
    pto_gguf_put(&file, i < WORDS ? &words[i].score : i == UNUSED ? &change->last_score : &(float){0}, sizeof(float));
  if (!change->has_types) return;
  pto_gguf_put_key_array(&file, "tokenizer.ggml.token_type", PTO_GGUF_VALUE_I32, change->type_count);
  for (uint32_t i = 0; i < change->type_count; i++)
    pto_gguf_put_u32(&file, i < WORDS      ? 1
                            : i < UNKNOWN  ? 3
                            : i == UNKNOWN ? 2
                            : i == UNUSED  ? (uint32_t)change->last_type
                                           : 6);
}

static int read_it(uint32_t vocab_size, struct pto_tokenizer *tokenizer) {
  char path[TEMPORARY_PATH_BYTES];
  temporary_path(path, "tokenizer_gguf_test");
  FILE *stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(file.data, 1, file.size, stream), file.size);
  fclose(stream);
  int status = pto_tokenizer_read(tokenizer, path, vocab_size, error.sentence, sizeof error.sentence);
  if (status) assert_non_null(strstr(error.sentence, path));
  unlink(path);
  return status;
}

static void open_it(const struct change *change, struct pto_tokenizer *tokenizer) {
  make(change);
  if (read_it(VOCAB, tokenizer)) fail_msg("%s", error.sentence);
}

static void gives(const struct pto_tokenizer *tokenizer, const char *text, const uint32_t *wanted, uint32_t count) {
  uint32_t *tokens, found;
  if (pto_tokenizer_encode(tokenizer, text, true, true, &tokens, &found, error.sentence, sizeof error.sentence))
    fail_msg("%s", error.sentence);
  assert_int_equal(found, count);
  assert_memory_equal(tokens, wanted, count * sizeof *tokens);
  free(tokens);
}
#define GIVES(tokenizer, text, ...)                                                                                    \
  gives(tokenizer, text, (const uint32_t[]){__VA_ARGS__}, PTO_ARRAY_LENGTH(((const uint32_t[]){__VA_ARGS__})))

static void test_marks_and_bytes_are_those_of_the_file(void **state) {
  struct pto_tokenizer t;
  open_it(&usual, &t);
  assert_true(t.bos_token == BEGIN_OF_TEXT && t.eos_token == END_OF_TEXT);
  GIVES(&t, "", BEGIN_OF_TEXT, END_OF_TEXT);
  GIVES(&t, "abc", BEGIN_OF_TEXT, SPACE, ABC, END_OF_TEXT);
  GIVES(&t, "a", BEGIN_OF_TEXT, SPACE_A, END_OF_TEXT);
  GIVES(&t, "é", BEGIN_OF_TEXT, SPACE, E_ACUTE, END_OF_TEXT);
  GIVES(&t, "ü", BEGIN_OF_TEXT, SPACE, FIRST_BYTE + 0xc3, FIRST_BYTE + 0xbc, END_OF_TEXT);
  pto_tokenizer_fini(&t);
}

static void test_of_two_tokens_of_a_byte_the_first_is_taken(void **state) {
  struct pto_tokenizer t;
  struct change change = usual;
  change.last_piece = "<0x41>";
  change.last_type = 6;
  open_it(&change, &t);
  GIVES(&t, "A", BEGIN_OF_TEXT, SPACE, FIRST_BYTE + 'A', END_OF_TEXT);
  pto_tokenizer_fini(&t);
}

static void test_a_file_may_want_no_space_in_front(void **state) {
  struct pto_tokenizer t;
  struct change change = usual;
  uint32_t length;
  change.has_prefix = false;
  open_it(&change, &t);
  GIVES(&t, "abc", BEGIN_OF_TEXT, ABC, END_OF_TEXT);
  assert_memory_equal(pto_tokenizer_decode(&t, BEGIN_OF_TEXT, SPACE_A, &length), " a", 3);
  pto_tokenizer_fini(&t);
}

/* Their names in a text are letters like others: no text can put them in. */
static void test_no_text_gives_marks_or_unused_tokens(void **state) {
  struct pto_tokenizer t;
  struct change change = usual;
  open_it(&usual, &t);
  GIVES(&t, "aba", BEGIN_OF_TEXT, SPACE, AB, A, END_OF_TEXT);
  pto_tokenizer_fini(&t);
  change.last_type = 1;
  open_it(&change, &t);
  GIVES(&t, "aba", BEGIN_OF_TEXT, SPACE, UNUSED, END_OF_TEXT);
  pto_tokenizer_fini(&t);
  change.last_piece = "<";
  open_it(&change, &t);
  GIVES(&t, "<s", BEGIN_OF_TEXT, SPACE, UNUSED, FIRST_BYTE + 's', END_OF_TEXT);
  pto_tokenizer_fini(&t);
}

static void decodes(const struct pto_tokenizer *t, uint32_t previous, uint32_t token, const char *wanted) {
  uint32_t length;
  const char *piece = pto_tokenizer_decode(t, previous, token, &length);
  assert_int_equal(length, strlen(wanted));
  assert_memory_equal(piece, wanted, length);
}

static void test_marks_decode_to_nothing_and_bytes_to_themselves(void **state) {
  struct pto_tokenizer t;
  open_it(&usual, &t);
  decodes(&t, A, BEGIN_OF_TEXT, "");
  decodes(&t, A, END_OF_TEXT, "");
  decodes(&t, A, FIRST_BYTE + 0xc3, "\xc3");
  decodes(&t, A, SPACE_A, " a");
  decodes(&t, BEGIN_OF_TEXT, SPACE_A, "a");
  pto_tokenizer_fini(&t);
}

static void test_without_types_bytes_are_known_by_their_looks(void **state) {
  struct pto_tokenizer t;
  struct change change = usual;
  change.has_types = false;
  open_it(&change, &t);
  GIVES(&t, "ü", BEGIN_OF_TEXT, SPACE, FIRST_BYTE + 0xc3, FIRST_BYTE + 0xbc, END_OF_TEXT);
  pto_tokenizer_fini(&t);
}

static void refused(const struct change *change, const char *part) {
  struct pto_tokenizer t;
  make(change);
  assert_int_equal(read_it(VOCAB, &t), PTO_EINVAL);
  if (!strstr(error.sentence, part)) fail_msg("\"%s\" does not say \"%s\"", error.sentence, part);
  assert_null(t.pieces);
}

static void test_what_cannot_be_is_refused_with_the_token_or_key(void **state) {
  struct change change = usual;
#define WITH(field, value) (change = usual, change.field = (value), &change)
  refused(WITH(model, "gpt2"), "\"tokenizer.ggml.model\" is \"gpt2\": only \"llama\"");
  refused(WITH(token_count, VOCAB - 1), "\"tokenizer.ggml.tokens\" has 268 items, the model has 269 tokens");
  refused(WITH(score_count, 0), "\"tokenizer.ggml.scores\" has 0 items");
  refused(WITH(type_count, VOCAB + 1), "\"tokenizer.ggml.token_type\" has 270 items");
  refused(WITH(bos, VOCAB), "\"tokenizer.ggml.bos_token_id\" is 269, there are 269 tokens");
  refused(WITH(last_type, 0), "token 268 is of type 0, not 1 to 6");
  refused(WITH(last_type, 6), "token 268 is a byte, but its piece");
  refused(WITH(last_score, NAN), "the score of token 268 is not a number");
  char text[PTO_TOKEN_MAX_BYTES + 2];
  memset(text, 'x', sizeof text);
  text[sizeof text - 1] = '\0';
  refused(WITH(last_piece, text), "token 268 has 513 bytes");
}

static void test_a_file_without_a_tokenizer_is_refused(void **state) {
  struct pto_tokenizer t;
  file.size = 0;
  pto_gguf_put_head(&file, 3, 0, 0);
  assert_int_equal(read_it(VOCAB, &t), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "there is no key \"tokenizer.ggml.model\": it has no tokenizer"));
  make(&usual);
  assert_int_equal(read_it(0, &t), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "0 tokens"));
  file.size -= 1;
  assert_int_equal(read_it(VOCAB, &t), PTO_EINVAL);
  assert_non_null(strstr(error.sentence, "the file is cut"));
}

static int free_file(void **state) {
  pto_gguf_bytes_fini(&file);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_marks_and_bytes_are_those_of_the_file),
      cmocka_unit_test(test_of_two_tokens_of_a_byte_the_first_is_taken),
      cmocka_unit_test(test_a_file_may_want_no_space_in_front),
      cmocka_unit_test(test_no_text_gives_marks_or_unused_tokens),
      cmocka_unit_test(test_marks_decode_to_nothing_and_bytes_to_themselves),
      cmocka_unit_test(test_without_types_bytes_are_known_by_their_looks),
      cmocka_unit_test(test_what_cannot_be_is_refused_with_the_token_or_key),
      cmocka_unit_test(test_a_file_without_a_tokenizer_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, free_file);
}
