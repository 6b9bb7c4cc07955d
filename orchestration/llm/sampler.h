/* SPDX-License-Identifier: MIT */
/*
 * Which token comes next: the largest logit, or one drawn from softmax(logits / temperature), as llama2.c draws it: of
 * all, or (0 < topp < 1) of the most probable ones whose probabilities first exceed topp.  The first of equals.
 */
#ifndef PTO_ORCHESTRATION_LLM_SAMPLER_H
#define PTO_ORCHESTRATION_LLM_SAMPLER_H

#include <stdint.h>

struct llm_choice {
  float probability;
  uint32_t token;
};

uint32_t llm_largest(const float *logits, uint32_t count);
/* `logits` become probabilities; `choices` has room for `count`; coin in [0, 1). */
uint32_t llm_sample(float *logits, uint32_t count, float temperature, float topp, float coin,
                    struct llm_choice *choices);

#endif
