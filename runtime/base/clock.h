/* SPDX-License-Identifier: MIT */
/*
 * The clock of the system, in nanoseconds: the one place that reads it.
 *
 * Owns nothing; any thread.
 */
#ifndef PTO_RUNTIME_BASE_CLOCK_H
#define PTO_RUNTIME_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Of any clock: CLOCK_THREAD_CPUTIME_ID, or that of pthread_getcpuclockid. */
static inline uint64_t pto_clock_of_ns(clockid_t clock) {
  struct timespec now = {0, 0};
  (void)clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Time that only goes forward. */
static inline uint64_t pto_clock_ns(void) { return pto_clock_of_ns(CLOCK_MONOTONIC); }
static inline double pto_clock_seconds(void) { return (double)pto_clock_ns() * 1e-9; }

#endif
