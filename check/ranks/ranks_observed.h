/* SPDX-License-Identifier: MIT */
/*
 * Observed accesses of several ranks: `ptosim check --observe` with ranks.
 *
 *   open (as pto_ranks_init_judged, on engine "observed virtual") → run → close
 *
 * An observation a rank (check/observe/observe.h); a rank's windows, which its observation asks for, are memory of its
 * own.
 *
 * One process and one thread: the memory of all ranks is closed while a kernel of one is observed.  Owns ranks,
 * observations and findings until close.  Control thread.
 */
#ifndef PTO_CHECK_RANKS_RANKS_OBSERVED_H
#define PTO_CHECK_RANKS_RANKS_OBSERVED_H

#include <check/ranks/ranks.h>
#include <check/session/observed_session.h>

struct pto_rank_observed {
  struct pto_observe_rank place;
  struct pto_ranks_observed *all;
  struct pto_observed_session its;
};

struct pto_ranks_observed {
  struct pto_ranks ranks;
  struct pto_findings findings;
  struct pto_observe_group *group;
  struct pto_rank_observed members[PTO_MAX_RANKS];
  struct pto_window_name *names;
  bool is_open; /* all ranks are watched */
};

/* Both return an enum pto_exit, with the sentence in ranks.error; close is due in any case. */
int pto_ranks_observed_open(struct pto_ranks_observed *observed, const struct pto_session_options *options,
                            uint32_t rank_count, const struct pto_observe_options *observe);
/* Runs and verifies. */
int pto_ranks_observed_run(struct pto_ranks_observed *observed);
void pto_ranks_observed_close(struct pto_ranks_observed *observed);

/* A run that failed or is wrong counts more than a finding. */
int pto_ranks_observed_exit(const struct pto_ranks_observed *observed);
/* Of all ranks. */
struct pto_observe_summary pto_ranks_observed_summary(const struct pto_ranks_observed *observed);
uint64_t pto_ranks_observed_tasks(const struct pto_ranks_observed *observed);
/* Contexts that were observed, and that were not. */
void pto_ranks_observed_contexts(const struct pto_ranks_observed *observed, uint64_t *count, uint64_t *left_out);

#endif
