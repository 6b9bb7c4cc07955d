/* SPDX-License-Identifier: MIT */
/*
 * copy (AIV): y = x, bit for bit, for every dtype.
 *
 * Elements move as bits, so NaN payloads survive; see kernels/move/move.h.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/move/move.h>
#include <kernels/api/shape.h>

static int copy_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  struct pto_local local = pto_local_begin(&args->core->local);
  pto_move_tensor(y, x, NULL, pto_local_take(&local, pto_move_tile_bytes(y->dtype, pto_kernel_numel(y))));
  return 0;
}

static int copy_check(const struct pto_kernel_args *args) {
  const int status = pto_check_same_dtype(args, "copy", 0, 1);
  return status != 0 ? status : pto_check_same_shape(args, "copy", 0, 1);
}

static struct pto_cost copy_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *y = &args->tensors[1];
  const uint64_t numel = pto_kernel_numel(y);
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(&args->tensors[0]),
                           .bytes_out = pto_kernel_bytes(y),
                           .vector_elems = numel,
                           .local_bytes = pto_local_bytes(pto_move_tile_bytes(y->dtype, numel))};
}

static const struct pto_kernel_param copy_params[] = {
    {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_ALL},
    {.name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_ALL},
};

const struct pto_kernel pto_general_copy = {.name = "copy",
                                            .cores = PTO_AIV,
                                            .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,
                                            .params = copy_params,
                                            .param_count = PTO_ARRAY_LENGTH(copy_params),
                                            .run = copy_run,
                                            .cost = copy_cost,
                                            .check = copy_check};
