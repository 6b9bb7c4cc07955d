/* SPDX-License-Identifier: MIT */
/*
 * The threads engine beyond what every engine has: constants and what tests and reports may look at.
 *
 * All functions take a port made by pto_engine_threads_create and are called by the control thread.
 */
#ifndef PTO_SIM_THREADS_ENGINE_H
#define PTO_SIM_THREADS_ENGINE_H

#include <runtime/port/port.h>

/* Unfinished tasks beyond which the control thread runs some before it submits more: further ones would only push each
 * other out of the caches. */
#define PTO_THREADS_RUN_AHEAD 512u
/* A worker's number is one byte in a span record. */
#define PTO_THREADS_MAX_WORKERS 256u
/* What is kept of a failed kernel's sentence. */
#define PTO_THREADS_SENTENCE_BYTES 512u

/* Times that worker `worker` (0: the control thread) has gone to sleep in the kernel. */
uint32_t pto_engine_threads_sleeps(const struct pto_port *port, uint32_t worker);
/* Whether worker `worker` (0: the control thread) sleeps, or is about to: it has found nothing to do. */
bool pto_engine_threads_is_asleep(const struct pto_port *port, uint32_t worker);
/* The worker on which kernels of `core` run that do not move; 0: the control thread. */
uint32_t pto_engine_threads_core_worker(const struct pto_port *port, uint32_t core);
/* While nothing is in flight: every count is 0 and every mailbox empty. */
bool pto_engine_threads_is_valid(const struct pto_port *port);

#endif
