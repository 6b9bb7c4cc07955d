/* SPDX-License-Identifier: MIT */
/*
 * The one list of the general kernels.
 *
 * Always true: registry, loops, parameter lists, references and tests are all made from these lines, so a part that is
 * forgotten does not compile or does not link, and a new line is tested on every layout without being named in a test.
 *
 * To add an elementwise operation, add a line to PTO_ELEMENTWISE_LIST: it needs no function where an expression will
 * do. To add any other kernel, add a line to PTO_OTHER_LIST, define it with PTO_GENERAL_KERNEL, and its reference, in
 * the file of its subject in kernels/reference, with PTO_REFERENCE.
 *
 * A general kernel takes the whole of its tensors in every block, and says so (PTO_KERNEL_ONE_BLOCK): a task of one
 * runs as one block, a submit with more is refused, and SPMD work is cut up by views.  Its `run` trusts that `check`
 * has accepted the arguments.  Constants; any thread.
 */
#ifndef PTO_KERNELS_API_LIST_H
#define PTO_KERNELS_API_LIST_H

#include <pto/kernel.h>
#include <runtime/base/base.h>
#include <runtime/base/dtype.h>

/*
 * Forms of elementwise operations, a line each: reads, scalars, result, by.
 *   reads     NOTHING; A (x); AB (a, b); CHOICE (condition, a, b), whose condition is bool and which moves bits;
 *             OLD (x, y): y is written and read before
 *   scalars   NONE; F32, two of them TWO_F32; LOW, an integer of which the low bits count; BOUND and TWO_BOUNDS,
 *             integers that are saturated to the dtype
 *   result    SAME: the dtype of what is read; FLAG: bool
 *   by        ELEMENTS: an expression of one element; VECTORS: of floats by a function of whole vectors of
 *             kernels/levels/math.inc and its like
 *
 * A form needs no more than its line; a new word for a column needs a macro wherever that column is read, or what reads
 * it does not compile (PTO_FORM_ in kernels/elementwise/elementwise.c, kernels/levels/loops.inc,
 * kernels/reference/elementwise.c).
 */
#define PTO_FORM_FILL NOTHING, F32, SAME, ELEMENTS
#define PTO_FORM_FILL_INT NOTHING, LOW, SAME, ELEMENTS
#define PTO_FORM_UNARY A, NONE, SAME, ELEMENTS
#define PTO_FORM_BINARY AB, NONE, SAME, ELEMENTS
#define PTO_FORM_PREDICATE A, NONE, FLAG, ELEMENTS
#define PTO_FORM_COMPARE AB, NONE, FLAG, ELEMENTS
#define PTO_FORM_SELECT CHOICE, NONE, SAME, ELEMENTS
#define PTO_FORM_SCALED A, F32, SAME, ELEMENTS
#define PTO_FORM_SCALED2 A, TWO_F32, SAME, ELEMENTS
#define PTO_FORM_SCALED_INT A, LOW, SAME, ELEMENTS
#define PTO_FORM_BOUNDED_INT A, BOUND, SAME, ELEMENTS
#define PTO_FORM_BOUNDED2_INT A, TWO_BOUNDS, SAME, ELEMENTS
#define PTO_FORM_INPLACE OLD, NONE, SAME, ELEMENTS
#define PTO_FORM_LANES A, NONE, SAME, VECTORS
#define PTO_FORM_LANES_SCALED A, F32, SAME, VECTORS
#define PTO_FORM_LANES_BINARY AB, NONE, SAME, VECTORS

/* what(the arguments), after the columns of a form among them have been put in its place. */
#define PTO_FORM_APPLY(what, ...) what(__VA_ARGS__)

/*
 * Elementwise operations: every element of the output is a function of the elements at the same index.
 *
 * X(name, form, dtypes, ulps, of floats, of integers, reference)
 *   form        which parameters: one of PTO_FORM_… above
 *   dtypes      of the tensors that the form leaves open
 *   ulps        how far a float result may be from the exact one, in units of the last place of f32
 *   of floats   in f32, from a, b, c (what is read, in order; for INPLACE b is the old y) and s, t (the values)
 *   of integers the same in T, the tensors' own type; intermediate results wrap modulo 2 to its bits (PTO_WRAP).
 *               For bool T is uint8_t: 0 or 1; of what is read, all but 0 is true
 *   reference   the same in type W: double for floats; for integers __int128, of which the low bits count, and `bits`
 *               is their width.  RF(x) rounds a double to f32, where that is part of the definition
 */
/* clang-format off */
#define PTO_ELEMENTWISE_LIST(X)                                                                                        \
  X(fill, FILL, PTO_DTYPES_FLOAT, 0.5, s, 0, s)                                                                        \
  X(fill_int, FILL_INT, PTO_DTYPES_INTEGER | PTO_DTYPES_BOOL | PTO_DTYPES_NIBBLE, 0, 0, s, s)                          \
  X(add, BINARY, PTO_DTYPES_NUMBER, 0.5, a + b, PTO_WRAP(a, +, b), a + b)                                              \
  X(sub, BINARY, PTO_DTYPES_NUMBER, 0.5, a - b, PTO_WRAP(a, -, b), a - b)                                              \
  X(mul, BINARY, PTO_DTYPES_NUMBER, 0.5, a * b, PTO_WRAP(a, *, b), reference_mul(a, b))                                \
  X(div, BINARY, PTO_DTYPES_NUMBER, 0.5, a / b, PTO_DIVIDE(a, b), reference_div(a, b))                                 \
  X(rem, LANES_BINARY, PTO_DTYPES_NUMBER, 0.5, rem_lanes(a, b), PTO_REMAINDER(a, b), reference_rem(a, b))              \
  X(maximum, BINARY, PTO_DTYPES_NUMBER, 0.5, maximum_f32(a, b), a > b ? a : b, reference_max(a, b))                    \
  X(minimum, BINARY, PTO_DTYPES_NUMBER, 0.5, minimum_f32(a, b), a < b ? a : b, reference_min(a, b))                    \
  X(bit_and, BINARY, PTO_DTYPES_INTEGER, 0, 0, a & b, (wide)a & (wide)b)                                               \
  X(bit_or, BINARY, PTO_DTYPES_INTEGER, 0, 0, a | b, (wide)a | (wide)b)                                                \
  X(bit_xor, BINARY, PTO_DTYPES_INTEGER, 0, 0, a ^ b, (wide)a ^ (wide)b)                                               \
  X(shift_left, BINARY, PTO_DTYPES_INTEGER, 0, 0, PTO_SHIFT_LEFT(a, b), reference_shift((wide)a, (wide)b, bits))       \
  X(shift_right, BINARY, PTO_DTYPES_INTEGER, 0, 0, PTO_SHIFT_RIGHT(a, b), reference_unshift((wide)a, (wide)b, bits))   \
  X(logical_and, BINARY, PTO_DTYPES_BOOL, 0, 0, (a != 0) & (b != 0), a != 0 && b != 0)                                 \
  X(logical_or, BINARY, PTO_DTYPES_BOOL, 0, 0, (a | b) != 0, a != 0 || b != 0)                                         \
  X(logical_xor, BINARY, PTO_DTYPES_BOOL, 0, 0, (a != 0) ^ (b != 0), (a != 0) != (b != 0))                             \
  X(prelu, BINARY, PTO_DTYPES_NUMBER, 0.5, a < 0 ? a * b : a, a < 0 ? PTO_WRAP(a, *, b) : a,                           \
    a < 0 ? reference_mul(a, b) : a)                                                                                   \
  X(equal, COMPARE, PTO_DTYPES_NUMBER | PTO_DTYPES_BOOL, 0, a == b, PTO_SAME(a, b), a == b)                            \
  X(not_equal, COMPARE, PTO_DTYPES_NUMBER | PTO_DTYPES_BOOL, 0, a != b, !PTO_SAME(a, b), a != b)                       \
  X(greater, COMPARE, PTO_DTYPES_NUMBER, 0, a > b, a > b, a > b)                                                       \
  X(greater_equal, COMPARE, PTO_DTYPES_NUMBER, 0, a >= b, a >= b, a >= b)                                              \
  X(lesser, COMPARE, PTO_DTYPES_NUMBER, 0, a < b, a < b, a < b)                                                        \
  X(lesser_equal, COMPARE, PTO_DTYPES_NUMBER, 0, a <= b, a <= b, a <= b)                                               \
  X(is_nan, PREDICATE, PTO_DTYPES_FLOAT, 0, a != a, 0, isnan((double)a))                                               \
  X(is_infinite, PREDICATE, PTO_DTYPES_FLOAT, 0, abs_f32(a) == __builtin_inff(), 0, isinf((double)a) != 0)              \
  X(select, SELECT, PTO_DTYPES_ALL, 0, a ? b : c, a ? b : c, a != 0 ? b : c)                                           \
  X(add_scalar, SCALED, PTO_DTYPES_FLOAT, 0.5, a + s, 0, a + s)                                                        \
  X(sub_scalar, SCALED, PTO_DTYPES_FLOAT, 0.5, a - s, 0, a - s)                                                        \
  X(mul_scalar, SCALED, PTO_DTYPES_FLOAT, 0.5, a * s, 0, a * s)                                                        \
  X(div_scalar, SCALED, PTO_DTYPES_FLOAT, 0.5, a / s, 0, a / s)                                                        \
  X(maximum_scalar, SCALED, PTO_DTYPES_FLOAT, 0.5, maximum_f32(a, s), 0, reference_max(a, s))                          \
  X(minimum_scalar, SCALED, PTO_DTYPES_FLOAT, 0.5, minimum_f32(a, s), 0, reference_min(a, s))                          \
  X(leaky_relu, SCALED, PTO_DTYPES_FLOAT, 0.5, a < 0 ? a * s : a, 0, a < 0 ? a * s : a)                                \
  X(add_scalar_int, SCALED_INT, PTO_DTYPES_INTEGER, 0, 0, PTO_WRAP(a, +, s), a + s)                                    \
  X(mul_scalar_int, SCALED_INT, PTO_DTYPES_INTEGER, 0, 0, PTO_WRAP(a, *, s), reference_mul(a, s))                      \
  X(maximum_scalar_int, BOUNDED_INT, PTO_DTYPES_INTEGER, 0, 0, a > s ? a : s, reference_max(a, s))                     \
  X(minimum_scalar_int, BOUNDED_INT, PTO_DTYPES_INTEGER, 0, 0, a < s ? a : s, reference_min(a, s))                     \
  X(clamp, SCALED2, PTO_DTYPES_FLOAT, 0.5, clamp_f32(a, s, t), 0, reference_min(reference_max(a, s), t))\
  X(clamp_int, BOUNDED2_INT, PTO_DTYPES_INTEGER, 0, 0, PTO_CLAMP(a, s, t), reference_min(reference_max(a, s), t))      \
  X(linear, SCALED2, PTO_DTYPES_FLOAT, 0.5, a * s + t, 0, RF(a * s) + t)                                               \
  X(hard_sigmoid, SCALED2, PTO_DTYPES_FLOAT, 0.5, unit_f32(a * s + t), 0, reference_unit(RF(a * s) + t))               \
  X(hard_swish, LANES, PTO_DTYPES_FLOAT, 2, hard_swish_lanes(a), 0, reference_hard_swish(a))                           \
  X(add_inplace, INPLACE, PTO_DTYPES_NUMBER, 0.5, b + a, PTO_WRAP(b, +, a), b + a)                                     \
  X(neg, UNARY, PTO_DTYPES_NUMBER, 0.5, -a, PTO_WRAP(0, -, a), -a)                                                     \
  X(abs, UNARY, PTO_DTYPES_NUMBER, 0.5, abs_f32(a), a < 0 ? PTO_WRAP(0, -, a) : a, a < 0 ? -a : a + 0)                 \
  X(sign, UNARY, PTO_DTYPES_NUMBER, 0.5, sign_f32(a), (a > 0) - (a < 0), a > 0 ? 1 : a < 0 ? -1 : a)                   \
  X(square, UNARY, PTO_DTYPES_NUMBER, 0.5, a * a, PTO_WRAP(a, *, a), reference_mul(a, a))                              \
  X(reciprocal, UNARY, PTO_DTYPES_FLOAT, 0.5, 1 / a, 0, 1 / a)                                                         \
  X(ceil, UNARY, PTO_DTYPES_FLOAT, 0.5, ceil_f32(a), 0, ceil(a))                                                       \
  X(floor, UNARY, PTO_DTYPES_FLOAT, 0.5, floor_f32(a), 0, floor(a))                                                    \
  X(trunc, UNARY, PTO_DTYPES_FLOAT, 0.5, trunc_f32(a), 0, trunc(a))                                                    \
  X(round_even, UNARY, PTO_DTYPES_FLOAT, 0.5, round_f32(a), 0, rint(a))                                                \
  X(bit_not, UNARY, PTO_DTYPES_INTEGER, 0, 0, ~a, ~(wide)a)                                                            \
  X(logical_not, UNARY, PTO_DTYPES_BOOL, 0, 0, a == 0, a == 0)                                                         \
  X(relu, UNARY, PTO_DTYPES_NUMBER, 0.5, a < 0 ? 0 : a, a > 0 ? a : 0, a < 0 ? 0 : a)                                  \
  X(exp, LANES, PTO_DTYPES_FLOAT, 0.8, exp_lanes(a), 0, exp(a))                                                        \
  X(exp2, LANES, PTO_DTYPES_FLOAT, 0.8, exp2_lanes(a), 0, exp2(a))                                                     \
  X(expm1, LANES, PTO_DTYPES_FLOAT, 0.85, expm1_lanes(a), 0, expm1(a))                                                 \
  X(log, LANES, PTO_DTYPES_FLOAT, 0.8, log_lanes(a), 0, log(a))                                                        \
  X(log2, LANES, PTO_DTYPES_FLOAT, 0.7, log2_lanes(a), 0, log2(a))                                                     \
  X(log1p, LANES, PTO_DTYPES_FLOAT, 0.8, log1p_lanes(a), 0, log1p(a))                                                  \
  X(sqrt, UNARY, PTO_DTYPES_FLOAT, 0.5, __builtin_sqrtf(a), 0, sqrt(a))                                                \
  X(rsqrt, LANES, PTO_DTYPES_FLOAT, 0.51, rsqrt_lanes(a), 0, pto_exact_rsqrt(a))                                       \
  X(sin, LANES, PTO_DTYPES_FLOAT, 0.95, sin_lanes(a), 0, sin(a))                                                       \
  X(cos, LANES, PTO_DTYPES_FLOAT, 0.95, cos_lanes(a), 0, cos(a))                                                       \
  X(tan, LANES, PTO_DTYPES_FLOAT, 1.75, tan_lanes(a), 0, tan(a))                                                        \
  X(asin, LANES, PTO_DTYPES_FLOAT, 1.25, asin_lanes(a), 0, asin(a))                                                    \
  X(acos, LANES, PTO_DTYPES_FLOAT, 1.25, acos_lanes(a), 0, acos(a))                                                    \
  X(atan, LANES, PTO_DTYPES_FLOAT, 0.8, atan_lanes(a), 0, atan(a))                                                     \
  X(sinh, LANES, PTO_DTYPES_FLOAT, 0.9, sinh_lanes(a), 0, sinh(a))                                                     \
  X(cosh, LANES, PTO_DTYPES_FLOAT, 0.9, cosh_lanes(a), 0, cosh(a))                                                     \
  X(tanh, LANES, PTO_DTYPES_FLOAT, 0.8, tanh_lanes(a), 0, tanh(a))                                                     \
  X(asinh, LANES, PTO_DTYPES_FLOAT, 0.8, asinh_lanes(a), 0, asinh(a))                                                  \
  X(acosh, LANES, PTO_DTYPES_FLOAT, 1.75, acosh_lanes(a), 0, acosh(a))                                                 \
  X(atanh, LANES, PTO_DTYPES_FLOAT, 1.5, atanh_lanes(a), 0, atanh(a))                                                  \
  X(erf, LANES, PTO_DTYPES_FLOAT, 1, erf_lanes(a), 0, erf(a))                                                          \
  X(sigmoid, LANES, PTO_DTYPES_FLOAT, 1, sigmoid_lanes(a), 0, pto_exact_sigmoid(a))                                    \
  X(softplus, LANES, PTO_DTYPES_FLOAT, 1, softplus_lanes(a), 0, pto_exact_softplus(a))                               \
  X(softsign, UNARY, PTO_DTYPES_FLOAT, 0.501, softsign_f32(a), 0, pto_exact_softsign(a))                               \
  X(silu, LANES, PTO_DTYPES_FLOAT, 1.75, silu_lanes(a), 0, pto_exact_silu(a))                                          \
  X(mish, LANES, PTO_DTYPES_FLOAT, 1.75, mish_lanes(a), 0, pto_exact_mish(a))                                           \
  X(gelu, LANES, PTO_DTYPES_FLOAT, 1.75, gelu_lanes(a), 0, pto_exact_gelu(a))                                          \
  X(gelu_tanh, LANES, PTO_DTYPES_FLOAT, 1.75, gelu_tanh_lanes(a), 0, pto_exact_gelu_tanh(a))                            \
  X(elu, LANES_SCALED, PTO_DTYPES_FLOAT, 2, elu_lanes(a, s), 0, pto_exact_elu(a, s))                                   \
  X(pow, LANES_BINARY, PTO_DTYPES_NUMBER, 0.85, pow_lanes(a, b), PTO_POWER(a, b), reference_pow(a, b))
/* clang-format on */

/* X(name) */
#define PTO_OTHER_LIST(X)                                                                                              \
  X(cast)                                                                                                              \
  X(copy)                                                                                                              \
  X(transpose)                                                                                                         \
  X(gather)                                                                                                            \
  X(gather_elements)                                                                                                   \
  X(gather_nd)                                                                                                         \
  X(scatter_elements)                                                                                                  \
  X(scatter_elements_inplace)                                                                                          \
  X(scatter_add)                                                                                                       \
  X(scatter_nd)                                                                                                        \
  X(scatter_nd_inplace)                                                                                                \
  X(pad)                                                                                                               \
  X(tile)                                                                                                              \
  X(reverse)                                                                                                           \
  X(triangular)                                                                                                        \
  X(unfold)                                                                                                            \
  X(resample_nearest)                                                                                                  \
  X(resample_linear)                                                                                                   \
  X(rope)                                                                                                              \
  X(rope_positions)                                                                                                    \
  X(quantize_linear)                                                                                                   \
  X(dequantize_linear)                                                                                                 \
  X(quantize_mx)                                                                                                       \
  X(dequantize_mx)                                                                                                     \
  X(matmul)                                                                                                            \
  X(matmul_accumulate)                                                                                                 \
  X(matmul_int8)                                                                                                       \
  X(matmul_int8_accumulate)                                                                                            \
  X(matmul_mx)                                                                                                         \
  X(matmul_int4)                                                                                                       \
  X(gemm)                                                                                                              \
  X(gemm_clamp)                                                                                                        \
  X(matvec)                                                                                                            \
  X(matvec_accumulate)                                                                                                 \
  X(matvec_int8)                                                                                                       \
  X(matvec_int8_accumulate)                                                                                            \
  X(matvec_int4)                                                                                                       \
  X(matvec_int4_accumulate)                                                                                            \
  X(depthwise)                                                                                                         \
  X(qk)                                                                                                                \
  X(softmax_prepare)                                                                                                   \
  X(pv)                                                                                                                \
  X(online_update)                                                                                                     \
  X(reduce_sum)                                                                                                        \
  X(reduce_mean)                                                                                                       \
  X(reduce_max)                                                                                                        \
  X(reduce_min)                                                                                                        \
  X(reduce_product)                                                                                                    \
  X(reduce_sum_square)                                                                                                 \
  X(reduce_l1)                                                                                                         \
  X(reduce_l2)                                                                                                         \
  X(reduce_log_sum)                                                                                                    \
  X(reduce_log_sum_exp)                                                                                                \
  X(arg_max)                                                                                                           \
  X(arg_min)                                                                                                           \
  X(top_k)                                                                                                             \
  X(sort)                                                                                                              \
  X(cumulative_sum)                                                                                                    \
  X(cumulative_product)                                                                                                \
  X(softmax)                                                                                                           \
  X(log_softmax)                                                                                                       \
  X(layernorm)                                                                                                         \
  X(rmsnorm)                                                                                                           \
  X(instance_norm)                                                                                                     \
  X(group_norm)                                                                                                        \
  X(batch_norm)

/* Every kernel, in the order of pto_kernel_at. */
#define PTO_KERNEL_LIST(X) PTO_ELEMENTWISE_LIST(X) PTO_OTHER_LIST(X)

/* Defines pto_general_NAME of an array of parameters; the members behind are named. */
#define PTO_GENERAL_KERNEL(name_, params_, ...)                                                                        \
  const struct pto_kernel pto_general_##name_ = {                                                                      \
      .name = #name_, .params = params_, .param_count = PTO_ARRAY_LENGTH(params_), __VA_ARGS__}

#define X(name, ...) extern const struct pto_kernel pto_general_##name;
PTO_KERNEL_LIST(X)
#undef X

/* The elementwise operations by number: PTO_OP_add … */
enum pto_op {
#define X(name, ...) PTO_OP_##name,
  PTO_ELEMENTWISE_LIST(X)
#undef X
      PTO_OP_COUNT
};

#endif
