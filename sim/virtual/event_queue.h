/* SPDX-License-Identifier: MIT */
/*
 * The next event of many cores, where events mostly come in order of their times: what is done again and again takes
 * the same time, so what begins later ends later.
 *
 * A sorted ring, and a heap (event_heap.h) beside it.  An event that fewer than PTO_EVENT_QUEUE_SHIFT events of the
 * ring are later than is sorted into it from the back; any other goes into the heap.  So taking one in costs a
 * comparison where events come in order, and never more than that of the heap and a few moves.
 *
 * Owns nothing: the caller lends the arrays.  Always true: the ring is sorted by (time, rank) and ends with an entry
 * of PTO_EVENT_NEVER that does not count; no two events are equal, so the order in which they leave does not depend on
 * which of the two they were in; next_at is the time of the first, PTO_EVENT_NEVER where there is none.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_EVENT_QUEUE_H
#define PTO_SIM_VIRTUAL_EVENT_QUEUE_H

#include <sim/virtual/event_heap.h>

#define PTO_EVENT_NEVER UINT64_MAX
/* A bound on the moves of 16 bytes, so that a queue of thousands costs no more than its heap.  4 to 128 differ by less
 * than 10 % on 72 and 108 busy cores, with calls of much the same length (bench_virtual_engine) and with a hundred
 * times as much difference between them. */
#define PTO_EVENT_QUEUE_SHIFT 12u

struct pto_event_queue {
  uint64_t next_at;
  struct pto_event *ring; /* mask + 1 entries */
  uint32_t head, tail;    /* run freely */
  uint32_t mask;
  struct pto_event_heap heap;
};

/* Entries of the ring of a queue for `count` events at most: a power of two. */
static inline uint32_t pto_event_queue_ring_size(uint32_t count) { return UINT32_C(2) << pto_log2_floor(count); }

static inline uint32_t pto_event_queue_count(const struct pto_event_queue *queue) {
  return queue->tail - queue->head + queue->heap.count;
}

/* Empties a queue whose arrays, mask and capacity are set. */
static inline void pto_event_queue_reset(struct pto_event_queue *queue) {
  queue->next_at = PTO_EVENT_NEVER;
  queue->head = queue->tail = 0;
  queue->heap.count = 0;
  queue->ring[0] = (struct pto_event){.time = PTO_EVENT_NEVER};
}

/* Sorts in what does not come last. */
static PTO_NOINLINE void pto_event_queue_insert_early(struct pto_event_queue *queue, struct pto_event event) {
  struct pto_event *ring = queue->ring;
  const uint32_t mask = queue->mask, held = queue->tail - queue->head;
  uint32_t later = 1;
  while (later < held && later < PTO_EVENT_QUEUE_SHIFT &&
         pto_event_before(&event, &ring[(queue->tail - later - 1) & mask]))
    later++;
  if (later == PTO_EVENT_QUEUE_SHIFT) {
    pto_event_heap_push(&queue->heap, event);
    return;
  }
  uint32_t at = ++queue->tail;
  ring[at & mask] = (struct pto_event){.time = PTO_EVENT_NEVER};
  for (at--; later > 0; later--, at--) ring[at & mask] = ring[(at - 1) & mask];
  ring[at & mask] = event;
}

static inline void pto_event_queue_insert(struct pto_event_queue *queue, uint64_t time, uint32_t rank) {
  const struct pto_event event = {.time = time, .rank = rank};
  PTO_ASSERT(time < PTO_EVENT_NEVER && queue->tail - queue->head < queue->mask);
  queue->next_at = pto_min_u64(queue->next_at, time);
  if (queue->tail != queue->head && pto_event_before(&event, &queue->ring[(queue->tail - 1) & queue->mask])) {
    pto_event_queue_insert_early(queue, event);
    return;
  }
  queue->ring[queue->tail++ & queue->mask] = event;
  queue->ring[queue->tail & queue->mask].time = PTO_EVENT_NEVER;
}

/* Takes the first event of a queue with events in its heap. */
static PTO_NOINLINE struct pto_event pto_event_queue_pop_either(struct pto_event_queue *queue) {
  const struct pto_event *ring = queue->ring;
  struct pto_event event = ring[queue->head & queue->mask];
  if (pto_event_before(&queue->heap.events[0], &event)) {
    event = queue->heap.events[0];
    pto_event_heap_pop(&queue->heap);
  } else {
    queue->head++;
  }
  queue->next_at = ring[queue->head & queue->mask].time;
  if (queue->heap.count > 0) queue->next_at = pto_min_u64(queue->next_at, queue->heap.events[0].time);
  return event;
}

/* Takes the first event, where there is one. */
static inline struct pto_event pto_event_queue_pop(struct pto_event_queue *queue) {
  PTO_ASSERT(pto_event_queue_count(queue) > 0);
  if (queue->heap.count > 0) return pto_event_queue_pop_either(queue);
  const struct pto_event event = queue->ring[queue->head & queue->mask];
  queue->next_at = queue->ring[++queue->head & queue->mask].time;
  return event;
}

static inline bool pto_event_queue_is_valid(const struct pto_event_queue *queue) {
  uint64_t first = queue->ring[queue->head & queue->mask].time;
  if (!pto_event_heap_is_valid(&queue->heap) || queue->tail - queue->head > queue->mask) return false;
  if (queue->ring[queue->tail & queue->mask].time != PTO_EVENT_NEVER) return false;
  for (uint32_t i = queue->head; i != queue->tail; i++) {
    if (i + 1 != queue->tail && !pto_event_before(&queue->ring[i & queue->mask], &queue->ring[(i + 1) & queue->mask]))
      return false;
  }
  if (queue->heap.count > 0) first = pto_min_u64(first, queue->heap.events[0].time);
  return queue->next_at == first;
}

#endif
