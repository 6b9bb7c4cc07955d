/* SPDX-License-Identifier: MIT */
/*
 * One question of number theory, to which every question about strided byte sets comes down: does
 *     Σ coef[k] · x[k],  0 ≤ x[k] ≤ last[k],
 * take a value in lo … hi?
 *
 * Two byte sets A and B meet where  Σ S[i]·x[i] + u = D + Σ T[j]·y[j] + v  has a solution; with y turned round (y →
 * last − y) all coefficients are positive and the run bytes u, v are the width of lo … hi.
 *
 * The answer is exact unless the budget of steps runs out.  One or two distinct strides are settled by Euclid's
 * algorithm in O(log) steps; more by splitting: over one index where it has few values left, else over the lattice
 * lines of the two strides that the fewest of them cover (about the square root of the number of index pairs).  Nested
 * strides, as views of dense tensors have, leave two or three values a dimension.  What takes too many parts goes to
 * lattice_search.h.
 *
 * Values only, no allocation, any thread.
 */
#ifndef PTO_LINEAR_FORM_H
#define PTO_LINEAR_FORM_H

#include <runtime/base/base.h>

#define PTO_FORM_TERMS 16

/* Always true: coef[k] ≥ 1, and Σ coef[k] · last[k], |lo| and |hi| are below 2^63. */
struct pto_linear_form {
  uint32_t count;
  int64_t lo, hi; /* lo ≤ hi */
  uint64_t coef[PTO_FORM_TERMS];
  uint64_t last[PTO_FORM_TERMS];
};

enum pto_answer { PTO_ANSWER_NO, PTO_ANSWER_YES, PTO_ANSWER_UNKNOWN };

/* Steps: parts of a split looked at, rounds of Euclid's algorithm, and those of lattice_search.h. */
struct pto_step_budget {
  uint64_t used, limit;
};

/* Whether the form takes a value in lo … hi.  Unknown only where budget->used reached budget->limit. */
enum pto_answer pto_linear_form_reaches(const struct pto_linear_form *form, struct pto_step_budget *budget);

/* The least x ≥ 0 with l ≤ (a · x) mod m ≤ r, or UINT64_MAX where there is none; a < m, l ≤ r < m < 2^63. */
uint64_t pto_first_in_residues(uint64_t a, uint64_t m, uint64_t l, uint64_t r, struct pto_step_budget *budget);

static inline void pto_linear_form_add(struct pto_linear_form *form, uint64_t coef, uint64_t last) {
  form->coef[form->count] = coef;
  form->last[form->count++] = last;
}

#endif
