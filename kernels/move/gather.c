/* SPDX-License-Identifier: MIT */
/*
 * gather, gather_elements, gather_nd (AIV): elements of `data` chosen by `indices`, bit for bit, for every dtype.
 *
 *   gather           y[o…, p…, i…] = data[o…, indices[p…], i…]; the index is of dimension `axis`, o are the dimensions
 *                    before it, i those behind it
 *   gather_elements  y[p…] = data[p… with indices[p…] in place of p_axis]; other extents are equal
 *   gather_nd        y[p…, i…] = data[indices[p…, 0], indices[p…, 1], …, i…]
 *
 * An index out of range is an error before the first byte is written; see kernels/move/index.h.  Any thread.
 */
#include <kernels/move/index.h>
#include <kernels/api/list.h>
#include <kernels/api/shape.h>

#include <inttypes.h>
#include <stdio.h>

enum { DATA, INDICES, Y };

/* Each element of y is read once; of a smaller `data`, no more than there is. */
static struct pto_cost gather_cost_of(const struct pto_kernel_args *args, bool is_tuples) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint64_t numel = pto_kernel_numel(&t[Y]), out = pto_kernel_bytes(&t[Y]);
  return (struct pto_cost){.bytes_in = pto_min_u64(out, pto_kernel_bytes(&t[DATA])) + pto_kernel_bytes(&t[INDICES]),
                           .bytes_out = out,
                           .vector_elems = numel + pto_kernel_numel(&t[INDICES]),
                           .local_bytes = pto_index_local_bytes(&t[INDICES], is_tuples),
                           .dtype = t[Y].dtype};
}
static struct pto_cost gather_cost(const struct pto_kernel_args *args) { return gather_cost_of(args, false); }
static struct pto_cost gather_nd_cost(const struct pto_kernel_args *args) { return gather_cost_of(args, true); }

/* ---- checks ---- */

static int gather_check(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint64_t axis = args->scalars[0].u64;
  const uint32_t inserted = t[INDICES].ndims;
  int status = pto_check_same_dtype(args, "gather", DATA, Y);
  if (status == 0) status = pto_check_axis(args, "gather", DATA);
  if (status == 0) status = pto_check_rank(args, "gather", Y, t[DATA].ndims + inserted - 1);
  for (uint32_t d = 0; status == 0 && d < t[Y].ndims; d++) {
    struct pto_kernel_size from = {DATA, 0};
    if (d < axis)
      from.size = t[DATA].shape[d];
    else if (d < axis + inserted)
      from = (struct pto_kernel_size){INDICES, t[INDICES].shape[d - axis]};
    else
      from.size = t[DATA].shape[d + 1 - inserted];
    char what[64];
    snprintf(what, sizeof what, "extents for dimension %" PRIu32 ":", d);
    status = pto_check_same_size(args, "gather", what, from, (struct pto_kernel_size){Y, t[Y].shape[d]});
  }
  return status;
}

static int gather_elements_check(const struct pto_kernel_args *args) {
  return pto_index_check_axis(args, "gather_elements", (struct pto_index_roles){DATA, INDICES, Y});
}

static int gather_nd_check(const struct pto_kernel_args *args) {
  return pto_index_check_tuples(args, "gather_nd", (struct pto_index_roles){DATA, INDICES, Y});
}

/* ---- runs ---- */

struct gathering {
  struct pto_move box; /* what one index brings */
  uint32_t outer;      /* dimensions before the axis: each piece of indices serves all of them */
  struct pto_index_pair *pairs;
};

static void gathering_init(struct gathering *g, const struct pto_kernel_args *args, uint64_t positions) {
  const struct pto_kernel_tensor *y = &args->tensors[Y];
  struct pto_local local = pto_local_begin(&args->core->local);
  g->outer = 0;
  g->pairs = pto_local_take(&local, pto_index_pair_bytes(positions));
  pto_move_init(&g->box, y->dtype);
}

/* One piece of indices, for every index of the dimensions before the axis, which are the first of data and of y. */
static void gather_piece(const struct gathering *g, const struct pto_kernel_args *args, uint64_t count) {
  const struct pto_kernel_tensor *data = &args->tensors[DATA], *y = &args->tensors[Y];
  const int64_t bits = (int64_t)g->box.bits;
  uint64_t at[PTO_MAX_DIMS] = {0};
  uint32_t d;
  do {
    int64_t from = 0, to = 0;
    for (d = 0; d < g->outer; d++) {
      from += (int64_t)(at[d] * data->strides[d]);
      to += (int64_t)(at[d] * y->strides[d]);
    }
    if (bits >= 8) {
      const struct pto_index_sides sides = {(char *)data->addr + from * bits / 8, (char *)y->addr + to * bits / 8,
                                            false};
      pto_index_move(&g->box, &sides, g->pairs, count);
    } else {
      for (uint64_t i = 0; i < count; i++)
        pto_move_run(&g->box, (struct pto_place){y->addr, to + g->pairs[i].dense},
                     (struct pto_place){data->addr, from + g->pairs[i].indexed});
    }
    for (d = g->outer; d-- > 0;) {
      if (++at[d] < y->shape[d]) break;
      at[d] = 0;
    }
  } while (d != UINT32_MAX);
}

static int gather_all(struct gathering *g, const struct pto_kernel_args *args, const char *kernel,
                      struct pto_index_walk *walk) {
  const int status = pto_index_check(args, kernel, walk, INDICES);
  if (status != 0) return status;
  if (pto_kernel_numel(&args->tensors[Y]) == 0) return 0;
  pto_move_plan(&g->box);
  for (uint64_t count; (count = pto_index_pairs(walk, g->pairs)) > 0;) gather_piece(g, args, count);
  return 0;
}

static int gather_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *data = &args->tensors[DATA], *indices = &args->tensors[INDICES];
  const struct pto_kernel_tensor *y = &args->tensors[Y];
  const uint32_t axis = (uint32_t)args->scalars[0].u64;
  struct pto_index_walk walk;
  struct gathering g;
  pto_index_walk_axis(&walk, indices, data, axis);
  for (uint32_t d = 0; d < indices->ndims; d++) walk.dense_steps[d] = (int64_t)y->strides[axis + d];
  gathering_init(&g, args, walk.positions);
  g.outer = axis;
  for (uint32_t d = axis + 1; d < data->ndims; d++)
    pto_move_dim(&g.box, data->shape[d], (int64_t)y->strides[d - 1 + indices->ndims], (int64_t)data->strides[d]);
  return gather_all(&g, args, "gather", &walk);
}

static int gather_elements_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *data = &args->tensors[DATA], *indices = &args->tensors[INDICES];
  const struct pto_kernel_tensor *y = &args->tensors[Y];
  const uint32_t axis = (uint32_t)args->scalars[0].u64;
  struct pto_index_walk walk;
  struct gathering g;
  pto_index_walk_axis(&walk, indices, data, axis);
  for (uint32_t d = 0; d < indices->ndims; d++) {
    walk.indexed_steps[d] = d == axis ? 0 : (int64_t)data->strides[d];
    walk.dense_steps[d] = (int64_t)y->strides[d];
  }
  gathering_init(&g, args, walk.positions);
  return gather_all(&g, args, "gather_elements", &walk);
}

static int gather_nd_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *data = &args->tensors[DATA], *indices = &args->tensors[INDICES];
  const struct pto_kernel_tensor *y = &args->tensors[Y];
  struct pto_index_walk walk;
  struct gathering g;
  pto_index_walk_tuples(&walk, indices, data);
  for (uint32_t d = 0; d < walk.ndims; d++) walk.dense_steps[d] = (int64_t)y->strides[d];
  gathering_init(&g, args, walk.positions);
  for (uint32_t d = walk.coordinate_count; d < data->ndims; d++)
    pto_move_dim(&g.box, data->shape[d], (int64_t)y->strides[walk.ndims + d - walk.coordinate_count],
                 (int64_t)data->strides[d]);
  return gather_all(&g, args, "gather_nd", &walk);
}

/* ---- the kernels ---- */

#define TENSORS(indices_rank)                                                                                          \
  {.name = "data", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_ALL},                                                       \
      {.name = "indices", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_INDEX, .min_rank = indices_rank}, {                  \
    .name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_ALL                                                          \
  }
static const struct pto_kernel_param axis_params[] = {TENSORS(0),
                                                      {.name = "axis", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64}};
static const struct pto_kernel_param nd_params[] = {TENSORS(1)};

PTO_GENERAL_KERNEL(gather, axis_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = gather_run,
                   .cost = gather_cost, .check = gather_check);
PTO_GENERAL_KERNEL(gather_elements, axis_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = gather_elements_run, .cost = gather_cost, .check = gather_elements_check);
PTO_GENERAL_KERNEL(gather_nd, nd_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = gather_nd_run,
                   .cost = gather_nd_cost, .check = gather_nd_check);
