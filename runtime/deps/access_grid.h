/* SPDX-License-Identifier: MIT */
/*
 * The grid of the access map: finds the regions of a space that may share bytes with a given one.
 *
 * A region has a box of bytes within a row × rows × planes of its space: its bounding box in the coordinates of the
 * dense tensor that the space was made with (a region that does not follow those strides gets a larger box, never a
 * smaller one). Regions whose boxes have about the same extents form a class; a class has cells of the extents of its
 * first region, so aligned tiles take one cell each.  Cells of all classes share one hash table, in which cells side by
 * side in a row have their heads side by side.
 *
 * Part of the access map: no state of its own; see access_map.h.
 */
#ifndef PTO_ACCESS_GRID_H
#define PTO_ACCESS_GRID_H

#include <runtime/deps/access_map.h>

/* The entry becomes one of its space.  `position` is of a search for its region, since which nothing was inserted;
 * NULL: there was none. */
void pto_access_grid_insert(struct pto_access_map *map, uint32_t entry, const struct pto_access_position *position);
void pto_access_grid_remove(struct pto_access_map *map, uint32_t entry);
/* Some entry of the space; 0 where there is none. */
uint32_t pto_access_grid_first(const struct pto_access_map *map, uint32_t space);
/* Whether a search would come to the entry, through every cell of its box. */
bool pto_access_grid_has(const struct pto_access_map *map, uint32_t entry);

#endif
