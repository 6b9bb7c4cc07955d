/* SPDX-License-Identifier: MIT */
#include <runtime/memory/gm_arena.h>

#include <runtime/base/memory_checker.h>

/* In front of the first ring of a watched arena, so that what runs off its beginning meets nobody's memory either. */
#define LEAD_BYTES 4096u

static uint64_t ring_stride(const struct pto_gm_arena *arena) {
  return arena->is_checked ? arena->heap_bytes * 2 * PTO_ARENA_LAPS : arena->heap_bytes;
}

bool pto_gm_arena_init(struct pto_gm_arena *arena, uint64_t heap_bytes, uint32_t ring_count) {
  *arena = (struct pto_gm_arena){.heap_bytes = heap_bytes};
  arena->is_checked = pto_memory_is_checked() && heap_bytes <= PTO_ARENA_CHECKED_LIMIT / ring_count;
  arena->spread_log2 = arena->is_checked;
  uint64_t lead = arena->is_checked ? LEAD_BYTES : 0;
  if (!pto_reserve_init(&arena->memory, lead + ring_stride(arena) * ring_count)) return false;
  if (arena->is_checked) pto_memory_mark_reserved(arena->memory.addr, arena->memory.size_bytes);
  return true;
}

void pto_gm_arena_fini(struct pto_gm_arena *arena) { pto_reserve_fini(&arena->memory); }

void pto_gm_arena_init_ring(const struct pto_gm_arena *arena, uint32_t index, struct pto_heap_ring *ring) {
  char *first = (char *)arena->memory.addr + (arena->is_checked ? LEAD_BYTES : 0);
  pto_heap_ring_init(ring, first + index * ring_stride(arena), arena->heap_bytes);
  if (arena->is_checked) pto_heap_ring_watch(ring, arena->spread_log2, PTO_ARENA_LAPS);
}
