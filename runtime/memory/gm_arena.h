/* SPDX-License-Identifier: MIT */
/*
 * The GM arena: the one reservation that the heap rings live in, and how they lie in it.
 *
 * Owns the address space.  Usually ring i has the `heap_bytes` from base + i · heap_bytes on.  Where something watches
 * memory (memory_checker.h), or an engine that looks at what kernels touch asks for it, each ring has PTO_ARENA_LAPS ·
 * 2 · heap_bytes instead: a distance in a ring is twice that in memory, so that behind each output is as much room as
 * it takes (1 KiB at least) which is never handed out, and a ring uses other addresses the next time round, so that
 * those of a recycled output stay free for PTO_ARENA_LAPS − 1 more laps.  Sizes, positions and all that follows from
 * them (what fits, what waits, what reports say) are the same either way: only addresses differ.
 * docs/decisions/checked-arena.md.
 *
 * Control thread only.
 */
#ifndef PTO_GM_ARENA_H
#define PTO_GM_ARENA_H

#include <runtime/base/reserve.h>
#include <runtime/memory/heap_ring.h>

#define PTO_ARENA_LAPS 4u
/* Rings of more bytes than this in all are not watched, and lie side by side: their laps would leave little of a
 * process's address space. */
#define PTO_ARENA_CHECKED_LIMIT (UINT64_C(1) << 40)

struct pto_gm_arena {
  struct pto_reserve memory;
  uint64_t heap_bytes;
  bool is_checked;      /* a memory checker watches */
  uint32_t spread_log2; /* as in each of its rings */
};

/* Address space for `ring_count` rings of `heap_bytes` each, a multiple of PTO_OUTPUT_ALIGN; `lies_apart`: with room
 * behind each output, whether something watches or not.  False where the system refuses. */
bool pto_gm_arena_init(struct pto_gm_arena *arena, uint64_t heap_bytes, uint32_t ring_count, bool lies_apart);
/* A zeroed struct is allowed. */
void pto_gm_arena_fini(struct pto_gm_arena *arena);

/* Makes the ring of that index in the arena, of `size_bytes` at most heap_bytes; its fini comes before the arena's. */
void pto_gm_arena_init_ring(const struct pto_gm_arena *arena, uint32_t index, uint64_t size_bytes,
                            struct pto_heap_ring *ring);

/* Which ring the memory at `addr` is of, and the position there modulo the laps that the ring has addresses for
 * (heap_ring.h: lap_count · size_bytes); of the room behind an output, one of the output's.  `addr` is in a ring. */
uint32_t pto_gm_arena_ring_of(const struct pto_gm_arena *arena, uint64_t addr, uint64_t *position_out);

static inline bool pto_gm_arena_overlaps(const struct pto_gm_arena *arena, uint64_t lo, uint64_t hi) {
  uint64_t arena_lo = (uint64_t)(uintptr_t)arena->memory.addr;
  return lo < arena_lo + arena->memory.size_bytes && arena_lo < hi;
}

#endif
