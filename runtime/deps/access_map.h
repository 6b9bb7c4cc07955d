/* SPDX-License-Identifier: MIT */
/*
 * Access map: which tasks have read or written which bytes, kept until a later write covers them, their buffer dies, or
 * their task's slot comes round again.
 *
 * An *entry* is one region (a canonical byte set) with the accesses made to exactly it, oldest first.  Entries live in
 * an *address space*: one managed buffer, or one range of external memory.  Two ways lead to an entry:
 *   - a bucket, by a hash of its geometry: the same tile again, the common case.  An entry whose ISOLATED flag is set
 * intersects no other entry of its space, so the hash alone answers; fuzzy regions, which meet others by their ranges,
 * never have it.
 *   - a grid over rows × bytes within a row × planes of the space, in classes of regions of about the same extents.  A
 * class has cells as large as its regions, so a region lies in at most two cells a dimension (one, where tiles are
 * aligned), and a lookup of a region of the class's size meets the same few cells however many disjoint tiles are live.
 *
 * Always true: ISOLATED ⇒ no live entry of the space shares a byte with it; an entry is linked into each cell of its
 * class that its box touches, unless it is the lone one of its space.
 *
 * An entry whose accesses a larger write has replaced stays, empty, for the next access to its region: tiles that come
 * back in turn with their whole are not made anew each time.  Whoever meets it while it is empty removes it.
 *
 * Accesses whose tasks are no longer visible may linger, and count for nothing; which entries linger changes no answer.
 * A *hand* goes round all entries, and an insert that finds no free place moves it on, two entries an insert in the
 * mean, until it meets an entry without a visible access: that one's place is taken.  So places in use stay below about
 * twice the visible ones, and nothing is walked that is not paid for by inserts.  Only where room is short, or
 * references are about to repeat, a sweep drops all that has expired at once.
 *
 * Control thread only.  Capacity is fixed at creation.
 */
#ifndef PTO_ACCESS_MAP_H
#define PTO_ACCESS_MAP_H

#include <runtime/base/divisor.h>
#include <runtime/task/list_chunks.h>
#include <runtime/task/task_ring.h>
#include <runtime/tensor/region.h>

#define PTO_ENTRY_ACCESSES 4u
#define PTO_ENTRY_DIMS 2u
/* Heads of buckets, and of cells, that stand together where their regions do: a kilobyte, whose lines the processor
 * fetches ahead when regions are met in turn. */
#define PTO_HEADS_A_RUN 256u
/* References are compared modulo 2^30; long before that everything invisible has to be gone. */
#define PTO_SWEEP_SUBMITS (UINT64_C(1) << 28)

/* Tag of an access: parameter index (PTO_TAG_PREDICATE: the predicate) and what it did. */
#define PTO_TAG_PARAM_MASK 0x7fu
#define PTO_TAG_PREDICATE 0x7fu
#define PTO_TAG_READ 0x100u
#define PTO_TAG_WRITE 0x200u
_Static_assert(PTO_MAX_PARAMS < PTO_TAG_PREDICATE, "a parameter index fits the tag");

enum pto_access_entry_flags {
  PTO_ENTRY_LIVE = 1,
  PTO_ENTRY_ISOLATED = 2,
  PTO_ENTRY_FUZZY = 4,
  PTO_ENTRY_HAS_WRITE = 8,   /* some access writes */
  PTO_ENTRY_MANY_WRITES = 16 /* a write may stand behind the first place */
};

/* What an exact hit touches, of regions of up to one stride. */
struct pto_access_entry {
  uint64_t start;
  uint64_t run_bytes;
  uint64_t extent, stride;           /* of the outermost dimension, where there is one */
  uint32_t refs[PTO_ENTRY_ACCESSES]; /* struct pto_task_ref bits, oldest first; then the chunks, newest chunk first */
  uint16_t tags[PTO_ENTRY_ACCESSES];
  uint32_t more; /* chunk list */
  uint8_t count; /* inline accesses */
  uint8_t kind;  /* pto_access_kind of the region */
  uint8_t flags;
  uint8_t prune_log2; /* prune the chunks at this many accesses */
};
_Static_assert(sizeof(struct pto_access_entry) == PTO_CACHE_LINE, "an exact hit touches one line");

/* The rest of an entry, of the same index: geometry and links. */
struct pto_access_entry_cold {
  uint64_t end;
  union {
    struct {
      uint64_t extent, stride; /* of the second dimension, where there is one */
    };
    uint32_t wide; /* where ndims is larger than PTO_ENTRY_DIMS: all dimensions in map->wide[wide] */
  };
  uint32_t space;
  uint32_t bucket, next; /* of the bucket */
  uint32_t visit;        /* stamp of the last walk over several cells that met it */
  uint32_t class_index;  /* 0: the lone entry of its space, which no cell leads to */
  uint32_t next_in_class, previous_in_class;
  uint32_t cell, next_in_cell; /* its first cell */
  uint32_t links;              /* its other cells; through sibling */
};
_Static_assert(sizeof(struct pto_access_entry_cold) == PTO_CACHE_LINE, "an entry is two lines");

/* An address space: memory whose accesses can only meet each other. */
struct pto_access_space {
  uint64_t lo, size_bytes;
  struct pto_divisor pitch, plane; /* bytes of a row, of a plane of rows */
  uint64_t rows_in_plane;          /* 0: no grid was needed so far, and the reciprocals are not set */
  uint32_t coordinates;            /* 1: all is one row; 2: all is one plane; 3 */
  uint32_t lone_entry;             /* where it is the only one, and no other has been since it came */
  uint32_t first_class;
  uint32_t entry_count;
  uint32_t fuzzy_count;   /* entries with PTO_ENTRY_FUZZY */
  uint32_t registrations; /* external: live registrations */
  struct pto_task_ref creator;
  uint32_t has_creator; /* managed */
  uint32_t is_live;
  uint32_t next_free;
};

struct pto_access_class {
  struct pto_divisor cell[3]; /* extents: bytes within a row, rows, planes; as many as the space has coordinates */
  uint64_t cells_a_row, cells_a_plane;
  uint64_t salt; /* of the heads of its cells */
  uint32_t next_in_space;
  uint32_t first_entry, entry_count;
};

/* A further cell of an entry that lies in more than one. */
struct pto_access_link {
  uint32_t entry, next_in_cell, sibling, cell;
};

/* Bytes within a row, rows, planes; as many as the space has coordinates. */
struct pto_access_box {
  uint64_t lo[3], hi[3]; /* inclusive */
};

/* Where the region that was searched for last belongs: found on the way, for the insert that may follow. */
struct pto_access_place {
  struct pto_access_box box;
  uint32_t class_index; /* the first class of its extents; 0: there is none yet */
  uint32_t cell;        /* its only cell in that class */
  bool has_box;         /* false where the search needed none */
  bool has_cell;        /* false where there are more, or no class */
};

/* An entry that a region met, other than its own. */
struct pto_access_hit {
  uint32_t entry;
  uint32_t is_covered; /* by the region */
};

struct pto_access_map {
  struct pto_reserve entries_memory, cold_memory, wide_memory, links_memory, spaces_memory, classes_memory, hits_memory,
      buckets_memory, cells_memory, filled_memory;
  struct pto_access_entry *entries; /* from 1, as is the next */
  struct pto_access_entry_cold *cold;
  struct pto_region_dims {
    uint64_t extents[PTO_MAX_DIMS], strides[PTO_MAX_DIMS];
  } * wide;
  struct pto_access_link *links; /* from 1 */
  struct pto_access_space *spaces;
  struct pto_access_class *classes; /* from 1 */
  struct pto_access_hit *hits;
  uint32_t *buckets, *cells; /* heads; in a cell, numbers above entry_capacity are links */
  uint64_t *filled; /* a bit a cell, in order: its list is not empty; that stays in the cache where the heads do not */
  uint32_t head_shift; /* of a hash, to the number of a head */
  uint32_t entry_capacity, entries_used, entry_free, live_entries;
  uint32_t ample_entries, ample_chunks; /* up to here any submit has room */
  uint32_t link_capacity, links_used, link_free;
  uint32_t wide_used, wide_free;
  uint32_t space_capacity, spaces_used, space_free;
  uint32_t class_capacity, classes_used, class_free;
  uint32_t hit_count;
  uint32_t hand, hand_credit; /* the entry that it met last, and how many more it may meet */
  struct pto_access_place place;
  uint32_t visit;
  uint64_t submits_since_sweep; /* those that are granted counted */
  uint32_t ample_submits;       /* granted: so many to come find room without a look */
  const struct pto_task_rings *rings;
  struct pto_list_chunks *chunks;
  uint64_t lookups, candidates, budget_exhausted;
};

/* Room for `entry_capacity` entries in up to `space_capacity` spaces; `bucket_count` (a power
 * of two, from PTO_HEADS_A_RUN on) heads a table. */
bool pto_access_map_init(struct pto_access_map *map, uint32_t entry_capacity, uint32_t space_capacity,
                         uint32_t bucket_count, const struct pto_task_rings *rings, struct pto_list_chunks *chunks);
void pto_access_map_fini(struct pto_access_map *map);

/* A space over [lo, lo + size_bytes) whose grid follows a dense tensor with rows of `pitch_bytes` and planes of
 * `plane_bytes`. PTO_NONE-like UINT32_MAX where no space is left. */
uint32_t pto_access_map_add_space(struct pto_access_map *map, uint64_t lo, uint64_t size_bytes, uint64_t pitch_bytes,
                                  uint64_t plane_bytes);
static inline bool pto_access_map_has_space(const struct pto_access_map *map) {
  return map->space_free != UINT32_MAX || map->spaces_used < map->space_capacity;
}
/* Other coordinates for a space without entries. */
void pto_access_map_set_grid(struct pto_access_map *map, uint32_t space, uint64_t pitch_bytes, uint64_t plane_bytes);
/* Forgets every access to the space, and the space. */
void pto_access_map_remove_space(struct pto_access_map *map, uint32_t space);
/* Forgets every access to the space. */
void pto_access_map_clear_space(struct pto_access_map *map, uint32_t space);
/* Moves all entries of `from` into `to`, whose range contains them and which has none that meets them; removes `from`.
 */
void pto_access_map_merge_space(struct pto_access_map *map, uint32_t to, uint32_t from);

/* The rest of pto_access_map_make_room, where room has to be looked at. */
bool pto_access_map_sweep_for_room(struct pto_access_map *map, uint32_t param_count);

/* Before the lookups of a submit with `param_count` tensors: sweeps where it is due.  False where live work leaves no
 * room. */
static inline bool pto_access_map_make_room(struct pto_access_map *map, uint32_t param_count) {
  if (PTO_UNLIKELY(map->ample_submits == 0)) return pto_access_map_sweep_for_room(map, param_count);
  map->ample_submits--;
  return true;
}

/* Dimensions of a region, and whether it is fuzzy, in one number. */
#define PTO_KIND_FUZZY 0x80u
static inline uint8_t pto_access_kind(const struct pto_region *region) {
  PTO_ASSERT(region->ndims <= PTO_MAX_DIMS && region->is_fuzzy <= 1);
  return (uint8_t)(region->ndims + region->is_fuzzy * PTO_KIND_FUZZY);
}
static inline uint32_t pto_access_entry_ndims(const struct pto_access_entry *entry) {
  return entry->kind & ~PTO_KIND_FUZZY;
}

/* The head of a list, of what has this number: numbers that follow each other have heads side by side, in some order,
 * and the runs of these are spread evenly by multiples of the golden ratio (Knuth, The Art of Computer Programming 3,
 * 6.4); so lists of regular tiles are hardly longer than one where the table has twice as many heads. */
static inline uint32_t pto_access_map_head(const struct pto_access_map *map, uint64_t number, uint64_t salt) {
  const uint64_t hash = number / PTO_HEADS_A_RUN * UINT64_C(0x9e3779b97f4a7c15) + salt;
  return (uint32_t)(hash >> map->head_shift) ^ (uint32_t)(number % PTO_HEADS_A_RUN);
}

/* A hash of the canonical fields but for the start, equal regions have equal ones.  Its low bits say how long a run is
 * about. */
static inline uint64_t pto_access_map_geometry_hash(const struct pto_region *region) {
  uint64_t h = region->run_bytes * UINT64_C(0x9e3779b97f4a7c15) + region->is_fuzzy;
  for (uint32_t i = 0; i < region->ndims; i++)
    h = (h ^ (h >> 29)) + region->extents[i] * UINT64_C(0xc2b2ae3d27d4eb4f) +
        region->strides[i] * UINT64_C(0x165667b19e3779f9);
  return (h & ~UINT64_C(63)) | pto_log2_floor(region->run_bytes | 1);
}
/* The bucket of a region; runs side by side have buckets side by side. */
static inline uint32_t pto_access_map_bucket_at(const struct pto_access_map *map, uint64_t geometry_hash,
                                                uint64_t start) {
  return pto_access_map_head(map, start >> (geometry_hash & 63), geometry_hash);
}
static inline uint32_t pto_access_map_bucket(const struct pto_access_map *map, const struct pto_region *region) {
  return pto_access_map_bucket_at(map, pto_access_map_geometry_hash(region), region->start);
}

/* The rest of pto_access_entry_has_dims where there are several. */
bool pto_access_entry_has_further_dims(const struct pto_access_map *map, const struct pto_access_entry *entry,
                                       const struct pto_region *region);

/* Whether the dimensions of an entry's region, as many as this one's, are this one's. */
static inline bool pto_access_entry_has_dims(const struct pto_access_map *map, const struct pto_access_entry *entry,
                                             const struct pto_region *region) {
  if (entry->extent != region->extents[0] || entry->stride != region->strides[0]) return false;
  return PTO_LIKELY(region->ndims == 1) || pto_access_entry_has_further_dims(map, entry, region);
}

/* Whether an entry's region is this one, which is of `kind`, to the field (the end follows from the others). */
static inline bool pto_access_entry_is(const struct pto_access_map *map, const struct pto_access_entry *entry,
                                       const struct pto_region *region, uint8_t kind) {
  return entry->start == region->start && entry->run_bytes == region->run_bytes && entry->kind == kind &&
         (PTO_LIKELY(region->ndims == 0) || pto_access_entry_has_dims(map, entry, region));
}

/* The entry of exactly this region, which is of `kind`; 0 where there is none. */
static inline uint32_t pto_access_map_find_kind(const struct pto_access_map *map, const struct pto_region *region,
                                                uint8_t kind, uint32_t bucket) {
  for (uint32_t i = map->buckets[bucket]; i; i = map->cold[i].next)
    if (PTO_LIKELY(pto_access_entry_is(map, &map->entries[i], region, kind))) return i;
  return 0;
}
static inline uint32_t pto_access_map_find(const struct pto_access_map *map, const struct pto_region *region,
                                           uint32_t bucket) {
  return pto_access_map_find_kind(map, region, pto_access_kind(region), bucket);
}
/* Where somebody who looks up one region after another expects the next one's entry: as far behind the last one's as
 * that was behind the one before.  Entries of tiles that were made in turn stand in turn, so who walks over them needs
 * no table, and what he asks for does not wait for what the table says. */
struct pto_access_hint {
  uint32_t entry, step; /* modulo 2^32 */
  uint32_t repeats;     /* how often the step has been made in a row */
};
#define PTO_HINT_REPEATS 4u /* from so many on it is relied on: it does no harm where entries are met at random */

/* What the table said: an entry, or 0 for none. */
static inline void pto_access_hint_learn(struct pto_access_hint *hint, uint32_t entry) {
  const uint32_t step = entry - hint->entry;
  hint->repeats = step == hint->step ? hint->repeats + 1 : 0;
  hint->step = step;
  hint->entry = entry;
}
/* The entry of exactly this region, which is of `kind`, where the hint leads to it; 0 where it does not. */
static inline uint32_t pto_access_map_find_next(const struct pto_access_map *map, const struct pto_region *region,
                                                uint8_t kind, struct pto_access_hint *hint) {
  if (hint->repeats < PTO_HINT_REPEATS) return 0;
  const uint32_t index = hint->entry + hint->step;
  if (PTO_UNLIKELY(index > map->entry_capacity)) return 0;
  const struct pto_access_entry *entry = &map->entries[index];
  if (PTO_UNLIKELY(!pto_access_entry_is(map, entry, region, kind) || !(entry->flags & PTO_ENTRY_LIVE))) return 0;
  hint->entry = index;
  return index;
}
/* Appends to map->hits every other entry of the space that shares a byte with the region.  `skip` is the region's own
 * entry. */
void pto_access_map_search(struct pto_access_map *map, uint32_t space, const struct pto_region *region, uint32_t skip);
/* Makes the entry of a region that has none; it still needs an access.  make_room has been called. */
uint32_t pto_access_map_insert(struct pto_access_map *map, uint32_t space, const struct pto_region *region,
                               uint32_t bucket);
/* The same where the last search was for this region, unless the space had no entry: it goes where that came by. */
uint32_t pto_access_map_insert_found(struct pto_access_map *map, uint32_t space, const struct pto_region *region,
                                     uint32_t bucket);
void pto_access_map_remove(struct pto_access_map *map, uint32_t entry);

/* The rest of pto_access_map_append, for entries whose own places are full. */
bool pto_access_map_append_chunk(struct pto_access_map *map, struct pto_access_entry *entry, struct pto_task_ref ref,
                                 uint16_t tag);

/* Adds an access behind the others.  False where the list chunks are exhausted. */
static inline bool pto_access_map_append(struct pto_access_map *map, struct pto_access_entry *entry,
                                         struct pto_task_ref ref, uint16_t tag) {
  if (tag & PTO_TAG_WRITE)
    entry->flags |= (uint8_t)(PTO_ENTRY_HAS_WRITE | (entry->count || entry->more ? PTO_ENTRY_MANY_WRITES : 0));
  if (PTO_UNLIKELY(entry->count == PTO_ENTRY_ACCESSES)) return pto_access_map_append_chunk(map, entry, ref, tag);
  entry->refs[entry->count] = ref.bits;
  entry->tags[entry->count] = tag;
  entry->count++;
  return true;
}
static inline bool pto_access_entry_is_empty(const struct pto_access_entry *entry) {
  return entry->count == 0 && !entry->more;
}
/* Gives an entry's chunks back. */
void pto_access_map_free_chunks(struct pto_access_map *map, struct pto_access_entry *entry);
/* Drops all accesses. */
static inline void pto_access_map_clear_accesses(struct pto_access_map *map, struct pto_access_entry *entry) {
  if (PTO_UNLIKELY(entry->more)) pto_access_map_free_chunks(map, entry);
  entry->count = 0;
  entry->flags &= (uint8_t) ~(PTO_ENTRY_HAS_WRITE | PTO_ENTRY_MANY_WRITES);
}
/* Puts a write in place of all accesses of an entry without chunks, whose other flags are `flags`. */
static inline void pto_access_entry_replace(struct pto_access_entry *entry, struct pto_task_ref ref, uint16_t tag,
                                            uint8_t flags) {
  entry->refs[0] = ref.bits;
  entry->tags[0] = tag;
  entry->count = 1;
  entry->flags = (uint8_t)(flags | PTO_ENTRY_HAS_WRITE);
}
/* Puts a write in place of all accesses. */
static inline void pto_access_map_replace(struct pto_access_map *map, struct pto_access_entry *entry,
                                          struct pto_task_ref ref, uint16_t tag) {
  if (PTO_UNLIKELY(entry->more)) pto_access_map_free_chunks(map, entry);
  pto_access_entry_replace(entry, ref, tag, (uint8_t)(entry->flags & ~PTO_ENTRY_MANY_WRITES));
}
/* Keeps the visible accesses for which `keep(context, ref)` (NULL: all visible ones).  Returns how many are left. */
uint32_t pto_access_map_filter(struct pto_access_map *map, struct pto_access_entry *entry,
                               bool (*keep)(void *context, struct pto_task_ref ref), void *context);
/* Drops every invisible access, and the entries that are left without any. */
void pto_access_map_sweep(struct pto_access_map *map);
/* Gives the list chunks of invisible accesses back, in the middle of a submit too: removes no entry, but moves the
 * accesses of entries with chunks, so nobody may be on his way through them. */
void pto_access_map_release_chunks(struct pto_access_map *map);

void pto_access_map_region(const struct pto_access_map *map, uint32_t entry, struct pto_region *region);
bool pto_access_map_is_valid(const struct pto_access_map *map);

#endif
