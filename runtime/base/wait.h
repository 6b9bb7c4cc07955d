/* SPDX-License-Identifier: MIT */
/*
 * Waiting: spin a little, then yield, then sleep in the kernel.  The only module that waits for another thread of a
 * run.
 *
 * A pto_wait belongs to one waiting thread; any number of threads notify it.  It holds no condition of its own: the
 * waiter brings a function that looks whether what it waits for is there.
 *
 * Always true (no lost wake-up): if a notifier makes the condition true with a seq_cst store or RMW of some word and
 * then calls pto_wait_notify, and the waiter's function reads that word with a seq_cst load, then the waiter returns.
 * The argument is Dekker's, on the two words `state` and condition:
 *
 *     notifier:  N1 store condition     N2 load state        wakes where it reads SLEEPING
 *
 *     waiter:    W1 exchange state      W2 load condition    sleeps where it is false
 *
 * All four are seq_cst, so they have one order in which N1 precedes N2 and W1 precedes W2.  If N2 misses W1, it comes
 * before W1; then N1 < N2 < W1 < W2 and W2 sees the condition.  If it does not, the notifier takes `state` back to
 * AWAKE before it wakes, and the kernel refuses to sleep on a word that is no longer SLEEPING.  tests/interleave
 * explores this, and each order and step weakened (the wait mutants) loses a wake-up there.
 *
 * Data is not handed over here but by the condition's own release and acquire (a seq_cst pair is one).
 */
#ifndef PTO_WAIT_H
#define PTO_WAIT_H

#include <runtime/base/atomic.h>
#include <runtime/base/base.h>

/* Spinning for about as long as a sleep and its wake-up cost at most doubles what any wait costs.  Those cost 9 to 66
 * µs a round trip through a condition variable, by machine and load (bench/bench_mailbox); a round with its pause
 * instruction is taken to be 20 to 50 ns, which is an estimate: no bench has varied this constant. */
#define PTO_WAIT_SPIN_ROUNDS 2000u
/* After that, a few turns for other threads that want this CPU.  Not measured either. */
#define PTO_WAIT_YIELD_ROUNDS 16u

enum pto_wait_state { PTO_WAIT_AWAKE = 0, PTO_WAIT_SLEEPING = 1 };

struct pto_wait {
  /* waiter ⇄ notifiers: SLEEPING is the waiter's announcement, AWAKE the notifier's right to wake it. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t state;
  /* waiter → tests: times it has gone to the kernel.  Relaxed: only a count. */
  _Atomic uint32_t sleep_count;
  uint32_t spin_rounds; /* constant after init */
};

/* spin_rounds: PTO_WAIT_SPIN_ROUNDS, or 0 where the threads outnumber the CPUs, so that a spinning thread would keep
 * the one that it waits for from running. */
void pto_wait_init(struct pto_wait *wait, uint32_t spin_rounds);
/* Waiter only: returns when is_ready(context) has been true.  is_ready reads its words with seq_cst. */
void pto_wait_until(struct pto_wait *wait, bool (*is_ready)(void *context), void *context);

/* The same, asleep at once, and for no longer than that; it may return early. */
void pto_wait_for(struct pto_wait *wait, bool (*is_ready)(void *context), void *context, uint64_t timeout_ns);

void pto_wait_wake(struct pto_wait *wait);
/* After a seq_cst store of the condition.  One load of a line that is shared and unchanged while the waiter is awake.
 */
static inline void pto_wait_notify(struct pto_wait *wait) {
  uint32_t state = pto_atomic_load(&wait->state, PTO_ORDER(21, memory_order_seq_cst, memory_order_acquire)); /* N2 */
  if (PTO_UNLIKELY(state == PTO_WAIT_SLEEPING)) pto_wait_wake(wait);
}
static inline uint32_t pto_wait_sleep_count(const struct pto_wait *wait) {
  return atomic_load_explicit(&wait->sleep_count, memory_order_relaxed);
}

/* Whether the waiter has announced its sleep and has not been woken since. */
static inline bool pto_wait_is_asleep(const struct pto_wait *wait) {
  /* Acquire: what the waiter did before it slept is visible. */
  return pto_atomic_load(&wait->state, memory_order_acquire) == PTO_WAIT_SLEEPING;
}

/* How the kernel puts a thread to sleep while *word is `expected`, and wakes one; replaced under PTO_INTERLEAVE. */
void pto_futex_wait(_Atomic uint32_t *word, uint32_t expected);
void pto_futex_wake(_Atomic uint32_t *word);

#endif
