/* SPDX-License-Identifier: MIT */
/*
 * What is observed of one session, alone or a rank's: the runs of its runtime, or of the contexts that its program
 * drives, one after another.  A context that is made while another one lives is not observed, and counted.
 *
 *   open (after the session's init) → the session runs → judge → close (before the session's fini)
 *
 * Owns the observation; session and findings are borrowed until close.  The session's thread.
 */
#ifndef PTO_CHECK_SESSION_OBSERVED_SESSION_H
#define PTO_CHECK_SESSION_OBSERVED_SESSION_H

#include <check/observe/observe.h>
#include <check/session/session.h>

struct pto_observed_session {
  struct pto_session *session; /* NULL: not open */
  struct pto_observe_options options;
  struct pto_findings *findings;
  struct pto_observation *observation; /* of contexts: of the one that lives */
  struct pto_runtime *rt;              /* of a context that the observation is of */
  struct pto_observe_summary so_far;   /* of contexts that are gone */
  uint64_t task_count, most_tasks;     /* of all contexts that are gone, and of one: numbers begin anew with each */
  uint32_t context_count, contexts_left_out;
};

/* The struct must not move until close.  PTO_OK, or the status of pto_observation_create with the sentence; close is
 * due in any case. */
PTO_MUST_CHECK int pto_observed_session_open(struct pto_observed_session *its, struct pto_session *session,
                                             const struct pto_observe_options *options, struct pto_findings *findings,
                                             struct pto_error *error);
/* Once it has run, well or not: what is told of the run beside what its kernels touch, added to `findings`. */
void pto_observed_session_judge(const struct pto_observed_session *its, struct pto_findings *findings);
/* Takes a zeroed one. */
void pto_observed_session_close(struct pto_observed_session *its);

struct pto_observe_summary pto_observed_session_summary(const struct pto_observed_session *its);
/* Those of contexts are counted as they are observed: the program need not report all. */
uint64_t pto_observed_session_tasks(const struct pto_observed_session *its);
/* Of the context that has most; 0: no task has a number. */
uint64_t pto_observed_session_most_tasks(const struct pto_observed_session *its);

#endif
