/* SPDX-License-Identifier: MIT */
/*
 * The threads engine's own state: for engine_threads.c, which runs it, and engine_threads_create.c, which builds it.
 *
 * Owned by the engine; freed by pto_threads_destroy.  Each struct says who writes it and who reads it; engine_threads.c
 * has the invariants.
 */
#ifndef PTO_ENGINE_THREADS_STATE_H
#define PTO_ENGINE_THREADS_STATE_H

#include <pthread.h>

#include <runtime/base/reserve.h>
#include <runtime/base/wait.h>
#include <runtime/port/port.h>
#include <sim/mailbox.h>
#include <sim/place.h>
#include <sim/watchdog.h>

struct pto_threads_core {
  _Alignas(PTO_CACHE_LINE) struct pto_core view; /* written by its worker; what the kernel sees */
  bool has_failed;                               /* worker → control, handed over with the completion */
  char *sentence;                                /* of the first failure in this run; the same */
};

/* All that workers read and never write.  Written by the control thread before the run, while every inbox is empty: the
 * first message hands it over. */
struct pto_threads_shared {
  _Alignas(PTO_CACHE_LINE) struct pto_trace *trace; /* NULL: no timeline */
  bool has_watchdog;
};

struct pto_threads_worker {
  /* Constant from creation on. */
  _Alignas(PTO_CACHE_LINE) const struct pto_threads_shared *shared;
  struct pto_threads_core *cores; /* all of the engine's, by core index */
  struct pto_watchdog_line *line;
  char *sentence; /* where kernels on this thread leave theirs; "" between kernels */
  struct pto_wait *completed;
  const struct pto_place *place;
  uint32_t index;
  bool is_pinned;
  /* The worker's own. */
  _Alignas(PTO_CACHE_LINE) uint64_t last_end_ns; /* of the span before, where nothing lies between; 0: unknown */
  /* control → worker: no message comes any more.  Read only where the inbox is empty. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t is_stopping;
  struct pto_wait wait;      /* the worker waits, the control thread notifies */
  struct pto_mailbox inbox;  /* messages, control → worker */
  struct pto_mailbox outbox; /* completions, worker → control */
};

struct pto_threads_engine {
  struct pto_port port;
  struct pto_threads_shared shared;
  struct pto_wait completed; /* the control thread waits, workers notify */

  /* Constant from creation on, the control thread's. */
  _Alignas(PTO_CACHE_LINE) struct pto_threads_worker *workers;
  struct pto_threads_core *cores;
  uint16_t *core_worker;
  uint32_t core_count, thread_count /* of started ones */;
  pthread_t *threads; /* by worker; [0] unused */
  struct pto_reserve memory, local_memory;
  struct pto_watchdog watchdog;
  struct pto_place place;
  struct pto_place_affinity control_affinity; /* of the control thread outside a run */
  char report[256];

  /* The control thread's, while a run goes on. */
  _Alignas(PTO_CACHE_LINE) uint32_t *in_flight; /* by worker */
  uint32_t *unpublished;                        /* by worker: claimed in the inbox and not yet published */
  uint32_t unpublished_total;
  uint32_t next_polled; /* worker to poll first */
};

extern const struct pto_port_ops pto_threads_ops;
void *pto_threads_worker_main(void *worker);
/* Stops and frees everything; takes half-built engines too. */
void pto_threads_destroy(struct pto_port *port);

#endif
