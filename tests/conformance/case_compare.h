/* SPDX-License-Identifier: MIT */
/*
 * Whether a result is the expected one, by the rule of the web-platform-tests.
 *
 * Equal values pass, and so do two NaN; +0 and −0 are equal.  ULP: the distance of the two in the order of the dtype's
 * values (of floats by sign and magnitude of the bits; of integers the plain difference) is at most the tolerance.
 * ATOL: the absolute difference is.  Owns nothing.
 */
#ifndef PTO_CASE_COMPARE_H
#define PTO_CASE_COMPARE_H

#include <pto/graph.h>
#include <runtime/base/error.h>

struct pto_case_tolerance {
  bool is_atol;
  double value;
};

/* The worst element of a comparison. */
struct pto_case_difference {
  double worst; /* ULPs, or the absolute difference; ∞ where one side alone is NaN */
  uint64_t index;
};

/* Compares dense data.  True where all is within the tolerance. */
bool pto_case_compare(const struct pto_graph_desc *desc, const void *actual, const void *expected,
                      struct pto_case_tolerance tolerance, struct pto_case_difference *difference);
/* An element as a number, for sentences. */
double pto_case_element(const struct pto_graph_desc *desc, const void *data, uint64_t index);

#endif
