/* SPDX-License-Identifier: MIT */
/*
 * What llm's cores compute besides general kernels.  Matrices come as one tensor, or as two where they are int8: the
 * weights [rows, cols] and their scales [rows, cols / 32].
 *
 *   embed             x = row `token` of the embedding, as f32
 *   rotate_and_store  turns q and the new key by the position's angles, and puts key and value into the cache
 *   carry_row         copies the row before the position from one cache to another
 *   attend            the queries of some key-value heads over the cache up to the position
 *   gate_and_up       silu(gate · x) · (up · x), a tile of rows
 *
 * Caches of a layer: keys [kv_heads, width, positions], values [kv_heads, positions, width].  Keys stand across, so
 * that scores of neighbouring positions are computed side by side, each as one chain of sums in order of the width:
 * vectors change no bit.  Token and position are tensors of one i32, so every step submits the same tasks.
 */
#ifndef PTO_ORCHESTRATION_LLM_KERNELS_H
#define PTO_ORCHESTRATION_LLM_KERNELS_H

#include <orchestration/support/kernel.h>

#define LLM_BLOCK 32 /* weights that share a scale in q8_0 */

/* The general kernels in use, looked up when the program is loaded. */
extern struct llm_general {
  const struct pto_kernel *matvec, *matvec_accumulate, *matvec_int8, *matvec_int8_accumulate;
  const struct pto_kernel *rmsnorm, *arg_max, *exp, *silu;
} llm_general;

extern const struct pto_kernel llm_embed, llm_embed_int8, llm_rotate_and_store, llm_carry_row, llm_attend;
extern const struct pto_kernel llm_gate_and_up, llm_gate_int8_and_up, llm_gate_and_int8_up, llm_gate_and_up_int8;

#endif
