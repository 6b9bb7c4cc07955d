/* SPDX-License-Identifier: MIT */
#include <runtime/base/thread.h>

#include <errno.h>
#include <inttypes.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>

#include <runtime/base/sanitizer.h>

uint32_t pto_thread_fail_countdown;

struct start {
  void *(*run)(void *);
  void *argument;
  sem_t has_begun;
};

static void *begin(void *opaque) {
  struct start *start = opaque;
  void *(*const run)(void *) = start->run;
  void *const argument = start->argument;
  sem_post(&start->has_begun);
  return run(argument);
}

/* As pthread_create, for a thread that blocks what can wait. */
static int create(pthread_t *thread_out, void *(*run)(void *), void *argument) {
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (uint32_t i = 0; i < PTO_ARRAY_LENGTH(faults); i++) sigdelset(&blocked, faults[i]);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);
  const int error = pthread_create(thread_out, NULL, run, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return error;
}

/* A sanitizer holds locks of its own while a thread begins: a process forked in that time finds them held for ever. */
static int create_and_wait(pthread_t *thread_out, void *(*run)(void *), void *argument) {
  struct start start = {.run = run, .argument = argument};
  sem_init(&start.has_begun, 0, 0);
  const int error = create(thread_out, begin, &start);
  while (error == 0 && sem_wait(&start.has_begun) != 0) {
  }
  sem_destroy(&start.has_begun);
  return error;
}

bool pto_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument, int *error_out) {
  if (pto_thread_fail_countdown && --pto_thread_fail_countdown == 0) {
    *error_out = EAGAIN;
    return false;
  }
  const int error = PTO_HAS_SANITIZER ? create_and_wait(thread_out, run, argument) : create(thread_out, run, argument);
  if (error) *error_out = error;
  return error == 0;
}

void pto_thread_name_worker(pthread_t thread, uint32_t index) {
  char name[16];
  snprintf(name, sizeof name, "pto-worker-%" PRIu32, index);
  pthread_setname_np(thread, name);
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
