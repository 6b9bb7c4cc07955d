/* SPDX-License-Identifier: MIT */
/*
 * List chunks: 64-byte pieces for lists that outgrow their inline places (consumers of a task, accesses of a region).
 *
 * Index 0 is no chunk.  Chunks come from a free list, last freed first, so that warm lines are reused.
 *     free + live = handed out so far ≤ capacity
 * Control thread only.
 */
#ifndef PTO_LIST_CHUNKS_H
#define PTO_LIST_CHUNKS_H

#include <runtime/base/reserve.h>

#define PTO_CHUNK_SLOTS 13u
#define PTO_CHUNK_ACCESSES 8u

struct pto_list_chunk {
  uint32_t next;  /* chunk; 0: the last */
  uint32_t count; /* items in this chunk */
  uint32_t total; /* of the first chunk: items in those behind it */
  union {
    uint32_t slots[PTO_CHUNK_SLOTS];
    struct {
      uint32_t refs[PTO_CHUNK_ACCESSES];
      uint16_t tags[PTO_CHUNK_ACCESSES]; /* see runtime/deps/access_layout.h and runtime/deps/rules.h */
      uint8_t kinds;                     /* of these, those behind, and more: a bit each, 1 << (tag >> 8) */
    } accesses;
  } items;
};
_Static_assert(sizeof(struct pto_list_chunk) == PTO_CACHE_LINE, "one line a chunk");

struct pto_list_chunks {
  struct pto_reserve memory;
  struct pto_list_chunk *chunks;
  uint32_t capacity, used, free_head, live_count;
};

bool pto_list_chunks_init(struct pto_list_chunks *pool, uint32_t capacity);
void pto_list_chunks_fini(struct pto_list_chunks *pool);
void pto_list_chunks_reset(struct pto_list_chunks *pool);
/* free + live = handed out so far, and the free list stays among those. */
bool pto_list_chunks_is_valid(const struct pto_list_chunks *pool);

/* An empty chunk; 0 where all are live. */
static inline uint32_t pto_list_chunks_alloc(struct pto_list_chunks *pool) {
  uint32_t index = pool->free_head;
  if (index) {
    pool->free_head = pool->chunks[index].next;
    __builtin_prefetch(&pool->chunks[pool->free_head], 1);
  } else if (pool->used < pool->capacity) {
    index = ++pool->used;
  } else {
    return 0;
  }
  pool->chunks[index].next = 0;
  pool->chunks[index].count = 0;
  pool->chunks[index].total = 0;
  pool->live_count++;
  return index;
}
static inline void pto_list_chunks_free(struct pto_list_chunks *pool, uint32_t index) {
  PTO_ASSERT(index && index <= pool->used);
  pool->chunks[index].next = pool->free_head;
  pool->free_head = index;
  pool->live_count--;
}

#endif
