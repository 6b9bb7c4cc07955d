/* SPDX-License-Identifier: MIT */
/*
 * The references of PTO_ELEMENTWISE_LIST: what the last column of a line says, in double and in exact integers.
 * Constants; any thread.
 *
 * To add a form, add what it takes to `FORM` below; functions that expressions name come in pairs, float_NAME and
 * whole_NAME.
 */
#include <kernels/reference/math.h>
#include <kernels/reference/support.h>

/* ---- functions of the expressions ---- */

static double float_mul(double a, double b) { return a * b; }
/* Two numbers of 64 bits without a sign have a product of 128. */
static wide whole_mul(wide a, wide b) { return (wide)((unsigned __int128)a * (unsigned __int128)b); }
static double float_div(double a, double b) { return a / b; }
static wide whole_div(wide a, wide b) { return b == 0 ? 0 : a / b; }
static double float_rem(double a, double b) { return fmod(a, b); }
static wide whole_rem(wide a, wide b) { return b == 0 ? a : a % b; }
/* Of +0 and −0 the second. */
static double float_max(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }
static wide whole_max(wide a, wide b) { return a > b ? a : b; }
static double float_min(double a, double b) { return isnan(a) || isnan(b) ? NAN : a < b ? a : b; }
static wide whole_min(wide a, wide b) { return a < b ? a : b; }
static double float_pow(double a, double b) { return pow(a, b); }
/* From the highest bit of the power down. */
static wide whole_pow(wide a, wide b) {
  wide power = 1;
  if (b < 0) return a == 1 || (a == -1 && b % 2 == 0) ? 1 : a == -1 ? -1 : 0;
  for (int bit = 63; bit >= 0; bit--) {
    power = whole_mul(power, power);
    if ((b >> bit & 1) != 0) power = whole_mul(power, a);
  }
  return power;
}
#define PAIR(name, a) _Generic((a), wide : whole_##name, default : float_##name)
#define reference_mul(a, b) PAIR(mul, a)(a, b)
#define reference_div(a, b) PAIR(div, a)(a, b)
#define reference_rem(a, b) PAIR(rem, a)(a, b)
#define reference_pow(a, b) PAIR(pow, a)(a, b)
#define reference_max(a, b) PAIR(max, a)(a, b)
#define reference_min(a, b) PAIR(min, a)(a, b)

#define RF(x) ((double)(float)(x))
static double reference_unit(double x) { return float_min(float_max(x, 0), 1); }
static double reference_hard_swish(double x) {
  if (isnan(x)) return x;
  return x <= -3 ? -0.0 : x * fmin(x + 3, 6) / 6;
}

/* Shifted bit by bit; counts are unsigned, and none from the width up leaves anything but the sign. */
static uint64_t count_of(wide b, uint32_t bits) {
  const uint64_t count = (uint64_t)b & (UINT64_MAX >> (64 - bits));
  return count < bits ? count : bits;
}
static wide reference_shift(wide a, wide b, uint32_t bits) {
  for (uint64_t i = count_of(b, bits); i > 0; i--) a = whole_mul(a, 2);
  return a;
}
static wide reference_unshift(wide a, wide b, uint32_t bits) {
  for (uint64_t i = count_of(b, bits); i > 0; i--) a = (a - (a < 0 ? 1 : 0)) / 2;
  return a;
}

/* ---- forms ---- */

enum scalar_kind { NO_SCALAR, FLOATS, LOW_BITS, BOUNDS };
struct elementwise_form {
  uint32_t input_count;
  uint32_t first; /* the first tensor of the dtypes that the form leaves open */
  bool reads_output;
  enum scalar_kind scalars;
  uint32_t scalar_count;
};
#define READS_NOTHING .input_count = 0
#define READS_A .input_count = 1
#define READS_AB .input_count = 2
#define READS_CHOICE .input_count = 3, .first = 1
#define READS_OLD .input_count = 1, .reads_output = true
#define SCALARS_NONE .scalars = NO_SCALAR
#define SCALARS_F32 .scalars = FLOATS, .scalar_count = 1
#define SCALARS_TWO_F32 .scalars = FLOATS, .scalar_count = 2
#define SCALARS_LOW .scalars = LOW_BITS, .scalar_count = 1
#define SCALARS_BOUND .scalars = BOUNDS, .scalar_count = 1
#define SCALARS_TWO_BOUNDS .scalars = BOUNDS, .scalar_count = 2
#define FORM(name, reads, scalars_, result, by)                                                                        \
  static const struct elementwise_form name##_form = {READS_##reads, SCALARS_##scalars_};

/* Integer scalars: small ones, and those at and beyond the limits of the dtypes. */
static int64_t drawn_whole(uint64_t draw) {
  static const int64_t specials[] = {INT64_MIN, INT64_MAX, -1,  0,     1,      127,       128,
                                     -129,      255,       256, 65536, -40000, 3000000000};
  if (draw % 2 == 0) return (int64_t)(draw / 2 % 64) - 32;
  return specials[draw / 2 % PTO_ARRAY_LENGTH(specials)];
}

static bool elementwise_shapes(const struct pto_reference_sizes *sizes, const struct elementwise_form *form,
                               struct pto_reference_shape *tensors, union pto_scalar *scalars) {
  if (!pto_reference_same_shapes(sizes, tensors, form->input_count + 1)) return false;
  for (uint32_t i = 0; i < form->scalar_count; i++) {
    const uint64_t draw = i == 0 ? sizes->draw : pto_mix64(sizes->draw);
    if (form->scalars == FLOATS)
      scalars[i].f32 = pto_reference_drawn_float(draw);
    else
      scalars[i].i64 = drawn_whole(draw);
  }
  return true;
}

/* What an expression sees: a, b, c, s, t, in order. */
enum { A, B, C, S, T, OPERAND_COUNT };
struct elementwise_functions {
  double (*of_floats)(const double x[OPERAND_COUNT]);
  wide (*of_wholes)(const wide x[OPERAND_COUNT], uint32_t bits);
};

static void elementwise_golden(const struct pto_kernel_args *args, const struct pto_golden *golden,
                               const struct elementwise_form *form, const struct elementwise_functions *functions) {
  const struct pto_kernel_tensor *t = args->tensors;
  const uint32_t last = form->input_count, read_count = last + (form->reads_output ? 1 : 0);
  const bool is_float = pto_reference_is_float(&t[form->first]);
  double x[OPERAND_COUNT] = {0};
  wide w[OPERAND_COUNT] = {0};
  for (uint32_t k = 0; k < form->scalar_count; k++) {
    if (form->scalars == FLOATS)
      x[S + k] = (double)args->scalars[k].f32;
    else
      w[S + k] =
          form->scalars == BOUNDS ? pto_reference_saturated(t[last].dtype, args->scalars[k].i64) : args->scalars[k].i64;
  }
  for (uint64_t i = 0; i < pto_reference_numel(&t[last]); i++) {
    for (uint32_t k = 0; k < read_count; k++) {
      if (is_float)
        x[A + k] = pto_reference_element(&t[k], i);
      else
        w[A + k] = t[k].dtype == PTO_BOOL ? pto_reference_whole(&t[k], i) != 0 : pto_reference_wide(&t[k], i);
    }
    const double value = is_float ? functions->of_floats(x) : 0;
    const wide whole = is_float ? 0 : functions->of_wholes(w, pto_dtype_bits(t[form->first].dtype));
    golden[last].value[i] = value;
    golden[last].whole[i] = t[last].dtype == PTO_BOOL ? whole != 0 : (uint64_t)whole;
  }
}

/* ---- the lines ---- */

#define NAMES(type)                                                                                                    \
  const type a = x[A], b = x[B], c = x[C], s = x[S], t = x[T];                                                         \
  (void)a, (void)b, (void)c, (void)s, (void)t;

#define X(name, form, dtypes, ulps_, of_floats, of_integers, expression)                                               \
  PTO_FORM_APPLY(FORM, name, PTO_FORM_##form)                                                                          \
  static double name##_of_floats(const double x[OPERAND_COUNT]) {                                                      \
    const uint32_t bits = 32; /* of no use to a float */                                                               \
    (void)bits;                                                                                                        \
    NAMES(double)                                                                                                      \
    return (double)(expression);                                                                                       \
  }                                                                                                                    \
  static wide name##_of_wholes(const wide x[OPERAND_COUNT], uint32_t bits) {                                           \
    (void)bits;                                                                                                        \
    NAMES(wide)                                                                                                        \
    return (wide)(expression);                                                                                         \
  }                                                                                                                    \
  static const struct elementwise_functions name##_functions = {name##_of_floats, name##_of_wholes};                   \
  static bool name##_shapes(const struct pto_reference_sizes *sizes, struct pto_reference_shape *tensors,              \
                            union pto_scalar *scalars) {                                                               \
    return elementwise_shapes(sizes, &name##_form, tensors, scalars);                                                  \
  }                                                                                                                    \
  static void name##_golden(const struct pto_kernel_args *args, const struct pto_golden *golden) {                     \
    elementwise_golden(args, golden, &name##_form, &name##_functions);                                                 \
  }                                                                                                                    \
  PTO_REFERENCE(name, .shapes = name##_shapes, .golden = name##_golden, .ulps = ulps_, .values = PTO_VALUES_ANY);
PTO_ELEMENTWISE_LIST(X)
#undef X
