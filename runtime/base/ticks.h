/* SPDX-License-Identifier: MIT */
/*
 * Ticks: a reading of time that costs less than half of a call of the clock, for deciding whether something took very
 * long.
 *
 * A difference of two readings of one thread counts steps of the processor's time-stamp counter where there is one, and
 * nanoseconds elsewhere; one tick is between 0.1 and 10 ns.  A reading may be taken up to some hundred instructions
 * before or after those around it, and counters of two processors may differ: so nothing but speed may depend on it,
 * unless pto_ticks_are_steady, and then no more than the times of a timeline.
 * Owns nothing; any thread.
 */
#ifndef PTO_TICKS_H
#define PTO_TICKS_H

#include <stdint.h>

#include <runtime/base/base.h>
#include <runtime/base/clock.h>

static inline uint64_t pto_ticks_now(void) {
#if defined __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return pto_clock_ns();
#endif
}

/* Whether ticks are the same on all processors and come at one rate, whatever the processors' clocks do and however
 * long they sleep: what the processor says of itself (leaf 0x80000007 of cpuid, bit 8 of EDX: "invariant TSC", Intel's
 * manual volume 3, chapter 18.17.1).  Takes up to some microseconds; nanoseconds of the clock are always steady. */
bool pto_ticks_are_steady(void);

/* How many ticks a microsecond has: measured between two moments, the further apart the better. */
struct pto_ticks {
  uint64_t begin_ns, begin;
  uint64_t per_us;
};

static inline void pto_ticks_begin(struct pto_ticks *ticks) {
  *ticks = (struct pto_ticks){.begin_ns = pto_clock_ns(), .begin = pto_ticks_now(), .per_us = 1000};
}
/* The time from the begin until now sets the rate, where it was long enough to say something. */
static inline void pto_ticks_measure(struct pto_ticks *ticks) {
  const uint64_t took_ns = pto_clock_ns() - ticks->begin_ns, took = pto_ticks_now() - ticks->begin;
  if (took_ns < 10000 || took > UINT64_MAX / 1000) return;
  ticks->per_us = pto_max_u64(100, pto_min_u64(10000, took * 1000 / took_ns));
}
static inline uint64_t pto_ticks_of_ns(const struct pto_ticks *ticks, uint64_t ns) { return ns * ticks->per_us / 1000; }

#endif
