/* SPDX-License-Identifier: MIT */
/*
 * Running a message on a thread of the threads engine, and telling of it: below stealing, waiting and the port's
 * operations.
 *
 * Owns nothing.  All functions are called by the worker's own thread; worker 0's is the control thread.  Always true: a
 * worker's sentence is "" between kernels.
 */
#ifndef PTO_SIM_THREADS_WORKER_H
#define PTO_SIM_THREADS_WORKER_H

#include <sim/chips/chip.h>
#include <sim/host/current.h>
#include <sim/threads/state.h>

/* The recorded span of a kernel. */
void pto_threads_append_span(struct pto_threads_worker *worker, const struct pto_message *message, uint32_t core,
                             uint64_t begin, uint64_t end);
/* Keeps the first sentence of each worker: a later kernel on it may fail while the control thread reads that.  The
 * status as completions hold it. */
PTO_COLD int16_t pto_threads_store_failure(struct pto_threads_worker *worker, const struct pto_message *message,
                                           int status, const char *sentence);
/* Runs the kernel where the run has a watchdog, a timeline, a meter or delays. */
int pto_threads_run_observed(struct pto_threads_worker *worker, const struct pto_message *message,
                             struct pto_core *view);

/* In an outbox, the mark of a completion whose message MAY_MOVE. */
#define PTO_THREADS_MOVED 0x8000u
_Static_assert(3 * PTO_CHIP_MAX_CLUSTERS <= PTO_THREADS_MOVED, "cores' numbers leave a bit");

/* Claims a completion without publishing it. */
static inline void pto_threads_complete(struct pto_threads_worker *worker, const struct pto_message *message,
                                        int status, const char *sentence) {
  struct pto_completion *completion = pto_completion_mailbox_claim(&worker->outbox);
  completion->ticket = message->ticket;
  completion->core = message->core | (message->flags & PTO_MESSAGE_MAY_MOVE ? PTO_THREADS_MOVED : 0);
  completion->status = 0;
  if (PTO_UNLIKELY(status != 0)) completion->status = pto_threads_store_failure(worker, message, status, sentence);
}

/* Runs a kernel that does not wait. */
static PTO_INLINE int pto_threads_run_kernel(struct pto_threads_worker *worker, const struct pto_message *message) {
  struct pto_core *view =
      message->flags & PTO_MESSAGE_MAY_MOVE ? &worker->movers[message->role != 0] : &worker->cores[message->core].view;
  int status;
  pto_engine_current_set(message, view);
  if (PTO_UNLIKELY(worker->shared->is_observed))
    status = pto_threads_run_observed(worker, message, view);
  else
    status = pto_message_run(message, view);
  pto_engine_current_clear();
  return status;
}

/* Runs a message of a kernel that does not wait, and claims its completion. */
static inline void pto_threads_run_message(struct pto_threads_worker *worker, const struct pto_message *message) {
  const int status = pto_threads_run_kernel(worker, message);
  pto_threads_complete(worker, message, status, worker->sentence);
  if (PTO_UNLIKELY(worker->sentence[0] != '\0')) worker->sentence[0] = '\0'; /* also of one that succeeded after all */
}

/* While more of a batch follows: completions are seen where the control thread looks, and it is woken where it sleeps.
 * The publish at the batch's end loses no wake-up. */
static inline void pto_threads_publish_early(struct pto_threads_worker *worker) {
  pto_mailbox_publish(&worker->outbox);
  if (PTO_UNLIKELY(pto_wait_is_asleep(worker->completed))) pto_wait_wake(worker->completed);
}
/* At once: the next kernel may take long. */
static inline void pto_threads_publish_completions(struct pto_threads_worker *worker) {
  pto_mailbox_publish_to_sleeper(&worker->outbox);
  pto_wait_notify(worker->completed);
}

#endif
