/* SPDX-License-Identifier: MIT */
#include <runtime/base/wait.h>

#ifndef PTO_INTERLEAVE
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns also on signals and spuriously: the caller looks again. */
void pto_futex_wait(_Atomic uint32_t *word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}
static void futex_wait_for(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns) {
  const struct timespec timeout = {(time_t)(timeout_ns / 1000000000u), (long)(timeout_ns % 1000000000u)};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &timeout, NULL, 0);
}
void pto_futex_wake(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

static void pause_round(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* True while it is worth looking again without sleeping. */
static bool is_patient(const struct pto_wait *wait, uint32_t round) {
  if (round < wait->spin_rounds) {
    pause_round();
    return true;
  }
  if (round < wait->spin_rounds + PTO_WAIT_YIELD_ROUNDS) {
    sched_yield();
    return true;
  }
  return false;
}
#else
static void futex_wait_for(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns) {
  (void)timeout_ns;
  pto_futex_wait(word, expected);
}

/* Rounds before the announcement only repeat what the last one does. */
static bool is_patient(const struct pto_wait *wait, uint32_t round) { return round < wait->spin_rounds; }
#endif

void pto_wait_init(struct pto_wait *wait, uint32_t spin_rounds) {
  pto_atomic_init(&wait->state, PTO_WAIT_AWAKE);
  pto_atomic_init(&wait->sleep_count, 0);
  wait->spin_rounds = spin_rounds;
}

/* Announces, looks once more, sleeps until a notifier takes the announcement away. */
static void sleep_once(struct pto_wait *wait, bool (*is_ready)(void *), void *context) {
  pto_atomic_exchange(&wait->state, PTO_WAIT_SLEEPING,
                      PTO_ORDER(22, memory_order_seq_cst, memory_order_relaxed)); /* W1 */
  if (PTO_MUTANT != 23 && is_ready(context)) {                                    /* W2 */
    /* A notifier that has seen the announcement wakes in vain, which is harmless. */
    pto_atomic_store(&wait->state, PTO_WAIT_AWAKE, memory_order_seq_cst);
    return;
  }
  atomic_fetch_add_explicit(&wait->sleep_count, 1, memory_order_relaxed);
  /* Relaxed: what it tells is only that looking again is worth while; is_ready acquires. */
  do pto_futex_wait(&wait->state, PTO_WAIT_SLEEPING);
  while (pto_atomic_load(&wait->state, memory_order_relaxed) == PTO_WAIT_SLEEPING);
}

void pto_wait_until(struct pto_wait *wait, bool (*is_ready)(void *), void *context) {
  for (uint32_t round = 0; !is_ready(context); round++) {
    if (is_patient(wait, round)) continue;
    sleep_once(wait, is_ready, context);
    round = 0;
  }
}

void pto_wait_for(struct pto_wait *wait, bool (*is_ready)(void *), void *context, uint64_t timeout_ns) {
  if (is_ready(context)) return;
  pto_atomic_exchange(&wait->state, PTO_WAIT_SLEEPING,
                      PTO_ORDER(28, memory_order_seq_cst, memory_order_relaxed)); /* W1 */
  if (PTO_MUTANT == 29 || !is_ready(context)) futex_wait_for(&wait->state, PTO_WAIT_SLEEPING, timeout_ns);
  pto_atomic_store(&wait->state, PTO_WAIT_AWAKE, memory_order_seq_cst);
}

PTO_COLD void pto_wait_wake(struct pto_wait *wait) {
  /* The thread that takes SLEEPING away wakes; others have nothing to do. */
  if (PTO_MUTANT != 24 && pto_atomic_exchange(&wait->state, PTO_WAIT_AWAKE, memory_order_seq_cst) != PTO_WAIT_SLEEPING)
    return;
  if (PTO_MUTANT != 25) pto_futex_wake(&wait->state);
}
