/* SPDX-License-Identifier: MIT */
#include <runtime/deps/hazards.h>

#include <string.h>

void pto_hazards_begin(struct pto_hazards *hazards, uint32_t consumer_slot, bool is_manual) {
  if (PTO_UNLIKELY(++hazards->serial == 0)) {
    uint32_t count = hazards->rings->window * PTO_RING_COUNT;
    for (uint32_t i = 0; i < count; i++) hazards->rings->slots[i].mark = 0;
    hazards->serial = 1;
  }
  hazards->consumer = consumer_slot;
  hazards->is_manual = is_manual;
  hazards->is_short = hazards->has_released = hazards->is_out_of_chunks = false;
  hazards->task_edges = 0;
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

/* Where no chunk is left, nothing is changed and is_short is set: whoever walks the lists of accesses must not have
 * them moved under his feet, so what expired ones hold is released when the walk is over, and the walk done again. */
static inline void wire(struct pto_hazards *hazards, struct pto_task_slot *producer) {
  if (!pto_task_state_has_finished(producer->state)) {
    if (PTO_LIKELY(producer->consumer_count < PTO_INLINE_CONSUMERS)) {
      producer->consumers[producer->consumer_count++] = hazards->consumer;
    } else if (!add_consumer_chunk(hazards, producer)) {
      hazards->is_short = true;
      return;
    }
    hazards->live_edges++;
    hazards->rings->slots[hazards->consumer].pending++;
  }
  producer->mark = hazards->serial;
  hazards->task_edges++;
}

/* Takes back from expired accesses what can be had.  Once a submit, as nothing expires within one. */
static PTO_COLD void begin_again(struct pto_hazards *hazards) {
  hazards->is_short = false;
  hazards->is_out_of_chunks = hazards->has_released;
  if (!hazards->has_released) pto_access_map_release_chunks(hazards->map);
  hazards->has_released = true;
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
    edge->end = pto_min_u64(access->region.end, entry->end);
    edge->buffer_number = access->buffer_number;
  }
}

void pto_hazards_explicit(struct pto_hazards *hazards, struct pto_task_ref ref) {
  uint32_t index = pto_task_ref_slot(hazards->rings, ref);
  struct pto_task_slot *producer = &hazards->rings->slots[index];
  if (producer->mark == hazards->serial) return; /* named twice */
  wire(hazards, producer);
  if (PTO_UNLIKELY(hazards->is_short)) {
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

static inline void meet_access(struct pto_hazards *hazards, const struct pto_access *access,
                               const struct pto_access_entry *entry, uint32_t ref_bits, uint16_t tag) {
  struct pto_task_ref ref = {ref_bits};
  if (PTO_UNLIKELY(!pto_task_ref_is_visible(hazards->rings, ref))) return;
  uint32_t reasons = reasons_of(hazards, access, ref_bits, tag);
  if (!reasons) return;
  uint32_t index = pto_task_ref_slot(hazards->rings, ref);
  struct pto_task_slot *producer = &hazards->rings->slots[index];
  if (producer->mark != hazards->serial) wire(hazards, producer);
  if (pto_trace_has_graph(hazards->trace)) record(hazards, index, reasons, access, entry, tag);
}

static void meet_chunks(struct pto_hazards *hazards, const struct pto_access *access,
                        const struct pto_access_entry *entry) {
  for (uint32_t i = entry->more; i;) {
    const struct pto_list_chunk *chunk = &hazards->chunks->chunks[i];
    i = chunk->next;
    for (uint32_t k = 0; k < chunk->count; k++)
      meet_access(hazards, access, entry, chunk->items.accesses.refs[k], chunk->items.accesses.tags[k]);
  }
}

static inline void meet_entry(struct pto_hazards *hazards, const struct pto_access *access,
                              const struct pto_access_entry *entry) {
  if (!(access->tag & PTO_TAG_WRITE)) { /* a read meets writes alone, and there is mostly one, in the first place */
    if (!(entry->flags & PTO_ENTRY_HAS_WRITE)) return;
    if (!(entry->flags & PTO_ENTRY_MANY_WRITES)) {
      meet_access(hazards, access, entry, entry->refs[0], entry->tags[0]);
      return;
    }
  }
  for (uint32_t k = 0; k < entry->count; k++) meet_access(hazards, access, entry, entry->refs[k], entry->tags[k]);
  if (PTO_UNLIKELY(entry->more)) meet_chunks(hazards, access, entry);
}

static void meet_entries(struct pto_hazards *hazards, const struct pto_access *access) {
  const struct pto_access_map *map = hazards->map;
  if (access->entry) meet_entry(hazards, access, &map->entries[access->entry]);
  for (uint32_t i = access->hit_begin; i < access->hit_end; i++)
    meet_entry(hazards, access, &map->entries[map->hits[i].entry]);
}

/* Producers that are wired already are passed over by their mark; records are written anew. */
static PTO_COLD void meet_entries_again(struct pto_hazards *hazards, const struct pto_access *access,
                                        uint64_t recorded) {
  begin_again(hazards);
  if (pto_trace_has_graph(hazards->trace)) hazards->trace->edges.count = recorded;
  meet_entries(hazards, access);
}

void pto_hazards_find(struct pto_hazards *hazards, struct pto_access *access) {
  struct pto_access_map *map = hazards->map;
  const struct pto_access_space *space = &map->spaces[access->space];
  access->hash = pto_access_map_hash(&access->region);
  access->entry = pto_access_map_find(map, &access->region, access->hash);
  access->hit_begin = access->hit_end = map->hit_count;
  access->is_new = false;
  access->was_searched = false;
  map->lookups++;
  map->candidates += access->entry != 0;
  bool is_isolated = access->entry && (map->entries[access->entry].flags & PTO_ENTRY_ISOLATED) && !space->fuzzy_count;
  if (!is_isolated && space->entry_count) {
    access->was_searched = true;
    pto_access_map_search(map, access->space, &access->region, access->entry,
                          (uint8_t)(access->tag & PTO_TAG_PARAM_MASK));
    access->hit_end = map->hit_count;
  }
  if (hazards->is_manual) return;
  uint64_t recorded = pto_trace_has_graph(hazards->trace) ? hazards->trace->edges.count : 0;
  meet_entries(hazards, access);
  if (PTO_UNLIKELY(hazards->is_short)) meet_entries_again(hazards, access, recorded);
}

/* ---- entering ---- */

static bool has_no_edge(void *context, struct pto_task_ref ref) {
  const struct pto_hazards *hazards = context;
  return hazards->rings->slots[pto_task_ref_slot(hazards->rings, ref)].mark != hazards->serial;
}

/* Replaces what the write covers; what its region still meets afterwards is isolated no more.  True where nothing is
 * left. */
static bool settle_hits(struct pto_hazards *hazards, const struct pto_access *access, bool replaces_all) {
  struct pto_access_map *map = hazards->map;
  bool is_alone = true;
  for (uint32_t i = access->hit_begin; i < access->hit_end; i++) {
    uint32_t index = map->hits[i].entry;
    struct pto_access_entry *entry = &map->entries[index];
    if ((access->tag & PTO_TAG_WRITE) && map->hits[i].is_covered &&
        (replaces_all || pto_access_map_filter(map, entry, has_no_edge, hazards) == 0)) {
      pto_access_map_remove(map, index);
      continue;
    }
    entry->flags &= (uint8_t)~PTO_ENTRY_ISOLATED;
    is_alone = false;
  }
  return is_alone;
}

/* Parameters of one task whose entries were not in the map when this one was looked up. */
static bool settle_siblings(struct pto_hazards *hazards, struct pto_access *accesses, uint32_t at) {
  struct pto_access *access = &accesses[at];
  struct pto_access_map *map = hazards->map;
  bool is_alone = true;
  for (uint32_t i = 0; i < at; i++) {
    struct pto_access *other = &accesses[i];
    if (!other->is_new || other->space != access->space || !pto_region_ranges_meet(&access->region, &other->region))
      continue;
    if (!access->entry && other->hash == access->hash &&
        pto_access_map_find(map, &access->region, access->hash) == other->entry) {
      access->entry = other->entry;
      access->is_new = true;
      return (map->entries[other->entry].flags & PTO_ENTRY_ISOLATED) != 0;
    }
    if (!access->region.is_fuzzy && !other->region.is_fuzzy &&
        !pto_region_intersects(&access->region, &other->region, &map->budget_exhausted))
      continue;
    map->entries[other->entry].flags &= (uint8_t)~PTO_ENTRY_ISOLATED;
    is_alone = false;
  }
  return is_alone;
}

static void commit_one(struct pto_hazards *hazards, struct pto_access *accesses, uint32_t at) {
  struct pto_access *access = &accesses[at];
  struct pto_access_map *map = hazards->map;
  bool is_write = access->tag & PTO_TAG_WRITE;
  if (hazards->rules == PTO_DEPS_PTO && !is_write) return; /* nobody ever waits for a reader */
  bool replaces_all = hazards->rules == PTO_DEPS_EXACT && !hazards->is_manual;
  bool is_alone = access->hit_begin == access->hit_end || settle_hits(hazards, access, replaces_all);
  if (at) is_alone &= settle_siblings(hazards, accesses, at);
  if (!access->entry) {
    access->entry = pto_access_map_insert(map, access->space, &access->region, access->hash);
    access->is_new = true;
    access->was_searched = true; /* or there was nothing to search */
  } else if (is_write && !access->region.is_fuzzy && !access->is_new) {
    struct pto_access_entry *own = &map->entries[access->entry];
    if (replaces_all)
      pto_access_map_clear_accesses(map, own);
    else
      pto_access_map_filter(map, own, has_no_edge, hazards);
  }
  struct pto_access_entry *own = &map->entries[access->entry];
  if (!is_alone)
    own->flags &= (uint8_t)~PTO_ENTRY_ISOLATED;
  else if (access->was_searched)
    own->flags |= PTO_ENTRY_ISOLATED;
  if (PTO_UNLIKELY(!pto_access_map_append(map, own, hazards->rings->slots[hazards->consumer].ref, access->tag)))
    hazards->is_short = true;
}

void pto_hazards_commit(struct pto_hazards *hazards, struct pto_access *accesses, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) commit_one(hazards, accesses, i);
}

/* ---- end ---- */

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

/* The reasons of an edge follow each other, producers in the order of their submits. */
static PTO_COLD void group_records(struct pto_hazards *hazards) {
  struct pto_trace_log *log = &hazards->trace->edges;
  uint64_t consumer = hazards->rings->cold[hazards->consumer].number;
  uint64_t first = log->count;
  struct pto_trace_edge *edges = log->memory.addr;
  while (first && edges[first - 1].consumer == consumer) first--;
  sort_edges(edges + first, log->count - first);
  for (uint64_t i = first; i < log->count; i++)
    edges[i].is_first = i == first || edges[i].producer != edges[i - 1].producer;
}

bool pto_hazards_end(struct pto_hazards *hazards) {
  hazards->edges += hazards->task_edges;
  if (pto_trace_has_graph(hazards->trace)) group_records(hazards);
  return !hazards->is_short && !hazards->is_out_of_chunks;
}

/* ---- the host ---- */

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
  pto_access_map_search(map, space, region, 0, 0);
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
