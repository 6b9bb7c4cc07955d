/* SPDX-License-Identifier: MIT */
#include <graph/build/arena.h>

#include <string.h>

#define BLOCK_BYTES 4096u

struct pto_graph_arena_block {
  struct pto_graph_arena_block *before;
  uint64_t size_bytes, used;
  _Alignas(16) char bytes[];
};

void pto_graph_arena_fini(struct pto_graph_arena *arena) {
  pto_graph_arena_release(arena, (struct pto_graph_arena_mark){0});
}

static struct pto_graph_arena_block *add_block(struct pto_graph_arena *arena, uint64_t least_bytes) {
  /* Each is as large as all before it, so that their number grows with the logarithm of the bytes. */
  uint64_t size = pto_max_u64(pto_max_u64(least_bytes, BLOCK_BYTES), arena->used_bytes);
  struct pto_graph_arena_block *block = malloc(sizeof *block + size);
  if (!block) return NULL;
  *block = (struct pto_graph_arena_block){.before = arena->last, .size_bytes = size};
  return arena->last = block;
}

void *pto_graph_arena_alloc(struct pto_graph_arena *arena, uint64_t size_bytes) {
  uint64_t bytes = pto_align_up(pto_max_u64(size_bytes, 1), 16);
  struct pto_graph_arena_block *block = arena->last;
  if (!block || block->size_bytes - block->used < bytes) block = add_block(arena, bytes);
  if (!block) return NULL;
  void *memory = block->bytes + block->used;
  block->used += bytes;
  arena->used_bytes += bytes;
  return memset(memory, 0, bytes);
}

void *pto_graph_arena_copy(struct pto_graph_arena *arena, const void *items, uint64_t count, uint64_t item_bytes) {
  void *memory = pto_graph_arena_alloc(arena, count * item_bytes);
  if (memory && count) memcpy(memory, items, count * item_bytes);
  return memory;
}

char *pto_graph_arena_string(struct pto_graph_arena *arena, const char *string) {
  return pto_graph_arena_copy(arena, string, strlen(string) + 1, 1);
}

struct pto_graph_arena_mark pto_graph_arena_mark(const struct pto_graph_arena *arena) {
  return (struct pto_graph_arena_mark){arena->last, arena->last ? arena->last->used : 0, arena->used_bytes};
}

void pto_graph_arena_release(struct pto_graph_arena *arena, struct pto_graph_arena_mark mark) {
  while (arena->last != mark.last) {
    struct pto_graph_arena_block *block = arena->last;
    arena->last = block->before;
    free(block);
  }
  if (arena->last) arena->last->used = mark.block_used;
  arena->used_bytes = mark.used_bytes;
}
