/* SPDX-License-Identifier: MIT */
/*
 * Steps: which instructions change some bytes, by looking at them behind every one of this thread's.
 *
 * For memory that cores change by atomic operations, in an order that is not to matter.  On x86-64 alone, where a
 * program can ask for a trap behind each instruction; elsewhere nothing is known.  A step costs some microseconds, so
 * there is a limit.
 *
 *   begin → (go → … → pause)* → end
 *
 * One thread of the process at a time: the signal SIGTRAP is this module's between begin and end.
 */
#ifndef PTO_CHECK_OBSERVE_STEPS_H
#define PTO_CHECK_OBSERVE_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#define PTO_STEPS_BYTES 8u     /* looked at, at most */
#define PTO_STEPS_MOST 100000u /* instructions */

/* False where nothing can be known; then no end is due. */
bool pto_steps_begin(void);
/* From now on these bytes are looked at. */
void pto_steps_go(const void *bytes, uint32_t size_bytes);
void pto_steps_pause(void);
/* Whether they were changed, every time by an atomic read-modify-write, and within the limit. */
bool pto_steps_end(void);

#endif
