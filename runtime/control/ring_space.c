/* SPDX-License-Identifier: MIT */
/* What takes room in the rings: retiring, releasing, and what an open scope holds.  Waits for nothing and fails
 * nothing, so that both the waiting (progress.c) and the report of a stopped run stand above it.  The control thread.
 */
#include <runtime/control/runtime_state.h>

bool pto_space_retire(struct pto_runtime *rt) {
  bool any = false;
#pragma GCC unroll 4 /* once a completion in virtual time, and mostly nothing is there */
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    const struct pto_task_ring *ring = &rt->rings.rings[i];
    if (ring->tail != ring->released_end) any |= pto_task_ring_retire(&rt->rings, i);
  }
  return any;
}

void pto_space_drop_buffers(struct pto_runtime *rt, uint32_t *list) {
  for (uint32_t i = *list; i != PTO_NONE;) {
    struct pto_buffer_record *record = &rt->buffers.records[i];
    i = record->next_in_scope;
    if (record->space != PTO_NONE) {
      if (record->kind == PTO_BUFFER_MANAGED)
        pto_access_map_remove_space(&rt->map, record->space);
      else
        rt->map.spaces[record->space].registrations--;
    }
    pto_buffer_registry_remove(&rt->buffers, record);
  }
  *list = PTO_NONE;
}

bool pto_space_release(struct pto_runtime *rt, uint32_t ring_index) {
  struct pto_task_ring *ring = &rt->rings.rings[ring_index];
  if (PTO_LIKELY(ring->released_end == ring->open_begin)) return false;
  const uint32_t slot = pto_task_slot_index(&rt->rings, ring_index, ring->released_end);
  if (rt->rings.slots[slot].flags & PTO_TASK_HAS_HEAP) pto_space_drop_buffers(rt, &rt->rings.cold[slot].kept);
  ring->released_end++;
  return true;
}

static uint64_t later_of(uint64_t a, uint64_t b) { return (int64_t)(a - b) > 0 ? a : b; }

/* A scope that began when the heap was empty begins where the heap started over; what ended scopes left behind an open
 * scope's task is held by that scope. */
void pto_space_of_scope(const struct pto_runtime *rt, uint32_t depth, uint64_t *tasks, uint64_t *bytes) {
  const struct pto_scope *scope = &rt->scopes[depth];
  const struct pto_task_ring *ring = &rt->rings.rings[scope->ring];
  bool has_next = depth < rt->scope_depth && rt->scopes[depth + 1].ring == scope->ring;
  uint64_t begin = later_of(scope->begin_sequence, ring->tail);
  uint64_t end = has_next ? later_of(rt->scopes[depth + 1].begin_sequence, begin) : ring->head;
  uint64_t heap_begin = pto_max_u64(scope->begin_heap, ring->heap.tail);
  uint64_t heap_end = has_next ? pto_max_u64(rt->scopes[depth + 1].begin_heap, heap_begin) : ring->heap.head;
  *tasks = end - begin;
  *bytes = heap_end - heap_begin;
}
