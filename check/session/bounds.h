/* SPDX-License-Identifier: MIT */
/*
 * Tensors that an orchestration has registered over an array of the program, or a block of it, and that have bytes
 * behind its end.
 *
 * By what tasks declare alone: whether a kernel touches these bytes is another question, and in a run it may be where
 * the run ends.  Memory of no array has no known end.
 *
 * Owns nothing.  The session's thread, after its run.
 */
#ifndef PTO_CHECK_SESSION_BOUNDS_H
#define PTO_CHECK_SESSION_BOUNDS_H

#include <check/session/session.h>

/* Of each task of the record that has one: PTO_FINDING_BEYOND. */
void pto_session_add_beyond(const struct pto_session *session, const struct pto_trace *trace,
                            struct pto_findings *findings);

#endif
