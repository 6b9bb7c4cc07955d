/* SPDX-License-Identifier: MIT */
/*
 * What programs of a mixture-of-experts layer share: the router, tokens that no rounding sends elsewhere, the golden.
 *
 *     p = softmax(x·R)      the k largest p choose the experts, weights wⱼ = pⱼ / Σ p
 *     out = Σⱼ wⱼ · (silu(x·W1ⱼ) ⊙ x·W3ⱼ)·W2ⱼ
 *
 * Equal probabilities choose the lower expert, and a token's experts stand in ascending order.  So that rounding cannot
 * choose another expert than the golden, which is in double precision, tokens are drawn until the logits of
 * neighbouring ranks, down to the first that is not chosen, are equal by construction or further apart than the error
 * bound of the product.  An x from a file is taken as it is.
 */
#ifndef PTO_ORCHESTRATION_SUPPORT_MOE_H
#define PTO_ORCHESTRATION_SUPPORT_MOE_H

#include <orchestration/support/program.h>

#include <math.h>

struct moe {
  uint64_t tokens, dim, hidden, experts, k, tile;
  uint32_t dtype; /* of x, router, w1, w2 and w3 */
  struct pto_array *x, *router;
};

/* PTO_OK, or what the options name does not fit: tokens, dim, hidden, experts, k, tile. */
static inline int read_moe_options(struct pto_program_run *run, struct moe *moe) {
  enum { MOST = 1 << 16 };
  const int status = READ_WHOLE_OPTIONS(run, {"tokens", 1, MOST, &moe->tokens}, {"dim", 1, MOST, &moe->dim},
                                        {"hidden", 1, MOST, &moe->hidden}, {"experts", 1, MOST, &moe->experts},
                                        {"k", 1, MOST, &moe->k}, {"tile", 1, MOST, &moe->tile});
  if (status == PTO_OK && moe->k > moe->experts)
    return pto_program_fail(run, "k %llu exceeds experts %llu", (unsigned long long)moe->k,
                            (unsigned long long)moe->experts);
  return status;
}

/* Indices first … first + rows − 1 of tokens: of a tile. */
struct tile {
  uint64_t first, rows;
};

/* The index-th tile of `count` tokens. */
static inline struct tile tile_of_count(const struct moe *moe, uint64_t count, uint64_t index) {
  const uint64_t first = index * moe->tile, left = count - first;
  return (struct tile){first, left < moe->tile ? left : moe->tile};
}
static inline struct pto_tensor tile_of(const struct pto_tensor *matrix, struct tile tile) {
  return rows_of(matrix, tile.first, tile.rows);
}

/* ---- the router ---- */

static inline float *f32_at(const struct pto_kernel_tensor *t, uint64_t i, uint64_t j) {
  return (float *)t->addr + i * t->strides[0] + j * t->strides[1];
}
static inline int32_t *i32_at(const struct pto_kernel_tensor *t, uint64_t i, uint64_t j) {
  return (int32_t *)t->addr + i * t->strides[0] + j * t->strides[1];
}

/* choose: of each row of p the experts of the k largest, in ascending order, and their shares.  The order of ranks is
 * (larger p, lower expert), so each rank is the first behind the one before. */
static inline int choose_row(const struct pto_kernel_args *args, uint64_t row) {
  const struct pto_kernel_tensor *p = &args->tensors[0], *chosen = &args->tensors[1], *weights = &args->tensors[2];
  uint64_t experts = p->shape[1], k = chosen->shape[1];
  uint64_t before = experts;
  float sum = 0;
  for (uint64_t rank = 0; rank < k; rank++) {
    uint64_t best = experts;
    for (uint64_t e = 0; e < experts; e++) {
      float candidate = *f32_at(p, row, e);
      bool is_behind = before == experts || candidate < *f32_at(p, row, before) ||
                       (candidate == *f32_at(p, row, before) && e > before);
      if (is_behind && candidate >= 0 && (best == experts || candidate > *f32_at(p, row, best))) best = e;
    }
    if (best == experts)
      return pto_kernel_error(args, "choose: row %llu has fewer than %llu probabilities", (unsigned long long)row,
                              (unsigned long long)k);
    uint64_t at = rank;
    for (; at > 0 && *i32_at(chosen, row, at - 1) > (int32_t)best; at--)
      *i32_at(chosen, row, at) = *i32_at(chosen, row, at - 1);
    *i32_at(chosen, row, at) = (int32_t)best;
    before = best;
  }
  for (uint64_t j = 0; j < k; j++) sum += *f32_at(p, row, (uint64_t)*i32_at(chosen, row, j));
  for (uint64_t j = 0; j < k; j++) *f32_at(weights, row, j) = *f32_at(p, row, (uint64_t)*i32_at(chosen, row, j)) / sum;
  return 0;
}
static inline int run_choose(const struct pto_kernel_args *args) {
  int status = 0;
  for (uint64_t row = 0; status == 0 && row < args->tensors[0].shape[0]; row++) status = choose_row(args, row);
  return status;
}
static inline struct pto_cost choose_cost(const struct pto_kernel_args *args) {
  const uint64_t *p = args->tensors[0].shape, k = args->tensors[1].shape[1];
  return (struct pto_cost){
      .bytes_in = p[0] * p[1] * 4, .bytes_out = p[0] * k * 8, .vector_elems = p[0] * (p[1] + 1) * k};
}
static const struct pto_kernel_param choose_params[] = {
    TENSOR("p", PTO_INPUT, F32, 2), TENSOR("chosen", PTO_OUTPUT, I32, 2), TENSOR("weights", PTO_OUTPUT, F32, 2)};
KERNEL(kernel_choose, choose_params, .name = "choose", .cores = PTO_AIV, .run = run_choose, .cost = choose_cost);

static inline int submit_router(struct pto_runtime *rt, const struct moe *moe, const struct pto_tensor *x,
                                const struct pto_tensor *router, const struct pto_tensor *chosen,
                                const struct pto_tensor *weights) {
  struct pto_tensor logits = temporary_matrix(rt, PTO_FLOAT32, x->shape[0], moe->experts);
  struct pto_tensor p = temporary_matrix(rt, PTO_FLOAT32, x->shape[0], moe->experts);
  int status =
      submit_kernel(rt, pto_kernel_find("matmul"), PARAMS(pto_input(x), pto_input(router), pto_output(&logits)));
  if (!status)
    status =
        submit_kernel(rt, pto_kernel_find("softmax"), PARAMS(pto_input(&logits), pto_output(&p), pto_scalar_i64(1)));
  return status ? status
                : submit_kernel(rt, &kernel_choose, PARAMS(pto_input(&p), pto_output(chosen), pto_output(weights)));
}

/* ---- inputs ---- */

#define FAR_LOGIT 16.0 /* beyond all logits, and not so far that a probability underflows */

/* Element 0 of every token is 1, so row 0 of the router is what an expert has before it sees a token. */
static inline void fill_router(struct pto_program_run *run, struct moe *moe) {
  const double bound = 3 * sqrt(3 / (double)moe->dim);
  pto_array_fill_uniform(run, moe->router, -bound, bound);
}

/* The experts by rank in double precision, (larger logit, lower expert) first; `logits` is for its use.  *margin: how
 * far f32 arithmetic may be off, with something to spare. */
static inline void rank_experts(const struct moe *moe, const struct pto_array *tokens, uint64_t token, double *logits,
                                uint64_t *ranked, double *margin) {
  double most = 0;
  for (uint64_t e = 0; e < moe->experts; e++) {
    double magnitude = 0;
    logits[e] = 0;
    for (uint64_t i = 0; i < moe->dim; i++) {
      double term = pto_array_get(tokens, token * moe->dim + i) * pto_array_get(moe->router, i * moe->experts + e);
      logits[e] += term;
      magnitude += fabs(term);
    }
    most = fmax(most, magnitude);
    uint64_t at = e;
    for (; at > 0 && logits[ranked[at - 1]] < logits[e]; at--) ranked[at] = ranked[at - 1];
    ranked[at] = e;
  }
  /* Two products, each within (dim + 2)·2⁻²⁴ of its terms, and the softmax's few roundings. */
  *margin = 4 * ldexp((double)moe->dim + 16, -24) * fmax(most, 1);
}

static inline bool is_clear_choice(const struct moe *moe, const struct pto_array *tokens, uint64_t token,
                                   double *logits, uint64_t *ranked) {
  double margin;
  rank_experts(moe, tokens, token, logits, ranked, &margin);
  for (uint64_t rank = 0; rank < moe->k && rank + 1 < moe->experts; rank++) {
    double gap = logits[ranked[rank]] - logits[ranked[rank + 1]];
    if (gap > 0 && gap < margin) return false;
  }
  return true;
}

/* x gets the first tokens of `name` whose choice no rounding can change: nearly all of them are such.  Nothing where
 * kernels are priced alone: then no one reads them. */
static inline int make_tokens(struct pto_program_run *run, const struct moe *moe, struct pto_array *x,
                              const char *name) {
  const struct pto_config *config = pto_program_config(run);
  uint64_t drawn_count = moe->tokens + moe->tokens / 4 + 64, taken = 0;
  if (config && config->no_compute) return PTO_OK;
  struct pto_array *drawn =
      pto_program_array(run, name, PTO_ARRAY_SCRATCH, moe->dtype, 2, (uint64_t[]){drawn_count, moe->dim});
  double *logits = pto_program_alloc(run, moe->experts * sizeof *logits);
  uint64_t *ranked = pto_program_alloc(run, moe->experts * sizeof *ranked);
  if (drawn == NULL || logits == NULL || ranked == NULL) return PTO_ENOMEM;
  pto_array_fill_uniform(run, drawn, -1, 1);
  for (uint64_t token = 0; token < drawn_count && taken < moe->tokens; token++) {
    pto_array_set(drawn, token * moe->dim, 1);
    if (!is_clear_choice(moe, drawn, token, logits, ranked)) continue;
    for (uint64_t i = 0; i < moe->dim; i++)
      pto_array_set(x, taken * moe->dim + i, pto_array_get(drawn, token * moe->dim + i));
    taken++;
  }
  if (taken == moe->tokens) return PTO_OK;
  return pto_program_fail(run, "of %llu tokens drawn, only %llu are far enough from a tie",
                          (unsigned long long)drawn_count, (unsigned long long)taken);
}

/* ---- golden: every token in double precision, no tiles ---- */

/* The experts of each token of x, [tokens, k], and their weights. */
static inline int expect_choices(struct pto_program_run *run, const struct moe *moe, const struct pto_array *x,
                                 double *all_chosen, double *all_weights) {
  double *logits = pto_program_alloc(run, moe->experts * sizeof *logits), margin;
  uint64_t *ranked = pto_program_alloc(run, moe->experts * sizeof *ranked);
  if (logits == NULL || ranked == NULL) return PTO_ENOMEM;
  for (uint64_t token = 0; token < moe->tokens; token++) {
    double sum = 0, *chosen = all_chosen + token * moe->k, *weights = all_weights + token * moe->k;
    rank_experts(moe, x, token, logits, ranked, &margin);
    for (uint64_t rank = 0; rank < moe->k; rank++) {
      uint64_t at = rank;
      for (; at > 0 && chosen[at - 1] > (double)ranked[rank]; at--) chosen[at] = chosen[at - 1];
      chosen[at] = (double)ranked[rank];
      sum += exp(logits[ranked[rank]] - logits[ranked[0]]);
    }
    for (uint64_t j = 0; j < moe->k; j++) weights[j] = exp(logits[(uint64_t)chosen[j]] - logits[ranked[0]]) / sum;
  }
  return PTO_OK;
}

/* The matrices of an expert; gate and up, [hidden], are for add_answer's use. */
struct moe_expert {
  const double *w1, *w3, *w2;
  double *gate, *up;
};

/* out += weight · expert(x) */
static inline void add_answer(const struct moe *moe, const struct moe_expert *expert, uint64_t token, double weight,
                              double *out) {
  for (uint64_t j = 0; j < moe->hidden; j++) expert->gate[j] = expert->up[j] = 0;
  for (uint64_t i = 0; i < moe->dim; i++) {
    double x = pto_array_get(moe->x, token * moe->dim + i);
    for (uint64_t j = 0; j < moe->hidden; j++) {
      expert->gate[j] += x * expert->w1[i * moe->hidden + j];
      expert->up[j] += x * expert->w3[i * moe->hidden + j];
    }
  }
  for (uint64_t j = 0; j < moe->hidden; j++) {
    double middle = weight * expert->gate[j] / (1 + exp(-expert->gate[j])) * expert->up[j];
    for (uint64_t i = 0; i < moe->dim; i++) out[i] += middle * expert->w2[j * moe->dim + i];
  }
}

#endif
