/* SPDX-License-Identifier: MIT */
/*
 * The references of PTO_ELEMENTWISE_LIST: what the last column of a line says, in double and
 * in exact integers.  Constants; any thread.
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

/* The reference column of a line three times over: in double, and exactly, modulo 2^64, for integers of either sign.
 * Products of two 64-bit numbers fit 128 bits. */
struct elementwise_functions {
  double (*of_floats)(double a, double b, double s, bool whole);
  uint64_t (*of_signed)(__int128 a, __int128 b, __int128 s);
  uint64_t (*of_unsigned)(unsigned __int128 a, unsigned __int128 b, unsigned __int128 s);
};

static uint64_t whole_of(const struct elementwise_functions *functions, uint32_t dtype, const uint64_t operands[3]) {
  const uint64_t a = operands[0], b = operands[1], s = operands[2];
  return dtype == PTO_UINT64 ? functions->of_unsigned(a, b, s)
                             : functions->of_signed((int64_t)a, (int64_t)b, (int64_t)s);
}

static void elementwise_golden(const struct pto_kernel_args *args, const struct pto_golden *golden,
                               const struct elementwise_form *form, const struct elementwise_functions *functions) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint32_t last = form->input_count;
  const uint32_t read_count = last + (form->reads_output ? 1 : 0);
  const bool is_float = pto_reference_is_float(&t[last]);
  for (uint64_t i = 0; i < pto_reference_numel(&t[last]); i++) {
    double operands[2] = {0};
    uint64_t wholes[3] = {0};
    for (uint32_t k = 0; k < read_count; k++) {
      operands[k] = is_float ? pto_reference_element(&t[k], i) : 0;
      wholes[k] = is_float ? 0 : pto_reference_whole(&t[k], i);
    }
    if (form->is_scalar_int) wholes[2] = args->scalars[0].u64;
    if (is_float)
      golden[last].value[i] =
          functions->of_floats(operands[0], operands[1], form->has_scalar ? (double)args->scalars[0].f32 : 0, false);
    else
      golden[last].whole[i] = whole_of(functions, t[last].dtype, wholes);
  }
}

static double divide(double a, double b, bool whole) {
  (void)whole;
  return a / b;
}
static double maximum(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmax(a, b); }
static double minimum(double a, double b) { return isnan(a) || isnan(b) ? NAN : fmin(a, b); }

#define FUNCTION(type, operand_type, name, expression)                                                                 \
  static type name(operand_type a, operand_type b, operand_type s) {                                                   \
    (void)a, (void)b, (void)s;                                                                                         \
    return (type)(expression);                                                                                         \
  }

#define X(name, form, dtypes, ulps_, of_floats, of_integers, expression)                                               \
  static double name##_of_floats(double a, double b, double s, bool whole) {                                           \
    (void)a, (void)b, (void)s, (void)whole;                                                                            \
    return expression;                                                                                                 \
  }
PTO_ELEMENTWISE_LIST(X)
#undef X

/* The functions that the expressions name, exactly. */
#define divide(a, b, whole) ((b) == 0 ? 0 : (a) / (b))
#define maximum(a, b) ((a) > (b) ? (a) : (b))
#define minimum(a, b) ((a) < (b) ? (a) : (b))
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtype-limits" /* relu of an unsigned number */
#define X(name, form, dtypes, ulps_, of_floats, of_integers, expression)                                               \
  FUNCTION(uint64_t, __int128, name##_of_signed, expression)                                                           \
  FUNCTION(uint64_t, unsigned __int128, name##_of_unsigned, expression)
PTO_ELEMENTWISE_LIST(X)
#undef X
#pragma GCC diagnostic pop
#undef divide
#undef maximum
#undef minimum

#define X(name, form, dtypes, ulps_, of_floats, of_integers, expression)                                               \
  static const struct elementwise_functions name##_functions = {name##_of_floats, name##_of_signed,                    \
                                                                name##_of_unsigned};                                   \
  static const struct elementwise_form name##_form = FORM_##form;                                                      \
  static bool name##_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,              \
                            union pto_scalar *scalars) {                                                               \
    return elementwise_shapes(sizes, &name##_form, tensors, scalars);                                                  \
  }                                                                                                                    \
  static void name##_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {                     \
    elementwise_golden(args, golden, &name##_form, &name##_functions);                                                 \
  }                                                                                                                    \
  const struct pto_kernel_reference pto_reference_##name = {                                                           \
      .shapes = name##_shapes, .golden = name##_golden, .ulps = ulps_, .values = PTO_VALUES_ANY};
PTO_ELEMENTWISE_LIST(X)
#undef X
