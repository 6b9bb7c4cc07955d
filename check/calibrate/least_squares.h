/* SPDX-License-Identifier: MIT */
/*
 * The prices ≥ 0 by which counts come to what was measured: least squares over a few unknowns.
 *
 * Where several prices do that equally well, those are taken whose sum of squares is the least, each price being
 * counted in units of what it usually is.  Each set of prices that are not 0 is tried, so the answer is exact and the
 * same on every machine.
 *
 * Values; any thread.
 */
#ifndef PTO_CHECK_CALIBRATE_LEAST_SQUARES_H
#define PTO_CHECK_CALIBRATE_LEAST_SQUARES_H

#include <stdbool.h>
#include <stdint.h>

#define PTO_MAX_UNKNOWNS 8u
#define PTO_MAX_EQUATIONS 16u

struct pto_equations {
  uint32_t unknown_count, count;
  double usual[PTO_MAX_UNKNOWNS]; /* > 0 */
  struct {
    double counts[PTO_MAX_UNKNOWNS];
    double value, tolerance; /* what they come to, and how far off is as bad as in the others */
  } rows[PTO_MAX_EQUATIONS];
};

/* False where nothing is known of any. */
bool pto_equations_solve(const struct pto_equations *equations, double *prices);
/* Whether another set of prices would do as well but for its size: the counts of the unknown are a sum of those of
 * others.  Of such an unknown the equations say nothing alone. */
bool pto_equations_identify(const struct pto_equations *equations, uint32_t unknown);

#endif
