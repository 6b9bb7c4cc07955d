/* SPDX-License-Identifier: MIT */
/*
 * The threads engine beyond what every engine has: constants and what tests and reports may look at.
 *
 * All functions take a port made by pto_engine_threads_create and are called by the control thread.
 */
#ifndef PTO_ENGINE_THREADS_H
#define PTO_ENGINE_THREADS_H

#include <runtime/port/port.h>

/* Messages that a core holds, the running one counted.  Depth counts in time, not in tasks: while the control thread is
 * in a kernel nobody dispatches, and a worker lives on what it was sent.  With 8 it outlasts a kernel of the control
 * thread that is up to 8 times as long as its own for each core it has.  A chip with more slots gets more.  Other
 * depths have not been measured. */
#define PTO_THREADS_SLOTS_PER_CORE 8u
/* Messages to a busy worker that go out together: the ring's lines then cross between CPUs once a batch. */
#define PTO_THREADS_BATCH 32u
/* A worker that the control thread knows to have no more than this many unfinished messages is sent the next one at
 * once. */
#define PTO_THREADS_NEARLY_IDLE 1u
/* Kernels that the control thread runs of its own cores before it looks at completions, as long as they take less than
 * that in all: a look costs about as much as a reading of the clock for each, and a long kernel delays nobody but
 * itself. */
#define PTO_THREADS_OWN_BATCH 16u
#define PTO_THREADS_OWN_BATCH_NS 2000u
/* Kernels run without messages before the control thread looks at completions, at most. */
#define PTO_THREADS_ROW 64u
/* A worker's number is one byte in a span record. */
#define PTO_THREADS_MAX_WORKERS 256u
/* What is kept of a failed kernel's sentence. */
#define PTO_THREADS_SENTENCE_BYTES 512u

/* Where threads went: "2 CPUs on 2 physical cores, …; 2 workers pinned".  Borrowed until the engine's end. */
const char *pto_engine_threads_report(const struct pto_port *port);
/* Times that worker `worker` (0: the control thread) has gone to sleep in the kernel. */
uint32_t pto_engine_threads_sleeps(const struct pto_port *port, uint32_t worker);
/* Whether worker `worker` (0: the control thread) sleeps, or is about to: it has found nothing to do. */
bool pto_engine_threads_is_asleep(const struct pto_port *port, uint32_t worker);
/* For tests, between runs: the engine judges no longer whether work is fine grained; who writes is_fine_grained
 * decides.
 */
void pto_engine_threads_stop_judging(struct pto_port *port);
/* While nothing is in flight: every count is 0 and every mailbox empty. */
bool pto_engine_threads_is_valid(const struct pto_port *port);

#endif
