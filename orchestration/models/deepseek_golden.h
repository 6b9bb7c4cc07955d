/* SPDX-License-Identifier: MIT */
/*
 * What a step of deepseek_decode comes to, token by token in double precision.  Keys and values of heads are made, and
 * nothing is absorbed.
 *
 * Where rounding may turn a choice, of tokens or experts, the run's own choice is followed if each score that is left
 * out or taken in is within the error bound of the last one chosen.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_MODELS_DEEPSEEK_GOLDEN_H
#define PTO_ORCHESTRATION_MODELS_DEEPSEEK_GOLDEN_H

#include <orchestration/models/moe_tasks.h>

static const double EPSILON = 1e-6, ROPE_BASE = 10000;

struct layer {
  struct moe moe; /* tokens: the batch; dim: of a token; hidden: width of an expert */
  uint64_t ctx, heads, q_rank, kv_rank, nope, rope, v_dim, index_heads, index_dim, topk;
  const char *kv_start, *index_start; /* the caches as they are before the step */
};

/* What pair `pair` of the new token is turned by. */
static double angle_of(const struct layer *l, uint64_t pair) {
  return (double)(l->ctx - 1) * pow(ROPE_BASE, -2.0 * (double)pair / (double)l->rope);
}

struct golden {
  struct pto_program_run *run;
  const struct layer *l;
  struct pto_array kv_cache, index_cache; /* as they were before the step */
  double unit;                            /* how far a value is rounded to T, relative */
};

/* y = x·W, of the part of W that begins with element `first`. */
static void project_part(const struct golden *g, const char *name, uint64_t first, const double *x, double *y,
                         uint64_t rows, uint64_t columns) {
  const struct pto_array *w = pto_program_find(g->run, name);
  for (uint64_t j = 0; j < columns; j++) y[j] = 0;
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t j = 0; j < columns; j++) y[j] += x[i] * pto_array_get(w, first + i * columns + j);
}
static void project(const struct golden *g, const char *name, const double *x, double *y) {
  const struct pto_array *w = pto_program_find(g->run, name);
  project_part(g, name, 0, x, y, w->shape[0], w->shape[1]);
}

static void normalise_row(const struct golden *g, const char *weight, const double *x, double *y) {
  const struct pto_array *gain = pto_program_find(g->run, weight);
  double sum = 0;
  for (uint64_t j = 0; j < gain->numel; j++) sum += x[j] * x[j];
  const double root = sqrt(sum / (double)gain->numel + EPSILON);
  for (uint64_t j = 0; j < gain->numel; j++) y[j] = x[j] / root * pto_array_get(gain, j);
}

static void rotate_pairs(const struct layer *l, double *x) {
  for (uint64_t i = 0; i < l->rope / 2; i++) {
    const double a = x[2 * i], b = x[2 * i + 1], angle = angle_of(l, i);
    x[2 * i] = a * cos(angle) - b * sin(angle);
    x[2 * i + 1] = a * sin(angle) + b * cos(angle);
  }
}

/* A choice of `count` of `total` scores, the largest first, which rounding may have turned. */
struct choice {
  const double *scores;
  const uint64_t *ranked; /* larger score first, then lower index */
  uint64_t total, count;
  double margin;
};

/* Whether what the run made, from element `first` on, is a choice that rounding explains: no score that was left out is
 * larger than the last of those chosen by more than the margin, none taken in is as much smaller.  By rank, scores
 * fall; else indices rise. */
static bool is_within_rounding(struct pto_program_run *run, const struct choice *choice, const struct pto_array *made,
                               uint64_t first, bool is_by_rank) {
  const double last = choice->scores[choice->ranked[choice->count - 1]];
  bool *is_taken = pto_program_alloc(run, choice->total * sizeof *is_taken);
  if (is_taken == NULL) return false;
  for (uint64_t j = 0; j < choice->count; j++) {
    const double at = pto_array_get(made, first + j), before = j == 0 ? -1 : pto_array_get(made, first + j - 1);
    if (!(at >= 0 && at < (double)choice->total) || is_taken[(uint64_t)at]) return false;
    const double score = choice->scores[(uint64_t)at];
    if (score < last - choice->margin) return false;
    if (is_by_rank ? j > 0 && score > choice->scores[(uint64_t)before] + choice->margin : at < before) return false;
    is_taken[(uint64_t)at] = true;
  }
  for (uint64_t i = 0; i < choice->total; i++)
    if (!is_taken[i] && choice->scores[i] > last + choice->margin) return false;
  return true;
}

/* What one token comes to on its way. */
struct token {
  double *h, *cq, *raw, *q, *row, *index_q, *index_w; /* row: latent and turned part, of the cache */
  double *rows, *keys;                                /* both caches with the new rows: [ctx, …] */
  double *scores, *p, *value, *head, *a, *y, *g, *gate, *up;
  uint64_t *ranked;
};

/* One block for all of a token's vectors; false where there is no memory. */
static bool make_token(struct pto_program_run *run, const struct layer *l, struct token *t) {
  const struct moe *moe = &l->moe;
  const uint64_t row = l->kv_rank + l->rope, head = l->nope + l->rope, matrix = l->nope + l->v_dim;
  const struct {
    double **to;
    uint64_t count;
  } parts[] = {{&t->h, moe->dim},
               {&t->cq, l->q_rank},
               {&t->raw, l->q_rank},
               {&t->q, l->heads * head},
               {&t->row, row},
               {&t->index_q, l->index_heads * l->index_dim},
               {&t->index_w, l->index_heads},
               {&t->rows, l->ctx * row},
               {&t->keys, l->ctx * l->index_dim},
               {&t->scores, l->ctx + l->index_dim},
               {&t->p, moe->experts},
               {&t->value, l->v_dim},
               {&t->head, matrix * l->kv_rank},
               {&t->a, l->heads * l->v_dim},
               {&t->y, moe->dim},
               {&t->g, moe->dim},
               {&t->gate, moe->hidden},
               {&t->up, moe->hidden}};
  for (size_t i = 0; i < LENGTH(parts); i++)
    if ((*parts[i].to = pto_program_alloc(run, parts[i].count * sizeof(double))) == NULL) return false;
  t->ranked = pto_program_alloc(run, (l->ctx + moe->experts) * sizeof *t->ranked);
  return t->ranked != NULL;
}

/* A cache of one request: as it was, and the new row, which goes into the golden too. */
static void extend(const struct golden *g, const char *name, const struct pto_array *start, uint64_t request,
                   const double *new_row, double *rows) {
  const uint64_t ctx = start->shape[1], columns = start->shape[2], first = request * ctx * columns;
  double *golden = golden_of(g->run, name);
  for (uint64_t i = 0; i < ctx * columns; i++) {
    rows[i] = i < (ctx - 1) * columns ? pto_array_get(start, first + i) : new_row[i - (ctx - 1) * columns];
    golden[first + i] = rows[i];
  }
}

/* The tokens that the request attends to, into the golden of `selected`. */
static void expect_selected(const struct golden *g, uint64_t request, struct token *t) {
  const struct layer *l = g->l;
  double *selected = golden_of(g->run, "selected") + request * l->topk, most = 0;
  for (uint64_t n = 0; n < l->ctx; n++) {
    double magnitude = 0;
    t->scores[n] = 0;
    for (uint64_t j = 0; j < l->index_heads; j++) {
      double dot = 0, size = 0;
      for (uint64_t i = 0; i < l->index_dim; i++) {
        const double term = t->index_q[j * l->index_dim + i] * t->keys[n * l->index_dim + i];
        dot += term;
        size += fabs(term);
      }
      t->scores[n] += dot > 0 ? t->index_w[j] * dot : 0;
      magnitude += fabs(t->index_w[j]) * size;
    }
    most = fmax(most, magnitude);
    uint64_t at = n;
    for (; at > 0 && t->scores[t->ranked[at - 1]] < t->scores[n]; at--) t->ranked[at] = t->ranked[at - 1];
    t->ranked[at] = n;
  }
  /* A dozen roundings to T on the way, and sums of so many terms in f32. */
  const double sums = (double)(l->moe.dim + l->q_rank + l->index_dim + l->index_heads) * 0x1p-24;
  const struct choice choice = {t->scores, t->ranked, l->ctx, l->topk, (12 * g->unit + 4 * sums) * most};
  const struct pto_array *made = pto_program_find(g->run, "selected");
  const bool is_followed = is_within_rounding(g->run, &choice, made, request * l->topk, true);
  for (uint64_t j = 0; j < l->topk; j++)
    selected[j] = is_followed ? pto_array_get(made, request * l->topk + j) : (double)t->ranked[j];
}

/* a, of one head: its keys and values are made of the latents that were selected. */
static void attend(const struct golden *g, uint64_t request, uint64_t head, struct token *t) {
  const struct layer *l = g->l;
  const struct pto_array *w_uk = pto_program_find(g->run, "w_uk"), *w_uv = pto_program_find(g->run, "w_uv");
  const uint64_t row = l->kv_rank + l->rope, width = l->nope + l->rope;
  const double *selected = golden_of(g->run, "selected") + request * l->topk, *q = t->q + head * width;
  double *uk = t->head, *uv = uk + l->nope * l->kv_rank, *a = t->a + head * l->v_dim, sum = 0;
  for (uint64_t i = 0; i < l->nope * l->kv_rank; i++) uk[i] = pto_array_get(w_uk, head * l->nope * l->kv_rank + i);
  for (uint64_t i = 0; i < l->v_dim * l->kv_rank; i++) uv[i] = pto_array_get(w_uv, head * l->v_dim * l->kv_rank + i);
  for (uint64_t e = 0; e < l->v_dim; e++) a[e] = 0;
  for (uint64_t j = 0; j < l->topk; j++) {
    const double *latent = t->rows + (uint64_t)selected[j] * row, *turned = latent + l->kv_rank;
    double score = 0;
    for (uint64_t i = 0; i < l->nope; i++) {
      double key = 0;
      for (uint64_t r = 0; r < l->kv_rank; r++) key += uk[i * l->kv_rank + r] * latent[r];
      score += q[i] * key;
    }
    for (uint64_t i = 0; i < l->rope; i++) score += q[l->nope + i] * turned[i];
    const double weight = exp(score / sqrt((double)width));
    for (uint64_t e = 0; e < l->v_dim; e++) t->value[e] = 0;
    for (uint64_t r = 0; r < l->kv_rank; r++)
      for (uint64_t e = 0; e < l->v_dim; e++) t->value[e] += latent[r] * uv[r * l->v_dim + e];
    for (uint64_t e = 0; e < l->v_dim; e++) a[e] += weight * t->value[e];
    sum += weight;
  }
  for (uint64_t e = 0; e < l->v_dim; e++) a[e] /= sum;
}

/* y and g of a request's token. */
static void expect_attention(const struct golden *g, uint64_t request, const double *x, struct token *t) {
  const struct layer *l = g->l;
  normalise_row(g, "input_rms_weight", x, t->h);
  project(g, "q_a", t->h, t->raw);
  normalise_row(g, "q_a_norm", t->raw, t->cq);
  project(g, "q_b", t->cq, t->q);
  for (uint64_t head = 0; head < l->heads; head++) rotate_pairs(l, t->q + head * (l->nope + l->rope) + l->nope);
  project(g, "kv_a", t->h, t->row);
  normalise_row(g, "kv_a_norm", t->row, t->row);
  rotate_pairs(l, t->row + l->kv_rank);
  extend(g, "kv_cache", &g->kv_cache, request, t->row, t->rows);
  project(g, "index_k", t->h, t->scores); /* for a moment */
  extend(g, "index_cache", &g->index_cache, request, t->scores, t->keys);
  project(g, "index_q", t->cq, t->index_q);
  project(g, "index_w", t->h, t->index_w);
  expect_selected(g, request, t);
  for (uint64_t head = 0; head < l->heads; head++) attend(g, request, head, t);
  project(g, "wo", t->a, t->y);
  for (uint64_t i = 0; i < l->moe.dim; i++) t->y[i] += x[i];
  normalise_row(g, "post_rms_weight", t->y, t->g);
}

/* The experts of a token and their weights, and out += what they answer. */
static void expect_routed(const struct golden *g, uint64_t token, struct token *t, double *out) {
  const struct moe *moe = &g->l->moe;
  double *chosen = golden_of(g->run, "chosen") + token * moe->k,
         *weights = golden_of(g->run, "weights") + token * moe->k;
  double margin, sum = 0;
  for (uint64_t i = 0; i < moe->dim; i++) pto_array_set(moe->x, token * moe->dim + i, t->g[i]);
  rank_experts(moe, moe->x, token, t->p, t->ranked, &margin);
  /* The margin is one of f32 tokens, 4·(dim + 16)·2⁻²⁴ of the magnitudes; these have been rounded on their way. */
  margin += margin / (4 * ldexp((double)moe->dim + 16, -24)) * 12 * g->unit;
  const struct choice choice = {t->p, t->ranked, moe->experts, moe->k, margin};
  const struct pto_array *made = pto_program_find(g->run, "chosen");
  const bool is_followed = is_within_rounding(g->run, &choice, made, token * moe->k, false);
  for (uint64_t j = 0; j < moe->k; j++) {
    uint64_t at = j;
    const double expert = is_followed ? pto_array_get(made, token * moe->k + j) : (double)t->ranked[j];
    for (; at > 0 && chosen[at - 1] > expert; at--) chosen[at] = chosen[at - 1];
    chosen[at] = expert;
  }
  const double most = t->p[t->ranked[0]];
  for (uint64_t j = 0; j < moe->k; j++) sum += weights[j] = exp(t->p[(uint64_t)chosen[j]] - most);
  for (uint64_t j = 0; j < moe->k; j++) {
    const uint64_t first = (uint64_t)chosen[j] * moe->dim * moe->hidden;
    weights[j] /= sum;
    golden_of(g->run, "load")[(uint64_t)chosen[j]]++;
    project_part(g, "w1", first, t->g, t->gate, moe->dim, moe->hidden);
    project_part(g, "w3", first, t->g, t->up, moe->dim, moe->hidden);
    for (uint64_t i = 0; i < moe->hidden; i++) t->gate[i] = t->gate[i] / (1 + exp(-t->gate[i])) * t->up[i] * weights[j];
    project_part(g, "w2", first, t->gate, t->h, moe->hidden, moe->dim);
    for (uint64_t i = 0; i < moe->dim; i++) out[i] += t->h[i];
  }
}

static void expect_shared(const struct golden *g, struct token *t, double *out) {
  const struct moe *moe = &g->l->moe;
  project(g, "shared_w1", t->g, t->gate);
  project(g, "shared_w3", t->g, t->up);
  for (uint64_t i = 0; i < moe->hidden; i++) t->gate[i] = t->gate[i] / (1 + exp(-t->gate[i])) * t->up[i];
  project(g, "shared_w2", t->gate, t->h);
  for (uint64_t i = 0; i < moe->dim; i++) out[i] += t->h[i] + t->y[i];
}

static int expect(struct pto_program_run *run) {
  static const char *const outputs[] = {"out",  "selected", "chosen",   "weights",
                                        "load", "ran",      "kv_cache", "index_cache"};
  const struct layer *l = pto_program_state(run, sizeof *l);
  const struct moe *moe = &l->moe;
  struct golden g = {.run = run,
                     .l = l,
                     .kv_cache = *pto_program_find(run, "kv_cache"),
                     .index_cache = *pto_program_find(run, "index_cache"),
                     .unit = moe->dtype == PTO_BFLOAT16  ? 0x1p-8
                             : moe->dtype == PTO_FLOAT16 ? 0x1p-11
                                                         : 0x1p-24};
  const double *x = exact_copy(run, "hidden_states");
  struct token t = {0};
  for (size_t i = 0; i < LENGTH(outputs); i++)
    if (golden_of(run, outputs[i]) == NULL) return PTO_ENOMEM;
  if (!x || !l->kv_start || !l->index_start || !make_token(run, l, &t)) return PTO_ENOMEM;
  g.kv_cache.data = (void *)(uintptr_t)l->kv_start;
  g.index_cache.data = (void *)(uintptr_t)l->index_start;
  for (uint64_t token = 0; token < moe->tokens; token++) {
    double *out = golden_of(run, "out") + token * moe->dim;
    expect_attention(&g, token, x + token * moe->dim, &t);
    expect_routed(&g, token, &t, out);
    expect_shared(&g, &t, out);
  }
  double *ran = golden_of(run, "ran");
  for (uint64_t e = 0; e < moe->experts; e++)
    for (uint64_t i = 0; i < tile_count(moe); i++)
      ran[e * tile_count(moe) + i] = golden_of(run, "load")[e] > (double)(i * moe->tile);
  return PTO_OK;
}

#endif
