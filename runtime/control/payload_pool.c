/* SPDX-License-Identifier: MIT */
#include <runtime/control/payload_pool.h>

#include <string.h>

bool pto_payload_pool_init(struct pto_payload_pool *pool, uint64_t unit_capacity) {
  *pool = (struct pto_payload_pool){.unit_capacity = unit_capacity};
  if (!pto_reserve_init(&pool->memory, unit_capacity * PTO_PAYLOAD_UNIT)) return false;
  pool->base = pool->memory.addr;
  return true;
}

void pto_payload_pool_fini(struct pto_payload_pool *pool) { pto_reserve_fini(&pool->memory); }

void pto_payload_pool_reset(struct pto_payload_pool *pool) {
  memset(pool->free, 0, sizeof pool->free);
  pool->units_used = 0;
  pool->live_count = 0;
}

bool pto_payload_pool_is_valid(const struct pto_payload_pool *pool) {
  uint64_t free_units = 0;
  if (pool->units_used > pool->unit_capacity) return false;
  for (uint32_t i = 0; i < PTO_PAYLOAD_CLASSES; i++)
    for (const char *at = pool->free[i]; at; at = *(char *const *)(const void *)at) {
      uint64_t offset = (uint64_t)(at - pool->base);
      free_units += pto_payload_class_units(i);
      if (offset % PTO_PAYLOAD_UNIT || offset / PTO_PAYLOAD_UNIT >= pool->units_used) return false;
      if (((const struct pto_payload *)(const void *)at)->size_class != i || free_units > pool->units_used)
        return false;
    }
  return free_units + pool->live_count <= pool->units_used;
}
