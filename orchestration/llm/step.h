/* SPDX-License-Identifier: MIT */
/*
 * A step of llm: from a token and a position in device memory to logits and, greedy, to the next token, as tasks.
 *
 *   x = embed(token)
 *   a layer:  normed = rmsnorm(x) · q, key, value = W·normed · rotate_and_store · attend, some key-value heads a task
 *             x += o·heads · normed = rmsnorm(x) · hidden = gate_and_up(normed) · x += down·hidden
 *   logits = classifier·rmsnorm(x) · next = arg_max(logits)
 *
 * Every product is cut into tiles of rows, a task each.  A step names the same tensors each time, and what it submits
 * depends on nothing else: not on token or position, which kernels read.
 *
 * A rank has one share of the layers (orchestration/llm/share.h): what it adds to x is summed over the ranks by an
 * all-reduce, which adds in order of ranks; rank 0 gives x with its own added to it, the others what they add.  Of the
 * logits it has those of some tokens, which an all-gather joins.  A chip alone has all shares, mostly one: it adds what
 * they add one after another, which comes to the same bits.
 *
 * Owns nothing: constants are the context's, what passes between tasks is managed by the runtime.  On the thread that
 * orchestrates.
 */
#ifndef PTO_ORCHESTRATION_LLM_STEP_H
#define PTO_ORCHESTRATION_LLM_STEP_H

#include <orchestration/llm/share.h>
#include <pto/collectives.h>

enum { LLM_STEP, LLM_K, LLM_V, LLM_K_FROM, LLM_V_FROM, LLM_INPUTS };
/* What is not asked for is not among a dispatch's outputs: the logits are the last. */
enum { LLM_K_NEXT, LLM_V_NEXT, LLM_NEXT, LLM_LOGITS, LLM_OUTPUTS };

/* Where a matrix is among the constants: one tensor, or weights and scales; its rows from first_row on. */
struct llm_matrix {
  uint32_t first, count, first_row;
};

/* Of a layer and a share. */
struct llm_part {
  struct llm_matrix q, k, v, o, gate, up, down;
};

struct llm_layer {
  uint32_t attention_norm, ffn_norm;
  struct llm_part *parts; /* by share of this chip */
};

/* What every step of a pass does. */
struct llm_plan {
  const struct pto_language_model *model;
  struct llm_share *shares; /* of this chip */
  uint32_t share_count;
  bool is_rank, has_comm; /* one of several; its communicator, which the first step makes */
  struct pto_comm comm;
  struct llm_layer *layers;
  struct llm_matrix embedding, classifier;
  uint32_t final_norm, cosines, sines;
  bool is_carried;           /* pingpong: the newest row comes from the other set of caches */
  bool has_next, has_logits; /* the next token, found on the device, and the logits: which of them are outputs */
  uint64_t tile_rows;        /* 0: as the sizes ask for */
};

/* The orchestration of a dispatch; bound->context is the plan. */
int llm_submit_step(struct pto_runtime *rt, const struct pto_bound *bound);

#endif
