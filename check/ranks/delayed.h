/* SPDX-License-Identifier: MIT */
/*
 * Whether the outputs of several ranks depend on how fast each is: `ptosim explore` with ranks.
 *
 * One run without delays is what others are compared with, by the digest of all outputs, and by whether they come to an
 * end.  Then each rank alone goes on late from each communicator that it makes, which brings all together, by the time
 * of that run; and then each by a time of its own up to that, from the seed.  Of a run that differs, delays that it
 * differs without are taken away, rank by rank.
 *
 * Owns nothing after the call but what it puts into the findings.  Control thread.
 */
#ifndef PTO_CHECK_RANKS_DELAYED_H
#define PTO_CHECK_RANKS_DELAYED_H

#include <check/ranks/ranks.h>

struct pto_delay_counts {
  uint64_t tasks, runs, differing; /* runs: those with delays, without what was run to shrink them */
  char chip[64];                   /* of the first run; "": there was none */
  uint32_t rules;                  /* the same: as config.deps */
};

struct pto_delay_question {
  const struct pto_session_options *options;
  uint32_t rank_count;
  uint64_t runs, seed;
  void (*tell)(uint64_t done, uint64_t count);    /* may be NULL */
  void (*running)(const struct pto_ranks *ranks); /* these run; NULL: none does; may be NULL itself */
};

/* An enum pto_exit: PTO_EXIT_FINDINGS where a run differs; PTO_EXIT_INTERRUPTED, and PTO_EXIT_FAILED for want of memory
 * or of what else the machine has, with what is known so far; else as that of the first run, with its error. */
int pto_delay_ranks(const struct pto_delay_question *question, struct pto_findings *findings,
                    struct pto_delay_counts *counts, struct pto_error *error);

#endif
