/* SPDX-License-Identifier: MIT */
#include <pto/tools.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <runtime/base/clock.h>
#include <runtime/base/stop.h>

#define GRACE_NS UINT64_C(2000000000) /* in which a run may end by itself */

static struct pto_stop stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned depth;            /* under the lock */
static struct sigaction before;   /* begin → the handler, which stands before it is set */
static _Atomic uint64_t asked_ns; /* handler → handler */

/* Async-signal-safe. */
static void on_interrupt(int signal, siginfo_t *info, void *machine) {
  const uint64_t now_ns = pto_clock_ns();
  if (!atomic_exchange_explicit(&stop.is_asked, true, memory_order_relaxed))
    atomic_store_explicit(&asked_ns, now_ns, memory_order_relaxed);
  else if (now_ns - atomic_load_explicit(&asked_ns, memory_order_relaxed) >= GRACE_NS) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(signal, &action, NULL);
    raise(signal);
  }
  if (before.sa_flags & SA_SIGINFO)
    before.sa_sigaction(signal, info, machine);
  else
    before.sa_handler(signal);
}

struct pto_stop *pto_tools_interrupts_begin(void) {
  pthread_mutex_lock(&lock);
  if (depth++ == 0) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_sigaction = on_interrupt;
    sigaction(SIGINT, NULL, &before);
    action.sa_flags = (before.sa_flags & SA_RESTART) | SA_SIGINFO;
    if ((before.sa_flags & SA_SIGINFO) || (before.sa_handler != SIG_IGN && before.sa_handler != SIG_DFL))
      sigaction(SIGINT, &action, NULL);
  }
  pthread_mutex_unlock(&lock);
  return &stop;
}

void pto_tools_interrupts_end(void) {
  pthread_mutex_lock(&lock);
  if (--depth == 0) {
    struct sigaction now;
    sigaction(SIGINT, NULL, &now); /* one that was set later stays */
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_interrupt) sigaction(SIGINT, &before, NULL);
    atomic_store_explicit(&stop.is_asked, false, memory_order_relaxed);
  }
  pthread_mutex_unlock(&lock);
}
