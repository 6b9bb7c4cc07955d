/* SPDX-License-Identifier: MIT */
/*
 * Options with their defaults: what the specification says of a number, flag or list that was not given.
 *
 * Owns nothing; functions of their arguments alone.  The options of a node are read through these, so that
 * a default is spelled where it is used and absence is treated alike everywhere.  Any thread.
 */
#ifndef PTO_GRAPH_BUILD_OP_OPTIONS_H
#define PTO_GRAPH_BUILD_OP_OPTIONS_H

#include <pto/graph.h>

#include <stdbool.h>

#include <runtime/base/dtype.h>

/* enum pto_graph_flag. */
static inline bool pto_option_flag(uint32_t flag, bool default_value) {
  return flag == PTO_FLAG_DEFAULT ? default_value : flag == PTO_FLAG_YES;
}

static inline double pto_option_f64(struct pto_number number, double default_value) {
  switch (number.kind) {
  case PTO_NUMBER_F64:
    return number.value.f64;
  case PTO_NUMBER_I64:
    return (double)number.value.i64;
  case PTO_NUMBER_U64:
    return (double)number.value.u64;
  default:
    return default_value;
  }
}

/* Truncated towards zero and saturated; NaN is 0. */
static inline int64_t pto_option_i64(struct pto_number number, int64_t default_value) {
  switch (number.kind) {
  case PTO_NUMBER_F64:
    if (number.value.f64 >= 0x1p63) return INT64_MAX;
    if (number.value.f64 < -0x1p63) return INT64_MIN;
    return number.value.f64 == number.value.f64 ? (int64_t)number.value.f64 : 0;
  case PTO_NUMBER_I64:
    return number.value.i64;
  case PTO_NUMBER_U64:
    return number.value.u64 > INT64_MAX ? INT64_MAX : (int64_t)number.value.u64;
  default:
    return default_value;
  }
}

/* The same, of numbers below 2^64. */
static inline uint64_t pto_option_u64(struct pto_number number, uint64_t default_value) {
  if (number.kind == PTO_NUMBER_ABSENT) return default_value;
  if (number.kind == PTO_NUMBER_U64) return number.value.u64;
  if (number.kind == PTO_NUMBER_F64 && number.value.f64 >= 0x1p63)
    return number.value.f64 >= 0x1p64 ? UINT64_MAX : (uint64_t)number.value.f64;
  const int64_t value = pto_option_i64(number, 0);
  return value < 0 ? 0 : (uint64_t)value;
}

/* A number that becomes an element of an integer dtype: truncated and saturated to it; of uint64 its bits. */
static inline int64_t pto_option_whole(struct pto_number number, uint32_t dtype, int64_t default_value) {
  if (number.kind == PTO_NUMBER_ABSENT) return default_value;
  if (dtype == PTO_UINT64) return (int64_t)pto_option_u64(number, 0);
  const int64_t span = (int64_t)(UINT64_MAX >> (65 - pto_dtype_bits(dtype))); /* 2^(bits − 1) − 1 */
  const int64_t least = pto_dtype_is_signed(dtype) ? -span - 1 : 0, most = least < 0 ? span : 2 * span + 1;
  const int64_t value = pto_option_i64(number, 0);
  return value < least ? least : value > most ? most : value;
}

/* Of sizes, axes and groups, which inference has found to be in range. */
static inline uint32_t pto_option_u32(struct pto_number number, uint32_t default_value) {
  const uint64_t value = pto_option_u64(number, default_value);
  return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Where a filter layout has output channels, input channels, height and width. */
static const uint8_t pto_conv2d_filter_places[][4] = {[PTO_CONV2D_OIHW] = {0, 1, 2, 3},
                                                      [PTO_CONV2D_HWIO] = {3, 2, 0, 1},
                                                      [PTO_CONV2D_OHWI] = {0, 3, 1, 2},
                                                      [PTO_CONV2D_IHWO] = {3, 0, 1, 2}};
static const uint8_t pto_conv_transpose2d_filter_places[][4] = {[PTO_CONV_TRANSPOSE2D_IOHW] = {1, 0, 2, 3},
                                                                [PTO_CONV_TRANSPOSE2D_HWOI] = {2, 3, 0, 1},
                                                                [PTO_CONV_TRANSPOSE2D_OHWI] = {0, 3, 1, 2}};

/* Element `index` of a list; where the list was not given, or is shorter, the default. */
static inline uint32_t pto_option_at(struct pto_u32_list list, uint32_t index, uint32_t default_value) {
  return list.values && index < list.count ? list.values[index] : default_value;
}

/* Is `dimension` one of `axes`?  A list that was not given means all, an empty one none. */
static inline bool pto_option_has_axis(struct pto_u32_list axes, uint32_t dimension) {
  if (!axes.values) return true;
  for (uint32_t i = 0; i < axes.count; i++) {
    if (axes.values[i] == dimension) return true;
  }
  return false;
}
/* The same of all dimensions, a bit each. */
static inline uint32_t pto_option_axes(struct pto_u32_list axes, uint32_t ndims) {
  uint32_t bits = 0;
  for (uint32_t d = 0; d < ndims; d++) bits |= (pto_option_has_axis(axes, d) ? 1u : 0u) << d;
  return bits;
}

#endif
