/* SPDX-License-Identifier: MIT */
/*
 * What is to be added or moved, so that what was found between cores of one unit is mended: which calls, where, and how
 * often where the same code runs again.
 *
 * Owns nothing.  After the unit's order is solved.  One thread.
 */
#ifndef PTO_CHECK_OBSERVE_CORE_REMEDIES_H
#define PTO_CHECK_OBSERVE_CORE_REMEDIES_H

#include <check/observe/core_stretches.h>
#include <runtime/port/core_waits.h>

/* Which of the two stretches of a finding is to come first. */
struct pto_cores_wanted pto_cores_wanted_order(const struct pto_observe_cores *cores,
                                               const struct pto_cores_finding *finding);
void pto_cores_say_remedy(struct pto_observe_text *remedy, const struct pto_observe_cores *cores,
                          const struct pto_cores_finding *finding, const struct pto_cores_wanted *wanted);
/* What a core must do that polls. */
void pto_cores_say_yield(struct pto_observe_text *remedy, uint32_t role);
/* What would let the core that waits go on. */
void pto_cores_say_missing(struct pto_observe_text *remedy, const struct pto_core_wait *wait);

#endif
