/* SPDX-License-Identifier: MIT */
#include <runtime/deps/access_map.h>

#include <string.h>

#include <runtime/deps/access_grid.h>

/* Cells of one entry besides the first: at most two a coordinate. */
#define LINKS_PER_ENTRY 7u
#define PRUNE_MIN_LOG2 5u
/* Entries that the clock hand passes for an insert: entries in use stay below twice the visible ones, as half of what
 * it passes may be visible before an entry is added. */
#define HAND_STEPS 2u

/* List chunks that a submit takes at most: one a task that it comes after, and one an access. */
static uint32_t most_chunks(uint32_t live_tasks) { return live_tasks + PTO_MAX_TENSORS + 1; }

/* With a NULL base it only adds up. */
static uint64_t lay_out(struct pto_access_map *map, char *base, uint32_t bucket_count) {
  const uint64_t entries = (uint64_t)map->entry_capacity + 1, links = (uint64_t)map->link_capacity + 1;
  uint64_t used = 0;
  map->entries = pto_carve(base, &used, entries * sizeof *map->entries);
  map->cold = pto_carve(base, &used, entries * sizeof *map->cold);
  map->dims = pto_carve(base, &used, entries * sizeof *map->dims);
  map->links = pto_carve(base, &used, links * sizeof *map->links);
  map->spaces = pto_carve(base, &used, map->space_capacity * sizeof *map->spaces);
  map->classes = pto_carve(base, &used, entries * sizeof *map->classes);
  map->hits = pto_carve(base, &used, entries * (PTO_MAX_TENSORS + 1) * sizeof *map->hits);
  map->buckets = pto_carve(base, &used, bucket_count * sizeof *map->buckets);
  map->cells = pto_carve(base, &used, bucket_count * sizeof *map->cells);
  return used;
}

bool pto_access_map_init(struct pto_access_map *map, uint32_t entry_capacity, uint32_t space_capacity,
                         uint32_t bucket_count, const struct pto_task_rings *rings, struct pto_list_chunks *chunks) {
  PTO_ASSERT(pto_is_power_of_two(bucket_count) && bucket_count >= PTO_HEADS_A_RUN);
  *map = (struct pto_access_map){
      .entry_capacity = entry_capacity,
      .link_capacity = (uint32_t)pto_min_u64((uint64_t)entry_capacity * LINKS_PER_ENTRY, UINT32_MAX - entry_capacity),
      .space_capacity = space_capacity,
      .head_shift = 64 - pto_log2_floor(bucket_count),
      .rings = rings,
      .chunks = chunks,
      .space_free = UINT32_MAX,
      .ample_chunks = chunks->capacity - pto_min_u64(chunks->capacity, most_chunks(rings->window * PTO_RING_COUNT))};
  if (!pto_reserve_init(&map->memory, lay_out(map, NULL, bucket_count))) return false;
  lay_out(map, map->memory.addr, bucket_count);
  return true;
}

void pto_access_map_fini(struct pto_access_map *map) { pto_reserve_fini(&map->memory); }

/* ---- spaces ---- */

uint32_t pto_access_map_add_space(struct pto_access_map *map, uint64_t lo, uint64_t size_bytes, uint64_t pitch_bytes,
                                  uint64_t plane_bytes) {
  uint32_t index = map->space_free;
  if (index != UINT32_MAX)
    map->space_free = map->spaces[index].next_free;
  else if (map->spaces_used < map->space_capacity)
    index = map->spaces_used++;
  else
    return UINT32_MAX;
  map->spaces[index] = (struct pto_access_space){.lo = lo, .size_bytes = size_bytes, .is_live = 1};
  pto_access_map_set_grid(map, index, pitch_bytes, plane_bytes);
  return index;
}

void pto_access_map_set_grid(struct pto_access_map *map, uint32_t space, uint64_t pitch_bytes, uint64_t plane_bytes) {
  struct pto_access_space *s = &map->spaces[space];
  PTO_ASSERT(pitch_bytes && plane_bytes && s->entry_count == 0);
  PTO_INTERNAL(plane_bytes % pitch_bytes == 0);
  s->pitch = (struct pto_divisor){.value = pitch_bytes};
  s->plane = (struct pto_divisor){.value = plane_bytes};
  s->rows_in_plane = 0;
  s->coordinates = s->size_bytes <= pitch_bytes ? 1 : s->size_bytes <= plane_bytes ? 2 : 3;
}

void pto_access_map_clear_space(struct pto_access_map *map, uint32_t space) {
  while (map->spaces[space].entry_count) pto_access_map_remove(map, pto_access_grid_first(map, space));
}

void pto_access_map_remove_space(struct pto_access_map *map, uint32_t space) {
  pto_access_map_clear_space(map, space);
  map->spaces[space].is_live = 0;
  map->spaces[space].next_free = map->space_free;
  map->space_free = space;
}

void pto_access_map_merge_space(struct pto_access_map *map, uint32_t to, uint32_t from) {
  struct pto_access_space *source = &map->spaces[from];
  while (source->entry_count) {
    uint32_t entry = pto_access_grid_first(map, from);
    bool is_fuzzy = pto_access_entry_is_fuzzy(&map->entries[entry]);
    pto_access_grid_remove(map, entry);
    map->cold[entry].space = to;
    map->cold[entry].links = 0;
    pto_access_grid_insert(map, entry, NULL);
    source->entry_count--;
    source->fuzzy_count -= is_fuzzy;
    map->spaces[to].entry_count++;
    map->spaces[to].fuzzy_count += is_fuzzy;
  }
  pto_access_map_remove_space(map, from);
}

/* ---- what has expired ---- */

static bool is_expired(const struct pto_access_map *map, const struct pto_list_chunk *chunk) {
  for (uint32_t i = chunk->count; i-- > 0;) {
    struct pto_task_ref ref = {chunk->items.accesses.refs[i]};
    if (pto_task_ref_is_visible(map->rings, ref)) return false;
  }
  return true;
}

/* Frees the chunks without a visible access, and sets when to look again: at twice of what is left, so that a region
 * which is read often and never written costs each reader a constant. */
static PTO_NOINLINE void prune_chunks(struct pto_access_map *map, struct pto_access_entry *entry) {
  struct pto_list_chunks *pool = map->chunks;
  uint32_t left = 0;
  for (uint32_t *at = &entry->more; *at;) {
    uint32_t index = *at;
    struct pto_list_chunk *chunk = &pool->chunks[index];
    if (is_expired(map, chunk)) {
      *at = chunk->next;
      pto_list_chunks_free(pool, index);
    } else {
      left += chunk->count;
      at = &chunk->next;
    }
  }
  if (entry->more) pool->chunks[entry->more].total = left - pool->chunks[entry->more].count;
  entry->prune_log2 = (uint8_t)(pto_log2_floor(left | (1u << (PRUNE_MIN_LOG2 - 1))) + 1);
}

/* Whether some access is visible. */
static inline bool has_visible(struct pto_access_map *map, struct pto_access_entry *entry) {
  for (uint32_t i = entry->count; i-- > 0;) {
    struct pto_task_ref ref = {entry->refs[i]};
    if (pto_task_ref_is_visible(map->rings, ref)) return true;
  }
  if (PTO_LIKELY(!entry->more)) return false;
  prune_chunks(map, entry);
  return entry->more != 0;
}

/* ---- entries ---- */

/* Takes an entry out of grid, table and space. */
static inline void detach(struct pto_access_map *map, uint32_t index) {
  const struct pto_access_entry *entry = &map->entries[index];
  const struct pto_access_entry_cold *cold = &map->cold[index];
  struct pto_access_space *space = &map->spaces[cold->space];
  PTO_ASSERT(entry->flags & PTO_ENTRY_LIVE);
  pto_access_grid_remove(map, index);
  uint32_t *at = &map->buckets[cold->bucket];
  while (*at != index) at = &map->cold[*at].next;
  *at = cold->next;
  space->entry_count--;
  if (PTO_UNLIKELY(pto_access_entry_is_fuzzy(entry))) space->fuzzy_count--;
}

static inline bool step_hand(struct pto_access_map *map) {
  map->hand = map->hand < map->entries_used ? map->hand + 1 : 1;
  return !has_visible(map, &map->entries[map->hand]);
}

static inline uint32_t add_entry(struct pto_access_map *map) {
  PTO_ASSERT(map->entries_used < map->entry_capacity);
  map->live_entries++;
  return ++map->entries_used;
}

/* The clock hand passes as many more entries as inserts have paid for; then an entry is added. */
static PTO_NOINLINE uint32_t take_further_entry(struct pto_access_map *map) {
  uint32_t credit = (uint32_t)pto_min_u64((uint64_t)map->hand_credit + HAND_STEPS - 1, map->entries_used);
  while (credit > 0 && !step_hand(map)) credit--;
  map->hand_credit = credit;
  if (credit == 0) return add_entry(map);
  detach(map, map->hand);
  return map->hand;
}

/* A free entry, or an expired one. */
static inline uint32_t take_entry(struct pto_access_map *map) {
  const uint32_t index = map->entry_free;
  if (index) {
    map->entry_free = map->cold[index].next;
    map->live_entries++;
    return index;
  }
  if (map->entries_used <= map->rings->window) return add_entry(map); /* hardly anything can have expired */
  if (PTO_UNLIKELY(!step_hand(map))) return take_further_entry(map);
  map->hand_credit += HAND_STEPS - 1;
  detach(map, map->hand);
  return map->hand;
}

uint32_t pto_access_map_insert(struct pto_access_map *map, uint32_t space, const struct pto_region *region,
                               uint32_t bucket, const struct pto_access_position *position) {
  const uint32_t index = take_entry(map);
  struct pto_access_entry *entry = &map->entries[index];
  struct pto_access_entry_cold *cold = &map->cold[index];
  pto_access_entry_set_region(map, index, region);
  entry->count = 0;
  entry->flags = PTO_ENTRY_LIVE;
  entry->prune_log2 = PRUNE_MIN_LOG2;
  entry->more = 0;
  cold->space = space;
  cold->visit = 0;
  cold->bucket = bucket;
  cold->next = map->buckets[bucket];
  map->buckets[bucket] = index;
  struct pto_access_space *s = &map->spaces[space];
  s->entry_count++;
  if (PTO_UNLIKELY(region->is_fuzzy)) s->fuzzy_count++;
  pto_access_grid_insert(map, index, position);
  return index;
}

void pto_access_map_remove(struct pto_access_map *map, uint32_t index) {
  struct pto_access_entry *entry = &map->entries[index];
  detach(map, index);
  pto_access_map_clear_accesses(map, entry);
  entry->flags = 0;
  map->cold[index].next = map->entry_free;
  map->entry_free = index;
  map->live_entries--;
}

/* ---- accesses of an entry ---- */

void pto_access_map_free_chunks(struct pto_access_map *map, struct pto_access_entry *entry) {
  for (uint32_t chunk = entry->more; chunk;) {
    uint32_t next = map->chunks->chunks[chunk].next;
    pto_list_chunks_free(map->chunks, chunk);
    chunk = next;
  }
  entry->more = 0;
  entry->prune_log2 = PRUNE_MIN_LOG2;
}

bool pto_access_map_add_chunk(struct pto_access_map *map, struct pto_access_entry *entry) {
  struct pto_list_chunks *pool = map->chunks;
  const struct pto_list_chunk *first = &pool->chunks[entry->more];
  if (entry->more && first->total + first->count >= 1u << entry->prune_log2) prune_chunks(map, entry);
  const uint32_t chunk = pto_list_chunks_alloc(pool);
  if (!chunk) return false;
  if (entry->more) pool->chunks[chunk].total = pool->chunks[entry->more].total + pool->chunks[entry->more].count;
  pool->chunks[chunk].items.accesses.kinds = entry->more ? pool->chunks[entry->more].items.accesses.kinds : 0;
  pool->chunks[chunk].next = entry->more;
  entry->more = chunk;
  return true;
}

/* The order of the inline accesses is kept, so a write that stood first stays first; the chunks' order has no meaning.
 */
uint32_t pto_access_map_filter(struct pto_access_map *map, struct pto_access_entry *entry,
                               bool (*keep)(void *context, struct pto_task_ref ref), void *context) {
  struct pto_list_chunks *pool = map->chunks;
  uint32_t count = entry->count, chunk_index = entry->more, left = 0;
  uint8_t prune_log2 = entry->prune_log2;
  entry->count = 0;
  entry->more = 0;
  entry->prune_log2 = 31; /* no pruning within the filter */
  entry->flags &= (uint8_t) ~(PTO_ENTRY_HAS_WRITE | PTO_ENTRY_MANY_WRITES);
  for (uint32_t i = 0; i < count; i++) {
    struct pto_task_ref ref = {entry->refs[i]};
    if (!pto_task_ref_is_visible(map->rings, ref) || (keep && !keep(context, ref))) continue;
    pto_access_map_append(map, entry, ref, entry->tags[i]); /* never behind access i */
    left++;
  }
  while (chunk_index) {
    struct pto_list_chunk chunk = pool->chunks[chunk_index];
    pto_list_chunks_free(pool, chunk_index);
    chunk_index = chunk.next;
    for (uint32_t i = 0; i < chunk.count; i++) {
      struct pto_task_ref ref = {chunk.items.accesses.refs[i]};
      if (!pto_task_ref_is_visible(map->rings, ref) || (keep && !keep(context, ref))) continue;
      bool has_room = pto_access_map_append(map, entry, ref, chunk.items.accesses.tags[i]);
      PTO_ASSERT(has_room); /* it needs no more chunks than were freed */
      (void)has_room;
      left++;
    }
  }
  entry->prune_log2 = prune_log2;
  return left;
}

/* ---- room ---- */

void pto_access_map_sweep(struct pto_access_map *map) {
  for (uint32_t i = 1; i <= map->entries_used; i++) {
    struct pto_access_entry *entry = &map->entries[i];
    if (!(entry->flags & PTO_ENTRY_LIVE)) continue;
    if (pto_access_map_filter(map, entry, NULL, NULL) == 0) pto_access_map_remove(map, i);
  }
  map->submits_since_sweep = 0;
}

static uint32_t free_chunks(const struct pto_access_map *map) {
  return map->chunks->capacity - map->chunks->live_count;
}

bool pto_access_map_sweep_for_room(struct pto_access_map *map, uint32_t access_count) {
  uint64_t live_tasks = 0;
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) live_tasks += map->rings->rings[i].head - map->rings->rings[i].tail;
  if (map->entry_capacity - map->live_entries < access_count || map->submits_since_sweep >= PTO_SWEEP_SUBMITS ||
      free_chunks(map) < most_chunks((uint32_t)live_tasks))
    pto_access_map_sweep(map);
  return map->entry_capacity - map->live_entries >= access_count;
}

/* A chunk tells the kinds of all accesses in it, and all that those behind tell. */
static bool has_kinds(const struct pto_access_map *map, const struct pto_access_entry *entry) {
  const struct pto_list_chunk *chunks = map->chunks->chunks;
  for (uint32_t i = entry->more; i; i = chunks[i].next) {
    uint32_t kinds = chunks[i].next ? chunks[chunks[i].next].items.accesses.kinds : 0;
    for (uint32_t k = 0; k < chunks[i].count; k++) kinds |= 1u << (chunks[i].items.accesses.tags[k] >> 8);
    if (kinds & ~(uint32_t)chunks[i].items.accesses.kinds) return false;
  }
  return true;
}

bool pto_access_map_is_valid(const struct pto_access_map *map) {
  uint32_t live = 0;
  for (uint32_t i = 1; i <= map->entries_used; i++) {
    const struct pto_access_entry *entry = &map->entries[i];
    const uint32_t space = map->cold[i].space;
    if (!(entry->flags & PTO_ENTRY_LIVE)) continue;
    live++;
    if (!map->spaces[space].is_live || !has_kinds(map, entry)) return false;
    struct pto_region region;
    pto_access_map_region(map, i, &region);
    if (pto_access_map_find(map, space, &region, pto_access_map_bucket(map, &region)) != i) return false;
    if (!pto_access_grid_has(map, i)) return false;
    if (!(entry->flags & PTO_ENTRY_ISOLATED)) continue;
    if (region.is_fuzzy) return false;
    for (uint32_t j = 1; j <= map->entries_used; j++) {
      if (j == i || !(map->entries[j].flags & PTO_ENTRY_LIVE) || map->cold[j].space != space) continue;
      struct pto_region other;
      pto_access_map_region(map, j, &other);
      if (region.start >= other.end || other.start >= region.end) continue;
      if (other.is_fuzzy || pto_region_intersects(&region, &other, NULL)) return false;
    }
  }
  return live == map->live_entries;
}
