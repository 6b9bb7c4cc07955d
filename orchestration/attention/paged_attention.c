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
 * is a narrower view of s.  Inputs and golden: paged_inputs.h, paged_golden.h; the submits: paged_tiles.h.
 *
 * With T tiles (requests · kv_heads · tiles of a KV head) and B blocks over all tiles:  tasks = T + 4·B,  edges = 5·B
 * (QK → SOFTMAX → PV → UPDATE, SOFTMAX → UPDATE, and the update or allocation before → UPDATE).
 */
#include <orchestration/attention/paged_golden.h>
#include <orchestration/attention/paged_tiles.h>

static const struct pto_option options[] = {PTO_PAGED_OPTIONS, {0}};

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
  return paged_prepare(run, pto_program_state(run, sizeof(struct paged)));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  return paged_orchestrate(rt, run, paged_submit_tile);
}

PROGRAM("paged_attention", "decode attention over a paged KV cache: QK, softmax, PV and running update, block by block",
        .rtol = 1e-3, .atol = 1e-3);
