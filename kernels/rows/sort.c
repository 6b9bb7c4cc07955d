/* SPDX-License-Identifier: MIT */
/*
 * top_k, sort (AIV): the first k elements of x along one dimension in order, and where they stand in x.
 *
 *   axis        −rank ≤ axis < rank
 *   largest     top_k: not 0: the largest first; 0: the smallest first
 *   descending  sort: the same words for all elements
 *
 * k is the extent of `values` and `indices` in that dimension; sort takes all.  The order: numbers by size, +0 and −0
 * equal, a NaN larger than any number and equal to another; equals stand as they do in x, whichever way the order goes.
 * So sort is stable, and top_k is the first k of sort.  Values are moved bit for bit, NaN payloads and the sign of 0
 * included.  A dimension without elements has no first element: k ≤ its extent.
 *
 * How: an element is a key, the unsigned number whose order is that of the elements, and its place, so that no two are
 * equal.  The k first ones so far are in a heap whose root is the last of them; another element either comes after the
 * root or takes its place.  At the end the heap is taken apart from the root on.  x is read once, in parts; the heap is
 * in local memory, HELD_BYTES for each of the k elements: that is what bounds k, and with it the rows that sort takes.
 * Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/api/shape.h>
#include <kernels/rows/axis.h>
#include <kernels/rows/plan.h>
#include <runtime/base/base.h>

#include <string.h>

#define ELEMS UINT64_C(2048) /* elements of x in local memory at a time: at most 16 KiB */
enum { X, VALUES, INDICES };

struct held {
  uint64_t key, at;
};
#define HELD_BYTES sizeof(struct held)

/* ---- order ---- */

/* Whether `a` comes after `b`. */
static bool is_after(struct held a, struct held b) { return a.key != b.key ? a.key > b.key : a.at > b.at; }

/* heap[at] moved down until none of its children comes after it. */
static void sift_down(struct held *heap, uint64_t count, uint64_t at) {
  const struct held moved = heap[at];
  for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_after(heap[child + 1], heap[child])) child++;
    if (!is_after(heap[child], moved)) break;
    heap[at] = heap[child];
  }
  heap[at] = moved;
}

static void make_heap(struct held *heap, uint64_t count) {
  for (uint64_t at = count / 2; at-- > 0;) sift_down(heap, count, at);
}

/* The root is the last: each turn puts it behind the others. */
static void take_apart(struct held *heap, uint64_t count) {
  while (count > 1) {
    const struct held last = heap[0];
    heap[0] = heap[--count];
    heap[count] = last;
    sift_down(heap, count, 0);
  }
}

/* The key of element i of a class: keys compare as elements do. */
static uint64_t key_of(const void *elements, uint64_t i, enum pto_class class_) {
  if (class_ == PTO_CLASS_F32) {
    uint32_t bits;
    const float value = ((const float *)elements)[i];
    if (value != value) return UINT32_MAX;
    if (value == 0) return UINT32_C(1) << 31;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 != 0 ? ~bits : bits | UINT32_C(1) << 31;
  }
  const uint64_t bits = ((const uint64_t *)elements)[i];
  return class_ == PTO_CLASS_I64 ? bits ^ UINT64_C(1) << 63 : bits;
}

/* ---- runs ---- */

struct work {
  const struct pto_kernel_tensor *x, *values, *indices;
  enum pto_class class_;
  bool is_descending;
  uint64_t length, k, steps[3]; /* elements of x, of the others; bytes from one to the next in each tensor */
  void *part;                   /* local */
  struct held *heap;            /* local */
};

/* The first k of the row at `x` into the heap, in order. */
static void choose(const struct work *work, const char *x) {
  uint64_t held = 0;
  for (uint64_t first = 0; first < work->length; first += ELEMS) {
    const uint64_t count = pto_min_u64(ELEMS, work->length - first);
    pto_loops_best()->load[work->class_][work->x->dtype](work->part, x + first * work->steps[X], work->steps[X], count);
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t key = key_of(work->part, i, work->class_);
      const struct held element = {work->is_descending ? ~key : key, first + i};
      if (held < work->k) {
        work->heap[held++] = element;
        if (held == work->k) make_heap(work->heap, held);
      } else if (is_after(work->heap[0], element)) {
        work->heap[0] = element;
        sift_down(work->heap, held, 0);
      }
    }
  }
  take_apart(work->heap, held);
}

static void store(const struct work *work, const char *x, char *values, char *indices) {
  const uint64_t size = pto_dtype_size(work->x->dtype);
  for (uint64_t i = 0; i < work->k; i++) {
    const int64_t at = (int64_t)work->heap[i].at;
    memcpy(values + i * work->steps[VALUES], x + (uint64_t)at * work->steps[X], size);
    pto_loops_best()->store[PTO_CLASS_I64][work->indices->dtype](&at, indices + i * work->steps[INDICES],
                                                                 work->steps[INDICES], 1);
  }
}

/* The rows: all dimensions but the axis. */
static void plan_rows(struct pto_row_plan *plan, const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint32_t axis = pto_row_axis(args);
  pto_row_plan_init(plan, t, 3);
  for (uint32_t d = 0; d < t[X].ndims; d++) {
    const uint64_t strides[] = {t[X].strides[d], t[VALUES].strides[d], t[INDICES].strides[d]};
    if (d != axis) pto_row_plan_add(plan, false, t[X].shape[d], strides);
  }
  pto_row_plan_finish(plan);
}

/* Local memory; none where there is nothing to choose. */
static uint64_t part_bytes(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X];
  if (pto_kernel_numel(&args->tensors[VALUES]) == 0) return 0;
  return pto_min_u64(ELEMS, x->shape[pto_row_axis(args)]) * pto_dtype_size(pto_class_dtype(pto_row_class(x->dtype)));
}
static uint64_t heap_bytes(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *values = &args->tensors[VALUES];
  return pto_kernel_numel(values) == 0 ? 0 : values->shape[pto_row_axis(args)] * HELD_BYTES;
}

static int run(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint32_t axis = pto_row_axis(args);
  struct pto_row_plan plan;
  struct pto_row_walk walk;
  struct pto_local local = pto_local_begin(&args->core->local);
  if (pto_kernel_numel(&t[VALUES]) == 0) return 0;
  struct work work = {.x = &t[X],
                      .values = &t[VALUES],
                      .indices = &t[INDICES],
                      .class_ = pto_row_class(t[X].dtype),
                      .is_descending = args->scalars[1].i64 != 0,
                      .length = t[X].shape[axis],
                      .k = t[VALUES].shape[axis],
                      .part = pto_local_take(&local, part_bytes(args)),
                      .heap = pto_local_take(&local, heap_bytes(args))};
  for (uint32_t i = 0; i < 3; i++) work.steps[i] = t[i].strides[axis] * pto_dtype_size(t[i].dtype);
  plan_rows(&plan, args);
  for (bool go = pto_row_walk_begin(&walk, &plan); go; go = pto_row_walk_next(&walk, &plan))
    for (uint64_t row = 0; row < plan.vec.extent; row++) {
      const char *x = walk.at[X] + row * plan.vec.steps[X];
      choose(&work, x);
      store(&work, x, walk.at[VALUES] + row * plan.vec.steps[VALUES], walk.at[INDICES] + row * plan.vec.steps[INDICES]);
    }
  return 0;
}

/* ---- checks and costs ---- */

static int top_k_check(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[X], *values = &args->tensors[VALUES];
  if (pto_check_row_axis(args, "top_k") != 0 || pto_check_same_dtype(args, "top_k", X, VALUES) != 0 ||
      pto_check_rank(args, "top_k", VALUES, x->ndims) != 0 || pto_check_same_shape(args, "top_k", VALUES, INDICES) != 0)
    return PTO_EKERNEL;
  const uint32_t axis = pto_row_axis(args);
  for (uint32_t d = 0; d < x->ndims; d++)
    if (d != axis && pto_check_same_size(args, "top_k", "extents", (struct pto_kernel_size){X, x->shape[d]},
                                         (struct pto_kernel_size){VALUES, values->shape[d]}) != 0)
      return PTO_EKERNEL;
  if (values->shape[axis] > x->shape[axis])
    return pto_kernel_error(args, "top_k: %" PRIu64 " elements of %" PRIu64 " along axis %" PRIu32 " (params 1 and 0)",
                            values->shape[axis], x->shape[axis], axis);
  if (args->tensors[INDICES].dtype == PTO_INT32 && x->shape[axis] > INT32_MAX)
    return pto_kernel_error(args, "top_k: places among %" PRIu64 " do not fit i32 (params 0 and 2)", x->shape[axis]);
  return 0;
}

/* An i32 has a place for every element that local memory holds. */
static int sort_check(const struct pto_kernel_args *args) {
  if (pto_check_row_axis(args, "sort") != 0 || pto_check_same_dtype(args, "sort", X, VALUES) != 0 ||
      pto_check_same_shape(args, "sort", X, VALUES) != 0 || pto_check_same_shape(args, "sort", X, INDICES) != 0)
    return PTO_EKERNEL;
  return 0;
}

/* Each element is compared with the root; taking the heap apart costs the logarithm of k comparisons for each of k. */
static struct pto_cost cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint64_t k = t[VALUES].shape[pto_row_axis(args)];
  uint64_t depth = 0;
  while (UINT64_C(1) << depth < k) depth++;
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(&t[X]),
                           .bytes_out = pto_kernel_bytes(&t[VALUES]) + pto_kernel_bytes(&t[INDICES]),
                           .vector_elems = pto_kernel_numel(&t[X]) + 2 * depth * pto_kernel_numel(&t[VALUES]),
                           .local_bytes = pto_local_bytes(part_bytes(args)) + pto_local_bytes(heap_bytes(args))};
}

/* ---- the kernels ---- */

#define ROWS_PARAM(name_, mode_, dtypes_)                                                                              \
  { .name = name_, .mode = mode_, .dtypes = dtypes_, .min_rank = 1 }
#define PARAMS(direction)                                                                                              \
  {                                                                                                                    \
    ROWS_PARAM("x", PTO_INPUT, PTO_DTYPES_NUMBER), ROWS_PARAM("values", PTO_OUTPUT, PTO_DTYPES_NUMBER),                \
        ROWS_PARAM("indices", PTO_OUTPUT, PTO_DTYPE_BIT(PTO_INT32) | PTO_DTYPE_BIT(PTO_INT64)),                        \
        {.name = "axis", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},                                                \
        {.name = direction, .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},                                             \
  }
static const struct pto_kernel_param top_k_params[] = PARAMS("largest");
static const struct pto_kernel_param sort_params[] = PARAMS("descending");
PTO_GENERAL_KERNEL(top_k, top_k_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = run, .cost = cost,
                   .check = top_k_check);
PTO_GENERAL_KERNEL(sort, sort_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = run, .cost = cost,
                   .check = sort_check);
