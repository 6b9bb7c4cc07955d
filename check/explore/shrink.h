/* SPDX-License-Identifier: MIT */
/*
 * The smallest list of holds that still fails.
 *
 * First fewest holds: delta debugging after Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input"
 * (IEEE TSE 2002), algorithm ddmin.  Then each hold's span is narrowed: the nearest step that it has to wait for, and
 * the latest step that has to be held, by bisection; so what is left names steps that matter, not ones that stood in
 * between.
 *
 * `fails` runs the program under a list and says whether the result differs; it is called at most `budget` times.  Owns
 * nothing.  One thread.
 */
#ifndef PTO_CHECK_EXPLORE_SHRINK_H
#define PTO_CHECK_EXPLORE_SHRINK_H

#include <check/explore/order.h>

struct pto_explore_trial {
  /* 1: it fails, 0: it does not, negative: a status that ends the search. */
  int (*fails)(void *context, const struct pto_explore_holds *holds);
  void *context;
  uint32_t budget, run_count; /* run_count ≤ budget */
};

/* `holds` fails; afterwards it is a smaller list that does.  PTO_OK, also where the budget ran out before the end, or
 * the negative status of `fails`, or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_explore_shrink(struct pto_explore_trial *trial, const struct pto_explore_step *reference,
                                      uint64_t reference_count, struct pto_explore_holds *holds);

#endif
