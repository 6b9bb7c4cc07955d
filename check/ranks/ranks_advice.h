/* SPDX-License-Identifier: MIT */
/*
 * Why nothing orders two accesses of a window, where what ranks told each other shows it, and what would.
 *
 * Asked in this order, first for the later of the two, then for the earlier one: another task of the rank waits for
 * what the other rank's task notifies; the other task notifies before it puts, or another task of its rank does that is
 * not behind it; the task's own wait needs no notify; the other task sets a signal that is
 * counted, or notifies another rank or another signal.  What is found explains the pair; it is no finding of its own.
 *
 * Where one of the two is about what an older write has put there, and the bytes of the other one are read later, the
 * window is reused too early.  It is then known which ought to come first, and only that way is asked.
 *
 * Borrows the order.  One thread.
 */
#ifndef PTO_CHECK_RANKS_RANKS_ADVICE_H
#define PTO_CHECK_RANKS_RANKS_ADVICE_H

#include <check/ranks/world_order.h>

struct pto_ranks_advice {
  bool is_turned;  /* the one told as the later one ought to come first */
  char cause[320]; /* "no notify and wait orders the two", or what was found */
  char remedy[512];
};

/* Of two accesses of two ranks.  `searches` false: only what is always right. */
void pto_ranks_advise(struct pto_world_order *order, const struct pto_window_access *earlier,
                      const struct pto_window_access *later, bool searches, struct pto_ranks_advice *advice);
/* "is over at once: an earlier wait has seen that value already" */
const char *pto_idle_wait_words(const struct pto_idle_wait *idle);

#endif
