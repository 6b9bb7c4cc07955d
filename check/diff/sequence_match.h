/* SPDX-License-Identifier: MIT */
/*
 * The longest common subsequence of two sequences of numbers: which item of the one is which of the other.
 *
 * Owns nothing after the call.  Always true: matches are strictly increasing in both, and matched items are equal.
 * Method: the greedy search of E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), with all its
 * rows kept: time (a + b) · edits, memory edits².
 *
 * Any thread.
 */
#ifndef PTO_CHECK_DIFF_SEQUENCE_MATCH_H
#define PTO_CHECK_DIFF_SEQUENCE_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <pto/status.h>

/* Insertions and removals that are searched for: beyond, the two have too little in common (17 MB of rows). */
#define PTO_SEQUENCE_MOST_EDITS 2048u
#define PTO_SEQUENCE_UNMATCHED UINT64_MAX

/* match[i], i < a_count, becomes the index of a[i] in `b`, or PTO_SEQUENCE_UNMATCHED.  PTO_OK; PTO_EFIT where there are
 * more edits than are searched for, or more than 2^30 items: then nothing is matched; PTO_ENOMEM. */
PTO_MUST_CHECK int pto_sequence_match(const uint64_t *a, uint64_t a_count, const uint64_t *b, uint64_t b_count,
                                      uint64_t *match);

#endif
