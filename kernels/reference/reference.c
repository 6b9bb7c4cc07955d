/* SPDX-License-Identifier: MIT */
#include <kernels/reference/reference.h>

#include <kernels/reference/support.h>

#include <string.h>

/* ---- elements ---- */

static const uint8_t bits_of[PTO_DTYPE_COUNT + 1] = {[PTO_REFERENCE_DOUBLE] = 64,
#define X(constant, value, name, bits, class_) [value] = bits,
                                                     PTO_DTYPE_LIST(X)
#undef X
};

/* Two elements a byte, low nibble first; such tensors are dense. */
static uint64_t nibble(const uint8_t *bytes, uint64_t index, bool is_signed) {
  const uint64_t value = bytes[index / 2] >> (index % 2 * 4) & 15;
  return is_signed && value >= 8 ? value - 16 : value;
}

/* The address of element `index`, of a dtype of whole bytes.  Divisions are what a trial spends its time on: none where
 * the tensor is contiguous. */
static inline void *address(const struct pto_kernel_tensor *t, uint64_t index) {
  uint64_t at = 0, dense = 1;
  uint32_t d = t->ndims;
  for (; d > 0 && (t->strides[d - 1] == dense || t->shape[d - 1] == 1); d--) dense *= t->shape[d - 1];
  if (d == 0) {
    at = index;
  } else {
    for (d = t->ndims; d-- > 0; index /= t->shape[d]) at += index % t->shape[d] * t->strides[d];
  }
  return (char *)t->addr + at * bits_of[t->dtype] / 8;
}

_Static_assert(PTO_DTYPE_COUNT == 18, "a dtype more: how it is read and set goes here");

uint64_t pto_reference_whole(const struct pto_kernel_tensor *t, uint64_t index) {
  if (t->dtype == PTO_INT4 || t->dtype == PTO_UINT4) return nibble(t->addr, index, t->dtype == PTO_INT4);
  const void *addr = address(t, index);
  switch (t->dtype) {
  case PTO_INT8:
    return (uint64_t) * (const int8_t *)addr;
  case PTO_INT16:
    return (uint64_t) * (const int16_t *)addr;
  case PTO_INT32:
    return (uint64_t) * (const int32_t *)addr;
  case PTO_INT64:
  case PTO_UINT64:
    return *(const uint64_t *)addr;
  case PTO_UINT16:
    return *(const uint16_t *)addr;
  case PTO_UINT32:
    return *(const uint32_t *)addr;
  default:
    return *(const uint8_t *)addr;
  }
}

double pto_reference_element(const struct pto_kernel_tensor *t, uint64_t index) {
  switch (t->dtype) {
  case PTO_REFERENCE_DOUBLE:
    return *(const double *)address(t, index);
  case PTO_FLOAT32:
    return *(const float *)address(t, index);
  case PTO_FLOAT16:
    return pto_fp16_to_f32(*(const uint16_t *)address(t, index));
  case PTO_BFLOAT16:
    return pto_bf16_to_f32(*(const uint16_t *)address(t, index));
  case PTO_UINT64:
    return (double)pto_reference_whole(t, index);
  case PTO_FLOAT8_E4M3FN:
  case PTO_FLOAT8_E5M2:
  case PTO_FLOAT8_E8M0FNU:
  case PTO_FLOAT4_E2M1FN:
    return pto_small_float_to_f32(t->dtype, (uint8_t)pto_reference_bits(t, index));
  default:
    return (double)(int64_t)pto_reference_whole(t, index);
  }
}

/* Copies by size, low bytes first (little-endian): one of variable length into a wider number stalls, and tests read
 * millions. */
uint64_t pto_reference_bits(const struct pto_kernel_tensor *t, uint64_t index) {
  if (bits_of[t->dtype] < 8) return nibble(t->addr, index, false);
  const void *addr = address(t, index);
  uint64_t value = 0;
  switch (bits_of[t->dtype]) {
  case 8:
    return *(const uint8_t *)addr;
  case 16:
    memcpy(&value, addr, 2);
    break;
  case 32:
    memcpy(&value, addr, 4);
    break;
  default:
    memcpy(&value, addr, 8);
  }
  return value;
}

void pto_reference_set_whole(const struct pto_kernel_tensor *t, uint64_t index, uint64_t value) {
  if (bits_of[t->dtype] < 8) {
    uint8_t *byte = (uint8_t *)t->addr + index / 2;
    const unsigned low = (unsigned)value & 15;
    *byte = (uint8_t)(index % 2 == 0 ? (*byte & 0xf0) | low : (*byte & 0x0f) | low << 4);
    return;
  }
  void *addr = address(t, index);
  switch (bits_of[t->dtype]) {
  case 8:
    memcpy(addr, &value, 1);
    return;
  case 16:
    memcpy(addr, &value, 2);
    return;
  case 32:
    memcpy(addr, &value, 4);
    return;
  default:
    memcpy(addr, &value, 8);
  }
}

void pto_reference_set(const struct pto_kernel_tensor *t, uint64_t index, double value) {
  const float f32 = (float)value;
  if (t->dtype == PTO_REFERENCE_DOUBLE)
    memcpy(address(t, index), &value, sizeof value);
  else if (t->dtype == PTO_FLOAT32)
    memcpy(address(t, index), &f32, sizeof f32);
  else if (t->dtype == PTO_FLOAT16)
    pto_reference_set_whole(t, index, pto_fp16_from_f32(f32));
  else if (t->dtype == PTO_BFLOAT16)
    pto_reference_set_whole(t, index, pto_bf16_from_f32(f32));
  else if (pto_dtype_is_small_float(t->dtype))
    pto_reference_set_whole(t, index, pto_small_float_from_f32(t->dtype, f32));
  else
    pto_reference_set_whole(t, index, pto_reference_modulo(value));
}

uint64_t pto_reference_modulo(double value) {
  const double high = floor(value / 0x1p32), low = value - high * 0x1p32;
  return ((uint64_t)(int64_t)fmod(high, 0x1p32) << 32) + (uint64_t)low;
}

double pto_reference_ulp(uint32_t dtype, double value) {
  /* Digits, and the exponent of the smallest normal number. */
  static const struct {
    int digits, least;
  } formats[PTO_DTYPE_COUNT] = {
      [PTO_FLOAT32] = {24, -126},    [PTO_FLOAT16] = {11, -14},    [PTO_BFLOAT16] = {8, -126},
      [PTO_FLOAT8_E4M3FN] = {4, -6}, [PTO_FLOAT8_E5M2] = {3, -14}, [PTO_FLOAT8_E8M0FNU] = {1, -127},
      [PTO_FLOAT4_E2M1FN] = {2, 0}};
  const int digits = formats[dtype].digits, least = formats[dtype].least;
  if (!isfinite(value)) return 0;
  const int exponent = value == 0 ? least : ilogb(value);
  return ldexp(1, (exponent < least ? least : exponent) - digits + 1);
}

double pto_reference_round(uint32_t dtype, double value) {
  if (dtype == PTO_FLOAT16) return pto_fp16_to_f32(pto_fp16_from_f32((float)value));
  if (dtype == PTO_BFLOAT16) return pto_bf16_to_f32(pto_bf16_from_f32((float)value));
  if (pto_dtype_is_small_float(dtype))
    return pto_small_float_to_f32(dtype, pto_small_float_from_f32(dtype, (float)value));
  return (float)value;
}

double pto_reference_within(uint32_t dtype, double value) {
  switch (dtype) {
  case PTO_FLOAT8_E4M3FN:
    return isnan(value) ? value : fmin(fmax(value, -448), 448);
  case PTO_FLOAT8_E5M2:
    return isnan(value) ? value : fmin(fmax(value, -57344), 57344);
  case PTO_FLOAT4_E2M1FN:
    return isnan(value) ? 6 : fmin(fmax(value, -6), 6);
  case PTO_FLOAT8_E8M0FNU:
    return value < 0 || isnan(value) ? NAN : fmin(fmax(value, 0x1p-127), 0x1p127);
  default:
    return value;
  }
}

/* ---- all ---- */

static const struct pto_kernel_reference *const references[] = {
#define X(name, ...) &pto_reference_##name,
    PTO_KERNEL_LIST(X)
#undef X
};

const struct pto_kernel_reference *pto_kernel_reference_at(uint32_t index) {
  return index < PTO_ARRAY_LENGTH(references) ? references[index] : NULL;
}
