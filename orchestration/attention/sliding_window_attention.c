/* SPDX-License-Identifier: MIT */
/*
 * sliding_window_attention: decode attention over a paged KV cache where a query sees the last `window` tokens alone.
 *
 * As paged_attention, four tasks a cache block with a running softmax; but a block that lies before the window has no
 * task, and its entry of the block table is not read.  Of the block in which the window begins, k and v are views from
 * its first token on that is seen: so no mask is needed, and no product is wasted.  The work of a request ends to grow
 * where its context is longer than the window.
 *
 * A window that begins with the context (window ≥ tokens) is paged_attention, to the last bit.  Inputs and golden:
 * paged_inputs.h, paged_golden.h; the submits: paged_tiles.h.
 *
 * With T tiles and B blocks that lie in the windows of all tiles:  tasks = T + 4·B,  edges = 5·B.  A request of n
 * tokens has ⌈n / block⌉ − ⌊max(0, n − window) / block⌋ of them for each tile.
 */
#include <orchestration/attention/paged_golden.h>
#include <orchestration/attention/paged_tiles.h>

static const struct pto_option options[] = {
    PTO_PAGED_OPTIONS, {"window", PTO_OPTION_INT, "64", "tokens that a query sees, the last ones"}, {0}};

static const struct pto_case cases[] = {
    {"whole", "heads=16 dim=16 block=16 ctx=33 window=64", "a context within the window: all of its blocks", 13, 15,
     false},
    {"aligned", "heads=16 dim=16 block=16 ctx=128 window=64", "the window begins with a block: four of eight", 17, 20,
     false},
    {"partial", "heads=16 dim=16 block=16 ctx=125 window=62", "it begins and ends within blocks: five of eight", 21, 25,
     false},
    {"inside", "heads=16 dim=16 block=16 ctx=40 window=5", "it lies within one block", 5, 5, false},
    {"itself", "heads=16 dim=16 block=16 ctx=33 window=1", "the last token alone", 5, 5, false},
    {"var4", "heads=16 dim=16 block=16 lens=33,64,128,15 window=40", "four requests of different length", 44, 50,
     false},
    {"grouped", "batch=2 heads=16 kv_heads=4 dim=32 block=16 ctx=100 window=50", "grouped queries", 136, 160, false},
    {"wide", "batch=1 heads=160 dim=16 block=32 ctx=70 window=33", "more query rows than a tile has", 18, 20, false},
    {"fp16", "heads=16 dim=16 block=16 lens=33,64,128,15 window=40 dtype=fp16", NULL, 44, 50, false},
    {"bf16", "heads=16 dim=16 block=16 lens=33,64,128,15 window=40 dtype=bf16", NULL, 44, 50, false},
    {"4x64x64x128x4096", "batch=4 heads=64 kv_heads=8 dim=64 block=128 ctx=4096 window=128 dtype=bf16",
     "heads and window of a large open model's short layers", 160, 160, false},
    {"8x32x128x128x32768", "batch=8 heads=32 kv_heads=8 dim=128 block=128 ctx=32768 window=4096 dtype=bf16",
     "a context of eight windows", 8256, 10240, true},
    {0},
};

static int prepare(struct pto_program_run *run) {
  struct paged *p = pto_program_state(run, sizeof *p);
  if (p == NULL) return PTO_ENOMEM;
  const int status = READ_WHOLE_OPTIONS(run, {"window", 1, INT32_MAX, &p->window});
  return status == PTO_OK ? paged_prepare(run, p) : status;
}

static int orchestrate(struct pto_runtime *rt, struct pto_program_run *run) {
  return paged_orchestrate(rt, run, paged_submit_tile);
}

PROGRAM("sliding_window_attention", "decode attention over the last tokens of a paged KV cache: a window", .rtol = 1e-3,
        .atol = 1e-3);
