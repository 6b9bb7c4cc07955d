/* SPDX-License-Identifier: MIT */
/* The region of an entry: the first dimensions in its two lines, more in a table beside. */
#include <runtime/deps/access_map.h>

void pto_access_map_region(const struct pto_access_map *map, uint32_t index, struct pto_region *region) {
  const struct pto_access_entry *entry = &map->entries[index];
  const struct pto_access_entry_cold *cold = &map->cold[index];
  region->start = entry->start;
  region->end = cold->end;
  region->run_bytes = entry->run_bytes;
  region->ndims = pto_access_entry_ndims(entry);
  region->is_fuzzy = pto_access_entry_is_fuzzy(entry);
  if (region->ndims == 0) return;
  region->extents[0] = entry->extent;
  region->strides[0] = entry->stride;
  if (region->ndims == 1) return;
  if (region->ndims <= PTO_ENTRY_DIMS) {
    region->extents[1] = cold->extent;
    region->strides[1] = cold->stride;
    return;
  }
  const struct pto_region_dims *wide = &map->wide[cold->wide];
  for (uint32_t i = 1; i < region->ndims; i++) {
    region->extents[i] = wide->extents[i];
    region->strides[i] = wide->strides[i];
  }
}

bool pto_access_entry_has_further_dims(const struct pto_access_map *map, const struct pto_access_entry *entry,
                                       const struct pto_region *region) {
  const struct pto_access_entry_cold *cold = &map->cold[entry - map->entries];
  if (region->ndims <= PTO_ENTRY_DIMS) return cold->extent == region->extents[1] && cold->stride == region->strides[1];
  const struct pto_region_dims *wide = &map->wide[cold->wide];
  for (uint32_t i = 1; i < region->ndims; i++)
    if (wide->extents[i] != region->extents[i] || wide->strides[i] != region->strides[i]) return false;
  return true;
}

/* The dimensions of a region with more than PTO_ENTRY_DIMS. */
static PTO_NOINLINE void set_wide(struct pto_access_map *map, struct pto_access_entry_cold *cold,
                                  const struct pto_region *region) {
  if (map->wide_free) {
    cold->wide = map->wide_free;
    map->wide_free = (uint32_t)map->wide[cold->wide].extents[0];
  } else {
    cold->wide = ++map->wide_used;
  }
  struct pto_region_dims *wide = &map->wide[cold->wide];
  for (uint32_t i = 0; i < region->ndims; i++) {
    wide->extents[i] = region->extents[i];
    wide->strides[i] = region->strides[i];
  }
}

void pto_access_entry_set_region(struct pto_access_map *map, uint32_t index, const struct pto_region *region) {
  struct pto_access_entry *entry = &map->entries[index];
  struct pto_access_entry_cold *cold = &map->cold[index];
  entry->start = region->start;
  entry->run_bytes = region->run_bytes;
  entry->kind = pto_access_kind(region);
  cold->end = region->end;
  if (PTO_LIKELY(region->ndims == 0)) return;
  entry->extent = region->extents[0];
  entry->stride = region->strides[0];
  if (PTO_LIKELY(region->ndims == 1)) return;
  if (PTO_UNLIKELY(region->ndims > PTO_ENTRY_DIMS)) {
    set_wide(map, cold, region);
  } else {
    cold->extent = region->extents[1];
    cold->stride = region->strides[1];
  }
}
