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
