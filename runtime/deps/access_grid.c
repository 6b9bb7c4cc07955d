/* SPDX-License-Identifier: MIT */
#include <runtime/deps/access_grid.h>

/* A space with more classes than this rounds the cells of new ones up to powers of two, which bounds their number. */
#define EXACT_CLASSES 8u

void pto_access_grid_box(const struct pto_access_space *space, const struct pto_region *region,
                         struct pto_access_box *box) {
  uint64_t first = region->start - space->lo;
  uint64_t pitch = space->pitch_bytes, plane = space->plane_bytes;
  uint64_t bytes = region->run_bytes - 1, rows = 0, planes = 0;
  if (region->is_fuzzy) {
    bytes = region->end - region->start - 1;
  } else {
    for (uint32_t i = 0; i < region->ndims; i++) {
      uint64_t steps = region->extents[i] - 1, stride = region->strides[i];
      if (stride >= plane && stride % plane == 0)
        planes += steps * (stride / plane);
      else if (stride >= pitch && stride % pitch == 0)
        rows += steps * (stride / pitch);
      else
        bytes += steps * stride;
    }
  }
  uint64_t in_plane = first % plane;
  uint64_t byte = in_plane % pitch, row = in_plane / pitch;
  uint64_t rows_in_plane = plane / pitch;
  box->lo[0] = byte;
  box->hi[0] = byte + bytes;
  if (box->hi[0] >= pitch) { /* runs on into further rows: all columns of them */
    rows += box->hi[0] / pitch;
    box->lo[0] = 0;
    box->hi[0] = pitch - 1;
  }
  box->lo[1] = row;
  box->hi[1] = row + rows;
  if (box->hi[1] >= rows_in_plane) {
    planes += box->hi[1] / rows_in_plane;
    box->lo[1] = 0;
    box->hi[1] = rows_in_plane - 1;
  }
  box->lo[2] = first / plane;
  box->hi[2] = box->lo[2] + planes;
}

/* ---- classes ---- */

static bool fits_class(const struct pto_access_class *class, const uint64_t extents[3]) {
  for (int a = 0; a < 3; a++)
    if (extents[a] > class->cell[a] || extents[a] <= class->cell[a] / 2) return false;
  return true;
}

static uint64_t round_up_to_power_of_two(uint64_t x) { return x <= 1 ? 1 : UINT64_C(2) << pto_log2_floor(x - 1); }

static uint32_t class_of(struct pto_access_map *map, uint32_t space_index, const struct pto_access_box *box) {
  struct pto_access_space *space = &map->spaces[space_index];
  uint64_t extents[3];
  for (int a = 0; a < 3; a++) extents[a] = box->hi[a] - box->lo[a] + 1;
  uint32_t count = 0;
  for (uint32_t c = space->first_class; c; c = map->classes[c].next_in_space, count++)
    if (fits_class(&map->classes[c], extents)) return c;
  uint32_t index = map->class_free;
  if (index)
    map->class_free = map->classes[index].next_in_space;
  else
    index = ++map->classes_used;
  struct pto_access_class *class = &map->classes[index];
  *class = (struct pto_access_class){.space = space_index, .next_in_space = space->first_class};
  for (int a = 0; a < 3; a++)
    class->cell[a] = count < EXACT_CLASSES ? extents[a] : round_up_to_power_of_two(extents[a]);
  space->first_class = index;
  return index;
}

static void drop_class(struct pto_access_map *map, uint32_t index) {
  struct pto_access_class *class = &map->classes[index];
  uint32_t *at = &map->spaces[class->space].first_class;
  while (*at != index) at = &map->classes[*at].next_in_space;
  *at = class->next_in_space;
  class->next_in_space = map->class_free;
  map->class_free = index;
}

/* ---- cells ---- */

struct cell_range {
  uint64_t lo[3], hi[3];
};

static void cells_of(const struct pto_access_class *class, const struct pto_access_box *box, struct cell_range *cells) {
  for (int a = 0; a < 3; a++) {
    cells->lo[a] = box->lo[a] / class->cell[a];
    cells->hi[a] = box->hi[a] / class->cell[a];
  }
}

static uint32_t bucket_of(const struct pto_access_map *map, uint32_t class, uint64_t x, uint64_t y, uint64_t z) {
  uint64_t h =
      x * UINT64_C(0x9e3779b97f4a7c15) + y * UINT64_C(0xc2b2ae3d27d4eb4f) + z * UINT64_C(0x165667b19e3779f9) + class;
  h *= UINT64_C(0xff51afd7ed558ccd);
  return (uint32_t)(h >> 32) & map->cell_mask;
}

static void link_into(struct pto_access_map *map, uint32_t entry, uint32_t bucket) {
  uint32_t index = map->link_free;
  if (index)
    map->link_free = map->links[index].next;
  else
    index = ++map->links_used;
  PTO_ASSERT(index <= map->link_capacity);
  uint32_t head = map->cells[bucket];
  map->links[index] = (struct pto_access_link){entry, head, 0, map->entries[entry].first_link, bucket};
  if (head) map->links[head].previous = index;
  map->cells[bucket] = index;
  map->entries[entry].first_link = index;
}

void pto_access_grid_insert(struct pto_access_map *map, uint32_t index) {
  struct pto_access_entry *entry = &map->entries[index];
  struct pto_region region;
  pto_access_entry_region(map, entry, &region);
  struct pto_access_box box;
  pto_access_grid_box(&map->spaces[entry->space], &region, &box);
  uint32_t class_index = class_of(map, entry->space, &box);
  struct pto_access_class *class = &map->classes[class_index];
  entry->class_index = class_index;
  entry->previous_in_class = 0;
  entry->next_in_class = class->first_entry;
  if (class->first_entry) map->entries[class->first_entry].previous_in_class = index;
  class->first_entry = index;
  class->entry_count++;
  entry->first_link = 0;
  struct cell_range cells;
  cells_of(class, &box, &cells);
  for (uint64_t z = cells.lo[2]; z <= cells.hi[2]; z++)
    for (uint64_t y = cells.lo[1]; y <= cells.hi[1]; y++)
      for (uint64_t x = cells.lo[0]; x <= cells.hi[0]; x++) link_into(map, index, bucket_of(map, class_index, x, y, z));
}

void pto_access_grid_remove(struct pto_access_map *map, uint32_t index) {
  struct pto_access_entry *entry = &map->entries[index];
  for (uint32_t i = entry->first_link; i;) {
    struct pto_access_link *link = &map->links[i];
    uint32_t sibling = link->sibling;
    if (link->previous)
      map->links[link->previous].next = link->next;
    else
      map->cells[link->bucket] = link->next;
    if (link->next) map->links[link->next].previous = link->previous;
    link->next = map->link_free;
    map->link_free = i;
    i = sibling;
  }
  entry->first_link = 0;
  struct pto_access_class *class = &map->classes[entry->class_index];
  if (entry->previous_in_class)
    map->entries[entry->previous_in_class].next_in_class = entry->next_in_class;
  else
    class->first_entry = entry->next_in_class;
  if (entry->next_in_class) map->entries[entry->next_in_class].previous_in_class = entry->previous_in_class;
  if (--class->entry_count == 0) drop_class(map, entry->class_index);
}

bool pto_access_grid_has(const struct pto_access_map *map, uint32_t index) {
  const struct pto_access_entry *entry = &map->entries[index];
  struct pto_region region;
  pto_access_entry_region(map, entry, &region);
  struct pto_access_box box;
  pto_access_grid_box(&map->spaces[entry->space], &region, &box);
  struct cell_range cells;
  cells_of(&map->classes[entry->class_index], &box, &cells);
  for (uint64_t z = cells.lo[2]; z <= cells.hi[2]; z++)
    for (uint64_t y = cells.lo[1]; y <= cells.hi[1]; y++)
      for (uint64_t x = cells.lo[0]; x <= cells.hi[0]; x++) {
        uint32_t link = map->cells[bucket_of(map, entry->class_index, x, y, z)];
        while (link && map->links[link].entry != index) link = map->links[link].next;
        if (!link) return false;
      }
  return true;
}

/* ---- search ---- */

static void consider(struct pto_access_map *map, uint32_t index, const struct pto_region *region) {
  struct pto_access_entry *entry = &map->entries[index];
  if (entry->visit == map->visit) return;
  entry->visit = map->visit;
  if (entry->start >= region->end || region->start >= entry->end) return;
  map->candidates++;
  struct pto_region other;
  pto_access_entry_region(map, entry, &other);
  enum pto_overlap overlap = pto_region_overlap(region, &other, &map->budget_exhausted);
  if (overlap == PTO_DISJOINT) return;
  map->hits[map->hit_count++] = (struct pto_access_hit){index, overlap == PTO_EQUAL || overlap == PTO_COVERS};
}

static void search_list(struct pto_access_map *map, const struct pto_access_class *class,
                        const struct pto_region *region) {
  for (uint32_t i = class->first_entry; i; i = map->entries[i].next_in_class) consider(map, i, region);
}

static void search_class(struct pto_access_map *map, uint32_t class_index, const struct pto_access_box *box,
                         const struct pto_region *region) {
  const struct pto_access_class *class = &map->classes[class_index];
  struct cell_range cells;
  cells_of(class, box, &cells);
  uint64_t nx = cells.hi[0] - cells.lo[0] + 1, ny = cells.hi[1] - cells.lo[1] + 1, nz = cells.hi[2] - cells.lo[2] + 1;
  uint64_t limit = class->entry_count;
  if (nx > limit || ny > limit || nz > limit || nx * ny > limit || nx * ny * nz > limit) {
    search_list(map, class, region);
    return;
  }
  for (uint64_t z = cells.lo[2]; z <= cells.hi[2]; z++)
    for (uint64_t y = cells.lo[1]; y <= cells.hi[1]; y++)
      for (uint64_t x = cells.lo[0]; x <= cells.hi[0]; x++)
        for (uint32_t i = map->cells[bucket_of(map, class_index, x, y, z)]; i; i = map->links[i].next)
          if (map->entries[map->links[i].entry].class_index == class_index) consider(map, map->links[i].entry, region);
}

void pto_access_map_search(struct pto_access_map *map, uint32_t space_index, const struct pto_region *region,
                           uint32_t skip) {
  const struct pto_access_space *space = &map->spaces[space_index];
  if (++map->visit == 0) { /* stamps of 2^32 searches ago must not look like this one's */
    for (uint32_t i = 1; i <= map->entries_used; i++) map->entries[i].visit = 0;
    map->visit = 1;
  }
  if (skip) map->entries[skip].visit = map->visit;
  /* bounding ranges may meet where boxes do not: fuzzy regions are compared with all */
  bool is_fuzzy = region->is_fuzzy || space->fuzzy_count;
  struct pto_access_box box;
  if (!is_fuzzy) pto_access_grid_box(space, region, &box);
  for (uint32_t c = space->first_class; c; c = map->classes[c].next_in_space) {
    if (is_fuzzy)
      search_list(map, &map->classes[c], region);
    else
      search_class(map, c, &box, region);
  }
}
