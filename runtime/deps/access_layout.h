/* SPDX-License-Identifier: MIT */
/*
 * How the access map lies in memory, and the steps that a submit takes in it (access_map.h says what the map is, and
 * has its functions).  Only runtime/deps changes it; runtime/control and runtime/submit read a few counts of it.
 *
 * An exact hit touches a head of the table and one line of the entry; `cold` and the grid are for entries that are
 * made, removed, or overlap others.
 */
#ifndef PTO_ACCESS_LAYOUT_H
#define PTO_ACCESS_LAYOUT_H

#include <runtime/base/divisor.h>
#include <runtime/deps/rules.h>
#include <runtime/task/list_chunks.h>
#include <runtime/task/task_ring.h>
#include <runtime/tensor/region.h>

#define PTO_ENTRY_ACCESSES 4u
/* Heads of buckets, and of cells, that stand together where their regions do: a kilobyte, whose lines the processor
 * fetches ahead when regions are met in turn. */
#define PTO_HEADS_A_RUN 256u
/* References are compared modulo 2^30; long before that everything invisible has to be gone. */
#define PTO_SWEEP_SUBMITS (UINT64_C(1) << 28)

/* Tag of an access: parameter index (PTO_TAG_PREDICATE: the predicate), and what it did (rules.h). */
#define PTO_TAG_PARAM_MASK 0x7fu
#define PTO_TAG_PREDICATE 0x7fu
_Static_assert(PTO_MAX_PARAMS < PTO_TAG_PREDICATE, "a parameter index fits the tag");

enum pto_access_entry_flags {
  PTO_ENTRY_LIVE = 1,
  PTO_ENTRY_ISOLATED = 2,
  PTO_ENTRY_HAS_WRITE = 4,  /* some access writes */
  PTO_ENTRY_MANY_WRITES = 8 /* a write may stand behind the first place */
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
  uint32_t space;
  uint32_t bucket, next; /* of the bucket */
  uint32_t visit;        /* stamp of the last walk over several cells that met it */
  uint32_t class_index;
  uint32_t next_in_class, previous_in_class;
  uint32_t cell, next_in_cell; /* its first cell */
  uint32_t links;              /* its other cells; through sibling */
  uint32_t reserved[4];
};
_Static_assert(sizeof(struct pto_access_entry_cold) == PTO_CACHE_LINE, "an entry is two lines");

/* The dimensions of an entry's region, of the same index, where there are several. */
struct pto_access_entry_dims {
  uint64_t extents[PTO_MAX_DIMS], strides[PTO_MAX_DIMS];
};

/* An address space: memory whose accesses can only meet each other.  Under the rule base-address two may have bytes in
 * common. */
struct pto_access_space {
  uint64_t lo, size_bytes;
  struct pto_divisor pitch, plane; /* bytes of a row, of a plane of rows */
  uint64_t rows_in_plane;          /* 0: no grid was needed so far, and the reciprocals are not set */
  uint32_t coordinates;            /* 1: all is one row; 2: all is one plane; 3 */
  uint32_t first_class;
  uint32_t entry_count;
  uint32_t fuzzy_count;   /* fuzzy entries */
  uint32_t registrations; /* external: live registrations */
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

/* Where a region belongs: what a search for it has found on the way, for the insert that may follow. */
struct pto_access_position {
  struct pto_access_box box;
  uint32_t class_index; /* the first class of its extents; 0: there is none yet */
  uint32_t cell;        /* its only cell in that class */
  bool has_cell;        /* false where there are more, or no class */
};

/* An entry that a region met, other than its own. */
struct pto_access_hit {
  uint32_t entry;
  uint32_t is_covered; /* by the region */
};

struct pto_access_map {
  struct pto_reserve memory;
  struct pto_access_entry *entries; /* from 1, as are the next two */
  struct pto_access_entry_cold *cold;
  struct pto_access_entry_dims *dims;
  struct pto_access_link *links; /* from 1 */
  struct pto_access_space *spaces;
  struct pto_access_class *classes; /* from 1 */
  struct pto_access_hit *hits;
  uint32_t *buckets, *cells; /* heads; in a cell, numbers above entry_capacity are links */
  uint32_t head_shift;       /* of a hash, to the number of a head */
  uint32_t entry_capacity, entries_used, entry_free, live_entries;
  uint32_t ample_chunks; /* as many live ones leave any submit room */
  uint32_t link_capacity, links_used, link_free;
  uint32_t space_capacity, spaces_used, space_free;
  uint32_t classes_used, class_free;
  uint32_t hit_count;
  uint32_t hand, hand_credit; /* the entry that it met last, and how many more it may meet */
  uint32_t visit;
  uint64_t submits_since_sweep;
  const struct pto_task_rings *rings;
  struct pto_list_chunks *chunks;
  uint64_t lookups, candidates, budget_exhausted;
};

/* Dimensions of a region, and whether it is fuzzy, in one number. */
#define PTO_KIND_FUZZY 0x80u
static inline uint8_t pto_access_kind(const struct pto_region *region) {
  PTO_ASSERT(region->ndims <= PTO_MAX_DIMS && region->is_fuzzy <= 1);
  return (uint8_t)(region->ndims + region->is_fuzzy * PTO_KIND_FUZZY);
}
static inline uint32_t pto_access_entry_ndims(const struct pto_access_entry *entry) {
  return entry->kind & ~PTO_KIND_FUZZY;
}

static inline bool pto_access_entry_is_fuzzy(const struct pto_access_entry *entry) {
  return entry->kind & PTO_KIND_FUZZY;
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

void pto_access_entry_set_region(struct pto_access_map *map, uint32_t index, const struct pto_region *region);
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

/* The entry of exactly this region, which is of `kind`, in this space; 0 where there is none.  PTO_ANY_SPACE where no
 * two spaces have a byte in common, so that the region tells the space. */
#define PTO_ANY_SPACE UINT32_MAX
static PTO_INLINE uint32_t pto_access_map_find_kind(const struct pto_access_map *map, uint32_t space,
                                                    const struct pto_region *region, uint8_t kind, uint32_t bucket) {
  for (uint32_t i = map->buckets[bucket]; i; i = map->cold[i].next)
    if (PTO_LIKELY(pto_access_entry_is(map, &map->entries[i], region, kind)) &&
        (space == PTO_ANY_SPACE || map->cold[i].space == space))
      return i;
  return 0;
}
static inline uint32_t pto_access_map_find(const struct pto_access_map *map, uint32_t space,
                                           const struct pto_region *region, uint32_t bucket) {
  return pto_access_map_find_kind(map, space, region, pto_access_kind(region), bucket);
}
/* A fresh chunk before the others, for an entry whose places are full.  False where the list chunks are exhausted. */
bool pto_access_map_add_chunk(struct pto_access_map *map, struct pto_access_entry *entry);

/* Adds an access behind the others.  False where the list chunks are exhausted. */
static inline bool pto_access_map_append(struct pto_access_map *map, struct pto_access_entry *entry,
                                         struct pto_task_ref ref, uint16_t tag) {
  if (tag & PTO_TAG_WRITE) entry->flags |= (uint8_t)(PTO_ENTRY_HAS_WRITE | (entry->count ? PTO_ENTRY_MANY_WRITES : 0));
  if (PTO_LIKELY(entry->count < PTO_ENTRY_ACCESSES)) {
    entry->refs[entry->count] = ref.bits;
    entry->tags[entry->count] = tag;
    entry->count++;
    return true;
  }
  struct pto_list_chunk *chunk = &map->chunks->chunks[entry->more];
  if (!entry->more || PTO_UNLIKELY(chunk->count == PTO_CHUNK_ACCESSES)) {
    if (PTO_UNLIKELY(!pto_access_map_add_chunk(map, entry))) return false;
    chunk = &map->chunks->chunks[entry->more];
  }
  chunk->items.accesses.refs[chunk->count] = ref.bits;
  chunk->items.accesses.tags[chunk->count] = tag;
  chunk->items.accesses.kinds |= (uint8_t)(1u << (tag >> 8));
  chunk->count++;
  return true;
}
static inline bool pto_access_entry_is_empty(const struct pto_access_entry *entry) {
  return entry->count == 0; /* its own places fill first, and again after each filter */
}
/* Gives an entry's chunks back. */
void pto_access_map_free_chunks(struct pto_access_map *map, struct pto_access_entry *entry);
/* Drops all accesses. */
static inline void pto_access_map_clear_accesses(struct pto_access_map *map, struct pto_access_entry *entry) {
  if (PTO_UNLIKELY(entry->more)) pto_access_map_free_chunks(map, entry);
  entry->count = 0;
  entry->flags &= (uint8_t) ~(PTO_ENTRY_HAS_WRITE | PTO_ENTRY_MANY_WRITES);
}
/* Puts a write in place of all accesses. */
static inline void pto_access_map_replace(struct pto_access_map *map, struct pto_access_entry *entry,
                                          struct pto_task_ref ref, uint16_t tag) {
  if (PTO_UNLIKELY(entry->more)) pto_access_map_free_chunks(map, entry);
  entry->refs[0] = ref.bits;
  entry->tags[0] = tag;
  entry->count = 1;
  entry->flags = (uint8_t)((entry->flags & ~PTO_ENTRY_MANY_WRITES) | PTO_ENTRY_HAS_WRITE);
}

#endif
