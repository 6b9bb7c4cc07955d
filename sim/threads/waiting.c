/* SPDX-License-Identifier: MIT */
/*
 * Kernels that wait, on the threads engine: fibers multiplexed over the workers.
 *
 * Always true: a core's fiber is started, resumed and finished by the core's worker alone.  While a core is in a kernel
 * that waits, what comes for it is deferred, in order.  A core that waits is woken by the thread that makes true what
 * it waits for: under the mutex it is put into its worker's ring `woken`, once, and the worker is told as wait.h says
 * (has_woken is the word).  A core whose kernel has returned stands in that ring too while anything is deferred for it:
 * so a worker tells of each completion before it goes on, and the control thread runs no more than one kernel a wait.
 *
 * A worker that finds nothing to run, but has cores that wait, is stalled until it is woken or sent something:
 *   deadlock  ⇔  every worker with messages in flight is stalled, has taken all that it was sent, and has no completion
 *                that the control thread has not seen.
 * Only a kernel that runs can wake a core, so under the mutex that is exact, at once, and stays true.
 */
#include <runtime/base/clock.h>
#include <runtime/trace/trace.h>
#include <sim/threads/worker.h>

static void lock_rendezvous(void *context) {
  struct pto_threads_rendezvous *rendezvous = context;
  pthread_mutex_lock(&rendezvous->mutex);
}
static void unlock_rendezvous(void *context) {
  struct pto_threads_rendezvous *rendezvous = context;
  pthread_mutex_unlock(&rendezvous->mutex);
}

/* Under the mutex. */
static void wake_core(void *context, uint32_t core) {
  struct pto_threads_rendezvous *rendezvous = context;
  struct pto_threads_engine *engine = rendezvous->engine;
  const uint32_t w = engine->core_worker[core];
  struct pto_threads_worker *worker = &engine->workers[w];
  PTO_ASSERT(worker->woken_count < engine->core_count);
  worker->woken[(worker->woken_first + worker->woken_count++) % engine->core_count] = (uint16_t)core;
  worker->is_stalled = false;
  pto_atomic_store(&worker->has_woken, 1, memory_order_seq_cst); /* N1 of wait.h */
  pto_wait_notify(w == 0 ? &engine->completed : &worker->wait);
}

static uint64_t now_ns(struct pto_waiting_core *core) {
  (void)core;
  return pto_clock_ns();
}

static const struct pto_waiting_hooks hooks = {
    .lock = lock_rendezvous, .unlock = unlock_rendezvous, .wake = wake_core, .now_ns = now_ns};

/* ---- on the worker ---- */

static struct pto_waiting_core *waiting_at(const struct pto_threads_worker *worker, uint32_t core) {
  return &worker->rendezvous->waiting.cores[core];
}

/* The core's kernel has returned. */
static void go_on(struct pto_threads_worker *worker, uint32_t index) {
  struct pto_threads_core *core = &worker->cores[index];
  if (core->deferred_count == 0) {
    core->is_busy = false;
    worker->busy_count--;
    return;
  }
  lock_rendezvous(worker->rendezvous);
  wake_core(worker->rendezvous, index);
  unlock_rendezvous(worker->rendezvous);
}

/* Runs the core's kernel until it waits; where it returns, completes it. */
static void resume(struct pto_threads_worker *worker, uint32_t index) {
  struct pto_waiting_core *waiting = waiting_at(worker, index);
  struct pto_threads_core *core = &worker->cores[index];
  const bool is_watched = worker->shared->has_watchdog;
  const uint64_t begin_ns = is_watched ? pto_watchdog_now_ns() : 0;
  worker->last_end = 0;
  if (PTO_UNLIKELY(worker->shared->delay != NULL)) worker->shared->delay(worker);
  if (is_watched) pto_watchdog_begin(worker->line, &waiting->message);
  pto_engine_current_set(&waiting->message, &core->view);
  const bool has_returned = pto_waiting_core_resume(waiting);
  pto_engine_current_clear();
  if (is_watched) pto_watchdog_end(worker->line);
  if (!has_returned) {
    if (is_watched)
      pto_watchdog_add_piece(&worker->rendezvous->engine->watchdog, &waiting->message, begin_ns, &waiting->ran_ns);
    return;
  }
  if (worker->shared->trace)
    pto_threads_append_span(worker, &waiting->message, index, waiting->begin, pto_trace_now(worker->shared->trace));
  core->is_on_fiber = false;
  /* Written once a run: the control thread may be reading it, having polled an earlier completion of the core. */
  if (PTO_UNLIKELY(waiting->status == PTO_EDEADLOCK) && !core->has_deadlocked) core->has_deadlocked = true;
  pto_threads_complete(worker, &waiting->message, waiting->status, pto_waiting_core_sentence(waiting));
  go_on(worker, index);
}

static void start(struct pto_threads_worker *worker, const struct pto_message *message) {
  struct pto_threads_core *core = &worker->cores[message->core];
  struct pto_waiting_core *waiting = pto_waiting_core_start(&worker->rendezvous->waiting, message, &core->view);
  waiting->begin = worker->shared->trace ? pto_trace_now(worker->shared->trace) : 0;
  core->is_on_fiber = true;
  resume(worker, message->core);
}

/* The oldest message deferred for a core that is in no kernel. */
static void run_deferred(struct pto_threads_worker *worker, uint32_t index) {
  struct pto_threads_core *core = &worker->cores[index];
  const struct pto_message message = core->deferred[core->deferred_first];
  core->deferred_first = (uint8_t)((core->deferred_first + 1) % worker->rendezvous->engine->port.slots_per_core);
  core->deferred_count--;
  if (message.flags & PTO_MESSAGE_WAITS) {
    start(worker, &message);
    return;
  }
  pto_threads_run_message(worker, &message);
  go_on(worker, index);
}

void pto_threads_take_waiting(struct pto_threads_worker *worker, const struct pto_message *message) {
  struct pto_threads_core *core = &worker->cores[message->core];
  const uint32_t slots = worker->rendezvous->engine->port.slots_per_core;
  if (core->is_busy) {
    PTO_ASSERT(core->deferred_count < slots);
    core->deferred[(core->deferred_first + core->deferred_count++) % slots] = *message;
    return;
  }
  core->is_busy = true;
  worker->busy_count++;
  start(worker, message);
}

bool pto_threads_run_woken(struct pto_threads_worker *worker) {
  struct pto_threads_engine *engine = worker->rendezvous->engine;
  pthread_mutex_lock(&worker->rendezvous->mutex);
  const bool has_one = worker->woken_count > 0;
  uint32_t core = 0;
  if (has_one) {
    core = worker->woken[worker->woken_first];
    worker->woken_first = (worker->woken_first + 1) % engine->core_count;
    worker->woken_count--;
  }
  /* Relaxed: the thread that sets it holds the mutex. */
  if (worker->woken_count == 0) pto_atomic_store(&worker->has_woken, 0, memory_order_relaxed);
  pthread_mutex_unlock(&worker->rendezvous->mutex);
  if (!has_one) return false;
  if (worker->cores[core].is_on_fiber)
    resume(worker, core);
  else
    run_deferred(worker, core);
  return true;
}

void pto_threads_stall(struct pto_threads_worker *worker) {
  struct pto_threads_rendezvous *rendezvous = worker->rendezvous;
  pthread_mutex_lock(&rendezvous->mutex);
  worker->is_stalled = worker->woken_count == 0;
  worker->stalled_taken = worker->inbox.taken;
  pthread_mutex_unlock(&rendezvous->mutex);
  pto_atomic_store(&rendezvous->has_stalled, 1, memory_order_seq_cst); /* N1 of wait.h */
  pto_wait_notify(worker->completed);
}

void pto_threads_unstall(struct pto_threads_worker *worker) {
  pthread_mutex_lock(&worker->rendezvous->mutex);
  worker->is_stalled = false;
  pthread_mutex_unlock(&worker->rendezvous->mutex);
}

/* ---- on the control thread ---- */

bool pto_threads_sit(struct pto_threads_engine *engine, struct pto_message *message) {
  struct pto_rendezvous_table *rendezvous = &engine->rendezvous.waiting.rendezvous;
  engine->has_waiting = true;
  pthread_mutex_lock(&engine->rendezvous.mutex);
  message->rendezvous = (uint16_t)pto_rendezvous_join(rendezvous, message);
  const bool is_whole = pto_rendezvous_is_complete(rendezvous, message->rendezvous);
  pthread_mutex_unlock(&engine->rendezvous.mutex);
  return is_whole && (!(message->flags & PTO_MESSAGE_TOGETHER) || (message->flags & PTO_MESSAGE_LAST));
}

void pto_threads_note_change(struct pto_threads_engine *engine) {
  pthread_mutex_lock(&engine->rendezvous.mutex);
  pto_rendezvous_change(&engine->rendezvous.waiting.rendezvous);
  pthread_mutex_unlock(&engine->rendezvous.mutex);
}

static bool is_deadlocked(const struct pto_threads_engine *engine) {
  if (engine->rendezvous.waiting.rendezvous.live_count == 0) return false;
  for (uint32_t w = 0; w < engine->port.worker_count; w++) {
    const struct pto_threads_worker *worker = &engine->workers[w];
    if (engine->in_flight[w] == 0) continue;
    if (worker->woken_count > 0 || pto_mailbox_has_element(&worker->outbox)) return false;
    if (w == 0 ? pto_mailbox_has_element(&worker->inbox)
               : !worker->is_stalled || worker->stalled_taken != worker->inbox.written)
      return false;
  }
  return true;
}

static bool is_called(void *context) {
  const struct pto_threads_engine *engine = context;
  return pto_atomic_load(&engine->is_called, memory_order_seq_cst);
}

/* Cores that poll the clock: before each look that nothing has led to, this thread sleeps a 16th of how long that has
 * been so.  So a wait for a time may be as long as all the looks, 2 s. */
#define LONGEST_LOOK_NS UINT64_C(2000000)
static void let_time_pass(struct pto_threads_engine *engine, bool is_first_look, bool waits_for_clock) {
  const uint64_t now = pto_clock_ns();
  if (is_first_look) engine->rendezvous.idle_since_ns = now;
  if (!waits_for_clock) return;
  const uint64_t idle = now - engine->rendezvous.idle_since_ns;
  if (idle >= 16) pto_wait_for(&engine->completed, is_called, engine, pto_min_u64(idle / 16, LONGEST_LOOK_NS));
}

bool pto_threads_break_deadlock(struct pto_threads_engine *engine) {
  struct pto_waiting_cores *waiting = &engine->rendezvous.waiting;
  pthread_mutex_lock(&engine->rendezvous.mutex);
  const bool is_broken = is_deadlocked(engine), waits_for_clock = waiting->rendezvous.has_read_clock;
  const bool is_first_look = waiting->rendezvous.looks == 0;
  pthread_mutex_unlock(&engine->rendezvous.mutex);
  if (!is_broken) return false;
  let_time_pass(engine, is_first_look, waits_for_clock);
  pthread_mutex_lock(&engine->rendezvous.mutex);
  pto_waiting_cores_break_deadlock(waiting);
  pthread_mutex_unlock(&engine->rendezvous.mutex);
  return true;
}

void pto_threads_find_waits(struct pto_port *port, struct pto_core_waits *waits) {
  struct pto_threads_engine *engine = (struct pto_threads_engine *)(void *)port;
  pthread_mutex_lock(&engine->rendezvous.mutex);
  pto_waiting_cores_find_waits(&engine->rendezvous.waiting, waits);
  pthread_mutex_unlock(&engine->rendezvous.mutex);
}

bool pto_threads_rendezvous_init(struct pto_threads_engine *engine) {
  struct pto_threads_rendezvous *rendezvous = &engine->rendezvous;
  rendezvous->engine = engine;
  if (!pto_waiting_cores_init(&rendezvous->waiting, engine->port.cluster_count, engine->port.slots_per_core, &hooks,
                              rendezvous))
    return false;
  rendezvous->is_made = pthread_mutex_init(&rendezvous->mutex, NULL) == 0;
  return rendezvous->is_made;
}

void pto_threads_rendezvous_fini(struct pto_threads_engine *engine) {
  pto_waiting_cores_fini(&engine->rendezvous.waiting);
  if (engine->rendezvous.is_made) pthread_mutex_destroy(&engine->rendezvous.mutex);
  engine->rendezvous.is_made = false;
}

/* Between runs: no worker has a core that waits. */
void pto_threads_rendezvous_reset(struct pto_threads_engine *engine) {
  pthread_mutex_lock(&engine->rendezvous.mutex);
  pto_waiting_cores_reset(&engine->rendezvous.waiting);
  pthread_mutex_unlock(&engine->rendezvous.mutex);
  pto_atomic_store(&engine->rendezvous.has_stalled, 0, memory_order_relaxed); /* no worker stalls between runs */
  engine->has_waiting = false;
}
