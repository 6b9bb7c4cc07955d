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

bool pto_thread_use_fault_stack(void *memory) {
  stack_t stack = {.ss_sp = memory, .ss_size = PTO_THREAD_FAULT_STACK_BYTES}, before;
  if (sigaltstack(NULL, &before) != 0 || !(before.ss_flags & SS_DISABLE)) return false;
  return sigaltstack(&stack, NULL) == 0;
}

void pto_thread_drop_fault_stack(void) {
  stack_t none = {.ss_flags = SS_DISABLE};
  sigaltstack(&none, NULL);
}
