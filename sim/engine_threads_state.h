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
#include <runtime/base/ticks.h>
#include <runtime/base/wait.h>
#include <runtime/port/port.h>
#include <sim/grain.h>
#include <sim/mailbox.h>
#include <sim/place.h>
#include <sim/waiting_core.h>
#include <sim/watchdog.h>

struct pto_threads_core {
  _Alignas(PTO_CACHE_LINE) struct pto_core view; /* written by its worker; what the kernel sees */
  bool has_failed;                               /* worker → control, handed over with the completion */
  char *sentence;                                /* of the first failure in this run; the same */
  bool has_deadlocked;                           /* the same */
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
  bool has_extras;     /* a timeline, a meter or delays: calls go the long way */
  uint64_t delay_seed; /* of engine_delays.h; 0: no delays */
  bool is_observed;    /* has extras, or the watchdog */
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
  struct pto_threads_meetings *meetings;
  /* By place in the inbox; engine_threads_taking.c. */
  _Atomic uint32_t *claims;
  uint32_t spare_count;              /* places in the mailboxes beyond what its cores hold */
  struct pto_threads_engine *engine; /* of the control thread's, where there are others; else NULL */
  /* The worker's own. */
  _Alignas(PTO_CACHE_LINE) uint64_t last_end; /* of the span before, where nothing lies between; 0: unknown */
  uint32_t busy_count;                        /* cores of its that are busy */
  uint32_t delay_count;                       /* delays it has had */
  /* Whoever wakes a core of this worker, and the worker: under the meetings' mutex. */
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
struct pto_threads_meetings {
  pthread_mutex_t mutex; /* guards all of `waiting` that meeting.h speaks of, and the workers' fields that say so */
  bool is_made;
  struct pto_waiting_cores waiting;
  struct pto_threads_engine *engine;
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
  struct pto_place place;
  struct pto_place_affinity control_affinity; /* of the control thread outside a run */
  char report[256];
  struct pto_port_ops own_ops; /* with delays: what port.ops points to */

  /* The control thread's, while a run goes on. */
  _Alignas(PTO_CACHE_LINE) uint32_t *in_flight; /* by worker */
  uint32_t *unpublished;                        /* by worker: claimed in the inbox and not yet published */
  uint32_t unpublished_total;
  uint32_t *taken; /* by worker: messages taken back from it, counted in in_flight until it has passed over them */
  uint32_t taken_total;
  uint16_t home_core[2]; /* of the control thread: an AIV, an AIC; UINT16_MAX where it has none */
  bool has_failed_taken; /* the first failed kernel that was polled in this run had been taken back */
  bool has_polled_failure;
  uint32_t next_polled;        /* worker to poll first */
  struct pto_message *claimed; /* a place in an inbox for the next message dispatched; NULL: none */
  struct pto_grain grain;
  uint64_t reading_ns;          /* what a reading of the clock adds to the time between two */
  uint64_t row_begin;           /* of the row of kernels run without messages, or of what was not looked at of it; in
                                 * ticks, as the next three */
  uint64_t row_second;          /* when its second kernel began */
  uint64_t row_batch, row_long; /* PTO_THREADS_OWN_BATCH_NS, PTO_GRAIN_LONG_NS */
  uint32_t row_looked;          /* kernels of the row that were looked at */
  int (*row_run)(const struct pto_kernel_args *); /* the last one looked at in a row */
  struct pto_ticks ticks;                         /* since the engine was made */
  bool has_met;                                   /* messages of kernels that wait were sent in this run */
  struct pto_threads_meetings meetings;
};

extern const struct pto_port_ops pto_threads_ops;
void *pto_threads_worker_main(void *worker);
/* engine_delays.c: some time that the seed decides.  The worker's thread. */
void pto_threads_delay(struct pto_threads_worker *worker);

/* engine_threads.c, for the running of kernels that wait.  The worker's thread. */
struct pto_completion *pto_threads_run_message(struct pto_threads_worker *worker, const struct pto_message *message);
struct pto_completion *pto_threads_complete(struct pto_threads_worker *worker, const struct pto_message *message,
                                            int status, const char *sentence);
void pto_threads_append_span(struct pto_threads_worker *worker, const struct pto_message *message, uint64_t begin,
                             uint64_t end);

/* engine_threads_waiting.c.  The worker's thread: */
/* A message from the inbox for a busy core, or of a kernel that waits: copies it. */
void pto_threads_take_waiting(struct pto_threads_worker *worker, const struct pto_message *message);
/* Goes on with one core that was woken, or with one message deferred for it; false where there is none. */
bool pto_threads_run_woken(struct pto_threads_worker *worker);
/* Before it waits for its inbox with cores that wait, and after. */
void pto_threads_stall(struct pto_threads_worker *worker);
void pto_threads_unstall(struct pto_threads_worker *worker);
/* The control thread: */
bool pto_threads_meetings_init(struct pto_threads_engine *engine);
void pto_threads_meetings_fini(struct pto_threads_engine *engine);
void pto_threads_meetings_reset(struct pto_threads_engine *engine);
/* True where the message is the last of its block, or of its sync_start task. */
bool pto_threads_sit(struct pto_threads_engine *engine, struct pto_message *message);
/* Where no thread runs a kernel and none has one to run, but cores wait: answers them that they do so for ever. */
bool pto_threads_break_deadlock(struct pto_threads_engine *engine);
void pto_threads_find_waits(struct pto_port *port, struct pto_core_waits *waits);

/* The control thread's core on which kernels of `core` run that were taken back; UINT16_MAX where it has none. */
static inline uint16_t pto_threads_home(const struct pto_threads_engine *engine, uint32_t core) {
  return engine->home_core[engine->cores[core].view.kind == PTO_AIC];
}
/* engine_threads_taking.c.  The worker's thread: whether it is to run this message, which MAY_MOVE. */
bool pto_threads_keeps(struct pto_threads_worker *worker, const struct pto_message *message);
/* The control thread, in dispatch, before the message is published: */
void pto_threads_offer(struct pto_threads_engine *engine, struct pto_message *message, uint32_t w);
/* The control thread, which has nothing to run: takes a message back and runs it; false where there is none. */
bool pto_threads_take_back(struct pto_threads_engine *engine);
/* The control thread: a completion that was polled from outbox w; false where it only says that the worker has passed
 * over a message that was taken back. */
bool pto_threads_is_completion(struct pto_threads_engine *engine, uint32_t w, const struct pto_completion *completion);

/* Stops and frees everything; takes half-built engines too. */
void pto_threads_destroy(struct pto_port *port);

#endif
