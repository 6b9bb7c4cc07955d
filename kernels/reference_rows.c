/* SPDX-License-Identifier: MIT */
/*
 * The references of kernels that work on rows: softmax_prepare and online_update.  Constants; any thread.
 */
#include <kernels/reference_support.h>

static bool softmax_prepare_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                   union pto_scalar *scalars) {
  (void)scalars;
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
const struct pto_kernel_reference pto_reference_softmax_prepare = {
    .shapes = softmax_prepare_shapes, .golden = softmax_prepare_golden, .ulps = 0.51, .values = PTO_VALUES_FINITE};

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
const struct pto_kernel_reference pto_reference_online_update = {.shapes = online_update_shapes,
                                                                 .golden = online_update_golden,
                                                                 .ulps = 0.51,
                                                                 .values = PTO_VALUES_FINITE,
                                                                 .flags = PTO_REFERENCE_MOVES_LESS};
