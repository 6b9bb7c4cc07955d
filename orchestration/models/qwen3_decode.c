/* SPDX-License-Identifier: MIT */
/*
 * qwen3_decode: one decode step of one layer in the form of Qwen3 (A. Yang et al., "Qwen3 Technical Report", 2025), for
 * a batch of requests with keys and values in pages.
 *
 *     h = rmsnorm(x)      q, k, v = h·Wq, h·Wk, h·Wv      q, k: rmsnorm of each head, turned by position (halves)
 *     k, v into the cache      a = attention over the request's tokens, heads / kv_heads query heads to a KV head
 *     y = x + a·Wo      g = rmsnorm(y)      out = y + (silu(g·Wgate) ⊙ g·Wup)·Wdown
 *
 * Every step is one task for the whole batch, of `width` blocks (SPMD): products by columns, heads and rows by their
 * number, attention by its items, a tile of query rows of one request that share a KV head (orchestration/attention/
 * paged_parts.h, orchestration/support/spread.h).  The results are the same bytes for any width.
 *
 * scopes=auto: the runtime finds the edges from what tasks read and write.  scopes=manual: regions order nothing, every
 * task names the tasks that it comes after, and these are the same edges.
 *
 * T is f32, fp16 or bf16 (option dtype): of the matrices, the caches and what is multiplied with them.  The residual
 * stream, norms, scores and sums are f32.  A request's new token is its last: context_lens counts it.  Requests share
 * no cache block.
 *
 * With M the most cache blocks of a request:  tasks = 20 + 4·M,  edges = 20 + 8·M, for any batch, width and scopes.
 */
#include <orchestration/attention/paged_parts.h>
#include <orchestration/support/spread.h>

#include <math.h>

static const double EPSILON = 1e-6, ROPE_BASE = 1e6;

struct layer {
  struct paged p; /* attention; dim is that of a head */
  uint64_t hidden, intermediate, width;
  bool is_manual;
  const char *k_start, *v_start; /* the caches as they are before the step */
};

/* ---- inputs ---- */

static const struct pto_option options[] = {
    PTO_PAGED_OPTIONS,
    {"hidden", PTO_OPTION_INT, "64", "width of a token"},
    {"intermediate", PTO_OPTION_INT, "160", "width of the feed-forward layer"},
    {"scopes", PTO_OPTION_TEXT, "auto", "auto: edges from regions; manual: every edge is explicit"},
    {"width", PTO_OPTION_INT, "1", "blocks of a task"},
    {0},
};

#define SMALL "heads=8 kv_heads=2 dim=16 block=16 lens=33,17,48,1 "
#define MIDDLE "heads=16 kv_heads=8 dim=32 block=32 batch=8 ctx=200 hidden=256 intermediate=768 dtype=bf16 "
static const struct pto_case cases[] = {
    {"auto", SMALL, "four requests of different length", 32, 44, false},
    {"auto8", SMALL "width=8", "eight blocks a task", 32, 44, false},
    {"auto24", SMALL "width=24", "a block for each cluster of an a2a3; many have nothing to do", 32, 44, false},
    {"manual", SMALL "scopes=manual", "every edge is explicit", 32, 44, false},
    {"manual8", SMALL "scopes=manual width=8", NULL, 32, 44, false},
    {"manual24", SMALL "scopes=manual width=24", NULL, 32, 44, false},
    {"one", "batch=1 heads=4 kv_heads=4 dim=16 block=16 ctx=16", "one request, whose token fills a block", 24, 28,
     false},
    {"first", "batch=2 heads=4 kv_heads=1 dim=16 block=16 ctx=1", "nothing in the cache but the token itself", 24, 28,
     false},
    {"fp16", SMALL "width=8 dtype=fp16", NULL, 32, 44, false},
    {"bf16", SMALL "width=8 dtype=bf16", NULL, 32, 44, false},
    {"middle", MIDDLE "width=8", "seven cache blocks", 48, 76, false},
    {"middle_manual", MIDDLE "width=24 scopes=manual", NULL, 48, 76, false},
    {"0.6B",
     "heads=16 kv_heads=8 dim=128 block=128 batch=16 ctx=1024 hidden=1024 intermediate=3072 dtype=bf16 "
     "pool_blocks=128 width=24",
     "sizes of the 0.6B model", 52, 84, true},
    {"14B",
     "heads=40 kv_heads=8 dim=128 block=128 batch=16 ctx=3500 hidden=5120 intermediate=17408 dtype=bf16 "
     "pool_blocks=448 width=24",
     "sizes of the 14B model, batch and context of a serving run", 132, 244, true},
    {"14B_manual",
     "heads=40 kv_heads=8 dim=128 block=128 batch=16 ctx=3500 hidden=5120 intermediate=17408 dtype=bf16 "
     "pool_blocks=448 width=24 scopes=manual",
     NULL, 132, 244, true},
    {0},
};

static int read_options(struct pto_program_run *run, struct layer *l) {
  struct paged *p = &l->p;
  int status = READ_WHOLE_OPTIONS(run, {"hidden", 1, 1 << 16, &l->hidden},
                                  {"intermediate", 1, 1 << 18, &l->intermediate}, {"width", 1, 4096, &l->width});
  if (status == PTO_OK) status = read_choice(run, "scopes", "auto", "manual", &l->is_manual);
  if (status == PTO_OK) status = paged_read_sizes(run, p);
  if (status == PTO_OK) status = paged_make_lens(run, p);
  if (status != PTO_OK) return status;
  if (p->dim % 2 != 0) return pto_program_fail(run, "dim %llu is odd", (unsigned long long)p->dim);
  if (p->group_heads % p->q_tile != 0)
    return pto_program_fail(run, "the %llu heads of a KV head are no multiple of %llu",
                            (unsigned long long)p->group_heads, (unsigned long long)p->q_tile);
  /* Eight values on the way from x to out are rounded to T, each by at most 2⁻¹¹ or 2⁻⁸ of itself. */
  if (p->dtype == PTO_FLOAT16) pto_program_tolerance(run, 0x1p-8, 0x1p-8);
  if (p->dtype == PTO_BFLOAT16) pto_program_tolerance(run, 0x1p-5, 0x1p-5);
  return PTO_OK;
}

static uint64_t len_of(struct pto_program_run *run, uint64_t request) {
  return (uint64_t)pto_array_get(pto_program_find(run, "context_lens"), request);
}

/* Each block of a request is one of its own: block number n of all is n · step modulo the pool, with no common divisor.
 * The new token's place, and its row of the cache. */
static int fill_tables(struct pto_program_run *run, const struct layer *l) {
  const struct paged *p = &l->p;
  struct pto_array *table = pto_program_find(run, "block_table"), *slots = pto_program_find(run, "slot_mapping");
  struct pto_array *positions = pto_program_find(run, "positions");
  uint64_t step = p->pool_blocks / 2 + 1, number = 0, a, b;
  do {
    step++;
    for (a = step, b = p->pool_blocks; b != 0;) {
      const uint64_t rest = a % b;
      a = b;
      b = rest;
    }
  } while (a != 1);
  for (uint64_t request = 0; request < p->batch; request++) {
    const uint64_t len = len_of(run, request), last = len - 1;
    uint64_t entry = 0;
    for (uint64_t i = 0; i * p->block < len; i++, number++) {
      entry = (pto_program_seed(run) % p->pool_blocks + number * step) % p->pool_blocks;
      pto_array_set(table, request * p->max_blocks + i, (double)entry);
    }
    pto_array_set(slots, request, (double)(entry * p->block + last % p->block));
    pto_array_set(positions, request, (double)last);
  }
  if (number <= p->pool_blocks) return PTO_OK;
  return pto_program_fail(run, "pool_blocks %llu are fewer than the %llu blocks of all requests",
                          (unsigned long long)p->pool_blocks, (unsigned long long)number);
}

static void fill_angles(struct pto_program_run *run, const struct layer *l) {
  struct pto_array *cosines = pto_program_find(run, "rope_cos"), *sines = pto_program_find(run, "rope_sin");
  const uint64_t pairs = l->p.dim / 2;
  for (uint64_t i = 0; i < cosines->numel; i++) {
    const double angle = (double)(i / pairs) * pow(ROPE_BASE, -(double)(i % pairs) / (double)pairs);
    pto_array_set(cosines, i, cos(angle));
    pto_array_set(sines, i, sin(angle));
  }
}

static int prepare(struct pto_program_run *run) {
  struct layer *l = pto_program_state(run, sizeof *l);
  int status = l == NULL ? PTO_ENOMEM : read_options(run, l);
  if (status != PTO_OK) return status;
  const struct paged *p = &l->p;
  const uint64_t q_dim = p->heads * p->dim, kv_dim = p->kv_heads * p->dim, positions = p->max_blocks * p->block;
  /* Weights keep the variance of a product's columns. */
  const double of_hidden = sqrt(3.0 / (double)l->hidden), of_heads = sqrt(3.0 / (double)q_dim);
  const double of_intermediate = sqrt(3.0 / (double)l->intermediate);
  const struct array_line arrays[] = {
      INPUT("hidden_states", PTO_FLOAT32, -1, 1, p->batch, l->hidden),
      INPUT("input_rms_weight", PTO_FLOAT32, 0.5, 1.5, l->hidden),
      INPUT("wq", p->dtype, -of_hidden, of_hidden, l->hidden, q_dim),
      INPUT("wk", p->dtype, -of_hidden, of_hidden, l->hidden, kv_dim),
      INPUT("wv", p->dtype, -of_hidden, of_hidden, l->hidden, kv_dim),
      INPUT("q_norm_weight", PTO_FLOAT32, 0.5, 1.5, p->dim),
      INPUT("k_norm_weight", PTO_FLOAT32, 0.5, 1.5, p->dim),
      {"k_cache", PTO_ARRAY_INOUT, p->dtype, 4, {p->pool_blocks, p->block, p->kv_heads, p->dim}, -1, 1},
      {"v_cache", PTO_ARRAY_INOUT, p->dtype, 4, {p->pool_blocks, p->block, p->kv_heads, p->dim}, -1, 1},
      INPUT("wo", p->dtype, -of_heads, of_heads, q_dim, l->hidden),
      INPUT("post_rms_weight", PTO_FLOAT32, 0.5, 1.5, l->hidden),
      INPUT("w_gate", p->dtype, -of_hidden, of_hidden, l->hidden, l->intermediate),
      INPUT("w_up", p->dtype, -of_hidden, of_hidden, l->hidden, l->intermediate),
      INPUT("w_down", p->dtype, -of_intermediate, of_intermediate, l->intermediate, l->hidden),
      OUTPUT("out", PTO_FLOAT32, p->batch, l->hidden),
      SCRATCH("block_table", PTO_INT32, p->batch, p->max_blocks),
      SCRATCH("slot_mapping", PTO_INT32, p->batch, 1),
      SCRATCH("positions", PTO_INT32, p->batch),
      SCRATCH("rope_cos", PTO_FLOAT32, positions, p->dim / 2),
      SCRATCH("rope_sin", PTO_FLOAT32, positions, p->dim / 2),
  };
  status = declare_arrays(run, arrays, LENGTH(arrays));
  if (status == PTO_OK) status = fill_tables(run, l);
  if (status == PTO_OK) status = keep_bytes(run, "k_cache", &l->k_start);
  if (status == PTO_OK) status = keep_bytes(run, "v_cache", &l->v_start);
  if (status == PTO_OK) fill_angles(run, l);
  return status;
}

/* ---- the orchestration ---- */

struct plan {
  struct pto_runtime *rt;
  const struct layer *l;
  struct pto_tensor x, input_norm, wq, wk, wv, q_norm, k_norm, k_cache, v_cache, wo, post_norm, gate, up, down, out;
  struct pto_tensor lens, table, slots, positions, cos, sin;
};

/* A kernel, and the tasks that it comes after. */
struct stage {
  const struct pto_kernel *kernel;
  struct pto_task after[2];
  uint32_t after_count;
};
#define FIRST(kernel_)                                                                                                 \
  (struct stage) { .kernel = &(kernel_) }
#define AFTER(kernel_, ...)                                                                                            \
  (struct stage) { &(kernel_), {__VA_ARGS__}, (uint32_t)LENGTH(((const struct pto_task[]){__VA_ARGS__})) }

static int submit_stage(const struct plan *plan, struct stage stage, const struct pto_param *params, uint32_t count,
                        struct pto_task *task) {
  struct pto_launch launch = {.block_count = (uint32_t)plan->l->width};
  if (stage.kernel->cores == PTO_AIC)
    launch.aic = stage.kernel;
  else
    launch.aiv0 = stage.kernel;
  if (plan->l->is_manual) {
    launch.after = stage.after;
    launch.after_count = stage.after_count;
  }
  return pto_submit(plan->rt, &launch, params, count, task);
}

static int combine(const struct plan *plan, struct stage stage, const struct pto_tensor *a, const struct pto_tensor *b,
                   const struct pto_tensor *c, struct pto_task *task) {
  return submit_stage(plan, stage, PARAMS(pto_input(a), pto_input(b), pto_output(c)), task);
}
static int normalise(const struct plan *plan, struct stage stage, const struct pto_tensor *x,
                     const struct pto_tensor *weight, const struct pto_tensor *y, struct pto_task *task) {
  return submit_stage(plan, stage,
                      PARAMS(pto_input(x), pto_input(weight), pto_output(y), pto_scalar_f32((float)EPSILON)), task);
}

static struct pto_tensor matrix(const struct plan *plan, uint32_t dtype, uint64_t columns) {
  return temporary_matrix(plan->rt, dtype, plan->l->p.batch, columns);
}

/* y = x·W [batch, heads · dim], each head normalised and turned. */
static int submit_heads(const struct plan *plan, struct pto_task h_task, const struct pto_tensor *h,
                        const struct pto_tensor *w, const struct pto_tensor *norm, const struct pto_tensor *y,
                        struct pto_task *task) {
  const uint64_t batch = plan->l->p.batch, dim = plan->l->p.dim, heads = y->shape[1] / dim;
  const uint64_t rows[] = {batch * heads, dim}, by_head[] = {batch, heads, dim};
  const struct pto_tensor projected = matrix(plan, PTO_FLOAT32, y->shape[1]);
  const struct pto_tensor normed = matrix(plan, PTO_FLOAT32, y->shape[1]);
  const struct pto_tensor from = pto_tensor_reshape(&projected, 2, rows), to = pto_tensor_reshape(&normed, 2, rows);
  const struct pto_tensor plain = pto_tensor_reshape(&normed, 3, by_head), turned = pto_tensor_reshape(y, 3, by_head);
  struct pto_task before;
  int status = combine(plan, AFTER(spread_matmul, h_task), h, w, &projected, &before);
  if (status == PTO_OK) status = normalise(plan, AFTER(spread_rmsnorm, before), &from, norm, &to, &before);
  return status != PTO_OK ? status
                          : submit_stage(plan, AFTER(spread_rope, before),
                                         PARAMS(pto_input(&plain), pto_input(&plan->cos), pto_input(&plan->sin),
                                                pto_input(&plan->positions), pto_output(&turned), pto_scalar_u64(1)),
                                         task);
}

static int write_cache(const struct plan *plan, struct pto_task made, const struct pto_tensor *rows,
                       const struct pto_tensor *cache, struct pto_task *task) {
  const uint64_t shape[] = {cache->shape[0] * cache->shape[1], cache->shape[2] * cache->shape[3]};
  const struct pto_tensor slots = pto_tensor_reshape(cache, 2, shape);
  return submit_stage(plan, AFTER(spread_write, made),
                      PARAMS(pto_inout(&slots), pto_input(&plan->slots), pto_input(rows)), task);
}

/* a [batch, heads · dim] f32, from q and the caches; order->carried is then the task that made it. */
static int attend(const struct plan *plan, const struct pto_tensor *q, const struct pto_tensor *a,
                  struct parts_order *order) {
  const struct paged *p = &plan->l->p;
  const uint32_t kind = plan->l->is_manual ? PTO_SCOPE_MANUAL : PTO_SCOPE_AUTO;
  const uint64_t rows[] = {p->batch * p->heads / p->q_tile, p->q_tile, p->dim};
  struct parts parts = {.p = p,
                        .items = rows[0],
                        .rows = rows[1],
                        .block_count = p->max_blocks,
                        .lens = plan->lens,
                        .table = plan->table,
                        .q = pto_tensor_reshape(q, 3, rows),
                        .out = pto_tensor_reshape(a, 3, rows),
                        .k_pool = plan->k_cache,
                        .v_pool = plan->v_cache};
  const struct parts_launch launch = {.block_count = (uint32_t)plan->l->width};
  parts_make_carried(plan->rt, &parts);
  const struct pto_tensor carried[] = {parts.o, parts.l, parts.m, *a};
  int status = pto_alloc_tensors(plan->rt, carried, 4, &order->carried);
  for (uint64_t number = 0; status == PTO_OK && number < parts.block_count; number++) {
    status = pto_scope_begin(plan->rt, kind);
    if (status == PTO_OK)
      status = parts_submit_step(plan->rt, &parts, launch, number, plan->l->is_manual ? order : NULL);
    if (status == PTO_OK) status = pto_scope_end(plan->rt);
  }
  return status;
}

/* y = x + attention(rmsnorm(x))·Wo */
static int submit_attention(const struct plan *plan, const struct pto_tensor *y, struct pto_task *y_task) {
  const struct layer *l = plan->l;
  const uint64_t q_dim = l->p.heads * l->p.dim, kv_dim = l->p.kv_heads * l->p.dim;
  const struct pto_tensor h = matrix(plan, l->p.dtype, l->hidden), q = matrix(plan, l->p.dtype, q_dim);
  const struct pto_tensor k = matrix(plan, l->p.dtype, kv_dim), v = matrix(plan, l->p.dtype, kv_dim);
  const struct pto_tensor a = matrix(plan, PTO_FLOAT32, q_dim), projected = matrix(plan, PTO_FLOAT32, l->hidden);
  struct parts_order order;
  struct pto_task h_task, k_task, v_task, o_task;
  int status = normalise(plan, FIRST(spread_rmsnorm), &plan->x, &plan->input_norm, &h, &h_task);
  if (status == PTO_OK) status = submit_heads(plan, h_task, &h, &plan->wq, &plan->q_norm, &q, &order.q);
  if (status == PTO_OK) status = submit_heads(plan, h_task, &h, &plan->wk, &plan->k_norm, &k, &k_task);
  if (status == PTO_OK) status = combine(plan, AFTER(spread_matmul, h_task), &h, &plan->wv, &v, &v_task);
  if (status == PTO_OK) status = write_cache(plan, k_task, &k, &plan->k_cache, &order.k);
  if (status == PTO_OK) status = write_cache(plan, v_task, &v, &plan->v_cache, &order.v);
  if (status == PTO_OK) status = attend(plan, &q, &a, &order);
  if (status == PTO_OK) status = combine(plan, AFTER(spread_matmul, order.carried), &a, &plan->wo, &projected, &o_task);
  return status == PTO_OK ? combine(plan, AFTER(spread_add, o_task), &plan->x, &projected, y, y_task) : status;
}

/* out = y + (silu(rmsnorm(y)·Wgate) ⊙ rmsnorm(y)·Wup)·Wdown */
static int submit_feed_forward(const struct plan *plan, const struct pto_tensor *y, struct pto_task y_task) {
  const struct layer *l = plan->l;
  const struct pto_tensor g = matrix(plan, l->p.dtype, l->hidden), gated = matrix(plan, l->p.dtype, l->intermediate);
  const struct pto_tensor gate = matrix(plan, PTO_FLOAT32, l->intermediate);
  const struct pto_tensor up = matrix(plan, PTO_FLOAT32, l->intermediate);
  const struct pto_tensor active = matrix(plan, PTO_FLOAT32, l->intermediate);
  const struct pto_tensor narrow = matrix(plan, PTO_FLOAT32, l->hidden);
  struct pto_task g_task, gate_task, up_task, gated_task, narrow_task, out_task;
  int status = normalise(plan, AFTER(spread_rmsnorm, y_task), y, &plan->post_norm, &g, &g_task);
  if (status == PTO_OK) status = combine(plan, AFTER(spread_matmul, g_task), &g, &plan->gate, &gate, &gate_task);
  if (status == PTO_OK) status = combine(plan, AFTER(spread_matmul, g_task), &g, &plan->up, &up, &up_task);
  if (status == PTO_OK)
    status =
        submit_stage(plan, AFTER(spread_silu, gate_task), PARAMS(pto_input(&gate), pto_output(&active)), &gate_task);
  if (status == PTO_OK)
    status = combine(plan, AFTER(spread_mul, gate_task, up_task), &active, &up, &gated, &gated_task);
  if (status == PTO_OK)
    status = combine(plan, AFTER(spread_matmul, gated_task), &gated, &plan->down, &narrow, &narrow_task);
  return status == PTO_OK ? combine(plan, AFTER(spread_add, narrow_task, y_task), y, &narrow, &plan->out, &out_task)
                          : status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct layer *l = pto_program_state(run, sizeof *l);
  const struct plan plan = {
      .rt = rt,
      .l = l,
      .x = tensor_of(rt, run, "hidden_states"),
      .input_norm = tensor_of(rt, run, "input_rms_weight"),
      .wq = tensor_of(rt, run, "wq"),
      .wk = tensor_of(rt, run, "wk"),
      .wv = tensor_of(rt, run, "wv"),
      .q_norm = tensor_of(rt, run, "q_norm_weight"),
      .k_norm = tensor_of(rt, run, "k_norm_weight"),
      .k_cache = tensor_of(rt, run, "k_cache"),
      .v_cache = tensor_of(rt, run, "v_cache"),
      .wo = tensor_of(rt, run, "wo"),
      .post_norm = tensor_of(rt, run, "post_rms_weight"),
      .gate = tensor_of(rt, run, "w_gate"),
      .up = tensor_of(rt, run, "w_up"),
      .down = tensor_of(rt, run, "w_down"),
      .out = tensor_of(rt, run, "out"),
      .lens = tensor_of(rt, run, "context_lens"),
      .table = tensor_of(rt, run, "block_table"),
      .slots = tensor_of(rt, run, "slot_mapping"),
      .positions = tensor_of(rt, run, "positions"),
      .cos = tensor_of(rt, run, "rope_cos"),
      .sin = tensor_of(rt, run, "rope_sin"),
  };
  struct pto_task y_task;
  int status = pto_scope_begin(rt, l->is_manual ? PTO_SCOPE_MANUAL : PTO_SCOPE_AUTO);
  const struct pto_tensor y = matrix(&plan, PTO_FLOAT32, l->hidden);
  if (status == PTO_OK) status = submit_attention(&plan, &y, &y_task);
  if (status == PTO_OK) status = submit_feed_forward(&plan, &y, y_task);
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

/* ---- golden: request by request in double precision, no blocks and no running maximum ---- */

struct golden {
  struct pto_program_run *run;
  const struct layer *l;
  struct pto_array k_cache, v_cache; /* as they were before the step */
  double *row;                       /* of a matrix */
  double *scores;
};

/* y [batch, columns] = x [batch, rows]·W, a row of W at a time. */
static void project(const struct golden *g, const char *name, const double *x, double *y) {
  const struct pto_array *w = pto_program_find(g->run, name);
  const uint64_t rows = w->shape[0], columns = w->shape[1];
  for (uint64_t i = 0; i < rows; i++) {
    for (uint64_t j = 0; j < columns; j++) g->row[j] = pto_array_get(w, i * columns + j);
    for (uint64_t b = 0; b < g->l->p.batch; b++)
      for (uint64_t j = 0; j < columns; j++) y[b * columns + j] += x[b * rows + i] * g->row[j];
  }
}

/* Each row of `columns` elements, by itself. */
static void normalise_rows(const struct golden *g, const char *weight, const double *x, double *y, uint64_t rows) {
  const struct pto_array *gain = pto_program_find(g->run, weight);
  const uint64_t columns = gain->numel;
  for (uint64_t row = 0; row < rows; row++) {
    double sum = 0;
    for (uint64_t j = 0; j < columns; j++) sum += x[row * columns + j] * x[row * columns + j];
    const double root = sqrt(sum / (double)columns + EPSILON);
    for (uint64_t j = 0; j < columns; j++) y[row * columns + j] = x[row * columns + j] / root * pto_array_get(gain, j);
  }
}

/* Halves of each head are turned: element i with element i + dim / 2. */
static void rotate(const struct golden *g, double *x, uint64_t heads) {
  const uint64_t dim = g->l->p.dim, pairs = dim / 2;
  for (uint64_t row = 0; row < g->l->p.batch * heads; row++) {
    const double position = (double)(len_of(g->run, row / heads) - 1);
    for (uint64_t i = 0; i < pairs; i++) {
      double *low = x + row * dim + i, *high = low + pairs, a = *low, b = *high;
      const double angle = position * pow(ROPE_BASE, -2.0 * (double)i / (double)dim);
      *low = a * cos(angle) - b * sin(angle);
      *high = a * sin(angle) + b * cos(angle);
    }
  }
}

/* Element `i` of KV head `head` of the request's token t: the new token's from `fresh`, others from the cache. */
static double cached(const struct golden *g, const struct pto_array *cache, const double *fresh, uint64_t request,
                     uint64_t t, uint64_t column) {
  const struct paged *p = &g->l->p;
  const uint64_t kv_dim = p->kv_heads * p->dim;
  if (t + 1 == len_of(g->run, request)) return fresh[request * kv_dim + column];
  const struct pto_array *table = pto_program_find(g->run, "block_table");
  const uint64_t block = (uint64_t)pto_array_get(table, request * p->max_blocks + t / p->block);
  return pto_array_get(cache, (block * p->block + t % p->block) * kv_dim + column);
}

/* a, of the query heads of one KV head of a request. */
static void attend_group(const struct golden *g, uint64_t request, uint64_t kv_head, const double *q, const double *k,
                         const double *v, double *a) {
  const struct paged *p = &g->l->p;
  const uint64_t len = len_of(g->run, request), first = (request * p->heads + kv_head * p->group_heads) * p->dim;
  double *sums = g->row; /* of weights, a head each */
  for (uint64_t h = 0; h < p->group_heads; h++) sums[h] = 0;
  for (uint64_t t = 0; t < len; t++) {
    for (uint64_t h = 0; h < p->group_heads; h++) g->scores[h] = 0;
    for (uint64_t i = 0; i < p->dim; i++) {
      const double key = cached(g, &g->k_cache, k, request, t, kv_head * p->dim + i);
      for (uint64_t h = 0; h < p->group_heads; h++) g->scores[h] += q[first + h * p->dim + i] * key;
    }
    /* Norms bound the scores: no maximum need be taken off. */
    for (uint64_t h = 0; h < p->group_heads; h++) sums[h] += g->scores[h] = exp(g->scores[h] / sqrt((double)p->dim));
    for (uint64_t i = 0; i < p->dim; i++) {
      const double value = cached(g, &g->v_cache, v, request, t, kv_head * p->dim + i);
      for (uint64_t h = 0; h < p->group_heads; h++) a[first + h * p->dim + i] += g->scores[h] * value;
    }
  }
  for (uint64_t h = 0; h < p->group_heads; h++)
    for (uint64_t i = 0; i < p->dim; i++) a[first + h * p->dim + i] /= sums[h];
}

/* The cache as it was, and the new rows in their slots. */
static int expect_cache(const struct golden *g, const char *name, const struct pto_array *start, const double *fresh) {
  double *golden = golden_of(g->run, name);
  const uint64_t kv_dim = g->l->p.kv_heads * g->l->p.dim;
  if (golden == NULL) return PTO_ENOMEM;
  for (uint64_t i = 0; i < start->numel; i++) golden[i] = pto_array_get(start, i);
  for (uint64_t request = 0; request < g->l->p.batch; request++) {
    const uint64_t slot = (uint64_t)pto_array_get(pto_program_find(g->run, "slot_mapping"), request);
    memcpy(golden + slot * kv_dim, fresh + request * kv_dim, kv_dim * sizeof *golden);
  }
  return PTO_OK;
}

static int expect(struct pto_program_run *run) {
  const struct layer *l = pto_program_state(run, sizeof *l);
  const struct paged *p = &l->p;
  const uint64_t q_dim = p->heads * p->dim, kv_dim = p->kv_heads * p->dim;
  const uint64_t widest = q_dim + l->hidden + l->intermediate;
  struct golden g = {.run = run,
                     .l = l,
                     .k_cache = *pto_program_find(run, "k_cache"),
                     .v_cache = *pto_program_find(run, "v_cache"),
                     .row = pto_program_alloc(run, widest * sizeof(double)),
                     .scores = pto_program_alloc(run, p->heads * sizeof(double))};
  const double *x = exact_copy(run, "hidden_states");
  double *out = golden_of(run, "out");
  double *memory = pto_program_alloc(run, p->batch * (4 * l->hidden + 2 * q_dim + 2 * kv_dim + 2 * l->intermediate) *
                                              sizeof(double));
  if (!x || !out || !memory || !g.row || !g.scores || !l->k_start || !l->v_start) return PTO_ENOMEM;
  g.k_cache.data = (void *)(uintptr_t)l->k_start;
  g.v_cache.data = (void *)(uintptr_t)l->v_start;
  double *h = memory, *y = h + p->batch * l->hidden, *norm = y + p->batch * l->hidden, *q = norm + p->batch * l->hidden;
  double *k = q + p->batch * q_dim, *v = k + p->batch * kv_dim, *a = v + p->batch * kv_dim,
         *gate = a + p->batch * q_dim;
  double *up = gate + p->batch * l->intermediate;
  normalise_rows(&g, "input_rms_weight", x, h, p->batch);
  project(&g, "wq", h, q);
  project(&g, "wk", h, k);
  project(&g, "wv", h, v);
  normalise_rows(&g, "q_norm_weight", q, q, p->batch * p->heads);
  normalise_rows(&g, "k_norm_weight", k, k, p->batch * p->kv_heads);
  rotate(&g, q, p->heads);
  rotate(&g, k, p->kv_heads);
  for (uint64_t i = 0; i < p->batch * p->kv_heads; i++) attend_group(&g, i / p->kv_heads, i % p->kv_heads, q, k, v, a);
  project(&g, "wo", a, y);
  for (uint64_t i = 0; i < p->batch * l->hidden; i++) y[i] += x[i];
  normalise_rows(&g, "post_rms_weight", y, norm, p->batch);
  project(&g, "w_gate", norm, gate);
  project(&g, "w_up", norm, up);
  for (uint64_t i = 0; i < p->batch * l->intermediate; i++) gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i];
  project(&g, "w_down", gate, out);
  for (uint64_t i = 0; i < p->batch * l->hidden; i++) out[i] += y[i];
  const int status = expect_cache(&g, "k_cache", &g.k_cache, k);
  return status == PTO_OK ? expect_cache(&g, "v_cache", &g.v_cache, v) : status;
}

PROGRAM("qwen3_decode", "a decode step of a Qwen3 layer: SPMD tasks of any width, edges found or written down",
        .rtol = 1e-3, .atol = 1e-3);
