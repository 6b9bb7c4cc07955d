/* SPDX-License-Identifier: MIT */
#include <runtime/task/payload_pool.h>

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
  memset(pool->parked, 0, sizeof pool->parked);
  pool->units_used = 0;
  pool->live_count = 0;
}

static void unpark(struct pto_payload_pool *pool, uint32_t index) {
  for (struct pto_payload *payload = pool->parked[index], *next; payload; payload = next) {
    next = *(void **)(void *)payload;
    *(void **)(void *)payload = pool->free[payload->size_class];
    pool->free[payload->size_class] = payload;
  }
  pool->parked[index] = NULL;
}

void pto_payload_pool_unpark(struct pto_payload_pool *pool) {
  for (uint32_t i = 0; i < PTO_PAYLOAD_TEMPLATES; i++) unpark(pool, i);
}

uint32_t pto_payload_pool_begin_template(struct pto_payload_pool *pool, uint32_t index) {
  unpark(pool, index);
  const uint32_t last = pool->template_ids[index] ? pool->template_ids[index] : index;
  pool->template_ids[index] =
      last > UINT32_MAX - PTO_PAYLOAD_TEMPLATES ? PTO_PAYLOAD_TEMPLATES + index : last + PTO_PAYLOAD_TEMPLATES;
  return pool->template_ids[index];
}

/* Whether a list's pieces are where they may be; adds their units. */
static bool is_valid_list(const struct pto_payload_pool *pool, const char *at, uint32_t class_index,
                          uint32_t template_id, uint64_t *units) {
  for (; at; at = *(char *const *)(const void *)at) {
    const struct pto_payload *payload = (const void *)at;
    const uint64_t offset = (uint64_t)(at - pool->base);
    if (offset % PTO_PAYLOAD_UNIT || offset / PTO_PAYLOAD_UNIT >= pool->units_used) return false;
    if (template_id ? payload->template_id != template_id : payload->size_class != class_index) return false;
    *units += pto_payload_class_units(payload->size_class);
    if (*units > pool->units_used) return false;
  }
  return true;
}

bool pto_payload_pool_is_valid(const struct pto_payload_pool *pool) {
  uint64_t units = 0;
  bool is_valid = pool->units_used <= pool->unit_capacity;
  for (uint32_t i = 0; is_valid && i < PTO_PAYLOAD_CLASSES; i++)
    is_valid = is_valid_list(pool, pool->free[i], i, 0, &units);
  for (uint32_t i = 0; is_valid && i < PTO_PAYLOAD_TEMPLATES; i++)
    is_valid = pool->template_ids[i] ? is_valid_list(pool, pool->parked[i], 0, pool->template_ids[i], &units)
                                     : !pool->parked[i];
  return is_valid && units + pool->live_count <= pool->units_used;
}
