/* SPDX-License-Identifier: MIT */
/*
 * The references of products of a matrix and a vector: one sum a row, in double.  Constants; any thread.
 */
#include <kernels/reference/support.h>

static void set_vectors(struct pto_reference_shape *x, uint64_t rows, uint64_t cols) {
  pto_reference_set_vector(&x[0], cols);
  pto_reference_set_vector(&x[1], rows);
}

/* The last size, and the product of what is before it. */
static bool rows_and_cols(const struct pto_reference_sizes *sizes, uint64_t *rows, uint64_t *cols) {
  if (sizes->rank != 2 && sizes->rank != 3) return false;
  *rows = sizes->rank == 3 ? sizes->extents[0] * sizes->extents[1] : sizes->extents[0];
  *cols = sizes->extents[sizes->rank - 1];
  return true;
}

static bool matvec_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                          union pto_scalar *scalars) {
  uint64_t rows, cols;
  if (!rows_and_cols(sizes, &rows, &cols)) return false;
  pto_reference_set_matrix(&tensors[0], rows, cols);
  set_vectors(&tensors[1], rows, cols);
  return true;
}

/* Blocks of 32 or 64 columns. */
static bool matvec_scaled_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                 union pto_scalar *scalars) {
  uint64_t rows, blocks, cols;
  if (!rows_and_cols(sizes, &rows, &blocks)) return false;
  blocks = (blocks + 31) / 32;
  cols = blocks * (sizes->draw % 2 ? 32 : 64);
  pto_reference_set_matrix(&tensors[0], rows, cols);
  pto_reference_set_matrix(&tensors[1], rows, blocks);
  set_vectors(&tensors[2], rows, cols);
  return true;
}

/* Slack: a term is a product or two, rounded each; partial sums of ⌈cols / 32⌉ terms, their tree of 5, and y. */
static void golden_of(const struct pto_kernel_args *args, const struct pto_golden *golden, bool is_accumulated) {
  const uint32_t last = args->tensor_count - 1;
  const struct pto_kernel_tensor *w = &args->tensors[0], *scale = last == 3 ? &args->tensors[1] : NULL;
  const struct pto_kernel_tensor *x = &args->tensors[last - 1], *y = &args->tensors[last];
  const uint64_t rows = w->shape[0], cols = w->shape[1];
  for (uint64_t r = 0; r < rows; r++) {
    double sum = 0, magnitude = 0;
    for (uint64_t c = 0; c < cols; c++) {
      double term = pto_reference_at(w, r, c) * pto_reference_element(x, c);
      if (scale) term *= pto_reference_at(scale, r, c / (cols / scale->shape[1]));
      sum += term;
      magnitude += fabs(term);
    }
    const double old = is_accumulated ? pto_reference_element(y, r) : 0;
    golden[last].value[r] = sum + old;
    golden[last].slack[r] = ((double)((cols + 31) / 32) + 8) * 0x1p-24 * (magnitude + fabs(old));
  }
}
static void output_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  golden_of(args, golden, false);
}
static void accumulate_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  golden_of(args, golden, true);
}

/* X(name, shapes, golden) */
#define MATVEC_LIST(X)                                                                                                 \
  X(matvec, matvec_shapes, output_golden)                                                                              \
  X(matvec_accumulate, matvec_shapes, accumulate_golden)                                                               \
  X(matvec_int8, matvec_scaled_shapes, output_golden)                                                                  \
  X(matvec_int8_accumulate, matvec_scaled_shapes, accumulate_golden)                                                   \
  X(matvec_int4, matvec_scaled_shapes, output_golden)                                                                  \
  X(matvec_int4_accumulate, matvec_scaled_shapes, accumulate_golden)

#define X(name, shapes_, golden_)                                                                                      \
  PTO_REFERENCE(name, .shapes = shapes_, .golden = golden_, .ulps = 0.51, .values = PTO_VALUES_FINITE,                 \
                .flags = PTO_REFERENCE_ANY_ZERO, .slack = "(cols / 32 + 9)·2⁻²⁴ of the sum of magnitudes");
MATVEC_LIST(X)
#undef X
