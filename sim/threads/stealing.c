/* SPDX-License-Identifier: MIT */
#include <sim/threads/stealing.h>

#include <sim/threads/worker.h>

static inline uint32_t count_of(const struct pto_message_ring *ring) { return ring->tail - ring->head; }

static inline struct pto_message *at(const struct pto_message_ring *ring, uint32_t index) {
  return &ring->messages[index & ring->mask];
}

static void move_oldest(struct pto_message_ring *to, struct pto_message_ring *from, uint32_t count) {
  PTO_ASSERT(count <= count_of(from) && count_of(to) + count <= to->mask + 1);
  for (; count; count--) *at(to, to->tail++) = *at(from, from->head++);
}

static inline void lock(struct pto_threads_stealing *stealing) { pthread_mutex_lock(&stealing->mutex); }
static inline void unlock(struct pto_threads_stealing *stealing) { pthread_mutex_unlock(&stealing->mutex); }

/* Under the mutex. */
static void answer(struct pto_threads_stealing *stealing) {
  pto_atomic_store(&stealing->is_asked, 0, memory_order_seq_cst); /* N1 of wait.h */
}

static void notify_workers(struct pto_threads_engine *engine) {
  for (uint32_t w = 1; w < engine->port.worker_count; w++) pto_wait_notify(&engine->workers[w].wait);
}

bool pto_threads_stealing_init(struct pto_threads_engine *engine) {
  struct pto_threads_stealing *stealing = &engine->stealing;
  const bool has_thieves = engine->port.worker_count > 1;
  pto_atomic_init(&stealing->is_asked, has_thieves);
  for (uint32_t w = 0; w < engine->port.worker_count; w++) engine->workers[w].thief.has_asked = has_thieves;
  return stealing->is_made = pthread_mutex_init(&stealing->mutex, NULL) == 0;
}

void pto_threads_stealing_fini(struct pto_threads_engine *engine) {
  if (engine->stealing.is_made) pthread_mutex_destroy(&engine->stealing.mutex);
}

bool pto_threads_stealing_is_valid(const struct pto_threads_engine *engine) {
  const struct pto_threads_stealing *stealing = &engine->stealing;
  return stealing->in_flight == 0 && count_of(&stealing->queue) == 0 && count_of(&stealing->offered) == 0;
}

/* ---- the control thread ---- */

void pto_threads_stealing_begin_run(struct pto_threads_engine *engine) {
  struct pto_threads_stealing *stealing = &engine->stealing;
  stealing->keeps_alone = false;
  lock(stealing);
  stealing->batch_ticks = pto_ticks_of_ns(&engine->ticks, PTO_THREADS_BATCH_NS);
  unlock(stealing);
}

static void offer(struct pto_threads_engine *engine, uint32_t count) {
  struct pto_threads_stealing *stealing = &engine->stealing;
  lock(stealing);
  move_oldest(&stealing->offered, &stealing->queue, count);
  answer(stealing);
  unlock(stealing);
  stealing->alone_count = 0;
  stealing->is_lone = false;
  notify_workers(engine);
}

void pto_threads_enqueue(struct pto_threads_engine *engine, const struct pto_message *message) {
  struct pto_threads_stealing *stealing = &engine->stealing;
  struct pto_message_ring *queue = &stealing->queue;
  PTO_ASSERT(count_of(queue) <= queue->mask); /* else the runtime has sent a core more than slots_per_core */
  *at(queue, queue->tail++) = *message;
  if (count_of(queue) >= PTO_THREADS_OFFER && pto_atomic_load(&stealing->is_asked, memory_order_relaxed))
    offer(engine, count_of(queue));
}

void pto_threads_offer(struct pto_threads_engine *engine) {
  struct pto_threads_stealing *stealing = &engine->stealing;
  const uint32_t count = count_of(&stealing->queue);
  if (count == 0 || !pto_atomic_load(&stealing->is_asked, memory_order_relaxed)) return;
  if (count == 1 && !stealing->keeps_alone) {
    stealing->keeps_alone = true; /* unless the next one, which is run here, takes long */
    offer(engine, 1);
    stealing->is_lone = true;
  } else if (count > 1 || ++stealing->alone_count == PTO_THREADS_PATIENCE) {
    offer(engine, count / 2);
  }
}

bool pto_threads_run_queue(struct pto_threads_engine *engine) {
  struct pto_threads_stealing *stealing = &engine->stealing;
  struct pto_threads_worker *self = &engine->workers[0];
  struct pto_message_ring *queue = &stealing->queue;
  if (count_of(queue) == 0) return false;
  const bool is_alone = count_of(queue) == 1;
  const uint64_t begin = pto_ticks_now();
  uint64_t now;
  self->last_end = 0;
  do {
    if (count_of(queue) > 1) pto_threads_offer(engine);
    pto_threads_run_message(self, at(queue, queue->head));
    queue->head++;
    now = pto_ticks_now();
  } while (count_of(queue) && now - begin < stealing->batch_ticks);
  if (is_alone) stealing->keeps_alone = now - begin < stealing->batch_ticks;
  pto_mailbox_publish(&self->outbox); /* to ourselves */
  return true;
}

bool pto_threads_reclaim(struct pto_threads_engine *engine) {
  struct pto_threads_stealing *stealing = &engine->stealing;
  if (stealing->in_flight == 0 || stealing->is_lone) return false;
  lock(stealing);
  const uint32_t count = (count_of(&stealing->offered) + 1) / 2;
  move_oldest(&stealing->queue, &stealing->offered, count);
  unlock(stealing);
  return count != 0;
}

/* ---- a worker ---- */

static void pause(struct pto_thief *thief) {
  thief->pause_ns = thief->pause_ns ? pto_min_u64(2 * thief->pause_ns, PTO_THREADS_PAUSE_NS) : PTO_THREADS_BATCH_NS;
  thief->is_pausing = true;
}

/* Under the mutex: how many messages it takes. */
static uint32_t batch_size(const struct pto_threads_worker *worker) {
  const struct pto_threads_stealing *stealing = &worker->engine->stealing;
  const uint32_t others = worker->engine->port.worker_count - 1;
  const uint32_t share = (count_of(&stealing->offered) + others - 1) / others;
  const uint64_t mean = worker->thief.mean_ticks;
  const uint64_t fitting = mean ? stealing->batch_ticks / mean : 1;
  return (uint32_t)pto_min_u64(pto_min_u64(share, PTO_THREADS_BATCH), fitting ? fitting : 1);
}

/* Copies a batch, and asks where nothing is left. */
static uint32_t take_batch(struct pto_threads_worker *worker) {
  struct pto_threads_stealing *stealing = &worker->engine->stealing;
  struct pto_thief *thief = &worker->thief;
  lock(stealing);
  const bool is_asked = pto_atomic_load(&stealing->is_asked, memory_order_relaxed); /* the mutex orders it */
  const uint32_t count = batch_size(worker);
  thief->most_ticks = 4 * stealing->batch_ticks;
  for (uint32_t i = 0; i < count; i++) thief->batch[i] = *at(&stealing->offered, stealing->offered.head++);
  const bool is_refused = count == 0 && thief->has_asked && !is_asked;
  thief->has_asked = count_of(&stealing->offered) == 0 && !is_refused;
  if (thief->has_asked && !is_asked) pto_atomic_store(&stealing->is_asked, 1, memory_order_relaxed);
  unlock(stealing);
  if (is_refused) pause(thief);
  return count;
}

/* Messages from `first` on of the batch: they take longer than was thought, and another thread may come to them sooner.
 */
static void give_back(struct pto_threads_worker *worker, uint32_t first, uint32_t count) {
  struct pto_threads_stealing *stealing = &worker->engine->stealing;
  lock(stealing);
  for (uint32_t i = count; i-- > first;) *at(&stealing->offered, --stealing->offered.head) = worker->thief.batch[i];
  answer(stealing);
  unlock(stealing);
  notify_workers(worker->engine);
}

/* Asks for what a kernel's call will read, which comes from another CPU, before the current one runs. */
static inline void prefetch(const struct pto_message *message) {
  const char *payload = (const char *)message->payload->tensors;
  __builtin_prefetch(payload);
  __builtin_prefetch(payload + PTO_CACHE_LINE);
  __builtin_prefetch(payload + 2 * PTO_CACHE_LINE);
}

bool pto_threads_steal(struct pto_threads_worker *worker) {
  struct pto_thief *thief = &worker->thief;
  const uint64_t begin = pto_ticks_now();
  uint32_t count = take_batch(worker), done = 0;
  if (count == 0) return false;
  const uint64_t first = pto_ticks_now();
  uint64_t now = first;
  worker->last_end = 0;
  while (done < count) {
    if (done + 1 < count) prefetch(&thief->batch[done + 1]);
    pto_threads_run_message(worker, &thief->batch[done++]);
    now = pto_ticks_now();
    if (done < count && now - first > thief->most_ticks) {
      give_back(worker, done, count);
      count = done;
    }
    pto_threads_publish_completions(worker);
  }
  thief->mean_ticks = (now - first) / count + 1;
  if (now - first < PTO_THREADS_PAYS * (first - begin))
    pause(thief);
  else
    thief->pause_ns = 0;
  return true;
}

bool pto_threads_is_answered(const struct pto_threads_worker *worker) {
  return worker->thief.has_asked &&
         !pto_atomic_load(&worker->engine->stealing.is_asked, memory_order_seq_cst); /* W2 of wait.h */
}
