/* SPDX-License-Identifier: MIT */
/*
 * Events of a thread that every Linux counts: clocks, page faults, switches.  They are what `--counters` has on a
 * machine without counters of the hardware, and in a build without PAPI.
 *
 * Owns nothing; each function looks at the calling thread.  A further event is a line of the list.
 */
#ifndef PTO_THREAD_EVENTS_H
#define PTO_THREAD_EVENTS_H

#include <stdint.h>

/* X(name behind "thread::", value, what it counts); `usage` is the thread's struct rusage, getrusage(2). */
#define PTO_THREAD_EVENT_LIST(X)                                                                                       \
  X(cpu_ns, clock_of(CLOCK_THREAD_CPUTIME_ID), "time on a CPU")                                                        \
  X(wall_ns, clock_of(CLOCK_MONOTONIC), "time that passes")                                                            \
  X(page_faults, usage->ru_minflt, "pages mapped at the first touch")                                                  \
  X(major_page_faults, usage->ru_majflt, "pages read from a disk")                                                     \
  X(voluntary_switches, usage->ru_nvcsw, "times that it gave its CPU away, to wait")                                   \
  X(involuntary_switches, usage->ru_nivcsw, "times that its CPU was given to another")

#define PTO_THREAD_EVENT_PREFIX "thread::"

enum pto_thread_event {
#define X(name, value, text) PTO_THREAD_EVENT_##name,
  PTO_THREAD_EVENT_LIST(X)
#undef X
      PTO_THREAD_EVENT_COUNT
};

/* By its whole name, "thread::cpu_ns"; PTO_THREAD_EVENT_COUNT where there is none. */
enum pto_thread_event pto_thread_event_find(const char *name);
/* "thread::cpu_ns". */
const char *pto_thread_event_name(enum pto_thread_event event);
/* values[i]: of events[i], since the thread began, or the machine. */
void pto_thread_events_read(const enum pto_thread_event *events, uint32_t count, int64_t *values);

#endif
