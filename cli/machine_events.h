/* SPDX-License-Identifier: MIT */
/*
 * All events that `--counters` may name, as one source: thread::cpu_ns and its like (cli/thread_events.h), and all
 * others from PAPI (cli/papi_events.h), where that is.
 */
#ifndef PTO_MACHINE_EVENTS_H
#define PTO_MACHINE_EVENTS_H

#include <cli/event_source.h>

#define PTO_MACHINE_EVENTS_MAX 32u /* in a set */

extern const struct pto_event_source pto_machine_events;

#endif
