/* SPDX-License-Identifier: MIT */
/*
 * Functions of one element that the loops are made of, without a branch, a table or a call, so that a loop over them
 * vectorises with every instruction set.
 *
 * The transcendental ones are our own: they give the same bits with every compiler, C library and vector width, which a
 * library's need not (docs/decisions/math-functions-of-our-own.md).  All but exp_f32, which rows are made of, compute
 * in double and round to f32 once: an f32 argument is exact there and never subnormal, its square is exact, and the few
 * bits that are lost to a cancellation are none that f32 has, so that the composed ones too are off by little more than
 * half a unit.  The functions that keep pace with memory are in f32 and of whole vectors: kernels/levels/math.inc.
 *
 * NAME_f64 is a part that others are made of, in double, with a relative error below 2^-35, or what it says.
 * NAME_f32 is the function of a kernel: NaN in, NaN out; at ±∞ the limit; −0 where the exact result is negative.
 *
 * The polynomials are minimax ones in relative error, found with sollya's fpminimax, or remez and a rounding to double;
 * the error is said with each, as a power of two.  They are added up in pairs, which a processor overlaps better than a
 * chain.  Bounds on the results, and what they are measured against: kernels/api/math_test.c.
 *
 * To add a function, write it in double on the parts below, and give it a line in PTO_ELEMENTWISE_LIST, which brings
 * the tests.  GCC vectorises no select of 64-bit integers by a comparison of doubles with SSE2, and makes one of a
 * select between a constant and a double whose bits are worked on next: give a result its sign by copysign or a
 * product.
 *
 * Pure functions; any thread.
 */
#ifndef PTO_KERNELS_API_MATH_H
#define PTO_KERNELS_API_MATH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PTO_MATH static inline __attribute__((always_inline))

PTO_MATH uint32_t bits_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
PTO_MATH float f32_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
PTO_MATH uint64_t bits_of_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
PTO_MATH double f64_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* IEEE 754-2019 maximum and minimum, but for the sign of zero: NaN where one side is; of +0 and −0, b. */
PTO_MATH float maximum_f32(float a, float b) {
  const float larger = a > b ? a : b;
  return a != a ? a : larger;
}
PTO_MATH float minimum_f32(float a, float b) {
  const float smaller = a < b ? a : b;
  return a != a ? a : smaller;
}

/* ---- parts, in double ---- */

/* Added to a double below 2^51, leaves it rounded to an integer, to nearest even, in the low bits. */
#define PTO_ROUND_TO_INTEGER 0x1.8p52
#define PTO_ROUND_F32_TO_INTEGER 0x1.8p23f /* the same of an f32 below 2^22 */

/* `magnitude` with its sign changed where `sign` is negative. */
PTO_MATH double with_sign_f64(double magnitude, double sign) {
  return f64_of_bits(bits_of_f64(magnitude) ^ (bits_of_f64(sign) & (UINT64_C(1) << 63)));
}
/* The smaller and the larger of a value and a constant; NaN where the value is. */
PTO_MATH double at_most_f64(double x, double limit) { return x > limit ? limit : x; }
PTO_MATH double at_least_f64(double x, double limit) { return x < limit ? limit : x; }

/* 2^x = 2^k · (1 + tail), |x| ≤ 1000: k, rounded from x, in the low bits of `shifted`, and tail = 2^(x − k) − 1, within
 * 2^-37.7 by itself.  Exact for integers. */
struct pto_exp {
  double shifted, tail;
};
PTO_MATH struct pto_exp exp2_parts_f64(double x) {
  const double shifted = x + PTO_ROUND_TO_INTEGER, f = x - (shifted - PTO_ROUND_TO_INTEGER), f2 = f * f;
  const double low =
      (0x1.62e42fef9cdf2p-1 + 0x1.ebfbdff85f4afp-3 * f) + f2 * (0x1.c6b08da69e536p-5 + 0x1.3b2ab6a0de994p-7 * f);
  const double high =
      (0x1.5d87762b1f6b4p-10 + 0x1.43099b50b96d2p-13 * f) + f2 * (0x1.00c0833ef20e2p-16 + 0x1.62c0112f4ac04p-20 * f);
  return (struct pto_exp){shifted, f * (low + f2 * f2 * high)};
}
/* Adds k to the exponent: of a NaN too, whose low bits are 0 where it comes from an f32, so that it stays one. */
PTO_MATH double exp2_f64(double x) {
  const struct pto_exp e = exp2_parts_f64(x);
  return f64_of_bits(bits_of_f64(1.0 + e.tail) + (bits_of_f64(e.shifted) << 52));
}
#define PTO_LOG2_E 0x1.71547652b82fep0
#define PTO_LN_2 0x1.62e42fefa39efp-1
/* x = 2^k · m, m in [√½, √2), for positive normal x. */
struct pto_log {
  double k, m;
};
PTO_MATH struct pto_log log_parts_f64(double x) {
  const uint64_t one = UINT64_C(0x3ff0000000000000), root_half = UINT64_C(0x3fe6a09e667f3bcd);
  const uint64_t mantissa = UINT64_C(0x000fffffffffffff), two_52 = UINT64_C(0x4330000000000000);
  const uint64_t u = bits_of_f64(x) + (one - root_half);
  return (struct pto_log){f64_of_bits((u >> 52) | two_52) - (0x1p52 + 1023), f64_of_bits((u & mantissa) + root_half)};
}
/* log m = 2 artanh s, s = (m − 1) / (m + 1), for m in [√½, √2]: 2^-44.9. */
PTO_MATH double log_reduced_f64(double m_less_1, double m_plus_1) {
  const double s = m_less_1 / m_plus_1, s2 = s + s, z = s * s, z2 = z * z;
  const double low = 0x1.555555561d83dp-2 + 0x1.999996ab3f45dp-3 * z;
  const double high = (0x1.24941122459a9p-3 + 0x1.c62b5614cd159p-4 * z) + z2 * 0x1.9111f067ab3f6p-4;
  return s2 + s2 * z * (low + z2 * high);
}
/* The logarithm of x, which is not subnormal, from one that is right for finite positive x; −∞, ∞ and NaN where IEEE
 * 754 says so. */
PTO_MATH double log_special_f64(double x, double finite) {
  const double positive = x < __builtin_inf() ? finite : x;
  const double at_zero = x == 0 ? -__builtin_inf() : positive;
  return x < 0 ? __builtin_nan("") : at_zero;
}
PTO_MATH double log_f64(double x) {
  const struct pto_log l = log_parts_f64(x);
  return log_special_f64(x, l.k * PTO_LN_2 + log_reduced_f64(l.m - 1.0, l.m + 1.0));
}
/* Exact for powers of two. */
PTO_MATH double log2_f64(double x) {
  const struct pto_log l = log_parts_f64(x);
  return log_special_f64(x, l.k + log_reduced_f64(l.m - 1.0, l.m + 1.0) * PTO_LOG2_E);
}
/* Where 1 + x is in [√½, √2), its rounding is undone by taking x for m − 1.  Near −1 it has none. */
PTO_MATH double log1p_f64(double x) {
  const double y = 1.0 + x;
  const struct pto_log l = log_parts_f64(y);
  const double m_less_1 = l.k == 0 ? x : l.m - 1.0;
  return log_special_f64(y, l.k * PTO_LN_2 + log_reduced_f64(m_less_1, l.m + 1.0));
}
/* |x| / π − offset = n + fraction, for x that an f32 holds and an offset of 0 or ½: n in the low bits of `shifted`, but
 * for multiples of 2; fraction in [−½, ½].
 *
 * 1/π is cut into pieces of 28 bits, whose product with the 24 bits of x is exact.  Of the pieces those are skipped
 * that give multiples of 2; what is left then begins below 2^51.  Two pieces and one of 53 bits leave an error of less
 * than 2^-57 beside the rounding of the result, while no f32 is nearer than 2^-30 to a multiple of π/2. */
struct pto_turn {
  double shifted, fraction;
};
PTO_MATH struct pto_turn turn_f64(double x, double offset) {
  const double a = __builtin_fabs(x);
  double first = a >= 0x1p52 ? 0x1.c9c882cp-30 : 0x1.45f306cp-2;
  double second = a >= 0x1p52 ? -0x1.ac07b14p-58 : 0x1.c9c882cp-30;
  double third = a >= 0x1p52 ? -0x1.05c1596447e49p-86 : -0x1.ac07b1505c159p-58;
  first = a >= 0x1p80 ? -0x1.ac07b14p-58 : first;
  second = a >= 0x1p80 ? -0x1.05c1598p-86 : second;
  third = a >= 0x1p80 ? 0x1.bb81b6c52b328p-114 : third;
  first = a >= 0x1p108 ? -0x1.05c1598p-86 : first;
  second = a >= 0x1p108 ? 0x1.bb81b6cp-114 : second;
  third = a >= 0x1p108 ? 0x1.4acc9e21c821p-144 : third;
  const double t1 = a * first, t2 = a * second, t3 = a * third;
  const double n1 = t1 + PTO_ROUND_TO_INTEGER, n2 = t2 + PTO_ROUND_TO_INTEGER;
  const double f1 = (t1 - (n1 - PTO_ROUND_TO_INTEGER)) - offset, f2 = t2 - (n2 - PTO_ROUND_TO_INTEGER);
  const double n3 = (f1 + f2) + PTO_ROUND_TO_INTEGER;
  const double shifted = n1 + ((n2 - PTO_ROUND_TO_INTEGER) + (n3 - PTO_ROUND_TO_INTEGER));
  return (struct pto_turn){shifted, ((f1 - (n3 - PTO_ROUND_TO_INTEGER)) + f2) + t3};
}
/* sin πf for |f| ≤ ½: 2^-43.8. */
PTO_MATH double sin_half_turn_f64(double f) {
  const double z = f * f, z2 = z * z;
  const double low =
      (0x1.921fb54442b5fp1 - 0x1.4abbce6247edcp2 * z) + z2 * (0x1.466bc66dc8338p1 - 0x1.32d2c96c73e1p-1 * z);
  const double high = (0x1.5076fea32ffc2p-4 - 0x1.e297d0918e62dp-8 * z) + z2 * 0x1.d4ec77bcc7876p-12;
  return (low + z2 * z2 * high) * f;
}
/* The sign bit is that of (−1)^n. */
PTO_MATH double sign_of_turn_f64(struct pto_turn turn) { return f64_of_bits(bits_of_f64(turn.shifted) << 63); }

/* ---- exponentials and logarithms ---- */

/* Beyond these, e^x and 2^x are 0 or ∞ in f32; within, in double, they are neither, nor are their squares. */
PTO_MATH double exp_range_f64(double x) { return at_least_f64(at_most_f64(x, 300.0), -300.0); }

/* In f32, sixteen lanes where doubles are eight: 0.694 units in the last place, 0.769 where the result is subnormal.
 *
 * e^x = 2^k · (s + p): k = x / log 2, rounded; r = x − k · log 2 = high − low, of which high is exact, log 2's upper
 * piece having 12 bits, and low below 2^-6; s = 1 + high, rounded, and p all that is left, far below s, so that but for
 * the last addition no rounding counts.  The polynomial is (e^r − 1 − r) / r²: 2^-27.8, of what is at most 0.06.  2^k
 * comes as two factors of which the second is exact or rounds a subnormal result, once. */
PTO_MATH float exp_f32(float x) {
  const float shifted = x * 0x1.715476p0f + PTO_ROUND_F32_TO_INTEGER, k = shifted - PTO_ROUND_F32_TO_INTEGER;
  const float high = x - k * 0x1.62ep-1f, low = k * 0x1.0bfbe8p-15f, r = high - low, r2 = r * r;
  const float s = 1.0f + high, lost = ((1.0f - s) + high) - low;
  const float q_high = (0x1.555502p-5f + 0x1.110ff2p-7f * r) + r2 * (0x1.6d2ep-10f + 0x1.a2675cp-13f * r);
  const float q = (0x1p-1f + 0x1.555556p-3f * r) + r2 * q_high; /* r⁴ would be slow where it is subnormal */
  const float reduced = s + (lost + r2 * q);
  const uint32_t bias = x < 0 ? 127 + 60 : 127 - 2;
  const float y = reduced * f32_of_bits((bits_of_f32(shifted) + bias) << 23) * (x < 0 ? 0x1p-60f : 0x1p2f);
  const float below = x > 90.0f ? __builtin_inff() : y; /* there and below −110, y is of no meaning */
  return x < -110.0f ? 0.0f : below;
}
PTO_MATH float log_f32(float x) { return (float)log_f64(x); }
PTO_MATH float log2_f32(float x) { return (float)log2_f64(x); }
PTO_MATH float log1p_f32(float x) { return __builtin_copysignf((float)log1p_f64(x), x); }

/* 1 / √x; of −0 it is −∞. */
PTO_MATH float rsqrt_f32(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }

/* |x|^y = 2^(y log2 |x|), with the special cases of IEEE 754-2019, 9.2.1.  A |y| beyond 2^24 is an even integer. */
PTO_MATH float pow_f32(float x_f32, float y_f32) {
  const double x = x_f32, y = y_f32, log2_of_x = log2_f64(__builtin_fabs(x));
  const double power = exp2_f64(exp_range_f64(y * log2_of_x));
  const double of_one = log2_of_x == 0 ? 1.0 : power; /* whatever y is */
  const double magnitude = y == 0 ? 1.0 : of_one;     /* whatever x is */
  const double b = at_most_f64(__builtin_fabs(y), 0x1p25), shifted = b + PTO_ROUND_TO_INTEGER;
  const double sign =
      f64_of_bits(bits_of_f64(1.0) | ((bits_of_f64(shifted) << 63) & bits_of_f64(x))); /* x < 0, y odd */
  const double of_finite = x < 0 ? __builtin_nan("") : magnitude;
  const double of_fraction = x == -__builtin_inf() ? magnitude : of_finite;
  return (float)(shifted - PTO_ROUND_TO_INTEGER == b ? magnitude * sign : of_fraction);
}

/* ---- trigonometry ---- */

PTO_MATH float sin_f32(float x) {
  const struct pto_turn turn = turn_f64(x, 0.0);
  return (float)with_sign_f64(with_sign_f64(sin_half_turn_f64(turn.fraction), sign_of_turn_f64(turn)), x);
}
/* cos πy = −sin π(y − ½). */
PTO_MATH float cos_f32(float x) {
  const struct pto_turn turn = turn_f64(x, 0.5);
  return (float)with_sign_f64(-sin_half_turn_f64(turn.fraction), sign_of_turn_f64(turn));
}
/* tan πf = sin πf / cos πf for |f| ≤ ¼, and else cos πg / sin πg with g = ½ − |f|: sine 2^-37.6, cosine 2^-43.6. */
PTO_MATH float tan_f32(float x) {
  const struct pto_turn turn = turn_f64(x, 0.0);
  const double f = __builtin_fabs(turn.fraction), g = f > 0.25 ? 0.5 - f : f, z = g * g;
  const double z2 = z * z;
  const double s_low = 0x1.921fb5443af5cp1 - 0x1.4abbce564ca2dp2 * z;
  const double s_high = (0x1.466bba8bd532fp1 - 0x1.32ca853ae6303p-1 * z) + z2 * 0x1.4bc250704809ap-4;
  const double s = (s_low + z2 * s_high) * g;
  const double c_low = 1.0 - 0x1.3bd3cc9bd6835p2 * z;
  const double c_high =
      (0x1.03c1f075dd6e9p2 - 0x1.55d3ba9d94c6bp0 * z) + z2 * (0x1.e1e7f56b93bfep-3 - 0x1.a0f364aba2a02p-6 * z);
  const double c = c_low + z2 * c_high;
  const double magnitude = (f > 0.25 ? c : s) / (f > 0.25 ? s : c);
  return (float)with_sign_f64(with_sign_f64(magnitude, turn.fraction), x);
}

/* ---- activations ---- */

PTO_MATH float softsign_f32(float x) {
  const double v = at_least_f64(at_most_f64(x, 0x1p60), -0x1p60);
  return (float)(v / (1.0 + __builtin_fabs(v)));
}
/* ---- formats ---- */

/* IEEE 754 binary16: the fields shifted into place and rebiased by a multiplication, which also makes subnormals right.
 */
PTO_MATH float f32_from_fp16(uint16_t h) {
  const uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
  const uint32_t finite = bits_of_f32(f32_of_bits(magnitude) * 0x1p112f);
  const uint32_t nan = magnitude | 0x7fc00000;
  uint32_t bits = magnitude >= 0x0f800000 ? 0x7f800000 : finite;
  bits = magnitude > 0x0f800000 ? nan : bits;
  return f32_of_bits(bits | sign);
}
/* To nearest even: normal results by adding half a unit less the tie's bit; subnormal ones by the addition of ½, whose
 * unit in the last place is binary16's smallest subnormal. */
PTO_MATH uint16_t fp16_from_f32(float x) {
  const uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffff, sign = (u >> 16) & 0x8000;
  const uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x38000000) >> 13;
  const uint32_t subnormal = bits_of_f32(f32_of_bits(magnitude) + 0.5f) - bits_of_f32(0.5f);
  const uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  uint32_t h = magnitude < 0x38800000 ? subnormal : normal;
  h = magnitude >= 0x47800000 ? 0x7c00 : h;
  h = magnitude > 0x7f800000 ? nan : h;
  return (uint16_t)(h | sign);
}
PTO_MATH float f32_from_bf16(uint16_t h) {
  const uint32_t bits = (uint32_t)h << 16, quiet = bits | 0x400000;
  return f32_of_bits((bits & 0x7fffffff) > 0x7f800000 ? quiet : bits);
}
PTO_MATH uint16_t bf16_from_f32(float x) {
  const uint32_t u = bits_of_f32(x), nan = (u >> 16) | 0x40, rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
  return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* The small floats (include/pto/tensor.h), to their largest number where binary16 goes to infinity.  The fields of
 * float8 e5m2 are the upper half of binary16's; those of the others become f32's as binary16's do. */
PTO_MATH float f32_from_e5m2(uint8_t code) { return f32_from_fp16((uint16_t)(code << 8)); }
PTO_MATH float f32_from_e4m3(uint8_t code) {
  const uint32_t magnitude = (uint32_t)(code & 0x7f) << 20, sign = (uint32_t)(code & 0x80) << 24;
  const uint32_t finite = bits_of_f32(f32_of_bits(magnitude) * 0x1p120f), nan = magnitude | 0x7fc00000;
  return f32_of_bits((magnitude == 0x07f00000 ? nan : finite) | sign);
}
PTO_MATH float f32_from_e8m0(uint8_t code) {
  const uint32_t normal = (uint32_t)code << 23, number = code == 0 ? 0x400000 : normal;
  return f32_of_bits(code == 0xff ? 0x7fc00000 : number);
}
PTO_MATH float f32_from_e2m1(uint8_t code) {
  const uint32_t magnitude = (uint32_t)(code & 7) << 22, sign = (uint32_t)(code & 8) << 28;
  return f32_of_bits(bits_of_f32(f32_of_bits(magnitude) * 0x1p126f) | sign);
}
/* The magnitude's code where it is a number: `below` bits of f32's mantissa are rounded away, and `least` is the bits
 * of the smallest normal number.  The sum in which a subnormal one is rounded has its unit in the last place at 2^23.
 */
PTO_MATH uint32_t small_magnitude(uint32_t magnitude, uint32_t below, uint32_t least, uint32_t largest) {
  const float unit = f32_of_bits(least + (below << 23));
  const uint32_t subnormal = bits_of_f32(f32_of_bits(magnitude) + unit) - bits_of_f32(unit);
  const uint32_t half = (1u << (below - 1)) - 1 + ((magnitude >> below) & 1), hidden = 1u << 23;
  const uint32_t normal = (magnitude + half - (least - hidden)) >> below;
  const uint32_t code = magnitude < least ? subnormal : normal;
  return code < largest ? code : largest;
}
PTO_MATH uint8_t e4m3_from_f32(float x) {
  const uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffff, sign = (u >> 24) & 0x80;
  const uint32_t code = small_magnitude(magnitude, 20, 0x3c800000, 0x7e);
  return (uint8_t)((magnitude > 0x7f800000 ? 0x7f : code) | sign);
}
PTO_MATH uint8_t e5m2_from_f32(float x) {
  const uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffff, sign = (u >> 24) & 0x80;
  const uint32_t code = small_magnitude(magnitude, 21, 0x38800000, 0x7b), nan = 0x7e | ((magnitude >> 21) & 3);
  return (uint8_t)((magnitude > 0x7f800000 ? nan : code) | sign);
}
PTO_MATH uint8_t e2m1_from_f32(float x) {
  const uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffff, sign = (u >> 28) & 8;
  const uint32_t code = small_magnitude(magnitude, 22, 0x3f800000, 7);
  return (uint8_t)(magnitude > 0x7f800000 ? 7 : code | sign);
}
PTO_MATH uint8_t e8m0_from_f32(float x) {
  const uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffff, nearest = (magnitude + 0x400000) >> 23;
  const uint32_t at_least = magnitude < 0x600000 ? 0 : nearest, code = at_least < 0xfe ? at_least : 0xfe;
  return (uint8_t)(x < 0 || x != x ? 0xff : code);
}

#endif
