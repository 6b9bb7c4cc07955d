/* SPDX-License-Identifier: MIT */
/*
 * By how much B takes longer than A, where times vary: an interval of the shift between two samples.
 *
 * Its ends are two of all differences between a time of B and one of A, in order, the kth and the kth from behind.  k
 * is the largest at which such an interval misses the shift with the given probability at most, by the exact
 * distribution of Mann and Whitney's U (Hodges and Lehmann 1963).  Nothing is taken for granted of how times vary but
 * that it is the same on both sides.  With more runs the interval becomes narrower.
 *
 * Pure functions; any thread.
 */
#ifndef PTO_CHECK_COMPARE_SHIFT_H
#define PTO_CHECK_COMPARE_SHIFT_H

#include <stdint.h>

#define PTO_SHIFT_MOST 64u /* times of a side */

struct pto_shift {
  int64_t low, high;
};

/* k; 0: with so few times no interval is as sure as that. */
uint32_t pto_shift_rank(uint32_t a_count, uint32_t b_count, double probability);
/* The least number of times a side for which there is an interval; more than PTO_SHIFT_MOST: there is none. */
uint32_t pto_shift_least_count(double probability);
/* rank: of these counts, at least 1. */
struct pto_shift pto_shift_between(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count,
                                   uint32_t rank);

#endif
