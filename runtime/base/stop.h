/* SPDX-License-Identifier: MIT */
/*
 * What asks runs to end: the interrupt of ptosim sets it, and runtimes whose configuration names it look at it whenever
 * they look at completions, end with PTO_EINTERRUPTED, and say here how far they have come.
 *
 * Who asks owns it.  Any thread, and a signal handler, may ask; control threads say.
 */
#ifndef PTO_STOP_H
#define PTO_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All relaxed: nothing is handed over with them. */
struct pto_stop {
  atomic_bool is_asked;     /* who asks → control threads */
  _Atomic uint64_t counted; /* control thread that runs → progress line: tasks that have completed */
};

static inline bool pto_stop_is_asked(const struct pto_stop *stop) {
  return atomic_load_explicit(&stop->is_asked, memory_order_relaxed);
}

#endif
