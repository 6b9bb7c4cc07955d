/* SPDX-License-Identifier: MIT */
/*
 * The tasks of a mixture-of-experts layer on one chip: router, dispatch, experts behind predicates, combine.  What they
 * compute and how many there are: moe.c; the router's and the tokens' part: orchestration/support/moe.h.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_MODELS_MOE_TASKS_H
#define PTO_ORCHESTRATION_MODELS_MOE_TASKS_H

#include <orchestration/support/moe.h>

/* ---- kernels, all on AIV ----
 *
 *   choose    p f32[rows, experts] → chosen i32[rows, k], weights f32[rows, k]
 *   dispatch  chosen i32[tokens, k] → load i32[experts], slots i32[experts, tokens], places i32[tokens, k]
 *   combine   chosen, weights, places [rows, k], y f32[experts, tokens, dim] → out f32[rows, dim]
 *
 * Their orders are fixed: equal probabilities choose the lower expert, tokens keep their order within an expert, and a
 * token's answers are added in ascending order of experts.
 */

/* dispatch: token t is the places[t, j]-th of expert e = chosen[t, j]:  slots[e, places[t, j]] = t.  What lies behind
 * the load[e] tokens of an expert is 0, a token too: a tile that is not full works on it for nothing. */
static inline int run_dispatch(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *chosen = &args->tensors[0], *load = &args->tensors[1], *slots = &args->tensors[2];
  const struct pto_kernel_tensor *places = &args->tensors[3];
  int32_t *count = load->addr;
  for (uint64_t e = 0; e < load->shape[0]; e++) {
    count[e * load->strides[0]] = 0;
    for (uint64_t i = 0; i < slots->shape[1]; i++) *i32_at(slots, e, i) = 0;
  }
  for (uint64_t t = 0; t < chosen->shape[0]; t++) {
    for (uint64_t j = 0; j < chosen->shape[1]; j++) {
      uint64_t e = (uint64_t)*i32_at(chosen, t, j);
      int32_t place = count[e * load->strides[0]]++;
      *i32_at(slots, e, (uint64_t)place) = (int32_t)t;
      *i32_at(places, t, j) = place;
    }
  }
  return 0;
}
static inline struct pto_cost dispatch_cost(const struct pto_kernel_args *args) {
  const uint64_t *chosen = args->tensors[0].shape, *slots = args->tensors[2].shape;
  uint64_t choices = chosen[0] * chosen[1], written = slots[0] * (slots[1] + 1) + choices;
  return (struct pto_cost){.bytes_in = choices * 4, .bytes_out = written * 4, .vector_elems = written + 3 * choices};
}
static const struct pto_kernel_param dispatch_params[] = {
    TENSOR("chosen", PTO_INPUT, I32, 2), TENSOR("load", PTO_OUTPUT, I32, 1), TENSOR("slots", PTO_OUTPUT, I32, 2),
    TENSOR("places", PTO_OUTPUT, I32, 2)};
KERNEL(kernel_dispatch, dispatch_params, .name = "dispatch", .cores = PTO_AIV, .run = run_dispatch,
       .cost = dispatch_cost);

/* combine: out[t] = Σⱼ weights[t, j] · y[chosen[t, j], places[t, j]], in the order of j. */
static inline int run_combine(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *chosen = &args->tensors[0], *weights = &args->tensors[1], *places = &args->tensors[2];
  const struct pto_kernel_tensor *y = &args->tensors[3], *out = &args->tensors[4];
  for (uint64_t t = 0; t < out->shape[0]; t++) {
    for (uint64_t i = 0; i < out->shape[1]; i++) *f32_at(out, t, i) = 0;
    for (uint64_t j = 0; j < chosen->shape[1]; j++) {
      uint64_t e = (uint64_t)*i32_at(chosen, t, j), place = (uint64_t)*i32_at(places, t, j);
      const float *answer = (const float *)y->addr + e * y->strides[0] + place * y->strides[1];
      float weight = *f32_at(weights, t, j);
      for (uint64_t i = 0; i < out->shape[1]; i++) *f32_at(out, t, i) += weight * answer[i * y->strides[2]];
    }
  }
  return 0;
}
static inline struct pto_cost combine_cost(const struct pto_kernel_args *args) {
  uint64_t choices = args->tensors[0].shape[0] * args->tensors[0].shape[1];
  uint64_t rows = args->tensors[4].shape[0], dim = args->tensors[4].shape[1];
  return (struct pto_cost){
      .bytes_in = choices * (3 + dim) * 4, .bytes_out = rows * dim * 4, .vector_elems = 2 * choices * dim};
}
static const struct pto_kernel_param combine_params[] = {
    TENSOR("chosen", PTO_INPUT, I32, 2), TENSOR("weights", PTO_INPUT, F32, 2), TENSOR("places", PTO_INPUT, I32, 2),
    TENSOR("y", PTO_INPUT, F32, 3), TENSOR("out", PTO_OUTPUT, F32, 2)};
KERNEL(kernel_combine, combine_params, .name = "combine", .cores = PTO_AIV, .run = run_combine, .cost = combine_cost);

static inline uint64_t tile_count(const struct moe *moe) { return (moe->tokens + moe->tile - 1) / moe->tile; }

/* ---- the tasks ---- */

struct moe_plan {
  const struct moe *moe;
  struct pto_tensor x, router, w1, w3, w2, out, chosen, weights, load, ran;
  struct pto_task dispatch;        /* the writer of load: the rules pto give a predicate no order */
  struct pto_tensor slots, places; /* i32[experts, tokens], i32[tokens, k] */
  struct pto_tensor y;             /* f32[experts, tokens, dim]: y[e, i] is the answer to the i-th token of expert e */
};

static inline struct tile tile_at(const struct moe *moe, uint64_t index) {
  return tile_of_count(moe, moe->tokens, index);
}

static inline int moe_submit_choices(struct pto_runtime *rt, const struct moe_plan *plan, struct tile tile) {
  struct pto_tensor x = tile_of(&plan->x, tile), chosen = tile_of(&plan->chosen, tile);
  struct pto_tensor weights = tile_of(&plan->weights, tile);
  return submit_router(rt, plan->moe, &x, &plan->router, &chosen, &weights);
}

struct moe_gate {
  struct pto_predicate predicate;
  const struct pto_task *after;
};

/* A task of the tile that `gate` lets run. */
static inline int moe_submit_gated(struct pto_runtime *rt, const struct moe_gate *gate, const char *name,
                                   const struct pto_param *params, uint32_t count) {
  const struct pto_kernel *kernel = pto_kernel_find(name);
  struct pto_launch launch = {.predicate = gate->predicate, .after = gate->after, .after_count = 1};
  *(kernel->cores & PTO_AIC ? &launch.aic : &launch.aiv0) = kernel;
  return pto_submit(rt, &launch, params, count, NULL);
}

/* Tokens number tile.first … of expert e, if it has so many. */
static inline int moe_submit_expert(struct pto_runtime *rt, const struct moe_plan *plan, uint64_t e, struct tile tile) {
  const struct moe *moe = plan->moe;
  struct pto_tensor load = rows_of(&plan->load, e, 1);
  struct moe_gate gate = {{.tensor = &load, .compare = PTO_IF_GT, .value = (int64_t)tile.first}, &plan->dispatch};
  struct pto_tensor ran = pto_tensor_view(&plan->ran, (uint64_t[]){e, tile.first / moe->tile}, (uint64_t[]){1, 1});
  struct pto_tensor all_slots = part_of(&plan->slots, e), slots = tile_of(&all_slots, tile);
  struct pto_tensor w1 = part_of(&plan->w1, e), w3 = part_of(&plan->w3, e), w2 = part_of(&plan->w2, e);
  struct pto_tensor all_y = part_of(&plan->y, e), y = tile_of(&all_y, tile);
  struct pto_tensor tokens = temporary_matrix(rt, moe->dtype, tile.rows, moe->dim);
  struct pto_tensor gated = temporary_matrix(rt, moe->dtype, tile.rows, moe->hidden);
  struct pto_tensor gates = temporary(rt, PTO_FLOAT32, 2, gated.shape), up = temporary(rt, PTO_FLOAT32, 2, gated.shape);
  struct pto_tensor active = temporary(rt, PTO_FLOAT32, 2, gated.shape);
  int s = moe_submit_gated(rt, &gate, "fill_int", PARAMS(pto_output(&ran), pto_scalar_i64(1)));
  if (!s)
    s = moe_submit_gated(rt, &gate, "gather",
                         PARAMS(pto_input(&plan->x), pto_input(&slots), pto_output(&tokens), pto_scalar_u64(0)));
  if (!s) s = moe_submit_gated(rt, &gate, "matmul", PARAMS(pto_input(&tokens), pto_input(&w1), pto_output(&gates)));
  if (!s) s = moe_submit_gated(rt, &gate, "matmul", PARAMS(pto_input(&tokens), pto_input(&w3), pto_output(&up)));
  if (!s) s = moe_submit_gated(rt, &gate, "silu", PARAMS(pto_input(&gates), pto_output(&active)));
  if (!s) s = moe_submit_gated(rt, &gate, "mul", PARAMS(pto_input(&active), pto_input(&up), pto_output(&gated)));
  return s ? s : moe_submit_gated(rt, &gate, "matmul", PARAMS(pto_input(&gated), pto_input(&w2), pto_output(&y)));
}

static inline int moe_submit_combine(struct pto_runtime *rt, const struct moe_plan *plan, struct tile tile) {
  struct pto_tensor chosen = tile_of(&plan->chosen, tile), weights = tile_of(&plan->weights, tile);
  struct pto_tensor places = tile_of(&plan->places, tile), out = tile_of(&plan->out, tile);
  return submit_kernel(
      rt, &kernel_combine,
      PARAMS(pto_input(&chosen), pto_input(&weights), pto_input(&places), pto_input(&plan->y), pto_output(&out)));
}

/* Calls `submit` for each tile of tokens, in a scope of its own: what a tile allocates comes back when it is done. */
static inline int moe_each_tile(struct pto_runtime *rt, const struct moe_plan *plan,
                                int (*submit)(struct pto_runtime *, const struct moe_plan *, struct tile)) {
  int status = PTO_OK;
  for (uint64_t i = 0; status == PTO_OK && i < tile_count(plan->moe); i++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = submit(rt, plan, tile_at(plan->moe, i));
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

static inline int moe_submit_experts(struct pto_runtime *rt, const struct moe_plan *plan, struct tile tile) {
  int status = PTO_OK;
  for (uint64_t e = 0; status == PTO_OK && e < plan->moe->experts; e++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = moe_submit_expert(rt, plan, e, tile);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

/* The layer of all tokens: `plan` has the tensors of the arrays, the others are made here. */
static inline int moe_submit_layer(struct pto_runtime *rt, struct moe_plan *plan) {
  const struct moe *moe = plan->moe;
  plan->slots = temporary_matrix(rt, PTO_INT32, moe->experts, moe->tokens);
  plan->places = temporary_matrix(rt, PTO_INT32, moe->tokens, moe->k);
  plan->y = temporary(rt, PTO_FLOAT32, 3, (uint64_t[]){moe->experts, moe->tokens, moe->dim});
  int status = moe_each_tile(rt, plan, moe_submit_choices);
  if (status == PTO_OK)
    status = pto_submit(
        rt, &(struct pto_launch){.aiv0 = &kernel_dispatch},
        PARAMS(pto_input(&plan->chosen), pto_output(&plan->load), pto_output(&plan->slots), pto_output(&plan->places)),
        &plan->dispatch);
  if (status == PTO_OK) status = pto_alloc_tensors(rt, &plan->y, 1, NULL);
  if (status == PTO_OK) status = moe_each_tile(rt, plan, moe_submit_experts);
  return status == PTO_OK ? moe_each_tile(rt, plan, moe_submit_combine) : status;
}

#endif
