/* SPDX-License-Identifier: MIT */
/*
 * batch_paged_attention: paged attention with many requests a task, one block of the task (SPMD) for each request.
 *
 * Requests are taken `chunk` at a time.  A task does one step, for one cache block number, for all requests of its
 * chunk; its block i picks request i: its row of the block table, its length, its slice of each rank-3 temporary.  So
 * 256 requests of 64 blocks are 16 chunks of 257 tasks, and the width is in the blocks, which the cores share out among
 * themselves.
 *
 *     QK (AIC)  →  SOFTMAX (AIV)  →  PV (AIC)  →  UPDATE (AIV), as in paged_attention
 *
 * Requests of a chunk may have different lengths: a block whose request has no such cache block has nothing to do.
 *
 * With C chunks (· kv_heads · tiles of a KV head) and B block numbers over all chunks:  tasks = C + 4·B,  edges = 5·B.
 */
#include <orchestration/paged_tiles.h>

struct batch {
  struct paged p;
  uint64_t chunk;
};

/* ---- kernels: the general ones, on the tensors of one request ---- */

/* Slice `index` of the outermost dimension. */
static struct pto_kernel_tensor slice_of(const struct pto_kernel_tensor *t, uint64_t index) {
  struct pto_kernel_tensor slice = *t;
  slice.addr = (char *)t->addr + index * t->strides[0] * pto_dtype_size(t->dtype);
  slice.shape = t->shape + 1;
  slice.strides = t->strides + 1;
  slice.ndims = t->ndims - 1;
  return slice;
}

/* A matrix within a matrix: its first `columns` columns. */
struct narrow {
  struct pto_kernel_tensor tensor;
  uint64_t shape[2], strides[2];
};

static void narrow_to(const struct pto_kernel_tensor *matrix, uint64_t columns, struct narrow *narrow) {
  narrow->shape[0] = matrix->shape[0];
  narrow->shape[1] = columns;
  narrow->tensor = *matrix;
  narrow->tensor.shape = narrow->shape;
}

/* What one block of a task works on.  Every kernel here has lens i32[requests] as its first tensor and the number of
 * the cache block and the tokens of a full one as its first two scalars. */
struct step {
  uint64_t request; /* in the chunk */
  uint64_t number;  /* of the cache block in its request */
  uint64_t tokens;  /* in this cache block; 0: the request has no such block */
  bool is_last;
};

static struct step read_step(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *lens = &args->tensors[0];
  struct step step = {.request = args->core->block_index, .number = args->scalars[0].u64};
  uint64_t block = args->scalars[1].u64, first = step.number * block;
  int64_t len = ((const int32_t *)lens->addr)[step.request * lens->strides[0]];
  if (len < 1 || (uint64_t)len <= first) return step;
  step.is_last = (uint64_t)len <= first + block;
  step.tokens = step.is_last ? (uint64_t)len - first : block;
  return step;
}

/* Cache block of this step: `table` i32[requests, blocks], `pool` T[pool_blocks, block, 1, dim]. */
static int find_block(const struct pto_kernel_args *args, const struct step *step,
                      const struct pto_kernel_tensor *table, const struct pto_kernel_tensor *pool,
                      struct narrow *block) {
  if (step->number >= table->shape[1])
    return pto_kernel_error(args, "request %llu has more blocks than the table's %llu",
                            (unsigned long long)step->request, (unsigned long long)table->shape[1]);
  int64_t entry = ((const int32_t *)table->addr)[step->request * table->strides[0] + step->number * table->strides[1]];
  if (entry < 0 || (uint64_t)entry >= pool->shape[0])
    return pto_kernel_error(args, "block table entry %lld is outside the pool of %llu blocks", (long long)entry,
                            (unsigned long long)pool->shape[0]);
  struct pto_kernel_tensor at = slice_of(pool, (uint64_t)entry);
  block->shape[0] = pool->shape[1];
  block->shape[1] = pool->shape[3];
  block->strides[0] = pool->strides[1];
  block->strides[1] = pool->strides[3];
  block->tensor = (struct pto_kernel_tensor){
      .addr = at.addr, .shape = block->shape, .strides = block->strides, .ndims = 2, .dtype = pool->dtype};
  return 0;
}

/* The general kernel called `name`, on this core. */
static int call(const struct pto_kernel_args *args, const char *name, const struct pto_kernel_tensor *tensors,
                uint32_t tensor_count, const union pto_scalar *scalars, uint32_t scalar_count) {
  struct pto_kernel_args one = {.tensors = tensors,
                                .scalars = scalars,
                                .core = args->core,
                                .tensor_count = tensor_count,
                                .scalar_count = scalar_count};
  return pto_kernel_find(name)->run(&one);
}

/* lens, table, q, k_pool → s */
static int run_qk(const struct pto_kernel_args *args) {
  struct step step = read_step(args);
  struct narrow k;
  if (step.tokens == 0) return 0;
  int status = find_block(args, &step, &args->tensors[1], &args->tensors[3], &k);
  if (status != 0) return status;
  struct pto_kernel_tensor t[] = {slice_of(&args->tensors[2], step.request), k.tensor,
                                  slice_of(&args->tensors[4], step.request)};
  return call(args, "qk", t, 3, &args->scalars[2], 1);
}

/* lens, s → p, m_ij, l_ij */
static int run_softmax(const struct pto_kernel_args *args) {
  struct step step = read_step(args);
  struct narrow valid;
  if (step.tokens == 0) return 0;
  struct pto_kernel_tensor t[4];
  for (int i = 0; i < 4; i++) t[i] = slice_of(&args->tensors[1 + i], step.request);
  narrow_to(&t[0], step.tokens, &valid);
  t[0] = valid.tensor;
  return call(args, "softmax_prepare", t, 4, NULL, 0);
}

/* lens, table, p, v_pool → o_ij */
static int run_pv(const struct pto_kernel_args *args) {
  struct step step = read_step(args);
  struct narrow v;
  if (step.tokens == 0) return 0;
  int status = find_block(args, &step, &args->tensors[1], &args->tensors[3], &v);
  if (status != 0) return status;
  struct pto_kernel_tensor t[] = {slice_of(&args->tensors[2], step.request), v.tensor,
                                  slice_of(&args->tensors[4], step.request)};
  return call(args, "pv", t, 3, NULL, 0);
}

/* lens, m_ij, l_ij, o_ij → m, l, o, out */
static int run_update(const struct pto_kernel_args *args) {
  struct step step = read_step(args);
  if (step.tokens == 0) return 0;
  struct pto_kernel_tensor t[7];
  for (int i = 0; i < 7; i++) t[i] = slice_of(&args->tensors[1 + i], step.request);
  const union pto_scalar ends[] = {{.i64 = step.number == 0}, {.i64 = step.is_last}};
  return call(args, "online_update", t, 7, ends, 2);
}

/* Costs are those of one block: one request of a chunk, as if its cache block were full.  What is larger than a piece
 * of local memory is worked through in pieces. */
static uint64_t piece_bytes(uint64_t bytes) { return bytes < 64 << 10 ? bytes : 64 << 10; }

static struct pto_cost matrix_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *in = &args->tensors[2], *pool = &args->tensors[3], *out = &args->tensors[4];
  uint64_t rows = in->shape[1], tokens = pool->shape[1], dim = pool->shape[3];
  uint64_t bytes_in = rows * in->shape[2] * pto_dtype_size(in->dtype) + tokens * dim * pto_dtype_size(pool->dtype);
  return (struct pto_cost){.bytes_in = bytes_in,
                           .bytes_out = rows * out->shape[2] * sizeof(float),
                           .multiply_adds = rows * tokens * dim,
                           .local_bytes = piece_bytes(bytes_in)};
}
static struct pto_cost softmax_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *s = &args->tensors[1], *p = &args->tensors[2];
  uint64_t elems = s->shape[1] * s->shape[2];
  return (struct pto_cost){.bytes_in = elems * sizeof(float),
                           .bytes_out = elems * pto_dtype_size(p->dtype) + 2 * s->shape[1] * sizeof(float),
                           .vector_elems = 5 * elems,
                           .local_bytes = piece_bytes(elems * (sizeof(float) + pto_dtype_size(p->dtype)))};
}
static struct pto_cost update_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *o = &args->tensors[3];
  uint64_t rows = o->shape[1], elems = rows * o->shape[2];
  return (struct pto_cost){.bytes_in = (2 * elems + 4 * rows) * sizeof(float),
                           .bytes_out = (elems + 2 * rows) * sizeof(float),
                           .vector_elems = 3 * elems + 8 * rows,
                           .local_bytes = piece_bytes((2 * elems + 4 * rows) * sizeof(float))};
}

#define TENSOR(name_, mode_, dtypes_, rank)                                                                            \
  { .name = name_, .mode = mode_, .dtypes = dtypes_, .min_rank = rank, .max_rank = rank }
#define F32 PTO_DTYPE_BIT(PTO_FLOAT32)
#define I32 PTO_DTYPE_BIT(PTO_INT32)
#define COUNT(name_)                                                                                                   \
  { .name = name_, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }

static const struct pto_kernel_param qk_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1),
    TENSOR("table", PTO_INPUT, I32, 2),
    TENSOR("q", PTO_INPUT, PTO_DTYPES_FLOAT, 3),
    TENSOR("k_pool", PTO_INPUT, PTO_DTYPES_FLOAT, 4),
    TENSOR("s", PTO_OUTPUT, F32, 3),
    COUNT("number"),
    COUNT("block"),
    {.name = "scale", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32},
};
static const struct pto_kernel_param softmax_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1),
    TENSOR("s", PTO_INPUT, F32, 3),
    TENSOR("p", PTO_OUTPUT, PTO_DTYPES_FLOAT, 3),
    TENSOR("m_ij", PTO_OUTPUT, F32, 2),
    TENSOR("l_ij", PTO_OUTPUT, F32, 2),
    COUNT("number"),
    COUNT("block"),
};
static const struct pto_kernel_param pv_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1),
    TENSOR("table", PTO_INPUT, I32, 2),
    TENSOR("p", PTO_INPUT, PTO_DTYPES_FLOAT, 3),
    TENSOR("v_pool", PTO_INPUT, PTO_DTYPES_FLOAT, 4),
    TENSOR("o_ij", PTO_OUTPUT, F32, 3),
    COUNT("number"),
    COUNT("block"),
};
static const struct pto_kernel_param update_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1),
    TENSOR("m_ij", PTO_INPUT, F32, 2),
    TENSOR("l_ij", PTO_INPUT, F32, 2),
    TENSOR("o_ij", PTO_INPUT, F32, 3),
    TENSOR("m", PTO_INOUT, F32, 2),
    TENSOR("l", PTO_INOUT, F32, 2),
    TENSOR("o", PTO_INOUT, F32, 3),
    TENSOR("out", PTO_OUTPUT, F32, 3),
    COUNT("number"),
    COUNT("block"),
};

static const struct pto_kernel batch_qk = {
    .name = "batch_qk", .cores = PTO_AIC, .params = qk_params, .param_count = 8, .run = run_qk, .cost = matrix_cost};
static const struct pto_kernel batch_softmax = {.name = "batch_softmax",
                                                .cores = PTO_AIV,
                                                .params = softmax_params,
                                                .param_count = 7,
                                                .run = run_softmax,
                                                .cost = softmax_cost};
static const struct pto_kernel batch_pv = {
    .name = "batch_pv", .cores = PTO_AIC, .params = pv_params, .param_count = 7, .run = run_pv, .cost = matrix_cost};
static const struct pto_kernel batch_update = {.name = "batch_update",
                                               .cores = PTO_AIV,
                                               .params = update_params,
                                               .param_count = 10,
                                               .run = run_update,
                                               .cost = update_cost};

/* ---- the program ---- */

static const struct pto_option options[] = {
    PTO_PAGED_OPTIONS,
    {"chunk", PTO_OPTION_INT, "16", "requests a task"},
    {0},
};

static const struct pto_case cases[] = {
    {"1x16x16x16x33", "batch=1 heads=16 dim=16 block=16 ctx=33", "one request", 13, 15, false},
    {"var4", "heads=16 dim=16 block=16 lens=33,64,128,15", "lengths of 1 … 8 blocks in one chunk", 33, 40, false},
    {"ragged", "heads=16 dim=16 block=16 lens=33,64,128,15,200 chunk=2", "chunks of two, the last of one", 103, 125,
     false},
    {"grouped", "batch=4 heads=16 kv_heads=4 dim=32 block=16 ctx=40 chunk=3", "grouped queries", 104, 120, false},
    {"fp16", "heads=16 dim=16 block=16 lens=33,64,128,15 dtype=fp16", NULL, 33, 40, false},
    {"16x16x128x128x512", "batch=16 heads=16 dim=128 block=128 ctx=512", "one full chunk of production size", 17, 20,
     false},
    {"256x16x128x128x8192", "batch=256 heads=16 dim=128 block=128 ctx=8192", NULL, 4112, 5120, true},
    {0},
};

static int prepare(struct pto_program_run *run) {
  struct batch *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  int64_t chunk = pto_option_int(run, "chunk");
  if (chunk < 1 || chunk > 4096) return pto_program_fail(run, "chunk %lld is not in 1 … 4096", (long long)chunk);
  state->chunk = (uint64_t)chunk;
  return paged_prepare(run, &state->p);
}

/* The tensors that all tasks of a chunk share: requests first_request …, query rows first_row … of one KV head. */
struct chunk {
  uint64_t requests, rows, block_count;
  struct pto_tensor lens, table;    /* i32[requests], i32[requests, blocks] */
  struct pto_tensor q, out;         /* [requests, rows, dim] */
  struct pto_tensor k_pool, v_pool; /* T[pool_blocks, block, 1, dim] */
  struct pto_tensor o, l, m;        /* f32[requests, rows, dim], [requests, rows] */
};

static int submit_step(struct pto_runtime *rt, const struct paged *p, const struct chunk *chunk, uint64_t number) {
  uint64_t scores[] = {chunk->requests, chunk->rows, p->block}, rows[] = {chunk->requests, chunk->rows, p->dim};
  struct pto_tensor s = paged_temporary(rt, PTO_FLOAT32, 3, scores);
  struct pto_tensor weights = paged_temporary(rt, p->dtype, 3, scores);
  struct pto_tensor m_ij = paged_temporary(rt, PTO_FLOAT32, 2, rows);
  struct pto_tensor l_ij = paged_temporary(rt, PTO_FLOAT32, 2, rows);
  struct pto_tensor o_ij = paged_temporary(rt, PTO_FLOAT32, 3, rows);
  struct pto_param n = pto_scalar_u64(number), block = pto_scalar_u64(p->block);

  struct pto_launch launch = {.aic = &batch_qk, .block_count = (uint32_t)chunk->requests};
  struct pto_param qk[] = {pto_input(&chunk->lens),
                           pto_input(&chunk->table),
                           pto_input(&chunk->q),
                           pto_input(&chunk->k_pool),
                           pto_output(&s),
                           n,
                           block,
                           pto_scalar_f32(p->scale)};
  int status = pto_submit(rt, &launch, qk, 8, NULL);
  if (status != PTO_OK) return status;

  launch = (struct pto_launch){.aiv0 = &batch_softmax, .block_count = (uint32_t)chunk->requests};
  struct pto_param softmax[] = {
      pto_input(&chunk->lens), pto_input(&s), pto_output(&weights), pto_output(&m_ij), pto_output(&l_ij), n, block};
  status = pto_submit(rt, &launch, softmax, 7, NULL);
  if (status != PTO_OK) return status;

  launch = (struct pto_launch){.aic = &batch_pv, .block_count = (uint32_t)chunk->requests};
  struct pto_param pv[] = {pto_input(&chunk->lens),
                           pto_input(&chunk->table),
                           pto_input(&weights),
                           pto_input(&chunk->v_pool),
                           pto_output(&o_ij),
                           n,
                           block};
  status = pto_submit(rt, &launch, pv, 7, NULL);
  if (status != PTO_OK) return status;

  launch = (struct pto_launch){.aiv0 = &batch_update, .block_count = (uint32_t)chunk->requests};
  struct pto_param update[] = {pto_input(&chunk->lens),
                               pto_input(&m_ij),
                               pto_input(&l_ij),
                               pto_input(&o_ij),
                               pto_inout(&chunk->m),
                               pto_inout(&chunk->l),
                               pto_inout(&chunk->o),
                               pto_output(&chunk->out),
                               n,
                               block};
  return pto_submit(rt, &launch, update, 10, NULL);
}

static int submit_chunk(struct pto_runtime *rt, const struct paged *p, struct chunk *chunk) {
  uint64_t rows[] = {chunk->requests, chunk->rows, p->dim};
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status != PTO_OK) return status;
  chunk->o = paged_temporary(rt, PTO_FLOAT32, 3, rows);
  chunk->l = paged_temporary(rt, PTO_FLOAT32, 2, rows);
  chunk->m = paged_temporary(rt, PTO_FLOAT32, 2, rows);
  struct pto_tensor carried[] = {chunk->o, chunk->l, chunk->m};
  status = pto_alloc_tensors(rt, carried, 3, NULL);
  for (uint64_t number = 0; status == PTO_OK && number < chunk->block_count; number++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = submit_step(rt, p, chunk, number);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

/* One chunk of requests: for each KV head and tile of its query rows a chain of steps, as long as the longest request.
 */
static int submit_requests(struct pto_runtime *rt, const struct paged_plan *plan, uint64_t first, uint64_t count) {
  const struct paged *p = plan->p;
  uint64_t block_count = 0;
  for (uint64_t request = first; request < first + count; request++) {
    uint64_t len = 0;
    int status = paged_read_len(rt, plan, request, &len);
    if (status != PTO_OK) return status;
    uint64_t blocks = paged_divide_up(len, p->block);
    if (blocks > block_count) block_count = blocks;
  }
  uint64_t heads[] = {p->batch, p->heads, p->dim};
  struct pto_tensor q = pto_tensor_reshape(&plan->q, 3, heads), out = pto_tensor_reshape(&plan->out, 3, heads);
  uint64_t pool[] = {p->pool_blocks, p->block, p->kv_heads, p->dim};
  struct pto_tensor k_pool = pto_tensor_reshape(&plan->k_pool, 4, pool),
                    v_pool = pto_tensor_reshape(&plan->v_pool, 4, pool);
  int status = PTO_OK;
  for (uint64_t head = 0, rows; status == PTO_OK && head < p->heads; head += rows) {
    uint64_t left = p->group_heads - head % p->group_heads, kv_head = head / p->group_heads;
    rows = left < p->q_tile ? left : p->q_tile;
    uint64_t offsets[] = {first, head, 0}, shape[] = {count, rows, p->dim};
    struct chunk chunk = {
        .requests = count,
        .rows = rows,
        .block_count = block_count,
        .lens = pto_tensor_slice(&plan->context_lens, 0, first, first + count, 1),
        .table = pto_tensor_slice(&plan->block_table, 0, first, first + count, 1),
        .q = pto_tensor_view(&q, offsets, shape),
        .out = pto_tensor_view(&out, offsets, shape),
        .k_pool = pto_tensor_slice(&k_pool, 2, kv_head, kv_head + 1, 1),
        .v_pool = pto_tensor_slice(&v_pool, 2, kv_head, kv_head + 1, 1),
    };
    status = submit_chunk(rt, p, &chunk);
  }
  return status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct batch *state = pto_program_state(run, sizeof *state);
  struct paged_plan plan = paged_make_plan(rt, run, &state->p);
  int status = PTO_OK;
  for (uint64_t first = 0; status == PTO_OK && first < state->p.batch; first += state->chunk) {
    uint64_t left = state->p.batch - first;
    status = submit_requests(rt, &plan, first, left < state->chunk ? left : state->chunk);
  }
  return status;
}

static int expect(struct pto_program_run *run) {
  const struct batch *state = pto_program_state(run, sizeof *state);
  return paged_expect(run, &state->p);
}

PTO_API const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "batch_paged_attention",
    .summary = "paged attention with 16 requests a task, a block of the task for each",
    .rtol = 1e-3,
    .atol = 1e-3,
    .options = options,
    .cases = cases,
    .prepare = prepare,
    .orchestrate = orchestrate,
    .expect = expect,
};
