/* SPDX-License-Identifier: MIT */
/*
 * Starting threads of the library.
 *
 * Owns no state but a test hook.  A thread started here blocks every signal that can wait, so that interrupts and
 * terminal signals reach the threads of the embedding program; faults in a kernel (SIGSEGV and its like) stay
 * deliverable.  Under a sanitizer it has begun when the call returns, so that the process may fork.  Any thread may
 * call; the thread that starts one joins it.
 */
#ifndef PTO_THREAD_H
#define PTO_THREAD_H

#include <pthread.h>

#include <runtime/base/base.h>

/* False where the system refuses, with *error_out the errno value. */
bool pto_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument, int *error_out);

/* Names a thread "pto-worker-INDEX", by which tools know a worker.  For who started it, so that it has the name before
 * anything is done with it, however late it runs. */
void pto_thread_name_worker(pthread_t thread, uint32_t index);

/* What a handler that describes a fault needs, with room for the registers that the kernel saves (AVX-512: 3.5 KiB). */
#define PTO_THREAD_FAULT_STACK_BYTES 65536u

/* Lets handlers with SA_ONSTACK run on `memory` (PTO_THREAD_FAULT_STACK_BYTES, may be in the thread's first frame), so
 * that a kernel that has used up its stack can be reported.  Nothing, and false, where the thread has such a stack
 * already (sanitizers give it one).  To be taken back by pto_thread_drop_fault_stack before `memory` goes. */
bool pto_thread_use_fault_stack(void *memory);
void pto_thread_drop_fault_stack(void);

/* For tests of creation: the n-th start from now on fails (0: none).  Per process, set by tests alone. */
extern uint32_t pto_thread_fail_countdown;

#endif
