/* SPDX-License-Identifier: MIT */
/*
 * A runtime's counters as PAPI reads them while a run goes on (runtime/base/software_events.h).
 *
 * Owns a copy of each counter, which the control thread brings up to date whenever it looks for completions (within
 * PTO_POLL_INTERVAL submits) and at a run's begin and end.  Any thread reads the copies; the control thread itself,
 * which is in the orchestration or in a kernel then, reads what is true at that moment.
 *
 * Always true: what only grows does so over all runs since it was published.
 *
 * Who does not publish pays one look at a pointer for each of those occasions, and none for a task.
 */
#ifndef PTO_RUNTIME_CONTROL_PUBLISHED_COUNTERS_H
#define PTO_RUNTIME_CONTROL_PUBLISHED_COUNTERS_H

#include <pthread.h>
#include <stdatomic.h>

#include <runtime/base/software_events.h>

struct pto_runtime;

struct pto_published_counters {
  /* control thread → readers.  Relaxed: each is a number by itself. */
  _Atomic uint64_t values[PTO_SOFTWARE_EVENT_COUNT];
  /* control thread → readers, to know whether it is the same.  Relaxed: a thread sees its own stores. */
  _Atomic(pthread_t) control_thread;
  _Atomic bool has_control_thread;           /* while pto_run calls an orchestration */
  uint64_t before[PTO_SOFTWARE_EVENT_COUNT]; /* of earlier runs, for what only grows */
  struct pto_software_events events;
  struct pto_runtime *rt;
};

/* The control thread.  PTO_OK, PTO_ENOTSUP or PTO_ENOMEM, with nothing published. */
PTO_MUST_CHECK int pto_published_counters_create(struct pto_runtime *rt, struct pto_published_counters **out);
/* Takes NULL too. */
void pto_published_counters_destroy(struct pto_published_counters *counters);
/* Copies what the runtime has now. */
void pto_published_counters_update(struct pto_published_counters *counters);
/* Before the runtime's own counters start from 0 for a new run. */
void pto_published_counters_next_run(struct pto_published_counters *counters);
/* The calling thread is the control thread until it says that it is not. */
void pto_published_counters_set_control(struct pto_published_counters *counters, bool is_control);

#endif
