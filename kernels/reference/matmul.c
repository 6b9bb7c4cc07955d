/* SPDX-License-Identifier: MIT */
/*
 * The references of matrix products, one sum an element: in double, and modulo 2^64 for integers.  Constants; any
 * thread.
 */
#include <kernels/reference/support.h>

/* A block of the cache, as a matrix or, half of the time, as a view of a pool. */
static void set_block(struct pto_reference_shape *t, uint64_t rows, uint64_t cols, uint64_t draw) {
  pto_reference_set_matrix(t, rows, cols);
  if (draw % 2 == 0) *t = (struct pto_reference_shape){4, {1, rows, 1, cols}};
}

/* Element (row, col) of product `index` of a batch of shape `whole`, of an input whose extents of 1 serve all. */
static uint64_t index_of(const struct pto_kernel_tensor *t, const struct pto_kernel_tensor *whole, uint64_t index,
                         uint64_t row, uint64_t col) {
  const uint32_t rank = t->ndims;
  uint64_t at = row * t->shape[rank - 1] + col, elems = t->shape[rank - 2] * t->shape[rank - 1];
  for (uint32_t back = 3; back <= whole->ndims && back <= rank; back++) {
    const uint64_t extent = whole->shape[whole->ndims - back];
    if (t->shape[rank - back] != 1) at += index % extent * elems;
    elems *= t->shape[rank - back];
    index /= extent;
  }
  return at;
}

/* What a product is made of besides a·b: scale · a·b, or a·bᵀ, + beta · tensor `added`. */
struct product {
  bool is_transposed, is_block, is_added; /* is_block: b may be a view of a pool */
  uint32_t added, out;
  double scale, beta;
};

/* Slack: one rounding of the sum of magnitudes for each term, one for the scale, one for beta, one for the sum. */
static void product_golden(const struct pto_kernel_args *args, const struct pto_golden *golden,
                           const struct product *product) {
  const struct pto_kernel_tensor *a = &args->tensors[0], *b = &args->tensors[1], *c = &args->tensors[product->out];
  const uint64_t depth = pto_reference_cols(a), cols = pto_reference_cols(c), rows = c->shape[c->ndims - 2];
  for (uint64_t i = 0; i < pto_reference_numel(c); i++) {
    const uint64_t row = i / cols % rows, col = i % cols, index = i / cols / rows;
    double sum = 0, magnitude = 0;
    for (uint64_t k = 0; k < depth; k++) {
      const double x = pto_reference_element(a, index_of(a, c, index, row, k));
      const double y = product->is_transposed ? pto_reference_at(b, col, k)
                       : product->is_block    ? pto_reference_at(b, k, col)
                                              : pto_reference_element(b, index_of(b, c, index, k, col));
      sum += x * y;
      magnitude += fabs(x * y * product->scale);
    }
    const struct pto_kernel_tensor *added = &args->tensors[product->added];
    const double old =
        product->is_added ? product->beta * pto_reference_element(added, index_of(added, c, index, row, col)) : 0;
    golden[product->out].value[i] = product->is_added ? sum * product->scale + old : sum * product->scale;
    golden[product->out].slack[i] =
        ((double)depth + 2 + (product->beta != 1 && product->is_added)) * 0x1p-24 * (magnitude + fabs(old));
  }
}

/* m, k, n are the innermost sizes and what is before them a batch, of which a or b may have extents of 1, and b fewer
 * dimensions. */
static bool matmul_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                          union pto_scalar *scalars) {
  if (sizes->rank < 3) return false;
  const uint32_t batch = sizes->rank - 3;
  const uint64_t *inner = &sizes->extents[batch], m = inner[0], k = inner[1], n = inner[2];
  const uint32_t missing = batch > 0 && sizes->draw % 3 == 0 ? 1 : 0;
  for (uint32_t d = 0; d < batch; d++) {
    const uint64_t extent = sizes->extents[d], choice = sizes->draw >> (8 + 2 * d) & 3;
    tensors[0].shape[d] = choice == 1 && d >= missing ? 1 : extent;
    if (d >= missing) tensors[1].shape[d - missing] = choice == 2 ? 1 : extent;
    tensors[2].shape[d] = extent;
  }
  const uint64_t matrices[3][2] = {{m, k}, {k, n}, {m, n}};
  for (uint32_t i = 0; i < 3; i++) {
    const uint32_t dims = batch - (i == 1 ? missing : 0);
    tensors[i].ndims = dims + 2;
    tensors[i].shape[dims] = matrices[i][0];
    tensors[i].shape[dims + 1] = matrices[i][1];
  }
  return true;
}
static void matmul_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  product_golden(args, golden, &(struct product){.out = 2, .scale = 1});
}
static void matmul_accumulate_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  product_golden(args, golden, &(struct product){.out = 2, .scale = 1, .is_added = true, .added = 2, .beta = 1});
}
PTO_REFERENCE(matmul, .shapes = matmul_shapes, .golden = matmul_golden, .ulps = 0.51, .values = PTO_VALUES_FINITE,
              .flags = PTO_REFERENCE_LEVELS_DIFFER, .slack = "(k + 2)·2⁻²⁴ of the sum of magnitudes");
PTO_REFERENCE(matmul_accumulate, .shapes = matmul_shapes, .golden = matmul_accumulate_golden, .ulps = 0.51,
              .values = PTO_VALUES_FINITE, .flags = PTO_REFERENCE_LEVELS_DIFFER,
              .slack = "(k + 2)·2⁻²⁴ of the sum of magnitudes");

/* c is broadcast in the batch where a is. */
static bool gemm_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                        union pto_scalar *scalars) {
  if (!matmul_shapes(sizes, tensors, scalars)) return false;
  tensors[3] = tensors[2];
  for (uint32_t d = 0; d + 2 < tensors[0].ndims; d++) tensors[2].shape[d] = tensors[0].shape[d];
  scalars[0].f32 = pto_reference_drawn_float(sizes->draw);
  scalars[1].f32 = pto_reference_drawn_float(sizes->draw >> 6);
  return true;
}
static void gemm_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  product_golden(args, golden,
                 &(struct product){.out = 3,
                                   .scale = (double)args->scalars[0].f32,
                                   .is_added = true,
                                   .added = 2,
                                   .beta = (double)args->scalars[1].f32});
}
PTO_REFERENCE(gemm, .shapes = gemm_shapes, .golden = gemm_golden, .ulps = 0.51, .values = PTO_VALUES_FINITE,
              .flags = PTO_REFERENCE_LEVELS_DIFFER);

/* Bounds that some of the products are beyond. */
static bool gemm_clamp_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                              union pto_scalar *scalars) {
  if (!gemm_shapes(sizes, tensors, scalars)) return false;
  scalars[2].f32 = -0.5f;
  scalars[3].f32 = 2.0f;
  return true;
}
static void gemm_clamp_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  gemm_golden(args, golden);
  for (uint64_t i = 0; i < pto_reference_numel(&args->tensors[3]); i++)
    golden[3].value[i] = fmin(fmax(golden[3].value[i], (double)args->scalars[2].f32), (double)args->scalars[3].f32);
}
PTO_REFERENCE(gemm_clamp, .shapes = gemm_clamp_shapes, .golden = gemm_clamp_golden, .ulps = 0.51,
              .values = PTO_VALUES_FINITE, .flags = PTO_REFERENCE_LEVELS_DIFFER);

static void whole_golden(const struct pto_kernel_args *args, const struct pto_golden *golden, bool is_added) {
  const struct pto_kernel_tensor *a = &args->tensors[0], *b = &args->tensors[1], *c = &args->tensors[2];
  const uint64_t depth = pto_reference_cols(a), cols = pto_reference_cols(c), rows = c->shape[c->ndims - 2];
  for (uint64_t i = 0; i < pto_reference_numel(c); i++) {
    const uint64_t row = i / cols % rows, col = i % cols, index = i / cols / rows;
    uint64_t sum = is_added ? pto_reference_whole(c, i) : 0;
    for (uint64_t k = 0; k < depth; k++)
      sum +=
          pto_reference_whole(a, index_of(a, c, index, row, k)) * pto_reference_whole(b, index_of(b, c, index, k, col));
    golden[2].whole[i] = sum;
  }
}
static void matmul_int8_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  whole_golden(args, golden, false);
}
static void matmul_int8_accumulate_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  whole_golden(args, golden, true);
}
PTO_REFERENCE(matmul_int8, .shapes = matmul_shapes, .golden = matmul_int8_golden);
PTO_REFERENCE(matmul_int8_accumulate, .shapes = matmul_shapes, .golden = matmul_int8_accumulate_golden);

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
  product_golden(args, golden,
                 &(struct product){.out = 2, .is_transposed = true, .scale = (double)args->scalars[0].f32});
}
PTO_REFERENCE(qk, .shapes = qk_shapes, .golden = qk_golden, .ulps = 0.51, .values = PTO_VALUES_FINITE,
              .flags = PTO_REFERENCE_LEVELS_DIFFER | PTO_REFERENCE_ANY_ZERO,
              .slack = "(k + 2)·2⁻²⁴ of the sum of magnitudes");

static bool pv_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                      union pto_scalar *scalars) {
  if (sizes->rank != 3) return false;
  const uint64_t rows = sizes->extents[0], block = sizes->extents[1], d = sizes->extents[2];
  pto_reference_set_matrix(&tensors[0], rows, block);
  set_block(&tensors[1], block, d, sizes->draw);
  pto_reference_set_matrix(&tensors[2], rows, d);
  return true;
}
static void pv_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  product_golden(args, golden, &(struct product){.out = 2, .is_block = true, .scale = 1});
}
PTO_REFERENCE(pv, .shapes = pv_shapes, .golden = pv_golden, .ulps = 0.51, .values = PTO_VALUES_FINITE,
              .flags = PTO_REFERENCE_LEVELS_DIFFER, .slack = "(k + 2)·2⁻²⁴ of the sum of magnitudes");

/* ---- blocks with scales ---- */

/* Rows of blocks of 32 columns, or of 64 where the scales are no powers of two. */
static bool scaled_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *a,
                          struct pto_reference_shape *b, struct pto_reference_shape *c, uint64_t block) {
  if (sizes->rank != 3) return false;
  const uint64_t m = sizes->extents[0], blocks = (sizes->extents[1] + 31) / 32, n = sizes->extents[2];
  pto_reference_set_matrix(&a[0], m, blocks * block);
  pto_reference_set_matrix(&a[1], m, blocks);
  pto_reference_set_matrix(&b[0], n, blocks * block);
  pto_reference_set_matrix(&b[1], n, blocks);
  pto_reference_set_matrix(c, m, n);
  return true;
}
static bool matmul_mx_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                             union pto_scalar *scalars) {
  return scaled_shapes(sizes, &tensors[0], &tensors[2], &tensors[4], 32);
}
static bool matmul_int4_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                               union pto_scalar *scalars) {
  struct pto_reference_shape a[2];
  const uint64_t block = sizes->draw % 2 == 0 ? 32 : 64;
  if (!scaled_shapes(sizes, a, &tensors[1], &tensors[3], block)) return false;
  tensors[0] = a[0];
  return true;
}

/* Element (row, k) times its scale, rounded to f32. */
static double scaled_at(const struct pto_kernel_tensor *t, const struct pto_kernel_tensor *scale, uint64_t row,
                        uint64_t k) {
  const double element = t->dtype == PTO_INT4 || t->dtype == PTO_UINT4
                             ? (double)(int64_t)pto_reference_whole(t, row * t->shape[1] + k)
                             : pto_reference_at(t, row, k);
  return scale ? (float)(element * pto_reference_at(scale, row, k / (t->shape[1] / scale->shape[1]))) : element;
}

/* Slack: a chain of at most 64, a rounding for each of the other pieces, and one for c. */
static void scaled_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const uint32_t last = args->tensor_count - 1;
  const bool is_mx = last == 4;
  const struct pto_kernel_tensor *t = args->tensors, *b = &t[is_mx ? 2 : 1];
  const uint64_t m = t[0].shape[0], k = t[0].shape[1], n = b->shape[0], pieces = (k + 63) / 64;
  for (uint64_t i = 0; i < m * n; i++) {
    double sum = 0, magnitude = 0;
    for (uint64_t p = 0; p < k; p++) {
      const double term = scaled_at(&t[0], is_mx ? &t[1] : NULL, i / n, p) * scaled_at(b, b + 1, i % n, p);
      sum += term;
      magnitude += fabs(term);
    }
    golden[last].value[i] = sum;
    golden[last].slack[i] = (double)((k < 64 ? k : 64) + pieces + 1) * 0x1p-24 * magnitude;
  }
}

/* Scales of 2^-7 to 2^7. */
static bool scaled_fill(const struct pto_kernel_args *args, uint32_t i, struct pto_rng *rng) {
  const struct pto_kernel_tensor *t = &args->tensors[i];
  if (t->dtype != PTO_FLOAT8_E8M0FNU) return false;
  for (uint64_t j = 0; j < pto_reference_numel(t); j++) pto_reference_set_whole(t, j, 120 + pto_rng_below(rng, 15));
  return true;
}

/* X(name) */
#define SCALED_LIST(X) X(matmul_mx) X(matmul_int4)
#define X(name)                                                                                                        \
  PTO_REFERENCE(name, .shapes = name##_shapes, .golden = scaled_golden, .ulps = 0.51, .values = PTO_VALUES_FINITE,     \
                .flags = PTO_REFERENCE_LEVELS_DIFFER, .fill = scaled_fill,                                             \
                .slack = "(min(k, 64) + k / 64 + 2)·2⁻²⁴ of the sum of magnitudes");
SCALED_LIST(X)
#undef X
