/* SPDX-License-Identifier: MIT */
/*
 * Reference: elementwise operations of two and three operands, broadcast to one shape.
 *
 * Integers wrap.  div truncates towards zero, x div 0 is 0.  A negative integer power is 0, but of 1 and −1; pow of
 * floats has IEEE 754's special cases.  max and min give NaN where an operand is NaN.  Constants; any thread.
 */
#include <graph/reference/support.h>

/* a and b at one element of the result. */
struct pair {
  uint64_t a, b;
};
static struct pair pair_at(const struct pto_reference_tensor *const *operands,
                           const struct pto_reference_tensor *results, uint64_t i) {
  return (struct pair){pto_reference_broadcast(&operands[0]->desc, &results->desc, i),
                       pto_reference_broadcast(&operands[1]->desc, &results->desc, i)};
}

typedef int64_t whole_function(uint32_t dtype, int64_t a, int64_t b);

static int combine(const struct pto_reference_tensor *const *operands, struct pto_reference_tensor *results,
                   double (*function)(double, double), whole_function *of_whole) {
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++) {
    const struct pair at = pair_at(operands, results, i);
    if (pto_reference_is_float(results))
      results->values[i] = function(operands[0]->values[at.a], operands[1]->values[at.b]);
    else
      results->whole[i] = of_whole(results->desc.dtype, operands[0]->whole[at.a], operands[1]->whole[at.b]);
  }
  return PTO_OK;
}

static double difference(double a, double b) { return a - b; }
static double quotient(double a, double b) { return a / b; }

static int64_t whole_difference(uint32_t dtype, int64_t a, int64_t b) { return pto_reference_minus(a, b); }
static int64_t whole_quotient(uint32_t dtype, int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (dtype == PTO_UINT64) return (int64_t)((uint64_t)a / (uint64_t)b);
  return b == -1 ? pto_reference_minus(0, a) : a / b;
}
static int64_t whole_power(uint32_t dtype, int64_t a, int64_t b) {
  const bool is_odd = (b & 1) != 0;
  if (dtype != PTO_UINT64 && b < 0) return a == 1 ? 1 : a == -1 ? (is_odd ? -1 : 1) : 0;
  int64_t power = 1;
  for (uint64_t left = (uint64_t)b; left > 0; left >>= 1) {
    if (left & 1) power = pto_reference_times(power, a);
    a = pto_reference_times(a, a);
  }
  return power;
}

PTO_REFERENCE_OPERATION(add) { return combine(operands, results, pto_reference_sum, pto_reference_whole_sum); }
PTO_REFERENCE_OPERATION(sub) { return combine(operands, results, difference, whole_difference); }
PTO_REFERENCE_OPERATION(mul) { return combine(operands, results, pto_reference_product, pto_reference_whole_product); }
PTO_REFERENCE_OPERATION(div) { return combine(operands, results, quotient, whole_quotient); }
PTO_REFERENCE_OPERATION(max) { return combine(operands, results, pto_reference_max, pto_reference_whole_max); }
PTO_REFERENCE_OPERATION(min) { return combine(operands, results, pto_reference_min, pto_reference_whole_min); }
PTO_REFERENCE_OPERATION(pow) { return combine(operands, results, pow, whole_power); }

/* ---- comparisons: 1 where the relation holds, else 0; with a NaN none does but notEqual ---- */

struct relation {
  bool is_less, is_equal, is_greater;
};

static struct relation relate(const struct pto_reference_tensor *const *operands, struct pair at) {
  if (pto_reference_is_float(operands[0])) {
    const double a = operands[0]->values[at.a], b = operands[1]->values[at.b];
    return (struct relation){a<b, a == b, a> b};
  }
  const int64_t a = operands[0]->whole[at.a], b = operands[1]->whole[at.b];
  const uint32_t dtype = operands[0]->desc.dtype;
  return (struct relation){pto_reference_is_less(dtype, a, b), a == b, pto_reference_is_less(dtype, b, a)};
}

static int compare(const struct pto_reference_tensor *const *operands, struct pto_reference_tensor *results,
                   bool (*holds)(struct relation)) {
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++) results->whole[i] = holds(relate(operands, pair_at(operands, results, i)));
  return PTO_OK;
}

static bool is_equal(struct relation r) { return r.is_equal; }
static bool is_not_equal(struct relation r) { return !r.is_equal; }
static bool is_greater(struct relation r) { return r.is_greater; }
static bool is_greater_or_equal(struct relation r) { return r.is_greater || r.is_equal; }
static bool is_lesser(struct relation r) { return r.is_less; }
static bool is_lesser_or_equal(struct relation r) { return r.is_less || r.is_equal; }

PTO_REFERENCE_OPERATION(equal) { return compare(operands, results, is_equal); }
PTO_REFERENCE_OPERATION(not_equal) { return compare(operands, results, is_not_equal); }
PTO_REFERENCE_OPERATION(greater) { return compare(operands, results, is_greater); }
PTO_REFERENCE_OPERATION(greater_or_equal) { return compare(operands, results, is_greater_or_equal); }
PTO_REFERENCE_OPERATION(lesser) { return compare(operands, results, is_lesser); }
PTO_REFERENCE_OPERATION(lesser_or_equal) { return compare(operands, results, is_lesser_or_equal); }

/* ---- logic: anything but 0 is true ---- */

static int64_t both(uint32_t dtype, int64_t a, int64_t b) { return a != 0 && b != 0; }
static int64_t either(uint32_t dtype, int64_t a, int64_t b) { return a != 0 || b != 0; }
static int64_t one(uint32_t dtype, int64_t a, int64_t b) { return (a != 0) != (b != 0); }

PTO_REFERENCE_OPERATION(logical_and) { return combine(operands, results, NULL, both); }
PTO_REFERENCE_OPERATION(logical_or) { return combine(operands, results, NULL, either); }
PTO_REFERENCE_OPERATION(logical_xor) { return combine(operands, results, NULL, one); }

/* condition, trueValue, falseValue: picked, not computed; a NaN that is not picked is not seen. */
PTO_REFERENCE_OPERATION(where) {
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++) {
    const bool is_true = operands[0]->whole[pto_reference_broadcast(&operands[0]->desc, &results->desc, i)] != 0;
    const struct pto_reference_tensor *picked = operands[is_true ? 1 : 2];
    pto_reference_copy(results, i, picked, pto_reference_broadcast(&picked->desc, &results->desc, i));
  }
  return PTO_OK;
}

/* x where x ≥ 0, else slope · x. */
static double prelu_of(double x, double slope) { return x < 0 ? slope * x : x; }
static int64_t whole_prelu(uint32_t dtype, int64_t x, int64_t slope) {
  return x < 0 ? pto_reference_times(slope, x) : x;
}
PTO_REFERENCE_OPERATION(prelu) { return combine(operands, results, prelu_of, whole_prelu); }
