/* SPDX-License-Identifier: MIT */
/*
 * Normalisations (AIV), each over the rows that its name says:
 *
 *   layernorm      rows: the last dimensions of x, as many as scale has          y = ((x − μ)·r)·scale + bias
 *   rmsnorm        the same                                                      y = (x·r)·weight
 *   instance_norm  x [n, c, …], scale and bias [c]; rows: all after the second   as layernorm
 *   group_norm     the same; rows: channels in `groups` equal groups, and all after them
 *   batch_norm     x [n, c, …], mean, variance, scale, bias [c]                  y = ((x − mean)·r)·scale + bias
 *
 *   μ = Σx / n, v = Σ(x − μ)² / n, r = 1 / √(v + eps);   rmsnorm: r = 1 / √(Σx² / n + eps)
 *
 * Sums go in the order of kernels/rows/fold.h; μ, v and each further operation are rounded to f32 but for r, which is
 * computed in double and rounded once; y is rounded once on store.  So one NaN or ∞ makes its row NaN, and a variance
 * beyond f32 makes r 0 and y bias.  y may be x.  A row that local memory does not hold is read three times (rmsnorm:
 * twice).  Any thread.
 */
#include <kernels/api/list.h>
#include <kernels/api/shape.h>
#include <kernels/rows/fold.h>
#include <runtime/base/base.h>

#include <inttypes.h>

#define SHAPE_TEXT 192 /* eight 20-digit extents, commas, brackets */

enum { X, SCALE, BIAS };

/* ---- rows with their own mean and variance ---- */

typedef void normalize_group(const struct pto_row_work *work, const struct pto_row_group *group, double eps);

static void layernorm_group(const struct pto_row_work *work, const struct pto_row_group *group, double eps) {
  const double n = (double)work->plan->length;
  pto_rows_fold(work, group, PTO_FOLD_sum, NULL, work->a);
  work->loops->divide_values(work->a, group->cols, n);
  pto_rows_fold(work, group, PTO_FOLD_sum_square_about, work->a, work->b);
  work->loops->invert_roots(work->b, group->cols, n, eps);
  pto_rows_map(work, group, PTO_MAP_normal_scaled_shifted, work->a, work->b, 3);
}

static void rmsnorm_group(const struct pto_row_work *work, const struct pto_row_group *group, double eps) {
  pto_rows_fold(work, group, PTO_FOLD_sum_square, NULL, work->b);
  work->loops->invert_roots(work->b, group->cols, (double)work->plan->length, eps);
  pto_rows_map(work, group, PTO_MAP_times_scaled, NULL, work->b, 2);
}

/* The tensors of the plan are x, the operands of a row's elements, y. */
static int run_rows(const struct pto_kernel_args *args, const struct pto_row_plan *plan, normalize_group *run_group) {
  struct pto_row_walk walk;
  struct pto_row_work work = {.plan = plan, .keeps_rows = true, .operand_count = plan->tensor_count - 2};
  struct pto_local local = pto_local_begin(&args->core->local);
  if (plan->length == 0 || plan->row_count == 0) return 0;
  pto_row_work_init(&work, &local);
  for (bool go = pto_row_walk_begin(&walk, plan); go; go = pto_row_walk_next(&walk, plan))
    for (uint64_t col = 0, cols; col < plan->vec.extent; col += cols) {
      cols = pto_row_group_size(&work, col);
      const struct pto_row_group group = pto_rows_begin(&work, walk.at, col, cols);
      run_group(&work, &group, (double)args->scalars[args->scalar_count - 1].f32);
    }
  return 0;
}

static struct pto_cost rows_cost(const struct pto_kernel_args *args, const struct pto_row_plan *plan, uint32_t elem_ops,
                                 uint32_t pass_count) {
  const uint32_t last = args->tensor_count - 1;
  struct pto_cost cost = {.bytes_in = pto_kernel_bytes(&args->tensors[X]) * pto_row_reads(plan, pass_count),
                          .bytes_out = pto_kernel_bytes(&args->tensors[last]),
                          .vector_elems = pto_kernel_numel(&args->tensors[X]) * elem_ops +
                                          (plan->length == 0 ? 0 : plan->row_count * elem_ops),
                          .local_bytes = pto_row_work_bytes(plan, true, plan->tensor_count - 2)};
  for (uint32_t i = 1; i < last; i++) cost.bytes_in += pto_kernel_bytes(&args->tensors[i]);
  return cost;
}

/* ---- layernorm, rmsnorm ---- */

/* The last dimensions of x, as many as the operands have, are a row. */
static void plan_last(struct pto_row_plan *plan, const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint32_t before = t[X].ndims - t[SCALE].ndims, last = args->tensor_count - 1;
  pto_row_plan_init(plan, t, args->tensor_count);
  for (uint32_t d = 0; d < t[X].ndims; d++) {
    uint64_t strides[PTO_ROW_TENSORS] = {0};
    for (uint32_t i = 0; i <= last; i++) {
      const bool is_operand = i != X && i != last;
      if (!is_operand) strides[i] = t[i].strides[d];
      if (is_operand && d >= before) strides[i] = t[i].strides[d - before];
    }
    pto_row_plan_add(plan, d >= before, t[X].shape[d], strides);
  }
  pto_row_plan_finish(plan);
}

static int check_last(const struct pto_kernel_args *args, const char *kernel) {
  const struct pto_kernel_tensor *x = &args->tensors[X];
  const uint32_t last = args->tensor_count - 1;
  if (pto_check_same_shape(args, kernel, X, last) != 0) return PTO_EKERNEL;
  for (uint32_t i = 1; i < last; i++) {
    const struct pto_kernel_tensor *t = &args->tensors[i];
    bool is_tail = t->ndims <= x->ndims && t->ndims == args->tensors[SCALE].ndims;
    for (uint32_t d = 0; is_tail && d < t->ndims; d++) is_tail = t->shape[d] == x->shape[x->ndims - t->ndims + d];
    if (is_tail) continue;
    char x_text[SHAPE_TEXT], text[SHAPE_TEXT];
    pto_format_shape(x, x_text, sizeof x_text);
    pto_format_shape(t, text, sizeof text);
    return pto_kernel_error(args, "%s: %s is not the last dimensions of %s (params %" PRIu32 " and 0)", kernel, text,
                            x_text, i);
  }
  return 0;
}

static int run_last(const struct pto_kernel_args *args, normalize_group *run_group) {
  struct pto_row_plan plan;
  plan_last(&plan, args);
  return run_rows(args, &plan, run_group);
}

static int layernorm_run(const struct pto_kernel_args *args) { return run_last(args, layernorm_group); }
static int layernorm_check(const struct pto_kernel_args *args) { return check_last(args, "layernorm"); }
/* The mean, a difference, a square and its sum, and four more. */
static struct pto_cost layernorm_cost(const struct pto_kernel_args *args) {
  struct pto_row_plan plan;
  plan_last(&plan, args);
  return rows_cost(args, &plan, 8, 3);
}

static int rmsnorm_run(const struct pto_kernel_args *args) { return run_last(args, rmsnorm_group); }
static int rmsnorm_check(const struct pto_kernel_args *args) { return check_last(args, "rmsnorm"); }
/* A square and its sum, and two products. */
static struct pto_cost rmsnorm_cost(const struct pto_kernel_args *args) {
  struct pto_row_plan plan;
  plan_last(&plan, args);
  return rows_cost(args, &plan, 4, 2);
}

/* ---- instance_norm, group_norm ---- */

/* A row: the channels of one of `groups` groups, and all dimensions after them. */
static void plan_channels(struct pto_row_plan *plan, const struct pto_kernel_args *args, uint64_t groups) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint32_t last = args->tensor_count - 1;
  const uint64_t channels = groups == 0 ? 0 : t[X].shape[1] / groups;
  pto_row_plan_init(plan, t, args->tensor_count);
  for (uint32_t d = 0; d < t[X].ndims; d++) {
    uint64_t strides[PTO_ROW_TENSORS] = {0}, of_group[PTO_ROW_TENSORS];
    for (uint32_t i = 0; i <= last; i++) {
      if (i == X || i == last) strides[i] = t[i].strides[d];
      if (i != X && i != last && d == 1) strides[i] = t[i].strides[0];
      of_group[i] = strides[i] * channels;
    }
    if (d == 1) pto_row_plan_add(plan, false, groups, of_group);
    pto_row_plan_add(plan, d > 0, d == 1 ? channels : t[X].shape[d], strides);
  }
  pto_row_plan_finish(plan);
}

static int check_channels(const struct pto_kernel_args *args, const char *kernel) {
  const uint32_t last = args->tensor_count - 1;
  if (pto_check_same_shape(args, kernel, X, last) != 0) return PTO_EKERNEL;
  for (uint32_t i = 1; i < last; i++)
    if (pto_check_same_size(args, kernel, "channels", (struct pto_kernel_size){X, args->tensors[X].shape[1]},
                            (struct pto_kernel_size){i, args->tensors[i].shape[0]}) != 0)
      return PTO_EKERNEL;
  return 0;
}

static int instance_norm_run(const struct pto_kernel_args *args) {
  struct pto_row_plan plan;
  plan_channels(&plan, args, args->tensors[X].shape[1]);
  return run_rows(args, &plan, layernorm_group);
}
static int instance_norm_check(const struct pto_kernel_args *args) { return check_channels(args, "instance_norm"); }
static struct pto_cost instance_norm_cost(const struct pto_kernel_args *args) {
  struct pto_row_plan plan;
  plan_channels(&plan, args, args->tensors[X].shape[1]);
  return rows_cost(args, &plan, 8, 3);
}

static int group_norm_run(const struct pto_kernel_args *args) {
  struct pto_row_plan plan;
  plan_channels(&plan, args, args->scalars[0].u64);
  return run_rows(args, &plan, layernorm_group);
}
static int group_norm_check(const struct pto_kernel_args *args) {
  const uint64_t groups = args->scalars[0].u64, channels = args->tensors[X].shape[1];
  if (check_channels(args, "group_norm") != 0) return PTO_EKERNEL;
  if (groups > 0 && channels % groups == 0) return 0;
  return pto_kernel_error(args, "group_norm: %" PRIu64 " channels are no %" PRIu64 " equal groups (params 0 and 4)",
                          channels, groups);
}
static struct pto_cost group_norm_cost(const struct pto_kernel_args *args) {
  struct pto_row_plan plan;
  plan_channels(&plan, args, args->scalars[0].u64);
  return rows_cost(args, &plan, 8, 3);
}

/* ---- batch_norm ---- */

enum { MEAN = 1, VARIANCE, BATCH_SCALE, BATCH_BIAS, Y };

/* A row: a channel.  The plan's tensors are x, scale, bias, y, mean, variance. */
static void plan_batch(struct pto_row_plan *plan, const struct pto_kernel_args *args) {
  static const uint32_t order[PTO_ROW_TENSORS] = {X, BATCH_SCALE, BATCH_BIAS, Y, MEAN, VARIANCE};
  struct pto_kernel_tensor t[PTO_ROW_TENSORS];
  for (uint32_t i = 0; i < PTO_ROW_TENSORS; i++) t[i] = args->tensors[order[i]];
  pto_row_plan_init(plan, t, PTO_ROW_TENSORS);
  for (uint32_t d = 0; d < t[0].ndims; d++) {
    uint64_t strides[PTO_ROW_TENSORS] = {0};
    for (uint32_t i = 0; i < PTO_ROW_TENSORS; i++) {
      if (order[i] == X || order[i] == Y) strides[i] = t[i].strides[d];
      if (order[i] != X && order[i] != Y && d == 1) strides[i] = t[i].strides[0];
    }
    pto_row_plan_add(plan, d != 1, t[0].shape[d], strides);
  }
  pto_row_plan_finish(plan);
}

static int batch_norm_run(const struct pto_kernel_args *args) {
  struct pto_row_plan plan;
  struct pto_row_walk walk;
  struct pto_row_work work = {.plan = &plan, .operand_count = 2};
  struct pto_local local = pto_local_begin(&args->core->local);
  plan_batch(&plan, args);
  if (plan.length == 0 || plan.row_count == 0) return 0;
  pto_row_work_init(&work, &local);
  for (bool go = pto_row_walk_begin(&walk, &plan); go; go = pto_row_walk_next(&walk, &plan))
    for (uint64_t col = 0, cols; col < plan.vec.extent; col += cols) {
      cols = pto_row_group_size(&work, col);
      const struct pto_row_group group = pto_rows_begin(&work, walk.at, col, cols);
      pto_rows_get(&work, &group, 4, work.a);
      pto_rows_get(&work, &group, 5, work.b);
      work.loops->invert_roots(work.b, cols, 1, (double)args->scalars[0].f32);
      pto_rows_map(&work, &group, PTO_MAP_normal_scaled_shifted, work.a, work.b, 3);
    }
  return 0;
}
static int batch_norm_check(const struct pto_kernel_args *args) { return check_channels(args, "batch_norm"); }
static struct pto_cost batch_norm_cost(const struct pto_kernel_args *args) {
  struct pto_row_plan plan;
  plan_batch(&plan, args);
  struct pto_cost cost = {.bytes_out = pto_kernel_bytes(&args->tensors[Y]),
                          .vector_elems = pto_kernel_numel(&args->tensors[X]) * 4 + 3 * args->tensors[X].shape[1],
                          .local_bytes = pto_row_work_bytes(&plan, false, 2)};
  for (uint32_t i = 0; i < Y; i++) cost.bytes_in += pto_kernel_bytes(&args->tensors[i]);
  return cost;
}

/* ---- the kernels ---- */

#define TENSOR(name_, mode_, rank_, max_rank_)                                                                         \
  { .name = name_, .mode = mode_, .dtypes = PTO_DTYPES_FLOAT, .min_rank = rank_, .max_rank = max_rank_ }
#define EPS                                                                                                            \
  { .name = "eps", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_F32 }
#define KERNEL(name_)                                                                                                  \
  PTO_GENERAL_KERNEL(name_, name_##_params, .cores = PTO_AIV, .flags = PTO_KERNEL_IN_PLACE | PTO_KERNEL_ONE_BLOCK,     \
                     .run = name_##_run, .cost = name_##_cost, .check = name_##_check)

static const struct pto_kernel_param layernorm_params[] = {
    TENSOR("x", PTO_INPUT, 1, 0), TENSOR("scale", PTO_INPUT, 1, 0), TENSOR("bias", PTO_INPUT, 1, 0),
    TENSOR("y", PTO_OUTPUT, 1, 0), EPS};
static const struct pto_kernel_param rmsnorm_params[] = {
    TENSOR("x", PTO_INPUT, 1, 0), TENSOR("weight", PTO_INPUT, 1, 0), TENSOR("y", PTO_OUTPUT, 1, 0), EPS};
static const struct pto_kernel_param instance_norm_params[] = {
    TENSOR("x", PTO_INPUT, 2, 0), TENSOR("scale", PTO_INPUT, 1, 1), TENSOR("bias", PTO_INPUT, 1, 1),
    TENSOR("y", PTO_OUTPUT, 2, 0), EPS};
static const struct pto_kernel_param group_norm_params[] = {
    TENSOR("x", PTO_INPUT, 2, 0),
    TENSOR("scale", PTO_INPUT, 1, 1),
    TENSOR("bias", PTO_INPUT, 1, 1),
    TENSOR("y", PTO_OUTPUT, 2, 0),
    {.name = "groups", .mode = PTO_SCALAR, .scalar = PTO_SCALAR_U64},
    EPS};
static const struct pto_kernel_param batch_norm_params[] = {TENSOR("x", PTO_INPUT, 2, 0),
                                                            TENSOR("mean", PTO_INPUT, 1, 1),
                                                            TENSOR("variance", PTO_INPUT, 1, 1),
                                                            TENSOR("scale", PTO_INPUT, 1, 1),
                                                            TENSOR("bias", PTO_INPUT, 1, 1),
                                                            TENSOR("y", PTO_OUTPUT, 2, 0),
                                                            EPS};

KERNEL(layernorm);
KERNEL(rmsnorm);
KERNEL(instance_norm);
KERNEL(group_norm);
KERNEL(batch_norm);
