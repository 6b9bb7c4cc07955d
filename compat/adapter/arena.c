/* SPDX-License-Identifier: MIT */
/*
 * Memory of a run: blocks that are freed together.  Pieces keep their address.  After the first few, a block is a large
 * page: a run of many tasks fills it, and takes one fault instead of 512.
 */
#include <compat/adapter/state.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/reserve.h>

#define BLOCK_BYTES (256u << 10)
#define SMALL_BLOCKS 8u
#define ALIGN 64u

struct pto_compat_block {
  struct pto_compat_block *next;
  size_t size;
  _Alignas(ALIGN) unsigned char bytes[];
};

static bool add_block(struct pto_compat_arena *arena, size_t size) {
  const bool is_large = arena->block_count >= SMALL_BLOCKS && size <= PTO_LARGE_PAGE_BYTES / 8;
  const size_t least = sizeof(struct pto_compat_block) + (size > BLOCK_BYTES ? size : BLOCK_BYTES);
  const size_t bytes = is_large ? PTO_LARGE_PAGE_BYTES : pto_align_up(least, ALIGN);
  struct pto_compat_block *block = aligned_alloc(is_large ? bytes : ALIGN, bytes);
  if (!block) return false;
  if (is_large) pto_ask_for_large_pages(block, bytes);
  *block = (struct pto_compat_block){.next = arena->blocks, .size = bytes - sizeof *block};
  arena->blocks = block;
  arena->left = block->size;
  arena->block_count++;
  return true;
}

void *pto_compat_arena_alloc(struct pto_compat_arena *arena, size_t size) {
  size = pto_align_up(size, ALIGN);
  if (size > arena->left && !add_block(arena, size)) return NULL;
  void *piece = arena->blocks->bytes + (arena->blocks->size - arena->left);
  arena->left -= size;
  return memset(piece, 0, size);
}

void pto_compat_arena_clear(struct pto_compat_arena *arena) {
  while (arena->blocks) {
    struct pto_compat_block *block = arena->blocks;
    arena->blocks = block->next;
    free(block);
  }
  arena->left = arena->block_count = 0;
}

bool pto_compat_grow(void **items, uint32_t count, uint32_t *capacity, size_t item_bytes) {
  if (count < *capacity) return true;
  const uint32_t more = *capacity ? *capacity * 2 : 16;
  void *grown = more > *capacity ? realloc(*items, more * item_bytes) : NULL;
  if (!grown) return false;
  *items = grown;
  *capacity = more;
  return true;
}
