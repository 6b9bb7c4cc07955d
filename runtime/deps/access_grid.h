/* SPDX-License-Identifier: MIT */
/*
 * The grid of the access map: finds the regions of a space that may share bytes with a given one.
 *
 * A region has a box of bytes within a row × rows × planes of its space: its bounding box in the coordinates of the
 * dense tensor that the space was made with (a region that does not follow those strides gets a larger box, never a
 * smaller one). Regions whose boxes have about the same extents form a class; a class has cells of the extents of its
 * first region, so aligned tiles take one cell each.  Cells of all classes share one hash table, in which cells side by
 * side in a row have their heads side by side; a bit says of each whether its list is empty.
 *
 * A space with one region, and a class with one in a space of one row, need no cells to be searched; so the lone entry
 * of a space is linked into the grid when a second one comes.
 *
 * Part of the access map: no state of its own; see access_map.h.
 */
#ifndef PTO_ACCESS_GRID_H
#define PTO_ACCESS_GRID_H

#include <runtime/deps/access_map.h>

/* The rest of pto_access_grid_insert: the first two entries of a space, a new class, several cells.  Without
 * map->place.has_box, any entry. */
void pto_access_grid_insert_generally(struct pto_access_map *map, uint32_t entry);
/* The rest of pto_access_grid_remove. */
void pto_access_grid_drop_links(struct pto_access_map *map, uint32_t entry);
void pto_access_grid_drop_class(struct pto_access_map *map, uint32_t space, uint32_t class_index);
/* Some entry of the space; 0 where there is none. */
uint32_t pto_access_grid_first(const struct pto_access_map *map, uint32_t space);
/* Whether a search would come to the entry, through every cell of its box. */
bool pto_access_grid_has(const struct pto_access_map *map, uint32_t entry);

static inline void pto_access_grid_join(struct pto_access_map *map, uint32_t index, uint32_t class_index) {
  struct pto_access_entry_cold *cold = &map->cold[index];
  struct pto_access_class *class = &map->classes[class_index];
  cold->class_index = class_index;
  cold->previous_in_class = 0;
  cold->next_in_class = class->first_entry;
  map->cold[class->first_entry].previous_in_class = index; /* of entry 0, which is none, it means nothing */
  class->first_entry = index;
  class->entry_count++;
}

/* A list gets a new first member. */
static inline void pto_access_grid_set_head(struct pto_access_map *map, uint32_t cell, uint32_t number) {
  map->cells[cell] = number;
  map->filled[cell / 64] |= UINT64_C(1) << cell % 64;
}
static inline bool pto_access_grid_is_filled(const struct pto_access_map *map, uint32_t cell) {
  return map->filled[cell / 64] >> cell % 64 & 1;
}

static inline void pto_access_grid_link_first(struct pto_access_map *map, uint32_t index, uint32_t cell) {
  struct pto_access_entry_cold *cold = &map->cold[index];
  cold->cell = cell;
  cold->next_in_cell = map->cells[cell];
  pto_access_grid_set_head(map, cell, index);
}

/* The lists are of entries, by their first cells, and of links, whose numbers begin behind those of the entries. */
static inline uint32_t *pto_access_grid_next(const struct pto_access_map *map, uint32_t number) {
  return PTO_LIKELY(number <= map->entry_capacity) ? &map->cold[number].next_in_cell
                                                   : &map->links[number - map->entry_capacity].next_in_cell;
}

/* A list is no longer than what the search before an insert went through. */
static inline void pto_access_grid_unlink(struct pto_access_map *map, uint32_t cell, uint32_t number) {
  uint32_t *at = &map->cells[cell];
  while (*at != number) at = pto_access_grid_next(map, *at);
  *at = *pto_access_grid_next(map, number);
  if (PTO_LIKELY(!map->cells[cell])) map->filled[cell / 64] ^= UINT64_C(1) << cell % 64;
}

/* The entry of the region that was searched for last, or the first of its space. */
static inline void pto_access_grid_insert(struct pto_access_map *map, const struct pto_access_space *space,
                                          uint32_t index) {
  const struct pto_access_place *place = &map->place;
  map->cold[index].links = 0;
  /* what was removed since the search may have been the last of its class, or of the space */
  if (PTO_LIKELY(place->has_cell && map->classes[place->class_index].entry_count && space->first_class)) {
    pto_access_grid_join(map, index, place->class_index);
    pto_access_grid_link_first(map, index, place->cell);
  } else {
    pto_access_grid_insert_generally(map, index);
  }
}

static inline void pto_access_grid_remove(struct pto_access_map *map, uint32_t index) {
  const struct pto_access_entry_cold *cold = &map->cold[index];
  const uint32_t class_index = cold->class_index;
  if (PTO_UNLIKELY(!class_index)) {
    map->spaces[cold->space].lone_entry = 0;
    return;
  }
  pto_access_grid_unlink(map, cold->cell, index);
  if (PTO_UNLIKELY(cold->links)) pto_access_grid_drop_links(map, index);
  struct pto_access_class *class = &map->classes[class_index];
  if (cold->previous_in_class)
    map->cold[cold->previous_in_class].next_in_class = cold->next_in_class;
  else
    class->first_entry = cold->next_in_class;
  map->cold[cold->next_in_class].previous_in_class = cold->previous_in_class;
  if (--class->entry_count == 0) pto_access_grid_drop_class(map, cold->space, class_index);
}

#endif
