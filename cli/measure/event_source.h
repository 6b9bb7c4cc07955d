/* SPDX-License-Identifier: MIT */
/*
 * What counts events for a thread, by their names: PAPI, the machine (PAPI and the system together), or a test.
 *
 * A set counts for the thread that opened it, from then until that thread closes it; reading does not disturb it.
 * Values count from any moment on, so the difference of two readings says what happened between them.  A source is a
 * constant; many threads may use it at once, each with sets of its own.
 *
 * The machine's events are thread::cpu_ns and its like, which every Linux has (PTO_THREAD_EVENT_LIST), and PAPI's for
 * all other names.  PAPI has those of the hardware (PAPI_TOT_CYC), of the system, and of libraries: pto::tasks, short
 * for sde:::pto::tasks, is a counter of a runtime (pto_runtime_publish_counters).  PAPI is optional (libpapi-dev).
 */
#ifndef PTO_CLI_MEASURE_EVENT_SOURCE_H
#define PTO_CLI_MEASURE_EVENT_SOURCE_H

#include <stdint.h>

#include <runtime/base/error.h>

struct pto_event_source {
  /* Begins to count for the calling thread.  PTO_OK, or a negative status with the sentence: PTO_ENOTSUP (no PAPI, or
   * no events of the hardware here), PTO_EINVAL (no such event, or too many at once), PTO_ENOMEM. */
  int (*open)(const char *const *names, uint32_t count, void **set_out, struct pto_error *error);
  /* values[i]: what has been counted of names[i].  PTO_OK or a negative status. */
  int (*read)(void *set, int64_t *values);
  void (*close)(void *set);
  /* The calling thread, which has closed its sets, is about to end.  NULL: there is nothing to do. */
  void (*leave_thread)(void);
};

extern const struct pto_event_source pto_machine_events, pto_papi_events;

#define PTO_EVENTS_MAX 32u /* in a set of either */

/* X(name behind "thread::", value, what it counts); `usage` is the thread's struct rusage, getrusage(2). */
#define PTO_THREAD_EVENT_LIST(X)                                                                                       \
  X(cpu_ns, (int64_t)pto_clock_of_ns(CLOCK_THREAD_CPUTIME_ID), "time on a CPU")                                        \
  X(wall_ns, (int64_t)pto_clock_of_ns(CLOCK_MONOTONIC), "time that passes")                                            \
  X(page_faults, usage->ru_minflt, "pages mapped at the first touch")                                                  \
  X(major_page_faults, usage->ru_majflt, "pages read from a disk")                                                     \
  X(voluntary_switches, usage->ru_nvcsw, "times that it gave its CPU away, to wait")                                   \
  X(involuntary_switches, usage->ru_nivcsw, "times that its CPU was given to another")

#endif
