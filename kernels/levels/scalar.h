/* SPDX-License-Identifier: MIT */
/*
 * One element of the operations that need more than an operator: rounding and sign of floats, and what integers do
 * where C leaves it undefined.
 *
 * Always true: defined for every operand, without a branch (powers apart), so that a loop over them
 * vectorises; the same bits with every compiler and instruction set.  In the macros, T is the type of the
 * elements and U an unsigned one of at least int's width, in which arithmetic wraps.  Pure functions; any thread.
 */
#ifndef PTO_KERNELS_LEVELS_SCALAR_H
#define PTO_KERNELS_LEVELS_SCALAR_H

#include <kernels/api/math.h>

/* ---- f32 ---- */

PTO_MATH float abs_f32(float x) { return f32_of_bits(bits_of_f32(x) & 0x7fffffff); }
/* The magnitude of `x`, the sign of `sign`. */
PTO_MATH float copysign_f32(float x, float sign) {
  return f32_of_bits((bits_of_f32(x) & 0x7fffffff) | (bits_of_f32(sign) & 0x80000000));
}
/* ±1; ±0 and NaN are themselves. */
PTO_MATH float sign_f32(float x) {
  const float above = x > 0 ? 1.0f : x;
  return x < 0 ? -1.0f : above;
}

/* minimum_f32(maximum_f32(x, low), high), of which compilers make twenty operations where it is written so: of an x and
 * of a low that is NaN the bits are chosen. */
PTO_MATH float chosen_f32(uint32_t mask, float then, float otherwise) {
  return f32_of_bits((bits_of_f32(then) & mask) | (bits_of_f32(otherwise) & ~mask));
}
PTO_MATH float clamp_f32(float x, float low, float high) {
  const float limit = chosen_f32(-(uint32_t)(low != low), low, high);
  const float larger = x > low ? x : low, within = larger < limit ? larger : limit;
  return chosen_f32(-(uint32_t)(x != x), x, within);
}
/* The same between 0 and 1; the sum turns −0 into 0. */
PTO_MATH float unit_f32(float x) {
  const float from = x + 0.0f, above = 0.0f > from ? 0.0f : from;
  return 1.0f < above ? 1.0f : above;
}

/* To a whole number: beyond 2^23 all are; below, the addition of 2^23 rounds to nearest even.  The sign of zero is
 * x's. */
PTO_MATH float round_f32(float x) {
  const float magnitude = abs_f32(x), rounded = (magnitude + 0x1p23f) - 0x1p23f;
  return magnitude < 0x1p23f ? copysign_f32(rounded, x) : x;
}
PTO_MATH float floor_f32(float x) {
  const float rounded = round_f32(x);
  return rounded > x ? rounded - 1.0f : rounded;
}
PTO_MATH float ceil_f32(float x) {
  const float rounded = round_f32(x);
  return copysign_f32(rounded < x ? rounded + 1.0f : rounded, x);
}
PTO_MATH float trunc_f32(float x) { return copysign_f32(floor_f32(abs_f32(x)), x); }

/* ---- integers ---- */

#define PTO_WRAP(a, operator, b) ((T)((U)(a) operator(U)(b)))
/* Of bools, of which all but 0 is true, by what they mean. */
#define PTO_SAME(a, b) (is_bool ? ((a) != 0) == ((b) != 0) : (a) == (b))
#define PTO_CLAMP(a, low, high) PTO_SMALLER((a) > (low) ? (a) : (low), high)
#define PTO_SMALLER(a, b) ((a) < (b) ? (a) : (b))

/* A shift count is unsigned; from the width up, nothing is left but the sign. */
#define PTO_WIDTH ((U)(8 * sizeof(T)))
#define PTO_SHIFT_LEFT(a, b) ((U)(b) < PTO_WIDTH ? (T)((U)(a) << ((U)(b) & (PTO_WIDTH - 1))) : (T)0)
#define PTO_SHIFT_RIGHT(a, b) ((U)(b) < PTO_WIDTH ? (T)((a) >> ((U)(b) & (PTO_WIDTH - 1))) : (T)((a) < 0 ? -1 : 0))

/* Division truncates towards zero; by zero it gives 0, and the one quotient that overflows wraps.  Narrow integers are
 * divided as floats, which vectors can: a / b is no whole number by at least 1/b, more than the rounding of the
 * quotient, 2^16/b · 2^-24 for 16 bits in f32 and 2^32/b · 2^-53 for 32 bits in double.  A quotient of 2^31 or more
 * is converted as what it is modulo 2^32. */
#define PTO_DEFINE_DIVIDE(name, type, real)                                                                            \
  PTO_MATH type name(type a, type b) {                                                                                 \
    const int32_t is_nonzero = b != 0;                                                                                 \
    const real divisor = (real)b + (real)(1 - is_nonzero);                                                             \
    const real quotient = (real)a / divisor;                                                                           \
    const real wrapped = quotient >= (real)0x1p31 ? quotient - (real)0x1p32 : quotient;                                \
    return (type)((int32_t)wrapped & -is_nonzero);                                                                     \
  }
PTO_DEFINE_DIVIDE(divide_i8, int8_t, float)
PTO_DEFINE_DIVIDE(divide_i16, int16_t, float)
PTO_DEFINE_DIVIDE(divide_i32, int32_t, double)
PTO_DEFINE_DIVIDE(divide_u8, uint8_t, float)
PTO_DEFINE_DIVIDE(divide_u16, uint16_t, float)
PTO_DEFINE_DIVIDE(divide_u32, uint32_t, double)
PTO_MATH int64_t divide_i64(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
PTO_MATH uint64_t divide_u64(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
#define PTO_DIVIDE(a, b)                                                                                               \
  _Generic((a), int8_t                                                                                                 \
           : divide_i8, int16_t                                                                                        \
           : divide_i16, int32_t                                                                                       \
           : divide_i32, int64_t                                                                                       \
           : divide_i64, uint8_t                                                                                       \
           : divide_u8, uint16_t                                                                                       \
           : divide_u16, uint32_t                                                                                      \
           : divide_u32, uint64_t                                                                                      \
           : divide_u64)(a, b)
/* a = b · (a / b) + remainder, whatever b: a itself where b is 0. */
#define PTO_REMAINDER(a, b) PTO_WRAP(a, -, (U)(b) * (U)PTO_DIVIDE(a, b))

/* a · a · … · a, wrapped.  A power below 0 is the quotient, truncated: 0 but of 1 and −1, and of 0, where it would be
 * infinite. */
PTO_MATH uint64_t power_u64(uint64_t a, uint64_t b) {
  uint64_t power = 1;
  for (; b != 0; b >>= 1) {
    power *= (b & 1) != 0 ? a : 1;
    a *= a;
  }
  return power;
}
PTO_MATH int64_t power_i64(int64_t a, int64_t b) {
  if (b >= 0) return (int64_t)power_u64((uint64_t)a, (uint64_t)b);
  if (a == 1) return 1;
  return a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0;
}
#define PTO_POWER(a, b)                                                                                                \
  ((T)((T)-1 > (T)0 ? (int64_t)power_u64((uint64_t)(a), (uint64_t)(b)) : power_i64((int64_t)(a), (int64_t)(b))))

#endif
