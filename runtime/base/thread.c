/* SPDX-License-Identifier: MIT */
#include <runtime/base/thread.h>

#include <errno.h>
#include <signal.h>

uint32_t pto_thread_fail_countdown;

bool pto_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument, int *error_out) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  sigset_t blocked, before;
  if (pto_thread_fail_countdown && --pto_thread_fail_countdown == 0) {
    *error_out = EAGAIN;
    return false;
  }
  sigfillset(&blocked);
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(faults); i++) sigdelset(&blocked, faults[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  int error = pthread_create(thread_out, NULL, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) *error_out = error;
  return error == 0;
}
