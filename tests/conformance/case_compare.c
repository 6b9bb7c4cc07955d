/* SPDX-License-Identifier: MIT */
#include <tests/conformance/case_compare.h>

#include <math.h>
#include <string.h>

#include <graph/build/operand_graph.h>

static uint64_t bits_at(uint32_t dtype, const void *data, uint64_t index) {
  uint64_t bits = 0, size = pto_dtype_size(dtype);
  if (pto_dtype_bits(dtype) == 4) return ((const unsigned char *)data)[index / 2] >> (index % 2 * 4) & 15;
  memcpy(&bits, (const char *)data + index * size, size);
  return bits;
}

static bool is_float(uint32_t dtype) { return dtype == PTO_FLOAT32 || dtype == PTO_FLOAT16; }
static bool is_signed(uint32_t dtype) {
  return dtype == PTO_INT4 || dtype == PTO_INT8 || dtype == PTO_INT32 || dtype == PTO_INT64;
}

/* Place in the order of all values of the dtype, as sign and magnitude. */
struct place {
  bool is_negative;
  uint64_t magnitude;
};
static struct place place_of(uint32_t dtype, uint64_t bits) {
  uint32_t width = pto_dtype_bits(dtype);
  uint64_t sign = bits >> (width - 1) & 1, mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
  if (is_float(dtype)) return (struct place){sign, bits & (mask >> 1)};
  if (is_signed(dtype) && sign) return (struct place){true, (0 - bits) & mask};
  return (struct place){false, bits};
}

/* Doubles hold distances below 2^53 exactly, and no tolerance is larger. */
static double distance(uint32_t dtype, uint64_t a_bits, uint64_t b_bits) {
  struct place a = place_of(dtype, a_bits), b = place_of(dtype, b_bits);
  if (a.is_negative != b.is_negative) return (double)a.magnitude + (double)b.magnitude;
  return (double)(a.magnitude > b.magnitude ? a.magnitude - b.magnitude : b.magnitude - a.magnitude);
}

double pto_case_element(const struct pto_graph_desc *desc, const void *data, uint64_t index) {
  uint64_t bits = bits_at(desc->dtype, data, index);
  if (desc->dtype == PTO_FLOAT16) return pto_fp16_to_f32((uint16_t)bits);
  if (desc->dtype == PTO_FLOAT32) {
    uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return value;
  }
  struct place place = place_of(desc->dtype, bits);
  return place.is_negative ? -(double)place.magnitude : (double)place.magnitude;
}

static double difference_at(const struct pto_graph_desc *desc, const void *actual, const void *expected, uint64_t index,
                            bool is_atol) {
  uint64_t a = bits_at(desc->dtype, actual, index), b = bits_at(desc->dtype, expected, index);
  if (a == b) return 0;
  double x = pto_case_element(desc, actual, index), y = pto_case_element(desc, expected, index);
  if (is_float(desc->dtype)) {
    if (isnan(x) && isnan(y)) return 0;
    if (isnan(x) || isnan(y)) return INFINITY;
    if (x == y) return 0; /* +0 and −0 */
  }
  /* Neighbours among integers differ by 1, and doubles do not tell those above 2^53 apart. */
  return is_atol && is_float(desc->dtype) ? fabs(x - y) : distance(desc->dtype, a, b);
}

bool pto_case_compare(const struct pto_graph_desc *desc, const void *actual, const void *expected,
                      struct pto_case_tolerance tolerance, struct pto_case_difference *difference) {
  uint64_t count = pto_graph_desc_numel(desc);
  *difference = (struct pto_case_difference){0};
  for (uint64_t i = 0; i < count; i++) {
    double d = difference_at(desc, actual, expected, i, tolerance.is_atol);
    if (d > difference->worst) *difference = (struct pto_case_difference){d, i};
  }
  return difference->worst <= tolerance.value;
}
