/* SPDX-License-Identifier: MIT */
/*
 * arg_max and arg_min (AIV): y is where along one dimension x is largest, or smallest.
 *
 * y has extent 1 in that dimension and is i32 or i64.  Of equals the first counts, +0 and −0 being equal; a NaN is
 * larger and smaller than any number, so the first NaN counts where there is one.  Integers compare as what they are.
 * A dimension without elements is refused.  Results depend on the elements alone and are the same everywhere.
 *
 * The largest is found first, then the place of it: two readings of a row that local memory does not hold.  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/api/local.h>
#include <kernels/api/shape.h>
#include <kernels/rows/axis.h>
#include <kernels/rows/loops.h>
#include <kernels/rows/plan.h>
#include <runtime/base/base.h>

#include <string.h>

#define ELEMS UINT64_C(16384)   /* elements of x in local memory at a time: at most 128 KiB */
#define WIDTH UINT64_C(64)      /* rows side by side at a time */
#define LEAST_WIDTH UINT64_C(8) /* and where only so few of them fit */
#define SHAPE_TEXT 192          /* eight 20-digit extents, commas, brackets */

/* All of it in local memory, by row of a group. */
struct work {
  const struct pto_row_plan *plan;
  const struct pto_row_loops *loops;
  enum pto_class class_;
  enum pto_fold fold;
  uint64_t width, part;
  void *x, *lanes, *best;
  uint32_t *at; /* within a part */
  int64_t *results;
};

/* Whatever vec has, as many rows as stay in local memory, if any do. */
static uint64_t full_width(const struct pto_row_plan *plan) {
  uint64_t width = WIDTH;
  if (!plan->is_across) return pto_max_u64(1, pto_min_u64(WIDTH, ELEMS / pto_max_u64(plan->length, 1)));
  if (plan->length > ELEMS / LEAST_WIDTH) return width;
  while (width * plan->length > ELEMS) width /= 2;
  return width;
}
static uint64_t width_of(const struct pto_row_plan *plan) { return pto_min_u64(full_width(plan), plan->vec.extent); }
static uint64_t elems_of(const struct pto_row_plan *plan) {
  return plan->length > ELEMS ? ELEMS : pto_min_u64(ELEMS, plan->length * width_of(plan));
}
static uint64_t local_bytes(const struct pto_row_plan *plan, uint64_t size) {
  const uint64_t width = width_of(plan);
  return pto_local_bytes(elems_of(plan) * size) +
         pto_local_bytes(PTO_SUM_LANES * pto_fold_pitch(width) * sizeof(float)) + pto_local_bytes(width * size) +
         pto_local_bytes(width * sizeof(uint32_t)) + pto_local_bytes(width * sizeof(int64_t));
}

/* Along: the elements of row j of the group. */
static const void *row_of(const struct work *work, const struct pto_row_view *x, uint64_t j) {
  return (const char *)x->data + (int64_t)j * x->pitch * (int64_t)pto_dtype_size(pto_class_dtype(work->class_));
}

/* best = best joined with the part.  A maximum has no order, so neither blocks nor lanes matter but for speed. */
static void join(const struct work *work, const struct pto_row_view *x, const struct pto_row_part *part) {
  const struct pto_row_loops *loops = work->loops;
  const struct pto_panel panel = {x->data, x->pitch, part->count, part->cols};
  const bool is_across = work->plan->is_across;
  if (work->class_ != PTO_CLASS_F32) {
    int64_t *best = work->best;
    if (is_across) {
      loops->whole_across[work->class_][work->fold](best, &panel);
      return;
    }
    for (uint64_t j = 0; j < part->cols; j++)
      best[j] = loops->whole_along[work->class_][work->fold](row_of(work, x, j), part->count, best[j]);
    return;
  }
  float *best = work->best, *lanes = work->lanes, *joined = lanes + pto_fold_pitch(part->cols);
  if (is_across) {
    const struct pto_fold_part all = {
        .x = panel, .a = best, .begins = true, .ends = true, .lanes = lanes, .results = joined};
    loops->fold_across[work->fold](&all);
  } else {
    loops->fold_along[work->fold](joined, &panel, best);
  }
  loops->fold_join[work->fold](best, best, joined, part->cols);
}

/* Where the part has what results[j] does not know yet; answers whether all are known. */
static bool find(const struct work *work, const struct pto_row_view *x, const struct pto_row_part *part) {
  bool is_done = true;
  if (work->plan->is_across) {
    const struct pto_panel panel = {x->data, x->pitch, part->count, part->cols};
    for (uint64_t j = 0; j < part->cols; j++) work->at[j] = UINT32_MAX;
    work->loops->find_across[work->class_](work->at, &panel, work->best);
  } else {
    const uint64_t size = pto_dtype_size(pto_class_dtype(work->class_));
    for (uint64_t j = 0; j < part->cols; j++) {
      union pto_scalar value = {0};
      memcpy(&value, (const char *)work->best + j * size, size);
      const uint64_t at = work->loops->find_along[work->class_](row_of(work, x, j), part->count, value);
      work->at[j] = at == part->count ? UINT32_MAX : (uint32_t)at;
    }
  }
  for (uint64_t j = 0; j < part->cols; j++) {
    if (work->results[j] < 0 && work->at[j] != UINT32_MAX) work->results[j] = (int64_t)(part->first + work->at[j]);
    is_done = is_done && work->results[j] >= 0;
  }
  return is_done;
}

static void run_group(const struct work *work, char *at, uint64_t col, uint64_t cols) {
  const struct pto_row_plan *plan = work->plan;
  struct pto_row_view x = {NULL, 0};
  for (uint64_t first = 0; first < plan->length; first += work->part) {
    const struct pto_row_part part = {first, pto_min_u64(work->part, plan->length - first), col, cols};
    x = pto_row_read(plan, 0, at, &part, work->class_, work->x);
    join(work, &x, &part);
  }
  for (uint64_t j = 0; j < cols; j++) work->results[j] = -1;
  for (uint64_t first = 0; first < plan->length; first += work->part) {
    const struct pto_row_part part = {first, pto_min_u64(work->part, plan->length - first), col, cols};
    if (plan->length > work->part) x = pto_row_read(plan, 0, at, &part, work->class_, work->x);
    if (find(work, &x, &part)) return;
  }
}

static void set_worst(const struct work *work, uint64_t cols) {
  const bool is_max = work->fold == PTO_FOLD_max;
  for (uint64_t j = 0; j < cols; j++) {
    if (work->class_ == PTO_CLASS_F32)
      ((float *)work->best)[j] = pto_fold_neutral(work->fold);
    else if (work->class_ == PTO_CLASS_I64)
      ((int64_t *)work->best)[j] = is_max ? INT64_MIN : INT64_MAX;
    else
      ((uint64_t *)work->best)[j] = is_max ? 0 : UINT64_MAX;
  }
}

static int run(const struct pto_kernel_args *args, enum pto_fold fold) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  struct pto_row_plan plan;
  struct pto_row_walk walk;
  struct pto_local local = pto_local_begin(&args->core->local);
  if (pto_kernel_numel(y) == 0) return 0;
  pto_row_plan_make(&plan, args->tensors, 2, 1u << pto_row_axis(args));
  struct work work = {.plan = &plan,
                      .loops = pto_row_loops_best(),
                      .class_ = pto_row_class(x->dtype),
                      .fold = fold,
                      .width = width_of(&plan),
                      .part = plan.is_across ? ELEMS / full_width(&plan) : ELEMS};
  const uint64_t size = pto_dtype_size(pto_class_dtype(work.class_));
  work.x = pto_local_take(&local, elems_of(&plan) * size);
  work.lanes = pto_local_take(&local, PTO_SUM_LANES * pto_fold_pitch(work.width) * sizeof(float));
  work.best = pto_local_take(&local, work.width * size);
  work.at = pto_local_take(&local, work.width * sizeof(uint32_t));
  work.results = pto_local_take(&local, work.width * sizeof(int64_t));
  for (bool go = pto_row_walk_begin(&walk, &plan); go; go = pto_row_walk_next(&walk, &plan))
    for (uint64_t col = 0, cols; col < plan.vec.extent; col += cols) {
      cols = pto_min_u64(work.width, plan.vec.extent - col);
      set_worst(&work, cols);
      run_group(&work, walk.at[0], col, cols);
      pto_loops_best()->store[PTO_CLASS_I64][y->dtype](work.results, walk.at[1] + col * plan.vec.steps[1],
                                                       plan.vec.steps[1], cols);
    }
  return 0;
}

static int check(const struct pto_kernel_args *args, const char *kernel) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  if (pto_check_row_axis(args, kernel) != 0) return PTO_EKERNEL;
  const uint32_t axis = pto_row_axis(args);
  bool fits = x->ndims == y->ndims;
  for (uint32_t d = 0; fits && d < x->ndims; d++) fits = y->shape[d] == (d == axis ? 1 : x->shape[d]);
  if (!fits) {
    char x_text[SHAPE_TEXT], y_text[SHAPE_TEXT];
    pto_format_shape(x, x_text, sizeof x_text);
    pto_format_shape(y, y_text, sizeof y_text);
    return pto_kernel_error(args, "%s: shape %s along axis %" PRIu32 " does not reduce to %s (params 0 and 1)", kernel,
                            x_text, axis, y_text);
  }
  if (x->shape[axis] == 0)
    return pto_kernel_error(args, "%s: axis %" PRIu32 " has no elements (param 0)", kernel, axis);
  if (y->dtype == PTO_INT32 && x->shape[axis] > INT32_MAX)
    return pto_kernel_error(args, "%s: places among %" PRIu64 " do not fit i32 (params 0 and 1)", kernel,
                            x->shape[axis]);
  return 0;
}

/* A comparison for the largest and one for its place. */
static struct pto_cost cost(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  struct pto_row_plan plan;
  pto_row_plan_make(&plan, args->tensors, 2, 1u << pto_row_axis(args));
  const uint64_t reads = plan.length <= (plan.is_across ? ELEMS / full_width(&plan) : ELEMS) ? 1 : 2;
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(x) * reads,
                           .bytes_out = pto_kernel_bytes(y),
                           .vector_elems = 2 * pto_kernel_numel(x),
                           .local_bytes = local_bytes(&plan, pto_dtype_size(pto_class_dtype(pto_row_class(x->dtype))))};
}

static int arg_max_run(const struct pto_kernel_args *args) { return run(args, PTO_FOLD_max); }
static int arg_max_check(const struct pto_kernel_args *args) { return check(args, "arg_max"); }
static int arg_min_run(const struct pto_kernel_args *args) { return run(args, PTO_FOLD_min); }
static int arg_min_check(const struct pto_kernel_args *args) { return check(args, "arg_min"); }

static const struct pto_kernel_param params[] = {
    {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_NUMBER, .min_rank = 1},
    {.name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPE_BIT(PTO_INT32) | PTO_DTYPE_BIT(PTO_INT64), .min_rank = 1},
    {.name = "axis", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},
};
PTO_GENERAL_KERNEL(arg_max, params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = arg_max_run, .cost = cost,
                   .check = arg_max_check);
PTO_GENERAL_KERNEL(arg_min, params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = arg_min_run, .cost = cost,
                   .check = arg_min_check);
