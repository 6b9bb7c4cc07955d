/* SPDX-License-Identifier: MIT */
/*
 * Element types: names, sizes, and the float formats of 16, 8 and 4 bits in software.
 *
 * Owns nothing.  Everything is derived from PTO_DTYPE_LIST, but for the long names, which an assertion
 * compares with it.  Any thread.  A new dtype is a line in the list and one in LONG_NAMES.
 *
 * Conversions follow IEEE 754 without touching the floating-point environment, so that they give the same bits on every
 * machine, with every compiler, in every rounding mode.
 */
#include <pto/tensor.h>

#include <string.h>

#include <runtime/base/base.h>
#include <runtime/tensor/tensor_make.h>

static const uint8_t dtype_bits[] = {
#define X(constant, value, name, bits, class_) [value] = bits,
    PTO_DTYPE_LIST(X)
#undef X
};

static const char *const dtype_names[] = {
#define X(constant, value, name, bits, class_) [value] = name,
    PTO_DTYPE_LIST(X)
#undef X
};

/* X(dtype, the name that other tools know it by) */
#define LONG_NAMES(X)                                                                                                  \
  X(PTO_FLOAT32, "float32")                                                                                            \
  X(PTO_FLOAT16, "float16")                                                                                            \
  X(PTO_INT32, "int32")                                                                                                \
  X(PTO_INT16, "int16")                                                                                                \
  X(PTO_INT8, "int8")                                                                                                  \
  X(PTO_UINT8, "uint8")                                                                                                \
  X(PTO_BFLOAT16, "bfloat16")                                                                                          \
  X(PTO_INT64, "int64")                                                                                                \
  X(PTO_UINT64, "uint64")                                                                                              \
  X(PTO_UINT32, "uint32")                                                                                              \
  X(PTO_UINT16, "uint16")                                                                                              \
  X(PTO_BOOL, "boolean")                                                                                               \
  X(PTO_FLOAT8_E4M3FN, "float8_e4m3fn")                                                                                \
  X(PTO_FLOAT8_E5M2, "float8_e5m2")                                                                                    \
  X(PTO_FLOAT8_E8M0FNU, "float8_e8m0fnu")                                                                              \
  X(PTO_INT4, "int4")                                                                                                  \
  X(PTO_UINT4, "uint4")                                                                                                \
  X(PTO_FLOAT4_E2M1FN, "float4_e2m1fn")
static const char *const long_names[] = {
#define X(dtype, name) [dtype] = name,
    LONG_NAMES(X)
#undef X
};

_Static_assert(PTO_ARRAY_LENGTH(dtype_bits) == PTO_DTYPE_COUNT, "values of the list are 0 … count − 1");
#define X(dtype, name) | PTO_DTYPE_BIT(dtype)
_Static_assert((0u LONG_NAMES(X)) == PTO_DTYPES_ALL, "a dtype more: its long name goes here");
#undef X

#define X(constant, value, name, bits, class_) | ((class_) == 'f' ? PTO_DTYPE_BIT(value) : 0u)
_Static_assert((0u PTO_DTYPE_LIST(X)) == PTO_DTYPES_FLOAT, "a float more: PTO_DTYPES_FLOAT of include/pto/tensor.h");
#undef X
#define X(constant, value, name, bits, class_) | ((class_) == 's' ? PTO_DTYPE_BIT(value) : 0u)
_Static_assert((0u PTO_DTYPE_LIST(X)) == PTO_DTYPES_SMALL_FLOAT, "a small float more: PTO_DTYPES_SMALL_FLOAT there");
#undef X
#define X(constant, value, name, bits, class_) | ((bits) < 8) << (value)
_Static_assert((0u PTO_DTYPE_LIST(X)) == (PTO_DTYPES_ALL & -PTO_DTYPE_BIT(PTO_INT4)),
               "4-bit and unknown dtypes are one comparison");
#undef X
_Static_assert(((unsigned)(PTO_DTYPES_NUMBER | PTO_DTYPES_NIBBLE | PTO_DTYPES_BOOL) | PTO_DTYPES_SMALL_FLOAT) ==
                   PTO_DTYPES_ALL,
               "a class more: runtime/base/dtype.h");

/* The packed table of the hot path says the same as the list. */
#define X(constant, value, name, bits, class_)                                                                         \
  _Static_assert((8u << PTO_DTYPE_SHIFT(value)) == ((bits) < 8 ? 8u : (bits)), name ": PTO_DTYPE_SHIFTS");
PTO_DTYPE_LIST(X)
#undef X

uint32_t pto_dtype_bits(uint32_t dtype) { return dtype < PTO_DTYPE_COUNT ? dtype_bits[dtype] : 0; }

uint64_t pto_dtype_size(uint32_t dtype) { return (pto_dtype_bits(dtype) + 7u) / 8u; }

const char *pto_dtype_name(uint32_t dtype) { return dtype < PTO_DTYPE_COUNT ? dtype_names[dtype] : "?"; }

int pto_dtype_from_name(const char *name) {
  if (name == NULL) return -1;
  for (int dtype = 0; dtype < PTO_DTYPE_COUNT; dtype++)
    if (strcmp(name, dtype_names[dtype]) == 0 || strcmp(name, long_names[dtype]) == 0) return dtype;
  return -1;
}

static uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float float_from_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* value >> shift, rounded to nearest, ties to even; 1 ≤ shift ≤ 31. */
static uint32_t shift_right_nearest_even(uint32_t value, uint32_t shift) {
  uint32_t half = 1u << (shift - 1);
  uint32_t odd = (value >> shift) & 1u;
  return (value + half - 1 + odd) >> shift;
}

float pto_fp16_to_f32(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) {
    uint32_t quiet = mantissa ? 0x400000u : 0;
    return float_from_bits(sign | 0x7f800000u | quiet | mantissa << 13);
  }
  if (exponent != 0) return float_from_bits(sign | (exponent + 127 - 15) << 23 | mantissa << 13);
  if (mantissa == 0) return float_from_bits(sign);
  /* Subnormal, mantissa · 2^-24: its leading one becomes the hidden bit. */
  uint32_t lead = pto_log2_floor(mantissa);
  return float_from_bits(sign | (lead + 127 - 24) << 23 | (mantissa << (23 - lead) & 0x7fffffu));
}

uint16_t pto_fp16_from_f32(float value) {
  uint32_t bits = float_bits(value);
  uint32_t sign = bits >> 16 & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x47800000u) return (uint16_t)(sign | 0x7c00u); /* 2^16 and above */
  if (magnitude >= 0x38800000u) {
    /* Normal; a carry out of the mantissa goes into the exponent, and from 65504 on into infinity. */
    return (uint16_t)(sign | shift_right_nearest_even(magnitude - ((127u - 15u) << 23), 13));
  }
  uint32_t exponent = magnitude >> 23;
  if (exponent < 127 - 25) return (uint16_t)sign; /* below half of the least subnormal, 2^-25 */
  /* Subnormal: units of 2^-24, so the mantissa of exponent e is shifted by 23 − (e − 127 + 24). */
  uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  return (uint16_t)(sign | shift_right_nearest_even(mantissa, 126 - exponent));
}

float pto_bf16_to_f32(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  if ((wide & 0x7fffffffu) > 0x7f800000u) wide |= 0x400000u;
  return float_from_bits(wide);
}

uint16_t pto_bf16_from_f32(float value) {
  uint32_t bits = float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
  uint32_t sign = bits >> 16 & 0x8000u;
  return (uint16_t)(sign | shift_right_nearest_even(bits & 0x7fffffffu, 16));
}

/* ---- small floats ---- */

/* What a dtype of class 's' with a mantissa is made of.  Codes of magnitudes up to `largest` are finite, `infinity` is
 * one where it is not 0, and what is above is NaN. */
static const struct small_format {
  uint8_t exponent_bits, mantissa_bits, bias, largest, infinity;
} small_formats[PTO_DTYPE_COUNT] = {[PTO_FLOAT8_E4M3FN] = {4, 3, 7, 0x7e, 0},
                                    [PTO_FLOAT8_E5M2] = {5, 2, 15, 0x7b, 0x7c},
                                    [PTO_FLOAT4_E2M1FN] = {2, 1, 1, 7, 0}};

#define E8M0_NAN 0xff
#define E8M0_LARGEST 0xfe

static float e8m0_to_f32(uint32_t code) {
  if (code == E8M0_NAN) return float_from_bits(0x7fc00000u);
  return float_from_bits(code == 0 ? 0x400000u : code << 23); /* 2^-127 is subnormal */
}

static uint8_t e8m0_from_f32(uint32_t bits) {
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u || (bits != magnitude && magnitude != 0)) return E8M0_NAN;
  if (magnitude < 0x600000u) return 0; /* 1.5 · 2^-127 */
  return (uint8_t)pto_min_u64((magnitude + 0x400000u) >> 23, E8M0_LARGEST);
}

float pto_small_float_to_f32(uint32_t dtype, uint8_t code) {
  if (dtype == PTO_FLOAT8_E8M0FNU) return e8m0_to_f32(code);
  if (dtype >= PTO_DTYPE_COUNT || small_formats[dtype].largest == 0) return 0;
  const struct small_format *f = &small_formats[dtype];
  const uint32_t sign_shift = (uint32_t)f->exponent_bits + f->mantissa_bits, below = 23u - f->mantissa_bits;
  const uint32_t sign = (uint32_t)(code >> sign_shift & 1) << 31, magnitude = code & ((1u << sign_shift) - 1);
  const uint32_t exponent = magnitude >> f->mantissa_bits, mantissa = magnitude & ((1u << f->mantissa_bits) - 1);
  if (magnitude > f->largest)
    return float_from_bits(sign | (magnitude == f->infinity ? 0x7f800000u : 0x7fc00000u | mantissa << below));
  if (exponent != 0) return float_from_bits(sign | (exponent + 127 - f->bias) << 23 | mantissa << below);
  if (mantissa == 0) return float_from_bits(sign);
  /* Subnormal, mantissa · 2^(1 − bias − mantissa bits): its leading one becomes the hidden bit. */
  const uint32_t lead = pto_log2_floor(mantissa), place = lead + 128 - f->bias - f->mantissa_bits;
  return float_from_bits(sign | place << 23 | (mantissa << (23 - lead) & 0x7fffffu));
}

uint8_t pto_small_float_from_f32(uint32_t dtype, float value) {
  const uint32_t bits = float_bits(value), magnitude = bits & 0x7fffffffu, exponent = magnitude >> 23;
  if (dtype == PTO_FLOAT8_E8M0FNU) return e8m0_from_f32(bits);
  if (dtype >= PTO_DTYPE_COUNT || small_formats[dtype].largest == 0) return 0;
  const struct small_format *f = &small_formats[dtype];
  const uint32_t sign = bits >> 31 << (f->exponent_bits + f->mantissa_bits), below = 23u - f->mantissa_bits;
  const uint32_t least_normal = 128u - f->bias; /* its exponent as f32 has it */
  if (magnitude > 0x7f800000u) {
    if (dtype == PTO_FLOAT4_E2M1FN) return f->largest;
    return (uint8_t)(sign | (f->infinity ? 0x7eu | (magnitude >> below & 3u) : 0x7fu));
  }
  uint32_t code = 0;
  if (exponent >= least_normal) {
    code = shift_right_nearest_even(magnitude - ((127u - f->bias) << 23), below);
  } else if (least_normal - exponent < 8) { /* else below half of the least subnormal */
    code = shift_right_nearest_even((magnitude & 0x7fffffu) | 0x800000u, below + least_normal - exponent);
  }
  return (uint8_t)(sign | pto_min_u64(code, f->largest));
}
