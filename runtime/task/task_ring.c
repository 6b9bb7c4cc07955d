/* SPDX-License-Identifier: MIT */
#include <runtime/task/task_ring.h>

#include <runtime/base/probe.h>

/* What has small pages: as many slots as most programs ever touch.  A first touch costs more than a submit where the
 * system is a virtual one, and a ring goes through all of its slots. */
#define SMALL_BYTES (UINT64_C(1) << 17)

bool pto_task_rings_init(struct pto_task_rings *rings, uint32_t window, void *arena, uint64_t heap_bytes) {
  *rings = (struct pto_task_rings){
      .window = window, .window_log2 = pto_log2_floor(window), .slot_mask = window * PTO_RING_COUNT - 1};
  uint64_t count = (uint64_t)window * PTO_RING_COUNT;
  const uint64_t bytes = count * (sizeof *rings->slots + sizeof *rings->cold + sizeof *rings->marks);
  if (!pto_reserve_init_large(&rings->memory, bytes, SMALL_BYTES)) return false;
  rings->slots = rings->memory.addr;
  rings->cold = (struct pto_task_cold *)(void *)(rings->slots + count);
  rings->marks = (uint32_t *)(void *)(rings->cold + count);
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    rings->rings[i].first_slot = i * window;
    rings->rings[i].capacity = window - 1;
    pto_heap_ring_init(&rings->rings[i].heap, (char *)arena + i * heap_bytes, heap_bytes);
  }
  return true;
}

void pto_task_rings_fini(struct pto_task_rings *rings) {
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) pto_heap_ring_fini(&rings->rings[i].heap);
  pto_reserve_fini(&rings->memory);
}

void pto_task_rings_reset(struct pto_task_rings *rings, uint64_t first_sequence) {
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    struct pto_task_ring *ring = &rings->rings[i];
    ring->head = ring->tail = ring->open_begin = ring->released_end = ring->done_end = first_sequence;
    ring->high_water = 0;
    pto_heap_ring_reset(&ring->heap);
  }
}

bool pto_task_ring_retire(struct pto_task_rings *rings, uint32_t ring_index) {
  struct pto_task_ring *ring = &rings->rings[ring_index];
  uint64_t tail = ring->tail + pto_min_u64(ring->done_end - ring->tail, ring->released_end - ring->tail);
  ring->high_water = pto_task_ring_high_water(ring);
  while (tail != ring->released_end) {
    uint32_t index = pto_task_slot_index(rings, ring_index, tail);
    struct pto_task_slot *slot = &rings->slots[index];
    if (slot->state != PTO_TASK_COMPLETED || slot->holders) break;
    if (slot->flags & PTO_TASK_HAS_HEAP) pto_heap_ring_retire(&ring->heap, rings->cold[index].heap_end);
    slot->state = PTO_TASK_FREE;
    tail++;
  }
  bool any = tail != ring->tail;
  if (any) PTO_PROBE3(retire, ring_index, tail, tail - ring->tail);
  if ((int64_t)(ring->done_end - tail) < 0) ring->done_end = tail;
  ring->tail = tail;
  return any;
}

bool pto_task_rings_is_valid(const struct pto_task_rings *rings) {
  if (!pto_is_power_of_two(rings->window) || rings->window != 1u << rings->window_log2) return false;
  for (uint32_t r = 0; r < PTO_RING_COUNT; r++) {
    const struct pto_task_ring *ring = &rings->rings[r];
    if (ring->capacity > rings->window - 1 || ring->head - ring->tail > ring->capacity) return false;
    if (ring->open_begin - ring->tail > ring->head - ring->tail) return false;
    if (ring->released_end - ring->tail > ring->open_begin - ring->tail) return false;
    if (ring->done_end - ring->tail > ring->head - ring->tail) return false;
    if (!pto_heap_ring_is_valid(&ring->heap)) return false;
    for (uint64_t s = ring->tail; s != ring->head; s++) {
      const struct pto_task_slot *slot = &rings->slots[pto_task_slot_index(rings, r, s)];
      if (slot->state == PTO_TASK_FREE || slot->ref.bits != pto_task_ref_make(rings, r, s).bits) return false;
      const bool is_done = s - ring->tail < ring->done_end - ring->tail;
      if (is_done && (slot->state != PTO_TASK_COMPLETED || slot->holders || (slot->flags & PTO_TASK_HAS_HEAP)))
        return false;
    }
  }
  return true;
}
