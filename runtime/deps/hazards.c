/* SPDX-License-Identifier: MIT */
#include <runtime/deps/hazards.h>

#include <string.h>

void pto_hazards_clear_marks(struct pto_hazards *hazards) {
  uint32_t count = hazards->rings->window * PTO_RING_COUNT;
  for (uint32_t i = 0; i < count; i++) hazards->rings->slots[i].mark = 0;
  hazards->serial = 1;
}

/* ---- wiring ---- */

static PTO_NOINLINE bool add_consumer_chunk(struct pto_hazards *hazards, struct pto_task_slot *producer) {
  struct pto_list_chunks *pool = hazards->chunks;
  uint32_t index = producer->more_consumers;
  if (!index || pool->chunks[index].count == PTO_CHUNK_SLOTS) {
    uint32_t fresh = pto_list_chunks_alloc(pool);
    if (!fresh) return false;
    pool->chunks[fresh].next = index;
    producer->more_consumers = index = fresh;
  }
  pool->chunks[index].items.slots[pool->chunks[index].count++] = hazards->consumer;
  return true;
}

/* Where no chunk is left, nothing is changed and the submit is SHORT: whoever walks the lists of accesses must not have
 * them moved under his feet, so what expired ones hold is released when the walk is over, and the walk done again. */
static inline void wire(struct pto_hazards *hazards, struct pto_task_slot *producer) {
  if (!pto_task_state_has_finished(producer->state)) {
    if (PTO_LIKELY(producer->consumer_count < PTO_INLINE_CONSUMERS)) {
      producer->consumers[producer->consumer_count++] = hazards->consumer;
    } else if (!add_consumer_chunk(hazards, producer)) {
      hazards->shortage |= PTO_HAZARDS_SHORT;
      return;
    }
    hazards->live_edges++;
  }
  producer->mark = hazards->serial;
  hazards->edges++;
}

static inline bool is_short(const struct pto_hazards *hazards) { return hazards->shortage & PTO_HAZARDS_SHORT; }

/* Takes back from expired accesses what can be had.  Once a submit, as nothing expires within one. */
static PTO_COLD void begin_again(struct pto_hazards *hazards) {
  hazards->shortage &= (uint8_t)~PTO_HAZARDS_SHORT;
  if (hazards->shortage & PTO_HAZARDS_RELEASED) {
    hazards->shortage |= PTO_HAZARDS_OUT_OF_CHUNKS;
  } else {
    pto_access_map_release_chunks(hazards->map);
    hazards->shortage |= PTO_HAZARDS_RELEASED;
  }
}

static uint32_t param_of(uint16_t tag) {
  uint32_t param = tag & PTO_TAG_PARAM_MASK;
  return param == PTO_TAG_PREDICATE ? UINT32_MAX : param;
}

static PTO_COLD void record(struct pto_hazards *hazards, uint32_t producer_slot, uint32_t reasons,
                            const struct pto_access *access, const struct pto_access_entry *entry,
                            uint16_t producer_tag) {
  for (uint32_t reason = PTO_EDGE_RAW; reason <= PTO_EDGE_EXPLICIT; reason <<= 1) {
    if (!(reasons & reason)) continue;
    struct pto_trace_edge *edge = pto_trace_log_append(&hazards->trace->edges);
    if (!edge) return;
    *edge = (struct pto_trace_edge){.producer = hazards->rings->cold[producer_slot].number,
                                    .consumer = hazards->rings->cold[hazards->consumer].number,
                                    .reason = reason,
                                    .producer_param = UINT32_MAX,
                                    .consumer_param = UINT32_MAX};
    if (!access) continue;
    edge->producer_param = param_of(producer_tag);
    edge->consumer_param = param_of(access->tag);
    edge->begin = pto_max_u64(access->region.start, entry->start);
    edge->end = pto_min_u64(access->region.end, hazards->map->cold[entry - hazards->map->entries].end);
    edge->buffer_number = access->buffer_number;
  }
}

void pto_hazards_explicit(struct pto_hazards *hazards, struct pto_task_ref ref) {
  uint32_t index = pto_task_ref_slot(hazards->rings, ref);
  struct pto_task_slot *producer = &hazards->rings->slots[index];
  if (producer->mark == hazards->serial) return; /* named twice */
  wire(hazards, producer);
  if (PTO_UNLIKELY(is_short(hazards))) {
    begin_again(hazards);
    wire(hazards, producer);
  }
  if (pto_trace_has_graph(hazards->trace)) record(hazards, index, PTO_EDGE_EXPLICIT, NULL, NULL, 0);
}

/* ---- rules ---- */

static inline uint32_t reasons_of(const struct pto_hazards *hazards, const struct pto_access *access, uint32_t ref_bits,
                                  uint16_t earlier) {
  uint16_t later = access->tag;
  uint32_t reasons = 0;
  if (earlier & PTO_TAG_WRITE) {
    if (later & PTO_TAG_READ) reasons |= PTO_EDGE_RAW;
    if (later & PTO_TAG_WRITE) {
      if (hazards->rules == PTO_DEPS_EXACT || (later & PTO_TAG_READ)) {
        reasons |= PTO_EDGE_WAW;
      } else {
        const struct pto_access_space *space = &hazards->map->spaces[access->space];
        if (space->has_creator && space->creator.bits == ref_bits) reasons |= PTO_EDGE_WAW;
      }
    }
  }
  if ((earlier & PTO_TAG_READ) && (later & PTO_TAG_WRITE) && hazards->rules == PTO_DEPS_EXACT) reasons |= PTO_EDGE_WAR;
  return reasons;
}

static void meet_access(struct pto_hazards *hazards, const struct pto_access *access,
                        const struct pto_access_entry *entry, uint32_t ref_bits, uint16_t tag) {
  struct pto_task_ref ref = {ref_bits};
  if (!pto_task_ref_is_visible(hazards->rings, ref)) return;
  uint32_t reasons = reasons_of(hazards, access, ref_bits, tag);
  uint32_t index = pto_task_ref_slot(hazards->rings, ref);
  if (!reasons || index == hazards->consumer) return;
  struct pto_task_slot *producer = &hazards->rings->slots[index];
  if (producer->mark != hazards->serial) wire(hazards, producer);
  if (pto_trace_has_graph(hazards->trace)) record(hazards, index, reasons, access, entry, tag);
}

/* The same where is_direct, for an access that is a conflict: a producer that is visible is wired once.  Whether it has
 * been wired already is drawn by chance in some programs, whether it has finished is not: that alone is a branch. */
static inline void meet_one_directly(struct pto_hazards *hazards, uint32_t ref_bits) {
  const struct pto_task_ref ref = {ref_bits};
  struct pto_task_slot *producer = &hazards->slots[ref_bits & hazards->slot_mask];
  if (PTO_UNLIKELY(!pto_task_slot_is_of(producer, ref))) return;
  if (PTO_LIKELY(pto_task_state_has_finished(producer->state))) {
    hazards->edges += producer->mark != hazards->serial;
    producer->mark = hazards->serial;
  } else if (producer->mark != hazards->serial) {
    wire(hazards, producer);
  }
}

/* Several accesses, in as many steps however many they are: how many have read a tile since it was written is drawn by
 * chance in some programs, and a loop's end that cannot be foreseen costs more than two steps. */
static inline void meet_several_directly(struct pto_hazards *hazards, const struct pto_access_entry *entry,
                                         uint32_t count) {
#pragma GCC unroll 4
  for (uint32_t k = 0; k < PTO_ENTRY_ACCESSES; k++) meet_one_directly(hazards, entry->refs[k < count ? k : 0]);
}

/* The accesses in an entry's own places: a write meets all of them, a read meets the writes, and there is mostly one,
 * in the first place. */
static inline void meet_directly(struct pto_hazards *hazards, const struct pto_access_entry *entry, bool is_write) {
  const uint32_t count = entry->count;
  if (is_write) {
    if (count > 1)
      meet_several_directly(hazards, entry, count);
    else if (count)
      meet_one_directly(hazards, entry->refs[0]);
  } else if (PTO_UNLIKELY(entry->flags & PTO_ENTRY_MANY_WRITES)) {
    for (uint32_t k = 0; k < count; k++)
      if (entry->tags[k] & PTO_TAG_WRITE) meet_one_directly(hazards, entry->refs[k]);
  } else if (entry->flags & PTO_ENTRY_HAS_WRITE) {
    meet_one_directly(hazards, entry->refs[0]);
  }
}

static PTO_NOINLINE void meet_chunks(struct pto_hazards *hazards, const struct pto_access *access,
                                     const struct pto_access_entry *entry) {
  for (uint32_t i = entry->more; i;) {
    const struct pto_list_chunk *chunk = &hazards->chunks->chunks[i];
    i = chunk->next;
    if (PTO_LIKELY(hazards->is_direct && (access->tag & PTO_TAG_WRITE))) { /* meets all of them */
      for (uint32_t k = 0; k < chunk->count; k++) meet_one_directly(hazards, chunk->items.accesses.refs[k]);
      continue;
    }
    for (uint32_t k = 0; k < chunk->count; k++)
      meet_access(hazards, access, entry, chunk->items.accesses.refs[k], chunk->items.accesses.tags[k]);
  }
}

static void meet_entry(struct pto_hazards *hazards, const struct pto_access *access,
                       const struct pto_access_entry *entry) {
  const bool is_write = access->tag & PTO_TAG_WRITE;
  if (!is_write && !(entry->flags & PTO_ENTRY_HAS_WRITE)) return; /* a read meets writes alone */
  if (PTO_LIKELY(hazards->is_direct)) {
    meet_directly(hazards, entry, is_write);
  } else {
    for (uint32_t k = 0; k < entry->count; k++) meet_access(hazards, access, entry, entry->refs[k], entry->tags[k]);
  }
  if (PTO_UNLIKELY(entry->more) && (is_write || (entry->flags & PTO_ENTRY_MANY_WRITES)))
    meet_chunks(hazards, access, entry);
}

static inline void meet_entries(struct pto_hazards *hazards, const struct pto_access *access, uint32_t own) {
  const struct pto_access_map *map = hazards->map;
  if (own) meet_entry(hazards, access, &map->entries[own]);
  for (uint32_t i = 0; i < map->hit_count; i++) meet_entry(hazards, access, &map->entries[map->hits[i].entry]);
}

/* Producers that are wired already are passed over by their mark; records are written anew. */
static PTO_COLD void meet_entries_again(struct pto_hazards *hazards, const struct pto_access *access, uint32_t own,
                                        uint64_t recorded) {
  begin_again(hazards);
  if (pto_trace_has_graph(hazards->trace)) hazards->trace->edges.count = recorded;
  meet_entries(hazards, access, own);
}

/* ---- entering ---- */

static bool has_no_edge(void *context, struct pto_task_ref ref) {
  const struct pto_hazards *hazards = context;
  return hazards->rings->slots[pto_task_ref_slot(hazards->rings, ref)].mark != hazards->serial;
}

/* Replaces what the write covers, whose entries stay for the next access to their regions, and removes those that are
 * empty by now; what its region still meets afterwards is isolated no more.  True where nothing is left. */
static bool settle_hits(struct pto_hazards *hazards, const struct pto_access *access, bool replaces_all) {
  struct pto_access_map *map = hazards->map;
  bool is_alone = true;
  for (uint32_t i = 0; i < map->hit_count; i++) {
    uint32_t index = map->hits[i].entry;
    struct pto_access_entry *entry = &map->entries[index];
    if (pto_access_entry_is_empty(entry)) {
      pto_access_map_remove(map, index);
      continue;
    }
    if ((access->tag & PTO_TAG_WRITE) && map->hits[i].is_covered &&
        (replaces_all || pto_access_map_filter(map, entry, has_no_edge, hazards) == 0))
      pto_access_map_clear_accesses(map, entry);
    entry->flags &= (uint8_t)~PTO_ENTRY_ISOLATED;
    is_alone = false;
  }
  return is_alone;
}

static inline void append(struct pto_hazards *hazards, struct pto_access_entry *entry, uint16_t tag) {
  if (PTO_UNLIKELY(!pto_access_map_append(hazards->map, entry, hazards->consumer_ref, tag)))
    hazards->shortage |= PTO_HAZARDS_OUT_OF_CHUNKS;
}

/* A search has found nothing else that the entry meets. */
static inline void isolate(struct pto_access_entry *entry) {
  if (PTO_LIKELY(!(entry->flags & PTO_ENTRY_FUZZY))) entry->flags |= PTO_ENTRY_ISOLATED;
}

/* Puts the access into its own entry, once all that it meets is wired. */
static PTO_NOINLINE void settle(struct pto_hazards *hazards, const struct pto_access *access, uint32_t own,
                                bool was_searched) {
  struct pto_access_map *map = hazards->map;
  const bool is_write = access->tag & PTO_TAG_WRITE;
  const bool replaces_all = hazards->rules == PTO_DEPS_EXACT && !hazards->is_manual;
  if (hazards->rules == PTO_DEPS_PTO && !is_write) return; /* nobody ever waits for a reader */
  const bool is_alone = settle_hits(hazards, access, replaces_all);
  if (!own) {
    own = pto_access_map_insert_found(map, access->space, &access->region, access->bucket);
  } else if (is_write && !access->region.is_fuzzy) {
    if (replaces_all)
      pto_access_map_clear_accesses(map, &map->entries[own]);
    else
      pto_access_map_filter(map, &map->entries[own], has_no_edge, hazards);
  }
  struct pto_access_entry *entry = &map->entries[own];
  if (!is_alone)
    entry->flags &= (uint8_t)~PTO_ENTRY_ISOLATED;
  else if (was_searched)
    isolate(entry);
  append(hazards, entry, access->tag);
}

/* The access's own entry (0: none yet), by its hash. */
static inline uint32_t find_own(const struct pto_hazards *hazards, struct pto_access *access) {
  access->bucket = pto_access_map_bucket_at(hazards->map, access->geometry_hash, access->region.start);
  return pto_access_map_find_kind(hazards->map, &access->region, access->kind, access->bucket);
}

/* The same, where the same parameter of earlier submits leads to it, or by its hash. */
static inline uint32_t find_own_next(const struct pto_hazards *hazards, struct pto_access *access) {
  const uint32_t next = pto_access_map_find_next(hazards->map, &access->region, access->kind, &access->hint);
  if (next) return next;
  const uint32_t own = find_own(hazards, access);
  pto_access_hint_learn(&access->hint, own);
  return own;
}

/* In map->hits all other entries that the access meets; true where these were looked for. */
static inline bool look_up(struct pto_hazards *hazards, const struct pto_access *access, uint32_t own) {
  struct pto_access_map *map = hazards->map;
  const struct pto_access_space *space = &map->spaces[access->space];
  map->hit_count = 0;
  map->candidates += own != 0;
  if (own && (map->entries[own].flags & PTO_ENTRY_ISOLATED)) return false;
  if (space->entry_count) pto_access_map_search(map, access->space, &access->region, own);
  return true;
}

static void meet(struct pto_hazards *hazards, const struct pto_access *access, uint32_t own) {
  const uint64_t recorded = pto_trace_has_graph(hazards->trace) ? hazards->trace->edges.count : 0;
  meet_entries(hazards, access, own);
  if (PTO_UNLIKELY(is_short(hazards))) meet_entries_again(hazards, access, own, recorded);
}

/* A region that is new, and meets no other. */
static void enter_first(struct pto_hazards *hazards, const struct pto_access *access) {
  struct pto_access_map *map = hazards->map;
  const uint32_t own = pto_access_map_insert_found(map, access->space, &access->region, access->bucket);
  isolate(&map->entries[own]);
  append(hazards, &map->entries[own], access->tag);
}

static PTO_NOINLINE void enter_in_general(struct pto_hazards *hazards, const struct pto_access *access, uint32_t own) {
  const bool was_searched = look_up(hazards, access, own);
  if (!own && hazards->map->hit_count == 0 && hazards->rules == PTO_DEPS_EXACT) {
    enter_first(hazards, access);
    return;
  }
  meet(hazards, access, own);
  settle(hazards, access, own, was_searched);
}

/* Under pto rules, in manual scopes, and for all reasons of edges where an access is fuzzy: it meets by its range what
 * a write of the same task may have replaced. */
static PTO_NOINLINE void wire_then_enter(struct pto_hazards *hazards, struct pto_access *accesses, uint32_t count) {
  for (uint32_t i = 0; !hazards->is_manual && i < count; i++) {
    const uint32_t own = find_own(hazards, &accesses[i]);
    look_up(hazards, &accesses[i], own);
    meet(hazards, &accesses[i], own);
  }
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t own = find_own(hazards, &accesses[i]);
    const bool was_searched = look_up(hazards, &accesses[i], own);
    settle(hazards, &accesses[i], own, was_searched);
  }
}

/* The rest of enter_alone where the entry has chunks, or one was wanted and there was none. */
static PTO_NOINLINE void enter_among_chunks(struct pto_hazards *hazards, const struct pto_access *access,
                                            struct pto_access_entry *entry) {
  struct pto_access_map *map = hazards->map;
  const bool is_write = access->tag & PTO_TAG_WRITE;
  if (entry->more && (is_write || (entry->flags & PTO_ENTRY_MANY_WRITES))) meet_chunks(hazards, access, entry);
  if (is_short(hazards)) {
    map->hit_count = 0;
    meet_entries_again(hazards, access, (uint32_t)(entry - map->entries), 0);
  }
  if (is_write)
    pto_access_map_replace(map, entry, hazards->consumer_ref, access->tag);
  else
    append(hazards, entry, access->tag);
}

/* The same tile again, which meets no other, is the usual case. */
static inline void enter_alone(struct pto_hazards *hazards, const struct pto_access *access,
                               struct pto_access_entry *entry) {
  const bool is_write = access->tag & PTO_TAG_WRITE;
  meet_directly(hazards, entry, is_write);
  const bool has_chunks_to_meet = entry->more && (is_write || (entry->flags & PTO_ENTRY_MANY_WRITES));
  if (PTO_UNLIKELY(has_chunks_to_meet || is_short(hazards)))
    enter_among_chunks(hazards, access, entry);
  else if (is_write)
    pto_access_entry_replace(entry, hazards->consumer_ref, access->tag, PTO_ENTRY_LIVE | PTO_ENTRY_ISOLATED);
  else
    append(hazards, entry, access->tag);
}

/* Accesses from `access` to `end` whose own entries meet no other.  The first one whose entry, in *own, does, or that
 * has none. */
static inline struct pto_access *enter_directly(struct pto_hazards *hazards, struct pto_access *access,
                                                const struct pto_access *end, uint32_t *own) {
  for (; access < end; access++) {
    const uint32_t index = find_own_next(hazards, access);
    struct pto_access_entry *entry = &hazards->map->entries[index];
    *own = index;
    if (PTO_UNLIKELY(!(entry->flags & PTO_ENTRY_ISOLATED))) break; /* the entry 0 has no flags */
    enter_alone(hazards, access, entry);
  }
  return access;
}

static bool has_fuzzy(const struct pto_access *accesses, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (accesses[i].region.is_fuzzy) return true;
  return false;
}

void pto_hazards_enter(struct pto_hazards *hazards, struct pto_access *accesses, uint32_t count) {
  hazards->map->lookups += count;
  if (PTO_LIKELY(hazards->is_direct)) {
    struct pto_access *access = accesses, *const end = accesses + count;
    hazards->map->candidates += count;
    uint32_t own;
    while (PTO_UNLIKELY((access = enter_directly(hazards, access, end, &own)) < end)) {
      hazards->map->candidates--; /* which the general way counts */
      enter_in_general(hazards, access++, own);
    }
  } else if (hazards->rules == PTO_DEPS_EXACT && !hazards->is_manual && !has_fuzzy(accesses, count)) {
    for (uint32_t i = 0; i < count; i++) enter_in_general(hazards, &accesses[i], find_own(hazards, &accesses[i]));
  } else {
    wire_then_enter(hazards, accesses, count);
  }
}

/* ---- records in order ---- */

static bool comes_before(const struct pto_trace_edge *x, const struct pto_trace_edge *y) {
  if (x->producer != y->producer) return x->producer < y->producer;
  if (x->consumer_param != y->consumer_param) return x->consumer_param < y->consumer_param;
  if (x->producer_param != y->producer_param) return x->producer_param < y->producer_param;
  return x->reason < y->reason;
}

/* Shell's sort with Ciura's gaps (2001): in place, as a run allocates nothing, and the order of equals has no meaning.
 */
static void sort_edges(struct pto_trace_edge *edges, uint64_t count) {
  static const uint64_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
  for (size_t g = 0; g < PTO_ARRAY_LENGTH(gaps); g++)
    for (uint64_t i = gaps[g]; i < count; i++) {
      struct pto_trace_edge edge = edges[i];
      uint64_t k = i;
      for (; k >= gaps[g] && comes_before(&edge, &edges[k - gaps[g]]); k -= gaps[g]) edges[k] = edges[k - gaps[g]];
      edges[k] = edge;
    }
}

void pto_hazards_group_records(struct pto_hazards *hazards) {
  struct pto_trace_log *log = &hazards->trace->edges;
  uint64_t consumer = hazards->rings->cold[hazards->consumer].number;
  uint64_t first = log->count;
  struct pto_trace_edge *edges = log->memory.addr;
  while (first && edges[first - 1].consumer == consumer) first--;
  sort_edges(edges + first, log->count - first);
  for (uint64_t i = first; i < log->count; i++)
    edges[i].is_first = i == first || edges[i].producer != edges[i - 1].producer;
}

/* ---- the host ---- */

void pto_hazards_forget(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region) {
  struct pto_access_map *map = hazards->map;
  map->hit_count = 0;
  pto_access_map_search(map, space, region, 0);
  for (uint32_t i = 0; i < map->hit_count; i++) pto_access_map_remove(map, map->hits[i].entry);
}

static uint32_t unfinished_access(const struct pto_hazards *hazards, uint32_t ref_bits, uint16_t tag, bool is_write) {
  struct pto_task_ref ref = {ref_bits};
  bool is_hazard = (tag & PTO_TAG_WRITE) || (is_write && hazards->rules == PTO_DEPS_EXACT);
  if (!is_hazard || !pto_task_ref_is_visible(hazards->rings, ref)) return UINT32_MAX;
  uint32_t index = pto_task_ref_slot(hazards->rings, ref);
  return pto_task_state_has_finished(hazards->rings->slots[index].state) ? UINT32_MAX : index;
}

uint32_t pto_hazards_find_unfinished(struct pto_hazards *hazards, uint32_t space, const struct pto_region *region,
                                     bool is_write) {
  struct pto_access_map *map = hazards->map;
  map->hit_count = 0;
  pto_access_map_search(map, space, region, 0);
  for (uint32_t i = 0; i < map->hit_count; i++) {
    const struct pto_access_entry *entry = &map->entries[map->hits[i].entry];
    for (uint32_t k = 0; k < entry->count; k++) {
      uint32_t slot = unfinished_access(hazards, entry->refs[k], entry->tags[k], is_write);
      if (slot != UINT32_MAX) return slot;
    }
    for (uint32_t c = entry->more; c; c = map->chunks->chunks[c].next)
      for (uint32_t k = 0; k < map->chunks->chunks[c].count; k++) {
        uint32_t slot = unfinished_access(hazards, map->chunks->chunks[c].items.accesses.refs[k],
                                          map->chunks->chunks[c].items.accesses.tags[k], is_write);
        if (slot != UINT32_MAX) return slot;
      }
  }
  return UINT32_MAX;
}
