/* SPDX-License-Identifier: MIT */
#include <orchestration/llm/sampler.h>

#include <math.h>
#include <stdlib.h>

uint32_t llm_largest(const float *logits, uint32_t count) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < count; i++)
    if (logits[i] > logits[best]) best = i;
  return best;
}

static int llm_order_choices(const void *left, const void *right) {
  const struct llm_choice *a = left, *b = right;
  if (a->probability != b->probability) return a->probability < b->probability ? 1 : -1;
  return (a->token > b->token) - (a->token < b->token);
}

/* A temperature so small that the quotient has no number is as good as 0: the most probable one has all. */
static void llm_softmax(float *x, uint32_t count, float temperature) {
  const uint32_t best = llm_largest(x, count);
  const float most = x[best] / temperature;
  float sum = 0;
  if (!isfinite(most)) {
    for (uint32_t i = 0; i < count; i++) x[i] = i == best;
    return;
  }
  for (uint32_t i = 0; i < count; i++) sum += x[i] = expf(x[i] / temperature - most);
  for (uint32_t i = 0; i < count; i++) x[i] /= sum;
}

/* Of the most probable ones. */
static uint32_t llm_sample_top(const float *probabilities, uint32_t count, float topp, float coin,
                               struct llm_choice *choices) {
  const float least = (1.0f - topp) / (float)(count - 1); /* what is less cannot be among them */
  uint32_t kept = 0, last = 0;
  for (uint32_t i = 0; i < count; i++)
    if (probabilities[i] >= least) choices[kept++] = (struct llm_choice){probabilities[i], i};
  if (kept == 0) return llm_largest(probabilities, count);
  qsort(choices, kept, sizeof *choices, llm_order_choices);
  float sum = 0, so_far = 0;
  for (last = 0; last < kept; last++) {
    sum += choices[last].probability;
    if (sum > topp) break;
  }
  if (last == kept) last = kept - 1;
  for (uint32_t i = 0; i <= last; i++) {
    so_far += choices[i].probability;
    if (coin * sum < so_far) return choices[i].token;
  }
  return choices[last].token;
}

uint32_t llm_sample(float *logits, uint32_t count, float temperature, float topp, float coin,
                    struct llm_choice *choices) {
  float so_far = 0;
  llm_softmax(logits, count, temperature);
  if (topp > 0 && topp < 1 && count > 1) return llm_sample_top(logits, count, topp, coin, choices);
  for (uint32_t i = 0; i < count; i++) {
    so_far += logits[i];
    if (coin < so_far) return i;
  }
  return count - 1;
}
