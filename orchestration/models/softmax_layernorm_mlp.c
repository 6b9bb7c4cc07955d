/* SPDX-License-Identifier: MIT */
/*
 * softmax_layernorm_mlp: the forward pass of one transformer block over a sequence, in tiles of tokens.
 *
 *     h = rmsnorm(x)·γ₁      q, k, v = h·Wq, h·Wk, h·Wv      q, k rotated by position (RoPE)
 *     a = causal attention, heads / kv_heads query heads to a KV head        y = x + a·Wo
 *     g = rmsnorm(y)·γ₂      out = y + (silu(g·W1) ⊙ g·W3)·W2
 *
 * Keys and values of all tokens live in two tensors that one task allocates in the run's scope; each tile writes its
 * rows and reads those of all tiles up to itself.  Everything else is temporary and lives in the tile's scope.  So
 * tiles run side by side where causality lets them, and that is found from the rows that they touch.
 *
 * T is f32, fp16 or bf16 (option dtype): matrices, keys and values, and all that is multiplied with one of them.  The
 * residual stream x → y → out, scores and sums are f32.  A tile's own tokens see each other only backwards: a constant
 * mask of 0 and −∞ is added to the last columns of its scores.
 *
 * For n tiles and H heads (n, H ≥ 2):  tasks = 1 + n·(16 + 4·H),  edges = n·(18 + 10·H) + H·(n² − 1): tile r's products
 * of scores and of values each wait for r + 1 tiles' keys or values, and from r = 1 on the softmax waits for the scores
 * that no mask was added to as well as for the others.
 */
#include <orchestration/support/options.h>
#include <orchestration/support/tensors.h>

#include <math.h>

static const double EPSILON = 1e-5, ROPE_BASE = 10000;

struct block {
  uint64_t seq, dim, heads, kv_heads, head_dim, hidden, tile;
  uint32_t dtype;
  struct pto_array *x, *norm1, *wq, *wk, *wv, *wo, *norm2, *w1, *w2, *w3, *out;
  struct pto_array *cos, *sin; /* f32[seq, head_dim / 2]: of position p and pair i, p / base^(2i / head_dim) */
  struct pto_array *mask;      /* f32[tile, tile]: −∞ right of the diagonal */
};

/* ---- inputs ---- */

static const struct pto_option options[] = {
    {"seq", PTO_OPTION_INT, "64", "tokens"},
    {"dim", PTO_OPTION_INT, "128", "width of a token, a multiple of heads"},
    {"heads", PTO_OPTION_INT, "8", "query heads"},
    {"kv_heads", PTO_OPTION_INT, "2", "key and value heads, a divisor of heads"},
    {"hidden", PTO_OPTION_INT, "256", "width of the feed-forward layer"},
    {"tile", PTO_OPTION_INT, "16", "tokens of a tile"},
    {"dtype", PTO_OPTION_TEXT, "f32", "of the matrices and what they are multiplied with: f32, fp16 or bf16"},
    {0},
};

static const struct pto_case cases[] = {
    {"64", "seq=64 dim=128 heads=8 kv_heads=2 hidden=256 tile=16", "four tiles", 193, 512, false},
    {"ragged", "seq=40 dim=48 heads=3 kv_heads=1 hidden=80 tile=16", "a last tile of half the tokens", 85, 168, false},
    {"256", "seq=256 dim=256 heads=8 kv_heads=4 hidden=512 tile=32", "eight larger tiles", 385, 1288, false},
    {"fp16", "dtype=fp16", NULL, 193, 512, false},
    {"bf16", "dtype=bf16", NULL, 193, 512, false},
    {"512x1024", "seq=512 dim=1024 heads=16 kv_heads=4 hidden=2816 tile=128", "a real layer's width", 321, 952, true},
    {0},
};

static int read_options(struct pto_program_run *run, struct block *b) {
  enum { MOST = 16384 };
  const struct whole_option numbers[] = {{"seq", 1, MOST, &b->seq},       {"dim", 1, MOST, &b->dim},
                                         {"heads", 1, MOST, &b->heads},   {"kv_heads", 1, MOST, &b->kv_heads},
                                         {"hidden", 1, MOST, &b->hidden}, {"tile", 1, MOST, &b->tile}};
  int status = READ_WHOLE_OPTIONS(run, numbers);
  if (status == PTO_OK) status = read_float_dtype(run, &b->dtype);
  if (status != PTO_OK) return status;
  b->head_dim = b->dim / b->heads;
  if (b->dim % (2 * b->heads) != 0 || b->heads % b->kv_heads != 0)
    return pto_program_fail(run, "dim %llu is no multiple of 2·heads, or heads %llu none of kv_heads %llu",
                            (unsigned long long)b->dim, (unsigned long long)b->heads, (unsigned long long)b->kv_heads);
  /* Eight values on the way from x to out are rounded to T, each by at most 2⁻¹¹ or 2⁻⁸ of itself. */
  if (b->dtype == PTO_FLOAT16) pto_program_tolerance(run, 0x1p-8, 0x1p-8);
  if (b->dtype == PTO_BFLOAT16) pto_program_tolerance(run, 0x1p-5, 0x1p-5);
  return PTO_OK;
}

/* The constants that the tasks read besides the inputs. */
static void fill_tables(struct block *b) {
  const uint64_t pairs = b->head_dim / 2;
  for (uint64_t i = 0; i < b->seq * pairs; i++) {
    double angle = (double)(i / pairs) / pow(ROPE_BASE, (double)(i % pairs) / (double)pairs);
    pto_array_set(b->cos, i, cos(angle));
    pto_array_set(b->sin, i, sin(angle));
  }
  for (uint64_t row = 0; row < b->tile; row++) {
    for (uint64_t column = row + 1; column < b->tile; column++)
      pto_array_set(b->mask, row * b->tile + column, -INFINITY);
  }
}

static int prepare(struct pto_program_run *run) {
  struct block *b = pto_program_state(run, sizeof *b);
  if (b == NULL) return PTO_ENOMEM;
  int status = read_options(run, b);
  if (status != PTO_OK) return status;
  uint64_t kv_dim = b->kv_heads * b->head_dim;
  /* Weights keep the variance of a product's columns. */
  const double of_dim = sqrt(3.0 / (double)b->dim), of_hidden = sqrt(3.0 / (double)b->hidden);
  const struct array_line arrays[] = {
      {&b->x, "x", PTO_ARRAY_INPUT, PTO_FLOAT32, 2, {b->seq, b->dim}, -1, 1},
      {&b->norm1, "norm1", PTO_ARRAY_INPUT, PTO_FLOAT32, 1, {b->dim}, 0.5, 1.5},
      {&b->wq, "wq", PTO_ARRAY_INPUT, b->dtype, 2, {b->dim, b->dim}, -of_dim, of_dim},
      {&b->wk, "wk", PTO_ARRAY_INPUT, b->dtype, 2, {b->dim, kv_dim}, -of_dim, of_dim},
      {&b->wv, "wv", PTO_ARRAY_INPUT, b->dtype, 2, {b->dim, kv_dim}, -of_dim, of_dim},
      {&b->wo, "wo", PTO_ARRAY_INPUT, b->dtype, 2, {b->dim, b->dim}, -of_dim, of_dim},
      {&b->norm2, "norm2", PTO_ARRAY_INPUT, PTO_FLOAT32, 1, {b->dim}, 0.5, 1.5},
      {&b->w1, "w1", PTO_ARRAY_INPUT, b->dtype, 2, {b->dim, b->hidden}, -of_dim, of_dim},
      {&b->w3, "w3", PTO_ARRAY_INPUT, b->dtype, 2, {b->dim, b->hidden}, -of_dim, of_dim},
      {&b->w2, "w2", PTO_ARRAY_INPUT, b->dtype, 2, {b->hidden, b->dim}, -of_hidden, of_hidden},
      {&b->out, "out", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 2, {b->seq, b->dim}, 0, 0},
      {&b->cos, "cos", PTO_ARRAY_SCRATCH, PTO_FLOAT32, 2, {b->seq, b->head_dim / 2}, 0, 0},
      {&b->sin, "sin", PTO_ARRAY_SCRATCH, PTO_FLOAT32, 2, {b->seq, b->head_dim / 2}, 0, 0},
      {&b->mask, "mask", PTO_ARRAY_SCRATCH, PTO_FLOAT32, 2, {b->tile, b->tile}, 0, 0},
  };
  status = DECLARE_ARRAYS(run, arrays);
  if (status == PTO_OK) fill_tables(b);
  return status;
}

/* ---- the orchestration ---- */

struct plan {
  const struct block *b;
  struct pto_tensor x, norm1, wq, wk, wv, wo, norm2, w1, w2, w3, out, cos, sin, mask;
  struct pto_tensor keys, values; /* T[seq, kv_heads · head_dim], of all tokens so far */
};

/* A tile of tokens: `rows` of them from `first` on. */
struct tile {
  uint64_t first, rows;
};

static struct pto_tensor matrix(struct pto_runtime *rt, uint32_t dtype, uint64_t rows, uint64_t columns) {
  return temporary(rt, dtype, 2, (uint64_t[]){rows, columns});
}

static struct pto_tensor rows_of(const struct pto_tensor *matrix, const struct tile *tile) {
  return pto_tensor_slice(matrix, 0, tile->first, tile->first + tile->rows, 1);
}

/* y = kernel(x) and c = kernel(a, b): on the core that the kernel is for. */
static int submit(struct pto_runtime *rt, const char *name, const struct pto_param *params, uint32_t count) {
  const struct pto_kernel *kernel = pto_kernel_find(name);
  return kernel->cores & PTO_AIC ? pto_submit_aic(rt, kernel, params, count)
                                 : pto_submit_aiv(rt, kernel, params, count);
}
static int combine(struct pto_runtime *rt, const char *name, const struct pto_tensor *a, const struct pto_tensor *b,
                   const struct pto_tensor *c) {
  return submit(rt, name, (struct pto_param[]){pto_input(a), pto_input(b), pto_output(c)}, 3);
}

static int rmsnorm(struct pto_runtime *rt, const struct pto_tensor *x, const struct pto_tensor *gain,
                   const struct pto_tensor *y) {
  struct pto_param params[] = {pto_input(x), pto_input(gain), pto_output(y), pto_scalar_f32((float)EPSILON)};
  return submit(rt, "rmsnorm", params, 4);
}

/* y = x, the heads of each token turned by its position: pairs are neighbours. */
static int rope(struct pto_runtime *rt, const struct plan *plan, const struct tile *tile, const struct pto_tensor *x,
                const struct pto_tensor *y) {
  uint64_t heads[] = {tile->rows, x->shape[1] / plan->b->head_dim, plan->b->head_dim};
  struct pto_tensor from = pto_tensor_reshape(x, 3, heads), to = pto_tensor_reshape(y, 3, heads);
  struct pto_param params[] = {pto_input(&from), pto_input(&plan->cos),       pto_input(&plan->sin),
                               pto_output(&to),  pto_scalar_u64(tile->first), pto_scalar_u64(0)};
  return submit(rt, "rope", params, 6);
}

/* One head: its columns of `a` from its columns of q and the keys and values up to the end of the tile. */
static int submit_head(struct pto_runtime *rt, const struct plan *plan, const struct tile *tile, uint64_t head,
                       const struct pto_tensor *q, const struct pto_tensor *a) {
  const struct block *b = plan->b;
  uint64_t seen = tile->first + tile->rows, kv = head / (b->heads / b->kv_heads) * b->head_dim, at = head * b->head_dim;
  struct pto_tensor q_head = pto_tensor_slice(q, 1, at, at + b->head_dim, 1);
  struct pto_tensor a_head = pto_tensor_slice(a, 1, at, at + b->head_dim, 1);
  struct pto_tensor k = pto_tensor_view(&plan->keys, (uint64_t[]){0, kv}, (uint64_t[]){seen, b->head_dim});
  struct pto_tensor v = pto_tensor_view(&plan->values, (uint64_t[]){0, kv}, (uint64_t[]){seen, b->head_dim});
  struct pto_tensor s = matrix(rt, PTO_FLOAT32, tile->rows, seen), p = matrix(rt, b->dtype, tile->rows, seen);
  struct pto_tensor own = pto_tensor_slice(&s, 1, tile->first, seen, 1);
  struct pto_tensor mask = pto_tensor_view(&plan->mask, (uint64_t[]){0, 0}, (uint64_t[]){tile->rows, tile->rows});
  struct pto_param scores[] = {pto_input(&q_head), pto_input(&k), pto_output(&s),
                               pto_scalar_f32((float)(1 / sqrt((double)b->head_dim)))};
  struct pto_param hide[] = {pto_input(&mask), pto_inout(&own)};
  struct pto_param softmax[] = {pto_input(&s), pto_output(&p), pto_scalar_i64(1)};
  int status = submit(rt, "qk", scores, 4);
  if (status == PTO_OK) status = submit(rt, "add_inplace", hide, 2);
  if (status == PTO_OK) status = submit(rt, "softmax", softmax, 3);
  if (status == PTO_OK) status = combine(rt, "matmul", &p, &v, &a_head);
  return status;
}

/* y = x + attention(rmsnorm(x))·Wo */
static int submit_attention(struct pto_runtime *rt, const struct plan *plan, const struct tile *tile,
                            const struct pto_tensor *y) {
  const struct block *b = plan->b;
  struct pto_tensor x = rows_of(&plan->x, tile), keys = rows_of(&plan->keys, tile);
  struct pto_tensor values = rows_of(&plan->values, tile), h = matrix(rt, b->dtype, tile->rows, b->dim);
  struct pto_tensor q = matrix(rt, PTO_FLOAT32, tile->rows, b->dim);
  struct pto_tensor k = matrix(rt, PTO_FLOAT32, tile->rows, keys.shape[1]);
  struct pto_tensor turned = matrix(rt, b->dtype, tile->rows, b->dim);
  struct pto_tensor a = matrix(rt, b->dtype, tile->rows, b->dim);
  struct pto_tensor projected = matrix(rt, PTO_FLOAT32, tile->rows, b->dim);
  int status = rmsnorm(rt, &x, &plan->norm1, &h);
  if (status == PTO_OK) status = combine(rt, "matmul", &h, &plan->wq, &q);
  if (status == PTO_OK) status = combine(rt, "matmul", &h, &plan->wk, &k);
  if (status == PTO_OK) status = combine(rt, "matmul", &h, &plan->wv, &values);
  if (status == PTO_OK) status = rope(rt, plan, tile, &q, &turned);
  if (status == PTO_OK) status = rope(rt, plan, tile, &k, &keys);
  if (status == PTO_OK) status = pto_alloc_tensors(rt, &a, 1, NULL);
  for (uint64_t head = 0; status == PTO_OK && head < b->heads; head++)
    status = submit_head(rt, plan, tile, head, &turned, &a);
  if (status == PTO_OK) status = combine(rt, "matmul", &a, &plan->wo, &projected);
  return status == PTO_OK ? combine(rt, "add", &x, &projected, y) : status;
}

/* out = y + (silu(rmsnorm(y)·W1) ⊙ rmsnorm(y)·W3)·W2 */
static int submit_feed_forward(struct pto_runtime *rt, const struct plan *plan, const struct tile *tile,
                               const struct pto_tensor *y) {
  const struct block *b = plan->b;
  struct pto_tensor g = matrix(rt, b->dtype, tile->rows, b->dim), out = rows_of(&plan->out, tile);
  struct pto_tensor gate = matrix(rt, PTO_FLOAT32, tile->rows, b->hidden);
  struct pto_tensor wide = matrix(rt, PTO_FLOAT32, tile->rows, b->hidden);
  struct pto_tensor active = matrix(rt, PTO_FLOAT32, tile->rows, b->hidden);
  struct pto_tensor gated = matrix(rt, b->dtype, tile->rows, b->hidden);
  struct pto_tensor narrow = matrix(rt, PTO_FLOAT32, tile->rows, b->dim);
  int status = rmsnorm(rt, y, &plan->norm2, &g);
  if (status == PTO_OK) status = combine(rt, "matmul", &g, &plan->w1, &gate);
  if (status == PTO_OK) status = combine(rt, "matmul", &g, &plan->w3, &wide);
  if (status == PTO_OK) status = submit(rt, "silu", (struct pto_param[]){pto_input(&gate), pto_output(&active)}, 2);
  if (status == PTO_OK) status = combine(rt, "mul", &active, &wide, &gated);
  if (status == PTO_OK) status = combine(rt, "matmul", &gated, &plan->w2, &narrow);
  return status == PTO_OK ? combine(rt, "add", y, &narrow, &out) : status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct block *b = pto_program_state(run, sizeof *b);
  struct plan plan = {
      .b = b,
      .x = pto_array_tensor(rt, b->x),
      .norm1 = pto_array_tensor(rt, b->norm1),
      .wq = pto_array_tensor(rt, b->wq),
      .wk = pto_array_tensor(rt, b->wk),
      .wv = pto_array_tensor(rt, b->wv),
      .wo = pto_array_tensor(rt, b->wo),
      .norm2 = pto_array_tensor(rt, b->norm2),
      .w1 = pto_array_tensor(rt, b->w1),
      .w2 = pto_array_tensor(rt, b->w2),
      .w3 = pto_array_tensor(rt, b->w3),
      .out = pto_array_tensor(rt, b->out),
      .cos = pto_array_tensor(rt, b->cos),
      .sin = pto_array_tensor(rt, b->sin),
      .mask = pto_array_tensor(rt, b->mask),
      .keys = matrix(rt, b->dtype, b->seq, b->kv_heads * b->head_dim),
      .values = matrix(rt, b->dtype, b->seq, b->kv_heads * b->head_dim),
  };
  const struct pto_tensor cache[] = {plan.keys, plan.values};
  int status = pto_alloc_tensors(rt, cache, 2, NULL);
  for (uint64_t first = 0; status == PTO_OK && first < b->seq; first += b->tile) {
    struct tile tile = {first, b->seq - first < b->tile ? b->seq - first : b->tile};
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    struct pto_tensor y = matrix(rt, PTO_FLOAT32, tile.rows, b->dim);
    if (status == PTO_OK) status = submit_attention(rt, &plan, &tile, &y);
    if (status == PTO_OK) status = submit_feed_forward(rt, &plan, &tile, &y);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

/* ---- golden: token by token in double precision, no tiles ---- */

/* A matrix of the inputs, in double precision. */
struct weights {
  uint64_t rows, columns;
  double *elements;
};

struct golden {
  const struct block *b;
  struct weights wq, wk, wv, wo, w1, w3, w2;
  double *keys, *values; /* of the tokens so far, keys rotated */
  double *h, *q, *a, *y, *gate, *wide, *scores;
};

/* y = x·W, x of W's rows. */
static void project(const double *x, const struct weights *w, double *y) {
  for (uint64_t j = 0; j < w->columns; j++) y[j] = 0;
  for (uint64_t i = 0; i < w->rows; i++) {
    for (uint64_t j = 0; j < w->columns; j++) y[j] += x[i] * w->elements[i * w->columns + j];
  }
}

static void normalise(const double *x, const struct pto_array *gain, double *y) {
  uint64_t n = gain->shape[0];
  double sum = 0;
  for (uint64_t i = 0; i < n; i++) sum += x[i] * x[i];
  for (uint64_t i = 0; i < n; i++) y[i] = x[i] / sqrt(sum / (double)n + EPSILON) * pto_array_get(gain, i);
}

static void rotate(double *x, uint64_t heads, uint64_t head_dim, uint64_t position) {
  for (uint64_t head = 0; head < heads; head++) {
    for (uint64_t i = 0; i < head_dim / 2; i++) {
      double *pair = x + head * head_dim + 2 * i, even = pair[0], odd = pair[1];
      double angle = (double)position * pow(ROPE_BASE, -2.0 * (double)i / (double)head_dim);
      pair[0] = even * cos(angle) - odd * sin(angle);
      pair[1] = even * sin(angle) + odd * cos(angle);
    }
  }
}

static void attend(const struct golden *g, uint64_t position) {
  const struct block *b = g->b;
  uint64_t d = b->head_dim, kv_dim = b->kv_heads * d;
  for (uint64_t head = 0; head < b->heads; head++) {
    uint64_t kv = head * b->kv_heads / b->heads * d;
    double sum = 0, *a = g->a + head * d;
    for (uint64_t t = 0; t <= position; t++) {
      double dot = 0;
      for (uint64_t i = 0; i < d; i++) dot += g->q[head * d + i] * g->keys[t * kv_dim + kv + i];
      sum += g->scores[t] = exp(dot / sqrt((double)d));
    }
    for (uint64_t i = 0; i < d; i++) a[i] = 0;
    for (uint64_t t = 0; t <= position; t++) {
      for (uint64_t i = 0; i < d; i++) a[i] += g->scores[t] / sum * g->values[t * kv_dim + kv + i];
    }
  }
}

static void expect_token(const struct golden *g, uint64_t t, double *out) {
  const struct block *b = g->b;
  const float *x = (const float *)b->x->data + t * b->dim;
  uint64_t kv_dim = b->kv_heads * b->head_dim;
  for (uint64_t i = 0; i < b->dim; i++) g->y[i] = (double)x[i];
  normalise(g->y, b->norm1, g->h);
  project(g->h, &g->wq, g->q);
  project(g->h, &g->wk, g->keys + t * kv_dim);
  project(g->h, &g->wv, g->values + t * kv_dim);
  rotate(g->q, b->heads, b->head_dim, t);
  rotate(g->keys + t * kv_dim, b->kv_heads, b->head_dim, t);
  attend(g, t);
  project(g->a, &g->wo, g->h);
  for (uint64_t i = 0; i < b->dim; i++) g->y[i] += g->h[i];
  normalise(g->y, b->norm2, g->h);
  project(g->h, &g->w1, g->gate);
  project(g->h, &g->w3, g->wide);
  for (uint64_t i = 0; i < b->hidden; i++) g->gate[i] = g->gate[i] / (1 + exp(-g->gate[i])) * g->wide[i];
  project(g->gate, &g->w2, out);
  for (uint64_t i = 0; i < b->dim; i++) out[i] += g->y[i];
}

static bool load_weights(struct pto_program_run *run, struct golden *g) {
  const struct block *b = g->b;
  struct pto_array *const arrays[] = {b->wq, b->wk, b->wv, b->wo, b->w1, b->w3, b->w2};
  struct weights *const weights[] = {&g->wq, &g->wk, &g->wv, &g->wo, &g->w1, &g->w3, &g->w2};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
    *weights[i] = (struct weights){.rows = arrays[i]->shape[0], .columns = arrays[i]->shape[1]};
    weights[i]->elements = pto_program_alloc(run, arrays[i]->numel * sizeof(double));
    if (weights[i]->elements == NULL) return false;
    for (uint64_t k = 0; k < arrays[i]->numel; k++) weights[i]->elements[k] = pto_array_get(arrays[i], k);
  }
  return true;
}

static int expect(struct pto_program_run *run) {
  const struct block *b = pto_program_state(run, sizeof *b);
  double *out = pto_array_golden(run, b->out);
  uint64_t cache = b->seq * b->kv_heads * b->head_dim;
  double *memory = pto_program_alloc(run, (2 * cache + 4 * b->dim + 2 * b->hidden + b->seq) * sizeof(double));
  struct golden g = {.b = b};
  if (out == NULL || memory == NULL || !load_weights(run, &g)) return PTO_ENOMEM;
  g.keys = memory;
  g.values = g.keys + cache;
  g.h = g.values + cache;
  g.q = g.h + b->dim;
  g.a = g.q + b->dim;
  g.y = g.a + b->dim;
  g.gate = g.y + b->dim;
  g.wide = g.gate + b->hidden;
  g.scores = g.wide + b->hidden;
  for (uint64_t t = 0; t < b->seq; t++) expect_token(&g, t, out + t * b->dim);
  return PTO_OK;
}

PTO_API const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "softmax_layernorm_mlp",
    .summary = "a transformer block's forward pass in tiles of tokens: rmsnorm, rope, grouped-query attention, swiglu",
    .rtol = 1e-3,
    .atol = 1e-3,
    .options = options,
    .cases = cases,
    .prepare = prepare,
    .orchestrate = orchestrate,
    .expect = expect,
};
