/* SPDX-License-Identifier: MIT */
#include <sim/virtual/kernel_calls.h>

#include <stdio.h>
#include <string.h>

#include <runtime/base/memory_checker.h>
#include <runtime/base/thread.h>
#include <sim/chips/chip.h>
#include <sim/host/current.h>
#include <sim/host/topology.h>
#include <sim/virtual/rank_clock.h>

/* A thread that runs calls. */
struct pto_kernel_caller {
  _Alignas(PTO_CACHE_LINE) struct pto_kernel_calls *calls;
  struct pto_watchdog_line *line;
  uint32_t index;
  pthread_t thread;
  struct pto_wait wait; /* the worker waits, the control thread notifies */
  /* control → worker: no call comes any more.  N1 and W2 of wait.h. */
  _Atomic uint32_t is_stopping;
};

/* Takes the oldest call of the ring and runs it; false where there is none. */
static bool run_one(struct pto_kernel_caller *caller) {
  struct pto_kernel_calls *calls = caller->calls;
  const bool is_watched = calls->watchdog.is_running;
  uint32_t core;
  if (!pto_message_ring_take(&calls->ring, &core, 1, 1)) return false;
  struct pto_kernel_call *call = &calls->calls[core];
  if (is_watched) pto_watchdog_begin(caller->line, call->message);
  pto_engine_current_set(call->message, call->view);
  call->status = pto_message_run(call->message, call->view);
  pto_engine_current_clear();
  if (is_watched) pto_watchdog_end(caller->line);
  pto_atomic_store(&call->is_done, 1, memory_order_seq_cst);
  return true;
}

/* ---- workers ---- */

static bool has_work(void *context) {
  const struct pto_kernel_caller *caller = context;
  return pto_message_ring_has_message(&caller->calls->ring) ||
         pto_atomic_load(&caller->is_stopping, memory_order_seq_cst);
}

static void work(struct pto_kernel_caller *caller) {
  for (;;) {
    if (run_one(caller)) {
      pto_wait_notify(&caller->calls->joining);
      continue;
    }
    if (pto_atomic_load(&caller->is_stopping, memory_order_acquire)) return;
    pto_wait_until(&caller->wait, has_work, caller);
  }
}

static void *worker_main(void *argument) {
  struct pto_kernel_caller *caller = argument;
  char fault_stack[PTO_THREAD_FAULT_STACK_BYTES]; /* an overflow happens at the other end of this thread's stack */
  const bool has_fault_stack = pto_thread_use_fault_stack(fault_stack);
  work(caller);
  if (has_fault_stack) pto_thread_drop_fault_stack();
  return NULL;
}

/* ---- creation ---- */

uint32_t pto_kernel_calls_worker_count(const struct pto_engine_config *config, uint32_t core_count) {
  if (config->workers <= 1 || !config->orders_conflicts || pto_memory_is_checked()) return 1;
  uint64_t most = pto_min_u64(core_count, PTO_KERNEL_CALLS_MAX_WORKERS);
  if (config->rank && config->rank->most_workers) most = pto_min_u64(most, config->rank->most_workers);
  return (uint32_t)pto_min_u64(config->workers, most);
}

static uint32_t ring_capacity(uint32_t core_count) { return UINT32_C(2) << pto_log2_floor(core_count); }

/* With a NULL base it only adds up. */
static uint64_t lay_out(struct pto_kernel_calls *calls, char *base) {
  uint64_t used = 0;
  const uint32_t capacity = ring_capacity(calls->core_count);
  calls->calls = pto_carve(base, &used, calls->core_count * sizeof *calls->calls);
  calls->callers = pto_carve(base, &used, calls->worker_count * sizeof *calls->callers);
  struct pto_watchdog_line *lines = pto_carve(base, &used, calls->worker_count * sizeof *lines);
  _Atomic uint32_t *words = pto_carve(base, &used, capacity * sizeof *words);
  if (!base) return used;
  for (uint32_t i = 0; i < calls->worker_count; i++) calls->callers[i].line = &lines[i];
  pto_message_ring_init(&calls->ring, words, capacity, 1, 0);
  return used;
}

/* A thread that spins where there are fewer CPUs keeps the one that it waits for from running. */
static uint32_t spin_rounds(uint32_t worker_count) {
  return worker_count <= pto_topology_count_cpus() ? PTO_WAIT_SPIN_ROUNDS : 0;
}

static int start_threads(struct pto_kernel_calls *calls, const struct pto_engine_config *config,
                         struct pto_error *error) {
  const struct pto_watchdog_config watch = {
      config->timeout_ms,     config->on_timeout,  config->on_timeout_context,
      calls->callers[0].line, calls->worker_count, NULL /* the one of solo watches the orchestration */};
  if (pto_watchdog_init(&calls->watchdog, &watch) != PTO_OK)
    return pto_error_set(error, PTO_ESYSTEM, "virtual engine of chip %s: the watchdog's thread does not start",
                         config->chip->name);
  for (uint32_t i = 1; i < calls->worker_count; i++) {
    int code = 0;
    if (!pto_thread_start(&calls->callers[i].thread, worker_main, &calls->callers[i], &code))
      return pto_error_set(error, PTO_ESYSTEM, "virtual engine of chip %s: cannot start worker %u of %u: %s",
                           config->chip->name, i, calls->worker_count, strerror(code));
    pto_thread_name_worker(calls->callers[i].thread, i);
    calls->thread_count = i;
  }
  return PTO_OK;
}

int pto_kernel_calls_init(struct pto_kernel_calls *calls, const struct pto_engine_config *config, uint32_t core_count,
                          uint32_t worker_count, struct pto_error *error) {
  *calls = (struct pto_kernel_calls){.core_count = core_count, .worker_count = worker_count};
  if (!pto_reserve_init(&calls->memory, lay_out(calls, NULL))) {
    *calls = (struct pto_kernel_calls){0};
    return pto_error_set(error, PTO_ENOMEM, "virtual engine of chip %s: no memory for %u workers", config->chip->name,
                         worker_count);
  }
  lay_out(calls, calls->memory.addr);
  const uint32_t rounds = spin_rounds(worker_count);
  pto_wait_init(&calls->joining, rounds);
  for (uint32_t i = 0; i < core_count; i++) pto_atomic_init(&calls->calls[i].is_done, 0);
  for (uint32_t i = 0; i < worker_count; i++) {
    struct pto_kernel_caller *caller = &calls->callers[i];
    caller->calls = calls;
    caller->index = i;
    pto_wait_init(&caller->wait, rounds);
    pto_atomic_init(&caller->is_stopping, 0);
  }
  const int status = start_threads(calls, config, error);
  if (status != PTO_OK) pto_kernel_calls_fini(calls);
  return status;
}

void pto_kernel_calls_fini(struct pto_kernel_calls *calls) {
  pto_kernel_calls_drop(calls);
  for (uint32_t i = 1; i <= calls->thread_count; i++) {
    pto_atomic_store(&calls->callers[i].is_stopping, 1, memory_order_seq_cst);
    pto_wait_notify(&calls->callers[i].wait);
  }
  for (uint32_t i = 1; i <= calls->thread_count; i++) pthread_join(calls->callers[i].thread, NULL);
  pto_watchdog_fini(&calls->watchdog);
  pto_reserve_fini(&calls->memory);
  *calls = (struct pto_kernel_calls){0};
}

/* ---- the control thread ---- */

void pto_kernel_calls_open(struct pto_kernel_calls *calls, const struct pto_message *message, struct pto_core *view,
                           char *sentence, uint32_t sentence_size) {
  struct pto_kernel_call *call = &calls->calls[message->core];
  PTO_ASSERT(!call->is_open);
  call->message = message;
  call->view = view;
  call->usual_sentence = view->message;
  call->usual_size = view->message_size;
  call->is_open = true;
  view->message = sentence;
  view->message_size = sentence_size;
  sentence[0] = '\0';
  pto_atomic_store(&call->is_done, 0, memory_order_relaxed); /* the ring hands it over */
  const uint32_t core = message->core;
  const bool is_full = pto_message_ring_has_many(&calls->ring, calls->ring.capacity);
  PTO_ASSERT(!is_full);
  (void)is_full;
  pto_message_ring_push(&calls->ring, &core);
  pto_message_ring_publish(&calls->ring);
  for (uint32_t i = 1; i < calls->worker_count; i++) pto_wait_notify(&calls->callers[i].wait);
}

static bool is_done(void *context) {
  const struct pto_kernel_call *call = context;
  return pto_atomic_load(&call->is_done, memory_order_seq_cst);
}

static void finish(struct pto_kernel_calls *calls, struct pto_kernel_call *call) {
  while (!pto_atomic_load(&call->is_done, memory_order_acquire))
    if (!run_one(&calls->callers[0])) pto_wait_until(&calls->joining, is_done, call);
}

int pto_kernel_calls_join(struct pto_kernel_calls *calls, uint32_t core) {
  struct pto_kernel_call *call = &calls->calls[core];
  PTO_ASSERT(call->is_open);
  finish(calls, call);
  call->view->message = call->usual_sentence;
  call->view->message_size = call->usual_size;
  call->is_open = false;
  return call->status;
}

void pto_kernel_calls_finish(struct pto_kernel_calls *calls) {
  for (uint32_t i = 0; i < calls->core_count; i++)
    if (calls->calls[i].is_open) finish(calls, &calls->calls[i]);
}

void pto_kernel_calls_drop(struct pto_kernel_calls *calls) {
  for (uint32_t i = 0; i < calls->core_count; i++)
    if (calls->calls[i].is_open) (void)pto_kernel_calls_join(calls, i);
}
