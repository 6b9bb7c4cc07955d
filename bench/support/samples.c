/* SPDX-License-Identifier: MIT */
#include <bench/support/samples.h>

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The largest k (from 0) so that the k-th least and the k-th greatest of n hold the median with 95 % or more. */
static uint32_t interval_rank(uint32_t n) {
  double outside = 0, ways = 1; /* 2 · P(at most k of n below the median) */
  for (uint32_t k = 0; k < n / 2; k++) {
    outside += 2 * ways * pow(0.5, n);
    if (outside > 0.05) return k > 0 ? k - 1 : 0;
    ways = ways * (n - k) / (k + 1);
  }
  return 0;
}

struct pto_samples_figures pto_samples_figures(const struct pto_samples *samples) {
  struct pto_samples sorted = *samples;
  const uint32_t n = sorted.count, rank = interval_rank(n);
  if (n == 0) return (struct pto_samples_figures){0};
  qsort(sorted.values, n, sizeof sorted.values[0], compare);
  return (struct pto_samples_figures){.median = (sorted.values[(n - 1) / 2] + sorted.values[n / 2]) / 2,
                                      .min = sorted.values[0],
                                      .max = sorted.values[n - 1],
                                      .low = sorted.values[rank],
                                      .high = sorted.values[n - 1 - rank]};
}

double pto_samples_median(const struct pto_samples *samples) { return pto_samples_figures(samples).median; }
