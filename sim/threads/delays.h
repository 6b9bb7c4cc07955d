/* SPDX-License-Identifier: MIT */
/*
 * The threads engine with delays planted: real threads that meet in ways they seldom would by themselves.
 *
 * Before and after each kernel call, and around the port's dispatch, flush, poll and wait, a thread may spin for up to
 * a few microseconds, yield, or sleep for some tens of them; what it does is drawn from the seed, the thread and how
 * many delays it has had.  So a seed makes a pattern, not a run: where threads meet exactly stays the machine's
 * business.
 *
 * Made by pto_runtime_create for the engine "delayed threads", which is for tools.  Until a seed is set it is the
 * threads engine as it is.
 */
#ifndef PTO_SIM_THREADS_DELAYS_H
#define PTO_SIM_THREADS_DELAYS_H

#include <runtime/port/port.h>

/* Between runs, on the control thread.  0: no delays.  False where the port is of another engine. */
bool pto_engine_delays_set(struct pto_port *port, uint64_t seed);
/* The same: delays that all its threads have had so far. */
uint64_t pto_engine_delays_had(const struct pto_port *port);

#endif
