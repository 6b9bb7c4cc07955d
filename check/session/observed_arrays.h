/* SPDX-License-Identifier: MIT */
/*
 * The memory of a session's program that an observation closes: its arrays, and its blocks of pto_program_alloc, each
 * between margins of its own (session->options.array_margin_bytes).
 *
 * Owns nothing.  Control thread.
 */
#ifndef PTO_CHECK_SESSION_OBSERVED_ARRAYS_H
#define PTO_CHECK_SESSION_OBSERVED_ARRAYS_H

#include <check/observe/observe.h>
#include <check/session/session.h>

/* What session->options.array_margin_bytes is to be: 0 where a checker watches. */
uint64_t pto_observed_margin_bytes(void);
/* Before a run of the session's runtime; nothing without margins. */
void pto_observed_add_arrays(const struct pto_session *session, struct pto_observation *observation);
/* For struct pto_observe_options, whose context is the session: blocks that the orchestration has made. */
void pto_observed_add_block(void *session, struct pto_observation *observation, uint64_t addr);

#endif
