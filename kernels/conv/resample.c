/* SPDX-License-Identifier: MIT */
/*
 * resample_nearest, resample_linear (AIV): x with another extent in dimension `axis`.
 *
 *   output o stands at ((2·o + 1)·input − output) / (2·output), held within 0 … input − 1, as WebNN's resample2d has it
 *   nearest   the element next to it, of two the lower one; bit for bit, for every dtype
 *   linear   below·(1 − w) + above·w, each operation rounded to f32, w the rounded fraction; floats, rounded
 * once on store.  Where w is 0 the element above takes no part
 *
 * Positions are fractions of whole numbers: which element is nearest is not a matter of rounding.  The same bits
 * everywhere.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/levels/loops.h>
#include <kernels/move/move.h>
#include <kernels/api/shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>

#define ROW_ELEMS UINT64_C(1024)
#define LARGEST (UINT64_C(1) << 31) /* of an extent, so that positions are exact */

enum { X, Y };
static int check(const struct pto_kernel_args *args, const char *kernel) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  const uint64_t axis = args->scalars[0].u64;
  int status = pto_check_rank(args, kernel, Y, x->ndims);
  if (status == 0) status = pto_check_axis(args, kernel, X);
  for (uint32_t d = 0; status == 0 && d < x->ndims; d++)
    if (d != axis && x->shape[d] != y->shape[d])
      return pto_kernel_error(
          args, "%s: extents %" PRIu64 " and %" PRIu64 " of dimension %" PRIu32 " differ (params 0 and 1)", kernel,
          x->shape[d], y->shape[d], d);
  if (status != 0) return status;
  if (x->shape[axis] >= LARGEST || y->shape[axis] >= LARGEST || (x->shape[axis] == 0) != (y->shape[axis] == 0))
    return pto_kernel_error(args, "%s: extents %" PRIu64 " and %" PRIu64 " of the axis (params 0 and 1)", kernel,
                            x->shape[axis], y->shape[axis]);
  return 0;
}
static int nearest_check(const struct pto_kernel_args *args) {
  const int status = check(args, "resample_nearest");
  return status == 0 ? pto_check_same_dtype(args, "resample_nearest", X, Y) : status;
}
static int linear_check(const struct pto_kernel_args *args) { return check(args, "resample_linear"); }

static struct pto_cost cost_of(const struct pto_kernel_args *args, uint64_t elem_ops, uint64_t local_bytes) {
  const uint64_t numel = pto_kernel_numel(&args->tensors[Y]);
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(&args->tensors[X]),
                           .bytes_out = pto_kernel_bytes(&args->tensors[Y]),
                           .vector_elems = numel * elem_ops,
                           .local_bytes = numel == 0 ? 0 : local_bytes};
}
static struct pto_cost nearest_cost(const struct pto_kernel_args *args) { return cost_of(args, 1, 0); }
static struct pto_cost linear_cost(const struct pto_kernel_args *args) {
  return cost_of(args, 3, 3 * pto_local_bytes(ROW_ELEMS * sizeof(float)));
}

/* ---- positions ---- */

struct position {
  uint64_t below, above, nearest;
  float weight; /* of what is above */
};

static struct position position_of(uint64_t o, uint64_t input, uint64_t output) {
  const uint64_t whole = 2 * output, reach = (2 * o + 1) * input;
  const uint64_t most = (input - 1) * whole, at = pto_min_u64(reach > output ? reach - output : 0, most);
  const uint64_t below = at / whole, rest = at % whole;
  return (struct position){.below = below,
                           .above = rest > 0 ? below + 1 : below,
                           .nearest = rest > output ? below + 1 : below,
                           .weight = (float)((double)rest / (double)whole)};
}

/* ---- nearest ---- */

/* Output `o` of the axis, all other dimensions. */
static void move_slice(const struct pto_kernel_args *args, uint32_t axis, uint64_t o, uint64_t from) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  struct pto_move move;
  pto_move_init(&move, y->dtype);
  for (uint32_t d = 0; d < y->ndims; d++)
    if (d != axis) pto_move_dim(&move, y->shape[d], (int64_t)y->strides[d], (int64_t)x->strides[d]);
  pto_move_plan(&move);
  pto_move_run(&move, (struct pto_place){y->addr, (int64_t)(o * y->strides[axis])},
               (struct pto_place){x->addr, (int64_t)(from * x->strides[axis])});
}

static int nearest_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  const uint32_t axis = (uint32_t)args->scalars[0].u64;
  if (pto_kernel_numel(y) == 0) return 0;
  for (uint64_t o = 0; o < y->shape[axis]; o++)
    move_slice(args, axis, o, position_of(o, x->shape[axis], y->shape[axis]).nearest);
  return 0;
}

/* ---- linear ---- */

/* Where a piece of a row begins: its first element in x, at position 0 of the axis, and in y. */
struct piece {
  uint64_t x, y, count, x_step, y_step;
};

struct rows {
  float *below, *above, *sums; /* local */
};

static void interpolate(const struct pto_kernel_args *args, uint32_t axis, const struct rows *rows,
                        const struct piece *piece) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  const struct pto_loops *loops = pto_loops_best();
  const uint64_t x_bytes = pto_dtype_size(x->dtype), y_bytes = pto_dtype_size(y->dtype);
  for (uint64_t o = 0; o < y->shape[axis]; o++) {
    const struct position p = position_of(o, x->shape[axis], y->shape[axis]);
    const char *below = (const char *)x->addr + (piece->x + p.below * x->strides[axis]) * x_bytes;
    const char *above = (const char *)x->addr + (piece->x + p.above * x->strides[axis]) * x_bytes;
    const float *out = rows->below;
    loops->load[PTO_CLASS_F32][x->dtype](rows->below, below, piece->x_step * x_bytes, piece->count);
    if (p.weight != 0) {
      const float rest = 1 - p.weight;
      loops->load[PTO_CLASS_F32][x->dtype](rows->above, above, piece->x_step * x_bytes, piece->count);
      for (uint64_t k = 0; k < piece->count; k++) rows->sums[k] = rows->below[k] * rest + rows->above[k] * p.weight;
      out = rows->sums;
    }
    char *to = (char *)y->addr + (piece->y + o * y->strides[axis]) * y_bytes;
    loops->store[PTO_CLASS_F32][y->dtype](out, to, piece->y_step * y_bytes, piece->count);
  }
}

/* Rows go along the last dimension but the axis. */
static int linear_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  const uint32_t axis = (uint32_t)args->scalars[0].u64;
  if (pto_kernel_numel(y) == 0) return 0;
  struct pto_local local = pto_local_begin(&args->core->local);
  struct rows rows;
  rows.below = pto_local_take(&local, ROW_ELEMS * sizeof(float));
  rows.above = pto_local_take(&local, ROW_ELEMS * sizeof(float));
  rows.sums = pto_local_take(&local, ROW_ELEMS * sizeof(float));
  const uint32_t along = y->ndims == 1 ? PTO_MAX_DIMS : axis == y->ndims - 1 ? y->ndims - 2 : y->ndims - 1;
  const uint64_t length = along < y->ndims ? y->shape[along] : 1;
  const uint64_t rest = pto_kernel_numel(y) / y->shape[axis] / length;
  for (uint64_t r = 0; r < rest; r++) {
    struct piece piece = {.x_step = along < y->ndims ? x->strides[along] : 1,
                          .y_step = along < y->ndims ? y->strides[along] : 1};
    uint64_t number = r;
    for (uint32_t d = y->ndims; d-- > 0;) {
      if (d == axis || d == along) continue;
      piece.x += number % y->shape[d] * x->strides[d];
      piece.y += number % y->shape[d] * y->strides[d];
      number /= y->shape[d];
    }
    for (uint64_t done = 0; done < length; done += piece.count) {
      piece.count = pto_min_u64(ROW_ELEMS, length - done);
      interpolate(args, axis, &rows, &piece);
      piece.x += piece.count * piece.x_step;
      piece.y += piece.count * piece.y_step;
    }
  }
  return 0;
}

#define PARAMS(dtypes_)                                                                                                \
  {                                                                                                                    \
    {.name = "x", .mode = PTO_INPUT, .dtypes = dtypes_, .min_rank = 1},                                                \
        {.name = "y", .mode = PTO_OUTPUT, .dtypes = dtypes_, .min_rank = 1}, {                                         \
      .name = "axis", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64                                                     \
    }                                                                                                                  \
  }
static const struct pto_kernel_param nearest_params[] = PARAMS(PTO_DTYPES_ALL);
static const struct pto_kernel_param linear_params[] = PARAMS(PTO_DTYPES_FLOAT);

PTO_GENERAL_KERNEL(resample_nearest, nearest_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK,
                   .run = nearest_run, .cost = nearest_cost, .check = nearest_check);
PTO_GENERAL_KERNEL(resample_linear, linear_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = linear_run,
                   .cost = linear_cost, .check = linear_check);
