/* SPDX-License-Identifier: MIT */
#include <runtime/deps/access_grid.h>

/* A space with more classes than this rounds the cells of new ones up to powers of two, which bounds their number. */
#define EXACT_CLASSES 8u

/* ---- boxes ---- */

/* How far the region reaches from its first byte on, by coordinate. */
static inline void measure(const struct pto_access_space *space, const struct pto_region *region, uint64_t reach[3]) {
  const uint64_t pitch = space->pitch.value, plane = space->plane.value;
  reach[0] = region->run_bytes - 1;
  reach[1] = reach[2] = 0;
  for (uint32_t i = 0; i < region->ndims; i++) {
    const uint64_t steps = region->extents[i] - 1, stride = region->strides[i];
    if (stride == pitch && pitch < plane)
      reach[1] += steps;
    else if (stride >= plane && stride % plane == 0)
      reach[2] += steps * (stride / plane);
    else if (stride >= pitch && stride % pitch == 0)
      reach[1] += steps * (stride / pitch);
    else
      reach[0] += steps * stride;
  }
}

static PTO_NOINLINE void box_in_rows(const struct pto_access_space *space, const struct pto_region *region,
                                     struct pto_access_box *box) {
  const uint64_t pitch = space->pitch.value;
  uint64_t reach[3], first = region->start - space->lo;
  if (region->is_fuzzy) {
    reach[0] = region->end - region->start - 1;
    reach[1] = reach[2] = 0;
  } else {
    measure(space, region, reach);
  }
  box->lo[2] = space->coordinates < 3 ? 0 : pto_divide(first, &space->plane);
  first -= box->lo[2] * space->plane.value;
  box->lo[1] = pto_divide(first, &space->pitch);
  box->lo[0] = first - box->lo[1] * pitch;
  box->hi[0] = box->lo[0] + reach[0];
  if (box->hi[0] >= pitch) { /* runs on into further rows: all columns of them */
    reach[1] += pto_divide(box->hi[0], &space->pitch);
    box->lo[0] = 0;
    box->hi[0] = pitch - 1;
  }
  box->hi[1] = box->lo[1] + reach[1];
  if (box->hi[1] >= space->rows_in_plane) {
    reach[2] += box->hi[1] / space->rows_in_plane;
    box->lo[1] = 0;
    box->hi[1] = space->rows_in_plane - 1;
  }
  box->hi[2] = box->lo[2] + reach[2];
}

/* As many coordinates as the space has. */
static inline void box_of(const struct pto_access_space *space, const struct pto_region *region,
                          struct pto_access_box *box) {
  if (PTO_LIKELY(space->coordinates == 1)) {
    box->lo[0] = region->start - space->lo;
    box->hi[0] = region->end - space->lo - 1;
  } else {
    box_in_rows(space, region, box);
  }
}

static void box_of_entry(const struct pto_access_map *map, uint32_t index, struct pto_access_box *box) {
  struct pto_region region;
  pto_access_map_region(map, index, &region);
  box_of(&map->spaces[map->cold[index].space], &region, box);
}

/* ---- classes ---- */

static inline bool fits_class(const struct pto_access_class *class, const struct pto_access_box *box,
                              uint32_t coordinates) {
  for (uint32_t a = 0; a < coordinates; a++) {
    const uint64_t extent = box->hi[a] - box->lo[a] + 1, cell = class->cell[a].value;
    if (extent > cell || extent <= cell / 2) return false;
  }
  return true;
}

static uint64_t round_up_to_power_of_two(uint64_t x) { return x <= 1 ? 1 : UINT64_C(2) << pto_log2_floor(x - 1); }

static PTO_NOINLINE uint32_t add_class(struct pto_access_map *map, struct pto_access_space *space,
                                       const struct pto_access_box *box, bool is_exact) {
  uint32_t index = map->class_free;
  if (index)
    map->class_free = map->classes[index].next_in_space;
  else
    index = ++map->classes_used;
  struct pto_access_class *class = &map->classes[index];
  const uint64_t limits[3] = {pto_min_u64(space->pitch.value, space->size_bytes), space->rows_in_plane,
                              space->size_bytes};
  for (uint32_t a = 0; a < space->coordinates; a++) {
    const uint64_t extent = box->hi[a] - box->lo[a] + 1;
    class->cell[a] = pto_divisor_make(is_exact ? extent : round_up_to_power_of_two(extent), limits[a]);
  }
  class->cells_a_row = limits[0] / class->cell[0].value + 1;
  class->cells_a_plane = space->coordinates < 3 ? 0 : class->cells_a_row * (limits[1] / class->cell[1].value + 1);
  class->salt = index * UINT64_C(0xff51afd7ed558ccd);
  class->first_entry = class->entry_count = 0;
  class->next_in_space = space->first_class;
  space->first_class = index;
  return index;
}

static inline uint32_t class_of(struct pto_access_map *map, struct pto_access_space *space,
                                const struct pto_access_box *box) {
  uint32_t count = 0;
  for (uint32_t c = space->first_class; c; c = map->classes[c].next_in_space, count++)
    if (fits_class(&map->classes[c], box, space->coordinates)) return c;
  return add_class(map, space, box, count < EXACT_CLASSES);
}

static inline void join(struct pto_access_map *map, uint32_t index, uint32_t class_index) {
  struct pto_access_entry_cold *cold = &map->cold[index];
  struct pto_access_class *class = &map->classes[class_index];
  cold->class_index = class_index;
  cold->previous_in_class = 0;
  cold->next_in_class = class->first_entry;
  map->cold[class->first_entry].previous_in_class = index; /* of entry 0, which is none, it means nothing */
  class->first_entry = index;
  class->entry_count++;
}

static void drop_class(struct pto_access_map *map, uint32_t space, uint32_t index) {
  struct pto_access_class *class = &map->classes[index];
  uint32_t *at = &map->spaces[space].first_class;
  while (*at != index) at = &map->classes[*at].next_in_space;
  *at = class->next_in_space;
  class->next_in_space = map->class_free;
  map->class_free = index;
}

/* ---- cells ---- */

struct cell_range {
  uint64_t lo[3], hi[3];
  uint32_t coordinates;
  bool is_single;
};

/* Mostly both ends lie in one cell. */
static inline bool cells_along(const struct pto_divisor *cell, uint64_t lo, uint64_t hi, uint64_t *first,
                               uint64_t *last) {
  *first = *last = pto_divide(lo, cell);
  if (PTO_LIKELY(hi - *first * cell->value < cell->value)) return true;
  *last = pto_divide(hi, cell);
  return false;
}

static inline void cells_of(const struct pto_access_class *class, const struct pto_access_box *box,
                            uint32_t coordinates, struct cell_range *cells) {
  cells->is_single = cells_along(&class->cell[0], box->lo[0], box->hi[0], &cells->lo[0], &cells->hi[0]);
  cells->lo[1] = cells->hi[1] = cells->lo[2] = cells->hi[2] = 0;
  cells->coordinates = coordinates;
  for (uint32_t a = 1; a < coordinates; a++)
    cells->is_single &= cells_along(&class->cell[a], box->lo[a], box->hi[a], &cells->lo[a], &cells->hi[a]);
}

/* Where the list of a cell begins.  Cells are numbered row by row, so those of tiles side by side have theirs side by
 * side. */
static inline uint32_t head_of(const struct pto_access_map *map, const struct pto_access_class *class, uint64_t x,
                               uint64_t y, uint64_t z) {
  return pto_access_map_head(map, x + y * class->cells_a_row + z * class->cells_a_plane, class->salt);
}

static inline uint32_t entry_of(const struct pto_access_map *map, uint32_t number) {
  return PTO_LIKELY(number <= map->entry_capacity) ? number : map->links[number - map->entry_capacity].entry;
}

/* The lists are of entries, by their first cells, and of links, whose numbers begin behind those of the entries. */
static inline uint32_t *next_of(const struct pto_access_map *map, uint32_t number) {
  return PTO_LIKELY(number <= map->entry_capacity) ? &map->cold[number].next_in_cell
                                                   : &map->links[number - map->entry_capacity].next_in_cell;
}

static inline void link_first(struct pto_access_map *map, uint32_t index, uint32_t cell) {
  struct pto_access_entry_cold *cold = &map->cold[index];
  cold->cell = cell;
  cold->next_in_cell = map->cells[cell];
  map->cells[cell] = index;
}

/* A list is no longer than what the search before an insert went through. */
static inline void unlink_from(struct pto_access_map *map, uint32_t cell, uint32_t number) {
  uint32_t *at = &map->cells[cell];
  while (*at != number) at = next_of(map, *at);
  *at = *next_of(map, number);
}

static PTO_NOINLINE void add_link(struct pto_access_map *map, uint32_t entry, uint32_t cell) {
  uint32_t index = map->link_free;
  if (index)
    map->link_free = map->links[index].next_in_cell;
  else
    index = ++map->links_used;
  PTO_ASSERT(index <= map->link_capacity);
  map->links[index] = (struct pto_access_link){entry, map->cells[cell], map->cold[entry].links, cell};
  map->cells[cell] = map->entry_capacity + index;
  map->cold[entry].links = index;
}

static void drop_links(struct pto_access_map *map, uint32_t entry) {
  for (uint32_t i = map->cold[entry].links; i;) {
    struct pto_access_link *link = &map->links[i];
    const uint32_t sibling = link->sibling;
    unlink_from(map, link->cell, map->entry_capacity + i);
    link->next_in_cell = map->link_free;
    map->link_free = i;
    i = sibling;
  }
}

static PTO_NOINLINE void link_into_all(struct pto_access_map *map, uint32_t index, const struct cell_range *cells) {
  const struct pto_access_class *class = &map->classes[map->cold[index].class_index];
  bool is_first = true;
  for (uint64_t z = cells->lo[2]; z <= cells->hi[2]; z++)
    for (uint64_t y = cells->lo[1]; y <= cells->hi[1]; y++)
      for (uint64_t x = cells->lo[0]; x <= cells->hi[0]; x++, is_first = false) {
        const uint32_t cell = head_of(map, class, x, y, z);
        if (is_first)
          link_first(map, index, cell);
        else
          add_link(map, index, cell);
      }
}

/* ---- entries ---- */

/* The first time that a space needs its coordinates. */
static PTO_NOINLINE void prepare_space(struct pto_access_space *space) {
  const uint64_t pitch = space->pitch.value, plane = space->plane.value;
  space->rows_in_plane = space->coordinates == 1 ? 1 : plane / pitch;
  if (space->coordinates == 1) return;
  /* a box that runs over the end of its row or plane reaches less than the space's size behind it */
  space->pitch = pto_divisor_make(pitch, 2 * space->size_bytes);
  space->plane = pto_divisor_make(plane, space->size_bytes);
}

/* A new class, several cells: any entry. */
static PTO_NOINLINE void insert_generally(struct pto_access_map *map, uint32_t index) {
  struct pto_access_space *space = &map->spaces[map->cold[index].space];
  struct pto_access_box box;
  struct cell_range cells;
  if (!space->rows_in_plane) prepare_space(space);
  box_of_entry(map, index, &box);
  const uint32_t class = class_of(map, space, &box);
  join(map, index, class);
  cells_of(&map->classes[class], &box, space->coordinates, &cells);
  link_into_all(map, index, &cells);
}

void pto_access_grid_insert(struct pto_access_map *map, uint32_t index, const struct pto_access_position *position) {
  map->cold[index].links = 0;
  /* what was removed since the search may have been the last of its class */
  if (position && position->has_cell && map->classes[position->class_index].entry_count) {
    join(map, index, position->class_index);
    link_first(map, index, position->cell);
  } else {
    insert_generally(map, index);
  }
}

static inline void leave_class(struct pto_access_map *map, const struct pto_access_entry_cold *cold) {
  struct pto_access_class *class = &map->classes[cold->class_index];
  if (cold->previous_in_class)
    map->cold[cold->previous_in_class].next_in_class = cold->next_in_class;
  else
    class->first_entry = cold->next_in_class;
  map->cold[cold->next_in_class].previous_in_class = cold->previous_in_class;
  if (--class->entry_count == 0) drop_class(map, cold->space, cold->class_index);
}

void pto_access_grid_remove(struct pto_access_map *map, uint32_t index) {
  const struct pto_access_entry_cold *cold = &map->cold[index];
  unlink_from(map, cold->cell, index);
  if (PTO_UNLIKELY(cold->links)) drop_links(map, index);
  leave_class(map, cold);
}

uint32_t pto_access_grid_first(const struct pto_access_map *map, uint32_t space) {
  return map->classes[map->spaces[space].first_class].first_entry;
}

bool pto_access_grid_has(const struct pto_access_map *map, uint32_t index) {
  const struct pto_access_space *space = &map->spaces[map->cold[index].space];
  const uint32_t class = map->cold[index].class_index;
  struct pto_access_box box;
  box_of_entry(map, index, &box);
  struct cell_range cells;
  cells_of(&map->classes[class], &box, space->coordinates, &cells);
  for (uint64_t z = cells.lo[2]; z <= cells.hi[2]; z++)
    for (uint64_t y = cells.lo[1]; y <= cells.hi[1]; y++)
      for (uint64_t x = cells.lo[0]; x <= cells.hi[0]; x++) {
        const uint32_t head = head_of(map, &map->classes[class], x, y, z);
        uint32_t number = map->cells[head];
        while (number && entry_of(map, number) != index) number = *next_of(map, number);
        if (!number) return false;
      }
  return true;
}

/* ---- search ---- */

struct query {
  const struct pto_region *region;
  uint32_t skip; /* the region's own entry */
  struct pto_access_position *position;
};

static inline void add_hit(struct pto_access_map *map, uint32_t entry, bool is_covered) {
  map->hits[map->hit_count++] = (struct pto_access_hit){entry, is_covered};
}

static PTO_NOINLINE void compare(struct pto_access_map *map, uint32_t index, const struct pto_region *region) {
  struct pto_region other;
  pto_access_map_region(map, index, &other);
  const enum pto_overlap overlap = pto_region_overlap(region, &other, &map->budget_exhausted);
  if (overlap != PTO_DISJOINT) add_hit(map, index, overlap == PTO_EQUAL || overlap == PTO_COVERS);
}

/* A run overlaps every run whose range overlaps its own, and covers what lies in its range. */
static inline void consider(struct pto_access_map *map, uint32_t index, const struct query *query) {
  const struct pto_region *region = query->region;
  const struct pto_access_entry *entry = &map->entries[index];
  const uint64_t end = map->cold[index].end;
  if (index == query->skip || entry->start >= region->end || region->start >= end) return;
  map->candidates++;
  if (PTO_LIKELY((region->ndims | region->is_fuzzy | entry->kind) == 0))
    add_hit(map, index, region->start <= entry->start && end <= region->end);
  else
    compare(map, index, region);
}

static PTO_NOINLINE void search_list(struct pto_access_map *map, const struct pto_access_class *class,
                                     const struct query *query) {
  for (uint32_t i = class->first_entry; i; i = map->cold[i].next_in_class) consider(map, i, query);
}

/* Entries of the class in one cell; of several cells (stamp other than 0), each entry once. */
static inline void search_cell(struct pto_access_map *map, uint32_t class_index, uint32_t head,
                               const struct query *query, uint32_t stamp) {
  for (uint32_t i = map->cells[head]; i; i = *next_of(map, i)) {
    const uint32_t index = entry_of(map, i);
    struct pto_access_entry_cold *cold = &map->cold[index];
    if (cold->class_index != class_index || (stamp && cold->visit == stamp)) continue;
    if (stamp) cold->visit = stamp;
    consider(map, index, query);
  }
}

static uint32_t next_stamp(struct pto_access_map *map) {
  if (++map->visit == 0) { /* stamps of 2^32 walks ago must not look like this one's */
    for (uint32_t i = 1; i <= map->entries_used; i++) map->cold[i].visit = 0;
    map->visit = 1;
  }
  return map->visit;
}

static PTO_NOINLINE void search_cells(struct pto_access_map *map, uint32_t class_index, const struct cell_range *cells,
                                      const struct query *query) {
  const struct pto_access_class *class = &map->classes[class_index];
  /* a step of the list costs less than a cell, and in one row it leads to no further candidates */
  const uint64_t limit = cells->coordinates == 1 ? class->entry_count / 2 : class->entry_count;
  uint64_t count = 1;
  for (int a = 0; a < 3; a++) {
    const uint64_t extent = cells->hi[a] - cells->lo[a] + 1;
    if (extent > limit || count * extent > limit) {
      search_list(map, class, query);
      return;
    }
    count *= extent;
  }
  const uint32_t stamp = next_stamp(map);
  for (uint64_t z = cells->lo[2]; z <= cells->hi[2]; z++)
    for (uint64_t y = cells->lo[1]; y <= cells->hi[1]; y++)
      for (uint64_t x = cells->lo[0]; x <= cells->hi[0]; x++)
        search_cell(map, class_index, head_of(map, class, x, y, z), query, stamp);
}

/* The first class that fits is where the region belongs. */
static inline void search_class(struct pto_access_map *map, uint32_t class_index, uint32_t coordinates,
                                const struct query *query) {
  const struct pto_access_class *class = &map->classes[class_index];
  struct pto_access_position *position = query->position;
  const bool is_own = !position->class_index && fits_class(class, &position->box, coordinates);
  if (is_own) position->class_index = class_index;
  struct cell_range cells;
  cells_of(class, &position->box, coordinates, &cells);
  if (PTO_UNLIKELY(!cells.is_single)) {
    search_cells(map, class_index, &cells, query);
    return;
  }
  const uint32_t head = head_of(map, class, cells.lo[0], cells.lo[1], cells.lo[2]);
  if (is_own) {
    position->cell = head;
    position->has_cell = true;
  }
  search_cell(map, class_index, head, query, 0);
}

static inline void search_classes(struct pto_access_map *map, const struct pto_access_space *space,
                                  uint32_t coordinates, const struct query *query) {
  box_of(space, query->region, &query->position->box);
  for (uint32_t c = space->first_class; c; c = map->classes[c].next_in_space) search_class(map, c, coordinates, query);
}

/* With something fuzzy: ranges may meet where boxes do not. */
static PTO_NOINLINE void search_all(struct pto_access_map *map, const struct pto_access_space *space,
                                    const struct query *query) {
  for (uint32_t c = space->first_class; c; c = map->classes[c].next_in_space) search_list(map, &map->classes[c], query);
}

static PTO_NOINLINE void search_rows(struct pto_access_map *map, const struct pto_access_space *space,
                                     const struct query *query) {
  search_classes(map, space, space->coordinates, query);
}

void pto_access_map_search(struct pto_access_map *map, uint32_t space_index, const struct pto_region *region,
                           uint32_t skip, struct pto_access_position *position) {
  const struct pto_access_space *space = &map->spaces[space_index];
  struct pto_access_position none;
  const struct query query = {region, skip, position ? position : &none};
  query.position->has_cell = false;
  query.position->class_index = 0;
  if (PTO_UNLIKELY(!space->first_class || region->is_fuzzy || space->fuzzy_count))
    search_all(map, space, &query);
  else if (PTO_LIKELY(space->coordinates == 1))
    search_classes(map, space, 1, &query); /* the compiler's own copy, without the loops over coordinates */
  else
    search_rows(map, space, &query);
}
