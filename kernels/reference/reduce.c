/* SPDX-License-Identifier: MIT */
/*
 * The references of reductions, of places of the largest and smallest, of orders, and of running sums and products.
 * Constants; any thread.
 *
 * Slack is the bound that docs/numerics.md states for the order of sums.
 */
#include <kernels/reference/math.h>
#include <kernels/reference/support.h>

#define UNIT 0x1p-24    /* half a unit in the last place of f32, relative */
#define MOST_FACTORS 64 /* of a product of random values: more overflow */
#define MOST_READ_TWICE                                                                                                \
  2000 /* elements of a row that is read more than once: longer ones are tested in kernels/rows/fold_test.c */
#define MOST_COUNTED 300 /* elements of a row whose pairs are all compared */

/* ---- reductions ---- */

/* Some dimensions become 1.  The first is kept where it is 2, and is not where it is 0: then no y that is longer by one
 * would do, which the registry's test of mismatched shapes relies on. */
static bool reduce_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                          uint64_t most_reduced) {
  uint64_t reduced = 1;
  pto_reference_same_shapes(sizes, tensors, 2);
  for (uint32_t d = 0; d < sizes->rank; d++) {
    bool is_reduced = (sizes->draw >> d & 1) != 0 || sizes->rank == 1;
    if (d == 0 && sizes->extents[0] == 2) is_reduced = false;
    if (d == 0 && sizes->extents[0] == 0) is_reduced = true;
    if (!is_reduced) continue;
    tensors[1].shape[d] = 1;
    reduced *= sizes->extents[d];
  }
  return reduced <= most_reduced;
}

/* The element of y that element `index` of x goes into. */
static uint64_t result_of(const struct pto_kernel_args *args, uint64_t index) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  uint64_t result = 0, scale = 1;
  for (uint32_t d = x->ndims; d-- > 0; index /= x->shape[d]) {
    if (y->shape[d] == x->shape[d]) result += index % x->shape[d] * scale;
    scale *= y->shape[d];
  }
  return result;
}

static uint64_t reduced_count(const struct pto_kernel_args *args) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < args->tensors[0].ndims; d++)
    if (args->tensors[1].shape[d] != args->tensors[0].shape[d]) count *= args->tensors[0].shape[d];
  return count;
}

/* value = Σ term, slack = Σ |term| */
static void float_sums(const struct pto_kernel_args *args, const struct pto_golden *g, double (*term)(double)) {
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[0]); i++) {
    const double t = term(pto_reference_element(&args->tensors[0], i));
    const uint64_t result = result_of(args, i);
    g->value[result] += t;
    g->slack[result] += fabs(t);
  }
}

static void whole_sums(const struct pto_kernel_args *args, const struct pto_golden *g, uint64_t (*term)(uint64_t)) {
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[0]); i++)
    g->whole[result_of(args, i)] += term(pto_reference_whole(&args->tensors[0], i));
}

static double itself(double x) { return x; }
static double square(double x) { return x * x; }
static uint64_t whole_itself(uint64_t x) { return x; }
static uint64_t whole_square(uint64_t x) { return x * x; }
static uint64_t whole_magnitude(uint64_t x) { return x >> 63 != 0 ? 0 - x : x; }

/* Sums whose terms are each rounded `roundings` times. */
static void sum_golden(const struct pto_kernel_args *args, const struct pto_golden *golden, double (*term)(double),
                       uint64_t (*whole_term)(uint64_t), double roundings) {
  const double bound = pto_reference_sum_bound(reduced_count(args)) + roundings * UNIT;
  if (!pto_reference_is_float(&args->tensors[0])) {
    whole_sums(args, &golden[1], whole_term);
    return;
  }
  float_sums(args, &golden[1], term);
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[1]); i++) golden[1].slack[i] *= bound;
}

static void reduce_sum_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  sum_golden(args, golden, itself, whole_itself, 0);
}
static void reduce_sum_square_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  sum_golden(args, golden, square, whole_square, 1);
}
/* An unsigned 64-bit element has no sign to take off. */
static void reduce_l1_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  sum_golden(args, golden, fabs, args->tensors[0].dtype == PTO_UINT64 ? whole_itself : whole_magnitude, 0);
}
static void reduce_mean_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const double n = (double)reduced_count(args);
  sum_golden(args, golden, itself, NULL, 0);
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[1]); i++) {
    golden[1].value[i] /= n;
    golden[1].slack[i] = n == 0 ? 0 : golden[1].slack[i] / n;
  }
}
static void reduce_l2_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  sum_golden(args, golden, square, NULL, 1);
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[1]); i++) {
    const double root = sqrt(golden[1].value[i]);
    golden[1].slack[i] = root == 0 ? 0 : golden[1].slack[i] / root;
    golden[1].value[i] = root;
  }
}
static void reduce_log_sum_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  sum_golden(args, golden, itself, NULL, 0);
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[1]); i++) {
    const double sum = golden[1].value[i], slack = golden[1].slack[i], value = log(sum);
    golden[1].value[i] = value;
    golden[1].slack[i] = slack == 0 || !isfinite(value) ? 0 : slack < sum ? value - log(sum - slack) : INFINITY;
  }
}

/* Extreme values have no order: those of floats are NaN where one is. */
static bool is_beyond(const struct pto_kernel_tensor *t, uint64_t i, uint64_t j, bool is_max) {
  if (!pto_reference_is_float(t)) {
    const wide above = pto_reference_wide(t, i) - pto_reference_wide(t, j);
    return is_max ? above > 0 : above < 0;
  }
  const double a = pto_reference_element(t, i), b = pto_reference_element(t, j);
  if (isnan(b)) return false;
  return isnan(a) || (is_max ? a > b : a < b);
}

static wide whole_limit(uint32_t dtype, bool is_max) {
  if (dtype == PTO_BOOL) return !is_max;
  return pto_reference_saturated(dtype, is_max ? (wide)INT64_MIN : (wide)UINT64_MAX);
}

static void extreme_golden(const struct pto_kernel_args *args, const struct pto_golden *golden, bool is_max) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
    if (pto_reference_is_float(x))
      golden[1].value[i] = is_max ? -INFINITY : INFINITY;
    else
      golden[1].whole[i] = (uint64_t)whole_limit(x->dtype, is_max);
  }
  for (uint64_t i = 0; i < pto_reference_numel(x); i++) {
    const uint64_t r = result_of(args, i);
    double *best = &golden[1].value[r];
    uint64_t *whole_best = &golden[1].whole[r];
    if (pto_reference_is_float(x)) {
      *best = (is_max ? pto_exact_max : pto_exact_min)(*best, pto_reference_element(x, i));
      continue;
    }
    const wide value = x->dtype == PTO_BOOL ? pto_reference_whole(x, i) != 0 : pto_reference_wide(x, i);
    const wide known = pto_dtype_is_signed(x->dtype) ? (wide)(int64_t)*whole_best : (wide)*whole_best;
    if (is_max ? value > known : value < known) *whole_best = (uint64_t)value;
  }
}
static void reduce_max_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  extreme_golden(args, golden, true);
}
static void reduce_min_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  extreme_golden(args, golden, false);
}

static void reduce_product_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *y = &args->tensors[1];
  const bool is_float = pto_reference_is_float(x);
  for (uint64_t i = 0; i < pto_reference_numel(y); i++) {
    if (is_float) golden[1].value[i] = 1;
    if (!is_float) golden[1].whole[i] = 1;
  }
  for (uint64_t i = 0; i < pto_reference_numel(x); i++) {
    const uint64_t r = result_of(args, i);
    if (is_float) golden[1].value[r] *= pto_reference_element(x, i);
    if (!is_float) golden[1].whole[r] *= pto_reference_whole(x, i);
  }
  for (uint64_t i = 0; is_float && i < pto_reference_numel(y); i++)
    golden[1].slack[i] = fabs(golden[1].value[i]) * UNIT * (double)reduced_count(args);
}

/* m + log Σ exp(x − m), m = max x, or m where that is no number.  The values of a case are in [-4, 4), so that an
 * exponent x − m, which is rounded to f32, is off by 8 units at most. */
static void reduce_log_sum_exp_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const uint64_t n = reduced_count(args);
  const double slack = n == 0 ? 0 : pto_reference_sum_bound(n) + (10 + 2 * log((double)n)) * UNIT;
  double *sums = golden[1].slack;
  extreme_golden(args, golden, true);
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[0]); i++) {
    const uint64_t r = result_of(args, i);
    sums[r] += exp(pto_reference_element(&args->tensors[0], i) - golden[1].value[r]);
  }
  for (uint64_t r = 0; r < pto_reference_numel(&args->tensors[1]); r++) {
    if (isfinite(golden[1].value[r])) golden[1].value[r] += log(sums[r]);
    golden[1].slack[r] = slack;
  }
}

#define REDUCTION(name, most_reduced, values_, flags_)                                                                 \
  static bool name##_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,              \
                            union pto_scalar *scalars) {                                                               \
    (void)scalars;                                                                                                     \
    return reduce_shapes(sizes, tensors, most_reduced);                                                                \
  }                                                                                                                    \
  PTO_REFERENCE(name, .shapes = name##_shapes, .golden = name##_golden, .ulps = 0.51, .values = values_,               \
                .flags = flags_)
REDUCTION(reduce_sum, UINT64_MAX, PTO_VALUES_FINITE, 0);
REDUCTION(reduce_mean, UINT64_MAX, PTO_VALUES_FINITE, 0);
REDUCTION(reduce_max, UINT64_MAX, PTO_VALUES_ANY, PTO_REFERENCE_ANY_ZERO);
REDUCTION(reduce_min, UINT64_MAX, PTO_VALUES_ANY, PTO_REFERENCE_ANY_ZERO);
REDUCTION(reduce_product, MOST_FACTORS, PTO_VALUES_FINITE, 0);
REDUCTION(reduce_sum_square, UINT64_MAX, PTO_VALUES_FINITE, 0);
REDUCTION(reduce_l1, UINT64_MAX, PTO_VALUES_FINITE, 0);
REDUCTION(reduce_l2, UINT64_MAX, PTO_VALUES_FINITE, 0);
REDUCTION(reduce_log_sum, UINT64_MAX, PTO_VALUES_FINITE, 0);
REDUCTION(reduce_log_sum_exp, MOST_READ_TWICE, PTO_VALUES_FINITE, 0);

/* ---- along one dimension ---- */

static bool arg_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                       union pto_scalar *scalars) {
  if (sizes->rank == 0) return false;
  const uint32_t axis = pto_reference_draw_axis(sizes, scalars);
  pto_reference_same_shapes(sizes, tensors, 2);
  tensors[1].shape[axis] = 1;
  return sizes->extents[axis] > 0 && sizes->extents[axis] <= MOST_READ_TWICE;
}
static void arg_golden(const struct pto_kernel_args *args, const struct pto_golden *golden, bool is_max) {
  const struct pto_reference_axis a = pto_reference_axis_of(args);
  for (uint64_t row = 0; row < pto_reference_numel(&args->tensors[1]); row++) {
    uint64_t best = 0;
    for (uint64_t i = 1; i < a.length; i++)
      if (is_beyond(&args->tensors[0], pto_reference_first_of(&a, row) + i * a.step,
                    pto_reference_first_of(&a, row) + best * a.step, is_max))
        best = i;
    golden[1].whole[row] = best;
  }
}
static void arg_max_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  arg_golden(args, golden, true);
}
static void arg_min_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  arg_golden(args, golden, false);
}
PTO_REFERENCE(arg_max, .shapes = arg_shapes, .golden = arg_max_golden, .values = PTO_VALUES_ANY);
PTO_REFERENCE(arg_min, .shapes = arg_shapes, .golden = arg_min_golden, .values = PTO_VALUES_ANY);

/* Whether element `i` stands before element `j` of a row in the order of sort. */
static bool stands_before(const struct pto_kernel_tensor *x, uint64_t i, uint64_t j, bool is_descending) {
  if (pto_reference_is_float(x)) {
    const double a = pto_reference_element(x, i), b = pto_reference_element(x, j);
    const bool is_smaller = isnan(b) ? !isnan(a) : a < b, is_larger = isnan(a) ? !isnan(b) : a > b;
    return is_smaller || is_larger ? (is_descending ? is_larger : is_smaller) : i < j;
  }
  const wide a = pto_reference_wide(x, i), b = pto_reference_wide(x, j);
  return a == b ? i < j : is_descending ? a > b : a < b;
}

static bool sort_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                        union pto_scalar *scalars) {
  if (sizes->rank == 0) return false;
  const uint32_t axis = pto_reference_draw_axis(sizes, scalars);
  scalars[1].i64 = sizes->draw / 16 % 2;
  return pto_reference_same_shapes(sizes, tensors, 3) && sizes->extents[axis] <= MOST_COUNTED;
}
static bool top_k_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                         union pto_scalar *scalars) {
  if (!sort_shapes(sizes, tensors, scalars)) return false;
  const uint32_t axis = (uint32_t)(sizes->draw % sizes->rank);
  const uint64_t extent = sizes->extents[axis], k = (sizes->draw / 64 + (extent + 1) / 2) % (extent + 1);
  tensors[1].shape[axis] = tensors[2].shape[axis] = k;
  return true;
}

/* An element's place is the number of those that stand before it. */
static void sort_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *x = &args->tensors[0], *values = &args->tensors[1];
  const struct pto_reference_axis a = pto_reference_axis_of(args);
  const int64_t axis = args->scalars[0].i64 + (args->scalars[0].i64 < 0 ? (int64_t)x->ndims : 0);
  const struct pto_reference_axis to = {values->shape[axis], a.step};
  const uint64_t rows = pto_reference_numel(x) == 0 ? 0 : pto_reference_numel(x) / a.length;
  for (uint64_t row = 0; row < rows; row++)
    for (uint64_t i = 0; i < a.length; i++) {
      const uint64_t first = pto_reference_first_of(&a, row);
      uint64_t place = 0;
      for (uint64_t j = 0; j < a.length && place < to.length; j++)
        place += stands_before(x, first + j * a.step, first + i * a.step, args->scalars[1].i64 != 0);
      if (place >= to.length) continue;
      const uint64_t result = pto_reference_first_of(&to, row) + place * to.step;
      pto_reference_take(&golden[1], result, x, first + i * a.step);
      golden[2].whole[result] = i;
    }
}
PTO_REFERENCE(sort, .shapes = sort_shapes, .golden = sort_golden, .values = PTO_VALUES_ANY);
PTO_REFERENCE(top_k, .shapes = top_k_shapes, .golden = sort_golden, .values = PTO_VALUES_ANY);

static bool scan_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                        union pto_scalar *scalars) {
  if (sizes->rank == 0) return false;
  pto_reference_draw_axis(sizes, scalars);
  scalars[1].i64 = sizes->draw / 16 % 2;
  scalars[2].i64 = sizes->draw / 32 % 2 == 0 ? 0 : -1;
  return pto_reference_same_shapes(sizes, tensors, 2);
}
static bool cumulative_product_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                      union pto_scalar *scalars) {
  return scan_shapes(sizes, tensors, scalars) && sizes->extents[sizes->draw % sizes->rank] <= MOST_FACTORS;
}

/* A fold so far. */
struct running {
  double value, magnitude;
  uint64_t whole, joined;
};
static double slack_of(const struct running *so_far, bool is_product) {
  const double roundings = is_product ? (double)so_far->joined : ceil((double)(so_far->joined + 1) / 16) + 4;
  return so_far->magnitude * roundings * UNIT;
}
static void join(struct running *so_far, const struct pto_kernel_tensor *x, uint64_t at, bool is_product) {
  so_far->joined++;
  if (pto_reference_is_float(x)) {
    const double value = pto_reference_element(x, at);
    so_far->value = is_product ? so_far->value * value : so_far->value + value;
    so_far->magnitude = is_product ? fabs(so_far->value) : so_far->magnitude + fabs(value);
  } else {
    const uint64_t whole = pto_reference_whole(x, at);
    so_far->whole = is_product ? so_far->whole * whole : so_far->whole + whole;
  }
}

static void scan_golden(const struct pto_kernel_args *args, const struct pto_golden *golden, bool is_product) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  const struct pto_reference_axis a = pto_reference_axis_of(args);
  const bool is_exclusive = args->scalars[1].i64 != 0, is_reversed = args->scalars[2].i64 != 0;
  const uint64_t rows = pto_reference_numel(x) == 0 ? 0 : pto_reference_numel(x) / a.length;
  for (uint64_t row = 0; row < rows; row++) {
    struct running so_far = {.value = is_product, .whole = is_product};
    for (uint64_t i = 0; i < a.length; i++) {
      const uint64_t at = pto_reference_first_of(&a, row) + (is_reversed ? a.length - 1 - i : i) * a.step;
      const struct running before = so_far;
      join(&so_far, x, at, is_product);
      const struct running *result = is_exclusive ? &before : &so_far;
      golden[1].slack[at] = slack_of(result, is_product);
      if (pto_reference_is_float(x))
        golden[1].value[at] = result->value;
      else
        golden[1].whole[at] = result->whole;
    }
  }
}
static void cumulative_sum_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  scan_golden(args, golden, false);
}
static void cumulative_product_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  scan_golden(args, golden, true);
}
PTO_REFERENCE(cumulative_sum, .shapes = scan_shapes, .golden = cumulative_sum_golden, .ulps = 0.51,
              .values = PTO_VALUES_FINITE);
PTO_REFERENCE(cumulative_product, .shapes = cumulative_product_shapes, .golden = cumulative_product_golden,
              .ulps = 0.51, .values = PTO_VALUES_FINITE);
