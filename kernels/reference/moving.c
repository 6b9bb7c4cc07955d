/* SPDX-License-Identifier: MIT */
/*
 * The references of kernels that move elements and compute nothing, each result being one element of an input, found by
 * its index; and of scatter_add, which finds its places as they do.  Constants; any thread.
 */
#include <kernels/reference/support.h>

/* The result is all of x. */
static void take_all(const struct pto_golden *golden, const struct pto_kernel_tensor *x) {
  for (uint64_t i = 0; i < pto_reference_numel(x); i++) pto_reference_take(golden, i, x, i);
}

static struct pto_reference_shape shape_of(const struct pto_reference_sizes *sizes) {
  struct pto_reference_shape shape = {.ndims = sizes->rank};
  for (uint32_t d = 0; d < sizes->rank; d++) shape.shape[d] = sizes->extents[d];
  return shape;
}

#define REFERENCE(name, shapes_, golden_, fill_, flags_)                                                               \
  PTO_REFERENCE(name, .shapes = shapes_, .golden = golden_, .ulps = 0, .values = PTO_VALUES_ANY, .fill = fill_,        \
                .flags = flags_)

/* ---- copy, transpose ---- */

static bool copy_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                        union pto_scalar *scalars) {
  return pto_reference_same_shapes(sizes, tensors, 2);
}
static void copy_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  take_all(&golden[1], &args->tensors[0]);
}
REFERENCE(copy, copy_shapes, copy_golden, NULL, 0);

/* One case in four has the order that 0 stands for. */
static bool transpose_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                             union pto_scalar *scalars) {
  uint64_t draw = sizes->draw / 4;
  uint32_t order[PTO_MAX_DIMS];
  scalars[0].u64 = 0;
  for (uint32_t d = 0; d < sizes->rank; d++) order[d] = sizes->rank - 1 - d;
  if (sizes->draw % 4 != 0) {
    for (uint32_t d = sizes->rank; d > 1; draw /= d, d--) {
      const uint32_t other = (uint32_t)(draw % d), swapped = order[d - 1];
      order[d - 1] = order[other];
      order[other] = swapped;
    }
    for (uint32_t d = 0; d < sizes->rank; d++) scalars[0].u64 = scalars[0].u64 << 4 | order[d];
  }
  tensors[0] = tensors[1] = shape_of(sizes);
  for (uint32_t d = 0; d < sizes->rank; d++) tensors[1].shape[d] = sizes->extents[order[d]];
  return true;
}
static void transpose_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
    const struct place to = pto_reference_place(y, i);
    struct place from = {{0}};
    for (uint32_t d = 0; d < y->ndims; d++) {
      const uint32_t digit = (uint32_t)(args->scalars[0].u64 >> 4 * (y->ndims - 1 - d)) & 15;
      from.at[args->scalars[0].u64 == 0 ? y->ndims - 1 - d : digit] = to.at[d];
    }
    pto_reference_take(&golden[1], i, x, pto_reference_number(x, &from));
  }
}
REFERENCE(transpose, transpose_shapes, transpose_golden, NULL, 0);

/* ---- indices ---- */

/* Tensor `i` with indices that every extent of `count` allows, and half of them, where the dtype has a sign, negative.
 */
static bool fill_indices(const struct pto_kernel_tensor *indices, const uint64_t *extents, uint64_t count,
                         struct pto_rng *rng) {
  uint64_t least = UINT64_MAX;
  for (uint64_t k = 0; k < count; k++) least = extents[k] < least ? extents[k] : least;
  for (uint64_t i = 0; i < pto_reference_numel(indices); i++) {
    const uint64_t index = pto_rng_below(rng, least);
    const bool is_negative = indices->dtype != PTO_UINT32 && pto_rng_below(rng, 2) == 0;
    pto_reference_set_whole(indices, i, is_negative ? ~index : index);
  }
  return true;
}

/* Negative ones count from the end.  A kernel refuses those out of range; graphs clamp them. */
static uint64_t index_of(const struct pto_kernel_tensor *indices, uint64_t number, uint64_t extent) {
  const int64_t n = (int64_t)extent, index = (int64_t)pto_reference_whole(indices, number);
  const int64_t within = index < -n ? -n : index > n - 1 ? n - 1 : index;
  return (uint64_t)(within < 0 ? within + n : within);
}

/* Of gather and of what goes along an axis: tensor 0 is indexed, tensor 1 are the indices, scalar 0 is the axis. */
static bool axis_fill(const struct pto_kernel_args *args, uint32_t i, struct pto_rng *rng) {
  if (i != 1) return false;
  return fill_indices(&args->tensors[1], &args->tensors[0].shape[args->scalars[0].u64], 1, rng);
}
/* The last extent of tensor 1 is the number of coordinates. */
static bool tuples_fill(const struct pto_kernel_args *args, uint32_t i, struct pto_rng *rng) {
  if (i != 1) return false;
  return fill_indices(&args->tensors[1], args->tensors[0].shape, pto_reference_cols(&args->tensors[1]), rng);
}

/* The place in the indexed tensor of position `number` of the indices; for tuples `number` counts these, and the last
 * dimensions are those of `rest`, the place in the tensor that has the shape of the positions. */
static struct place axis_place(const struct pto_kernel_args *args, uint64_t number) {
  const uint64_t axis = args->scalars[0].u64;
  struct place place = pto_reference_place(&args->tensors[1], number);
  place.at[axis] = index_of(&args->tensors[1], number, args->tensors[0].shape[axis]);
  return place;
}
static struct place tuples_place(const struct pto_kernel_args *args, const struct place *rest) {
  const struct pto_kernel_tensor *indexed = &args->tensors[0], *indices = &args->tensors[1];
  const uint64_t count = pto_reference_cols(indices);
  struct place tuple = *rest, place = {{0}};
  for (uint64_t k = 0; k < count; k++) {
    tuple.at[indices->ndims - 1] = k;
    place.at[k] = index_of(indices, pto_reference_number(indices, &tuple), indexed->shape[k]);
  }
  for (uint64_t d = count; d < indexed->ndims; d++) place.at[d] = rest->at[indices->ndims - 1 + d - count];
  return place;
}

/* Shapes of what is indexed, of the indices, and of the dense counterpart. */
static bool axis_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *shapes,
                        union pto_scalar *scalars) {
  if (sizes->rank == 0) return false;
  const uint64_t axis = sizes->draw % sizes->rank;
  scalars[0].u64 = axis;
  shapes[0] = shapes[1] = shape_of(sizes);
  shapes[1].shape[axis] = sizes->extents[axis] == 0 ? 0 : sizes->draw / 8 % (2 * sizes->extents[axis] + 1);
  shapes[2] = shapes[1];
  return true;
}
static bool tuples_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *shapes,
                          union pto_scalar *scalars) {
  const uint32_t count = (uint32_t)(sizes->draw % (sizes->rank + 1));
  const uint32_t outer = (uint32_t)((sizes->draw / 16 + 1) % 3);
  if (outer + sizes->rank - count > PTO_MAX_DIMS) return false;
  shapes[0] = shape_of(sizes);
  shapes[1] = (struct pto_reference_shape){outer + 1, {2 + sizes->draw / 64 % 5, 3}};
  for (uint32_t k = 0; k < count; k++)
    if (sizes->extents[k] == 0 && outer == 0) return false;
  for (uint32_t k = 0; k < count; k++)
    if (sizes->extents[k] == 0) shapes[1].shape[0] = 0;
  shapes[1].shape[outer] = count;
  shapes[2] = shapes[1];
  shapes[2].ndims = outer + sizes->rank - count;
  for (uint32_t d = count; d < sizes->rank; d++) shapes[2].shape[outer + d - count] = sizes->extents[d];
  return true;
}

/* ---- gather ---- */

static bool gather_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                          union pto_scalar *scalars) {
  if (sizes->rank == 0) return false;
  const uint64_t axis = sizes->draw % sizes->rank;
  uint32_t inserted = (uint32_t)((sizes->draw / 8 + 1) % 3);
  if (sizes->rank + inserted - 1 > PTO_MAX_DIMS || (inserted == 0 && sizes->extents[axis] == 0)) inserted = 1;
  scalars[0].u64 = axis;
  tensors[0] = tensors[2] = shape_of(sizes);
  tensors[1] = (struct pto_reference_shape){inserted, {1 + sizes->draw / 32 % 6, 2}};
  if (inserted > 0 && sizes->extents[axis] == 0) tensors[1].shape[0] = 0;
  tensors[2].ndims = sizes->rank + inserted - 1;
  for (uint32_t d = 0; d < inserted; d++) tensors[2].shape[axis + d] = tensors[1].shape[d];
  for (uint64_t d = axis + 1; d < sizes->rank; d++) tensors[2].shape[d + inserted - 1] = sizes->extents[d];
  return true;
}
static void gather_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *data = &args->tensors[0], *indices = &args->tensors[1], *y = &args->tensors[2];
  const uint64_t axis = args->scalars[0].u64;
  for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
    const struct place to = pto_reference_place(y, i);
    struct place from = to, position = {{0}};
    for (uint32_t d = 0; d < indices->ndims; d++) position.at[d] = to.at[axis + d];
    from.at[axis] = index_of(indices, pto_reference_number(indices, &position), data->shape[axis]);
    for (uint64_t d = axis + 1; d < data->ndims; d++) from.at[d] = to.at[d + indices->ndims - 1];
    pto_reference_take(&golden[2], i, data, pto_reference_number(data, &from));
  }
}
REFERENCE(gather, gather_shapes, gather_golden, axis_fill, PTO_REFERENCE_MOVES_LESS);

static void gather_elements_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[2]); i++) {
    const struct place from = axis_place(args, i);
    pto_reference_take(&golden[2], i, &args->tensors[0], pto_reference_number(&args->tensors[0], &from));
  }
}
REFERENCE(gather_elements, axis_shapes, gather_elements_golden, axis_fill, PTO_REFERENCE_MOVES_LESS);

static void gather_nd_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *y = &args->tensors[2];
  for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
    const struct place to = pto_reference_place(y, i), from = tuples_place(args, &to);
    pto_reference_take(&golden[2], i, &args->tensors[0], pto_reference_number(&args->tensors[0], &from));
  }
}
REFERENCE(gather_nd, tuples_shapes, gather_nd_golden, tuples_fill, PTO_REFERENCE_MOVES_LESS);

/* ---- scatter: what is indexed is tensor 0, data or, where there are three tensors, y itself ---- */

static const struct pto_golden *scattered(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_golden *y = &golden[args->tensor_count == 3 ? 0 : 3];
  take_all(y, &args->tensors[0]);
  return y;
}
static void scatter_axis(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_golden *y = scattered(args, golden);
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[2]); i++) {
    const struct place to = axis_place(args, i);
    pto_reference_take(y, pto_reference_number(&args->tensors[0], &to), &args->tensors[2], i);
  }
}
static void scatter_tuples(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_golden *y = scattered(args, golden);
  const struct pto_kernel_tensor *updates = &args->tensors[2];
  for (uint64_t i = 0; i < pto_reference_numel(updates); i++) {
    const struct place rest = pto_reference_place(updates, i), to = tuples_place(args, &rest);
    pto_reference_take(y, pto_reference_number(&args->tensors[0], &to), updates, i);
  }
}

/* Each addition rounds the sum so far to y's dtype; what is exact here is off by as much at most. */
static void scatter_add_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *y = &args->tensors[0], *updates = &args->tensors[2];
  take_all(golden, y);
  for (uint64_t i = 0; i < pto_reference_numel(updates); i++) {
    const struct place to = axis_place(args, i);
    const uint64_t at = pto_reference_number(y, &to);
    if (!pto_reference_is_float(y)) {
      golden->whole[at] += pto_reference_whole(updates, i);
      continue;
    }
    golden->value[at] += pto_reference_element(updates, i);
    golden->slack[at] += pto_reference_ulp(y->dtype, fabs(golden->value[at]) + golden->slack[at]) / 2;
  }
}
PTO_REFERENCE(scatter_add, .shapes = axis_shapes, .golden = scatter_add_golden, .ulps = 0, .values = PTO_VALUES_FINITE,
              .fill = axis_fill, .flags = PTO_REFERENCE_MOVES_LESS, .slack = "half a unit of y for each addition");

/* With a y beside the data. */
static bool scatter_elements_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                    union pto_scalar *scalars) {
  const bool is_case = axis_shapes(sizes, tensors, scalars);
  tensors[3] = tensors[0];
  return is_case;
}
static bool scatter_nd_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                              union pto_scalar *scalars) {
  const bool is_case = tuples_shapes(sizes, tensors, scalars);
  tensors[3] = tensors[0];
  return is_case;
}

REFERENCE(scatter_elements, scatter_elements_shapes, scatter_axis, axis_fill, 0);
REFERENCE(scatter_elements_inplace, axis_shapes, scatter_axis, axis_fill, PTO_REFERENCE_MOVES_LESS);
REFERENCE(scatter_nd, scatter_nd_shapes, scatter_tuples, tuples_fill, 0);
REFERENCE(scatter_nd_inplace, tuples_shapes, scatter_tuples, tuples_fill, PTO_REFERENCE_MOVES_LESS);

/* ---- pad ---- */

/* One mode after another; where a dimension is too short to be mirrored or has no edge, nothing is added to it. */
static bool pad_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                       union pto_scalar *scalars) {
  uint64_t draw = sizes->draw;
  const uint64_t mode = draw % 4;
  scalars[0].u64 = mode;
  tensors[0] = tensors[2] = shape_of(sizes);
  tensors[1] = (struct pto_reference_shape){(uint32_t)(draw / 4 % 3), {1, 1}};
  for (uint32_t d = 0; d < PTO_MAX_DIMS; d++) {
    draw = pto_mix64(draw + 1);
    const uint64_t extent = d < sizes->rank ? sizes->extents[d] : 0;
    const uint64_t most = d >= sizes->rank ? 0 : mode == 0 ? 4 : mode == 1 ? (extent > 0 ? 4 : 0) : extent;
    scalars[1 + d].u64 = most == 0 ? 0 : draw % (most + (mode == 3)) % 5;
    if (d < sizes->rank)
      tensors[2].shape[d] += scalars[1 + d].u64 + (most == 0 ? 0 : draw / 64 % (most + (mode == 3)) % 4);
  }
  return true;
}
static void pad_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[2];
  const uint64_t mode = args->scalars[0].u64;
  for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
    const struct place to = pto_reference_place(y, i);
    struct place from = {{0}};
    bool is_outside = false;
    for (uint32_t d = 0; d < x->ndims; d++) {
      int64_t at = (int64_t)(to.at[d] - args->scalars[1 + d].u64);
      const int64_t last = (int64_t)x->shape[d] - 1;
      if (at < 0 || at > last) is_outside = true;
      if (mode == 1) at = at < 0 ? 0 : at > last ? last : at;
      if (mode == 2) at = at < 0 ? -at : at > last ? 2 * last - at : at;
      if (mode == 3) at = at < 0 ? -1 - at : at > last ? 2 * last + 1 - at : at;
      from.at[d] = (uint64_t)at;
    }
    if (is_outside && mode == 0)
      pto_reference_take(&golden[2], i, &args->tensors[1], 0);
    else
      pto_reference_take(&golden[2], i, x, pto_reference_number(x, &from));
  }
}
REFERENCE(pad, pad_shapes, pad_golden, NULL, 0);

/* ---- tile, reverse, triangular ---- */

static bool tile_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                        union pto_scalar *scalars) {
  tensors[0] = tensors[1] = shape_of(sizes);
  for (uint32_t d = 0; d < sizes->rank && d < 3; d++) tensors[1].shape[d] *= (sizes->draw >> 2 * d) % 4;
  return true;
}
static void tile_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
    struct place place = pto_reference_place(y, i);
    for (uint32_t d = 0; d < x->ndims; d++) place.at[d] %= x->shape[d];
    pto_reference_take(&golden[1], i, x, pto_reference_number(x, &place));
  }
}
REFERENCE(tile, tile_shapes, tile_golden, NULL, 0);

static bool reverse_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                           union pto_scalar *scalars) {
  scalars[0].u64 = sizes->draw % (UINT64_C(1) << sizes->rank);
  return pto_reference_same_shapes(sizes, tensors, 2);
}
static void reverse_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  for (uint64_t i = 0; i < pto_reference_numel(x); i++) {
    struct place place = pto_reference_place(x, i);
    for (uint32_t d = 0; d < x->ndims; d++)
      if ((args->scalars[0].u64 >> d & 1) != 0) place.at[d] = x->shape[d] - 1 - place.at[d];
    pto_reference_take(&golden[1], i, x, pto_reference_number(x, &place));
  }
}
REFERENCE(reverse, reverse_shapes, reverse_golden, NULL, 0);

static bool triangular_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                              union pto_scalar *scalars) {
  static const int64_t diagonals[] = {0, 1, -1, 3, -4, 1000, -1000, INT64_MAX, INT64_MIN};
  scalars[0].u64 = sizes->draw % 2;
  scalars[1].i64 = diagonals[sizes->draw / 2 % PTO_ARRAY_LENGTH(diagonals)];
  return sizes->rank >= 2 && pto_reference_same_shapes(sizes, tensors, 2);
}
static void triangular_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  for (uint64_t i = 0; i < pto_reference_numel(x); i++) {
    const struct place place = pto_reference_place(x, i);
    /* In long double, where no sum of 64 bits overflows or loses a bit. */
    const long double above =
        (long double)place.at[x->ndims - 1] - (long double)place.at[x->ndims - 2] - (long double)args->scalars[1].i64;
    if (args->scalars[0].u64 != 0 ? above >= 0 : above <= 0) pto_reference_take(&golden[1], i, x, i);
  }
}
REFERENCE(triangular, triangular_shapes, triangular_golden, NULL, 0);
