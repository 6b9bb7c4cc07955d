/* SPDX-License-Identifier: MIT */
/*
 * A context's state: what calls, queue and executor share.
 *
 *   context.c           create, destroy, info, counters, errors: the calls about the context itself
 *   context_calls.c     what all other calls share: turn and queue
 *   device_calls.c      the calls about tensors: checked, then queued
 *   dispatch_calls.c    those about programs
 *   context_remarks.c   what is told of the program that drives it
 *   executor.c          carries queued commands out, in order
 *
 * Three parties.  A call holds `turn` from begin to end, so there is one at a time.  The executor takes commands from
 * the queue within one run of the runtime after the other: a run goes on until the context ends or something fails.
 * Where the waiting thread is the executor, the run pauses when nothing is queued and all tasks have completed: it
 * stays open, so that edges are the same as where a thread goes on with it.  What both touch (tensors, queue, failure,
 * counters) is under `lock`; a command is the executor's from when it is queued until it counts as done.
 *
 * Always true: done ≤ queued ≤ done + PTO_CONTEXT_QUEUE; while a failure is kept nothing is queued.
 */
#ifndef PTO_CONTEXT_STATE_H
#define PTO_CONTEXT_STATE_H

#include <pthread.h>

#include <device/context_remarks.h>
#include <device/device_backend.h>
#include <device/device_tensors.h>
#include <device/lowering_cache.h>
#include <runtime/base/clock.h>
#include <runtime/control/control.h>
#include <runtime/trace/trace_append.h>

/* Calls that may wait in the queue, and dispatches whose tasks may be on their way: who is further ahead waits. */
#define PTO_CONTEXT_QUEUE 256u
#define PTO_CONTEXT_FLIGHTS 256u

enum pto_command_kind {
  PTO_COMMAND_WRITE,
  PTO_COMMAND_READ,
  PTO_COMMAND_COPY,
  PTO_COMMAND_DESTROY,
  PTO_COMMAND_DISPATCH,
  PTO_COMMAND_SYNC,
  PTO_COMMAND_END_RUN /* so that what was recorded of it is whole: done when the run is over */
};

struct pto_command {
  enum pto_command_kind kind;
  struct pto_device_record *record, *from;
  void *data; /* WRITE: a copy, freed when done; READ: the caller's */
  const struct pto_device_program *program;
  struct pto_device_record **bound; /* inputs, outputs, constants; freed when done */
  uint32_t input_count, output_count;
  const void *call, *outer_call; /* as in struct pto_trace_task, where callers are recorded; else NULL */
};

/* A dispatch whose tasks may not have completed yet: if one fails, what it would have written is undefined. */
struct pto_flight {
  struct pto_host_mark begin, end;
  struct pto_device_record **bound; /* taken from the command */
  uint64_t *output_ids;
  uint32_t input_count, output_count;
};

/* Who keeps something on the context, and is told when that has gone. */
struct pto_context_user {
  struct pto_context_user *next;
  void (*gone)(struct pto_context_user *user);
};

struct pto_context {
  const struct pto_device_backend *backend;
  struct pto_chip chip;
  struct pto_config config;
  struct pto_runtime *rt;
  uint32_t worker_count;
  pthread_mutex_t turn, lock;
  pthread_cond_t is_queued, is_done;
  pthread_t thread;
  bool has_thread, is_ending;
  bool is_watched;                /* the watch of the configuration has been told of it */
  bool has_run;                   /* the executor's: a run goes on, or pauses */
  struct pto_context_user *users; /* under the lock */
  struct pto_device_tensors tensors;
  struct pto_command queue[PTO_CONTEXT_QUEUE]; /* by number modulo its length */
  uint64_t queued, done;                       /* commands so far */
  struct pto_flight flights[PTO_CONTEXT_FLIGHTS];
  uint64_t flights_begin, flights_end; /* the executor's */
  struct pto_lowering_cache lowerings;
  bool is_failing; /* tensors are given up, and the failure is about to be known: calls wait for it */
  bool has_failed;
  struct pto_error failure; /* that is kept */
  struct pto_error refusal; /* of the last call */
  const char *call;         /* the call whose turn it is, for what is told of a refusal; NULL: none is told */
  const char *call_of;      /* the program that it is about; NULL: none */
  struct pto_refusals refusals;
  struct pto_context_remark remarks[PTO_REMARK_COUNT];
  struct pto_trace recording; /* of the runs that have ended, where the configuration records; else zeroed */
  uint64_t ended_ps;          /* virtual time of the runs that have ended */
  struct pto_stats ended;     /* of them: core time by where it comes from */
  uint64_t recording_dropped; /* runs of which there was no memory to keep a recording */
  struct pto_context_counters counters;
  uint64_t first_ns, last_ns; /* when the first call was queued, and the last one done */
};

/* Whether it looks for what there are remarks on. */
bool pto_context_asks(const struct pto_context *context);

static inline void pto_context_lock(struct pto_context *context) { pthread_mutex_lock(&context->lock); }
static inline void pto_context_unlock(struct pto_context *context) { pthread_mutex_unlock(&context->lock); }

/* Borrowed until it is removed, which only one that was added can be, or told that the context has gone. */
void pto_context_add_user(struct pto_context *context, struct pto_context_user *user);
void pto_context_remove_user(struct pto_context *context, struct pto_context_user *user);

/* executor.c */
/* The thread of a context that has one. */
void *pto_executor_main(void *context);
/* Runs what is queued on the calling thread, where there is no such thread; the run stays open until the context is
 * ending. */
void pto_executor_run(struct pto_context *context);
/* Gives a tensor's memory back, and what was kept of dispatches with it.  Under the lock, when no command uses the
 * tensor. */
void pto_executor_remove_tensor(struct pto_context *context, struct pto_device_record *record);

/* Frees what the command owns. */
void pto_command_fini(struct pto_command *command);

#endif
