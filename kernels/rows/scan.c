/* SPDX-License-Identifier: MIT */
/*
 * cumulative_sum, cumulative_product (AIV): y[i] = x[0] + … + x[i], or x[0] · … · x[i], along one dimension.
 *
 *   axis       −rank ≤ axis < rank
 *   exclusive  not 0: without x[i] itself, so y[0] = 0, or 1
 *   reversed   not 0: from the last element on
 *
 * Floats mix freely, are joined in f32 and rounded on store; integers wrap, and y is of x's dtype or of any integer
 * dtype that is no narrower.  The order of a float sum or product is that of kernels/rows/loops.h: groups of 16
 * elements from where it begins, each by doubling, then joined to what there is so far.  So y[i] depends on the
 * elements that it joins alone: a sum's error is within (⌈(i + 1) / 16⌉ + 4) · 2^-24 of the sum of their magnitudes, a
 * product's within (1 + 2^-24)^i − 1 of itself, before the store, where no partial product leaves the range of normal
 * numbers.  y may overwrite x.  Any thread.
 *
 * To add one: a line in PTO_SCAN_LIST of kernels/rows/loops.h, and its kernel below.
 */
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/api/shape.h>
#include <kernels/rows/axis.h>
#include <kernels/rows/loops.h>
#include <kernels/rows/plan.h>
#include <runtime/base/base.h>

#include <string.h>

#define ELEMS UINT64_C(4096) /* elements of x, and of y, in local memory at a time: at most 32 KiB each */
#define WIDTH UINT64_C(64)   /* rows side by side at a time */
_Static_assert(ELEMS / WIDTH % PTO_SUM_LANES == 0, "groups go on from part to part");

struct work {
  const struct pto_row_plan *plan;
  const struct pto_row_loops *loops;
  enum pto_scan scan;
  enum pto_class class_;
  uint64_t size, part;
  bool is_exclusive, is_reversed;
  char *x, *y, *carry; /* y: one element a row more, before the others */
};

static uint64_t width_of(const struct pto_row_plan *plan) {
  return plan->is_across ? pto_min_u64(WIDTH, plan->vec.extent) : 1;
}
static uint64_t elems_of(const struct pto_row_plan *plan) {
  return plan->length > ELEMS ? ELEMS : pto_min_u64(ELEMS, plan->length * width_of(plan));
}
static uint64_t local_bytes(const struct pto_row_plan *plan, uint64_t size) {
  const uint64_t width = width_of(plan);
  return pto_local_bytes(elems_of(plan) * size) + pto_local_bytes((elems_of(plan) + width) * size) +
         pto_local_bytes(width * size);
}

/* The elements of one row in `buffer`, the other way round. */
static void reverse(char *buffer, uint64_t count, uint64_t size) {
  for (uint64_t i = 0, j = count; i + 1 < j--; i++) {
    uint64_t a, b;
    memcpy(&a, buffer + i * size, size);
    memcpy(&b, buffer + j * size, size);
    memcpy(buffer + i * size, &b, size);
    memcpy(buffer + j * size, &a, size);
  }
}

/* Along: the part in the order of the sum, in x. */
static void scan_row(const struct work *work, char *const *at, const struct pto_row_part *part) {
  const struct pto_row_plan *plan = work->plan;
  const struct pto_row_view x = pto_row_load(plan, 0, at[0], part, work->class_, work->x);
  if (work->is_reversed) reverse(x.data, part->count, work->size);
  memcpy(work->y, work->carry, work->size);
  work->loops->scan_along[work->scan][work->class_](work->y + work->size, x.data, part->count, work->carry);
  struct pto_row_view y = {work->is_exclusive ? work->y : work->y + work->size, 1};
  if (work->is_reversed) reverse(y.data, part->count, work->size);
  pto_row_write(plan, 1, at[1], part, work->class_, y);
}

/* Across: the last element first where the sum goes backwards. */
static void scan_panel(const struct work *work, char *const *at, const struct pto_row_part *part) {
  const struct pto_row_plan *plan = work->plan;
  const uint64_t row_bytes = part->cols * work->size;
  const struct pto_row_view x = pto_row_read(plan, 0, at[0], part, work->class_, work->x);
  const int64_t last = (int64_t)(part->count - 1) * x.pitch * (int64_t)work->size;
  const struct pto_panel panel = {(char *)x.data + (work->is_reversed ? last : 0),
                                  work->is_reversed ? -x.pitch : x.pitch, part->count, part->cols};
  memcpy(work->y, work->carry, row_bytes);
  work->loops->scan_across[work->scan][work->class_](work->y + row_bytes, &panel, work->carry);
  char *first = work->is_exclusive ? work->y : work->y + row_bytes;
  const int64_t cols = (int64_t)part->cols;
  const struct pto_row_view y = {first, cols}, backwards = {first + (part->count - 1) * row_bytes, -cols};
  pto_row_write(plan, 1, at[1], part, work->class_, work->is_reversed ? backwards : y);
}

/* What a running fold begins with. */
static void set_neutral(const struct work *work, uint64_t cols) {
#define X(name, op, neutral) [PTO_SCAN_##name] = neutral,
  static const uint8_t neutrals[] = {PTO_SCAN_LIST(X)};
#undef X
  for (uint64_t j = 0; j < cols; j++) {
    if (work->class_ == PTO_CLASS_F32)
      ((float *)(void *)work->carry)[j] = neutrals[work->scan];
    else
      ((uint64_t *)(void *)work->carry)[j] = neutrals[work->scan];
  }
}

static void scan_group(const struct work *work, char *const *at, uint64_t col, uint64_t cols) {
  const uint64_t length = work->plan->length;
  set_neutral(work, cols);
  for (uint64_t done = 0; done < length; done += work->part) {
    const uint64_t count = pto_min_u64(work->part, length - done);
    const struct pto_row_part part = {work->is_reversed ? length - done - count : done, count, col, cols};
    if (work->plan->is_across)
      scan_panel(work, at, &part);
    else
      scan_row(work, at, &part);
  }
}

static int run(const struct pto_kernel_args *args, enum pto_scan scan) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  struct pto_row_plan plan;
  struct pto_row_walk walk;
  struct pto_local local = pto_local_begin(&args->core->local);
  if (pto_kernel_numel(y) == 0) return 0;
  pto_row_plan_make(&plan, args->tensors, 2, 1u << pto_row_axis(args));
  struct work work = {.plan = &plan,
                      .loops = pto_row_loops_best(),
                      .scan = scan,
                      .class_ = pto_row_class(x->dtype),
                      .size = pto_dtype_size(pto_class_dtype(pto_row_class(x->dtype))),
                      .part = plan.is_across ? ELEMS / WIDTH : ELEMS,
                      .is_exclusive = args->scalars[1].i64 != 0,
                      .is_reversed = args->scalars[2].i64 != 0};
  work.x = pto_local_take(&local, elems_of(&plan) * work.size);
  work.y = pto_local_take(&local, (elems_of(&plan) + width_of(&plan)) * work.size);
  work.carry = pto_local_take(&local, width_of(&plan) * work.size);
  for (bool go = pto_row_walk_begin(&walk, &plan); go; go = pto_row_walk_next(&walk, &plan))
    for (uint64_t col = 0, cols; col < plan.vec.extent; col += cols) {
      cols = pto_min_u64(width_of(&plan), plan.vec.extent - col);
      scan_group(&work, walk.at, col, cols);
    }
  return 0;
}

static int check(const struct pto_kernel_args *args, const char *kernel) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  const bool has_float = (PTO_DTYPE_BIT(x->dtype) & PTO_DTYPES_FLOAT) != 0;
  const bool gives_float = (PTO_DTYPE_BIT(y->dtype) & PTO_DTYPES_FLOAT) != 0;
  if (pto_check_same_shape(args, kernel, 0, 1) != 0) return PTO_EKERNEL;
  if (has_float != gives_float ||
      (!has_float && x->dtype != y->dtype && pto_dtype_bits(y->dtype) < pto_dtype_bits(x->dtype)))
    return pto_kernel_error(args, "%s: %s does not add up to %s (params 0 and 1)", kernel, pto_dtype_name(x->dtype),
                            pto_dtype_name(y->dtype));
  return pto_check_row_axis(args, kernel);
}

/* Four steps of doubling and one with what there is so far. */
static struct pto_cost cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  struct pto_row_plan plan;
  pto_row_plan_make(&plan, args->tensors, 2, 1u << pto_row_axis(args));
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(x),
                           .bytes_out = pto_kernel_bytes(y),
                           .vector_elems = 5 * pto_kernel_numel(x),
                           .local_bytes = local_bytes(&plan, pto_dtype_size(pto_class_dtype(pto_row_class(x->dtype))))};
}

static const struct pto_kernel_param params[] = {
    {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_NUMBER, .min_rank = 1},
    {.name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_NUMBER, .min_rank = 1},
    {.name = "axis", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},
    {.name = "exclusive", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},
    {.name = "reversed", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},
};

static int sum_run(const struct pto_kernel_args *args) { return run(args, PTO_SCAN_sum); }
static int sum_check(const struct pto_kernel_args *args) { return check(args, "cumulative_sum"); }
static int product_run(const struct pto_kernel_args *args) { return run(args, PTO_SCAN_product); }
static int product_check(const struct pto_kernel_args *args) { return check(args, "cumulative_product"); }

PTO_GENERAL_KERNEL(cumulative_sum, params, .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,
                   .run = sum_run, .cost = cost, .check = sum_check);
PTO_GENERAL_KERNEL(cumulative_product, params, .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,
                   .run = product_run, .cost = cost, .check = product_check);
