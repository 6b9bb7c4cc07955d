/* SPDX-License-Identifier: MIT */
#include <kernels/reference.h>

#include <kernels/kernel_list.h>
#include <runtime/base/base.h>

#include <math.h>

#define MAX_ELEMENTWISE 3000 /* elements of an elementwise case: small enough for every dtype and layout */

/* ---- elements ---- */

static double nibble(const uint8_t *bytes, uint64_t index, bool is_signed) {
  const int value = bytes[index / 2] >> (index % 2 * 4) & 15;
  return is_signed && value >= 8 ? value - 16 : value;
}

static double stored(const void *addr, uint32_t dtype) {
  switch (dtype) {
  case PTO_FLOAT32:
    return *(const float *)addr;
  case PTO_FLOAT16:
    return pto_fp16_to_f32(*(const uint16_t *)addr);
  case PTO_BFLOAT16:
    return pto_bf16_to_f32(*(const uint16_t *)addr);
  case PTO_INT8:
    return *(const int8_t *)addr;
  case PTO_INT16:
    return *(const int16_t *)addr;
  case PTO_INT32:
    return *(const int32_t *)addr;
  case PTO_INT64:
    return (double)*(const int64_t *)addr;
  case PTO_UINT16:
    return *(const uint16_t *)addr;
  case PTO_UINT32:
    return *(const uint32_t *)addr;
  case PTO_UINT64:
    return (double)*(const uint64_t *)addr;
  default:
    return *(const uint8_t *)addr;
  }
}

double pto_reference_element(const struct pto_kernel_tensor *t, uint64_t index) {
  if (t->dtype == PTO_INT4 || t->dtype == PTO_UINT4) return nibble(t->addr, index, t->dtype == PTO_INT4);
  uint64_t at = 0;
  for (uint32_t d = t->ndims; d-- > 0; index /= t->shape[d]) at += index % t->shape[d] * t->strides[d];
  return stored((const char *)t->addr + at * pto_dtype_size(t->dtype), t->dtype);
}

double pto_reference_ulp(uint32_t dtype, double value) {
  const int digits = dtype == PTO_FLOAT32 ? 24 : dtype == PTO_FLOAT16 ? 11 : 8;
  const int least = dtype == PTO_FLOAT16 ? -14 : -126;
  if (!isfinite(value)) return 0;
  const int exponent = value == 0 ? least : ilogb(value);
  return ldexp(1, (exponent < least ? least : exponent) - digits + 1);
}

static uint64_t numel(const struct pto_kernel_tensor *t) {
  uint64_t n = 1;
  for (uint32_t d = 0; d < t->ndims; d++) n *= t->shape[d];
  return n;
}

/* A scalar for a test: a multiple of 1/8 in [-4, 4). */
static float drawn_float(uint64_t draw) { return (float)(draw % 64) / 8 - 4; }

/* ---- elementwise ---- */

struct elementwise_form {
  uint32_t input_count;
  bool reads_output, has_scalar, is_scalar_int;
};
#define FORM_FILL                                                                                                      \
  { 0, false, true, false }
#define FORM_FILL_INT                                                                                                  \
  { 0, false, true, true }
#define FORM_UNARY                                                                                                     \
  { 1, false, false, false }
#define FORM_BINARY                                                                                                    \
  { 2, false, false, false }
#define FORM_SCALED                                                                                                    \
  { 1, false, true, false }
#define FORM_SCALED_INT                                                                                                \
  { 1, false, true, true }
#define FORM_INPLACE                                                                                                   \
  { 1, true, false, false }

static bool elementwise_shapes(const struct pto_reference_sizes *sizes, const struct elementwise_form *form,
                               struct pto_reference_shape *tensors, union pto_scalar *scalars) {
  uint64_t count = 1;
  for (uint32_t d = 0; d < sizes->rank; d++) count *= sizes->extents[d];
  if (count > MAX_ELEMENTWISE) return false;
  for (uint32_t i = 0; i <= form->input_count; i++) {
    tensors[i].ndims = sizes->rank;
    for (uint32_t d = 0; d < sizes->rank; d++) tensors[i].shape[d] = sizes->extents[d];
  }
  if (form->is_scalar_int)
    scalars[0].i64 = (int64_t)(sizes->draw % 64) - 32;
  else if (form->has_scalar)
    scalars[0].f32 = drawn_float(sizes->draw);
  return true;
}

typedef double elementwise_function(double a, double b, double s, bool whole);

static void elementwise_golden(const struct pto_kernel_args *args, const struct pto_golden *golden,
                               const struct elementwise_form *form, elementwise_function *function) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint32_t last = form->input_count;
  const bool whole = (PTO_DTYPE_BIT(t[last].dtype) & PTO_DTYPES_FLOAT) == 0;
  const uint32_t read_count = last + (form->reads_output ? 1 : 0);
  double s = 0;
  if (form->has_scalar) s = form->is_scalar_int ? (double)args->scalars[0].i64 : (double)args->scalars[0].f32;
  for (uint64_t i = 0; i < numel(&t[last]); i++) {
    const double a = read_count > 0 ? pto_reference_element(&t[0], i) : 0;
    const double b = read_count > 1 ? pto_reference_element(&t[1], i) : 0;
    golden[last].value[i] = function(a, b, s, whole);
  }
}

static double divide(double a, double b, bool whole) {
  if (!whole) return a / b;
  return b == 0 ? 0 : trunc(a / b);
}
static double maximum(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmax(a, b); }
static double minimum(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }

#define X(name, form, dtypes, ulps_, of_floats, of_integers, expression)                                               \
  static double name##_of(double a, double b, double s, bool whole) {                                                  \
    (void)a, (void)b, (void)s, (void)whole;                                                                            \
    return expression;                                                                                                 \
  }                                                                                                                    \
  static const struct elementwise_form name##_form = FORM_##form;                                                      \
  static bool name##_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,              \
                            union pto_scalar *scalars) {                                                               \
    return elementwise_shapes(sizes, &name##_form, tensors, scalars);                                                  \
  }                                                                                                                    \
  static void name##_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {                     \
    elementwise_golden(args, golden, &name##_form, name##_of);                                                         \
  }                                                                                                                    \
  static const struct pto_kernel_reference pto_reference_##name = {name##_shapes, name##_golden, ulps_, PTO_VALUES_ANY};
PTO_ELEMENTWISE_LIST(X)
#undef X

/* ---- copy ---- */

static bool copy_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                        union pto_scalar *scalars) {
  return neg_shapes(sizes, tensors, scalars);
}
static void copy_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  for (uint64_t i = 0; i < numel(&args->tensors[0]); i++)
    golden[1].value[i] = pto_reference_element(&args->tensors[0], i);
}
static const struct pto_kernel_reference pto_reference_copy = {copy_shapes, copy_golden, 0, PTO_VALUES_ANY};

/* ---- matrix products ---- */

static void set_matrix(struct pto_reference_shape *t, uint64_t rows, uint64_t cols) {
  t->ndims = 2;
  t->shape[0] = rows;
  t->shape[1] = cols;
}
static void set_vector(struct pto_reference_shape *t, uint64_t rows) {
  t->ndims = 1;
  t->shape[0] = rows;
}
/* A block of the cache, as a matrix or, half of the time, as a view of a pool. */
static void set_block(struct pto_reference_shape *t, uint64_t rows, uint64_t cols, uint64_t draw) {
  set_matrix(t, rows, cols);
  if (draw % 2 == 0) *t = (struct pto_reference_shape){4, {1, rows, 1, cols}};
}

static uint64_t columns_of(const struct pto_kernel_tensor *t) { return t->shape[t->ndims - 1]; }
static uint64_t rows_of(const struct pto_kernel_tensor *t) {
  uint64_t rows = 1;
  for (uint32_t d = 0; d + 1 < t->ndims; d++) rows *= t->shape[d];
  return rows;
}
static double at(const struct pto_kernel_tensor *t, uint64_t row, uint64_t col) {
  return pto_reference_element(t, row * columns_of(t) + col);
}

/* golden[2] = (t[0]·t[1], or t[0]·t[1]ᵀ) · scale + what t[2] holds, where that is asked for.  Slack: one rounding of
 * the sum of magnitudes for each term, one for the scale, one for the sum. */
static void product_golden(const struct pto_kernel_args *args, const struct pto_golden *golden, bool is_transposed,
                           bool is_added, double scale) {
  const struct pto_kernel_tensor *a = &args->tensors[0], *b = &args->tensors[1], *c = &args->tensors[2];
  const uint64_t depth = columns_of(a), cols = columns_of(c);
  for (uint64_t i = 0; i < numel(c); i++) {
    double sum = 0, magnitude = 0;
    for (uint64_t k = 0; k < depth; k++) {
      const double term = at(a, i / cols, k) * (is_transposed ? at(b, i % cols, k) : at(b, k, i % cols)) * scale;
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
  set_matrix(&tensors[0], m, k);
  set_matrix(&tensors[1], k, n);
  set_matrix(&tensors[2], m, n);
  return true;
}
static void matmul_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  product_golden(args, golden, false, false, 1);
}
static void matmul_accumulate_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  product_golden(args, golden, false, true, 1);
}
static const struct pto_kernel_reference pto_reference_matmul = {matmul_shapes, matmul_golden, 0.51, PTO_VALUES_FINITE};
static const struct pto_kernel_reference pto_reference_matmul_accumulate = {matmul_shapes, matmul_accumulate_golden,
                                                                            0.51, PTO_VALUES_FINITE};

/* ---- attention ---- */

static bool qk_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                      union pto_scalar *scalars) {
  if (sizes->rank != 3) return false;
  const uint64_t rows = sizes->extents[0], d = sizes->extents[1], block = sizes->extents[2];
  set_matrix(&tensors[0], rows, d);
  set_block(&tensors[1], block, d, sizes->draw);
  set_matrix(&tensors[2], rows, block);
  scalars[0].f32 = drawn_float(sizes->draw);
  return true;
}
static void qk_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  product_golden(args, golden, true, false, (double)args->scalars[0].f32);
}
static const struct pto_kernel_reference pto_reference_qk = {qk_shapes, qk_golden, 0.51, PTO_VALUES_FINITE};

static bool pv_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                      union pto_scalar *scalars) {
  (void)scalars;
  if (sizes->rank != 3) return false;
  const uint64_t rows = sizes->extents[0], block = sizes->extents[1], d = sizes->extents[2];
  set_matrix(&tensors[0], rows, block);
  set_block(&tensors[1], block, d, sizes->draw);
  set_matrix(&tensors[2], rows, d);
  return true;
}
static const struct pto_kernel_reference pto_reference_pv = {pv_shapes, matmul_golden, 0.51, PTO_VALUES_FINITE};

static bool softmax_prepare_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                   union pto_scalar *scalars) {
  (void)scalars;
  if (sizes->rank != 2 || sizes->extents[1] == 0) return false;
  const uint64_t rows = sizes->extents[0], cols = sizes->extents[1];
  set_matrix(&tensors[0], rows, cols);
  set_matrix(&tensors[1], rows, cols + sizes->draw % 3 * 7);
  set_vector(&tensors[2], rows);
  set_vector(&tensors[3], rows);
  return true;
}

static double rounded_to(uint32_t dtype, double value) {
  if (dtype == PTO_FLOAT16) return pto_fp16_to_f32(pto_fp16_from_f32((float)value));
  if (dtype == PTO_BFLOAT16) return pto_bf16_to_f32(pto_bf16_from_f32((float)value));
  return (float)value;
}

/* p's argument s − m is rounded to f32, which moves p by |s − m|/2^24 of itself; a p that falls on the other side of a
 * rounding moves l by a unit of p. */
static void softmax_prepare_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *s = &args->tensors[0], *p = &args->tensors[1];
  const uint64_t cols = columns_of(s);
  for (uint64_t row = 0; row < rows_of(s); row++) {
    double largest = -INFINITY, sum = 0, slack = 0;
    for (uint64_t col = 0; col < cols; col++) largest = fmax(largest, at(s, row, col));
    for (uint64_t col = 0; col < columns_of(p); col++) {
      const uint64_t i = row * columns_of(p) + col;
      const double x = col < cols ? at(s, row, col) - largest : -INFINITY, value = exp(x);
      golden[1].value[i] = value;
      golden[1].slack[i] = col < cols ? fabs(x) * 0x1p-24 * value : 0;
      sum += rounded_to(p->dtype, value);
      slack += col < cols ? pto_reference_ulp(p->dtype, value) + golden[1].slack[i] : 0;
    }
    golden[2].value[row] = largest;
    golden[3].value[row] = sum;
    golden[3].slack[row] = slack + (double)cols * 0x1p-24 * sum;
  }
}
static const struct pto_kernel_reference pto_reference_softmax_prepare = {
    softmax_prepare_shapes, softmax_prepare_golden, 0.51, PTO_VALUES_FINITE};

static bool online_update_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,
                                 union pto_scalar *scalars) {
  if (sizes->rank != 2) return false;
  const uint64_t rows = sizes->extents[0], d = sizes->extents[1];
  for (uint32_t i = 0; i < 7; i++) {
    if (i == 2 || i >= 5)
      set_matrix(&tensors[i], rows, d);
    else
      set_vector(&tensors[i], rows);
  }
  scalars[0].i64 = sizes->draw % 2 != 0;
  scalars[1].i64 = sizes->draw / 2 % 2 != 0;
  return true;
}

static void online_update_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {
  const struct pto_kernel_tensor *t = args->tensors;
  const bool is_first = args->scalars[0].i64 != 0, is_last = args->scalars[1].i64 != 0;
  const uint64_t cols = columns_of(&t[5]);
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
static const struct pto_kernel_reference pto_reference_online_update = {online_update_shapes, online_update_golden,
                                                                        0.51, PTO_VALUES_FINITE};

/* ---- all ---- */

static const struct pto_kernel_reference *const references[] = {
#define X(name, ...) &pto_reference_##name,
    PTO_KERNEL_LIST(X)
#undef X
};

const struct pto_kernel_reference *pto_kernel_reference_at(uint32_t index) {
  return index < PTO_ARRAY_LENGTH(references) ? references[index] : NULL;
}
