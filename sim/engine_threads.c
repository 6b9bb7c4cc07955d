/* SPDX-License-Identifier: MIT */
/*
 * The threads engine: simulated cores multiplexed over W threads, in real time.
 *
 * Owns W − 1 worker threads, a pair of mailboxes for each, the cores' descriptions and local memories, and the
 * watchdog.  Worker 0 is the control thread: its cores' messages go through a pair of mailboxes as well, which then has
 * both its ends on one thread, so dispatch, poll and the running of messages are one path for all.  Beside that path
 * the control thread runs kernels too short to be worth one (`run`), which grain.h judges.
 *
 * Always true: core c lives on worker core_worker[c] for ever, and a worker runs its messages in the order sent; so
 * does a core.  And because
 *
 *     in_flight[w] = dispatched to w − polled from w ≤ slots_per_core · cores of w + taken[w] ≤ capacity of its
 * mailboxes,
 *
 * no mailbox is ever full.  A message that MAY_MOVE can be taken back by the control thread (engine_threads_taking.c).
 *
 * Threads.  The control thread calls every operation of the port but `call`, which is for all others.  A worker reads
 * `shared` and its own struct, writes its own lines and records, and sleeps where its inbox is empty; between runs all
 * of them do.  The control thread sleeps on one pto_wait for all outboxes and calls.  What the control thread writes
 * while a run goes on is in the last part of `struct pto_threads_engine` and read by nobody else.
 *
 * Everything is in two reserves made at creation; nothing is allocated afterwards.  See docs/concurrency.md.
 */
#include <sim/engine_threads.h>

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <runtime/base/thread.h>
#include <runtime/trace/trace.h>
#include <sim/engine_current.h>
#include <sim/engine_threads_state.h>

static struct pto_threads_engine *engine_of(struct pto_port *port) { return (struct pto_threads_engine *)(void *)port; }
static const struct pto_threads_engine *const_engine_of(const struct pto_port *port) {
  return (const struct pto_threads_engine *)(const void *)port;
}

/* ---- running kernels: on workers and on the control thread ---- */

void pto_threads_append_span(struct pto_threads_worker *worker, const struct pto_message *message, uint64_t begin,
                             uint64_t end) {
  struct pto_trace_log *log = &worker->shared->trace->spans[worker->index];
  struct pto_trace_span *span = pto_trace_log_append(log);
  if (!span) return;
  if (PTO_UNLIKELY(!log->writer_tid)) log->writer_tid = (uint32_t)gettid();
  *span = (struct pto_trace_span){.begin = begin,
                                  .end = end,
                                  .task = (uint32_t)message->payload->task_number,
                                  .block_index = message->block_index,
                                  .core = message->core,
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

/* Runs the kernel with a span around it.  Kernels that follow each other share one reading of the clock, as do a
 * kernel and the submit in which it is run. */
static PTO_NOINLINE int run_recorded(struct pto_threads_worker *worker, const struct pto_message *message,
                                     struct pto_core *view) {
  const struct pto_trace *trace = worker->shared->trace;
  uint64_t begin = take_submit_end(worker);
  if (!begin) begin = worker->last_end ? worker->last_end : pto_trace_now(trace);
  const int status = run_metered(worker->shared, message, view);
  worker->last_end = pto_trace_now(trace);
  pto_threads_append_span(worker, message, begin, worker->last_end);
  return status;
}

/* Keeps the first sentence of each core: a later kernel on the core may fail while the control thread reads it. */
static PTO_COLD int16_t keep_failure(struct pto_threads_core *core, int status, const char *sentence) {
  if (!core->has_failed) {
    snprintf(core->sentence, PTO_THREADS_SENTENCE_BYTES, "%s", sentence);
    core->has_failed = true;
  }
  return (int16_t)(status > INT16_MAX ? INT16_MAX : status < INT16_MIN ? INT16_MIN : status);
}

/* Claims a completion without publishing it. */
inline struct pto_completion *pto_threads_complete(struct pto_threads_worker *worker, const struct pto_message *message,
                                                   int status, const char *sentence) {
  struct pto_completion *completion = pto_completion_mailbox_claim(&worker->outbox);
  completion->ticket = message->ticket;
  completion->core = message->core;
  completion->status = 0;
  if (PTO_UNLIKELY(status != 0)) completion->status = keep_failure(&worker->cores[message->core], status, sentence);
  return completion;
}

/* The clock, where the judging of kernels asks for it. */
static uint64_t judging_now_ns(const struct pto_threads_engine *engine) {
  return pto_handover_is_keeping(&engine->grain.handover) ? pto_clock_ns() : 0;
}

static PTO_NOINLINE int run_with_extras(struct pto_threads_worker *worker, const struct pto_message *message,
                                        struct pto_core *view) {
  const struct pto_threads_shared *shared = worker->shared;
  if (shared->delay_seed) pto_threads_delay(worker);
  const int status = shared->trace ? run_recorded(worker, message, view) : run_metered(shared, message, view);
  if (shared->delay_seed) pto_threads_delay(worker);
  return status;
}

static inline int call(struct pto_threads_worker *worker, const struct pto_message *message) {
  struct pto_threads_core *core = &worker->cores[message->core];
  if (PTO_UNLIKELY(worker->shared->has_extras)) return run_with_extras(worker, message, &core->view);
  return pto_message_run(message, &core->view);
}

/* By the clock, which waits for what goes before: ticks of a short kernel may be read before it has ended. */
static void note_timed(struct pto_threads_engine *engine, uint64_t begin_ns) {
  const uint64_t now_ns = pto_clock_ns(), took_ns = now_ns - begin_ns;
  pto_grain_note_timed(&engine->grain, took_ns - pto_min_u64(took_ns, engine->reading_ns), now_ns);
}

/* A kernel that is timed, or looked at by whoever runs programs. */
static PTO_NOINLINE int call_observed(struct pto_threads_worker *worker, const struct pto_message *message,
                                      bool is_timed) {
  const bool has_watchdog = worker->shared->has_watchdog;
  if (has_watchdog) pto_watchdog_begin(worker->line, message);
  const uint64_t begin_ns = is_timed ? pto_clock_ns() : 0;
  const int status = call(worker, message);
  if (is_timed) note_timed(worker->engine, begin_ns);
  if (has_watchdog) pto_watchdog_end(worker->line);
  return status;
}

/* Runs a kernel that does not wait.  Of the control thread's, every so manieth is timed. */
static PTO_INLINE int run_kernel(struct pto_threads_worker *worker, const struct pto_message *message) {
  struct pto_core *view = &worker->cores[message->core].view;
  const bool is_timed = worker->engine && pto_grain_is_due(&worker->engine->grain);
  int status;
  pto_engine_current_set(message, view);
  if (PTO_UNLIKELY(worker->shared->is_observed || is_timed))
    status = call_observed(worker, message, is_timed);
  else
    status = pto_message_run(message, view);
  pto_engine_current_clear();
  return status;
}

/* Runs a message of a kernel that does not wait, and claims its completion. */
inline struct pto_completion *pto_threads_run_message(struct pto_threads_worker *worker,
                                                      const struct pto_message *message) {
  const int status = run_kernel(worker, message);
  struct pto_completion *completion = pto_threads_complete(worker, message, status, worker->sentence);
  if (PTO_UNLIKELY(worker->sentence[0] != '\0')) worker->sentence[0] = '\0'; /* also of one that succeeded after all */
  return completion;
}

/* The inbox's oldest message.  It is popped before its completion is published, so that whoever has seen a completion
 * finds the message's slot free. */
static void take_message(struct pto_threads_worker *worker, const struct pto_message *message) {
  const bool is_usual = !(message->flags & PTO_MESSAGE_MEETS) && worker->busy_count == 0;
  if ((message->flags & PTO_MESSAGE_MAY_MOVE) && !pto_threads_keeps(worker, message)) {
    pto_mailbox_pop(&worker->inbox);
    return;
  }
  if (PTO_LIKELY(is_usual) || (!(message->flags & PTO_MESSAGE_MEETS) && !worker->cores[message->core].is_busy))
    pto_threads_run_message(worker, message);
  else
    pto_threads_take_waiting(worker, message);
  pto_mailbox_pop(&worker->inbox);
}

static bool worker_is_ready(void *context) {
  const struct pto_threads_worker *worker = context;
  return pto_mailbox_has_element(&worker->inbox) || pto_atomic_load(&worker->is_stopping, memory_order_seq_cst) ||
         pto_atomic_load(&worker->has_woken, memory_order_seq_cst);
}

/* At once: the next kernel may take long. */
static inline void publish_completions(struct pto_threads_worker *worker) {
  pto_mailbox_publish_to_sleeper(&worker->outbox);
  pto_wait_notify(worker->completed);
}

/* Asks for what the next kernel's call will read, which comes from another CPU, before the one at hand runs. */
static inline void prefetch_next(const struct pto_threads_worker *worker) {
  const struct pto_message *next = pto_mailbox_peek_next(&worker->inbox, sizeof *next);
  if (!next) return;
  const char *payload = (const char *)next->payload->tensors;
  __builtin_prefetch(payload);
  __builtin_prefetch(payload + PTO_CACHE_LINE);
  __builtin_prefetch(payload + 2 * PTO_CACHE_LINE);
}

/* Runs messages until it is told to stop, which is asked for only where nothing is in flight. */
static void work(struct pto_threads_worker *worker) {
  for (;;) {
    const struct pto_message *message = pto_message_mailbox_peek(&worker->inbox);
    if (message) {
      prefetch_next(worker);
      take_message(worker, message);
      publish_completions(worker);
    }
    /* Relaxed: run_woken looks again, under the mutex. */
    if (PTO_UNLIKELY(worker->busy_count > 0) && pto_atomic_load(&worker->has_woken, memory_order_relaxed) &&
        pto_threads_run_woken(worker)) {
      publish_completions(worker);
      continue;
    }
    if (message) continue;
    worker->last_end = 0;
    if (PTO_UNLIKELY(worker->busy_count > 0)) pto_threads_stall(worker);
    pto_wait_until(&worker->wait, worker_is_ready, worker);
    if (PTO_UNLIKELY(worker->busy_count > 0)) pto_threads_unstall(worker);
    if (pto_atomic_load(&worker->is_stopping, memory_order_acquire)) return;
  }
}

void *pto_threads_worker_main(void *argument) {
  struct pto_threads_worker *worker = argument;
  char fault_stack[PTO_THREAD_FAULT_STACK_BYTES]; /* an overflow happens at the other end of this thread's stack */
  bool has_fault_stack = pto_thread_use_fault_stack(fault_stack);
  char name[16];
  snprintf(name, sizeof name, "pto-worker-%u", worker->index);
  pthread_setname_np(pthread_self(), name);
  if (worker->is_pinned) pto_place_pin(worker->place, worker->index, NULL);
  work(worker);
  if (has_fault_stack) pto_thread_drop_fault_stack();
  return NULL;
}

/* ---- the port's operations ---- */

static void publish(struct pto_threads_engine *engine, uint32_t w) {
  struct pto_threads_worker *worker = &engine->workers[w];
  engine->unpublished_total -= engine->unpublished[w];
  engine->unpublished[w] = 0;
  pto_mailbox_publish_to_sleeper(&worker->inbox);
  pto_wait_notify(&worker->wait);
}

static void threads_flush(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  for (uint32_t w = 1; engine->unpublished_total; w++)
    if (engine->unpublished[w]) publish(engine, w);
}

/* None of a block begins before all of it are here: its last message publishes them, by the rule for others. */
static PTO_NOINLINE void dispatch_meeting(struct pto_threads_engine *engine, struct pto_message *message, uint32_t w) {
  const bool is_whole = pto_threads_sit(engine, message);
  if (w == 0) {
    pto_mailbox_publish(&engine->workers[0].inbox); /* to ourselves, who look at it in a wait */
  } else {
    engine->unpublished[w]++;
    engine->unpublished_total++;
  }
  for (w = 1; is_whole && engine->unpublished_total && w < engine->port.worker_count; w++)
    if (engine->unpublished[w] && (engine->unpublished[w] >= PTO_THREADS_BATCH ||
                                   engine->in_flight[w] <= PTO_THREADS_NEARLY_IDLE + PTO_ROLE_COUNT))
      publish(engine, w);
}

static struct pto_message *threads_claim(struct pto_port *port, uint32_t core) {
  struct pto_threads_engine *engine = engine_of(port);
  struct pto_message *slot = pto_message_mailbox_claim(&engine->workers[engine->core_worker[core]].inbox);
  PTO_ASSERT(slot); /* else the runtime has sent a core more than slots_per_core */
  engine->claimed = slot;
  return slot;
}

static void threads_dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at) {
  struct pto_threads_engine *engine = engine_of(port);
  uint32_t w = engine->core_worker[message->core];
  struct pto_threads_worker *worker = &engine->workers[w];
  struct pto_message *slot = engine->claimed;
  if (PTO_UNLIKELY(message != slot)) {
    slot = threads_claim(port, message->core);
    *slot = *message;
  }
  engine->claimed = NULL;
  engine->in_flight[w]++;
  engine->grain.handover.sent += w != 0;
  if (slot->flags & PTO_MESSAGE_MAY_MOVE) pto_threads_offer(engine, slot, w);
  if (PTO_UNLIKELY(slot->flags & PTO_MESSAGE_MEETS)) {
    dispatch_meeting(engine, slot, w);
    return;
  }
  if (w == 0) {
    pto_mailbox_publish(&worker->inbox); /* to ourselves */
    return;
  }
  engine->unpublished[w]++;
  engine->unpublished_total++;
  if (engine->unpublished[w] >= PTO_THREADS_BATCH || engine->in_flight[w] <= PTO_THREADS_NEARLY_IDLE + 1)
    publish(engine, w);
}

static uint32_t poll_worker(struct pto_threads_engine *engine, uint32_t w, struct pto_completion *completions,
                            uint32_t max) {
  struct pto_mailbox *outbox = &engine->workers[w].outbox;
  const struct pto_completion *completion;
  uint32_t count = 0;
  while (count < max && (completion = pto_completion_mailbox_peek(outbox))) {
    completions[count] = *completion;
    pto_mailbox_pop(outbox);
    engine->in_flight[w]--;
    if (PTO_LIKELY(!engine->taken_total && !completions[count].status) ||
        pto_threads_is_completion(engine, w, &completions[count]))
      count++;
  }
  return count;
}

static uint32_t threads_poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  struct pto_threads_engine *engine = engine_of(port);
  uint32_t worker_count = port->worker_count, count = 0, w = engine->next_polled;
  threads_flush(port);
  /* Starts behind the worker that filled the last poll, so that no worker's completions wait for ever. */
  for (uint32_t i = 0; i < worker_count && count < max; i++) {
    if (engine->in_flight[w]) count += poll_worker(engine, w, completions + count, max - count);
    w = w + 1 == worker_count ? 0 : w + 1;
  }
  engine->next_polled = w;
  return count;
}

/* W2 of wait.h for the control thread. */
static bool control_is_ready(void *context) {
  const struct pto_threads_engine *engine = context;
  for (uint32_t w = 0; w < engine->port.worker_count; w++)
    if (engine->in_flight[w] && pto_mailbox_has_element(&engine->workers[w].outbox)) return true;
  return pto_atomic_load(&engine->is_called, memory_order_seq_cst);
}

static bool others_have_completed(const struct pto_threads_engine *engine) {
  for (uint32_t w = 1; w < engine->port.worker_count; w++)
    if (engine->in_flight[w] && pto_mailbox_has_element(&engine->workers[w].outbox)) return true;
  return false;
}

/* Runs kernels of the control thread's own cores: one, and as many more as take less together than telling of each
 * apart.  A reading of the clock costs as much as a small kernel: it is looked at behind the first, and now and then.
 */
static void run_own(struct pto_threads_engine *engine, const struct pto_message *message) {
  struct pto_threads_worker *self = &engine->workers[0];
  self->last_end = 0;
  bool has_more = engine->in_flight[0] > 1;
  uint64_t begin_ns = has_more ? pto_clock_ns() : 0;
  for (uint32_t count = 1;; count++) {
    take_message(self, message);
    message = has_more ? pto_message_mailbox_peek(&self->inbox) : NULL;
    if (!message || count == PTO_THREADS_OWN_BATCH || others_have_completed(engine)) break;
    if ((count == 1 || count % 4 == 0) && pto_clock_ns() - begin_ns >= PTO_THREADS_OWN_BATCH_NS) break;
  }
  pto_mailbox_publish(&self->outbox); /* to ourselves */
}

static bool control_may_go_on(void *context) {
  const struct pto_threads_engine *engine = context;
  return control_is_ready(context) || pto_atomic_load(&engine->workers[0].has_woken, memory_order_seq_cst) ||
         pto_atomic_load(&engine->meetings.has_stalled, memory_order_seq_cst);
}

/* The control thread has nothing to run, and kernels that wait are about. */
static PTO_NOINLINE void wait_with_waiting(struct pto_threads_engine *engine) {
  /* Before the look: who stalls after it sets it again.  The mutex orders the rest. */
  pto_atomic_store(&engine->meetings.has_stalled, 0, memory_order_seq_cst);
  if (!pto_threads_break_deadlock(engine)) pto_wait_until(&engine->completed, control_may_go_on, engine);
}

/* So many kernels have taken so many ticks, the runtime's work for each of them and what the orchestration does between
 * two submits included: that says less than a kernel by itself, but a very long one shows. */
static inline void look(struct pto_threads_engine *engine, uint64_t took, uint64_t kernels) {
  if (PTO_LIKELY(took < engine->row_long && took < kernels * engine->row_batch)) {
    if (kernels == 1) pto_grain_note_not_long(&engine->grain);
    return;
  }
  const uint64_t each = took >= engine->row_long ? took : took / kernels;
  pto_grain_note_long(&engine->grain, pto_ticks_to_ns(&engine->ticks, each), judging_now_ns(engine));
}

/* Looks at the second kernel of a row, and now and then at the row.  A reading takes as long as a fifth of a task does:
 * the longer a row, the fewer there are. */
static inline bool ends_fine_row(struct pto_threads_engine *engine, uint32_t nth) {
  if (nth != 1 && nth % 16 != 7) return false;
  const uint64_t now = pto_ticks_now();
  look(engine, now - (nth == 1 ? engine->row_second : engine->row_begin), nth == 1 ? 1 : nth + 1);
  return now - engine->row_begin >= engine->row_batch;
}

/* The same of a row while others are given some: looks at its end, and behind a kernel that is another one than the
 * last, which may be as long as that was short. */
static inline bool ends_shared_row(struct pto_threads_engine *engine, const struct pto_message *message, uint32_t nth) {
  const bool is_last = nth + 1 >= pto_grain_row(&engine->port);
  if (PTO_LIKELY(!is_last && message->run == engine->row_run)) return false;
  engine->row_run = message->run;
  const uint64_t now = pto_ticks_now();
  look(engine, now - engine->row_begin, nth + 1 - engine->row_looked);
  engine->row_begin = now;
  engine->row_looked = nth + 1;
  return is_last;
}

/* Before the first and the second kernel of a row. */
static PTO_NOINLINE void begin_row(struct pto_threads_engine *engine, uint32_t nth) {
  if (nth == 0) engine->workers[0].last_end = 0;
  if (engine->port.worker_count == 1) return;
  engine->row_second = pto_ticks_now();
  if (nth == 1) return;
  engine->row_begin = engine->row_second;
  engine->row_looked = 0;
}

/* Behind the nth kernel of a row. */
static PTO_NOINLINE bool ends_row(struct pto_threads_engine *engine, const struct pto_message *message, uint32_t nth) {
  if (!engine->port.is_fine_grained) return ends_shared_row(engine, message, nth);
  const bool is_over = ends_fine_row(engine, nth);
  return others_have_completed(engine) || is_over;
}

static int16_t threads_run(struct pto_port *port, const struct pto_message *message, uint32_t nth, bool *is_enough) {
  struct pto_threads_engine *engine = engine_of(port);
  struct pto_threads_worker *self = &engine->workers[0];
  if (nth <= 1) begin_row(engine, nth);
  int status = run_kernel(self, message);
  if (PTO_UNLIKELY(status != 0)) status = keep_failure(&self->cores[message->core], status, self->sentence);
  if (PTO_UNLIKELY(self->sentence[0] != '\0')) self->sentence[0] = '\0';
  *is_enough = nth + 1 == PTO_THREADS_ROW;
  if (port->worker_count > 1) *is_enough |= ends_row(engine, message, nth);
  return (int16_t)status;
}

static bool threads_help(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  threads_flush(port);
  struct pto_threads_worker *self = &engine->workers[0];
  const struct pto_message *message = pto_message_mailbox_peek(&self->inbox);
  if (message) {
    run_own(engine, message);
    return true;
  }
  if (PTO_LIKELY(!engine->has_met) || !pto_threads_run_woken(self)) return false;
  pto_mailbox_publish(&self->outbox); /* to ourselves */
  return true;
}

/* The control thread has nothing to run until another thread has completed a kernel, or calls. */
static PTO_NOINLINE void wait_for_others(struct pto_threads_engine *engine) {
  const uint64_t begin_ns = pto_clock_ns();
  pto_wait_until(&engine->completed, control_is_ready, engine);
  const uint64_t end_ns = pto_clock_ns();
  pto_grain_note_wait(&engine->grain, end_ns - begin_ns, end_ns);
}

static void threads_wait(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  threads_flush(port);
  if (!control_is_ready(engine) && !threads_help(port) && !pto_threads_take_back(engine)) {
    if (PTO_UNLIKELY(engine->has_met))
      wait_with_waiting(engine);
    else
      wait_for_others(engine);
  }
  /* Relaxed: what the caller has to say lies under a lock of its own, which is taken after this. */
  if (pto_atomic_load(&engine->is_called, memory_order_relaxed))
    pto_atomic_store(&engine->is_called, 0, memory_order_relaxed);
}

static void threads_call(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  pto_atomic_store(&engine->is_called, 1, memory_order_seq_cst); /* N1 of wait.h */
  pto_wait_notify(&engine->completed);
}

static int threads_begin_run(struct pto_port *port, char *sentence, size_t sentence_size) {
  struct pto_threads_engine *engine = engine_of(port);
  engine->shared.trace = pto_trace_has_timeline(port->trace) ? port->trace : NULL;
  if (engine->shared.trace && engine->shared.trace->span_log_count < port->worker_count) {
    snprintf(sentence, sentence_size, "the trace has %u span logs for %u workers", engine->shared.trace->span_log_count,
             port->worker_count);
    return PTO_EINVAL;
  }
  engine->shared.meter = engine->meetings.waiting.meter = port->meter;
  engine->shared.has_extras = engine->shared.trace || engine->shared.meter || engine->shared.delay_seed;
  engine->shared.is_observed = engine->shared.has_extras || engine->shared.has_watchdog;
  for (uint32_t c = 0; c < engine->core_count; c++) {
    if (!engine->cores[c].has_failed) continue;
    engine->cores[c].has_failed = engine->cores[c].has_deadlocked = false;
    engine->cores[c].sentence[0] = '\0';
  }
  pto_grain_begin_run(&engine->grain);
  port->is_fine_grained |= port->worker_count == 1;
  pto_ticks_measure(&engine->ticks);
  engine->row_run = NULL;
  engine->has_polled_failure = engine->has_failed_taken = false;
  engine->row_batch = pto_ticks_of_ns(&engine->ticks, PTO_THREADS_OWN_BATCH_NS);
  engine->row_long = pto_ticks_of_ns(&engine->ticks, PTO_GRAIN_LONG_NS);
  pto_threads_meetings_reset(engine);
  pto_place_unpin(&engine->place, &engine->control_affinity); /* of a run that was not ended */
  /* A control thread that cannot be pinned runs all the same. */
  if (engine->workers[0].is_pinned) (void)pto_place_pin(&engine->place, 0, &engine->control_affinity);
  return PTO_OK;
}

static bool others_are_ready(void *context) { return others_have_completed(context); }

/* What was taken back is done, but still in its inbox until the worker has passed over it.  A call from outside, which
 * nobody takes now, must not keep it awake. */
static void await_taken(struct pto_threads_engine *engine) {
  struct pto_completion none;
  while (engine->taken_total) {
    pto_wait_until(&engine->completed, others_are_ready, engine);
    for (uint32_t w = 1; w < engine->port.worker_count; w++) {
      const uint32_t count = poll_worker(engine, w, &none, 1);
      PTO_ASSERT(count == 0);
      (void)count;
    }
  }
}

static void threads_end_run(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  await_taken(engine);
  PTO_INTERNAL(pto_engine_threads_is_valid(port));
  pto_place_unpin(&engine->place, &engine->control_affinity);
}

static void threads_resume(struct pto_port *port, uint64_t not_before) {}

static const char *threads_kernel_message(struct pto_port *port, uint32_t core) {
  const struct pto_threads_engine *engine = engine_of(port);
  if (engine->has_failed_taken) core = pto_threads_home(engine, core);
  if (engine->cores[core].has_deadlocked) return engine->meetings.waiting.deadlock;
  return engine->cores[core].has_failed ? engine->cores[core].sentence : "";
}

/* Global memory belongs to all cores: it is left to first touch where they live on several nodes, and kept on theirs
 * else. */
static void threads_place_memory(struct pto_port *port, void *addr, uint64_t size_bytes) {
  struct pto_threads_engine *engine = engine_of(port);
  for (uint32_t w = 1; w < port->worker_count && w < engine->place.cpu_count; w++)
    if (engine->place.nodes[w] != engine->place.nodes[0]) return;
  pto_place_memory(&engine->place, 0, addr, size_bytes);
}

void pto_threads_destroy(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  struct pto_reserve memory = engine->memory;
  pto_watchdog_fini(&engine->watchdog);
  for (uint32_t w = 1; w <= engine->thread_count; w++) {
    pto_atomic_store(&engine->workers[w].is_stopping, 1, memory_order_seq_cst); /* N1 of wait.h */
    pto_wait_notify(&engine->workers[w].wait);
  }
  for (uint32_t w = 1; w <= engine->thread_count; w++) pthread_join(engine->threads[w], NULL);
  pto_place_unpin(&engine->place, &engine->control_affinity); /* a run that ended without end_run */
  pto_place_fini(&engine->place);
  pto_threads_meetings_fini(engine);
  pto_reserve_fini(&engine->local_memory);
  pto_reserve_fini(&memory); /* the engine is in it */
}

const struct pto_port_ops pto_threads_ops = {.begin_run = threads_begin_run,
                                             .end_run = threads_end_run,
                                             .dispatch = threads_dispatch,
                                             .claim = threads_claim,
                                             .flush = threads_flush,
                                             .poll = threads_poll,
                                             .resume = threads_resume,
                                             .wait = threads_wait,
                                             .call = threads_call,
                                             .help = threads_help,
                                             .run = threads_run,
                                             .kernel_message = threads_kernel_message,
                                             .find_waits = pto_threads_find_waits,
                                             .place_memory = threads_place_memory,
                                             .destroy = pto_threads_destroy};

/* ---- what tests and reports look at ---- */

const char *pto_engine_threads_report(const struct pto_port *port) { return const_engine_of(port)->report; }

void pto_engine_threads_stop_judging(struct pto_port *port) { engine_of(port)->grain.judges_nothing = true; }

uint32_t pto_engine_threads_sleeps(const struct pto_port *port, uint32_t worker) {
  const struct pto_threads_engine *engine = const_engine_of(port);
  return pto_wait_sleep_count(worker ? &engine->workers[worker].wait : &engine->completed);
}

bool pto_engine_threads_is_asleep(const struct pto_port *port, uint32_t worker) {
  const struct pto_threads_engine *engine = const_engine_of(port);
  return pto_wait_is_asleep(worker ? &engine->workers[worker].wait : &engine->completed);
}

bool pto_engine_threads_is_valid(const struct pto_port *port) {
  const struct pto_threads_engine *engine = const_engine_of(port);
  bool is_valid =
      engine->unpublished_total == 0 && engine->taken_total == 0 && engine->meetings.waiting.meetings.live_count == 0;
  for (uint32_t w = 0; w < port->worker_count; w++) {
    const struct pto_threads_worker *worker = &engine->workers[w];
    /* The control thread's ends only: an idle worker still looks at its own. */
    is_valid = is_valid && engine->in_flight[w] == 0 && engine->taken[w] == 0 && engine->unpublished[w] == 0 &&
               pto_mailbox_is_taken(&worker->inbox) && !pto_mailbox_has_element(&worker->outbox);
  }
  return is_valid;
}
