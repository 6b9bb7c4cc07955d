/* SPDX-License-Identifier: MIT */
/*
 * What llm's runs are held against: the decoder once more, in double precision and in the plainest loops, token by
 * token.  Shares no arithmetic with the kernels, and does not look at the caches of the run: it has its own.
 */
#ifndef PTO_ORCHESTRATION_LLM_ORACLE_H
#define PTO_ORCHESTRATION_LLM_ORACLE_H

#include <formats/llm/language_model.h>
#include <pto/pto.h>

struct llm_oracle {
  const struct pto_language_model *model;
  uint64_t positions;
  double *x, *normed, *q, *heads, *gate, *up, *scores, *row;
  double *keys, *values; /* [layer][position][kv_dim] */
};

/* False where there is no memory; the memory is the program run's. */
bool llm_oracle_init(struct llm_oracle *o, struct pto_program_run *run, const struct pto_language_model *model,
                     uint64_t positions);
/* The logits (vocab_size) after `token` at `position`, the next one after those before. */
void llm_oracle_step(struct llm_oracle *o, uint32_t token, uint64_t position, double *logits);

#endif
