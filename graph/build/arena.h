/* SPDX-License-Identifier: MIT */
/*
 * Memory that is given back as a whole: names, shapes, options and lists of a graph.
 *
 * Owns blocks of the heap.  Always true: what is allocated is aligned to 16 and stays where it is until release or
 * fini; used_bytes counts what was asked for, so that a test can see a failed call leave it as it was.
 *
 * A zeroed arena is an empty one.  One thread.
 */
#ifndef PTO_GRAPH_BUILD_ARENA_H
#define PTO_GRAPH_BUILD_ARENA_H

#include <runtime/base/base.h>

struct pto_graph_arena_block;

struct pto_graph_arena {
  struct pto_graph_arena_block *last;
  uint64_t used_bytes;
};

/* Gives all of it back.  A zeroed arena is allowed. */
void pto_graph_arena_fini(struct pto_graph_arena *arena);
/* Zeroed memory, never NULL for size 0; NULL where there is none. */
void *pto_graph_arena_alloc(struct pto_graph_arena *arena, uint64_t size_bytes);
/* A copy of `count` items of `item_bytes`, or NULL where there is no memory; a copy of nothing is not NULL. */
void *pto_graph_arena_copy(struct pto_graph_arena *arena, const void *items, uint64_t count, uint64_t item_bytes);
char *pto_graph_arena_string(struct pto_graph_arena *arena, const char *string);

/* A state to go back to: release gives back what was allocated since. */
struct pto_graph_arena_mark {
  struct pto_graph_arena_block *last;
  uint64_t block_used, used_bytes;
};
struct pto_graph_arena_mark pto_graph_arena_mark(const struct pto_graph_arena *arena);
void pto_graph_arena_release(struct pto_graph_arena *arena, struct pto_graph_arena_mark mark);

#endif
