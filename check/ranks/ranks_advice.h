/* SPDX-License-Identifier: MIT */
/*
 * Why nothing orders two accesses of a window, where what ranks told each other shows it, and what would.
 *
 * Asked in this order, first for the later of the two, then for the earlier one: another task of the rank waits for
 * what the other rank's task notifies; the task's own wait needs no notify; the other task sets a signal that is
 * counted, or notifies another rank or another signal.  What is found explains the pair; it is no finding of its own.
 *
 * Borrows the order.  One thread.
 */
#ifndef PTO_CHECK_RANKS_RANKS_ADVICE_H
#define PTO_CHECK_RANKS_RANKS_ADVICE_H

#include <check/ranks/world_order.h>

struct pto_ranks_advice {
  char cause[320]; /* "no notify and wait orders the two", or what was found */
  char remedy[160];
};

/* Of two accesses of two ranks.  `searches` false: only what is always right. */
void pto_ranks_advise(struct pto_world_order *order, const struct pto_window_access *earlier,
                      const struct pto_window_access *later, bool searches, struct pto_ranks_advice *advice);

#endif
