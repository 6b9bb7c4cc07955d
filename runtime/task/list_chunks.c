/* SPDX-License-Identifier: MIT */
#include <runtime/task/list_chunks.h>

bool pto_list_chunks_init(struct pto_list_chunks *pool, uint32_t capacity) {
  *pool = (struct pto_list_chunks){.capacity = capacity};
  if (!pto_reserve_init(&pool->memory, ((uint64_t)capacity + 1) * sizeof *pool->chunks)) return false;
  pool->chunks = pool->memory.addr;
  return true;
}

void pto_list_chunks_fini(struct pto_list_chunks *pool) { pto_reserve_fini(&pool->memory); }

void pto_list_chunks_reset(struct pto_list_chunks *pool) { pool->used = pool->free_head = pool->live_count = 0; }

bool pto_list_chunks_is_valid(const struct pto_list_chunks *pool) {
  uint32_t free_count = 0;
  if (pool->used > pool->capacity || pool->live_count > pool->used) return false;
  for (uint32_t i = pool->free_head; i; i = pool->chunks[i].next) {
    if (i > pool->used || free_count == pool->used - pool->live_count) return false;
    free_count++;
  }
  return free_count + pool->live_count == pool->used;
}
