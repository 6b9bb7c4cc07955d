/* SPDX-License-Identifier: MIT */
/*
 * A decoder in a context: its tensors, and a step at a time with token and position in, logits or the next token out.
 *
 *   kv=inplace   a set of caches that a step consumes and writes a row of
 *   kv=pingpong  two sets: a step writes the one that is older by a step, which lacks one row; the device copies it
 *   kv=host      as inplace, but the set comes from the host before each step and goes back after it
 *
 * On several ranks each has a context, with a share of the model and its caches, and all do the same steps; alone, a
 * pass has a chip that no other knows of, with all of their shares.
 *
 * Owns the context and its tensors until fini.  Each step moves 8 bytes to the device, and back the logits (f32) or 4
 * bytes; with kv=host the caches as well, both ways.  One thread.
 */
#ifndef PTO_ORCHESTRATION_LLM_PASS_H
#define PTO_ORCHESTRATION_LLM_PASS_H

#include <orchestration/llm/step.h>

enum llm_kv { LLM_KV_INPLACE, LLM_KV_PINGPONG, LLM_KV_HOST };

struct llm_pass {
  struct pto_program_run *run;
  enum llm_kv kv;
  uint64_t positions;
  bool is_alone; /* without the other ranks */
  struct pto_context *context;
  struct llm_plan plan;
  struct pto_operand inputs[LLM_INPUTS], outputs[LLM_OUTPUTS];
  uint32_t output_count;
  struct pto_device_program program;
  struct pto_device_tensor *constants;
  struct pto_device_tensor step, caches[2][2], results[LLM_OUTPUTS]; /* caches[set][keys or values] */
  char *host_caches[2];
  uint64_t cache_bytes;
};

/* The caller has filled run, kv, positions, is_alone, and of the plan model, has_next, has_logits and tile_rows.  After
 * a failure, which the run keeps, fini too. */
int llm_pass_init(struct llm_pass *pass);
/* Gives every tensor back; what is then still live is a leak.  The context stays, for its counters. */
void llm_pass_release(struct llm_pass *pass);
void llm_pass_fini(struct llm_pass *pass);
/* The step of `position`, which follows the one before.  Fills what is not NULL: the next token where the pass is
 * greedy, and vocab_size logits where it has them. */
int llm_pass_step(struct llm_pass *pass, uint32_t token, uint64_t position, int32_t *next_out, float *logits);

#endif
