/* SPDX-License-Identifier: MIT */
/*
 * Starting threads of the library.
 *
 * Owns no state but a test hook.  A thread started here blocks every signal that can wait, so that interrupts and
 * terminal signals reach the threads of the embedding program; faults in a kernel (SIGSEGV and its like) stay
 * deliverable. Any thread may call; whoever starts a thread joins it.
 */
#ifndef PTO_THREAD_H
#define PTO_THREAD_H

#include <pthread.h>

#include <runtime/base/base.h>

/* False where the system refuses, with *error_out the errno value. */
bool pto_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument, int *error_out);

/* For tests of creation: the n-th start from now on fails (0: none).  Per process, set by tests alone. */
extern uint32_t pto_thread_fail_countdown;

#endif
