/* SPDX-License-Identifier: MIT */
/*
 * Stealing: who runs a kernel that MAY_MOVE.  This is the only place that decides it.
 *
 * The control thread runs such a kernel at once, within its dispatch, unless a worker has asked for work.  Then it
 * gathers messages in a queue of its own until the next flush, offers half of them, and runs the others.  It keeps one
 * that is alone, so a chain stays where it is, unless the last such one took long; of a run it offers the first.
 * Workers take what is offered in batches.  The worker that empties the offer asks again before it runs its batch, so
 * an answer may come in time.  The control thread takes half of what is still offered before it would wait.
 *
 * A worker compares the time that a batch ran with the time that it took to get it.  Where stealing does not pay, or
 * the control thread refuses because nothing was ready beside what it ran itself, the worker pauses, twice as long each
 * time.  It measures the kernels and the machine as they are: short kernels stay on the control thread, others are
 * shared.
 *
 * Always true, under the mutex:   is_asked  ⇒  the offer is empty.
 * The word is read without the mutex too: by the control thread in each dispatch, and by workers that wait for the
 * answer, whose loads and the control thread's store are W2 and N1 of wait.h.
 *
 * Owned by the engine; freed by pto_threads_stealing_fini.
 */
#ifndef PTO_SIM_THREADS_STEALING_H
#define PTO_SIM_THREADS_STEALING_H

#include <pthread.h>

#include <runtime/base/atomic.h>
#include <runtime/port/port.h>

/* Messages that a worker takes at once, at most. */
#define PTO_THREADS_BATCH 32u
/* As soon as so many are queued all are offered: the control thread has more to submit. */
#define PTO_THREADS_OFFER 16u
/* The time that a batch is to run, by the mean of the one before.  A worker gives back what it has not begun after four
 * times that. */
#define PTO_THREADS_BATCH_NS 8000u
/* Stealing pays where a batch runs so many times as long as it takes to get it. */
#define PTO_THREADS_PAYS 3u
/* The longest pause; the first one is a batch's time.  A worker that finds out again and again that stealing does not
 * pay disturbs the control thread no more often than this. */
#define PTO_THREADS_PAUSE_NS 1000000u
/* So many messages in a row that were alone are a refusal. */
#define PTO_THREADS_PATIENCE 16u

/* Messages in a ring with room for all that the engine's cores hold. */
struct pto_message_ring {
  struct pto_message *messages;
  uint32_t mask, head, tail; /* count = tail − head ≤ mask + 1 */
};

struct pto_threads_stealing {
  /* The control thread's. */
  _Alignas(PTO_CACHE_LINE) struct pto_message_ring queue;
  uint32_t in_flight;   /* messages that MAY_MOVE: queued here, offered, with a worker, or completed and not polled */
  uint32_t alone_count; /* messages in a row that could not be shared */
  bool is_lone;         /* the last offer was of one that was alone: it is not taken back */
  bool keeps_alone;     /* a message that is alone: the last one took less than a batch's time */
  /* control ⇄ workers, under the mutex. */
  _Alignas(PTO_CACHE_LINE) pthread_mutex_t mutex;
  struct pto_message_ring offered;
  uint64_t batch_ticks; /* PTO_THREADS_BATCH_NS */
  bool is_made;         /* the mutex */
  /* 1, worker → control: a worker has nothing to take.  0, control → workers: look again.  Hands over nothing: the
   * mutex does. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t is_asked;
};

/* A worker's own. */
struct pto_thief {
  struct pto_message batch[PTO_THREADS_BATCH];
  uint64_t mean_ticks; /* of a message of its last batch; 0: unknown */
  uint64_t pause_ns;   /* the last one; 0: stealing paid */
  uint64_t most_ticks; /* after which it gives back what it has not begun */
  bool has_asked;      /* and has not had the answer */
  bool is_pausing;
};

struct pto_threads_engine;
struct pto_threads_worker;

bool pto_threads_stealing_init(struct pto_threads_engine *engine);
void pto_threads_stealing_fini(struct pto_threads_engine *engine);
/* While nothing is in flight. */
bool pto_threads_stealing_is_valid(const struct pto_threads_engine *engine);

/* ---- the control thread ---- */

void pto_threads_stealing_begin_run(struct pto_threads_engine *engine);
/* Whether a message is best run at once. */
static inline bool pto_threads_runs_at_once(const struct pto_threads_stealing *stealing) {
  /* Relaxed: a message more or less that is not offered makes no difference. */
  return stealing->queue.head == stealing->queue.tail && !pto_atomic_load(&stealing->is_asked, memory_order_relaxed);
}
/* Any other message that MAY_MOVE. */
void pto_threads_enqueue(struct pto_threads_engine *engine, const struct pto_message *message);
/* Offers half of the queue, where a worker has asked. */
void pto_threads_offer(struct pto_threads_engine *engine);
/* Runs messages of the queue for some microseconds, at least one; their completions are in the control thread's outbox.
 * False where it is empty. */
bool pto_threads_run_queue(struct pto_threads_engine *engine);
/* Takes half of what is offered into the queue; false where nothing is. */
bool pto_threads_reclaim(struct pto_threads_engine *engine);

/* ---- a worker ---- */

/* Takes a batch and runs it, with its completions published.  False where there was none: it has asked, or pauses. */
bool pto_threads_steal(struct pto_threads_worker *worker);
/* For the is_ready of its pto_wait: its question was answered. */
bool pto_threads_is_answered(const struct pto_threads_worker *worker);

#endif
