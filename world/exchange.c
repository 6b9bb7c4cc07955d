/* SPDX-License-Identifier: MIT */
#include <world/exchange.h>

#include <stdlib.h>
#include <string.h>

#include <runtime/base/wait.h>
#include <sim/host/topology.h>

void pto_exchange_bytes_fini(struct pto_exchange_bytes *bytes) {
  free(bytes->data);
  *bytes = (struct pto_exchange_bytes){0};
}

/* What a part brings.  Its own to write before it comes, and all others' to read until it leaves. */
struct place {
  _Alignas(PTO_CACHE_LINE) struct pto_wait wait;
  uint64_t value;
  const struct pto_exchange_bytes *out;
  bool is_well;
};

struct threads {
  struct pto_exchange base;
  struct place *places;
  /* Parts → all: how many have come to this half of the rendezvous; the last one begins the next.  Seq_cst, as N1 and
   * W2 of wait.h are; the release hands over what each has brought, or read. */
  _Alignas(PTO_CACHE_LINE) _Atomic uint32_t come, half;
};

struct half {
  struct threads *threads;
  uint32_t number;
};

static bool is_over(void *context) {
  const struct half *half = context;
  return pto_atomic_load(&half->threads->half, memory_order_seq_cst) != half->number;
}

/* Until all have come. */
static void come(struct threads *threads, uint32_t part) {
  struct half half = {threads, pto_atomic_load(&threads->half, memory_order_relaxed)};
  if (atomic_fetch_add_explicit(&threads->come, 1, memory_order_seq_cst) + 1 < threads->base.part_count) {
    pto_wait_until(&threads->places[part].wait, is_over, &half);
    return;
  }
  pto_atomic_store(&threads->come, 0, memory_order_relaxed);
  pto_atomic_store(&threads->half, half.number + 1, memory_order_seq_cst);
  for (uint32_t i = 0; i < threads->base.part_count; i++)
    if (i != part) pto_wait_notify(&threads->places[i].wait);
}

static bool meet(struct pto_exchange *exchange, struct pto_exchange_visit *visit, bool is_well) {
  struct threads *threads = (struct threads *)exchange;
  struct place *own = &threads->places[visit->part];
  own->value = visit->value;
  own->out = visit->out;
  visit->in->count = 0;
  if (exchange->part_count > 1) come(threads, visit->part);
  for (uint32_t i = 0; i < exchange->part_count; i++) {
    const struct place *place = &threads->places[i];
    visit->value = pto_min_u64(visit->value, place->value);
    void *room = place->out->count ? pto_exchange_bytes_add(visit->in, place->out->count) : NULL;
    if (room) memcpy(room, place->out->data, place->out->count);
    is_well &= room || !place->out->count;
  }
  own->is_well = is_well;
  if (exchange->part_count > 1) come(threads, visit->part);
  visit->out->count = 0;
  for (uint32_t i = 0; i < exchange->part_count; i++) is_well &= threads->places[i].is_well;
  return is_well;
}

static void destroy(struct pto_exchange *exchange) {
  struct threads *threads = (struct threads *)exchange;
  free(threads->places);
  free(threads);
}

static uint32_t rounds_of(uint32_t part_count) {
  return part_count <= pto_topology_count_cpus() ? PTO_WAIT_SPIN_ROUNDS : 0;
}

struct pto_exchange *pto_exchange_create(uint32_t part_count) {
  struct threads *threads = aligned_alloc(PTO_CACHE_LINE, sizeof *threads);
  struct place *places = aligned_alloc(PTO_CACHE_LINE, part_count * sizeof *places);
  if (!threads || !places) {
    free(threads);
    free(places);
    return NULL;
  }
  const uint32_t rounds = rounds_of(part_count);
  memset(threads, 0, sizeof *threads);
  memset(places, 0, part_count * sizeof *places);
  for (uint32_t i = 0; i < part_count; i++) pto_wait_init(&places[i].wait, rounds);
  pto_atomic_init(&threads->come, 0);
  pto_atomic_init(&threads->half, 0);
  threads->places = places;
  threads->base = (struct pto_exchange){
      .part_count = part_count, .end = part_count, .is_shared = true, .meet = meet, .destroy = destroy};
  return &threads->base;
}
