/* SPDX-License-Identifier: MIT */
/*
 * unfold (AIV), also called im2col: the windows of x side by side, bit for bit, for every dtype.
 *
 *   y[n, oh, ow, i, j, c] = x[n, c, oh·stride_h + i·dilation_h − pad_top, ow·stride_w + j·dilation_w − pad_left],
 *   and the one element of `value` where that is outside
 *
 * Each (i, j) is a box of y that comes from x, and up to four beside it that are `value`.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/move/move.h>
#include <kernels/api/shape.h>
#include <kernels/conv/window.h>
#include <runtime/base/base.h>

enum { X, VALUE, Y };
enum { N, OH, OW, I, J, C }; /* dimensions of y */

static int unfold_check(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  int status = pto_check_same_dtype(args, "unfold", X, Y);
  if (status == 0) status = pto_check_same_dtype(args, "unfold", X, VALUE);
  if (status == 0)
    status = pto_check_same_size(args, "unfold", "elements of value, and one,",
                                 (struct pto_kernel_size){VALUE, pto_kernel_numel(&args->tensors[VALUE])},
                                 (struct pto_kernel_size){VALUE, 1});
  if (status == 0)
    status = pto_check_same_size(args, "unfold", "samples", (struct pto_kernel_size){X, x->shape[0]},
                                 (struct pto_kernel_size){Y, y->shape[N]});
  if (status == 0)
    status = pto_check_same_size(args, "unfold", "channels", (struct pto_kernel_size){X, x->shape[1]},
                                 (struct pto_kernel_size){Y, y->shape[C]});
  return status == 0 ? pto_window_check(args, "unfold") : status;
}

static struct pto_cost unfold_cost(const struct pto_kernel_args *args) {
  struct pto_cost cost = pto_move_cost(&args->tensors[X], &args->tensors[Y]);
  cost.bytes_in = pto_min_u64(cost.bytes_in, cost.bytes_out) + pto_kernel_bytes(&args->tensors[VALUE]);
  return cost;
}

/* Outputs of one element of the window. */
struct box {
  uint64_t i, j;
  uint64_t row, rows, col, cols;
};

/* The box of y from x where `from` says so, or from the one value. */
static void move_box(const struct pto_kernel_args *args, const struct box *box, bool is_value, uint64_t from_row,
                     uint64_t from_col) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  const union pto_scalar *scalars = args->scalars;
  if (box->rows == 0 || box->cols == 0) return;
  const int64_t h = is_value ? 0 : (int64_t)x->strides[2], w = is_value ? 0 : (int64_t)x->strides[3];
  struct pto_move move;
  pto_move_init(&move, y->dtype);
  pto_move_dim(&move, y->shape[N], (int64_t)y->strides[N], is_value ? 0 : (int64_t)x->strides[0]);
  pto_move_dim(&move, box->rows, (int64_t)y->strides[OH], (int64_t)(scalars[2].u64 * (uint64_t)h));
  pto_move_dim(&move, box->cols, (int64_t)y->strides[OW], (int64_t)(scalars[3].u64 * (uint64_t)w));
  pto_move_dim(&move, y->shape[C], (int64_t)y->strides[C], is_value ? 0 : (int64_t)x->strides[1]);
  pto_move_plan(&move);
  const uint64_t to =
      box->row * y->strides[OH] + box->col * y->strides[OW] + box->i * y->strides[I] + box->j * y->strides[J];
  const int64_t from = (int64_t)from_row * h + (int64_t)from_col * w;
  pto_move_run(&move, (struct pto_place){y->addr, (int64_t)to},
               (struct pto_place){is_value ? args->tensors[VALUE].addr : x->addr, from});
}

static int unfold_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  if (pto_kernel_numel(y) == 0) return 0;
  const struct pto_window_axis height = pto_window_axis(args, 0, x->shape[2], y->shape[OH]);
  const struct pto_window_axis width = pto_window_axis(args, 1, x->shape[3], y->shape[OW]);
  for (uint64_t i = 0; i < y->shape[I]; i++)
    for (uint64_t j = 0; j < y->shape[J]; j++) {
      const struct pto_window_range rows = pto_window_range(&height, i), cols = pto_window_range(&width, j);
      const uint64_t within = rows.end - rows.begin;
      move_box(args, &(struct box){i, j, rows.begin, within, cols.begin, cols.end - cols.begin}, false, rows.first,
               cols.first);
      move_box(args, &(struct box){i, j, 0, rows.begin, 0, width.output}, true, 0, 0);
      move_box(args, &(struct box){i, j, rows.end, height.output - rows.end, 0, width.output}, true, 0, 0);
      move_box(args, &(struct box){i, j, rows.begin, within, 0, cols.begin}, true, 0, 0);
      move_box(args, &(struct box){i, j, rows.begin, within, cols.end, width.output - cols.end}, true, 0, 0);
    }
  return 0;
}

static const struct pto_kernel_param unfold_params[] = {
    {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_ALL, .min_rank = 4, .max_rank = 4},
    {.name = "value", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_ALL},
    {.name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_ALL, .min_rank = 6, .max_rank = 6},
    PTO_WINDOW_PARAMS};

PTO_GENERAL_KERNEL(unfold, unfold_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = unfold_run,
                   .cost = unfold_cost, .check = unfold_check);
