/* SPDX-License-Identifier: MIT */
/*
 * The next event of many cores: a binary heap of (time, rank), earliest first, equal times by rank.
 *
 * Owns nothing: the caller lends an array of as many entries as there are cores.  Always true: a parent is not later
 * than its children; no two entries are equal (a core has one entry at most), so the order of removal does not depend
 * on that of insertion.  One thread.
 */
#ifndef PTO_SIM_VIRTUAL_EVENT_HEAP_H
#define PTO_SIM_VIRTUAL_EVENT_HEAP_H

#include <runtime/base/base.h>

struct pto_event {
  uint64_t time;
  uint32_t rank;
  uint32_t reserved;
};

struct pto_event_heap {
  struct pto_event *events;
  uint32_t count, capacity;
};

static inline bool pto_event_before(const struct pto_event *a, const struct pto_event *b) {
  return a->time < b->time || (a->time == b->time && a->rank < b->rank);
}

static inline void pto_event_heap_push(struct pto_event_heap *heap, struct pto_event event) {
  PTO_ASSERT(heap->count < heap->capacity);
  uint32_t at = heap->count++;
  while (at > 0) {
    uint32_t parent = (at - 1) / 2;
    if (!pto_event_before(&event, &heap->events[parent])) break;
    heap->events[at] = heap->events[parent];
    at = parent;
  }
  heap->events[at] = event;
}

/* Puts `event` in the place of the earliest one. */
static inline void pto_event_heap_replace_top(struct pto_event_heap *heap, struct pto_event event) {
  PTO_ASSERT(heap->count > 0);
  struct pto_event *events = heap->events;
  uint32_t count = heap->count, at = 0;
  for (uint32_t child = 1; child < count; child = 2 * at + 1) {
    child += child + 1 < count && pto_event_before(&events[child + 1], &events[child]);
    if (!pto_event_before(&events[child], &event)) break;
    events[at] = events[child];
    at = child;
  }
  events[at] = event;
}

static inline void pto_event_heap_pop(struct pto_event_heap *heap) {
  PTO_ASSERT(heap->count > 0);
  struct pto_event last = heap->events[--heap->count];
  if (heap->count > 0) pto_event_heap_replace_top(heap, last);
}

static inline bool pto_event_heap_is_valid(const struct pto_event_heap *heap) {
  if (heap->count > heap->capacity) return false;
  for (uint32_t i = 1; i < heap->count; i++) {
    if (!pto_event_before(&heap->events[(i - 1) / 2], &heap->events[i])) return false;
  }
  return true;
}

#endif
