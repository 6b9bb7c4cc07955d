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
#include <orchestration/attention/paged_golden.h>
#include <orchestration/attention/paged_parts.h>

struct batch {
  struct paged p;
  uint64_t chunk;
  bool has_one_block; /* a task */
};

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

static int submit_chunk(struct pto_runtime *rt, const struct batch *state, struct parts *chunk) {
  const struct parts_launch launch = {.block_count = state->has_one_block ? 1 : (uint32_t)chunk->items};
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status != PTO_OK) return status;
  parts_make_carried(rt, chunk);
  struct pto_tensor carried[] = {chunk->o, chunk->l, chunk->m};
  status = pto_alloc_tensors(rt, carried, 3, NULL);
  for (uint64_t number = 0; status == PTO_OK && number < chunk->block_count; number++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = parts_submit_step(rt, chunk, launch, number, NULL);
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
    struct parts chunk = {
        .p = p,
        .items = count,
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
