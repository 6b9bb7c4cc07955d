/* SPDX-License-Identifier: MIT */
/*
 * copy (AIV): y = x, bit for bit, for every dtype.
 *
 * Elements move as bits, so NaN payloads survive; see kernels/move/move.h.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/move/move.h>
#include <kernels/api/shape.h>

static int copy_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  pto_move_tensor(y, x, NULL);
  return 0;
}

static int copy_check(const struct pto_kernel_args *args) {
  const int status = pto_check_same_dtype(args, "copy", 0, 1);
  return status != 0 ? status : pto_check_same_shape(args, "copy", 0, 1);
}

static struct pto_cost copy_cost(const struct pto_kernel_args *args) {
  return pto_move_cost(&args->tensors[0], &args->tensors[1]);
}

static const struct pto_kernel_param copy_params[] = {
    {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_ALL},
    {.name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_ALL},
};

PTO_GENERAL_KERNEL(copy, copy_params, .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,
                   .run = copy_run, .cost = copy_cost, .check = copy_check);
