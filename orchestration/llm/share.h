/* SPDX-License-Identifier: MIT */
/*
 * A model cut into shares, one for each chip that runs it, as Megatron-LM cuts layers (Shoeybi et al., "Megatron-LM:
 * Training Multi-Billion Parameter Language Models Using Model Parallelism", 2019):
 *
 *   q, k, v    rows: some heads, and the heads of keys and values that these read; where there are more shares than
 *              those, several have a copy
 *   o          columns: of the same heads
 *   gate, up   rows: some elements of the hidden vector
 *   down       columns: the same elements
 *   classifier rows: some tokens, where the shares can have equally many; else whole
 *
 * All else is whole on each chip: of the embedding a step reads one row.  A layer adds to x twice, o's and down's
 * product; what each share adds is a vector of all of x, and x + that of share 0 + that of share 1 + … is the new x, in
 * f32 and in this order.  So the bits depend on the number of shares and not on where they run; one share is the model.
 *
 * Owns nothing.  Any thread.
 */
#ifndef PTO_ORCHESTRATION_LLM_SHARE_H
#define PTO_ORCHESTRATION_LLM_SHARE_H

#include <formats/llm/language_model.h>
#include <pto/pto.h>

struct llm_share {
  uint32_t index;
  uint32_t first_head, heads, first_kv_head, kv_heads; /* equal numbers in each share */
  uint32_t first_hidden, hidden;                       /* at least one */
  uint32_t first_token, tokens;                        /* of the classifier */
};

/* Whether the model can be cut so; else the run fails with the reason. */
int llm_check_shares(struct pto_program_run *run, const struct pto_language_model *model, uint32_t count);
/* Share `index` of `count`, which are checked. */
struct llm_share llm_share_of(const struct pto_language_model *model, uint32_t index, uint32_t count);

/* Rows `first` on of a matrix, where they are. */
struct pto_model_matrix llm_rows(const struct pto_model_matrix *m, uint64_t first, uint64_t count);
/* Columns `first` on, which begin and end with blocks: a copy, whose data the caller frees; NULL: no memory. */
struct pto_model_matrix llm_columns(const struct pto_model_matrix *m, uint64_t first, uint64_t count);

#endif
