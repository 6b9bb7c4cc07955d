/* SPDX-License-Identifier: MIT */
#include <device/device_heap.h>

#include <string.h>

/* How many blocks of a request's own class are looked at, where all larger classes are empty. */
#define OWN_CLASS_STEPS 64u
#define STEPS_PER_DOUBLING (1u << PTO_DEVICE_CLASS_BITS)

/* ---- classes ---- */

/* Sizes in units of PTO_DEVICE_ALIGN: below 16 a class each, then 16 to a doubling. */
static uint32_t class_of(uint64_t units) {
  if (units < STEPS_PER_DOUBLING) return (uint32_t)units;
  uint32_t log = pto_log2_floor(units), shift = log - PTO_DEVICE_CLASS_BITS;
  return ((shift + 1) << PTO_DEVICE_CLASS_BITS) + (uint32_t)(units >> shift & (STEPS_PER_DOUBLING - 1));
}

/* The first class all of whose blocks have `units` or more. */
static uint32_t sufficient_class(uint64_t units) {
  if (units < STEPS_PER_DOUBLING) return (uint32_t)units;
  return class_of(units + (UINT64_C(1) << (pto_log2_floor(units) - PTO_DEVICE_CLASS_BITS)) - 1);
}

static uint32_t class_of_block(const struct pto_device_block *block) {
  return class_of(block->size_bytes / PTO_DEVICE_ALIGN);
}

/* The first class from `from` on that has a free block; PTO_DEVICE_CLASSES where none has. */
static uint32_t next_class(const struct pto_device_heap *heap, uint32_t from) {
  uint32_t word = from / 64;
  uint64_t bits = heap->has_free[word] & (UINT64_MAX << from % 64);
  while (bits == 0) {
    if (++word == PTO_ARRAY_LENGTH(heap->has_free)) return PTO_DEVICE_CLASSES;
    bits = heap->has_free[word];
  }
  return word * 64 + (uint32_t)__builtin_ctzll(bits);
}

/* ---- lists ---- */

static void insert_free(struct pto_device_heap *heap, uint32_t index) {
  struct pto_device_block *block = &heap->blocks[index];
  uint32_t class = class_of_block(block);
  block->is_free = true;
  block->previous = PTO_DEVICE_NO_BLOCK;
  block->next = heap->first_free[class];
  if (block->next != PTO_DEVICE_NO_BLOCK) heap->blocks[block->next].previous = index;
  heap->first_free[class] = index;
  heap->has_free[class / 64] |= UINT64_C(1) << class % 64;
}

static void remove_free(struct pto_device_heap *heap, uint32_t index) {
  struct pto_device_block *block = &heap->blocks[index];
  uint32_t class = class_of_block(block);
  if (block->previous != PTO_DEVICE_NO_BLOCK)
    heap->blocks[block->previous].next = block->next;
  else
    heap->first_free[class] = block->next;
  if (block->next != PTO_DEVICE_NO_BLOCK) heap->blocks[block->next].previous = block->previous;
  if (heap->first_free[class] == PTO_DEVICE_NO_BLOCK) heap->has_free[class / 64] &= ~(UINT64_C(1) << class % 64);
  block->is_free = false;
}

static uint32_t take_record(struct pto_device_heap *heap) {
  uint32_t index = heap->unused;
  if (index != PTO_DEVICE_NO_BLOCK)
    heap->unused = heap->blocks[index].next;
  else if (heap->used < heap->block_capacity)
    index = heap->used++;
  return index;
}

static void give_record_back(struct pto_device_heap *heap, uint32_t index) {
  heap->blocks[index] = (struct pto_device_block){.next = heap->unused};
  heap->unused = index;
}

/* ---- blocks ---- */

static uint32_t find_block(const struct pto_device_heap *heap, uint64_t size_bytes) {
  uint64_t units = size_bytes / PTO_DEVICE_ALIGN;
  uint32_t class = next_class(heap, sufficient_class(units));
  if (class < PTO_DEVICE_CLASSES) return heap->first_free[class];
  uint32_t index = heap->first_free[class_of(units)];
  for (uint32_t step = 0; index != PTO_DEVICE_NO_BLOCK && step < OWN_CLASS_STEPS; step++) {
    if (heap->blocks[index].size_bytes >= size_bytes) return index;
    index = heap->blocks[index].next;
  }
  return PTO_DEVICE_NO_BLOCK;
}

/* What `size_bytes` leave of a block becomes a free block behind it, if there is a record for it. */
static bool split(struct pto_device_heap *heap, uint32_t index, uint64_t size_bytes) {
  struct pto_device_block *block = &heap->blocks[index];
  if (block->size_bytes == size_bytes) return true;
  uint32_t rest = take_record(heap);
  if (rest == PTO_DEVICE_NO_BLOCK) return false;
  heap->blocks[rest] = (struct pto_device_block){.offset = block->offset + size_bytes,
                                                 .size_bytes = block->size_bytes - size_bytes,
                                                 .before = index,
                                                 .after = block->after};
  if (block->after != PTO_DEVICE_NO_BLOCK) heap->blocks[block->after].before = rest;
  block->after = rest;
  block->size_bytes = size_bytes;
  insert_free(heap, rest);
  return true;
}

uint32_t pto_device_heap_alloc(struct pto_device_heap *heap, uint64_t size_bytes) {
  if (size_bytes > heap->capacity_bytes) return PTO_DEVICE_NO_BLOCK;
  size_bytes = pto_align_up(pto_max_u64(size_bytes, 1), PTO_DEVICE_ALIGN);
  uint32_t index = find_block(heap, size_bytes);
  if (index == PTO_DEVICE_NO_BLOCK) return index;
  remove_free(heap, index);
  if (!split(heap, index, size_bytes)) {
    insert_free(heap, index);
    return PTO_DEVICE_NO_BLOCK;
  }
  heap->live_bytes += size_bytes;
  heap->peak_bytes = pto_max_u64(heap->peak_bytes, heap->live_bytes);
  heap->live_count++;
  heap->allocations++;
  return index;
}

/* `later` goes into `index`, which lies right before it. */
static void absorb(struct pto_device_heap *heap, uint32_t index, uint32_t later) {
  struct pto_device_block *block = &heap->blocks[index];
  block->size_bytes += heap->blocks[later].size_bytes;
  block->after = heap->blocks[later].after;
  if (block->after != PTO_DEVICE_NO_BLOCK) heap->blocks[block->after].before = index;
  give_record_back(heap, later);
}

void pto_device_heap_free(struct pto_device_heap *heap, uint32_t index) {
  struct pto_device_block *block = &heap->blocks[index];
  PTO_ASSERT(!block->is_free && block->size_bytes);
  heap->live_bytes -= block->size_bytes;
  heap->live_count--;
  heap->frees++;
  if (block->after != PTO_DEVICE_NO_BLOCK && heap->blocks[block->after].is_free) {
    remove_free(heap, block->after);
    absorb(heap, index, block->after);
  }
  if (block->before != PTO_DEVICE_NO_BLOCK && heap->blocks[block->before].is_free) {
    uint32_t before = block->before;
    remove_free(heap, before);
    absorb(heap, before, index);
    index = before;
  }
  insert_free(heap, index);
}

/* ---- life ---- */

bool pto_device_heap_init(struct pto_device_heap *heap, uint64_t capacity_bytes, uint32_t most_blocks) {
  memset(heap, 0, sizeof *heap);
  capacity_bytes -= capacity_bytes % PTO_DEVICE_ALIGN;
  /* Live blocks, a free one before each, and one at the end. */
  uint64_t records = 2 * (uint64_t)most_blocks + 1;
  if (capacity_bytes == 0 || most_blocks == 0 || records >= PTO_DEVICE_NO_BLOCK ||
      !pto_reserve_init(&heap->memory, records * sizeof *heap->blocks))
    return false;
  heap->blocks = heap->memory.addr;
  heap->block_capacity = (uint32_t)records;
  heap->unused = PTO_DEVICE_NO_BLOCK;
  heap->capacity_bytes = capacity_bytes;
  memset(heap->first_free, 0xff, sizeof heap->first_free);
  uint32_t whole = take_record(heap);
  heap->blocks[whole] = (struct pto_device_block){
      .size_bytes = capacity_bytes, .before = PTO_DEVICE_NO_BLOCK, .after = PTO_DEVICE_NO_BLOCK};
  insert_free(heap, whole);
  return true;
}

void pto_device_heap_fini(struct pto_device_heap *heap) {
  pto_reserve_fini(&heap->memory);
  memset(heap, 0, sizeof *heap);
}

/* ---- questions ---- */

uint64_t pto_device_heap_largest_free(const struct pto_device_heap *heap) {
  uint64_t largest = 0;
  uint32_t last = PTO_DEVICE_CLASSES;
  for (uint32_t class = 0; (class = next_class(heap, class)) < PTO_DEVICE_CLASSES; class ++) last = class;
  if (last == PTO_DEVICE_CLASSES) return 0;
  for (uint32_t i = heap->first_free[last]; i != PTO_DEVICE_NO_BLOCK; i = heap->blocks[i].next)
    largest = pto_max_u64(largest, heap->blocks[i].size_bytes);
  return largest;
}

double pto_device_heap_fragmentation(const struct pto_device_heap *heap) {
  uint64_t free_bytes = heap->capacity_bytes - heap->live_bytes;
  return free_bytes ? 1.0 - (double)pto_device_heap_largest_free(heap) / (double)free_bytes : 0.0;
}

bool pto_device_heap_is_valid(const struct pto_device_heap *heap) {
  uint64_t end = 0, live_bytes = 0, live_count = 0, free_count = 0, listed = 0;
  uint32_t before = PTO_DEVICE_NO_BLOCK;
  /* The first block of memory never gives its record up: it absorbs, and is split at its end. */
  for (uint32_t i = 0; i != PTO_DEVICE_NO_BLOCK; i = heap->blocks[i].after) {
    const struct pto_device_block *block = &heap->blocks[i];
    if (block->offset != end || block->before != before || block->size_bytes == 0 ||
        block->size_bytes % PTO_DEVICE_ALIGN)
      return false;
    if (block->is_free && before != PTO_DEVICE_NO_BLOCK && heap->blocks[before].is_free) return false;
    end += block->size_bytes;
    before = i;
    free_count += block->is_free;
    live_count += !block->is_free;
    if (!block->is_free) live_bytes += block->size_bytes;
  }
  for (uint32_t class = 0; class < PTO_DEVICE_CLASSES; class ++) {
    bool has_free = heap->has_free[class / 64] >> class % 64 & 1;
    if (has_free != (heap->first_free[class] != PTO_DEVICE_NO_BLOCK)) return false;
    for (uint32_t i = heap->first_free[class]; i != PTO_DEVICE_NO_BLOCK; i = heap->blocks[i].next, listed++)
      if (!heap->blocks[i].is_free || class_of_block(&heap->blocks[i]) != class) return false;
  }
  return end == heap->capacity_bytes && live_bytes == heap->live_bytes && live_count == heap->live_count &&
         listed == free_count;
}
