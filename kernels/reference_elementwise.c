/* SPDX-License-Identifier: MIT */
/*
 * The references of PTO_ELEMENTWISE_LIST: what the last column of a line says, in double.  Constants; any thread.
 */
#include <kernels/reference_support.h>

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
  if (!pto_reference_same_shapes(sizes, tensors, form->input_count + 1)) return false;
  if (form->is_scalar_int)
    scalars[0].i64 = (int64_t)(sizes->draw % 64) - 32;
  else if (form->has_scalar)
    scalars[0].f32 = pto_reference_drawn_float(sizes->draw);
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
  for (uint64_t i = 0; i < pto_reference_numel(&t[last]); i++) {
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
  const struct pto_kernel_reference pto_reference_##name = {name##_shapes, name##_golden, ulps_, PTO_VALUES_ANY};
PTO_ELEMENTWISE_LIST(X)
#undef X
