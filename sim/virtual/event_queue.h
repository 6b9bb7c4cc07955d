/* SPDX-License-Identifier: MIT */
/*
 * What comes next in virtual time: events in order of (time, rank), those that are equal in order of insertion.
 *
 * A sorted ring: an event is sorted in from the back.  What is done again and again takes the same time, so what begins
 * later mostly ends later, and an insertion costs one comparison.  An event that comes before n others costs n moves of
 * 16 bytes.
 *
 * Owns nothing: the caller lends the ring.  Always true: the ring is sorted and ends with an entry of PTO_EVENT_NEVER
 * that does not count; next_at is the time of the first event, PTO_EVENT_NEVER where there is none.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_EVENT_QUEUE_H
#define PTO_SIM_VIRTUAL_EVENT_QUEUE_H

#include <runtime/base/base.h>

#define PTO_EVENT_NEVER UINT64_MAX

struct pto_event {
  uint64_t time;
  uint32_t rank;
  uint32_t core;
};

struct pto_event_queue {
  uint64_t next_at;
  struct pto_event *ring; /* mask + 1 entries */
  uint32_t head, tail;    /* run freely */
  uint32_t mask;
};

static inline bool pto_event_before(const struct pto_event *a, const struct pto_event *b) {
  return a->time < b->time || (a->time == b->time && a->rank < b->rank);
}

/* Entries of the ring of a queue for `count` events at most: a power of two. */
static inline uint32_t pto_event_queue_ring_size(uint64_t count) { return UINT32_C(2) << pto_log2_floor(count); }

/* Empties a queue whose ring and mask are set. */
static inline void pto_event_queue_reset(struct pto_event_queue *queue) {
  queue->next_at = PTO_EVENT_NEVER;
  queue->head = queue->tail = 0;
  queue->ring[0] = (struct pto_event){.time = PTO_EVENT_NEVER};
}

/* Moves the events that `event` comes before, and the end, one place on; the place that is free then. */
static PTO_NOINLINE uint32_t pto_event_queue_make_room(struct pto_event_queue *queue, const struct pto_event *event) {
  uint32_t at = queue->tail;
  do {
    queue->ring[at & queue->mask] = queue->ring[(at - 1) & queue->mask];
    at--;
  } while (at != queue->head && pto_event_before(event, &queue->ring[(at - 1) & queue->mask]));
  return at;
}

static inline void pto_event_queue_insert(struct pto_event_queue *queue, uint64_t time, uint32_t rank, uint32_t core) {
  const struct pto_event event = {.time = time, .rank = rank, .core = core};
  uint32_t at = queue->tail;
  PTO_ASSERT(time < PTO_EVENT_NEVER && queue->tail - queue->head < queue->mask);
  queue->next_at = pto_min_u64(queue->next_at, time);
  if (at != queue->head && pto_event_before(&event, &queue->ring[(at - 1) & queue->mask]))
    at = pto_event_queue_make_room(queue, &event);
  queue->ring[at & queue->mask] = event;
  queue->ring[++queue->tail & queue->mask].time = PTO_EVENT_NEVER;
}

/* Takes the first event, where there is one. */
static inline struct pto_event pto_event_queue_pop(struct pto_event_queue *queue) {
  PTO_ASSERT(queue->head != queue->tail);
  const struct pto_event event = queue->ring[queue->head & queue->mask];
  queue->next_at = queue->ring[++queue->head & queue->mask].time;
  return event;
}

/* The time of the last event; where there is none, any. */
static inline uint64_t pto_event_queue_last(const struct pto_event_queue *queue) {
  return queue->ring[(queue->tail - 1) & queue->mask].time;
}

/* The event at place `at` is at `time` from now on, no later than it was: it comes behind the others of that time and
 * its rank that are before it already. */
static inline void pto_event_queue_hasten(struct pto_event_queue *queue, uint32_t at, uint64_t time) {
  struct pto_event event = queue->ring[at & queue->mask];
  event.time = time;
  for (; at != queue->head && pto_event_before(&event, &queue->ring[(at - 1) & queue->mask]); at--)
    queue->ring[at & queue->mask] = queue->ring[(at - 1) & queue->mask];
  queue->ring[at & queue->mask] = event;
  queue->next_at = pto_min_u64(queue->next_at, time);
}

static inline bool pto_event_queue_is_valid(const struct pto_event_queue *queue) {
  const struct pto_event *ring = queue->ring;
  if (queue->tail - queue->head > queue->mask) return false;
  if (ring[queue->tail & queue->mask].time != PTO_EVENT_NEVER) return false;
  for (uint32_t i = queue->head; i != queue->tail; i++)
    if (pto_event_before(&ring[(i + 1) & queue->mask], &ring[i & queue->mask])) return false;
  return queue->next_at == ring[queue->head & queue->mask].time;
}

#endif
