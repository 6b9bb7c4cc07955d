/* SPDX-License-Identifier: MIT */
/* What tests/device/model_files_test.c does not have: what is refused. */
#include <formats/llm/model_reader.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <formats/llm/gguf.h>
#include <runtime/base/base.h>
#include <tests/support/random_model.h>
#include <tests/support/temporary_path.h>

static const struct pto_language_model sizes = {.dim = 64,
                                                .hidden_dim = 32,
                                                .layer_count = 2,
                                                .head_count = 4,
                                                .kv_head_count = 2,
                                                .vocab_size = 10,
                                                .sequence_length = 8,
                                                .rope_base = 10000.0f,
                                                .norm_epsilon = 1e-6f};
static char folder[TEMPORARY_PATH_BYTES], path[TEMPORARY_PATH_BYTES + 128], sentence[1024];
static unsigned char bytes[1 << 18];
static size_t size;

/* A good model, in `bytes`. */
static void make(enum pto_model_file_kind kind) {
  struct pto_random_model random;
  pto_random_model_init(&random, &sizes, true, 5);
  pto_random_model_write(&random, folder, kind, false);
  pto_random_model_fini(&random);
  snprintf(path, sizeof path, "%s/%s", folder, pto_model_file_name(kind));
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_true(size < sizeof bytes);
}

/* Where a text ends in the file. */
static unsigned char *behind(const char *text) {
  unsigned char *at = memmem(bytes, size, text, strlen(text));
  assert_non_null(at);
  return at + strlen(text);
}

static void rename_to(const char *from, const char *to) {
  assert_int_equal(strlen(from), strlen(to));
  memcpy(behind(from) - strlen(from), to, strlen(to));
}

/* The value of a u32 or f32 key. */
static void set_key(const char *key, const void *value) { memcpy(behind(key) + 4, value, 4); }
static void set_u32(const char *key, uint32_t value) { set_key(key, &value); }
static void set_f32(const char *key, float value) { set_key(key, &value); }

static void set_tensor_type(const char *name, uint32_t ndims, uint32_t type) {
  memcpy(behind(name) + 4 + ndims * sizeof(uint64_t), &type, sizeof type);
}

static void refused(const char *part) {
  struct pto_language_model model;
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
  assert_int_equal(pto_language_model_read(&model, path, sentence, sizeof sentence), PTO_EINVAL);
  if (!strstr(sentence, part)) fail_msg("\"%s\" does not say \"%s\"", sentence, part);
  assert_non_null(strstr(sentence, path));
  assert_null(model.layers);
}

static void test_keys_that_are_missing_or_wrong_are_refused_by_name(void **state) {
  static const struct {
    const char *from, *to, *part;
  } names[] = {
      {"general.architecture", "general.architecturr", "there is no key \"general.architecture\""},
      {"llama.embedding_length", "llama.embedding_lengtH", "there is no key \"llama.embedding_length\""},
      {"llama.feed_forward_length", "llama.feed_forward_lengtH", "there is no key \"llama.feed_forward_length\""},
      {"llama.block_count", "llama.block_counT", "there is no key \"llama.block_count\""},
      {"llama.context_length", "llama.context_lengtH", "there is no key \"llama.context_length\""},
      {"layer_norm_rms_epsilon", "layer_norm_rms_epsiloN",
       "there is no key \"llama.attention.layer_norm_rms_epsilon\""},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(names); i++) {
    make(PTO_MODEL_FILE_GGUF_F32);
    rename_to(names[i].from, names[i].to);
    refused(names[i].part);
  }
  static const struct {
    const char *key;
    uint32_t value;
    const char *part;
  } values[] = {
      {"llama.embedding_length", 0, "dim is 0"},
      {"llama.embedding_length", 3000000000u, "\"llama.embedding_length\" is 3000000000, at most 2147483647 is read"},
      {"llama.attention.head_count", 3, "dim 64 in 3 heads"},
      {"llama.rope.dimension_count", 8, "\"llama.rope.dimension_count\" is 8, only 16 is read"},
  };
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(values); i++) {
    make(PTO_MODEL_FILE_GGUF_F32);
    set_u32(values[i].key, values[i].value);
    refused(values[i].part);
  }
  make(PTO_MODEL_FILE_GGUF_F32);
  set_f32("llama.rope.freq_base", 0.0f);
  refused("rotations have base 0");
}

static void test_other_kinds_of_models_are_refused(void **state) {
  make(PTO_MODEL_FILE_GGUF_F32);
  memcpy(behind("general.architecture") + 4 + 8, "qwen3", 5);
  refused("\"general.architecture\" is \"qwen3\", only \"llama\" is read");
  make(PTO_MODEL_FILE_GGUF_F32);
  rename_to("llama.rope.dimension_count", "llama.attention.key_length");
  set_u32("llama.attention.key_length", 32);
  refused("\"llama.attention.key_length\" is 32, only 16 is read");
  make(PTO_MODEL_FILE_GGUF_F32);
  set_u32("llama.block_count", 1);
  refused("tensor \"blk.1.attn_k.weight\" is none of a Llama model with these sizes");
}

static void test_tensors_have_to_be_those_of_the_sizes(void **state) {
  make(PTO_MODEL_FILE_GGUF_F32);
  set_u32("llama.block_count", 3);
  refused("there is no tensor \"blk.2.attn_q.weight\"");
  make(PTO_MODEL_FILE_GGUF_F32);
  set_u32("llama.feed_forward_length", 64);
  refused("tensor \"blk.0.ffn_gate.weight\" of rank 2 is [32, 64], the sizes ask for [64, 64]");
  make(PTO_MODEL_FILE_GGUF_F32);
  rename_to("output_norm.weight", "output_norm.weighT");
  refused("there is no tensor \"output_norm.weight\"");
}

static void test_weight_formats_that_are_not_read_are_refused(void **state) {
  make(PTO_MODEL_FILE_GGUF_F32);
  set_tensor_type("blk.0.attn_q.weight", 2, PTO_GGUF_I32);
  refused("tensor \"blk.0.attn_q.weight\" is of I32; F32, F16, BF16 and Q8_0 are read");
  set_tensor_type("blk.0.attn_q.weight", 2, PTO_GGUF_Q4_0);
  refused("is of Q4_0");
  set_tensor_type("blk.0.attn_q.weight", 2, 99);
  refused("tensor \"blk.0.attn_q.weight\" is of type 99");
  make(PTO_MODEL_FILE_GGUF_F32);
  set_tensor_type("blk.0.attn_norm.weight", 1, PTO_GGUF_Q8_0);
  refused("tensor \"blk.0.attn_norm.weight\" is a norm in q8_0");
}

static void test_a_file_cut_anywhere_is_refused(void **state) {
  make(PTO_MODEL_FILE_GGUF_Q8_0);
  struct pto_language_model model;
  for (size_t cut = size; cut-- > 0; cut -= cut > 2000 ? 97 : 0) {
    assert_int_equal(truncate(path, (off_t)cut), 0);
    /* What pads the last tensor may be missing. */
    if (pto_language_model_read(&model, path, sentence, sizeof sentence) == PTO_OK) {
      assert_true(size - cut < 32);
      pto_language_model_fini(&model);
    }
  }
}

static int make_folder(void **state) {
  temporary_template(folder, "llama_gguf");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  static const enum pto_model_file_kind kinds[] = {PTO_MODEL_FILE_GGUF_F32, PTO_MODEL_FILE_GGUF_Q8_0};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(kinds); i++) {
    snprintf(path, sizeof path, "%s/%s", folder, pto_model_file_name(kinds[i]));
    unlink(path);
  }
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_keys_that_are_missing_or_wrong_are_refused_by_name),
      cmocka_unit_test(test_other_kinds_of_models_are_refused),
      cmocka_unit_test(test_tensors_have_to_be_those_of_the_sizes),
      cmocka_unit_test(test_weight_formats_that_are_not_read_are_refused),
      cmocka_unit_test(test_a_file_cut_anywhere_is_refused),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
