/* SPDX-License-Identifier: MIT */
#include <kernels/move/index.h>

#include <kernels/api/shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define POSITION_TEXT 192

/* ---- walks ---- */

void pto_index_walk_axis(struct pto_index_walk *walk, const struct pto_kernel_tensor *indices,
                         const struct pto_kernel_tensor *indexed, uint32_t axis) {
  *walk = (struct pto_index_walk){.indices = indices,
                                  .ndims = indices->ndims,
                                  .coordinate_count = 1,
                                  .coordinate_extents = {indexed->shape[axis]},
                                  .coordinate_strides = {(int64_t)indexed->strides[axis]},
                                  .positions = pto_kernel_numel(indices)};
}

void pto_index_walk_tuples(struct pto_index_walk *walk, const struct pto_kernel_tensor *indices,
                           const struct pto_kernel_tensor *indexed) {
  const uint32_t last = indices->ndims - 1;
  *walk = (struct pto_index_walk){.indices = indices,
                                  .ndims = last,
                                  .coordinate_count = (uint32_t)indices->shape[last],
                                  .coordinate_step = (int64_t)indices->strides[last],
                                  .positions = 1};
  for (uint32_t d = 0; d < last; d++) walk->positions *= indices->shape[d];
  for (uint32_t k = 0; k < walk->coordinate_count; k++) {
    walk->coordinate_extents[k] = indexed->shape[k];
    walk->coordinate_strides[k] = (int64_t)indexed->strides[k];
  }
}

/* ---- shapes ---- */

int pto_index_check_axis(const struct pto_kernel_args *args, const char *kernel, struct pto_index_roles roles) {
  const struct pto_kernel_tensor *indexed = &args->tensors[roles.indexed], *indices = &args->tensors[roles.indices];
  int status = pto_check_same_dtype(args, kernel, roles.indexed, roles.dense);
  if (status == 0) status = pto_check_axis(args, kernel, roles.indexed);
  if (status == 0) status = pto_check_rank(args, kernel, roles.indices, indexed->ndims);
  for (uint32_t d = 0; status == 0 && d < indexed->ndims; d++)
    if (d != args->scalars[0].u64) {
      char what[64];
      snprintf(what, sizeof what, "extents of dimension %" PRIu32, d);
      status = pto_check_same_size(args, kernel, what, (struct pto_kernel_size){roles.indexed, indexed->shape[d]},
                                   (struct pto_kernel_size){roles.indices, indices->shape[d]});
    }
  return status != 0 ? status : pto_check_same_shape(args, kernel, roles.indices, roles.dense);
}

int pto_index_check_tuples(const struct pto_kernel_args *args, const char *kernel, struct pto_index_roles roles) {
  const struct pto_kernel_tensor *indexed = &args->tensors[roles.indexed], *indices = &args->tensors[roles.indices];
  const struct pto_kernel_tensor *dense = &args->tensors[roles.dense];
  const uint32_t outer = indices->ndims - 1;
  const uint64_t count = indices->shape[outer];
  int status = pto_check_same_dtype(args, kernel, roles.indexed, roles.dense);
  if (status == 0 && count > indexed->ndims)
    return pto_kernel_error(args,
                            "%s: %" PRIu64 " coordinates in rank %" PRIu32 " (params %" PRIu32 " and %" PRIu32 ")",
                            kernel, count, indexed->ndims, roles.indices, roles.indexed);
  if (status == 0) status = pto_check_rank(args, kernel, roles.dense, outer + indexed->ndims - (uint32_t)count);
  for (uint32_t d = 0; status == 0 && d < dense->ndims; d++) {
    const struct pto_kernel_size from =
        d < outer ? (struct pto_kernel_size){roles.indices, indices->shape[d]}
                  : (struct pto_kernel_size){roles.indexed, indexed->shape[d - outer + count]};
    char what[64];
    snprintf(what, sizeof what, "extents for dimension %" PRIu32 ":", d);
    status = pto_check_same_size(args, kernel, what, from, (struct pto_kernel_size){roles.dense, dense->shape[d]});
  }
  return status;
}

/* ---- the walk ---- */

/* An index as it is, without a limit: the extent is added to a negative one, and what is out of range is ≥ extent then,
 * as an unsigned number. */
static inline uint64_t index_at(const char *addr, uint32_t dtype, uint64_t extent) {
  int64_t index;
  if (dtype == PTO_INT32) {
    int32_t value;
    memcpy(&value, addr, sizeof value);
    index = value;
  } else if (dtype == PTO_UINT32) {
    uint32_t value;
    memcpy(&value, addr, sizeof value);
    index = value;
  } else {
    memcpy(&index, addr, sizeof index);
  }
  return index < 0 ? (uint64_t)index + extent : (uint64_t)index;
}

struct run {
  const char *indices;
  int64_t indexed, dense;
  uint64_t count;
  int64_t indices_step, indexed_step, dense_step; /* indices in bytes */
};

/* The rest of the innermost dimension from the walk's place on, at most `most`. */
static struct run run_here(const struct pto_index_walk *walk, uint64_t most) {
  const struct pto_kernel_tensor *t = walk->indices;
  const uint64_t size = pto_dtype_size(t->dtype); /* unsigned: where there is one element, a stride may be anything */
  const bool has_indices = walk->coordinate_count > 0; /* and where there is none */
  struct run run = {.indices = t->addr, .count = 1};
  for (uint32_t d = 0; d < walk->ndims; d++) {
    const int64_t at = (int64_t)walk->at[d];
    run.indices += walk->at[d] * (has_indices ? t->strides[d] * size : 0);
    run.indexed += at * walk->indexed_steps[d];
    run.dense += at * walk->dense_steps[d];
  }
  if (walk->ndims == 0) return run;
  const uint32_t last = walk->ndims - 1;
  run.count = pto_min_u64(t->shape[last] - walk->at[last], most);
  run.indices_step = has_indices ? (int64_t)(t->strides[last] * size) : 0;
  run.indexed_step = walk->indexed_steps[last];
  run.dense_step = walk->dense_steps[last];
  return run;
}

static void advance(struct pto_index_walk *walk, uint64_t count) {
  walk->done += count;
  for (uint32_t d = walk->ndims; d-- > 0;) {
    walk->at[d] += count;
    if (walk->at[d] < walk->indices->shape[d]) return;
    walk->at[d] = 0;
    count = 1;
  }
}

/* From one coordinate of a position to the next, in bytes. */
static int64_t next_coordinate(const struct pto_index_walk *walk) {
  return (int64_t)((uint64_t)walk->coordinate_step * pto_dtype_size(walk->indices->dtype));
}

static void pairs_of(const struct pto_index_walk *walk, const struct run *r, struct pto_index_pair *pairs) {
  const uint32_t dtype = walk->indices->dtype;
  const int64_t next = next_coordinate(walk);
  for (uint64_t j = 0; j < r->count; j++) {
    const char *addr = r->indices + (int64_t)j * r->indices_step;
    int64_t indexed = r->indexed + (int64_t)j * r->indexed_step;
    for (uint32_t k = 0; k < walk->coordinate_count; k++)
      indexed += (int64_t)index_at(addr + k * next, dtype, walk->coordinate_extents[k]) * walk->coordinate_strides[k];
    pairs[j] = (struct pto_index_pair){indexed, r->dense + (int64_t)j * r->dense_step};
  }
}

uint64_t pto_index_pairs(struct pto_index_walk *walk, struct pto_index_pair *pairs) {
  uint64_t count = 0;
  while (count < PTO_INDEX_PIECE && walk->done < walk->positions) {
    const struct run run = run_here(walk, PTO_INDEX_PIECE - count);
    pairs_of(walk, &run, pairs + count);
    count += run.count;
    advance(walk, run.count);
  }
  return count;
}

/* ---- the check ---- */

/* How many of a run are in range before the first that is not. */
static uint64_t valid_of(const struct pto_index_walk *walk, const struct run *run) {
  const uint32_t dtype = walk->indices->dtype;
  const int64_t next = next_coordinate(walk);
  for (uint64_t j = 0; j < run->count; j++)
    for (uint32_t k = 0; k < walk->coordinate_count; k++) {
      const uint64_t extent = walk->coordinate_extents[k];
      if (index_at(run->indices + (int64_t)j * run->indices_step + k * next, dtype, extent) >= extent) return j;
    }
  return run->count;
}

static PTO_COLD int refuse(const struct pto_kernel_args *args, const char *kernel, const struct pto_index_walk *walk,
                           uint32_t param) {
  const uint32_t dtype = walk->indices->dtype;
  const int64_t next = next_coordinate(walk);
  const char *addr = run_here(walk, 1).indices;
  uint32_t k = 0;
  while (index_at(addr + k * next, dtype, walk->coordinate_extents[k]) < walk->coordinate_extents[k]) k++;
  char position[POSITION_TEXT];
  size_t used = (size_t)snprintf(position, sizeof position, "[");
  for (uint32_t d = 0; d < walk->ndims; d++)
    used += (size_t)snprintf(position + used, sizeof position - used, d == 0 ? "%" PRIu64 : ",%" PRIu64, walk->at[d]);
  if (walk->ndims < walk->indices->ndims)
    used += (size_t)snprintf(position + used, sizeof position - used, walk->ndims == 0 ? "%" PRIu32 : ",%" PRIu32, k);
  snprintf(position + used, sizeof position - used, "]");
  const int64_t index = (int64_t)index_at(addr + k * next, dtype, 0), extent = (int64_t)walk->coordinate_extents[k];
  if (extent == 0)
    return pto_kernel_error(args, "%s: index %" PRId64 " at %s, of a dimension without elements (param %" PRIu32 ")",
                            kernel, index, position, param);
  return pto_kernel_error(args, "%s: index %" PRId64 " at %s is not in %" PRId64 " … %" PRId64 " (param %" PRIu32 ")",
                          kernel, index, position, dtype == PTO_UINT32 ? 0 : -extent, extent - 1, param);
}

int pto_index_check(const struct pto_kernel_args *args, const char *kernel, const struct pto_index_walk *walk,
                    uint32_t param) {
  struct pto_index_walk here = *walk;
  if (here.coordinate_count == 0) return 0; /* and so no index, however many positions */
  while (here.done < here.positions) {
    const struct run run = run_here(&here, UINT64_MAX);
    const uint64_t valid = valid_of(&here, &run);
    if (valid < run.count) {
      if (here.ndims > 0) here.at[here.ndims - 1] += valid;
      return refuse(args, kernel, &here, param);
    }
    advance(&here, run.count);
  }
  return 0;
}

/* ---- moving ---- */

static inline __attribute__((always_inline)) void move_elems(const struct pto_index_sides *sides,
                                                             const struct pto_index_pair *pairs, uint64_t count,
                                                             int64_t unit, size_t size) {
  char *indexed = sides->indexed, *dense = sides->dense;
  if (sides->is_scatter) {
    for (uint64_t i = 0; i < count; i++) memcpy(indexed + pairs[i].indexed * unit, dense + pairs[i].dense * unit, size);
  } else {
    for (uint64_t i = 0; i < count; i++) memcpy(dense + pairs[i].dense * unit, indexed + pairs[i].indexed * unit, size);
  }
}

void pto_index_move(const struct pto_move *move, const struct pto_index_sides *sides,
                    const struct pto_index_pair *pairs, uint64_t count) {
  const int64_t unit = (int64_t)(move->bits / 8);
  const uint64_t bytes = pto_move_run_bytes(move);
  switch (bytes) {
  case 1:
    move_elems(sides, pairs, count, unit, 1);
    return;
  case 2:
    move_elems(sides, pairs, count, unit, 2);
    return;
  case 4:
    move_elems(sides, pairs, count, unit, 4);
    return;
  case 8:
    move_elems(sides, pairs, count, unit, 8);
    return;
  case 0:
    break;
  default:
    move_elems(sides, pairs, count, unit, bytes);
    return;
  }
  for (uint64_t i = 0; i < count; i++) {
    const struct pto_place indexed = {sides->indexed, pairs[i].indexed}, dense = {sides->dense, pairs[i].dense};
    pto_move_run(move, sides->is_scatter ? indexed : dense, sides->is_scatter ? dense : indexed);
  }
}
