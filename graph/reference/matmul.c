/* SPDX-License-Identifier: MIT */
/*
 * Reference: products of matrices.
 *
 * Each element is a sum of products in double, in the order of the inner dimension.  Nothing is skipped: 0 · ∞ is NaN.
 * Constants; any thread.
 */
#include <graph/reference/support.h>

/* Σ a[k · a_step] · b[k · b_step] */
static double dot(const double *a, uint64_t a_step, const double *b, uint64_t b_step, uint64_t size) {
  double total = 0;
  for (uint64_t k = 0; k < size; k++) total += a[k * a_step] * b[k * b_step];
  return total;
}

/* The same tensor, each matrix of its last two dimensions seen as one element. */
static struct pto_graph_desc batches(const struct pto_graph_desc *desc) {
  struct pto_graph_desc outer = *desc;
  outer.ndims -= 2;
  return outer;
}

/* Matrices in the last two dimensions; those before are broadcast. */
PTO_REFERENCE_OPERATION(matmul) {
  const struct pto_reference_tensor *a = operands[0], *b = operands[1];
  const uint64_t inner = a->desc.shape[a->desc.ndims - 1], rows = results->desc.shape[results->desc.ndims - 2],
                 cols = results->desc.shape[results->desc.ndims - 1];
  const struct pto_graph_desc to = batches(&results->desc), from_a = batches(&a->desc), from_b = batches(&b->desc);
  for (uint64_t batch = 0; batch < pto_graph_desc_numel(&to); batch++) {
    const double *left = a->values + pto_reference_broadcast(&from_a, &to, batch) * rows * inner,
                 *right = b->values + pto_reference_broadcast(&from_b, &to, batch) * inner * cols;
    for (uint64_t i = 0; i < rows; i++) {
      for (uint64_t j = 0; j < cols; j++)
        results->values[(batch * rows + i) * cols + j] = dot(left + i * inner, 1, right + j, cols, inner);
    }
  }
  return PTO_OK;
}

/* alpha · A · B + beta · C, A and B transposed where asked for, C broadcast. */
PTO_REFERENCE_OPERATION(gemm) {
  const struct pto_gemm_options *options = node->options;
  const struct pto_reference_tensor *a = operands[0], *b = operands[1], *c = operands[2];
  const double alpha = pto_reference_factor(options->alpha, 1), beta = pto_reference_factor(options->beta, 1);
  const bool a_transpose = pto_option_flag(options->a_transpose, false),
             b_transpose = pto_option_flag(options->b_transpose, false);
  const uint64_t rows = results->desc.shape[0], cols = results->desc.shape[1],
                 inner = a->desc.shape[a_transpose ? 0 : 1], a_row = a_transpose ? 1 : inner,
                 a_step = a_transpose ? rows : 1, b_col = b_transpose ? inner : 1, b_step = b_transpose ? 1 : cols;
  for (uint64_t i = 0; i < rows; i++) {
    for (uint64_t j = 0; j < cols; j++) {
      double total = alpha * dot(a->values + i * a_row, a_step, b->values + j * b_col, b_step, inner);
      if (c) total += beta * c->values[pto_reference_broadcast(&c->desc, &results->desc, i * cols + j)];
      results->values[i * cols + j] = total;
    }
  }
  return PTO_OK;
}
