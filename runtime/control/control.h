/* SPDX-License-Identifier: MIT */
/*
 * What the library's own parts call of a runtime besides pto/runtime.h: contexts, tools, reports.
 *
 * runtime/join has the life of a runtime and of a run (create, begin, drain, end); the rest is in runtime/control.
 * pto_control_create builds a runtime over an engine that the caller made; pto_runtime_create makes the engine that the
 * configuration names and calls it.
 *
 * Always true: between runs no task is unfinished; after a failure each call of a run refuses.
 * Control thread only, but for pto_host_call.
 */
#ifndef PTO_CONTROL_H
#define PTO_CONTROL_H

#include <pto/runtime.h>
#include <runtime/base/error.h>
#include <runtime/port/port.h>
#include <runtime/trace/trace.h>

/* Takes `port`, and `chip`, which the port may borrow and may be NULL: destroyed and freed with the runtime, or here on
 * failure.  `config` is complete (no NULL, size as compiled). */
int pto_control_create(const struct pto_config *config, struct pto_port *port, void *chip, struct pto_runtime **rt_out,
                       struct pto_error *error);

/* ---- for code that moves bytes to and from memory that tasks use; on the control thread, within a run ---- */

/* Waits until the host may read all bytes of `t`, or write them, as pto_read_element and pto_write_element do for one
 * element. */
PTO_MUST_CHECK int pto_host_acquire(struct pto_runtime *rt, const struct pto_tensor *t, bool is_write);
/* Waits until the host may write all bytes of `t`, external memory that is about to go, and forgets who has used them:
 * tasks on what gets their place have no edges to those. */
PTO_MUST_CHECK int pto_host_release(struct pto_runtime *rt, const struct pto_tensor *t);
/* A command of a context begins.  Where the program's call stands that it is of, both as in struct pto_trace_task;
 * NULL: it is not known.  Moves are recorded with it; has_tasks: tasks too, as by pto_call_from, also those of a call
 * list.  `dispatch` is the number of the context's dispatch that tasks are of, counted from 1; 0: it is none. */
void pto_host_call_from(struct pto_runtime *rt, const void *call, const void *outer_call, uint64_t dispatch,
                        bool has_tasks);
/* Takes in what has completed and helps the machine one step along.  False where no task is unfinished, or the run has
 * failed. */
bool pto_host_help(struct pto_runtime *rt);
/* Waits until all tasks have completed, or the run has failed. */
void pto_host_finish_tasks(struct pto_runtime *rt);
/* The host has waited by one of these and goes on, with tasks on their way or not. */
void pto_host_resume(struct pto_runtime *rt);
/* From any thread: pto_host_help, where it is waiting or the next time, returns soon.  Not while the runtime is made or
 * destroyed. */
void pto_host_call(struct pto_runtime *rt);
/* Whether the run has failed: all calls refuse, and the orchestration had best return. */
bool pto_host_has_failed(const struct pto_runtime *rt);
/* By which edges follow from accesses: enum pto_deps_rules. */
uint32_t pto_host_rules(const struct pto_runtime *rt);
/* Adds to the sentence of the run's error, else of the last refused call: how far the caller had come. */
void pto_host_append_error(struct pto_runtime *rt, const char *text);
/* Lets the orchestrator's virtual time come to `ps`; nothing where time is real, or it is later already. */
void pto_host_wait_until(struct pto_runtime *rt, uint64_t ps);
/* Tasks of one block on one core that are submitted from now on go to core_of_task[number of the task], where number <
 * count; NULL: to any.  Borrowed until the runtime is destroyed, or the next call. */
void pto_host_place(struct pto_runtime *rt, const uint16_t *core_of_task, uint64_t count);
/* Copies bytes that have been acquired.  `ps` of the orchestrator's virtual time pass; none where time is real.  The
 * timeline has it as `activity`. */
struct pto_host_move {
  void *to;
  const void *from;
  uint64_t size_bytes, ps;
  enum pto_control_activity activity; /* PTO_CONTROL_TO_DEVICE, _TO_HOST or _ON_DEVICE */
};
void pto_host_move(struct pto_runtime *rt, const struct pto_host_move *move);

/* A place in the order of submits: how far each ring has come. */
struct pto_host_mark {
  uint64_t heads[4];
};
void pto_host_mark(const struct pto_runtime *rt, struct pto_host_mark *mark);
/* How many scopes are open besides the run's own. */
uint32_t pto_host_scope_depth(const struct pto_runtime *rt);
/* Whether all tasks submitted between two marks have completed. */
bool pto_host_has_finished(const struct pto_runtime *rt, const struct pto_host_mark *from,
                           const struct pto_host_mark *to);

/* ---- a run in pieces: pto_run is a begin, an orchestration and an end ---- */

/* A run goes on until pto_host_end_run, whichever threads make the calls, one at a time.  PTO_OK, or why there is none:
 * then it must not be ended. */
PTO_MUST_CHECK int pto_host_begin_run(struct pto_runtime *rt);
/* `returned` by the orchestration.  Waits for all tasks; the status of the run. */
PTO_MUST_CHECK int pto_host_end_run(struct pto_runtime *rt, int returned);
/* Waits for all tasks; the orchestrator's clock goes on to when it knows.  The caller looks at rt's failure. */
void pto_host_drain(struct pto_runtime *rt);
/* Virtual time of the run so far; 0 where time is real. */
uint64_t pto_host_elapsed_ps(const struct pto_runtime *rt);

/* Around the call of an orchestration, from the function whose frame that is (__builtin_frame_address(0)): functions
 * between there and a submit are the program's own, and the watchdog looks at it. */
void pto_host_begin_orchestration(struct pto_runtime *rt, const void *frame);
void pto_host_end_orchestration(struct pto_runtime *rt);

/* Submits of the last run that were refused, which the run survives, or calls on a context; of the first of them the
 * rest. */
struct pto_refusals {
  uint64_t count;
  bool is_of_context;   /* then `task` is the call: "dispatch \"step\"" */
  uint64_t task_number; /* that it would have had; of a context 0 */
  const void *call;     /* as in struct pto_trace_task, as is outer_call */
  const void *outer_call;
  struct pto_error error;
  char task[64];     /* "update \"row 3\"" */
  char tensors[256]; /* "a, l, buffer 5": those of its parameters, in order */
};
const struct pto_refusals *pto_runtime_refusals(const struct pto_runtime *rt);
/* Of the kernel that ended the last run by an error: where its task was submitted, as in struct pto_trace_task, where
 * the run recorded its graph; what the call returns to that pto/core.h or pto/remote.h refused it.  Else NULL. */
struct pto_failed_kernel {
  uint64_t task_number;
  uint64_t dispatch; /* as there */
  const void *call, *outer_call;
  const void *refused_call;
  const struct pto_kernel *kernel; /* NULL: no kernel has failed */
};
const struct pto_failed_kernel *pto_runtime_failed_kernel(const struct pto_runtime *rt);
/* Where the scope was opened that the orchestration of the last run has left open; NULL: it has left none. */
const void *pto_runtime_left_open(const struct pto_runtime *rt);
/* The label, or "buffer 5", of the buffer that has the byte; "" where none has.  Any process forked off will do.
 * Returns `text`. */
const char *pto_runtime_name_bytes(const struct pto_runtime *rt, uint64_t addr, char *text, size_t size);
/* Whether the message is of a task of this runtime. */
bool pto_runtime_has_message(const struct pto_runtime *rt, const struct pto_message *message);
/* The label of the task whose kernel was sent by this message, and has not returned; NULL: it has none. */
const char *pto_runtime_message_label(const struct pto_runtime *rt, const struct pto_message *message);

/* What was recorded of the last run; borrowed until the next run.  NULL where the configuration recorded nothing. */
const struct pto_trace *pto_runtime_trace(const struct pto_runtime *rt);
/* Who waited for whom when the last run stopped by an error; borrowed until the next run.  NULL where it did not, or
 * the orchestration itself said so (PTO_EUSER). */
struct pto_wait_picture;
const struct pto_wait_picture *pto_runtime_wait_picture(const struct pto_runtime *rt);
/* The same of a run that goes on, as it is now: for a process forked because of a kernel that crashed or does not come
 * back, where no other thread is left.  `status` is what the run ends with.  NULL where no run goes on. */
const struct pto_wait_picture *pto_runtime_picture_now(struct pto_runtime *rt, int status);
/* Told of what becomes of memory during a run, on the control thread. */
struct pto_memory_watch {
  /* A managed buffer has got memory, which nothing has written yet. */
  void (*allocated)(void *context, uint64_t buffer_number, uint64_t addr, uint64_t size_bytes);
  /* External memory, of at least one byte. */
  void (*registered)(void *context, uint64_t buffer_number, uint64_t addr, uint64_t size_bytes);
  /* The orchestration, or a put or a get of several ranks, is about to write. */
  void (*host_writes)(void *context, uint64_t addr, uint64_t size_bytes);
  /* The orchestration, called from `call`, is about to read. */
  void (*host_reads)(void *context, uint64_t addr, uint64_t size_bytes, const void *call);
  /* The predicate of this slot's task was decided by the element, in two's complement; the task runs if it holds. */
  void (*decided)(void *context, uint32_t slot, int64_t element, bool holds);
  void *context;
};
/* Between runs; `watch` is borrowed until the next call. */
void pto_runtime_watch(struct pto_runtime *rt, const struct pto_memory_watch *watch);
/* Between runs: whether the runs from now on are recorded, as the configuration asked for. */
void pto_runtime_set_recording(struct pto_runtime *rt, bool is_on);
/* The engine under a runtime, for reports. */
struct pto_port *pto_runtime_port(struct pto_runtime *rt);

#endif
