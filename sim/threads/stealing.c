/* SPDX-License-Identifier: MIT */
#include <sim/threads/stealing.h>

#include <sim/threads/worker.h>

void pto_threads_stealing_init(struct pto_threads_stealing *stealing, void *messages, uint32_t worker_count) {
  pto_message_ring_init(&stealing->ring, messages, pto_threads_ring_capacity(worker_count),
                        sizeof(struct pto_message) / sizeof(uint32_t), 0);
  stealing->enough = 2 * PTO_THREADS_BATCH * (worker_count - 1);
  pto_atomic_init(&stealing->is_open, worker_count > 1);
  pto_atomic_init(&stealing->most_taken, 1);
  for (uint32_t i = 0; i < PTO_THREADS_KERNELS; i++) pto_atomic_init(&stealing->kernel_ticks[i], 0);
}

bool pto_threads_stealing_is_valid(const struct pto_threads_engine *engine) {
  return engine->stealing.in_flight == 0 && pto_message_ring_is_empty(&engine->stealing.ring);
}

static inline uint32_t kernel_entry(const struct pto_message *message) {
  return (uint32_t)(pto_mix64((uint64_t)(uintptr_t)message->run) % PTO_THREADS_KERNELS);
}

static inline uint32_t take(struct pto_threads_worker *worker, struct pto_message *batch) {
  struct pto_threads_engine *engine = worker->engine;
  const uint32_t most = pto_atomic_load(&engine->stealing.most_taken, memory_order_relaxed);
  return pto_message_ring_take(&engine->stealing.ring, batch, most, engine->port.worker_count);
}

/* ---- the control thread ---- */

static inline bool kernels_are_short(const struct pto_threads_stealing *stealing) {
  return stealing->mean_ticks != 0 && stealing->mean_ticks < stealing->long_ticks;
}

/* A share of what is there; of long kernels one, as another thread may be free before this one comes to the next. */
static void choose_most_taken(struct pto_threads_stealing *stealing) {
  pto_atomic_store(&stealing->most_taken, kernels_are_short(stealing) ? PTO_THREADS_BATCH : 1, memory_order_relaxed);
}

void pto_threads_stealing_begin_run(struct pto_threads_stealing *stealing, uint64_t long_ticks) {
  stealing->long_ticks = long_ticks;
  choose_most_taken(stealing);
}

static uint64_t next_mean(uint64_t mean, uint64_t ticks) {
  return mean ? (7 * mean + ticks) / 8 : pto_max_u64(ticks, 1);
}

void pto_threads_note_sample(struct pto_threads_stealing *stealing, const struct pto_message *message, uint64_t ticks) {
  _Atomic uint32_t *kernel_ticks = &stealing->kernel_ticks[kernel_entry(message)];
  const uint64_t mean = next_mean(pto_atomic_load(kernel_ticks, memory_order_relaxed), ticks); /* relaxed: its own */
  pto_atomic_store(kernel_ticks, (uint32_t)pto_min_u64(mean, UINT32_MAX), memory_order_relaxed);
  stealing->mean_ticks = next_mean(stealing->mean_ticks, ticks);
  choose_most_taken(stealing);
}

static void publish(struct pto_threads_engine *engine) {
  struct pto_message_ring *ring = &engine->stealing.ring;
  pto_message_ring_publish(ring);
  for (uint32_t w = 1; w < engine->port.worker_count; w++) pto_wait_notify(&engine->workers[w].wait);
  /* The next slots: workers have read them. */
  for (uint32_t i = 0; i < PTO_THREADS_BATCH; i += PTO_CACHE_LINE / sizeof(struct pto_message))
    pto_prefetch_to_write(pto_message_ring_slot(ring, ring->written + i));
}

void pto_threads_share(struct pto_threads_engine *engine, const struct pto_message *message) {
  struct pto_message_ring *ring = &engine->stealing.ring;
  engine->stealing.in_flight++;
  pto_message_ring_push(ring, message);
  if (pto_message_ring_unpublished(ring) == PTO_THREADS_BATCH) publish(engine);
}

static inline bool is_alone(const struct pto_threads_stealing *stealing) {
  return stealing->in_flight == 1 && pto_message_ring_unpublished(&stealing->ring) == 1;
}

void pto_threads_offer(struct pto_threads_engine *engine) {
  struct pto_threads_stealing *stealing = &engine->stealing;
  if (pto_message_ring_unpublished(&stealing->ring) == 0) return;
  if (is_alone(stealing)) {
    if (kernels_are_short(stealing)) return;
    stealing->is_lone = true;
    stealing->lone_end = stealing->ring.written;
  }
  stealing->lone_count = 0;
  publish(engine);
}

/* With more in flight than the lone message workers may all be busy, so it is left to them no longer. */
static bool is_left_to_worker(struct pto_threads_stealing *stealing) {
  if (stealing->is_lone)
    stealing->is_lone = stealing->in_flight == 1 && !pto_message_ring_is_taken(&stealing->ring, stealing->lone_end);
  return stealing->is_lone;
}

static void run_here(struct pto_threads_worker *self, struct pto_message *messages, uint32_t count) {
  self->last_end = 0;
  for (uint32_t i = 0; i < count; i++) pto_threads_run_message(self, &messages[i]);
  if (count) pto_mailbox_publish(&self->outbox); /* to ourselves */
}

bool pto_threads_help(struct pto_threads_engine *engine) {
  struct pto_threads_worker *self = &engine->workers[0];
  struct pto_message batch[PTO_THREADS_BATCH];
  if (engine->stealing.in_flight == 0 || is_left_to_worker(&engine->stealing)) return false;
  const uint32_t count = take(self, batch);
  run_here(self, batch, count);
  return count != 0;
}

bool pto_threads_run_lone(struct pto_threads_engine *engine) {
  struct pto_threads_stealing *stealing = &engine->stealing;
  if (!is_alone(stealing)) return false;
  if (++stealing->lone_count == PTO_THREADS_BATCH) {
    stealing->lone_count = 0;
    pto_atomic_store(&stealing->is_open, 0, memory_order_seq_cst); /* N1 of wait.h */
    pto_wait_notify(&engine->workers[1].wait);
  }
  struct pto_message message;
  pto_message_ring_pop(&stealing->ring, &message);
  run_here(&engine->workers[0], &message, 1);
  return true;
}

/* ---- a worker ---- */

/* Asks for what a kernel's call will read, which comes from another CPU, before the current one runs. */
static inline void prefetch(const struct pto_message *message) {
  const char *payload = (const char *)message->payload->tensors;
  for (uint32_t i = 0; i < PTO_PAYLOAD_READ_LINES; i++) __builtin_prefetch(payload + i * PTO_CACHE_LINE);
}

/* Worker 1, of messages that took so long with it.  Those of a kernel that is not known yet say nothing. */
static void judge(struct pto_threads_worker *worker, const struct pto_message *messages, uint32_t count,
                  uint64_t ticks) {
  struct pto_threads_stealing *stealing = &worker->engine->stealing;
  struct pto_thief *thief = &worker->thief;
  uint64_t expected = 0;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t kernel_ticks =
        pto_atomic_load(&stealing->kernel_ticks[kernel_entry(&messages[i])], memory_order_relaxed);
    if (kernel_ticks == 0) return;
    expected += kernel_ticks;
  }
  thief->ticks += ticks;
  thief->expected += expected;
  thief->count += count;
  if (thief->count < PTO_THREADS_BATCH) return;
  if (100 * thief->ticks <= PTO_THREADS_PAYS * thief->expected)
    thief->pause_ns = 0;
  else
    pto_atomic_store(&stealing->is_open, 0, memory_order_relaxed);
  thief->ticks = thief->expected = thief->count = 0;
}

bool pto_threads_steal(struct pto_threads_worker *worker) {
  struct pto_message batch[PTO_THREADS_BATCH];
  const uint64_t begin = pto_ticks_now();
  const uint32_t count = take(worker, batch);
  if (count == 0) return false;
  worker->last_end = 0;
  for (uint32_t i = 0; i + 1 < count; i++) {
    prefetch(&batch[i + 1]);
    pto_threads_run_message(worker, &batch[i]);
    pto_threads_publish_early(worker);
  }
  pto_threads_run_message(worker, &batch[count - 1]);
  pto_threads_publish_completions(worker);
  if (worker->index == 1) judge(worker, batch, count, pto_ticks_now() - begin);
  return true;
}

struct work_wait {
  struct pto_threads_worker *worker;
  bool (*has_other_work)(void *worker);
};

static bool has_work(void *context) {
  const struct work_wait *w = context;
  return w->has_other_work(w->worker) || pto_message_ring_has_message(&w->worker->engine->stealing.ring);
}
/* W2 of wait.h, of the word is_open. */
static bool has_work_or_pause(void *context) {
  const struct work_wait *w = context;
  return has_work(context) ||
         (w->worker->index == 1 && !pto_atomic_load(&w->worker->engine->stealing.is_open, memory_order_seq_cst));
}

void pto_threads_wait_for_work(struct pto_threads_worker *worker, bool (*has_other_work)(void *worker)) {
  struct pto_threads_stealing *stealing = &worker->engine->stealing;
  struct pto_thief *thief = &worker->thief;
  struct work_wait wait = {worker, has_other_work};
  /* Relaxed: has_work_or_pause looks again. */
  if (worker->index != 1 || pto_atomic_load(&stealing->is_open, memory_order_relaxed)) {
    pto_wait_until(&worker->wait, has_work_or_pause, &wait);
    return;
  }
  thief->pause_ns =
      thief->pause_ns ? pto_min_u64(2 * thief->pause_ns, PTO_THREADS_PAUSE_NS) : PTO_THREADS_FIRST_PAUSE_NS;
  pto_wait_for(&worker->wait, has_work, &wait, thief->pause_ns);
  pto_atomic_store(&stealing->is_open, 1, memory_order_relaxed);
}
