/* SPDX-License-Identifier: MIT */
/*
 * The threads engine's own state: for the files of sim/threads.
 *
 * Owned by the engine; freed by pto_threads_destroy.  Each struct says who writes it and who reads it;
 * sim/threads/engine.c has the invariants.
 */
#ifndef PTO_SIM_THREADS_STATE_H
#define PTO_SIM_THREADS_STATE_H

#include <pthread.h>

#include <runtime/base/reserve.h>
#include <runtime/base/ticks.h>
#include <runtime/base/wait.h>
#include <runtime/port/port.h>
#include <sim/threads/mailbox.h>
#include <sim/threads/stealing.h>
#include <sim/host/topology.h>
#include <sim/rendezvous/waiting_core.h>
#include <sim/host/watchdog.h>

struct pto_threads_core {
  _Alignas(PTO_CACHE_LINE) struct pto_core view; /* written by its worker; what the kernel sees */
  bool has_deadlocked;                           /* worker → control, handed over with the completion */
  /* Its worker's own.  A core is busy from the start of a kernel that waits until nothing is deferred behind it. */
  bool is_busy, is_on_fiber; /* the second while it is in such a kernel */
  /* What came for the core while it was busy, oldest first. */
  uint8_t deferred_first, deferred_count;
  struct pto_message *deferred; /* slots_per_core of them, a ring */
};

/* All that workers read and never write.  Written by the control thread before the run, while every inbox is empty: the
 * first message hands it over. */
struct pto_threads_shared {
  _Alignas(PTO_CACHE_LINE) struct pto_trace *trace; /* NULL: no timeline */
  const struct pto_kernel_meter *meter;             /* NULL: none */
  bool has_watchdog;
  bool has_extras; /* a timeline, a meter or delays: calls go the long way */
  /* Some time that the seed decides, on the worker's thread; of sim/threads/delays.h.  NULL: no delays. */
  void (*delay)(struct pto_threads_worker *worker);
  uint64_t delay_seed;
  bool is_observed; /* has extras, or the watchdog */
};

struct pto_threads_worker {
  /* Constant from creation on. */
  _Alignas(PTO_CACHE_LINE) const struct pto_threads_shared *shared;
  struct pto_threads_core *cores; /* all of the engine's, by core index */
  struct pto_watchdog_line *line;
  char *sentence; /* where kernels on this thread leave theirs; "" between kernels */
  struct pto_wait *completed;
  const struct pto_topology *topology;
  uint32_t index;
  bool is_pinned;
  struct pto_threads_rendezvous *rendezvous;
  struct pto_threads_engine *engine;
  char *failure_sentence; /* worker → control, with the completion: of its first failed kernel in this run */
  /* The worker's own. */
  _Alignas(PTO_CACHE_LINE) uint64_t last_end; /* of the span before, where nothing lies between; 0: unknown */
  uint32_t busy_count;                        /* cores of its that are busy */
  uint32_t delay_count;                       /* delays it has had */
  bool has_failed;                            /* failure_sentence is set, and what follows */
  uint32_t failed_core;                       /* as failure_sentence: what the kernel knew as its core */
  struct pto_core movers[2];                  /* an AIC and an AIV, as which kernels that MAY_MOVE run on this thread */
  uint32_t shown[2];                          /* cores that a timeline showed last for the movers */
  struct pto_thief thief;
  /* The thread that wakes a core of this worker, and the worker: under the rendezvous' mutex. */
  uint16_t *woken; /* cores to be resumed, oldest first, a ring of as many as there are cores */
  uint32_t woken_first, woken_count;
  bool is_stalled;        /* it has found nothing to run but cores that wait, */
  uint32_t stalled_taken; /* having taken so many messages from its inbox */
  /* The same → worker: woken_count > 0.  A hint, written under the mutex, which hands over what it announces. */
  _Atomic uint32_t has_woken;
  /* control → worker: no message comes any more.  Read only where the inbox is empty. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t is_stopping;
  struct pto_wait wait;      /* the worker waits, the control thread notifies */
  struct pto_mailbox inbox;  /* messages, control → worker */
  struct pto_mailbox outbox; /* completions, worker → control */
};

/* What cores that wait tell each other, and who must hear of it. */
struct pto_threads_rendezvous {
  pthread_mutex_t mutex; /* guards all of `waiting` that rendezvous.h speaks of, and the workers' fields that say so */
  bool is_made;
  struct pto_waiting_cores waiting;
  struct pto_threads_engine *engine;
  uint64_t idle_since_ns; /* since when nothing runs but cores that poll; the control thread's */
  /* worker → control: a worker has stalled, so it may be that all have. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t has_stalled;
};

struct pto_threads_engine {
  struct pto_port port;
  struct pto_threads_shared shared;
  struct pto_wait completed; /* the control thread waits, workers notify */
  /* any other thread → control thread: it is to return from waiting.  The store is N1 of wait.h, the load W2. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t is_called;

  /* Constant from creation on, the control thread's. */
  _Alignas(PTO_CACHE_LINE) struct pto_threads_worker *workers;
  struct pto_threads_core *cores;
  uint16_t *core_worker;
  uint32_t core_count, thread_count /* of started ones */;
  pthread_t *threads; /* by worker; [0] unused */
  struct pto_reserve memory, local_memory;
  struct pto_watchdog watchdog;
  struct pto_topology topology;
  struct pto_topology_affinity control_affinity; /* of the control thread outside a run */
  struct pto_port_ops own_ops;                   /* with delays: what port.ops points to */

  /* The control thread's, while a run goes on. */
  _Alignas(PTO_CACHE_LINE) uint32_t *in_flight; /* by worker: messages for its cores; those that MAY_MOVE not counted */
  bool *is_unpublished;                         /* by worker: messages in its inbox */
  uint32_t unpublished_count;                   /* workers with such */
  uint32_t failed_worker;                       /* of the run's first failed kernel that the runtime was told of */
  bool has_reported_failure;
  uint32_t next_polled;   /* worker to poll first */
  struct pto_ticks ticks; /* since the engine was made */
  struct pto_threads_stealing stealing;
  bool has_waiting; /* messages of kernels that wait were sent in this run */
  struct pto_threads_rendezvous rendezvous;
};

extern const struct pto_port_ops pto_threads_ops;
void pto_threads_call(struct pto_port *port);
void *pto_threads_worker_main(void *worker);

/* sim/threads/waiting.c.  The worker's thread: */
/* A message from the inbox for a busy core, or of a kernel that waits: copies it. */
void pto_threads_take_waiting(struct pto_threads_worker *worker, const struct pto_message *message);
/* Goes on with one core that was woken, or with one message deferred for it; false where there is none. */
bool pto_threads_run_woken(struct pto_threads_worker *worker);
/* Before it waits for its inbox with cores that wait, and after. */
void pto_threads_stall(struct pto_threads_worker *worker);
void pto_threads_unstall(struct pto_threads_worker *worker);
/* The control thread: */
bool pto_threads_rendezvous_init(struct pto_threads_engine *engine);
void pto_threads_rendezvous_fini(struct pto_threads_engine *engine);
void pto_threads_rendezvous_reset(struct pto_threads_engine *engine);
/* True where the message is the last of its block, or of its sync_start task. */
bool pto_threads_sit(struct pto_threads_engine *engine, struct pto_message *message);
/* Kernels have completed: cores that poll memory look again. */
void pto_threads_note_change(struct pto_threads_engine *engine);
/* Where no thread runs a kernel and none has one to run, but cores wait: answers them that they do so for ever. */
bool pto_threads_break_deadlock(struct pto_threads_engine *engine);
void pto_threads_find_waits(struct pto_port *port, struct pto_core_waits *waits);

/* Stops and frees everything; a half-built engine is allowed. */
void pto_threads_destroy(struct pto_port *port);

#endif
