/* SPDX-License-Identifier: MIT */
#include <kernels/reference/math.h>

#include <math.h>

double pto_exact_max(double a, double b) {
  if (isnan(a) || isnan(b)) return a + b;
  return a > b || (a == b && !signbit(a)) ? a : b;
}

double pto_exact_min(double a, double b) { return -pto_exact_max(-a, -b); }

double pto_exact_rsqrt(double x) { return 1 / sqrt(x); }

/* (1 + tanh y) / 2 = e^y / (2 cosh y), without cancellation for y < 0; both are finite for |y| < 700. */
static double half_of_1_plus_tanh(double y) {
  if (y > 700) return 1;
  return y < -700 ? 0 : exp(y) / (2 * cosh(y));
}

double pto_exact_sigmoid(double x) { return half_of_1_plus_tanh(x / 2); }

double pto_exact_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

double pto_exact_softsign(double x) { return isinf(x) ? copysign(1, x) : x / (1 + fabs(x)); }

double pto_exact_elu(double x, double alpha) { return x > 0 ? x : alpha * expm1(x); }

double pto_exact_silu(double x) { return x == -INFINITY ? -0.0 : x * pto_exact_sigmoid(x); }

double pto_exact_mish(double x) { return x == -INFINITY ? -0.0 : x * tanh(pto_exact_softplus(x)); }

double pto_exact_gelu(double x) { return x == -INFINITY ? -0.0 : x * 0.5 * erfc(-x * M_SQRT1_2); }

double pto_exact_gelu_tanh(double x) {
  if (x == -INFINITY) return -0.0;
  return x * half_of_1_plus_tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x));
}
