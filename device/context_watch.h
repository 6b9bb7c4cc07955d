/* SPDX-License-Identifier: MIT */
/*
 * For tools that look at programs which drive contexts of their own: who is told of the contexts that a program makes,
 * and what a context has recorded.
 *
 * The configuration (pto_config.context_watch) is all that such programs have of the tool that runs them.  It borrows
 * the watch for as long as contexts of it live.  Its functions are called on the thread that makes or destroys the
 * context.
 *
 * A context whose configuration records (pto_config.record) keeps what all of its runs did, one behind the other
 * (runtime/trace/trace_append.h): a run ends with a failure, and when this is asked for.  The context owns it.
 */
#ifndef PTO_CONTEXT_WATCH_H
#define PTO_CONTEXT_WATCH_H

#include <pto/device.h>
#include <device/context_remarks.h>
#include <runtime/base/error.h>
#include <runtime/control/control.h>
#include <runtime/trace/trace.h>

/* Dispatches that are carried out before the call returns, tasks and all, as a context may do: `left` of them, over all
 * contexts of one thread.  Written at each: what is known of the last. */
struct pto_context_hurry {
  uint64_t left, made;
  const void *call, *outer_call; /* as in struct pto_trace_task */
  char program[64];
};

/* What a context comes to. */
struct pto_context_end {
  const struct pto_context_counters *counters; /* of all its runs */
  const struct pto_trace *recording;           /* of them: zeroed where none recorded anything, NULL without memory */
  const struct pto_refusals *refusals;         /* of calls on it, which went on */
  const struct pto_context_remark *remarks;    /* PTO_REMARK_COUNT */
  const struct pto_error *failure;             /* that is kept to the end; NULL: none is */
};

struct pto_context_watch {
  /* A context has been made and has done nothing; its tensors will lie in `memory`, whole pages that are its own.
   * PTO_OK, or a failure with its sentence, with which pto_context_create then ends (and `destroyed` is not called). */
  int (*created)(void *argument, struct pto_runtime *rt, void *memory, uint64_t memory_bytes, struct pto_error *error);
  /* All that it was asked for is done; before runtime and memory go. */
  void (*destroyed)(void *argument, struct pto_runtime *rt, const struct pto_context_end *end);
  void *argument;
  /* Whether the context looks for what it has remarks on: then programs that repeat are called at each dispatch, what
   * they submit is submitted, and it is compared with what was kept. */
  bool asks;
  struct pto_context_hurry *hurry; /* NULL: none is */
};

/* Carries out what is queued, and ends the run that is on its way.  *recording_out: what was recorded of all of them,
 * NULL where the configuration records nothing or nothing has run; borrowed until the next call on the context.
 * PTO_OK; the failure that is kept, with the recording set all the same; or PTO_ENOMEM where some of it was lost. */
PTO_MUST_CHECK int pto_context_recording(struct pto_context *context, const struct pto_trace **recording_out);

#endif
