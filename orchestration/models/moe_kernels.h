/* SPDX-License-Identifier: MIT */
/*
 * The kernels that moe brings along, all on AIV:
 *
 *   choose    p f32[rows, experts] → chosen i32[rows, k], weights f32[rows, k]
 *   dispatch  chosen i32[tokens, k] → load i32[experts], slots i32[experts, tokens], places i32[tokens, k]
 *   combine   chosen, weights, places [rows, k], y f32[experts, tokens, dim] → out f32[rows, dim]
 *
 * Their orders are fixed: equal probabilities choose the lower expert, tokens keep their order within an expert, and a
 * token's answers are added in ascending order of experts.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_MODELS_MOE_KERNELS_H
#define PTO_ORCHESTRATION_MODELS_MOE_KERNELS_H

#include <orchestration/support/kernel.h>

static inline float *moe_f32_at(const struct pto_kernel_tensor *t, uint64_t i, uint64_t j) {
  return (float *)t->addr + i * t->strides[0] + j * t->strides[1];
}
static inline int32_t *moe_i32_at(const struct pto_kernel_tensor *t, uint64_t i, uint64_t j) {
  return (int32_t *)t->addr + i * t->strides[0] + j * t->strides[1];
}

/* choose: of each row of p the experts of the k largest, in ascending order, and their shares.  The order of ranks is
 * (larger p, lower expert), so each rank is the first behind the one before. */
static inline int moe_choose_row(const struct pto_kernel_args *args, uint64_t row) {
  const struct pto_kernel_tensor *p = &args->tensors[0], *chosen = &args->tensors[1], *weights = &args->tensors[2];
  uint64_t experts = p->shape[1], k = chosen->shape[1];
  uint64_t before = experts;
  float sum = 0;
  for (uint64_t rank = 0; rank < k; rank++) {
    uint64_t best = experts;
    for (uint64_t e = 0; e < experts; e++) {
      float candidate = *moe_f32_at(p, row, e);
      bool is_behind = before == experts || candidate < *moe_f32_at(p, row, before) ||
                       (candidate == *moe_f32_at(p, row, before) && e > before);
      if (is_behind && candidate >= 0 && (best == experts || candidate > *moe_f32_at(p, row, best))) best = e;
    }
    if (best == experts)
      return pto_kernel_error(args, "choose: row %llu has fewer than %llu probabilities", (unsigned long long)row,
                              (unsigned long long)k);
    uint64_t at = rank;
    for (; at > 0 && *moe_i32_at(chosen, row, at - 1) > (int32_t)best; at--)
      *moe_i32_at(chosen, row, at) = *moe_i32_at(chosen, row, at - 1);
    *moe_i32_at(chosen, row, at) = (int32_t)best;
    before = best;
  }
  for (uint64_t j = 0; j < k; j++) sum += *moe_f32_at(p, row, (uint64_t)*moe_i32_at(chosen, row, j));
  for (uint64_t j = 0; j < k; j++)
    *moe_f32_at(weights, row, j) = *moe_f32_at(p, row, (uint64_t)*moe_i32_at(chosen, row, j)) / sum;
  return 0;
}
static inline int moe_run_choose(const struct pto_kernel_args *args) {
  int status = 0;
  for (uint64_t row = 0; status == 0 && row < args->tensors[0].shape[0]; row++) status = moe_choose_row(args, row);
  return status;
}
static inline struct pto_cost moe_choose_cost(const struct pto_kernel_args *args) {
  const uint64_t *p = args->tensors[0].shape, k = args->tensors[1].shape[1];
  return (struct pto_cost){
      .bytes_in = p[0] * p[1] * 4, .bytes_out = p[0] * k * 8, .vector_elems = p[0] * (p[1] + 1) * k};
}
static const struct pto_kernel_param moe_choose_params[] = {
    TENSOR("p", PTO_INPUT, F32, 2), TENSOR("chosen", PTO_OUTPUT, I32, 2), TENSOR("weights", PTO_OUTPUT, F32, 2)};
KERNEL(moe_choose, moe_choose_params, .name = "choose", .cores = PTO_AIV, .run = moe_run_choose,
       .cost = moe_choose_cost);

/* dispatch: token t is the places[t, j]-th of expert e = chosen[t, j]:  slots[e, places[t, j]] = t.  What lies behind
 * the load[e] tokens of an expert is 0, a token too: a tile that is not full works on it for nothing. */
static inline int moe_run_dispatch(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *chosen = &args->tensors[0], *load = &args->tensors[1], *slots = &args->tensors[2];
  const struct pto_kernel_tensor *places = &args->tensors[3];
  int32_t *count = load->addr;
  for (uint64_t e = 0; e < load->shape[0]; e++) {
    count[e * load->strides[0]] = 0;
    for (uint64_t i = 0; i < slots->shape[1]; i++) *moe_i32_at(slots, e, i) = 0;
  }
  for (uint64_t t = 0; t < chosen->shape[0]; t++) {
    for (uint64_t j = 0; j < chosen->shape[1]; j++) {
      uint64_t e = (uint64_t)*moe_i32_at(chosen, t, j);
      int32_t place = count[e * load->strides[0]]++;
      *moe_i32_at(slots, e, (uint64_t)place) = (int32_t)t;
      *moe_i32_at(places, t, j) = place;
    }
  }
  return 0;
}
static inline struct pto_cost moe_dispatch_cost(const struct pto_kernel_args *args) {
  const uint64_t *chosen = args->tensors[0].shape, *slots = args->tensors[2].shape;
  uint64_t choices = chosen[0] * chosen[1], written = slots[0] * (slots[1] + 1) + choices;
  return (struct pto_cost){.bytes_in = choices * 4, .bytes_out = written * 4, .vector_elems = written + 3 * choices};
}
static const struct pto_kernel_param moe_dispatch_params[] = {
    TENSOR("chosen", PTO_INPUT, I32, 2), TENSOR("load", PTO_OUTPUT, I32, 1), TENSOR("slots", PTO_OUTPUT, I32, 2),
    TENSOR("places", PTO_OUTPUT, I32, 2)};
KERNEL(moe_dispatch, moe_dispatch_params, .name = "dispatch", .cores = PTO_AIV, .run = moe_run_dispatch,
       .cost = moe_dispatch_cost);

/* combine: out[t] = Σⱼ weights[t, j] · y[chosen[t, j], places[t, j]], in the order of j. */
static inline int moe_run_combine(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *chosen = &args->tensors[0], *weights = &args->tensors[1], *places = &args->tensors[2];
  const struct pto_kernel_tensor *y = &args->tensors[3], *out = &args->tensors[4];
  for (uint64_t t = 0; t < out->shape[0]; t++) {
    for (uint64_t i = 0; i < out->shape[1]; i++) *moe_f32_at(out, t, i) = 0;
    for (uint64_t j = 0; j < chosen->shape[1]; j++) {
      uint64_t e = (uint64_t)*moe_i32_at(chosen, t, j), place = (uint64_t)*moe_i32_at(places, t, j);
      const float *answer = (const float *)y->addr + e * y->strides[0] + place * y->strides[1];
      float weight = *moe_f32_at(weights, t, j);
      for (uint64_t i = 0; i < out->shape[1]; i++) *moe_f32_at(out, t, i) += weight * answer[i * y->strides[2]];
    }
  }
  return 0;
}
static inline struct pto_cost moe_combine_cost(const struct pto_kernel_args *args) {
  uint64_t choices = args->tensors[0].shape[0] * args->tensors[0].shape[1];
  uint64_t rows = args->tensors[4].shape[0], dim = args->tensors[4].shape[1];
  return (struct pto_cost){
      .bytes_in = choices * (3 + dim) * 4, .bytes_out = rows * dim * 4, .vector_elems = 2 * choices * dim};
}
static const struct pto_kernel_param moe_combine_params[] = {
    TENSOR("chosen", PTO_INPUT, I32, 2), TENSOR("weights", PTO_INPUT, F32, 2), TENSOR("places", PTO_INPUT, I32, 2),
    TENSOR("y", PTO_INPUT, F32, 3), TENSOR("out", PTO_OUTPUT, F32, 2)};
KERNEL(moe_combine, moe_combine_params, .name = "combine", .cores = PTO_AIV, .run = moe_run_combine,
       .cost = moe_combine_cost);

#endif
