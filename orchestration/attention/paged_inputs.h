/* SPDX-License-Identifier: MIT */
/*
 * What the paged attention programs share: options and inputs; and the golden, in paged_golden.h.  They differ in how
 * they submit (paged_tiles.h).
 *
 * Decode attention over a paged cache.  Request b has `heads` query rows of `dim` elements and context_lens[b] cached
 * tokens. Tokens live in blocks of `block`: token t of request b is row t mod block of pool block block_table[b, t /
 * block].  Query heads are served in groups of heads / kv_heads by one KV head.  For each query row out = softmax(scale
 * · q·Kᵀ) · V, over the request's tokens or, where there is a window, the last of them.
 *
 * Arrays (T is f32, fp16 or bf16, by the option dtype):
 *   q            T[batch · heads, dim]                      U(−0.5, 0.5)
 *   k_pool       T[pool_blocks, block, kv_heads, dim]       U(−0.5, 0.5)
 *   v_pool       T[pool_blocks, block, kv_heads, dim]       U(−1, 1)
 *   block_table  i32[batch, most blocks of a request]       0 ≤ x < pool_blocks, drawn with repetition
 *   context_lens i32[batch]
 *   out          f32[batch · heads, dim]
 *
 * The pool is smaller than the sum of all contexts where that would be large (requests then share blocks, as they do
 * with a common prefix): inputs stay small while every request still reads all of its context.
 *
 * A header of static functions, because a program is one shared object with nothing behind it but include/pto.
 */
#ifndef PTO_ORCHESTRATION_ATTENTION_PAGED_INPUTS_H
#define PTO_ORCHESTRATION_ATTENTION_PAGED_INPUTS_H

#include <orchestration/support/program.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Pool blocks that pool_blocks=0 stands for are as many as the contexts need, but no more than this many elements: 32
 * MiB of f32 each for K and V. */
enum { PTO_PAGED_POOL_ELEMS = 8 << 20, PTO_PAGED_MAX_Q_TILE = 128 };

#define PTO_PAGED_OPTIONS                                                                                              \
  {"batch", PTO_OPTION_INT, "1", "requests"}, {"heads", PTO_OPTION_INT, "16", "query heads"},                          \
      {"kv_heads", PTO_OPTION_INT, "1", "key and value heads, a divisor of heads"},                                    \
      {"dim", PTO_OPTION_INT, "16", "elements of a head"}, {"block", PTO_OPTION_INT, "16", "tokens of a cache block"}, \
      {"ctx", PTO_OPTION_INT, "33", "cached tokens of every request"},                                                 \
      {"lens", PTO_OPTION_TEXT, "", "cached tokens request by request, \"33,17\"; stands above batch and ctx"},        \
      {"dtype", PTO_OPTION_TEXT, "f32", "of q, k and v: f32, fp16 or bf16"}, {                                         \
    "pool_blocks", PTO_OPTION_INT, "0", "blocks in the cache pool; 0: what the contexts need, at most 32 MiB of f32"   \
  }

struct paged {
  uint64_t batch, heads, kv_heads, dim, block;
  uint64_t q_tile; /* query rows of a task: min(heads of a KV head, 128); divides them or the last tile is smaller */
  uint64_t group_heads; /* heads / kv_heads */
  uint64_t max_blocks;  /* of one request */
  uint64_t pool_blocks;
  uint32_t dtype;
  float scale;     /* 1/√dim */
  uint64_t window; /* a query sees that many tokens, the last ones; 0: all */
};

/* The first of `len` cached tokens that a query sees. */
static inline uint64_t paged_first_token(const struct paged *p, uint64_t len) {
  return p->window == 0 || len <= p->window ? 0 : len - p->window;
}

/* Of all requests.  A block is four tasks or more for each tile of heads: more take minutes. */
#define PAGED_MOST_BLOCKS (UINT64_C(1) << 20)

static inline uint64_t paged_divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* Reads a comma-separated list of positive numbers; returns how many, 0 where it is none. */
static inline uint64_t paged_parse_lens(const char *text, int64_t *lens, uint64_t capacity) {
  uint64_t count = 0;
  for (;;) {
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || value < 1 || value > INT32_MAX || count == capacity) return 0;
    lens[count++] = value;
    if (*end == '\0') return count;
    if (*end != ',') return 0;
    text = end + 1;
  }
}

/* Reads the numeric options; everything that a shape is made of is in range afterwards. */
static inline int paged_read_sizes(struct pto_program_run *run, struct paged *p) {
  int status = READ_WHOLE_OPTIONS(run, {"batch", 1, 1 << 20, &p->batch}, {"heads", 1, 1 << 16, &p->heads},
                                  {"kv_heads", 1, 1 << 16, &p->kv_heads}, {"dim", 1, 1 << 14, &p->dim},
                                  {"block", 1, 1 << 14, &p->block});
  if (status == PTO_OK) status = read_float_dtype(run, &p->dtype);
  if (status != PTO_OK) return status;
  if (p->heads % p->kv_heads != 0)
    return pto_program_fail(run, "heads %llu is no multiple of kv_heads %llu", (unsigned long long)p->heads,
                            (unsigned long long)p->kv_heads);
  if (p->dtype != PTO_FLOAT32) pto_program_tolerance(run, 1e-2, 1e-2);
  p->group_heads = p->heads / p->kv_heads;
  p->q_tile = p->group_heads < PTO_PAGED_MAX_Q_TILE ? p->group_heads : PTO_PAGED_MAX_Q_TILE;
  p->scale = (float)(1.0 / sqrt((double)p->dim));
  return PTO_OK;
}

/* context_lens, and what follows from it: batch, max_blocks, pool_blocks. */
static inline int paged_make_lens(struct pto_program_run *run, struct paged *p) {
  enum { MOST_LENS = 1024 };
  int64_t lens[MOST_LENS];
  const char *list = pto_option_text(run, "lens");
  int64_t ctx = pto_option_int(run, "ctx");
  if (*list != '\0') {
    p->batch = paged_parse_lens(list, lens, MOST_LENS);
    if (p->batch == 0)
      return pto_program_fail(run, "lens \"%s\" is no list of 1 … %d positive numbers", list, MOST_LENS);
  } else if (ctx < 1 || ctx > INT32_MAX) {
    return pto_program_fail(run, "ctx %lld is not in 1 … %d", (long long)ctx, INT32_MAX);
  }
  int status = DECLARE_ARRAYS(run, INPUT("context_lens", PTO_INT32, 0, 0, p->batch));
  if (status != PTO_OK) return status;
  uint64_t blocks = 0;
  for (uint64_t b = 0; b < p->batch; b++) {
    int64_t len = *list != '\0' ? lens[b] : ctx;
    uint64_t len_blocks = paged_divide_up((uint64_t)len, p->block);
    pto_array_set(pto_program_find(run, "context_lens"), b, (double)len);
    blocks += len_blocks;
    if (len_blocks > p->max_blocks) p->max_blocks = len_blocks;
  }
  if (blocks > PAGED_MOST_BLOCKS)
    return pto_program_fail(run, "the cached tokens take %llu blocks of %llu, and at most %llu are taken",
                            (unsigned long long)blocks, (unsigned long long)p->block,
                            (unsigned long long)PAGED_MOST_BLOCKS);
  uint64_t wanted = 0;
  status = READ_WHOLE_OPTIONS(run, {"pool_blocks", 0, INT32_MAX, &wanted});
  if (status != PTO_OK) return status;
  uint64_t most = PTO_PAGED_POOL_ELEMS / (p->block * p->kv_heads * p->dim);
  if (most == 0) most = 1;
  p->pool_blocks = wanted != 0 ? wanted : blocks < most ? blocks : most;
  return PTO_OK;
}

/* The whole of prepare: options, arrays, contents. */
static inline int paged_prepare(struct pto_program_run *run, struct paged *p) {
  int status = p == NULL ? PTO_ENOMEM : paged_read_sizes(run, p);
  if (status == PTO_OK) status = paged_make_lens(run, p);
  if (status != PTO_OK) return status;
  return DECLARE_ARRAYS(run, INPUT("q", p->dtype, -0.5, 0.5, p->batch * p->heads, p->dim),
                        INPUT("k_pool", p->dtype, -0.5, 0.5, p->pool_blocks, p->block, p->kv_heads, p->dim),
                        INPUT("v_pool", p->dtype, -1, 1, p->pool_blocks, p->block, p->kv_heads, p->dim),
                        INPUT("block_table", PTO_INT32, 0, (double)p->pool_blocks, p->batch, p->max_blocks),
                        OUTPUT("out", PTO_FLOAT32, p->batch * p->heads, p->dim));
}

#endif
