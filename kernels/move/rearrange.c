/* SPDX-License-Identifier: MIT */
/*
 * tile, reverse, triangular (AIV): the elements of x in other places of y, bit for bit, for every dtype.
 *
 *   tile        y is x beside itself, as often as x's extents go into y's
 *   reverse     backwards in the dimensions whose bit of `axes` is set; bit 0 is the outermost
 *   triangular  of the matrices of the last two dimensions, what is on and above the diagonal (upper = 1) or on and
 *               below it (upper = 0), and zeros; `diagonal` is moved to the right by so many columns.  y may be x.
 *
 * Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/move/move.h>
#include <kernels/api/shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>

enum { X, Y };

static struct pto_cost move_cost(const struct pto_kernel_args *args) {
  return pto_move_cost(&args->tensors[X], &args->tensors[Y]);
}

/* ---- tile ---- */

static int tile_check(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  int status = pto_check_same_dtype(args, "tile", X, Y);
  if (status == 0) status = pto_check_rank(args, "tile", Y, x->ndims);
  for (uint32_t d = 0; status == 0 && d < x->ndims; d++)
    if (x->shape[d] == 0 ? y->shape[d] != 0 : y->shape[d] % x->shape[d] != 0)
      return pto_kernel_error(
          args, "tile: %" PRIu64 " is no multiple of %" PRIu64 " in dimension %" PRIu32 " (params 1 and 0)",
          y->shape[d], x->shape[d], d);
  return status;
}

static int tile_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  if (pto_kernel_numel(y) == 0) return 0;
  struct pto_move move;
  pto_move_init(&move, y->dtype);
  for (uint32_t d = 0; d < x->ndims; d++) {
    const int64_t step = (int64_t)y->strides[d];
    pto_move_dim(&move, y->shape[d] / x->shape[d], step * (int64_t)x->shape[d], 0);
    pto_move_dim(&move, x->shape[d], step, (int64_t)x->strides[d]);
  }
  pto_move_plan(&move);
  pto_move_run(&move, (struct pto_place){y->addr, 0}, (struct pto_place){x->addr, 0});
  return 0;
}

/* ---- reverse ---- */

static int reverse_check(const struct pto_kernel_args *args) {
  const uint32_t rank = args->tensors[X].ndims;
  int status = pto_check_same_dtype(args, "reverse", X, Y);
  if (status == 0) status = pto_check_same_shape(args, "reverse", X, Y);
  if (status == 0 && args->scalars[0].u64 >> rank != 0)
    return pto_kernel_error(args, "reverse: axes 0x%" PRIx64 " of rank %" PRIu32 " (params 2 and 0)",
                            args->scalars[0].u64, rank);
  return status;
}

static int reverse_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  struct pto_place from = {x->addr, 0};
  if (pto_kernel_numel(y) == 0) return 0;
  struct pto_move move;
  pto_move_init(&move, y->dtype);
  for (uint32_t d = 0; d < x->ndims; d++) {
    const bool is_reversed = (args->scalars[0].u64 >> d & 1) != 0;
    const int64_t step = (int64_t)x->strides[d];
    if (is_reversed) from.elems += ((int64_t)x->shape[d] - 1) * step;
    pto_move_dim(&move, x->shape[d], (int64_t)y->strides[d], is_reversed ? -step : step);
  }
  pto_move_plan(&move);
  pto_move_run(&move, (struct pto_place){y->addr, 0}, from);
  return 0;
}

/* ---- triangular ---- */

static int triangular_check(const struct pto_kernel_args *args) {
  int status = pto_check_same_dtype(args, "triangular", X, Y);
  if (status == 0) status = pto_check_same_shape(args, "triangular", X, Y);
  if (status == 0 && args->scalars[0].u64 > 1)
    return pto_kernel_error(args, "triangular: upper %" PRIu64 " is not 0 or 1 (param 2)", args->scalars[0].u64);
  return status;
}

/* Columns first … first + count − 1 of row `row` of all matrices of y become zeros. */
static void clear(const struct pto_kernel_tensor *y, uint64_t row, uint64_t first, uint64_t count) {
  static const uint64_t zero = 0;
  const uint32_t rows = y->ndims - 2, cols = y->ndims - 1;
  const struct pto_place to = {y->addr, (int64_t)(row * y->strides[rows] + first * y->strides[cols])};
  struct pto_move move;
  pto_move_init(&move, y->dtype);
  for (uint32_t d = 0; d < rows; d++) pto_move_dim(&move, y->shape[d], (int64_t)y->strides[d], 0);
  pto_move_dim(&move, count, (int64_t)y->strides[cols], 0);
  pto_move_plan(&move);
  pto_move_run(&move, to, (struct pto_place){(void *)(uintptr_t)&zero, 0});
}

static int triangular_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  const bool is_upper = args->scalars[0].u64 != 0;
  const uint64_t rows = y->shape[y->ndims - 2], cols = y->shape[y->ndims - 1];
  if (pto_kernel_numel(y) == 0) return 0; /* of however many empty rows */
  pto_move_tensor(y, x, NULL);
  for (uint64_t row = 0; row < rows; row++) {
    /* The column of the diagonal; a diagonal farther than any column is as good as cols. */
    const int64_t diagonal = args->scalars[1].i64 < (int64_t)cols ? args->scalars[1].i64 : (int64_t)cols;
    const int64_t first = (int64_t)row + diagonal + (is_upper ? 0 : 1); /* that is kept; or that is not */
    const uint64_t split = first < 0 ? 0 : pto_min_u64((uint64_t)first, cols);
    if (is_upper)
      clear(y, row, 0, split);
    else
      clear(y, row, split, cols - split);
  }
  return 0;
}

/* ---- the kernels ---- */

#define TENSOR(name_, mode_, rank)                                                                                     \
  { .name = name_, .mode = mode_, .dtypes = PTO_DTYPES_ALL, .min_rank = rank }
#define SCALAR(name_, type)                                                                                            \
  { .name = name_, .mode = PTO_SCALAR, .scalar = type }
static const struct pto_kernel_param tile_params[] = {TENSOR("x", PTO_INPUT, 0), TENSOR("y", PTO_OUTPUT, 0)};
static const struct pto_kernel_param reverse_params[] = {TENSOR("x", PTO_INPUT, 0), TENSOR("y", PTO_OUTPUT, 0),
                                                         SCALAR("axes", PTO_SCALAR_U64)};
static const struct pto_kernel_param triangular_params[] = {TENSOR("x", PTO_INPUT, 2), TENSOR("y", PTO_OUTPUT, 2),
                                                            SCALAR("upper", PTO_SCALAR_U64),
                                                            SCALAR("diagonal", PTO_SCALAR_I64)};
#define KERNEL(name_, flags_)                                                                                          \
  PTO_GENERAL_KERNEL(name_, name_##_params, .cores = PTO_AIV, .flags = flags_ | PTO_KERNEL_ONE_BLOCK,                  \
                     .run = name_##_run, .cost = move_cost, .check = name_##_check)
KERNEL(tile, 0);
KERNEL(reverse, 0);
KERNEL(triangular, PTO_KERNEL_IN_PLACE);
