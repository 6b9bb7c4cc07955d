/* SPDX-License-Identifier: MIT */
/*
 * How a thread computes with floats: which way it rounds, whether it takes numbers that are very small for zero, which
 * exceptions trap.  Code that is called may change it, and it outlives the call.
 *
 * Owns nothing.  A mode is the control bits of the machine's registers, and not the flags of what has happened; where
 * the machine is not known, the way to round alone.  Each thread has its own.
 */
#ifndef PTO_FLOAT_MODE_H
#define PTO_FLOAT_MODE_H

#include <stdint.h>

/* Of the calling thread. */
uint64_t pto_float_mode(void);
void pto_float_mode_set(uint64_t mode);
/* What is other in `mode` than in `usual`, as in "it rounds upward"; "" where nothing is. */
const char *pto_float_mode_words(uint64_t usual, uint64_t mode);

#endif
