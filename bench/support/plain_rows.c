/* SPDX-License-Identifier: MIT */
#include <bench/support/plain_rows.h>

#include <kernels/api/math.h>
#include <pto/tensor.h>

#include <math.h>

/* A row of `n` elements, `step` apart. */
typedef void plain_row(const float *x, const float *scale, const float *bias, float *y, uint64_t n, uint64_t step);

static void softmax_row(const float *x, const float *scale, const float *bias, float *y, uint64_t n, uint64_t step) {
  float largest = x[0], sum = 0;
  for (uint64_t i = 1; i < n; i++) largest = fmaxf(largest, x[i * step]);
  for (uint64_t i = 0; i < n; i++) {
    y[i * step] = expf(x[i * step] - largest);
    sum += y[i * step];
  }
  for (uint64_t i = 0; i < n; i++) y[i * step] /= sum;
}

static void layernorm_row(const float *x, const float *scale, const float *bias, float *y, uint64_t n, uint64_t step) {
  float mean = 0, variance = 0;
  for (uint64_t i = 0; i < n; i++) mean += x[i * step];
  mean /= (float)n;
  for (uint64_t i = 0; i < n; i++) variance += (x[i * step] - mean) * (x[i * step] - mean);
  const float factor = 1 / sqrtf(variance / (float)n + 1e-5f);
  for (uint64_t i = 0; i < n; i++) y[i * step] = (x[i * step] - mean) * factor * scale[i] + bias[i];
}

static void rmsnorm_row(const float *x, const float *scale, const float *bias, float *y, uint64_t n, uint64_t step) {
  float sum = 0;
  for (uint64_t i = 0; i < n; i++) sum += x[i * step] * x[i * step];
  const float factor = 1 / sqrtf(sum / (float)n + 1e-5f);
  for (uint64_t i = 0; i < n; i++) y[i * step] = x[i * step] * factor * scale[i];
}

static float load(const void *data, uint64_t i, uint32_t dtype) {
  return dtype == PTO_FLOAT16 ? f32_from_fp16(((const uint16_t *)data)[i]) : f32_from_bf16(((const uint16_t *)data)[i]);
}

/* By way of f32, where `row` is called on rows that are converted; in place, where that is what they are. */
static inline __attribute__((always_inline)) void run(const struct plain_rows *rows, plain_row *row) {
  float x[PLAIN_ROWS_LONGEST], scale[PLAIN_ROWS_LONGEST], bias[PLAIN_ROWS_LONGEST];
  if (rows->dtype == PTO_FLOAT32) {
    for (uint64_t j = 0; j < rows->count; j++)
      row((const float *)rows->x + j * rows->row_step, rows->scale, rows->bias, (float *)rows->y + j * rows->row_step,
          rows->length, rows->elem_step);
    return;
  }
  uint16_t *y = rows->y;
  for (uint64_t i = 0; i < rows->length; i++) {
    scale[i] = rows->scale == NULL ? 0 : load(rows->scale, i, rows->dtype);
    bias[i] = rows->bias == NULL ? 0 : load(rows->bias, i, rows->dtype);
  }
  for (uint64_t j = 0; j < rows->count; j++, y += rows->row_step) {
    for (uint64_t i = 0; i < rows->length; i++)
      x[i] = load(rows->x, j * rows->row_step + i * rows->elem_step, rows->dtype);
    row(x, scale, bias, x, rows->length, 1);
    for (uint64_t i = 0; i < rows->length; i++)
      y[i * rows->elem_step] = rows->dtype == PTO_FLOAT16 ? fp16_from_f32(x[i]) : bf16_from_f32(x[i]);
  }
}

void plain_softmax(const struct plain_rows *rows) { run(rows, softmax_row); }
void plain_layernorm(const struct plain_rows *rows) { run(rows, layernorm_row); }
void plain_rmsnorm(const struct plain_rows *rows) { run(rows, rmsnorm_row); }
