/* SPDX-License-Identifier: MIT */
/*
 * A session on the engine "observe": what the kernels of a program touch, against what its tasks declare.
 *
 *   open → run → close, with findings, counts and the session's result to be read before close
 *
 * Owns the session and the findings until close.  One at a time in a process; the control thread.
 */
#ifndef PTO_CHECK_SESSION_OBSERVED_H
#define PTO_CHECK_SESSION_OBSERVED_H

#include <check/session/observed_session.h>

struct pto_observed {
  struct pto_session session;
  struct pto_findings findings;
  struct pto_observed_session its;
};

/* Both return an enum pto_exit, with the sentence in session.result; close is due in any case. */
int pto_observed_open(struct pto_observed *observed, const struct pto_session_options *options,
                      const struct pto_observe_options *observe);
/* Runs and verifies.  The exit status is pto_observed_exit. */
int pto_observed_run(struct pto_observed *observed);
void pto_observed_close(struct pto_observed *observed);

/* A run that failed or is wrong counts more than a finding. */
int pto_observed_exit(const struct pto_observed *observed);
struct pto_observe_summary pto_observed_summary(const struct pto_observed *observed);
uint64_t pto_observed_tasks(const struct pto_observed *observed);

#endif
