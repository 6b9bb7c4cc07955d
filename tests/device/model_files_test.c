/* SPDX-License-Identifier: MIT */
/*
 * One random model, written in every format that is read: each file gives the same sizes, the same weights (exactly
 * where they are f32, to the rounding of the format otherwise), and logits of the plain decoder that follow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <bench/support/plain_decoder.h>
#include <tests/support/random_model.h>
#include <tests/support/temporary_path.h>

enum { POSITIONS = 12, SENTENCE = 512 };

static const struct pto_language_model sizes = {.dim = 64,
                                                .hidden_dim = 96,
                                                .layer_count = 3,
                                                .head_count = 4,
                                                .kv_head_count = 2,
                                                .vocab_size = 270,
                                                .sequence_length = POSITIONS,
                                                .rope_base = 10000.0f,
                                                .norm_epsilon = 1e-5f};
/* In no file of llama2.c. */
static const float other_base = 500000.0f, other_epsilon = 1e-6f;

static char folder[TEMPORARY_PATH_BYTES];

static void open_file(struct pto_language_model *model, enum pto_model_file_kind kind) {
  char path[TEMPORARY_PATH_BYTES + 128], sentence[SENTENCE];
  snprintf(path, sizeof path, "%s/%s", folder, pto_model_file_name(kind));
  if (pto_language_model_read(model, path, sentence, sizeof sentence)) fail_msg("%s", sentence);
}

/* The largest difference that rounding makes to `x` beside others of at most `most` in a block. */
static double rounding_of(uint32_t format, double x, double most) {
  switch (format) {
  case PTO_WEIGHT_F16:
    return fabs(x) * 0x1p-11 + 0x1p-25;
  case PTO_WEIGHT_BF16:
    return fabs(x) * 0x1p-8 + 0x1p-134;
  case PTO_WEIGHT_Q8_0: /* half a step, and 127 steps of a scale that is rounded to f16 */
    return most / 127 * 0.5 + most * 0x1p-11 + 0x1p-20;
  default:
    return 0;
  }
}

/* Row `r` of the random model as `style` has it. */
static uint64_t row_in(uint32_t style, uint64_t r, uint32_t width) {
  if (style == PTO_ROPE_NEIGHBOURS) return r;
  const uint64_t in_head = r % width;
  return r - in_head + in_head / 2 + in_head % 2 * (width / 2);
}

static void same_matrix(const struct pto_model_matrix *wanted, const struct pto_model_matrix *found, uint32_t format,
                        uint32_t style, uint32_t width) {
  assert_int_equal(found->format, format);
  assert_true(found->rows == wanted->rows && found->columns == wanted->columns);
  const float *numbers = wanted->data;
  for (uint64_t r = 0; r < wanted->rows; r++)
    for (uint64_t c = 0; c < wanted->columns; c++) {
      double x = numbers[r * wanted->columns + c], most = 0;
      for (uint64_t i = c / 32 * 32; i < c / 32 * 32 + 32; i++)
        most = fmax(most, fabs(numbers[r * wanted->columns + i]));
      const double y = pto_random_model_weight(found, row_in(style, r, width) * wanted->columns + c);
      if (fabs(x - y) > rounding_of(format, x, most)) fail_msg("[%d, %d] is %g, not %g", (int)r, (int)c, y, x);
    }
}

static void same_norm(const float *wanted, const float *found, uint32_t format) {
  for (uint32_t i = 0; i < sizes.dim; i++)
    if (fabs(wanted[i] - found[i]) > (format == PTO_WEIGHT_Q8_0 ? 0 : rounding_of(format, wanted[i], 0)))
      fail_msg("norm %u is %g, not %g", i, found[i], wanted[i]);
}

static void same_model(const struct pto_language_model *wanted, const struct pto_language_model *found,
                       enum pto_model_file_kind kind) {
  const uint32_t format = pto_model_file_format(kind), width = pto_model_head_width(wanted), style = found->rope_style;
  const uint32_t norms = strstr(pto_model_file_name(kind), "gguf") ? PTO_WEIGHT_F32 : format; /* as they are written */
  assert_memory_equal(&wanted->dim, &found->dim, 7 * sizeof wanted->dim);
  assert_true(wanted->rope_base == found->rope_base && wanted->norm_epsilon == found->norm_epsilon);
  assert_int_equal(style, strstr(pto_model_file_name(kind), "safetensors") ? PTO_ROPE_HALVES : PTO_ROPE_NEIGHBOURS);
  same_matrix(&wanted->embedding, &found->embedding, format, 0, width);
  same_matrix(&wanted->classifier, &found->classifier, format, 0, width);
  same_norm(wanted->final_norm, found->final_norm, norms);
  for (uint32_t i = 0; i < wanted->layer_count; i++) {
    const struct pto_model_layer *a = &wanted->layers[i], *b = &found->layers[i];
    same_norm(a->attention_norm, b->attention_norm, norms);
    same_norm(a->ffn_norm, b->ffn_norm, norms);
    same_matrix(&a->q, &b->q, format, style, width);
    same_matrix(&a->k, &b->k, format, style, width);
    same_matrix(&a->v, &b->v, format, 0, width);
    same_matrix(&a->o, &b->o, format, 0, width);
    same_matrix(&a->gate, &b->gate, format, 0, width);
    same_matrix(&a->up, &b->up, format, 0, width);
    same_matrix(&a->down, &b->down, format, 0, width);
  }
}

/* Of all positions, one after the other. */
static float *decode(const struct pto_language_model *model) {
  struct pto_plain_decoder decoder;
  float *logits = calloc((size_t)POSITIONS * model->vocab_size, sizeof *logits);
  assert_non_null(logits);
  assert_true(pto_plain_decoder_init(&decoder, model));
  for (uint32_t p = 0; p < POSITIONS; p++)
    memcpy(logits + (size_t)p * model->vocab_size,
           pto_plain_decoder_step(&decoder, (p * 37 + 1) % model->vocab_size, p), model->vocab_size * sizeof *logits);
  pto_plain_decoder_fini(&decoder);
  return logits;
}

/* The distance of two vectors, by the length of the first. */
static double distance(const float *a, const float *b, uint64_t n) {
  double apart = 0, all = 0;
  for (uint64_t i = 0; i < n; i++) {
    apart += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    all += (double)a[i] * (double)a[i];
  }
  return sqrt(apart / all);
}

/* Bits that a format keeps say how far logits may be off: 2^-24, 2^-11, 2^-8 and a step in 254 of the largest of a
 * block, times what three layers make of it.  f32 is exact, but where pairs turn in another place: sums of products of
 * q and k are then added in another order. */
static double tolerance_of(uint32_t format) {
  return format == PTO_WEIGHT_F32 ? 1e-5 : format == PTO_WEIGHT_F16 ? 4e-3 : 4e-2;
}

static void every_file_is_the_same_model(bool has_classifier) {
  for (int kind = 0; kind < PTO_MODEL_FILE_KIND_COUNT; kind++) {
    struct pto_random_model random;
    struct pto_language_model model, these = sizes;
    if (kind != PTO_MODEL_FILE_LLAMA2C) {
      these.rope_base = other_base;
      these.norm_epsilon = other_epsilon;
    }
    pto_random_model_init(&random, &these, has_classifier, 11);
    pto_random_model_write(&random, folder, (enum pto_model_file_kind)kind, has_classifier);
    open_file(&model, (enum pto_model_file_kind)kind);
    assert_true((model.classifier.data == model.embedding.data) == !has_classifier);
    same_model(&random.model, &model, (enum pto_model_file_kind)kind);
    float *wanted = decode(&random.model), *found = decode(&model);
    const double off = distance(wanted, found, (uint64_t)POSITIONS * sizes.vocab_size);
    print_message("%s: logits %.3g off\n", pto_model_file_name((enum pto_model_file_kind)kind), off);
    if (!(off <= tolerance_of(pto_model_file_format((enum pto_model_file_kind)kind)))) fail_msg("too far");
    if (model.rope_style == PTO_ROPE_NEIGHBOURS && model.embedding.format == PTO_WEIGHT_F32) assert_true(off == 0);
    free(wanted);
    free(found);
    pto_language_model_fini(&model);
    pto_random_model_fini(&random);
  }
}

static void test_every_format_gives_the_same_model(void **state) { every_file_is_the_same_model(true); }
static void test_every_format_knows_embeddings_that_serve_as_classifier(void **state) {
  every_file_is_the_same_model(false);
}

static int make_folder(void **state) {
  temporary_template(folder, "model_files");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  char path[TEMPORARY_PATH_BYTES + 128];
  for (int kind = 0; kind < PTO_MODEL_FILE_KIND_COUNT; kind++) {
    snprintf(path, sizeof path, "%s/%s", folder, pto_model_file_name((enum pto_model_file_kind)kind));
    unlink(path);
  }
  snprintf(path, sizeof path, "%s/config.json", folder);
  unlink(path);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_format_gives_the_same_model),
      cmocka_unit_test(test_every_format_knows_embeddings_that_serve_as_classifier),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
