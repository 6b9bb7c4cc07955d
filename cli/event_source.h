/* SPDX-License-Identifier: MIT */
/*
 * Who counts events for a thread: the machine (cli/machine_events.h), or a test.
 *
 * A set counts for the thread that opened it, from then on until it is closed by that thread; reading it does not
 * disturb it.  Values count from
 * any moment on, so that differences of two say what happened between them.  A source is a constant, and may be used by
 * many threads at once.
 */
#ifndef PTO_EVENT_SOURCE_H
#define PTO_EVENT_SOURCE_H

#include <stdint.h>

#include <runtime/base/error.h>

struct pto_event_source {
  /* Of these events, for the calling thread.  PTO_OK, or a negative status with the sentence. */
  int (*open)(const char *const *names, uint32_t count, void **set_out, struct pto_error *error);
  /* values[i]: what has been counted of names[i].  PTO_OK or a negative status. */
  int (*read)(void *set, int64_t *values);
  void (*close)(void *set);
  /* The calling thread, which has closed its sets, is about to end.  NULL: it need not be told. */
  void (*leave_thread)(void);
};

#endif
