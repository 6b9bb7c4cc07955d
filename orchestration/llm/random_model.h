/* SPDX-License-Identifier: MIT */
/*
 * llm without files: a random model of given sizes with its tokenizer, from a seed.
 *
 * Everything is memory of the program run: nothing has to be freed.  The random model is a model as a file has it:
 * matrices in any of the formats, norms near 1, entries small enough that activations keep their size.  Its tokenizer
 * is llama2.c's: three marks, the 256 bytes, then syllables; rows of the classifier that belong to marks and bytes are
 * small, so that what comes out is mostly printable.
 */
#ifndef PTO_ORCHESTRATION_LLM_RANDOM_MODEL_H
#define PTO_ORCHESTRATION_LLM_RANDOM_MODEL_H

#include <formats/llm/language_model.h>
#include <formats/llm/tokenizer.h>
#include <pto/pto.h>

#define LLM_BYTE_TOKENS 259u /* marks and bytes */

/* The 64-bit xorshift* generator of llama2.c (Marsaglia 2003, Vigna 2016). */
struct llm_random {
  uint64_t state; /* not 0 */
};
static inline uint32_t llm_random_bits(struct llm_random *random) {
  random->state ^= random->state >> 12;
  random->state ^= random->state << 25;
  random->state ^= random->state >> 27;
  return (uint32_t)((random->state * UINT64_C(0x2545F4914F6CDD1D)) >> 32);
}
/* In [0, 1). */
static inline float llm_random_unit(struct llm_random *random) {
  return (float)(llm_random_bits(random) >> 8) / 16777216.0f;
}

/* Gives a model of checked sizes its weights, all matrices of one format; where it is shared the embedding is the
 * classifier too.  PTO_OK, or PTO_ENOMEM. */
int llm_random_model(struct pto_program_run *run, struct pto_language_model *model, uint32_t format, bool is_shared,
                     uint64_t seed);
/* The tokenizer's file, in memory of the process alone, read as any other. */
int llm_random_tokenizer(uint32_t vocab, struct pto_tokenizer *tokenizer, char *sentence, size_t size);

#endif
