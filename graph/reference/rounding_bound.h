/* SPDX-License-Identifier: MIT */
/*
 * How far a sum of n terms that is computed in float32 may be from the same sum in double: two bounds, with u = 2⁻²⁴.
 *
 *   worst     min(n·u / (1 − n·u), 2·√n·u) · S     S = Σ |term|
 *   expected  2·√n·u · √(s² + Q), at most worst      s the sum, Q = Σ term²
 *
 * n counts roundings: a product and an addition for each term are n of them on the way of any one term, and 2n in all.
 *
 * Worst: the first factor is γ_n, which no order of summation exceeds (Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd ed., section 3.1).  The second is λ·√n·u with λ = 2 (Higham and Mary, A New Approach to Probabilistic
 * Rounding Error Analysis, SIAM J. Sci. Comput. 41 (2019)): rounding errors are taken as independent, of mean zero and
 * within ±u, so an addition that makes T errs by u·|T|/√3 (standard deviation, uniform).  No order has partial sums
 * above S; the worst, all terms of one sign one after another, has Σ T² = n·S²/3, hence u·√n·S/3: λ = 2 is six
 * standard deviations of it.
 *
 * Expected: where terms have both signs, partial sums are far below S.  In a random order the one after k of n terms
 * has mean s·k/n and variance Q·k/n·(1 − k/n), so Σ T² = n·(s²/3 + Q/6), and six standard deviations of the error are
 * u·√(n·(4·s² + 2·Q)), which is below 2·√n·u·√(s² + Q).  Orders that keep terms of one sign together can exceed it: it
 * is a bound of what is to be expected, not of what may be.
 *
 * Functions of their arguments alone; any thread.
 */
#ifndef PTO_GRAPH_REFERENCE_ROUNDING_BOUND_H
#define PTO_GRAPH_REFERENCE_ROUNDING_BOUND_H

#include <math.h>
#include <stdint.h>

#define PTO_ROUNDING_UNIT 0x1p-24
#define PTO_ROUNDING_LEAST 0x1p-149 /* below it numbers have no bits: each term loses up to that much */

/* n ≥ 1. */
static inline double pto_rounding_bound_worst(uint64_t n, double magnitude) {
  const double gamma = (double)n * PTO_ROUNDING_UNIT / (1 - (double)n * PTO_ROUNDING_UNIT),
               likely = 2 * sqrt((double)n) * PTO_ROUNDING_UNIT;
  return (gamma > 0 && gamma < likely ? gamma : likely) * magnitude + (double)n * PTO_ROUNDING_LEAST;
}

static inline double pto_rounding_bound_expected(uint64_t n, double sum, double squares, double worst) {
  const double expected = 2 * sqrt((double)n * (sum * sum + squares)) * PTO_ROUNDING_UNIT;
  return expected < worst ? expected : worst;
}

#endif
