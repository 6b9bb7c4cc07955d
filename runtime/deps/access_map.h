/* SPDX-License-Identifier: MIT */
/*
 * Access map: which tasks have read or written which bytes, kept until a later write covers them, their buffer dies, or
 * their task's slot comes round again.
 *
 * An *entry* is one region (a canonical byte set) with the accesses made to exactly it, oldest first.  Entries live in
 * an *address space*: one managed buffer, or one range of external memory.  Two ways lead to an entry:
 *   - a bucket, by a hash of its geometry: the same tile again, the common case.  An entry whose ISOLATED flag is set
 *     overlaps no other entry of its space, so the hash alone answers; fuzzy regions, which overlap others by their
 *     ranges, never have it.
 *   - a grid over rows × bytes within a row × planes of the space, in classes of regions of about the same extents.  A
 *     class has cells as large as its regions, so a region lies in at most two cells a dimension (one, where tiles are
 *     aligned), and a lookup of a region of the class's size visits the same few cells however many disjoint tiles are
 *     live.
 *
 * This header says what the map is and has its functions; its structs, and the steps of a submit, are in
 * access_layout.h.
 *
 * Always true: ISOLATED ⇒ no live entry of the space shares a byte with it; an entry is linked into each cell of its
 * class that its box touches.
 *
 * An entry whose accesses a larger write has replaced stays, empty, for the next access to its region: tiles that come
 * back in turn with their whole are not made anew each time.  The next lookup that finds it empty removes it.
 *
 * Accesses whose tasks are no longer visible may linger, and count for nothing; which entries linger changes no answer.
 * A *hand* goes round all entries, and an insert that finds no free entry moves it on, two entries an insert in the
 * mean, until it finds an entry without a visible access: that one is taken.  So entries in use stay below about
 * twice the visible ones, and nothing is walked that is not paid for by inserts.  Only where room is short, or
 * references are about to repeat, a sweep drops all that has expired at once.
 *
 * Owns entries and grids, reserved at creation, and borrows rings and list chunks; the runtime owns the map.  Control
 * thread only.
 */
#ifndef PTO_ACCESS_MAP_H
#define PTO_ACCESS_MAP_H

#include <runtime/deps/access_layout.h>

/* Room for `entry_capacity` entries in up to `space_capacity` spaces; `bucket_count` (a power
 * of two, from PTO_HEADS_A_RUN on) list heads in each table. */
bool pto_access_map_init(struct pto_access_map *map, uint32_t entry_capacity, uint32_t space_capacity,
                         uint32_t bucket_count, const struct pto_task_rings *rings, struct pto_list_chunks *chunks);
void pto_access_map_fini(struct pto_access_map *map);

/* A space over [lo, lo + size_bytes) whose grid follows a dense tensor with rows of `pitch_bytes` and planes of
 * `plane_bytes`.  UINT32_MAX where no space is left. */
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
/* Moves all entries of `from` into `to`, whose range contains them and which has none that overlaps them; removes
 * `from`.
 */
void pto_access_map_merge_space(struct pto_access_map *map, uint32_t to, uint32_t from);

/* The rest of pto_access_map_make_room, where room is short. */
bool pto_access_map_sweep_for_room(struct pto_access_map *map, uint32_t access_count);

/* Before the first edge of a submit with so many accesses: sweeps where room may be short, as nothing may be moved
 * while lists are walked.  False where live work leaves no room for entries; chunks that run out after this are all
 * live. */
static inline bool pto_access_map_make_room(struct pto_access_map *map, uint32_t access_count) {
  map->submits_since_sweep++;
  if (PTO_LIKELY(map->entry_capacity - map->live_entries >= access_count &&
                 map->chunks->live_count <= map->ample_chunks && map->submits_since_sweep < PTO_SWEEP_SUBMITS))
    return true;
  return pto_access_map_sweep_for_room(map, access_count);
}

/* Appends to map->hits every other entry of the space that shares a byte with the region.  `skip` is the region's own
 * entry.  *position (may be NULL): where the region belongs. */
void pto_access_map_search(struct pto_access_map *map, uint32_t space, const struct pto_region *region, uint32_t skip,
                           struct pto_access_position *position);
/* Makes the entry of a region that has none; it still needs an access.  make_room has been called.  `position` is of a
 * search for this region, since which nothing was inserted; NULL: there was none. */
uint32_t pto_access_map_insert(struct pto_access_map *map, uint32_t space, const struct pto_region *region,
                               uint32_t bucket, const struct pto_access_position *position);
void pto_access_map_remove(struct pto_access_map *map, uint32_t entry);

/* Keeps the visible accesses for which `keep(context, ref)` (NULL: all visible ones).  Returns how many are left. */
uint32_t pto_access_map_filter(struct pto_access_map *map, struct pto_access_entry *entry,
                               bool (*keep)(void *context, struct pto_task_ref ref), void *context);
/* Drops every invisible access, and the entries that are left without any. */
void pto_access_map_sweep(struct pto_access_map *map);
void pto_access_map_region(const struct pto_access_map *map, uint32_t entry, struct pto_region *region);
bool pto_access_map_is_valid(const struct pto_access_map *map);

#endif
