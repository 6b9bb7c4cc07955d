/* SPDX-License-Identifier: MIT */
/*
 * What the contexts of a program have remarked on it (device/context_remarks.h), as findings of its session.
 *
 * Owns nothing; the first remark of each kind is in the session.  The session's thread.
 */
#ifndef PTO_CHECK_SESSION_REMARKS_H
#define PTO_CHECK_SESSION_REMARKS_H

#include <check/session/session.h>

/* Those of a context, of kinds that no other has made one of. */
void pto_session_take_remarks(struct pto_session *session, const struct pto_context_remark *remarks);
void pto_session_add_remarks(const struct pto_session *session, struct pto_findings *findings);

#endif
