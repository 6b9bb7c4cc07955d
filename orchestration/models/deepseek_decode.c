/* SPDX-License-Identifier: MIT */
/*
 * deepseek_decode: one decode step of one layer in the form of DeepSeek-V3.2 (DeepSeek-AI, "DeepSeek-V3 Technical
 * Report", 2024, and "DeepSeek-V3.2-Exp", 2025) for a batch of requests: latent attention (MLA) over the keys that an
 * indexer chooses, then a mixture of experts with one that all tokens share.
 *
 *     h = rmsnorm(x)     cq = rmsnorm(h·Wqa)
 *     q = cq·Wqb: of each head `nope` elements, and `rope` that are turned
 *     c, r = h·Wkva: the cache keeps of a token the latent rmsnorm(c), kv_rank elements, and the turned r, of `rope`
 *
 *     indexer:    iⱼ(t) = relu((cq·Wiq)ⱼ · kᵢ(t)), with kᵢ = h·Wik in a cache of its own
 *                 score(t) = Σⱼ (h·Wiw)ⱼ·iⱼ(t)
 *     chosen:     the topk tokens of the largest scores, or all of them where there are fewer
 *     attention:  of head j, softmax of (qⱼ·Wukⱼ · latent(t) + q_ropeⱼ · r(t)) / √(nope + rope)
 *                 the weighted sum of latents, times Wuvⱼ
 *
 *     y = x + a·Wo     g = rmsnorm(y)     out = y + experts(g) + shared(g)
 *     experts as in moe.c, shared: (silu(g·S1) ⊙ g·S3)·S2
 *
 * Keys and values of heads are never made: Wuk goes to the query's side.
 * The indexer's queries and keys are not turned.  All requests have `ctx` tokens, the new one counted; caches are
 * plain. Tasks of the whole batch, but for eight of each request: products of the index, relu, weighted sum, top_k,
 * gather of the chosen rows, scores, softmax, sum of latents.
 *
 * T is f32, fp16 or bf16 (option dtype): of matrices, caches and what is multiplied with them; sums, norms and the
 * residual stream are f32.
 *
 * Which keys and experts are chosen hangs on rounding where scores are nearly equal.  `selected` and `chosen` are
 * outputs; the golden, in double precision, follows the run's choice where each score left out or taken in is within
 * the error bound of the last one chosen, and else has its own.
 *
 * With B tokens, n tiles of them and E experts:  tasks = 26 + 8·B + 4·n + 7·E·n,
 * edges = 26 + 18·B + 9·n + 15·E·n + E·n², and one more where n > 1: what many tasks write in parts is also after the
 * task that allocated it.
 */
#include <orchestration/models/deepseek_golden.h>

/* ---- inputs ---- */

static const struct pto_option options[] = {
    {"tokens", PTO_OPTION_INT, "4", "requests, of a token each"},
    {"dim", PTO_OPTION_INT, "64", "elements of a token"},
    {"ctx", PTO_OPTION_INT, "48", "tokens of a request, the new one counted"},
    {"heads", PTO_OPTION_INT, "4", "heads"},
    {"q_rank", PTO_OPTION_INT, "48", "width of the queries' latent"},
    {"kv_rank", PTO_OPTION_INT, "32", "width of the latent that the cache keeps"},
    {"nope", PTO_OPTION_INT, "16", "elements of a head that are not turned"},
    {"rope", PTO_OPTION_INT, "16", "elements that are turned by position, shared by all heads' keys; even"},
    {"v_dim", PTO_OPTION_INT, "16", "elements of a head's value"},
    {"index_heads", PTO_OPTION_INT, "4", "heads of the indexer"},
    {"index_dim", PTO_OPTION_INT, "16", "elements of each"},
    {"topk", PTO_OPTION_INT, "16", "tokens that are attended to"},
    {"hidden", PTO_OPTION_INT, "32", "width of an expert"},
    {"experts", PTO_OPTION_INT, "8", "experts"},
    {"k", PTO_OPTION_INT, "2", "experts that a token is sent to"},
    {"tile", PTO_OPTION_INT, "16", "tokens of a tile of an expert"},
    {"dtype", PTO_OPTION_TEXT, "f32", "of matrices, caches and what is multiplied with them: f32, fp16 or bf16"},
    {0},
};

static const struct pto_case cases[] = {
    {"sparse", "ctx=48 topk=16", "a third of the keys", 118, 235, false},
    {"whole", "ctx=12 topk=16", "fewer keys than topk: all of them", 118, 235, false},
    {"one", "tokens=1 ctx=1 experts=4 k=1", "nothing in the caches but the token itself", 66, 117, false},
    {"tiles", "tokens=20 ctx=33 tile=8 experts=4 k=4", "three tiles, every expert for every token", 282, 630, false},
    {"fp16", "dtype=fp16", NULL, 118, 235, false},
    {"bf16", "dtype=bf16", NULL, 118, 235, false},
    {"middle",
     "tokens=8 dim=256 ctx=300 heads=8 q_rank=96 kv_rank=64 nope=32 v_dim=32 topk=64 hidden=64 experts=16 k=4",
     "a larger layer", 206, 435, false},
    {"v3",
     "tokens=2 dim=7168 ctx=4096 heads=128 q_rank=1536 kv_rank=512 nope=128 rope=64 v_dim=128 index_heads=64 "
     "index_dim=128 topk=2048 hidden=2048 experts=4 k=2 dtype=bf16",
     "the large model's sizes, but for four experts instead of 256", 74, 135, true},
    {0},
};

static int read_options(struct pto_program_run *run, struct layer *l) {
  enum { MOST = 1 << 16 };
  int status = read_moe_options(run, &l->moe);
  if (status == PTO_OK) status = read_float_dtype(run, &l->moe.dtype);
  if (status == PTO_OK)
    status = READ_WHOLE_OPTIONS(run, {"ctx", 1, 1 << 20, &l->ctx}, {"heads", 1, 1024, &l->heads},
                                {"q_rank", 1, MOST, &l->q_rank}, {"kv_rank", 1, MOST, &l->kv_rank},
                                {"nope", 1, 1024, &l->nope}, {"rope", 2, 1024, &l->rope}, {"v_dim", 1, 1024, &l->v_dim},
                                {"index_heads", 1, 1024, &l->index_heads}, {"index_dim", 1, 1024, &l->index_dim},
                                {"topk", 1, 8192, &l->topk});
  if (status != PTO_OK) return status;
  if (l->rope % 2 != 0) return pto_program_fail(run, "rope %llu is odd", (unsigned long long)l->rope);
  if (l->topk > l->ctx) l->topk = l->ctx;
  /* A dozen values on the way from x to out are rounded to T, each by at most 2⁻¹¹ or 2⁻⁸ of itself. */
  if (l->moe.dtype == PTO_FLOAT16) pto_program_tolerance(run, 0x1p-7, 0x1p-7);
  if (l->moe.dtype == PTO_BFLOAT16) pto_program_tolerance(run, 0x1p-4, 0x1p-4);
  return PTO_OK;
}

static void fill_angles(struct pto_program_run *run, const struct layer *l) {
  for (uint64_t i = 0; i < l->rope / 2; i++) {
    pto_array_set(pto_program_find(run, "rope_cos"), i, cos(angle_of(l, i)));
    pto_array_set(pto_program_find(run, "rope_sin"), i, sin(angle_of(l, i)));
  }
}

/* Values that keep the variance of a product's columns. */
static double spread_of(uint64_t rows) { return sqrt(3.0 / (double)rows); }

static int declare_attention(struct pto_program_run *run, const struct layer *l) {
  const uint64_t batch = l->moe.tokens, dim = l->moe.dim, row = l->kv_rank + l->rope;
  const uint32_t t = l->moe.dtype;
  const double of_dim = spread_of(dim), of_q = spread_of(l->q_rank), of_nope = spread_of(l->nope);
  const double of_latent = spread_of(l->kv_rank), of_heads = spread_of(l->heads * l->v_dim);
  const struct array_line arrays[] = {
      INPUT("hidden_states", PTO_FLOAT32, -1, 1, batch, dim),
      INPUT("input_rms_weight", PTO_FLOAT32, 0.5, 1.5, dim),
      INPUT("q_a", t, -of_dim, of_dim, dim, l->q_rank),
      INPUT("q_a_norm", PTO_FLOAT32, 0.5, 1.5, l->q_rank),
      INPUT("q_b", t, -of_q, of_q, l->q_rank, l->heads * (l->nope + l->rope)),
      INPUT("kv_a", t, -of_dim, of_dim, dim, row),
      INPUT("kv_a_norm", PTO_FLOAT32, 0.5, 1.5, l->kv_rank),
      INPUT("w_uk", t, -of_nope, of_nope, l->heads, l->nope, l->kv_rank),
      INPUT("w_uv", t, -of_latent, of_latent, l->heads, l->kv_rank, l->v_dim),
      INPUT("wo", t, -of_heads, of_heads, l->heads * l->v_dim, dim),
      INPUT("index_q", t, -of_q, of_q, l->q_rank, l->index_heads * l->index_dim),
      INPUT("index_k", t, -of_dim, of_dim, dim, l->index_dim),
      INPUT("index_w", t, -of_dim, of_dim, dim, l->index_heads),
      {"kv_cache", PTO_ARRAY_INOUT, t, 3, {batch, l->ctx, row}, -1, 1},
      {"index_cache", PTO_ARRAY_INOUT, t, 3, {batch, l->ctx, l->index_dim}, -1, 1},
      OUTPUT("selected", PTO_INT32, batch, l->topk),
      SCRATCH("rope_cos", PTO_FLOAT32, 1, l->rope / 2),
      SCRATCH("rope_sin", PTO_FLOAT32, 1, l->rope / 2),
      SCRATCH("positions", PTO_INT32, batch), /* rows of the tables: 0 */
  };
  return declare_arrays(run, arrays, LENGTH(arrays));
}

static int declare_experts(struct pto_program_run *run, const struct moe *moe) {
  const double into = spread_of(moe->dim), back = spread_of(moe->hidden);
  const struct array_line arrays[] = {
      INPUT("post_rms_weight", PTO_FLOAT32, 0.5, 1.5, moe->dim),
      INPUT("router", moe->dtype, -3 * into, 3 * into, moe->dim, moe->experts),
      INPUT("w1", moe->dtype, -into, into, moe->experts, moe->dim, moe->hidden),
      INPUT("w3", moe->dtype, -into, into, moe->experts, moe->dim, moe->hidden),
      INPUT("w2", moe->dtype, -back, back, moe->experts, moe->hidden, moe->dim),
      INPUT("shared_w1", moe->dtype, -into, into, moe->dim, moe->hidden),
      INPUT("shared_w3", moe->dtype, -into, into, moe->dim, moe->hidden),
      INPUT("shared_w2", moe->dtype, -back, back, moe->hidden, moe->dim),
      OUTPUT("out", PTO_FLOAT32, moe->tokens, moe->dim),
      OUTPUT("chosen", PTO_INT32, moe->tokens, moe->k),
      OUTPUT("weights", PTO_FLOAT32, moe->tokens, moe->k),
      OUTPUT("load", PTO_INT32, moe->experts),
      OUTPUT("ran", PTO_INT32, moe->experts, tile_count(moe)),
      SCRATCH("routed", PTO_FLOAT32, moe->tokens, moe->dim), /* the golden's g, for moe.h */
  };
  return declare_arrays(run, arrays, LENGTH(arrays));
}

static int prepare(struct pto_program_run *run) {
  struct layer *l = pto_program_state(run, sizeof *l);
  int status = l == NULL ? PTO_ENOMEM : read_options(run, l);
  if (status == PTO_OK) status = declare_attention(run, l);
  if (status == PTO_OK) status = declare_experts(run, &l->moe);
  if (status == PTO_OK) status = keep_bytes(run, "kv_cache", &l->kv_start);
  if (status == PTO_OK) status = keep_bytes(run, "index_cache", &l->index_start);
  if (status != PTO_OK) return status;
  l->moe.x = pto_program_find(run, "routed");
  l->moe.router = pto_program_find(run, "router");
  fill_angles(run, l);
  return PTO_OK;
}

/* ---- the orchestration ---- */

struct plan {
  struct pto_runtime *rt;
  struct pto_program_run *run;
  const struct layer *l;
  struct pto_tensor x, kv_cache, index_cache, selected;
  struct pto_tensor h, cq;            /* T[batch, dim], [batch, q_rank] */
  struct pto_tensor query;            /* T[batch, heads, kv_rank + rope]: as the cache's rows */
  struct pto_tensor latent, values;   /* f32[batch, heads, kv_rank]: sums of the chosen; T[batch, heads, v_dim] */
  struct pto_tensor index_q, index_w; /* f32[batch, index_heads · index_dim], [batch, index_heads] */
  struct pto_tensor y, g, routed;     /* f32[batch, dim], T, f32 */
};

static struct pto_tensor input(const struct plan *plan, const char *name) {
  return tensor_of(plan->rt, plan->run, name);
}
static struct pto_tensor matrix(const struct plan *plan, uint32_t dtype, uint64_t columns) {
  return temporary_matrix(plan->rt, dtype, plan->l->moe.tokens, columns);
}

/* c = kernel(a, b) */
static int combine(const struct plan *plan, const char *name, const struct pto_tensor *a, const struct pto_tensor *b,
                   const struct pto_tensor *c) {
  return submit_kernel(plan->rt, pto_kernel_find(name), PARAMS(pto_input(a), pto_input(b), pto_output(c)));
}
static int multiply(const struct plan *plan, const struct pto_tensor *a, const char *matrix_name,
                    const struct pto_tensor *c) {
  const struct pto_tensor b = input(plan, matrix_name);
  return combine(plan, "matmul", a, &b, c);
}
static int normalise(const struct plan *plan, const struct pto_tensor *x, const char *weight,
                     const struct pto_tensor *y) {
  const struct pto_tensor gain = input(plan, weight);
  return submit_kernel(plan->rt, pto_kernel_find("rmsnorm"),
                       PARAMS(pto_input(x), pto_input(&gain), pto_output(y), pto_scalar_f32((float)EPSILON)));
}
/* x and y [batch, heads, rope]; pairs are neighbours. */
static int rotate(const struct plan *plan, const struct pto_tensor *x, const struct pto_tensor *y) {
  const struct pto_tensor cosines = input(plan, "rope_cos"), sines = input(plan, "rope_sin");
  const struct pto_tensor positions = input(plan, "positions");
  return submit_kernel(plan->rt, pto_kernel_find("rope_positions"),
                       PARAMS(pto_input(x), pto_input(&cosines), pto_input(&sines), pto_input(&positions),
                              pto_output(y), pto_scalar_u64(0)));
}

/* Elements first … end of the last of three dimensions. */
static struct pto_tensor last_of(const struct pto_tensor *t, uint64_t first, uint64_t end) {
  return pto_tensor_slice(t, 2, first, end, 1);
}
/* [batch, heads, n] as [heads, batch, n]. */
static struct pto_tensor by_head(const struct pto_tensor *t) { return pto_tensor_transpose(t, 0, 1); }
/* The new token's row of each request in a cache: [batch, 1, columns]. */
static struct pto_tensor new_rows(const struct plan *plan, const struct pto_tensor *cache) {
  return pto_tensor_slice(cache, 1, plan->l->ctx - 1, plan->l->ctx, 1);
}

/* query: what is not turned goes through Wuk into the space of the latents. */
static int submit_query(const struct plan *plan) {
  const struct layer *l = plan->l;
  const uint64_t width = l->nope + l->rope;
  const struct pto_tensor raw = matrix(plan, PTO_FLOAT32, l->q_rank);
  const struct pto_tensor flat = matrix(plan, PTO_FLOAT32, l->heads * width);
  const struct pto_tensor q = pto_tensor_reshape(&flat, 3, (uint64_t[]){l->moe.tokens, l->heads, width});
  const struct pto_tensor q_nope = last_of(&q, 0, l->nope), q_rope = last_of(&q, l->nope, width);
  const struct pto_tensor absorbed = last_of(&plan->query, 0, l->kv_rank);
  const struct pto_tensor turned = last_of(&plan->query, l->kv_rank, l->kv_rank + l->rope);
  const struct pto_tensor from = by_head(&q_nope), to = by_head(&absorbed);
  int status = multiply(plan, &plan->h, "q_a", &raw);
  if (status == PTO_OK) status = normalise(plan, &raw, "q_a_norm", &plan->cq);
  if (status == PTO_OK) status = multiply(plan, &plan->cq, "q_b", &flat);
  if (status == PTO_OK) status = rotate(plan, &q_rope, &turned);
  return status == PTO_OK ? multiply(plan, &from, "w_uk", &to) : status;
}

/* The new token's rows of both caches, and what the indexer asks with. */
static int submit_rows(const struct plan *plan) {
  const struct layer *l = plan->l;
  const uint64_t batch = l->moe.tokens, row = l->kv_rank + l->rope;
  const struct pto_tensor flat = matrix(plan, PTO_FLOAT32, row);
  const struct pto_tensor made = pto_tensor_reshape(&flat, 3, (uint64_t[]){batch, 1, row});
  const struct pto_tensor c = last_of(&made, 0, l->kv_rank), r = last_of(&made, l->kv_rank, row);
  const struct pto_tensor rows = new_rows(plan, &plan->kv_cache), keys = new_rows(plan, &plan->index_cache);
  const struct pto_tensor latent = last_of(&rows, 0, l->kv_rank), turned = last_of(&rows, l->kv_rank, row);
  const struct pto_tensor key = by_head(&keys); /* [1, batch, index_dim] */
  int status = multiply(plan, &plan->h, "kv_a", &flat);
  if (status == PTO_OK) status = normalise(plan, &c, "kv_a_norm", &latent);
  if (status == PTO_OK) status = rotate(plan, &r, &turned);
  if (status == PTO_OK) status = multiply(plan, &plan->cq, "index_q", &plan->index_q);
  if (status == PTO_OK) status = multiply(plan, &plan->h, "index_k", &key);
  return status == PTO_OK ? multiply(plan, &plan->h, "index_w", &plan->index_w) : status;
}

static int product_of_rows(const struct plan *plan, const struct pto_tensor *q, const struct pto_tensor *k,
                           const struct pto_tensor *s, double scale) {
  return submit_kernel(plan->rt, pto_kernel_find("qk"),
                       PARAMS(pto_input(q), pto_input(k), pto_output(s), pto_scalar_f32((float)scale)));
}

/* selected[request]: the tokens of the largest scores, [1, topk]. */
static int submit_index(const struct plan *plan, uint64_t request, const struct pto_tensor *selected) {
  const struct layer *l = plan->l;
  const struct pto_tensor q_row = rows_of(&plan->index_q, request, 1), w = rows_of(&plan->index_w, request, 1);
  const struct pto_tensor q = pto_tensor_reshape(&q_row, 2, (uint64_t[]){l->index_heads, l->index_dim});
  const struct pto_tensor keys = part_of(&plan->index_cache, request);
  const struct pto_tensor s = temporary_matrix(plan->rt, PTO_FLOAT32, l->index_heads, l->ctx);
  const struct pto_tensor positive = temporary_matrix(plan->rt, PTO_FLOAT32, l->index_heads, l->ctx);
  const struct pto_tensor scores = temporary_matrix(plan->rt, PTO_FLOAT32, 1, l->ctx);
  const struct pto_tensor values = temporary_matrix(plan->rt, PTO_FLOAT32, 1, l->topk);
  int status = product_of_rows(plan, &q, &keys, &s, 1);
  if (status == PTO_OK)
    status = submit_kernel(plan->rt, pto_kernel_find("relu"), PARAMS(pto_input(&s), pto_output(&positive)));
  if (status == PTO_OK) status = combine(plan, "matmul", &w, &positive, &scores);
  if (status != PTO_OK) return status;
  return submit_kernel(
      plan->rt, pto_kernel_find("top_k"),
      PARAMS(pto_input(&scores), pto_output(&values), pto_output(selected), pto_scalar_i64(1), pto_scalar_i64(1)));
}

/* latent[request], from the rows of the cache that the indexer chose. */
static int submit_request(const struct plan *plan, uint64_t request) {
  const struct layer *l = plan->l;
  const uint64_t row = l->kv_rank + l->rope;
  const struct pto_tensor selected = rows_of(&plan->selected, request, 1);
  const struct pto_tensor chosen = part_of(&plan->selected, request), cache = part_of(&plan->kv_cache, request);
  const struct pto_tensor query = part_of(&plan->query, request), latent = part_of(&plan->latent, request);
  const struct pto_tensor rows = temporary_matrix(plan->rt, l->moe.dtype, l->topk, row);
  const struct pto_tensor values = pto_tensor_slice(&rows, 1, 0, l->kv_rank, 1);
  const struct pto_tensor s = temporary_matrix(plan->rt, PTO_FLOAT32, l->heads, l->topk);
  const struct pto_tensor p = temporary_matrix(plan->rt, l->moe.dtype, l->heads, l->topk);
  int status = submit_index(plan, request, &selected);
  if (status == PTO_OK)
    status = submit_kernel(plan->rt, pto_kernel_find("gather"),
                           PARAMS(pto_input(&cache), pto_input(&chosen), pto_output(&rows), pto_scalar_u64(0)));
  if (status == PTO_OK) status = product_of_rows(plan, &query, &rows, &s, 1 / sqrt((double)(l->nope + l->rope)));
  if (status == PTO_OK)
    status =
        submit_kernel(plan->rt, pto_kernel_find("softmax"), PARAMS(pto_input(&s), pto_output(&p), pto_scalar_i64(1)));
  return status == PTO_OK ? combine(plan, "matmul", &p, &values, &latent) : status;
}

/* y = x + attention(rmsnorm(x))·Wo, g = rmsnorm(y) */
static int submit_attention(const struct plan *plan) {
  const struct layer *l = plan->l;
  const struct pto_tensor flat = pto_tensor_reshape(&plan->values, 2, (uint64_t[]){l->moe.tokens, l->heads * l->v_dim});
  const struct pto_tensor from = by_head(&plan->latent), to = by_head(&plan->values);
  const struct pto_tensor projected = matrix(plan, PTO_FLOAT32, l->moe.dim);
  int status = normalise(plan, &plan->x, "input_rms_weight", &plan->h);
  if (status == PTO_OK) status = submit_query(plan);
  if (status == PTO_OK) status = submit_rows(plan);
  for (uint64_t request = 0; status == PTO_OK && request < l->moe.tokens; request++) {
    status = pto_scope_begin(plan->rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = submit_request(plan, request);
    if (status == PTO_OK) status = pto_scope_end(plan->rt);
  }
  if (status == PTO_OK) status = multiply(plan, &from, "w_uv", &to);
  if (status == PTO_OK) status = multiply(plan, &flat, "wo", &projected);
  if (status == PTO_OK) status = combine(plan, "add", &plan->x, &projected, &plan->y);
  return status == PTO_OK ? normalise(plan, &plan->y, "post_rms_weight", &plan->g) : status;
}

static int submit_experts(const struct plan *plan) {
  struct moe_plan experts = {
      .moe = &plan->l->moe,
      .x = plan->g,
      .router = input(plan, "router"),
      .w1 = input(plan, "w1"),
      .w3 = input(plan, "w3"),
      .w2 = input(plan, "w2"),
      .out = plan->routed,
      .chosen = input(plan, "chosen"),
      .weights = input(plan, "weights"),
      .load = input(plan, "load"),
      .ran = input(plan, "ran"),
  };
  return moe_submit_layer(plan->rt, &experts);
}

/* out = y + routed + (silu(g·S1) ⊙ g·S3)·S2 */
static int submit_shared(const struct plan *plan) {
  const struct moe *moe = &plan->l->moe;
  const struct pto_tensor gate = matrix(plan, PTO_FLOAT32, moe->hidden), up = matrix(plan, PTO_FLOAT32, moe->hidden);
  const struct pto_tensor active = matrix(plan, PTO_FLOAT32, moe->hidden),
                          gated = matrix(plan, moe->dtype, moe->hidden);
  const struct pto_tensor shared = matrix(plan, PTO_FLOAT32, moe->dim), sum = matrix(plan, PTO_FLOAT32, moe->dim);
  const struct pto_tensor out = input(plan, "out");
  int status = multiply(plan, &plan->g, "shared_w1", &gate);
  if (status == PTO_OK) status = multiply(plan, &plan->g, "shared_w3", &up);
  if (status == PTO_OK)
    status = submit_kernel(plan->rt, pto_kernel_find("silu"), PARAMS(pto_input(&gate), pto_output(&active)));
  if (status == PTO_OK) status = combine(plan, "mul", &active, &up, &gated);
  if (status == PTO_OK) status = multiply(plan, &gated, "shared_w2", &shared);
  if (status == PTO_OK) status = combine(plan, "add", &plan->y, &plan->routed, &sum);
  return status == PTO_OK ? combine(plan, "add", &sum, &shared, &out) : status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct layer *l = pto_program_state(run, sizeof *l);
  const uint64_t batch = l->moe.tokens;
  struct plan plan = {.rt = rt, .run = run, .l = l};
  plan.x = input(&plan, "hidden_states");
  plan.kv_cache = input(&plan, "kv_cache");
  plan.index_cache = input(&plan, "index_cache");
  plan.selected = input(&plan, "selected");
  plan.h = matrix(&plan, l->moe.dtype, l->moe.dim);
  plan.cq = matrix(&plan, l->moe.dtype, l->q_rank);
  plan.query = temporary(rt, l->moe.dtype, 3, (uint64_t[]){batch, l->heads, l->kv_rank + l->rope});
  plan.latent = temporary(rt, PTO_FLOAT32, 3, (uint64_t[]){batch, l->heads, l->kv_rank});
  plan.values = temporary(rt, l->moe.dtype, 3, (uint64_t[]){batch, l->heads, l->v_dim});
  plan.index_q = matrix(&plan, PTO_FLOAT32, l->index_heads * l->index_dim);
  plan.index_w = matrix(&plan, PTO_FLOAT32, l->index_heads);
  plan.y = matrix(&plan, PTO_FLOAT32, l->moe.dim);
  plan.g = matrix(&plan, l->moe.dtype, l->moe.dim);
  plan.routed = matrix(&plan, PTO_FLOAT32, l->moe.dim);
  const struct pto_tensor in_parts[] = {plan.query, plan.latent, plan.values,
                                        plan.routed}; /* no writer has the whole */
  int status = pto_alloc_tensors(rt, in_parts, 4, NULL);
  if (status == PTO_OK) status = submit_attention(&plan);
  if (status == PTO_OK) status = submit_experts(&plan);
  return status == PTO_OK ? submit_shared(&plan) : status;
}

PROGRAM("deepseek_decode", "a decode step of a DeepSeek layer: latent attention to indexed keys, a mixture of experts",
        .rtol = 1e-3, .atol = 1e-3);
