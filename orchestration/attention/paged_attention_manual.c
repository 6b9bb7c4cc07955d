/* SPDX-License-Identifier: MIT */
/*
 * paged_attention_manual: paged_attention with its order written down instead of found.
 *
 * The outer scope of a tile is automatic and allocates o, l and m.  Each cache block is a manual scope, in which
 * regions order nothing: every task names the tasks it comes after.  Same tasks, same edges, same results as
 * paged_attention; only the reasons of the edges differ ("explicit" instead of RAW and WAW).
 *
 *     QK → SOFTMAX → PV → UPDATE,  SOFTMAX → UPDATE,  UPDATE (or the allocation) of the block before → UPDATE
 *
 * tasks = T + 4·B,  edges = 5·B for T tiles and B blocks over all tiles.
 */
#include <orchestration/attention/paged_golden.h>
#include <orchestration/attention/paged_tiles.h>

static const struct pto_option options[] = {PTO_PAGED_OPTIONS, {0}};

static const struct pto_case cases[] = {
    {"1x16x16x16x33", "batch=1 heads=16 dim=16 block=16 ctx=33", "three blocks, the last with one token", 13, 15,
     false},
    {"var4", "heads=16 dim=16 block=16 lens=33,64,128,15", "four requests of different length", 68, 80, false},
    {"1x16x16x16x128", "batch=1 heads=16 dim=16 block=16 ctx=128", "eight full blocks", 33, 40, false},
    {"var2", "heads=16 dim=16 block=16 lens=33,17", "two requests of different length", 22, 25, false},
    {"repeated", "batch=4 heads=16 dim=16 block=16 ctx=128 pool_blocks=3", "32 table entries over three blocks", 132,
     160, false},
    {"fp16", "heads=16 dim=16 block=16 lens=33,64,128,15 dtype=fp16", NULL, 68, 80, false},
    {"bf16", "heads=16 dim=16 block=16 lens=33,64,128,15 dtype=bf16", NULL, 68, 80, false},
    {"4x16x128x128x1024", "batch=4 heads=16 dim=128 block=128 ctx=1024", "tiles of production size", 132, 160, false},
    {"64x16x128x128x8192", "batch=64 heads=16 dim=128 block=128 ctx=8192", NULL, 16448, 20480, true},
    {"256x16x128x128x8192", "batch=256 heads=16 dim=128 block=128 ctx=8192", NULL, 65792, 81920, true},
    {0},
};

/* The four tasks of a block.  *carried is the task that wrote o, l and m last; afterwards it is this block's update. */
static int submit_block(struct pto_runtime *rt, const struct paged_plan *plan, const struct paged_tile *tile,
                        uint64_t number, struct pto_task *carried) {
  struct paged_block block;
  struct pto_task qk, softmax, pv;
  int status = paged_make_block(rt, plan, tile, number, &block);
  if (status == PTO_OK) status = paged_submit_qk(rt, plan, tile, &block, &qk);
  if (status == PTO_OK) status = paged_submit_softmax(rt, plan, &block, (struct paged_after){&qk, 1}, &softmax);
  if (status == PTO_OK) status = paged_submit_pv(rt, plan, &block, (struct paged_after){&softmax, 1}, &pv);
  if (status != PTO_OK) return status;
  const struct pto_task before_update[] = {softmax, pv, *carried};
  return paged_submit_update(rt, plan, tile, &block, (struct paged_after){before_update, 3}, carried);
}

static int submit_tile(struct pto_runtime *rt, const struct paged_plan *plan, struct paged_tile *tile) {
  struct pto_task carried;
  int status = pto_scope_begin(rt, PTO_SCOPE_AUTO);
  if (status == PTO_OK) status = paged_alloc_carried(rt, plan, tile, &carried);
  for (uint64_t number = 0; status == PTO_OK && number < tile->block_count; number++) {
    status = pto_scope_begin(rt, PTO_SCOPE_MANUAL);
    if (status == PTO_OK) status = submit_block(rt, plan, tile, number, &carried);
    if (status == PTO_OK) status = pto_scope_end(rt);
  }
  return status == PTO_OK ? pto_scope_end(rt) : status;
}

static int prepare(struct pto_program_run *run) {
  return paged_prepare(run, pto_program_state(run, sizeof(struct paged)));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  return paged_orchestrate(rt, run, submit_tile);
}

PROGRAM("paged_attention_manual",
        "paged_attention in manual scopes: every dependency is explicit, same graph, same results", .rtol = 1e-3,
        .atol = 1e-3);
