/* SPDX-License-Identifier: MIT */
/*
 * A Llama-style decoder as plain C loops on one thread: the peer of the bench, and the independent decoder that tests
 * hold the tasks' logits against.  Shares no arithmetic with kernels/.
 *
 * Owns keys, values and activations until fini; the model is borrowed.  Weights of every format, and pairs of
 * either style; other rows than f32 are converted each time that they are used.  One thread.
 */
#ifndef PTO_PLAIN_DECODER_H
#define PTO_PLAIN_DECODER_H

#include <formats/llm/language_model.h>
#include <stdbool.h>

struct pto_plain_decoder {
  const struct pto_language_model *model;
  float *x, *normed, *q, *heads, *gate, *up, *scores, *logits;
  float *row;           /* a row of weights that was converted */
  float *keys, *values; /* [layer][position][kv_dim] */
};

/* False where there is no memory. */
bool pto_plain_decoder_init(struct pto_plain_decoder *decoder, const struct pto_language_model *model);
/* A zeroed struct is allowed. */
void pto_plain_decoder_fini(struct pto_plain_decoder *decoder);
/* The logits (vocab_size) after `token` at `position`, the next one after those before; valid until the next step. */
const float *pto_plain_decoder_step(struct pto_plain_decoder *decoder, uint32_t token, uint32_t position);

#endif
