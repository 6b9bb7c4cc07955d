/* SPDX-License-Identifier: MIT */
/*
 * A device's memory for tensors: address space, and the heap that says which of it is whose.
 *
 * Owns both.  Always true: a block that has just been allocated is zeroed; memory beyond touched_bytes is as the system
 * gave it, zero and not resident.
 *
 * One thread at a time.
 */
#ifndef PTO_DEVICE_MEMORY_H
#define PTO_DEVICE_MEMORY_H

#include <device/device_heap.h>

struct pto_device_memory {
  struct pto_reserve reserve;
  struct pto_device_heap heap;
  uint64_t touched_bytes;
};

/* Room for `memory_bytes` in at most `block_count` blocks.  False where the system refuses it. */
bool pto_device_memory_init(struct pto_device_memory *memory, uint64_t memory_bytes, uint32_t block_count);
/* Takes zeroed structs too. */
void pto_device_memory_fini(struct pto_device_memory *memory);
/* A zeroed block of the heap; PTO_DEVICE_NO_BLOCK where none is large enough. */
uint32_t pto_device_memory_alloc(struct pto_device_memory *memory, uint64_t size_bytes);
void pto_device_memory_free(struct pto_device_memory *memory, uint32_t block);
static inline char *pto_device_memory_addr(const struct pto_device_memory *memory, uint32_t block) {
  return (char *)memory->reserve.addr + pto_device_heap_offset(&memory->heap, block);
}

#endif
