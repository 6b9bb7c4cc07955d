/* SPDX-License-Identifier: MIT */
/*
 * The clocks of all benches, in nanoseconds since some moment in the past.
 *
 * Owns nothing.  Any thread may call.  C++ may include this.
 */
#ifndef PTO_BENCH_CLOCK_H
#define PTO_BENCH_CLOCK_H

#include <time.h>

#include <runtime/base/clock.h>

static inline double pto_bench_clock_ns(clockid_t clock) { return (double)pto_clock_of_ns(clock); }
static inline double pto_bench_now_ns(void) { return pto_bench_clock_ns(CLOCK_MONOTONIC); }
/* CPU time of all threads of the process. */
static inline double pto_bench_cpu_ns(void) { return pto_bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

#endif
