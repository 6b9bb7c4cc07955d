/* SPDX-License-Identifier: MIT */
/*
 * Reference: elementwise operations of one operand, and activations with numbers among their options.
 *
 * Functions are the C library's in double.  What the formulas leave open at ±∞ is the limit: gelu and hardSwish of −∞
 * are −0, softsign of ±∞ is ±1.  NaN gives NaN; sign and the roundings keep ±0; relu keeps −0.  abs and neg of the
 * smallest integer are itself.  Constants; any thread.
 */
#include <graph/reference/support.h>

static int map(const struct pto_reference_tensor *const *operands, struct pto_reference_tensor *results,
               double (*function)(double)) {
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++) results->values[i] = function(operands[0]->values[i]);
  return PTO_OK;
}

/* Of floats by the one function, of integers by the other. */
static int map_any(const struct pto_reference_tensor *const *operands, struct pto_reference_tensor *results,
                   double (*function)(double), int64_t (*whole_function)(int64_t)) {
  if (pto_reference_is_float(operands[0])) return map(operands, results, function);
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++) results->whole[i] = whole_function(operands[0]->whole[i]);
  return PTO_OK;
}

/* Is something true of each number?  Of integers it never is. */
static int test(const struct pto_reference_tensor *const *operands, struct pto_reference_tensor *results,
                bool (*is_true)(double)) {
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++)
    results->whole[i] = pto_reference_is_float(operands[0]) && is_true(operands[0]->values[i]);
  return PTO_OK;
}

static double same(double x) { return x; }
static double negative(double x) { return -x; }
static double inverse(double x) { return 1 / x; }
static double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double gelu_of(double x) { return x == -INFINITY ? -0.0 : 0.5 * x * erfc(-x / sqrt(2)); }
static double hard_swish_of(double x) {
  return x == -INFINITY ? -0.0 : x * pto_reference_max(0, pto_reference_min(6, x + 3)) / 6;
}
static double relu_of(double x) { return x < 0 ? 0 : x; }
static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static double softplus_of(double x) { return isnan(x) ? x : fmax(x, 0) + log1p(exp(-fabs(x))); }
static double softsign_of(double x) { return isinf(x) ? copysign(1, x) : x / (1 + fabs(x)); }
static bool is_nan(double x) { return isnan(x); }
static bool is_infinite(double x) { return isinf(x); }

static int64_t whole_same(int64_t x) { return x; }
static int64_t whole_negative(int64_t x) { return pto_reference_minus(0, x); }
static int64_t whole_sign(int64_t x) { return (x > 0) - (x < 0); }
static int64_t whole_relu(int64_t x) { return x < 0 ? 0 : x; }
static int64_t whole_not(int64_t x) { return x == 0; }

PTO_REFERENCE_OPERATION(abs) { return map_any(operands, results, fabs, pto_reference_whole_abs); }
PTO_REFERENCE_OPERATION(ceil) { return map(operands, results, ceil); }
PTO_REFERENCE_OPERATION(cos) { return map(operands, results, cos); }
PTO_REFERENCE_OPERATION(erf) { return map(operands, results, erf); }
PTO_REFERENCE_OPERATION(exp) { return map(operands, results, exp); }
PTO_REFERENCE_OPERATION(floor) { return map(operands, results, floor); }
PTO_REFERENCE_OPERATION(identity) { return map_any(operands, results, same, whole_same); }
PTO_REFERENCE_OPERATION(is_nan) { return test(operands, results, is_nan); }
PTO_REFERENCE_OPERATION(is_infinite) { return test(operands, results, is_infinite); }
PTO_REFERENCE_OPERATION(log) { return map(operands, results, log); }
PTO_REFERENCE_OPERATION(logical_not) { return map_any(operands, results, same, whole_not); }
PTO_REFERENCE_OPERATION(neg) { return map_any(operands, results, negative, whole_negative); }
PTO_REFERENCE_OPERATION(reciprocal) { return map(operands, results, inverse); }
PTO_REFERENCE_OPERATION(round_even) { return map(operands, results, nearbyint); }
PTO_REFERENCE_OPERATION(sign) { return map_any(operands, results, sign_of, whole_sign); }
PTO_REFERENCE_OPERATION(sin) { return map(operands, results, sin); }
PTO_REFERENCE_OPERATION(sqrt) { return map(operands, results, sqrt); }
PTO_REFERENCE_OPERATION(tan) { return map(operands, results, tan); }
PTO_REFERENCE_OPERATION(gelu) { return map(operands, results, gelu_of); }
PTO_REFERENCE_OPERATION(hard_swish) { return map(operands, results, hard_swish_of); }
PTO_REFERENCE_OPERATION(relu) { return map_any(operands, results, relu_of, whole_relu); }
PTO_REFERENCE_OPERATION(sigmoid) { return map(operands, results, sigmoid_of); }
PTO_REFERENCE_OPERATION(softplus) { return map(operands, results, softplus_of); }
PTO_REFERENCE_OPERATION(softsign) { return map(operands, results, softsign_of); }
PTO_REFERENCE_OPERATION(tanh) { return map(operands, results, tanh); }

/* min(max(x, minValue), maxValue), each where it was given; integers by the bounds truncated and saturated. */
PTO_REFERENCE_OPERATION(clamp) {
  const struct pto_clamp_options *options = node->options;
  const uint32_t dtype = results->desc.dtype;
  const uint64_t count = pto_reference_numel(results);
  const bool has_min = options->min_value.kind != PTO_NUMBER_ABSENT,
             has_max = options->max_value.kind != PTO_NUMBER_ABSENT;
  if (pto_reference_is_float(results)) {
    const double low = pto_reference_option(dtype, options->min_value, 0),
                 high = pto_reference_option(dtype, options->max_value, 0);
    for (uint64_t i = 0; i < count; i++) {
      double x = operands[0]->values[i];
      if (has_min) x = pto_reference_max(x, low);
      if (has_max) x = pto_reference_min(x, high);
      results->values[i] = x;
    }
    return PTO_OK;
  }
  const int64_t low = pto_option_whole(options->min_value, dtype, 0),
                high = pto_option_whole(options->max_value, dtype, 0);
  for (uint64_t i = 0; i < count; i++) {
    int64_t x = operands[0]->whole[i];
    if (has_min && pto_reference_is_less(dtype, x, low)) x = low;
    if (has_max && pto_reference_is_less(dtype, high, x)) x = high;
    results->whole[i] = x;
  }
  return PTO_OK;
}

/* x where x ≥ 0, else alpha · (eˣ − 1). */
PTO_REFERENCE_OPERATION(elu) {
  const struct pto_elu_options *options = node->options;
  const double alpha = pto_reference_factor(options->alpha, 1);
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++) {
    const double x = operands[0]->values[i];
    results->values[i] = x < 0 ? alpha * expm1(x) : x;
  }
  return PTO_OK;
}

/* max(0, min(1, alpha · x + beta)) */
PTO_REFERENCE_OPERATION(hard_sigmoid) {
  const struct pto_hard_sigmoid_options *options = node->options;
  const double alpha = pto_reference_factor(options->alpha, 0.2), beta = pto_reference_factor(options->beta, 0.5);
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++)
    results->values[i] = pto_reference_max(0, pto_reference_min(1, alpha * operands[0]->values[i] + beta));
  return PTO_OK;
}

/* x where x ≥ 0, else alpha · x. */
PTO_REFERENCE_OPERATION(leaky_relu) {
  const struct pto_leaky_relu_options *options = node->options;
  const double alpha = pto_reference_factor(options->alpha, 0.01);
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++) {
    const double x = operands[0]->values[i];
    results->values[i] = x < 0 ? alpha * x : x;
  }
  return PTO_OK;
}

/* alpha · x + beta */
PTO_REFERENCE_OPERATION(linear) {
  const struct pto_linear_options *options = node->options;
  const double alpha = pto_reference_factor(options->alpha, 1), beta = pto_reference_factor(options->beta, 0);
  const uint64_t count = pto_reference_numel(results);
  for (uint64_t i = 0; i < count; i++) results->values[i] = alpha * operands[0]->values[i] + beta;
  return PTO_OK;
}
