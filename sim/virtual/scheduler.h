/* SPDX-License-Identifier: MIT */
/*
 * A scheduler of the chip in virtual time: one clock and the things that it has yet to do, in the order in which they
 * came up.
 *
 * Two queues by time: completions that its cores made visible (they come in order) and messages that others asked it to
 * send (nearly in order: sorted in from the back, equal times in order of asking).  It does one thing at a time, the
 * earliest first, a completion before a message of the same time:
 *   next_at = max(clock, earliest in either queue), PTO_VIRTUAL_NEVER where both are empty.
 *
 * Owns nothing; the engine lends the queues' memory.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_SCHEDULER_H
#define PTO_SIM_VIRTUAL_SCHEDULER_H

#include <sim/virtual/core.h>

struct pto_virtual_notice {
  uint64_t time;
  uint32_t core;
  uint32_t reserved;
};

/* A ring; head and tail run freely.  next_at: the time of the first, PTO_VIRTUAL_NEVER where there is none. */
struct pto_virtual_queue {
  uint64_t next_at;
  struct pto_virtual_notice *notices;
  uint32_t head, tail, mask;
};

static inline void pto_virtual_queue_reset(struct pto_virtual_queue *queue) {
  queue->next_at = PTO_VIRTUAL_NEVER;
  queue->head = queue->tail = 0;
}

/* Sorts the last one in. */
static PTO_NOINLINE void pto_virtual_queue_sort_last(struct pto_virtual_queue *queue) {
  uint32_t at = queue->tail - 1;
  const struct pto_virtual_notice last = queue->notices[at & queue->mask];
  for (; at != queue->head && queue->notices[(at - 1) & queue->mask].time > last.time; at--)
    queue->notices[at & queue->mask] = queue->notices[(at - 1) & queue->mask];
  queue->notices[at & queue->mask] = last;
}

/* Keeps the order by time, equal times in order of insertion. */
static inline void pto_virtual_queue_insert(struct pto_virtual_queue *queue, uint64_t time, uint32_t core) {
  PTO_ASSERT(queue->tail - queue->head <= queue->mask);
  const uint32_t at = queue->tail++;
  queue->notices[at & queue->mask] = (struct pto_virtual_notice){.time = time, .core = core};
  queue->next_at = pto_min_u64(queue->next_at, time);
  if (at != queue->head && queue->notices[(at - 1) & queue->mask].time > time) pto_virtual_queue_sort_last(queue);
}

/* Takes the first; its core. */
static inline uint32_t pto_virtual_queue_pop(struct pto_virtual_queue *queue) {
  PTO_ASSERT(queue->head != queue->tail);
  const uint32_t core = queue->notices[queue->head++ & queue->mask].core;
  queue->next_at = queue->head == queue->tail ? PTO_VIRTUAL_NEVER : queue->notices[queue->head & queue->mask].time;
  return core;
}

struct pto_virtual_scheduler {
  uint64_t clock;
  struct pto_virtual_queue completions, messages;
};

/* next_at, of what it holds now. */
static inline uint64_t pto_virtual_scheduler_next_at(const struct pto_virtual_scheduler *scheduler) {
  return pto_max_u64(scheduler->clock, pto_min_u64(scheduler->completions.next_at, scheduler->messages.next_at));
}

/* What it does next; only where next_at is not NEVER. */
static inline bool pto_virtual_scheduler_has_completion_next(const struct pto_virtual_scheduler *scheduler) {
  return scheduler->completions.next_at <= scheduler->messages.next_at;
}

#endif
