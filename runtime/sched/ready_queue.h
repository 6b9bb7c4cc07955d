/* SPDX-License-Identifier: MIT */
/*
 * Ready queue: slots of one shape that are ready and not wholly dispatched, oldest first, in a ring that can hold them
 * all.
 *
 *     count = tail − head ≤ capacity, a power of two; a slot is in at most one queue, once, so a push never fails.
 * The next task is chosen by policy: the front (fifo), the back (lifo), or a random one, which is moved to the front
 * and stays chosen until it is popped.  Control thread only.
 *
 * To add a policy: a line in PTO_POLICY_LIST, and the function pto_policy_NAME.
 */
#ifndef PTO_READY_QUEUE_H
#define PTO_READY_QUEUE_H

#include <runtime/base/base.h>

/* X(CONSTANT, name, what users write: the name, and ":SEED" where it draws).  The first is the default. */
#define PTO_POLICY_LIST(X)                                                                                             \
  X(FIFO, fifo, "fifo")                                                                                                \
  X(LIFO, lifo, "lifo")                                                                                                \
  X(RANDOM, random, "random:SEED")
enum pto_policy {
#define X(CONSTANT, name, syntax) PTO_POLICY_##CONSTANT,
  PTO_POLICY_LIST(X)
#undef X
      PTO_POLICY_COUNT
};
/* All of them in one text, for sentences: " fifo lifo random:SEED". */
#define PTO_POLICY_SPACED(CONSTANT, name, syntax) " " syntax
#define PTO_POLICY_SYNTAXES PTO_POLICY_LIST(PTO_POLICY_SPACED)

struct pto_ready_item {
  uint32_t slot;
  uint32_t order; /* of becoming ready; compared by difference */
};

struct pto_ready_queue {
  struct pto_ready_item *items;
  uint32_t mask, head, tail;
  bool has_chosen; /* random: the front has been drawn */
  bool is_at_back; /* what peek has returned; never of fifo */
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
/* Of each policy: brings the item that it takes next to an end of the queue, which is not empty, and returns whether
 * that is the back.  Asked again before the pop, it answers the same. */
static inline bool pto_policy_fifo(struct pto_ready_queue *queue, struct pto_rng *rng) { return false; }
static inline bool pto_policy_lifo(struct pto_ready_queue *queue, struct pto_rng *rng) { return true; }
static inline bool pto_policy_random(struct pto_ready_queue *queue, struct pto_rng *rng) {
  if (!queue->has_chosen) {
    uint32_t chosen = queue->head + (uint32_t)pto_rng_below(rng, pto_ready_queue_count(queue));
    struct pto_ready_item item = queue->items[chosen & queue->mask];
    queue->items[chosen & queue->mask] = queue->items[queue->head & queue->mask];
    queue->items[queue->head & queue->mask] = item;
    queue->has_chosen = true;
  }
  return false;
}

/* The item that the policy takes next; the queue is not empty. */
static inline struct pto_ready_item pto_ready_queue_peek(struct pto_ready_queue *queue, enum pto_policy policy,
                                                         struct pto_rng *rng) {
  PTO_ASSERT(pto_ready_queue_count(queue) > 0);
  if (PTO_LIKELY(policy == PTO_POLICY_FIFO)) return queue->items[queue->head & queue->mask];
  switch (policy) {
#define X(CONSTANT, name, syntax)                                                                                      \
  case PTO_POLICY_##CONSTANT:                                                                                          \
    queue->is_at_back = pto_policy_##name(queue, rng);                                                                 \
    break;
    PTO_POLICY_LIST(X)
#undef X
  case PTO_POLICY_COUNT:
    break;
  }
  return queue->items[(queue->is_at_back ? queue->tail - 1 : queue->head) & queue->mask];
}
/* Takes the item that peek returned. */
static inline void pto_ready_queue_pop(struct pto_ready_queue *queue, enum pto_policy policy) {
  PTO_ASSERT(pto_ready_queue_count(queue) > 0);
  if (PTO_LIKELY(policy == PTO_POLICY_FIFO)) {
    queue->head++;
    return;
  }
  queue->has_chosen = false;
  if (queue->is_at_back)
    queue->tail--;
  else
    queue->head++;
}

#endif
