/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a model: read or refused with a sentence; every weight of what was read can be read.
 */
#include <tests/fuzz/fuzz_file.h>

#include <pto/language_model.h>
#include <runtime/base/error.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static float touch(const struct pto_model_matrix *matrix) {
  const float *weights = matrix->data;
  return weights[0] + weights[matrix->rows * matrix->columns - 1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_file file;
  struct pto_error error = {0};
  struct pto_language_model model;
  float sum = 0;
  fuzz_file_open(&file, data, size);
  int status = pto_language_model_read(&model, file.path, error.sentence, sizeof error.sentence);
  if (status == PTO_OK) {
    for (uint32_t i = 0; i < model.layer_count; i++) {
      const struct pto_model_layer *l = &model.layers[i];
      sum += touch(&l->q) + touch(&l->k) + touch(&l->v) + touch(&l->o) + touch(&l->gate) + touch(&l->up) +
             touch(&l->down) + l->attention_norm[model.dim - 1] + l->ffn_norm[model.dim - 1];
    }
    sum += touch(&model.embedding) + touch(&model.classifier) + model.final_norm[model.dim - 1];
    if (sum == -1.5e30f) puts("an odd sum"); /* so that the reads are made */
    pto_language_model_fini(&model);
  } else {
    FUZZ_HOLDS(error.sentence[0] != '\0');
  }
  fuzz_file_close(&file);
  return 0;
}
