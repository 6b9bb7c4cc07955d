/* SPDX-License-Identifier: MIT */
#include <runtime/deps/hazards.h>

#include <string.h>

void pto_hazards_clear_marks(struct pto_hazards *hazards) {
  uint32_t count = hazards->rings->window * PTO_RING_COUNT;
  for (uint32_t i = 0; i < count; i++) hazards->marks[i] = 0;
  hazards->serial = 1;
}

/* ---- wiring ---- */

static inline uint32_t consumer_slot(const struct pto_hazards *hazards) {
  return hazards->consumer.bits & hazards->slot_mask;
}

static PTO_NOINLINE bool add_consumer_chunk(struct pto_hazards *hazards, struct pto_task_slot *producer) {
  struct pto_list_chunks *pool = hazards->chunks;
  uint32_t index = producer->more_consumers;
  if (!index || pool->chunks[index].count == PTO_CHUNK_SLOTS) {
    uint32_t fresh = pto_list_chunks_alloc(pool);
    if (!fresh) return false;
    pool->chunks[fresh].next = index;
    producer->more_consumers = index = fresh;
  }
  pool->chunks[index].items.slots[pool->chunks[index].count++] = consumer_slot(hazards);
  return true;
}

/* Never to the task itself: two of its accesses that a rule would order are one access, or the submit is refused;
 * ranges that meet where bytes do not are wired before any is entered. */
static inline void connect(struct pto_hazards *hazards, uint32_t producer_slot) {
  struct pto_task_slot *producer = &hazards->slots[producer_slot];
  PTO_ASSERT(producer_slot != consumer_slot(hazards));
  hazards->edges++;
  if (pto_task_state_has_finished(producer->state)) return;
  hazards->task_live_edges++;
  if (PTO_LIKELY(producer->consumer_count < PTO_INLINE_CONSUMERS))
    producer->consumers[producer->consumer_count++] = consumer_slot(hazards);
  else if (!add_consumer_chunk(hazards, producer))
    hazards->is_out_of_chunks = true;
}

/* An edge, unless the pair has it already; where edges may be reduced it is found now, and connected when all are. */
static PTO_INLINE void wire(struct pto_hazards *hazards, uint32_t producer, bool may_be_reduced) {
  uint32_t *mark = &hazards->marks[producer];
  if (*mark == hazards->serial) return;
  *mark = hazards->serial;
  if (may_be_reduced && PTO_UNLIKELY(hazards->is_reduced)) {
    PTO_ASSERT(hazards->found_count < pto_hazards_found_capacity(hazards->rings->window));
    hazards->found[hazards->found_count++] = producer;
  } else {
    connect(hazards, producer);
  }
}

/* Of what is found so far by no byte: a write replaces nothing by these edges alone, as a record lacks those of them
 * that are dropped, and the order of tasks is the same.  What bytes find too is found twice. */
static uint32_t unmark_known(struct pto_hazards *hazards) {
  for (uint32_t i = 0; i < hazards->found_count; i++) hazards->marks[hazards->found[i]] = hazards->serial - 1;
  return hazards->found_count;
}

/* An edge goes where another producer comes after this one: by the map of ancestors of each, the last 64 tasks before
 * it.  What is further back keeps its edge.  The first `known` were found by no byte, and some once more by bytes. */
static PTO_NOINLINE void reduce(struct pto_hazards *hazards, uint32_t known) {
  struct pto_task_cold *cold = hazards->rings->cold, *own = &cold[consumer_slot(hazards)];
  uint64_t producers = 0, implied = 0;
  own->number = hazards->next_number++;
  for (uint32_t i = 0; i < hazards->found_count; i++) {
    const struct pto_task_cold *producer = &cold[hazards->found[i]];
    const uint64_t distance = own->number - producer->number;
    if (distance <= 64) producers |= UINT64_C(1) << (distance - 1);
    if (distance < 64) implied |= producer->ancestors << distance;
  }
  own->ancestors = producers | implied;
  hazards->dropped = producers & implied;
  for (uint32_t i = 0; i < hazards->found_count; i++)
    if ((i >= known || hazards->marks[hazards->found[i]] != hazards->serial) &&
        !pto_hazards_has_dropped(hazards, cold[hazards->found[i]].number, own->number))
      connect(hazards, hazards->found[i]);
  hazards->found_count = 0;
}

void pto_hazards_explicit(struct pto_hazards *hazards, struct pto_task_ref ref) {
  const uint32_t index = pto_task_ref_slot(hazards->rings, ref);
  if (hazards->marks[index] == hazards->serial) return; /* named twice */
  wire(hazards, index, true);
  if (hazards->listener)
    hazards->listener(
        hazards->listener_context,
        &(struct pto_edge){.producer = index, .consumer = consumer_slot(hazards), .reasons = PTO_EDGE_EXPLICIT});
}

void pto_hazards_creator(struct pto_hazards *hazards, uint32_t creator, const struct pto_access *access) {
  wire(hazards, creator, true);
  if (hazards->listener)
    hazards->listener(hazards->listener_context, &(struct pto_edge){.producer = creator,
                                                                    .consumer = consumer_slot(hazards),
                                                                    .reasons = PTO_EDGE_CREATOR,
                                                                    .consumer_tag = access->tag,
                                                                    .begin = access->region.start,
                                                                    .end = access->region.end,
                                                                    .buffer_number = access->buffer_number});
}

/* Of a list that has just been wired. */
static PTO_COLD void notify_listener(const struct pto_hazards *hazards, const struct pto_access *access,
                                     const struct pto_access_entry *entry, const uint32_t *refs, const uint16_t *tags,
                                     uint32_t count) {
  struct pto_edge edge = {.consumer = consumer_slot(hazards),
                          .consumer_tag = access->tag,
                          .begin = pto_max_u64(access->region.start, entry->start),
                          .end = pto_min_u64(access->region.end, hazards->map->cold[entry - hazards->map->entries].end),
                          .buffer_number = access->buffer_number};
  for (uint32_t k = 0; k < count; k++) {
    edge.producer = refs[k] & hazards->slot_mask;
    edge.producer_tag = tags[k];
    edge.reasons = pto_deps_reasons(&hazards->table, tags[k], access->tag);
    if (edge.reasons && hazards->slots[edge.producer].ref.bits == refs[k])
      hazards->listener(hazards->listener_context, &edge);
  }
}

/* ---- what an access overlaps ---- */

/* An entry's own places. */
static PTO_INLINE void order_list(struct pto_hazards *hazards, const struct pto_access *access,
                                  const struct pto_access_entry *entry, const uint32_t *refs, const uint16_t *tags,
                                  uint32_t count, bool may_be_reduced) {
  const uint8_t *reasons = pto_deps_reasons_of(&hazards->table, access->tag);
  const struct pto_task_slot *const slots = hazards->slots;
  const uint32_t slot_mask = hazards->slot_mask;
  for (uint32_t k = 0; k < count; k++) {
    const uint32_t producer = refs[k] & slot_mask;
    if (reasons[tags[k] >> 8] && PTO_LIKELY(pto_task_slot_is_of(&slots[producer], (struct pto_task_ref){refs[k]})))
      wire(hazards, producer, may_be_reduced);
  }
  if (PTO_UNLIKELY(hazards->listener != NULL)) notify_listener(hazards, access, entry, refs, tags, count);
}

/* By ring: which references are of slots that have not come round, and of those which tasks have not retired, as
 * distances from `oldest`, modulo 2^32: those below `end`, and of them those from `live` on. */
struct ref_spans {
  uint32_t oldest[PTO_RING_COUNT], end[PTO_RING_COUNT], live[PTO_RING_COUNT];
};

static void measure_spans(const struct pto_task_rings *rings, struct ref_spans *spans) {
  for (uint32_t i = 0; i < PTO_RING_COUNT; i++) {
    const struct pto_task_ring *ring = &rings->rings[i];
    const uint32_t oldest = pto_task_ref_in(rings, ring, ring->head - rings->window).bits;
    spans->oldest[i] = oldest;
    spans->end[i] = pto_task_ref_in(rings, ring, ring->head).bits - oldest;
    spans->live[i] = pto_task_ref_in(rings, ring, ring->tail).bits - oldest;
  }
}

/* All of the chunks that may have a reason.  Most are of tasks that have retired, as a task's place in its ring says,
 * and then its slot is not looked at: under rules by which writes replace nothing there may be as many as a ring has
 * slots. */
static PTO_NOINLINE void order_chunks(struct pto_hazards *hazards, const struct pto_access *access,
                                      const struct pto_access_entry *entry) {
  const uint32_t kinds = pto_deps_kinds_before(&hazards->table, access->tag);
  const struct pto_list_chunk *const chunks = hazards->chunks->chunks;
  uint32_t *const marks = hazards->marks, retired_edges = 0;
  const uint32_t serial = hazards->serial, slot_mask = hazards->slot_mask, window_log2 = hazards->rings->window_log2;
  struct ref_spans spans;
  measure_spans(hazards->rings, &spans);
  if (hazards->is_reduced) memset(spans.live, 0, sizeof spans.live); /* wires all */
  for (uint32_t i = entry->more; i && (chunks[i].items.accesses.kinds & kinds); i = chunks[i].next) {
    const uint32_t *refs = chunks[i].items.accesses.refs, count = chunks[i].count;
    const uint16_t *tags = chunks[i].items.accesses.tags;
    for (uint32_t k = 0; k < count; k++) {
      const uint32_t ring = refs[k] >> window_log2 & (PTO_RING_COUNT - 1), distance = refs[k] - spans.oldest[ring];
      if (!(kinds >> (tags[k] >> 8) & 1)) continue;
      if (PTO_LIKELY(distance < spans.live[ring])) {
        uint32_t *const mark = &marks[refs[k] & slot_mask];
        retired_edges += *mark != serial;
        *mark = serial;
      } else if (PTO_LIKELY(distance < spans.end[ring])) {
        wire(hazards, refs[k] & slot_mask, true);
      }
    }
    if (PTO_UNLIKELY(hazards->listener != NULL)) notify_listener(hazards, access, entry, refs, tags, count);
  }
  hazards->edges += retired_edges;
}

/* A read comes after writes alone, and there is mostly one, in the first place. */
static PTO_INLINE void order_entry(struct pto_hazards *hazards, const struct pto_access *access,
                                   const struct pto_access_entry *entry, bool may_be_reduced) {
  if ((access->tag & PTO_TAG_WRITE) || PTO_UNLIKELY(entry->flags & PTO_ENTRY_MANY_WRITES)) {
    order_list(hazards, access, entry, entry->refs, entry->tags, entry->count, may_be_reduced);
    if (PTO_UNLIKELY(entry->more)) order_chunks(hazards, access, entry);
  } else if (entry->flags & PTO_ENTRY_HAS_WRITE) {
    order_list(hazards, access, entry, entry->refs, entry->tags, 1, may_be_reduced);
  }
}

/* Where an access has its own entry, if it has one, and in map->hits what else it overlaps. */
struct lookup {
  uint32_t own, bucket;
  bool was_searched;
  struct pto_access_position position; /* where it was */
};

/* `space`: the access's, or PTO_ANY_SPACE. */
static PTO_INLINE void find_own(const struct pto_access_map *map, uint32_t space, const struct pto_access *access,
                                struct lookup *found) {
  found->bucket = pto_access_map_bucket_at(map, access->geometry_hash, access->region.start);
  found->own = pto_access_map_find_kind(map, space, &access->region, access->kind, found->bucket);
}

/* An isolated entry overlaps no other.  The entry 0, which is none, has no flags. */
static inline bool is_isolated(const struct pto_access_map *map, uint32_t entry) {
  return map->entries[entry].flags & PTO_ENTRY_ISOLATED;
}

static void find_others(struct pto_hazards *hazards, const struct pto_access *access, struct lookup *found) {
  struct pto_access_map *map = hazards->map;
  map->hit_count = 0;
  map->candidates += found->own != 0;
  found->was_searched = !is_isolated(map, found->own);
  if (found->was_searched) pto_access_map_search(map, access->space, &access->region, found->own, &found->position);
}

static void order_all(struct pto_hazards *hazards, const struct pto_access *access, const struct lookup *found) {
  const struct pto_access_map *map = hazards->map;
  if (found->own) order_entry(hazards, access, &map->entries[found->own], true);
  for (uint32_t i = 0; i < map->hit_count; i++) order_entry(hazards, access, &map->entries[map->hits[i].entry], true);
}

/* ---- entering ---- */

static bool has_no_edge(void *context, struct pto_task_ref ref) {
  const struct pto_hazards *hazards = context;
  return hazards->marks[pto_task_ref_slot(hazards->rings, ref)] != hazards->serial;
}

/* Of the entry's accesses; what has expired may count, which costs nothing but the filter. */
static bool has_edge_to_some(const struct pto_hazards *hazards, const struct pto_access_entry *entry) {
  const struct pto_list_chunk *chunks = hazards->chunks->chunks;
  const uint32_t *marks = hazards->marks, slot_mask = hazards->slot_mask;
  bool has = false;
  for (uint32_t k = 0; k < entry->count; k++) has |= marks[entry->refs[k] & slot_mask] == hazards->serial;
  for (uint32_t i = entry->more; i && !has; i = chunks[i].next)
    for (uint32_t k = 0; k < chunks[i].count; k++)
      has |= marks[chunks[i].items.accesses.refs[k] & slot_mask] == hazards->serial;
  return has;
}

/* Drops what the write replaces of an entry that it covers. */
static void replace(struct pto_hazards *hazards, struct pto_access_entry *entry) {
  if (hazards->replaces_all ||
      (has_edge_to_some(hazards, entry) && pto_access_map_filter(hazards->map, entry, has_no_edge, hazards) == 0))
    pto_access_map_clear_accesses(hazards->map, entry);
}

/* Replaces what the write covers, whose entries stay for the next access to their regions, and removes those that are
 * empty by now; what its region still overlaps afterwards is isolated no more.  True where nothing is left. */
static bool settle_hits(struct pto_hazards *hazards, const struct pto_access *access) {
  struct pto_access_map *map = hazards->map;
  bool is_alone = true;
  for (uint32_t i = 0; i < map->hit_count; i++) {
    uint32_t index = map->hits[i].entry;
    struct pto_access_entry *entry = &map->entries[index];
    if (pto_access_entry_is_empty(entry)) {
      pto_access_map_remove(map, index);
      continue;
    }
    if ((access->tag & PTO_TAG_WRITE) && map->hits[i].is_covered) replace(hazards, entry);
    entry->flags &= (uint8_t)~PTO_ENTRY_ISOLATED;
    is_alone = false;
  }
  return is_alone;
}

static inline void append(struct pto_hazards *hazards, struct pto_access_entry *entry, uint16_t tag) {
  if (PTO_UNLIKELY(!pto_access_map_append(hazards->map, entry, hazards->consumer, tag)))
    hazards->is_out_of_chunks = true;
}

/* Puts the access into its own entry, once all that it overlaps is wired. */
static void settle(struct pto_hazards *hazards, const struct pto_access *access, const struct lookup *found) {
  struct pto_access_map *map = hazards->map;
  const bool is_write = access->tag & PTO_TAG_WRITE;
  const bool is_alone = settle_hits(hazards, access);
  uint32_t own = found->own;
  if (!own) /* then it was searched for, and has its position */
    own = pto_access_map_insert(map, access->space, &access->region, found->bucket, &found->position);
  else if (is_write && !access->region.is_fuzzy)
    replace(hazards, &map->entries[own]);
  struct pto_access_entry *entry = &map->entries[own];
  if (!is_alone)
    entry->flags &= (uint8_t)~PTO_ENTRY_ISOLATED;
  else if (found->was_searched && PTO_LIKELY(!pto_access_entry_is_fuzzy(entry)))
    entry->flags |= PTO_ENTRY_ISOLATED;
  append(hazards, entry, access->tag);
}

/* A shortcut (bench_instructions: 241 of 1 422 instructions a task, in the mean of the six patterns): the same tile
 * again, which overlaps no other, needs no search, and a write replaces all of its entry. */
static inline void enter_isolated(struct pto_hazards *hazards, const struct pto_access *access,
                                  struct pto_access_entry *entry) {
  order_entry(hazards, access, entry,
              false); /* the rules order all that a write covers: exact, which reduces nothing */
  if (access->tag & PTO_TAG_WRITE)
    pto_access_map_replace(hazards->map, entry, hazards->consumer, access->tag);
  else
    append(hazards, entry, access->tag);
}

static PTO_NOINLINE void enter(struct pto_hazards *hazards, const struct pto_access *access, struct lookup *found) {
  find_others(hazards, access, found);
  order_all(hazards, access, found);
  settle(hazards, access, found);
}

static PTO_NOINLINE void wire_then_enter(struct pto_hazards *hazards, const struct pto_access *accesses,
                                         uint32_t count) {
  const uint32_t known = hazards->is_reduced ? unmark_known(hazards) : 0;
  for (uint32_t i = 0; !hazards->is_manual && i < count; i++) {
    struct lookup found;
    find_own(hazards->map, accesses[i].space, &accesses[i], &found);
    find_others(hazards, &accesses[i], &found);
    order_all(hazards, &accesses[i], &found);
  }
  if (hazards->is_reduced) reduce(hazards, known);
  if (!hazards->enters) return;
  for (uint32_t i = 0; i < count; i++) {
    struct lookup found;
    if (!(accesses[i].tag & PTO_TAG_WRITE) && !hazards->table.keeps_reads) continue;
    find_own(hazards->map, accesses[i].space, &accesses[i], &found);
    find_others(hazards, &accesses[i], &found);
    settle(hazards, &accesses[i], &found);
  }
}

void pto_hazards_enter(struct pto_hazards *hazards, const struct pto_access *accesses, uint32_t count, bool has_fuzzy) {
  struct pto_access_map *map = hazards->map;
  map->lookups += count;
  if (PTO_UNLIKELY(!hazards->replaces_all || has_fuzzy)) {
    wire_then_enter(hazards, accesses, count);
    return;
  }
  map->candidates += count; /* the own entry of each */
  for (const struct pto_access *access = accesses, *end = accesses + count; access < end; access++) {
    struct lookup found;
    find_own(map, PTO_ANY_SPACE, access, &found); /* under exact */
    if (PTO_LIKELY(is_isolated(map, found.own))) {
      enter_isolated(hazards, access, &map->entries[found.own]);
    } else {
      map->candidates--; /* it may have none */
      enter(hazards, access, &found);
    }
  }
}

/* ---- the host ---- */

void pto_hazards_forget(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region) {
  struct pto_access_map *map = hazards->map;
  map->hit_count = 0;
  pto_access_map_search(map, space, region, 0, NULL);
  for (uint32_t i = 0; i < map->hit_count; i++) pto_access_map_remove(map, map->hits[i].entry);
}

/* Asks `ask` of each access to these bytes whose task's slot has not come round, until it says that it is enough. */
static void visit(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region,
                  bool (*ask)(void *context, struct pto_task_slot *slot, uint16_t tag), void *context) {
  struct pto_access_map *map = hazards->map;
  map->hit_count = 0;
  pto_access_map_search(map, space, region, 0, NULL);
  for (uint32_t i = 0; i < map->hit_count; i++) {
    const struct pto_access_entry *entry = &map->entries[map->hits[i].entry];
    const uint32_t *refs = entry->refs;
    const uint16_t *tags = entry->tags;
    uint32_t count = entry->count, more = entry->more;
    for (;;) {
      for (uint32_t k = 0; k < count; k++) {
        const struct pto_task_ref ref = {refs[k]};
        if (pto_task_ref_is_visible(hazards->rings, ref) &&
            ask(context, &hazards->slots[pto_task_ref_slot(hazards->rings, ref)], tags[k]))
          return;
      }
      if (!more) break;
      const struct pto_list_chunk *chunk = &map->chunks->chunks[more];
      refs = chunk->items.accesses.refs;
      tags = chunk->items.accesses.tags;
      count = chunk->count;
      more = chunk->next;
    }
  }
}

/* The host writes as an INOUT task does. */
struct unfinished {
  const uint8_t *reasons; /* by the earlier access */
  struct pto_task_slot *slot;
};

static bool is_unfinished(void *context, struct pto_task_slot *slot, uint16_t tag) {
  struct unfinished *wanted = context;
  if (!wanted->reasons[tag >> 8] || pto_task_state_has_finished(slot->state)) return false;
  wanted->slot = slot;
  return true;
}

uint32_t pto_hazards_find_unfinished(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region,
                                     bool is_write) {
  const uint16_t host_tag = PTO_TAG_READ | (is_write ? PTO_TAG_WRITE : 0);
  struct unfinished wanted = {.reasons = pto_deps_reasons_of(&hazards->table, host_tag)};
  visit(hazards, space, region, is_unfinished, &wanted);
  return wanted.slot ? (uint32_t)(wanted.slot - hazards->slots) : UINT32_MAX;
}

static bool keep_first(void *context, struct pto_task_slot *slot, uint16_t tag) {
  struct pto_task_slot **first = context;
  PTO_ASSERT(tag & PTO_TAG_WRITE); /* where this is asked no other access is entered */
  const bool is_earlier =
      !*first || (int32_t)(pto_task_slot_number(slot) - pto_task_slot_number(*first)) < 0; /* numbers come round */
  if (is_earlier) *first = slot;
  return false;
}

uint32_t pto_hazards_first_writer(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region) {
  struct pto_task_slot *first = NULL;
  visit(hazards, space, region, keep_first, &first);
  return first ? (uint32_t)(first - hazards->slots) : UINT32_MAX;
}
