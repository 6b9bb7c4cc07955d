/* SPDX-License-Identifier: MIT */
/*
 * The rings that the whole of a program completes with, after a run of it found them too small: the sentence of the
 * runtime knows what the task that found no room needs, and not what comes after it.
 *
 * Each run is a forecast (forecast.h): a process of its own, in virtual time, whose kernels are priced and not run. The
 * first has rings that nothing fills, the others are as pto_ring_enough asks.  Where the program needs its kernels,
 * whose effects would be had again and again, the first ends where it needs one, and is the only one.
 *
 * Threads: as of a forecast.
 */
#ifndef PTO_CHECK_PREDICT_ENOUGH_RINGS_H
#define PTO_CHECK_PREDICT_ENOUGH_RINGS_H

#include <check/session/session.h>

/* Adds to `error`, with which a run of the session has failed, the rings that were enough for the whole run, as options
 * of ptosim.  Of a program that needs its kernels, who tells them.  Nothing where it is not for rings, where the
 * program is there to fail so, or drives contexts, where it fails with any rings, or under ThreadSanitizer. */
void pto_enough_rings_say(const struct pto_session *session, struct pto_error *error);

#endif
