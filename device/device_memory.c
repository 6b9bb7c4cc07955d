/* SPDX-License-Identifier: MIT */
#include <device/device_memory.h>

#include <string.h>

#include <runtime/base/base.h>

bool pto_device_memory_init(struct pto_device_memory *memory, uint64_t memory_bytes, uint32_t block_count) {
  memset(memory, 0, sizeof *memory);
  if (pto_device_heap_init(&memory->heap, memory_bytes, block_count) &&
      pto_reserve_init(&memory->reserve, memory_bytes))
    return true;
  pto_device_memory_fini(memory);
  return false;
}

void pto_device_memory_fini(struct pto_device_memory *memory) {
  pto_reserve_fini(&memory->reserve);
  pto_device_heap_fini(&memory->heap);
  memset(memory, 0, sizeof *memory);
}

uint32_t pto_device_memory_alloc(struct pto_device_memory *memory, uint64_t size_bytes) {
  const uint32_t block = pto_device_heap_alloc(&memory->heap, size_bytes);
  if (block == PTO_DEVICE_NO_BLOCK) return block;
  const uint64_t begin = pto_device_heap_offset(&memory->heap, block), end = begin + size_bytes;
  if (begin < memory->touched_bytes)
    memset((char *)memory->reserve.addr + begin, 0, pto_min_u64(end, memory->touched_bytes) - begin);
  memory->touched_bytes = pto_max_u64(memory->touched_bytes, end);
  return block;
}

void pto_device_memory_free(struct pto_device_memory *memory, uint32_t block) {
  pto_device_heap_free(&memory->heap, block);
}
