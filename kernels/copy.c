/* SPDX-License-Identifier: MIT */
/*
 * copy (AIV): y = x, bit for bit, for every dtype.
 *
 * Elements move as unsigned integers of their size, so NaN payloads survive.  The 4-bit types are dense and move as the
 * bytes that hold them.  Any thread.
 */
#include <kernels/kernel_cursor.h>
#include <kernels/kernel_list.h>
#include <kernels/kernel_shape.h>
#include <runtime/base/base.h>

#include <inttypes.h>
#include <string.h>

#define TILE_ELEMS 4096 /* elements in local memory at a time, as for an elementwise kernel */

/* One strided copy of elements of a fixed size; the size is a constant where it is called, so memcpy is one move. */
static inline __attribute__((always_inline)) void copy_strided(char *to, uint64_t to_step, const char *from,
                                                               uint64_t from_step, uint64_t count, size_t size) {
  for (uint64_t i = 0; i < count; i++) memcpy(to + i * to_step, from + i * from_step, size);
}

static void copy_run(struct pto_cursor *to, struct pto_cursor *from, uint64_t count, uint64_t size) {
  if (to->run_step == size && from->run_step == size) {
    memmove(to->at, from->at, count * size);
    return;
  }
  switch (size) {
  case 1:
    copy_strided(to->at, to->run_step, from->at, from->run_step, count, 1);
    break;
  case 2:
    copy_strided(to->at, to->run_step, from->at, from->run_step, count, 2);
    break;
  case 4:
    copy_strided(to->at, to->run_step, from->at, from->run_step, count, 4);
    break;
  default:
    PTO_ASSERT(size == 8);
    copy_strided(to->at, to->run_step, from->at, from->run_step, count, 8);
    break;
  }
}

static int copy_run_kernel(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  uint64_t left = pto_kernel_numel(y);
  if (left == 0) return 0;
  if (pto_dtype_bits(y->dtype) < 8) {
    memmove(y->addr, x->addr, pto_kernel_bytes(y));
    return 0;
  }
  struct pto_cursor from, to;
  uint32_t order[PTO_MAX_DIMS];
  pto_cursor_order(y, order);
  pto_cursor_init(&from, x, order);
  pto_cursor_init(&to, y, order);
  while (left > 0) {
    const uint64_t count = pto_min_u64(from.run_left, to.run_left);
    copy_run(&to, &from, count, pto_dtype_size(y->dtype));
    pto_cursor_advance(&from, count);
    pto_cursor_advance(&to, count);
    left -= count;
  }
  return 0;
}

static int copy_check(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  if (x->dtype != y->dtype)
    return pto_kernel_error(args, "copy: dtypes %s and %s differ (params 0 and 1)", pto_dtype_name(x->dtype),
                            pto_dtype_name(y->dtype));
  return pto_check_same_shape(args, "copy", 0, 1);
}

static struct pto_cost copy_cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *y = &args->tensors[1];
  const uint64_t numel = pto_kernel_numel(y);
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(&args->tensors[0]),
                           .bytes_out = pto_kernel_bytes(y),
                           .vector_elems = numel,
                           .local_bytes = (pto_min_u64(numel, TILE_ELEMS) * pto_dtype_bits(y->dtype) + 7) / 8};
}

static const struct pto_kernel_param copy_params[] = {
    {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_ALL},
    {.name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_ALL},
};

const struct pto_kernel pto_general_copy = {.name = "copy",
                                            .cores = PTO_AIV,
                                            .flags = PTO_KERNEL_IN_PLACE,
                                            .params = copy_params,
                                            .param_count = PTO_ARRAY_LENGTH(copy_params),
                                            .run = copy_run_kernel,
                                            .cost = copy_cost,
                                            .check = copy_check};
