/* SPDX-License-Identifier: MIT */
/*
 * The references of kernels that work on rows: softmax, the normalisations, softmax_prepare and online_update.
 * Constants; any thread.
 */
#include <kernels/reference/math.h>
#include <kernels/reference/support.h>

static bool softmax_prepare_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                   union pto_scalar *scalars) {
  if (sizes->rank != 2 || sizes->extents[1] == 0) return false;
  const uint64_t rows = sizes->extents[0], cols = sizes->extents[1];
  pto_reference_set_matrix(&tensors[0], rows, cols);
  pto_reference_set_matrix(&tensors[1], rows, cols + sizes->draw % 3 * 7);
  pto_reference_set_vector(&tensors[2], rows);
  pto_reference_set_vector(&tensors[3], rows);
  return true;
}

/* p's argument s − m is rounded to f32, which moves p by |s − m|/2^24 of itself; a p that falls on the other side of a
 * rounding moves l by a unit of p. */
static void softmax_prepare_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *s = &args->tensors[0], *p = &args->tensors[1];
  const uint64_t cols = pto_reference_cols(s);
  for (uint64_t row = 0; row < pto_reference_rows(s); row++) {
    double largest = -INFINITY, sum = 0, slack = 0;
    for (uint64_t col = 0; col < cols; col++) largest = fmax(largest, pto_reference_at(s, row, col));
    for (uint64_t col = 0; col < pto_reference_cols(p); col++) {
      const uint64_t i = row * pto_reference_cols(p) + col;
      const double x = col < cols ? pto_reference_at(s, row, col) - largest : -INFINITY, value = exp(x);
      golden[1].value[i] = value;
      golden[1].slack[i] = col < cols ? fabs(x) * 0x1p-24 * value : 0;
      sum += pto_reference_round(p->dtype, value);
      slack += col < cols ? pto_reference_ulp(p->dtype, value) + golden[1].slack[i] : 0;
    }
    golden[2].value[row] = largest;
    golden[3].value[row] = sum;
    golden[3].slack[row] = slack + (double)cols * 0x1p-24 * sum;
  }
}
PTO_REFERENCE(softmax_prepare, .shapes = softmax_prepare_shapes, .golden = softmax_prepare_golden, .ulps = 0.8,
              .values = PTO_VALUES_FINITE);

static bool online_update_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                 union pto_scalar *scalars) {
  if (sizes->rank != 2) return false;
  const uint64_t rows = sizes->extents[0], d = sizes->extents[1];
  for (uint32_t i = 0; i < 7; i++) {
    if (i == 2 || i >= 5)
      pto_reference_set_matrix(&tensors[i], rows, d);
    else
      pto_reference_set_vector(&tensors[i], rows);
  }
  scalars[0].i64 = sizes->draw % 2 != 0;
  scalars[1].i64 = sizes->draw / 2 % 2 != 0;
  return true;
}

static void online_update_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *t = args->tensors;
  const bool is_first = args->scalars[0].i64 != 0, is_last = args->scalars[1].i64 != 0;
  const uint64_t cols = pto_reference_cols(&t[5]);
  for (uint64_t row = 0; row < t[3].shape[0]; row++) {
    const double m_ij = pto_reference_element(&t[0], row), l_ij = pto_reference_element(&t[1], row);
    const double m = is_first ? -INFINITY : pto_reference_element(&t[3], row);
    const double l = is_first ? 0 : pto_reference_element(&t[4], row);
    const double largest = fmax(m, m_ij), alpha = exp(m - largest), beta = exp(m_ij - largest);
    /* Arguments of the exponentials are rounded, then the exponential, the product and the sum. */
    const double relative = is_first ? 0 : (fabs(m - m_ij) + 4) * 0x1p-24;
    const double sum = alpha * l + beta * l_ij, sum_slack = relative * (alpha * fabs(l) + beta * fabs(l_ij));
    golden[3].value[row] = largest;
    golden[4].value[row] = sum;
    golden[4].slack[row] = sum_slack;
    for (uint64_t i = row * cols; i < (row + 1) * cols; i++) {
      const double o = is_first ? 0 : pto_reference_element(&t[5], i), o_new = pto_reference_element(&t[2], i);
      const double merged = alpha * o + beta * o_new, slack = relative * (alpha * fabs(o) + beta * fabs(o_new));
      golden[5].value[i] = merged;
      golden[5].slack[i] = slack;
      golden[6].value[i] = is_last ? merged / sum : pto_reference_element(&t[6], i);
      golden[6].slack[i] = is_last ? slack / fabs(sum) + fabs(merged / sum) * (sum_slack / fabs(sum) + 0x1p-22) : 0;
    }
  }
}
PTO_REFERENCE(online_update, .shapes = online_update_shapes, .golden = online_update_golden, .ulps = 0.51,
              .values = PTO_VALUES_FINITE, .flags = PTO_REFERENCE_MOVES_LESS);

/* ---- softmax ---- */

#define UNIT 0x1p-24       /* half a unit in the last place of f32, relative */
#define MOST_IN_A_ROW 2000 /* longer rows are read more than once: kernels/rows/fold_test.c has them */

static bool softmax_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                           union pto_scalar *scalars) {
  if (sizes->rank == 0) return false;
  const uint32_t axis = pto_reference_draw_axis(sizes, scalars);
  return pto_reference_same_shapes(sizes, tensors, 2) && sizes->extents[axis] <= MOST_IN_A_ROW;
}

/* 0 · ∞ is 0: the error of an exponent moves no weight of 0. */
static double moved(double weight, double exponent) { return weight == 0 ? 0 : weight * fabs(exponent) * UNIT; }

/* Rounded are x − m, each exponential (by 0.8 units: at most 1.6 · 2^-24, or 0.8 of the smallest subnormal), the sum,
 * its reciprocal or logarithm, and the product or the differences. */
static void softmax_row(const struct pto_kernel_args *args, const struct pto_golden *golden, uint64_t first,
                        const struct pto_reference_axis *axis, bool is_log) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  const uint64_t end = first + axis->length * axis->step;
  double m = -INFINITY, l = 0, slack = 0;
  for (uint64_t at = first; at < end; at += axis->step) m = pto_exact_max(m, pto_reference_element(x, at));
  for (uint64_t at = first; at < end; at += axis->step) {
    const double d = pto_reference_element(x, at) - m, e = exp(d);
    l += e;
    slack += moved(e, d) + 2 * UNIT * e;
  }
  slack = slack / l + pto_reference_sum_bound(axis->length);
  for (uint64_t at = first; at < end; at += axis->step) {
    const double d = pto_reference_element(x, at) - m;
    golden[1].value[at] = is_log ? d - log(l) : exp(d) / l;
    golden[1].slack[at] = is_log ? slack + 2 * UNIT * log(l) + (isfinite(d) ? fabs(d) * UNIT : 0)
                                 : moved(exp(d) / l, d) + exp(d) / l * (slack + 4 * UNIT) + 0x1p-149;
  }
}

static void softmax_rows(const struct pto_kernel_args *args, const struct pto_golden *golden, bool is_log) {
  const struct pto_reference_axis axis = pto_reference_axis_of(args);
  const uint64_t numel = pto_reference_numel(&args->tensors[0]);
  for (uint64_t row = 0; numel > 0 && row < numel / axis.length; row++)
    softmax_row(args, golden, pto_reference_first_of(&axis, row), &axis, is_log);
}

static void softmax_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  softmax_rows(args, golden, false);
}
static void log_softmax_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  softmax_rows(args, golden, true);
}
PTO_REFERENCE(softmax, .shapes = softmax_shapes, .golden = softmax_golden, .ulps = 0.51, .values = PTO_VALUES_ANY);
PTO_REFERENCE(log_softmax, .shapes = softmax_shapes, .golden = log_softmax_golden, .ulps = 0.51,
              .values = PTO_VALUES_ANY);

/* ---- normalisations ---- */

static float drawn_eps(uint64_t draw) { return (float)(1 + draw / 64 % 4) * 1e-5f; }

/* x and y of all sizes, and `count` operands of some of the last of them: fewer where a row would be too long. */
static bool tail_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors, uint32_t count,
                        union pto_scalar *scalars) {
  if (sizes->rank == 0) return false;
  const uint32_t most = 1 + (uint32_t)(sizes->draw % sizes->rank);
  uint64_t length = sizes->extents[sizes->rank - 1];
  uint32_t tail = 1;
  for (; tail < most && length * sizes->extents[sizes->rank - tail - 1] <= MOST_IN_A_ROW; tail++)
    length *= sizes->extents[sizes->rank - tail - 1];
  pto_reference_same_shapes(sizes, tensors, count + 2);
  for (uint32_t i = 1; i <= count; i++) {
    tensors[i].ndims = tail;
    for (uint32_t d = 0; d < tail; d++) tensors[i].shape[d] = sizes->extents[sizes->rank - tail + d];
  }
  scalars[0].f32 = drawn_eps(sizes->draw);
  return length <= MOST_IN_A_ROW;
}
/* x and y of all sizes, and `count` operands of as many elements as the second. */
static bool channel_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                           uint32_t count) {
  uint64_t length = 1;
  if (sizes->rank < 2) return false;
  pto_reference_same_shapes(sizes, tensors, count + 2);
  for (uint32_t i = 1; i <= count; i++) pto_reference_set_vector(&tensors[i], sizes->extents[1]);
  for (uint32_t d = 1; d < sizes->rank; d++) length *= sizes->extents[d];
  return length <= MOST_IN_A_ROW;
}

static bool layernorm_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                             union pto_scalar *scalars) {
  return tail_shapes(sizes, tensors, 2, scalars);
}
static bool rmsnorm_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                           union pto_scalar *scalars) {
  return tail_shapes(sizes, tensors, 1, scalars);
}
static bool instance_norm_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                 union pto_scalar *scalars) {
  scalars[0].f32 = drawn_eps(sizes->draw);
  return channel_shapes(sizes, tensors, 2);
}
static bool group_norm_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                              union pto_scalar *scalars) {
  const uint64_t channels = sizes->extents[1];
  uint64_t groups = 1 + sizes->draw % 4;
  while (channels % groups != 0) groups--;
  scalars[0].u64 = groups;
  scalars[1].f32 = drawn_eps(sizes->draw);
  return channel_shapes(sizes, tensors, 2);
}
static bool batch_norm_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                              union pto_scalar *scalars) {
  scalars[0].f32 = drawn_eps(sizes->draw);
  return channel_shapes(sizes, tensors, 4);
}

/* Rows of `length` elements, one after another; element i of row r is scaled by element `of_scale` of the operands. */
struct rows {
  uint64_t length;
  uint64_t groups, per_channel; /* 0: of_scale = i; else (r mod groups) · (length / per_channel) + i / per_channel */
};
static uint64_t of_scale(const struct rows *rows, uint64_t row, uint64_t i) {
  if (rows->groups == 0) return i;
  return row % rows->groups * (rows->length / rows->per_channel) + i / rows->per_channel;
}

/* The mean is off by the sum's error and its own rounding, the variance by that of its sum and by the mean's error
 * squared, what becomes of them by a unit or two for each operation. */
static void normal_row(const struct pto_kernel_args *args, const struct pto_golden *golden, const struct rows *rows,
                       uint64_t row) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint64_t n = rows->length;
  const double eps = (double)args->scalars[args->scalar_count - 1].f32, bound = pto_reference_sum_bound(n);
  double mean = 0, magnitude = 0, variance = 0;
  for (uint64_t i = 0; i < n; i++) {
    mean += pto_reference_element(&t[0], row * n + i) / (double)n;
    magnitude += fabs(pto_reference_element(&t[0], row * n + i)) / (double)n;
  }
  for (uint64_t i = 0; i < n; i++) variance += pow(pto_reference_element(&t[0], row * n + i) - mean, 2) / (double)n;
  const double off = (bound + UNIT) * magnitude, r = 1 / sqrt(variance + eps);
  const double r_off = r * (((bound + 4 * UNIT) * variance + off * off) / (variance + eps) / 2 + UNIT);
  for (uint64_t i = 0; i < n; i++) {
    const double scale = pto_reference_element(&t[1], of_scale(rows, row, i));
    const double bias = pto_reference_element(&t[2], of_scale(rows, row, i));
    const double d = pto_reference_element(&t[0], row * n + i) - mean, product = fabs(scale * d) * r;
    golden[3].value[row * n + i] = scale * d * r + bias;
    golden[3].slack[row * n + i] = fabs(scale) * (off * r + (fabs(d) + off) * r_off) + 4 * UNIT * product;
  }
}
static void normal_rows(const struct pto_kernel_args *args, const struct pto_golden *golden, struct rows rows) {
  const uint64_t numel = pto_reference_numel(&args->tensors[0]);
  for (uint64_t row = 0; numel > 0 && row < numel / rows.length; row++) normal_row(args, golden, &rows, row);
}

static void layernorm_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  normal_rows(args, golden, (struct rows){pto_reference_numel(&args->tensors[1]), 0, 0});
}
static void grouped_golden(const struct pto_kernel_args *args, const struct pto_golden *golden, uint64_t groups) {
  const struct pto_kernel_tensor *x = &args->tensors[0];
  uint64_t per_channel = 1;
  if (pto_reference_numel(x) == 0) return;
  for (uint32_t d = 2; d < x->ndims; d++) per_channel *= x->shape[d];
  normal_rows(args, golden, (struct rows){x->shape[1] / groups * per_channel, groups, per_channel});
}
static void instance_norm_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  grouped_golden(args, golden, args->tensors[0].shape[1]);
}
static void group_norm_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  grouped_golden(args, golden, args->scalars[0].u64);
}
static void rmsnorm_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint64_t n = pto_reference_numel(&t[1]), numel = pto_reference_numel(&t[0]);
  for (uint64_t first = 0; first < numel; first += n) {
    double mean = 0;
    for (uint64_t i = 0; i < n; i++) mean += pow(pto_reference_element(&t[0], first + i), 2) / (double)n;
    for (uint64_t i = 0; i < n; i++) {
      const double r = 1 / sqrt(mean + (double)args->scalars[0].f32);
      const double value = pto_reference_element(&t[0], first + i) * r * pto_reference_element(&t[1], i);
      golden[2].value[first + i] = value;
      golden[2].slack[first + i] = fabs(value) * ((pto_reference_sum_bound(n) + 2 * UNIT) / 2 + 3 * UNIT);
    }
  }
}
static void batch_norm_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *t = args->tensors;
  uint64_t per_channel = 1;
  for (uint32_t d = 2; d < t[0].ndims; d++) per_channel *= t[0].shape[d];
  for (uint64_t i = 0; i < pto_reference_numel(&t[0]); i++) {
    const uint64_t c = i / per_channel % t[0].shape[1];
    const double d = pto_reference_element(&t[0], i) - pto_reference_element(&t[1], c);
    const double r = 1 / sqrt(pto_reference_element(&t[2], c) + (double)args->scalars[0].f32);
    const double product = d * r * pto_reference_element(&t[3], c);
    golden[5].value[i] = product + pto_reference_element(&t[4], c);
    golden[5].slack[i] = 4 * UNIT * fabs(product);
  }
}

#define NORMALISATION(name)                                                                                            \
  PTO_REFERENCE(name, .shapes = name##_shapes, .golden = name##_golden, .ulps = 0.51, .values = PTO_VALUES_FINITE)
NORMALISATION(layernorm);
NORMALISATION(rmsnorm);
NORMALISATION(instance_norm);
NORMALISATION(group_norm);
NORMALISATION(batch_norm);
