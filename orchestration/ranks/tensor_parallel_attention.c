/* SPDX-License-Identifier: MIT */
/*
 * tensor_parallel_attention: steps of a decoder's attention on several ranks (Shoeybi et al., "Megatron-LM", 2019,
 * section 3).
 *
 *     h = x[t] + y[t - 1]    q, k, v = h·Wq, h·Wk, h·Wv    y[t] = softmax(q·Kᵀ / √width)·V, of all heads, · Wo
 *
 * for each of `batch` sequences, whose keys and values K and V are those of steps 0 to t.  A rank has heads / ranks
 * query heads: their columns of Wq and rows of Wo, and the KV heads that they attend to, with columns of Wk and Wv.
 * Where there are more ranks than KV heads, several ranks have a copy of the same one.  Its cache holds its KV heads
 * alone, and stays on its device: each step writes a row a sequence.  What a rank has of y[t] is an addend, and an
 * all-reduce gives all ranks the sum, which the next step begins with.
 *
 * The golden has whole products up to Wo, head by head, then an addend a rank, and adds them in the order of the
 * all-reduce: to the last bit.
 */
#include <orchestration/ranks/reduction.h>
#include <orchestration/ranks/sequential.h>
#include <orchestration/support/program.h>

static const struct pto_option options[] = {
    {"steps", PTO_OPTION_INT, "4", "tokens of each sequence"},
    {"batch", PTO_OPTION_INT, "2", "sequences"},
    {"heads", PTO_OPTION_INT, "16", "query heads, a multiple of ranks and of kv_heads"},
    {"kv_heads", PTO_OPTION_INT, "4", "key and value heads, a multiple or a divisor of ranks"},
    {"width", PTO_OPTION_INT, "16", "elements of a head; x and y have heads · width"},
    ALGORITHM_OPTION("two_phase"),
    {0}};
static const struct pto_case cases[] = {
    {.name = "4x2x16x4"},
    {.name = "one_kv_head", .settings = "steps=3 batch=3 heads=8 kv_heads=1 width=10", .summary = "each rank has it"},
    {.name = "64x8x32x8", .settings = "steps=64 batch=8 heads=32 kv_heads=8 width=128", .is_long = true},
    {0}};

struct attention {
  uint64_t steps, batch, heads, kv_heads, width, dim, kv_dim;
  enum pto_all_reduce algorithm;
};

/* What a rank has: query heads `first` to `end - 1`, KV heads likewise. */
struct share {
  uint64_t first, end, kv_first, kv_end;
};

static struct share share_of(struct pto_program_run *run, const struct attention *a, uint32_t rank) {
  const uint64_t heads = a->heads / pto_program_rank_count(run), group = a->heads / a->kv_heads;
  const uint64_t first = rank * heads, end = first + heads;
  return (struct share){first, end, first / group, (end + group - 1) / group};
}

static int prepare(struct pto_program_run *run) {
  enum { MOST = 65536 };
  struct attention *a = pto_program_state(run, sizeof *a);
  if (!a) return PTO_ENOMEM;
  const uint64_t ranks = pto_program_rank_count(run);
  int status = READ_WHOLE_OPTIONS(run, {"steps", 1, MOST, &a->steps}, {"batch", 1, MOST, &a->batch},
                                  {"heads", 1, MOST, &a->heads}, {"kv_heads", 1, MOST, &a->kv_heads},
                                  {"width", 1, MOST, &a->width});
  if (!status) status = read_algorithm(run, &a->algorithm);
  if (status) return status;
  if (a->heads % ranks || a->heads % a->kv_heads || (a->kv_heads % ranks && ranks % a->kv_heads))
    return pto_program_fail(run, "heads %llu and kv_heads %llu cannot be split over %llu ranks",
                            (unsigned long long)a->heads, (unsigned long long)a->kv_heads, (unsigned long long)ranks);
  a->dim = a->heads * a->width;
  a->kv_dim = a->kv_heads * a->width;
  const double bound = sqrt(3.0 / (double)a->dim); /* weights keep the variance of a product's columns */
  return DECLARE_ARRAYS(run, INPUT("x", PTO_FLOAT32, -1, 1, a->steps, a->batch, a->dim),
                        INPUT("wq", PTO_FLOAT32, -bound, bound, a->dim, a->dim),
                        INPUT("wk", PTO_FLOAT32, -bound, bound, a->dim, a->kv_dim),
                        INPUT("wv", PTO_FLOAT32, -bound, bound, a->dim, a->kv_dim),
                        INPUT("wo", PTO_FLOAT32, -bound, bound, a->dim, a->dim),
                        OUTPUT("y", PTO_FLOAT32, a->steps, a->batch, a->dim));
}

/* ---- the orchestration ---- */

struct plan {
  const struct attention *a;
  struct share share;
  struct pto_comm comm;
  struct pto_tensor x, y;
  struct pto_tensor wq, wk, wv, wo; /* the rank's part of each */
  struct pto_tensor keys, values;   /* a row a step: of each sequence, the rank's KV heads */
};

/* c = kernel(a, b) */
static int combine(struct pto_runtime *rt, const char *kernel, const struct pto_tensor *a, const struct pto_tensor *b,
                   const struct pto_tensor *c) {
  return submit_kernel(rt, pto_kernel_find(kernel), PARAMS(pto_input(a), pto_input(b), pto_output(c)));
}

/* Columns first … first + count · width - 1 of a sequence's row, as `count` heads. */
static struct pto_tensor heads_of(const struct pto_tensor *matrix, uint64_t row, uint64_t first, uint64_t count,
                                  uint64_t width) {
  const struct pto_tensor part = pto_tensor_view(matrix, (uint64_t[]){row, first}, (uint64_t[]){1, count * width});
  return pto_tensor_reshape(&part, 2, (uint64_t[]){count, width});
}

/* The query heads of a sequence that attend to KV head `kv` of the rank's: their columns of `out` from those of q. */
static int submit_heads(struct pto_runtime *rt, const struct plan *plan, uint64_t t, uint64_t sequence, uint64_t kv,
                        const struct pto_tensor *q, const struct pto_tensor *out) {
  const struct attention *a = plan->a;
  const uint64_t kv_count = plan->share.kv_end - plan->share.kv_first, width = a->width;
  const uint64_t count = (plan->share.end - plan->share.first) / kv_count, at = (sequence * kv_count + kv) * width;
  const struct pto_tensor own_q = heads_of(q, sequence, kv * count * width, count, width);
  const struct pto_tensor own_out = heads_of(out, sequence, kv * count * width, count, width);
  const struct pto_tensor k = pto_tensor_view(&plan->keys, (uint64_t[]){0, at}, (uint64_t[]){t + 1, width});
  const struct pto_tensor v = pto_tensor_view(&plan->values, (uint64_t[]){0, at}, (uint64_t[]){t + 1, width});
  const struct pto_tensor scores = temporary_matrix(rt, PTO_FLOAT32, count, t + 1);
  const struct pto_tensor weights = temporary_matrix(rt, PTO_FLOAT32, count, t + 1);
  const float scale = (float)(1 / sqrt((double)width));
  int status = pto_submit_aic(rt, pto_kernel_find("qk"),
                              PARAMS(pto_input(&own_q), pto_input(&k), pto_output(&scores), pto_scalar_f32(scale)));
  if (!status)
    status = pto_submit_aiv(rt, pto_kernel_find("softmax"),
                            PARAMS(pto_input(&scores), pto_output(&weights), pto_scalar_i64(1)));
  return status ? status : combine(rt, "matmul", &weights, &v, &own_out);
}

static int submit_step(struct pto_runtime *rt, const struct plan *plan, uint64_t t) {
  const struct attention *a = plan->a;
  const uint64_t kv_count = plan->share.kv_end - plan->share.kv_first;
  const uint64_t rows[] = {a->batch, kv_count * a->width};
  const struct pto_tensor x = part_of(&plan->x, t), y = part_of(&plan->y, t);
  const struct pto_tensor key = rows_of(&plan->keys, t, 1), value = rows_of(&plan->values, t, 1);
  const struct pto_tensor new_keys = pto_tensor_reshape(&key, 2, rows),
                          new_values = pto_tensor_reshape(&value, 2, rows);
  const struct pto_tensor q = temporary_matrix(rt, PTO_FLOAT32, a->batch, plan->wq.shape[1]);
  const struct pto_tensor out = temporary_matrix(rt, PTO_FLOAT32, a->batch, plan->wq.shape[1]);
  const struct pto_tensor addend = temporary_matrix(rt, PTO_FLOAT32, a->batch, a->dim);
  const struct pto_tensor sum = temporary_matrix(rt, PTO_FLOAT32, a->batch, a->dim), *h = t ? &sum : &x;
  int status = PTO_OK;
  if (t) {
    const struct pto_tensor last = part_of(&plan->y, t - 1);
    status = combine(rt, "add", &x, &last, &sum);
  }
  if (!status) status = combine(rt, "matmul", h, &plan->wq, &q);
  if (!status) status = combine(rt, "matmul", h, &plan->wk, &new_keys);
  if (!status) status = combine(rt, "matmul", h, &plan->wv, &new_values);
  if (!status) status = pto_alloc_tensors(rt, &out, 1, NULL);
  for (uint64_t sequence = 0; sequence < a->batch; sequence++)
    for (uint64_t kv = 0; kv < kv_count && !status; kv++) status = submit_heads(rt, plan, t, sequence, kv, &q, &out);
  if (!status) status = combine(rt, "matmul", &out, &plan->wo, &addend);
  return status ? status : pto_submit_all_reduce(rt, plan->comm, &addend, &y, PTO_REDUCE_SUM, a->algorithm);
}

/* Columns first … end - 1 of a matrix of heads. */
static struct pto_tensor columns_of(struct pto_runtime *rt, struct pto_program_run *run, const char *name,
                                    uint64_t first, uint64_t end) {
  const struct attention *a = pto_program_state(run, sizeof *a);
  const struct pto_tensor whole = tensor_of(rt, run, name);
  return pto_tensor_slice(&whole, 1, first * a->width, end * a->width, 1);
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct attention *a = pto_program_state(run, sizeof *a);
  const struct share share = share_of(run, a, pto_program_rank(run));
  const struct pto_tensor wo = tensor_of(rt, run, "wo");
  const uint64_t cached = a->batch * (share.kv_end - share.kv_first) * a->width;
  struct plan plan = {.a = a,
                      .share = share,
                      .x = tensor_of(rt, run, "x"),
                      .y = tensor_of(rt, run, "y"),
                      .wq = columns_of(rt, run, "wq", share.first, share.end),
                      .wk = columns_of(rt, run, "wk", share.kv_first, share.kv_end),
                      .wv = columns_of(rt, run, "wv", share.kv_first, share.kv_end),
                      .wo = rows_of(&wo, share.first * a->width, (share.end - share.first) * a->width),
                      .keys = temporary_matrix(rt, PTO_FLOAT32, a->steps, cached),
                      .values = temporary_matrix(rt, PTO_FLOAT32, a->steps, cached)};
  int status = pto_comm_create_for_collectives(rt, NULL, 0, a->batch * a->dim * sizeof(float), &plan.comm);
  if (!status) status = pto_alloc_tensors(rt, (const struct pto_tensor[]){plan.keys, plan.values}, 2, NULL);
  for (uint64_t t = 0; t < a->steps && !status; t++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (!status) status = submit_step(rt, &plan, t);
    if (!status) status = pto_scope_end(rt);
  }
  return status;
}

/* ---- golden: each step whole, each head by itself ---- */

struct golden {
  const struct attention *a;
  struct pto_core core;
  struct matrix keys, values; /* rows of all sequences of step 0, then of step 1, … */
  struct matrix h, q, out, weights;
};

/* Steps 0 to t of a sequence's head, of a cache. */
static struct matrix steps_of(const struct attention *a, struct matrix cache, uint64_t sequence, uint64_t head,
                              uint64_t t) {
  return (struct matrix){cache.at + sequence * cache.stride + head * a->width, t + 1, a->width,
                         cache.stride * a->batch};
}

static int attend(const struct golden *g, uint64_t t, uint64_t sequence) {
  const struct attention *a = g->a;
  const union pto_scalar scale = {.f32 = (float)(1 / sqrt((double)a->width))}, axis = {.i64 = 1};
  const struct matrix weights = matrix_columns(g->weights, 0, t + 1);
  const struct matrix q = matrix_rows(g->q, sequence, sequence + 1), out = matrix_rows(g->out, sequence, sequence + 1);
  int status = PTO_OK;
  for (uint64_t head = 0; head < a->heads && !status; head++) {
    const uint64_t first = head * a->width, end = first + a->width, kv = head / (a->heads / a->kv_heads);
    const struct matrix k = steps_of(a, g->keys, sequence, kv, t), v = steps_of(a, g->values, sequence, kv, t);
    status = compute(&g->core, "qk", MATRICES(matrix_columns(q, first, end), k, weights), scale);
    if (!status) status = compute(&g->core, "softmax", MATRICES(weights, weights), axis);
    if (!status) status = compute(&g->core, "matmul", MATRICES(weights, v, matrix_columns(out, first, end)), NO_SCALAR);
  }
  return status;
}

/* y = the sum of what the ranks have, `addends` room for it. */
static int project(struct pto_program_run *run, const struct golden *g, const struct matrix *addends, struct matrix y) {
  const uint32_t ranks = pto_program_rank_count(run);
  const struct matrix wo = matrix_of(pto_program_find(run, "wo"), 0);
  const float *numbers[PTO_MAX_RANKS];
  for (uint32_t rank = 0; rank < ranks; rank++) {
    const struct share share = share_of(run, g->a, rank);
    const uint64_t first = share.first * g->a->width, end = share.end * g->a->width;
    const struct matrix out = matrix_columns(g->out, first, end), rows = matrix_rows(wo, first, end);
    const int status = compute(&g->core, "matmul", MATRICES(out, rows, addends[rank]), NO_SCALAR);
    if (status) return status;
    numbers[rank] = addends[rank].at;
  }
  add_ranks(&(struct addends){numbers, ranks}, g->a->algorithm, y.rows * y.columns, y.at);
  return PTO_OK;
}

static int step(struct pto_program_run *run, const struct golden *g, uint64_t t, struct matrix y) {
  const uint64_t row = t * g->a->batch, end = row + g->a->batch;
  const struct matrix wq = matrix_of(pto_program_find(run, "wq"), 0), wk = matrix_of(pto_program_find(run, "wk"), 0);
  const struct matrix wv = matrix_of(pto_program_find(run, "wv"), 0), x = matrix_of(pto_program_find(run, "x"), t);
  const struct matrix h = t ? g->h : x;
  int status = PTO_OK;
  if (t) status = compute(&g->core, "add", MATRICES(x, matrix_rows(y, row - g->a->batch, row), h), NO_SCALAR);
  if (!status) status = compute(&g->core, "matmul", MATRICES(h, wq, g->q), NO_SCALAR);
  if (!status) status = compute(&g->core, "matmul", MATRICES(h, wk, matrix_rows(g->keys, row, end)), NO_SCALAR);
  if (!status) status = compute(&g->core, "matmul", MATRICES(h, wv, matrix_rows(g->values, row, end)), NO_SCALAR);
  for (uint64_t sequence = 0; sequence < g->a->batch && !status; sequence++) status = attend(g, t, sequence);
  return status;
}

/* ---- in double precision, without ranks ---- */

struct exact {
  const struct attention *a;
  double *h, *q, *out, *scores, *keys, *values; /* caches: a row a step */
};

/* y = x·w */
static void multiply(const double *x, const struct matrix w, double *y) {
  memset(y, 0, w.columns * sizeof *y);
  for (uint64_t i = 0; i < w.rows; i++)
    for (uint64_t j = 0; j < w.columns; j++) y[j] += x[i] * (double)w.at[i * w.stride + j];
}

static void attend_exactly(const struct exact *e, uint64_t t) {
  const struct attention *a = e->a;
  memset(e->out, 0, a->dim * sizeof *e->out);
  for (uint64_t head = 0; head < a->heads; head++) {
    const uint64_t at = head * a->width, kv = head / (a->heads / a->kv_heads) * a->width;
    double most = -INFINITY, sum = 0;
    for (uint64_t i = 0; i <= t; i++) {
      e->scores[i] = 0;
      for (uint64_t j = 0; j < a->width; j++) e->scores[i] += e->q[at + j] * e->keys[i * a->kv_dim + kv + j];
      e->scores[i] /= sqrt((double)a->width);
      most = fmax(most, e->scores[i]);
    }
    for (uint64_t i = 0; i <= t; i++) sum += exp(e->scores[i] - most);
    for (uint64_t i = 0; i <= t; i++)
      for (uint64_t j = 0; j < a->width; j++)
        e->out[at + j] += exp(e->scores[i] - most) / sum * e->values[i * a->kv_dim + kv + j];
  }
}

/* y[steps, batch, dim]; NULL where there is no memory. */
static double *compute_exactly(struct pto_program_run *run, const struct attention *a) {
  const float *x = data_of(run, "x");
  const uint64_t cached = a->steps * a->kv_dim, spread = a->batch * a->dim;
  double *y = pto_program_alloc(run, a->steps * spread * sizeof *y);
  double *rooms = pto_program_alloc(run, (3 * a->dim + a->steps + 2 * cached) * sizeof *rooms);
  if (!y || !rooms) return NULL;
  const struct exact e = {.a = a,
                          .h = rooms,
                          .q = rooms + a->dim,
                          .out = rooms + 2 * a->dim,
                          .scores = rooms + 3 * a->dim,
                          .keys = rooms + 3 * a->dim + a->steps,
                          .values = rooms + 3 * a->dim + a->steps + cached};
  for (uint64_t sequence = 0; sequence < a->batch; sequence++)
    for (uint64_t t = 0; t < a->steps; t++) {
      const uint64_t at = t * spread + sequence * a->dim;
      for (uint64_t i = 0; i < a->dim; i++) e.h[i] = (double)x[at + i] + (t ? y[at - spread + i] : 0);
      multiply(e.h, matrix_of(pto_program_find(run, "wq"), 0), e.q);
      multiply(e.h, matrix_of(pto_program_find(run, "wk"), 0), e.keys + t * a->kv_dim);
      multiply(e.h, matrix_of(pto_program_find(run, "wv"), 0), e.values + t * a->kv_dim);
      attend_exactly(&e, t);
      multiply(e.out, matrix_of(pto_program_find(run, "wo"), 0), y + at);
    }
  return y;
}

static int expect(struct pto_program_run *run) {
  const struct attention *a = pto_program_state(run, sizeof *a);
  const struct golden g = {.a = a,
                           .core = make_core(run),
                           .keys = make_matrix(run, a->steps * a->batch, a->kv_dim),
                           .values = make_matrix(run, a->steps * a->batch, a->kv_dim),
                           .h = make_matrix(run, a->batch, a->dim),
                           .q = make_matrix(run, a->batch, a->dim),
                           .out = make_matrix(run, a->batch, a->dim),
                           .weights = make_matrix(run, 1, a->steps)};
  const struct matrix y = make_matrix(run, a->steps * a->batch, a->dim);
  struct matrix addends[PTO_MAX_RANKS];
  int status = y.at && g.keys.at && g.values.at ? PTO_OK : PTO_ENOMEM;
  for (uint32_t rank = 0; rank < pto_program_rank_count(run); rank++)
    addends[rank] = make_matrix(run, a->batch, a->dim);
  for (uint64_t t = 0; t < a->steps && !status; t++) {
    status = step(run, &g, t, y);
    if (!status) status = project(run, &g, addends, matrix_rows(y, t * a->batch, (t + 1) * a->batch));
  }
  return status ? status : give_golden(run, "y", y, compute_exactly(run, a));
}

PROGRAM("tensor_parallel_attention", "steps of a decoder's attention, its heads split over the ranks", .ranks = 4);
