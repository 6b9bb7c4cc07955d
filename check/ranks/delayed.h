/* SPDX-License-Identifier: MIT */
/*
 * Whether the outputs of several ranks depend on how fast each is: `ptosim explore` with ranks.
 *
 * One run without delays is what others are compared with, by the digest of all outputs, and by whether they come to an
 * end.  Then each rank alone goes on late from each communicator that it makes, which brings all together, by the time
 * of that run; then on each rank alone each put is late that a core but the first of its task makes, then that the
 * first one makes, and then what follows a wait; and then each rank by a time of its own up to that, from the seed.  Of
 * a run that differs, delays that it differs without are taken away, rank by rank.
 *
 *   begin (the run without delays) → run
 *
 * The others have numbers, and each is a run of its own, so they may be shared (report/file/shard.h): a shard puts how
 * each of its own ended, and who merges these counts and shrinks as if it had made them all.
 *
 * Owns nothing after the calls but what they put into the findings.  Control thread.
 */
#ifndef PTO_CHECK_RANKS_DELAYED_H
#define PTO_CHECK_RANKS_DELAYED_H

#include <check/ranks/ranks.h>
#include <report/file/shard.h>

/* How a run ended. */
struct pto_delay_outcome {
  bool has_begun; /* or the ranks could not be opened */
  int exit_code;
  uint64_t output_digest, tasks, virtual_ps;
  char chip[64];  /* "": it did not begin */
  uint32_t rules; /* the same: as config.deps */
  struct pto_error error;
};

struct pto_delays {
  /* the question */
  const struct pto_session_options *options;
  uint32_t rank_count;
  uint64_t run_count, seed;
  struct pto_share *share;                        /* NULL: all are run here */
  void (*tell)(uint64_t done, uint64_t count);    /* may be NULL */
  void (*running)(const struct pto_ranks *ranks); /* these run; NULL: none does; may be NULL itself */
  /* what came out */
  struct pto_delay_outcome reference; /* of the run without */
  uint64_t runs, differing;           /* those with delays, without what was run to shrink them */
  struct pto_error error;
};

/* Each returns an enum pto_exit.  Begin: that of the run without delays; `run` is due where it is PTO_EXIT_OK.  Run:
 * PTO_EXIT_FINDINGS where one differs; PTO_EXIT_INTERRUPTED, and PTO_EXIT_FAILED for want of memory or of what else the
 * machine has, with what is known so far. */
int pto_delays_begin(struct pto_delays *delays);
int pto_delays_run(struct pto_delays *delays, struct pto_findings *findings);
/* Of what the runs are: that of the first run. */
uint64_t pto_delays_digest(const struct pto_delays *delays);

#endif
