/* SPDX-License-Identifier: MIT */
/*
 * Submits that a run refused, and calls on contexts, as its session tells them: how many, and the first with task,
 * place and arrays.
 *
 * An orchestration, or a program that drives contexts, that goes on after a refusal and returns 0 has perhaps not
 * noticed; unless its program expects refusals, the run is not right.  Whether it was is pto_session_has_bad_refusals
 * of session.h.
 *
 * Owns nothing; what it finds is in the session's result.  The session's thread.
 */
#ifndef PTO_CHECK_SESSION_REFUSALS_H
#define PTO_CHECK_SESSION_REFUSALS_H

#include <check/session/session.h>

/* What a run has refused, or a context, added to that of others. */
struct pto_refusals;
void pto_session_take_refusals(struct pto_session *session, const struct pto_refusals *refusals);
/* The first, where the program does not expect any. */
void pto_session_add_refusals(const struct pto_session *session, struct pto_findings *findings);
/* Appends to the sentence with which a run of the session has failed the place that it is about. */
void pto_session_add_place(const struct pto_session *session, struct pto_error *error);
/* PTO_EXIT_OK, or PTO_EXIT_FINDINGS with the sentence. */
int pto_session_check_refusals(struct pto_session *session);

#endif
