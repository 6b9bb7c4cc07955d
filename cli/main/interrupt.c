/* SPDX-License-Identifier: MIT */
#include <cli/main/interrupt.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <cli/main/fault_report.h>
#include <report/run/exit.h>

#define GRACE_SECONDS 2 /* in which a run may end by itself */

static struct pto_stop interrupt_stop;
static atomic_bool may_finish;

/* ---- in handlers: async-signal-safe ---- */

_Noreturn static void end_at_once(void) {
  if (isatty(STDERR_FILENO)) (void)!write(STDERR_FILENO, "\r\033[K", 4); /* a progress line */
  _exit(PTO_EXIT_INTERRUPTED);
}

static void handle(int signal, void (*handler)(int signal)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  action.sa_handler = handler;
  sigaction(signal, &action, NULL);
}

static void on_alarm(int signal) {
  (void)signal;
  if (!pto_fault_report_interrupt()) end_at_once();
}

/* Until then an alarm is the program's own. */
static void on_interrupt(int signal) {
  (void)signal;
  if (atomic_exchange_explicit(&interrupt_stop.is_asked, true, memory_order_relaxed)) end_at_once();
  handle(SIGALRM, on_alarm);
  if (!atomic_load_explicit(&may_finish, memory_order_relaxed)) alarm(GRACE_SECONDS);
}

/* ---- elsewhere ---- */

void pto_interrupt_begin(void) {
  struct sigaction old;
  if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler != SIG_IGN) handle(SIGINT, on_interrupt);
}

void pto_interrupt_let_finish(void) {
  atomic_store_explicit(&may_finish, true, memory_order_relaxed);
  alarm(0);
}

bool pto_interrupted(void) { return pto_stop_is_asked(&interrupt_stop); }
struct pto_stop *pto_interrupt_stop(void) {
  return &interrupt_stop;
}
