/* SPDX-License-Identifier: MIT */
/*
 * Groups of dtypes, read off the class and the bits that PTO_DTYPE_LIST says of each; sets as PTO_DTYPE_BIT makes them.
 *
 * Owns nothing; constants and functions of their arguments alone, any thread.  A new dtype is in its groups by its line
 * in the list.  What no property of a dtype tells is asserted where it is written: PTO_DTYPE_COUNT, or for what only
 * floats need PTO_FLOAT_DTYPE_COUNT, is the number that the place knows.
 */
#ifndef PTO_DTYPE_H
#define PTO_DTYPE_H

#include <pto/tensor.h>

enum {
#define X(constant, value, name, bits, class_) +((class_) == 'f')
  PTO_FLOAT_DTYPE_COUNT = PTO_DTYPE_LIST(X),
#undef X
#define X(constant, value, name, bits, class_) | ((class_) == 'i') << (value)
  PTO_DTYPES_SIGNED = 0 PTO_DTYPE_LIST(X),
#undef X
/* Integers of 4 bits. */
#define X(constant, value, name, bits, class_) | (((class_) == 'i' || (class_) == 'u') && (bits) == 4) << (value)
  PTO_DTYPES_NIBBLE = 0 PTO_DTYPE_LIST(X),
#undef X
/* Integers of whole bytes. */
#define X(constant, value, name, bits, class_) | (((class_) == 'i' || (class_) == 'u') && (bits) != 4) << (value)
  PTO_DTYPES_INTEGER = 0 PTO_DTYPE_LIST(X),
#undef X
#define X(constant, value, name, bits, class_) | ((class_) == 'b') << (value)
  PTO_DTYPES_BOOL = 0 PTO_DTYPE_LIST(X),
#undef X
  PTO_DTYPES_NUMBER = (int)PTO_DTYPES_FLOAT | PTO_DTYPES_INTEGER
};

/* One that kernels compute with. */
static inline bool pto_dtype_is_float(uint32_t dtype) { return (PTO_DTYPE_BIT(dtype) & PTO_DTYPES_FLOAT) != 0; }
static inline bool pto_dtype_is_small_float(uint32_t dtype) {
  return (PTO_DTYPE_BIT(dtype) & PTO_DTYPES_SMALL_FLOAT) != 0;
}
/* A float of any size: what its elements are is read as a float. */
static inline bool pto_dtype_is_real(uint32_t dtype) {
  return pto_dtype_is_float(dtype) || pto_dtype_is_small_float(dtype);
}
/* An integer with a sign. */
static inline bool pto_dtype_is_signed(uint32_t dtype) { return (PTO_DTYPE_BIT(dtype) & PTO_DTYPES_SIGNED) != 0; }
/* Two elements a byte. */
static inline bool pto_dtype_is_four_bit(uint32_t dtype) { return dtype - PTO_INT4 < PTO_DTYPE_COUNT - PTO_INT4; }

#endif
