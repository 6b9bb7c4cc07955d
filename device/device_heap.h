/* SPDX-License-Identifier: MIT */
/*
 * Device heap: which bytes of a device's memory belong to which allocation; any size, any order, constant time.
 *
 * Owns the bookkeeping alone: what it deals with are offsets, so nothing is written into the memory itself.  Two-level
 * segregated fit (Masmano, Ripoll, Crespo and Real, "TLSF", ECRTS 2004): free blocks stand in lists by size, 16 classes
 * to a power of two, and a request takes one from the first list all of whose blocks are large enough, else one of its
 * own class that happens to be; the rest of a block goes back at once, and so does what is freed, joined with its free
 * neighbours.
 *
 * Always true: blocks tile [0, capacity); no two free ones are neighbours; live + free bytes = capacity; a block is
 * less than PTO_DEVICE_ALIGN larger than what was asked for.
 *
 * One thread at a time.
 */
#ifndef PTO_DEVICE_HEAP_H
#define PTO_DEVICE_HEAP_H

#include <runtime/base/reserve.h>

/* Every allocation begins at a multiple: what the device moves in one go between global and local memory. */
#define PTO_DEVICE_ALIGN 512u
#define PTO_DEVICE_CLASS_BITS 4u
#define PTO_DEVICE_CLASSES ((64u - PTO_DEVICE_CLASS_BITS + 1u) << PTO_DEVICE_CLASS_BITS)
#define PTO_DEVICE_NO_BLOCK UINT32_MAX

struct pto_device_block {
  uint64_t offset, size_bytes;
  uint32_t before, after;  /* neighbours in memory */
  uint32_t previous, next; /* of the free list, or of the list of unused records (next alone) */
  bool is_free;
};

struct pto_device_heap {
  struct pto_reserve memory; /* of the records */
  struct pto_device_block *blocks;
  uint32_t block_capacity, used, unused; /* records; ever touched; first of those given back */
  uint64_t capacity_bytes, live_bytes, peak_bytes;
  uint64_t live_count, allocations, frees;
  uint64_t has_free[PTO_DEVICE_CLASSES / 64 + 1]; /* a bit a class */
  uint32_t first_free[PTO_DEVICE_CLASSES];
};

/* A heap of `capacity_bytes` (cut down to a multiple of PTO_DEVICE_ALIGN), for at most `most_blocks` allocations at a
 * time.  False where the system refuses memory, or there is none to deal with. */
bool pto_device_heap_init(struct pto_device_heap *heap, uint64_t capacity_bytes, uint32_t most_blocks);
/* A zeroed struct is allowed. */
void pto_device_heap_fini(struct pto_device_heap *heap);

/* A block of at least `size_bytes` (0 counts as 1), its index; PTO_DEVICE_NO_BLOCK where no free one is large enough,
 * or there are too many. */
uint32_t pto_device_heap_alloc(struct pto_device_heap *heap, uint64_t size_bytes);
/* `block` is live. */
void pto_device_heap_free(struct pto_device_heap *heap, uint32_t block);

static inline uint64_t pto_device_heap_offset(const struct pto_device_heap *heap, uint32_t block) {
  return heap->blocks[block].offset;
}
/* Bytes of the largest free block; 0 where nothing is free. */
uint64_t pto_device_heap_largest_free(const struct pto_device_heap *heap);
/* 1 − largest free block / free bytes; 0 where nothing is free, or all of it in one piece. */
double pto_device_heap_fragmentation(const struct pto_device_heap *heap);
bool pto_device_heap_is_valid(const struct pto_device_heap *heap);

#endif
