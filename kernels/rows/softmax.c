/* SPDX-License-Identifier: MIT */
/*
 * softmax and log_softmax (AIV) along one dimension:
 *
 *   m = max x, e = exp(x − m), l = Σe;   softmax: y = e · (1 / l)   log_softmax: y = (x − m) − log l
 *
 * Each operation is rounded to f32, the sum goes in the order of kernels/rows/fold.h, y is rounded once on store.  A
 * row with a NaN or a +∞, and a row of nothing but −∞, is NaN throughout; any other −∞ has weight 0.  The result may
 * overwrite x. A row that local memory does not hold is read three times, and its exponentials are computed twice.  Any
 * thread.
 */
#include <kernels/api/list.h>
#include <kernels/api/math.h>
#include <kernels/api/shape.h>
#include <kernels/rows/axis.h>
#include <kernels/rows/fold.h>
#include <runtime/base/base.h>

/* The exponentials in place of the rows, or in the rows of y: where there is room for all of them. */
static bool has_room(const struct pto_row_work *work, const struct pto_row_group *group) {
  return group->x.data != NULL &&
         (pto_row_is_in_place(work->plan, 1, PTO_CLASS_F32) || work->plan->length <= PTO_ROW_ELEMS / group->cols);
}

static void softmax_group(const struct pto_row_work *work, const struct pto_row_group *group) {
  const struct pto_row_plan *plan = work->plan;
  const struct pto_row_part whole = {0, plan->length, group->col, group->cols};
  float *m = work->a, *l = work->b;
  pto_rows_fold(work, group, PTO_FOLD_max, NULL, m);
  if (!has_room(work, group)) {
    pto_rows_fold(work, group, PTO_FOLD_sum_exp, m, l);
    pto_values_map(work, PTO_MAP_reciprocal, l, NULL, 0, group->cols);
    pto_rows_map(work, group, PTO_MAP_exp_less_times, m, l, 1);
    return;
  }
  const struct pto_row_view e = pto_row_target(plan, 1, group->at[1], &whole, PTO_CLASS_F32, work->x);
  pto_view_map(work, group->x, e, &whole, PTO_MAP_exp_less, m, NULL);
  pto_view_fold(work, e, plan->length, group->cols, PTO_FOLD_sum, NULL, l);
  pto_values_map(work, PTO_MAP_reciprocal, l, NULL, 0, group->cols);
  pto_view_map(work, e, e, &whole, PTO_MAP_times, l, NULL);
  pto_row_write(plan, 1, group->at[1], &whole, PTO_CLASS_F32, e);
}

static void log_softmax_group(const struct pto_row_work *work, const struct pto_row_group *group) {
  float *m = work->a, *l = work->b;
  pto_rows_fold(work, group, PTO_FOLD_max, NULL, m);
  pto_rows_fold(work, group, PTO_FOLD_sum_exp, m, l);
  for (uint64_t j = 0; j < group->cols; j++) l[j] = log_f32(l[j]);
  pto_rows_map(work, group, PTO_MAP_less_less, m, l, 1);
}

static int run(const struct pto_kernel_args *args,
               void (*run_group)(const struct pto_row_work *work, const struct pto_row_group *group)) {
  struct pto_row_plan plan;
  struct pto_row_walk walk;
  struct pto_row_work work = {.plan = &plan, .keeps_rows = true};
  struct pto_local local = pto_local_begin(&args->core->local);
  if (pto_kernel_numel(&args->tensors[1]) == 0) return 0;
  pto_row_plan_make(&plan, args->tensors, 2, 1u << pto_row_axis(args));
  pto_row_work_init(&work, &local);
  for (bool go = pto_row_walk_begin(&walk, &plan); go; go = pto_row_walk_next(&walk, &plan))
    for (uint64_t col = 0, cols; col < plan.vec.extent; col += cols) {
      cols = pto_row_group_size(&work, col);
      const struct pto_row_group group = pto_rows_begin(&work, walk.at, col, cols);
      run_group(&work, &group);
    }
  return 0;
}

static int check(const struct pto_kernel_args *args, const char *kernel) {
  const int status = pto_check_same_shape(args, kernel, 0, 1);
  return status != 0 ? status : pto_check_row_axis(args, kernel);
}

/* An element takes a maximum, a difference, an exponential and a sum, and of softmax a product; of log_softmax two more
 * differences.  A row takes one more. */
static struct pto_cost cost(const struct pto_kernel_args *args, uint32_t elem_ops) {
  const struct pto_kernel_tensor *y = &args->tensors[1];
  struct pto_row_plan plan;
  pto_row_plan_make(&plan, args->tensors, 2, 1u << pto_row_axis(args));
  return (struct pto_cost){.bytes_in = pto_kernel_bytes(&args->tensors[0]) * pto_row_reads(&plan, 3),
                           .bytes_out = pto_kernel_bytes(y),
                           .vector_elems = pto_kernel_numel(y) * elem_ops + (plan.length == 0 ? 0 : plan.row_count),
                           .local_bytes = pto_row_work_bytes(&plan, true, 0)};
}

static int softmax_run(const struct pto_kernel_args *args) { return run(args, softmax_group); }
static int softmax_check(const struct pto_kernel_args *args) { return check(args, "softmax"); }
static struct pto_cost softmax_cost(const struct pto_kernel_args *args) { return cost(args, 5); }
static int log_softmax_run(const struct pto_kernel_args *args) { return run(args, log_softmax_group); }
static int log_softmax_check(const struct pto_kernel_args *args) { return check(args, "log_softmax"); }
static struct pto_cost log_softmax_cost(const struct pto_kernel_args *args) { return cost(args, 6); }

static const struct pto_kernel_param params[] = {
    {.name = "x", .mode = PTO_INPUT, .dtypes = PTO_DTYPES_FLOAT, .min_rank = 1},
    {.name = "y", .mode = PTO_OUTPUT, .dtypes = PTO_DTYPES_FLOAT, .min_rank = 1},
    {.name = "axis", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_I64},
};
PTO_GENERAL_KERNEL(softmax, params, .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,
                   .run = softmax_run, .cost = softmax_cost, .check = softmax_check);
PTO_GENERAL_KERNEL(log_softmax, params, .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,
                   .run = log_softmax_run, .cost = log_softmax_cost, .check = log_softmax_check);
