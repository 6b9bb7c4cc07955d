/* SPDX-License-Identifier: MIT */
/*
 * Reductions (AIV): y is x joined over every dimension in which y has extent 1.
 *
 *   reduce_sum · reduce_mean · reduce_max · reduce_min · reduce_product · reduce_sum_square Σx² · reduce_l1 Σ|x| ·
 *   reduce_l2 √Σx² · reduce_log_sum log Σx · reduce_log_sum_exp log Σeˣ
 *
 * Floats mix freely, are joined in f32 in the order of kernels/rows/fold.h over the reduced elements in row-major
 * order, and rounded once on store; log Σeˣ takes the maximum out first.  Integers wrap modulo 2 to the bits of y,
 * which is of x's dtype or, but for max and min, of any integer dtype that is no narrower.  Bools are joined by max
 * (any) and min (all), and all but 0 is true.  Of no elements: the neutral value (0, 1, −∞, ∞; the least or the largest
 * integer; false for any, true for all), NaN for the mean, −∞ for the logarithms.  Any thread.
 *
 * To add one, add its line to PTO_REDUCE_LIST here, and its lines as in kernels/api/list.h.
 */
#include <kernels/api/list.h>
#include <kernels/api/shape.h>
#include <kernels/rows/fold.h>
#include <runtime/base/base.h>

#include <inttypes.h>

#define SHAPE_TEXT 192             /* eight 20-digit extents, commas, brackets */
#define WHOLE_ELEMS UINT64_C(4096) /* 64-bit elements in local memory at a time: 32 KiB */
#define WHOLE_WIDTH UINT64_C(128)  /* rows side by side at a time */

enum finish { NOTHING, BY_COUNT, ROOT, LOGARITHM, LOGARITHM_OF_EXP };

struct reduction {
  const char *name;
  uint32_t fold; /* enum pto_fold */
  enum finish finish;
  bool is_widening;    /* integers may have a wider y */
  uint32_t elem_ops;   /* vector operations an element of x */
  uint32_t result_ops; /* and an element of y */
};

/* X(name, fold, finish, dtypes, is_widening, operations an element of x, of y) */
/* clang-format off */
#define PTO_REDUCE_LIST(X)                                                                                             \
  X(reduce_sum, sum, NOTHING, PTO_DTYPES_NUMBER, true, 1, 0)                                                           \
  X(reduce_mean, sum, BY_COUNT, PTO_DTYPES_FLOAT, false, 1, 1)                                                         \
  X(reduce_max, max, NOTHING, PTO_DTYPES_NUMBER | PTO_DTYPES_BOOL, false, 1, 0)                                        \
  X(reduce_min, min, NOTHING, PTO_DTYPES_NUMBER | PTO_DTYPES_BOOL, false, 1, 0)                                        \
  X(reduce_product, product, NOTHING, PTO_DTYPES_NUMBER, true, 1, 0)                                                   \
  X(reduce_sum_square, sum_square, NOTHING, PTO_DTYPES_NUMBER, true, 2, 0)                                             \
  X(reduce_l1, sum_abs, NOTHING, PTO_DTYPES_NUMBER, true, 2, 0)                                                        \
  X(reduce_l2, sum_square, ROOT, PTO_DTYPES_FLOAT, false, 2, 1)                                                        \
  X(reduce_log_sum, sum, LOGARITHM, PTO_DTYPES_FLOAT, false, 1, 1)                                                     \
  X(reduce_log_sum_exp, sum_exp, LOGARITHM_OF_EXP, PTO_DTYPES_FLOAT, false, 4, 2)
/* clang-format on */

/* The dimensions in which y has extent 1 and x another. */
static uint32_t reduced_dims(const struct pto_kernel_args *args) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  uint32_t dims = 0;
  for (uint32_t d = 0; d < x->ndims; d++) dims |= (x->shape[d] != y->shape[d] ? 1u : 0u) << d;
  return dims;
}

/* ---- floats ---- */

static void finish_floats(const struct pto_row_work *work, enum finish finish, float *results, uint64_t count) {
  static const enum pto_map maps[] = {[BY_COUNT] = PTO_MAP_over,
                                      [ROOT] = PTO_MAP_sqrt,
                                      [LOGARITHM] = PTO_MAP_log,
                                      [LOGARITHM_OF_EXP] = PTO_MAP_log_plus};
  if (finish != NOTHING) pto_values_map(work, maps[finish], results, work->b, (float)work->plan->length, count);
}

/* results[j], and for the logarithm of a sum of exponentials what was taken out of its rows in others[j]. */
static void reduce_group(const struct pto_row_work *work, const struct pto_row_group *group,
                         const struct reduction *reduction, float *results, float *others) {
  if (reduction->finish == LOGARITHM_OF_EXP) {
    pto_rows_fold(work, group, PTO_FOLD_max, NULL, others);
    for (uint64_t j = 0; j < group->cols; j++)
      others[j] = __builtin_isfinite(others[j]) ? others[j] : 0; /* ∞ − ∞ is no exponent */
  }
  pto_rows_fold(work, group, reduction->fold, others, results);
}

static int reduce_floats(const struct pto_kernel_args *args, const struct reduction *reduction) {
  struct pto_row_plan plan;
  struct pto_row_walk walk;
  struct pto_row_work work = {.plan = &plan, .keeps_rows = reduction->finish == LOGARITHM_OF_EXP};
  struct pto_local local = pto_local_begin(&args->core->local);
  pto_row_plan_make(&plan, args->tensors, 2, reduced_dims(args));
  pto_row_work_init(&work, &local);
  for (bool go = pto_row_walk_begin(&walk, &plan); go; go = pto_row_walk_next(&walk, &plan))
    for (uint64_t col = 0, cols; col < plan.vec.extent; col += cols) {
      cols = pto_row_group_size(&work, col);
      const struct pto_row_group group = pto_rows_begin(&work, walk.at, col, cols);
      reduce_group(&work, &group, reduction, work.a, work.b);
      finish_floats(&work, reduction->finish, work.a, cols);
      pto_rows_put(&work, &group, 1, work.a);
    }
  return 0;
}

/* ---- integers ---- */

static int64_t whole_neutral(enum pto_fold fold, uint32_t dtype) {
  const uint32_t bits = pto_dtype_bits(dtype);
  const bool is_signed = pto_dtype_is_signed(dtype);
  const uint64_t largest = (UINT64_MAX >> (64 - bits)) >> (is_signed ? 1 : 0);
  if (fold == PTO_FOLD_max) return is_signed ? -(int64_t)largest - 1 : 0;
  if (fold == PTO_FOLD_min) return (int64_t)largest;
  return fold == PTO_FOLD_product ? 1 : 0;
}

struct whole_work {
  const struct pto_row_plan *plan;
  const struct pto_row_loops *loops;
  enum pto_class class_;
  enum pto_fold fold;
  uint64_t width, part;
  int64_t *x, *results;
};

static uint64_t whole_width(const struct pto_row_plan *plan) { return pto_min_u64(WHOLE_WIDTH, plan->vec.extent); }
static uint64_t whole_elems(const struct pto_row_plan *plan) {
  if (plan->length > WHOLE_ELEMS) return WHOLE_ELEMS;
  return pto_min_u64(plan->length * (plan->is_across ? whole_width(plan) : 1), WHOLE_ELEMS);
}

/* Joins rows [col, col + cols) to what results[0 …] hold. */
static void reduce_whole_group(const struct whole_work *work, char *at, uint64_t col, uint64_t cols, int64_t *results) {
  const struct pto_row_plan *plan = work->plan;
  for (uint64_t first = 0; first < plan->length; first += work->part) {
    const struct pto_row_part part = {first, pto_min_u64(work->part, plan->length - first), col, cols};
    const struct pto_row_view x = pto_row_read(plan, 0, at, &part, work->class_, work->x);
    const struct pto_panel panel = {x.data, x.pitch, part.count, cols};
    if (plan->is_across)
      work->loops->whole_across[work->class_][work->fold](results, &panel);
    else
      results[0] = work->loops->whole_along[work->class_][work->fold](x.data, part.count, results[0]);
  }
}

/* The extremes of bools are those of their bytes, and only then what these mean. */
static void finish_bools(int64_t *results, uint64_t count) {
  for (uint64_t j = 0; j < count; j++) results[j] = results[j] != 0;
}

static int reduce_whole(const struct pto_kernel_args *args, const struct reduction *reduction) {
  const bool is_bool = args->tensors[0].dtype == PTO_BOOL;
  struct pto_kernel_tensor tensors[] = {args->tensors[0], args->tensors[1]};
  if (is_bool) tensors[0].dtype = tensors[1].dtype = PTO_UINT8;
  struct pto_row_plan plan;
  struct pto_row_walk walk;
  struct pto_local local = pto_local_begin(&args->core->local);
  pto_row_plan_make(&plan, tensors, 2, reduced_dims(args));
  struct whole_work work = {.plan = &plan,
                            .loops = pto_row_loops_best(),
                            .class_ = pto_row_class(tensors[0].dtype),
                            .fold = reduction->fold,
                            .width = whole_width(&plan),
                            .part = plan.is_across ? WHOLE_ELEMS / WHOLE_WIDTH : WHOLE_ELEMS};
  work.x = pto_local_take(&local, whole_elems(&plan) * sizeof(int64_t));
  work.results = pto_local_take(&local, work.width * sizeof(int64_t));
  const int64_t neutral = whole_neutral(reduction->fold, tensors[0].dtype);
  for (bool go = pto_row_walk_begin(&walk, &plan); go; go = pto_row_walk_next(&walk, &plan))
    for (uint64_t col = 0; col < plan.vec.extent; col += work.width) {
      const uint64_t cols = pto_min_u64(work.width, plan.vec.extent - col), step = plan.is_across ? cols : 1;
      for (uint64_t j = 0; j < cols; j++) work.results[j] = neutral;
      for (uint64_t j = 0; j < cols; j += step) reduce_whole_group(&work, walk.at[0], col + j, step, work.results + j);
      if (is_bool) finish_bools(work.results, cols);
      pto_loops_best()->store[work.class_][tensors[1].dtype](work.results, walk.at[1] + col * plan.vec.steps[1],
                                                             plan.vec.steps[1], cols);
    }
  return 0;
}

/* ---- the kernels ---- */

static bool is_float(const struct pto_kernel_tensor *t) { return (PTO_DTYPE_BIT(t->dtype) & PTO_DTYPES_FLOAT) != 0; }

static int reduce_run(const struct pto_kernel_args *args, const struct reduction *reduction) {
  if (pto_kernel_numel(&args->tensors[1]) == 0) return 0;
  return is_float(&args->tensors[0]) ? reduce_floats(args, reduction) : reduce_whole(args, reduction);
}

static int reduce_check(const struct pto_kernel_args *args, const struct reduction *reduction) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  bool fits = x->ndims == y->ndims;
  for (uint32_t d = 0; fits && d < x->ndims; d++) fits = y->shape[d] == x->shape[d] || y->shape[d] == 1;
  if (!fits) {
    char x_text[SHAPE_TEXT], y_text[SHAPE_TEXT];
    pto_format_shape(x, x_text, sizeof x_text);
    pto_format_shape(y, y_text, sizeof y_text);
    return pto_kernel_error(args, "%s: shape %s does not reduce to %s (params 0 and 1)", reduction->name, x_text,
                            y_text);
  }
  const bool is_wider = !is_float(x) && reduction->is_widening && pto_dtype_bits(y->dtype) >= pto_dtype_bits(x->dtype);
  if (is_float(x) != is_float(y) || (!is_float(x) && x->dtype != y->dtype && !is_wider))
    return pto_kernel_error(args, "%s: %s does not reduce to %s (params 0 and 1)", reduction->name,
                            pto_dtype_name(x->dtype), pto_dtype_name(y->dtype));
  return 0;
}

static struct pto_cost reduce_cost(const struct pto_kernel_args *args, const struct reduction *reduction) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  const bool is_twice = reduction->finish == LOGARITHM_OF_EXP;
  const uint64_t results = pto_kernel_numel(y);
  struct pto_row_plan plan;
  pto_row_plan_make(&plan, args->tensors, 2, reduced_dims(args));
  struct pto_cost cost = {.bytes_in = results == 0 ? 0 : pto_kernel_bytes(x) * pto_row_reads(&plan, is_twice ? 2 : 1),
                          .bytes_out = pto_kernel_bytes(y),
                          .vector_elems = pto_kernel_numel(x) * reduction->elem_ops + results * reduction->result_ops,
                          .dtype = x->dtype};
  cost.local_bytes = is_float(x) ? pto_row_work_bytes(&plan, is_twice, 0)
                                 : pto_local_bytes(whole_elems(&plan) * sizeof(int64_t)) +
                                       pto_local_bytes(whole_width(&plan) * sizeof(int64_t));
  return cost;
}

#define X(name_, fold_, finish_, dtypes_, is_widening_, elem_ops_, result_ops_)                                        \
  static const struct reduction name_##_reduction = {#name_,       PTO_FOLD_##fold_, finish_,                          \
                                                     is_widening_, elem_ops_,        result_ops_};                     \
  static const struct pto_kernel_param name_##_params[] = {{.name = "x", .mode = PTO_INPUT, .dtypes = dtypes_},        \
                                                           {.name = "y", .mode = PTO_OUTPUT, .dtypes = dtypes_}};      \
  static int name_##_run(const struct pto_kernel_args *args) { return reduce_run(args, &name_##_reduction); }          \
  static int name_##_check(const struct pto_kernel_args *args) { return reduce_check(args, &name_##_reduction); }      \
  static struct pto_cost name_##_cost(const struct pto_kernel_args *args) {                                            \
    return reduce_cost(args, &name_##_reduction);                                                                      \
  }                                                                                                                    \
  PTO_GENERAL_KERNEL(name_, name_##_params, .cores = PTO_AIV, .flags = PTO_KERNEL_ONE_BLOCK, .run = name_##_run,       \
                     .cost = name_##_cost, .check = name_##_check);
PTO_REDUCE_LIST(X)
#undef X
