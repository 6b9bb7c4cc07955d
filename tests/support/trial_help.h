/* SPDX-License-Identifier: MIT */
/*
 * What tests and benches want of a trial (check/trial/trial.h) besides: another layout of the same elements, the state
 * before a run, and words for a case.  Owns nothing.  One thread.
 */
#ifndef PTO_TESTS_SUPPORT_TRIAL_HELP_H
#define PTO_TESTS_SUPPORT_TRIAL_HELP_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <check/trial/trial.h>
#include <runtime/base/text.h>

/* The address of element `index` in row-major order, of a dtype of whole bytes. */
static inline char *pto_trial_addr(const struct pto_trial_tensor *tensor, uint64_t index) {
  uint64_t at = 0;
  for (uint32_t d = tensor->t.ndims; d-- > 0; index /= tensor->shape[d])
    at += index % tensor->shape[d] * tensor->strides[d];
  return (char *)tensor->t.addr + at * pto_dtype_size(tensor->t.dtype);
}

/* Whether element `index` of both, tensors of one dtype, has the same bits; a NaN is any NaN. */
static inline bool pto_trial_same_element(const struct pto_trial_tensor *a, const struct pto_trial_tensor *b,
                                          uint64_t index) {
  if (pto_reference_bits(&a->t, index) == pto_reference_bits(&b->t, index)) return true;
  return pto_trial_is_float(a->t.dtype) && isnan(pto_reference_element(&a->t, index)) &&
         isnan(pto_reference_element(&b->t, index));
}

/* The elements of `from` as they are, in contiguous tensors. */
static inline int pto_trial_make_contiguous(struct pto_trial *trial, const struct pto_trial *from) {
  pto_trial_fini(trial);
  memcpy(trial->scalars, from->scalars, sizeof trial->scalars);
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    const struct pto_trial_tensor *source = &from->tensors[i];
    struct pto_reference_shape shape = {.ndims = source->t.ndims};
    memcpy(shape.shape, source->shape, sizeof shape.shape);
    const int status =
        pto_trial_tensor_init(&trial->tensors[i], source->t.dtype, &shape, PTO_LAYOUT_CONTIGUOUS, true, NULL);
    if (status != PTO_OK) return status;
    trial->views[i] = trial->tensors[i].t;
    for (uint64_t j = 0; j < pto_trial_numel(source); j++)
      pto_reference_set_whole(&trial->views[i], j, pto_reference_bits(&source->t, j));
  }
  return PTO_OK;
}

/* Tensors as they were at pto_trial_expect, or at the keep of each. */
static inline void pto_trial_restore(struct pto_trial *trial) {
  for (uint32_t i = 0; i < trial->args.tensor_count; i++)
    memcpy(trial->tensors[i].memory, trial->tensors[i].before, trial->tensors[i].memory_bytes + 1);
}

/* "exp, stepped, f32[3,5] fp16[3,5], seed 7".  Truncates to `size`. */
static inline void pto_trial_describe(const struct pto_trial *trial, const struct pto_trial_case *c, char *text,
                                      size_t size) {
  snprintf(text, size, "%s, %s,", trial->kernel->name, pto_layout_name(c->layout));
  for (uint32_t i = 0; i < trial->args.tensor_count; i++) {
    pto_text_append(text, size, " %s[", pto_dtype_name(c->dtypes[i]));
    pto_text_append_numbers(text, size, ",", c->shapes[i].shape, c->shapes[i].ndims);
    pto_text_append(text, size, "]");
  }
  pto_text_append(text, size, ", seed %" PRIu64, c->seed);
}

#endif
