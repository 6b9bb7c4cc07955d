/* SPDX-License-Identifier: MIT */
/*
 * What must hold of a model that was read from any file: every weight lies in the file and can be read.
 */
#ifndef PTO_FUZZ_MODEL_H
#define PTO_FUZZ_MODEL_H

#include <tests/fuzz/fuzz_file.h>

#include <formats/llm/language_model.h>

static inline float fuzz_model_matrix(const struct pto_language_model *model, const struct pto_model_matrix *matrix) {
  const uint64_t count = matrix->rows * matrix->columns;
  const unsigned char *bytes = matrix->data, *end = model->file.data + model->file.size_bytes;
  const uint64_t size = matrix->format == PTO_WEIGHT_F32    ? count * sizeof(float)
                        : matrix->format == PTO_WEIGHT_Q8_0 ? count / 32 * 34
                                                            : count * sizeof(uint16_t);
  FUZZ_HOLDS(count && bytes >= model->file.data && bytes <= end && size <= (uint64_t)(end - bytes));
  FUZZ_HOLDS(matrix->format <= PTO_WEIGHT_BF16 && (matrix->format != PTO_WEIGHT_Q8_0 || matrix->columns % 32 == 0));
  if (matrix->format == PTO_WEIGHT_F32)
    return ((const float *)matrix->data)[0] + ((const float *)matrix->data)[count - 1];
  return (float)((const uint16_t *)matrix->data)[0] + (float)bytes[size - 1];
}

static inline void fuzz_model_use(const struct pto_language_model *model) {
  float sum = 0;
  for (uint32_t i = 0; i < model->layer_count; i++) {
    const struct pto_model_layer *l = &model->layers[i];
    const struct pto_model_matrix *const matrices[] = {&l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down};
    for (size_t m = 0; m < sizeof matrices / sizeof matrices[0]; m++) sum += fuzz_model_matrix(model, matrices[m]);
    sum += l->attention_norm[model->dim - 1] + l->ffn_norm[model->dim - 1];
  }
  sum += fuzz_model_matrix(model, &model->embedding) + fuzz_model_matrix(model, &model->classifier);
  sum += model->final_norm[model->dim - 1];
  if (sum == -1.5e30f) puts("an odd sum"); /* so that the reads are made */
}

#endif
