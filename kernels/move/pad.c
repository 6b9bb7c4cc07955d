/* SPDX-License-Identifier: MIT */
/*
 * pad (AIV): y is x with elements before and behind it in every dimension; bit for bit, for every dtype.
 *
 * begin_d elements are added before x in dimension d, and what y's extent leaves behind it; begins of dimensions that x
 * does not have are 0.
 *
 *   mode 0   constant: the one element of `value`
 *   mode 1   edge: the nearest element of x
 *   mode 2   reflection: x mirrored at its first and last element, which are not repeated
 *   mode 3   symmetric: the same, with them repeated
 *
 * y is cut into what lies before, in and behind x in each dimension, and each such box is one move whose source stands
 * still, runs forwards or runs backwards.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/move/move.h>
#include <kernels/api/shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>

enum { X, VALUE, Y };
enum { MODE_CONSTANT, MODE_EDGE, MODE_REFLECTION, MODE_SYMMETRIC, MODE_COUNT };
enum { BEFORE, WITHIN, BEHIND, PARTS };

/* ---- check and cost ---- */

static int pad_check(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  const uint64_t mode = args->scalars[0].u64;
  int status = pto_check_same_dtype(args, "pad", X, Y);
  if (status == 0) status = pto_check_same_dtype(args, "pad", X, VALUE);
  if (status == 0) status = pto_check_rank(args, "pad", Y, x->ndims);
  if (status == 0)
    status = pto_check_same_size(args, "pad", "elements of value, and one,",
                                 (struct pto_kernel_size){VALUE, pto_kernel_numel(&args->tensors[VALUE])},
                                 (struct pto_kernel_size){VALUE, 1});
  if (status == 0 && mode >= MODE_COUNT)
    return pto_kernel_error(
        args, "pad: mode %" PRIu64 " is not 0 (constant), 1 (edge), 2 (reflection) or 3 (symmetric) (param 3)", mode);
  for (uint32_t d = 0; status == 0 && d < PTO_MAX_DIMS; d++) {
    const uint64_t begin = args->scalars[1 + d].u64, inner = d < x->ndims ? x->shape[d] : 0;
    const uint64_t outer = d < x->ndims ? y->shape[d] : 0;
    if (inner > outer || begin > outer - inner)
      return pto_kernel_error(args,
                              "pad: %" PRIu64 " before %" PRIu64 " of dimension %" PRIu32 " do not fit %" PRIu64
                              " (params %" PRIu32 ", 0 and 2)",
                              begin, inner, d, outer, 4 + d);
    const uint64_t most = begin > outer - inner - begin ? begin : outer - inner - begin;
    const uint64_t mirrored = mode == MODE_SYMMETRIC ? inner : inner == 0 ? 0 : inner - 1;
    if (most > 0 &&
        (((mode == MODE_REFLECTION || mode == MODE_SYMMETRIC) && most > mirrored) || (mode == MODE_EDGE && inner == 0)))
      return pto_kernel_error(
          args, "pad: %" PRIu64 " of dimension %" PRIu32 " do not give %" PRIu64 " (params 0 and 2)", inner, d, most);
  }
  return status;
}

static struct pto_cost pad_cost(const struct pto_kernel_args *args) {
  struct pto_cost cost = pto_move_cost(&args->tensors[X], &args->tensors[Y]);
  cost.bytes_in += pto_kernel_bytes(&args->tensors[VALUE]);
  return cost;
}

/* ---- the run ---- */

/* One dimension of one box: the elements of y, and where those of x that they come from begin and go. */
struct part {
  uint64_t count;
  int64_t to, from, from_step;
};

static struct part part_of(const struct pto_kernel_args *args, uint32_t d, uint32_t which) {
  const uint64_t mode = args->scalars[0].u64;
  const int64_t begin = (int64_t)args->scalars[1 + d].u64;
  const int64_t inner = (int64_t)args->tensors[X].shape[d], outer = (int64_t)args->tensors[Y].shape[d];
  if (which == WITHIN) return (struct part){(uint64_t)inner, begin, 0, 1};
  const bool is_before = which == BEFORE;
  struct part part = {.count = (uint64_t)(is_before ? begin : outer - inner - begin),
                      .to = is_before ? 0 : begin + inner};
  if (mode == MODE_EDGE) part.from = is_before ? 0 : inner - 1;
  if (mode == MODE_REFLECTION || mode == MODE_SYMMETRIC) {
    const int64_t repeated = mode == MODE_SYMMETRIC ? 1 : 0;
    part.from = is_before ? begin - repeated : inner - 2 + repeated;
    part.from_step = -1;
  }
  return part;
}

/* The box that is before, in or behind x in each dimension as `which` says. */
static void pad_box(const struct pto_kernel_args *args, const uint32_t which[PTO_MAX_DIMS]) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *y = &args->tensors[Y];
  bool is_x = true;
  for (uint32_t d = 0; d < x->ndims; d++) is_x = is_x && which[d] == WITHIN;
  const bool is_value = !is_x && args->scalars[0].u64 == MODE_CONSTANT;
  struct pto_place to = {y->addr, 0}, from = {is_value ? args->tensors[VALUE].addr : x->addr, 0};
  struct pto_move move;
  pto_move_init(&move, y->dtype);
  for (uint32_t d = 0; d < x->ndims; d++) {
    const struct part part = part_of(args, d, which[d]);
    const int64_t stride = is_value ? 0 : (int64_t)x->strides[d];
    pto_move_dim(&move, part.count, (int64_t)y->strides[d], part.from_step * stride);
    if (part.count == 0) return; /* strides of what is not there may be anything */
    to.elems += part.to * (int64_t)y->strides[d];
    from.elems += part.from * stride;
  }
  pto_move_plan(&move);
  pto_move_run(&move, to, from);
}

static int pad_run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *y = &args->tensors[Y];
  uint32_t which[PTO_MAX_DIMS] = {0}, d;
  do {
    pad_box(args, which);
    for (d = y->ndims; d-- > 0;) {
      do which[d]++;
      while (which[d] < PARTS && part_of(args, d, which[d]).count == 0);
      if (which[d] < PARTS) break;
      which[d] = BEFORE;
    }
  } while (d != UINT32_MAX);
  return 0;
}

#define BEGIN(d)                                                                                                       \
  { .name = "begin_" #d, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64 }
static const struct pto_kernel_param pad_params[] = {{.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_ALL},
                                                     {.name = "value", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_ALL},
                                                     {.name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_ALL},
                                                     {.name = "mode", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64},
                                                     BEGIN(0),
                                                     BEGIN(1),
                                                     BEGIN(2),
                                                     BEGIN(3),
                                                     BEGIN(4),
                                                     BEGIN(5),
                                                     BEGIN(6),
                                                     BEGIN(7)};

PTO_GENERAL_KERNEL(pad, pad_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = pad_run, .cost = pad_cost,
                   .check = pad_check);
