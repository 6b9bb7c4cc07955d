/* SPDX-License-Identifier: MIT */
/*
 * What a verdict proposes, run: the gains of a critical path (report/run/run_path.h) hold the order of events, and
 * another order is another schedule.  Here each is a run of its own in virtual time, with kernels priced and not run.
 *
 * A gain stays as it was told where its run is refused, or where the program cannot do without its kernels: then a
 * run would cost what the first one did.  path.untried says how many did so and why, since the others are measured by
 * another rule than they: one may fall behind what it would have come before.
 *
 * Threads: as of a forecast (forecast.h).
 */
#ifndef PTO_CHECK_PREDICT_GAINS_H
#define PTO_CHECK_PREDICT_GAINS_H

#include <check/ranks/ranks.h>
#include <check/session/session.h>

/* Of a session whose account was taken, with the options that it was made with.  Gains that are none go, the largest
 * comes first.  Nothing on threads.  PTO_OK, or as pto_forecast_all. */
PTO_MUST_CHECK int pto_gains_run(struct pto_session *session, uint32_t at_once, struct pto_error *error);
/* The same of ranks that have run, whose path was wanted: chip files' numbers alone, of links too, and those that take
 * most of the path.  What they give is against a run without computing, too.  Into the path, with why there are none.
 */
void pto_gains_run_ranks(struct pto_ranks *ranks, const struct pto_session_options *options, uint32_t at_once);

#endif
