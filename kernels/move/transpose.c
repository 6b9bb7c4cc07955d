/* SPDX-License-Identifier: MIT */
/*
 * transpose (AIV): y = x with its dimensions in another order, bit for bit, for every dtype.
 *
 * The scalar `order` has one hexadecimal digit a dimension of y, outermost first: which dimension of x it is.  0x10 is
 * the transposition of a matrix, 0x0213 exchanges the middle two of four dimensions.  0 stands for all dimensions
 * reversed.  A copy to or from a permuted view does the same; this kernel is for tensors that allow no such view, which
 * the dense 4-bit ones do not.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/move/move.h>
#include <kernels/api/shape.h>

#include <inttypes.h>

/* Whether the scalar is a permutation of `ndims` dimensions. */
static bool order_of(uint64_t digits, uint32_t ndims, uint32_t order[PTO_MAX_DIMS]) {
  uint32_t seen = 0;
  if (digits >> (4 * ndims) != 0) return false;
  for (uint32_t d = 0; d < ndims; d++) {
    order[d] = digits == 0 ? ndims - 1 - d : digits >> (4 * (ndims - 1 - d)) & 15;
    seen |= 1u << order[d];
  }
  return seen == (1u << ndims) - 1;
}

static int transpose_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  uint32_t order[PTO_MAX_DIMS];
  order_of(args->scalars[0].u64, x->ndims, order);
  pto_move_tensor(y, x, order);
  return 0;
}

static int transpose_check(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  const uint64_t digits = args->scalars[0].u64;
  uint32_t order[PTO_MAX_DIMS];
  const int status = pto_check_same_dtype(args, "transpose", 0, 1);
  if (status != 0) return status;
  if (x->ndims != y->ndims)
    return pto_kernel_error(args, "transpose: ranks %" PRIu32 " and %" PRIu32 " differ (params 0 and 1)", x->ndims,
                            y->ndims);
  if (!order_of(digits, x->ndims, order))
    return pto_kernel_error(args, "transpose: 0x%" PRIx64 " is no order of %" PRIu32 " dimensions (param 2)", digits,
                            x->ndims);
  for (uint32_t d = 0; d < x->ndims; d++)
    if (y->shape[d] != x->shape[order[d]])
      return pto_kernel_error(
          args, "transpose: dimension %" PRIu32 " is %" PRIu64 ", and %" PRIu32 " of x is %" PRIu64 " (params 1 and 0)",
          d, y->shape[d], order[d], x->shape[order[d]]);
  return 0;
}

static struct pto_cost transpose_cost(const struct pto_kernel_args *args) {
  return pto_move_cost(&args->tensors[0], &args->tensors[1]);
}

static const struct pto_kernel_param transpose_params[] = {
    {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_ALL},
    {.name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_ALL},
    {.name = "order", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64},
};

PTO_GENERAL_KERNEL(transpose, transpose_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = transpose_run,
                   .cost = transpose_cost, .check = transpose_check);
