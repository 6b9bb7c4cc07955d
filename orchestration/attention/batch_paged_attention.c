/* SPDX-License-Identifier: MIT */
/*
 * batch_paged_attention: paged attention with many requests a task, one block of the task (SPMD) for each request.
 *
 * Requests are taken `chunk` at a time.  A task does one step, for one cache block number, for all requests of its
 * chunk.  With n blocks, block i does requests i, i + n, …: of each its row of the block table, its length, its slice
 * of each rank-3 temporary.  There is a block for each request, or with blocks=one a single block, as in the benchmark
 * on the hardware (case C1: bf16, a pool block for every block of every request).  So 256 requests of 64 blocks are 16
 * chunks of 257 tasks, and the width is in the blocks, which the cores share out among themselves.
 *
 *     QK (AIC)  →  SOFTMAX (AIV)  →  PV (AIC)  →  UPDATE (AIV), as in paged_attention
 *
 * Requests of a chunk may have different lengths: a block whose request has no such cache block has nothing to do.
 *
 * With C chunks (· kv_heads · tiles of a KV head) and B block numbers over all chunks:  tasks = C + 4·B,  edges = 5·B.
 * Under --deps pto, creator edges make them 6·B − C.
 */
#include <orchestration/support/general_call.h>
#include <orchestration/attention/paged_tiles.h>

#include <stdio.h>

struct batch {
  struct paged p;
  uint64_t chunk;
  bool has_one_block; /* a task */
};

/* ---- kernels: the general ones, on the tensors of one request ---- */

/* What a block of a task works on at a time.  Every kernel here has lens i32[requests] as its first tensor and the
 * number of the cache block and the tokens of a full one as its first two scalars. */
struct step {
  uint64_t request; /* in the chunk */
  uint64_t number;  /* of the cache block in its request */
  uint64_t entry;   /* of the block table: where in the pool */
  uint64_t tokens;  /* in this cache block; 0: the request has no such block */
  bool is_last;
};

/* All but the entry. */
static struct step read_step(const struct pto_kernel_args *args, uint64_t request) {
  const struct pto_kernel_tensor *lens = &args->tensors[0];
  struct step step = {.request = request, .number = args->scalars[0].u64};
  uint64_t block = args->scalars[1].u64, first = step.number * block;
  int64_t len = ((const int32_t *)lens->addr)[step.request * lens->strides[0]];
  if (len < 1 || (uint64_t)len <= first) return step;
  step.is_last = (uint64_t)len <= first + block;
  step.tokens = step.is_last ? (uint64_t)len - first : block;
  return step;
}

/* The entry, from tensors 1 and 3: `table` i32[requests, blocks], `pool` T[pool_blocks, block, 1, dim]. */
static int read_entry(const struct pto_kernel_args *args, struct step *step) {
  const struct pto_kernel_tensor *table = &args->tensors[1], *pool = &args->tensors[3];
  if (step->number >= table->shape[1])
    return pto_kernel_error(args, "request %llu has more blocks than the table's %llu",
                            (unsigned long long)step->request, (unsigned long long)table->shape[1]);
  int64_t entry = ((const int32_t *)table->addr)[step->request * table->strides[0] + step->number * table->strides[1]];
  if (entry < 0 || (uint64_t)entry >= pool->shape[0])
    return pto_kernel_error(args, "block table entry %lld is outside the pool of %llu blocks", (long long)entry,
                            (unsigned long long)pool->shape[0]);
  step->entry = (uint64_t)entry;
  return 0;
}

/* One request's part of a task, as a call of a general kernel. */
struct part {
  struct pto_kernel_tensor tensors[7];
  uint64_t shape[2], strides[2]; /* of a tensor that is no slice */
  union pto_scalar ends[2];
};

/* A cache block of a pool as a matrix [block, dim]. */
static struct pto_kernel_tensor pool_block(const struct pto_kernel_tensor *pool, uint64_t entry, struct part *part) {
  struct pto_kernel_tensor block = general_part(pool, entry);
  part->shape[0] = block.shape[0];
  part->shape[1] = block.shape[2];
  part->strides[0] = block.strides[0];
  part->strides[1] = block.strides[2];
  block.shape = part->shape;
  block.strides = part->strides;
  block.ndims = 2;
  return block;
}

/* lens, table, q, k_pool → s */
static struct general_call qk_part(const struct pto_kernel_args *args, const struct step *step, struct part *part) {
  part->tensors[0] = general_part(&args->tensors[2], step->request);
  part->tensors[1] = pool_block(&args->tensors[3], step->entry, part);
  part->tensors[2] = general_part(&args->tensors[4], step->request);
  return (struct general_call){"qk", args->core, part->tensors, &args->scalars[2], 3, 1};
}

/* lens, s → p, m_ij, l_ij: of s the columns that are tokens. */
static struct general_call softmax_part(const struct pto_kernel_args *args, const struct step *step,
                                        struct part *part) {
  for (int i = 0; i < 4; i++) part->tensors[i] = general_part(&args->tensors[1 + i], step->request);
  part->shape[0] = part->tensors[0].shape[0];
  part->shape[1] = step->tokens;
  part->tensors[0].shape = part->shape;
  return (struct general_call){"softmax_prepare", args->core, part->tensors, NULL, 4, 0};
}

/* lens, table, p, v_pool → o_ij */
static struct general_call pv_part(const struct pto_kernel_args *args, const struct step *step, struct part *part) {
  part->tensors[0] = general_part(&args->tensors[2], step->request);
  part->tensors[1] = pool_block(&args->tensors[3], step->entry, part);
  part->tensors[2] = general_part(&args->tensors[4], step->request);
  return (struct general_call){"pv", args->core, part->tensors, NULL, 3, 0};
}

/* lens, m_ij, l_ij, o_ij → m, l, o, out */
static struct general_call update_part(const struct pto_kernel_args *args, const struct step *step, struct part *part) {
  for (int i = 0; i < 7; i++) part->tensors[i] = general_part(&args->tensors[1 + i], step->request);
  part->ends[0].i64 = step->number == 0;
  part->ends[1].i64 = step->is_last;
  return (struct general_call){"online_update", args->core, part->tensors, part->ends, 7, 2};
}

typedef struct general_call (*find_part)(const struct pto_kernel_args *args, const struct step *step,
                                         struct part *part);

static int run_request(const struct pto_kernel_args *args, uint64_t request, find_part part_of_task, bool has_table) {
  struct step step = read_step(args, request);
  struct part part;
  if (step.tokens == 0) return 0;
  int status = has_table ? read_entry(args, &step) : 0;
  if (status != 0) return status;
  const struct general_call call = part_of_task(args, &step, &part);
  return general_run(&call);
}

static int run_part(const struct pto_kernel_args *args, find_part part_of_task, bool has_table) {
  const uint64_t requests = args->tensors[0].shape[0], stride = args->core->block_count;
  int status = 0;
  for (uint64_t request = args->core->block_index; status == 0 && request < requests; request += stride)
    status = run_request(args, request, part_of_task, has_table);
  return status;
}

/* Of the task's requests, those of this block. */
static uint64_t requests_of(const struct pto_kernel_args *args) {
  const uint64_t stride = args->core->block_count;
  return (args->tensors[0].shape[0] - args->core->block_index + stride - 1) / stride;
}

/* Told before lengths can be read: as if each request had a full cache block. */
static struct pto_cost part_cost(const struct pto_kernel_args *args, find_part part_of_task) {
  const struct step step = {.tokens = args->scalars[1].u64};
  const uint64_t requests = requests_of(args);
  struct part part;
  const struct general_call call = part_of_task(args, &step, &part);
  struct pto_cost cost = general_cost(&call);
  cost.bytes_in *= requests;
  cost.bytes_out *= requests;
  cost.multiply_adds *= requests;
  cost.vector_elems *= requests;
  cost.l0a_bytes *= requests;
  cost.l0b_bytes *= requests;
  /* a vector core loads and stores for each request; a cube core loads the next one meanwhile */
  if (args->core->kind == PTO_AIV) cost.trips = (uint32_t)(2 * requests);
  return cost;
}

/* "16x128x128 bf16 n16": query rows, tokens of a cache block, elements of a head, and the requests of a block. */
static int product_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_kernel_tensor *left = &args->tensors[2], *pool = &args->tensors[3];
  return snprintf(text, size, "%llux%llux%llu %s n%llu", (unsigned long long)left->shape[1],
                  (unsigned long long)pool->shape[1], (unsigned long long)pool->shape[3], pto_dtype_name(pool->dtype),
                  (unsigned long long)requests_of(args));
}
/* "16x128 bf16 n16": query rows, tokens of a cache block. */
static int softmax_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_kernel_tensor *p = &args->tensors[2];
  return snprintf(text, size, "%llux%llu %s n%llu", (unsigned long long)p->shape[1], (unsigned long long)p->shape[2],
                  pto_dtype_name(p->dtype), (unsigned long long)requests_of(args));
}
/* "16x128 n16": query rows, elements of a head. */
static int update_key(const struct pto_kernel_args *args, char *text, uint32_t size) {
  const struct pto_kernel_tensor *o = &args->tensors[6];
  return snprintf(text, size, "%llux%llu n%llu", (unsigned long long)o->shape[1], (unsigned long long)o->shape[2],
                  (unsigned long long)requests_of(args));
}

static const struct pto_kernel_param qk_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1),
    TENSOR("table", PTO_INPUT, I32, 2),
    TENSOR("q", PTO_INPUT, PTO_DTYPES_FLOAT, 3),
    TENSOR("k_pool", PTO_INPUT, PTO_DTYPES_FLOAT, 4),
    TENSOR("s", PTO_OUTPUT, F32, 3),
    SCALAR("number", PTO_SCALAR_U64),
    SCALAR("block", PTO_SCALAR_U64),
    SCALAR("scale", PTO_SCALAR_F32),
};
static const struct pto_kernel_param softmax_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1),
    TENSOR("s", PTO_INPUT, F32, 3),
    TENSOR("p", PTO_OUTPUT, PTO_DTYPES_FLOAT, 3),
    TENSOR("m_ij", PTO_OUTPUT, F32, 2),
    TENSOR("l_ij", PTO_OUTPUT, F32, 2),
    SCALAR("number", PTO_SCALAR_U64),
    SCALAR("block", PTO_SCALAR_U64),
};
static const struct pto_kernel_param pv_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1),
    TENSOR("table", PTO_INPUT, I32, 2),
    TENSOR("p", PTO_INPUT, PTO_DTYPES_FLOAT, 3),
    TENSOR("v_pool", PTO_INPUT, PTO_DTYPES_FLOAT, 4),
    TENSOR("o_ij", PTO_OUTPUT, F32, 3),
    SCALAR("number", PTO_SCALAR_U64),
    SCALAR("block", PTO_SCALAR_U64),
};
static const struct pto_kernel_param update_params[] = {
    TENSOR("lens", PTO_INPUT, I32, 1), TENSOR("m_ij", PTO_INPUT, F32, 2), TENSOR("l_ij", PTO_INPUT, F32, 2),
    TENSOR("o_ij", PTO_INPUT, F32, 3), TENSOR("m", PTO_INOUT, F32, 2),    TENSOR("l", PTO_INOUT, F32, 2),
    TENSOR("o", PTO_INOUT, F32, 3),    TENSOR("out", PTO_OUTPUT, F32, 3), SCALAR("number", PTO_SCALAR_U64),
    SCALAR("block", PTO_SCALAR_U64),
};

static int run_qk(const struct pto_kernel_args *args) { return run_part(args, qk_part, true); }
static int run_softmax(const struct pto_kernel_args *args) { return run_part(args, softmax_part, false); }
static int run_pv(const struct pto_kernel_args *args) { return run_part(args, pv_part, true); }
static int run_update(const struct pto_kernel_args *args) { return run_part(args, update_part, false); }
static struct pto_cost qk_cost(const struct pto_kernel_args *args) { return part_cost(args, qk_part); }
static struct pto_cost softmax_cost(const struct pto_kernel_args *args) { return part_cost(args, softmax_part); }
static struct pto_cost pv_cost(const struct pto_kernel_args *args) { return part_cost(args, pv_part); }
static struct pto_cost update_cost(const struct pto_kernel_args *args) { return part_cost(args, update_part); }
KERNEL(batch_qk, qk_params, .name = "batch_qk", .cores = PTO_AIC, .run = run_qk, .cost = qk_cost, .key = product_key);
KERNEL(batch_softmax, softmax_params, .name = "batch_softmax", .cores = PTO_AIV, .run = run_softmax,
       .cost = softmax_cost, .key = softmax_key);
KERNEL(batch_pv, pv_params, .name = "batch_pv", .cores = PTO_AIC, .run = run_pv, .cost = pv_cost, .key = product_key);
KERNEL(batch_update, update_params, .name = "batch_update", .cores = PTO_AIV, .run = run_update, .cost = update_cost,
       .key = update_key);

/* ---- the program ---- */

static const struct pto_option options[] = {
    PTO_PAGED_OPTIONS,
    {"chunk", PTO_OPTION_INT, "16", "requests a task"},
    {"blocks", PTO_OPTION_TEXT, "request", "of a task: one for each request, or one for all of them"},
    {0},
};

static const struct pto_case cases[] = {
    {"1x16x16x16x33", "batch=1 heads=16 dim=16 block=16 ctx=33", "one request", 13, 15, false},
    {"var4", "heads=16 dim=16 block=16 lens=33,64,128,15", "lengths of 1 … 8 blocks in one chunk", 33, 40, false},
    {"ragged", "heads=16 dim=16 block=16 lens=33,64,128,15,200 chunk=2", "chunks of two, the last of one", 103, 125,
     false},
    {"grouped", "batch=4 heads=16 kv_heads=4 dim=32 block=16 ctx=40 chunk=3", "grouped queries", 104, 120, false},
    {"var2", "heads=16 dim=16 block=16 lens=33,17", "two requests of different length", 13, 15, false},
    {"repeated", "batch=4 heads=16 dim=16 block=16 ctx=128 pool_blocks=3", "32 table entries over three blocks", 33, 40,
     false},
    {"fp16", "heads=16 dim=16 block=16 lens=33,64,128,15 dtype=fp16", NULL, 33, 40, false},
    {"bf16", "heads=16 dim=16 block=16 lens=33,64,128,15 dtype=bf16", NULL, 33, 40, false},
    {"one", "heads=16 dim=16 block=16 lens=33,64,128,15 blocks=one", "a block a task", 33, 40, false},
    {"16x16x128x128x512", "batch=16 heads=16 dim=128 block=128 ctx=512", "one full chunk of production size", 17, 20,
     false},
    {"64x16x128x128x8192", "batch=64 heads=16 dim=128 block=128 ctx=8192", NULL, 1028, 1280, true},
    {"256x16x128x128x8192", "batch=256 heads=16 dim=128 block=128 ctx=8192", NULL, 4112, 5120, true},
    {"C1", "batch=256 heads=16 dim=128 block=128 ctx=8192 dtype=bf16 blocks=one pool_blocks=16384",
     "as measured on the hardware: pools of 1 GB; --deps pto: 6128 edges", 4112, 5120, true},
    {0},
};

static int prepare(struct pto_program_run *run) {
  struct batch *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  int status = READ_WHOLE_OPTIONS(run, {"chunk", 1, 4096, &state->chunk});
  if (status == PTO_OK) status = read_choice(run, "blocks", "request", "one", &state->has_one_block);
  return status == PTO_OK ? paged_prepare(run, &state->p) : status;
}

/* The tensors that all tasks of a chunk share: requests first_request …, query rows first_row … of one KV head. */
struct chunk {
  uint64_t requests, rows, block_count;
  struct pto_tensor lens, table;    /* i32[requests], i32[requests, blocks] */
  struct pto_tensor q, out;         /* [requests, rows, dim] */
  struct pto_tensor k_pool, v_pool; /* T[pool_blocks, block, 1, dim] */
  struct pto_tensor o, l, m;        /* f32[requests, rows, dim], [requests, rows] */
};

static int submit_step(struct pto_runtime *rt, const struct batch *state, const struct chunk *chunk, uint64_t number) {
  const struct paged *p = &state->p;
  uint64_t scores[] = {chunk->requests, chunk->rows, p->block}, rows[] = {chunk->requests, chunk->rows, p->dim};
  struct pto_tensor s = temporary(rt, PTO_FLOAT32, 3, scores);
  struct pto_tensor weights = temporary(rt, p->dtype, 3, scores);
  struct pto_tensor m_ij = temporary(rt, PTO_FLOAT32, 2, rows);
  struct pto_tensor l_ij = temporary(rt, PTO_FLOAT32, 2, rows);
  struct pto_tensor o_ij = temporary(rt, PTO_FLOAT32, 3, rows);
  struct pto_param n = pto_scalar_u64(number), block = pto_scalar_u64(p->block);

  const uint32_t blocks = state->has_one_block ? 1 : (uint32_t)chunk->requests;
  const struct pto_launch qk = {.aic = &batch_qk, .block_count = blocks};
  const struct pto_launch softmax = {.aiv0 = &batch_softmax, .block_count = blocks};
  const struct pto_launch pv = {.aic = &batch_pv, .block_count = blocks};
  const struct pto_launch update = {.aiv0 = &batch_update, .block_count = blocks};
  int status = pto_submit(rt, &qk,
                          PARAMS(pto_input(&chunk->lens), pto_input(&chunk->table), pto_input(&chunk->q),
                                 pto_input(&chunk->k_pool), pto_output(&s), n, block, pto_scalar_f32(p->scale)),
                          NULL);
  if (status == PTO_OK)
    status = pto_submit(rt, &softmax,
                        PARAMS(pto_input(&chunk->lens), pto_input(&s), pto_output(&weights), pto_output(&m_ij),
                               pto_output(&l_ij), n, block),
                        NULL);
  if (status == PTO_OK)
    status = pto_submit(rt, &pv,
                        PARAMS(pto_input(&chunk->lens), pto_input(&chunk->table), pto_input(&weights),
                               pto_input(&chunk->v_pool), pto_output(&o_ij), n, block),
                        NULL);
  if (status == PTO_OK)
    status = pto_submit(rt, &update,
                        PARAMS(pto_input(&chunk->lens), pto_input(&m_ij), pto_input(&l_ij), pto_input(&o_ij),
                               pto_inout(&chunk->m), pto_inout(&chunk->l), pto_inout(&chunk->o),
                               pto_output(&chunk->out), n, block),
                        NULL);
  return status;
}

static int submit_chunk(struct pto_runtime *rt, const struct batch *state, struct chunk *chunk) {
  uint64_t rows[] = {chunk->requests, chunk->rows, state->p.dim};
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status != PTO_OK) return status;
  chunk->o = temporary(rt, PTO_FLOAT32, 3, rows);
  chunk->l = temporary(rt, PTO_FLOAT32, 2, rows);
  chunk->m = temporary(rt, PTO_FLOAT32, 2, rows);
  struct pto_tensor carried[] = {chunk->o, chunk->l, chunk->m};
  status = pto_alloc_tensors(rt, carried, 3, NULL);
  for (uint64_t number = 0; status == PTO_OK && number < chunk->block_count; number++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = submit_step(rt, state, chunk, number);
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
        .lens = rows_of(&plan->context_lens, first, count),
        .table = rows_of(&plan->block_table, first, count),
        .q = pto_tensor_view(&q, offsets, shape),
        .out = pto_tensor_view(&out, offsets, shape),
        .k_pool = pto_tensor_slice(&k_pool, 2, kv_head, kv_head + 1, 1),
        .v_pool = pto_tensor_slice(&v_pool, 2, kv_head, kv_head + 1, 1),
    };
    status = submit_chunk(rt, (const struct batch *)p, &chunk);
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

PROGRAM("batch_paged_attention", "paged attention with 16 requests a task, a block of the task for each", .rtol = 1e-3,
        .atol = 1e-3);
