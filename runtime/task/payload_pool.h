/* SPDX-License-Identifier: MIT */
/*
 * Payload pool: the memory of payloads, in pieces of 64-byte units by size class, last freed first.
 *
 * A payload is allocated at submit and freed when its task has completed, so that few lines stay warm.  Sizes are
 * rounded up to four classes an octave.  A payload can belong to a submit template: when freed it is
 * parked, with all that it says but its task number, and a submit of the same template takes it again and writes only
 * what differs.  A template ends by pto_payload_pool_begin_template of the next one at its index; its payloads that are
 * in use then go the way of others.
 *
 * Always true: a parked payload's template is the one that its list was begun with.  Control thread only; address space
 * reserved at creation, and where it is used up, parked payloads are used for others.
 */
#ifndef PTO_PAYLOAD_POOL_H
#define PTO_PAYLOAD_POOL_H

#include <runtime/base/reserve.h>
#include <runtime/port/port.h>

#define PTO_PAYLOAD_UNIT 64u
#define PTO_PAYLOAD_CLASSES 28u
#define PTO_PAYLOAD_MAX_UNITS 256u
#define PTO_PAYLOAD_TEMPLATES 32u

struct pto_payload_pool {
  struct pto_reserve memory;
  char *base;
  uint64_t unit_capacity, units_used;
  void *free[PTO_PAYLOAD_CLASSES];
  void *parked[PTO_PAYLOAD_TEMPLATES];
  uint32_t template_ids[PTO_PAYLOAD_TEMPLATES]; /* of each list: its index, and a serial above; 0: none yet */
  uint32_t live_count;
};

bool pto_payload_pool_init(struct pto_payload_pool *pool, uint64_t unit_capacity);
void pto_payload_pool_fini(struct pto_payload_pool *pool);
void pto_payload_pool_reset(struct pto_payload_pool *pool);
/* Free and parked pieces are aligned, in the part handed out so far, in the list of their class or template; with the
 * live ones they are no more than that. */
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

/* Starts a new template at `index`: its number, for payload->template_id. */
uint32_t pto_payload_pool_begin_template(struct pto_payload_pool *pool, uint32_t index);
/* Gives all parked payloads back to their classes. */
void pto_payload_pool_unpark(struct pto_payload_pool *pool);

/* Memory for a payload of `size_bytes`, with size_class and template_id 0 set and nothing else; NULL where live work
 * has it all. */
static inline struct pto_payload *pto_payload_pool_alloc(struct pto_payload_pool *pool, uint32_t size_bytes) {
  uint32_t class_index = pto_payload_class((size_bytes + PTO_PAYLOAD_UNIT - 1) / PTO_PAYLOAD_UNIT);
  uint32_t units = pto_payload_class_units(class_index);
  struct pto_payload *payload = pool->free[class_index];
  if (PTO_UNLIKELY(!payload && pool->units_used + units > pool->unit_capacity)) {
    pto_payload_pool_unpark(pool);
    payload = pool->free[class_index];
    if (!payload) return NULL;
  }
  if (PTO_LIKELY(payload != NULL)) {
    pool->free[class_index] = *(void **)(void *)payload;
  } else {
    payload = (struct pto_payload *)(void *)(pool->base + pool->units_used * PTO_PAYLOAD_UNIT);
    pool->units_used += units;
  }
  payload->size_class = class_index;
  payload->template_id = 0;
  pool->live_count++;
  return payload;
}
/* A parked payload of the template, as it was when it was freed but for its task number; NULL where there is none. */
static inline struct pto_payload *pto_payload_pool_take(struct pto_payload_pool *pool, uint32_t template_id) {
  struct pto_payload *payload = pool->parked[template_id % PTO_PAYLOAD_TEMPLATES];
  PTO_ASSERT(pool->template_ids[template_id % PTO_PAYLOAD_TEMPLATES] == template_id);
  if (PTO_UNLIKELY(!payload)) return NULL;
  struct pto_payload *next = *(void **)(void *)payload;
  pool->parked[template_id % PTO_PAYLOAD_TEMPLATES] = next;
  const uintptr_t lines = (uintptr_t)next;    /* a number: of no payload, which is NULL, lines may be asked for too */
  __builtin_prefetch((const void *)lines, 1); /* the core that read it last may have been on another CPU */
  __builtin_prefetch((const void *)(lines + PTO_CACHE_LINE), 1);
  __builtin_prefetch((const void *)(lines + 2 * PTO_CACHE_LINE), 1);
  pool->live_count++;
  return payload;
}
static inline void pto_payload_pool_free(struct pto_payload_pool *pool, struct pto_payload *payload) {
  const uint32_t template_id = payload->template_id;
  void **list = &pool->parked[template_id % PTO_PAYLOAD_TEMPLATES];
  if (PTO_UNLIKELY(!template_id || pool->template_ids[template_id % PTO_PAYLOAD_TEMPLATES] != template_id))
    list = &pool->free[payload->size_class];
  *(void **)(void *)payload = *list;
  *list = payload;
  pool->live_count--;
}

#endif
