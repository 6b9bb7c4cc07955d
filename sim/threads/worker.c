/* SPDX-License-Identifier: MIT */
#include <sim/threads/worker.h>

#include <stdio.h>
#include <unistd.h>

#include <runtime/trace/trace.h>
#include <sim/threads/engine.h>

void pto_threads_append_span(struct pto_threads_worker *worker, const struct pto_message *message, uint32_t core,
                             uint64_t begin, uint64_t end) {
  struct pto_trace_log *log = &worker->shared->trace->spans[worker->index];
  struct pto_trace_span *span = pto_trace_log_append(log);
  if (!span) return;
  if (PTO_UNLIKELY(!log->writer_tid)) log->writer_tid = (uint32_t)gettid();
  *span = (struct pto_trace_span){.begin = begin,
                                  .end = end,
                                  .task = (uint32_t)message->payload->task_number,
                                  .block_index = message->block_index,
                                  .core = (uint16_t)core,
                                  .role = message->role,
                                  .worker = (uint8_t)worker->index};
}

/* The end of the submit in which the control thread runs this kernel, where it does and has just read the clock. */
static inline uint64_t take_submit_end(struct pto_threads_worker *worker) {
  if (worker->index != 0) return 0;
  struct pto_trace_log *control = &worker->shared->trace->control;
  const uint64_t end = control->last_time;
  control->last_time = 0;
  return end;
}

static int run_metered(const struct pto_threads_shared *shared, const struct pto_message *message,
                       struct pto_core *view) {
  pto_meter_begin(shared->meter);
  const int status = pto_message_run(message, view);
  pto_meter_end(shared->meter, message, view, true);
  return status;
}

/* The core that a timeline shows: of a kernel that MAY_MOVE each of the worker's in turn, as the chip would use them.
 */
static uint32_t shown_core(struct pto_threads_worker *worker, const struct pto_message *message,
                           const struct pto_core *view) {
  const struct pto_threads_engine *engine = worker->engine;
  if (!(message->flags & PTO_MESSAGE_MAY_MOVE)) return view->index;
  uint32_t *shown = &worker->shown[message->role != 0];
  for (uint32_t i = 0, core = *shown; i < engine->core_count; i++) {
    core = core + 1 < engine->core_count ? core + 1 : 0;
    if (engine->core_worker[core] == worker->index && engine->cores[core].view.kind == view->kind) return *shown = core;
  }
  return view->index;
}

/* Runs the kernel with a span around it.  Kernels that follow each other share one reading of the clock, as do a
 * kernel and the submit in which it is run. */
static PTO_NOINLINE int run_recorded(struct pto_threads_worker *worker, const struct pto_message *message,
                                     struct pto_core *view) {
  const struct pto_trace *trace = worker->shared->trace;
  uint64_t begin = take_submit_end(worker);
  if (!begin) begin = worker->last_end ? worker->last_end : pto_trace_now(trace);
  const int status = run_metered(worker->shared, message, view);
  worker->last_end = pto_trace_now(trace);
  pto_threads_append_span(worker, message, shown_core(worker, message, view), begin, worker->last_end);
  return status;
}

PTO_COLD int16_t pto_threads_store_failure(struct pto_threads_worker *worker, const struct pto_message *message,
                                           int status, const char *sentence) {
  if (!worker->has_failed) {
    const bool may_move = message->flags & PTO_MESSAGE_MAY_MOVE;
    worker->failed_core = may_move ? worker->movers[message->role != 0].index : message->core;
    snprintf(worker->failure_sentence, PTO_THREADS_SENTENCE_BYTES, "%s", sentence);
    worker->has_failed = true;
  }
  return pto_completion_status(status);
}

static PTO_NOINLINE int run_with_extras(struct pto_threads_worker *worker, const struct pto_message *message,
                                        struct pto_core *view) {
  const struct pto_threads_shared *shared = worker->shared;
  if (shared->delay) shared->delay(worker);
  const int status = shared->trace ? run_recorded(worker, message, view) : run_metered(shared, message, view);
  if (shared->delay) shared->delay(worker);
  return status;
}

int pto_threads_run_observed(struct pto_threads_worker *worker, const struct pto_message *message,
                             struct pto_core *view) {
  const struct pto_threads_shared *shared = worker->shared;
  if (shared->has_watchdog) pto_watchdog_begin(worker->line, message);
  const int status = shared->has_extras ? run_with_extras(worker, message, view) : pto_message_run(message, view);
  if (shared->has_watchdog) pto_watchdog_end(worker->line);
  return status;
}
