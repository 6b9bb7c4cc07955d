/* SPDX-License-Identifier: MIT */
#include <formats/llm/language_model.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <runtime/base/base.h>
#include <runtime/base/error.h>
#include <tests/support/temporary_path.h>

/* dim 8 in 2 heads of 4, 1 of them with keys and values; hidden 6, 2 layers, 5 tokens, 3 positions. */
enum { DIM = 8, HIDDEN = 6, LAYERS = 2, HEADS = 2, KV_HEADS = 1, VOCAB = 5, POSITIONS = 3, KV_DIM = 4 };
enum {
  LAYER_FLOATS = 2 * DIM + 2 * DIM * DIM + 2 * KV_DIM * DIM + 3 * HIDDEN * DIM,
  SHARED_FLOATS = VOCAB * DIM + LAYERS * LAYER_FLOATS + DIM + POSITIONS * 4,
  MOST_BYTES = 28 + (SHARED_FLOATS + VOCAB * DIM) * 4 + 64
};

struct file {
  char path[TEMPORARY_PATH_BYTES];
  unsigned char bytes[MOST_BYTES];
  size_t size;
};

/* Weight i of the file is the number i. */
static void make(struct file *file, bool has_classifier) {
  const int32_t header[7] = {DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, has_classifier ? -VOCAB : VOCAB, POSITIONS};
  const uint32_t count = SHARED_FLOATS + (has_classifier ? VOCAB * DIM : 0);
  memcpy(file->bytes, header, sizeof header);
  for (uint32_t i = 0; i < count; i++) {
    const float x = (float)i;
    memcpy(file->bytes + sizeof header + i * sizeof x, &x, sizeof x);
  }
  file->size = sizeof header + count * sizeof(float);
}

static void store(struct file *file) {
  temporary_path(file->path, "model_test");
  FILE *stream = fopen(file->path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(file->bytes, 1, file->size, stream), file->size);
  fclose(stream);
}

static void refused(struct file *file, int wanted, const char *part) {
  struct pto_language_model model;
  struct pto_error error = {0};
  store(file);
  assert_int_equal(pto_language_model_read(&model, file->path, error.sentence, sizeof error.sentence), wanted);
  if (!strstr(error.sentence, part)) fail_msg("\"%s\" does not say \"%s\"", error.sentence, part);
  assert_non_null(strstr(error.sentence, file->path));
  assert_null(model.layers);
  unlink(file->path);
}

static float first_of(const struct pto_model_matrix *matrix) { return *(const float *)matrix->data; }

static void test_weights_are_where_the_format_has_them(void **state) {
  static struct file file;
  struct pto_language_model m;
  struct pto_error error;
  make(&file, false);
  store(&file);
  if (pto_language_model_read(&m, file.path, error.sentence, sizeof error.sentence)) fail_msg("%s", error.sentence);
  assert_int_equal(m.dim, DIM);
  assert_int_equal(m.sequence_length, POSITIONS);
  assert_int_equal(pto_model_head_width(&m), 4);
  assert_int_equal(pto_model_kv_dim(&m), KV_DIM);
  assert_ptr_equal(m.classifier.data, m.embedding.data);
  uint32_t at = VOCAB * DIM; /* each kind for both layers in a row */
  const struct pto_model_layer *l = &m.layers[1];
  assert_float_equal(l->attention_norm[0], at + DIM, 0);
  assert_float_equal(first_of(&l->q), (at += LAYERS * DIM) + DIM * DIM, 0);
  assert_float_equal(first_of(&l->k), (at += LAYERS * DIM * DIM) + KV_DIM * DIM, 0);
  assert_float_equal(first_of(&l->v), (at += LAYERS * KV_DIM * DIM) + KV_DIM * DIM, 0);
  assert_float_equal(first_of(&l->o), (at += LAYERS * KV_DIM * DIM) + DIM * DIM, 0);
  assert_float_equal(l->ffn_norm[0], (at += LAYERS * DIM * DIM) + DIM, 0);
  assert_float_equal(first_of(&l->gate), (at += LAYERS * DIM) + HIDDEN * DIM, 0);
  assert_float_equal(first_of(&l->down), (at += LAYERS * HIDDEN * DIM) + HIDDEN * DIM, 0);
  assert_float_equal(first_of(&l->up), (at += LAYERS * HIDDEN * DIM) + HIDDEN * DIM, 0);
  assert_float_equal(m.final_norm[0], (at += LAYERS * HIDDEN * DIM), 0);
  assert_int_equal(l->down.rows, DIM);
  assert_int_equal(l->down.columns, HIDDEN);
  pto_language_model_fini(&m);
  unlink(file.path);
}

static void test_a_negative_vocabulary_means_a_classifier_of_its_own(void **state) {
  static struct file file;
  struct pto_language_model m;
  struct pto_error error;
  make(&file, true);
  store(&file);
  if (pto_language_model_read(&m, file.path, error.sentence, sizeof error.sentence)) fail_msg("%s", error.sentence);
  assert_int_equal(m.vocab_size, VOCAB);
  assert_float_equal(first_of(&m.classifier), SHARED_FLOATS, 0);
  pto_language_model_fini(&m);
  unlink(file.path);
}

static void test_a_cut_or_oversized_file_is_refused_with_what_is_missing(void **state) {
  static struct file file;
  make(&file, false);
  file.size -= 4;
  refused(&file, PTO_EINVAL, "is cut: its sizes ask for 4 bytes more");
  file.size += 8;
  refused(&file, PTO_EINVAL, "4 bytes follow the last weight");
  file.size = 27;
  refused(&file, PTO_EINVAL, "27 bytes are no checkpoint");
  file.size = 0;
  refused(&file, PTO_EINVAL, "0 bytes are no checkpoint");
}

static void test_sizes_that_cannot_be_are_refused_by_name(void **state) {
  static const struct {
    int at;
    int32_t value;
    const char *part;
  } cases[] = {{0, 0, "dim is 0"},
               {0, -8, "dim is -8"},
               {1, 1 << 30, "hidden_dim is 1073741824"},
               {2, 5000, "n_layers is 5000"},
               {3, 3, "dim 8 in 3 heads"},
               {3, 8, "width of a head"},
               {4, 3, "2 heads cannot share 3"},
               {5, 0, "vocab_size is 0"},
               {5, INT32_MIN, "vocab_size is"},
               {6, -1, "seq_len is -1"}};
  static struct file file;
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(cases); i++) {
    make(&file, false);
    memcpy(file.bytes + 4 * cases[i].at, &cases[i].value, 4);
    refused(&file, PTO_EINVAL, cases[i].part);
  }
}

static void test_sizes_whose_weights_would_not_fit_into_64_bits_are_refused(void **state) {
  static struct file file;
  const int32_t header[7] = {1 << 20, 1 << 20, 4096, 2, 1, 1 << 24, 1 << 24};
  make(&file, false);
  memcpy(file.bytes, header, sizeof header);
  refused(&file, PTO_EINVAL, "is cut");
}

static void test_a_file_that_is_not_there_is_said(void **state) {
  struct pto_language_model model;
  struct pto_error error;
  assert_int_equal(pto_language_model_read(&model, "no/such/model", error.sentence, sizeof error.sentence),
                   PTO_ESYSTEM);
  assert_non_null(strstr(error.sentence, "no/such/model: No such file"));
  assert_int_equal(pto_language_model_read(&model, "/", error.sentence, sizeof error.sentence), PTO_ESYSTEM);
}

static void test_a_pipe_is_refused_and_not_waited_for(void **state) {
  struct pto_language_model model;
  struct pto_error error;
  char path[TEMPORARY_PATH_BYTES];
  temporary_path(path, "model_test_pipe");
  assert_int_equal(mkfifo(path, 0600), 0);
  assert_int_equal(pto_language_model_read(&model, path, error.sentence, sizeof error.sentence), PTO_ESYSTEM);
  assert_non_null(strstr(error.sentence, path));
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_weights_are_where_the_format_has_them),
      cmocka_unit_test(test_a_negative_vocabulary_means_a_classifier_of_its_own),
      cmocka_unit_test(test_a_cut_or_oversized_file_is_refused_with_what_is_missing),
      cmocka_unit_test(test_sizes_that_cannot_be_are_refused_by_name),
      cmocka_unit_test(test_sizes_whose_weights_would_not_fit_into_64_bits_are_refused),
      cmocka_unit_test(test_a_file_that_is_not_there_is_said),
      cmocka_unit_test(test_a_pipe_is_refused_and_not_waited_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
