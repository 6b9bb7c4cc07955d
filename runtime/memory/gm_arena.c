/* SPDX-License-Identifier: MIT */
#include <runtime/memory/gm_arena.h>

#include <runtime/base/memory_checker.h>

/* In front of the first ring where outputs lie apart, so that a write before its beginning hits unused memory too.
 */
#define LEAD_BYTES 4096u
/* What of a ring has small pages: one with little in it stays small. */
#define SMALL_BYTES (UINT64_C(1) << 20)

static uint64_t lead_bytes(const struct pto_gm_arena *arena) { return arena->spread_log2 ? LEAD_BYTES : 0; }

static uint64_t ring_stride(const struct pto_gm_arena *arena) {
  return arena->spread_log2 ? (arena->heap_bytes << arena->spread_log2) * PTO_ARENA_LAPS : arena->heap_bytes;
}

bool pto_gm_arena_init(struct pto_gm_arena *arena, uint64_t heap_bytes, uint32_t ring_count, bool lies_apart) {
  const bool has_space = heap_bytes <= PTO_ARENA_CHECKED_LIMIT / ring_count;
  *arena = (struct pto_gm_arena){.heap_bytes = heap_bytes};
  arena->is_checked = pto_memory_is_checked() && has_space;
  arena->spread_log2 = arena->is_checked || (lies_apart && has_space);
  const uint64_t size = lead_bytes(arena) + ring_stride(arena) * ring_count;
  if (!pto_reserve_init_aligned(&arena->memory, size, lead_bytes(arena))) return false;
  if (arena->is_checked) pto_memory_mark_reserved(arena->memory.addr, arena->memory.size_bytes);
  return true;
}

void pto_gm_arena_fini(struct pto_gm_arena *arena) { pto_reserve_fini(&arena->memory); }

void pto_gm_arena_init_ring(const struct pto_gm_arena *arena, uint32_t index, uint64_t size_bytes,
                            struct pto_heap_ring *ring) {
  char *first = (char *)arena->memory.addr + lead_bytes(arena);
  pto_heap_ring_init(ring, first + index * ring_stride(arena), size_bytes);
  if (arena->spread_log2)
    pto_heap_ring_watch(ring, arena->spread_log2, PTO_ARENA_LAPS);
  else if (size_bytes > SMALL_BYTES) {
    pto_ask_for_large_pages(ring->base + SMALL_BYTES, size_bytes - SMALL_BYTES);
    pto_heap_ring_move_pages(ring);
  }
}

uint32_t pto_gm_arena_ring_of(const struct pto_gm_arena *arena, uint64_t addr, uint64_t *position_out) {
  const uint64_t offset = addr - (uint64_t)(uintptr_t)arena->memory.addr - lead_bytes(arena);
  *position_out = offset % ring_stride(arena) >> arena->spread_log2;
  return (uint32_t)(offset / ring_stride(arena));
}
