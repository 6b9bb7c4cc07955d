/* SPDX-License-Identifier: MIT */
/*
 * Ready queue: slots of one shape that are ready and not wholly dispatched, oldest first, in a ring that can hold them
 * all.  Which of them goes next is in policy.h.
 *
 *     count = tail − head ≤ capacity, a power of two; a slot is in at most one queue, once, so a push never fails.
 * Control thread only.  `items` is the scheduler's memory, which frees it.
 */
#ifndef PTO_READY_QUEUE_H
#define PTO_READY_QUEUE_H

#include <runtime/base/base.h>

struct pto_ready_item {
  uint64_t ready_at; /* in virtual time: the port's clock when it became ready */
  uint32_t slot;
  uint32_t order; /* of becoming ready; compared by difference */
};

struct pto_ready_queue {
  struct pto_ready_item *items;
  uint32_t mask, head, tail;
  bool has_chosen; /* random: the front has been drawn */
  bool is_at_back; /* the end of what pto_policy_peek has returned */
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

#endif
