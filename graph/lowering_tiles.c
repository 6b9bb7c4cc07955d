/* SPDX-License-Identifier: MIT */
#include <graph/lowering_tiles.h>

void pto_tiles_make_one(struct pto_tiles *tiles, uint32_t ndims, const uint64_t *shape) {
  *tiles = (struct pto_tiles){.ndims = ndims, .count = 1};
  for (uint32_t d = 0; d < ndims; d++) {
    tiles->shape[d] = tiles->step[d] = shape[d];
    tiles->counts[d] = 1;
  }
}

void pto_tiles_make(struct pto_tiles *tiles, uint32_t ndims, const uint64_t *shape, uint32_t whole, uint64_t weight) {
  pto_tiles_make_one(tiles, ndims, shape);
  uint64_t work = weight;
  for (uint32_t d = 0; d < ndims; d++) work *= shape[d];
  uint64_t wanted = pto_min_u64(work / PTO_TILE_ELEMS, PTO_TILE_MOST);
  for (uint32_t d = 0; d < ndims && wanted > 1; d++) {
    if ((whole >> d & 1) != 0 || shape[d] == 1) continue;
    const uint64_t parts = pto_min_u64(wanted, shape[d]);
    tiles->step[d] = (shape[d] + parts - 1) / parts;
    tiles->counts[d] = (shape[d] + tiles->step[d] - 1) / tiles->step[d];
    tiles->count *= tiles->counts[d];
    wanted /= tiles->counts[d];
  }
}

uint64_t pto_tiles_offset(const struct pto_tiles *tiles, uint64_t index, uint32_t d) {
  for (uint32_t inner = tiles->ndims - 1; inner > d; inner--) index /= tiles->counts[inner];
  return index % tiles->counts[d] * tiles->step[d];
}

struct pto_tensor pto_tiles_view(const struct pto_tiles *tiles, uint64_t index, const struct pto_tensor *t) {
  uint64_t offsets[PTO_MAX_DIMS] = {0}, shape[PTO_MAX_DIMS] = {0};
  if (tiles->count == 1) return *t;
  for (uint32_t d = 0; d < tiles->ndims; d++) {
    const bool is_cut = tiles->counts[d] > 1 && t->shape[d] == tiles->shape[d];
    offsets[d] = is_cut ? pto_tiles_offset(tiles, index, d) : 0;
    shape[d] = is_cut ? pto_min_u64(tiles->step[d], tiles->shape[d] - offsets[d]) : t->shape[d];
  }
  return pto_tensor_view(t, offsets, shape);
}
