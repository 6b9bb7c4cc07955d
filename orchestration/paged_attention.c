/* SPDX-License-Identifier: MIT */
/*
 * paged_attention: decode attention over a paged KV cache, block by block with a running softmax.
 *
 * For each request and tile of query rows an outer scope holds o, l and m, the running sum, weight and maximum, from
 * one allocating task.  Each cache block has an inner scope of four tasks:
 *
 *     QK (AIC)  s = q·kᵀ·scale        →  SOFTMAX (AIV)  m_ij, p = exp(s − m_ij), l_ij
 *     PV (AIC)  o_ij = p·v            →  UPDATE (AIV)   o, l, m ← rescaled sums; the last block writes o/l to `out`
 *
 * Only the updates of a tile form a chain; all the rest of all blocks and requests can overlap.  Temporaries of a block
 * come back when its scope ends, while o, l and m live on: inner and outer scopes have rings of their own.
 *
 * The orchestration finds the blocks through the block table, which it reads element by element.  A partial last block
 * is a narrower view of s.  Inputs and golden: paged_attention.h.
 *
 * With T tiles (requests · kv_heads · tiles of a KV head) and B blocks over all tiles:  tasks = T + 4·B,  edges = 5·B
 * (QK → SOFTMAX → PV → UPDATE, SOFTMAX → UPDATE, and the update or allocation before → UPDATE).
 */
#include <orchestration/paged_attention.h>

static const struct pto_option options[] = {PAGED_OPTIONS, {0}};

static const struct pto_case cases[] = {
    {"1x16x16x16x33", "batch=1 heads=16 dim=16 block=16 ctx=33", "three blocks, the last with one token", 13, 15,
     false},
    {"1x16x16x16x128", "batch=1 heads=16 dim=16 block=16 ctx=128", "eight full blocks", 33, 40, false},
    {"var2", "heads=16 dim=16 block=16 lens=33,17", "two requests of different length", 22, 25, false},
    {"var4", "heads=16 dim=16 block=16 lens=33,64,128,15", "four requests of different length", 68, 80, false},
    {"repeated", "batch=4 heads=16 dim=16 block=16 ctx=128 pool_blocks=3", "32 table entries over three blocks", 132,
     160, false},
    {"grouped", "batch=2 heads=16 kv_heads=4 dim=32 block=16 ctx=40", "grouped queries: four rows a KV head", 104, 120,
     false},
    {"wide", "batch=1 heads=160 dim=16 block=32 ctx=70", "more query rows than a tile has", 26, 30, false},
    {"fp16", "heads=16 dim=16 block=16 lens=33,64,128,15 dtype=fp16", NULL, 68, 80, false},
    {"bf16", "heads=16 dim=16 block=16 lens=33,64,128,15 dtype=bf16", NULL, 68, 80, false},
    {"4x16x128x128x1024", "batch=4 heads=16 dim=128 block=128 ctx=1024", "tiles of production size, few of them", 132,
     160, false},
    {"64x16x128x128x8192", "batch=64 heads=16 dim=128 block=128 ctx=8192", NULL, 16448, 20480, true},
    {"256x16x128x128x8192", "batch=256 heads=16 dim=128 block=128 ctx=8192", NULL, 65792, 81920, true},
    {"64x64x128x64x8192", "batch=64 heads=64 dim=128 block=64 ctx=8192", NULL, 32832, 40960, true},
    {0},
};

static int prepare(struct pto_program_run *run) {
  struct paged *p = pto_program_state(run, sizeof *p);
  return p == NULL ? PTO_ENOMEM : paged_prepare(run, p);
}

/* Everything that every block uses. */
struct plan {
  const struct paged *p;
  const struct pto_kernel *qk, *softmax_prepare, *pv, *online_update;
  struct pto_tensor q, out, k_pool, v_pool, block_table, context_lens;
};

/* A tile of query rows and what is carried from block to block. */
struct tile {
  uint64_t request, kv_head, rows;
  struct pto_tensor q, out; /* [rows, dim] */
  struct pto_tensor o;      /* f32[rows, dim] */
  struct pto_tensor l, m;   /* f32[rows] */
};

/* The four tasks of block number `number` of `count`, with `valid` tokens in it. */
static int submit_block(struct pto_runtime *rt, const struct plan *plan, const struct tile *tile, uint64_t number,
                        uint64_t count, uint64_t valid) {
  const struct paged *p = plan->p;
  uint64_t index = 0;
  int status = paged_read_block(rt, p, &plan->block_table, tile->request, number, &index);
  if (status != PTO_OK) return status;
  struct pto_tensor k = paged_block(p, &plan->k_pool, index, tile->kv_head, p->block);
  struct pto_tensor v = paged_block(p, &plan->v_pool, index, tile->kv_head, p->block);
  struct pto_tensor s = paged_temporary(rt, PTO_FLOAT32, 2, (uint64_t[]){tile->rows, p->block});
  struct pto_tensor s_valid = pto_tensor_slice(&s, 1, 0, valid, 1);
  struct pto_tensor weights = paged_temporary(rt, p->dtype, 2, (uint64_t[]){tile->rows, p->block});
  struct pto_tensor m_ij = paged_temporary(rt, PTO_FLOAT32, 1, &tile->rows);
  struct pto_tensor l_ij = paged_temporary(rt, PTO_FLOAT32, 1, &tile->rows);
  struct pto_tensor o_ij = paged_temporary(rt, PTO_FLOAT32, 2, (uint64_t[]){tile->rows, p->dim});

  struct pto_param qk[] = {pto_input(&tile->q), pto_input(&k), pto_output(&s), pto_scalar_f32(p->scale)};
  status = pto_submit_aic(rt, plan->qk, qk, 4);
  if (status != PTO_OK) return status;
  struct pto_param softmax[] = {pto_input(&s_valid), pto_output(&weights), pto_output(&m_ij), pto_output(&l_ij)};
  status = pto_submit_aiv(rt, plan->softmax_prepare, softmax, 4);
  if (status != PTO_OK) return status;
  struct pto_param pv[] = {pto_input(&weights), pto_input(&v), pto_output(&o_ij)};
  status = pto_submit_aic(rt, plan->pv, pv, 3);
  if (status != PTO_OK) return status;
  struct pto_param update[] = {pto_input(&m_ij),
                               pto_input(&l_ij),
                               pto_input(&o_ij),
                               pto_inout(&tile->m),
                               pto_inout(&tile->l),
                               pto_inout(&tile->o),
                               pto_output(&tile->out),
                               pto_scalar_i64(number == 0),
                               pto_scalar_i64(number + 1 == count)};
  return pto_submit_aiv(rt, plan->online_update, update, 9);
}

static int submit_tile(struct pto_runtime *rt, const struct plan *plan, struct tile *tile, uint64_t len) {
  const struct paged *p = plan->p;
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status != PTO_OK) return status;
  tile->o = paged_temporary(rt, PTO_FLOAT32, 2, (uint64_t[]){tile->rows, p->dim});
  tile->l = paged_temporary(rt, PTO_FLOAT32, 1, &tile->rows);
  tile->m = paged_temporary(rt, PTO_FLOAT32, 1, &tile->rows);
  struct pto_tensor carried[] = {tile->o, tile->l, tile->m};
  status = pto_alloc_tensors(rt, carried, 3, NULL);
  uint64_t count = paged_divide_up(len, p->block);
  for (uint64_t number = 0; status == PTO_OK && number < count; number++) {
    uint64_t valid = number + 1 < count ? p->block : len - number * p->block;
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = submit_block(rt, plan, tile, number, count, valid);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

/* All tiles of one request: each KV head's query rows, at most q_tile at a time. */
static int submit_request(struct pto_runtime *rt, const struct plan *plan, uint64_t request) {
  const struct paged *p = plan->p;
  uint64_t len = 0;
  int status = paged_read_len(rt, p, &plan->context_lens, request, &len);
  for (uint64_t kv_head = 0; status == PTO_OK && kv_head < p->kv_heads; kv_head++) {
    for (uint64_t row = 0; status == PTO_OK && row < p->group_heads; row += p->q_tile) {
      uint64_t rows = p->group_heads - row < p->q_tile ? p->group_heads - row : p->q_tile;
      uint64_t first = request * p->heads + kv_head * p->group_heads + row;
      struct tile tile = {
          .request = request,
          .kv_head = kv_head,
          .rows = rows,
          .q = pto_tensor_slice(&plan->q, 0, first, first + rows, 1),
          .out = pto_tensor_slice(&plan->out, 0, first, first + rows, 1),
      };
      status = submit_tile(rt, plan, &tile, len);
    }
  }
  return status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct paged *p = pto_program_state(run, sizeof *p);
  struct plan plan = {
      .p = p,
      .qk = pto_kernel_find("qk"),
      .softmax_prepare = pto_kernel_find("softmax_prepare"),
      .pv = pto_kernel_find("pv"),
      .online_update = pto_kernel_find("online_update"),
      .q = pto_array_tensor(rt, p->q),
      .out = pto_array_tensor(rt, p->out),
      .k_pool = paged_pool_matrix(rt, p, p->k_pool),
      .v_pool = paged_pool_matrix(rt, p, p->v_pool),
      .block_table = pto_array_tensor(rt, p->block_table),
      .context_lens = pto_array_tensor(rt, p->context_lens),
  };
  int status = PTO_OK;
  for (uint64_t request = 0; status == PTO_OK && request < p->batch; request++)
    status = submit_request(rt, &plan, request);
  return status;
}

static int expect(struct pto_program_run *run) {
  const struct paged *p = pto_program_state(run, sizeof *p);
  return paged_expect(run, p);
}

PTO_API const struct pto_program pto_program = {
    .abi = PTO_PROGRAM_ABI,
    .name = "paged_attention",
    .summary = "decode attention over a paged KV cache: QK, softmax, PV and running update, block by block",
    .rtol = 1e-3,
    .atol = 1e-3,
    .options = options,
    .cases = cases,
    .prepare = prepare,
    .orchestrate = orchestrate,
    .expect = expect,
};
