/* SPDX-License-Identifier: MIT */
/*
 * Remarks of a context on the program that drives it: what no call refuses and no task declares, and is wrong all the
 * same.  For tools (context_watch.h); a context without a watch that asks makes none.
 *
 * Owned by the context.  The executor writes those of PTO_REMARK_REPEATS, calls the others under its lock; who is
 * told of them by the watch reads them when it has ended.
 */
#ifndef PTO_CONTEXT_REMARKS_H
#define PTO_CONTEXT_REMARKS_H

#include <runtime/control/call_list_compare.h>

enum pto_context_remark_kind {
  PTO_REMARK_REPEATS,    /* a program that says `repeats` would submit something else */
  PTO_REMARK_READ_EARLY, /* a tensor is an input, and then the host gives it its first values */
  PTO_REMARK_READ_BACK,  /* the host reads a tensor that nothing has given values */
  PTO_REMARK_COUNT
};

/* The first of its kind. */
struct pto_context_remark {
  uint64_t count;          /* of all of its kind; 0: there is none, and nothing else is set */
  uint64_t task;           /* it is about, by number in the run of the runtime; UINT64_MAX: none */
  const void *calls[2][2]; /* where that was submitted, where the context was called: each with its outer call, as
                            * in struct pto_trace_task; NULL: not known */
  char kernel[48];         /* of the task; "": none */
  char sentence[512], remedy[160];
};

struct pto_context;
struct pto_command;

/* A command is queued: what it says of which tensors have values.  Under the context's lock. */
void pto_context_remark_queued(struct pto_context *context, const struct pto_command *command);

/* The command, a dispatch, submits something else than what was kept of its program.  `first_task`: the number of its
 * first. */
void pto_context_remark_repeats(struct pto_context *context, const struct pto_command *command,
                                const struct pto_call_difference *difference, uint64_t first_task);

#endif
