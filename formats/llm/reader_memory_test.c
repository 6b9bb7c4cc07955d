/* SPDX-License-Identifier: MIT */
/*
 * The readers of models and tensors, and the writer, where memory is refused: each allocation fails once, and nothing
 * is left behind.
 */
#include <formats/safetensors.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <formats/llm/gguf.h>
#include <formats/llm/language_model.h>
#include <formats/llm/tokenizer.h>
#include <tests/support/failing_malloc.h>
#include <tests/support/random_model.h>
#include <tests/support/temporary_path.h>

#define MOST_FAILURES 10000

/* ---- what is tried ---- */

static const struct pto_language_model sizes = {.dim = 32,
                                                .hidden_dim = 32,
                                                .layer_count = 2,
                                                .head_count = 2,
                                                .kv_head_count = 1,
                                                .vocab_size = 262,
                                                .sequence_length = 8,
                                                .rope_base = 10000.0f,
                                                .norm_epsilon = 1e-5f};
static char folder[TEMPORARY_PATH_BYTES], sentence[1024];

static const char *path_of(enum pto_model_file_kind kind) {
  static char path[TEMPORARY_PATH_BYTES + 128];
  snprintf(path, sizeof path, "%s/%s", folder, pto_model_file_name(kind));
  return path;
}

static int read_model(enum pto_model_file_kind kind) {
  struct pto_language_model model;
  int status = pto_language_model_read(&model, path_of(kind), sentence, sizeof sentence);
  if (!status) pto_language_model_fini(&model);
  return status;
}
static int read_llama2c(void) { return read_model(PTO_MODEL_FILE_LLAMA2C); }
static int read_safetensors_model(void) { return read_model(PTO_MODEL_FILE_SAFETENSORS_F32); }
static int read_gguf_model(void) { return read_model(PTO_MODEL_FILE_GGUF_F32); }

static int tell(int status, const struct pto_error *error) {
  if (status) snprintf(sentence, sizeof sentence, "%s", error->sentence);
  return status;
}

static int read_safetensors(void) {
  struct pto_safetensors list;
  struct pto_error error;
  int status = pto_safetensors_init(&list, path_of(PTO_MODEL_FILE_SAFETENSORS_F32), &error);
  if (!status) pto_safetensors_fini(&list);
  return tell(status, &error);
}

static int read_gguf(void) {
  struct pto_gguf gguf;
  struct pto_error error;
  int status = pto_gguf_init(&gguf, path_of(PTO_MODEL_FILE_GGUF_F32), &error);
  if (!status) pto_gguf_fini(&gguf);
  return tell(status, &error);
}

static int read_tokenizer(void) {
  struct pto_tokenizer tokenizer;
  int status =
      pto_tokenizer_read(&tokenizer, path_of(PTO_MODEL_FILE_GGUF_F32), sizes.vocab_size, sentence, sizeof sentence);
  if (!status) pto_tokenizer_fini(&tokenizer);
  return status;
}

static int write_safetensors(void) {
  static const float number = 1;
  const struct pto_safetensors_tensor tensors[] = {
      {.name = "a", .dtype = PTO_FLOAT32, .ndims = 1, .shape = {1}, .data = &number},
      {.name = "b", .dtype = PTO_FLOAT32, .ndims = 0, .data = &number},
  };
  char path[TEMPORARY_PATH_BYTES + 128];
  struct pto_error error;
  snprintf(path, sizeof path, "%s/written", folder);
  int status = pto_safetensors_write(path, tensors, 2, &error);
  unlink(path);
  return tell(status, &error);
}

static void each_refusal_is_an_error(int (*try_it)(void), uint32_t least) {
  for (uint32_t n = 1; n < MOST_FAILURES; n++) {
    const int64_t before = live_blocks;
    sentence[0] = '\0';
    fail_countdown = n;
    const int status = try_it();
    const uint32_t left = fail_countdown;
    fail_countdown = 0;
    assert_int_equal(live_blocks, before);
    if (status) assert_true(sentence[0] != '\0');
    if (left == 0 || !PTO_HAS_FAILING_MALLOC) continue;
    assert_int_equal(status, PTO_OK);
    assert_true(n > least);
    return;
  }
  if (PTO_HAS_FAILING_MALLOC) fail_msg("no end after %d refusals", MOST_FAILURES);
}

static void test_every_allocation_of_the_readers_may_be_refused(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  each_refusal_is_an_error(read_llama2c, 1);
  each_refusal_is_an_error(read_gguf_model, 4);
  each_refusal_is_an_error(read_safetensors_model, 100);
  each_refusal_is_an_error(read_gguf, 2);
  each_refusal_is_an_error(read_safetensors, 100);
  each_refusal_is_an_error(read_tokenizer, 4);
}

static void test_every_allocation_of_the_writer_may_be_refused(void **state) {
  if (!PTO_HAS_FAILING_MALLOC) skip();
  each_refusal_is_an_error(write_safetensors, 10);
}

static int make_files(void **state) {
  struct pto_random_model random;
  temporary_template(folder, "reader_memory");
  if (!mkdtemp(folder)) return -1;
  pto_random_model_init(&random, &sizes, true, 3);
  pto_random_model_write(&random, folder, PTO_MODEL_FILE_LLAMA2C, false);
  pto_random_model_write(&random, folder, PTO_MODEL_FILE_SAFETENSORS_F32, false);
  pto_random_model_write(&random, folder, PTO_MODEL_FILE_GGUF_F32, true);
  pto_random_model_fini(&random);
  return 0;
}

static int remove_files(void **state) {
  char config[TEMPORARY_PATH_BYTES + 128];
  unlink(path_of(PTO_MODEL_FILE_LLAMA2C));
  unlink(path_of(PTO_MODEL_FILE_SAFETENSORS_F32));
  unlink(path_of(PTO_MODEL_FILE_GGUF_F32));
  snprintf(config, sizeof config, "%s/config.json", folder);
  unlink(config);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_allocation_of_the_readers_may_be_refused),
      cmocka_unit_test(test_every_allocation_of_the_writer_may_be_refused),
  };
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
