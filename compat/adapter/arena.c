/* SPDX-License-Identifier: MIT */
/*
 * Memory of a run: blocks that are freed together.  Pieces keep their address.
 */
#include <compat/adapter/state.h>

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (256u << 10)
#define ALIGN 64u

struct pto_compat_block {
  struct pto_compat_block *next;
  size_t size;
  _Alignas(ALIGN) unsigned char bytes[];
};

void *pto_compat_arena_alloc(struct pto_compat_arena *arena, size_t size) {
  size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  if (size > arena->left) {
    const size_t bytes = size > BLOCK_BYTES ? size : BLOCK_BYTES;
    struct pto_compat_block *block = aligned_alloc(ALIGN, sizeof *block + bytes);
    if (!block) return NULL;
    *block = (struct pto_compat_block){.next = arena->blocks, .size = bytes};
    arena->blocks = block;
    arena->left = bytes;
  }
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
  arena->left = 0;
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
