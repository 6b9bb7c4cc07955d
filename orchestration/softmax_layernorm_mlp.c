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
 * For n tiles and H heads (n, H ≥ 2):  tasks = 1 + n·(15 + 3·H),  edges = n·(18 + 9·H) + H·n·(n − 1): tile r's products
 * of scores and of values each wait for r + 1 tiles' keys or values.
 */
#include <pto/pto.h>

#include <math.h>

static const double EPSILON = 1e-5, ROPE_BASE = 10000;

struct block {
  uint64_t seq, dim, heads, kv_heads, head_dim, hidden, tile;
  struct pto_array *x, *norm1, *wq, *wk, *wv, *wo, *norm2, *w1, *w2, *w3, *out;
};

/* ---- kernels, in f32 over matrices ---- */

static float *element(const struct pto_kernel_tensor *t, uint64_t i, uint64_t j) {
  return (float *)t->addr + i * t->strides[0] + j * t->strides[1];
}

/* y[i, j] = x[i, j] / √(mean of squares of row i + ε) · gain[j] */
static int run_rmsnorm(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *gain = &args->tensors[1], *y = &args->tensors[2];
  for (uint64_t i = 0; i < x->shape[0]; i++) {
    float sum = 0;
    for (uint64_t j = 0; j < x->shape[1]; j++) sum += *element(x, i, j) * *element(x, i, j);
    float scale = 1.0f / sqrtf(sum / (float)x->shape[1] + (float)EPSILON);
    for (uint64_t j = 0; j < x->shape[1]; j++)
      *element(y, i, j) = *element(x, i, j) * scale * ((const float *)gain->addr)[j * gain->strides[0]];
  }
  return 0;
}

/* Turns the pairs (2i, 2i + 1) of each head of row r by the angle (first + r) / base^(2i / head_dim).  Scalars: first,
 * head_dim. */
static int run_rope(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  uint64_t first = args->scalars[0].u64, head_dim = args->scalars[1].u64;
  for (uint64_t row = 0; row < x->shape[0]; row++) {
    for (uint64_t j = 0; j < x->shape[1]; j += 2) {
      double angle = (double)(first + row) / pow(ROPE_BASE, (double)(j % head_dim) / (double)head_dim);
      float c = (float)cos(angle), s = (float)sin(angle);
      float even = *element(x, row, j), odd = *element(x, row, j + 1);
      *element(x, row, j) = even * c - odd * s;
      *element(x, row, j + 1) = even * s + odd * c;
    }
  }
  return 0;
}

/* p = softmax of s by rows, columns beyond the row's own position being masked.  Scalar: position of row 0. */
static int run_causal_softmax(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *s = &args->tensors[0], *p = &args->tensors[1];
  for (uint64_t i = 0; i < s->shape[0]; i++) {
    uint64_t seen = args->scalars[0].u64 + i + 1;
    float most = *element(s, i, 0), sum = 0;
    if (seen > s->shape[1])
      return pto_kernel_error(args, "row %llu sees more columns than there are", (unsigned long long)i);
    for (uint64_t j = 1; j < seen; j++) most = fmaxf(most, *element(s, i, j));
    for (uint64_t j = 0; j < seen; j++) sum += *element(p, i, j) = expf(*element(s, i, j) - most);
    for (uint64_t j = 0; j < seen; j++) *element(p, i, j) /= sum;
    for (uint64_t j = seen; j < s->shape[1]; j++) *element(p, i, j) = 0;
  }
  return 0;
}

/* c = silu(a) ⊙ b */
static int run_swiglu(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *a = &args->tensors[0], *b = &args->tensors[1], *c = &args->tensors[2];
  for (uint64_t i = 0; i < a->shape[0]; i++) {
    for (uint64_t j = 0; j < a->shape[1]; j++) {
      float x = *element(a, i, j);
      *element(c, i, j) = x / (1.0f + expf(-x)) * *element(b, i, j);
    }
  }
  return 0;
}

/* `ops` vector operations an element of the last tensor; every tensor moved once. */
static struct pto_cost cost_of(const struct pto_kernel_args *args, uint64_t ops) {
  struct pto_cost cost = {0};
  for (uint32_t i = 0; i < args->tensor_count; i++) {
    uint64_t elems = 1;
    for (uint32_t d = 0; d < args->tensors[i].ndims; d++) elems *= args->tensors[i].shape[d];
    bool is_last = i + 1 == args->tensor_count;
    if (!is_last || args->tensor_count == 1) cost.bytes_in += elems * sizeof(float);
    if (is_last) cost.bytes_out = elems * sizeof(float);
    if (is_last) cost.vector_elems = elems * ops;
  }
  return cost;
}
static struct pto_cost rmsnorm_cost(const struct pto_kernel_args *args) { return cost_of(args, 4); }
static struct pto_cost rope_cost(const struct pto_kernel_args *args) { return cost_of(args, 6); }
static struct pto_cost causal_softmax_cost(const struct pto_kernel_args *args) { return cost_of(args, 5); }
static struct pto_cost swiglu_cost(const struct pto_kernel_args *args) { return cost_of(args, 5); }

#define TENSOR(name_, mode_, rank)                                                                                     \
  { .name = name_, .mode = mode_, .dtypes = PTO_DTYPE_BIT(PTO_FLOAT32), .min_rank = rank, .max_rank = rank }
#define COUNT(name_)                                                                                                   \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }
#define KERNEL(name_, count)                                                                                           \
  static const struct pto_kernel kernel_##name_ = {.name = #name_,                                                     \
                                                   .cores = PTO_AIV,                                                   \
                                                   .params = name_##_params,                                           \
                                                   .param_count = count,                                               \
                                                   .run = run_##name_,                                                 \
                                                   .cost = name_##_cost}

static const struct pto_kernel_param rmsnorm_params[] = {TENSOR("x", PTO_INPUT, 2), TENSOR("gain", PTO_INPUT, 1),
                                                         TENSOR("y", PTO_OUTPUT, 2)};
static const struct pto_kernel_param rope_params[] = {TENSOR("x", PTO_INOUT, 2), COUNT("first"), COUNT("head_dim")};
static const struct pto_kernel_param causal_softmax_params[] = {TENSOR("s", PTO_INPUT, 2), TENSOR("p", PTO_OUTPUT, 2),
                                                                COUNT("first")};
static const struct pto_kernel_param swiglu_params[] = {TENSOR("a", PTO_INPUT, 2), TENSOR("b", PTO_INPUT, 2),
                                                        TENSOR("c", PTO_OUTPUT, 2)};
KERNEL(rmsnorm, 3);
KERNEL(rope, 3);
KERNEL(causal_softmax, 3);
KERNEL(swiglu, 3);

/* ---- inputs ---- */

static const struct pto_option options[] = {
    {"seq", PTO_OPTION_INT, "64", "tokens"},
    {"dim", PTO_OPTION_INT, "128", "width of a token, a multiple of heads"},
    {"heads", PTO_OPTION_INT, "8", "query heads"},
    {"kv_heads", PTO_OPTION_INT, "2", "key and value heads, a divisor of heads"},
    {"hidden", PTO_OPTION_INT, "256", "width of the feed-forward layer"},
    {"tile", PTO_OPTION_INT, "16", "tokens of a tile"},
    {0},
};

static const struct pto_case cases[] = {
    {"64", "seq=64 dim=128 heads=8 kv_heads=2 hidden=256 tile=16", "four tiles", 157, 456, false},
    {"ragged", "seq=40 dim=48 heads=3 kv_heads=1 hidden=80 tile=16", "a last tile of half the tokens", 73, 153, false},
    {"256", "seq=256 dim=256 heads=8 kv_heads=4 hidden=512 tile=32", "eight larger tiles", 313, 1168, false},
    {0},
};

static int read_sizes(struct pto_program_run *run, struct block *b) {
  static const char *const names[] = {"seq", "dim", "heads", "kv_heads", "hidden", "tile"};
  uint64_t *const fields[] = {&b->seq, &b->dim, &b->heads, &b->kv_heads, &b->hidden, &b->tile};
  for (int i = 0; i < 6; i++) {
    int64_t value = pto_option_int(run, names[i]);
    if (value < 1 || value > 16384)
      return pto_program_fail(run, "%s %lld is not in 1 … 16384", names[i], (long long)value);
    *fields[i] = (uint64_t)value;
  }
  b->head_dim = b->dim / b->heads;
  if (b->dim % (2 * b->heads) != 0 || b->heads % b->kv_heads != 0)
    return pto_program_fail(run, "dim %llu is no multiple of 2·heads, or heads %llu none of kv_heads %llu",
                            (unsigned long long)b->dim, (unsigned long long)b->heads, (unsigned long long)b->kv_heads);
  return PTO_OK;
}

static int prepare(struct pto_program_run *run) {
  struct block *b = pto_program_state(run, sizeof *b);
  if (b == NULL) return PTO_ENOMEM;
  int status = read_sizes(run, b);
  if (status != PTO_OK) return status;
  uint64_t kv_dim = b->kv_heads * b->head_dim;
  const struct {
    struct pto_array **array;
    const char *name;
    uint64_t rows, columns; /* columns 0: a vector */
  } inputs[] = {
      {&b->x, "x", b->seq, b->dim},      {&b->norm1, "norm1", b->dim, 0},   {&b->wq, "wq", b->dim, b->dim},
      {&b->wk, "wk", b->dim, kv_dim},    {&b->wv, "wv", b->dim, kv_dim},    {&b->wo, "wo", b->dim, b->dim},
      {&b->norm2, "norm2", b->dim, 0},   {&b->w1, "w1", b->dim, b->hidden}, {&b->w3, "w3", b->dim, b->hidden},
      {&b->w2, "w2", b->hidden, b->dim},
  };
  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    uint64_t shape[] = {inputs[i].rows, inputs[i].columns};
    struct pto_array *array =
        pto_program_array(run, inputs[i].name, PTO_ARRAY_INPUT, PTO_FLOAT32, inputs[i].columns == 0 ? 1 : 2, shape);
    if (array == NULL) return PTO_ENOMEM;
    *inputs[i].array = array;
    double bound =
        array == b->x ? 1 : sqrt(3.0 / (double)inputs[i].rows); /* keeps the variance of a product's columns */
    if (inputs[i].columns == 0)
      pto_array_fill_uniform(run, array, 0.5, 1.5);
    else
      pto_array_fill_uniform(run, array, -bound, bound);
  }
  b->out = pto_program_array(run, "out", PTO_ARRAY_OUTPUT, PTO_FLOAT32, 2, (uint64_t[]){b->seq, b->dim});
  return b->out == NULL ? PTO_ENOMEM : PTO_OK;
}

/* ---- the orchestration ---- */

struct plan {
  const struct block *b;
  const struct pto_kernel *matmul, *add, *qk, *pv;
  struct pto_tensor x, norm1, wq, wk, wv, wo, norm2, w1, w2, w3, out;
  struct pto_tensor keys, values; /* [seq, kv_heads · head_dim], of all tokens so far */
};

/* A tile of tokens: `rows` of them from `first` on. */
struct tile {
  uint64_t first, rows;
};

static struct pto_tensor temporary(struct pto_runtime *rt, uint64_t rows, uint64_t columns) {
  struct pto_buffer buffer = pto_create_buffer(rt, rows * columns * sizeof(float));
  return pto_managed_tensor(rt, buffer, PTO_FLOAT32, 2, (uint64_t[]){rows, columns});
}

static struct pto_tensor rows_of(const struct pto_tensor *matrix, const struct tile *tile) {
  return pto_tensor_slice(matrix, 0, tile->first, tile->first + tile->rows, 1);
}

static int matmul(struct pto_runtime *rt, const struct plan *plan, const struct pto_tensor *a,
                  const struct pto_tensor *b, const struct pto_tensor *c) {
  struct pto_param params[] = {pto_input(a), pto_input(b), pto_output(c)};
  return pto_submit_aic(rt, plan->matmul, params, 3);
}

/* c = kernel(a, b), on an AIV. */
static int combine(struct pto_runtime *rt, const struct pto_kernel *kernel, const struct pto_tensor *a,
                   const struct pto_tensor *b, const struct pto_tensor *c) {
  struct pto_param params[] = {pto_input(a), pto_input(b), pto_output(c)};
  return pto_submit_aiv(rt, kernel, params, 3);
}

static int rope(struct pto_runtime *rt, const struct plan *plan, const struct tile *tile, const struct pto_tensor *x) {
  struct pto_param params[] = {pto_inout(x), pto_scalar_u64(tile->first), pto_scalar_u64(plan->b->head_dim)};
  return pto_submit_aiv(rt, &kernel_rope, params, 3);
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
  struct pto_tensor s = temporary(rt, tile->rows, seen), p = temporary(rt, tile->rows, seen);
  struct pto_param scores[] = {pto_input(&q_head), pto_input(&k), pto_output(&s),
                               pto_scalar_f32((float)(1 / sqrt((double)b->head_dim)))};
  struct pto_param softmax[] = {pto_input(&s), pto_output(&p), pto_scalar_u64(tile->first)};
  struct pto_param weighted[] = {pto_input(&p), pto_input(&v), pto_output(&a_head)};
  int status = pto_submit_aic(rt, plan->qk, scores, 4);
  if (status == PTO_OK) status = pto_submit_aiv(rt, &kernel_causal_softmax, softmax, 3);
  if (status == PTO_OK) status = pto_submit_aic(rt, plan->pv, weighted, 3);
  return status;
}

/* y = x + attention(rmsnorm(x))·Wo */
static int submit_attention(struct pto_runtime *rt, const struct plan *plan, const struct tile *tile,
                            const struct pto_tensor *y) {
  const struct block *b = plan->b;
  struct pto_tensor x = rows_of(&plan->x, tile), k = rows_of(&plan->keys, tile), v = rows_of(&plan->values, tile);
  struct pto_tensor h = temporary(rt, tile->rows, b->dim), q = temporary(rt, tile->rows, b->dim);
  struct pto_tensor a = temporary(rt, tile->rows, b->dim), projected = temporary(rt, tile->rows, b->dim);
  int status = combine(rt, &kernel_rmsnorm, &x, &plan->norm1, &h);
  if (status == PTO_OK) status = matmul(rt, plan, &h, &plan->wq, &q);
  if (status == PTO_OK) status = matmul(rt, plan, &h, &plan->wk, &k);
  if (status == PTO_OK) status = matmul(rt, plan, &h, &plan->wv, &v);
  if (status == PTO_OK) status = rope(rt, plan, tile, &q);
  if (status == PTO_OK) status = rope(rt, plan, tile, &k);
  if (status == PTO_OK) status = pto_alloc_tensors(rt, &a, 1, NULL);
  for (uint64_t head = 0; status == PTO_OK && head < b->heads; head++)
    status = submit_head(rt, plan, tile, head, &q, &a);
  if (status == PTO_OK) status = matmul(rt, plan, &a, &plan->wo, &projected);
  return status == PTO_OK ? combine(rt, plan->add, &x, &projected, y) : status;
}

/* out = y + swiglu(rmsnorm(y)) */
static int submit_feed_forward(struct pto_runtime *rt, const struct plan *plan, const struct tile *tile,
                               const struct pto_tensor *y) {
  const struct block *b = plan->b;
  struct pto_tensor g = temporary(rt, tile->rows, b->dim), wide = temporary(rt, tile->rows, b->hidden);
  struct pto_tensor gate = temporary(rt, tile->rows, b->hidden), gated = temporary(rt, tile->rows, b->hidden);
  struct pto_tensor narrow = temporary(rt, tile->rows, b->dim), out = rows_of(&plan->out, tile);
  int status = combine(rt, &kernel_rmsnorm, y, &plan->norm2, &g);
  if (status == PTO_OK) status = matmul(rt, plan, &g, &plan->w1, &gate);
  if (status == PTO_OK) status = matmul(rt, plan, &g, &plan->w3, &wide);
  if (status == PTO_OK) status = combine(rt, &kernel_swiglu, &gate, &wide, &gated);
  if (status == PTO_OK) status = matmul(rt, plan, &gated, &plan->w2, &narrow);
  return status == PTO_OK ? combine(rt, plan->add, y, &narrow, &out) : status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct block *b = pto_program_state(run, sizeof *b);
  struct plan plan = {
      .b = b,
      .matmul = pto_kernel_find("matmul"),
      .add = pto_kernel_find("add"),
      .qk = pto_kernel_find("qk"),
      .pv = pto_kernel_find("pv"),
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
      .keys = temporary(rt, b->seq, b->kv_heads * b->head_dim),
      .values = temporary(rt, b->seq, b->kv_heads * b->head_dim),
  };
  const struct pto_tensor cache[] = {plan.keys, plan.values};
  int status = pto_alloc_tensors(rt, cache, 2, NULL);
  for (uint64_t first = 0; status == PTO_OK && first < b->seq; first += b->tile) {
    struct tile tile = {first, b->seq - first < b->tile ? b->seq - first : b->tile};
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    struct pto_tensor y = temporary(rt, tile.rows, b->dim);
    if (status == PTO_OK) status = submit_attention(rt, &plan, &tile, &y);
    if (status == PTO_OK) status = submit_feed_forward(rt, &plan, &tile, &y);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

/* ---- golden: token by token in double precision, no tiles ---- */

struct golden {
  const struct block *b;
  double *keys, *values; /* of the tokens so far, keys rotated */
  double *h, *q, *a, *y, *gate, *wide, *scores;
};

/* y = x·W, x of W's rows. */
static void project(const double *x, const struct pto_array *w, double *y) {
  const float *weights = w->data;
  uint64_t rows = w->shape[0], columns = w->shape[1];
  for (uint64_t j = 0; j < columns; j++) y[j] = 0;
  for (uint64_t i = 0; i < rows; i++) {
    for (uint64_t j = 0; j < columns; j++) y[j] += x[i] * (double)weights[i * columns + j];
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
  project(g->h, b->wq, g->q);
  project(g->h, b->wk, g->keys + t * kv_dim);
  project(g->h, b->wv, g->values + t * kv_dim);
  rotate(g->q, b->heads, b->head_dim, t);
  rotate(g->keys + t * kv_dim, b->kv_heads, b->head_dim, t);
  attend(g, t);
  project(g->a, b->wo, g->h);
  for (uint64_t i = 0; i < b->dim; i++) g->y[i] += g->h[i];
  normalise(g->y, b->norm2, g->h);
  project(g->h, b->w1, g->gate);
  project(g->h, b->w3, g->wide);
  for (uint64_t i = 0; i < b->hidden; i++) g->gate[i] = g->gate[i] / (1 + exp(-g->gate[i])) * g->wide[i];
  project(g->gate, b->w2, out);
  for (uint64_t i = 0; i < b->dim; i++) out[i] += g->y[i];
}

static int expect(struct pto_program_run *run) {
  const struct block *b = pto_program_state(run, sizeof *b);
  double *out = pto_array_golden(run, b->out);
  uint64_t cache = b->seq * b->kv_heads * b->head_dim;
  double *memory = pto_program_alloc(run, (2 * cache + 4 * b->dim + 2 * b->hidden + b->seq) * sizeof(double));
  if (out == NULL || memory == NULL) return PTO_ENOMEM;
  struct golden g = {.b = b, .keys = memory, .values = memory + cache, .h = memory + 2 * cache};
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
