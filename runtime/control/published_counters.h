/* SPDX-License-Identifier: MIT */
/*
 * A runtime's counters as PAPI reads them while a run goes on, by the names sde:::pto::tasks, sde:::pto::edges and so
 * on (pto::tasks in what follows).  Those of a second runtime that publishes while the first one's are there are called
 * pto2::tasks, and so on up to pto8.
 *
 * The one user of libsde (package libpapi-dev), which is optional.  It has one table of names a process, and entries
 * that were made stay in it: events of a name without an owner keep their values, and count on with the next owner.
 *
 * Owns a copy of each counter, which the control thread brings up to date whenever it looks for completions (within
 * PTO_POLL_INTERVAL submits) and at a run's begin and end.  Any thread reads the copies by PAPI; the control thread
 * itself, which is in the orchestration or in a kernel then, reads what is true at that moment.
 *
 * Always true: what only grows does so over all runs since it was published.
 *
 * Who does not publish pays one look at a pointer for each of those occasions, and none for a task.
 *
 * A further counter is a line of the list, and its value in take() of published_counters.c.
 */
#ifndef PTO_RUNTIME_CONTROL_PUBLISHED_COUNTERS_H
#define PTO_RUNTIME_CONTROL_PUBLISHED_COUNTERS_H

#include <pthread.h>
#include <stdatomic.h>

#include <pto/status.h>
#include <runtime/base/base.h>

struct pto_runtime;

/* X(name, whether it only grows, what it counts).  PAPI gives what one that only grows has grown by since PAPI_start,
 * and of the others the value at that moment. */
#define PTO_PUBLISHED_COUNTER_LIST(X)                                                                                  \
  X(tasks, true, "tasks submitted")                                                                                    \
  X(edges, true, "dependent pairs of tasks found")                                                                     \
  X(ready, false, "tasks that are ready and have not been sent to a core")                                             \
  X(heap_bytes, false, "bytes in use of the heap rings")                                                               \
  X(stalls, true, "times that the orchestration had to wait before it could go on")                                    \
  X(transfers, true, "tensors moved between host and device, or on the device")                                        \
  X(transfer_bytes, true, "bytes of these tensors")

enum pto_published_counter {
#define X(name, is_sum, text) PTO_PUBLISHED_COUNTER_##name,
  PTO_PUBLISHED_COUNTER_LIST(X)
#undef X
      PTO_PUBLISHED_COUNTER_COUNT
};

struct pto_published_counters {
  /* control thread → readers.  Relaxed: each is a number by itself. */
  _Atomic uint64_t values[PTO_PUBLISHED_COUNTER_COUNT];
  /* control thread → readers, to know whether it is the same.  Relaxed: a thread sees its own stores. */
  _Atomic(pthread_t) control_thread;
  _Atomic bool has_control_thread;              /* while pto_run calls an orchestration */
  uint64_t before[PTO_PUBLISHED_COUNTER_COUNT]; /* of earlier runs, for what only grows */
  struct pto_counter_name *name;                /* NULL: it has none yet */
  struct pto_runtime *rt;
};

/* The control thread.  PTO_OK, PTO_ENOTSUP where libsde is not there or all names are taken, or PTO_ENOMEM. */
PTO_MUST_CHECK int pto_published_counters_create(struct pto_runtime *rt, struct pto_published_counters **out);
/* NULL is allowed. */
void pto_published_counters_destroy(struct pto_published_counters *counters);
/* Copies what the runtime has now. */
void pto_published_counters_update(struct pto_published_counters *counters);
/* Before the runtime's own counters start from 0 for a new run. */
void pto_published_counters_next_run(struct pto_published_counters *counters);
/* The calling thread is the control thread until it says that it is not. */
void pto_published_counters_set_control(struct pto_published_counters *counters, bool is_control);

#endif
