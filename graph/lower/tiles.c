/* SPDX-License-Identifier: MIT */
#include <graph/lower/tiles.h>

void pto_tiles_make_one(struct pto_tiles *tiles, uint32_t ndims, const uint64_t *shape) {
  *tiles = (struct pto_tiles){.ndims = ndims, .count = 1};
  for (uint32_t d = 0; d < ndims; d++) {
    tiles->shape[d] = tiles->step[d] = shape[d];
    tiles->counts[d] = 1;
  }
}

/* In boxes of `step`. */
static void cut(struct pto_tiles *tiles, uint32_t d, uint64_t step) {
  tiles->step[d] = step;
  tiles->counts[d] = (tiles->shape[d] + step - 1) / step;
  tiles->count *= tiles->counts[d];
}

void pto_tiles_cut(struct pto_tiles *tiles, uint32_t d, uint64_t most) {
  const uint64_t parts = (tiles->shape[d] + most - 1) / most;
  cut(tiles, d, (tiles->shape[d] + parts - 1) / parts);
}

void pto_tiles_make(struct pto_tiles *tiles, uint32_t ndims, const uint64_t *shape, uint32_t whole, uint64_t weight) {
  pto_tiles_make_one(tiles, ndims, shape);
  uint64_t work = weight;
  for (uint32_t d = 0; d < ndims; d++) work *= shape[d];
  uint64_t wanted = pto_min_u64(work / PTO_TILE_ELEMS, PTO_TILE_MOST);
  for (uint32_t d = 0; d < ndims && wanted > 1; d++) {
    if ((whole >> d & 1) != 0 || shape[d] == 1) continue;
    const uint64_t parts = pto_min_u64(wanted, shape[d]);
    cut(tiles, d, (shape[d] + parts - 1) / parts);
    wanted /= tiles->counts[d];
  }
}

uint64_t pto_tiles_offset(const struct pto_tiles *tiles, uint64_t index, uint32_t d) {
  for (uint32_t inner = tiles->ndims - 1; inner > d; inner--) index /= tiles->counts[inner];
  return index % tiles->counts[d] * tiles->step[d];
}

struct pto_tensor pto_tiles_part(const struct pto_tiles *tiles, uint64_t index, const struct pto_tensor *t,
                                 uint32_t whole) {
  uint64_t offsets[PTO_MAX_DIMS] = {0}, shape[PTO_MAX_DIMS] = {0};
  if (tiles->count == 1) return *t;
  for (uint32_t d = 0; d < tiles->ndims; d++) {
    const bool is_cut = (whole >> d & 1) == 0 && tiles->counts[d] > 1 && t->shape[d] == tiles->shape[d];
    offsets[d] = is_cut ? pto_tiles_offset(tiles, index, d) : 0;
    shape[d] = is_cut ? pto_min_u64(tiles->step[d], tiles->shape[d] - offsets[d]) : t->shape[d];
  }
  return pto_tensor_view(t, offsets, shape);
}

struct pto_tensor pto_tiles_view(const struct pto_tiles *tiles, uint64_t index, const struct pto_tensor *t) {
  return pto_tiles_part(tiles, index, t, 0);
}

/* ---- products ---- */

void pto_tiles_make_product(struct pto_tiles *tiles, uint32_t ndims, const uint64_t *shape, uint64_t depth) {
  const uint32_t row = ndims - 2, column = ndims - 1;
  pto_tiles_make_one(tiles, ndims, shape);
  cut(tiles, row, pto_min_u64(PTO_TILE_ROWS, shape[row]));
  cut(tiles, column, pto_min_u64(PTO_TILE_COLUMNS, shape[column]));
  uint64_t left = tiles->count > 1 ? 1 : PTO_TILE_WORK / pto_max_u64(1, shape[row] * shape[column] * depth);
  for (uint32_t d = row; d-- > 0; left = tiles->counts[d] > 1 ? 1 : left / shape[d])
    pto_tiles_cut(tiles, d, pto_max_u64(1, left));
}

struct pto_tensor pto_tiles_in_rank(const struct pto_tensor *t, uint32_t ndims) {
  uint64_t shape[PTO_MAX_DIMS] = {0};
  const uint32_t missing = ndims - t->ndims;
  for (uint32_t d = 0; d < ndims; d++) shape[d] = d < missing ? 1 : t->shape[d - missing];
  return pto_tensor_broadcast(t, ndims, shape);
}
