/* SPDX-License-Identifier: MIT */
/*
 * Who is told of the contexts that a program makes of a configuration: pto_config.context_watch.
 *
 * For tools that look at programs which drive contexts of their own: the configuration is all that these have of
 * the tool that runs them.  The configuration borrows the watch for as long as contexts of it live.  Both are called on
 * the thread that makes or destroys the context.
 */
#ifndef PTO_CONTEXT_WATCH_H
#define PTO_CONTEXT_WATCH_H

#include <pto/device.h>
#include <runtime/base/error.h>

struct pto_context_watch {
  /* A context has been made and has done nothing; its tensors will lie in `memory`, whole pages that are its own.
   * PTO_OK, or a failure with its sentence, with which pto_context_create then ends (and `destroyed` is not called). */
  int (*created)(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes, struct pto_error *error);
  /* All that it was asked for is done; before runtime and memory go.  `counters` of all its runs. */
  void (*destroyed)(void *argument, struct pto_runtime *rt, const struct pto_context_counters *counters);
  void *argument;
};

#endif
