/* SPDX-License-Identifier: MIT */
#include <graph/build/data.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <graph/build/op_options.h>
#include <runtime/base/base.h>

/* Nearest float on the side of zero, its last bit set where that is not exact: such a value rounds to any narrower type
 * as the double itself does (round to odd; Boldo and Melquiond 2008). */
static float float_to_odd(double value) {
  float nearest = (float)value;
  if (isnan(value) || (double)nearest == value) return nearest;
  uint32_t bits;
  memcpy(&bits, &nearest, sizeof bits);
  if (fabs((double)nearest) > fabs(value)) bits--;
  bits |= 1;
  memcpy(&nearest, &bits, sizeof bits);
  return nearest;
}

uint16_t pto_fp16_from_f64(double value) { return pto_fp16_from_f32(float_to_odd(value)); }

/* ---- numbers ---- */

/* The number as an integer with its sign beside it, where it is one. */
static bool whole_magnitude(struct pto_number number, bool *is_negative, uint64_t *magnitude) {
  if (number.kind == PTO_NUMBER_F64) {
    double x = number.value.f64;
    if (!(fabs(x) < 0x1p64) || x != trunc(x)) return false;
    *is_negative = x < 0;
    *magnitude = (uint64_t)fabs(x);
    return true;
  }
  *is_negative = number.kind == PTO_NUMBER_I64 && number.value.i64 < 0;
  *magnitude = *is_negative ? 0 - (uint64_t)number.value.i64 : number.value.u64;
  return number.kind != PTO_NUMBER_ABSENT;
}

static bool integer_from_number(uint32_t dtype, struct pto_number number, void *element) {
  bool is_negative, is_signed = pto_dtype_is_signed(dtype);
  uint64_t magnitude;
  if (!whole_magnitude(number, &is_negative, &magnitude)) return false;
  uint32_t bits = pto_dtype_bits(dtype);
  uint64_t most = UINT64_MAX >> (64 - bits + (is_signed ? 1 : 0));
  if (is_negative ? !is_signed || magnitude > most + 1 : magnitude > most) {
    if (magnitude) return false;
  }
  uint64_t value = is_negative ? 0 - magnitude : magnitude;
  if (bits == 4) value &= 15;
  memcpy(element, &value, pto_dtype_size(dtype)); /* little-endian, as all that runs this */
  return true;
}

_Static_assert(PTO_FLOAT_DTYPE_COUNT == 3, "a float more: how a number becomes one goes here, where graphs have it");
bool pto_graph_data_from_number(uint32_t dtype, struct pto_number number, void *element) {
  if (dtype != PTO_FLOAT32 && dtype != PTO_FLOAT16) return integer_from_number(dtype, number, element);
  if (number.kind == PTO_NUMBER_ABSENT) return false;
  double value = pto_option_f64(number, 0);
  if (dtype == PTO_FLOAT16) {
    uint16_t half = pto_fp16_from_f64(value);
    if (isinf(pto_fp16_to_f32(half)) && !isinf(value)) return false;
    memcpy(element, &half, sizeof half);
    return true;
  }
  float single = number.kind == PTO_NUMBER_I64   ? (float)number.value.i64
                 : number.kind == PTO_NUMBER_U64 ? (float)number.value.u64
                                                 : (float)value;
  if (isinf(single) && !isinf(value)) return false;
  memcpy(element, &single, sizeof single);
  return true;
}

/* ---- texts ---- */

bool pto_graph_data_parse_number(const char *text, struct pto_number *number) {
  static const struct {
    const char *text;
    double value;
  } words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"+Infinity", INFINITY}, {"-Infinity", -INFINITY}};
  for (size_t i = 0; i < PTO_ARRAY_LENGTH(words); i++)
    if (strcmp(words[i].text, text) == 0) {
      *number = pto_number_f64(words[i].value);
      return true;
    }
  const char *digits = text + (text[0] == '-');
  if (digits[0] == '\0' || strspn(digits, "0123456789") != strlen(digits)) return false;
  errno = 0;
  const long long whole = strtoll(text, NULL, 10);
  if (errno == 0) {
    *number = pto_number_i64(whole);
    return true;
  }
  errno = 0;
  const unsigned long long large = strtoull(text, NULL, 10);
  if (errno || digits != text) return false;
  *number = pto_number_u64(large);
  return true;
}
