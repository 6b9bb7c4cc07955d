/* SPDX-License-Identifier: MIT */
/*
 * Stealing decides which thread runs a kernel that MAY_MOVE; nothing else decides it.  Every other kernel runs on the
 * worker that has its core.
 *
 * While stealing is *open*, the control thread puts such kernels into one ring, and workers take them from there, a
 * share of what is left at a time, and where kernels are long one.  Where the workers have enough, it runs the kernel
 * itself, within its dispatch; and it takes from the ring too before it would wait.  A kernel that is alone, with no
 * other of its kind in flight, stays with the control thread, so a chain stays where it is; but where kernels take as
 * long as a pause, or how long is not known yet, it goes to a worker, so that the control thread is free for what comes
 * next.  While stealing is *closed*, the control thread runs each kernel within its dispatch.
 *
 * To share a kernel moves some cache lines between two processors, and what that takes differs by machine, and in time.
 * So it is measured: the control thread runs one kernel in PTO_THREADS_SAMPLE itself and reads the clock around it.
 * Worker 1 compares: where kernels take much longer on it than the same ones there, it closes, and opens again after a
 * pause, twice as long each time.  The control thread closes where kernels are alone again and again.
 *
 * Always true:   in_flight = messages pushed and not polled.
 *
 * Threads: as the parts below say.  Owned by the engine; nothing to free.
 */
#ifndef PTO_SIM_THREADS_STEALING_H
#define PTO_SIM_THREADS_STEALING_H

#include <runtime/base/atomic.h>
#include <runtime/port/port.h>
#include <sim/threads/message_ring.h>

/* Messages that are published together, and that a thread takes at once at most; a worker has enough with two such. */
#define PTO_THREADS_BATCH 16u
/* Stealing pays while a kernel on a worker takes at most this percentage of its time on the control thread. */
#define PTO_THREADS_PAYS 150u
/* The control thread runs and times one kernel of this many: a prime, so that of kernels in turns all are met. */
#define PTO_THREADS_SAMPLE 61u
/* Entries of a table of kernels; those that share one are taken for one kernel. */
#define PTO_THREADS_KERNELS 64u
/* The longest time for which stealing stays closed; the first is a 64th of it.  Kernels that have become longer are
 * noticed at its end. */
#define PTO_THREADS_PAUSE_NS 1000000u
#define PTO_THREADS_FIRST_PAUSE_NS (PTO_THREADS_PAUSE_NS / 64)

struct pto_threads_stealing {
  struct pto_message_ring ring;
  /* The control thread's. */
  _Alignas(PTO_CACHE_LINE) uint32_t in_flight; /* messages that MAY_MOVE, but for those run within their dispatch */
  uint32_t enough;                             /* messages in the ring for all workers; constant */
  uint32_t dispatch_count;
  uint32_t lone_count; /* messages in a row that were alone and stayed */
  uint32_t lone_end;   /* where is_lone: the ring's `written` behind the message */
  bool is_lone;        /* a message was offered alone: the control thread leaves it to a worker */
  uint64_t long_ticks; /* the first pause; constant while a run goes on */
  uint64_t mean_ticks; /* of a kernel on the control thread; 0: not known */
  /* 1: workers take messages, written by worker 1.  0: none does, written by worker 1 or control.  Hands over nothing.
   */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t is_open;
  /* Control → workers: messages that a thread takes at once.  Relaxed: nothing goes with it. */
  _Atomic uint32_t most_taken;
  /* Control → worker 1: the mean of each kernel; 0: not known.  Relaxed: nothing goes with it. */
  _Atomic uint32_t kernel_ticks[PTO_THREADS_KERNELS];
};

/* A worker's own. */
struct pto_thief {
  uint64_t ticks;    /* of messages, and of taking them, since it last judged */
  uint64_t expected; /* what the control thread takes for the same ones */
  uint32_t count;    /* of these messages */
  uint64_t pause_ns; /* the last one; 0: stealing pays */
};

struct pto_threads_engine;
struct pto_threads_worker;

/* Messages in the ring: enough for all workers. */
static inline uint32_t pto_threads_ring_capacity(uint32_t worker_count) {
  uint32_t capacity = 2 * PTO_THREADS_BATCH;
  while (capacity < 2 * PTO_THREADS_BATCH * (worker_count - 1)) capacity *= 2;
  return capacity;
}
/* `messages`: memory for pto_threads_ring_capacity of them. */
void pto_threads_stealing_init(struct pto_threads_stealing *stealing, void *messages, uint32_t worker_count);
/* While nothing is in flight. */
bool pto_threads_stealing_is_valid(const struct pto_threads_engine *engine);

/* ---- the control thread ---- */

/* Whether it is to time the message, and run it at once. */
static inline bool pto_threads_is_sample(struct pto_threads_stealing *stealing) {
  return ++stealing->dispatch_count % PTO_THREADS_SAMPLE == 0;
}
void pto_threads_note_sample(struct pto_threads_stealing *stealing, const struct pto_message *message, uint64_t ticks);
/* Whether it is to run a message at once. */
static inline bool pto_threads_runs_at_once(struct pto_threads_stealing *stealing) {
  /* Relaxed: a message more or less that is shared makes no difference. */
  return !pto_atomic_load(&stealing->is_open, memory_order_relaxed) ||
         pto_message_ring_has_many(&stealing->ring, stealing->enough);
}
/* Any other message that MAY_MOVE. */
void pto_threads_share(struct pto_threads_engine *engine, const struct pto_message *message);
/* `long_ticks`: of a kernel that goes to a worker although it is alone. */
void pto_threads_stealing_begin_run(struct pto_threads_stealing *stealing, uint64_t long_ticks);
/* Lets workers see what was shared, unless it is alone and short. */
void pto_threads_offer(struct pto_threads_engine *engine);
/* These two run messages, whose completions are then in the control thread's outbox.  False where there was none: */
bool pto_threads_run_lone(struct pto_threads_engine *engine); /* the one that is alone */
bool pto_threads_help(struct pto_threads_engine *engine);     /* a share of the ring */

/* ---- a worker ---- */

/* Takes messages and runs them, with their completions published.  False where there was none. */
bool pto_threads_steal(struct pto_threads_worker *worker);
/* Waits until there is something to steal or has_other_work says so, or for a pause. */
void pto_threads_wait_for_work(struct pto_threads_worker *worker, bool (*has_other_work)(void *worker));

#endif
