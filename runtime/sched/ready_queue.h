/* SPDX-License-Identifier: MIT */
/*
 * Ready queue: slots of one shape that are ready and not wholly dispatched, oldest first, in a ring that can hold them
 * all.
 *
 *     count = tail − head ≤ capacity, a power of two; a slot is in at most one queue, once, so a push never fails.
 * The next task is chosen by policy: the front (fifo), the back (lifo), or a random one, which is moved to the front
 * and stays chosen until it is popped.  Control thread only.
 */
#ifndef PTO_READY_QUEUE_H
#define PTO_READY_QUEUE_H

#include <runtime/base/base.h>

enum pto_policy { PTO_POLICY_FIFO = 0, PTO_POLICY_LIFO, PTO_POLICY_RANDOM };

struct pto_ready_item {
  uint32_t slot;
  uint32_t order; /* of becoming ready; compared by difference */
};

struct pto_ready_queue {
  struct pto_ready_item *items;
  uint32_t mask, head, tail;
  bool has_chosen; /* random: the front has been drawn */
};

static inline uint32_t pto_ready_queue_count(const struct pto_ready_queue *queue) { return queue->tail - queue->head; }
static inline void pto_ready_queue_push(struct pto_ready_queue *queue, struct pto_ready_item item) {
  PTO_ASSERT(pto_ready_queue_count(queue) <= queue->mask);
  queue->items[queue->tail++ & queue->mask] = item;
}
/* Puts a task back where it came from. */
static inline void pto_ready_queue_push_front(struct pto_ready_queue *queue, struct pto_ready_item item) {
  PTO_ASSERT(pto_ready_queue_count(queue) <= queue->mask);
  queue->has_chosen = false;
  queue->items[--queue->head & queue->mask] = item;
}
/* The item that the policy takes next; the queue is not empty. */
static inline struct pto_ready_item pto_ready_queue_peek(struct pto_ready_queue *queue, enum pto_policy policy,
                                                         struct pto_rng *rng) {
  PTO_ASSERT(pto_ready_queue_count(queue) > 0);
  if (PTO_LIKELY(policy == PTO_POLICY_FIFO)) return queue->items[queue->head & queue->mask];
  if (policy == PTO_POLICY_LIFO) return queue->items[(queue->tail - 1) & queue->mask];
  if (!queue->has_chosen) {
    uint32_t chosen = queue->head + (uint32_t)pto_rng_below(rng, pto_ready_queue_count(queue));
    struct pto_ready_item item = queue->items[chosen & queue->mask];
    queue->items[chosen & queue->mask] = queue->items[queue->head & queue->mask];
    queue->items[queue->head & queue->mask] = item;
    queue->has_chosen = true;
  }
  return queue->items[queue->head & queue->mask];
}
/* Takes the item that peek returned. */
static inline void pto_ready_queue_pop(struct pto_ready_queue *queue, enum pto_policy policy) {
  PTO_ASSERT(pto_ready_queue_count(queue) > 0);
  if (PTO_LIKELY(policy == PTO_POLICY_FIFO)) {
    queue->head++;
    return;
  }
  queue->has_chosen = false;
  if (policy == PTO_POLICY_LIFO)
    queue->tail--;
  else
    queue->head++;
}

#endif
