/* SPDX-License-Identifier: MIT */
#include <runtime/memory/heap_ring.h>

void pto_heap_ring_init(struct pto_heap_ring *ring, void *base, uint64_t size_bytes) {
  PTO_ASSERT(size_bytes > 0 && size_bytes % PTO_OUTPUT_ALIGN == 0);
  *ring = (struct pto_heap_ring){.base = base, .size_bytes = size_bytes};
}

void pto_heap_ring_reset(struct pto_heap_ring *ring) {
  ring->head = ring->tail = 0;
  ring->high_water_bytes = 0;
}

/* Moves an empty ring to offset 0; positions only grow. */
static void start_over(struct pto_heap_ring *ring) {
  uint64_t offset = ring->head % ring->size_bytes;
  if (offset) ring->head += ring->size_bytes - offset;
  ring->tail = ring->head;
}

bool pto_heap_ring_alloc(struct pto_heap_ring *ring, uint64_t size_bytes, char **addr_out, uint64_t *end_out) {
  PTO_ASSERT(size_bytes % PTO_OUTPUT_ALIGN == 0);
  if (size_bytes > ring->size_bytes) return false;
  if (ring->head == ring->tail) start_over(ring);
  uint64_t offset = ring->head % ring->size_bytes;
  uint64_t skipped = offset + size_bytes > ring->size_bytes ? ring->size_bytes - offset : 0;
  if (skipped + size_bytes > ring->size_bytes - pto_heap_ring_used(ring)) return false;
  *addr_out = ring->base + (skipped ? 0 : offset);
  ring->head += skipped + size_bytes;
  *end_out = ring->head;
  ring->high_water_bytes = pto_max_u64(ring->high_water_bytes, pto_heap_ring_used(ring));
  return true;
}

uint64_t pto_heap_ring_enough(const struct pto_heap_ring *ring, uint64_t size_bytes) {
  uint64_t used = pto_heap_ring_used(ring), needed = used + size_bytes;
  if (ring->tail % ring->size_bytes == 0) return needed;
  /* they lie across the end of any ring at some place, where the block that meets it skips less than it is long */
  return needed + pto_max_u64(used, size_bytes) - PTO_OUTPUT_ALIGN;
}

void pto_heap_ring_retire(struct pto_heap_ring *ring, uint64_t end) {
  PTO_ASSERT(end <= ring->head);
  /* an empty ring may have started over while a block without bytes was still out: that one frees nothing new */
  if (end > ring->tail) ring->tail = end;
}

bool pto_heap_ring_is_valid(const struct pto_heap_ring *ring) {
  return ring->base && ring->size_bytes && ring->head >= ring->tail && pto_heap_ring_used(ring) <= ring->size_bytes &&
         ring->head % PTO_OUTPUT_ALIGN == 0 && ring->tail % PTO_OUTPUT_ALIGN == 0;
}
