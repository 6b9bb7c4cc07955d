/* SPDX-License-Identifier: MIT */
/*
 * spmd_paged_attention: paged attention with all requests and heads in one task, its blocks spread over the cores.
 *
 * An item is a tile of query rows of one request that share a KV head.  A task does one step, for one cache block
 * number, for every item; there is a block for each item, or as many as `width` says, and then block i does items i,
 * i + width, …  Products are of AICs.  softmax and the running update are of both vector cores of a cluster, each with
 * half of an item's rows (lanes=2), or of one (lanes=1): a task of two kernels with one list of parameters.
 *
 *     QK (AIC)  →  SOFTMAX (AIV0, AIV1)  →  PV (AIC)  →  UPDATE (AIV0, AIV1)
 *
 * An item has no part in steps beyond its request's last block.  No sum depends on who has which item or row, so the
 * results are paged_attention's to the last bit, for any width and lanes.  Kernels: paged_parts.h; inputs and golden:
 * paged_inputs.h, paged_golden.h.
 *
 * With M the most cache blocks of a request:  tasks = 1 + 4·M,  edges = 5·M, whatever the number of requests.
 */
#include <orchestration/attention/paged_golden.h>
#include <orchestration/attention/paged_parts.h>

struct spread {
  struct paged p;
  uint64_t width, lanes;
};

static const struct pto_option options[] = {
    PTO_PAGED_OPTIONS,
    {"width", PTO_OPTION_INT, "0", "blocks of a task; 0: one for each item"},
    {"lanes", PTO_OPTION_INT, "2", "vector cores of a cluster that share an item's rows: 1 or 2"},
    {0},
};

static const struct pto_case cases[] = {
    {"1x16x16x16x33", "batch=1 heads=16 dim=16 block=16 ctx=33", "one item", 13, 15, false},
    {"1x16x16x16x128", "batch=1 heads=16 dim=16 block=16 ctx=128", "eight full blocks", 33, 40, false},
    {"var2", "heads=16 dim=16 block=16 lens=33,17", "two requests of different length", 13, 15, false},
    {"var4", "heads=16 dim=16 block=16 lens=33,64,128,15", "lengths of 1 … 8 blocks in one task", 33, 40, false},
    {"narrow", "heads=16 dim=16 block=16 lens=33,64,128,15,200 width=3", "five items on three blocks", 53, 65, false},
    {"one_lane", "heads=16 dim=16 block=16 lens=33,64,128,15 lanes=1", "one vector core an item", 33, 40, false},
    {"grouped", "batch=2 heads=16 kv_heads=4 dim=32 block=16 ctx=40", "four items a request, each of four rows", 13, 15,
     false},
    {"single_rows", "batch=2 heads=4 kv_heads=4 dim=32 block=16 ctx=40", "one row an item: AIV1 has none", 13, 15,
     false},
    {"wide", "batch=2 heads=256 dim=16 block=32 ctx=70", "two tiles of rows that share a KV head", 13, 15, false},
    {"fp16", "heads=16 dim=16 block=16 lens=33,64,128,15 dtype=fp16", NULL, 33, 40, false},
    {"bf16", "heads=16 dim=16 block=16 lens=33,64,128,15 dtype=bf16", NULL, 33, 40, false},
    {"16x16x128x128x512", "batch=16 heads=16 dim=128 block=128 ctx=512", "tiles of production size", 17, 20, false},
    {"64x16x128x128x8192", "batch=64 heads=16 dim=128 block=128 ctx=8192", NULL, 257, 320, true},
    {"256x16x128x128x8192", "batch=256 heads=16 dim=128 block=128 ctx=8192 width=24", NULL, 257, 320, true},
    {0},
};

static int prepare(struct pto_program_run *run) {
  struct spread *state = pto_program_state(run, sizeof *state);
  if (state == NULL) return PTO_ENOMEM;
  int status = READ_WHOLE_OPTIONS(run, {"width", 0, UINT16_MAX, &state->width}, {"lanes", 1, 2, &state->lanes});
  if (status == PTO_OK) status = paged_prepare(run, &state->p);
  if (status == PTO_OK && state->p.group_heads % state->p.q_tile != 0)
    return pto_program_fail(run, "%llu heads of a KV head are no multiple of %llu, the rows of an item",
                            (unsigned long long)state->p.group_heads, (unsigned long long)state->p.q_tile);
  return status;
}

static int submit_steps(struct pto_runtime *rt, const struct spread *state, struct parts *parts) {
  const struct parts_launch launch = {.block_count = (uint32_t)(state->width ? state->width : parts->items),
                                      .has_both_lanes = state->lanes == 2};
  parts_make_carried(rt, parts);
  const struct pto_tensor carried[] = {parts->o, parts->l, parts->m};
  int status = pto_alloc_tensors(rt, carried, 3, NULL);
  for (uint64_t number = 0; status == PTO_OK && number < parts->block_count; number++) {
    status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
    if (status == PTO_OK) status = parts_submit_step(rt, parts, launch, number, NULL);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  const struct spread *state = pto_program_state(run, sizeof *state);
  const struct paged *p = &state->p;
  const struct paged_plan plan = paged_make_plan(rt, run, p);
  const uint64_t rows[] = {p->batch * p->heads / p->q_tile, p->q_tile, p->dim};
  const uint64_t pool[] = {p->pool_blocks, p->block, p->kv_heads, p->dim};
  struct parts parts = {
      .p = p,
      .items = rows[0],
      .rows = rows[1],
      .lens = plan.context_lens,
      .table = plan.block_table,
      .q = pto_tensor_reshape(&plan.q, 3, rows),
      .out = pto_tensor_reshape(&plan.out, 3, rows),
      .k_pool = pto_tensor_reshape(&plan.k_pool, 4, pool),
      .v_pool = pto_tensor_reshape(&plan.v_pool, 4, pool),
  };
  for (uint64_t request = 0, len = 0; request < p->batch; request++) {
    const int status = paged_read_len(rt, &plan, request, &len);
    if (status != PTO_OK) return status;
    const uint64_t blocks = paged_divide_up(len, p->block);
    if (blocks > parts.block_count) parts.block_count = blocks;
  }
  return submit_steps(rt, state, &parts);
}

PROGRAM("spmd_paged_attention", "paged attention with all requests and heads in one task, blocks spread over the cores",
        .rtol = 1e-3, .atol = 1e-3);
