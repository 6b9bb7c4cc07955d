/* SPDX-License-Identifier: MIT */
/*
 * Samples: what one thing took in each repeat, and the figures that every bench gives of them.
 *
 * Always true: min ≤ low ≤ median ≤ high ≤ max.  `low` to `high` are two of the samples, between which the median of
 * endlessly many repeats lies with a probability of 95 % or more, if repeats are independent (order statistics: the
 * number of samples below the median is binomial).  Fewer than six cannot say so much: then they are the least and the
 * greatest.
 *
 * Zeroed samples are empty.  One thread.
 */
#ifndef PTO_SAMPLES_H
#define PTO_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#define PTO_MAX_SAMPLES 99u

struct pto_samples {
  double values[PTO_MAX_SAMPLES];
  uint32_t count;
};

struct pto_samples_figures {
  double median, min, max, low, high;
};

/* What is more than PTO_MAX_SAMPLES is dropped. */
static inline void pto_samples_add(struct pto_samples *samples, double value) {
  if (samples->count < PTO_MAX_SAMPLES) samples->values[samples->count++] = value;
}
/* All zero where there are no samples. */
struct pto_samples_figures pto_samples_figures(const struct pto_samples *samples);
double pto_samples_median(const struct pto_samples *samples);

#endif
