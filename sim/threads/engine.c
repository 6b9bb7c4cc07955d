/* SPDX-License-Identifier: MIT */
/*
 * The threads engine: simulated cores multiplexed over W threads, in real time.
 *
 * Owns W − 1 worker threads, a pair of mailboxes for each, the cores' descriptions and local memories, and the
 * watchdog.  Worker 0 is the control thread; it has mailboxes too, with both their ends on one thread.
 *
 * A message that MAY_MOVE runs on whichever thread stealing.h finds for it, as one of that thread's movers: within its
 * dispatch on the control thread, or from the ring.  All others go through the mailbox of the worker that their core
 * lives on (create.c).  Always true of those: core c lives on worker core_worker[c] for ever, and a worker runs its
 * messages in the order sent; so does a core.  And because
 *
 *     in_flight[w] = dispatched to w − polled from w ≤ slots_per_core · cores of w ≤ capacity of its inbox,
 *
 * and an outbox has room for all that all cores hold, no mailbox is ever full.
 *
 * Threads.  The control thread calls every operation of the port; `call` is for all others.  A worker reads
 * `shared` and its own struct, writes its own lines and records, and sleeps where its inbox is empty; between runs all
 * of them do.  The control thread sleeps on one pto_wait for all outboxes and calls.  What the control thread writes
 * while a run goes on is in the last part of `struct pto_threads_engine` and read by no other thread.
 *
 * Everything is in two reserves made at creation; nothing is allocated afterwards.  See docs/concurrency.md.
 */
#include <sim/threads/engine.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/thread.h>
#include <runtime/trace/trace.h>
#include <sim/threads/worker.h>

static struct pto_threads_engine *engine_of(struct pto_port *port) { return (struct pto_threads_engine *)(void *)port; }
static const struct pto_threads_engine *const_engine_of(const struct pto_port *port) {
  return (const struct pto_threads_engine *)(const void *)port;
}

/* ---- workers ---- */

/* The inbox's oldest message.  It is popped before its completion is published, so that a thread that has seen a
 * completion finds the message's slot free. */
static void take_message(struct pto_threads_worker *worker, const struct pto_message *message) {
  if (!(message->flags & PTO_MESSAGE_WAITS) && !worker->cores[message->core].is_busy)
    pto_threads_run_message(worker, message);
  else
    pto_threads_take_waiting(worker, message);
  pto_mailbox_pop(&worker->inbox);
}

static bool has_messages(void *context) {
  const struct pto_threads_worker *worker = context;
  return pto_mailbox_has_element(&worker->inbox) || pto_atomic_load(&worker->is_stopping, memory_order_seq_cst) ||
         pto_atomic_load(&worker->has_woken, memory_order_seq_cst);
}

/* Until there is something to do. */
static void rest(struct pto_threads_worker *worker) {
  worker->last_end = 0;
  if (PTO_UNLIKELY(worker->busy_count > 0)) pto_threads_stall(worker);
  pto_threads_wait_for_work(worker, has_messages);
  if (PTO_UNLIKELY(worker->busy_count > 0)) pto_threads_unstall(worker);
}

/* Runs messages until it is told to stop, which is asked for only where nothing is in flight. */
static void work(struct pto_threads_worker *worker) {
  for (;;) {
    const struct pto_message *message = pto_message_mailbox_peek(&worker->inbox);
    if (message) {
      take_message(worker, message);
      pto_threads_publish_completions(worker);
    }
    /* Relaxed: run_woken looks again, under the mutex. */
    if (PTO_UNLIKELY(worker->busy_count > 0) && pto_atomic_load(&worker->has_woken, memory_order_relaxed) &&
        pto_threads_run_woken(worker)) {
      pto_threads_publish_completions(worker);
      (void)pto_threads_steal(worker); /* a core that polls is woken again and again, perhaps until that has run */
      continue;
    }
    if (message || pto_threads_steal(worker)) continue;
    if (pto_atomic_load(&worker->is_stopping, memory_order_acquire)) return;
    rest(worker);
  }
}

void *pto_threads_worker_main(void *argument) {
  struct pto_threads_worker *worker = argument;
  char fault_stack[PTO_THREAD_FAULT_STACK_BYTES]; /* an overflow happens at the other end of this thread's stack */
  bool has_fault_stack = pto_thread_use_fault_stack(fault_stack);
  if (worker->is_pinned) pto_topology_pin(worker->topology, worker->index, NULL);
  work(worker);
  if (has_fault_stack) pto_thread_drop_fault_stack();
  return NULL;
}

/* ---- the port's operations ---- */

/* The runtime is about to be told of a failed kernel that ran on worker w. */
static PTO_COLD void note_failure(struct pto_threads_engine *engine, uint32_t w) {
  if (engine->has_reported_failure) return;
  engine->has_reported_failure = true;
  engine->failed_worker = w;
}

/* Messages of kernels that may begin go out. */
static void publish(struct pto_threads_engine *engine) {
  for (uint32_t w = 0; engine->unpublished_count; w++) {
    if (!engine->is_unpublished[w]) continue;
    engine->is_unpublished[w] = false;
    engine->unpublished_count--;
    pto_mailbox_publish_to_sleeper(&engine->workers[w].inbox);
    if (w) pto_wait_notify(&engine->workers[w].wait);
  }
}

static void threads_flush(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  if (engine->unpublished_count) publish(engine);
  pto_threads_offer(engine);
}

/* A message for the worker that its core lives on.  Of those of kernels that wait none begins before all of its block,
 * or of its sync_start task, are here. */
static PTO_NOINLINE void dispatch_to_core(struct pto_threads_engine *engine, const struct pto_message *message) {
  const uint32_t w = engine->core_worker[message->core];
  struct pto_message *slot = pto_message_mailbox_claim(&engine->workers[w].inbox);
  PTO_ASSERT(slot); /* else the runtime has sent a core more than slots_per_core */
  *slot = *message;
  engine->in_flight[w]++;
  engine->unpublished_count += !engine->is_unpublished[w];
  engine->is_unpublished[w] = true;
  if (!(slot->flags & PTO_MESSAGE_WAITS) || pto_threads_sit(engine, slot)) publish(engine);
}

static int16_t run_at_once(struct pto_threads_engine *engine, const struct pto_message *message) {
  struct pto_threads_worker *self = &engine->workers[0];
  self->last_end = 0;
  int status = pto_threads_run_kernel(self, message);
  if (PTO_UNLIKELY(status != 0)) {
    status = pto_threads_store_failure(self, message, status, self->sentence);
    note_failure(engine, 0);
  }
  if (PTO_UNLIKELY(self->sentence[0] != '\0')) self->sentence[0] = '\0';
  return (int16_t)status;
}

static PTO_NOINLINE int16_t run_sample(struct pto_threads_engine *engine, const struct pto_message *message) {
  const uint64_t begin = pto_ticks_now();
  const int16_t status = run_at_once(engine, message);
  pto_threads_note_sample(&engine->stealing, message, pto_ticks_now() - begin);
  return status;
}

static bool threads_dispatch(struct pto_port *port, const struct pto_message *message, uint64_t ready_at,
                             struct pto_completion *completion) {
  struct pto_threads_engine *engine = engine_of(port);
  if (PTO_UNLIKELY(!(message->flags & PTO_MESSAGE_MAY_MOVE))) {
    dispatch_to_core(engine, message);
    return false;
  }
  const bool is_sample = pto_threads_is_sample(&engine->stealing);
  if (PTO_LIKELY(is_sample || pto_threads_runs_at_once(&engine->stealing))) {
    *completion = pto_message_completion(message, PTO_UNLIKELY(is_sample) ? run_sample(engine, message)
                                                                          : run_at_once(engine, message));
    return true;
  }
  pto_threads_share(engine, message);
  return false;
}

static uint32_t poll_worker(struct pto_threads_engine *engine, uint32_t w, struct pto_completion *completions,
                            uint32_t max) {
  struct pto_mailbox *outbox = &engine->workers[w].outbox;
  const struct pto_completion *next;
  uint32_t count = 0;
  for (; count < max && (next = pto_completion_mailbox_peek(outbox)); count++) {
    struct pto_completion *completion = &completions[count];
    *completion = *next;
    pto_mailbox_pop(outbox);
    if (completion->core & PTO_THREADS_MOVED)
      engine->stealing.in_flight--;
    else
      engine->in_flight[w]--;
    completion->core &= (uint16_t)~PTO_THREADS_MOVED;
    if (PTO_UNLIKELY(completion->status != 0)) note_failure(engine, w);
  }
  return count;
}

static uint32_t take_completions(struct pto_threads_engine *engine, struct pto_completion *completions, uint32_t max) {
  const uint32_t worker_count = engine->port.worker_count;
  uint32_t count = 0, w = engine->next_polled;
  /* Starts behind the worker that filled the last poll, so that no worker's completions wait for ever. */
  for (uint32_t i = 0; i < worker_count && count < max; i++) {
    if (engine->in_flight[w] || engine->stealing.in_flight)
      count += poll_worker(engine, w, completions + count, max - count);
    w = w + 1 == worker_count ? 0 : w + 1;
  }
  engine->next_polled = w;
  if (PTO_UNLIKELY(engine->has_waiting) && count) pto_threads_note_change(engine);
  return count;
}

/* One message of the control thread's own cores, or one core that was woken. */
static bool run_own(struct pto_threads_engine *engine) {
  struct pto_threads_worker *self = &engine->workers[0];
  const struct pto_message *message = pto_message_mailbox_peek(&self->inbox);
  self->last_end = 0;
  if (message)
    take_message(self, message);
  else if (PTO_LIKELY(!engine->has_waiting) || !pto_threads_run_woken(self))
    return false;
  pto_mailbox_publish(&self->outbox); /* to ourselves */
  return true;
}

static uint32_t threads_poll(struct pto_port *port, struct pto_completion *completions, uint32_t max) {
  struct pto_threads_engine *engine = engine_of(port);
  threads_flush(port);
  const uint32_t count = take_completions(engine, completions, max);
  if (count || !(pto_threads_run_lone(engine) || run_own(engine))) return count;
  return take_completions(engine, completions, max);
}

/* W2 of wait.h for the control thread. */
static bool control_is_ready(void *context) {
  const struct pto_threads_engine *engine = context;
  for (uint32_t w = 0; w < engine->port.worker_count; w++)
    if (pto_mailbox_has_element(&engine->workers[w].outbox)) return true;
  return pto_atomic_load(&engine->is_called, memory_order_seq_cst);
}

static bool control_may_go_on(void *context) {
  const struct pto_threads_engine *engine = context;
  return control_is_ready(context) || pto_atomic_load(&engine->workers[0].has_woken, memory_order_seq_cst) ||
         pto_atomic_load(&engine->rendezvous.has_stalled, memory_order_seq_cst);
}

/* The control thread has nothing to run, and kernels that wait are about. */
static PTO_NOINLINE void wait_with_waiting(struct pto_threads_engine *engine) {
  /* Before the look: who stalls after it sets it again.  The mutex orders the rest. */
  pto_atomic_store(&engine->rendezvous.has_stalled, 0, memory_order_seq_cst);
  if (engine->stealing.in_flight || !pto_threads_break_deadlock(engine))
    pto_wait_until(&engine->completed, control_may_go_on, engine);
}

/* Of a wait.  Relaxed: what the caller has to say lies under a lock of its own, which is taken after this. */
static inline void note_return(struct pto_threads_engine *engine) {
  if (pto_atomic_load(&engine->is_called, memory_order_relaxed))
    pto_atomic_store(&engine->is_called, 0, memory_order_relaxed);
}

static void threads_wait(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  threads_flush(port);
  if (!control_is_ready(engine) && !pto_threads_run_lone(engine)) {
    /* Both: its own core may be one that polls, until what it could help with has run. */
    const bool has_run = run_own(engine), has_helped = pto_threads_help(engine);
    if (has_run || has_helped) {
      note_return(engine);
      return;
    }
    if (PTO_UNLIKELY(engine->has_waiting))
      wait_with_waiting(engine);
    else
      pto_wait_until(&engine->completed, control_is_ready, engine);
  }
  note_return(engine);
}

/* The longest time that a poll of memory goes without a look: about a wake-up (wait.h). */
#define PAUSE_NS 20000u

static bool threads_pause(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  threads_flush(port);
  if (control_is_ready(engine) || pto_threads_run_lone(engine) || run_own(engine) || pto_threads_help(engine))
    return true;
  pto_atomic_store(&engine->rendezvous.has_stalled, 0, memory_order_seq_cst); /* as in wait_with_waiting */
  if (PTO_UNLIKELY(engine->has_waiting) && !engine->stealing.in_flight && pto_threads_break_deadlock(engine))
    return true;
  pto_wait_for(&engine->completed, control_may_go_on, engine, PAUSE_NS);
  return true;
}

void pto_threads_call(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  pto_atomic_store(&engine->is_called, 1, memory_order_seq_cst); /* N1 of wait.h */
  pto_wait_notify(&engine->completed);
}

static void forget_failures(struct pto_threads_engine *engine) {
  for (uint32_t c = 0; c < engine->core_count; c++) engine->cores[c].has_deadlocked = false;
  for (uint32_t w = 0; w < engine->port.worker_count; w++) engine->workers[w].has_failed = false;
  engine->has_reported_failure = false;
}

static int threads_begin_run(struct pto_port *port, char *sentence, size_t sentence_size) {
  struct pto_threads_engine *engine = engine_of(port);
  engine->shared.trace = pto_trace_has_timeline(port->trace) ? port->trace : NULL;
  if (engine->shared.trace && engine->shared.trace->span_log_count < port->worker_count) {
    snprintf(sentence, sentence_size, "the trace has %u span logs for %u workers", engine->shared.trace->span_log_count,
             port->worker_count);
    return PTO_EINVAL;
  }
  engine->shared.meter = engine->rendezvous.waiting.meter = port->meter;
  engine->shared.has_extras = engine->shared.trace || engine->shared.meter || engine->shared.delay;
  engine->shared.is_observed = engine->shared.has_extras || engine->shared.has_watchdog;
  if (engine->has_reported_failure) forget_failures(engine);
  pto_ticks_measure(&engine->ticks);
  pto_threads_stealing_begin_run(&engine->stealing, pto_ticks_of_ns(&engine->ticks, PTO_THREADS_FIRST_PAUSE_NS));
  pto_threads_rendezvous_reset(engine);
  pto_topology_unpin(&engine->control_affinity); /* of a run that was not ended */
  /* A control thread that cannot be pinned runs all the same. */
  if (engine->workers[0].is_pinned) (void)pto_topology_pin(&engine->topology, 0, &engine->control_affinity);
  return PTO_OK;
}

static void threads_end_run(struct pto_port *port) {
  struct pto_threads_engine *engine = engine_of(port);
  PTO_INTERNAL(pto_engine_threads_is_valid(port));
  pto_topology_unpin(&engine->control_affinity);
}

static const char *threads_kernel_message(struct pto_port *port, uint32_t core) {
  const struct pto_threads_engine *engine = engine_of(port);
  if (engine->cores[core].has_deadlocked) return engine->rendezvous.waiting.deadlock;
  const struct pto_threads_worker *worker = &engine->workers[engine->failed_worker];
  return engine->has_reported_failure && worker->has_failed ? worker->failure_sentence : "";
}

static uint32_t threads_failed_core(struct pto_port *port, uint32_t core) {
  const struct pto_threads_engine *engine = engine_of(port);
  const struct pto_threads_worker *worker = &engine->workers[engine->failed_worker];
  return engine->has_reported_failure && worker->has_failed ? worker->failed_core : core;
}

/* Global memory belongs to all cores: it is left to first touch where they live on several nodes, and kept on theirs
 * else. */
static void threads_bind_memory(struct pto_port *port, void *addr, uint64_t size_bytes) {
  struct pto_threads_engine *engine = engine_of(port);
  for (uint32_t w = 1; w < port->worker_count && w < engine->topology.cpu_count; w++)
    if (engine->topology.nodes[w] != engine->topology.nodes[0]) return;
  pto_topology_memory(&engine->topology, 0, addr, size_bytes);
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
  pto_topology_unpin(&engine->control_affinity); /* a run that ended without end_run */
  pto_topology_fini(&engine->topology);
  pto_threads_rendezvous_fini(engine);
  pto_reserve_fini(&engine->local_memory);
  pto_reserve_fini(&memory); /* the engine is in it */
}

const struct pto_port_ops pto_threads_ops = {.begin_run = threads_begin_run,
                                             .end_run = threads_end_run,
                                             .dispatch = threads_dispatch,
                                             .flush = threads_flush,
                                             .poll = threads_poll,
                                             .wait = threads_wait,
                                             .pause = threads_pause,
                                             .kernel_message = threads_kernel_message,
                                             .failed_core = threads_failed_core,
                                             .find_waits = pto_threads_find_waits,
                                             .bind_memory = threads_bind_memory,
                                             .destroy = pto_threads_destroy};

/* ---- what tests and reports look at ---- */

uint32_t pto_engine_threads_sleeps(const struct pto_port *port, uint32_t worker) {
  const struct pto_threads_engine *engine = const_engine_of(port);
  return pto_wait_sleep_count(worker ? &engine->workers[worker].wait : &engine->completed);
}

uint32_t pto_engine_threads_core_worker(const struct pto_port *port, uint32_t core) {
  return const_engine_of(port)->core_worker[core];
}

bool pto_engine_threads_is_asleep(const struct pto_port *port, uint32_t worker) {
  const struct pto_threads_engine *engine = const_engine_of(port);
  return pto_wait_is_asleep(worker ? &engine->workers[worker].wait : &engine->completed);
}

bool pto_engine_threads_is_valid(const struct pto_port *port) {
  const struct pto_threads_engine *engine = const_engine_of(port);
  bool is_valid = engine->unpublished_count == 0 && engine->rendezvous.waiting.rendezvous.live_count == 0 &&
                  pto_threads_stealing_is_valid(engine);
  for (uint32_t w = 0; w < port->worker_count; w++) {
    const struct pto_threads_worker *worker = &engine->workers[w];
    /* The control thread's ends only: an idle worker still looks at its own. */
    is_valid = is_valid && engine->in_flight[w] == 0 && pto_mailbox_is_taken(&worker->inbox) &&
               !pto_mailbox_has_element(&worker->outbox);
  }
  return is_valid;
}
