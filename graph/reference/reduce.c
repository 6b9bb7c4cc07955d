/* SPDX-License-Identifier: MIT */
/*
 * Reference: reductions, running sums and softmax.
 *
 * A reduction over no axes is of one element each, so it applies the function; sums are made in the order of the
 * elements. argMin and argMax give the first of equals, and the first NaN where there is one.  Integers wrap.
 * Constants; any thread.
 */
#include <graph/reference/support.h>

/* The dimensions of a reduction's operand: those that stay, outermost first, and those that are joined. */
struct reduction {
  uint64_t kept_shape[PTO_MAX_DIMS], kept_strides[PTO_MAX_DIMS], joined_shape[PTO_MAX_DIMS],
      joined_strides[PTO_MAX_DIMS];
  uint32_t kept_count, joined_count;
  uint64_t size; /* elements that are joined for one result */
};

static struct reduction reduction_of(const struct pto_graph_desc *desc, const struct pto_reduce_options *options) {
  struct reduction r = {.size = 1};
  for (uint32_t d = 0; d < desc->ndims; d++) {
    const uint64_t stride = pto_reference_stride(desc, d);
    if (pto_option_has_axis(options->axes, d)) {
      r.joined_shape[r.joined_count] = desc->shape[d];
      r.joined_strides[r.joined_count++] = stride;
      r.size *= desc->shape[d];
    } else {
      r.kept_shape[r.kept_count] = desc->shape[d];
      r.kept_strides[r.kept_count++] = stride;
    }
  }
  return r;
}

static uint64_t offset(const uint64_t *shape, const uint64_t *strides, uint32_t count, uint64_t index) {
  uint64_t element = 0;
  for (uint32_t d = count; d-- > 0;) {
    element += index % shape[d] * strides[d];
    index /= shape[d];
  }
  return element;
}

/* Element k of those that make result i. */
static uint64_t element_of(const struct reduction *r, uint64_t i, uint64_t k) {
  return offset(r->kept_shape, r->kept_strides, r->kept_count, i) +
         offset(r->joined_shape, r->joined_strides, r->joined_count, k);
}

static double same(double x) { return x; }
static double square(double x) { return x * x; }
static double as_it_is(double x, double n) { return x; }
static double root(double x, double n) { return sqrt(x); }
static double logarithm(double x, double n) { return log(x); }
static double mean(double x, double n) { return x / n; }

static int64_t whole_same(int64_t x) { return x; }
static int64_t whole_square(int64_t x) { return pto_reference_times(x, x); }

/* finish(join(… join(first, term(x₀)) …, term(xₙ₋₁)), n); of integers, which no operand is empty of, it begins with the
 * first of them. */
static const struct fold {
  double first;
  double (*term)(double);
  double (*join)(double, double);
  double (*finish)(double, double);
  int64_t (*whole_term)(int64_t); /* NULL: of floats alone */
  int64_t (*whole_join)(uint32_t dtype, int64_t, int64_t);
} folds[PTO_GRAPH_OP_COUNT] = {
#define FOLD(id, ...) [PTO_GRAPH_OP_##id] = {__VA_ARGS__}
    FOLD(reduce_l1, 0, fabs, pto_reference_sum, as_it_is, pto_reference_whole_abs, pto_reference_whole_sum),
    FOLD(reduce_l2, 0, square, pto_reference_sum, root, NULL, NULL),
    FOLD(reduce_log_sum, 0, same, pto_reference_sum, logarithm, NULL, NULL),
    FOLD(reduce_log_sum_exp, -INFINITY, same, pto_reference_max, as_it_is, NULL, NULL), /* its largest */
    FOLD(reduce_max, -INFINITY, same, pto_reference_max, as_it_is, whole_same, pto_reference_whole_max),
    FOLD(reduce_mean, 0, same, pto_reference_sum, mean, NULL, NULL),
    FOLD(reduce_min, INFINITY, same, pto_reference_min, as_it_is, whole_same, pto_reference_whole_min),
    FOLD(reduce_product, 1, same, pto_reference_product, as_it_is, whole_same, pto_reference_whole_product),
    FOLD(reduce_sum, 0, same, pto_reference_sum, as_it_is, whole_same, pto_reference_whole_sum),
    FOLD(reduce_sum_square, 0, square, pto_reference_sum, as_it_is, whole_square, pto_reference_whole_sum),
};

static double fold_floats(const struct pto_reference_tensor *input, const struct reduction *r, uint64_t i,
                          const struct fold *fold) {
  double joined = fold->first;
  for (uint64_t k = 0; k < r->size; k++) joined = fold->join(joined, fold->term(input->values[element_of(r, i, k)]));
  return fold->finish(joined, (double)r->size);
}

static int64_t fold_integers(const struct pto_reference_tensor *input, const struct reduction *r, uint64_t i,
                             const struct fold *fold) {
  int64_t joined = fold->whole_term(input->whole[element_of(r, i, 0)]);
  for (uint64_t k = 1; k < r->size; k++)
    joined = fold->whole_join(input->desc.dtype, joined, fold->whole_term(input->whole[element_of(r, i, k)]));
  return joined;
}

/* m + log Σ exp(x − m), m = max x: exp of an f32 may be beyond double.  Where m is ±∞ or NaN it is the result. */
static double log_sum_exp(const struct pto_reference_tensor *input, const struct reduction *r, uint64_t i,
                          double largest) {
  double total = 0;
  for (uint64_t k = 0; k < r->size; k++) total += exp(input->values[element_of(r, i, k)] - largest);
  return isfinite(largest) ? largest + log(total) : largest;
}

static int reduce(const struct pto_graph_node *node, const struct pto_reference_tensor *input,
                  struct pto_reference_tensor *results) {
  const struct reduction r = reduction_of(&input->desc, node->options);
  struct fold fold = folds[node->op];
  /* Of uint64 every bit pattern is its own magnitude. */
  if (node->op == PTO_GRAPH_OP_reduce_l1 && input->desc.dtype == PTO_UINT64) fold.whole_term = whole_same;
  for (uint64_t i = 0; i < pto_reference_numel(results); i++) {
    if (!pto_reference_is_float(results)) {
      results->whole[i] = fold_integers(input, &r, i, &fold);
      continue;
    }
    const double folded = fold_floats(input, &r, i, &fold);
    results->values[i] = node->op == PTO_GRAPH_OP_reduce_log_sum_exp ? log_sum_exp(input, &r, i, folded) : folded;
  }
  return PTO_OK;
}

#define X(id, ...)                                                                                                     \
  PTO_REFERENCE_OPERATION(id) { return reduce(node, operands[0], results); }
PTO_REDUCE_OP_LIST(X)
#undef X

/* ---- along one axis ---- */

static bool is_before(const struct pto_reference_tensor *t, uint64_t a, uint64_t b, bool is_max) {
  if (!pto_reference_is_float(t))
    return is_max ? pto_reference_is_less(t->desc.dtype, t->whole[b], t->whole[a])
                  : pto_reference_is_less(t->desc.dtype, t->whole[a], t->whole[b]);
  const double x = t->values[a], y = t->values[b];
  if (isnan(x) || isnan(y)) return isnan(x) && !isnan(y);
  return is_max ? x > y : x < y;
}

static int arg_reduce(const struct pto_graph_node *node, const struct pto_reference_tensor *input,
                      struct pto_reference_tensor *results, bool is_max) {
  const struct pto_arg_reduce_options *options = node->options;
  const struct pto_reference_lines lines = pto_reference_lines(&input->desc, options->axis);
  for (uint64_t line = 0; line < lines.outer_count * lines.inner_count; line++) {
    const uint64_t first = pto_reference_line(&lines, line);
    uint64_t best = 0;
    for (uint64_t k = 1; k < lines.extent; k++) {
      if (is_before(input, first + k * lines.inner_count, first + best * lines.inner_count, is_max)) best = k;
    }
    results->whole[line] = (int64_t)best;
  }
  return PTO_OK;
}
PTO_REFERENCE_OPERATION(arg_min) { return arg_reduce(node, operands[0], results, false); }
PTO_REFERENCE_OPERATION(arg_max) { return arg_reduce(node, operands[0], results, true); }

/* Element k is the sum of those up to it, without itself where exclusive, from the end where reversed. */
PTO_REFERENCE_OPERATION(cumulative_sum) {
  const struct pto_cumulative_sum_options *options = node->options;
  const bool is_exclusive = pto_option_flag(options->exclusive, false),
             is_reversed = pto_option_flag(options->reversed, false);
  const struct pto_reference_lines lines = pto_reference_lines(&results->desc, options->axis);
  for (uint64_t line = 0; line < lines.outer_count * lines.inner_count; line++) {
    double total = 0;
    int64_t whole_total = 0;
    for (uint64_t step = 0; step < lines.extent; step++) {
      const uint64_t k = is_reversed ? lines.extent - 1 - step : step,
                     i = pto_reference_line(&lines, line) + k * lines.inner_count;
      if (pto_reference_is_float(results)) {
        const double before = total;
        total += operands[0]->values[i];
        results->values[i] = is_exclusive ? before : total;
      } else {
        const int64_t before = whole_total;
        whole_total = pto_reference_plus(whole_total, operands[0]->whole[i]);
        results->whole[i] = is_exclusive ? before : whole_total;
      }
    }
  }
  return PTO_OK;
}

/* exp(x − m) / Σ exp(x − m), m = max x.  A line with a NaN or +∞, or of −∞ alone, is NaN throughout. */
PTO_REFERENCE_OPERATION(softmax) {
  const struct pto_softmax_options *options = node->options;
  const uint32_t axis = pto_option_flag(options->is_last, false) ? results->desc.ndims - 1 : options->axis;
  const struct pto_reference_lines lines = pto_reference_lines(&results->desc, axis);
  for (uint64_t line = 0; line < lines.outer_count * lines.inner_count; line++) {
    const double *x = operands[0]->values + pto_reference_line(&lines, line);
    double *y = results->values + pto_reference_line(&lines, line);
    double largest = -INFINITY, total = 0;
    for (uint64_t k = 0; k < lines.extent; k++) largest = pto_reference_max(largest, x[k * lines.inner_count]);
    for (uint64_t k = 0; k < lines.extent; k++) total += exp(x[k * lines.inner_count] - largest);
    for (uint64_t k = 0; k < lines.extent; k++)
      y[k * lines.inner_count] = exp(x[k * lines.inner_count] - largest) / total;
  }
  return PTO_OK;
}
