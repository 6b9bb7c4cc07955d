/* SPDX-License-Identifier: MIT */
/*
 * Kernel calls on several threads, while time stays that of one: of virtual time with two workers and more.
 *
 * How long a call takes is known from its descriptors.  What it computes is not asked for before the runtime hears of
 * its end.  So the control thread *opens* a call when its begin is taken, and *joins* it when its end is.  In between
 * it lies in a ring from which the workers take the oldest, and the control thread too where it would wait for one.
 *
 * Always true:
 *
 *     open calls = opened − joined ≤ 1 a core,   so no more than the ring holds
 *
 * The runtime hears of a completion after the join, so a call sees what the tasks have written that its own comes
 * after, and memory is freed and used again after all calls that touch it.  Calls of one core follow each other.  What
 * is open at one time is ordered by no edge: it is for programs whose rules order all that conflicts.
 *
 * Threads: the control thread calls all functions.  A worker takes calls, and sleeps where there are none; crash
 * reports and the watchdog are told by each thread of its own call.  What is handed over: a call's fields with the
 * ring's message, its status and what the kernel wrote with is_done.
 *
 * Owned by the cores; all memory is reserved at init.  Zeroed: no workers, and nothing may be opened.
 */
#ifndef PTO_SIM_VIRTUAL_KERNEL_CALLS_H
#define PTO_SIM_VIRTUAL_KERNEL_CALLS_H

#include <runtime/base/reserve.h>
#include <runtime/base/wait.h>
#include <sim/engine/engine.h>
#include <sim/host/watchdog.h>
#include <sim/threads/message_ring.h>

/* As in sim/threads; more would not find as many calls open. */
#define PTO_KERNEL_CALLS_MAX_WORKERS 256u

/* Of one core: written by the control thread before it is opened, then by the thread that runs it. */
struct pto_kernel_call {
  _Alignas(PTO_CACHE_LINE) const struct pto_message *message; /* borrowed until the join, as its view */
  struct pto_core *view;
  char *usual_sentence; /* where kernels of the view leave theirs otherwise */
  uint32_t usual_size;
  int32_t status;
  bool is_open; /* the control thread's */
  /* who ran it → control: its status, and all that the kernel wrote.  The store is N1 of wait.h, the load W2. */
  _Atomic uint32_t is_done;
};

struct pto_kernel_calls {
  struct pto_message_ring ring;      /* of core indexes */
  struct pto_kernel_call *calls;     /* by core */
  struct pto_kernel_caller *callers; /* by thread; [0] is the control thread */
  uint32_t core_count, worker_count; /* callers, the control thread counted; 0: zeroed */
  uint32_t thread_count;             /* of these the threads that were started */
  struct pto_wait joining;           /* the control thread waits, workers notify */
  struct pto_watchdog watchdog;
  struct pto_reserve memory;
};

/* How many threads are to run calls, the control thread counted.  One where a tool watches memory: it tells what a
 * kernel may touch by what the one kernel is that runs. */
uint32_t pto_kernel_calls_worker_count(const struct pto_engine_config *config, uint32_t core_count);
/* For two workers and more.  PTO_OK, or PTO_ENOMEM or PTO_ESYSTEM with half-made parts freed. */
PTO_MUST_CHECK int pto_kernel_calls_init(struct pto_kernel_calls *calls, const struct pto_engine_config *config,
                                         uint32_t core_count, uint32_t worker_count, struct pto_error *error);
/* A zeroed struct is allowed, and calls that are open. */
void pto_kernel_calls_fini(struct pto_kernel_calls *calls);

/* Opens the call of a message whose arguments are in `view`; its sentence, should it fail, goes to `sentence`. */
void pto_kernel_calls_open(struct pto_kernel_calls *calls, const struct pto_message *message, struct pto_core *view,
                           char *sentence, uint32_t sentence_size);
/* Runs calls until that of `core` has returned; its status. */
int pto_kernel_calls_join(struct pto_kernel_calls *calls, uint32_t core);
/* Waits for all that are open.  Each is still to be joined. */
void pto_kernel_calls_finish(struct pto_kernel_calls *calls);
/* Joins all that are open. */
void pto_kernel_calls_drop(struct pto_kernel_calls *calls);

#endif
