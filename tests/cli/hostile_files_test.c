/* SPDX-License-Identifier: MIT */
/*
 * The worst files of 1 MB of each format of models and tensors, tried as tests/support/hostile_file.h says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <formats/llm/gguf.h>
#include <formats/npy.h>
#include <formats/safetensors.h>
#include <formats/llm/language_model.h>
#include <formats/llm/tokenizer.h>
#include <runtime/base/base.h>
#include <tests/support/hostile_file.h>

enum { FILE_BYTES = HOSTILE_FILE_BYTES };

static struct pto_gguf_bytes file;

/* ---- JSON ---- */

static void put_text(const char *text) { pto_gguf_put(&file, text, strlen(text)); }
static bool has_room(uint64_t bytes) { return file.size + bytes <= FILE_BYTES; }

/* The header's length, behind which the header is put. */
static void begin_header(void) {
  file.size = 0;
  pto_gguf_put_u64(&file, FILE_BYTES - 8);
  put_text("{");
}
static void put_spaces(void) {
  while (has_room(1)) put_text(" ");
}
static void end_header(void) {
  put_text("}");
  put_spaces();
}

static void deep_arrays(void) {
  begin_header();
  put_text("\"x\":");
  while (has_room(1)) put_text("[");
}
static void deep_objects(void) {
  begin_header();
  while (has_room(5)) put_text("\"\":{");
  put_spaces();
}
static void empty_objects(void) {
  begin_header();
  put_text("\"x\":[{}");
  while (has_room(6)) put_text(",{}");
  put_text("]");
  end_header();
}
static void long_shape(void) {
  begin_header();
  put_text("\"x\":{\"dtype\":\"U8\",\"data_offsets\":[0,0],\"shape\":[1");
  while (has_room(6)) put_text(",1");
  put_text("]}");
  end_header();
}
static void long_number(void) {
  begin_header();
  put_text("\"x\":1");
  while (has_room(4)) put_text("7");
  end_header();
}
static void long_real(void) {
  begin_header();
  put_text("\"x\":1.");
  while (has_room(8)) put_text("7");
  put_text("e-9");
  end_header();
}
static void long_name(void) {
  begin_header();
  put_text("\"");
  while (has_room(12)) put_text("\\u0001");
  put_text("\":1");
  end_header();
}

/* Entries from a format with a number in it. */
static void put_entries(const char *format) {
  char text[128];
  begin_header();
  for (unsigned i = 0; has_room(128); i++) {
    snprintf(text, sizeof text, format, i);
    put_text(i ? "," : "");
    put_text(text);
  }
}
static void empty_tensors(void) {
  put_entries("\"%x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}");
  end_header();
}
static void overlapping_tensors(void) {
  put_entries("\"%x\":{\"dtype\":\"Q\",\"shape\":[1],\"data_offsets\":[0,1]}");
  put_text("}");
  const uint64_t length = file.size - 8; /* and one byte of data */
  memcpy(file.data, &length, sizeof length);
  put_text("x");
}
static void short_keys(void) {
  put_entries("\"%x\":1");
  end_header();
}
static void much_metadata(void) {
  begin_header();
  put_text("\"__metadata__\":{\"x\":\"\"");
  for (unsigned i = 0; has_room(32); i++) {
    char text[32];
    snprintf(text, sizeof text, ",\"%x\":\"\"", i);
    put_text(text);
  }
  put_text("}");
  end_header();
}

/* ---- GGUF ---- */

static void begin_gguf(uint64_t tensor_count, uint64_t key_count) {
  file.size = 0;
  pto_gguf_put_head(&file, 3, tensor_count, key_count);
}
static void fill(void) {
  while (has_room(1)) pto_gguf_put(&file, "", 1);
}

static void put_tensors(const char *format, uint64_t elems, uint32_t type) {
  enum { COUNT = 25000 };
  char name[32];
  begin_gguf(COUNT, 0);
  for (unsigned i = 0; i < COUNT; i++) {
    snprintf(name, sizeof name, format, i % 20000);
    pto_gguf_put_tensor(&file, name, 1, &elems, type, 0);
  }
  fill();
}
static void gguf_empty_tensors(void) { put_tensors("%x", 0, PTO_GGUF_F32); }
static void gguf_overlapping_tensors(void) { put_tensors("%05x", 8, PTO_GGUF_F32); }
static void gguf_unknown_tensors(void) { put_tensors("%05x", 8, 77); }
static void gguf_keys(void) {
  enum { COUNT = 50000 };
  char name[32];
  begin_gguf(0, COUNT);
  for (unsigned i = 0; i < COUNT; i++) {
    snprintf(name, sizeof name, "%x", i * 2654435761u);
    pto_gguf_put_key(&file, name, PTO_GGUF_VALUE_BOOL);
    pto_gguf_put(&file, "", 1);
  }
  fill();
}
static void gguf_empty_arrays(void) {
  begin_gguf(0, 1);
  pto_gguf_put_key_array(&file, "x", PTO_GGUF_VALUE_ARRAY, (FILE_BYTES - 100) / 12);
  fill();
}
static void gguf_deep_arrays(void) {
  begin_gguf(0, 1);
  pto_gguf_put_key_array(&file, "x", PTO_GGUF_VALUE_ARRAY, 1);
  while (has_room(12)) {
    pto_gguf_put_u32(&file, PTO_GGUF_VALUE_ARRAY);
    pto_gguf_put_u64(&file, 1);
  }
  fill();
}
static void gguf_empty_strings(void) {
  begin_gguf(0, 1);
  pto_gguf_put_key_array(&file, "x", PTO_GGUF_VALUE_STRING, (FILE_BYTES - 100) / 8);
  fill();
}
static void gguf_huge_counts(void) {
  begin_gguf(UINT64_MAX, UINT64_MAX);
  fill();
}
static void gguf_as_many_as_there_could_be(void) {
  begin_gguf((FILE_BYTES - 24) / 24, (FILE_BYTES - 24) / 13);
  fill();
}

/* ---- tokenizers and models ---- */

enum {
  EMPTY_TOKENS = (FILE_BYTES - 4) / 8,
  SAME_TOKENS = (FILE_BYTES - 4) / (8 + PTO_TOKEN_MAX_BYTES),
  GGUF_TOKENS = 60000
};

static void empty_tokens(void) {
  file.size = 0;
  fill();
}
static void same_tokens(void) {
  char piece[PTO_TOKEN_MAX_BYTES];
  memset(piece, 'x', sizeof piece);
  file.size = 0;
  pto_gguf_put_u32(&file, sizeof piece);
  for (uint32_t i = 0; i < SAME_TOKENS; i++) {
    pto_gguf_put_u32(&file, 0);
    pto_gguf_put_u32(&file, sizeof piece);
    pto_gguf_put(&file, piece, sizeof piece);
  }
}
static void gguf_tokens(void) {
  begin_gguf(0, 3);
  pto_gguf_put_key_string(&file, "tokenizer.ggml.model", "llama");
  pto_gguf_put_key_array(&file, "tokenizer.ggml.scores", PTO_GGUF_VALUE_F32, GGUF_TOKENS);
  for (uint32_t i = 0; i < GGUF_TOKENS; i++) pto_gguf_put_u32(&file, 0);
  pto_gguf_put_key_array(&file, "tokenizer.ggml.tokens", PTO_GGUF_VALUE_STRING, GGUF_TOKENS);
  for (uint32_t i = 0; i < GGUF_TOKENS; i++) pto_gguf_put_string(&file, i % 2 ? "x" : "y");
}
static void largest_checkpoint(void) {
  const int32_t header[] = {1 << 20, 1 << 20, 4096, 2, 1, 1 << 24, 1 << 24};
  file.size = 0;
  pto_gguf_put(&file, header, sizeof header);
  fill();
}
static void smallest_checkpoint(void) {
  const int32_t header[] = {2, 1, 4096, 1, 1, 1, 1};
  file.size = 0;
  pto_gguf_put(&file, header, sizeof header);
  fill();
}
static void most_layers(void) {
  static const char *const ones[] = {"llama.embedding_length", "llama.feed_forward_length",
                                     "llama.attention.head_count", "llama.context_length"};
  begin_gguf(0, 3 + PTO_ARRAY_LENGTH(ones));
  pto_gguf_put_key_string(&file, "general.architecture", "llama");
  pto_gguf_put_key_f32(&file, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(ones); i++) pto_gguf_put_key_u32(&file, ones[i], 2);
  pto_gguf_put_key_u32(&file, "llama.block_count", INT32_MAX);
  fill();
}
static void npy_header(void) {
  file.size = 0;
  pto_gguf_put(&file, "\x93NUMPY\2\0", 8);
  pto_gguf_put_u32(&file, FILE_BYTES - 12);
  put_text("{'descr': '<f4', 'fortran_order': False, 'shape': (");
  while (has_room(2)) put_text("1,");
  fill();
}

/* ---- reading ---- */

static int read_safetensors(const char *path, char *sentence, size_t size) {
  struct pto_safetensors list;
  struct pto_error error;
  int status = pto_safetensors_init(&list, path, &error);
  if (status)
    snprintf(sentence, size, "%s", error.sentence);
  else
    pto_safetensors_fini(&list);
  return status;
}

static int read_gguf(const char *path, char *sentence, size_t size) {
  struct pto_gguf gguf;
  struct pto_error error;
  int status = pto_gguf_init(&gguf, path, &error);
  if (status)
    snprintf(sentence, size, "%s", error.sentence);
  else
    pto_gguf_fini(&gguf);
  return status;
}

static int read_npy(const char *path, char *sentence, size_t size) {
  struct pto_npy npy = {0};
  struct pto_error error;
  int status = pto_npy_read(path, &npy, &error);
  if (status) snprintf(sentence, size, "%s", error.sentence);
  pto_npy_fini(&npy);
  return status;
}

static int read_model(const char *path, char *sentence, size_t size) {
  struct pto_language_model model;
  int status = pto_language_model_read(&model, path, sentence, size);
  if (!status) pto_language_model_fini(&model);
  return status;
}

static int read_tokens(const char *path, uint32_t count, char *sentence, size_t size) {
  struct pto_tokenizer tokenizer;
  int status = pto_tokenizer_read(&tokenizer, path, count, sentence, size);
  if (!status) pto_tokenizer_fini(&tokenizer);
  return status;
}
static int read_empty_tokens(const char *path, char *sentence, size_t size) {
  return read_tokens(path, EMPTY_TOKENS, sentence, size);
}
static int read_same_tokens(const char *path, char *sentence, size_t size) {
  return read_tokens(path, SAME_TOKENS, sentence, size);
}
static int read_gguf_tokens(const char *path, char *sentence, size_t size) {
  return read_tokens(path, GGUF_TOKENS, sentence, size);
}

static const struct hostile_file files[] = {
    {"deep arrays", deep_arrays, read_safetensors, PTO_EINVAL, "maximum parsing depth"},
    {"deep objects", deep_objects, read_safetensors, PTO_EINVAL, "maximum parsing depth"},
    {"empty objects", empty_objects, read_safetensors, PTO_EINVAL, "tensor \"x\": is no object"},
    {"long shape", long_shape, read_safetensors, PTO_EINVAL, "\"shape\" has 5"},
    {"long number", long_number, read_safetensors, PTO_EINVAL, "too big integer"},
    {"long real", long_real, read_safetensors, PTO_EINVAL, "tensor \"x\": is no object"},
    {"long name", long_name, read_safetensors, PTO_EINVAL, "is no object"},
    {"empty tensors", empty_tensors, read_safetensors, PTO_OK, NULL},
    {"empty tensors as a model", empty_tensors, read_model, PTO_EINVAL, "there is no config.json beside it"},
    {"overlapping tensors", overlapping_tensors, read_safetensors, PTO_EINVAL, "begin at 0, before"},
    {"short keys", short_keys, read_safetensors, PTO_EINVAL, "tensor \"0\": is no object"},
    {"much metadata", much_metadata, read_safetensors, PTO_OK, NULL},
    {"gguf: empty tensors", gguf_empty_tensors, read_gguf, PTO_EINVAL, "it is there twice"},
    {"gguf: overlapping tensors", gguf_overlapping_tensors, read_gguf, PTO_EINVAL, "it begins at offset 0, before"},
    {"gguf: unknown tensors", gguf_unknown_tensors, read_gguf, PTO_EINVAL, "it is there twice"},
    {"gguf: keys", gguf_keys, read_gguf, PTO_OK, NULL},
    {"gguf: keys as a model", gguf_keys, read_model, PTO_EINVAL, "there is no key \"general.architecture\""},
    {"gguf: empty arrays", gguf_empty_arrays, read_gguf, PTO_OK, NULL},
    {"gguf: deep arrays", gguf_deep_arrays, read_gguf, PTO_EINVAL, "more than 4 deep"},
    {"gguf: empty strings", gguf_empty_strings, read_gguf, PTO_OK, NULL},
    {"gguf: huge counts", gguf_huge_counts, read_gguf, PTO_EINVAL, "18446744073709551615 tensors, at most"},
    {"gguf: as many as there could be", gguf_as_many_as_there_could_be, read_gguf, PTO_EINVAL, "a key of 0 bytes"},
    {"empty tokens", empty_tokens, read_empty_tokens, PTO_EINVAL, "bytes follow token"},
    {"same tokens", same_tokens, read_same_tokens, PTO_OK, NULL},
    {"gguf: tokens", gguf_tokens, read_gguf_tokens, PTO_OK, NULL},
    {"largest checkpoint", largest_checkpoint, read_model, PTO_EINVAL, "the file is cut"},
    {"smallest checkpoint", smallest_checkpoint, read_model, PTO_EINVAL, "bytes follow the last weight"},
    {"gguf: most layers", most_layers, read_model, PTO_EINVAL, "n_layers is 2147483647, not 1 to 4096"},
    {"npy header", npy_header, read_npy, PTO_EINVAL, ""},
};

static void test_the_worst_files_cost_no_more_than_their_size(void **state) {
  hostile_files_try(files, PTO_ARRAY_LENGTH(files), &file);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_worst_files_cost_no_more_than_their_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
