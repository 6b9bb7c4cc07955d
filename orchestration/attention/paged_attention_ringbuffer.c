/* SPDX-License-Identifier: MIT */
/*
 * paged_attention_ringbuffer: paged_attention in rings far too small for it.
 *
 * The program asks for task rings of 64 slots and heap rings of 4 MiB; its standard case submits 4128 tasks and
 * allocates 27 MiB of temporaries.  So slots and heap come round many times, and the orchestration has to wait for the
 * machine: what must come out is the same bytes as with room for everything.
 *
 * Graph and counts are those of paged_attention (T + 4·B tasks, 5·B edges): no region is forgotten while something
 * needs it.
 */
#include <orchestration/attention/paged_golden.h>
#include <orchestration/attention/paged_tiles.h>

static const struct pto_config config = {.size = sizeof config, .window = 64, .heap_bytes = 4 << 20};

static const struct pto_option options[] = {PTO_PAGED_OPTIONS, {0}};

static const struct pto_case cases[] = {
    {"4x16x128x128x1024", "batch=4 heads=16 dim=128 block=128 ctx=1024", "a small one", 132, 160, false},
    {"32x16x128x128x4096", "batch=32 heads=16 dim=128 block=128 ctx=4096", "the standard case", 4128, 5120, false},
    {"var4", "heads=16 dim=16 block=16 lens=33,64,128,15", "four requests of different length", 68, 80, false},
    {"repeated", "batch=4 heads=16 dim=16 block=16 ctx=128 pool_blocks=3", "32 table entries over three blocks", 132,
     160, false},
    {"fp16", "batch=4 heads=16 dim=128 block=128 ctx=1000 dtype=fp16", "partial last blocks", 132, 160, false},
    {"bf16", "batch=4 heads=16 dim=128 block=128 ctx=1000 dtype=bf16", "partial last blocks", 132, 160, false},
    {"many", "batch=300 heads=16 dim=16 block=16 ctx=40", "many short requests: the outer ring wraps too", 3900, 4500,
     false},
    {"64x16x128x128x8192", "batch=64 heads=16 dim=128 block=128 ctx=8192", NULL, 16448, 20480, true},
    {0},
};

static int prepare(struct pto_program_run *run) {
  return paged_prepare(run, pto_program_state(run, sizeof(struct paged)));
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  return paged_orchestrate(rt, run, paged_submit_tile);
}

PROGRAM("paged_attention_ringbuffer",
        "paged_attention with 64 task slots and 4 MiB of heap a ring: both wrap, and submits wait", .rtol = 1e-3,
        .atol = 1e-3, .config = &config);
