/* SPDX-License-Identifier: MIT */
/*
 * The mathematical functions of the references that the C library has not, in double.
 *
 * Always true: each is within 2^-44 of the exact value, a thousand times below what f32 can show, over the whole range
 * in which an f32 result is neither 0 nor ∞; at ±∞ it is the limit; and it is written in other formulas than the
 * kernel's (kernels/api/math.h), on the C library's functions.  Pure functions; any thread.
 */
#ifndef PTO_KERNELS_REFERENCE_MATH_H
#define PTO_KERNELS_REFERENCE_MATH_H

/* NaN where either is; +0 is larger than −0. */
double pto_exact_max(double a, double b);
double pto_exact_min(double a, double b);
double pto_exact_rsqrt(double x);
/* 1 / (1 + e^−x) and log(1 + e^x). */
double pto_exact_sigmoid(double x);
double pto_exact_softplus(double x);
/* x / (1 + |x|). */
double pto_exact_softsign(double x);
/* x, or alpha (e^x − 1) where that is less than 0. */
double pto_exact_elu(double x, double alpha);
/* x · sigmoid(x) and x · tanh(softplus(x)). */
double pto_exact_silu(double x);
double pto_exact_mish(double x);
/* x · Φ(x), and with its approximation by tanh(√(2/π) (x + 0.044715 x³)). */
double pto_exact_gelu(double x);
double pto_exact_gelu_tanh(double x);

#endif
