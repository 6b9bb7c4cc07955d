/* SPDX-License-Identifier: MIT */
/*
 * A divisor that many numbers are divided by: one multiplication instead of a division.
 *
 * With M = ⌊(2^64 − 1) / d⌋ = (2^64 − e) / d, 1 ≤ e ≤ d, the quotient ⌊n / d⌋ is ⌊(n + 1) · M / 2^64⌋ exactly wherever
 * (n + 1) · d ≤ 2^64 (Robison, "N-bit unsigned division via N-bit multiply-add", 2005).  Where the numbers may be
 * larger than that, a division it is.
 *
 * A value; any thread.
 */
#ifndef PTO_DIVISOR_H
#define PTO_DIVISOR_H

#include <runtime/base/base.h>

struct pto_divisor {
  uint64_t value;      /* > 0 */
  uint64_t reciprocal; /* M; 0: divide */
};

/* A divisor of numbers below `limit`; both > 0. */
static inline struct pto_divisor pto_divisor_make(uint64_t value, uint64_t limit) {
  const bool is_exact = pto_log2_floor(value) + pto_log2_floor(limit) <= 62; /* value · limit < 2^64 */
  return (struct pto_divisor){value, is_exact ? UINT64_MAX / value : 0};
}

static inline uint64_t pto_divide(uint64_t n, const struct pto_divisor *by) {
  if (PTO_UNLIKELY(!by->reciprocal)) return n / by->value;
  return (uint64_t)(((unsigned __int128)(n + 1) * by->reciprocal) >> 64);
}

#endif
