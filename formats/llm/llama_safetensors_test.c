/* SPDX-License-Identifier: MIT */
/* What tests/device/model_files_test.c does not have: what is refused, and sizes without a config.json. */
#include <formats/llm/model_reader.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <formats/safetensors.h>
#include <pto/tensor.h>
#include <runtime/base/base.h>
#include <tests/support/random_model.h>
#include <tests/support/temporary_path.h>

static const struct pto_language_model sizes = {.dim = 16,
                                                .hidden_dim = 24,
                                                .layer_count = 2,
                                                .head_count = 4,
                                                .kv_head_count = 2,
                                                .vocab_size = 10,
                                                .sequence_length = 2048,
                                                .rope_base = 10000.0f,
                                                .norm_epsilon = 1e-6f};
static char folder[TEMPORARY_PATH_BYTES], weights[TEMPORARY_PATH_BYTES + 128], config[TEMPORARY_PATH_BYTES + 128],
    text[1024], sentence[1024];

static void put(const char *path, const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

static size_t get(const char *path, char *bytes, size_t size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  const size_t got = fread(bytes, 1, size, file);
  fclose(file);
  assert_true(got < size);
  bytes[got] = '\0';
  return got;
}

/* A good model with its config.json, which is in `text` too. */
static void make(void) {
  struct pto_random_model random;
  pto_random_model_init(&random, &sizes, true, 5);
  pto_random_model_write(&random, folder, PTO_MODEL_FILE_SAFETENSORS_F32, false);
  pto_random_model_fini(&random);
  get(config, text, sizeof text);
}

/* config.json with `to` for `from`. */
static void change_config(const char *from, const char *to) {
  char changed[2048];
  const char *at = strstr(text, from);
  assert_non_null(at);
  const int length = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  put(config, changed, (size_t)length);
}

static void refused(const char *part) {
  struct pto_language_model model;
  assert_int_equal(pto_language_model_read(&model, weights, sentence, sizeof sentence), PTO_EINVAL);
  if (!strstr(sentence, part)) fail_msg("\"%s\" does not say \"%s\"", sentence, part);
  assert_non_null(strstr(sentence, weights));
  assert_null(model.layers);
}

static void open_it(struct pto_language_model *model) {
  if (pto_language_model_read(model, weights, sentence, sizeof sentence)) fail_msg("%s", sentence);
}

static void test_what_a_config_asks_for_and_is_not_read_is_refused_by_key(void **state) {
  static const struct {
    const char *from, *to, *part;
  } cases[] = {
      {"\"model_type\": \"llama\"", "\"model_type\": \"qwen3\"",
       "config.json: \"model_type\" is \"qwen3\", only \"llama\""},
      {"\"silu\"", "\"gelu\"", "\"hidden_act\" is \"gelu\", only \"silu\""},
      {"\"hidden_size\": 16", "\"hidden_size\": \"16\"", "\"hidden_size\" holds no whole number"},
      {"\"hidden_size\": 16", "\"hidden_size\": -16", "\"hidden_size\" holds no whole number"},
      {"\"hidden_size\": 16, ", "", "\"hidden_size\" is missing"},
      {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 5000", "n_layers is 5000, not 1 to 4096"},
      {"\"num_attention_heads\": 4", "\"num_attention_heads\": 3", "dim 16 in 3 heads"},
      {"\"rope_scaling\": null", "\"rope_scaling\": {\"rope_type\": \"llama3\"}",
       "rope_scaling: \"rope_type\" is \"llama3\", only \"default\""},
      {"\"rope_scaling\": null", "\"rope_scaling\": {\"type\": \"linear\"}", "rope_scaling: \"type\" is \"linear\""},
      {"\"rope_scaling\": null", "\"rope_scaling\": {}", "rope_scaling: says neither"},
      {"\"rope_scaling\": null", "\"rope_scaling\": 7", "\"rope_scaling\" is no object"},
      {"\"rope_scaling\": null", "\"attention_bias\": true", "\"attention_bias\" is true, which is not read"},
      {"\"rope_scaling\": null", "\"mlp_bias\": true", "\"mlp_bias\" is true"},
      {"\"rope_scaling\": null", "\"head_dim\": 8", "\"head_dim\" 8 times 4 heads is not \"hidden_size\" 16"},
      {"\"rope_scaling\": null", "\"quantization_config\": {}", "quantised weights are not read"},
      {"\"rope_theta\": 10000", "\"rope_theta\": -1", "rotations have base -1"},
      {"\"rms_norm_eps\": ", "\"rms_norm_eps\": true, \"x\": ", "\"rms_norm_eps\" is no number"},
      {"\"rms_norm_eps\": ", "\"rms_norm_eps\": 2, \"x\": ", "the epsilon of norms is 2"},
      {"{", "", "config.json: line 1"},
  };
  make();
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    change_config(cases[i].from, cases[i].to);
    refused(cases[i].part);
  }
}

static void test_tensors_have_to_be_those_of_the_sizes(void **state) {
  make();
  change_config("\"hidden_size\": 16", "\"hidden_size\": 32");
  refused("tensor \"model.embed_tokens.weight\" of rank 2 is [10, 16], the sizes ask for [10, 32]");
  change_config("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3");
  refused("there is no tensor \"model.layers.2.self_attn.q_proj.weight\"");
  change_config("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1");
  refused("tensor \"model.layers.1.input_layernorm.weight\" is none of a Llama model with these sizes");
  change_config("\"num_key_value_heads\": 2", "\"num_key_value_heads\": 4");
  refused("tensor \"model.layers.0.self_attn.k_proj.weight\" of rank 2 is [8, 16], the sizes ask for [16, 16]");
}

static void test_a_classifier_beside_an_embedding_that_serves_is_left(void **state) {
  struct pto_language_model model;
  make();
  change_config("\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true");
  open_it(&model);
  assert_ptr_equal(model.classifier.data, model.embedding.data);
  pto_language_model_fini(&model);
}

static void test_keys_that_are_not_there_have_the_defaults_of_their_makers(void **state) {
  struct pto_language_model model;
  make();
  static const char few[] = "{\"hidden_size\":16,\"intermediate_size\":24,\"num_hidden_layers\":2,"
                            "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"vocab_size\":10,"
                            "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":5e5}}";
  put(config, few, strlen(few));
  open_it(&model);
  assert_int_equal(model.sequence_length, 2048);
  assert_true(model.rope_base == 5e5f && model.norm_epsilon == 1e-6f);
  assert_ptr_not_equal(model.classifier.data, model.embedding.data);
  pto_language_model_fini(&model);
}

/* Writes the file again, with the frequencies of the rotation as it has them. */
static void add_frequencies(uint32_t width, double base) {
  struct pto_safetensors list;
  struct pto_safetensors_tensor tensors[32];
  struct pto_error error;
  float frequencies[64];
  char again[TEMPORARY_PATH_BYTES + 136];
  for (uint32_t i = 0; i < width / 2; i++) frequencies[i] = (float)pow(base, -2.0 * i / width);
  snprintf(again, sizeof again, "%s.again", weights);
  assert_int_equal(pto_safetensors_init(&list, weights, &error), PTO_OK);
  assert_true(list.tensor_count < PTO_ARRAY_LENGTH(tensors));
  memcpy(tensors, list.tensors, list.tensor_count * sizeof *tensors);
  tensors[list.tensor_count] = (struct pto_safetensors_tensor){.name = "model.layers.0.self_attn.rotary_emb.inv_freq",
                                                               .dtype = PTO_FLOAT32,
                                                               .ndims = 1,
                                                               .shape = {width / 2},
                                                               .data = frequencies};
  assert_int_equal(pto_safetensors_write(again, tensors, list.tensor_count + 1, &error), PTO_OK);
  pto_safetensors_fini(&list);
  assert_int_equal(rename(again, weights), 0);
}

static void test_without_a_config_the_tensors_say_the_sizes_where_they_can(void **state) {
  struct pto_language_model model;
  make();
  unlink(config);
  refused("there is no config.json beside it, and no tensor \"model.layers.0.self_attn.rotary_emb.inv_freq\"");
  add_frequencies(4, 500000.0);
  open_it(&model);
  assert_memory_equal(&model.dim, &sizes.dim, 7 * sizeof sizes.dim);
  assert_true(model.rope_base == 500000.0f && model.norm_epsilon == 1e-6f);
  assert_int_equal(model.rope_style, PTO_ROPE_HALVES);
  pto_language_model_fini(&model);
  make();
  unlink(config);
  add_frequencies(32, 10000.0);
  refused("n_heads is 0, not 1 to");
}

static void test_weights_that_are_not_aligned_are_refused(void **state) {
  static char bytes[65536];
  uint64_t length;
  make();
  const size_t size = get(weights, bytes, sizeof bytes);
  memcpy(&length, bytes, sizeof length);
  memmove(bytes + 8 + length + 1, bytes + 8 + length, size - 8 - length);
  bytes[8 + length++] = ' ';
  memcpy(bytes, &length, sizeof length);
  put(weights, bytes, size + 1);
  refused("tensor \"model.embed_tokens.weight\" is not aligned to 4 bytes in the file");
}

static void test_dtypes_that_are_no_weights_are_refused(void **state) {
  static char bytes[65536];
  make();
  const size_t size = get(weights, bytes, sizeof bytes);
  static const struct {
    const char *dtype, *part;
  } cases[] = {{"I32", "is of I32; F32, F16 and BF16 are read"}, {"Q99", "is of Q99, which is none of our dtypes"}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    for (char *at = bytes + 8; (at = strstr(at, i ? cases[i - 1].dtype : "F32"));) memcpy(at, cases[i].dtype, 3);
    put(weights, bytes, size);
    refused(cases[i].part);
  }
}

static int make_folder(void **state) {
  temporary_template(folder, "llama_safetensors");
  if (!mkdtemp(folder)) return -1;
  snprintf(weights, sizeof weights, "%s/%s", folder, pto_model_file_name(PTO_MODEL_FILE_SAFETENSORS_F32));
  snprintf(config, sizeof config, "%s/config.json", folder);
  return 0;
}

static int remove_folder(void **state) {
  unlink(weights);
  unlink(config);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_a_config_asks_for_and_is_not_read_is_refused_by_key),
      cmocka_unit_test(test_tensors_have_to_be_those_of_the_sizes),
      cmocka_unit_test(test_a_classifier_beside_an_embedding_that_serves_is_left),
      cmocka_unit_test(test_keys_that_are_not_there_have_the_defaults_of_their_makers),
      cmocka_unit_test(test_without_a_config_the_tensors_say_the_sizes_where_they_can),
      cmocka_unit_test(test_weights_that_are_not_aligned_are_refused),
      cmocka_unit_test(test_dtypes_that_are_no_weights_are_refused),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
