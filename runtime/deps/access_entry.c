/* SPDX-License-Identifier: MIT */
/* The region of an entry: the outermost dimension in its first line, several in a table beside. */
#include <runtime/deps/access_map.h>

#include <string.h>

void pto_access_map_region(const struct pto_access_map *map, uint32_t index, struct pto_region *region) {
  const struct pto_access_entry *entry = &map->entries[index];
  const struct pto_access_entry_dims *dims = &map->dims[index];
  region->start = entry->start;
  region->end = map->cold[index].end;
  region->run_bytes = entry->run_bytes;
  region->ndims = pto_access_entry_ndims(entry);
  region->is_fuzzy = pto_access_entry_is_fuzzy(entry);
  region->extents[0] = entry->extent;
  region->strides[0] = entry->stride;
  if (PTO_LIKELY(region->ndims <= 1)) return;
  memcpy(region->extents, dims->extents, sizeof dims->extents);
  memcpy(region->strides, dims->strides, sizeof dims->strides);
}

bool pto_access_entry_has_further_dims(const struct pto_access_map *map, const struct pto_access_entry *entry,
                                       const struct pto_region *region) {
  const struct pto_access_entry_dims *dims = &map->dims[entry - map->entries];
  const size_t bytes = region->ndims * sizeof dims->extents[0];
  return memcmp(dims->extents, region->extents, bytes) == 0 && memcmp(dims->strides, region->strides, bytes) == 0;
}

void pto_access_entry_set_region(struct pto_access_map *map, uint32_t index, const struct pto_region *region) {
  struct pto_access_entry *entry = &map->entries[index];
  entry->start = region->start;
  entry->run_bytes = region->run_bytes;
  entry->kind = pto_access_kind(region);
  map->cold[index].end = region->end;
  if (PTO_LIKELY(region->ndims == 0)) return;
  entry->extent = region->extents[0];
  entry->stride = region->strides[0];
  if (PTO_LIKELY(region->ndims == 1)) return;
  memcpy(map->dims[index].extents, region->extents, sizeof region->extents);
  memcpy(map->dims[index].strides, region->strides, sizeof region->strides);
}
