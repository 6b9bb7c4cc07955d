/* SPDX-License-Identifier: MIT */
/*
 * Scalar functions that the loops are made of, without a branch, so that a loop over them vectorises.
 *
 * exp and log are our own: they give the same bits with every compiler, C library and vector width, which a library's
 * need not.  They compute in double and round to f32 once, so a result is the correctly rounded one in all but a case
 * in fifty thousand, and then the other neighbour: error < 0.51 units in the last place, subnormal results included.
 *
 * Pure functions; any thread.
 */
#ifndef PTO_KERNEL_MATH_H
#define PTO_KERNEL_MATH_H

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

/* exp(x) = 2^k · e^r, k = round(x / ln 2), |r| ≤ ln 2 / 2, e^r by its Taylor series to r^9 (remainder < 2^-36).  Beyond
 * the clamps f32 has only 0 and ∞. */
PTO_MATH float exp_f32(float x) {
  const double round_to_integer = 0x1.8p52; /* added, leaves the integer in the low bits */
  double v = x;
  v = v > 90.0 ? 90.0 : v;
  v = v < -110.0 ? -110.0 : v;
  const double shifted = v * 0x1.71547652b82fep0 + round_to_integer;
  const double k = shifted - round_to_integer;
  const double r = v - k * 0x1.62e42fefa39efp-1;
  double p = 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const double scale = f64_of_bits((bits_of_f64(shifted) + 1023) << 52);
  return (float)(p * scale);
}

/* log(x) = k ln 2 + log m, x = 2^k m, m in [√½, √2), log m = 2 artanh s, s = (m − 1) / (m + 1), by its series to s^13
 * (remainder < 2^-39 of the sum).  Subnormal f32 are normal doubles. */
PTO_MATH float log_f32(float x) {
  const uint64_t one = UINT64_C(0x3ff0000000000000), root_half = UINT64_C(0x3fe6a09e667f3bcd);
  const uint64_t mantissa = UINT64_C(0x000fffffffffffff), two_52 = UINT64_C(0x4330000000000000);
  const uint64_t u = bits_of_f64((double)x) + (one - root_half);
  const double k = f64_of_bits((u >> 52) | two_52) - (0x1p52 + 1023);
  const double m = f64_of_bits((u & mantissa) + root_half);
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  const float finite = (float)(k * 0x1.62e42fefa39efp-1 + 2.0 * s * p);
  const float at_zero = x == 0 ? -__builtin_inff() : finite;
  const float at_infinity = x == __builtin_inff() ? x : at_zero;
  const float below_zero = x < 0 ? __builtin_nanf("") : at_infinity;
  return x != x ? x : below_zero;
}

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

#endif
