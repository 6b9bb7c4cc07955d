/* SPDX-License-Identifier: MIT */
/*
 * Payload pool: the memory of payloads, in pieces of 64-byte units by size class, last freed first.
 *
 * A payload is allocated at submit and freed when its task has completed, so that few lines stay warm.  Sizes are
 * rounded up to four classes an octave.  Control thread only; address space reserved at creation.
 */
#ifndef PTO_PAYLOAD_POOL_H
#define PTO_PAYLOAD_POOL_H

#include <runtime/base/reserve.h>
#include <runtime/port/port.h>

#define PTO_PAYLOAD_UNIT 64u
#define PTO_PAYLOAD_CLASSES 28u
#define PTO_PAYLOAD_MAX_UNITS 256u

struct pto_payload_pool {
  struct pto_reserve memory;
  char *base;
  uint64_t unit_capacity, units_used;
  void *free[PTO_PAYLOAD_CLASSES];
  uint32_t live_count;
};

bool pto_payload_pool_init(struct pto_payload_pool *pool, uint64_t unit_capacity);
void pto_payload_pool_fini(struct pto_payload_pool *pool);
void pto_payload_pool_reset(struct pto_payload_pool *pool);
/* Free pieces are aligned, in the part handed out so far, in the list of their class; with the live ones they are no
 * more than that. */
bool pto_payload_pool_is_valid(const struct pto_payload_pool *pool);

/* Class of a size: 1, 2, 3, 4 units are classes 0 … 3, then four classes an octave. */
static inline uint32_t pto_payload_class(uint32_t units) {
  if (units <= 4) return units - 1;
  uint32_t log2 = pto_log2_floor(units - 1);
  return 4 * (log2 - 1) + (((units - 1) >> (log2 - 2)) & 3);
}
static inline uint32_t pto_payload_class_units(uint32_t class_index) {
  if (class_index < 4) return class_index + 1;
  return (5u + (class_index & 3)) << (class_index / 4 - 1);
}

/* Memory for a payload of `size_bytes`, with size_class set and nothing else; NULL where live work has it all. */
static inline struct pto_payload *pto_payload_pool_alloc(struct pto_payload_pool *pool, uint32_t size_bytes) {
  uint32_t class_index = pto_payload_class((size_bytes + PTO_PAYLOAD_UNIT - 1) / PTO_PAYLOAD_UNIT);
  struct pto_payload *payload = pool->free[class_index];
  if (PTO_LIKELY(payload != NULL)) {
    pool->free[class_index] = *(void **)(void *)payload;
  } else {
    uint32_t units = pto_payload_class_units(class_index);
    if (pool->units_used + units > pool->unit_capacity) return NULL;
    payload = (struct pto_payload *)(void *)(pool->base + pool->units_used * PTO_PAYLOAD_UNIT);
    pool->units_used += units;
  }
  payload->size_class = class_index;
  pool->live_count++;
  return payload;
}
static inline void pto_payload_pool_free(struct pto_payload_pool *pool, struct pto_payload *payload) {
  uint32_t class_index = payload->size_class;
  *(void **)(void *)payload = pool->free[class_index];
  pool->free[class_index] = payload;
  pool->live_count--;
}

#endif
