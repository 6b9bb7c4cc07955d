/* SPDX-License-Identifier: MIT */
/* Whether the kernels that a chip names (half_kernel) are kernels of the run: a name that nothing has is a mistake.
 * Owns nothing; the session's thread. */
#ifndef PTO_CHECK_SESSION_NAMED_KERNELS_H
#define PTO_CHECK_SESSION_NAMED_KERNELS_H

#include <check/session/session.h>

/* Whether each has run in one of the sessions, which are of one chip and recorded their graphs, or has its bit in
 * *found (bit i: the name i ran elsewhere), which gets the bits of those that ran here.  PTO_OK, also where no task was
 * recorded, or PTO_EINVAL with the sentence. */
PTO_MUST_CHECK int pto_session_check_kernels(const struct pto_session *sessions, uint32_t count, uint64_t *found,
                                             struct pto_error *error);

#endif
