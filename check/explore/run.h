/* SPDX-License-Identifier: MIT */
/*
 * One run of an exploration (check/explore/run.c), and what is to be said where it differs
 * (check/explore/difference.c).
 *
 * Owns nothing beyond what check/explore/explore.h says.  One thread.
 */
#ifndef PTO_CHECK_EXPLORE_RUN_H
#define PTO_CHECK_EXPLORE_RUN_H

#include <check/explore/explore.h>

/* How a run ended, held against the reference. */
struct pto_explore_outcome {
  bool is_different;
  bool was_forced; /* under holds: one of them could not be honoured (pto_explore_replay) */
  int status;
  uint64_t digest;              /* of outputs that differ, to tell them apart; else 0 */
  char text[PTO_SENTENCE_SIZE]; /* what differs; "" where nothing does */
};

/* Copies the outputs of the run made last: those of the reference, to which later ones are held.  False without memory.
 */
PTO_MUST_CHECK bool pto_explore_store_outputs(struct pto_explore *explore);

/* Runs the program on `rt`, or on contexts of its own; `chooser` is NULL where they are on threads with delays. PTO_OK;
 * PTO_ENOMEM where the reference could not be kept; or, with explore->shortage, PTO_ENOMEM or PTO_ESYSTEM, where a run
 * after it lacked what the machine has, which says nothing of its order. */
PTO_MUST_CHECK int pto_explore_run_once(struct pto_explore *explore, struct pto_runtime *rt,
                                        const struct pto_explore_chooser *chooser, struct pto_explore_outcome *outcome);

/* The same on the explore engine by a name (not of --all) or under holds. */
PTO_MUST_CHECK int pto_explore_run_named(struct pto_explore *explore, struct pto_schedule_name name,
                                         struct pto_explore_outcome *outcome);
PTO_MUST_CHECK int pto_explore_run_holds(struct pto_explore *explore, const struct pto_explore_holds *holds,
                                         struct pto_explore_outcome *outcome);

/* check/explore/difference.c: the schedule made last differs.  Makes it again, shrinks it where that may tell something
 * new, and adds the finding.  `holds` is its order where it has no name of its own, else NULL. */
PTO_MUST_CHECK int pto_explore_report(struct pto_explore *explore, struct pto_schedule_name name,
                                      const struct pto_explore_holds *holds, const struct pto_explore_outcome *outcome);

#endif
