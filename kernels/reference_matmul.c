/* SPDX-License-Identifier: MIT */
/*
 * The references of matrix products: matmul, matmul_accumulate, qk and pv, one sum in double an element.  Constants;
 * any thread.
 */
#include <kernels/reference_support.h>

/* A block of the cache, as a matrix or, half of the time, as a view of a pool. */
static void set_block(struct pto_reference_shape *t, uint64_t rows, uint64_t cols, uint64_t draw) {
  pto_reference_set_matrix(t, rows, cols);
  if (draw % 2 == 0) *t = (struct pto_reference_shape){4, {1, rows, 1, cols}};
}

/* golden[2] = (t[0]·t[1], or t[0]·t[1]ᵀ) · scale + what t[2] holds, where that is asked for.  Slack: one rounding of
 * the sum of magnitudes for each term, one for the scale, one for the sum. */
static void product_golden(const struct pto_kernel_args *args, const struct pto_golden *golden, bool is_transposed,
                           bool is_added, double scale) {
  const struct pto_kernel_tensor *a = &args->tensors[0], *b = &args->tensors[1], *c = &args->tensors[2];
  const uint64_t depth = pto_reference_cols(a), cols = pto_reference_cols(c);
  for (uint64_t i = 0; i < pto_reference_numel(c); i++) {
    double sum = 0, magnitude = 0;
    for (uint64_t k = 0; k < depth; k++) {
      const double term = pto_reference_at(a, i / cols, k) *
                          (is_transposed ? pto_reference_at(b, i % cols, k) : pto_reference_at(b, k, i % cols)) * scale;
      sum += term;
      magnitude += fabs(term);
    }
    const double old = is_added ? pto_reference_element(c, i) : 0;
    golden[2].value[i] = sum + old;
    golden[2].slack[i] = ((double)depth + 2) * 0x1p-24 * (magnitude + fabs(old));
  }
}

static bool matmul_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                          union pto_scalar *scalars) {
  (void)scalars;
  if (sizes->rank != 3) return false;
  const uint64_t m = sizes->extents[0], k = sizes->extents[1], n = sizes->extents[2];
  pto_reference_set_matrix(&tensors[0], m, k);
  pto_reference_set_matrix(&tensors[1], k, n);
  pto_reference_set_matrix(&tensors[2], m, n);
  return true;
}
static void matmul_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  product_golden(args, golden, false, false, 1);
}
static void matmul_accumulate_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  product_golden(args, golden, false, true, 1);
}
const struct pto_kernel_reference pto_reference_matmul = {.shapes = matmul_shapes,
                                                          .golden = matmul_golden,
                                                          .ulps = 0.51,
                                                          .values = PTO_VALUES_FINITE,
                                                          .flags = PTO_REFERENCE_LEVELS_DIFFER,
                                                          .slack = "(k + 2)·2⁻²⁴ of the sum of magnitudes"};
const struct pto_kernel_reference pto_reference_matmul_accumulate = {.shapes = matmul_shapes,
                                                                     .golden = matmul_accumulate_golden,
                                                                     .ulps = 0.51,
                                                                     .values = PTO_VALUES_FINITE,
                                                                     .flags = PTO_REFERENCE_LEVELS_DIFFER,
                                                                     .slack = "(k + 2)·2⁻²⁴ of the sum of magnitudes"};

static bool qk_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                      union pto_scalar *scalars) {
  if (sizes->rank != 3) return false;
  const uint64_t rows = sizes->extents[0], d = sizes->extents[1], block = sizes->extents[2];
  pto_reference_set_matrix(&tensors[0], rows, d);
  set_block(&tensors[1], block, d, sizes->draw);
  pto_reference_set_matrix(&tensors[2], rows, block);
  scalars[0].f32 = pto_reference_drawn_float(sizes->draw);
  return true;
}
static void qk_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  product_golden(args, golden, true, false, (double)args->scalars[0].f32);
}
const struct pto_kernel_reference pto_reference_qk = {.shapes = qk_shapes,
                                                      .golden = qk_golden,
                                                      .ulps = 0.51,
                                                      .values = PTO_VALUES_FINITE,
                                                      .flags = PTO_REFERENCE_LEVELS_DIFFER,
                                                      .slack = "(k + 2)·2⁻²⁴ of the sum of magnitudes"};

static bool pv_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                      union pto_scalar *scalars) {
  (void)scalars;
  if (sizes->rank != 3) return false;
  const uint64_t rows = sizes->extents[0], block = sizes->extents[1], d = sizes->extents[2];
  pto_reference_set_matrix(&tensors[0], rows, block);
  set_block(&tensors[1], block, d, sizes->draw);
  pto_reference_set_matrix(&tensors[2], rows, d);
  return true;
}
const struct pto_kernel_reference pto_reference_pv = {.shapes = pv_shapes,
                                                      .golden = matmul_golden,
                                                      .ulps = 0.51,
                                                      .values = PTO_VALUES_FINITE,
                                                      .flags = PTO_REFERENCE_LEVELS_DIFFER,
                                                      .slack = "(k + 2)·2⁻²⁴ of the sum of magnitudes"};
