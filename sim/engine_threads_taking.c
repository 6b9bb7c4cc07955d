/* SPDX-License-Identifier: MIT */
/*
 * Messages that the control thread takes back: work that it sent to another thread, and that this has not begun while
 * the control thread itself has nothing left to run.
 *
 * What a thread was sent stands still for as long as it is off its CPU, and all that depends on it; and at the end of a
 * run one thread may have more left than the other.  So a message that MAY_MOVE has a claim, a word beside its place in
 * the inbox, and whoever takes it first runs the kernel: the worker when it comes to the message, or the control thread
 * before it would wait.  Taken back, a kernel runs on a core of the control thread of the same kind, and its completion
 * says the core that it was sent to.  The message stays in the inbox; the worker passes over it and says so by a
 * completion with PTO_THREADS_PASSED, which the runtime never sees.
 *
 * Always true: of a message, exactly one of the two gets the claim, as it is exchanged once by each at most; and
 *
 *     taken[w] ≤ spare_count of w,
 *
 * so the mailboxes hold what was taken back besides all that the cores of w can hold.  Nothing is handed over by a
 * claim: the message was published before the worker sees it, and the control thread reads what it wrote itself.
 *
 * Owns the claims.  pto_threads_keeps is called by the worker, everything else by the control thread.  While kernels
 * that wait are about nothing is taken back: who waits for whom is known by the threads that cores live on.
 *
 * Interleavings are explored by tests/interleave_test.c; PTO_MUTANT 28 … 31 are what goes wrong without the claim.
 */
#include <sim/engine_threads_state.h>

#include <runtime/base/atomic.h>

/* The completion's ticket; tasks' slots are fewer. */
#define PTO_THREADS_PASSED UINT32_MAX

enum { PTO_CLAIM_FREE, PTO_CLAIM_TAKEN };

static _Atomic uint32_t *claim_of(const struct pto_threads_worker *worker, const struct pto_message *message) {
  return &worker->claims[message - (const struct pto_message *)(const void *)worker->inbox.slots];
}

/* Relaxed: an exchange of one word gives it to one, and hands over nothing. */
static bool take_claim(_Atomic uint32_t *claim) {
  if (PTO_MUTANT == 28) { /* looked at and taken in two steps */
    const bool is_free = pto_atomic_load(claim, memory_order_relaxed) == PTO_CLAIM_FREE;
    pto_atomic_store(claim, PTO_CLAIM_TAKEN, memory_order_relaxed);
    return is_free;
  }
  return pto_atomic_exchange(claim, PTO_CLAIM_TAKEN, memory_order_relaxed) == PTO_CLAIM_FREE;
}

bool pto_threads_keeps(struct pto_threads_worker *worker, const struct pto_message *message) {
  if (PTO_MUTANT == 29 || take_claim(claim_of(worker, message))) return true;
  struct pto_completion *completion = pto_completion_mailbox_claim(&worker->outbox);
  *completion = (struct pto_completion){.ticket = PTO_THREADS_PASSED, .core = message->core};
  return false;
}

void pto_threads_offer(struct pto_threads_engine *engine, struct pto_message *message, uint32_t w) {
  if (w == 0)
    message->flags &= (uint8_t)~PTO_MESSAGE_MAY_MOVE; /* nobody takes from the control thread */
  else if (PTO_MUTANT != 31)                          /* relaxed: the message's publication makes it visible */
    pto_atomic_store(claim_of(&engine->workers[w], message), PTO_CLAIM_FREE, memory_order_relaxed);
}

/* Of worker w's messages the oldest that could be claimed and has a core here; NULL where there is none.  The oldest:
 * more depends on it, so more is ready soon for the worker to live on.  Places of
 * messages that were popped meanwhile keep their bytes until the control thread writes there, and their claims are
 * taken. */
static const struct pto_message *claim_oldest(struct pto_threads_engine *engine, uint32_t w) {
  struct pto_threads_worker *worker = &engine->workers[w];
  const struct pto_mailbox *inbox = &worker->inbox;
  const struct pto_message *places = (const struct pto_message *)(const void *)inbox->slots;
  for (uint32_t i = engine->in_flight[w]; i > 0; i--) {
    const struct pto_message *message = &places[(inbox->written - i) & (inbox->capacity - 1)];
    if (!(message->flags & PTO_MESSAGE_MAY_MOVE) || pto_threads_home(engine, message->core) == UINT16_MAX) continue;
    _Atomic uint32_t *claim = claim_of(worker, message);
    if (pto_atomic_load(claim, memory_order_relaxed) == PTO_CLAIM_FREE && (PTO_MUTANT == 30 || take_claim(claim)))
      return message;
  }
  return NULL;
}

/* The worker that has most to do, of those from which more can be taken; 0 where there is none. */
static uint32_t fullest_worker(const struct pto_threads_engine *engine) {
  uint32_t fullest = 0, most = 1; /* that one it is running */
  for (uint32_t w = 1; w < engine->port.worker_count; w++) {
    const uint32_t left = engine->in_flight[w] - engine->taken[w];
    if (left <= most || engine->taken[w] == engine->workers[w].spare_count) continue;
    fullest = w;
    most = left;
  }
  return fullest;
}

bool pto_threads_take_back(struct pto_threads_engine *engine) {
  struct pto_threads_worker *self = &engine->workers[0];
  if (engine->in_flight[0] || engine->has_met) return false;
  const uint32_t w = fullest_worker(engine);
  const struct pto_message *message = w ? claim_oldest(engine, w) : NULL;
  if (!message) return false;
  struct pto_message here = *message;
  here.core = pto_threads_home(engine, message->core);
  engine->taken[w]++;
  engine->taken_total++;
  engine->in_flight[0]++;
  self->last_end = 0;
  pto_threads_run_message(self, &here)->core = message->core;
  pto_mailbox_publish(&self->outbox); /* to ourselves */
  return true;
}

bool pto_threads_is_completion(struct pto_threads_engine *engine, uint32_t w, const struct pto_completion *completion) {
  if (completion->ticket == PTO_THREADS_PASSED) {
    engine->taken[w]--;
    engine->taken_total--;
    return false;
  }
  if (completion->status && !engine->has_polled_failure) {
    engine->has_polled_failure = true;
    engine->has_failed_taken = engine->core_worker[completion->core] != w;
  }
  return true;
}
