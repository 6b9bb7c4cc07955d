/* SPDX-License-Identifier: MIT */
#include <runtime/memory/heap_ring.h>

#include <runtime/base/memory_checker.h>
#include <runtime/base/reserve.h>

void pto_heap_ring_init(struct pto_heap_ring *ring, void *base, uint64_t size_bytes) {
  PTO_ASSERT(size_bytes > 0 && size_bytes % PTO_OUTPUT_ALIGN == 0);
  *ring = (struct pto_heap_ring){.base = base, .size_bytes = size_bytes, .lap_count = 1, .paged_end = UINT64_MAX};
}

/* The last bytes of each lap: always behind an output or unused, and what the next lap's first output begins after. */
static char *lap_end(const struct pto_heap_ring *ring, uint32_t lap) {
  return ring->base + (((lap + 1) * ring->size_bytes) << ring->spread_log2) - PTO_OUTPUT_ALIGN;
}

void pto_heap_ring_watch(struct pto_heap_ring *ring, uint32_t spread_log2, uint32_t lap_count) {
  PTO_ASSERT(spread_log2 > 0 && lap_count > 0);
  ring->spread_log2 = spread_log2;
  ring->lap_count = lap_count;
  for (uint32_t lap = 0; lap < lap_count; lap++) pto_memory_mark_free(lap_end(ring, lap), PTO_OUTPUT_ALIGN);
  pto_memory_mark_free(ring->base - PTO_OUTPUT_ALIGN, PTO_OUTPUT_ALIGN);
}

/* ---- pages ---- */

void pto_heap_ring_move_pages(struct pto_heap_ring *ring) {
  _Static_assert(PTO_OUTPUT_ALIGN % PTO_HEAP_PARTS == 0, "no part is empty, and together they are the ring");
  const uint64_t part = ring->size_bytes / PTO_HEAP_PARTS;
  if (part % PTO_LARGE_PAGE_BYTES) return;
  ring->part_bytes = part;
  ring->paged_end = 0;
}

static bool move_part(const struct pto_heap_ring *ring, uint64_t to, uint64_t from) {
  return pto_reserve_move(pto_heap_ring_addr(ring, to), pto_heap_ring_addr(ring, from), ring->part_bytes);
}

/* Up to the head.  Where the oldest part is still in use, or the system moves none, pages come with the first write;
 * of a ring that has them all, the next part is the oldest. */
static PTO_NOINLINE void page_to_head(struct pto_heap_ring *ring) {
  while (ring->paged_end < ring->head) {
    const uint64_t begin = ring->paged_begin, end = ring->paged_end, part = ring->part_bytes;
    if (end - begin == ring->size_bytes || (begin + part <= ring->tail && move_part(ring, end, begin)))
      ring->paged_begin += part;
    ring->paged_end += part;
  }
}

/* Those of an empty ring that goes on at `position`, of offset 0. */
static void page_from(struct pto_heap_ring *ring, uint64_t position) {
  if (ring->part_bytes == 0) return;
  const uint64_t count = ring->paged_end - ring->paged_begin;
  if (count < ring->size_bytes && ring->paged_begin % ring->size_bytes)
    for (uint64_t at = 0; at < count; at += ring->part_bytes) move_part(ring, position + at, ring->paged_begin + at);
  ring->paged_begin = position;
  ring->paged_end = position + count;
}

/* ---- the ring ---- */

void pto_heap_ring_fini(struct pto_heap_ring *ring) {
  if (ring->spread_log2 == 0) return;
  for (uint32_t lap = 0; lap < ring->lap_count; lap++) {
    pto_memory_forget(ring->base + ((lap * ring->size_bytes) << ring->spread_log2),
                      ring->marked_bytes << ring->spread_log2);
    pto_memory_forget(lap_end(ring, lap), PTO_OUTPUT_ALIGN);
  }
  pto_memory_forget(ring->base - PTO_OUTPUT_ALIGN, PTO_OUTPUT_ALIGN);
}

/* Positions [begin, end), and the room that comes with them. */
static PTO_COLD void mark_free(struct pto_heap_ring *ring, uint64_t begin, uint64_t end) {
  while (begin < end) {
    uint64_t offset = begin % ring->size_bytes, count = pto_min_u64(end - begin, ring->size_bytes - offset);
    pto_memory_mark_free(pto_heap_ring_addr(ring, begin), count << ring->spread_log2);
    ring->marked_bytes = pto_max_u64(ring->marked_bytes, offset + count);
    begin += count;
  }
}

void pto_heap_ring_reset(struct pto_heap_ring *ring) {
  page_from(ring, 0);
  ring->head = ring->tail = 0;
  ring->high_water_bytes = 0;
}

/* Moves an empty ring to offset 0; positions only grow. */
static void start_over(struct pto_heap_ring *ring) {
  uint64_t offset = ring->head % ring->size_bytes;
  if (offset) {
    ring->head += ring->size_bytes - offset;
    page_from(ring, ring->head);
  }
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
  if (PTO_UNLIKELY(ring->spread_log2)) {
    *addr_out = pto_heap_ring_addr(ring, ring->head + skipped);
    mark_free(ring, ring->head + skipped, ring->head + skipped + size_bytes);
  }
  ring->head += skipped + size_bytes;
  if (PTO_UNLIKELY(ring->head > ring->paged_end)) page_to_head(ring);
  *end_out = ring->head;
  ring->high_water_bytes = pto_max_u64(ring->high_water_bytes, pto_heap_ring_used(ring));
  return true;
}

uint64_t pto_heap_ring_enough(const struct pto_heap_ring *ring, uint64_t size_bytes) {
  uint64_t used = pto_heap_ring_used(ring), needed = used + size_bytes;
  if (ring->tail % ring->size_bytes == 0) return needed;
  /* they lie across the end of any ring at some place, where the piece that reaches it skips less than it is long */
  return needed + pto_max_u64(used, size_bytes) - PTO_OUTPUT_ALIGN;
}

void pto_heap_ring_retire(struct pto_heap_ring *ring, uint64_t end) {
  PTO_ASSERT(end <= ring->head);
  /* an empty ring may have started over while a piece without bytes was still out: that one frees nothing new */
  if (end <= ring->tail) return;
  if (PTO_UNLIKELY(ring->spread_log2)) mark_free(ring, ring->tail, end);
  ring->tail = end;
}

bool pto_heap_ring_is_valid(const struct pto_heap_ring *ring) {
  return ring->base && ring->size_bytes && ring->head >= ring->tail && pto_heap_ring_used(ring) <= ring->size_bytes &&
         ring->head % PTO_OUTPUT_ALIGN == 0 && ring->tail % PTO_OUTPUT_ALIGN == 0 && ring->head <= ring->paged_end &&
         (ring->part_bytes == 0 || ring->paged_end - ring->paged_begin <= ring->size_bytes);
}
