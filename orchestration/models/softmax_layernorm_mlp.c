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
#include <orchestration/support/program.h>

#include <math.h>

static const double EPSILON = 1e-5, ROPE_BASE = 10000;

struct block {
  uint64_t seq, dim, heads, kv_heads, head_dim, hidden, tile;
  uint32_t dtype;
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
  int status = READ_WHOLE_OPTIONS(run, {"seq", 1, MOST, &b->seq}, {"dim", 1, MOST, &b->dim},
                                  {"heads", 1, MOST, &b->heads}, {"kv_heads", 1, MOST, &b->kv_heads},
                                  {"hidden", 1, MOST, &b->hidden}, {"tile", 1, MOST, &b->tile});
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

/* The constants that the tasks read besides the inputs: angles of position p and pair i, p / base^(2i / head_dim), and
 * −∞ right of the diagonal. */
static void fill_tables(struct pto_program_run *run, const struct block *b) {
  struct pto_array *cosines = pto_program_find(run, "cos"), *sines = pto_program_find(run, "sin");
  struct pto_array *mask = pto_program_find(run, "mask");
  const uint64_t pairs = b->head_dim / 2;
  for (uint64_t i = 0; i < b->seq * pairs; i++) {
    double angle = (double)(i / pairs) / pow(ROPE_BASE, (double)(i % pairs) / (double)pairs);
    pto_array_set(cosines, i, cos(angle));
    pto_array_set(sines, i, sin(angle));
  }
  for (uint64_t row = 0; row < b->tile; row++) {
    for (uint64_t column = row + 1; column < b->tile; column++) pto_array_set(mask, row * b->tile + column, -INFINITY);
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
      INPUT("x", PTO_FLOAT32, -1, 1, b->seq, b->dim),
      INPUT("norm1", PTO_FLOAT32, 0.5, 1.5, b->dim),
      INPUT("wq", b->dtype, -of_dim, of_dim, b->dim, b->dim),
      INPUT("wk", b->dtype, -of_dim, of_dim, b->dim, kv_dim),
      INPUT("wv", b->dtype, -of_dim, of_dim, b->dim, kv_dim),
      INPUT("wo", b->dtype, -of_dim, of_dim, b->dim, b->dim),
      INPUT("norm2", PTO_FLOAT32, 0.5, 1.5, b->dim),
      INPUT("w1", b->dtype, -of_dim, of_dim, b->dim, b->hidden),
      INPUT("w3", b->dtype, -of_dim, of_dim, b->dim, b->hidden),
      INPUT("w2", b->dtype, -of_hidden, of_hidden, b->hidden, b->dim),
      OUTPUT("out", PTO_FLOAT32, b->seq, b->dim),
      SCRATCH("cos", PTO_FLOAT32, b->seq, b->head_dim / 2),
      SCRATCH("sin", PTO_FLOAT32, b->seq, b->head_dim / 2),
      SCRATCH("mask", PTO_FLOAT32, b->tile, b->tile),
  };
  status = declare_arrays(run, arrays, LENGTH(arrays));
  if (status == PTO_OK) fill_tables(run, b);
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

static struct pto_tensor tile_of(const struct pto_tensor *matrix, const struct tile *tile) {
  return rows_of(matrix, tile->first, tile->rows);
}

/* c = kernel(a, b) */
static int combine(struct pto_runtime *rt, const char *name, const struct pto_tensor *a, const struct pto_tensor *b,
                   const struct pto_tensor *c) {
  return submit_kernel(rt, pto_kernel_find(name), PARAMS(pto_input(a), pto_input(b), pto_output(c)));
}

static int rmsnorm(struct pto_runtime *rt, const struct pto_tensor *x, const struct pto_tensor *gain,
                   const struct pto_tensor *y) {
  return submit_kernel(rt, pto_kernel_find("rmsnorm"),
                       PARAMS(pto_input(x), pto_input(gain), pto_output(y), pto_scalar_f32((float)EPSILON)));
}

/* y = x, the heads of each token turned by its position: pairs are neighbours. */
static int rope(struct pto_runtime *rt, const struct plan *plan, const struct tile *tile, const struct pto_tensor *x,
                const struct pto_tensor *y) {
  uint64_t heads[] = {tile->rows, x->shape[1] / plan->b->head_dim, plan->b->head_dim};
  struct pto_tensor from = pto_tensor_reshape(x, 3, heads), to = pto_tensor_reshape(y, 3, heads);
  return submit_kernel(rt, pto_kernel_find("rope"),
                       PARAMS(pto_input(&from), pto_input(&plan->cos), pto_input(&plan->sin), pto_output(&to),
                              pto_scalar_u64(tile->first), pto_scalar_u64(0)));
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
  struct pto_tensor s = temporary_matrix(rt, PTO_FLOAT32, tile->rows, seen),
                    p = temporary_matrix(rt, b->dtype, tile->rows, seen);
  struct pto_tensor own = pto_tensor_slice(&s, 1, tile->first, seen, 1);
  struct pto_tensor mask = pto_tensor_view(&plan->mask, (uint64_t[]){0, 0}, (uint64_t[]){tile->rows, tile->rows});
  float scale = (float)(1 / sqrt((double)b->head_dim));
  const struct pto_kernel *qk = pto_kernel_find("qk"), *hide = pto_kernel_find("add_inplace");
  const struct pto_kernel *softmax = pto_kernel_find("softmax");
  int status = submit_kernel(rt, qk, PARAMS(pto_input(&q_head), pto_input(&k), pto_output(&s), pto_scalar_f32(scale)));
  if (!status) status = submit_kernel(rt, hide, PARAMS(pto_input(&mask), pto_inout(&own)));
  if (!status) status = submit_kernel(rt, softmax, PARAMS(pto_input(&s), pto_output(&p), pto_scalar_i64(1)));
  return status ? status : combine(rt, "matmul", &p, &v, &a_head);
}

/* y = x + attention(rmsnorm(x))·Wo */
static int submit_attention(struct pto_runtime *rt, const struct plan *plan, const struct tile *tile,
                            const struct pto_tensor *y) {
  const struct block *b = plan->b;
  struct pto_tensor x = tile_of(&plan->x, tile), keys = tile_of(&plan->keys, tile);
  struct pto_tensor values = tile_of(&plan->values, tile), h = temporary_matrix(rt, b->dtype, tile->rows, b->dim);
  struct pto_tensor q = temporary_matrix(rt, PTO_FLOAT32, tile->rows, b->dim);
  struct pto_tensor k = temporary_matrix(rt, PTO_FLOAT32, tile->rows, keys.shape[1]);
  struct pto_tensor turned = temporary_matrix(rt, b->dtype, tile->rows, b->dim);
  struct pto_tensor a = temporary_matrix(rt, b->dtype, tile->rows, b->dim);
  struct pto_tensor projected = temporary_matrix(rt, PTO_FLOAT32, tile->rows, b->dim);
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
  struct pto_tensor g = temporary_matrix(rt, b->dtype, tile->rows, b->dim), out = tile_of(&plan->out, tile);
  struct pto_tensor gate = temporary_matrix(rt, PTO_FLOAT32, tile->rows, b->hidden);
  struct pto_tensor wide = temporary_matrix(rt, PTO_FLOAT32, tile->rows, b->hidden);
  struct pto_tensor active = temporary_matrix(rt, PTO_FLOAT32, tile->rows, b->hidden);
  struct pto_tensor gated = temporary_matrix(rt, b->dtype, tile->rows, b->hidden);
  struct pto_tensor narrow = temporary_matrix(rt, PTO_FLOAT32, tile->rows, b->dim);
  const struct pto_kernel *silu = pto_kernel_find("silu");
  int status = rmsnorm(rt, y, &plan->norm2, &g);
  if (status == PTO_OK) status = combine(rt, "matmul", &g, &plan->w1, &gate);
  if (status == PTO_OK) status = combine(rt, "matmul", &g, &plan->w3, &wide);
  if (status == PTO_OK) status = submit_kernel(rt, silu, PARAMS(pto_input(&gate), pto_output(&active)));
  if (status == PTO_OK) status = combine(rt, "mul", &active, &wide, &gated);
  if (status == PTO_OK) status = combine(rt, "matmul", &gated, &plan->w2, &narrow);
  return status == PTO_OK ? combine(rt, "add", y, &narrow, &out) : status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct block *b = pto_program_state(run, sizeof *b);
  struct plan plan = {
      .b = b,
      .x = tensor_of(rt, run, "x"),
      .norm1 = tensor_of(rt, run, "norm1"),
      .wq = tensor_of(rt, run, "wq"),
      .wk = tensor_of(rt, run, "wk"),
      .wv = tensor_of(rt, run, "wv"),
      .wo = tensor_of(rt, run, "wo"),
      .norm2 = tensor_of(rt, run, "norm2"),
      .w1 = tensor_of(rt, run, "w1"),
      .w2 = tensor_of(rt, run, "w2"),
      .w3 = tensor_of(rt, run, "w3"),
      .out = tensor_of(rt, run, "out"),
      .cos = tensor_of(rt, run, "cos"),
      .sin = tensor_of(rt, run, "sin"),
      .mask = tensor_of(rt, run, "mask"),
      .keys = temporary_matrix(rt, b->dtype, b->seq, b->kv_heads * b->head_dim),
      .values = temporary_matrix(rt, b->dtype, b->seq, b->kv_heads * b->head_dim),
  };
  const struct pto_tensor cache[] = {plan.keys, plan.values};
  int status = pto_alloc_tensors(rt, cache, 2, NULL);
  for (uint64_t first = 0; status == PTO_OK && first < b->seq; first += b->tile) {
    struct tile tile = {first, b->seq - first < b->tile ? b->seq - first : b->tile};
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    struct pto_tensor y = temporary_matrix(rt, PTO_FLOAT32, tile.rows, b->dim);
    if (status == PTO_OK) status = submit_attention(rt, &plan, &tile, &y);
    if (status == PTO_OK) status = submit_feed_forward(rt, &plan, &tile, &y);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

/* ---- golden: token by token in double precision, no tiles ---- */

struct golden {
  const struct block *b;
  const double *x, *norm1, *norm2, *wq, *wk, *wv, *wo, *w1, *w3, *w2; /* the inputs */
  double *keys, *values;                                              /* of the tokens so far, keys rotated */
  double *h, *q, *a, *y, *gate, *wide, *scores;
};

/* y = x·W */
static void project(const double *x, const double *w, double *y, uint64_t rows, uint64_t columns) {
  for (uint64_t j = 0; j < columns; j++) y[j] = 0;
  for (uint64_t i = 0; i < rows; i++) {
    for (uint64_t j = 0; j < columns; j++) y[j] += x[i] * w[i * columns + j];
  }
}

static void normalise(const double *x, const double *gain, double *y, uint64_t n) {
  double sum = 0;
  for (uint64_t i = 0; i < n; i++) sum += x[i] * x[i];
  for (uint64_t i = 0; i < n; i++) y[i] = x[i] / sqrt(sum / (double)n + EPSILON) * gain[i];
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
  const double *x = g->x + t * b->dim;
  uint64_t kv_dim = b->kv_heads * b->head_dim;
  normalise(x, g->norm1, g->h, b->dim);
  project(g->h, g->wq, g->q, b->dim, b->dim);
  project(g->h, g->wk, g->keys + t * kv_dim, b->dim, kv_dim);
  project(g->h, g->wv, g->values + t * kv_dim, b->dim, kv_dim);
  rotate(g->q, b->heads, b->head_dim, t);
  rotate(g->keys + t * kv_dim, b->kv_heads, b->head_dim, t);
  attend(g, t);
  project(g->a, g->wo, g->h, b->dim, b->dim);
  for (uint64_t i = 0; i < b->dim; i++) g->y[i] = x[i] + g->h[i];
  normalise(g->y, g->norm2, g->h, b->dim);
  project(g->h, g->w1, g->gate, b->dim, b->hidden);
  project(g->h, g->w3, g->wide, b->dim, b->hidden);
  for (uint64_t i = 0; i < b->hidden; i++) g->gate[i] = g->gate[i] / (1 + exp(-g->gate[i])) * g->wide[i];
  project(g->gate, g->w2, out, b->hidden, b->dim);
  for (uint64_t i = 0; i < b->dim; i++) out[i] += g->y[i];
}

static bool copy_inputs(struct pto_program_run *run, struct golden *g) {
  static const char *const names[] = {"x", "norm1", "norm2", "wq", "wk", "wv", "wo", "w1", "w3", "w2"};
  const double **const copies[] = {&g->x, &g->norm1, &g->norm2, &g->wq, &g->wk, &g->wv, &g->wo, &g->w1, &g->w3, &g->w2};
  for (size_t i = 0; i < LENGTH(names); i++)
    if ((*copies[i] = exact_copy(run, names[i])) == NULL) return false;
  return true;
}

static int expect(struct pto_program_run *run) {
  const struct block *b = pto_program_state(run, sizeof *b);
  double *out = golden_of(run, "out");
  uint64_t cache = b->seq * b->kv_heads * b->head_dim;
  double *memory = pto_program_alloc(run, (2 * cache + 4 * b->dim + 2 * b->hidden + b->seq) * sizeof(double));
  struct golden g = {.b = b};
  if (out == NULL || memory == NULL || !copy_inputs(run, &g)) return PTO_ENOMEM;
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

PROGRAM("softmax_layernorm_mlp",
        "a transformer block's forward pass in tiles of tokens: rmsnorm, rope, grouped-query attention, swiglu",
        .rtol = 1e-3, .atol = 1e-3);
