/* SPDX-License-Identifier: MIT */
/*
 * Policies: which of the ready tasks of a queue goes next.
 *
 * The front (fifo), the back (lifo), or a random one, which is moved to the front and stays chosen until it is popped.
 * Between queues the order of becoming ready decides, by what each queue's policy offers (scheduler.c).  There a
 * claimant is passed by older tasks under fifo alone.
 *
 * To add a policy: a line in PTO_POLICY_LIST, and the function pto_policy_NAME.
 *
 * Control thread only.  Owns nothing.
 */
#ifndef PTO_SCHED_POLICY_H
#define PTO_SCHED_POLICY_H

#include <runtime/sched/ready_queue.h>

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
/* All of them in one text, for sentences: ", fifo, lifo, random:SEED". */
#define PTO_POLICY_SYNTAX(CONSTANT, name, syntax) ", " syntax
#define PTO_POLICY_SYNTAXES PTO_POLICY_LIST(PTO_POLICY_SYNTAX)

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
static inline struct pto_ready_item pto_policy_peek(struct pto_ready_queue *queue, enum pto_policy policy,
                                                    struct pto_rng *rng) {
  PTO_ASSERT(pto_ready_queue_count(queue) > 0);
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
static inline void pto_policy_pop(struct pto_ready_queue *queue) {
  PTO_ASSERT(pto_ready_queue_count(queue) > 0);
  queue->has_chosen = false;
  if (queue->is_at_back)
    queue->tail--;
  else
    queue->head++;
  if (queue->head == queue->tail) queue->head = queue->tail = 0; /* the same few lines again, not all of its memory */
}

#endif
