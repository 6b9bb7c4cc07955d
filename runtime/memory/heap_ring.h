/* SPDX-License-Identifier: MIT */
/*
 * Heap ring: the memory that tasks' outputs come from, allocated at the head and released at the tail in task order.
 *
 * Positions run free and only grow; the address of position p is base + p mod size, or further apart in a ring that is
 * watched (gm_arena.h): base + (p / size mod laps) · size · spread + (p mod size) · spread.
 *     0 ≤ head − tail ≤ size_bytes          (equal: empty; size: full; the two never look alike)
 * A *piece* is what one task got: the memory of all its outputs.  It never crosses the end: what is left there is
 * skipped and belongs to the piece that skipped it.  An empty ring starts again at offset 0.  Pieces are multiples of
 * PTO_OUTPUT_ALIGN, so every output in one is aligned.
 *
 * A watched ring tells memory_checker.h what is free: all but what its owner has marked since its allocation.
 *
 * A ring that *moves pages* has PTO_HEAP_PARTS parts, and those at the positions from paged_begin to paged_end have
 * pages. Where the head comes to the next part, that one gets the pages of the oldest, if nothing is in it.  So a ring
 * with little in it takes little memory, however often it goes round.  What a piece holds before it is written is
 * anything, as in each ring.
 *
 * Owns no memory: the GM arena's owner gives it.  Control thread only.
 */
#ifndef PTO_HEAP_RING_H
#define PTO_HEAP_RING_H

#include <runtime/base/base.h>

/* Alignment of outputs: what users of the existing runtime know. */
#define PTO_OUTPUT_ALIGN 1024u

/* Parts of a ring that moves pages.  Each may become a mapping of the process, which has 65 530 (vm.max_map_count). */
#define PTO_HEAP_PARTS 128u

struct pto_heap_ring {
  char *base;
  uint64_t size_bytes; /* a multiple of PTO_OUTPUT_ALIGN */
  uint64_t head, tail;
  uint64_t high_water_bytes;
  /* Of a ring that moves pages; UINT64_MAX, 0 and 0 in any other. */
  uint64_t paged_end, paged_begin; /* multiples of part_bytes, at most size_bytes apart; head ≤ paged_end */
  uint64_t part_bytes;             /* a number of large pages */
  /* Of a ring that is watched; 0, 1 and 0 in any other. */
  uint32_t spread_log2;
  uint32_t lap_count;
  uint64_t marked_bytes; /* in each lap, from its beginning on, at most so many were ever marked */
};

void pto_heap_ring_init(struct pto_heap_ring *ring, void *base, uint64_t size_bytes);
/* Right after init: the ring is watched, and has lap_count · size_bytes << spread_log2 bytes of memory from its base
 * on; spread_log2 > 0. */
void pto_heap_ring_watch(struct pto_heap_ring *ring, uint32_t spread_log2, uint32_t lap_count);
/* Right after init, for private memory that begins with a large page and of which nothing was touched: the ring moves
 * pages, if a part of it is a number of large pages. */
void pto_heap_ring_move_pages(struct pto_heap_ring *ring);
/* Before the memory goes.  A zeroed ring is allowed. */
void pto_heap_ring_fini(struct pto_heap_ring *ring);
/* Empties the ring for a new run. */
void pto_heap_ring_reset(struct pto_heap_ring *ring);

static inline uint64_t pto_heap_ring_used(const struct pto_heap_ring *ring) { return ring->head - ring->tail; }

/* The address of a position. */
static inline char *pto_heap_ring_addr(const struct pto_heap_ring *ring, uint64_t position) {
  uint64_t offset = position % ring->size_bytes;
  if (PTO_LIKELY(ring->spread_log2 == 0)) return ring->base + offset;
  uint64_t lap = position / ring->size_bytes % ring->lap_count;
  return ring->base + ((lap * ring->size_bytes + offset) << ring->spread_log2);
}

/* A piece of `size_bytes` (a multiple of PTO_OUTPUT_ALIGN, 0 allowed) at *addr, whose end is the position *end_out.
 * False, and nothing changed, where it does not fit now. */
bool pto_heap_ring_alloc(struct pto_heap_ring *ring, uint64_t size_bytes, char **addr_out, uint64_t *end_out);
/* Bytes of a ring in which this request fits behind what is used now, wherever in the ring that begins.  `size_bytes` >
 * 0. */
uint64_t pto_heap_ring_enough(const struct pto_heap_ring *ring, uint64_t size_bytes);
/* Releases everything up to position `end`, the end of a piece whose task, and all older ones, retire. */
void pto_heap_ring_retire(struct pto_heap_ring *ring, uint64_t end);
bool pto_heap_ring_is_valid(const struct pto_heap_ring *ring);

#endif
