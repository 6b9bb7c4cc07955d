/* SPDX-License-Identifier: MIT */
/*
 * Events that PAPI counts, by their names: of the hardware (PAPI_TOT_CYC), of the kernel, and those that libraries
 * define themselves, such as the counters of a runtime (pto::tasks, which is short for PAPI's sde:::pto::tasks;
 * pto_runtime_publish_counters).
 *
 * The one user of papi.h (package libpapi-dev), which is optional.  PAPI has one state a process, which is made at the
 * first open and stays.
 *
 * Owns what PAPI needs to count, from open to close.  PAPI counts for one thread: that which calls start; events of
 * libraries are the same for all.  All calls of one `events` are made by one thread.
 */
#ifndef PTO_PAPI_EVENTS_H
#define PTO_PAPI_EVENTS_H

#include <stdint.h>

#include <runtime/base/error.h>

struct pto_papi_events;

/* Counts nothing yet.  PTO_OK; PTO_ENOTSUP where there is no PAPI, or it has none of the hardware's events here, with
 * why; PTO_EINVAL where an event of that name is none, or cannot be counted beside
 * those before it, with how many can; PTO_ENOMEM. */
PTO_MUST_CHECK int pto_papi_events_open(const char *const *names, uint32_t count, struct pto_papi_events **out,
                                        struct pto_error *error);
/* From 0.  PTO_OK or PTO_ESYSTEM. */
PTO_MUST_CHECK int pto_papi_events_start(struct pto_papi_events *events, struct pto_error *error);
/* What has been counted since the start, in the order of the names; it goes on.  PTO_OK or PTO_ESYSTEM. */
PTO_MUST_CHECK int pto_papi_events_read(struct pto_papi_events *events, int64_t *values, struct pto_error *error);
/* Takes NULL too. */
void pto_papi_events_close(struct pto_papi_events *events);

/* The calling thread, which has closed its events, is about to end. */
void pto_papi_events_leave_thread(void);

#endif
